//! Pure. Whose a namespace is that an app wants to write into.
//!
//! What decides is on the live Namespace itself, so that it outlives the store: our marks say that we made it for this app, one more says that
//! a grant let us in, and what stays when an app goes says which app may come back. Not here: what a grant is (`grant`), the look
//! (`observe`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::marks::{ENTERED, Identity, LEFT_BY, MANAGER, left_by};
use super::snapshot::{Desired, Ground, NamespaceState, Owner, Snapshot};
use super::{fields, namespace, owner};
use crate::model::{Object, ObjectId, Record, RecordState, is_of_system};
use crate::schema::{self, Scope};

/// Returns whose a namespace is by its metadata; `record` is what we remember of it.
pub fn of_live(object: &Object, identity: Identity<'_>, record: Option<&Record>) -> Ground {
    let is_entered = object.annotation(ENTERED).is_some();
    // What was not confirmed may be somebody's who was faster.
    let is_unconfirmed = record.is_some_and(|record| record.state == RecordState::Intended);
    match owner::owner_of(object, identity) {
        Owner::Us { hash, fields, .. } if !hash.is_empty() && !fields.is_empty() && !is_entered => {
            if is_unconfirmed && !is_made_by_us(object) { Ground::Foreign(Owner::Nobody) } else { Ground::Ours }
        }
        Owner::Released if !is_entered && object.annotation(LEFT_BY) == Some(&left_by(identity)) => Ground::Ours,
        Owner::Us { .. } | Owner::Released => Ground::Foreign(Owner::Nobody),
        other => Ground::Foreign(other),
    }
}

/// Returns whether an object was made by our apply: nobody else holds anything of it, and our entry is not younger than the object.
pub fn is_made_by_us(object: &Object) -> bool {
    let managed = object.at(&["metadata", "managedFields"]).unwrap_or(&Value::Null);
    let entries = managed.as_array().into_iter().flatten();
    let is_state = |entry: &&Value| entry.get("subresource").is_some_and(|name| name == "status");
    let is_alone = entries
        .filter(|entry| !is_state(entry))
        .all(|entry| entry.get("manager").and_then(Value::as_str) == Some(MANAGER));
    let made = object.at(&["metadata", "creationTimestamp"]).and_then(Value::as_str).unwrap_or("");
    let time = |entry: &Value| entry.get("time").and_then(Value::as_str).unwrap_or("").to_owned();
    is_alone && fields::applied_entry(managed, MANAGER).is_some_and(|entry| time(entry).as_str() <= made)
}

/// Returns whose a namespace is, as far as it is known.
pub(super) fn of(snapshot: &Snapshot, name: &str) -> Ground {
    let id = namespace::id(name);
    if name == snapshot.namespace && snapshot.namespace_state == NamespaceState::Missing {
        return Ground::Missing;
    }
    if let Some(ground) = snapshot.grounds.get(name) {
        return ground.clone();
    }
    match (remembered(snapshot, &id), snapshot.live.get(&id), snapshot.unseen.get(&id)) {
        (Some(record), Some(live), _) if live.uid == record.uid && !live.entered => Ground::Ours,
        (Some(record), Some(live), _) if live.uid == record.uid => Ground::Foreign(Owner::Nobody),
        (Some(record), None, _) if record.created && !snapshot.existing.contains_key(&id) => Ground::Ours,
        (_, _, Some(why)) => Ground::Unseen(why.clone()),
        _ => Ground::Unseen("it was not looked at".to_owned()),
    }
}

/// Returns the namespaces that the app wants to write into and of which only a look tells whose they are.
pub fn doubtful(snapshot: &Snapshot) -> BTreeSet<String> {
    let is_known = |name: &String| {
        let is_granted =
            snapshot.policy.grants.namespaces.contains(name) && !is_unconfirmed(snapshot, &namespace::id(name));
        is_granted || is_system(snapshot, name) || !matches!(of(snapshot, name), Ground::Unseen(_))
    };
    let mut names = wanted(snapshot);
    names.retain(|name| !is_known(name) && !snapshot.unseen.contains_key(&namespace::id(name)));
    names
}

/// Returns whether a namespace is the system's.
pub(super) fn is_system(snapshot: &Snapshot, name: &str) -> bool {
    is_of_system(name, &snapshot.policy.control_namespace)
}

/// Returns the namespaces that the app wants to write into.
pub(super) fn wanted(snapshot: &Snapshot) -> BTreeSet<String> {
    let Desired::Objects(objects) = &snapshot.desired else { return BTreeSet::new() };
    let named = objects.iter().filter_map(|desired| entered_by(&desired.object.id()));
    named.chain([snapshot.namespace.clone()]).collect()
}

/// Returns the namespace that writing an object enters: the one that it lies in, or is, whatever else it says.
pub(super) fn entered_by(id: &ObjectId) -> Option<String> {
    if namespace::is_one(id) {
        return Some(id.name.clone());
    }
    let is_of_cluster = schema::scope(&id.group, &id.kind) == Scope::Cluster;
    Some(id.namespace.clone()).filter(|name| !name.is_empty() && !is_of_cluster)
}

/// Returns whether a namespace is there that we may have made, or somebody who was faster.
pub(super) fn is_unconfirmed(snapshot: &Snapshot, id: &ObjectId) -> bool {
    let record = snapshot.inventory.get(id);
    record.is_some_and(|record| record.state == RecordState::Intended) && snapshot.live.contains_key(id)
}

fn remembered<'a>(snapshot: &'a Snapshot, id: &ObjectId) -> Option<&'a Record> {
    snapshot.inventory.get(id).filter(|record| record.state != RecordState::Intended)
}
