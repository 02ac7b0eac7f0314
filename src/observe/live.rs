//! What the target shows of wanted and remembered objects: the watches first, a request only where they cannot know.
//!
//! Not here: judging it (`plan`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::base::Timestamp;
use crate::health::{self, Health, HealthState};
use crate::model::{
    DriftPolicy, Finalizer, HealthRule, Leaving, Object, ObjectId, OwnEntry, Prune, Record, RecordState,
};
use crate::plan::marks::{CONFIG_BASELINE, ENTERED, Identity};
use crate::plan::{
    Desired, Ending, Existing, Freshness, Live, NamespaceState, Owner, Presence, Remnant, Snapshot, depends, drift,
    ground, hold, namespace, owner, recovery, restart,
};
use crate::target::{LiveObject, Refusal, RefusalKind, Target, WatchState};

/// Fills in freshness, live objects, owners of unknown ones, and the namespace.
pub(super) async fn fill(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    if let Some(away) = super::away(target) {
        snapshot.target = away;
    }
    let ids = ids(snapshot);
    for (id, _) in &ids {
        note_freshness(snapshot, target, id);
    }
    fill_namespace(snapshot, target).await?;
    let mut known = 0;
    for (id, api_version) in ids {
        let live = target.live(&id);
        let is_shown = live.is_some();
        if let Some(live) = live {
            known += usize::from(live.app == snapshot.app.as_str() && !is_left(snapshot, &id));
            let is_another = is_another(snapshot, &id, &live);
            snapshot.live.insert(id.clone(), from_watch(live));
            if !is_another {
                continue;
            }
        } else if !worth_a_look(snapshot, &id) {
            continue;
        }
        let object = match seen(target.metadata(&id, &api_version).await)? {
            Seen::Answer(Some(object)) => object,
            Seen::Answer(None) => continue,
            Seen::Refused(why) => {
                snapshot.unseen.insert(id, why);
                continue;
            }
        };
        let record = snapshot.inventory.get(&id).filter(|record| record.state != RecordState::Intended);
        let known = record.is_some_and(|record| record.uid == text(&object, "uid"));
        if record.is_some() && !is_shown {
            // Our instance label is gone, so the watch lost it; the object is there all the same.
            let live = from_metadata(&id, &object, &snapshot.policy.health);
            snapshot.live.insert(id.clone(), live);
        }
        if !known {
            note_owner(snapshot, id, &object);
        }
    }
    fill_done(snapshot, target).await?;
    // An object of ours that the watch shows and no record knows: the store was lost.
    let unknown: Vec<ObjectId> =
        snapshot.live.keys().filter(|id| snapshot.inventory.get(id).is_none()).cloned().collect();
    for id in unknown {
        recover(snapshot, target, id).await?;
    }
    if target.count(snapshot.app.as_str()) > known {
        find(snapshot, target).await?;
    }
    fill_holders(snapshot, target).await?;
    fill_values(snapshot, target).await;
    fill_templates(snapshot, target).await;
    Ok(())
}

/// Asks who holds what of objects that were written with fields left out, where the watch brought them before that was known.
async fn fill_holders(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    for record in snapshot.inventory.records().filter(|record| record.is_partial()) {
        let Some(live) = snapshot.live.get_mut(&record.id).filter(|live| live.managed.is_none()) else { continue };
        if let Seen::Answer(Some(object)) = seen(target.metadata(&record.id, &record.api_version).await)?
            && text(&object, "uid") == live.uid
        {
            live.managed = managed(&object);
        }
    }
    Ok(())
}

/// Returns whether somebody made an object anew that we remember. It may carry our labels, which can be copied, and belong to others.
fn is_another(snapshot: &Snapshot, id: &ObjectId, live: &LiveObject) -> bool {
    let record = snapshot.inventory.get(id).filter(|record| record.state == RecordState::Applied);
    record.is_some_and(|record| !record.uid.is_empty() && record.uid != live.uid)
}

