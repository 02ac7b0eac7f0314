//! Pure. Makes ConfigMaps and Secrets of literals and files, and appends hashes of their content to their names.
//!
//! Not here: the fields that follow the new names (`references.rs`).

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::item::{Behavior, Item};
use super::kustomization::{Generator, Kustomization};
use super::layer::Builder;
use super::weight::{of_lines, of_object, of_text};
use super::{Refusal, child_map, refuse};
use crate::base::sha256;
use crate::model::Object;

/// Length of a line of base64; a longer text is broken, and the line breaks are part of the value.
const BASE64_LINE: usize = 70;
/// Characters of the hash in a name.
const HASH_LENGTH: usize = 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    ConfigMap,
    Secret,
}

/// Runs all generators of a kustomization.
pub(super) fn run(
    builder: &Builder<'_>,
    directory: &str,
    kustomization: &Kustomization,
    items: &mut Vec<Item>,
) -> Result<(), Refusal> {
    let config_maps = kustomization.config_maps.iter().map(|generator| (Kind::ConfigMap, generator));
    let secrets = kustomization.secrets.iter().map(|generator| (Kind::Secret, generator));
    for (kind, generator) in config_maps.chain(secrets) {
        let object = object(builder, directory, &kustomization.file, (kind, generator))?;
        builder.meter.spend(of_object(&object), &kustomization.file, generator.line)?;
        let mut item = Item::new(object, &kustomization.file, generator.line);
        item.hashed = !generator.plain_name;
        item.behavior = generator.behavior;
        absorb(items, item)?;
    }
    Ok(())
}

fn object(
    builder: &Builder<'_>,
    directory: &str,
    file: &str,
    (kind, generator): (Kind, &Generator),
) -> Result<Object, Refusal> {
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), Value::from("v1"));
    let name = match kind {
        Kind::ConfigMap => "ConfigMap",
        Kind::Secret => "Secret",
    };
    object.insert("kind".to_owned(), Value::from(name));
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), Value::from(generator.name.as_str()));
    if !generator.namespace.is_empty() {
        metadata.insert("namespace".to_owned(), Value::from(generator.namespace.as_str()));
    }
    for (key, pairs) in [("labels", &generator.labels), ("annotations", &generator.annotations)] {
        if !pairs.is_empty() {
            let map = pairs.iter().map(|(key, text)| (key.clone(), Value::from(text.as_str()))).collect();
            metadata.insert(key.to_owned(), Value::Object(map));
        }
    }
    object.insert("metadata".to_owned(), Value::Object(metadata));
    if kind == Kind::Secret {
        let secret_type = if generator.secret_type.is_empty() { "Opaque" } else { &generator.secret_type };
        object.insert("type".to_owned(), Value::from(secret_type));
        object.insert("data".to_owned(), Value::Object(Map::new()));
    }
    for (key, bytes) in pairs(builder, directory, file, generator)? {
        let (field, text) = match (kind, String::from_utf8(bytes)) {
            (Kind::ConfigMap, Ok(text)) => ("data", text),
            (Kind::ConfigMap, Err(error)) => ("binaryData", packed(error.as_bytes())),
            (Kind::Secret, Ok(text)) => ("data", packed(text.as_bytes())),
            (Kind::Secret, Err(error)) => ("data", packed(error.as_bytes())),
        };
        if let Some(data) = child_map(&mut object, field) {
            data.insert(key, Value::from(text));
        }
    }
    if generator.immutable {
        object.insert("immutable".to_owned(), Value::Bool(true));
    }
    Ok(Object(object))
}

/// Returns keys and values: of env files first, then of literals, then of files.
fn pairs(
    builder: &Builder<'_>,
    directory: &str,
    file: &str,
    generator: &Generator,
) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
    let mut pairs: Vec<(String, Vec<u8>)> = Vec::new();
    for (path, line) in &generator.envs {
        let bytes = builder.bytes(directory, file, (path, *line))?;
        let Ok(text) = std::str::from_utf8(bytes) else {
            return refuse("K150", file, *line, format!("{path} is no UTF-8 text"));
        };
        builder.meter.spend(of_lines(text), file, *line)?;
        pairs.extend(env_pairs(text));
    }
    for (literal, line) in &generator.literals {
        match literal.split_once('=') {
            Some((key, value)) if !key.is_empty() => pairs.push((key.to_owned(), unquoted(value).into())),
            Some(_) | None => return refuse("K150", file, *line, "a literal has the form key=value"),
        }
    }
    for (source, line) in &generator.files {
        let (key, path) = match source.split_once('=') {
            None => (source.rsplit('/').next().unwrap_or(source), source.as_str()),
            Some((key, path)) if !key.is_empty() && !path.is_empty() && !path.contains('=') => (key, path),
            Some(_) => return refuse("K150", file, *line, "a file has the form path or key=path"),
        };
        let bytes = builder.bytes(directory, file, (path, *line))?;
        builder.meter.spend(bytes.len() + of_text(key), file, *line)?;
        pairs.push((key.to_owned(), bytes.to_vec()));
    }
    for (at, (key, _)) in pairs.iter().enumerate() {
        let legal = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !legal {
            return refuse("K150", file, generator.line, format!("{key:?} is no key: letters, digits, - _ and . only"));
        }
        if pairs.iter().take(at).any(|(other, _)| other == key) {
            return refuse("K151", file, generator.line, format!("the key {key:?} is there twice"));
        }
    }
    Ok(pairs)
}

