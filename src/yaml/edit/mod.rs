//! Pure. Changes one key of a file that a person owns: every other byte stays, comments and quotes included.
//!
//! The text is spliced by the places of its nodes, then read again. If it does not say exactly what was asked for (an
//! alias elsewhere changed along, a comment swallowed the value), the edit is refused and nothing is returned.
//!
//! Not here: where a splice goes (`layout.rs`), merging two versions of a file (`merge`).

mod layout;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::{Dialect, load_one, tree};
use crate::model::Diagnostic;

use layout::{Layout, Splice};

/// Sets the key at a path, and makes the maps on the way to it. A new key goes last in its map.
pub fn set(file: &str, text: &str, path: &[&str], value: &Value) -> Result<String, Vec<Diagnostic>> {
    let mut intended = current(file, text)?;
    let Some((last, parents)) = path.split_last() else {
        return refuse("Y130", file, 0, "an edit names a key".to_owned());
    };
    let mut map = &mut intended;
    for (depth, key) in parents.iter().enumerate() {
        if !map.get(*key).is_some_and(Value::is_object) {
            if map.get(*key).is_some_and(|value| !value.is_null()) {
                let shown = path.get(..=depth).unwrap_or(path).join(".");
                let line = line_of(file, text, path.get(..=depth).unwrap_or(path));
                return refuse("Y130", file, line, format!("set {}: {shown} is no map", path.join(".")));
            }
            map.insert((*key).to_owned(), Value::Object(Map::new()));
        }
        match map.get_mut(*key) {
            Some(Value::Object(inner)) => map = inner,
            Some(_) | None => return refuse("Y130", file, 0, format!("set {}", path.join("."))),
        }
    }
    if map.get(*last) == Some(value) {
        return Ok(text.to_owned());
    }
    map.insert((*last).to_owned(), value.clone());
    spliced(file, text, &format!("set {}", path.join(".")), &intended, |layout| layout.set(path, value))
}

/// Removes the key at a path; a text without it comes back as it is. A map that loses its last key stays as `{}`.
pub fn unset(file: &str, text: &str, path: &[&str]) -> Result<String, Vec<Diagnostic>> {
    let mut intended = current(file, text)?;
    let Some((last, parents)) = path.split_last() else { return Ok(text.to_owned()) };
    let mut map = Some(&mut intended);
    for key in parents {
        map = map.and_then(|map| map.get_mut(*key)).and_then(Value::as_object_mut);
    }
    if map.and_then(|map| map.shift_remove(*last)).is_none() {
        return Ok(text.to_owned());
    }
    spliced(file, text, &format!("remove {}", path.join(".")), &intended, |layout| layout.unset(path))
}

/// Replaces the value that stands at a path, whose steps are keys and the numbers of list items; nothing is made on the way.
pub fn replace(file: &str, text: &str, path: &[String], value: &Value) -> Result<String, Vec<Diagnostic>> {
    let mut intended = Value::Object(current(file, text)?);
    let what = format!("replace {}", path.join("."));
    let Some(slot) = slot_at(&mut intended, path) else {
        return refuse("Y130", file, 0, format!("{what}: nothing stands there"));
    };
    *slot = value.clone();
    let Value::Object(intended) = intended else { return refuse("Y130", file, 0, what) };
    spliced(file, text, &what, &intended, |layout| layout.replace_at(path, value))
}

/// Removes the key at the end of a path like that of [`replace`].
pub fn remove(file: &str, text: &str, path: &[String]) -> Result<String, Vec<Diagnostic>> {
    let mut intended = Value::Object(current(file, text)?);
    let what = format!("remove {}", path.join("."));
    let removed = path
        .split_last()
        .and_then(|(last, parents)| slot_at(&mut intended, parents)?.as_object_mut()?.shift_remove(last));
    let (Some(_), Value::Object(intended)) = (removed, intended) else {
        return refuse("Y130", file, 0, format!("{what}: nothing stands there"));
    };
    spliced(file, text, &what, &intended, |layout| layout.remove_at(path))
}

fn slot_at<'a>(value: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, place| match value {
        Value::Array(items) => items.get_mut(place.parse::<usize>().ok()?),
        Value::Object(map) => map.get_mut(place),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// Adds an item at the end of the list at a path, and makes the list and the maps on the way to it.