/// Takes objects of the app that are neither wanted nor remembered back into the inventory: its record was lost after the object was wanted
/// last. Labels can be copied, so all of our marks and our own entry among the managers must be there.
async fn find(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    for (id, api_version) in target.members(snapshot.app.as_str()) {
        if snapshot.live.contains_key(&id) && !is_left(snapshot, &id) {
            continue;
        }
        let (Some(live), Seen::Answer(Some(object))) =
            (target.live(&id), seen(target.metadata(&id, &api_version).await)?)
        else {
            continue;
        };
        let Owner::Us { hash, fields, time, generation } = owner::owner_of(&object, snapshot.identity()) else {
            continue;
        };
        if hash.is_empty() || fields.is_empty() {
            continue;
        }
        let uid = text(&object, "uid");
        let state = RecordState::Applied;
        let record = Record {
            id: id.clone(),
            cluster: snapshot.cluster.clone(),
            api_version,
            state,
            uid,
            hash,
            fields,
            time,
            generation,
            created: false,
            commit: None,
            audited: String::new(),
        };
        note_freshness(snapshot, target, &id);
        snapshot.existing.remove(&id);
        snapshot.live.insert(id, from_watch(live));
        snapshot.inventory.insert(record.clone());
        snapshot.found.push(record);
    }
    Ok(())
}

/// Returns whether an object is the namespace of an app that goes, and was forgotten: it is looked at like what is wanted, and nobody wants it.
fn is_left(snapshot: &Snapshot, id: &ObjectId) -> bool {
    let goes = matches!(snapshot.presence, Presence::RemovedKeepingData | Presence::RemovedWithData);
    goes && *id == namespace::id(&snapshot.namespace) && snapshot.inventory.get(id).is_none()
}

/// Asks about Jobs that are not there how they ended: the watch may have seen it, and it may be noted. One that is gone after its run is as
/// wanted.
async fn fill_done(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    let is_open = |id: &ObjectId| {
        let known = snapshot.live.contains_key(id) || snapshot.existing.contains_key(id);
        let record = snapshot.inventory.get(id);
        let may_have_run = record.is_none_or(|record| record.state == RecordState::Applied && !record.uid.is_empty());
        id.kind == "Job" && id.group == "batch" && !known && may_have_run
    };
    let open: Vec<ObjectId> = ids(snapshot).into_iter().map(|(id, _)| id).filter(is_open).collect();
    for id in open {
        let of_ours =
            |(uid, health)| snapshot.inventory.get(&id).is_some_and(|record| record.uid == uid).then_some(health);
        if let Some(health) = target.ended(&id).and_then(of_ours) {
            snapshot.ended.insert(id, health);
            continue;
        }
        match seen(target.job_done(&id).await)? {
            Seen::Answer(Some(hash)) => _ = snapshot.done.insert(id, hash),
            Seen::Answer(None) => {}
            Seen::Refused(why) => _ = snapshot.unseen.insert(id, why),
        }
    }
    Ok(())
}

/// Reads the objects that differ from what we left where that is only reported: a person may have put a value back by hand. One that
/// cannot be read now is judged by its metadata alone. Secrets are never read.
async fn fill_values(snapshot: &mut Snapshot, target: &dyn Target) {
    let Desired::Objects(objects) = &snapshot.desired else { return };
    let own: BTreeMap<ObjectId, DriftPolicy> =
        objects.iter().filter_map(|it| Some((it.object.id(), drift::policy(&it.object)?))).collect();
    let default = snapshot.policy.drift;
    for record in snapshot.inventory.records() {
        if own.get(&record.id).copied().unwrap_or(default) != DriftPolicy::Report {
            continue;
        }
        let Some(live) = snapshot.live.get_mut(&record.id) else { continue };
        let secret = record.id.group.is_empty() && record.id.kind == "Secret";
        if live.managed.is_some() && !secret {
            live.whole = target.get(&record.id, &record.api_version).await.ok().flatten();
        }
    }
}

/// Reads what the pod templates say of their config where a workload may be taken over, or was written with a key that is lost, because
/// neither is to restart anything.
async fn fill_templates(snapshot: &mut Snapshot, target: &dyn Target) {
    let Desired::Objects(objects) = &snapshot.desired else { return };
    for desired in objects.iter().filter(|desired| restart::noted(&desired.object).is_some()) {
        let id = desired.object.id();
        let (is_asked, place) = match (snapshot.existing.get_mut(&id), snapshot.live.get_mut(&id)) {
            (Some(existing), _) => (restart::is_taken_over(&existing.owner, &desired.hash), &mut existing.template),
            (None, Some(live)) => (restart::is_of_another_key(&live.hash, &desired.hash), &mut live.template),
            (None, None) => continue,
        };
        if is_asked {
            let whole = target.get(&id, desired.object.api_version()).await.ok().flatten();
            *place = whole.as_ref().and_then(restart::noted).map(str::to_owned);
        }
    }
}

