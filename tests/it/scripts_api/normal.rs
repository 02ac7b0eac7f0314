//! Makes answers comparable: what varies from run to run gets a name, in the order of its first appearance.
//!
//! Hidden are uids, versions (their order is kept), times, generated names and hashes, cluster addresses and node ports, the
//! cluster's certificate, objects and differences printed inside messages, and the script's own namespace. Keys are sorted; entries of `managedFields` too, because they are kept in the order of
//! whole seconds.
//!
//! Not here: how answers are got (`player.rs`).

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

/// The answer to one step.
pub(crate) struct Answer {
    pub(crate) line: String,
    pub(crate) text: String,
    pub(crate) values: Vec<Value>,
}

/// Returns the answers as one text.
pub(crate) fn normal(namespace: &str, answers: Vec<Answer>) -> String {
    let mut text = String::new();
    let mut versions = BTreeSet::new();
    let mut names = Vec::new();
    for answer in &answers {
        answer.values.iter().for_each(|value| collect(value, &mut versions, &mut names));
    }
    for answer in answers {
        text.push_str(&format!("> {}\n", answer.line));
        if !answer.text.is_empty() {
            text.push_str(&format!("< {}\n", answer.text));
        }
        for mut value in answer.values {
            sort(&mut value);
            text.push_str(&format!("{}\n", serde_json::to_string_pretty(&value).unwrap()));
        }
        text.push('\n');
    }
    hide(text, namespace, &versions, &names)
}

/// Collects versions and generated names.
fn collect(value: &Value, versions: &mut BTreeSet<u64>, names: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            let whole = map.contains_key("items") || map.get("type") == Some(&Value::from("BOOKMARK"));
            if let (false, Some(version)) = (whole, map.get("resourceVersion").and_then(Value::as_str)) {
                versions.extend(version.parse::<u64>());
            }
            let text = |key: &str| map.get(key).and_then(Value::as_str);
            if let (Some(prefix), Some(name)) = (text("generateName"), text("name")) {
                names.push((name.to_owned(), prefix.to_owned()));
            }
            if let Some(hash) = text("pod-template-hash") {
                names.push((hash.to_owned(), String::new()));
            }
            let hidden = |key: &str| whole && matches!(key, "metadata" | "object");
            map.iter().filter(|(key, _)| !hidden(key)).for_each(|(_, value)| collect(value, versions, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, versions, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Sorts keys, and entries of managed fields.
fn sort(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Array(entries)) = map.get_mut("managedFields") {
                entries.sort_by_key(|entry| {
                    ["operation", "manager", "subresource", "apiVersion"].map(|key| entry[key].to_string())
                });
            }
            if let Some(Value::Array(causes)) = map.get_mut("causes") {
                // Conflicts are listed by manager in no order.
                // Metadata is checked several times, and each time is a cause of its own.
                causes.dedup();
                if causes.iter().all(|cause| cause["reason"] == "FieldManagerConflict") {
                    causes.sort_by_key(|cause| (cause["message"].to_string(), cause["field"].to_string()));
                }
            }
            // Names the form in which a kind is stored; nobody reads it.
            map.shift_remove("storageVersionHash");
            if map.contains_key("items") {
                hide_version(Some(map));
            }
            if map.get("type") == Some(&Value::from("BOOKMARK")) {
                hide_version(map.get_mut("object").and_then(Value::as_object_mut));
            }
            let mut entries: Vec<(String, Value)> = std::mem::take(map).into_iter().collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            entries.iter_mut().for_each(|(_, value)| sort(value));
            *map = entries.into_iter().collect::<Map<_, _>>();
        }
        Value::Array(items) => items.iter_mut().for_each(sort),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The version of a list or bookmark counts what others did too.
fn hide_version(map: Option<&mut Map<String, Value>>) {
    let metadata = map.and_then(|map| map.get_mut("metadata")).and_then(Value::as_object_mut);
    if let Some(version) = metadata.and_then(|metadata| metadata.get_mut("resourceVersion")) {
        *version = Value::from("<version>");
    }
}

fn hide(text: String, namespace: &str, versions: &BTreeSet<u64>, names: &[(String, String)]) -> String {
    let mut text = text.replace(namespace, "$ns");
    let mut seen: BTreeMap<&str, String> = BTreeMap::new();
    // What is named after the namespace was replaced with it.
    let own = |name: &String| name.replace(namespace, "$ns");
    let names: Vec<(String, String)> = names.iter().map(|(name, prefix)| (own(name), own(prefix))).collect();
    for (name, prefix) in &names {
        let count = seen.len() + 1;
        let hidden = seen.entry(name).or_insert_with(|| format!("{prefix}<name-{count}>")).clone();
        text = text.replace(name.as_str(), &hidden);
    }
    let ranks: BTreeMap<String, usize> =
        versions.iter().enumerate().map(|(rank, version)| (version.to_string(), rank + 1)).collect();
    let number = Regex::new(r#""resourceVersion": "(\d+)"|\((\d+)\)"#).unwrap();
    text = number
        .replace_all(&text, |found: &regex::Captures<'_>| {
            let version = found.get(1).or(found.get(2)).map_or("", |it| it.as_str());
            let name = ranks.get(version).map_or_else(|| "<version>".to_owned(), |rank| format!("<version-{rank}>"));
            if found.get(1).is_some() { format!("\"resourceVersion\": \"{name}\"") } else { format!("({name})") }
        })
        .into_owned();
    for (pattern, word) in [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "uid"),
        (r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b", "hash"),
        (r"\b10\.0\.\d+\.\d+\b", "address"),
        (r"\b3[0-2]\d{3}\b", "port"),
    ] {
        text = number_all(&text, &Regex::new(pattern).unwrap(), word);
    }
    let time = Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").unwrap();
    let text = time.replace_all(&text, "<time>");
    // An empty map of labels is printed as {} or null, by how it became empty.
    let json = Regex::new(r"Invalid value: (\{.*\}: |null: (?P<labels>`selector`))").unwrap();
    let text = json.replace_all(&text, "Invalid value: <object>: $labels");
    let diff = Regex::new(r#"\\n@@ (?:[^"\\]|\\.)*""#).unwrap();
    let text = diff.replace_all(&text, "\"");
    let certificate = Regex::new(r#""ca.crt": "[^"]*""#).unwrap();
    let text = certificate.replace_all(&text, "\"ca.crt\": \"<certificate>\"");
    let current = Regex::new(r"current: \d+").unwrap();
    let text = current.replace_all(&text, "current: <version>");
    let token = Regex::new(r#""continue": "[^"]+""#).unwrap();
    token.replace_all(&text, "\"continue\": \"<token>\"").into_owned()
}

fn number_all(text: &str, pattern: &Regex, word: &str) -> String {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    pattern
        .replace_all(text, |found: &regex::Captures<'_>| {
            let next = seen.len() + 1;
            let rank = *seen.entry(found[0].to_owned()).or_insert(next);
            format!("<{word}-{rank}>")
        })
        .into_owned()
}

/// Returns the lines that differ, with what surrounds them.
pub(crate) fn difference(expected: &str, found: &str) -> String {
    let diff = TextDiff::from_lines(expected, found);
    let mut text = String::new();
    for group in diff.grouped_ops(4) {
        text.push_str("  …\n");
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            text.push_str(&format!("  {sign}{change}"));
        }
    }
    text
}
