//! Pure. Health of what runs pods: Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, Pod.
//!
//! Not here: the pods of an unhealthy workload, which its own status does not name (`pods`).

use serde_json::Value;

use super::condition::{condition, count, count_or_one, holds, is_true, message, part, text};
use super::{Health, HealthState};
use crate::model::Object;

/// Deadline that Kubernetes takes for none at all.
const NO_DEADLINE: i64 = 2_147_483_647;
/// Reasons of a waiting container that do not pass by themselves.
const STUCK_REASONS: [&str; 6] = [
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
];

/// Judges a Deployment.
pub(super) fn deployment(object: &Object) -> Health {
    if let Some(unseen) = unseen(object) {
        return unseen;
    }
    let progressing = condition(object, "Progressing");
    if let Some(late) = progressing.filter(|condition| part(condition, "reason") == "ProgressDeadlineExceeded") {
        return Health::degraded(message(late));
    }
    if let Some(failure) = condition(object, "ReplicaFailure").filter(|condition| is_true(condition)) {
        return Health::degraded(message(failure));
    }
    // Behind what is wrong with it whether it goes on or not.
    if object.at(&["spec", "paused"]) == Some(&Value::Bool(true)) {
        return Health::new(HealthState::Suspended, "its roll-out is paused");
    }
    let wanted = count_or_one(object, &["spec", "replicas"]);
    let status = |key| count(object, &["status", key]);
    let (all, updated) = (status("replicas"), status("updatedReplicas"));
    let counts = fewer(all, wanted, "pods created")
        .or_else(|| fewer(updated, wanted, "pods updated"))
        .or_else(|| extra(all, updated))
        .or_else(|| fewer(status("availableReplicas"), updated, "pods available"))
        .or_else(|| fewer(status("readyReplicas"), wanted, "pods ready"));
    if let Some(health) = counts {
        return health;
    }
    let has_deadline = object
        .at(&["spec", "progressDeadlineSeconds"])
        .and_then(Value::as_i64)
        .is_some_and(|deadline| deadline != NO_DEADLINE);
    if has_deadline && progressing.is_none_or(|condition| part(condition, "reason") != "NewReplicaSetAvailable") {
        return Health::progressing("its roll-out is not finished");
    }
    if holds(object, "Available") { Health::healthy() } else { Health::progressing("it is not available yet") }
}

/// Judges a StatefulSet.
pub(super) fn stateful_set(object: &Object) -> Health {
    if let Some(unseen) = unseen(object) {
        return unseen;
    }
    let wanted = count_or_one(object, &["spec", "replicas"]);
    let status = |key| count(object, &["status", key]);
    let counts = fewer(status("replicas"), wanted, "pods created")
        .or_else(|| fewer(status("readyReplicas"), wanted, "pods ready"))
        .or_else(|| extra(status("replicas"), wanted));
    if let Some(health) = counts {
        return health;
    }
    let updated = status("updatedReplicas");
    if text(object, &["spec", "updateStrategy", "type"]) == "OnDelete" {
        let old = wanted.saturating_sub(updated);
        let revision = text(object, &["status", "updateRevision"]);
        let reason = match old {
            0 => String::new(),
            // Which these are nobody knows without a look at each pod; the label is how people find them.
            _ => format!(
                "{old} of {wanted} pods still run the old version until somebody deletes them: those without the label controller-revision-hash={revision}"
            ),
        };
        return Health::new(HealthState::Healthy, reason);
    }
    let partition = count(object, &["spec", "updateStrategy", "rollingUpdate", "partition"]);
    if partition > 0 {
        return fewer(updated, wanted.saturating_sub(partition), "pods updated").unwrap_or_else(Health::healthy);
    }
    if text(object, &["status", "currentRevision"]) != text(object, &["status", "updateRevision"]) {
        return fewer(updated, wanted, "pods updated")
            .unwrap_or_else(|| Health::progressing("its roll-out is not finished"));
    }
    fewer(status("currentReplicas"), wanted, "pods current").unwrap_or_else(Health::healthy)
}

