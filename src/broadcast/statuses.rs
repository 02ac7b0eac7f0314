//! Sends statuses that no forge has been told, and keeps them in git notes, for as long as the daemon runs.
//!
//! One queue per instance, in order of change; a newer state of the same commit and context replaces an unsent older one because
//! only the newest is stored. A forge that is down is tried again with backoff and delays nothing else.
//!
//! Not here: which status is true.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Bus, changed_or_never};
use crate::base::{Timestamp, chain};
use crate::forge::{CommitStatus, Forge, StatusState, cut};
use crate::model::CommitId;
use crate::store::StoredStatus;

/// First wait after a failed send; doubled up to the next constant.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest wait between sends to a forge that does not answer.
const RETRY_LIMIT: Duration = Duration::from_secs(300);

/// Shortest time between two rounds: while many apps are applied the newest state is worth telling, not each on the way, and every round makes
/// a commit of notes, which syncs the disk several times.
const PAUSE: Duration = Duration::from_secs(1);

/// What an instance's git repository is to statuses. Implemented over `git`, which this module may not decide about.
pub trait Notes: Send + Sync {
    /// Returns whether a commit is still on its way to the forge, which takes no status of a commit that it does not know.
    fn is_on_its_way<'a>(&'a self, commit: &'a CommitId) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

    /// Replaces the note of a commit.
    fn write<'a>(
        &'a self,
        commit: &'a CommitId,
        statuses: &'a [StoredStatus],
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;
}

/// Sends until told to stop. Without a forge the statuses go to the notes only.
pub async fn send_statuses(
    bus: Bus,
    forge: Option<Box<dyn Forge>>,
    notes: Box<dyn Notes>,
    public_url: String,
    stop: CancellationToken,
) {
    let mut unsent = bus.unsent();
    let mut wait = FIRST_RETRY;
    let mut told = Told::new();
    loop {
        // Marked as seen before the rows are read, so that a row written meanwhile wakes us again.
        unsent.mark_unchanged();
        let all_sent = send_all(&bus, forge.as_deref(), notes.as_ref(), &public_url, &mut told).await;
        if all_sent {
            wait = FIRST_RETRY;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changed_or_never(&mut unsent) => if !changed { return },
            // Only a wait that was for nothing makes the next one longer; news in between do not.
            () = tokio::time::sleep(wait), if !all_sent => wait = (wait * 2).min(RETRY_LIMIT),
        }
    }
}

/// Statuses that the forge knows and that are not noted yet, so that it is not told twice.
type Told = BTreeSet<(CommitId, String, Timestamp)>;

/// Sends every unsent status once and returns whether all of them are settled.
async fn send_all(bus: &Bus, forge: Option<&dyn Forge>, notes: &dyn Notes, public_url: &str, told: &mut Told) -> bool {
    let unsent = match bus.store.unsent_statuses(&bus.instance).await {
        Ok(unsent) => unsent,
        Err(error) => {
            tracing::error!(error = chain(&error), "unsent commit statuses were not read");
            return false;
        }
    };
    let key = |status: &StoredStatus| (status.commit.clone(), status.context.clone(), status.changed);
    let current: Told = unsent.iter().map(key).collect();
    told.retain(|known| current.contains(known));
    let mut settled = true;
    for status in unsent {
        let key = key(&status);
        let untold = forge.filter(|_| !told.contains(&key));
        if let Some(forge) = untold
            && (notes.is_on_its_way(&status.commit).await || !send(bus, forge, &status, public_url).await)
        {
            settled = false;
            continue;
        }
        if !note(bus, notes, &status).await {
            told.insert(key);
            settled = false;
            continue;
        }
        told.remove(&key);
        if let Err(error) = bus.store.mark_status_sent(&bus.instance, &status).await {
            tracing::error!(error = chain(&error), "a sent commit status was not marked");
            settled = false;
        }
    }
    settled
}

/// Tells the forge one status. A refusal that no retry can mend counts as settled, after a line in the log.
async fn send(bus: &Bus, forge: &dyn Forge, status: &StoredStatus, public_url: &str) -> bool {
    let StoredStatus { commit, context, state, description, changed: _ } = status;
    let posted = CommitStatus {
        commit: commit.clone(),
        context: context.clone(),
        state: StatusState::parse(state).unwrap_or(StatusState::Error),
        description: cut(description),
        target_url: if public_url.is_empty() { String::new() } else { format!("{public_url}/#{commit}") },
    };
    match forge.post_status(&posted).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(instance = %bus.instance, %commit, context, error = chain(&error), "the forge did not take a status");
            error.is_user()
        }
    }
}

/// Writes the note of a status' commit and returns whether it could.
async fn note(bus: &Bus, notes: &dyn Notes, status: &StoredStatus) -> bool {
    let statuses = match bus.store.statuses(&bus.instance, &status.commit).await {
        Ok(statuses) => statuses,
        Err(error) => {
            tracing::error!(error = chain(&error), "the statuses of a commit were not read");
            return false;
        }
    };
    if let Err(error) = notes.write(&status.commit, &statuses).await {
        tracing::warn!(commit = %status.commit, error, "the statuses of a commit were not noted in git and will be later");
        return false;
    }
    true
}
