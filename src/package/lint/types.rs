//! Pure. Rule about values of a type that the API does not take: a number where a text is wanted, a text where a number is.
//!
//! A template is the usual cause: `value: {{ .port }}` gives a number although the config holds the text "8080".
//!
//! Not here: scalars that tools read differently, which the YAML reader reports itself.

use serde_json::Value;

use super::{LintInput, about};
use crate::model::Diagnostic;
use crate::schema::{self, Shape};

/// Checks the values of all objects whose type is known.
pub(super) fn check(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    for part in input.parts {
        let object = &part.object;
        let known = schema::kind(object.group(), object.kind()).filter(|kind| kind.version == object.version());
        let Some(structure) = known.and_then(|kind| kind.structure) else { continue };
        let mut misfits = Vec::new();
        for (key, value) in &object.0 {
            if let Some(field) = structure.get().field(key) {
                walk(value, &field.shape, &mut vec![key.clone()], &mut misfits);
            }
        }
        findings.extend(misfits.into_iter().map(|misfit| about("L026", part, misfit)));
    }
}

/// Compares a value with what is wanted at its place. Depth is bounded by the loader.
fn walk(value: &Value, shape: &Shape, path: &mut Vec<String>, misfits: &mut Vec<String>) {
    let wanted = match (shape, value) {
        (_, Value::Null) => return,
        (Shape::Struct(structure), Value::Object(map)) => {
            for (key, value) in map {
                if let Some(field) = structure.get().field(key) {
                    below(key, value, &field.shape, path, misfits);
                }
            }
            return;
        }
        (Shape::Map(item, _), Value::Object(map)) => {
            return map.iter().for_each(|(key, value)| below(key, value, item, path, misfits));
        }
        (Shape::List(item, _), Value::Array(items)) => {
            return items.iter().for_each(|value| walk(value, item, path, misfits));
        }
        (Shape::Text, Value::Bool(_) | Value::Number(_)) => "a text",
        (Shape::Integer | Shape::Number, Value::Bool(_) | Value::String(_)) => "a number",
        (Shape::Boolean, Value::Number(_) | Value::String(_)) => "true or false",
        (_, _) => return,
    };
    misfits.push(format!("{} wants {wanted} and gets {value}", path.join(".")));
}

fn below(key: &str, value: &Value, shape: &Shape, path: &mut Vec<String>, misfits: &mut Vec<String>) {
    path.push(key.to_owned());
    walk(value, shape, path, misfits);
    path.pop();
}
