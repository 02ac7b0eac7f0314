//! Walks over objects along their shape: owned paths, comparison, merge and removal as server-side apply does them.
//!
//! Not here: whose paths they are (`managers.rs`), when which walk runs (`apply.rs`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::sandbox::fields::set::{Element, FieldSet, Path, Scalar};
use crate::schema::{ListShape, Presence, Shape, Structure, Unity, default_key};

/// The paths in which two objects differ.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) removed: FieldSet,
    pub(crate) modified: FieldSet,
}

/// What server-side apply sees in a shape.
#[derive(Clone, Copy)]
enum Atom<'a> {
    Scalar,
    List(&'a Shape, &'a ListShape),
    Struct(&'static Structure, Unity),
    Map(&'a Shape, Unity),
}

impl<'a> Atom<'a> {
    fn of(shape: &'a Shape) -> Self {
        match shape {
            Shape::Text
            | Shape::Integer
            | Shape::Boolean
            | Shape::Number
            | Shape::Quantity
            | Shape::Time
            | Shape::MicroTime
            | Shape::Bytes
            | Shape::IntegerOrText
            | Shape::Any => Self::Scalar,
            Shape::Struct(it) => Self::Struct(it.get(), it.unity),
            Shape::Map(item, unity) => Self::Map(item, *unity),
            Shape::List(item, list) => Self::List(item, list),
        }
    }

    /// Returns the shape of an entry, and whether it is a named field.
    fn entry(self, key: &str) -> Option<(&'a Shape, Named)> {
        match self {
            Self::Struct(structure, _) => structure.field(key).map(|field| (&field.shape, Named::Field)),
            Self::Map(item, _) => Some((item, Named::Entry)),
            Self::Scalar | Self::List(..) => None,
        }
    }

    fn is_leaf(self) -> bool {
        matches!(
            self,
            Self::Scalar
                | Self::List(_, ListShape::Atomic)
                | Self::Struct(_, Unity::Atomic)
                | Self::Map(_, Unity::Atomic)
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Field,
    Entry,
}

/// Returns the path element of a list item, or what is wrong with the item.
fn element(item: &Value, shape: &Shape, list: &ListShape) -> Result<Element, String> {
    match list {
        ListShape::Set => match Scalar::of(item) {
            Some(Scalar::Null) => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            Some(value) => Ok(Element::Value(value)),
            None => Err("associative list without keys has an element that's a map type".to_owned()),
        },
        ListShape::Keyed(keys) => {
            let Value::Object(map) = item else {
                return Err("associative list with keys may not have non-map elements".to_owned());
            };
            let mut found: Vec<(String, Scalar)> = keys
                .iter()
                .filter_map(|key| {
                    let default = || missing_key(shape, key);
                    let value = map.get(*key).and_then(Scalar::of).or_else(default)?;
                    Some(((*key).to_owned(), value))
                })
                .collect();
            found.sort();
            if found.is_empty() {
                let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
                return Err(format!(
                    "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                    keys.join(" ")
                ));
            }
            Ok(Element::Key(found))
        }
        ListShape::Atomic => Err("invalid indexing of non-associative list".to_owned()),
    }
}

/// Returns what a missing key counts as: its default, or the zero of a field that is always written.
fn missing_key(shape: &Shape, key: &str) -> Option<Scalar> {
    if let Some(text) = default_key(key) {
        return Some(Scalar::Text(text.to_owned()));
    }
    let Shape::Struct(it) = shape else { return None };
    let field = it.get().field(key).filter(|field| field.presence == Presence::Always)?;
    Some(if field.shape == Shape::Integer { Scalar::Integer(0) } else { Scalar::Text(String::new()) })
}

fn items(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(items)) => items,
        _ => &[],
    }
}

fn entries(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn is_blank(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => false,
    }
}

/// Returns what is wrong with a value that server-side apply is asked to apply, each with its path.
pub(crate) fn check(value: &Value, shape: &Shape) -> Vec<String> {
    let mut found = Vec::new();
    check_into(value, shape, &mut Vec::new(), &mut found);
    found
}

fn check_into(value: &Value, shape: &Shape, path: &mut Path, found: &mut Vec<String>) {
    let atom = Atom::of(shape);
    let at = |path: &Path, text: &str| format!("{}: {text}", super::set::path_text(path));
    match (atom, value) {
        (_, Value::Null) | (Atom::Scalar, _) if fits(value, shape) => {}
        (Atom::Scalar, _) => found.push(at(path, &format!("expected {}, got {}", expected(shape), shown(value)))),
        (Atom::Struct(..) | Atom::Map(..), Value::Object(map)) => {
            for (key, value) in map {
                path.push(Element::field(key));
                match atom.entry(key) {
                    Some((shape, _)) => check_into(value, shape, path, found),
                    None => found.push(at(path, "field not declared in schema")),
                }
                path.pop();
                // Nothing is said about what stands beside a field that is not known.
                if atom.entry(key).is_none() {
                    break;
                }
            }
        }
        (Atom::Struct(..) | Atom::Map(..), _) => {
            found.push(at(path, &format!("expected map, got &{{{}}}", go_text(value))));
        }
        (Atom::List(item_shape, list), Value::Array(items)) => {
            check_items(items, (item_shape, list), path, found);
        }
        (Atom::List(..), _) => found.push(at(path, &format!("expected list, got &{{{}}}", go_text(value)))),
    }
}

fn check_items(items: &[Value], shape: (&Shape, &ListShape), path: &mut Path, found: &mut Vec<String>) {
    let (item_shape, list) = shape;
    let mut seen = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let position = Element::Index(i64::try_from(index).unwrap_or(i64::MAX));
        let element = match list {
            ListShape::Atomic => position,
            ListShape::Set | ListShape::Keyed(_) => match element(item, item_shape, list) {
                Ok(element) => element,
                Err(text) => {
                    found.push(format!("{}: element {index}: {text}", super::set::path_text(path)));
                    continue;
                }
            },
        };
        if seen.contains(&element) {
            found.push(format!("{}: duplicate entries for key {element}", super::set::path_text(path)));
            continue;
        }
        path.push(element.clone());
        check_into(item, item_shape, path, found);
        path.pop();
        seen.push(element);
    }
}

