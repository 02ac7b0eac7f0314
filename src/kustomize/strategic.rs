//! Pure. Strategic merge of one patch into one object, as kustomize's merge does it.
//!
//! Maps merge, null deletes, scalars replace. Lists whose items have keys in the Kubernetes schema merge by them, with the
//! patch's items first; other lists are replaced.
//!
//! Not here: which objects a patch changes (`patches.rs`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::model::Object;
use crate::schema::{self, ListKind};

/// Directives of other tools, which kustomize would write out as fields.
const FOREIGN: [&str; 3] = ["$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList"];
/// The key of a directive inside a patch.
const DIRECTIVE: &str = "$patch";

/// Items of a list that is merged by keys. Each is compared with each, as in kustomize, so a longer list would take seconds.
const MAX_KEYED_ITEMS: usize = 4_000;

/// Why a patch does not fit, with the path at fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Misfit {
    /// A directive that is not supported.
    Directive(String),
    /// A map, list or scalar meets something else.
    Shape(String),
    /// A list is too long to be merged by keys.
    Length(String),
}

/// Merges a patch into an object; nothing is left of an object that the patch deletes.
pub(super) fn merge(object: Object, patch: &Object) -> Result<Option<Object>, Misfit> {
    let mut merger = Merger { group: object.group().to_owned(), kind: object.kind().to_owned(), path: Vec::new() };
    let merged = merger.map(object.0, &patch.0)?;
    Ok(merged.and_then(Object::from_value).filter(|object| !object.0.is_empty()))
}

struct Merger {
    group: String,
    kind: String,
    /// Field names from the root; list items are not named.
    path: Vec<String>,
}

/// What a map or list in a patch asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Merge,
    Replace,
    Delete,
}

impl Merger {
    /// Merges two values. Depth is bounded by the loader.
    fn value(&mut self, mine: Option<Value>, patch: Option<&Value>) -> Result<Option<Value>, Misfit> {
        let Some(patch) = patch else { return Ok(mine) };
        match (mine.filter(|value| !value.is_null()), patch) {
            (_, Value::Null) => Ok(None),
            (None, Value::Object(patch)) => self.map(Map::new(), patch),
            (None, Value::Array(patch)) => self.list(Vec::new(), patch),
            (None, Value::Bool(_) | Value::Number(_) | Value::String(_)) => Ok(Some(patch.clone())),
            (Some(Value::Object(mine)), Value::Object(patch)) => self.map(mine, patch),
            (Some(Value::Array(mine)), Value::Array(patch)) => self.list(mine, patch),
            (
                Some(Value::Bool(_) | Value::Number(_) | Value::String(_)),
                Value::Bool(_) | Value::Number(_) | Value::String(_),
            ) => Ok(Some(patch.clone())),
            (Some(_), _) => Err(Misfit::Shape(self.path.join("."))),
        }
    }

    fn map(&mut self, mine: Map<String, Value>, patch: &Map<String, Value>) -> Result<Option<Value>, Misfit> {
        let mut mine = match self.wish(patch)? {
            Wish::Delete => return Ok(None),
            Wish::Replace => Map::new(),
            Wish::Merge => mine,
        };
        for (key, value) in patch {
            if FOREIGN.iter().any(|foreign| key.starts_with(foreign)) {
                return Err(Misfit::Directive(key.clone()));
            }
            if key == DIRECTIVE {
                continue;
            }
            self.path.push(key.clone());
            // What is there is taken out and put back at its place, so nothing is copied.
            let merged = self.value(mine.get_mut(key).map(std::mem::take), Some(value))?;
            self.path.pop();
            match merged {
                Some(merged) => {
                    mine.insert(key.clone(), merged);
                }
                None => {
                    mine.shift_remove(key);
                }
            }
        }
        Ok(Some(Value::Object(mine)))
    }

    fn wish(&self, patch: &Map<String, Value>) -> Result<Wish, Misfit> {
        match patch.get(DIRECTIVE).map(|value| value.as_str().unwrap_or("")) {
            None | Some("merge") => Ok(Wish::Merge),
            Some("replace") => Ok(Wish::Replace),
            Some("delete") => Ok(Wish::Delete),
            Some(other) => Err(Misfit::Directive(format!("{DIRECTIVE}: {other}"))),
        }
    }

    fn list(&mut self, mine: Vec<Value>, patch: &[Value]) -> Result<Option<Value>, Misfit> {
        match self.list_kind() {
            ListKind::Atomic => Ok(Some(Value::Array(patch.to_vec()))),
            ListKind::Set => Ok(Some(Value::Array(united(mine, patch)))),
            ListKind::Keyed(keys) => self.keyed_list(mine, patch, keys),
        }
    }

    fn list_kind(&self) -> ListKind {
        if schema::kind(&self.group, &self.kind).is_none() {
            return ListKind::Atomic;
        }
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        schema::list_kind(&self.group, &self.kind, &path)
    }

