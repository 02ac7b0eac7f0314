//! Pure. What is kept of an object before it is deleted: what a person would need to make it again, and no secret.
//!
//! Of a Secret only its metadata is ever read. The names of its keys stand in its managed fields, the digest of what we applied in our
//! mark; its values come back from secrets.yaml. Not here: where it is kept (`store::archive`), the call that reads it (`apply`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::marks;
use crate::model::{Object, ObjectId, Secrets};

/// What stands for a value of a Secret.
const HIDDEN: &str = "(hidden)";
/// Annotation of kubectl that repeats a whole object, a Secret's values included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns whether only the metadata of an object may be read.
pub fn is_sealed(id: &ObjectId) -> bool {
    id.group.is_empty() && id.kind == "Secret"
}

/// Returns what is kept of a live object. The form that holds metadata only has another kind, so kind and version are named.
pub fn kept(live: &Object, id: &ObjectId, api_version: &str) -> Object {
    let mut object = live.clone();
    let keys = if is_sealed(id) { Some(keys(&object)) } else { None };
    object.0.shift_remove("status");
    let metadata = object.metadata_mut();
    metadata.shift_remove("managedFields");
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        // Anybody may have written a value into an annotation of a Secret.
        annotations.retain(|key, _| key != LAST_APPLIED && (keys.is_none() || key.starts_with(marks::PREFIX)));
    }
    let mut kept = Map::new();
    kept.insert("apiVersion".to_owned(), Value::from(api_version));
    kept.insert("kind".to_owned(), Value::from(id.kind.as_str()));
    match keys {
        Some(keys) => {
            kept.extend(object.0.shift_remove_entry("metadata"));
            let data: Map<String, Value> = keys.into_iter().map(|key| (key, Value::from(HIDDEN))).collect();
            kept.insert("data".to_owned(), Value::Object(data));
        }
        None => kept.extend(object.0.into_iter().filter(|(key, _)| key != "apiVersion" && key != "kind")),
    }
    Object(kept)
}

/// Returns an object in which marks stand for the values of secrets that somebody wrote into it in the cluster.
pub fn masked(object: &Object, secrets: &Secrets) -> Object {
    Object(object.0.iter().map(|(key, value)| (key.clone(), mask(value, secrets))).collect())
}

/// Returns a value in which marks stand for the values of secrets.
pub fn mask(value: &Value, secrets: &Secrets) -> Value {
    match value {
        Value::String(text) => Value::from(secrets.mask(text)),
        Value::Array(items) => items.iter().map(|item| mask(item, secrets)).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), mask(value, secrets))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Returns the keys of a Secret that any manager holds.
fn keys(object: &Object) -> BTreeSet<String> {
    let entries = object.at(&["metadata", "managedFields"]).and_then(Value::as_array).into_iter().flatten();
    let held = entries.filter_map(|entry| entry.pointer("/fieldsV1/f:data")?.as_object());
    held.flat_map(Map::keys).filter_map(|key| key.strip_prefix("f:")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::SecretValue;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    #[test]
    fn an_object_is_kept_as_it_was_without_what_the_server_notes() {
        let id = ObjectId::new("apps", "Deployment", "blog", "web");
        let live = object(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "blog", "uid": "u", "managedFields": [{"manager": "wild"}],
                "annotations": {LAST_APPLIED: "{}", "note": "mine"}},
            "spec": {"replicas": 3}, "status": {"replicas": 3},
        }));
        let expected = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "blog", "uid": "u", "annotations": {"note": "mine"}},
            "spec": {"replicas": 3},
        });
        assert_eq!(kept(&live, &id, "apps/v1").to_value(), expected);
    }

    #[test]
    fn of_a_secret_only_keys_and_the_digest_are_kept() {
        let id = ObjectId::new("", "Secret", "blog", "blog-secrets");
        let held = json!([
            {"manager": "wild", "fieldsV1": {"f:data": {".": {}, "f:password": {}}}},
            {"manager": "kubectl-edit", "fieldsV1": {"f:data": {"f:extra": {}}}},
        ]);
        let live = object(json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
            "metadata": {"name": "blog-secrets", "namespace": "blog", "managedFields": held,
                "annotations": {LAST_APPLIED: "{the-password}", "note": "the-password", marks::HASH: "v1.x"}},
            "data": {"password": "dGhlLXBhc3N3b3Jk"},
        }));
        let expected = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "blog-secrets", "namespace": "blog", "annotations": {marks::HASH: "v1.x"}},
            "data": {"extra": HIDDEN, "password": HIDDEN},
        });
        assert_eq!(kept(&live, &id, "v1").to_value(), expected);
    }

    #[test]
    fn a_secret_that_somebody_wrote_elsewhere_is_hidden() {
        let mut secrets = Secrets::new();
        secrets.insert("apps.blog.password", SecretValue::new("the-password".into()));
        let live = object(json!({"spec": {"env": [{"name": "A", "value": "x the-password"}], "replicas": 1}}));
        let expected = json!({"spec": {"env": [{"name": "A", "value": "x (hidden)"}], "replicas": 1}});
        assert_eq!(masked(&live, &secrets).to_value(), expected);
    }
}
