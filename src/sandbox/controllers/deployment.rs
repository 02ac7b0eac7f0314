//! Deployments: one ReplicaSet per pod template, rolled from old to new, and the status that tells how far it is.
//!
//! Not here: the pods of a ReplicaSet (`replica_set.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::sandbox::controllers::{
    change, controlled, create, is_deleting, number, owner_reference, set_condition, template_hash, text,
};
use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store, child_mut, metadata_child_mut};
use crate::sandbox::write::metadata_text;
use crate::schema::{Kind, kind};

const DEPLOYMENTS: Sort = Sort { group: "apps", plural: "deployments" };
const SETS: Sort = Sort { group: "apps", plural: "replicasets" };
const HASH_LABEL: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";

type Sets = BTreeMap<Key, Arc<Value>>;

/// Brings one Deployment a step further.
pub(super) fn reconcile(store: &mut Store, key: &Key) -> Result<(), Failure> {
    let (Some(own), Some(set_kind)) = (kind("apps", "Deployment"), kind("apps", "ReplicaSet")) else { return Ok(()) };
    let Some(live) = store.get(DEPLOYMENTS, key).cloned() else { return Ok(()) };
    if is_deleting(&live) {
        return Ok(());
    }
    let sets = controlled(store, &live, SETS);
    let (new, revision) = match current_set(&live, &sets) {
        Some((key, set)) => (key.clone(), revision_of(set)),
        None => make_set(store, set_kind, &live, &sets)?,
    };
    roll(store, set_kind, &live, &new)?;
    let sets = controlled(store, &live, SETS);
    let now = store.now_text();
    change(store, (own, "status"), key, |object| {
        metadata_child_mut(object, "annotations").insert(REVISION.to_owned(), json!(revision.to_string()));
        set_numbers(child_mut(object, "status"), &live, &sets, &new, &now);
    })
}

fn revision_of(set: &Value) -> i64 {
    let annotation = set.get("metadata").and_then(|it| it.get("annotations")).and_then(|it| it.get(REVISION));
    annotation.and_then(Value::as_str).and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Returns the ReplicaSet with the Deployment's present template.
fn current_set<'a>(deployment: &Value, sets: &'a Sets) -> Option<(&'a Key, &'a Arc<Value>)> {
    let wanted = deployment.pointer("/spec/template")?;
    sets.iter().find(|(_, set)| {
        let mut template = set.pointer("/spec/template").cloned().unwrap_or(Value::Null);
        if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.shift_remove(HASH_LABEL);
        }
        template == *wanted
    })
}

fn make_set(
    store: &mut Store,
    set_kind: &'static Kind,
    deployment: &Value,
    sets: &Sets,
) -> Result<(Key, i64), Failure> {
    let revision = sets.values().map(|set| revision_of(set)).max().unwrap_or(0) + 1;
    let mut template = deployment.pointer("/spec/template").cloned().unwrap_or_else(|| json!({}));
    let hash = template_hash(&template);
    let name = format!("{}-{hash}", metadata_text(deployment, "name"));
    let namespace = metadata_text(deployment, "namespace");
    metadata_child_mut(&mut template, "labels").insert(HASH_LABEL.to_owned(), json!(hash));
    let labels = template.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({}));
    let mut selector = deployment.pointer("/spec/selector").cloned().unwrap_or_else(|| json!({}));
    child_mut(&mut selector, "matchLabels").insert(HASH_LABEL.to_owned(), json!(hash));
    let wanted = number(deployment, "/spec/replicas");
    let annotations = json!({DESIRED: wanted.to_string(), MAX: (wanted + surge(deployment)).to_string(),
        REVISION: revision.to_string()});
    let owner = kind("apps", "Deployment").map_or(Value::Null, |kind| owner_reference(deployment, kind));
    let total: i64 = sets.values().map(|set| number(set, "/spec/replicas")).sum();
    let replicas = match (sets.is_empty(), text(deployment, "/spec/strategy/type")) {
        (true, _) => wanted,
        (false, "Recreate") => 0,
        (false, _) => (wanted + surge(deployment) - total).clamp(0, wanted),
    };
    let metadata = json!({"name": name, "namespace": namespace, "labels": labels, "annotations": annotations,
        "ownerReferences": owner});
    let spec = json!({"replicas": replicas, "selector": selector, "template": template});
    create(store, set_kind, json!({"metadata": metadata, "spec": spec}))?;
    Ok((Key::new(namespace, &name), revision))
}

