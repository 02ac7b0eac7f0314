//! Pure. Health of one object, and of an app from its objects.
//!
//! Not here: watching (`target`), what a health state means for a plan (`plan`), what time makes of it (`plan::overdue`).

mod condition;
mod custom;
mod platform;
mod pods;
mod storage;
mod workload;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{HealthRule, Object, ObjectId};
use crate::schema;
use condition::{condition, count, is_true, message};
pub use custom::rule_of;
pub use platform::ending;
pub use pods::stuck_pod;

/// Health of an object or app, worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthState {
    /// It will not get well without somebody acting.
    Degraded,
    /// It was applied and is not there.
    Missing,
    /// It is being deleted.
    Terminating,
    /// It is on its way.
    Progressing,
    /// It is stopped on purpose.
    Suspended,
    /// Nobody could look.
    Unknown,
    /// It does what it should.
    Healthy,
}

impl HealthState {
    /// Returns the word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Progressing => "starting",
            Self::Degraded | Self::Missing => "failing",
            Self::Suspended => "stopped",
            Self::Terminating => "deleting",
            Self::Unknown => "unknown",
        }
    }
}

/// A state with its reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Health {
    /// The state.
    pub state: HealthState,
    /// One sentence without a full stop, such as `1 of 2 pods ready`; empty where the state says all.
    pub reason: String,
}

impl Health {
    /// Returns a health with a reason.
    pub fn new(state: HealthState, reason: impl Into<String>) -> Self {
        Self { state, reason: reason.into() }
    }

    /// Returns the health of something that does what it should.
    pub fn healthy() -> Self {
        Self::new(HealthState::Healthy, "")
    }

    /// Returns the health of something on its way.
    pub fn progressing(reason: impl Into<String>) -> Self {
        Self::new(HealthState::Progressing, reason)
    }

    /// Returns the health of something that needs a person.
    pub fn degraded(reason: impl Into<String>) -> Self {
        Self::new(HealthState::Degraded, reason)
    }
}

/// Returns the health of a live object, seen whole.
///
/// A controller that has not seen the object yet, or not this generation of it, leaves an old or empty status that proves
/// nothing; so that is asked before the kind's own rule. A rule of the instance stands before ours.
pub fn assess(object: &Object, rules: &[HealthRule]) -> Health {
    if object.at(&["metadata", "deletionTimestamp"]).is_some() {
        return Health::new(HealthState::Terminating, "it is being deleted");
    }
    let observed = object.at(&["status", "observedGeneration"]).and_then(Value::as_i64);
    if observed.is_some_and(|observed| observed != count(object, &["metadata", "generation"])) {
        return Health::progressing("its controller has not seen the newest version yet");
    }
    if let Some(reconciling) = condition(object, "Reconciling").filter(|condition| is_true(condition)) {
        return Health::progressing(message(reconciling));
    }
    if let Some(stalled) = condition(object, "Stalled").filter(|condition| is_true(condition)) {
        return Health::degraded(message(stalled));
    }
    if let Some(rule) = rule_of(rules, object.group(), object.kind()) {
        return custom::judge(rule, object);
    }
    rule(object.group(), object.kind()).map_or_else(|| by_ready_condition(object), |rule| rule(object))
}

/// Returns whether a kind's health stands in its status, so that it must be watched in full form.
///
/// Kinds that are not Kubernetes' own are among them, because their controllers speak by conditions.
pub fn has_rule(group: &str, kind: &str, rules: &[HealthRule]) -> bool {
    rule(group, kind).is_some() || schema::is_custom(group, kind) || rule_of(rules, group, kind).is_some()
}

/// Returns whether an object of a custom kind without a rule carries nothing that a controller says of it.
pub fn is_unspoken(object: &Object, rules: &[HealthRule]) -> bool {
    let says = ["conditions", "observedGeneration"].iter().any(|key| object.at(&["status", key]).is_some());
    schema::is_custom(object.group(), object.kind()) && !says && rule_of(rules, object.group(), object.kind()).is_none()
}

/// Returns whether the definition of a kind declares, for a version of it, what [`is_unspoken`] looks for.
pub fn declares_status(definition: &Object, version: &str) -> bool {
    let versions = definition.at(&["spec", "versions"]).and_then(Value::as_array).into_iter().flatten();
    let mut named = versions.filter(|it| it.get("name").and_then(Value::as_str) == Some(version));
    let declared = |it: &Value| it.pointer("/schema/openAPIV3Schema/properties/status/properties").cloned();
    named.find_map(declared).is_some_and(|it| it.get("conditions").is_some() || it.get("observedGeneration").is_some())
}

/// Returns the health of an app: the worst of its objects, with the first object that has it named.
pub fn of_app<'a>(objects: impl Iterator<Item = (&'a ObjectId, &'a Health)>) -> Health {
    let mut worst: Option<(&ObjectId, &Health)> = None;
    let mut same: usize = 0;
    for (id, health) in objects {
        match worst {
            Some((_, known)) if known.state < health.state => {}
            Some((_, known)) if known.state == health.state => same += 1,
            Some(_) | None => (worst, same) = (Some((id, health)), 0),
        }
    }
    match worst {
        None => Health::new(HealthState::Unknown, "nothing was seen yet"),
        Some((_, health)) if health.state == HealthState::Healthy => Health::healthy(),
        Some((id, health)) => Health::new(health.state, sentence(id, health, same)),
    }
}

fn sentence(id: &ObjectId, health: &Health, same: usize) -> String {
    let more = if same == 0 { String::new() } else { format!(", and {same} more") };
    if health.reason.is_empty() {
        format!("{}{more}", id.short())
    } else {
        format!("{}: {}{more}", id.short(), health.reason)
    }
}

/// Returns the rule of a kind.
fn rule(group: &str, kind: &str) -> Option<fn(&Object) -> Health> {
    match (group, kind) {
        ("apps", "Deployment") => Some(workload::deployment),
        ("apps", "StatefulSet") => Some(workload::stateful_set),
        ("apps", "DaemonSet") => Some(workload::daemon_set),
        ("apps", "ReplicaSet") => Some(workload::replica_set),
        ("batch", "Job") => Some(workload::job),
        ("", "Pod") => Some(workload::pod),
        ("", "PersistentVolumeClaim") => Some(storage::claim),
        ("", "Service") => Some(platform::service),
        ("", "Namespace") => Some(platform::namespace),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Some(platform::definition),
        ("apiregistration.k8s.io", "APIService") => Some(platform::api_service),
        ("autoscaling", "HorizontalPodAutoscaler") => Some(platform::autoscaler),
        _ => None,
    }
}

/// Judges a kind without a rule: by its condition `Ready` if it has one, otherwise by being there.
fn by_ready_condition(object: &Object) -> Health {
    match condition(object, "Ready") {
        Some(ready) if !is_true(ready) => Health::progressing(message(ready)),
        Some(_) | None => Health::healthy(),
    }
}

#[cfg(test)]
mod tests;
