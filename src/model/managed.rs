//! Pure. `metadata.managedFields` as values, and the digest of our own entry.
//!
//! When anyone changes or removes a field that we own, our `Apply` entry shrinks; when someone applies under our name, its time
//! changes. So (uid, digest, time) tells drift from metadata alone, and what editors hold beside us is what they added. Not here: which leaves were lost (`plan::fields`).

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::base::Encoder;

/// The field manager under which we apply.
pub const MANAGER: &str = "wild";
/// Beginnings of the names of managers through which people edit.
const EDITORS: [&str; 7] = ["kubectl", "before-first-apply", "node-fetch", "k9s", "Lens", "rancher", "Mozilla"];
/// Fields, by the beginning of their names, that are no addition to what git says: words of people to us and to kubectl, and what holds a
/// deletion or tells what owns an object.
const NO_ADDITIONS: [&str; 4] = ["f:rewild.dev/", "f:kubectl.kubernetes.io/", "f:finalizers", "f:ownerReferences"];
/// Depth at which the walk stops; deeper objects are refused before they get here.
const MAX_DEPTH: usize = 128;

/// Our `Apply` entry in short.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OwnEntry {
    /// First 16 bytes, in hex, of the digest over apiVersion and fields; empty if we own none.
    pub fields: String,
    /// Time of the entry as the server wrote it.
    pub time: String,
}

impl OwnEntry {
    /// Reads our entry out of `metadata.managedFields`; empty texts if there is none.
    pub fn of(managed: Option<&Value>) -> Self {
        let Some(entry) = own(managed) else { return Self::default() };
        let mut encoder = Encoder::new();
        encoder.text(entry.get("apiVersion").and_then(Value::as_str).unwrap_or(""));
        encoder.value(entry.get("fieldsV1").unwrap_or(&Value::Null));
        let mut fields = encoder.digest().to_hex();
        fields.truncate(32);
        Self { fields, time: entry.get("time").and_then(Value::as_str).unwrap_or("").to_owned() }
    }
}

/// Returns our `Apply` entry without subresource; the server keeps at most one.
pub fn own(managed: Option<&Value>) -> Option<&Value> {
    managed?.as_array()?.iter().find(|entry| {
        let text = |key| entry.get(key).and_then(Value::as_str).unwrap_or("");
        text("manager") == MANAGER && text("operation") == "Apply" && text("subresource").is_empty()
    })
}

/// Managers through which people edit: those that everyone knows, and those that the settings of an instance name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Editors(Vec<String>);

impl Editors {
    /// Returns the editors that are known everywhere, and those whose names begin with one of these.
    pub fn beside(named: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(named.into_iter().map(Into::into).collect())
    }

    /// Returns the beginnings of names beside those that are known everywhere.
    pub fn named(&self) -> &[String] {
        &self.0
    }

    /// Returns whether people edit through a manager.
    pub fn include(&self, manager: &str) -> bool {
        EDITORS.iter().any(|editor| manager.starts_with(editor))
            || self.0.iter().any(|editor| manager.starts_with(editor.as_str()))
    }
}

/// A field that somebody else holds and we do not.
#[derive(Clone, PartialEq, Debug)]
pub struct Addition<'a> {
    /// Names of the way there, as the entry has them, such as `f:spec`; the last one of a list item that is new is the item.
    pub names: Vec<&'a str>,
    /// The entry that holds it.
    pub entry: &'a Value,
}

/// Returns what editors, and updates under our name, hold beside our fields, in the order of their entries; nothing where no field is ours.
pub fn additions<'a>(managed: Option<&'a Value>, editors: &Editors) -> Vec<Addition<'a>> {
    held_beside(managed, |manager, operation| editors.include(manager) || is_passing(manager, operation))
}

/// Returns what updates under our name hold beside our fields.
pub fn leftovers(managed: Option<&Value>) -> Vec<Addition<'_>> {
    held_beside(managed, is_passing)
}

/// Only a patch that clears the way for an apply makes an update under our name, or an impostor, so it holds nothing that git says.
fn is_passing(manager: &str, operation: &str) -> bool {
    manager == MANAGER && operation == "Update"
}

/// Returns what the entries of some managers hold beside our fields, leaving out those of subresources.
fn held_beside(managed: Option<&Value>, is_meant: impl Fn(&str, &str) -> bool) -> Vec<Addition<'_>> {
    let Some(ours) = own(managed).and_then(|entry| entry.get("fieldsV1")).and_then(Value::as_object) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in managed.and_then(Value::as_array).into_iter().flatten() {
        let text = |key| entry.get(key).and_then(Value::as_str).unwrap_or("");
        let is_meant = text("subresource").is_empty() && is_meant(text("manager"), text("operation"));
        if let Some(theirs) = entry.get("fieldsV1").and_then(Value::as_object).filter(|_| is_meant) {
            let mut names = Vec::new();
            beside(theirs, Some(ours), (entry, &mut names), &mut found);
        }
    }
    found
}

