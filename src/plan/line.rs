//! Pure. The planner's own line: the rules in the order in which they speak.
//!
//! Not here: any rule.

use std::collections::BTreeSet;

use super::action::{Blocked, Plan, WakeOn};
use super::prune::{Fate, Victim};
use super::remove::Farewell;
use super::snapshot::{Desired, Presence, Snapshot};
use super::wanted::{self, Wanted};
use super::write::{Brings, Decision, Write};
use super::{
    budget, grant, kind, namespace, order, prune, reach, remove, requirement, secret, source, suspend, waves, wellness,
    write, yields,
};
use crate::health::{Health, HealthState};
use crate::model::{DataFate, ObjectId};

/// Returns what to do for one app. The same snapshot always gives the same plan.
pub fn plan(snapshot: &Snapshot) -> Plan {
    let mut plan = Plan::nothing(snapshot.app.clone(), snapshot.commit.clone());
    match (snapshot.presence, reach::unreachable(snapshot)) {
        (Presence::Added, _) => plan.notes.push(format!("{} is added and not deployed", snapshot.app)),
        (_, Some(stop)) => {
            plan.health = Health::new(HealthState::Unknown, stop.0.message.clone());
            block(&mut plan, stop);
        }
        (Presence::Kept, None) => keep(snapshot, &mut plan),
        (Presence::RemovedKeepingData | Presence::Vanished, None) => leave(snapshot, DataFate::Keep, &mut plan),
        (Presence::RemovedWithData, None) => leave(snapshot, DataFate::Delete, &mut plan),
    }
    suspend::hold(snapshot, &mut plan);
    plan.wake_on.sort();
    plan.wake_on.dedup();
    plan
}

/// Plans an app that is in the revision.
fn keep(snapshot: &Snapshot, plan: &mut Plan) {
    if let Some(stop) = source::unusable(snapshot).or_else(|| namespace::terminating(snapshot)) {
        plan.health = wellness::of_inventory(snapshot);
        namespace::recover(snapshot, plan);
        return block(plan, stop);
    }
    let wanted = wanted(snapshot);
    plan.notes.extend(other_hooks(snapshot));
    let mut writes = decide(snapshot, &wanted, plan);
    let ids: BTreeSet<ObjectId> = wanted.iter().map(|wanted| wanted.id.clone()).collect();
    let victims = sort_out(prune::prune(snapshot, &ids), plan);
    hold_news(snapshot, &mut writes, &victims, plan);
    order::hold_dependents(&mut writes, &mut plan.blocked);
    waves::hold(snapshot, &wanted, &mut writes, plan);
    let is_complete = plan.blocked.is_empty() && plan.later.is_empty();
    plan.actions = order::applies(writes);
    delete(snapshot, victims, is_complete, plan);
    plan.health = wellness::of_wanted(snapshot, wanted.iter());
    plan.jobs.extend(wanted.iter().filter(|wanted| wellness::has_run(snapshot, wanted)).map(|wanted| {
        let hash = wanted.hash.clone();
        (wanted.id.clone(), Some(hash))
    }));
    if plan.health.state != HealthState::Healthy {
        plan.wake_on.push(WakeOn::Health);
    }
}

/// Plans an app that is no longer in the revision.
fn leave(snapshot: &Snapshot, data: DataFate, plan: &mut Plan) {
    plan.health = wellness::of_inventory(snapshot);
    if let Some((blocked, wake_on)) = remove::still_required(snapshot).filter(|_| !snapshot.inventory.is_empty()) {
        plan.blocked.push(blocked);
        return plan.wake_on.extend(wake_on);
    }
    let mut released = Vec::new();
    let mut fates = Vec::new();
    for (id, farewell) in remove::remove(snapshot, data) {
        match farewell {
            Farewell::Fate(fate) => fates.push((id, fate)),
            Farewell::Release(victim) => released.push(victim),
            Farewell::Wait => plan.notes.push(format!("{} waits until what needs it is gone", id.short())),
        }
    }
    let victims = sort_out(fates, plan);
    plan.notes.extend(victims.iter().filter_map(|victim| cascade(&victim.id)));
    // Taking our marks off is part of the farewell that a person agrees to.
    let all: Vec<Victim> = victims.iter().chain(&released).cloned().collect();
    plan.digest = budget::digest(&all);
    if let Some(blocked) = budget::exceeded(snapshot, &all) {
        return block(plan, (blocked, WakeOn::Revision));
    }
    let deletes = victims.into_iter().map(|victim| (victim, order::delete(), "its app was deleted".to_owned()));
    let releases = released.into_iter().map(|victim| (victim, super::Verb::Release, "it stays without us".to_owned()));
    plan.actions = order::farewells(0, deletes.chain(releases).collect());
    plan.wake_on.extend(plan.actions.iter().map(|action| WakeOn::Gone(action.object.clone())));
    if plan.leaving.contains(&namespace::id(&snapshot.namespace)) {
        namespace::recover(snapshot, plan);
    }
}

/// Returns what else goes with an object.
fn cascade(id: &ObjectId) -> Option<String> {
    let is_definition = id.kind == "CustomResourceDefinition";
    is_definition.then(|| format!("{} takes every object of its kind with it", id.short()))
}

