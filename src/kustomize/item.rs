//! Pure. An object on its way through a build: what it is, what it was called before, where it came from.
//!
//! Not here: the changes themselves.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value};

use super::weight::of_text;
use super::{Refusal, refuse};
use crate::model::Object;
use crate::schema::{self, Scope};
use crate::yaml::plain_numbers;

/// Stands for the namespace of an object that lies in none.
const NO_NAMESPACE: &str = "_non_namespaceable_";

/// What a generator does when an object of its name exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Behavior {
    /// It must not exist.
    #[default]
    Create,
    /// It is replaced.
    Replace,
    /// Its data is united with the new data.
    Merge,
}

/// What an object was before a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Former {
    pub(super) kind: String,
    pub(super) name: String,
    /// With `default` for none, and a mark for objects outside of namespaces.
    pub(super) namespace: String,
}

/// Identity of an object inside a build. Unlike the identity on a target it holds the version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Id<'a> {
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
}

impl std::fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)?;
        if self.namespace != NO_NAMESPACE && self.namespace != "default" {
            write!(f, " in namespace {}", self.namespace)?;
        }
        Ok(())
    }
}

/// An object of a build.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) object: Object,
    pub(super) file: String,
    pub(super) line: usize,
    /// Former identities, the oldest first.
    pub(super) former: Vec<Former>,
    pub(super) prefixes: Vec<String>,
    pub(super) suffixes: Vec<String>,
    /// Whether a hash of its content is appended to its name.
    pub(super) hashed: bool,
    pub(super) behavior: Behavior,
}

impl Item {
    pub(super) fn new(object: Object, file: &str, line: usize) -> Self {
        Self {
            object,
            file: file.to_owned(),
            line,
            former: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            hashed: false,
            behavior: Behavior::Create,
        }
    }

    pub(super) fn id(&self) -> Id<'_> {
        Id {
            group: self.object.group(),
            version: self.object.version(),
            kind: self.object.kind(),
            name: self.object.name(),
            namespace: self.namespace(),
        }
    }

    pub(super) fn is_cluster_scoped(&self) -> bool {
        is_cluster_scoped(self.object.group(), self.object.kind())
    }

    /// Returns the namespace in which the object counts as lying: `default` if it names none.
    pub(super) fn namespace(&self) -> &str {
        match self.object.namespace() {
            _ if self.is_cluster_scoped() => NO_NAMESPACE,
            "" => "default",
            other => other,
        }
    }

    /// Returns the former identities, the oldest first. Group and version are those of today.
    pub(super) fn former_ids(&self) -> impl Iterator<Item = Id<'_>> {
        let (group, version) = (self.object.group(), self.object.version());
        self.former.iter().map(move |former| Id {
            group,
            version,
            kind: &former.kind,
            name: &former.name,
            namespace: &former.namespace,
        })
    }

    /// Returns the first identity.
    pub(super) fn original(&self) -> Id<'_> {
        self.former_ids().next().unwrap_or_else(|| self.id())
    }

    /// Returns whether the object is or was called this.
    pub(super) fn is_or_was(&self, matches: impl Fn(&Id<'_>) -> bool) -> bool {
        self.former_ids().chain([self.id()]).any(|id| matches(&id))
    }

    /// Returns whether the object is or was called exactly so.
    pub(super) fn is_or_was_called(&self, wanted: &Id<'_>) -> bool {
        // Names differ nearly always and cost the least, so they are looked at first.
        let was = self.former.iter().any(|former| former.name == wanted.name);
        was && self.former_ids().any(|id| id == *wanted) || self.object.name() == wanted.name && self.id() == *wanted
    }

    /// Keeps today's identity as a former one, before a change of it; returns how many bytes that takes.
    pub(super) fn remember(&mut self) -> usize {
        let id = self.id();
        let former = Former { kind: id.kind.into(), name: id.name.into(), namespace: id.namespace.into() };
        let texts = of_text(&former.kind) + of_text(&former.name) + of_text(&former.namespace);
        self.former.push(former);
        size_of::<Former>() + texts
    }

    /// Forgets all former identities. kustomize keeps them in annotations, so they go when a patch deletes all annotations.
    pub(super) fn forget(&mut self) {
        self.former.clear();
        self.prefixes.clear();
        self.suffixes.clear();
        self.hashed = false;
        self.behavior = Behavior::Create;
    }

    /// Makes texts of all annotations, as kustomize does wherever it keeps notes of its own among them.
    pub(super) fn make_annotations_texts(&mut self) {
        let Some(slot) = self.object.0.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations")) else {
            return;
        };
        for value in slot.as_object_mut().into_iter().flat_map(Map::values_mut) {
            match value {
                Value::String(_) => {}
                Value::Null | Value::Bool(_) | Value::Number(_) => {
                    *value = Value::from(plain_numbers(std::mem::take(value)).to_string());
                }
                Value::Array(_) | Value::Object(_) => *value = Value::from(""),
            }
        }
    }

    /// Removes annotations that hold nothing. kustomize does so where it kept notes of its own among them.
    pub(super) fn drop_empty_annotations(&mut self) {
        let annotations = self.object.at(&["metadata", "annotations"]);
        if annotations.is_some_and(|it| it.as_object().map_or(it.is_null(), Map::is_empty)) {
            self.object.metadata_mut().shift_remove("annotations");
        }
    }

    pub(super) fn set_name(&mut self, name: &str) {
        self.object.metadata_mut().insert("name".to_owned(), Value::from(name));
    }
}

/// Returns whether objects of a kind surely lie outside of namespaces. Unknown kinds count as namespaced.
pub(super) fn is_cluster_scoped(group: &str, kind: &str) -> bool {
    schema::scope(group, kind) == Scope::Cluster || (group, kind) == ("policy", "PodSecurityPolicy")
}

/// Returns an object whose numbers are written as JSON writes them.
pub(super) fn with_plain_numbers(mut object: Object) -> Object {
    object.0.values_mut().for_each(|value| *value = plain_numbers(std::mem::take(value)));
    object
}

/// Refuses objects from a position on whose identity an object before them has.
pub(super) fn check_distinct(items: &[Item], from: usize) -> Result<(), Refusal> {
    let Some((other, item)) = twins(items, from) else { return Ok(()) };
    let message = format!("{} is already there, from {}:{}", item.id(), other.file, other.line);
    refuse("K110", &item.file, item.line, message)
}

/// Returns the first two objects of one identity, of which the second stands at a position or behind it.
pub(super) fn twins(items: &[Item], from: usize) -> Option<(&Item, &Item)> {
    let mut known: BTreeMap<Id<'_>, &Item> = BTreeMap::new();
    items.iter().enumerate().find_map(|(position, item)| match known.entry(item.id()) {
        Entry::Occupied(other) => (position >= from).then(|| (*other.get(), item)),
        Entry::Vacant(slot) => {
            slot.insert(item);
            None
        }
    })
}
