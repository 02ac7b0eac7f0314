//! DaemonSets: one pod on the one node.
//!
//! Not here: what makes a pod ready (`pod.rs`).

use serde_json::{Map, Value, json};

use crate::sandbox::controllers::replica_set::{PODS, Pods, is_active, is_ready, pod_of};
use crate::sandbox::controllers::stateful_set::{record_revision, revision_of};
use crate::sandbox::controllers::{NODE, controlled, create, is_deleting, number, set_status, text};
use crate::sandbox::delete::{Wish, delete_object};
use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store, child_mut, metadata_child_mut};
use crate::schema::kind;

const SETS: Sort = Sort { group: "apps", plural: "daemonsets" };

/// Brings one DaemonSet a step further.
pub(super) fn reconcile(store: &mut Store, key: &Key) -> Result<(), Failure> {
    let (Some(own), Some(pod_kind)) = (kind("apps", "DaemonSet"), kind("", "Pod")) else { return Ok(()) };
    let Some(live) = store.get(SETS, key).cloned() else { return Ok(()) };
    if is_deleting(&live) {
        return Ok(());
    }
    // The label of the pods holds the revision's hash without the name of the set.
    let revision = record_revision(store, own, &live)?;
    let hash = revision.rsplit('-').next().unwrap_or("").to_owned();
    let pods = controlled(store, &live, PODS);
    if pods.is_empty() {
        let mut pod = pod_of(&live, own, &json!({"generateName": format!("{}-", key.name)}));
        metadata_child_mut(&mut pod, "labels").insert("controller-revision-hash".to_owned(), json!(hash));
        child_mut(&mut pod, "spec").insert("nodeName".to_owned(), json!(NODE));
        create(store, pod_kind, pod)?;
    }
    let rolling = text(&live, "/spec/updateStrategy/type") == "RollingUpdate";
    for (pod, _) in pods.iter().filter(|(_, pod)| rolling && !is_deleting(pod) && revision_of(pod) != hash) {
        delete_object(store, pod_kind, pod, &Wish::background())?;
    }
    let pods = controlled(store, &live, PODS);
    set_status(store, own, key, |status| set_numbers(status, &live, &pods, &hash))
}

fn set_numbers(status: &mut Map<String, Value>, live: &Value, pods: &Pods, hash: &str) {
    let some = |test: &dyn Fn(&Value) -> bool| i64::from(pods.values().any(|pod| is_active(pod) && test(pod)));
    let ready = some(&is_ready);
    for (key, value) in [
        ("observedGeneration", number(live, "/metadata/generation")),
        ("desiredNumberScheduled", 1),
        ("currentNumberScheduled", some(&|_| true)),
        ("updatedNumberScheduled", some(&|pod| revision_of(pod) == hash)),
        ("numberReady", ready),
        ("numberAvailable", ready),
        ("numberUnavailable", 1 - ready),
        ("numberMisscheduled", 0),
    ] {
        status.insert(key.to_owned(), json!(value));
    }
}
