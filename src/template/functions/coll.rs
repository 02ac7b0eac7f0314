//! Pure. Functions on lists and maps: `coll.*`.
//!
//! Not here: `index` and `len`, which every Go template has (`builtins.rs`).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::builtins::element;
use super::conv::{to_int, to_items, to_text};
use super::{Function, Parameter, Reading, at, fixed, text_at, variadic};
use crate::template::failure::Failure;
use crate::template::limits::{Budget, check_value_depth};
use crate::template::value::{Element, List, Map, Value};

const ANY: &[Parameter] = &[Parameter::Any];
const TWO: &[Parameter] = &[Parameter::Any, Parameter::Any];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("Append", &["append"], TWO, |values, budget| {
        let mut items = to_items(at(values, 1))?;
        budget.elements(items.len() + 1)?;
        items.push(at(values, 0).clone());
        Ok(Value::List(List::new(items)))
    }),
    variadic("Dict", &["dict"], &[], dict),
    variadic("Flatten", &["flatten"], &[], |values, budget| {
        let (depth, list) = match values {
            [list] => (-1, list),
            [depth, list] => (to_int(depth)?, list),
            _ => return Err(wrong_count("Flatten", "1 or 2", values)),
        };
        let mut out = Vec::new();
        flatten(&to_items(list)?, depth, &mut out, budget, 0)?;
        Ok(Value::List(List::new(out)))
    }),
    Function { rest: Some(Parameter::Position), ..fixed("GoSlice", &[], ANY, go_slice) },
    Function {
        name: "Has",
        aliases: &["has"],
        parameters: &[Parameter::Any, Parameter::Text],
        rest: None,
        reading: Reading::Presence,
        body: |values, budget| match at(values, 0) {
            Value::Map(map) => Ok(Value::Bool(map.get(text_at(values, 1)).is_some())),
            Value::List(list) => Ok(Value::Bool(holds(&list.items(), at(values, 1), budget)?)),
            _ => Ok(Value::Bool(false)),
        },
    },
    Function {
        name: "Index",
        aliases: &[],
        parameters: TWO,
        rest: Some(Parameter::Any),
        reading: Reading::KeysBefore,
        body: index,
    },
    Function { rest: Some(Parameter::Map), ..fixed("Keys", &["keys"], &[Parameter::Map], keys) },
    Function { rest: Some(Parameter::Map), ..fixed("Merge", &["merge"], &[Parameter::Map], merge) },
    variadic("Omit", &[], &[], |values, _| chosen(values, Choice::Others)),
    variadic("Pick", &[], &[], |values, _| chosen(values, Choice::Named)),
    fixed("Prepend", &["prepend"], TWO, |values, budget| {
        let mut items = to_items(at(values, 1))?;
        budget.elements(items.len() + 1)?;
        items.insert(0, at(values, 0).clone());
        Ok(Value::List(List::new(items)))
    }),
    fixed("Reverse", &["reverse"], ANY, reverse),
    fixed("Set", &["set"], &[Parameter::Text, Parameter::Any, Parameter::Map], set),
    variadic("Slice", &["slice"], &[], |values, _| Ok(Value::List(List::new(values.to_vec())))),
    variadic("Sort", &["sort"], &[], sort),
    fixed("Uniq", &["uniq"], ANY, |values, budget| {
        let mut out = Vec::new();
        for item in to_items(at(values, 0))? {
            if !holds(&out, &item, budget)? {
                out.push(item);
            }
        }
        Ok(Value::List(List::new(out)))
    }),
    fixed("Unset", &["unset"], &[Parameter::Text, Parameter::Map], |values, _| {
        let map = map_of(at(values, 1));
        map.unset(text_at(values, 0));
        Ok(Value::Map(map))
    }),
    Function { rest: Some(Parameter::Map), ..fixed("Values", &["values"], &[Parameter::Map], all_values) },
];

fn wrong_count(name: &str, wanted: &str, values: &[Value]) -> Failure {
    Failure::new("T203", format!("{name} wants {wanted} arguments and gets {}", values.len()))
}

fn dict(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let mut entries = BTreeMap::new();
    for pair in values.chunks(2) {
        let key = to_text(at(pair, 0), budget)?;
        // A key without value gets the empty text.
        entries.insert(key, pair.get(1).cloned().unwrap_or_else(|| Value::text("")));
    }
    Ok(Value::Map(Map::new(entries)))
}

