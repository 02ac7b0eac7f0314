//! Pure. Decides how a whole app goes from the target after the commit that removed it (seed S3: two phases).
//!
//! Volumes and the namespace stay unless data is deleted too. Custom resources go first, and only when they are gone the
//! workloads that serve their finalizers. Not here: who may ask for it (the commit says so, `budget` asks if it does not).

use std::collections::BTreeSet;

use super::action::{Blocked, WakeOn};
use super::depends;
use super::kind::{self, STAGE_ADMISSION, STAGE_CUSTOM};
use super::namespace;
use super::prune::{self, Fate, Victim};
use super::snapshot::Snapshot;
use crate::base::Timestamp;
use crate::model::{AppName, DataFate, ObjectId, Prune, Record};
use crate::schema;

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
    /// What is deleted or loses our marks, now or when its turn comes: that is what a person agrees to.
    pub(super) goes: Vec<Victim>,
    /// Whether anything but its namespace and its last hooks is still to go.
    pub(super) is_anything_left: bool,
}

/// Returns what is deleted or loses our marks.
fn victim(farewell: &Farewell) -> Option<Victim> {
    match farewell {
        Farewell::Fate(Fate::Delete(victim)) | Farewell::Release(victim) => Some(victim.clone()),
        Farewell::Fate(
            Fate::Leaving | Fate::Forget(_) | Fate::Keep(_) | Fate::Moves(_) | Fate::MayMove(_) | Fate::Block(..),
        )
        | Farewell::Wait => None,
    }
}

/// Returns what becomes of each object; the last hooks go after all others, and the namespace after them.
pub(super) fn remove(snapshot: &Snapshot, data: DataFate, last: &BTreeSet<ObjectId>) -> Removal {
    let fates: Vec<(&Record, Farewell)> =
        snapshot.inventory.records().map(|record| (record, farewell(snapshot, record, data))).collect();
    let is_open = |farewell: &Farewell| match farewell {
        Farewell::Fate(Fate::Delete(_) | Fate::Leaving | Fate::Moves(_) | Fate::MayMove(_) | Fate::Block(..)) => true,
        Farewell::Fate(Fate::Forget(_) | Fate::Keep(_)) | Farewell::Release(_) | Farewell::Wait => false,
    };
    let guests = fates.iter().any(|(record, it)| goes_first(&record.id) && is_open(it));
    let needed = needed(snapshot, &fates);
    let own = namespace::id(&snapshot.namespace);
    let is_last = |record: &Record| last.contains(&record.id);
    let others = fates.iter().any(|(record, it)| record.id != own && !is_last(record) && is_open(it));
    let hooks = fates.iter().any(|(record, it)| is_last(record) && is_open(it));
    let goes = fates.iter().filter_map(|(_, farewell)| victim(farewell)).collect();
    let farewells = fates
        .into_iter()
        .map(|(record, farewell)| {
            let is_namespace = record.id == own;
            let waits = (guests && !goes_first(&record.id)) || ((others || hooks) && is_namespace);
            let is_delete = matches!(farewell, Farewell::Fate(Fate::Delete(_)));
            let waits = ((waits || needed.contains(&record.id)) && is_delete) || (others && is_last(record));
            (record.id.clone(), if waits { Farewell::Wait } else { farewell })
        })
        .collect();
    Removal { farewells, goes, is_anything_left: others }
}

/// Returns what others depend on which go as well.
fn needed(snapshot: &Snapshot, fates: &[(&Record, Farewell)]) -> BTreeSet<ObjectId> {
    let of = |is_meant: fn(&Farewell) -> bool| -> BTreeSet<ObjectId> {
        fates.iter().filter(|(_, farewell)| is_meant(farewell)).map(|(record, _)| record.id.clone()).collect()
    };
    let deletes = of(|farewell| matches!(farewell, Farewell::Fate(Fate::Delete(_))));
    depends::needed(snapshot, &deletes, &of(|farewell| matches!(farewell, Farewell::Fate(Fate::Leaving))))
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
    let is_custom = schema::is_custom(&id.group, &id.kind);
    is_custom || matches!(kind::stage(&id.group, &id.kind), STAGE_CUSTOM | STAGE_ADMISSION)
}

fn farewell(snapshot: &Snapshot, record: &Record, data: DataFate) -> Farewell {
    match prune::fate(snapshot, record) {
        Fate::Delete(_) if let Some(why) = unseen(snapshot, record, data) => Farewell::Fate(waits(&record.id, why)),
        Fate::Delete(victim) if stays(snapshot, record, data) => Farewell::Release(victim),
        Fate::Moves(app) => Farewell::Fate(moves(&record.id, app, "has taken it over")),
        Fate::MayMove(app) => Farewell::Fate(moves(&record.id, app, "builds, whose files name it")),
        fate => Farewell::Fate(fate),
    }
}

/// Returns the fate of an object of an app that goes which another app wants or may want: nobody but that app would remember it afterwards.
fn moves(id: &ObjectId, app: AppName, until: &str) -> Fate {
    let blocked = Blocked {
        object: Some(id.clone()),
        reason: "MovesToApp".into(),
        message: format!("{} waits until app {app} {until}", id.short()),
        hint: format!("wild app show {app}"),
    };
    Fate::Block(blocked, Some(WakeOn::App(app)))
}

fn stays(snapshot: &Snapshot, record: &Record, data: DataFate) -> bool {
    let is_foreign_namespace = record.id.kind == "Namespace" && !may_delete_namespace(snapshot, record);
    let holds_more = match data {
        DataFate::Keep => kind::holds_data(&record.id.kind),
        DataFate::Delete | DataFate::DeleteNow => is_foreign_namespace,
    };
    holds_more || prune::is_kept(snapshot, &record.id)
}

/// Returns why it cannot be seen for now what a namespace holds that goes if it is empty: to let go of it would leave it for ever.
fn unseen<'a>(snapshot: &'a Snapshot, record: &Record, data: DataFate) -> Option<&'a str> {
    let is_namespace = record.id == namespace::id(&record.id.name);
    let may_go = is_namespace && data != DataFate::Keep && record.created && !prune::is_kept(snapshot, &record.id);
    snapshot.unseen.get(&record.id).filter(|_| may_go).map(String::as_str)
}

fn waits(id: &ObjectId, why: &str) -> Fate {
    let blocked = Blocked {
        object: Some(id.clone()),
        reason: "DiscoveryPartial".into(),
        message: format!("{} stays for now, because it could not be seen what it holds: {why}", id.short()),
        hint: String::new(),
    };
    Fate::Block(blocked, Some(WakeOn::Kind { group: id.group.clone(), kind: id.kind.clone() }))
}

/// Returns when to look again at what cannot be seen for now: no watch tells that.
pub(super) fn next_look(snapshot: &Snapshot, removal: &Removal) -> Option<Timestamp> {
    let event = removal.farewells.iter().find_map(|(id, farewell)| match farewell {
        Farewell::Fate(Fate::Block(_, event)) if *id == namespace::id(&id.name) => event.as_ref(),
        _ => None,
    });
    kind::look_again(snapshot, event?)
}

/// Returns whether a namespace may go: made by us, and nothing in it that stays or is somebody else's.
fn may_delete_namespace(snapshot: &Snapshot, record: &Record) -> bool {
    let is_kept = snapshot.live.iter().any(|(id, live)| live.prune == Prune::Keep && id.namespace == record.id.name);
    !is_kept && record.created && snapshot.neighbours.get(&record.id.name).is_some_and(Vec::is_empty)
}
