//! Pure. Texts inside objects that are JSON or YAML documents themselves, and values in them.
//!
//! Not here: which texts a replacement looks into (`replacements.rs`).

use serde_json::Value;

use super::generate::go_json;
use super::path::{Create, Setter, visit};
use crate::yaml::{self, Dialect};

/// Indentation of JSON that was written over several lines.
const INDENT: &str = "  ";

/// Reads a text as a document; nothing if it is a single value or cannot be read.
pub(super) fn parse(text: &str) -> Option<Value> {
    let document = yaml::load_one("", text, Dialect::Gomplate).ok()??;
    (document.value.is_object() || document.value.is_array()).then_some(document.value)
}

/// Sets what a path leads to inside a text and returns the text anew; nothing if there is no such place in it.
pub(super) fn set_inside(text: &str, path: &[String], create: Create, set: Setter<'_>) -> Option<String> {
    let mut document = parse(text)?;
    let found = visit(&mut document, path, create, set).ok()?;
    if found == 0 {
        return None;
    }
    if text.trim_start().starts_with(['{', '[']) {
        let spacious = text.contains('\n') && text.contains(INDENT);
        return Some(if spacious { indented(&document) } else { compact(&document) });
    }
    Some(edited(text, path, &document).unwrap_or_else(|| yaml::write(&document)).trim().to_owned())
}

/// Returns the text with one key changed, so that comments and forms stay; nothing if the path names more than one key.
fn edited(text: &str, path: &[String], document: &Value) -> Option<String> {
    let value = path.iter().try_fold(document, |value, step| value.as_object()?.get(step))?;
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    yaml::edit::set("", text, &path, value).ok()
}

fn compact(value: &Value) -> String {
    let mut text = String::new();
    go_json(&mut text, value);
    text
}

/// Writes JSON over several lines, with the same escapes as on one.
fn indented(value: &Value) -> String {
    let mut out = String::new();
    write_indented(&mut out, value, 0);
    out
}

/// Depth is bounded by the reader of the text.
fn write_indented(out: &mut String, value: &Value, depth: usize) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&INDENT.repeat(depth));
    };
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                out.push_str(if position > 0 { "," } else { "" });
                line(out, depth + 1);
                write_indented(out, item, depth + 1);
            }
            line(out, depth);
            out.push(']');
        }
        Value::Object(map) if !map.is_empty() => {
            out.push('{');
            let sorted: std::collections::BTreeMap<&String, &Value> = map.iter().collect();
            for (position, (key, item)) in sorted.into_iter().enumerate() {
                out.push_str(if position > 0 { "," } else { "" });
                line(out, depth + 1);
                go_json(out, &Value::from(key.as_str()));
                out.push_str(": ");
                write_indented(out, item, depth + 1);
            }
            line(out, depth);
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            go_json(out, value);
        }
    }
}
