//! Pure. Merges an app's section of config.yaml with the new defaults of its package, key by key and on values.
//!
//! A value that nobody edited follows its default, or else an image could never be updated; an edited value stays.
//! Whether a value was edited is known because the record of a generation holds the defaults of then. Not here: writing
//! config.yaml (`compile`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::conflict::{Conflict, ConflictKind, Notice, NoticeKind, Texts, number};
use crate::base::RepoPath;
use crate::base::nearest::nearest;
use crate::yaml;

/// The file that all keys stand in.
const CONFIG: &str = "config.yaml";

/// A key to set, or to remove where there is no value.
#[derive(Clone, PartialEq, Debug)]
pub struct ConfigEdit {
    /// Keys from the section of the app down.
    pub path: Vec<String>,
    /// The value.
    pub value: Option<Value>,
}

/// What becomes of a section.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConfigMerged {
    /// Changes to make, in the order of the new defaults.
    pub edits: Vec<ConfigEdit>,
    /// Keys that a person has to decide; they keep their value.
    pub conflicts: Vec<Conflict>,
    /// What a person should know.
    pub notices: Vec<Notice>,
}

/// Merges the new defaults into a section; `old` are the defaults that the section was made from.
pub fn merge_config(old: &Map<String, Value>, section: &Map<String, Value>, new: &Map<String, Value>) -> ConfigMerged {
    let mut merged = ConfigMerged::default();
    merge_maps(&mut Vec::new(), [old, section, new], &mut merged);
    number(&mut merged.conflicts);
    merged
}

/// Merges one level; depth is bounded by the reader of the file.
fn merge_maps(path: &mut Vec<String>, sides: [&Map<String, Value>; 3], merged: &mut ConfigMerged) {
    let [old, mine, new] = sides;
    let gone = old.keys().chain(mine.keys()).filter(|key| !new.contains_key(*key));
    let mut keys: Vec<&String> = new.keys().chain(gone).collect();
    let mut seen = BTreeSet::new();
    keys.retain(|key| seen.insert(*key));
    for key in keys {
        path.push(key.clone());
        merge_key(path, [old.get(key), mine.get(key), new.get(key)], sides, merged);
        path.pop();
    }
}

fn merge_key(
    path: &mut Vec<String>,
    values: [Option<&Value>; 3],
    around: [&Map<String, Value>; 3],
    merged: &mut ConfigMerged,
) {
    if is_level(values) {
        let empty = Map::new();
        return merge_maps(path, values.map(|value| value.and_then(Value::as_object).unwrap_or(&empty)), merged);
    }
    let [old, mine, new] = values;
    match (old, mine, new) {
        (None, None, Some(new)) => {
            merged.notices.push(notice(NoticeKind::ConfigAdded, path, shown(new)));
            merged.edits.push(ConfigEdit { path: path.clone(), value: Some(new.clone()) });
        }
        (Some(old), Some(mine), Some(new)) if old == mine => {
            if old != new {
                merged.notices.push(notice(NoticeKind::ConfigFollowed, path, moved(old, new)));
                merged.edits.push(ConfigEdit { path: path.clone(), value: Some(new.clone()) });
            }
        }
        (Some(old), Some(mine), None) if old == mine => {
            merged.notices.push(notice(NoticeKind::ConfigRemoved, path, String::new()));
            merged.edits.push(ConfigEdit { path: path.clone(), value: None });
        }
        (Some(_), Some(mine), Some(new)) if mine == new => {}
        (Some(old), Some(mine), Some(new)) if kind(mine) == kind(new) => {
            if old != new {
                merged.notices.push(notice(NoticeKind::ConfigKept, path, moved(old, new)));
            }
        }
        (Some(old), Some(_), None) => {
            merged.notices.push(notice(NoticeKind::ConfigUnused, path, String::new()));
            if let Some(renamed) = renamed(path, old, around) {
                let why = format!("you edited the key and upstream seems to have renamed it to {renamed}");
                merged.conflicts.extend(conflict(path, values, &why));
            }
        }
        (None, Some(mine), Some(new)) if mine == new => {}
        (None, Some(mine), Some(new)) if kind(mine) == kind(new) => {
            merged.notices.push(notice(NoticeKind::ConfigKept, path, shown(new)));
        }
        (Some(_) | None, Some(_), Some(_)) => {
            let why = "you edited the key and upstream gave it another kind of value";
            merged.conflicts.extend(conflict(path, values, why));
        }
        // A default that a person removed stays away; a key of theirs alone is none of ours.
        (Some(_), None, Some(_) | None) | (None, Some(_) | None, None) => {}
    }
}

/// Returns why a level is merged key by key: mine is a map, and no other side has something else there.
fn is_level(values: [Option<&Value>; 3]) -> bool {
    let [old, mine, new] = values;
    let is_map = |value: Option<&Value>| value.is_none_or(Value::is_object);
    mine.is_some_and(Value::is_object)
        && is_map(old)
        && is_map(new)
        && (new.is_some() || (old.is_some() && old != mine))
}

/// Returns the key that took the place of one that is gone: it has the old default, or a name that differs by two
/// letters at most.
fn renamed(path: &[String], old: &Value, around: [&Map<String, Value>; 3]) -> Option<String> {
    let [before, mine, new] = around;
    let fresh = || new.iter().filter(|(key, _)| !before.contains_key(*key) && !mine.contains_key(*key));
    let name = path.last()?;
    let equal = fresh().find(|(_, value)| *value == old).map(|(key, _)| key.as_str());
    equal.or_else(|| nearest(name, fresh().map(|(key, _)| key.as_str()))).map(str::to_owned)
}

#[derive(PartialEq, Eq)]
enum Kind {
    Scalar,
    Map,
    List,
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Object(_) => Kind::Map,
        Value::Array(_) => Kind::List,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Kind::Scalar,
    }
}

fn conflict(path: &[String], values: [Option<&Value>; 3], why: &str) -> Option<Conflict> {
    let [base, mine, upstream] = values.map(|value| value.map(shown));
    let file = RepoPath::parse(CONFIG).ok()?;
    let conflict = Conflict::new(ConflictKind::Config, &file, Texts { base, mine, upstream }, why);
    Some(Conflict { key: path.join("."), ..conflict })
}

fn notice(kind: NoticeKind, path: &[String], detail: String) -> Notice {
    Notice { kind, subject: path.join("."), detail }
}

fn moved(old: &Value, new: &Value) -> String {
    format!("{} → {}", shown(old), shown(new))
}

/// Shows a value on one line as it would stand in the file.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => yaml::write_scalar(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
