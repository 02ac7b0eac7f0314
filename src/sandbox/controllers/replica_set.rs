//! ReplicaSets: as many pods as they ask for, and the count of those that are ready.
//!
//! Not here: what makes a pod ready (`pod.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::sandbox::controllers::{
    Controller, controlled, create, is_deleting, number, owner_reference, set_status, wake_owner,
};
use crate::sandbox::delete::{Wish, delete_object};
use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store};
use crate::sandbox::write::metadata_text;
use crate::schema::{Kind, kind};

const SETS: Sort = Sort { group: "apps", plural: "replicasets" };
pub(super) const PODS: Sort = Sort { group: "", plural: "pods" };
/// Pods that one look makes; the next look makes further ones.
const BURST: i64 = 500;

pub(super) type Pods = BTreeMap<Key, Arc<Value>>;

/// Looks at one ReplicaSet.
pub(super) fn react(store: &mut Store, key: &Key) -> Result<(), Failure> {
    let Some(live) = store.get(SETS, key).cloned() else { return Ok(()) };
    wake_owner(store, &live);
    if !store.running.contains(&Controller::ReplicaSet) {
        return Ok(());
    }
    let (Some(own), Some(pod)) = (kind("apps", "ReplicaSet"), kind("", "Pod")) else { return Ok(()) };
    if !is_deleting(&live) {
        fill(store, (own, pod), &live, key)?;
    }
    let pods = controlled(store, &live, PODS);
    let leaving = pods.values().filter(|pod| is_deleting(pod)).count();
    let active: Vec<&Arc<Value>> = pods.values().filter(|pod| is_active(pod)).collect();
    let ready = active.iter().filter(|pod| is_ready(pod)).count();
    let count = active.len();
    set_status(store, own, key, |status| {
        for (key, value) in [
            ("replicas", count),
            ("fullyLabeledReplicas", count),
            ("readyReplicas", ready),
            ("availableReplicas", ready),
            ("terminatingReplicas", leaving),
        ] {
            status.insert(key.to_owned(), json!(value));
        }
        status.insert("observedGeneration".to_owned(), json!(number(&live, "/metadata/generation")));
    })
}

fn fill(store: &mut Store, kinds: (&'static Kind, &'static Kind), live: &Value, key: &Key) -> Result<(), Failure> {
    let (own, pod) = kinds;
    let pods = controlled(store, live, PODS);
    let mut active: Vec<&Key> = pods.iter().filter(|(_, pod)| is_active(pod)).map(|(key, _)| key).collect();
    // Pods that are not ready go first.
    active.sort_by_key(|key| pods.get(*key).is_some_and(|pod| is_ready(pod)));
    let wanted = number(live, "/spec/replicas");
    let count = i64::try_from(active.len()).unwrap_or(i64::MAX);
    for _ in count..wanted.min(count.saturating_add(BURST)) {
        let object = pod_of(live, own, &json!({"generateName": format!("{}-", key.name)}));
        create(store, pod, object)?;
    }
    let surplus = usize::try_from(count - wanted).unwrap_or(0);
    for key in active.into_iter().take(surplus) {
        delete_object(store, pod, key, &Wish::background())?;
    }
    Ok(())
}

/// Returns a pod from the template of a workload.
pub(super) fn pod_of(owner: &Value, kind: &Kind, name: &Value) -> Value {
    let template = owner.pointer("/spec/template").cloned().unwrap_or_else(|| json!({}));
    let mut metadata = name.clone();
    if let (Value::Object(metadata), Some(Value::Object(own))) = (&mut metadata, template.get("metadata")) {
        for key in ["labels", "annotations", "finalizers"] {
            if let Some(value) = own.get(key) {
                metadata.insert(key.to_owned(), value.clone());
            }
        }
        metadata.insert("namespace".to_owned(), json!(metadata_text(owner, "namespace")));
        metadata.insert("ownerReferences".to_owned(), owner_reference(owner, kind));
    }
    json!({"metadata": metadata, "spec": template.get("spec").cloned().unwrap_or_else(|| json!({}))})
}

/// Returns whether a pod counts for its owner: neither finished nor leaving.
pub(super) fn is_active(pod: &Value) -> bool {
    !is_deleting(pod) && !matches!(super::text(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// Returns whether a pod is ready.
pub(super) fn is_ready(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|it| it.get("type") == Some(&json!("Ready")) && it.get("status") == Some(&json!("True")))
}
