//! Pure. Whether an object of a Keycloak is as declared, by what the server gives back.
//!
//! Only declared fields count, at any depth. Lists of scalars are sets to Keycloak, which gives them back in any order; it keeps many
//! numbers and truth values as texts. Not here: bringing both together for a write (`target::keycloak`).

use serde_json::{Map, Value};

/// Depth at which the comparison stops; deeper documents are refused before they get here.
const MAX_DEPTH: usize = 64;

/// Returns the paths of the declared fields that differ in what a server gave back, in order.
pub fn differences(declared: &Map<String, Value>, live: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in declared {
        compare(value, live.get(key), &format!("spec.{key}"), MAX_DEPTH, &mut found);
    }
    found
}

fn compare(declared: &Value, live: Option<&Value>, path: &str, depth: usize, found: &mut Vec<String>) {
    match (declared, live) {
        (Value::Object(declared), live) if depth > 0 => {
            for (key, value) in declared {
                let below = live.and_then(|live| live.get(key));
                compare(value, below, &format!("{path}.{key}"), depth - 1, found);
            }
        }
        (declared, live) if is_same(declared, live) => {}
        _ => found.push(path.to_owned()),
    }
}

fn is_same(declared: &Value, live: Option<&Value>) -> bool {
    match (declared, live) {
        (Value::Array(declared), Some(Value::Array(live))) => {
            let texts = |list: &[Value]| {
                let mut texts: Vec<Option<String>> = list.iter().map(text).collect();
                texts.sort();
                texts
            };
            declared == live || (texts(declared) == texts(live) && declared.iter().all(|item| text(item).is_some()))
        }
        // An empty text and an empty list are kept as nothing.
        (Value::Array(declared), None | Some(Value::Null)) => declared.is_empty(),
        (Value::String(declared), None | Some(Value::Null)) => declared.is_empty(),
        (declared, Some(live)) => declared == live || (text(declared).is_some() && text(declared) == text(live)),
        (_, None) => false,
    }
}

/// Returns a scalar as text.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
