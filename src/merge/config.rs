//! Pure. Merges an app's section of config.yaml with the new defaults of its package, key by key and on values.
//!
//! A value that nobody edited follows its default, or else an image could never be updated; an edited value stays.
//! Whether a value was edited is known because the record of a generation holds the defaults of then. Not here: writing
//! config.yaml (`compile`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::conflict::{Conflict, ConflictKind, Notice, NoticeKind, Suggestion, Texts, number};
use super::file::merge_file;
use super::rules::Rules;
use super::tree::Three;
use crate::base::RepoPath;
use crate::base::nearest::nearest;
use crate::model::Veil;
use crate::yaml::cst::{Cst, Label, NodeId, Source};
use crate::yaml::{self, Dialect};

/// The file that all keys stand in.
const CONFIG: &str = "config.yaml";
/// A comment at a key whose value shall stay, whatever becomes of its default.
const KEEP: &str = "# wild: keep";

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

/// A path of keys from the section of an app down.
pub type KeyPath = Vec<String>;

/// Merges the new defaults into a section; `old` are the defaults that the section was made from, `kept` the keys that count
/// as edited although they have their default.
pub fn merge_config(
    old: &Map<String, Value>,
    section: &Map<String, Value>,
    new: &Map<String, Value>,
    kept: &BTreeSet<KeyPath>,
) -> ConfigMerged {
    let mut merging = Merging { kept, path: Vec::new(), merged: ConfigMerged::default() };
    merging.maps([old, section, new]);
    let mut merged = merging.merged;
    number(&mut merged.conflicts);
    merged
}

/// Returns the keys at which a person wrote that their value shall stay, from a text of config.yaml and the path of a section.
pub fn kept_keys(text: &str, section: &[&str]) -> BTreeSet<KeyPath> {
    let mut found = BTreeSet::new();
    if !text.contains(KEEP) {
        return found;
    }
    let Ok(cst) = Cst::parse(Source { text, masked: text, controls: &[] }) else { return found };
    let below = |id: NodeId, key: &&str| cst.entry(id, key).map(|child| child.value);
    if let Some(id) = cst.root().and_then(|root| section.iter().try_fold(root, below)) {
        collect_kept(&cst, id, &mut Vec::new(), &mut found);
    }
    found
}

/// Walks one level; depth is bounded by the reader of the file.
fn collect_kept(cst: &Cst, id: NodeId, path: &mut KeyPath, found: &mut BTreeSet<KeyPath>) {
    for child in &cst.node(id).children {
        let Label::Key(key) = &child.label else { continue };
        path.push(key.clone());
        let node = cst.node(child.value);
        let first = node.children.first().filter(|_| node.is_block());
        let end = first.map_or(child.own.end, |first| first.own.start);
        if cst.slice(&(child.own.start..end)).contains(KEEP) {
            found.insert(path.clone());
        }
        collect_kept(cst, child.value, path, found);
        path.pop();
    }
}

struct Merging<'a> {
    kept: &'a BTreeSet<KeyPath>,
    path: KeyPath,
    merged: ConfigMerged,
}