fn flatten(
    items: &[Value],
    depth: i64,
    out: &mut Vec<Value>,
    budget: &mut Budget,
    level: usize,
) -> Result<(), Failure> {
    check_value_depth(level)?;
    for item in items {
        budget.steps(1)?;
        match item {
            Value::List(list) if depth != 0 => flatten(&list.items(), depth - 1, out, budget, level + 1)?,
            Value::Bytes(_) if depth != 0 => flatten(&to_items(item)?, depth - 1, out, budget, level + 1)?,
            _ => out.push(item.clone()),
        }
    }
    Ok(())
}

fn holds(items: &[Value], wanted: &Value, budget: &mut Budget) -> Result<bool, Failure> {
    for item in items {
        if item.is_same(wanted, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes one element after the other; unlike `index` it fails for a key that a map does not have.
fn index(values: &[Value], _: &mut Budget) -> Result<Value, Failure> {
    let Some((container, keys)) = values.split_last() else { return Ok(Value::Nil) };
    let mut current = container.clone();
    for key in keys {
        current = element(&current, key)?.ok_or_else(|| Failure::new("T201", "the map has no such key"))?;
    }
    Ok(current)
}

/// Go's own slice: a part of a list or text by positions.
fn go_slice(values: &[Value], _: &mut Budget) -> Result<Value, Failure> {
    let item = at(values, 0);
    let positions = values.get(1..).unwrap_or(&[]);
    let length = match item {
        Value::Text(text) => text.len(),
        Value::List(list) => list.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => return Err(Failure::argument(format!("GoSlice wants a list or text and gets {}", item.noun()))),
    };
    if positions.len() > 3 || positions.len() == 3 && matches!(item, Value::Text(_)) {
        return Err(wrong_count("GoSlice", "up to 3", values));
    }
    let mut bounds = [0, length, length];
    for (bound, position) in bounds.iter_mut().zip(positions) {
        let position = super::integer_like(position).and_then(|position| usize::try_from(position).ok());
        *bound = match position.ok_or_else(|| Failure::call("a position is outside"))? {
            position if position <= length => position,
            // Go slices up to what it has set aside for the list, which nobody can know from the template.
            _ if matches!(item, Value::List(_)) => return Err(Failure::new("T224", "a position is behind the end")),
            _ => return Err(Failure::call("a position is outside")),
        };
    }
    let [start, end, limit] = bounds;
    if start > end || end > limit {
        return Err(Failure::call("the positions are not in order"));
    }
    let outside = || Failure::call("the text would be cut inside a character");
    Ok(match item {
        Value::Text(text) => Value::text(text.get(start..end).ok_or_else(outside)?),
        Value::Bytes(bytes) => Value::Bytes(bytes.get(start..end).unwrap_or(&[]).into()),
        Value::List(list) => {
            let items = list.items().into_iter().skip(start).take(end - start).collect();
            Value::List(List::of(list.element(), items))
        }
        _ => Value::Nil,
    })
}

fn keys(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let all = entries(values, budget)?;
    Ok(Value::texts(all.into_iter().map(|(key, _)| key)))
}

fn all_values(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let all = entries(values, budget)?;
    Ok(Value::List(List::new(all.into_iter().map(|(_, value)| value).collect())))
}

/// Returns the entries of each map, sorted by key within each.
fn entries(values: &[Value], budget: &mut Budget) -> Result<Vec<(Rc<str>, Value)>, Failure> {
    let mut out = Vec::new();
    for value in values {
        if let Value::Map(map) = value {
            budget.elements(out.len() + map.len())?;
            out.extend(map.entries());
        }
    }
    Ok(out)
}

/// Merges maps deeply; what stands further left wins.
fn merge(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let mut merged = map_of(at(values, 0));
    for value in values.iter().skip(1) {
        if matches!(value, Value::Nil) && merged.len() > 0 {
            return Err(Failure::call("nothing cannot be merged into a map"));
        }
        merged = merge_two(&merged, &map_of(value), budget, 0)?;
    }
    Ok(Value::Map(merged))
}

/// Returns a map argument that was checked; nothing counts as an empty one.
fn map_of(value: &Value) -> Map {
    match value {
        Value::Map(map) => map.clone(),
        _ => Map::new(BTreeMap::new()),
    }
}

fn merge_two(wins: &Map, gives: &Map, budget: &mut Budget, depth: usize) -> Result<Map, Failure> {
    check_value_depth(depth)?;
    budget.elements(wins.len() + gives.len())?;
    let mut out = gives.to_entries();
    for (key, value) in wins.entries() {
        let merged = match (&value, out.get(&key)) {
            (Value::Map(wins), Some(Value::Map(gives)))
                if wins.element() == Element::Any && gives.element() == Element::Any =>
            {
                Value::Map(merge_two(wins, gives, budget, depth + 1)?)
            }
            _ => value,
        };
        out.insert(key, merged);
    }
    Ok(Map::new(out))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Named,
    Others,
}

/// Returns the entries that are named, or all others; a single list of names is taken apart.
fn chosen(values: &[Value], choice: Choice) -> Result<Value, Failure> {
    let Some((Value::Map(map), names)) = values.split_last().filter(|(_, names)| !names.is_empty()) else {
        return Err(Failure::argument("Pick and Omit want keys and a map after them"));
    };
    if map.element() != Element::Any {
        return Err(Failure::argument("Pick and Omit want a map that may hold anything"));
    }
    let names = match names {
        [Value::List(list)] => list.items(),
        _ => names.to_vec(),
    };
    let mut wanted = Vec::new();
    for name in names {
        match name {
            Value::Text(name) => wanted.push(name),
            other => {
                return Err(Failure::argument(format!("Pick and Omit want texts as keys and get {}", other.noun())));
            }
        }
    }
    wanted.sort();
    let mut entries = map.to_entries();
    entries.retain(|key, _| wanted.binary_search(key).is_ok() == (choice == Choice::Named));
    Ok(Value::Map(Map::new(entries)))
}

fn reverse(values: &[Value], _: &mut Budget) -> Result<Value, Failure> {
    match at(values, 0) {
        // Go turns such a list around where it stands; everybody who holds it sees that.
        Value::List(list) if list.element() == Element::Any => {
            list.reverse();
            Ok(at(values, 0).clone())
        }
        value => Ok(Value::List(List::new(to_items(value)?.into_iter().rev().collect()))),
    }
}

fn set(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let (Value::Map(map), Value::Text(key)) = (at(values, 2), at(values, 0)) else {
        return Err(Failure::call("there is no map to set a key in"));
    };
    if map.is_within(at(values, 1), budget)? {
        return Err(Failure::call("a map cannot hold itself"));
    }
    budget.elements(map.len() + 1)?;
    map.set(Rc::clone(key), at(values, 1).clone());
    Ok(at(values, 2).clone())
}

/// Sorts stably by value or by a key of maps; lists of mixed types stay as they are.
fn sort(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let (key, list) = match values {
        [list] => (Rc::from(""), list),
        [key, list] => (to_text(key, budget)?, list),
        _ => return Err(wrong_count("Sort", "1 or 2", values)),
    };
    if matches!(list, Value::Nil) {
        return Ok(Value::List(List::nil(Element::Any)));
    }
    let mut items = to_items(list)?;
    if matches!(items.first(), Some(Value::Nil)) {
        return Err(Failure::call("the first item is nothing, which has no type to sort by"));
    }
    let kinds_agree = items.windows(2).all(|pair| at(pair, 0).kind() == at(pair, 1).kind());
    if !kinds_agree {
        return Ok(list.clone());
    }
    budget.steps(items.len().saturating_mul(8))?;
    let sortable = items.iter().all(|item| sort_key(item, &key).is_some());
    if sortable {
        items.sort_by(|a, b| order(&sort_key(a, &key), &sort_key(b, &key)));
    }
    Ok(Value::List(List::new(items)))
}

/// Returns what an item is sorted by, if it has an order.
fn sort_key(item: &Value, key: &str) -> Option<Value> {
    match item {
        Value::Map(map) => map.get(key).filter(|value| !matches!(value, Value::Map(_) | Value::List(_) | Value::Nil)),
        Value::Bool(_) | Value::Nil | Value::List(_) | Value::Bytes(_) | Value::Named(_) | Value::Namespace(_) => None,
        _ => Some(item.clone()),
    }
}

fn order(left: &Option<Value>, right: &Option<Value>) -> Ordering {
    match (left, right) {
        (Some(Value::Text(a)), Some(Value::Text(b))) => a.cmp(b),
        (Some(Value::Float(a)), Some(Value::Float(b))) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Some(a), Some(b)) => a.as_signed().cmp(&b.as_signed()).then(a.as_unsigned().cmp(&b.as_unsigned())),
        _ => Ordering::Equal,
    }
}
