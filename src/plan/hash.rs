//! Format. The keyed hash of a desired object, version `v1`, and the digests that stand for a Secret's values in a plan.
//!
//! Pure. Keyed, so that the annotation on a live Secret cannot be used to guess its value. A lost key costs one apply of
//! every object and starts no pod (`restart`), because each hash names its key. Not here: where the key is kept (`settings`), the encoding (`base::hash`).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use super::marks;
use crate::base::{Digest, Encoder};
use crate::model::Object;
use crate::schema::{CLUSTER_ANNOTATIONS, SERVER_METADATA};

/// Version mark of a desired hash.
const VERSION: &str = "v1.";
/// Characters of the name of a key: enough to tell another key, and nothing by which to guess one.
const KEY_NAME_CHARS: usize = 6;
/// Begin of the text that stands for a Secret's value. The dot occurs in no base64 text, so it cannot be a value.
const SEALED: &str = "sealed.v1.";
/// Begin of that for a value that no API server takes, by why.
const BROKEN: [(&str, &str); 2] = [
    ("sealed.no-base64.", "is no base64; plain text belongs below stringData"),
    ("sealed.no-text.", "is no text; put quotes around it"),
];
/// The text that stands for all values of a Secret where they are no map.
const NO_MAP: &str = "sealed.no-map.";

/// Returns the keyed hash of what we want of an object: `v1.`, unpadded base64url, a dot and the name of the key.
///
/// What the server or our own marks add makes no difference, so a live object and its committed source can be compared.
pub fn desired_hash(key: &[u8; 32], object: &Object) -> String {
    let canonical = Value::Object(canonical(object).0);
    let text = URL_SAFE_NO_PAD.encode(Encoder::new().value(&canonical).keyed_digest(key).0);
    format!("{VERSION}{text}.{}", key_name(key))
}

fn key_name(key: &[u8; 32]) -> String {
    let digest = Encoder::new().text("name of the key").keyed_digest(key);
    URL_SAFE_NO_PAD.encode(digest.0).chars().take(KEY_NAME_CHARS).collect()
}

/// Returns the name of the key that a hash was made with; empty if it names none.
pub fn key_of(hash: &str) -> &str {
    hash.strip_prefix(VERSION).and_then(|rest| rest.split_once('.')).map_or("", |(_, name)| name)
}

/// Returns a hash over what is hashed already.
pub(super) fn of_digest(digest: &Digest) -> String {
    format!("{VERSION}{}", URL_SAFE_NO_PAD.encode(digest.0))
}

/// Returns the object as we would write it: without status, server metadata and our marks, `stringData` folded into `data`.
pub fn canonical(object: &Object) -> Object {
    let mut object = object.clone();
    object.0.shift_remove("status");
    if object.0.contains_key("metadata") {
        let metadata = object.metadata_mut();
        for key in SERVER_METADATA {
            metadata.shift_remove(key);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|key, _| !CLUSTER_ANNOTATIONS.contains(&key.as_str()));
        }
    }
    marks::unmark(&mut object);
    if is_secret(&object) {
        fold_string_data(&mut object);
    }
    object
}

/// Returns an object in which digests stand for the values of a Secret, `stringData` folded into `data`; the rest of it,
/// and other objects, stay as they are.
///
/// The same value under another key or in another object gets another digest, so that a plan does not even show which
/// values are equal.
pub fn seal(key: &[u8; 32], mut object: Object) -> Object {
    if !is_secret(&object) {
        return object;
    }
    let is_no_map = |key: &str| object.0.get(key).is_some_and(|values| !values.is_object() && !values.is_null());
    if is_no_map("data") || is_no_map("stringData") {
        object.0.shift_remove("stringData");
        object.0.insert("data".to_owned(), Value::from(NO_MAP));
        return object;
    }
    fold_string_data(&mut object);
    let id = object.id();
    if let Some(Value::Object(data)) = object.0.get_mut("data") {
        for (name, value) in data.iter_mut() {
            let mut encoder = Encoder::new();
            encoder.text("secret value").text(&id.namespace).text(&id.name).text(name).value(value);
            *value =
                Value::from(format!("{}{}", begin_for(value), URL_SAFE_NO_PAD.encode(encoder.keyed_digest(key).0)));
        }
    }
    object
}