/// Reads an object that carries our label without a record, so that its owner is told by all of its marks.
async fn recover(snapshot: &mut Snapshot, target: &dyn Target, id: ObjectId) -> Result<(), Refusal> {
    let api_version = ids(snapshot).into_iter().find(|(wanted, _)| *wanted == id).map(|(_, version)| version);
    let Some(api_version) = api_version else { return Ok(()) };
    match seen(target.metadata(&id, &api_version).await)? {
        Seen::Answer(Some(object)) => note_owner(snapshot, id, &object),
        Seen::Answer(None) => {}
        Seen::Refused(why) => _ = snapshot.unseen.insert(id, why),
    }
    Ok(())
}

/// Notes an object that is there and is not the one that we remember, with who owns it.
fn note_owner(snapshot: &mut Snapshot, id: ObjectId, object: &Object) {
    let identity = Identity { instance: &snapshot.instance, app: &snapshot.app, apply_set: &snapshot.apply_set };
    let owner = owner::owner_of(object, identity);
    if namespace::is_one(&id) {
        let ground = ground::of_live(object, identity, snapshot.inventory.get(&id));
        snapshot.grounds.insert(id.name.clone(), ground);
    }
    let baseline = object.annotation(CONFIG_BASELINE).unwrap_or("").to_owned();
    let existing = Existing { uid: text(object, "uid"), owner, managed: managed(object), baseline, template: None };
    snapshot.existing.insert(id, existing);
}

/// What came of looking at one thing.
pub(super) enum Seen<T> {
    /// The target answered.
    Answer(T),
    /// It answers and refuses this one look, such as by its access rules.
    Refused(String),
}

/// Tells a refusal of one look from a target that does not answer or is too busy to.
pub(super) fn seen<T>(answer: Result<T, Refusal>) -> Result<Seen<T>, Refusal> {
    match answer {
        Ok(answer) => Ok(Seen::Answer(answer)),
        Err(refusal) if refusal.is_unreachable() || refusal.kind == RefusalKind::Busy => Err(refusal),
        Err(refusal) => Ok(Seen::Refused(refusal.message)),
    }
}

/// Returns all wanted and remembered objects with the `apiVersion` to ask with.
fn ids(snapshot: &Snapshot) -> BTreeSet<(ObjectId, String)> {
    let mut ids: BTreeSet<(ObjectId, String)> = BTreeSet::new();
    let mut wanted: BTreeSet<ObjectId> = BTreeSet::new();
    if let Desired::Objects(objects) = &snapshot.desired {
        for desired in objects {
            wanted.insert(desired.object.id());
            ids.insert((desired.object.id(), desired.object.api_version().to_owned()));
        }
    }
    let namespace = namespace::id(&snapshot.namespace);
    if wanted.insert(namespace.clone()) {
        ids.insert((namespace, "v1".to_owned()));
    }
    for record in snapshot.inventory.records().filter(|record| !wanted.contains(&record.id)) {
        ids.insert((record.id.clone(), record.api_version.clone()));
    }
    ids
}

/// Returns whether one request is spent on an object that no watch shows: it is wanted for the first time, or it was ours and is not seen.
/// A namespace that is missing holds nothing, so neither it nor anything in it is asked for again.
fn worth_a_look(snapshot: &Snapshot, id: &ObjectId) -> bool {
    let is_of_namespace = id.namespace == snapshot.namespace || *id == namespace::id(&snapshot.namespace);
    !is_of_namespace || snapshot.namespace_state != NamespaceState::Missing
}

async fn fill_namespace(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    let id = namespace::id(&snapshot.namespace);
    let live = match target.live(&id) {
        Some(live) if !live.terminating => {
            snapshot.namespace_state = NamespaceState::Active;
            return Ok(());
        }
        Some(_) | None => match seen(target.get(&id, "v1").await)? {
            Seen::Answer(answer) => answer,
            Seen::Refused(why) => {
                // Who may not look at the namespace may still work in it; if it is missing, every write says so.
                snapshot.unseen.insert(id, why);
                snapshot.namespace_state = NamespaceState::Active;
                return Ok(());
            }
        },
    };
    snapshot.namespace_state = match live {
        None => NamespaceState::Missing,
        Some(object) if object.at(&["metadata", "deletionTimestamp"]).is_some() => {
            NamespaceState::Terminating(ending(snapshot, target, &object).await?)
        }
        Some(_) => NamespaceState::Active,
    };
    Ok(())
}