/// Adds the fields of somebody below one place that are not ours.
fn beside<'a>(
    theirs: &'a Map<String, Value>,
    ours: Option<&Map<String, Value>>,
    (entry, names): (&'a Value, &mut Vec<&'a str>),
    found: &mut Vec<Addition<'a>>,
) {
    if names.len() >= MAX_DEPTH {
        return;
    }
    for (name, node) in theirs.iter().filter(|(name, _)| *name != ".") {
        if NO_ADDITIONS.iter().any(|beginning| name.starts_with(beginning)) {
            continue;
        }
        let below = node.as_object().filter(|below| below.keys().any(|name| name != "."));
        let own = ours.and_then(|ours| ours.get(name)).and_then(Value::as_object);
        let is_item = !name.starts_with("f:");
        names.push(name);
        match (below, own) {
            // An empty node is a leaf: all below it is ours.
            (_, Some(own)) if own.is_empty() => {}
            (None, Some(_)) => {}
            (Some(below), Some(own)) => beside(below, Some(own), (entry, &mut *names), found),
            (Some(below), None) if !is_item => beside(below, None, (entry, &mut *names), found),
            (_, None) => found.push(Addition { names: names.clone(), entry }),
        }
        names.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Editors, OwnEntry, additions, leftovers};

    #[test]
    fn what_an_editor_holds_beside_our_fields_is_an_addition_and_a_new_item_is_one() {
        let web = json!({".": {}, "f:image": {}, "f:env": {".": {}, "k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}}});
        let ours = json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:selector": {}, "f:containers": {"k:{\"name\":\"web\"}": web}}});
        let theirs = json!({
            "f:metadata": {
                "f:labels": {"f:a": {}, "f:b": {}}, "f:finalizers": {".": {}, "v:\"x\"": {}},
                "f:annotations": {".": {}, "f:rewild.dev/hold-until": {}, "f:kubectl.kubernetes.io/restartedAt": {}},
            },
            "f:spec": {
                "f:selector": {"f:x": {}},
                "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}}},
                "f:containers": {"k:{\"name\":\"web\"}": {"f:tty": {}, "f:env": {"k:{\"name\":\"B\"}": {".": {}, "f:name": {}, "f:value": {}}}}},
            },
        });
        let entry =
            |manager, operation, fields| json!({"manager": manager, "operation": operation, "fieldsV1": fields});
        let managed = json!([
            entry("wild", "Apply", ours),
            entry("kubectl-edit", "Update", theirs),
            entry("keda-operator", "Update", json!({"f:spec": {"f:replicas": {}}})),
            entry("wild", "Update", json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:paused": {}}})),
        ]);
        let found: Vec<String> =
            additions(Some(&managed), &Editors::default()).iter().map(|it| it.names.join(" ")).collect();
        assert_eq!(
            found,
            [
                "f:metadata f:labels f:b",
                "f:spec f:resources f:limits f:cpu",
                "f:spec f:containers k:{\"name\":\"web\"} f:tty",
                "f:spec f:containers k:{\"name\":\"web\"} f:env k:{\"name\":\"B\"}",
                "f:spec f:paused",
            ]
        );
        let passing: Vec<String> = leftovers(Some(&managed)).iter().map(|it| it.names.join(" ")).collect();
        assert_eq!(passing, ["f:spec f:paused"]);
        let alone = json!([entry("kubectl-edit", "Update", json!({"f:data": {"f:a": {}}}))]);
        assert_eq!(additions(Some(&alone), &Editors::default()), Vec::new(), "nothing is ours");
    }

    #[test]
    fn only_our_apply_entry_counts_and_its_key_order_does_not() {
        let entry = |fields| json!({"manager": "wild", "operation": "Apply", "apiVersion": "v1", "time": "t", "fieldsV1": fields});
        let impostor =
            json!({"manager": "wild", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {}}});
        let one = json!([impostor, entry(json!({"f:a": {}, "f:b": {}}))]);
        let two = json!([entry(json!({"f:b": {}, "f:a": {}}))]);
        assert_eq!(OwnEntry::of(Some(&one)), OwnEntry::of(Some(&two)));
        assert_eq!(OwnEntry::of(Some(&one)).fields.len(), 32);
        assert_ne!(OwnEntry::of(Some(&one)).fields, OwnEntry::of(Some(&json!([entry(json!({"f:a": {}}))]))).fields);
        assert_eq!(OwnEntry::of(Some(&json!([impostor]))), OwnEntry::default());
    }
}
