//! Format. Below `_copied` and `_made` of an app's section in `secrets.yaml`: which of its values hold values of other apps.
//!
//! `_copied: {dbPassword: {from: apps.stonedb.password, digest: …}}` marks a copy, `_made: {dbUrl: {from: [apps.stonedb.password], digest: …}}`
//! what a template made of copies. A mark counts as long as the value is the one that was marked: the digest tells. Names that begin with `_`
//! are no keys of secrets, so no package writes a mark. Not here: the file (`secrets.rs`), what may be copied (`package`).

use serde_json::{Map, Value, json};

use crate::base::Encoder;
use crate::model::{Purpose, SecretOrigin, SecretOrigins, Secrets};

/// The key of an app's section that holds the marks of copies.
const COPIED: &str = "_copied";
/// The key of an app's section that holds the marks of what was made of copies.
const MADE: &str = "_made";
/// How often a copy may be a copy of a copy; apps that hand a secret on stand in a row of two or three.
const MAX_COPIES_OF_COPIES: usize = 8;

/// A mark of a value.
pub(super) struct Mark {
    path: String,
    origin: SecretOrigin,
    /// Digest of the value that was marked.
    digest: String,
}

/// Returns whether a key of an app's section holds marks and no value.
pub(super) fn is_of_marks(key: &str) -> bool {
    key == COPIED || key == MADE
}

/// Writes down where a value comes from.
pub(super) fn mark(section: &mut Map<String, Value>, path: &str, origin: &SecretOrigin, text: &str) {
    let Some((_, key)) = split(path) else { return };
    unmark(section, path);
    let (place, from) = match origin {
        SecretOrigin::Own => return,
        SecretOrigin::Copy(from) => (COPIED, json!(from)),
        SecretOrigin::Made(from) => (MADE, json!(from)),
    };
    let marks = section.entry(place.to_owned()).or_insert(Value::Null);
    if !marks.is_object() {
        *marks = Value::Object(Map::new());
    }
    if let Some(marks) = marks.as_object_mut() {
        marks.insert(key.to_owned(), json!({ "from": from, "digest": digest_of(path, text) }));
    }
}

/// Takes the mark of a value away.
pub(super) fn unmark(section: &mut Map<String, Value>, path: &str) {
    let Some((_, key)) = split(path) else { return };
    for place in [COPIED, MADE] {
        let Some(marks) = section.get_mut(place).and_then(Value::as_object_mut) else { continue };
        marks.shift_remove(key);
        if marks.is_empty() {
            section.shift_remove(place);
        }
    }
}

/// Returns the app and the key that a path names.
pub(super) fn split(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("apps.")?.split_once('.')
}

/// Returns the marks of all apps.
pub(super) fn marks(tree: &Map<String, Value>) -> Vec<Mark> {
    let mut found = Vec::new();
    for (app, section) in tree.get("apps").and_then(Value::as_object).into_iter().flatten() {
        for place in [COPIED, MADE] {
            let marks = section.get(place).and_then(Value::as_object).into_iter().flatten();
            found.extend(marks.filter_map(|(key, mark)| read(format!("apps.{app}.{key}"), mark)));
        }
    }
    found
}

fn read(path: String, mark: &Value) -> Option<Mark> {
    let digest = mark.get("digest").and_then(Value::as_str)?.to_owned();
    let origin = match mark.get("from")? {
        Value::String(from) => SecretOrigin::Copy(from.clone()),
        Value::Array(from) => SecretOrigin::Made(from.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    Some(Mark { path, origin, digest })
}

impl Mark {
    fn fits(&self, secrets: &Secrets) -> bool {
        let value = secrets.get(&self.path).map(|value| value.expose(Purpose::SecretsFile));
        value.is_some_and(|value| digest_of(&self.path, value) == self.digest)
    }
}

/// Notes where the values come from that nobody wrote over, and puts the owner's value of today in place of every copy among them. A copy may be
/// of a copy.
pub(super) fn follow(marks: &[Mark], secrets: &mut Secrets) {
    let marks: Vec<&Mark> = marks.iter().filter(|mark| mark.fits(secrets)).collect();
    for mark in &marks {
        secrets.note_origin(&mark.path, mark.origin.clone());
    }
    for _ in 0..MAX_COPIES_OF_COPIES {
        for mark in &marks {
            let SecretOrigin::Copy(from) = &mark.origin else { continue };
            if let Some(value) = secrets.get(from).cloned() {
                secrets.insert(&mark.path, value);
            }
        }
    }
}

/// Returns where the values of a file come from that nobody wrote over; `secrets` are the values as they stand there.
pub(super) fn origins(marks: &[Mark], secrets: &Secrets) -> SecretOrigins {
    let mut origins = SecretOrigins::default();
    for mark in marks.iter().filter(|mark| mark.fits(secrets)) {
        origins.insert(&mark.path, mark.origin.clone());
    }
    origins
}

/// Returns the digest by which a value is known again. It holds the path, so equal values cannot be told by it.
fn digest_of(path: &str, text: &str) -> String {
    Encoder::new().text(path).text(text).digest().to_hex()
}
