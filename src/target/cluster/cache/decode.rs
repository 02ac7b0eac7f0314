//! What is kept of an object: a few fields of it, and of these none that is secret.
//!
//! Not here: what follows from them (`cache`).

use serde_json::Value;

use crate::base::Timestamp;
use crate::health::{self, HealthState};
use crate::model::{HealthRule, Leaving, Object, ObjectId, OwnEntry, Prune};
use crate::target::LiveObject;

/// Takes out of an object what is kept of it.
pub(in crate::target::cluster) fn decode(id: &ObjectId, object: &Object, rules: &[HealthRule]) -> LiveObject {
    let text = |key: &str| object.at(&["metadata", key]).and_then(Value::as_str).unwrap_or("").to_owned();
    let managed = object.at(&["metadata", "managedFields"]);
    let health = health::has_rule(&id.group, &id.kind, rules).then(|| health::assess(object, rules));
    // What comes as metadata alone bears another kind's name, and nobody says anything in there.
    let unspoken = health.is_some() && health::is_unspoken(object, rules);
    let is_on_its_way = health.as_ref().is_some_and(|health| health.state == HealthState::Progressing);
    LiveObject {
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        generation: object.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0),
        own: OwnEntry::of(managed),
        terminating: object.at(&["metadata", "deletionTimestamp"]).is_some(),
        leaving: Leaving::of(object),
        changed: managed.filter(|_| is_on_its_way).and_then(changed),
        health,
        managed: self::managed(object),
        unspoken,
        hash: object.annotation("rewild.dev/hash").unwrap_or("").to_owned(),
        baseline: object.annotation("rewild.dev/config-baseline").unwrap_or("").to_owned(),
        entered: object.annotation("rewild.dev/entered").is_some(),
        prune: Prune::of(object),
        hold: object.annotation("rewild.dev/hold-until").unwrap_or("").to_owned(),
        depends_on: ["rewild.dev/depends-on", "config.kubernetes.io/depends-on"]
            .iter()
            .filter_map(|key| object.annotation(key))
            .collect::<Vec<_>>()
            .join(","),
        app: object.label("rewild.dev/app").unwrap_or("").to_owned(),
    }
}

/// Returns who holds what of an object, without what controllers say of its state: that changes all the time and is no field of ours.
pub(super) fn managed(object: &Object) -> Option<Value> {
    let entries = object.at(&["metadata", "managedFields"])?.as_array()?;
    let is_status = |entry: &Value| entry.get("subresource").is_some_and(|name| name == "status");
    Some(entries.iter().filter(|entry| !is_status(entry)).cloned().collect())
}

/// Returns the newest time of all entries of `managedFields`.
fn changed(managed: &Value) -> Option<Timestamp> {
    let times = managed.as_array()?.iter().filter_map(|entry| Timestamp::parse(entry.get("time")?.as_str()?).ok());
    times.max()
}