/// Returns the objects that the app wants, its namespace among them.
fn wanted(snapshot: &Snapshot) -> Vec<Wanted> {
    let Desired::Objects(objects) = &snapshot.desired else { return Vec::new() };
    let own = namespace::id(&snapshot.namespace);
    let derived = (!objects.iter().any(|it| it.object.id() == own)).then(|| namespace::derived(&snapshot.namespace));
    let applied = objects.iter().filter(|desired| !wanted::is_other_hook(&desired.object));
    let wanted = derived.iter().chain(applied).map(|desired| Wanted::new(snapshot, desired)).collect();
    waves::pull_forward(wanted::bind_hooks(wanted))
}

/// Names the hooks of moments that are no deployment: they are not applied with the app.
fn other_hooks(snapshot: &Snapshot) -> Vec<String> {
    let Desired::Objects(objects) = &snapshot.desired else { return Vec::new() };
    let hooks = objects.iter().filter(|desired| wanted::is_other_hook(&desired.object));
    hooks
        .map(|desired| format!("{} is a hook of another moment and is not run now", desired.object.id().short()))
        .collect()
}

/// Decides about each wanted object; returns what is to be written.
fn decide(snapshot: &Snapshot, wanted: &[Wanted], plan: &mut Plan) -> Vec<(Wanted, Write)> {
    let mut writes = Vec::new();
    for wanted in wanted {
        plan.notes.extend(wanted.note.clone());
        note_yielded(snapshot, wanted, plan);
        let refused = wanted.refused.clone().or_else(|| grant::missing(snapshot, &wanted.id));
        if let Some(blocked) = refused {
            block(plan, (blocked, WakeOn::Revision));
            continue;
        }
        let (decision, drift) = write::decide(snapshot, wanted);
        plan.drift.extend(drift);
        match decision {
            Decision::Leave => plan.unchanged.push(wanted.id.clone()),
            Decision::Recover(record) => plan.recovered.push(record),
            Decision::Write(write) => writes.push((wanted.clone(), write)),
            Decision::Report => {}
            Decision::Hold(blocked, until) => {
                plan.blocked.push(blocked);
                plan.wake_at = Some(plan.wake_at.map_or(until, |at| at.min(until)));
            }
            Decision::Block(blocked, wake_on) => {
                plan.blocked.push(blocked);
                plan.wake_on.extend(wake_on);
            }
        }
    }
    writes
}

/// Tells which fields are left to others, and looks again when a rule ends.
fn note_yielded(snapshot: &Snapshot, wanted: &Wanted, plan: &mut Plan) {
    for yielded in yields::of_live(snapshot.live.get(&wanted.id), &wanted.payload, &wanted.yields) {
        plan.notes.push(format!("{} {}", wanted.id.short(), yielded.note));
        plan.wake_at = match (plan.wake_at, yielded.until) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

/// Holds new content back while a requirement or a secret is missing; what is applied already is kept as it is.
fn hold_news(snapshot: &Snapshot, writes: &mut Vec<(Wanted, Write)>, victims: &[Victim], plan: &mut Plan) {
    let secrets: Vec<_> = secret::missing(snapshot).into_iter().chain(grant::missing_secrets(snapshot)).collect();
    let has_news = !victims.is_empty() || writes.iter().any(|(_, write)| write.brings == Brings::News);
    let unmet = if has_news { requirement::unmet(snapshot) } else { Vec::new() };
    if secrets.is_empty() && unmet.is_empty() {
        return;
    }
    writes.retain(|(_, write)| write.brings == Brings::Correction);
    for stop in secrets.into_iter().chain(unmet) {
        block(plan, stop);
    }
}

/// Sorts out what is no longer wanted; returns what is to be deleted.
fn sort_out(fates: Vec<(ObjectId, Fate)>, plan: &mut Plan) -> Vec<Victim> {
    let mut victims = Vec::new();
    for (id, fate) in fates {
        let goes = matches!(fate, Fate::Delete(_) | Fate::Leaving | Fate::Forget(_));
        if goes && kind::is_job(&id) {
            plan.jobs.push((id.clone(), None));
        }
        match fate {
            Fate::Delete(victim) => victims.push(victim),
            Fate::Leaving => {
                plan.wake_on.push(WakeOn::Gone(id.clone()));
                plan.leaving.push(id);
            }
            Fate::Forget(note) => {
                plan.forgotten.push(id);
                plan.notes.extend(Some(note).filter(|note| !note.is_empty()));
            }
            Fate::Keep(note) => plan.notes.push(note),
            Fate::Block(blocked, wake_on) => {
                plan.blocked.push(blocked);
                plan.wake_on.extend(wake_on);
            }
        }
    }
    victims
}

/// Adds the deletions of a pruned app: only together with everything that is wanted, and within the budget.
fn delete(snapshot: &Snapshot, victims: Vec<Victim>, is_complete: bool, plan: &mut Plan) {
    plan.digest = budget::digest(&victims);
    if victims.is_empty() {
        return;
    }
    if !is_complete {
        return plan.notes.push(format!("deletions that wait until the rest is applied: {}", victims.len()));
    }
    if let Some(blocked) = budget::exceeded(snapshot, &victims) {
        return block(plan, (blocked, WakeOn::Revision));
    }
    let reason = format!("no longer in {}", snapshot.commit.short());
    let victims = victims.into_iter().map(|victim| (victim, order::delete(), reason.clone())).collect();
    plan.actions.extend(order::farewells(plan.actions.len(), victims));
}

fn block(plan: &mut Plan, (blocked, wake_on): (Blocked, WakeOn)) {
    plan.blocked.push(blocked);
    plan.wake_on.push(wake_on);
}
