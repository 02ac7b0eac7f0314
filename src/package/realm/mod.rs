//! Format. Pure. The objects of a Keycloak that a package brings: `keycloak/*.yaml`, version `keycloak.rewild.dev/v1`.
//!
//! One object a document: `kind`, `metadata.name`, `realm` (all kinds but Realm), `flow` (FlowExecution), `secretFrom` (Client), and in `spec`
//! the fields of the Admin API's representation that are ours; all others are left to whoever sets them. A field that the
//! server does not give back as it was sent could never be compared, so only those in a table are taken. Not here: what is done with the
//! objects (`plan::realm`).

mod fields;

use serde_json::{Map, Value};

use crate::base::nearest::nearest;
use crate::model::{AppName, Diagnostic, FileTree, ObjectId, REALM_API, RealmKind, realm_object};
use crate::yaml::{self, Dialect, Document};

/// Directory of an app with these files.
pub const REALM_DIRECTORY: &str = "keycloak";
/// Most objects of one app.
const MAX_OBJECTS: usize = 1_000;
/// Bytes of the files of one app together: two thousand for each object. A node takes some fifty times the bytes of its text.
const MAX_FILES_BYTES: usize = 2 * 1024 * 1024;
/// Longest name in characters.
const MAX_NAME_CHARS: usize = 255;

/// An object of a Keycloak as a file says it.
#[derive(Clone, PartialEq, Debug)]
pub struct RealmObject {
    /// Identity.
    pub id: ObjectId,
    /// Kind.
    pub kind: RealmKind,
    /// The fields that are ours.
    pub spec: Map<String, Value>,
    /// Key of the app's secret that is a client's secret; empty if none is ours.
    pub secret_from: String,
    /// Path of the file.
    pub file: String,
    /// Line of the document in it.
    pub line: usize,
}

/// Reads the objects that an app wants of a Keycloak, in the order in which they are applied; all that is wrong otherwise.
pub fn realm_objects(files: &FileTree, app: &AppName) -> Result<Vec<RealmObject>, Vec<Diagnostic>> {
    let directory = format!("apps/{app}/{REALM_DIRECTORY}/");
    let (mut objects, mut findings): (Vec<RealmObject>, Vec<Diagnostic>) = (Vec::new(), Vec::new());
    let mut bytes = 0_usize;
    for (path, _) in files.iter() {
        let name = path.as_str();
        let is_ours = name.strip_prefix(&directory).is_some_and(|rest| !rest.contains('/'));
        if !is_ours || !(name.ends_with(".yaml") || name.ends_with(".yml")) {
            continue;
        }
        let Some(text) = files.text(name) else {
            findings.push(Diagnostic::error("R001", name, 0, "the file is not UTF-8"));
            continue;
        };
        bytes = bytes.saturating_add(text.len());
        if bytes > MAX_FILES_BYTES {
            let message = "the files for a Keycloak hold more than 2 MiB together";
            return Err(vec![Diagnostic::error("R010", name, 0, message).with_hint("split the app into several")]);
        }
        match yaml::load(name, text, Dialect::Gomplate) {
            Err(found) => findings.extend(found),
            Ok(loaded) => {
                for document in &loaded.documents {
                    match (Reader { file: name, document }).read() {
                        Ok(object) => objects.push(object),
                        Err(finding) => findings.push(*finding),
                    }
                }
            }
        }
    }
    if objects.len() > MAX_OBJECTS {
        let message = format!("{} objects of a Keycloak, at most {MAX_OBJECTS} are taken", objects.len());
        findings.push(Diagnostic::error("R010", directory.trim_end_matches('/'), 0, message));
    }
    objects.sort_by(|a, b| (a.kind, &a.id).cmp(&(b.kind, &b.id)));
    for pair in objects.windows(2) {
        if let [first, second] = pair
            && first.id == second.id
        {
            let message = format!("{} of the realm {} stands twice", first.id.short(), first.id.namespace);
            let hint = format!("the other one stands in {}:{}", first.file, first.line);
            findings.push(Diagnostic::error("R009", &second.file, second.line, message).with_hint(hint));
        }
    }
    if findings.is_empty() { Ok(objects) } else { Err(findings) }
}

/// A finding, boxed because it is large beside what is read.
type Read<T> = Result<T, Box<Diagnostic>>;

struct Reader<'a> {
    file: &'a str,
    document: &'a Document,
}

