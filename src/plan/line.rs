//! Pure. The planner's own line: the rules in the order in which they speak.
//!
//! Not here: any rule.

use std::collections::BTreeSet;

use super::action::{Blocked, Going, Plan, WakeOn};
use super::hook::{Ended, Moment, Run};
use super::prune::{Fate, Victim};
use super::remove::Farewell;
use super::snapshot::{Desired, Presence, Snapshot};
use super::wanted::{self, Wanted};
use super::write::{Brings, Decision, Write};
use super::{
    authored, budget, cancel, copies, depends, earlier, fight, grant, hold, hook, kind, namespace, order, overdue,
    prune, reach, recovery, remove, requirement, secret, source, stuck, suspend, volume, waves, wellness, write,
    yields,
};
use crate::base::Timestamp;
use crate::health::{Health, HealthState};
use crate::model::{DataFate, Object, ObjectId};

/// Returns what to do for one app. The same snapshot always gives the same plan.
pub fn plan(snapshot: &Snapshot) -> Plan {
    let mut plan = Plan::nothing(snapshot.app.clone(), snapshot.commit.clone());
    if !matches!(snapshot.presence, Presence::Kept | Presence::Added) {
        plan.agreed = snapshot.agreed.clone();
    }
    match (snapshot.presence, reach::unreachable(snapshot)) {
        (Presence::Added, _) => plan.notes.push(format!("{} is added and not deployed", snapshot.app)),
        (_, Some(stop)) => {
            plan.health = Health::new(HealthState::Unknown, stop.0.message.clone());
            block(&mut plan, stop);
        }
        (Presence::Kept, None) => keep(snapshot, &mut plan),
        (Presence::RemovedKeepingData | Presence::Vanished | Presence::Moves, None) => {
            leave(snapshot, DataFate::Keep, &mut plan)
        }
        (Presence::RemovedWithData, None) => leave(snapshot, DataFate::Delete, &mut plan),
    }
    volume::end(snapshot, &mut plan);
    if reach::unreachable(snapshot).is_none() {
        stuck::report(snapshot, &mut plan);
    }
    cancel::hold(snapshot, &mut plan);
    suspend::hold(snapshot, &mut plan);
    plan.wake_on.sort();
    plan.wake_on.dedup();
    plan
}

/// Plans an app that is in the revision.
fn keep(snapshot: &Snapshot, plan: &mut Plan) {
    // Nothing is let go in a namespace that is somebody else's, or that waits for a word.
    if grant::is_open(snapshot, &snapshot.namespace) && snapshot.unapproved.is_none() {
        recovery::recover(snapshot, plan);
    }
    let stop = source::unusable(snapshot).or_else(|| grant::shut_out(snapshot));
    if let Some(stop) = stop.or_else(|| recovery::terminating(snapshot, plan)) {
        plan.health = wellness::of_inventory(snapshot);
        block(plan, stop);
        let writes = earlier::restore(snapshot, &BTreeSet::new(), plan);
        return plan.actions.extend(order::applies(writes));
    }
    let (mut wanted, rescues) = wanted(snapshot);
    let mut ids: BTreeSet<ObjectId> = wanted.iter().chain(&rescues).map(|wanted| wanted.id.clone()).collect();
    ids.extend(snapshot.awaited.keys().cloned());
    plan.recovered.extend(hook::pass_over(snapshot, &mut wanted));
    plan.notes.extend(other_hooks(snapshot));
    let mut spent = Vec::new();
    let mut writes = decide(snapshot, &wanted, plan, &mut spent);
    let fates = prune::prune(snapshot, &ids);
    plan.going = going(&fates);
    let victims = sort_out(fates, plan);
    hold_news(snapshot, &mut writes, &victims, plan);
    order::hold_dependents(&mut writes, &mut plan.blocked);
    waves::hold(snapshot, &wanted, &mut writes, plan);
    depends::hold(snapshot, &wanted, &mut writes, plan);
    let written = writes.iter().map(|(wanted, _)| wanted.id.clone()).collect();
    writes.extend(earlier::restore(snapshot, &written, plan));
    let returns = volume::come_back(snapshot, &mut writes, plan);
    let is_complete = plan.blocked.is_empty() && plan.later.is_empty();
    plan.health = wellness::of_wanted(snapshot, wanted.iter());
    copies::warn(snapshot, plan);
    if snapshot.unapproved.is_none() {
        writes.extend(rescue(snapshot, &rescues, plan, &mut spent));
    }
    plan.actions = order::applies(writes);
    volume::bring_back(returns, plan);
    delete(snapshot, victims, is_complete, plan);
    let spent = spent.into_iter().map(|victim| (victim, order::delete(), "its run is over".to_owned())).collect();
    plan.actions.extend(order::farewells(plan.actions.len(), spent));
    let ended = |wanted: &Wanted| Some((wanted.id.clone(), Some(wellness::end(snapshot, wanted)?)));
    plan.jobs.extend(wanted.iter().chain(&rescues).filter_map(ended));
    if plan.health.state != HealthState::Healthy {
        plan.wake_on.push(WakeOn::Health);
    }
    plan.wake_at = plan.wake_at.into_iter().chain(overdue::next(snapshot)).min();
}