/// Judges a DaemonSet.
pub(super) fn daemon_set(object: &Object) -> Health {
    if let Some(unseen) = unseen(object) {
        return unseen;
    }
    let status = |key| count(object, &["status", key]);
    let wanted = status("desiredNumberScheduled");
    fewer(status("currentNumberScheduled"), wanted, "pods created")
        .or_else(|| fewer(status("updatedNumberScheduled"), wanted, "pods updated"))
        .or_else(|| fewer(status("numberAvailable"), wanted, "pods available"))
        .or_else(|| fewer(status("numberReady"), wanted, "pods ready"))
        .unwrap_or_else(Health::healthy)
}

/// Judges a ReplicaSet.
pub(super) fn replica_set(object: &Object) -> Health {
    if let Some(unseen) = unseen(object) {
        return unseen;
    }
    if let Some(failure) = condition(object, "ReplicaFailure").filter(|condition| is_true(condition)) {
        return Health::degraded(message(failure));
    }
    let wanted = count_or_one(object, &["spec", "replicas"]);
    let status = |key| count(object, &["status", key]);
    fewer(status("fullyLabeledReplicas"), wanted, "pods created")
        .or_else(|| fewer(status("availableReplicas"), wanted, "pods available"))
        .or_else(|| fewer(status("readyReplicas"), wanted, "pods ready"))
        .or_else(|| extra(status("replicas"), wanted))
        .unwrap_or_else(Health::healthy)
}

/// Judges a Job: it is well when it is done, not when it has started.
pub(super) fn job(object: &Object) -> Health {
    if holds(object, "Complete") {
        return Health::healthy();
    }
    if let Some(failed) = condition(object, "Failed").filter(|condition| is_true(condition)) {
        return Health::degraded(message(failed));
    }
    if object.at(&["spec", "suspend"]) == Some(&Value::Bool(true)) {
        return Health::new(HealthState::Suspended, "it is suspended");
    }
    let wanted = count_or_one(object, &["spec", "completions"]);
    Health::progressing(format!("{} of {wanted} completions", count(object, &["status", "succeeded"])))
}

/// Judges a Pod.
pub(super) fn pod(object: &Object) -> Health {
    let said = |fallback: &str| {
        let said = ["message", "reason"].map(|key| text(object, &["status", key]));
        said.into_iter().find(|text| !text.is_empty()).unwrap_or(fallback).trim_end_matches('.').to_owned()
    };
    match text(object, &["status", "phase"]) {
        "Succeeded" => return Health::healthy(),
        "Failed" => return Health::degraded(said("it failed")),
        _ => {}
    }
    if let Some(stuck) = stuck_container(object) {
        return Health::degraded(stuck);
    }
    if holds(object, "Ready") && text(object, &["status", "phase"]) == "Running" {
        return Health::healthy();
    }
    let waiting =
        ["PodScheduled", "Ready"].into_iter().find_map(|kind| condition(object, kind).filter(|c| !is_true(c)));
    Health::progressing(waiting.map_or_else(|| said("it has not started"), message))
}

/// Returns a sentence about the first container that cannot start.
pub(super) fn stuck_container(object: &Object) -> Option<String> {
    ["initContainerStatuses", "containerStatuses"]
        .iter()
        .filter_map(|key| object.at(&["status", key]).and_then(Value::as_array))
        .flatten()
        .find_map(|container| {
            let waiting = container.get("state")?.get("waiting")?;
            let reason = waiting.get("reason")?.as_str().filter(|reason| STUCK_REASONS.contains(reason))?;
            let name = container.get("name").and_then(Value::as_str).unwrap_or("");
            Some(format!("container {name}: {reason}"))
        })
}

/// Returns that nothing is known while no controller has seen the object: its counts are zero and prove nothing.
fn unseen(object: &Object) -> Option<Health> {
    let seen = object.at(&["status", "observedGeneration"]).is_some();
    (!seen).then(|| Health::progressing("no controller has seen it yet"))
}

fn fewer(present: i64, wanted: i64, what: &str) -> Option<Health> {
    (present < wanted).then(|| Health::progressing(format!("{present} of {wanted} {what}")))
}

fn extra(present: i64, wanted: i64) -> Option<Health> {
    let extra = present.saturating_sub(wanted);
    (extra > 0)
        .then(|| Health::progressing(format!("{extra} old {} still there", if extra == 1 { "pod" } else { "pods" })))
}
