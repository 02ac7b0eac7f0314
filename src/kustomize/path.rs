//! Pure. Paths into objects as replacements write them: `spec.items.[name=web].image`, `spec.list.0`, `spec.list.*`.
//!
//! Not here: the other notation of places, with slashes (`fields.rs`).

use regex::Regex;
use serde_json::{Map, Value};

use super::structured;
use crate::yaml;

/// What is made where a path leads nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Create {
    /// Nothing.
    Nothing,
    /// The way, and a value of the source's form at its end.
    Scalar,
    /// The same with a map.
    Map,
    /// The same with a list.
    List,
}

/// Whether a value was there before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// It was.
    Old,
    /// It was made for this, and has no type yet.
    New,
}

/// Changes a value that a path leads to, or says why it cannot.
pub(super) type Setter<'a> = &'a mut dyn FnMut(&mut Value, Slot) -> Result<(), String>;

/// Splits a path at dots. `\\.` and `[a.b]` keep dots; what holds a `=` keeps its brackets.
pub(super) fn split(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut rest: Vec<&str> = path.split('.').collect();
    if rest.len() > 1 && rest.first() == Some(&"") {
        rest.remove(0);
    }
    for part in rest {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push('.');
                last.push_str(part);
            }
            Some(_) | None => parts.push(part.to_owned()),
        }
    }
    join_brackets(parts)
}

fn join_brackets(parts: Vec<String>) -> Vec<String> {
    let mut joined = Vec::new();
    let mut parts = parts.into_iter();
    while let Some(mut part) = parts.next() {
        if part.starts_with('[') && !part.ends_with(']') {
            for next in parts.by_ref() {
                let ends = next.ends_with(']');
                part = format!("{part}.{next}");
                if ends {
                    break;
                }
            }
            if !part.contains('=') {
                part = part.trim_matches(['[', ']']).to_owned();
            }
        }
        joined.push(part);
    }
    joined
}

/// Returns the one value at a path; items of lists are named whole. An error says what a path may not hold.
pub(super) fn look_up<'a>(value: &'a Value, path: &[String]) -> Result<Option<&'a Value>, String> {
    let mut current = value;
    for step in path {
        let next = match (step.as_str(), current) {
            ("*", _) => return Err("a source names one value, so its path holds no *".to_owned()),
            (step, Value::Array(items)) => match (step.parse::<usize>(), item_step(step)) {
                (Ok(index), _) => items.get(index),
                (_, Some((field, wanted))) => items.iter().find(|item| names(item, field, wanted)),
                (Err(_), None) => return Err(format!("{step} leads into a list")),
            },
            (step, Value::Object(map)) => map.get(step),
            (_, Value::Null) => None,
            (step, Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                return Err(format!("{step} leads below a single value"));
            }
        };
        match next {
            Some(next) => current = next,
            None => return Ok(None),
        }
    }
    Ok(Some(current))
}

fn names(item: &Value, field: &str, wanted: &str) -> bool {
    let found = if field.is_empty() { Some(item) } else { item.get(field) };
    found.and_then(text_of).is_some_and(|text| text == wanted)
}

/// Splits `[field=value]`.
fn item_step(step: &str) -> Option<(&str, &str)> {
    step.strip_prefix('[')?.strip_suffix(']')?.split_once('=')
}

/// Returns a single value as text; nothing for maps and lists.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("null".to_owned()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Calls `set` for every value that a path leads to and returns how many there were. Recursion is bounded by the path.
pub(super) fn visit(value: &mut Value, path: &[String], create: Create, set: Setter<'_>) -> Result<usize, String> {
    let Some((first, rest)) = path.split_first() else { return set(value, Slot::Old).map(|()| 1) };
    if first == "*" {
        let Value::Array(items) = value else { return Err("* leads into what is no list".to_owned()) };
        return items.iter_mut().try_fold(0, |found, item| Ok(found + visit(item, rest, create, set)?));
    }
    match (first.parse::<usize>(), first.starts_with('[') && first.ends_with(']')) {
        (Ok(index), _) => at_index(value, (index, rest), create, set),
        (Err(_), true) => in_items(value, (first, rest), create, set),
        (Err(_), false) => in_field(value, (first, rest), create, set),
    }
}

