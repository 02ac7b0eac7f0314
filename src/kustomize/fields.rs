//! Pure. Places inside objects, named as kustomize names them: `spec/template/metadata/labels`.
//!
//! A path steps through lists without saying so: every item is visited. A step that ends in `[]` is never created.
//!
//! Not here: which change uses which places.

use serde_json::{Map, Value};

use crate::model::Object;

/// A place in objects of some kinds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Group, empty for any.
    pub(super) group: String,
    /// Version, empty for any.
    pub(super) version: String,
    /// Kind, empty for any.
    pub(super) kind: String,
    /// Steps from the root.
    pub(super) path: Vec<String>,
    /// Whether maps on the way are made.
    pub(super) create: bool,
}

impl Place {
    /// Returns whether an object is of the kinds that have this place.
    pub(super) fn selects(&self, object: &Object) -> bool {
        let fits = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        fits(&self.group, object.group()) && fits(&self.version, object.version()) && fits(&self.kind, object.kind())
    }

    /// Splits a path at slashes; `\/` is a slash inside a step.
    pub(super) fn split(path: &str) -> Vec<String> {
        path.replace("\\/", "\u{0}").split('/').map(|step| step.replace('\u{0}', "/")).collect()
    }
}

/// What is made at the end of a path where nothing is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Nothing: only what exists is visited.
    Skip,
    /// An empty map.
    Map,
    /// A null, which the visitor replaces.
    Scalar,
}

/// Calls `visit` for every value at a path of an object.
pub(super) fn visit<P: AsRef<str>>(
    object: &mut Object,
    path: &[P],
    missing: Missing,
    visit: &mut impl FnMut(&mut Value),
) {
    let mut root = Value::Object(std::mem::take(&mut object.0));
    descend(&mut root, path, missing, visit);
    if let Value::Object(map) = root {
        object.0 = map;
    }
}

/// Recursion is bounded by the length of the path and the depth that the loader allows.
fn descend<P: AsRef<str>>(value: &mut Value, path: &[P], missing: Missing, visit: &mut impl FnMut(&mut Value)) {
    let Some((first, rest)) = path.split_first() else { return visit(value) };
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| descend(item, path, missing, visit)),
        Value::Object(map) => {
            let (key, made) = match first.as_ref().strip_suffix("[]") {
                Some(key) => (key, false),
                None => (first.as_ref(), missing != Missing::Skip),
            };
            if made {
                let slot = map.entry(key.to_owned()).or_insert(Value::Null);
                if slot.is_null() && (!rest.is_empty() || missing == Missing::Map) {
                    *slot = Value::Object(Map::new());
                }
            }
            if let Some(slot) = map.get_mut(key)
                && (!slot.is_null() || rest.is_empty() && missing == Missing::Scalar)
            {
                descend(slot, rest, missing, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