/// Plans an app that is no longer in the revision.
fn leave(snapshot: &Snapshot, data: DataFate, plan: &mut Plan) {
    plan.health = wellness::of_inventory(snapshot);
    if let Some((blocked, wake_on)) = remove::still_required(snapshot).filter(|_| !snapshot.inventory.is_empty()) {
        plan.blocked.push(blocked);
        return plan.wake_on.extend(wake_on);
    }
    let (shut, hooks): (Vec<Wanted>, Vec<Wanted>) = hook::of_farewell(snapshot).into_iter().partition(is_shut);
    plan.notes.extend(shut.iter().map(|hook| format!("{} is not run, because nobody granted that", hook.id.short())));
    let last: BTreeSet<ObjectId> = hooks.iter().map(|hook| hook.id.clone()).collect();
    let removal = remove::remove(snapshot, data, &last);
    // Taking our marks off is part of the farewell that a person agrees to.
    plan.digest = budget::digest(&removal.goes);
    if budget::is_approved(snapshot, &plan.digest) {
        plan.agreed = removal.goes.iter().map(|victim| (victim.id.clone(), victim.uid.clone())).collect();
    }
    plan.wake_at = plan.wake_at.into_iter().chain(remove::next_look(snapshot, &removal)).min();
    if run_last_hooks(snapshot, &hooks, removal.is_anything_left, plan) {
        return;
    }
    let goes = removal.goes;
    let mut released = Vec::new();
    let mut fates = Vec::new();
    for (id, farewell) in removal.farewells {
        match farewell {
            Farewell::Fate(fate) => fates.push((id, fate)),
            Farewell::Release(victim) => released.push(victim),
            Farewell::Wait if last.contains(&id) => {}
            Farewell::Wait => plan.notes.push(format!("{} waits until what needs it is gone", id.short())),
        }
    }
    let mut victims = sort_out(fates, plan);
    if snapshot.presence == Presence::Moves && plan.forgotten.len() == snapshot.inventory.len() {
        // Nothing more comes from this cluster that would wake the app, which goes on with the other one.
        plan.wake_at = Some(snapshot.now);
    }
    plan.notes.extend(victims.iter().filter_map(|victim| cascade(&victim.id)));
    plan.victims.extend(victims.iter().map(|victim| victim.id.clone()));
    if let Some(blocked) = budget::exceeded(snapshot, &goes) {
        return block(plan, (blocked, WakeOn::Revision));
    }
    plan.blocked.extend(volume::hold_claims(snapshot, &mut victims, &mut plan.actions));
    let deletes = victims.into_iter().map(|victim| (victim, order::delete(), "its app was deleted".to_owned()));
    let releases = released.into_iter().map(|victim| (victim, super::Verb::Release, "it stays without us".to_owned()));
    let farewells = order::farewells(plan.actions.len(), deletes.chain(releases).collect());
    plan.wake_on.extend(farewells.iter().map(|action| WakeOn::Gone(action.object.clone())));
    plan.actions.extend(farewells);
    if plan.leaving.contains(&namespace::id(&snapshot.namespace)) {
        recovery::recover(snapshot, plan);
        if let Some(stop) = recovery::told(snapshot, plan) {
            block(plan, stop);
        }
    }
}

