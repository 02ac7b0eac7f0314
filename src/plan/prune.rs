//! Pure. Decides which objects of an app go because the committed revision no longer holds them.
//!
//! A candidate is in the inventory, with its incarnation; labels never select a victim. What another app of the revision wants moves there and
//! is no candidate. Not here: a whole app that goes
//! (`remove`), how many may go at once (`budget`).

use std::collections::{BTreeMap, BTreeSet};

use super::action::{Blocked, WakeOn};
use super::snapshot::{Claim, Desired, Freshness, Live, Presence, Snapshot};
use super::{kind, namespace};
use crate::model::{AppName, ObjectId, PRUNE, Prune, Record, RecordState};

/// Objects that are named in the sentence about what a namespace holds.
const MAX_NAMED: usize = 5;

/// What becomes of one object that is no longer wanted.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Fate {
    /// It is deleted, in this incarnation.
    Delete(Victim),
    /// It is on its way out.
    Leaving,
    /// It is gone or no longer ours, and its record goes; the sentence is for a person, possibly empty.
    Forget(String),
    /// It stays with its record; the sentence says why.
    Keep(String),
    /// It stays with its record until this app takes it over.
    Moves(AppName),
    /// It stays with its record until this app builds, which may want it.
    MayMove(AppName),
    /// Nobody can tell whether it is there.
    Block(Blocked, Option<WakeOn>),
}

/// Returns the objects that an app remembers and no longer wants: other apps of the revision may want them. The app's namespace it wants also
/// where no file of it says so.
pub fn dropped(snapshot: &Snapshot) -> Vec<ObjectId> {
    let wanted: BTreeSet<ObjectId> = match (&snapshot.desired, snapshot.presence) {
        (Desired::Objects(objects), Presence::Kept) => {
            objects.iter().map(|it| it.object.id()).chain([namespace::id(&snapshot.namespace)]).collect()
        }
        // Nothing is deleted of an app whose files do not build, and nothing of one that was never deployed.
        (Desired::Unreadable(_) | Desired::Leaking(_), Presence::Kept) | (_, Presence::Added) => return Vec::new(),
        // What moves to another cluster is not another app's.
        (_, Presence::Moves) => return Vec::new(),
        (_, Presence::RemovedKeepingData | Presence::RemovedWithData | Presence::Vanished) => BTreeSet::new(),
    };
    snapshot.inventory.records().map(|record| record.id.clone()).filter(|id| !wanted.contains(id)).collect()
}

/// An object to delete.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Victim {
    pub(super) id: ObjectId,
    pub(super) api_version: String,
    pub(super) uid: String,
}

/// Returns the fate of each object that the revision no longer holds, in order of identity.
pub(super) fn prune(snapshot: &Snapshot, wanted: &BTreeSet<ObjectId>) -> Vec<(ObjectId, Fate)> {
    let (kept, candidates): (Vec<_>, Vec<_>) =
        snapshot.inventory.records().partition(|record| wanted.contains(&record.id));
    let applied = kept.into_iter().filter(|record| record.state == RecordState::Applied && !record.uid.is_empty());
    let kept: BTreeMap<&str, &ObjectId> = applied.map(|record| (record.uid.as_str(), &record.id)).collect();
    let fate = |record: &Record| match (fate_of_pruned(snapshot, record), kept.get(record.uid.as_str())) {
        // One object under two API groups: it would go under both names.
        (Fate::Delete(victim), Some(same)) => {
            Fate::Forget(format!("{} is left alone: it is {} by another name", victim.id.short(), same.short()))
        }
        (fate, _) => fate,
    };
    candidates.into_iter().map(|record| (record.id.clone(), fate(record))).collect()
}

fn fate_of_pruned(snapshot: &Snapshot, record: &Record) -> Fate {
    match fate(snapshot, record) {
        Fate::Delete(victim) if is_kept(snapshot, &victim.id) => {
            let note = format!("{} is no longer wanted and stays: {PRUNE}: keep stands on it", victim.id.short());
            Fate::Keep(note)
        }
        Fate::Delete(victim) => match stays(snapshot, record) {
            Some(why) => Fate::Keep(format!("{} is no longer wanted and stays: {why}", victim.id.short())),
            None => Fate::Delete(victim),
        },
        other => other,
    }
}