/// Returns the begin of the text that stands for a value: it tells whether an API server takes the value, and nothing else of it.
fn begin_for(value: &Value) -> &'static str {
    let [(no_base64, _), (no_text, _)] = BROKEN;
    match value {
        Value::Null => SEALED,
        // Servers skip line breaks in base64.
        Value::String(text) => match STANDARD.decode(text.replace(['\r', '\n'], "")) {
            Ok(_) => SEALED,
            Err(_) => no_base64,
        },
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => no_text,
    }
}

/// Returns the keys of a sealed Secret whose values no API server takes, each with why.
pub(super) fn unfit_values(object: &Object) -> Vec<(&str, &'static str)> {
    if is_secret(object) && object.0.get("data").and_then(Value::as_str) == Some(NO_MAP) {
        return vec![("", "is no map of keys and values")];
    }
    let data = object.0.get("data").and_then(Value::as_object).filter(|_| is_secret(object));
    let why = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        BROKEN.iter().find(|(begin, _)| text.starts_with(begin)).map(|(_, why)| *why)
    };
    data.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), why(value)?))).collect()
}

/// Returns whether the values of a Secret are all digests; true for every other kind.
pub fn is_sealed(object: &Object) -> bool {
    if !is_secret(object) {
        return true;
    }
    let begins = || BROKEN.iter().map(|(begin, _)| *begin).chain([SEALED]);
    let sealed = |value: &Value| value.as_str().is_some_and(|text| begins().any(|begin| text.starts_with(begin)));
    let data = object.0.get("data").and_then(Value::as_object);
    !object.0.contains_key("stringData") && data.is_none_or(|data| data.values().all(sealed))
}

/// Returns whether an object is a core Secret.
fn is_secret(object: &Object) -> bool {
    object.kind() == "Secret" && object.group().is_empty()
}

