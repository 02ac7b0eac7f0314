//! Pure. One Kubernetes object as a value, and its identity.
//!
//! Not here: what we know of kinds (`schema`), how an object is read from YAML (`yaml`).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use serde_json::{Map, Value};

/// Identity of an object on a target: group, kind, namespace, name, and sorted by them. Never the version, which may change under the same
/// object.
///
/// It is copied into every list and map that tells of the object, so a copy shares its text.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(from = "Names", into = "Names")]
pub struct ObjectId(Arc<Identity>);

/// What an identity consists of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Names {
    /// API group, empty for the core group.
    pub group: String,
    /// Kind, such as `Deployment`.
    pub kind: String,
    /// Namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// Name.
    pub name: String,
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Identity {
    /// All names in one text, which sorts as they do: most ids of a map differ in nothing but their last names, and every look into it
    /// compares dozens.
    line: Box<str>,
    names: Names,
}

impl From<Names> for ObjectId {
    fn from(names: Names) -> Self {
        let Names { group, kind, namespace, name } = &names;
        Self(Arc::new(Identity { line: [group, kind, namespace, name].map(String::as_str).join("\0").into(), names }))
    }
}

impl From<ObjectId> for Names {
    fn from(id: ObjectId) -> Self {
        id.0.names.clone()
    }
}

impl Deref for ObjectId {
    type Target = Names;

    fn deref(&self) -> &Names {
        &self.0.names
    }
}

impl Ord for ObjectId {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for ObjectId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for ObjectId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.line.hash(state);
    }
}

impl ObjectId {
    /// Returns an identity from its four parts.
    pub fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        let (group, kind, namespace, name) = (group.into(), kind.into(), namespace.into(), name.into());
        Names { group, kind, namespace, name }.into()
    }

    /// Returns `Kind/name`, as people name an object inside an app.
    pub fn short(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }

    /// Returns whether a person's words mean this object: `Kind/name`, or `namespace/Kind/name` where two of an app have one name.
    pub fn is_called(&self, words: &str) -> bool {
        words == self.short() || words == format!("{}/{}", self.namespace, self.short())
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.namespace.is_empty() {
            write!(f, " {}", self.namespace)?;
        }
        write!(f, "/{}", self.name)
    }
}

/// A Kubernetes object: any JSON map. Missing parts read as empty.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Object(pub Map<String, Value>);

impl Object {
    /// Returns the object in a JSON value, or nothing if the value is no map.
    pub fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Self(map)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        }
    }

    /// Returns the object as a JSON value.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// Returns `apiVersion`.
    pub fn api_version(&self) -> &str {
        self.text("apiVersion")
    }

    /// Returns the group in `apiVersion`, empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns the version in `apiVersion`.
    pub fn version(&self) -> &str {
        self.api_version().split_once('/').map_or(self.api_version(), |(_, version)| version)
    }

    /// Returns `kind`.
    pub fn kind(&self) -> &str {
        self.text("kind")
    }

    /// Returns `metadata.name`.
    pub fn name(&self) -> &str {
        self.metadata_text("name")
    }

    /// Returns `metadata.namespace`.
    pub fn namespace(&self) -> &str {
        self.metadata_text("namespace")
    }

    /// Returns the identity.
    pub fn id(&self) -> ObjectId {
        ObjectId::new(self.group(), self.kind(), self.namespace(), self.name())
    }

    /// Returns `metadata`.
    pub fn metadata(&self) -> Option<&Map<String, Value>> {
        self.0.get("metadata").and_then(Value::as_object)
    }

    /// Returns `metadata`, made if it is absent or no map.
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        child(&mut self.0, "metadata")
    }

    /// Returns a label, or nothing.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata()?.get("labels")?.get(key)?.as_str()
    }

    /// Returns an annotation, or nothing.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata()?.get("annotations")?.get(key)?.as_str()
    }

    /// Sets a label.
    pub fn set_label(&mut self, key: &str, value: &str) {
        child(self.metadata_mut(), "labels").insert(key.to_owned(), Value::from(value));
    }

    /// Sets an annotation.
    pub fn set_annotation(&mut self, key: &str, value: &str) {
        child(self.metadata_mut(), "annotations").insert(key.to_owned(), Value::from(value));
    }

    /// Returns the value at a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.0.get(*first)?, |value, key| value.get(*key))
    }

    /// Sets `metadata` to the name and the namespace of an identity.
    pub fn set_metadata_name(&mut self, id: &ObjectId) {
        let metadata = self.metadata_mut();
        metadata.insert("name".to_owned(), Value::from(id.name.as_str()));
        metadata.insert("namespace".to_owned(), Value::from(id.namespace.as_str()));
    }

    fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or("")
    }

    fn metadata_text(&self, key: &str) -> &str {
        self.metadata().and_then(|metadata| metadata.get(key)).and_then(Value::as_str).unwrap_or("")
    }
}

/// Returns the map below a key, made if it is absent or something else.
fn child<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let slot = map.entry(key.to_owned()).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(inner) => inner,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            unreachable!("the slot was made a map above")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Object, ObjectId};

    #[test]
    fn people_call_an_object_by_kind_and_name_and_by_its_namespace_where_that_is_needed() {
        let id = ObjectId::new("apps", "Deployment", "blog", "web");
        let called = ["Deployment/web", "blog/Deployment/web", "shop/Deployment/web", "blogDeployment/web", "web"];
        assert_eq!(called.map(|words| id.is_called(words)), [true, true, false, false, false]);
    }

    #[test]
    fn identities_sort_as_their_names_do_and_are_equal_where_all_of_them_are() {
        let words = ["", "-", "a", "a-b", "ab", "\0a", "a\0"];
        let of = |digits: usize| [343, 49, 7, 1].map(|step| words[digits / step % 7]);
        let all: Vec<_> = (0..7 * 343).map(of).map(|[a, b, c, d]| (ObjectId::new(a, b, c, d), [a, b, c, d])).collect();
        for (id, names) in &all {
            for (other, others) in all.iter().step_by(5) {
                assert_eq!(id == other, names == others, "{names:?} {others:?}");
                assert_eq!(id.cmp(other).is_eq(), names == others, "{names:?} {others:?}");
                if !names.iter().chain(others).any(|word| word.contains('\0')) {
                    assert_eq!(id.cmp(other), names.cmp(others), "{names:?} {others:?}");
                }
            }
        }
    }

    #[test]
    fn the_version_is_no_part_of_the_identity() {
        let id = |api: &str| {
            Object::from_value(
                json!({"apiVersion": api, "kind": "Deployment", "metadata": {"name": "web", "namespace": "blog"}}),
            )
            .unwrap()
            .id()
        };
        assert_eq!(id("apps/v1"), id("apps/v1beta1"));
        assert_eq!(id("apps/v1").to_string(), "Deployment.apps blog/web");
    }
}
