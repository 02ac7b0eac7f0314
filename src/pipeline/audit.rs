//! The slow audit's turns: which objects a pass compares, and what is kept and told of it.
//!
//! Not here: whose turn it is (`plan::audit`), the clock (`daemon`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use super::overview::overview;
use super::{Error, Instance, lock};
use crate::model::{AppName, DriftPolicy, Event, EventKind, ObjectId, Record};
use crate::plan::{Snapshot, audit};
use crate::target::Target;

/// What is to be compared. A restart forgets it, and the next hour comes all the same.
#[derive(Default)]
pub(super) struct Turns(Mutex<State>);

#[derive(Default)]
struct State {
    turns: BTreeMap<AppName, Turn>,
    /// When an object could not be compared although it was its turn.
    tried: BTreeMap<ObjectId, String>,
}

#[derive(Default)]
struct Turn {
    due: BTreeSet<ObjectId>,
    /// Those that differed when they were compared last: they are compared by every pass until they do not.
    differ: BTreeSet<ObjectId>,
}

/// What a pass compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Audited {
    /// How many objects.
    pub objects: u64,
    /// How many of them were found to differ for the first time.
    pub mismatches: u64,
}

/// Chooses the objects whose turn it is in this hour and returns their apps, which want a pass. An app whose drift is nobody's business is
/// left out.
pub async fn begin_audit(instance: &Instance) -> Result<BTreeSet<AppName>, Error> {
    let settings = overview(instance).await?.settings()?;
    let inventories = instance.store.inventories(&instance.id).await?;
    let looked_at = inventories.iter().filter(|(app, _)| settings.drift_of(app.as_str()) != DriftPolicy::Off);
    let looked_at = looked_at.map(|(app, inventory)| (app, inventory));
    let mut state = lock(&instance.audits.0);
    state.tried.retain(|id, _| inventories.iter().any(|(_, inventory)| inventory.get(id).is_some()));
    let due = audit::due(looked_at, settings.audit.percent_per_hour, &state.tried);
    let apps = due.keys().cloned().collect();
    for (app, objects) in due {
        state.turns.entry(app).or_default().due.extend(objects);
    }
    Ok(apps)
}

/// Lets a pass of an app compare what the watches of a target cannot tell.
pub(super) fn doubt(instance: &Instance, app: &AppName, target: &dyn Target) {
    let doubts = target.doubts(app.as_str());
    if !doubts.is_empty() {
        lock(&instance.audits.0).turns.entry(app.clone()).or_default().due.extend(doubts);
    }
}

/// Returns the objects that a pass of an app is to compare.
pub(super) fn due(instance: &Instance, app: &AppName) -> BTreeSet<ObjectId> {
    let state = lock(&instance.audits.0);
    state.turns.get(app).map(|turn| turn.due.union(&turn.differ).cloned().collect()).unwrap_or_default()
}

/// Keeps what a pass compared, of what it was to compare, and tells what it found for the first time.
pub(super) async fn note(instance: &Instance, snapshot: &Snapshot, due: &BTreeSet<ObjectId>) -> Result<Audited, Error> {
    if due.is_empty() {
        return Ok(Audited::default());
    }
    let new = take_in(instance, snapshot, due);
    let event = |id: &ObjectId| Event {
        time: instance.now(),
        app: Some(snapshot.app.clone()),
        operation: None,
        commit: Some(snapshot.commit.clone()),
        kind: EventKind::AuditMismatch,
        detail: format!("{} {}", id.short(), snapshot.audited.get(id).map(|it| it.join(", ")).unwrap_or_default()),
    };
    if !new.is_empty() {
        instance.bus.tell(new.iter().map(event).collect()).await;
    }
    let records: Vec<Record> = snapshot
        .audited
        .keys()
        .filter_map(|id| snapshot.inventory.get(id))
        .map(|record| Record { audited: snapshot.now.to_string(), ..record.clone() })
        .collect();
    instance.store.put_records(&instance.id, &snapshot.app, &records).await?;
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    Ok(Audited { objects: count(records.len()), mismatches: count(new.len()) })
}

/// Ends the turn of what was due and returns what differs now and did not before.
fn take_in(instance: &Instance, snapshot: &Snapshot, due: &BTreeSet<ObjectId>) -> BTreeSet<ObjectId> {
    let mut state = lock(&instance.audits.0);
    let missed = due.iter().filter(|id| !snapshot.audited.contains_key(id));
    state.tried.extend(missed.map(|id| (id.clone(), snapshot.now.to_string())));
    let turn = state.turns.entry(snapshot.app.clone()).or_default();
    // Another turn may have begun meanwhile.
    turn.due.retain(|id| !due.contains(id));
    let differ = |id: &&ObjectId| snapshot.audited.get(*id).is_some_and(|paths| !paths.is_empty());
    let found: BTreeSet<ObjectId> = snapshot.audited.keys().filter(differ).cloned().collect();
    let new = found.difference(&turn.differ).cloned().collect();
    turn.differ.retain(|id| !snapshot.audited.contains_key(id) && snapshot.inventory.get(id).is_some());
    turn.differ.extend(found);
    new
}