/// Returns whether an object waits for a grant, which an app that goes does not get any more.
fn is_shut(wanted: &Wanted) -> bool {
    wanted.refused.as_ref().is_some_and(|refused| refused.reason == grant::MISSING)
}

/// Runs the hooks that come before the rest of a farewell; returns whether that waits for them. A person who names the deletions lets them go on
/// all the same.
fn run_last_hooks(snapshot: &Snapshot, hooks: &[Wanted], is_anything_left: bool, plan: &mut Plan) -> bool {
    if is_anything_left {
        plan.recovered.extend(hook::to_come(snapshot, hooks));
    }
    let moment = if is_anything_left { Moment::PreDelete } else { Moment::PostDelete };
    let due = hook::due(snapshot, hooks, moment);
    if due.is_empty() || budget::is_approved(snapshot, &plan.digest) {
        return false;
    }
    let mut writes = Vec::new();
    for hook in due {
        if let Some(failed) = hook::failed(snapshot, hook) {
            let hint = format!("wild app deploy {} --prune --plan {}", snapshot.app, plan.digest);
            block(plan, (Blocked { hint, ..failed }, WakeOn::Revision));
        } else if hook::run(snapshot, hook) == Run::Runs {
            let blocked = Blocked {
                object: Some(hook.id.clone()),
                reason: "HookRunning".into(),
                message: format!("the rest waits until {} has ended", hook.id.short()),
                hint: String::new(),
            };
            block(plan, (blocked, WakeOn::Health));
        } else if let Some(refused) = hook.refused.clone() {
            block(plan, (refused, WakeOn::Revision));
        } else if let Decision::Write(write) = write::decide(snapshot, hook).0 {
            writes.push((hook.clone(), write));
        }
    }
    plan.actions = order::applies(writes);
    plan.wake_on.push(WakeOn::Health);
    true
}

/// Returns what else goes with an object.
fn cascade(id: &ObjectId) -> Option<String> {
    let is_definition = id.kind == "CustomResourceDefinition";
    is_definition.then(|| format!("{} takes every object of its kind with it", id.short()))
}

/// Returns the objects that the app wants, its namespace among them, and its hooks for when it fails.
fn wanted(snapshot: &Snapshot) -> (Vec<Wanted>, Vec<Wanted>) {
    let Desired::Objects(objects) = &snapshot.desired else { return (Vec::new(), Vec::new()) };
    let own = namespace::id(&snapshot.namespace);
    let derived = (!objects.iter().any(|it| it.object.id() == own)).then(|| namespace::derived(&snapshot.namespace));
    let applied = objects.iter().filter(|desired| !hook::is_of_other_moment(&desired.object));
    let mut wanted: Vec<Wanted> = derived.iter().chain(applied).map(|desired| Wanted::new(snapshot, desired)).collect();
    let mut rescues = hook::of_moment(snapshot, |moment| moment == Moment::OnFailure);
    wanted::bind_hooks(&mut wanted, &mut rescues);
    let mut wanted = waves::pull_forward(wanted);
    depends::refuse(&mut wanted);
    (wanted, rescues)
}

/// Returns the runs of hooks that a failed app brings, each once for a state of the app.
fn rescue(snapshot: &Snapshot, rescues: &[Wanted], plan: &mut Plan, spent: &mut Vec<Victim>) -> Vec<(Wanted, Write)> {
    let hook_failed = plan.blocked.iter().any(|blocked| blocked.reason == "HookFailed");
    let is_failed = hook_failed || snapshot.refused || plan.health.state == HealthState::Degraded;
    let mut writes = Vec::new();
    for rescue in rescues {
        if let Some(refused) = rescue.refused.clone() {
            block(plan, (refused, WakeOn::Revision));
        } else if hook::reruns(snapshot, rescue) {
            if let Decision::Write(write) = write::decide(snapshot, rescue).0 {
                writes.push((rescue.clone(), write));
            }
        } else if let Some(ended) = hook::ended(snapshot, rescue) {
            settle(ended, rescue, plan, spent);
        } else if is_failed
            && hook::run(snapshot, rescue) == Run::NotYet
            && let Decision::Write(write) = write::decide(snapshot, rescue).0
        {
            writes.push((rescue.clone(), write));
        }
    }
    writes
}