pub fn push(file: &str, text: &str, path: &[&str], item: &Value) -> Result<String, Vec<Diagnostic>> {
    let mut intended = current(file, text)?;
    let what = format!("add to {}", path.join("."));
    let mut value = path.split_first().and_then(|(first, _)| intended.get_mut(*first));
    for key in path.iter().skip(1) {
        value = value.and_then(|value| value.get_mut(*key));
    }
    match value {
        Some(Value::Array(items)) if !items.is_empty() => {
            items.push(item.clone());
            spliced(file, text, &what, &intended, |layout| layout.push(path, item))
        }
        None | Some(Value::Null | Value::Array(_)) => set(file, text, path, &Value::Array(vec![item.clone()])),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            refuse("Y130", file, line_of(file, text, path), format!("{what}: it is no list"))
        }
    }
}

/// Sets a key in the first list item whose key `item.0` is `item.1`. An item that is just the text `item.1` becomes a map first.
///
/// This is how `installedAs` enters the `requires` of a manifest.
pub fn insert_in_item(
    file: &str,
    text: &str,
    list: &[&str],
    item: (&str, &str),
    entry: (&str, &str),
) -> Result<String, Vec<Diagnostic>> {
    let mut intended = current(file, text)?;
    let what = format!("set {} of {}", entry.0, item.1);
    let mut value = list.split_first().and_then(|(first, _)| intended.get_mut(*first));
    for key in list.iter().skip(1) {
        value = value.and_then(|value| value.get_mut(*key));
    }
    let items = value.and_then(Value::as_array_mut);
    let found = items.and_then(|items| items.iter_mut().enumerate().find(|(_, value)| is_item(value, item)));
    let Some((position, slot)) = found else {
        let line = line_of(file, text, list);
        return refuse("Y131", file, line, format!("{what}: no item of {} has {} {}", list.join("."), item.0, item.1));
    };
    if slot.is_string() {
        *slot = serde_json::json!({ item.0: item.1 });
    }
    match slot.as_object_mut() {
        Some(map) if map.get(entry.0).and_then(Value::as_str) == Some(entry.1) => return Ok(text.to_owned()),
        Some(map) => map.insert(entry.0.to_owned(), Value::from(entry.1)),
        None => None,
    };
    spliced(file, text, &what, &intended, |layout| layout.set_in_item(list, position, item.0, entry))
}

fn is_item(value: &Value, item: (&str, &str)) -> bool {
    match value {
        Value::Object(map) => map.get(item.0).and_then(Value::as_str) == Some(item.1),
        Value::String(text) => text == item.1,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    }
}

/// Returns the map that a file holds now.
fn current(file: &str, text: &str) -> Result<Map<String, Value>, Vec<Diagnostic>> {
    match load_one(file, text, Dialect::Gomplate)? {
        None => Ok(Map::new()),
        Some(document) => match document.value {
            Value::Object(map) => Ok(map),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                refuse("Y130", file, document.line, "edit the file: it holds no map".to_owned())
            }
        },
    }
}

fn spliced(
    file: &str,
    text: &str,
    what: &str,
    intended: &Map<String, Value>,
    find: impl FnOnce(&Layout<'_>) -> Option<Vec<Splice>>,
) -> Result<String, Vec<Diagnostic>> {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let tree = tree::parse(file, body, super::MAX_MANIFEST_DEPTH).map_err(|finding| vec![*finding])?;
    let edited = find(&Layout::new(body, &tree)).and_then(|splices| apply(body, splices));
    let edited = edited.map(|edited| format!("{mark}{edited}"));
    match edited {
        Some(edited) if current(file, &edited).is_ok_and(|map| map == *intended) => Ok(edited),
        Some(_) | None => Err(vec![
            Diagnostic::error(
                "Y132",
                file,
                0,
                format!("{what}: the way the file is written does not allow a safe edit"),
            )
            .with_hint("make this change in an editor"),
        ]),
    }
}

/// Applies splices that do not overlap.
fn apply(text: &str, mut splices: Vec<Splice>) -> Option<String> {
    splices.sort_by_key(|splice| (splice.start, splice.end));
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for splice in splices {
        out.push_str(text.get(at..splice.start)?);
        out.push_str(&splice.text);
        at = splice.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

fn line_of(file: &str, text: &str, path: &[&str]) -> usize {
    let document = load_one(file, text, Dialect::Gomplate).ok().flatten();
    document.and_then(|document| document.line_of(path)).unwrap_or(0)
}

fn refuse<T>(id: &str, file: &str, line: usize, message: String) -> Result<T, Vec<Diagnostic>> {
    Err(vec![Diagnostic::error(id, file, line, message)])
}
