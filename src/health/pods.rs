//! Pure. Pods of a workload that do not get up, which its own status tells only much later.
//!
//! Not here: when pods are looked at (`plan::overdue`).

use std::time::Duration;

use serde_json::Value;

use super::condition::{condition, is_true, message, part, text};
use super::workload::stuck_container;
use crate::base::Timestamp;
use crate::model::{Object, ObjectId};

/// How long a pod may find no node: a node that is being made takes a moment.
const UNSCHEDULED_LIMIT: Duration = Duration::from_secs(15);
/// Label by which a Deployment tells the pods of its revisions apart.
const REVISION: &str = "pod-template-hash";

/// Returns a sentence about the first pod of a workload that does not get up. Of a Deployment only the pods of its newest revision count:
/// those before it go.
pub fn stuck_pod(workload: &ObjectId, uid: &str, pods: &[Object], now: Timestamp) -> Option<String> {
    let mut own: Vec<&Object> = pods.iter().filter(|pod| is_of(pod, workload, uid)).collect();
    let created = |pod: &&Object| text(pod, &["metadata", "creationTimestamp"]).to_owned();
    if let Some(newest) = own.iter().copied().max_by_key(created).and_then(|pod| pod.label(REVISION)) {
        own.retain(|pod| pod.label(REVISION) == Some(newest));
    }
    own.iter().find_map(|pod| sentence(pod, now))
}

fn sentence(pod: &Object, now: Timestamp) -> Option<String> {
    if pod.at(&["metadata", "deletionTimestamp"]).is_some() {
        return None;
    }
    if let Some(stuck) = stuck_container(pod) {
        return Some(format!("pod {}, {stuck}", pod.name()));
    }
    let scheduled =
        condition(pod, "PodScheduled").filter(|it| !is_true(it) && part(it, "reason") == "Unschedulable")?;
    let since = Timestamp::parse(part(scheduled, "lastTransitionTime")).ok()?;
    let lasts = now.since(since) >= UNSCHEDULED_LIMIT;
    lasts.then(|| format!("pod {} is not scheduled: {}", pod.name(), message(scheduled)))
}

fn is_of(pod: &Object, workload: &ObjectId, uid: &str) -> bool {
    if workload.kind == "Pod" {
        return pod.namespace() == workload.namespace && pod.name() == workload.name;
    }
    let owners = pod.at(&["metadata", "ownerReferences"]).and_then(Value::as_array);
    owners.into_iter().flatten().any(|owner| {
        // Between a Deployment and its pods stands a ReplicaSet, whose name says of which revision it is.
        let is_set =
            || Some(part(owner, "name")) == pod.label(REVISION).map(|it| format!("{}-{it}", workload.name)).as_deref();
        part(owner, "uid") == uid || (workload.kind == "Deployment" && part(owner, "kind") == "ReplicaSet" && is_set())
    })
}
