//! Pure. Decides which objects of an app go because the committed revision no longer holds them.
//!
//! A candidate is in the inventory, with its incarnation; labels never select a victim. What another app of the revision wants moves there and
//! is no candidate. Not here: a whole app that goes
//! (`remove`), how many may go at once (`budget`).

use std::collections::BTreeSet;

use super::action::{Blocked, WakeOn};
use super::kind;
use super::snapshot::{Claim, Freshness, Live, Snapshot};
use crate::model::{AppName, ObjectId, Record, RecordState};

/// Annotation by which an author says what becomes of an object that nobody wants any more.
pub const PRUNE: &str = "rewild.dev/prune";
/// Its value where the object stays.
pub const KEEP: &str = "keep";

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
    /// Nobody can tell whether it is there.
    Block(Blocked, Option<WakeOn>),
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
    let candidates = snapshot.inventory.records().filter(|record| !wanted.contains(&record.id));
    candidates.map(|record| (record.id.clone(), fate_of_pruned(snapshot, record))).collect()
}

fn fate_of_pruned(snapshot: &Snapshot, record: &Record) -> Fate {
    match fate(snapshot, record) {
        Fate::Delete(victim) if is_kept(snapshot, &victim.id) => {
            let note = format!("{} is no longer wanted and stays: {PRUNE}: {KEEP} stands on it", victim.id.short());
            Fate::Keep(note)
        }
        Fate::Delete(victim) if kind::is_protected(&victim.id.kind) => {
            Fate::Keep(format!("{} is no longer wanted and stays: its kind is never pruned", victim.id.short()))
        }
        other => other,
    }
}

/// Returns whether the author of an object said that it stays.
pub(super) fn is_kept(snapshot: &Snapshot, id: &ObjectId) -> bool {
    snapshot.live.get(id).is_some_and(|live| live.keep)
}

/// Returns the fate of an object that the app does not want, whatever its kind.
pub(super) fn fate(snapshot: &Snapshot, record: &Record) -> Fate {
    if let Some(Claim::Wanted(app)) = snapshot.claims.get(&record.id) {
        return Fate::Moves(app.clone());
    }
    let live = snapshot.live.get(&record.id);
    match snapshot.freshness_of(&record.id) {
        // The kind went after we had asked for the deletion: so did the object.
        Freshness::UnknownKind if record.state == RecordState::Deleting => Fate::Forget(String::new()),
        Freshness::UnknownKind => hidden(record, "the cluster does not know its kind"),
        Freshness::Stale | Freshness::Unwatched => hidden(record, "the watch of its kind is not fresh"),
        Freshness::Fresh => live.map_or_else(|| Fate::Forget(String::new()), |live| fate_of_live(record, live)),
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
