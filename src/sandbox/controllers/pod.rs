//! Pods: placed on the one node, started, ready unless held, finished if they belong to a Job, removed when deleted.
//!
//! Not here: who makes pods.

use serde_json::{Map, Value, json};

use crate::sandbox::controllers::volume::{CLAIMS, claims_of};
use crate::sandbox::controllers::{
    Controller, NODE, change, change_as, is_deleting, owners, set_condition, set_status, text, wake_owner,
};
use crate::sandbox::delete::{Wish, delete_object};
use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store, child_mut};
use crate::schema::{Kind, kind};

const PODS: Sort = Sort { group: "", plural: "pods" };
/// Manager of what is said about a pod that no node takes.
const SCHEDULER: &str = "kube-scheduler";
const NODES: Sort = Sort { group: "", plural: "nodes" };

/// Looks at one pod.
pub(super) fn react(store: &mut Store, key: &Key) -> Result<(), Failure> {
    let Some(live) = store.get(PODS, key).cloned() else { return Ok(()) };
    wake_owner(store, &live);
    let (true, Some(kind)) = (store.running.contains(&Controller::Pod), kind("", "Pod")) else { return Ok(()) };
    if is_deleting(&live) {
        // The node has stopped it; only finalizers may hold it now.
        return delete_object(store, kind, key, &Wish::at_once()).map(|_| ());
    }
    if matches!(text(&live, "/status/phase"), "Succeeded" | "Failed") {
        return Ok(());
    }
    if text(&live, "/spec/nodeName").is_empty() {
        if !fits_node(store, &live) {
            return wait_for_node(store, kind, key);
        }
        change(store, (kind, "binding"), key, |pod| {
            child_mut(pod, "spec").insert("nodeName".to_owned(), json!(NODE));
        })?;
    }
    for claim in claims_of(&live) {
        store.dirty.insert((CLAIMS, Key::new(&key.namespace, claim)));
    }
    advance(store, kind, key, &live)
}

/// Returns whether the node has the labels that a pod asks for.
fn fits_node(store: &Store, pod: &Value) -> bool {
    let wanted = pod.pointer("/spec/nodeSelector").and_then(Value::as_object);
    let node = store.get(NODES, &Key::new("", NODE));
    let has = |name: &str| node.and_then(|node| node.get("metadata")?.get("labels")?.get(name));
    wanted.into_iter().flatten().all(|(name, value)| has(name) == Some(value))
}

/// Says of a pod that no node takes it.
fn wait_for_node(store: &mut Store, kind: &'static Kind, key: &Key) -> Result<(), Failure> {
    const WHY: &str = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    let now = store.now_text();
    change_as(store, SCHEDULER, (kind, "status"), key, |pod| {
        let generation = super::number(pod, "/metadata/generation");
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": WHY,
            "lastProbeTime": null, "observedGeneration": generation});
        set_condition(child_mut(pod, "status"), super::map(condition), &now);
    })
}

fn advance(store: &mut Store, kind: &'static Kind, key: &Key, live: &Value) -> Result<(), Failure> {
    let now = store.now_text();
    let held = is_held(store, key, live);
    let finishes = text(live, "/spec/restartPolicy") != "Always";
    set_status(store, kind, key, |status| {
        let phase = match (held, finishes) {
            (false, true) => "Succeeded",
            (true, _) | (false, false) => "Running",
        };
        status.insert("phase".to_owned(), json!(phase));
        status.insert("hostIP".to_owned(), json!("10.1.0.1"));
        status.entry("startTime").or_insert_with(|| json!(now));
        status.insert("observedGeneration".to_owned(), json!(super::number(live, "/metadata/generation")));
        let ready = !held && phase == "Running";
        for sort in ["PodScheduled", "Initialized", "ContainersReady", "Ready"] {
            let good = ready || matches!(sort, "PodScheduled" | "Initialized");
            set_condition(status, condition(sort, good, phase), &now);
        }
        let statuses: Vec<Value> = containers(live).map(|it| container_status(it, ready, phase, &now)).collect();
        status.insert("containerStatuses".to_owned(), Value::Array(statuses));
    })
}

/// A pod is held by its own name or by that of a workload above it.
fn is_held(store: &Store, key: &Key, live: &Value) -> bool {
    if store.is_held(key) {
        return true;
    }
    owners(live).any(|owner| {
        let Some((kind, place)) = super::owner_place(owner, &key.namespace) else { return false };
        store.is_held(&place)
            || store.get(Sort::of(kind), &place).is_some_and(|above| {
                owners(above)
                    .filter_map(|it| super::owner_place(it, &key.namespace))
                    .any(|(_, place)| store.is_held(&place))
            })
    })
}

fn condition(sort: &str, good: bool, phase: &str) -> Map<String, Value> {
    let mut condition = super::map(json!({"type": sort, "status": if good { "True" } else { "False" }}));
    if !good {
        let (reason, message) = match phase {
            "Succeeded" => ("PodCompleted", String::new()),
            _ => ("ContainersNotReady", "containers with unready status".to_owned()),
        };
        condition.insert("reason".to_owned(), json!(reason));
        condition.insert("message".to_owned(), json!(message));
    }
    condition
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    pod.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten()
}

fn container_status(container: &Value, ready: bool, phase: &str, now: &str) -> Value {
    let image = text(container, "/image");
    let state = if phase == "Succeeded" {
        json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}})
    } else {
        json!({"running": {"startedAt": now}})
    };
    json!({"name": text(container, "/name"), "image": image, "imageID": "", "ready": ready, "restartCount": 0,
        "started": ready, "state": state})
}
