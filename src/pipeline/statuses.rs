//! The verdict on the commits that are shown: the head of the deployed branch and the pushed commits it was made from.
//!
//! Nothing says success before health was seen; a commit that was applied turns red when the cluster differs from it or health is lost.
//! Not here: sending (`broadcast`), sentences (`broadcast::message`).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::overview::{self, Overview};
use super::superseded::{self, Came};
use super::{Error, Instance, approvals, brakes, budget, leaks, read, review, state};
use crate::base::chain;
use crate::broadcast::message;
use crate::forge::StatusState;
use crate::model::{AppName, AppState, CommitId, Event, EventKind, Standing};
use crate::store::{StoredStatus, Survey};

/// Name of the cursor that holds the commits that share the verdict, newest first.
const SHARED: &str = "status.commits";
/// Commits that may share one verdict: a push and the commits of ours on top of it.
const SHARED_CAPACITY: usize = 50;

/// What is said about a commit.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Said {
    state: StatusState,
    description: String,
}

/// What lets verdicts be true: one at a time, and only on a head whose changed apps wait.
#[derive(Default)]
pub(super) struct Verdicts {
    /// Passes whose states are stored.
    asked: AtomicU64,
    /// How many of them the newest verdict has seen.
    seen: tokio::sync::Mutex<u64>,
    /// The head that the stored states of apps are told about. States are stored and verdicts found while it stands still.
    head: tokio::sync::RwLock<Option<Arc<Overview>>>,
    /// Apps that heads changed and that nobody took over from here.
    changed: Mutex<BTreeSet<AppName>>,
}

/// The head that was taken in; no other is while this is held.
pub(super) struct SeenHead<'a>(tokio::sync::RwLockReadGuard<'a, Option<Arc<Overview>>>);

impl SeenHead<'_> {
    /// Returns what the head says of all apps.
    pub(super) fn overview(&self) -> Option<&Arc<Overview>> {
        self.0.as_ref()
    }
}

/// Takes in a head that was not seen before: the apps that it changed wait, a commit of ours shares the verdict of what it was made from,
/// any other begins anew and closes the ones before. Returns what the head says of all apps.
pub async fn seen(instance: &Instance) -> Result<Arc<Overview>, Error> {
    match seen_head(instance).await?.overview() {
        Some(overview) => Ok(overview.clone()),
        None => overview::overview(instance).await,
    }
}

