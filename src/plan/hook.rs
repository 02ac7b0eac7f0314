//! Pure. Hooks: Jobs that an author ties to a moment in the life of an app, and what came of their runs.
//!
//! Those around a deployment are waves around the app's own. One of an update is passed over when the app is deployed for the first time: it
//! is recorded as run for that state, so that only another state brings it. Not here: their place in the order (`wanted`), what waits for
//! them (`waves`).

use std::time::Duration;

use super::action::Blocked;
use super::prune::{self, Victim};
use super::snapshot::{Desired, Freshness, NamespaceState, Owner, Presence, Snapshot};
use super::wanted::Wanted;
use super::wellness;
use crate::base::parse_duration;
use crate::health::HealthState;
use crate::model::{Object, ObjectId, Record, RecordState};

/// Annotation by which an author makes a Job a hook.
pub(super) const HOOK: &str = "rewild.dev/hook";
/// Annotation by which an author says when the Job of a hook is deleted.
const DELETE: &str = "rewild.dev/hook-delete";
/// Annotation by which an author says how long a hook may run.
const TIMEOUT: &str = "rewild.dev/hook-timeout";
/// How long a hook may run if its author says nothing.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How long a hook may run at most: the app waits for it.
const MAX_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// When a hook runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    /// Before everything else of a state of the app; with `update`, not of the first one.
    Before { update: bool },
    /// After everything else of it.
    After { update: bool },
    /// Before the first object of a deleted app goes.
    PreDelete,
    /// After the last one is gone.
    PostDelete,
    /// When the app fails.
    OnFailure,
}

impl Moment {
    /// Returns the moment of a hook; nothing if an object is none, or none that we know.
    pub(super) fn of(object: &Object) -> Option<Self> {
        Some(match object.annotation(HOOK)? {
            "pre-deploy" => Self::Before { update: false },
            "pre-update" => Self::Before { update: true },
            "post-deploy" => Self::After { update: false },
            "post-update" => Self::After { update: true },
            "pre-delete" => Self::PreDelete,
            "post-delete" => Self::PostDelete,
            "on-failure" => Self::OnFailure,
            _ => return None,
        })
    }

    /// Returns whether it is around a deployment.
    pub(super) fn is_of_deployment(self) -> bool {
        matches!(self, Self::Before { .. } | Self::After { .. })
    }

    fn is_of_farewell(self) -> bool {
        matches!(self, Self::PreDelete | Self::PostDelete)
    }

    fn is_of_update(self) -> bool {
        matches!(self, Self::Before { update: true } | Self::After { update: true })
    }
}

/// When the Job of a hook is deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Delete {
    /// Before it runs again.
    BeforeCreation,
    /// When it has run.
    OnSuccess,
    /// When it has failed.
    OnFailure,
    /// Never, so that it does not run again while it is there.
    Never,
}

impl Delete {
    fn of(object: &Object) -> Option<Self> {
        match object.annotation(DELETE) {
            None | Some("before-creation") => Some(Self::BeforeCreation),
            Some("on-success") => Some(Self::OnSuccess),
            Some("on-failure") => Some(Self::OnFailure),
            Some("never") => Some(Self::Never),
            Some(_) => None,
        }
    }
}

/// Returns what an author wrote about a hook that means nothing.
pub(super) fn mistake(object: &Object) -> Option<String> {
    if object.annotation(HOOK) == Some("doctor") {
        return Some(
            "is a hook of the moment doctor, which is not run: make it a CronJob, or a Job that is no hook".into(),
        );
    }
    if let (Some(moment), None) = (object.annotation(HOOK), Moment::of(object)) {
        return Some(format!("is a hook of a moment {moment:?} that does not exist"));
    }
    if Delete::of(object).is_none() {
        return Some("has a hook-delete that is none of before-creation, on-success, on-failure and never".into());
    }
    let timeout = object.annotation(TIMEOUT)?;
    parse_duration(timeout)
        .is_none_or(|timeout| timeout.is_zero())
        .then(|| format!("has a hook-timeout {timeout:?} that is no duration such as 90s or 10m"))
}

/// Returns for how many seconds a hook may run: what its author says, in the annotation or in the Job itself.
pub(super) fn deadline(object: &Object) -> u64 {
    let said = object.annotation(TIMEOUT).and_then(parse_duration);
    let own =
        object.at(&["spec", "activeDeadlineSeconds"]).and_then(serde_json::Value::as_u64).map(Duration::from_secs);
    said.or(own).unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT).as_secs()
}

