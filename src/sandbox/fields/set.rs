//! Sets of paths into an object, with the text form of `metadata.managedFields`.
//!
//! Not here: how a set is made from an object (`typed.rs`), who owns which set (`managers.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

/// A scalar inside a path: the key of a list item, or the item of a set.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Scalar {
    Integer(i64),
    Number(String),
    Text(String),
    Boolean(bool),
    Null,
}

/// One step of a path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Element {
    /// A field of a structure or an entry of a map.
    Field(String),
    /// An item of a keyed list.
    Key(Vec<(String, Scalar)>),
    /// An item of a set.
    Value(Scalar),
    /// An item by position.
    Index(i64),
}

/// A path from the root.
pub(crate) type Path = Vec<Element>;

/// A set of paths as a tree: the paths that end here, and what lies below.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FieldSet {
    pub(crate) members: BTreeSet<Element>,
    pub(crate) children: BTreeMap<Element, FieldSet>,
}

impl Scalar {
    pub(crate) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(it) => Self::Boolean(*it),
            Value::Number(it) => it.as_i64().map_or_else(|| Self::Number(it.to_string()), Self::Integer),
            Value::String(it) => Self::Text(it.clone()),
            Value::Array(_) | Value::Object(_) => return None,
        })
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(it) => write!(f, "{it}"),
            Self::Number(it) => f.write_str(it),
            Self::Text(it) => write!(f, "{}", Value::from(it.as_str())),
            Self::Boolean(it) => write!(f, "{it}"),
            Self::Null => f.write_str("null"),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                let keys: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "[{}]", keys.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Returns a path as conflicts name it.
pub(crate) fn path_text(path: &[Element]) -> String {
    path.iter().map(Element::to_string).collect()
}

impl Element {
    pub(crate) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => {
                let keys: Vec<String> =
                    keys.iter().map(|(name, value)| format!("{}:{value}", Value::from(name.as_str()))).collect();
                format!("k:{{{}}}", keys.join(","))
            }
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn decode(text: &str) -> Option<Self> {
        let (sort, rest) = text.split_once(':')?;
        let json = || serde_json::from_str::<Value>(rest).ok();
        Some(match sort {
            "f" => Self::field(rest),
            "k" => {
                let value = json()?;
                let keys: Option<Vec<_>> =
                    value.as_object()?.iter().map(|(key, value)| Some((key.clone(), Scalar::of(value)?))).collect();
                let mut keys = keys?;
                keys.sort();
                Self::Key(keys)
            }
            "v" => Self::Value(Scalar::of(&json()?)?),
            "i" => Self::Index(rest.parse().ok()?),
            _ => return None,
        })
    }
}

impl FieldSet {
    /// Returns a set of paths of field names, given with dots between them.
    pub(crate) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Path = path.iter().map(|name| Element::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    pub(crate) fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut result = self.clone();
        result.members.extend(other.members.iter().cloned());
        for (element, set) in &other.children {
            let merged = result.children.get(element).map_or_else(|| set.clone(), |own| own.union(set));
            result.children.insert(element.clone(), merged);
        }
        result
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, set)| {
            let both = set.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self { members: self.members.intersection(&other.members).cloned().collect(), children: children.collect() }
    }

    /// Returns the paths of this set that are not in the other one.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, set)| {
            let left = other.children.get(element).map_or_else(|| set.clone(), |it| set.difference(it));
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        Self { members: self.members.difference(&other.members).cloned().collect(), children: children.collect() }
    }

    /// Returns the paths of this set that neither are in the other one nor lie below one of its paths.
    pub(crate) fn without(&self, other: &Self) -> Self {
        let children = self.children.iter().filter(|(element, _)| !other.members.contains(element));
        let children = children.filter_map(|(element, set)| {
            let left = other.children.get(element).map_or_else(|| set.clone(), |it| set.without(it));
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        Self { members: self.members.difference(&other.members).cloned().collect(), children: children.collect() }
    }

    /// Returns all paths: those that end at a level before those that go deeper.
    pub(crate) fn paths(&self) -> Vec<Path> {
        let mut result = Vec::new();
        self.collect(&mut Vec::new(), &mut result);
        result
    }

    fn collect(&self, prefix: &mut Path, into: &mut Vec<Path>) {
        for element in &self.members {
            let mut path = prefix.clone();
            path.push(element.clone());
            into.push(path);
        }
        for (element, set) in &self.children {
            prefix.push(element.clone());
            set.collect(prefix, into);
            prefix.pop();
        }
    }

    /// Returns the form in `fieldsV1`.
    pub(crate) fn encode(&self) -> Value {
        let elements: BTreeSet<&Element> = self.members.iter().chain(self.children.keys()).collect();
        let mut map = Map::new();
        for element in elements {
            let mut inner = Map::new();
            if let Some(Value::Object(below)) = self.children.get(element).map(Self::encode) {
                if self.members.contains(element) && !below.is_empty() {
                    inner.insert(".".to_owned(), Value::Object(Map::new()));
                }
                inner.extend(below);
            }
            map.insert(element.encode(), Value::Object(inner));
        }
        Value::Object(map)
    }

    /// Reads the form in `fieldsV1`; nothing if it is not understood.
    pub(crate) fn decode(value: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (key, below) in value.as_object()? {
            if key == "." {
                continue;
            }
            let element = Element::decode(key)?;
            let below_map = below.as_object()?;
            if below_map.is_empty() || below_map.contains_key(".") {
                set.members.insert(element.clone());
            }
            let inner = Self::decode(below)?;
            if !inner.is_empty() {
                set.children.insert(element, inner);
            }
        }
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{FieldSet, path_text};

    #[test]
    fn a_set_survives_its_text() {
        let value = json!({"f:metadata": {"f:finalizers": {".": {}, "v:\"a/b\"": {}}, "f:labels": {"f:app": {}}},
            "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}});
        let set = FieldSet::decode(&value).unwrap();
        assert_eq!(set.encode(), value);
        let paths: Vec<String> = set.paths().iter().map(|path| path_text(path)).collect();
        assert_eq!(
            paths,
            [
                ".metadata.finalizers",
                ".metadata.finalizers[=\"a/b\"]",
                ".metadata.labels.app",
                ".spec.ports[port=80,protocol=\"TCP\"]",
                ".spec.ports[port=80,protocol=\"TCP\"].port",
            ]
        );
    }

    #[test]
    fn a_difference_keeps_what_lies_below_and_without_does_not() {
        let set = |paths: &[&[&str]]| FieldSet::of_fields(paths);
        let all = set(&[&["spec"], &["spec", "replicas"], &["data"]]);
        assert_eq!(all.difference(&set(&[&["spec"]])), set(&[&["spec", "replicas"], &["data"]]));
        assert_eq!(all.without(&set(&[&["spec"]])), set(&[&["data"]]));
        assert_eq!(all.intersection(&set(&[&["spec", "replicas"]])), set(&[&["spec", "replicas"]]));
        assert_eq!(set(&[&["data"]]).union(&set(&[&["spec"], &["spec", "replicas"]])), all);
    }
}