fn env_pairs(text: &str) -> Vec<(String, Vec<u8>)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            (key.to_owned(), value.as_bytes().to_vec())
        })
        .collect()
}

/// Removes one pair of equal quotes around a value.
fn unquoted(value: &str) -> &str {
    let inner = |quote| value.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

fn packed(bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    if text.len() < BASE64_LINE {
        return text;
    }
    let mut out = String::with_capacity(text.len() + text.len() / BASE64_LINE + 1);
    for (at, c) in text.chars().enumerate() {
        out.push(c);
        if (at + 1) % BASE64_LINE == 0 || at + 1 == text.len() {
            out.push('\n');
        }
    }
    out
}

/// Adds a generated object, or joins it with the one of its name.
fn absorb(items: &mut Vec<Item>, mut item: Item) -> Result<(), Refusal> {
    let id = item.id();
    let matching: Vec<usize> =
        items.iter().enumerate().filter(|(_, old)| old.is_or_was_called(&id)).map(|(at, _)| at).collect();
    match (matching.as_slice(), item.behavior) {
        ([], Behavior::Create) => {
            items.push(item);
            Ok(())
        }
        ([], Behavior::Merge | Behavior::Replace) => {
            refuse("K153", &item.file, item.line, format!("{id} does not exist, it cannot be merged or replaced"))
        }
        ([_], Behavior::Create) => {
            refuse("K152", &item.file, item.line, format!("{id} exists already; set behavior to merge or replace"))
        }
        ([at], Behavior::Merge | Behavior::Replace) => {
            if let Some(old) = items.get_mut(*at) {
                inherit(&mut item, old);
                *old = item;
            }
            Ok(())
        }
        ([_, _, ..], _) => refuse("K152", &item.file, item.line, format!("{} objects are called {id}", matching.len())),
    }
}

/// Takes over what a replaced object leaves to its successor: its name, labels, annotations and, when merging, its data.
fn inherit(item: &mut Item, old: &Item) {
    let fields: &[&str] = match item.behavior {
        Behavior::Merge => &["data", "binaryData"],
        Behavior::Create | Behavior::Replace => &[],
    };
    for field in fields {
        under(&mut item.object.0, old.object.0.get(*field), field);
    }
    let metadata = item.object.metadata_mut();
    for field in ["labels", "annotations"] {
        under(metadata, old.object.at(&["metadata", field]), field);
    }
    metadata.insert("name".to_owned(), Value::from(old.object.name()));
    match old.object.at(&["metadata", "namespace"]) {
        Some(namespace) => metadata.insert("namespace".to_owned(), namespace.clone()),
        None => metadata.shift_remove("namespace"),
    };
    item.hashed &= old.hashed;
    item.former.clone_from(&old.former);
    item.prefixes.clone_from(&old.prefixes);
    item.suffixes.clone_from(&old.suffixes);
}

/// Puts a map below another one, whose entries win.
fn under(map: &mut Map<String, Value>, below: Option<&Value>, field: &str) {
    let Some(Value::Object(below)) = below else { return };
    let Some(above) = child_map(map, field) else { return };
    let mut united = below.clone();
    united.extend(std::mem::take(above));
    *above = united;
}

/// Appends the hash of their content to the names of generated objects.
pub(super) fn append_hashes(items: &mut [Item]) {
    for item in items.iter_mut().filter(|item| item.hashed) {
        let name = format!("{}-{}", item.object.name(), content_hash(&item.object));
        let _ = item.remember();
        item.set_name(&name);
    }
}

fn content_hash(object: &Object) -> String {
    let field = |name: &str| object.0.get(name).cloned().unwrap_or_else(|| Value::from(""));
    // kustomize means to hash the name too, looks it up where none is, and so hashes an empty one.
    let mut hashed = json!({ "data": field("data"), "kind": object.kind(), "name": "" });
    let more = if object.kind() == "Secret" { "stringData" } else { "binaryData" };
    if let Some(map) = hashed.as_object_mut() {
        if object.kind() == "Secret" {
            map.insert("type".to_owned(), field("type"));
        }
        if object.0.get(more).is_some_and(Value::is_object) {
            map.insert(more.to_owned(), field(more));
        }
    }
    let mut text = String::new();
    go_json(&mut text, &hashed);
    // Digits and letters that could form words are replaced, as kubectl does.
    let letter = |c| match c {
        '0' => 'g',
        '1' => 'h',
        '3' => 'k',
        'a' => 'm',
        'e' => 't',
        other => other,
    };
    sha256(text.as_bytes()).to_hex().chars().take(HASH_LENGTH).map(letter).collect()
}

/// Writes JSON as Go does: keys sorted, nothing that HTML could take for markup.
pub(super) fn go_json(out: &mut String, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
        Value::String(text) => go_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                go_json(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let sorted: std::collections::BTreeMap<&String, &Value> = map.iter().collect();
            out.push('{');
            for (at, (key, item)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                go_text(out, key);
                out.push(':');
                go_json(out, item);
            }
            out.push('}');
        }
    }
}

fn go_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}
