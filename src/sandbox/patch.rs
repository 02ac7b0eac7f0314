//! Patches: merge patch, JSON patch, strategic merge patch, and the reading of an apply.
//!
//! Not here: server-side apply itself (`fields`).

use serde_json::{Map, Value, json};

use crate::sandbox::failure::Failure;
use crate::schema::{Kind, ListShape, Shape};
use crate::yaml;

/// Content type of server-side apply.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// Returns the live object with a patch applied.
pub(crate) fn patched(kind: &Kind, content_type: &str, live: &Value, body: &[u8]) -> Result<Value, Failure> {
    match content_type {
        MERGE => {
            let patch = read(body)?;
            if !patch.is_object() {
                let why =
                    "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}";
                return Err(Failure::bad_request(why));
            }
            let mut object = live.clone();
            merge(&mut object, &patch);
            Ok(object)
        }
        JSON => json_patch(live, &read(body)?),
        STRATEGIC => {
            let patch = read(body)?;
            let shape = kind.structure.map_or(Shape::Any, Shape::Struct);
            Ok(strategic(Some(live), &patch, &shape).unwrap_or(Value::Null))
        }
        _ => Err(unsupported()),
    }
}

/// Refuses what is no patch.
pub(crate) fn check_type(content_type: &str) -> Result<(), Failure> {
    if [MERGE, JSON, STRATEGIC].contains(&content_type) { Ok(()) } else { Err(unsupported()) }
}

fn unsupported() -> Failure {
    Failure {
        code: 415,
        reason: "UnsupportedMediaType",
        message: "415: Unsupported Media Type".to_owned(),
        details: Some(json!({})),
    }
}

/// Reads the body of an apply: JSON, as programs send it, or YAML.
pub(crate) fn read_apply(body: &[u8]) -> Result<Value, Failure> {
    if let Ok(value @ Value::Object(_)) = serde_json::from_slice(body) {
        return Ok(value);
    }
    let text = String::from_utf8_lossy(body);
    let refuse = |why: &str| Failure::bad_request(format!("error decoding YAML: {why}"));
    match yaml::load_one("", &text, yaml::Dialect::Kube) {
        Ok(Some(document)) if document.value.is_object() => Ok(document.value),
        Ok(_) => Err(refuse("not a map")),
        Err(found) => Err(refuse(found.first().map_or("", |first| first.message.as_str()))),
    }
}

/// Returns the refusal of a patch that leads to fields that the kind does not have.
pub(crate) fn refuse_unknown(patched: &Value, unknown: &[String]) -> Failure {
    let unknown: Vec<String> = unknown.iter().map(|field| format!("unknown field {field:?}")).collect();
    let why = format!("Invalid value: {:?}: strict decoding error: {}", patched.to_string(), unknown.join(", "));
    let cause = json!({"reason": "FieldValueInvalid", "message": why, "field": "patch"});
    Failure {
        code: 422,
        reason: "Invalid",
        message: format!(" \"\" is invalid: patch: {why}"),
        details: Some(json!({"causes": [cause]})),
    }
}

fn read(body: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(body).map_err(|error| Failure::bad_request(format!("error decoding patch: {error}")))
}

