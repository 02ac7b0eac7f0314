//! Pure. Decides how a whole app goes from the target after the commit that removed it (seed S3: two phases).
//!
//! Volumes and the namespace stay unless data is deleted too. Custom resources go first, and only when they are gone the
//! workloads that serve their finalizers. Not here: who may ask for it (the commit says so, `budget` asks if it does not).

use std::collections::BTreeSet;

use super::action::{Blocked, WakeOn};
use super::kind::{self, STAGE_ADMISSION, STAGE_CUSTOM};
use super::namespace;
use super::prune::{self, Fate, Victim};
use super::snapshot::{Freshness, Snapshot};
use crate::model::{DataFate, ObjectId, Record};

/// What becomes of one object of an app that goes.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Farewell {
    /// As for any object that is no longer wanted.
    Fate(Fate),
    /// Our marks are taken off, in this incarnation, and it stays.
    Release(Victim),
    /// Its turn comes when others are gone.
    Wait,
}

/// What becomes of an app that goes.
pub(super) struct Removal {
    /// What becomes of each object, in order of identity.
    pub(super) farewells: Vec<(ObjectId, Farewell)>,
    /// Whether anything but its namespace and its last hooks is still to go.
    pub(super) is_anything_left: bool,
}

impl Removal {
    /// Returns what is deleted or loses our marks now, which a person agrees to.
    pub(super) fn victims(&self) -> Vec<Victim> {
        let victim = |(_, farewell): &(ObjectId, Farewell)| match farewell {
            Farewell::Fate(Fate::Delete(victim)) | Farewell::Release(victim) => Some(victim.clone()),
            Farewell::Fate(Fate::Leaving | Fate::Forget(_) | Fate::Keep(_) | Fate::Block(..)) | Farewell::Wait => None,
        };
        self.farewells.iter().filter_map(victim).collect()
    }
}

/// Returns what becomes of each object; the last hooks go after all others, and the namespace after them.
pub(super) fn remove(snapshot: &Snapshot, data: DataFate, last: &BTreeSet<ObjectId>) -> Removal {
    let fates: Vec<(&Record, Farewell)> =
        snapshot.inventory.records().map(|record| (record, farewell(snapshot, record, data))).collect();
    let is_open = |farewell: &Farewell| match farewell {
        Farewell::Fate(Fate::Delete(_) | Fate::Leaving | Fate::Block(..)) => true,
        Farewell::Fate(Fate::Forget(_) | Fate::Keep(_)) | Farewell::Release(_) | Farewell::Wait => false,
    };
    let guests = fates.iter().any(|(record, it)| goes_first(&record.id) && is_open(it));
    let own = namespace::id(&snapshot.namespace);
    let is_last = |record: &Record| last.contains(&record.id);
    let others = fates.iter().any(|(record, it)| record.id != own && !is_last(record) && is_open(it));
    let hooks = fates.iter().any(|(record, it)| is_last(record) && is_open(it));
    let farewells = fates
        .into_iter()
        .map(|(record, farewell)| {
            let is_namespace = record.id == own;
            let waits = (guests && !goes_first(&record.id)) || ((others || hooks) && is_namespace);
            let is_delete = matches!(farewell, Farewell::Fate(Fate::Delete(_)));
            let waits = (waits && is_delete) || (others && is_last(record));
            (record.id.clone(), if waits { Farewell::Wait } else { farewell })
        })
        .collect();
    Removal { farewells, is_anything_left: others }
}

/// Returns the apps that still need this one, as a reason not to remove it.
pub(super) fn still_required(snapshot: &Snapshot) -> Option<(Blocked, Vec<WakeOn>)> {
    let names: Vec<&str> = snapshot.dependents.iter().map(|app| app.as_str()).collect();
    let blocked = Blocked {
        object: None,
        reason: "RequiredByApp".into(),
        message: format!("{} is required by {}", snapshot.app, names.join(", ")),
        hint: format!("wild app delete {}", names.first()?),
    };
    Some((blocked, vec![WakeOn::Revision]))
}

/// Returns whether an object goes before the workloads: admission would refuse what is left, and finalizers of custom
/// resources are served by workloads.
fn goes_first(id: &ObjectId) -> bool {
    matches!(kind::stage(&id.group, &id.kind), STAGE_CUSTOM | STAGE_ADMISSION)
}

fn farewell(snapshot: &Snapshot, record: &Record, data: DataFate) -> Farewell {
    if snapshot.freshness_of(&record.id) == Freshness::UnknownKind {
        let text = format!("{} went with its kind, which the cluster no longer knows", record.id.short());
        return Farewell::Fate(Fate::Forget(text));
    }
    match prune::fate(snapshot, record) {
        Fate::Delete(victim) if stays(snapshot, record, data) => Farewell::Release(victim),
        fate => Farewell::Fate(fate),
    }
}

fn stays(snapshot: &Snapshot, record: &Record, data: DataFate) -> bool {
    let is_foreign_namespace = record.id.kind == "Namespace" && !may_delete_namespace(snapshot, record);
    match data {
        DataFate::Keep => kind::holds_data(&record.id.kind),
        DataFate::Delete => is_foreign_namespace,
    }
}

/// Returns whether a namespace may go: made by us, and nothing of anybody else in it.
fn may_delete_namespace(snapshot: &Snapshot, record: &Record) -> bool {
    record.created && snapshot.neighbours.as_ref().is_some_and(Vec::is_empty)
}