/// Notes what becomes of the Job of a hook that is over.
fn settle(ended: Ended, hook: &Wanted, plan: &mut Plan, spent: &mut Vec<Victim>) {
    match ended {
        Ended::Left => plan.unchanged.push(hook.id.clone()),
        Ended::Spent(victim) => spent.push(victim),
        Ended::Leaving => {
            plan.wake_on.push(WakeOn::Gone(hook.id.clone()));
            plan.leaving.push(hook.id.clone());
        }
        Ended::Gone(record) => plan.recovered.push(record),
    }
}

/// Names the hooks of moments that are no deployment: they are not applied with the app.
fn other_hooks(snapshot: &Snapshot) -> Vec<String> {
    let Desired::Objects(objects) = &snapshot.desired else { return Vec::new() };
    let is_other = |object: &Object| hook::is_of_other_moment(object) && Moment::of(object) != Some(Moment::OnFailure);
    let hooks = objects.iter().filter(|desired| is_other(&desired.object));
    hooks
        .map(|desired| format!("{} is a hook of another moment and is not run now", desired.object.id().short()))
        .collect()
}

/// Decides about each wanted object; returns what is to be written.
fn decide(snapshot: &Snapshot, wanted: &[Wanted], plan: &mut Plan, spent: &mut Vec<Victim>) -> Vec<(Wanted, Write)> {
    let mut writes = Vec::new();
    for wanted in wanted {
        plan.notes.extend(wanted.left_out.iter().cloned().chain(authored::held(wanted)));
        note_yielded(snapshot, wanted, plan);
        if let Some(blocked) = wanted.refused.clone() {
            block(plan, (blocked, WakeOn::Revision));
            continue;
        }
        let is_over = wanted.is_hook() && !hook::reruns(snapshot, wanted);
        if let Some(failed) = hook::failed(snapshot, wanted).filter(|_| is_over) {
            block(plan, (failed, WakeOn::Revision));
        }
        if let Some(ended) = hook::ended(snapshot, wanted).filter(|_| is_over) {
            settle(ended, wanted, plan, spent);
            continue;
        }
        let (decision, drift) = write::decide(snapshot, wanted);
        note_held(snapshot, wanted, !drift.is_empty(), plan);
        plan.drift.extend(drift);
        match decision {
            Decision::Leave => plan.unchanged.push(wanted.id.clone()),
            Decision::Recover(record) => plan.recovered.push(record),
            Decision::Write(mut write) => {
                hold_fought(write.fought.take(), plan);
                plan.notes.extend(fight::slow(snapshot, wanted, &plan.drift));
                writes.push((wanted.clone(), write));
            }
            Decision::Report => {}
            Decision::Hold(blocked, until) => hold_fought(Some((blocked, until)), plan),
            Decision::Block(blocked, wake_on) => {
                let again = wake_on.as_ref().and_then(|event| kind::look_again(snapshot, event));
                plan.wake_at = plan.wake_at.into_iter().chain(again).min();
                plan.blocked.push(blocked);
                plan.wake_on.extend(wake_on);
            }
        }
    }
    writes
}

/// Tells what somebody keeps changing, and puts it back again later.
pub(super) fn hold_fought(fight: Option<(Blocked, Timestamp)>, plan: &mut Plan) {
    let Some((blocked, until)) = fight else { return };
    plan.blocked.push(blocked);
    plan.wake_at = Some(plan.wake_at.map_or(until, |at| at.min(until)));
}

/// Tells that differences of an object are left alone for now, and looks again when that ends.
fn note_held(snapshot: &Snapshot, wanted: &Wanted, differs: bool, plan: &mut Plan) {
    let Some(until) = hold::until(snapshot, &wanted.id).filter(|_| differs) else { return };
    plan.notes.push(format!("{} is held as it is until {until}", wanted.id.short()));
    plan.wake_at = Some(plan.wake_at.map_or(until, |at| at.min(until)));
}