/// Returns what is known of a namespace that is being deleted. What it holds is asked for only when the cluster has had its time, because
/// that takes a request for each kind.
async fn ending(snapshot: &Snapshot, target: &dyn Target, object: &Object) -> Result<Ending, Refusal> {
    let since = object.at(&["metadata", "deletionTimestamp"]).and_then(Value::as_str);
    let since = since.and_then(|time| Timestamp::parse(time).ok()).unwrap_or(snapshot.now);
    let mut ending = Ending {
        why: health::ending(object),
        since,
        uid: text(object, "uid"),
        finalizers: Finalizer::all(object),
        rest: None,
    };
    if recovery::due(since, &snapshot.policy.recovery) > snapshot.now {
        return Ok(ending);
    }
    match seen(target.contents(&snapshot.namespace).await)? {
        Seen::Answer(objects) => ending.rest = Some(objects.iter().map(remnant).collect()),
        Seen::Refused(why) => {
            let said = if ending.why.is_empty() { String::new() } else { format!("{}; ", ending.why) };
            ending.why = format!("{said}what it holds could not be seen: {why}");
        }
    }
    Ok(ending)
}

fn remnant(object: &Object) -> Remnant {
    Remnant {
        id: object.id(),
        api_version: object.api_version().to_owned(),
        uid: text(object, "uid"),
        is_leaving: object.at(&["metadata", "deletionTimestamp"]).is_some(),
        finalizers: Finalizer::all(object),
    }
}

/// Notes whether the watch of an object's kind can be trusted, once for each kind.
fn note_freshness(snapshot: &mut Snapshot, target: &dyn Target, id: &ObjectId) {
    let state = || freshness(target.watch_state(snapshot.app.as_str(), &id.group, &id.kind));
    snapshot.freshness.entry((id.group.clone(), id.kind.clone())).or_insert_with(state);
}

fn freshness(state: WatchState) -> Freshness {
    match state {
        WatchState::Fresh => Freshness::Fresh,
        WatchState::Stale => Freshness::Stale,
        WatchState::Closed => Freshness::Unwatched,
        WatchState::UnknownKind => Freshness::UnknownKind,
    }
}

fn from_watch(live: LiveObject) -> Live {
    let LiveObject {
        uid,
        resource_version,
        generation,
        own,
        terminating,
        leaving,
        health,
        changed,
        managed,
        hash,
        baseline,
        entered,
        unspoken,
        prune,
        hold,
        depends_on,
        app: _,
    } = live;
    let OwnEntry { fields, time } = own;
    Live {
        uid,
        resource_version,
        generation,
        fields,
        time,
        terminating,
        leaving,
        health,
        changed,
        managed,
        whole: None,
        hash,
        baseline,
        entered,
        unspoken,
        template: None,
        prune,
        hold,
        depends_on,
    }
}

fn from_metadata(id: &ObjectId, object: &Object, rules: &[HealthRule]) -> Live {
    let managed = object.at(&["metadata", "managedFields"]);
    let own = OwnEntry::of(managed);
    Live {
        uid: text(object, "uid"),
        resource_version: text(object, "resourceVersion"),
        generation: object.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0),
        fields: own.fields,
        time: own.time,
        terminating: object.at(&["metadata", "deletionTimestamp"]).is_some(),
        leaving: Leaving::of(object),
        health: health::has_rule(&id.group, &id.kind, rules)
            .then(|| Health::new(HealthState::Unknown, "its instance label is gone, so it is not watched")),
        changed: None,
        managed: managed.cloned(),
        whole: None,
        hash: object.annotation("rewild.dev/hash").unwrap_or("").to_owned(),
        baseline: object.annotation(CONFIG_BASELINE).unwrap_or("").to_owned(),
        entered: object.annotation(ENTERED).is_some(),
        unspoken: false,
        template: None,
        prune: Prune::of(object),
        hold: object.annotation(hold::HOLD_UNTIL).unwrap_or("").to_owned(),
        depends_on: depends::written(object),
    }
}

fn managed(object: &Object) -> Option<Value> {
    object.at(&["metadata", "managedFields"]).cloned()
}

fn text(object: &Object, key: &str) -> String {
    object.at(&["metadata", key]).and_then(Value::as_str).unwrap_or("").to_owned()
}

#[cfg(test)]
pub(super) mod tests;