/// Moves pods from old ReplicaSets to the new one as far as the strategy allows now.
fn roll(store: &mut Store, set_kind: &'static Kind, deployment: &Value, new: &Key) -> Result<(), Failure> {
    let wanted = number(deployment, "/spec/replicas");
    let sets = controlled(store, deployment, SETS);
    let spec = |set: &Value| number(set, "/spec/replicas");
    let total: i64 = sets.values().map(|set| spec(set)).sum();
    let own = sets.get(new).map_or(0, |set| spec(set));
    let old_running: i64 =
        sets.iter().filter(|(key, _)| *key != new).map(|(_, set)| number(set, "/status/replicas")).sum();
    let recreate = text(deployment, "/spec/strategy/type") == "Recreate";
    let target = if own >= wanted {
        wanted
    } else if recreate {
        if old_running > 0 || total > own { own } else { wanted }
    } else {
        (own + (wanted + surge(deployment) - total).max(0)).min(wanted)
    };
    scale(store, set_kind, new, (target, wanted, wanted + surge(deployment)))?;
    let available: i64 = sets.values().map(|set| number(set, "/status/availableReplicas")).sum();
    let mut removable = if recreate { i64::MAX } else { (available - (wanted - unavailable(deployment))).max(0) };
    for (key, set) in sets.iter().filter(|(key, _)| *key != new) {
        // Pods of an old template that are not available anyway may always go.
        let useless = spec(set) - number(set, "/status/availableReplicas");
        let gone = spec(set).min(useless.max(0).saturating_add(removable));
        removable = removable.saturating_sub(gone - useless.max(0)).max(0);
        scale(store, set_kind, key, (spec(set) - gone, wanted, wanted + surge(deployment)))?;
    }
    Ok(())
}

fn scale(store: &mut Store, kind: &'static Kind, key: &Key, numbers: (i64, i64, i64)) -> Result<(), Failure> {
    let (replicas, wanted, most) = numbers;
    change(store, (kind, ""), key, |set| {
        child_mut(set, "spec").insert("replicas".to_owned(), json!(replicas));
        let annotations = metadata_child_mut(set, "annotations");
        annotations.insert(DESIRED.to_owned(), json!(wanted.to_string()));
        annotations.insert(MAX.to_owned(), json!(most.to_string()));
    })
}

/// Returns how many pods beyond the wanted number a roll-out may make.
fn surge(deployment: &Value) -> i64 {
    match text(deployment, "/spec/strategy/type") {
        "RollingUpdate" => share(deployment, "maxSurge", Round::Up).max(i64::from(unavailable_share(deployment) == 0)),
        _ => 0,
    }
}

/// Returns how many of the wanted pods may be missing during a roll-out.
fn unavailable(deployment: &Value) -> i64 {
    unavailable_share(deployment)
}

fn unavailable_share(deployment: &Value) -> i64 {
    share(deployment, "maxUnavailable", Round::Down)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Up,
    Down,
}

fn share(deployment: &Value, key: &str, round: Round) -> i64 {
    let wanted = number(deployment, "/spec/replicas");
    let value = deployment.pointer(&format!("/spec/strategy/rollingUpdate/{key}")).unwrap_or(&Value::Null);
    let percent = value.as_str().and_then(|text| text.strip_suffix('%')).and_then(|text| text.parse::<i64>().ok());
    match (value.as_i64(), percent) {
        (Some(number), _) => number,
        (None, Some(percent)) if round == Round::Up => (wanted * percent + 99) / 100,
        (None, Some(percent)) => wanted * percent / 100,
        (None, None) => 0,
    }
}

fn set_numbers(status: &mut Map<String, Value>, deployment: &Value, sets: &Sets, new: &Key, now: &str) {
    let sum = |pointer: &str| sets.values().map(|set| number(set, pointer)).sum::<i64>();
    let wanted = number(deployment, "/spec/replicas");
    let updated = sets.get(new).map_or(0, |set| number(set, "/status/replicas"));
    let (total, ready, available) =
        (sum("/status/replicas"), sum("/status/readyReplicas"), sum("/status/availableReplicas"));
    let planned = sum("/spec/replicas");
    for (key, value) in [
        ("observedGeneration", number(deployment, "/metadata/generation")),
        ("replicas", total),
        ("updatedReplicas", updated),
        ("readyReplicas", ready),
        ("availableReplicas", available),
        ("unavailableReplicas", (planned - available).max(0)),
        ("terminatingReplicas", sum("/status/terminatingReplicas")),
    ] {
        status.insert(key.to_owned(), json!(value));
    }
    let enough = available >= wanted - unavailable_share(deployment);
    let condition = if enough {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    put_condition(status, "Available", condition, now);
    let set = new.name.as_str();
    let complete = updated == wanted && total == wanted && available == wanted;
    let already = status.get("conditions").and_then(Value::as_array).into_iter().flatten().any(|it| {
        it.get("reason") == Some(&json!("NewReplicaSetAvailable")) && text(it, "/message").contains(&format!("{set:?}"))
    });
    if complete || already {
        let message = format!("ReplicaSet {set:?} has successfully progressed.");
        put_condition(status, "Progressing", ("True", "NewReplicaSetAvailable", &message), now);
    } else {
        let message = format!("ReplicaSet {set:?} is progressing.");
        put_condition(status, "Progressing", ("True", "ReplicaSetUpdated", &message), now);
    }
}

fn put_condition(status: &mut Map<String, Value>, sort: &str, what: (&str, &str, &str), now: &str) {
    let (value, reason, message) = what;
    let same = status.get("conditions").and_then(Value::as_array).into_iter().flatten().find(|it| {
        let has = |key: &str, text: &str| it.get(key) == Some(&json!(text));
        has("type", sort) && has("status", value) && has("reason", reason) && has("message", message)
    });
    let updated = same.and_then(|it| it.get("lastUpdateTime")).cloned().unwrap_or_else(|| json!(now));
    let condition =
        json!({"type": sort, "status": value, "lastUpdateTime": updated, "reason": reason, "message": message});
    set_condition(status, super::map(condition), now);
}