fn in_field(
    value: &mut Value,
    (name, rest): (&str, &[String]),
    create: Create,
    set: Setter<'_>,
) -> Result<usize, String> {
    let map = match value {
        Value::Object(map) => map,
        // kustomize makes what is missing below a null in a place that nobody sees.
        Value::Null => return Ok(usize::from(create != Create::Nothing)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(format!("{name} leads into what is no map"));
        }
    };
    if !map.contains_key(name) {
        if create == Create::Nothing {
            return Ok(0);
        }
        map.insert(name.to_owned(), made(rest.first(), create));
        return match map.get_mut(name) {
            Some(slot) if rest.is_empty() => set(slot, Slot::New).map(|()| 1),
            Some(slot) => visit(slot, rest, create, set),
            None => Ok(0),
        };
    }
    match map.get_mut(name) {
        // A text below which a path goes on was tried as a document before; here only what is found counts.
        Some(Value::String(text)) if !rest.is_empty() => {
            let mut inner = structured::parse(text).ok_or_else(|| format!("{name} holds a single value"))?;
            visit(&mut inner, rest, create, &mut |_, _| Ok(()))
        }
        Some(slot) => visit(slot, rest, create, set),
        None => Ok(0),
    }
}

fn at_index(
    value: &mut Value,
    (index, rest): (usize, &[String]),
    create: Create,
    set: Setter<'_>,
) -> Result<usize, String> {
    let Value::Array(items) = value else { return Err(format!("{index} leads into what is no list")) };
    let count = items.len();
    let is_new = index == count && create != Create::Nothing;
    if is_new {
        items.push(made(rest.first(), create));
    }
    match items.get_mut(index) {
        Some(item) if is_new && rest.is_empty() => set(item, Slot::New).map(|()| 1),
        Some(item) => visit(item, rest, create, set),
        None => Err(format!("item {index} is wanted of a list of {count}")),
    }
}

fn in_items(
    value: &mut Value,
    (step, rest): (&str, &[String]),
    create: Create,
    set: Setter<'_>,
) -> Result<usize, String> {
    let Some((field, wanted)) = item_step(step) else { return Err(format!("{step} wants the form [field=value]")) };
    let Value::Array(items) = value else { return Err(format!("{step} leads into what is no list")) };
    // kustomize takes the value for a pattern that may match anywhere.
    let pattern = Regex::new(wanted).map_err(|_| format!("{wanted:?} is no regular expression"))?;
    let fits = |value: Option<&Value>| value.and_then(text_of).is_some_and(|text| pattern.is_match(&text));
    let mut found = 0;
    for item in items.iter_mut() {
        if field.is_empty() {
            if fits(Some(item)) {
                set(item, Slot::Old)?;
                found += 1;
            }
        } else if fits(item.get(field)) {
            found += visit(item, rest, create, set)?;
        }
    }
    if found > 0 || create == Create::Nothing {
        return Ok(found);
    }
    if field.is_empty() {
        items.push(Value::Null);
        return items.last_mut().map_or(Ok(0), |item| set(item, Slot::New).map(|()| 1));
    }
    items.push(Value::Object(Map::from_iter([(field.to_owned(), yaml::plain_scalar(wanted))])));
    items.last_mut().map_or(Ok(0), |item| visit(item, rest, create, set))
}

/// Returns what is made for a step: a list if the step after it names an item, a map if it names a field.
fn made(next: Option<&String>, create: Create) -> Value {
    let is_item = |step: &String| step == "*" || step.parse::<usize>().is_ok() || step.starts_with('[');
    match next {
        Some(step) if is_item(step) => Value::Array(Vec::new()),
        Some(_) => Value::Object(Map::new()),
        None => match create {
            Create::Map => Value::Object(Map::new()),
            Create::List => Value::Array(Vec::new()),
            Create::Scalar | Create::Nothing => Value::Null,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn dots_split_unless_they_are_kept() {
        for (path, expected) in [
            ("metadata.name", "metadata|name"),
            ("spec.items.[name=a.b].x", "spec|items|[name=a.b]|x"),
            ("metadata.annotations.[a.b/c]", "metadata|annotations|a.b/c"),
            ("metadata.annotations.a\\.b/c", "metadata|annotations|a.b/c"),
            ("metadata.labels.[app]", "metadata|labels|[app]"),
            (".a", "a"),
        ] {
            assert_eq!(split(path).join("|"), expected);
        }
    }
}