/// Returns the apps that the heads changed that were taken in since this was asked last.
pub fn take_changed(instance: &Instance) -> BTreeSet<AppName> {
    std::mem::take(&mut *instance.verdicts.changed.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Takes in the head and keeps it.
pub(super) async fn seen_head(instance: &Instance) -> Result<SeenHead<'_>, Error> {
    let head = read::head(instance).await?;
    let known = instance.verdicts.head.read().await;
    if known.as_ref().is_some_and(|known| known.head == head) {
        return Ok(SeenHead(known));
    }
    drop(known);
    let mut known = instance.verdicts.head.write().await;
    let overview = overview::overview(instance).await?;
    if known.as_ref().is_none_or(|known| known.head != overview.head) {
        take_in(instance, known.as_deref(), &overview).await?;
        *known = Some(overview);
    }
    Ok(SeenHead(known.downgrade()))
}

/// Returns our commits of what was seen last that were never the head when somebody looked, newest first: another one came on top of them first.
async fn made_since(instance: &Instance, seen: Option<&CommitId>, head: &CommitId) -> Result<Vec<CommitId>, Error> {
    let log = instance.repository.first_parent_log(head, SHARED_CAPACITY, &[]).await?;
    let Some(place) = log.iter().position(|commit| Some(&commit.id) == seen) else { return Ok(Vec::new()) };
    let between = log.get(1..place).unwrap_or_default();
    let others = between.iter().rposition(|commit| commit.committer != instance.committer).map_or(0, |last| last + 1);
    Ok(between.iter().skip(others).map(|commit| commit.id.clone()).collect())
}

/// Returns the apps for which a head changes something since the one before it.
async fn woken(
    instance: &Instance,
    before: Option<&Overview>,
    overview: &Overview,
) -> Result<BTreeSet<AppName>, Error> {
    let mut changed = match before {
        Some(before) => overview::changed_apps(before, overview),
        // A commit that is gone has nothing in common with the head.
        None => overview.apps.keys().cloned().collect(),
    };
    if let Some(before) = before {
        changed.extend(brakes::take_in(instance, before, overview).await?);
    }
    // A file that belongs to no app holds back all of them, and lets go of all.
    if leaks::concerns_all(instance, overview).await {
        changed.extend(overview.apps.keys().cloned());
    }
    Ok(changed)
}

async fn take_in(instance: &Instance, known: Option<&Overview>, overview: &Overview) -> Result<(), Error> {
    let head = &overview.head;
    let shared = shared(instance).await?;
    if shared.first() == Some(head) {
        return Ok(());
    }
    // What an earlier process saw last.
    let earlier = match (known, shared.first()) {
        (None, Some(last)) => overview::before(instance, last, overview).await.ok(),
        _ => None,
    };
    let before = known.or(earlier.as_ref());
    // At the first head of all, what stands there is the owner's word.
    if before.is_some() || !shared.is_empty() {
        approvals::take_in(instance, before, overview).await?;
    }
    let changed = woken(instance, before, overview).await?;
    state::wait(instance, &changed).await?;
    budget::begin(instance, head).await?;
    review::end(instance, head).await;
    instance.verdicts.changed.lock().unwrap_or_else(PoisonError::into_inner).extend(changed);
    let commit = instance.repository.read_commit(head).await?;
    let ours = commit.committer == instance.committer;
    let continues = ours && commit.parents.first().is_some_and(|parent| shared.first() == Some(parent));
    let mut next = vec![head.clone()];
    if continues {
        next.extend(shared.into_iter().take(SHARED_CAPACITY));
    } else {
        let mut ended = made_since(instance, shared.first(), head).await?;
        ended.extend(shared);
        for (old, came) in superseded::close(instance, &ended).await? {
            close(instance, (&old, came), head).await?;
        }
    }
    let text = serde_json::to_string(&next).unwrap_or_default();
    instance.store.put_cursor(&instance.id, SHARED, &text).await?;
    let event = Event {
        time: instance.now(),
        app: None,
        operation: None,
        commit: Some(head.clone()),
        kind: EventKind::RevisionSeen,
        detail: commit.subject().to_owned(),
    };
    instance.bus.tell(vec![event]).await;
    let context = message::deploy_context(instance.name.as_str());
    let said = match trouble(instance, overview).await {
        Some(said) => said,
        None if continues => return Ok(()),
        None => {
            let said = Said { state: StatusState::Pending, description: message::seen() };
            instance.bus.announce(status(instance, head, &context, said)).await;
            return Ok(());
        }
    };
    set(instance, head, &context, said).await;
    Ok(())
}

/// Sets the statuses of the commits that share the verdict, from what is known of all apps. Passes that end at the same moment share one.
pub async fn update(instance: &Instance) -> Result<(), Error> {
    let mine = instance.verdicts.asked.fetch_add(1, Ordering::SeqCst) + 1;
    let mut newest = instance.verdicts.seen.lock().await;
    if *newest >= mine {
        return Ok(());
    }
    let asked = instance.verdicts.asked.load(Ordering::SeqCst);
    let head = seen_head(instance).await?;
    if let Some(overview) = head.overview() {
        match trouble(instance, overview).await {
            // Secrets may have become some since the head was taken in.
            Some(said) => {
                set(instance, &overview.head, &message::deploy_context(instance.name.as_str()), said).await;
            }
            None => judge(instance).await?,
        }
    }
    *newest = asked;
    Ok(())
}

/// Says of a commit of the remote that it is not taken, because it or what it comes with holds a secret in clear.
pub(super) async fn leaking(instance: &Instance, commit: &CommitId, what: &str) {
    let said = Said { state: StatusState::Failure, description: message::leaking(what) };
    set(instance, commit, &message::deploy_context(instance.name.as_str()), said).await;
}

/// Returns what is said of a head that is not as it should be whatever becomes of its apps.
async fn trouble(instance: &Instance, overview: &Overview) -> Option<Said> {
    let failure = |description| Some(Said { state: StatusState::Failure, description });
    // The apps go on by the last settings that read, which is not what this commit says.
    if let Some(trouble) = overview.settings_trouble() {
        return failure(message::unreadable(&trouble));
    }
    match leaks::at(instance, overview).await {
        Ok(leaks) => leaks.first().and_then(|leaked| failure(message::leaking(&leaked.to_string()))),
        Err(error) => {
            // Every pass says so as well, and ends.
            tracing::error!(instance = %instance.name, error = chain(&error), "the head was not searched for secrets");
            None
        }
    }
}

async fn judge(instance: &Instance) -> Result<(), Error> {
    let survey = instance.store.survey(&instance.id).await?;
    let deploy = deploy_verdict(&survey);
    let drift = drift_verdict(&survey.drifted);
    // Where no cluster is known nothing was compared.
    let is_compared = !instance.targets().is_empty();
    for commit in shared(instance).await? {
        set(instance, &commit, &message::deploy_context(instance.name.as_str()), deploy.clone()).await;
        // Before everything is applied the cluster differs from the commit as it should.
        if is_compared && (deploy.state == StatusState::Success || drift.state != StatusState::Success) {
            set(instance, &commit, &message::drift_context(instance.name.as_str()), drift.clone()).await;
        }
    }
    Ok(())
}

async fn shared(instance: &Instance) -> Result<Vec<CommitId>, Error> {
    let text = instance.store.cursor(&instance.id, SHARED).await?.unwrap_or_default();
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

/// Notes that requests of a commit are about to be sent; returns whether they may be: not where another took over before anything of it was.
pub(super) async fn begin(instance: &Instance, commit: &CommitId) -> Result<bool, Error> {
    superseded::begin(instance, commit, &shared(instance).await?).await
}

/// Closes a commit that another took over from before all of it was applied and healthy.
async fn close(instance: &Instance, (old, came): (&CommitId, Came), by: &CommitId) -> Result<(), Error> {
    let context = message::deploy_context(instance.name.as_str());
    let known = instance.store.statuses(&instance.id, old).await?;
    // One of ours that went on from the head had none before the apps were judged.
    let is_open = known
        .iter()
        .find(|status| status.context == context)
        .is_none_or(|status| status.state == StatusState::Pending.word());
    if is_open {
        let description = match came {
            Came::Nowhere => message::superseded(by.short()),
            Came::Begun => message::superseded_later(by.short()),
        };
        let said = Said { state: StatusState::Warning, description };
        set(instance, old, &context, said).await;
    }
    Ok(())
}

async fn set(instance: &Instance, commit: &CommitId, context: &str, said: Said) {
    instance.bus.set_status(status(instance, commit, context, said)).await;
}

fn status(instance: &Instance, commit: &CommitId, context: &str, said: Said) -> StoredStatus {
    StoredStatus {
        commit: commit.clone(),
        context: context.to_owned(),
        state: said.state.word().to_owned(),
        description: said.description,
        changed: instance.now(),
    }
}

/// Returns what the apps say about a commit: the worst of them.
fn deploy_verdict(survey: &Survey) -> Said {
    let Some((standing, worst)) = &survey.worst else {
        return Said { state: StatusState::Success, description: message::healthy(0) };
    };
    let (state, description) = match standing {
        Standing::Refused => (StatusState::Failure, message::failed(&worst.name, &worst.needs_you)),
        Standing::Failing => (StatusState::Failure, message::failed(&worst.name, &worst.health_reason)),
        Standing::Blocked => (StatusState::Pending, message::blocked(&worst.name, &worst.needs_you)),
        Standing::Waiting => (StatusState::Pending, message::waiting(&worst.name, &worst.health_reason)),
        Standing::Well | Standing::Added => (StatusState::Success, message::healthy(survey.deployed)),
    };
    Said { state, description }
}

/// Returns whether the cluster is as a commit says.
fn drift_verdict(states: &[Arc<AppState>]) -> Said {
    let drift: Vec<_> = states.iter().flat_map(|state| state.drift.iter().map(move |item| (state, item))).collect();
    let Some((app, first)) = drift.iter().find(|(_, item)| !item.harmless).or_else(|| drift.first()) else {
        return Said { state: StatusState::Success, description: message::no_drift() };
    };
    let place = format!("{} {} {}", app.name, first.object.short(), first.path);
    let state = if first.harmless { StatusState::Warning } else { StatusState::Failure };
    Said { state, description: message::drift(drift.len(), place.trim_end()) }
}
