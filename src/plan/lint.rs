//! Pure. What no plan may ever do, checked over every plan that a test makes.
//!
//! It asks the snapshot anew and trusts no rule. Not here: the rules.

use std::collections::BTreeSet;

use super::action::{Action, Blocked, Plan, Verb};
use super::snapshot::{Desired, NamespaceState, Presence, Snapshot, TargetState};
use super::{budget, grant, hash, hook, kind, marks, namespace, recovery, stuck, volume};
use crate::model::{HeldVolume, Object, ObjectId, Prune};

/// Returns what a plan does that it must not; nothing for a sound plan.
pub fn lint(snapshot: &Snapshot, plan: &Plan) -> Vec<String> {
    let mut findings = Vec::new();
    for (position, action) in plan.actions.iter().enumerate() {
        let found = places(position, action).into_iter().chain(match &action.verb {
            Verb::Apply { payload, force: _ } => apply(snapshot, action, payload),
            Verb::Delete { propagation: _ } => delete(snapshot, plan, action),
            Verb::Release => farewell(snapshot, action),
            Verb::Free { finalizers } => free(snapshot, plan, action, finalizers),
            Verb::Hold { volume: _ } => {
                let is_approved = !plan.digest.is_empty() && snapshot.ask.approve.as_deref() == Some(&plan.digest);
                let is_meant = match snapshot.presence {
                    Presence::RemovedWithData => true,
                    Presence::Kept => is_approved,
                    Presence::Added | Presence::RemovedKeepingData | Presence::Vanished | Presence::Moves => false,
                };
                Vec::from_iter((!is_meant).then_some("its claim does not go"))
            }
            Verb::Return { volume } | Verb::LetGo { volume } => held(snapshot, action, volume),
        });
        findings.extend(found.map(|text| format!("{}: {text}", action.object)));
    }
    findings.extend(once(plan));
    findings.extend(sentences(plan));
    findings
}

fn places(position: usize, action: &Action) -> Vec<&'static str> {
    let mut found = Vec::new();
    found.extend((action.id != position).then_some("its id is not its position"));
    found.extend(action.after.iter().any(|after| *after >= position).then_some("it waits for a later action"));
    found.extend(action.uid.as_ref().is_some_and(String::is_empty).then_some("its uid is empty"));
    found
}

fn apply(snapshot: &Snapshot, action: &Action, payload: &Object) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut rule = |holds: bool, text: &'static str| found.extend((!holds).then_some(text));
    rule(payload.id() == action.object, "its payload is another object");
    rule(hash::is_sealed(payload), "its payload holds a secret value");
    rule(payload.label(marks::INSTANCE) == Some(snapshot.instance.as_str()), "its payload lacks the instance's mark");
    rule(payload.label(marks::APP) == Some(snapshot.app.as_str()), "its payload lacks the app's mark");
    rule(payload.label(marks::PART_OF) == Some(snapshot.apply_set.as_str()), "its payload lacks the set's mark");
    rule(payload.annotation(marks::HASH) == Some(action.hash.as_str()), "its payload has another hash");
    rule(payload.at(&["status"]).is_none(), "its payload has a status");
    rule(payload.at(&["metadata", "uid"]).is_none(), "its payload has a uid");
    rule(payload.at(&["metadata", "resourceVersion"]).is_none(), "its payload has a version");
    rule(payload.at(&["metadata", "managedFields"]).is_none(), "its payload has managed fields");
    rule(snapshot.presence == Presence::Kept || is_of_farewell(snapshot, &action.object), "the app is not kept");
    rule(snapshot.target == TargetState::Reachable, "the target does not answer");
    rule(grant::missing(snapshot, &action.object, payload).is_none(), "nobody granted it");
    let terminating = matches!(snapshot.namespace_state, NamespaceState::Terminating { .. });
    rule(!terminating, "the namespace is being deleted");
    let is_held = is_wanted(snapshot, &action.object) || is_of_farewell(snapshot, &action.object);
    let is_earlier = snapshot.before.get(&action.object).is_some_and(|before| before.hash == action.hash);
    rule(is_held || is_earlier, "no revision holds it");
    found
}