impl Merging<'_> {
    /// Merges one level; depth is bounded by the reader of the file.
    fn maps(&mut self, sides: [&Map<String, Value>; 3]) {
        let [old, mine, new] = sides;
        let gone = old.keys().chain(mine.keys()).filter(|key| !new.contains_key(*key));
        let mut keys: Vec<&String> = new.keys().chain(gone).collect();
        let mut seen = BTreeSet::new();
        keys.retain(|key| seen.insert(*key));
        for key in keys {
            self.path.push(key.clone());
            self.key([old.get(key), mine.get(key), new.get(key)], sides);
            self.path.pop();
        }
    }

    fn key(&mut self, values: [Option<&Value>; 3], around: [&Map<String, Value>; 3]) {
        if is_level(values) || values.iter().all(|value| value.is_none_or(Value::is_object)) && self.keeps_below() {
            let empty = Map::new();
            return self.maps(values.map(|value| value.and_then(Value::as_object).unwrap_or(&empty)));
        }
        let is_kept = (1..=self.path.len()).any(|end| self.path.get(..end).is_some_and(|it| self.kept.contains(it)));
        let [old, mine, new] = values;
        match (old, mine, new) {
            (None, None, Some(new)) => {
                self.notice(NoticeKind::ConfigAdded, self.told(new));
                self.edit(Some(new.clone()));
            }
            (Some(old), Some(mine), Some(new)) if old == mine && !is_kept => {
                if old != new {
                    self.notice(NoticeKind::ConfigFollowed, self.moved(old, new));
                    self.edit(Some(new.clone()));
                }
            }
            (Some(old), Some(mine), None) if old == mine && !is_kept => {
                self.notice(NoticeKind::ConfigRemoved, String::new());
                self.edit(None);
            }
            (Some(_), Some(mine), Some(new)) if mine == new => {}
            (Some(old), Some(mine), Some(new)) if kind(mine) == kind(new) => {
                if old != new {
                    self.edited(old, mine, (!is_kept).then_some(new), self.moved(old, new));
                }
            }
            (Some(old), Some(mine), None) => {
                self.notice(NoticeKind::ConfigUnused, String::new());
                if let Some(renamed) = renamed(&self.path, old, around) {
                    let why = format!("you edited the key and upstream seems to have renamed it to {renamed}");
                    let suggestion = Suggestion { path: self.beside(&renamed), value: shown(mine) };
                    self.conflict(values, &why, Some(suggestion));
                }
            }
            (None, Some(mine), Some(new)) if mine == new => {}
            (None, Some(mine), Some(new)) if kind(mine) == kind(new) => {
                self.notice(NoticeKind::ConfigKept, self.told(new));
            }
            (Some(_) | None, Some(_), Some(_)) => {
                self.conflict(values, "you edited the key and upstream gave it another kind of value", None);
            }
            // A default that a person removed stays away; a key of theirs alone is none of ours.
            (Some(_), None, Some(_) | None) | (None, Some(_) | None, None) => {}
        }
    }

    /// Settles an edited value whose default moved: it stays, and items of a list that upstream changed come along.
    fn edited(&mut self, old: &Value, mine: &Value, new: Option<&Value>, moved_default: String) {
        let list = new.and_then(|new| merged_list(&self.path, [old, mine, new])).filter(|list| list != mine);
        match list {
            Some(list) => {
                self.notice(NoticeKind::ConfigFollowed, self.moved(mine, &list));
                self.edit(Some(list));
            }
            None => self.notice(NoticeKind::ConfigKept, moved_default),
        }
    }

    /// Returns the value of the key at hand as people are told it.
    fn told(&self, value: &Value) -> String {
        shown(&Veil::default().value(&self.path.join("."), value))
    }

    /// Returns what became of the value of the key at hand as people are told it.
    fn moved(&self, old: &Value, new: &Value) -> String {
        let told = Veil::default().pair(&self.path.join("."), Some(old), Some(new));
        told.iter().flatten().map(shown).collect::<Vec<_>>().join(" → ")
    }

    /// Returns whether a key below the one at hand shall stay.
    fn keeps_below(&self) -> bool {
        self.kept.iter().any(|kept| kept.len() > self.path.len() && kept.starts_with(&self.path))
    }

    /// Returns the path of a key beside the one at hand.
    fn beside(&self, name: &str) -> String {
        let above = self.path.iter().rev().skip(1).rev().map(String::as_str);
        above.chain([name]).collect::<Vec<_>>().join(".")
    }

    fn edit(&mut self, value: Option<Value>) {
        self.merged.edits.push(ConfigEdit { path: self.path.clone(), value });
    }

    fn notice(&mut self, kind: NoticeKind, detail: String) {
        self.merged.notices.push(Notice { kind, subject: self.path.join("."), detail });
    }

    fn conflict(&mut self, values: [Option<&Value>; 3], why: &str, suggestion: Option<Suggestion>) {
        let [base, mine, upstream] = values.map(|value| value.map(shown));
        let Ok(file) = RepoPath::parse(CONFIG) else { return };
        let conflict = Conflict::new(ConflictKind::Config, &file, Texts { base, mine, upstream }, why);
        self.merged.conflicts.push(Conflict { key: self.path.join("."), suggestion, ..conflict });
    }
}

/// Merges lists item by item, as lists in files are merged; mine stays where both changed one item. Nothing if one is no list.
fn merged_list(path: &[String], sides: [&Value; 3]) -> Option<Value> {
    if !sides.iter().all(|side| side.is_array()) {
        return None;
    }
    let nested = |value: &Value| {
        let inside = |inner: Value, key: &String| Value::Object(Map::from_iter([(key.clone(), inner)]));
        yaml::write(&path.iter().rev().fold(value.clone(), inside))
    };
    let [base, ours, theirs] = sides.map(nested);
    let texts = Three { base: Some(base.as_str()), ours: Some(ours.as_str()), theirs: Some(theirs.as_str()) };
    let merged = merge_file(&RepoPath::parse(CONFIG).ok()?, texts, &Rules::default());
    let document = yaml::load_one(CONFIG, &merged.text?, Dialect::Gomplate).ok()??;
    path.iter().try_fold(&document.value, |value, key| value.get(key)).cloned()
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

/// Shows a value on one line as it would stand in the file.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => yaml::write_scalar(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
