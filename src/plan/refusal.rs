//! Pure. Committed objects that are refused before any request, because the answer is known or would do harm.
//!
//! Not here: what the API server validates.

use serde_json::Value;

use super::action::Blocked;
use super::depends;
use super::hash;
use super::hook;
use super::kind;
use super::marks::{AUTHOR_KEYS, PART_OF, PREFIX};
use super::size;
use super::snapshot::DesiredObject;
use super::wanted;
use crate::base::escaped;
use crate::model::{Object, PRUNE, PRUNE_WORDS};
use crate::schema;

/// Largest encoded object: etcd takes no more in one request.
const MAX_OBJECT_BYTES: usize = 1_500 * 1_024;
/// Largest sum of annotation keys and values; the API server takes no more.
const MAX_ANNOTATION_BYTES: usize = 256 * 1_024;

/// Returns why an object is not sent.
pub(super) fn refused(desired: &DesiredObject) -> Option<Blocked> {
    let object = &desired.object;
    let id = object.id();
    let refuse = |reason: &str, message: String| {
        let name = escaped(&id.short());
        let message = if desired.file.is_empty() {
            format!("{name}: {message}")
        } else {
            format!("{}:{}: {name} {message}", desired.file, desired.line)
        };
        Some(Blocked { object: Some(id.clone()), reason: reason.into(), message, hint: String::new() })
    };
    if object.kind().is_empty() || object.api_version().is_empty() || object.name().is_empty() {
        return refuse("InvalidObject", "needs apiVersion, kind and metadata.name".into());
    }
    if kind::needs_namespace(&id) && id.namespace.is_empty() {
        return refuse("InvalidObject", "names no namespace; set one in kustomization.yaml".into());
    }
    if let Some(trouble) = schema::name_trouble(object) {
        return refuse("InvalidObject", trouble);
    }
    if let Some(key) = reserved_key(object).filter(|_| !desired.file.is_empty()) {
        return refuse("ReservedKey", format!("holds {key}, which is not for authors"));
    }
    if let Some(place) = schema::owner_references(object).filter(|_| !desired.file.is_empty()) {
        let message = format!(
            "holds {place}: what owns an object only its cluster knows, which would delete it with that; take it out"
        );
        return refuse("OwnerReference", message);
    }
    if wanted::wave(object).is_none() {
        return refuse("InvalidObject", "has a wave that is no whole number from -100 to 100".into());
    }
    if let Some(word) = object.annotation(PRUNE).filter(|word| !PRUNE_WORDS.contains(word)) {
        return refuse("InvalidObject", format!("has {PRUNE}: {word}; it is {}", PRUNE_WORDS.join(" or ")));
    }
    if let Some((key, why)) = hash::unfit_values(object).first() {
        let place = if key.is_empty() { "data or stringData".to_owned() } else { format!("data.{key}") };
        return refuse("InvalidObject", format!("has {place}, which {why}"));
    }
    if let Err(part) = depends::named(&depends::written(object)) {
        let forms = "neither GROUP/KIND/NAME nor GROUP/namespaces/NAMESPACE/KIND/NAME";
        return refuse("InvalidObject", format!("depends on {part}, which is {forms}"));
    }
    if let Some(mistake) = hook::mistake(object) {
        return refuse("InvalidObject", mistake);
    }
    if size::bytes(&object.to_value()) > MAX_OBJECT_BYTES {
        return refuse("InvalidObject", format!("is {}; the limit is {MAX_OBJECT_BYTES}", size::told(object)));
    }
    let bytes = annotation_bytes(object);
    if bytes > MAX_ANNOTATION_BYTES {
        return refuse(
            "InvalidObject",
            format!("has {bytes} bytes of annotations and the limit is {MAX_ANNOTATION_BYTES}"),
        );
    }
    None
}

/// Returns a label or annotation key of ours that an author may not write.
fn reserved_key(object: &Object) -> Option<&str> {
    let keys = |section: &str| object.at(&["metadata", section]).and_then(Value::as_object).into_iter().flatten();
    let is_authors = |key: &str| key.strip_prefix(PREFIX).is_none_or(|rest| AUTHOR_KEYS.contains(&rest));
    let label = keys("labels").map(|(key, _)| key.as_str()).find(|key| *key == PART_OF || key.starts_with(PREFIX));
    label.or_else(|| keys("annotations").map(|(key, _)| key.as_str()).find(|key| !is_authors(key)))
}

fn annotation_bytes(object: &Object) -> usize {
    let annotations = object.at(&["metadata", "annotations"]).and_then(Value::as_object);
    annotations.into_iter().flatten().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}
