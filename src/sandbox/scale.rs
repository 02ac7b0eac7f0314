//! The scale subresource: the replicas of a workload as an object of their own.
//!
//! Not here: who follows them (`controllers/workload.rs`).

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use crate::sandbox::call::Call;
use crate::sandbox::cluster::Cluster;
use crate::sandbox::failure::{Cause, Failure};
use crate::sandbox::fields;
use crate::sandbox::patch;
use crate::sandbox::server::Answer;
use crate::sandbox::store::{Key, Sort, Store, child_mut};
use crate::sandbox::write::{Write, finish_update, metadata_text};
use crate::schema::{Kind, kind};

/// Answers a request for a scale.
pub(crate) fn answer(cluster: &Arc<Cluster>, method: &Method, call: &Call, body: &[u8]) -> Result<Answer, Failure> {
    match *method {
        Method::GET => live(&cluster.lock(), call).map(|object| Answer::Json(200, scale_of(&object))),
        Method::PUT | Method::PATCH => cluster.change(|store| change(store, method, call, body)),
        _ => Err(Failure::no_such_method()),
    }
}

fn live(store: &Store, call: &Call) -> Result<Value, Failure> {
    let key = Key::of(call.kind, &call.namespace, &call.name);
    let live = store.get(Sort::of(call.kind), &key).ok_or_else(|| Failure::not_found(call.kind, &call.name))?;
    Ok((**live).clone())
}

fn change(store: &mut Store, method: &Method, call: &Call, body: &[u8]) -> Result<Answer, Failure> {
    let write = Write::new(store, call, "UpdateOptions")?;
    let live = live(store, call)?;
    let before = scale_of(&live);
    let wanted = if method == Method::PUT {
        serde_json::from_slice(body).map_err(|error| Failure::bad_request(format!("json parse error: {error}")))?
    } else {
        patch::patched(scale_kind(call.kind), &call.content_type, &before, body)?
    };
    let version = metadata_text(&wanted, "resourceVersion");
    if !version.is_empty() && version != metadata_text(&live, "resourceVersion") {
        return Err(Failure::stale(call.kind, &call.name));
    }
    let replicas = wanted.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
    if replicas < 0 {
        let cause = Cause::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
        return Err(invalid_scale(&call.name, &cause));
    }
    let mut object = live.clone();
    child_mut(&mut object, "spec").insert("replicas".to_owned(), json!(replicas));
    fields::track_update(Some(&live), &mut object, write.applied());
    forget_times(&mut object, replicas);
    let object = finish_update(store, &write, &live, object)?;
    Ok(Answer::Json(200, scale_of(&object)))
}

/// The API server loses the time of whoever scales, and everything about whoever scales to nothing.
fn forget_times(object: &mut Value, replicas: i64) {
    let Some(entries) = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut) else { return };
    let by_scale = |entry: &Value| entry.get("subresource") == Some(&json!("scale"));
    entries.retain(|entry| replicas != 0 || !by_scale(entry));
    for entry in entries.iter_mut().filter(|entry| by_scale(entry)).filter_map(Value::as_object_mut) {
        entry.shift_remove("time");
    }
}

fn invalid_scale(name: &str, cause: &Cause) -> Failure {
    let text = format!("{}: {}", cause.field, cause.message);
    let causes = json!([{"reason": cause.reason, "message": cause.message, "field": cause.field}]);
    Failure {
        code: 422,
        reason: "Invalid",
        message: format!("Scale.autoscaling {name:?} is invalid: {text}"),
        details: Some(json!({"name": name, "group": "autoscaling", "kind": "Scale", "causes": causes})),
    }
}

/// A scale has no list to merge by key, so any kind with whole metadata reads its patches right.
fn scale_kind(own: &'static Kind) -> &'static Kind {
    kind("", "ConfigMap").unwrap_or(own)
}

fn scale_of(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    let kept = |key: &str| metadata.get(key).cloned();
    let mut own = serde_json::Map::new();
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = kept(key) {
            own.insert(key.to_owned(), value);
        }
    }
    let replicas = object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
    let running = object.pointer("/status/replicas").and_then(Value::as_i64).unwrap_or(0);
    let mut spec = json!({});
    if let (true, Value::Object(map)) = (replicas != 0, &mut spec) {
        map.insert("replicas".to_owned(), json!(replicas));
    }
    let mut status = json!({"replicas": running});
    let selector = selector_text(object);
    if let (false, Value::Object(map)) = (selector.is_empty(), &mut status) {
        map.insert("selector".to_owned(), json!(selector));
    }
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": own, "spec": spec, "status": status})
}

fn selector_text(object: &Value) -> String {
    let labels = object.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let mut parts: Vec<String> =
        labels.into_iter().flatten().map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or(""))).collect();
    parts.sort();
    parts.join(",")
}