/// Returns whether the author of an object said that it stays.
pub(super) fn is_kept(snapshot: &Snapshot, id: &ObjectId) -> bool {
    word(snapshot, id) == Prune::Keep
}

/// Returns whether an object of the app may be pruned at all; what its deletion takes along needs a word of its author.
pub(super) fn may_go(snapshot: &Snapshot, id: &ObjectId) -> bool {
    !kind::is_protected(&id.kind) || word(snapshot, id) == Prune::Allow
}

/// Returns whether an object is one that nobody wants any more and whose author let it go: what goes along has to be looked at.
pub fn is_let_go(snapshot: &Snapshot, id: &ObjectId) -> bool {
    let Desired::Objects(objects) = &snapshot.desired else { return false };
    word(snapshot, id) == Prune::Allow && objects.iter().all(|desired| desired.object.id() != *id)
}

fn word(snapshot: &Snapshot, id: &ObjectId) -> Prune {
    snapshot.live.get(id).map_or(Prune::ByKind, |live| live.prune)
}

/// Returns why an object stays whatever its revision says; nothing if it may go.
fn stays(snapshot: &Snapshot, record: &Record) -> Option<String> {
    if !may_go(snapshot, &record.id) {
        return Some(format!("its kind is only pruned where {PRUNE}: allow stood on it before"));
    }
    if record.id != namespace::id(&record.id.name) {
        return None;
    }
    if !record.created {
        return Some("it was there before us".to_owned());
    }
    let ours = snapshot.inventory.records().filter(|it| it.id.namespace == record.id.name);
    let ours = ours.map(|record| record.id.short());
    let Some(others) = snapshot.neighbours.get(&record.id.name) else {
        return Some("what it holds could not be seen".to_owned());
    };
    let mut held: Vec<String> = ours.chain(others.iter().cloned()).collect();
    held.truncate(MAX_NAMED);
    (!held.is_empty()).then(|| format!("it holds {}", held.join(", ")))
}

/// Returns the fate of an object that the app does not want, whatever its kind.
pub(super) fn fate(snapshot: &Snapshot, record: &Record) -> Fate {
    match snapshot.claims.get(&record.id) {
        Some(Claim::Wanted(app)) => return Fate::Moves(app.clone()),
        Some(Claim::Possible(app)) => return Fate::MayMove(app.clone()),
        Some(Claim::GivenUp(_)) | None => {}
    }
    let live = snapshot.live.get(&record.id);
    match snapshot.freshness_of(&record.id) {
        // A group that only does not answer hides its objects; one that the server does not know holds none.
        Freshness::UnknownKind if record.state == RecordState::Deleting => Fate::Forget(String::new()),
        Freshness::UnknownKind => Fate::Forget(went_with_kind(record)),
        Freshness::Stale | Freshness::Unwatched => hidden(record, "the watch of its kind is not fresh"),
        Freshness::Fresh => match (live, snapshot.unseen.get(&record.id)) {
            (Some(live), _) => fate_of_live(record, live),
            // Its label went, so the watch lost it, and nobody may ask whether it is there.
            (None, Some(why)) => hidden(record, why),
            (None, None) => Fate::Forget(String::new()),
        },
    }
}

fn fate_of_live(record: &Record, live: &Live) -> Fate {
    if live.terminating {
        return Fate::Leaving;
    }
    // Before the first answer no uid is known; that we applied it shows by our entry, which no copy of our labels has.
    let is_ours = if record.uid.is_empty() { !live.fields.is_empty() } else { live.uid == record.uid };
    if !is_ours {
        return Fate::Forget(format!("{} was made anew by somebody else and is left alone", record.id.short()));
    }
    Fate::Delete(Victim { id: record.id.clone(), api_version: record.api_version.clone(), uid: live.uid.clone() })
}

/// Returns what is said of an object whose kind the server no longer knows.
fn went_with_kind(record: &Record) -> String {
    format!("{} went with its kind, which the cluster no longer knows", record.id.short())
}

fn hidden(record: &Record, why: &str) -> Fate {
    let blocked = Blocked {
        object: Some(record.id.clone()),
        reason: "DiscoveryPartial".into(),
        message: format!("{} is no longer wanted and stays: {why}", record.id.short()),
        hint: String::new(),
    };
    let wake_on = WakeOn::Kind { group: record.id.group.clone(), kind: record.id.kind.clone() };
    Fate::Block(blocked, Some(wake_on))
}