/// Moves `stringData` into `data` as the server does; a key in both is taken from `stringData`.
fn fold_string_data(object: &mut Object) {
    let Some(Value::Object(strings)) = object.0.shift_remove("stringData") else { return };
    let data = object.0.entry("data").or_insert_with(|| Value::Object(Map::new()));
    if !data.is_object() {
        *data = Value::Object(Map::new());
    }
    if let Value::Object(data) = data {
        for (key, value) in strings {
            let value = match value {
                Value::String(text) => Value::from(STANDARD.encode(text)),
                other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other,
            };
            data.insert(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::model::{AppName, CommitId, InstanceId};
    use crate::plan::marks::{Identity, Origin, mark};

    const KEY: [u8; 32] = [7; 32];

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    fn hash(value: Value) -> String {
        desired_hash(&KEY, &object(value))
    }

    #[test]
    fn a_value_that_no_server_takes_is_told_by_its_key_alone() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
            "data": {"good": "aHVudGVyMg==", "wrapped": "aHVu\ndGVyMg==", "bad": "hunter2!", "number": 5, "none": null},
            "stringData": {"plain": "hunter2!", "port": 5432},
        });
        let sealed = seal(&KEY, object(secret));
        let [no_base64, no_text] = BROKEN.map(|(_, why)| why);
        assert_eq!(unfit_values(&sealed), [("bad", no_base64), ("number", no_text), ("port", no_text)]);
        assert!(is_sealed(&sealed) && !sealed.to_value().to_string().contains("hunter2"));
        for values in [json!(["hunter2"]), json!("hunter2"), json!(5)] {
            for key in ["data", "stringData"] {
                let sealed = seal(&KEY, object(json!({"kind": "Secret", "metadata": {"name": "a"}, key: values})));
                assert_eq!(unfit_values(&sealed), [("", "is no map of keys and values")]);
                assert!(!sealed.to_value().to_string().contains("hunter2"));
            }
        }
        assert!(unfit_values(&object(json!({"kind": "ConfigMap", "data": {"a": "sealed.no-text.x"}}))).is_empty());
    }

    #[test]
    fn values_that_a_serialiser_might_confuse_hash_differently() {
        let values = [
            json!({"data": {"a": "bc"}}),
            json!({"data": {"ab": "c"}}),
            json!({"data": {"a": 1}}),
            json!({"data": {"a": "1"}}),
            json!({"data": {"a": true}}),
            json!({"data": {"a": "true"}}),
            json!({"data": {"a": null}}),
            json!({"data": {"a": ""}}),
            json!({"data": {}}),
            json!({}),
        ];
        let hashes: BTreeSet<String> = values.iter().cloned().map(hash).collect();
        assert_eq!(hashes.len(), values.len());
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        assert_eq!(hash(json!({"a": 1, "b": {"c": 2, "d": 3}})), hash(json!({"b": {"d": 3, "c": 2}, "a": 1})));
    }

    #[test]
    fn what_the_server_adds_does_not_matter() {
        let committed = json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        let live = json!({
            "kind": "ConfigMap",
            "metadata": {
                "name": "a", "uid": "1", "resourceVersion": "2", "generation": 3, "creationTimestamp": "t",
                "managedFields": [], "selfLink": "/a",
            },
            "data": {"k": "v"},
            "status": {"phase": "Active"},
        });
        assert_eq!(hash(committed), hash(live));
    }

    #[test]
    fn our_marks_do_not_matter_and_the_authors_do() {
        let committed = object(json!({"kind": "ConfigMap", "metadata": {"name": "a"}}));
        let mut marked = committed.clone();
        let identity = Identity {
            instance: &InstanceId::parse("k3f7q2m5xd").unwrap(),
            apply_set: "applyset-x-v1",
            app: &AppName::parse("blog").unwrap(),
        };
        let commit = CommitId::parse(&"a".repeat(40)).unwrap();
        mark(&mut marked, identity, Origin { hash: "v1.h", commit: &commit, path: "apps/blog/a.yaml" });
        assert_eq!(desired_hash(&KEY, &committed), desired_hash(&KEY, &marked));
        let mut waved = committed.clone();
        waved.set_annotation("rewild.dev/wave", "1");
        assert_ne!(desired_hash(&KEY, &committed), desired_hash(&KEY, &waved));
    }

    #[test]
    fn string_data_is_the_same_as_its_encoded_data() {
        let clear = json!({"apiVersion": "v1", "kind": "Secret", "data": {"b": "eA=="}, "stringData": {"a": "hi"}});
        let encoded = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "aGk=", "b": "eA=="}});
        assert_eq!(hash(clear), hash(encoded));
    }

    #[test]
    fn string_data_of_other_kinds_is_left_alone() {
        let custom = object(json!({"apiVersion": "x.io/v1", "kind": "Secret", "stringData": {"a": "hi"}}));
        assert_eq!(canonical(&custom), custom);
    }

    #[test]
    fn another_key_gives_another_hash() {
        let object = object(json!({"a": 1}));
        let (one, other) = (desired_hash(&KEY, &object), desired_hash(&[8; 32], &object));
        assert!(one != other && key_of(&one) != key_of(&other));
        assert_eq!(key_of(&one), key_of(&hash(json!({"a": 2}))));
        assert_eq!(key_of("v1.x"), "");
    }

    #[test]
    fn the_form_of_a_hash_stays_as_it_is() {
        // Recorded: a change here rewrites every object of every instance once.
        let hash =
            hash(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}));
        assert_eq!(hash, "v1.vJaYB_2bs5NQzybBix_o47nvNkUAODXBu7JtyAZ1uM0.Um9GuA");
    }

    #[test]
    fn a_sealed_secret_holds_no_value() {
        let truth = object(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "blog"},
            "data": {"a": "c2VjcmV0"}, "stringData": {"b": "secret"},
        }));
        let sealed = seal(&KEY, truth.clone());
        assert!(is_sealed(&sealed) && !is_sealed(&truth) && !is_sealed(&canonical(&truth)));
        let text = sealed.to_value().to_string();
        assert!(!text.contains("secret\"") && !text.contains("c2VjcmV0"), "{text}");
        assert_ne!(sealed.at(&["data", "a"]), sealed.at(&["data", "b"]));
        assert_eq!(sealed.at(&["metadata"]), truth.at(&["metadata"]));
    }
}