/// Tells which fields are left to others, and looks again when a rule ends.
fn note_yielded(snapshot: &Snapshot, wanted: &Wanted, plan: &mut Plan) {
    let all = yields::of_live(snapshot.live.get(&wanted.id), &wanted.payload, &wanted.yields);
    for yielded in all.into_iter().filter(|yielded| yielded.contested.is_none()) {
        plan.notes.push(format!("{} {}", wanted.id.short(), yielded.note));
        plan.wake_at = match (plan.wake_at, yielded.until) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

/// Holds new content back while a requirement or a secret is missing; what is applied already is kept as it is.
fn hold_news(snapshot: &Snapshot, writes: &mut Vec<(Wanted, Write)>, victims: &[Victim], plan: &mut Plan) {
    let unapproved = grant::unapproved(snapshot);
    let secrets: Vec<_> =
        unapproved.into_iter().chain(secret::missing(snapshot)).chain(grant::missing_secrets(snapshot)).collect();
    let has_news = !victims.is_empty() || writes.iter().any(|(_, write)| write.brings == Brings::News);
    let unmet = if has_news { requirement::unmet(snapshot) } else { Vec::new() };
    if secrets.is_empty() && unmet.is_empty() {
        return;
    }
    writes.retain(|(_, write)| write.brings == Brings::Correction);
    plan.notes.extend(grant::awaiting_word(snapshot, &plan.unchanged));
    for stop in secrets.into_iter().chain(unmet) {
        block(plan, stop);
    }
}

/// Returns whether something of what is no longer wanted is to go.
fn going(fates: &[(ObjectId, Fate)]) -> Going {
    let goes = |fate: &Fate| match fate {
        Fate::Delete(_) | Fate::Leaving | Fate::Block(..) => true,
        Fate::Forget(_) | Fate::Keep(_) | Fate::Moves(_) | Fate::MayMove(_) => false,
    };
    if fates.iter().any(|(_, fate)| goes(fate)) { Going::Something } else { Going::Nothing }
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
            Fate::Moves(app) => {
                plan.notes.push(format!("{} moves to app {app}", id.short()));
                plan.wake_on.push(WakeOn::App(app));
            }
            Fate::MayMove(app) => {
                plan.notes.push(format!("{} stays until app {app} builds, whose files name it", id.short()));
                plan.wake_on.push(WakeOn::App(app));
            }
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
    plan.victims.extend(victims.iter().map(|victim| victim.id.clone()));
    if victims.is_empty() {
        return;
    }
    if !is_complete {
        return plan.notes.push(format!("deletions that wait until the rest is applied: {}", victims.len()));
    }
    if let Some(blocked) = budget::exceeded(snapshot, &victims) {
        return block(plan, (blocked, WakeOn::Revision));
    }
    let mut victims = hold_needed(snapshot, victims, plan);
    plan.notes.extend(victims.iter().filter_map(|victim| cascade(&victim.id)));
    plan.blocked.extend(volume::hold_claims(snapshot, &mut victims, &mut plan.actions));
    let reason = format!("no longer in {}", snapshot.commit.short());
    let victims = victims.into_iter().map(|victim| (victim, order::delete(), reason.clone())).collect();
    plan.actions.extend(order::farewells(plan.actions.len(), victims));
}

/// Leaves out, for now, what others depend on which go as well.
fn hold_needed(snapshot: &Snapshot, mut victims: Vec<Victim>, plan: &mut Plan) -> Vec<Victim> {
    let deletes = victims.iter().map(|victim| victim.id.clone()).collect();
    let needed = depends::needed(snapshot, &deletes, &plan.leaving.iter().cloned().collect());
    if needed.is_empty() {
        return victims;
    }
    victims.retain(|victim| !needed.contains(&victim.id));
    plan.wake_on.extend(victims.iter().map(|victim| WakeOn::Gone(victim.id.clone())));
    plan.notes.extend(needed.iter().map(|id| format!("{} goes when what depends on it is gone", id.short())));
    victims
}

fn block(plan: &mut Plan, (blocked, wake_on): (Blocked, WakeOn)) {
    plan.blocked.push(blocked);
    plan.wake_on.push(wake_on);
}