/// Merges a patch into an object: null removes, maps merge, all else replaces.
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Value::Object(map) = object else { return };
    for (key, value) in patch {
        if value.is_null() {
            map.shift_remove(key);
        } else {
            merge(map.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// What the API server says to a JSON patch whose test fails or whose path does not exist.
fn rejected() -> Failure {
    Failure {
        code: 422,
        reason: "Invalid",
        message: "the server rejected our request due to an error in our request".to_owned(),
        details: Some(json!({})),
    }
}

fn json_patch(live: &Value, patch: &Value) -> Result<Value, Failure> {
    let steps = patch.as_array().ok_or_else(|| {
        Failure::bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        )
    })?;
    let mut object = live.clone();
    for step in steps {
        let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or("");
        let value = step.get("value").cloned().unwrap_or(Value::Null);
        match text("op") {
            "test" if object.pointer(text("path")).unwrap_or(&Value::Null) == &value => {}
            "test" => return Err(rejected()),
            "add" => add(&mut object, text("path"), value)?,
            "remove" => drop(remove(&mut object, text("path"))?),
            "replace" => *object.pointer_mut(text("path")).ok_or_else(rejected)? = value,
            "copy" => {
                let value = object.pointer(text("from")).cloned().ok_or_else(rejected)?;
                add(&mut object, text("path"), value)?;
            }
            "move" => {
                let value = remove(&mut object, text("from"))?;
                add(&mut object, text("path"), value)?;
            }
            _ => return Err(rejected()),
        }
    }
    Ok(object)
}

fn parent<'a>(object: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), Failure> {
    let (head, last) = path.rsplit_once('/').ok_or_else(rejected)?;
    let parent = object.pointer_mut(head).ok_or_else(rejected)?;
    Ok((parent, last.replace("~1", "/").replace("~0", "~")))
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), Failure> {
    let (parent, last) = parent(object, path)?;
    match parent {
        Value::Object(map) => {
            map.insert(last, value);
            Ok(())
        }
        Value::Array(items) => {
            let index = if last == "-" { items.len() } else { last.parse().map_err(|_| rejected())? };
            if index > items.len() {
                return Err(rejected());
            }
            items.insert(index, value);
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(rejected()),
    }
}

fn remove(object: &mut Value, path: &str) -> Result<Value, Failure> {
    let (parent, last) = parent(object, path)?;
    match parent {
        Value::Object(map) => map.shift_remove(&last).ok_or_else(rejected),
        Value::Array(items) => {
            let index: usize = last.parse().map_err(|_| rejected())?;
            if index < items.len() { Ok(items.remove(index)) } else { Err(rejected()) }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(rejected()),
    }
}

/// Merges a strategic patch: keyed lists by key with `$patch: delete`, sets by value, all else as in a merge patch.
fn strategic(live: Option<&Value>, patch: &Value, shape: &Shape) -> Option<Value> {
    match (shape, patch) {
        (_, Value::Null) => None,
        (Shape::Struct(_) | Shape::Map(..), Value::Object(patch)) => {
            if patch.get("$patch") == Some(&json!("replace")) {
                let kept = patch.iter().filter(|(key, _)| *key != "$patch");
                return Some(Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect()));
            }
            let mut merged = live.and_then(Value::as_object).cloned().unwrap_or_default();
            for (key, value) in patch.iter().filter(|(key, _)| !key.starts_with('$')) {
                let below = match shape {
                    Shape::Struct(it) => it.get().field(key).map_or(&Shape::Any, |field| &field.shape),
                    Shape::Map(item, _) => item,
                    _ => &Shape::Any,
                };
                match strategic(merged.get(key), value, below) {
                    Some(value) => merged.insert(key.clone(), value),
                    None => merged.shift_remove(key),
                };
            }
            Some(Value::Object(merged))
        }
        (Shape::List(item, ListShape::Keyed(keys)), Value::Array(patch)) => {
            // A patch names the item by the first key alone: a port by its number, a container by its name.
            let key = keys.first().copied().unwrap_or("name");
            let items = live.and_then(Value::as_array).cloned().unwrap_or_default();
            Some(Value::Array(strategic_items(items, patch, (item, key))))
        }
        (Shape::List(_, ListShape::Set), Value::Array(patch)) => {
            let mut items = live.and_then(Value::as_array).cloned().unwrap_or_default();
            let new: Vec<Value> = patch.iter().filter(|item| !items.contains(item)).cloned().collect();
            items.extend(new);
            Some(Value::Array(items))
        }
        _ => Some(patch.clone()),
    }
}

fn strategic_items(mut items: Vec<Value>, patch: &[Value], list: (&Shape, &str)) -> Vec<Value> {
    let (shape, key) = list;
    let before = items.clone();
    for change in patch {
        let same = |item: &Value| item.get(key) == change.get(key);
        if change.get("$patch") == Some(&json!("delete")) {
            items.retain(|item| !same(item));
            continue;
        }
        match items.iter_mut().find(|item| same(item)) {
            Some(item) => {
                if let Some(merged) = strategic(Some(item), change, shape) {
                    *item = merged;
                }
            }
            None => items.extend(strategic(None, change, shape)),
        }
    }
    in_order(items, &before, patch, key)
}

/// Items of the patch keep their order and stand before those that it does not name, unless they stood behind them before.
fn in_order(items: Vec<Value>, before: &[Value], patch: &[Value], key: &str) -> Vec<Value> {
    let place = |list: &[Value], item: &Value| list.iter().position(|other| other.get(key) == item.get(key));
    let (mut wanted, mut others): (Vec<Value>, Vec<Value>) =
        items.into_iter().partition(|item| place(patch, item).is_some());
    wanted.sort_by_key(|item| place(patch, item));
    // Items that share a key, as two protocols of one port do, move together.
    others.sort_by_key(|item| place(before, item));
    let mut others = others.into_iter().peekable();
    let mut result = Vec::new();
    for item in wanted {
        let own = place(before, &item);
        while let Some(other) = others.next_if(|other| own.is_some_and(|own| place(before, other) < Some(own))) {
            result.push(other);
        }
        result.push(item);
    }
    result.extend(others);
    result
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::patched;
    use crate::schema::kind;

    #[test]
    fn a_merge_patch_removes_with_null() {
        check("merge", json!({"data": {"a": null, "c": "3"}}), json!({"data": {"b": "2", "c": "3"}}));
    }

    #[test]
    fn a_json_patch_tests_before_it_changes() {
        check(
            "json",
            json!([{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/a"}]),
            json!({"data": {"b": "2"}}),
        );
        let wrong = json!([{"op": "test", "path": "/data/a", "value": "9"}]).to_string();
        let kind = kind("", "ConfigMap").unwrap();
        let refused = patched(kind, "application/json-patch+json", &json!({"data": {"a": "1"}}), wrong.as_bytes());
        assert_eq!(refused.unwrap_err().code, 422);
    }

    #[test]
    fn a_strategic_patch_merges_items_by_key() {
        let live = json!({"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81}]}});
        let patch = json!({"spec": {"ports": [{"port": 80, "name": "b"}, {"port": 81, "$patch": "delete"}]}});
        let result = patched(
            kind("", "Service").unwrap(),
            "application/strategic-merge-patch+json",
            &live,
            patch.to_string().as_bytes(),
        );
        assert_eq!(result.unwrap(), json!({"spec": {"ports": [{"port": 80, "name": "b"}]}}));
    }

    #[test]
    fn a_strategic_patch_moves_items_of_one_key_together() {
        let live = json!({"spec": {"ports": [{"port": 53, "name": "a"}, {"port": 80}, {"port": 53, "name": "b"}]}});
        let result = patched(
            kind("", "Service").unwrap(),
            "application/strategic-merge-patch+json",
            &live,
            br#"{"spec": {"ports": []}}"#,
        );
        let expected = json!([{"port": 53, "name": "a"}, {"port": 53, "name": "b"}, {"port": 80}]);
        assert_eq!(result.unwrap()["spec"]["ports"], expected);
    }

    fn check(sort: &str, patch: Value, expected: Value) {
        let live = json!({"data": {"a": "1", "b": "2"}});
        let content_type = format!("application/{sort}-patch+json");
        let result = patched(kind("", "ConfigMap").unwrap(), &content_type, &live, patch.to_string().as_bytes());
        assert_eq!(result.unwrap(), expected);
    }
}
