//! Pure. JSON patches (RFC 6902) as kustomize applies them: negative list positions count from the end.
//!
//! Not here: which objects a patch changes (`patches.rs`).

use serde_json::{Map, Value};

use super::weight::{Meter, of_value};

/// One operation.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Operation {
    Add(Vec<String>, Value),
    Remove(Vec<String>),
    Replace(Vec<String>, Value),
    Move { from: Vec<String>, to: Vec<String> },
    Copy { from: Vec<String>, to: Vec<String> },
    Test(Vec<String>, Value),
}

/// Reads the operations of a patch.
pub(super) fn read(patch: &Value) -> Result<Vec<Operation>, String> {
    let items = patch.as_array().ok_or("a JSON patch is a list of operations")?;
    items.iter().map(operation).collect()
}

/// Returns whether a value looks like a JSON patch: a list of maps with `op`.
pub(super) fn is_patch(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(|item| item.get("op").is_some()))
}

fn operation(item: &Value) -> Result<Operation, String> {
    let path = |key: &str| match item.get(key).and_then(Value::as_str) {
        Some(text) => pointer(text),
        None => Err(format!("an operation wants {key}")),
    };
    // A null that is written is a value, a value that is not written is none.
    let value = || item.get("value").cloned().ok_or_else(|| "the operation wants a value".to_owned());
    match item.get("op").and_then(Value::as_str).unwrap_or("") {
        "add" => Ok(Operation::Add(path("path")?, value()?)),
        "remove" => Ok(Operation::Remove(path("path")?)),
        "replace" => Ok(Operation::Replace(path("path")?, value()?)),
        "move" => Ok(Operation::Move { from: path("from")?, to: path("path")? }),
        "copy" => Ok(Operation::Copy { from: path("from")?, to: path("path")? }),
        "test" => Ok(Operation::Test(path("path")?, item.get("value").cloned().unwrap_or(Value::Null))),
        other => Err(format!("there is no operation {other:?}")),
    }
}

fn pointer(text: &str) -> Result<Vec<String>, String> {
    match text.strip_prefix('/') {
        Some(rest) => Ok(rest.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect()),
        None if text.is_empty() => Ok(Vec::new()),
        None => Err(format!("the path {text:?} does not begin with a slash")),
    }
}

/// Applies operations to an object, or says which path does not fit.
pub(super) fn apply(root: &mut Value, operations: &[Operation], meter: &Meter) -> Result<(), String> {
    operations.iter().try_for_each(|operation| match operation {
        Operation::Add(path, value) => add(root, path, weighed(value, meter)?),
        Operation::Remove(path) => remove(root, path).map(drop),
        Operation::Replace(path, value) => replace(root, path, weighed(value, meter)?),
        Operation::Move { from, to } => {
            let value = remove(root, from)?;
            add(root, to, value)
        }
        Operation::Copy { from, to } => {
            let value = weighed(existing(root, from)?, meter)?;
            add(root, to, value)
        }
        Operation::Test(path, value) => {
            let found = existing(root, path).map_or(&Value::Null, |found| &*found);
            if found == value { Ok(()) } else { Err(format!("the test of {} fails", shown(path))) }
        }
    })
}

/// Returns a copy of a value, if there is room for it.
fn weighed(value: &Value, meter: &Meter) -> Result<Value, String> {
    if meter.take(of_value(value)) { Ok(value.clone()) } else { Err("it would be too large".to_owned()) }
}

fn add(root: &mut Value, path: &[String], value: Value) -> Result<(), String> {
    let Some((last, parents)) = path.split_last() else {
        *root = value;
        return Ok(());
    };
    match existing(root, parents)? {
        Value::Object(map) => {
            map.insert(last.clone(), value);
            Ok(())
        }
        Value::Array(items) => {
            let end = items.len();
            let at = if last == "-" { Some(end) } else { position(last, end + 1) };
            let at = at.ok_or_else(|| missing(path))?;
            items.insert(at, value);
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(missing(path)),
    }
}

/// Replaces a value. Like kustomize it adds a key that is missing in its map.
fn replace(root: &mut Value, path: &[String], value: Value) -> Result<(), String> {
    if let Some((last, parents)) = path.split_last()
        && let Value::Object(map) = existing(root, parents)?
    {
        map.insert(last.clone(), value);
        return Ok(());
    }
    *existing(root, path)? = value;
    Ok(())
}

fn remove(root: &mut Value, path: &[String]) -> Result<Value, String> {
    let Some((last, parents)) = path.split_last() else {
        return Ok(std::mem::replace(root, Value::Object(Map::new())));
    };
    let removed = match existing(root, parents)? {
        Value::Object(map) => map.shift_remove(last),
        Value::Array(items) => position(last, items.len()).map(|at| items.remove(at)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    removed.ok_or_else(|| missing(path))
}

fn existing<'a>(root: &'a mut Value, path: &[String]) -> Result<&'a mut Value, String> {
    let mut value = root;
    for step in path {
        let next = match value {
            Value::Object(map) => map.get_mut(step),
            Value::Array(items) => position(step, items.len()).and_then(|at| items.get_mut(at)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        value = next.ok_or_else(|| missing(path))?;
    }
    Ok(value)
}

/// Returns the position below `end` that a step names.
fn position(step: &str, end: usize) -> Option<usize> {
    let at = match step.strip_prefix('-') {
        Some(back) => end.checked_sub(back.parse().ok()?)?,
        None => step.parse().ok()?,
    };
    (at < end).then_some(at)
}

fn missing(path: &[String]) -> String {
    format!("there is nothing at {}", shown(path))
}

fn shown(path: &[String]) -> String {
    path.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect()
}
