//! Short ways to read answers of the API.
//!
//! Not here: their shape (`http`).

use serde_json::Value;

/// Returns a text of an object, or an empty one.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a list of an object, or an empty one.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns a number of an object, or 0.
pub(super) fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// Returns whether a flag of an object is set.
pub(super) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns the first seven characters of a commit id.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// Returns an object identity as people read it: `Deployment/ghost`.
pub(super) fn object(id: &Value) -> String {
    match text(id, "namespace") {
        "" => format!("{}/{}", text(id, "kind"), text(id, "name")),
        namespace => format!("{}/{} ({namespace})", text(id, "kind"), text(id, "name")),
    }
}

/// Returns a value in one line, texts without quotes.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