impl Reader<'_> {
    fn read(&self) -> Read<RealmObject> {
        let Some(map) = self.document.value.as_object() else {
            return Err(self.wrong("R002", &[], "an object of a Keycloak is a map", ""));
        };
        let api = map.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        if api != REALM_API {
            let message = format!("apiVersion {api:?} is not known in {REALM_DIRECTORY}/");
            return Err(self.wrong("R003", &["apiVersion"], &message, &format!("apiVersion: {REALM_API}")));
        }
        let word = map.get("kind").and_then(Value::as_str).unwrap_or_default();
        let Some(kind) = RealmKind::parse(word) else {
            let words = RealmKind::ALL.map(RealmKind::word);
            let message = format!("the kind {word:?} is not known");
            return Err(self.wrong("R004", &["kind"], &message, &meant(word, &words)));
        };
        self.check_keys(map, &keys_of(kind))?;
        let metadata = map.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(odd) = metadata.keys().find(|key| key.as_str() != "name") {
            return Err(self.wrong(
                "R005",
                &["metadata", odd],
                &format!("metadata.{odd} is not known"),
                "metadata.name",
            ));
        }
        let name = self.text(&metadata, "name", &["metadata", "name"])?;
        let realm = if kind == RealmKind::Realm { name.clone() } else { self.text(map, "realm", &["realm"])? };
        if realm.contains('/') {
            return Err(self.wrong("R006", &["realm"], "the name of a realm holds no slash", ""));
        }
        if kind == RealmKind::User && name.chars().any(char::is_uppercase) {
            let hint = format!("name: {}", name.to_lowercase());
            return Err(self.wrong(
                "R006",
                &["metadata", "name"],
                "Keycloak keeps names of users in small letters",
                &hint,
            ));
        }
        let name = match kind {
            RealmKind::FlowExecution => format!("{}/{name}", self.text(map, "flow", &["flow"])?),
            _ => name,
        };
        let secret_from = match map.get("secretFrom") {
            Some(_) => self.text(map, "secretFrom", &["secretFrom"])?,
            None => String::new(),
        };
        Ok(RealmObject {
            id: realm_object(kind, &realm, &name),
            kind,
            spec: self.spec(map, kind)?,
            secret_from,
            file: self.file.to_owned(),
            line: self.document.line,
        })
    }

    fn spec(&self, map: &Map<String, Value>, kind: RealmKind) -> Read<Map<String, Value>> {
        let spec = match map.get("spec") {
            None | Some(Value::Null) => return Ok(Map::new()),
            Some(Value::Object(spec)) => spec,
            Some(_) => return Err(self.wrong("R007", &["spec"], "spec is a map of fields", "")),
        };
        let known = fields::of(kind);
        for (key, value) in spec {
            let path = ["spec", key.as_str()];
            if !known.contains(&key.as_str()) {
                let message = format!("spec.{key} of a {} is not supported", kind.word());
                return Err(self.wrong("R008", &path, &message, &meant(key, known)));
            }
            if value.is_null() {
                let message = format!("spec.{key} has no value");
                return Err(self.wrong("R008", &path, &message, "leave the field out, it is nobody's then"));
            }
        }
        Ok(spec.clone())
    }

    fn check_keys(&self, map: &Map<String, Value>, known: &[&str]) -> Read<()> {
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(odd) => Err(self.wrong("R005", &[odd], &format!("the key {odd} is not known"), &meant(odd, known))),
        }
    }

    fn text(&self, map: &Map<String, Value>, key: &str, path: &[&str]) -> Read<String> {
        match map.get(key).and_then(Value::as_str) {
            Some(text) if !text.is_empty() && text.chars().count() <= MAX_NAME_CHARS => Ok(text.to_owned()),
            _ => {
                let message = format!("{} is a text of 1 to {MAX_NAME_CHARS} characters", path.join("."));
                Err(self.wrong("R006", path, &message, ""))
            }
        }
    }

    fn wrong(&self, id: &str, path: &[&str], message: &str, hint: &str) -> Box<Diagnostic> {
        let line = self.document.line_of(path).unwrap_or(self.document.line);
        Box::new(Diagnostic::error(id, self.file, line, message).with_hint(hint))
    }
}

/// Returns the keys of a document.
fn keys_of(kind: RealmKind) -> Vec<&'static str> {
    let mut keys = vec!["apiVersion", "kind", "metadata", "spec"];
    match kind {
        RealmKind::Realm => {}
        RealmKind::Client => keys.extend(["realm", "secretFrom"]),
        RealmKind::FlowExecution => keys.extend(["realm", "flow"]),
        RealmKind::Role | RealmKind::User | RealmKind::Flow | RealmKind::RequiredAction => keys.push("realm"),
    }
    keys
}

/// Returns what somebody probably meant, or all there is.
fn meant(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => near.to_owned(),
        None => format!("one of {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests;