    fn keyed_list(&mut self, mine: Vec<Value>, patch: &[Value], keys: &[&str]) -> Result<Option<Value>, Misfit> {
        if mine.len() + patch.len() > MAX_KEYED_ITEMS {
            return Err(Misfit::Length(self.path.join(".")));
        }
        let (mut mine, mut patch) = (mine, patch.to_vec());
        if let Some(at) = patch.iter().position(is_list_directive) {
            let directive = patch.remove(at);
            match directive.as_object().map_or(Ok(Wish::Merge), |map| self.wish(map))? {
                Wish::Delete => return Ok(None),
                Wish::Replace => mine = Vec::new(),
                Wish::Merge => {}
            }
        }
        let names = names(patch.iter().chain(&mine), keys);
        // Like kustomize: a key that no item has is no key of this list.
        let used: Vec<usize> = (0..keys.len()).filter(|at| names.iter().any(|name| has(name, *at))).collect();
        let keys: Vec<&str> = used.iter().filter_map(|at| keys.get(*at).copied()).collect();
        let mut first = Vec::new();
        for name in &names {
            let name: Vec<String> = used.iter().filter_map(|at| name.get(*at).cloned()).collect();
            let own = mine.iter().position(|item| is_called(item, &keys, &name));
            let other = patch.iter().find(|item| is_called(item, &keys, &name));
            let item = own.and_then(|at| mine.get(at).cloned());
            let replaces =
                other.and_then(Value::as_object).map_or(Ok(Wish::Merge), |map| self.wish(map))? == Wish::Replace;
            let Some(Value::Object(mut result)) =
                self.value(item, other)?.filter(|it| it != &Value::Object(Map::new()))
            else {
                mine.retain(|item| !has_keys(item, &keys, &name));
                continue;
            };
            for (key, text) in keys.iter().zip(&name).filter(|(_, text)| !text.is_empty()) {
                result.entry((*key).to_owned()).or_insert_with(|| Value::from(text.as_str()));
            }
            let result = Value::Object(result);
            // Like kustomize: the directive to replace an item has no effect on an item that is there.
            if let Some(slot) = own.and_then(|at| mine.get_mut(at)).filter(|_| !replaces) {
                *slot = result.clone();
            }
            put(&mut first, result, &keys, &name);
        }
        for item in mine {
            let name: Vec<String> = keys.iter().filter_map(|key| item.get(key).map(text_of)).collect();
            if name.len() < keys.len() {
                first.push(item.clone());
            }
            if keys.len() > 1 {
                first.retain(|other| !has_keys(other, &keys, &name));
            }
            put(&mut first, item, &keys, &name);
        }
        Ok(Some(Value::Array(first)))
    }
}

fn has(name: &[String], at: usize) -> bool {
    name.get(at).is_some_and(|part| !part.is_empty())
}

/// Returns the text of a key's value, however it is written.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns whether a key's value has this text.
fn reads(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own == text,
        other => text_of(other) == text,
    }
}

/// Returns whether an item has every part of a name that is not empty.
fn is_called(item: &Value, keys: &[&str], name: &[String]) -> bool {
    let mut parts = keys.iter().zip(name).filter(|(_, part)| !part.is_empty()).peekable();
    parts.peek().is_some() && parts.all(|(key, part)| item.get(key).is_some_and(|value| reads(value, part)))
}

/// Returns whether an item has the keys that a name gives, an empty part meaning any value; further keys do not count.
fn has_keys(item: &Value, keys: &[&str], name: &[String]) -> bool {
    let mut parts = keys.iter().zip(name);
    !name.is_empty()
        && parts.all(|(key, part)| item.get(key).is_some_and(|value| part.is_empty() || reads(value, part)))
}

/// Replaces the items of a name, or appends one.
fn put(items: &mut Vec<Value>, item: Value, keys: &[&str], name: &[String]) {
    let mut found = false;
    for slot in items.iter_mut().filter(|slot| has_keys(slot, keys, name)) {
        slot.clone_from(&item);
        found = true;
    }
    if !found {
        items.push(item);
    }
}

/// Returns whether a list item is a directive for the whole list.
fn is_list_directive(item: &Value) -> bool {
    item.as_object().is_some_and(|map| map.len() == 1 && map.contains_key(DIRECTIVE))
}

/// Unites lists of scalars; the patch's come first.
fn united(mine: Vec<Value>, patch: &[Value]) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::with_capacity(mine.len() + patch.len());
    for item in patch.iter().cloned().chain(mine) {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}

/// Returns the distinct key values of items. Names that contradict each other in no part become one.
fn names<'a>(items: impl Iterator<Item = &'a Value>, keys: &[&str]) -> Vec<Vec<String>> {
    let mut names: Vec<Vec<String>> = Vec::new();
    let mut seen: BTreeSet<Vec<String>> = BTreeSet::new();
    for item in items {
        let part = |key: &&str| item.get(*key).map(text_of).unwrap_or_default();
        let name: Vec<String> = keys.iter().map(part).collect();
        if name.iter().any(|part| !part.is_empty()) && seen.insert(name.clone()) {
            names.push(name);
        }
    }
    if keys.len() > 1 {
        for at in 0..names.len() {
            for other in 0..names.len() {
                let united = names.get(at).zip(names.get(other)).and_then(|(a, b)| union(a, b));
                for slot in [at, other] {
                    if let (Some(united), Some(slot)) = (&united, names.get_mut(slot)) {
                        slot.clone_from(united);
                    }
                }
            }
        }
    }
    names
}

/// Unites two names that agree in one part at least and differ only where one is empty.
fn union(a: &[String], b: &[String]) -> Option<Vec<String>> {
    let pairs = || a.iter().zip(b);
    let fit = pairs().any(|(a, b)| a == b) && pairs().all(|(a, b)| a == b || a.is_empty() || b.is_empty());
    fit.then(|| pairs().map(|(a, b)| if a.is_empty() { b } else { a }.clone()).collect())
}