/// Returns whether an object is a hook of a moment that is no deployment. One of a moment that does not exist is refused where it is wanted.
pub(super) fn is_of_other_moment(object: &Object) -> bool {
    Moment::of(object).is_some_and(|moment| !moment.is_of_deployment())
}

/// Returns whether an object is a hook of the end of its app.
pub fn is_of_farewell(object: &Object) -> bool {
    Moment::of(object).is_some_and(Moment::is_of_farewell)
}

/// Returns whether the Job of a hook may go although the revision wants it.
pub(super) fn may_go(object: &Object) -> bool {
    object.annotation(HOOK).is_some() && matches!(Delete::of(object), Some(Delete::OnSuccess | Delete::OnFailure))
}

/// Returns whether a person asked that a Job runs again.
pub(super) fn reruns(snapshot: &Snapshot, wanted: &Wanted) -> bool {
    wanted.is_job() && snapshot.ask.rerun.as_deref() == Some(wanted.id.name.as_str())
}

/// What came of a hook for the state of the app that is wanted.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Run {
    /// It did not begin.
    NotYet,
    /// It goes on, or nobody can tell.
    Runs,
    /// It ended well.
    Succeeded,
    /// It did not.
    Failed(String),
}

/// Returns what came of a hook.
pub(super) fn run(snapshot: &Snapshot, wanted: &Wanted) -> Run {
    let record = snapshot.inventory.get(&wanted.id).filter(|record| record.hash == wanted.hash);
    match (record.map(|record| record.state), Delete::of(&wanted.payload)) {
        (Some(RecordState::Applied), _) => {
            let health = wellness::of_object(snapshot, &wanted.id);
            match health.state {
                HealthState::Healthy => Run::Succeeded,
                HealthState::Degraded => Run::Failed(health.reason),
                _ => Run::Runs,
            }
        }
        // It was deleted because of what came of it.
        (Some(RecordState::Deleting), Some(Delete::OnSuccess)) => Run::Succeeded,
        (Some(RecordState::Deleting), Some(Delete::OnFailure)) => Run::Failed("its Job was deleted".into()),
        _ => Run::NotYet,
    }
}

/// Returns a sentence about a hook that failed, and holds the app back.
pub(super) fn failed(snapshot: &Snapshot, wanted: &Wanted) -> Option<Blocked> {
    let Run::Failed(why) = run(snapshot, wanted) else { return None };
    Some(Blocked {
        object: Some(wanted.id.clone()),
        reason: "HookFailed".into(),
        message: format!("{} failed: {why}", wanted.id.short()),
        hint: format!("wild app reconcile {} --rerun-job {}", snapshot.app, wanted.id.name),
    })
}

/// What becomes of the Job of a hook that is over.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Ended {
    /// It stays as it is.
    Left,
    /// It goes.
    Spent(Victim),
    /// It is going.
    Leaving,
    /// It is gone, and that it has run is kept in mind.
    Gone(Record),
}

/// Returns what becomes of a hook that is over; nothing if it is not, or if its Job just stays until it runs again.
pub(super) fn ended(snapshot: &Snapshot, wanted: &Wanted) -> Option<Ended> {
    let record = snapshot.inventory.get(&wanted.id)?;
    let live = snapshot.live.get(&wanted.id);
    let delete = Delete::of(&wanted.payload)?;
    if snapshot.freshness_of(&wanted.id) != Freshness::Fresh {
        return None;
    }
    let is_over = match (run(snapshot, wanted), delete) {
        (_, Delete::Never) => return live.filter(|_| record.hash != wanted.hash).map(|_| Ended::Left),
        (Run::Succeeded, Delete::OnSuccess) | (Run::Failed(_), Delete::OnFailure) => true,
        _ => false,
    };
    match live {
        _ if !is_over => None,
        Some(live) if live.terminating => Some(Ended::Leaving),
        Some(_) if prune::is_kept(snapshot, &wanted.id) => Some(Ended::Left),
        Some(live) => Some(Ended::Spent(Victim {
            id: wanted.id.clone(),
            api_version: record.api_version.clone(),
            uid: live.uid.clone(),
        })),
        None if delete == Delete::OnSuccess && record.state == RecordState::Deleting => {
            Some(Ended::Gone(remembered(snapshot, wanted, RecordState::Applied)))
        }
        None => Some(Ended::Left),
    }
}

/// Returns the record of a Job that is not there.
pub(super) fn remembered(snapshot: &Snapshot, wanted: &Wanted, state: RecordState) -> Record {
    Record {
        id: wanted.id.clone(),
        cluster: snapshot.cluster.clone(),
        api_version: wanted.payload.api_version().to_owned(),
        state,
        uid: String::new(),
        hash: wanted.hash.clone(),
        fields: String::new(),
        time: String::new(),
        generation: 0,
        created: true,
        commit: Some(snapshot.commit.clone()),
        audited: String::new(),
    }
}

