//! Pure. Reading of `status.conditions` and of counts, in which every part may be absent.
//!
//! Not here: what a condition means for a kind.

use serde_json::Value;

use crate::model::Object;

/// Returns a condition by its type.
pub(super) fn condition<'a>(object: &'a Object, kind: &str) -> Option<&'a Value> {
    let conditions = object.at(&["status", "conditions"])?.as_array()?;
    conditions.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind))
}

/// Returns whether a condition holds.
pub(super) fn is_true(condition: &Value) -> bool {
    part(condition, "status") == "True"
}

/// Returns whether the condition of this type is there and holds.
pub(super) fn holds(object: &Object, kind: &str) -> bool {
    condition(object, kind).is_some_and(is_true)
}

/// Returns the message of a condition, or its reason, or its type, without a full stop.
pub(super) fn message(condition: &Value) -> String {
    let said = ["message", "reason", "type"].map(|key| part(condition, key));
    said.into_iter().find(|text| !text.is_empty()).unwrap_or("").trim_end_matches('.').to_owned()
}

/// Returns a text of a condition, empty if it is absent.
pub(super) fn part<'a>(condition: &'a Value, key: &str) -> &'a str {
    condition.get(key).and_then(Value::as_str).unwrap_or("")
}

/// Returns a number, 0 if it is absent.
pub(super) fn count(object: &Object, path: &[&str]) -> i64 {
    object.at(path).and_then(Value::as_i64).unwrap_or(0)
}

/// Returns a number of the spec that Kubernetes takes for 1 if it is absent.
pub(super) fn count_or_one(object: &Object, path: &[&str]) -> i64 {
    object.at(path).and_then(Value::as_i64).unwrap_or(1)
}

/// Returns a text, empty if it is absent.
pub(super) fn text<'a>(object: &'a Object, path: &[&str]) -> &'a str {
    object.at(path).and_then(Value::as_str).unwrap_or("")
}
