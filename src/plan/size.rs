//! Pure. What makes an object too large for a cluster.
//!
//! Not here: annotations, which have a limit of their own (`refusal`).

use serde_json::Value;

use crate::model::Object;

/// Deepest field that is named.
const MAX_DEPTH: usize = 32;

/// Returns how large an object is and which field makes up most of it.
pub(super) fn told(object: &Object) -> String {
    let value = object.to_value();
    let size = bytes(&value);
    match largest(&value) {
        Some((path, most)) => format!("{size} bytes long, {most} of them in {path}"),
        None => format!("{size} bytes long"),
    }
}

/// Returns the size of a value as it is sent.
pub(super) fn bytes(value: &Value) -> usize {
    value.to_string().len()
}

/// Returns the deepest field that holds more than half of what is around it, with its size.
fn largest(object: &Value) -> Option<(String, usize)> {
    let (mut path, mut value, mut size) = (String::new(), object, bytes(object));
    for _ in 0..MAX_DEPTH {
        let Some((name, child)) = children(value).into_iter().max_by_key(|(_, child)| bytes(child)) else { break };
        if bytes(child) * 2 <= size {
            break;
        }
        if !path.is_empty() && !name.starts_with('[') {
            path.push('.');
        }
        path.push_str(&name);
        (value, size) = (child, bytes(child));
    }
    (!path.is_empty()).then_some((path, size))
}

fn children(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(map) => map.iter().map(|(key, child)| (named(key), child)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, child)| (format!("[{at}]"), child)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Returns a key as paths name it: in brackets if it holds a dot.
fn named(key: &str) -> String {
    if key.contains('.') { format!("[{key}]") } else { key.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(object: Value, expected: &str) {
        let told = told(&Object::from_value(object).unwrap());
        assert!(told.ends_with(expected), "{told}");
    }

    #[test]
    fn the_field_that_makes_an_object_large_is_named() {
        let long = "x".repeat(1_000);
        check(json!({"kind": "ConfigMap", "data": {"a": "1", "dump.sql": long}}), "1002 of them in data[dump.sql]");
        check(json!({"spec": {"items": [{"a": 1}, {"text": long}]}}), "1002 of them in spec.items[1].text");
        check(json!({"data": {"a": long, "b": long}}), "2015 of them in data");
        check(json!({}), "2 bytes long");
    }
}
