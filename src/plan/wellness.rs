//! Pure. The app's health as far as the snapshot shows it.
//!
//! Not here: the health of one live object (`health`).

use super::hook::{self, Run};
use super::snapshot::{Freshness, Live, Snapshot};
use super::wanted::Wanted;
use super::{kind, overdue};
use crate::health::{self, Health, HealthState};
use crate::model::{ObjectId, Record, RecordState};

/// Returns the health of an app from its wanted objects.
pub(super) fn of_wanted<'a>(snapshot: &Snapshot, wanted: impl Iterator<Item = &'a Wanted>) -> Health {
    let seen: Vec<(ObjectId, Health)> = wanted
        .filter(|wanted| wanted.counts_for_health() && !is_somebody_elses(snapshot, wanted))
        .map(|wanted| (wanted.id.clone(), of_wanted_object(snapshot, wanted)))
        .collect();
    health::of_app(seen.iter().map(|(id, health)| (id, health)))
}

/// Returns the health of one wanted object: that of a hook is what came of its run, even if its Job went because of that.
pub(super) fn of_wanted_object(snapshot: &Snapshot, wanted: &Wanted) -> Health {
    let run = if wanted.is_hook() { hook::run(snapshot, wanted) } else { Run::NotYet };
    match run {
        Run::Succeeded => Health::healthy(),
        Run::Failed(why) => Health::degraded(why),
        Run::NotYet | Run::Runs => of_object(snapshot, &wanted.id),
    }
}

/// Returns the health of an app from what we remember, where nothing is known about what is wanted.
pub(super) fn of_inventory(snapshot: &Snapshot) -> Health {
    let records = snapshot.inventory.records().filter(|record| record.state == RecordState::Applied);
    let seen: Vec<(ObjectId, Health)> =
        records.map(|record| (record.id.clone(), of_object(snapshot, &record.id))).collect();
    health::of_app(seen.iter().map(|(id, health)| (id, health)))
}

/// Returns whether a namespace is there by another hand; then it is not part of the app.
fn is_somebody_elses(snapshot: &Snapshot, wanted: &Wanted) -> bool {
    wanted.is_derived_namespace() && snapshot.inventory.get(&wanted.id).is_none()
}

/// Returns the health of one object that is wanted or remembered.
pub(super) fn of_object(snapshot: &Snapshot, id: &ObjectId) -> Health {
    if snapshot.freshness_of(id) != Freshness::Fresh {
        return Health::new(HealthState::Unknown, "its watch is not fresh");
    }
    match (snapshot.live.get(id), snapshot.inventory.get(id)) {
        (Some(live), _) if live.terminating => Health::new(HealthState::Terminating, "it is being deleted"),
        (Some(live), Some(record)) if live.uid == record.uid && live.generation < record.generation => {
            Health::progressing("its newest version was not seen yet")
        }
        (Some(live), _) => of_live(snapshot, id, live),
        (None, Some(record)) => of_absent(snapshot, record),
        (None, None) => Health::new(HealthState::Missing, "it was not applied yet"),
    }
}

/// Returns the health of an object that is there, by what it says of itself and for how long.
pub fn of_live(snapshot: &Snapshot, id: &ObjectId, live: &Live) -> Health {
    let is_another = |record: &Record| !record.uid.is_empty() && record.uid != live.uid;
    if snapshot.inventory.get(id).is_some_and(is_another) {
        // What somebody else made under its name proves nothing of what we wrote; whether it stays is a matter of drift.
        return Health::new(HealthState::Missing, "another object stands in its place");
    }
    overdue::judge(snapshot, id, said(snapshot, id, live))
}

/// Returns what an object that is there says of itself, with what no single object shows.
pub(super) fn said(snapshot: &Snapshot, id: &ObjectId, live: &Live) -> Health {
    if snapshot.unspoken.contains(id) {
        return Health::progressing("its controller has said nothing about it yet");
    }
    if snapshot.unclaimed.contains(id) {
        return Health::new(HealthState::Healthy, "it gets a volume when a pod uses it");
    }
    live.health.clone().unwrap_or_else(Health::healthy)
}

/// Returns what is noted in the target of a Job that ended as it is wanted: the hash it has run with, or that this incarnation failed.
pub(super) fn end(snapshot: &Snapshot, wanted: &Wanted) -> Option<String> {
    let record = snapshot.inventory.get(&wanted.id).filter(|_| wanted.is_job())?;
    if record.state != RecordState::Applied || record.hash != wanted.hash {
        return None;
    }
    if of_wanted_object(snapshot, wanted).state == HealthState::Healthy {
        return Some(wanted.hash.clone());
    }
    // What only takes too long has not ended, so the Job itself has to say it.
    let said =
        snapshot.live.get(&wanted.id).filter(|live| live.uid == record.uid).and_then(|live| live.health.as_ref());
    let said = said.or(snapshot.ended.get(&wanted.id))?;
    (said.state == HealthState::Degraded).then(|| failure(record))
}

/// Returns whether a Job that is gone is not made again: it has run, or it failed and no person asks for another run.
pub(super) fn is_over(snapshot: &Snapshot, record: &Record) -> bool {
    match of_absent(snapshot, record).state {
        HealthState::Healthy => true,
        HealthState::Degraded => !snapshot.ask.correct.is_all(),
        _ => false,
    }
}

/// Returns how it is noted that this incarnation of a Job failed.
fn failure(record: &Record) -> String {
    format!("failed {} {}", record.uid, record.hash)
}

/// Judges an object that we wrote and that is not there: of a Job that is gone it counts how it ended, if anybody saw that.
fn of_absent(snapshot: &Snapshot, record: &Record) -> Health {
    if !kind::is_job(&record.id) || record.state != RecordState::Applied {
        return Health::new(HealthState::Missing, "it is not there");
    }
    let noted = snapshot.done.get(&record.id);
    match snapshot.ended.get(&record.id).map(|health| (health.state, health)) {
        Some((HealthState::Healthy, _)) => Health::new(HealthState::Healthy, "gone after its run"),
        Some((_, health)) => health.clone(),
        // A record without an incarnation only keeps in mind that it has run.
        None if record.uid.is_empty() || noted == Some(&record.hash) => {
            Health::new(HealthState::Healthy, "gone after its run")
        }
        None if noted == Some(&failure(record)) => Health::degraded("it failed, and its Job is gone"),
        None => Health::new(HealthState::Missing, "it is gone, and nobody saw it end"),
    }
}