fn free(snapshot: &Snapshot, plan: &Plan, action: &Action, finalizers: &[String]) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut rule = |holds: bool, text: &'static str| found.extend((!holds).then_some(text));
    let NamespaceState::Terminating(ending) = &snapshot.namespace_state else {
        return vec!["its namespace is not being deleted"];
    };
    let approved = !plan.digest.is_empty() && snapshot.ask.approve.as_deref() == Some(plan.digest.as_str());
    rule(snapshot.target == TargetState::Reachable, "the target does not answer");
    let Some(rest) = &ending.rest else { return vec!["nobody saw what its namespace holds"] };
    let (uid, held) = match rest.iter().find(|remnant| remnant.id == action.object) {
        Some(remnant) => {
            let is_claim = volume::is_claim(&remnant.id) && !snapshot.policy.data_grace.is_zero();
            let is_known = snapshot.held.iter().any(|held| volume::claim_of(&held.volume) == remnant.id);
            rule(remnant.is_leaving || recovery::is_condemned(snapshot), "nobody deleted it");
            rule(remnant.is_leaving || !is_claim || is_known || approved, "its volume is not held");
            (&remnant.uid, &remnant.finalizers)
        }
        None => {
            rule(action.object == namespace::id(&snapshot.namespace), "it is not the app's namespace");
            rule(rest.is_empty(), "it was not seen empty");
            (&ending.uid, &ending.finalizers)
        }
    };
    rule(action.uid.as_ref() == Some(uid), "it is another incarnation");
    let is_loose =
        |name: &String| held.iter().any(|it| it.name == *name && (approved || recovery::is_loose(snapshot, it)));
    rule(finalizers.iter().all(is_loose), "a controller put a finalizer there");
    found
}

fn delete(snapshot: &Snapshot, plan: &Plan, action: &Action) -> Vec<&'static str> {
    let mut found = farewell(snapshot, action);
    if is_spent(snapshot, &action.object) {
        return found;
    }
    let mut rule = |holds: bool, text: &'static str| found.extend((!holds).then_some(text));
    let kind = action.object.kind.as_str();
    let approved = snapshot.ask.approve.as_deref() == Some(plan.digest.as_str());
    let is_prune = |action: &&Action| matches!(action.verb, Verb::Delete { .. }) && !is_spent(snapshot, &action.object);
    let deletes = plan.actions.iter().filter(is_prune).count();
    rule(!plan.digest.is_empty(), "the deletions have no name");
    rule(!is_wanted(snapshot, &action.object), "the revision wants it");
    rule(is_held(snapshot, plan, action), "its volume is not held");
    match snapshot.presence {
        Presence::Kept => {
            let is_harmless = |blocked: &Blocked| blocked.reason == stuck::REASON;
            rule(plan.blocked.iter().all(is_harmless), "something of the app is held back");
            let is_allowed =
                || approved && snapshot.live.get(&action.object).is_some_and(|live| live.prune == Prune::Allow);
            rule(!kind::is_protected(kind) || is_allowed(), "its kind is not pruned without two words");
            rule(approved || deletes <= budget::limit(snapshot), "the deletions exceed the budget");
            let is_known = matches!(&snapshot.desired, Desired::Objects(objects) if !objects.is_empty());
            rule(is_known, "what is wanted is not known");
            let applies = plan.actions.iter().filter(|action| matches!(action.verb, Verb::Apply { .. }));
            rule(applies.into_iter().all(|apply| action.after.contains(&apply.id)), "it does not wait for an apply");
        }
        Presence::RemovedKeepingData => rule(!kind::holds_data(kind), "its data was to be kept"),
        Presence::RemovedWithData => {
            let alone = snapshot.neighbours.get(&action.object.name).is_some_and(Vec::is_empty);
            let created = snapshot.inventory.get(&action.object).is_some_and(|record| record.created);
            rule(kind != "Namespace" || (alone && created), "the namespace is not only ours");
        }
        Presence::Vanished | Presence::Moves => {
            let uid = action.uid.clone().unwrap_or_default();
            let is_agreed = snapshot.agreed.contains(&(action.object.clone(), uid));
            rule(approved || is_agreed, "nobody asked for it");
            rule(!kind::holds_data(kind), "its data was to be kept");
        }
        Presence::Added => rule(false, "the app was never deployed"),
    }
    found
}

