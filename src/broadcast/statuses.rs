//! Sends statuses that no forge has been told, and keeps them in git notes, for as long as the daemon runs.
//!
//! One queue per instance, in order of change; a newer state of the same commit and context replaces an unsent older one because
//! only the newest is stored; that a commit is new is told all the same, at once and first. A forge that is down is tried again with backoff and delays nothing else.
//!
//! Not here: which status is true.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Bus, changed_or_never, message};
use crate::base::{Timestamp, chain};
use crate::forge::{CommitStatus, Forge, StatusState, cut};
use crate::model::CommitId;
use crate::store::{StoredStatus, UnsentStatus};

/// First wait after a failed send; doubled up to the next constant.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest wait between sends to a forge that does not answer.
const RETRY_LIMIT: Duration = Duration::from_secs(300);

/// Shortest time between two rounds, unless a commit is new: while many apps are applied the newest state is worth telling, not each on the
/// way, and every round makes a commit of notes, which syncs the disk several times.
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
    let (mut unsent, mut new) = (bus.unsent(), bus.new_commits());
    let mut wait = FIRST_RETRY;
    let mut told = Told::new();
    loop {
        // Marked as seen before the rows are read, so that a row written meanwhile wakes us again.
        unsent.mark_unchanged();
        new.mark_unchanged();
        let all_sent = send_all(&bus, &new, (forge.as_deref(), &public_url), notes.as_ref(), &mut told).await;
        if all_sent {
            wait = FIRST_RETRY;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {}
            // What woke this wakes the next wait as well.
            changed = changed_or_never(&mut new) => if !changed { return },
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

/// Sends every unsent status once, until a commit is new, and returns whether all of them are settled.
async fn send_all(
    bus: &Bus,
    new: &watch::Receiver<u64>,
    (forge, public_url): (Option<&dyn Forge>, &str),
    notes: &dyn Notes,
    told: &mut Told,
) -> bool {
    let mut settled = bus.settle().await;
    let unsent = match bus.store.unsent_statuses(&bus.instance).await {
        Ok(unsent) => unsent,
        Err(error) => {
            tracing::error!(error = chain(&error), "unsent commit statuses were not read");
            return false;
        }
    };
    let key = |status: &StoredStatus| (status.commit.clone(), status.context.clone(), status.changed);
    let current: Told = unsent.iter().map(|unsent| key(&unsent.status)).collect();
    told.retain(|known| current.contains(known));
    for UnsentStatus { status, is_new } in unsent {
        // The next round begins with it. Nobody can hand it out any more if this fails.
        if new.has_changed().unwrap_or(false) {
            return false;
        }
        let key = key(&status);
        let untold = forge.filter(|_| !told.contains(&key));
        if let Some(forge) = untold
            && (notes.is_on_its_way(&status.commit).await
                || !send_first(bus, forge, (&status, is_new), public_url).await)
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

/// Tells the forge one status, of a new commit that it is one before.
async fn send_first(bus: &Bus, forge: &dyn Forge, (status, is_new): (&StoredStatus, bool), public_url: &str) -> bool {
    let pending = StatusState::Pending.word();
    if is_new && status.state != pending {
        let seen = StoredStatus { state: pending.to_owned(), description: message::seen(), ..status.clone() };
        if !send(bus, forge, &seen, public_url).await {
            return false;
        }
    }
    send(bus, forge, status, public_url).await
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::sync::mpsc;

    use super::*;
    use crate::forge::Answer;
    use crate::model::InstanceId;
    use crate::store::Store;

    /// A forge that says what it is told.
    struct Listener(mpsc::Sender<String>);

    impl Forge for Listener {
        fn post_status<'a>(&'a self, status: &'a CommitStatus) -> Answer<'a, ()> {
            Box::pin(async move {
                let _ = self.0.send(format!("{} {}", status.commit.short(), status.state.word())).await;
                Ok(())
            })
        }
    }

    struct Unwritten;

    impl Notes for Unwritten {
        fn is_on_its_way<'a>(&'a self, _: &'a CommitId) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
            Box::pin(async { false })
        }

        fn write<'a>(
            &'a self,
            _: &'a CommitId,
            _: &'a [StoredStatus],
        ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>> {
            Box::pin(async { Ok(()) })
        }
    }

    async fn bus() -> Bus {
        Bus::new(InstanceId::parse("k3f7q2m5xd").unwrap(), Store::in_memory().await.unwrap())
    }

    /// Starts a sender; returns what the forge is told, as long as the guard lives.
    fn listen(bus: &Bus) -> (mpsc::Receiver<String>, tokio_util::sync::DropGuard) {
        let (sender, told) = mpsc::channel(1);
        let stop = CancellationToken::new();
        let forge: Box<dyn Forge> = Box::new(Listener(sender));
        tokio::spawn(send_statuses(bus.clone(), Some(forge), Box::new(Unwritten), String::new(), stop.clone()));
        (told, stop.drop_guard())
    }

    fn status(digit: char, state: &str, changed: i64) -> StoredStatus {
        StoredStatus {
            commit: CommitId::parse(&digit.to_string().repeat(40)).unwrap(),
            context: "wild/deploy (home)".to_owned(),
            state: state.to_owned(),
            description: state.to_owned(),
            changed: Timestamp(changed),
        }
    }

    #[tokio::test]
    async fn a_new_commit_is_told_before_what_came_of_it_however_late_the_forge_is() {
        let bus = bus().await;
        bus.announce(status('a', "pending", 1)).await;
        bus.set_status(status('a', "success", 2)).await;
        // One that shares the verdict of another is no new one, and costs one request.
        bus.set_status(status('b', "pending", 3)).await;
        bus.set_status(status('b', "success", 4)).await;
        let (mut told, _guard) = listen(&bus);
        for wanted in ["aaaaaaa pending", "aaaaaaa success", "bbbbbbb success"] {
            assert_eq!(told.recv().await.unwrap(), wanted);
        }
        bus.set_status(status('a', "failure", 5)).await;
        assert_eq!(told.recv().await.unwrap(), "aaaaaaa failure", "it is known by now");
    }

    #[tokio::test]
    async fn a_new_commit_waits_for_no_round() {
        let bus = bus().await;
        let (mut told, _guard) = listen(&bus);
        let started = Instant::now();
        for digit in "0123456789".chars() {
            bus.announce(status(digit, "pending", 1)).await;
            assert_eq!(told.recv().await.unwrap(), format!("{} pending", digit.to_string().repeat(7)));
        }
        assert!(started.elapsed() < PAUSE * 5, "{:?}", started.elapsed());
    }
}