/// Takes the hooks of updates out of what is wanted when the app is deployed for the first time; returns their records as run.
pub(super) fn pass_over(snapshot: &Snapshot, wanted: &mut Vec<Wanted>) -> Vec<Record> {
    let is_ours = |one: &Wanted| {
        let is_marked =
            || matches!(snapshot.existing.get(&one.id).map(|existing| &existing.owner), Some(Owner::Us { .. }));
        snapshot.live.contains_key(&one.id) || is_marked()
    };
    let counts = |one: &&Wanted| !one.is_hook() && one.id.kind != "Namespace";
    let is_first =
        snapshot.inventory.records().all(|record| record.uid.is_empty()) && !wanted.iter().filter(counts).any(is_ours);
    if !is_first {
        return Vec::new();
    }
    let is_of_update = |one: &Wanted| one.is_hook() && Moment::of(&one.payload).is_some_and(Moment::is_of_update);
    let passed = wanted.extract_if(.., |one| is_of_update(one)).collect::<Vec<_>>();
    passed.iter().map(|one| remembered(snapshot, one, RecordState::Applied)).collect()
}

/// Returns the hooks of a moment, as they are wanted.
pub(super) fn of_moment(snapshot: &Snapshot, is_meant: impl Fn(Moment) -> bool) -> Vec<Wanted> {
    let Desired::Objects(objects) = &snapshot.desired else { return Vec::new() };
    objects
        .iter()
        .filter(|desired| Moment::of(&desired.object).is_some_and(&is_meant))
        .map(|desired| Wanted::new(snapshot, desired))
        .filter(Wanted::is_hook)
        .collect()
}

/// Returns the incarnations of Jobs of hooks that ended badly, as the target shows them: what they said tells why.
pub fn failures(snapshot: &Snapshot) -> Vec<(ObjectId, String)> {
    let Desired::Objects(objects) = &snapshot.desired else { return Vec::new() };
    let hooks = objects.iter().map(|desired| &desired.object).filter(|object| Moment::of(object).is_some());
    let failed = |id: &ObjectId| {
        let live = snapshot.live.get(id)?;
        let is_failed = live.health.as_ref().is_some_and(|health| health.state == HealthState::Degraded);
        is_failed.then(|| live.uid.clone())
    };
    hooks.filter_map(|object| failed(&object.id()).map(|uid| (object.id(), uid))).collect()
}

/// Returns whether an app has a hook for when it fails.
pub fn has_rescue(snapshot: &Snapshot) -> bool {
    !of_moment(snapshot, |moment| moment == Moment::OnFailure).is_empty()
}

/// Returns the hooks of the end of the app, if a commit says that this is meant.
pub(super) fn of_farewell(snapshot: &Snapshot) -> Vec<Wanted> {
    match snapshot.presence {
        Presence::RemovedKeepingData | Presence::RemovedWithData => of_moment(snapshot, Moment::is_of_farewell),
        Presence::Kept | Presence::Added | Presence::Vanished | Presence::Moves => Vec::new(),
    }
}

/// Returns the hooks of an app that goes which run before anything else of it: those before all, or, when everything is gone, those after
/// it of which a record says that they are due. A namespace that is going takes no Job.
pub(super) fn due<'a>(snapshot: &Snapshot, hooks: &'a [Wanted], moment: Moment) -> Vec<&'a Wanted> {
    if snapshot.namespace_state != NamespaceState::Active {
        return Vec::new();
    }
    let state = |hook: &Wanted| snapshot.inventory.get(&hook.id).map(|record| record.state);
    let is_due = |hook: &&Wanted| {
        Moment::of(&hook.payload) == Some(moment) && (moment != Moment::PostDelete || state(hook).is_some())
    };
    let is_open = |hook: &&Wanted| state(hook) != Some(RecordState::Deleting) && run(snapshot, hook) != Run::Succeeded;
    hooks.iter().filter(is_due).filter(is_open).collect()
}

/// Returns the records that keep in mind, while an app goes, which hooks are due when everything is gone.
pub(super) fn to_come(snapshot: &Snapshot, hooks: &[Wanted]) -> Vec<Record> {
    let is_new = |hook: &&Wanted| {
        Moment::of(&hook.payload) == Some(Moment::PostDelete) && snapshot.inventory.get(&hook.id).is_none()
    };
    hooks.iter().filter(is_new).map(|hook| remembered(snapshot, hook, RecordState::Intended)).collect()
}