/// Checks that the volume of a claim is held before the claim goes.
fn is_held(snapshot: &Snapshot, plan: &Plan, action: &Action) -> bool {
    if !volume::is_claim(&action.object) || snapshot.policy.data_grace.is_zero() {
        return true;
    }
    match snapshot.volumes.get(&action.object) {
        None => false,
        Some(None) => true,
        Some(Some(found)) => {
            let is_of = |held: &HeldVolume| held.uid == found.uid;
            let is_before = |hold: &Action| {
                action.after.contains(&hold.id) && matches!(&hold.verb, Verb::Hold { volume } if is_of(volume))
            };
            let is_known = snapshot.held.iter().any(|held| is_of(&held.volume));
            plan.actions.iter().any(is_before) || (is_known && found.stays)
        }
    }
}

fn held(snapshot: &Snapshot, action: &Action, volume: &HeldVolume) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut rule = |holds: bool, text: &'static str| found.extend((!holds).then_some(text));
    let known = snapshot.held.iter().find(|held| held.volume == *volume);
    rule(known.is_some(), "it is not held");
    match action.verb {
        Verb::Return { .. } => rule(volume::is_called_back(snapshot, volume), "nobody asked for it"),
        _ => {
            let is_due = known.is_some_and(|held| volume::reason_to_end(snapshot, held).is_some());
            rule(is_due, "its time is not over");
        }
    }
    found
}

/// Checks what deletion and release have in common.
fn farewell(snapshot: &Snapshot, action: &Action) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut rule = |holds: bool, text: &'static str| found.extend((!holds).then_some(text));
    let record = snapshot.inventory.get(&action.object);
    rule(record.is_some(), "it is not in the inventory");
    rule(action.uid.is_some(), "it has no uid");
    let same = record.is_none_or(|record| record.uid.is_empty() || Some(&record.uid) == action.uid.as_ref());
    rule(same, "its incarnation is not the recorded one");
    rule(snapshot.target == TargetState::Reachable, "the target does not answer");
    rule(snapshot.dependents.is_empty() || snapshot.presence == Presence::Kept, "another app requires it");
    found
}

fn is_wanted(snapshot: &Snapshot, id: &ObjectId) -> bool {
    let Desired::Objects(objects) = &snapshot.desired else { return false };
    snapshot.presence == Presence::Kept
        && (objects.iter().any(|it| it.object.id() == *id) || *id == super::namespace::id(&snapshot.namespace))
}

/// Returns whether an object is a hook of the end of an app of which a commit says that it ends.
fn is_of_farewell(snapshot: &Snapshot, id: &ObjectId) -> bool {
    hook::of_farewell(snapshot).iter().any(|hook| hook.id == *id)
}

/// Returns whether an object is the Job of a hook that may go although the revision wants it.
fn is_spent(snapshot: &Snapshot, id: &ObjectId) -> bool {
    let Desired::Objects(objects) = &snapshot.desired else { return false };
    snapshot.presence == Presence::Kept
        && objects.iter().any(|desired| desired.object.id() == *id && hook::may_go(&desired.object))
}

/// Checks that each object has one fate.
fn once(plan: &Plan) -> Vec<String> {
    let recovered = plan.recovered.iter().map(|record| &record.id);
    let fates = plan.actions.iter().map(|action| &action.object).chain(&plan.unchanged).chain(recovered);
    let mut seen = BTreeSet::new();
    fates
        .chain(&plan.forgotten)
        .chain(&plan.leaving)
        .filter(|id| !seen.insert((*id).clone()))
        .map(|id| format!("{id}: it has two fates"))
        .collect()
}

/// Checks the form of what people read.
fn sentences(plan: &Plan) -> Vec<String> {
    let blocked = plan.blocked.iter().flat_map(|blocked| [&blocked.reason, &blocked.message]);
    let reasons = plan.actions.iter().map(|action| &action.reason);
    blocked
        .chain(reasons)
        .chain(&plan.notes)
        .filter(|text| text.is_empty() || text.ends_with('.'))
        .map(|text| format!("{text:?} is empty or ends with a full stop"))
        .collect()
}