fn fits(value: &Value, shape: &Shape) -> bool {
    match shape {
        Shape::Text | Shape::Time | Shape::MicroTime | Shape::Bytes => value.is_string() || value.is_null(),
        Shape::Integer => value.is_i64() || value.is_u64() || value.is_null(),
        Shape::Boolean => value.is_boolean() || value.is_null(),
        Shape::Number => value.is_number() || value.is_null(),
        Shape::Quantity | Shape::IntegerOrText => value.is_string() || value.is_number() || value.is_null(),
        Shape::Any => true,
        Shape::Struct(_) | Shape::Map(..) | Shape::List(..) => value.is_null(),
    }
}

fn expected(shape: &Shape) -> &'static str {
    match shape {
        Shape::Integer | Shape::Number => "numeric (int or float)",
        Shape::Boolean => "boolean",
        _ => "string",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("&value.valueUnstructured{{Value:{text:?}}}"),
        other => format!("&value.valueUnstructured{{Value:{other}}}"),
    }
}

/// Writes a value as Go prints it by default.
fn go_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let mut entries: Vec<String> = map.iter().map(|(key, value)| format!("{key}:{}", go_text(value))).collect();
            entries.sort();
            format!("map[{}]", entries.join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Returns the paths that somebody who applies this value owns.
pub(crate) fn owned(value: &Value, shape: &Shape) -> FieldSet {
    match owned_at(value, shape) {
        Owned::Leaf => FieldSet::default(),
        Owned::Inner(set) => set,
    }
}

enum Owned {
    Leaf,
    Inner(FieldSet),
}

fn owned_at(value: &Value, shape: &Shape) -> Owned {
    let atom = Atom::of(shape);
    if atom.is_leaf() {
        return Owned::Leaf;
    }
    let mut set = FieldSet::default();
    if let Atom::List(item_shape, list) = atom {
        let mut counts: BTreeMap<Element, usize> = BTreeMap::new();
        let found: Vec<(Element, &Value)> =
            items(Some(value)).iter().filter_map(|item| Some((element(item, item_shape, list).ok()?, item))).collect();
        found.iter().for_each(|(element, _)| *counts.entry(element.clone()).or_default() += 1);
        for (element, item) in found {
            let single = counts.get(&element) == Some(&1);
            take(&mut set, element.clone(), if single { owned_at(item, item_shape) } else { Owned::Leaf });
            set.members.insert(element);
        }
        return Owned::Inner(set);
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        let Some((shape, named)) = atom.entry(key) else { continue };
        take(&mut set, Element::field(key), owned_at(value, shape));
        let empty_map = value.as_object().is_some_and(Map::is_empty);
        if value.is_null() || empty_map || named == Named::Entry {
            set.members.insert(Element::field(key));
        }
    }
    Owned::Inner(set)
}

fn take(set: &mut FieldSet, element: Element, below: Owned) {
    match below {
        Owned::Leaf => {
            set.members.insert(element);
        }
        Owned::Inner(inner) if !inner.is_empty() => {
            set.children.insert(element, inner);
        }
        Owned::Inner(_) => {}
    }
}

/// Compares two objects of one shape.
pub(crate) fn compare(before: &Value, after: &Value, shape: &Shape) -> Comparison {
    let mut comparison = Comparison::default();
    compare_at(Some(before), Some(after), shape, &mut Vec::new(), &mut comparison);
    comparison
}

fn compare_at(before: Option<&Value>, after: Option<&Value>, shape: &Shape, path: &mut Path, found: &mut Comparison) {
    let atom = Atom::of(shape);
    if atom.is_leaf() || (is_blank(before) && is_blank(after)) {
        match (before, after) {
            (None, Some(_)) => found.added.insert(path),
            (Some(_), None) => found.removed.insert(path),
            (Some(before), Some(after)) if before != after => found.modified.insert(path),
            (Some(_), Some(_)) | (None, None) => {}
        }
        return;
    }
    if let Atom::List(item_shape, list) = atom {
        compare_items((before, after), (item_shape, list), path, found);
    } else {
        let (old, new) = (entries(before), entries(after));
        let added = new.into_iter().flatten().map(|(key, _)| key);
        let added = added.filter(|key| old.is_none_or(|old| !old.contains_key(*key)));
        for key in old.into_iter().flatten().map(|(key, _)| key).chain(added) {
            let Some((shape, _)) = atom.entry(key) else { continue };
            path.push(Element::field(key));
            compare_at(old.and_then(|it| it.get(key)), new.and_then(|it| it.get(key)), shape, path, found);
            path.pop();
        }
    }
    match (before, after) {
        (None, _) => found.added.insert(path),
        (_, None) => found.removed.insert(path),
        (Some(_), Some(_)) => {}
    }
}

fn compare_items(
    sides: (Option<&Value>, Option<&Value>),
    shape: (&Shape, &ListShape),
    path: &mut Path,
    found: &mut Comparison,
) {
    let mut both: BTreeMap<Element, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
    for item in items(sides.0) {
        if let Ok(element) = element(item, shape.0, shape.1) {
            both.entry(element).or_default().0.push(item);
        }
    }
    for item in items(sides.1) {
        if let Ok(element) = element(item, shape.0, shape.1) {
            both.entry(element).or_default().1.push(item);
        }
    }
    for (element, (before, after)) in both {
        path.push(element);
        match (before.as_slice(), after.as_slice()) {
            ([] | [_], [] | [_]) => {
                compare_at(before.first().copied(), after.first().copied(), shape.0, path, found);
            }
            ([_, _, ..], [_, _, ..]) if before == after => {}
            ([_, _, ..], [_, _, ..]) => found.modified.insert(path),
            ([_, _, ..], rest) => {
                if let Some(item) = rest.first() {
                    compare_at(None, Some(item), shape.0, path, found);
                }
                found.removed.insert(path);
            }
            (rest, _) => {
                if let Some(item) = rest.first() {
                    compare_at(Some(item), None, shape.0, path, found);
                }
                found.added.insert(path);
            }
        }
        path.pop();
    }
}

/// Returns the live object with the applied one merged into it.
pub(crate) fn merge(live: &Value, applied: &Value, shape: &Shape) -> Value {
    merge_at(Some(live), Some(applied), shape).unwrap_or(Value::Null)
}

fn merge_at(live: Option<&Value>, applied: Option<&Value>, shape: &Shape) -> Option<Value> {
    let atom = Atom::of(shape);
    if atom.is_leaf() || (is_blank(live) && is_blank(applied)) {
        return applied.or(live).cloned();
    }
    if let Atom::List(item_shape, list) = atom {
        let merged = merge_items(items(live), items(applied), item_shape, list);
        return (!merged.is_empty()).then_some(Value::Array(merged));
    }
    let (live, applied) = (entries(live), entries(applied));
    let mut merged = Map::new();
    let new = applied.into_iter().flatten().map(|(key, _)| key);
    let new = new.filter(|key| live.is_none_or(|live| !live.contains_key(*key)));
    for key in live.into_iter().flatten().map(|(key, _)| key).chain(new) {
        let Some((shape, _)) = atom.entry(key) else { continue };
        if let Some(value) = merge_at(live.and_then(|it| it.get(key)), applied.and_then(|it| it.get(key)), shape) {
            merged.insert(key.clone(), value);
        }
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

/// Merges two keyed lists: applied items keep their order among themselves, live ones stay in front of what followed them.
fn merge_items(live: &[Value], applied: &[Value], item: &Shape, list: &ListShape) -> Vec<Value> {
    let keyed =
        |values: &'_ [Value]| -> Vec<Element> { values.iter().filter_map(|it| element(it, item, list).ok()).collect() };
    let (left, right) = (keyed(live), keyed(applied));
    let in_live = |element: &Element| {
        let mut found = left.iter().zip(live).filter(|(it, _)| *it == element).map(|(_, value)| value);
        let first = found.next();
        // An item that occurs twice in the live object is not merged with the applied one.
        if found.next().is_some() { None } else { first }
    };
    let in_applied = |element: &Element| right.iter().zip(applied).find(|(it, _)| *it == element).map(|(_, it)| it);
    let mut shared = right.iter().filter(|element| left.contains(element));
    let mut next_shared = shared.next();
    let mut done: Vec<&Element> = Vec::new();
    let mut out = Vec::new();
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some(a), Some(b)) = (left.get(l), right.get(r)) {
            if a == b {
                done.push(a);
                out.extend(merge_at(in_live(a), in_applied(b), item));
                (l, r) = (l + 1, r + 1);
                next_shared = shared.next();
                continue;
            }
            if in_applied(a).is_some() && next_shared.is_some_and(|next| next != a) {
                l += 1;
                continue;
            }
        }
        if let Some(a) = left.get(l) {
            if in_applied(a).is_none() {
                out.extend(merge_at(live.get(l), None, item));
                l += 1;
                continue;
            } else if done.contains(&a) {
                l += 1;
            }
        }
        if let Some(b) = right.get(r) {
            done.push(b);
            out.extend(merge_at(in_live(b), in_applied(b), item));
            r += 1;
            if next_shared == Some(b) {
                next_shared = shared.next();
            }
        }
    }
    out
}

/// Returns the value without the fields and items of a set; what becomes empty becomes null.
pub(crate) fn remove(value: &Value, set: &FieldSet, shape: &Shape) -> Value {
    let atom = Atom::of(shape);
    match (atom, value) {
        (Atom::Scalar, _) => value.clone(),
        (Atom::List(item_shape, list), Value::Array(items)) if !atom.is_leaf() => {
            let kept: Vec<Value> = items
                .iter()
                .filter_map(|item| match element(item, item_shape, list) {
                    Ok(element) if set.members.contains(&element) => None,
                    Ok(element) => Some(match set.children.get(&element) {
                        Some(below) => remove(item, below, item_shape),
                        None => item.clone(),
                    }),
                    Err(_) => Some(item.clone()),
                })
                .collect();
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        (Atom::Struct(..) | Atom::Map(..), Value::Object(map)) if !atom.is_leaf() => {
            let mut kept = Map::new();
            for (key, value) in map {
                let element = Element::field(key);
                if set.members.contains(&element) {
                    continue;
                }
                let value = match (set.children.get(&element), atom.entry(key)) {
                    (Some(below), Some((shape, _))) => remove(value, below, shape),
                    (None, _) | (_, None) => value.clone(),
                };
                kept.insert(key.clone(), value);
            }
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        // An atomic value below which something is to be removed goes as a whole.
        (Atom::List(..) | Atom::Struct(..) | Atom::Map(..), _) => Value::Null,
    }
}

/// Returns the set with every named field that has something below it as a path of its own.
pub(crate) fn with_named_fields(set: &FieldSet, shape: &Shape) -> FieldSet {
    let atom = Atom::of(shape);
    let mut result = FieldSet { members: set.members.clone(), children: BTreeMap::new() };
    for (element, below) in &set.children {
        let inner = match (atom, element) {
            (Atom::Struct(..) | Atom::Map(..), Element::Field(name)) => match atom.entry(name) {
                Some((shape, named)) => {
                    if named == Named::Field {
                        result.members.insert(element.clone());
                    }
                    with_named_fields(below, shape)
                }
                None => below.clone(),
            },
            (Atom::List(item, _), _) => with_named_fields(below, item),
            (Atom::Scalar | Atom::Struct(..) | Atom::Map(..), _) => below.clone(),
        };
        result.children.insert(element.clone(), inner);
    }
    result
}
