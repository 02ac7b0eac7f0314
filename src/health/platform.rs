//! Pure. Health of what a cluster itself provides: services, namespaces, definitions, aggregated APIs, autoscalers.
//!
//! Not here: workloads (`workload`).

use serde_json::Value;

use super::condition::{condition, holds, is_true, message, text};
use super::{Health, HealthState};
use crate::base::limits::MAX_MESSAGE_CHARS;
use crate::model::Object;

/// By which conditions a cluster says what keeps the deletion of a namespace from its end; what hides objects first.
const OF_ENDING: [&str; 5] = [
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
];

/// Judges a Service: only one that asks for a load balancer can wait for something.
pub(super) fn service(object: &Object) -> Health {
    let ingress = object.at(&["status", "loadBalancer", "ingress"]).and_then(Value::as_array);
    let answered = ingress.is_some_and(|ingress| !ingress.is_empty());
    if text(object, &["spec", "type"]) == "LoadBalancer" && !answered {
        return Health::progressing("no load balancer has answered yet");
    }
    Health::healthy()
}

/// Judges a Namespace.
pub(super) fn namespace(object: &Object) -> Health {
    match text(object, &["status", "phase"]) {
        "Active" => Health::healthy(),
        "Terminating" => Health::new(HealthState::Terminating, "it is being deleted"),
        _ => Health::progressing("it is not active yet"),
    }
}

/// Returns what the cluster itself says keeps the deletion of a namespace from its end, one clause for each condition; empty if it says nothing.
pub fn ending(namespace: &Object) -> String {
    let said: Vec<String> =
        OF_ENDING.iter().filter_map(|kind| condition(namespace, kind)).filter(|it| is_true(it)).map(message).collect();
    said.join("; ").chars().take(MAX_MESSAGE_CHARS).collect()
}

/// Judges a CustomResourceDefinition.
pub(super) fn definition(object: &Object) -> Health {
    if let Some(refused) = condition(object, "NamesAccepted").filter(|condition| !is_true(condition)) {
        return Health::degraded(message(refused));
    }
    if holds(object, "NamesAccepted") && holds(object, "Established") {
        return Health::healthy();
    }
    Health::progressing("it is not established yet")
}

/// Judges an APIService.
pub(super) fn api_service(object: &Object) -> Health {
    match condition(object, "Available") {
        Some(available) if is_true(available) => Health::healthy(),
        Some(unavailable) => Health::progressing(message(unavailable)),
        None => Health::progressing("it is not available yet"),
    }
}

/// Judges a HorizontalPodAutoscaler.
pub(super) fn autoscaler(object: &Object) -> Health {
    match condition(object, "AbleToScale") {
        Some(unable) if !is_true(unable) => Health::degraded(message(unable)),
        Some(_) | None => Health::healthy(),
    }
}
