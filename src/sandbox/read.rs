//! Reads of one object and of a kind.
//!
//! Not here: watches (`watch.rs`).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use crate::sandbox::call::{Call, Form};
use crate::sandbox::failure::{Cause, Failure};
use crate::sandbox::rules::TEMPLATE_COUNT;
use crate::sandbox::selector::Selector;
use crate::sandbox::store::{Key, Sort, Store};
use crate::schema::Kind;

/// Returns one object.
pub(crate) fn get(store: &Store, call: &Call) -> Result<Value, Failure> {
    if call.form == Form::MetadataList {
        return Err(Failure::not_acceptable(call.kind, "PartialObjectMetadataList", "", "not "));
    }
    let key = Key::of(call.kind, &call.namespace, &call.name);
    let object = store.get(Sort::of(call.kind), &key).ok_or_else(|| Failure::not_found(call.kind, &call.name))?;
    Ok(shown(object, call.form))
}

/// Returns an object in the form that a request asked for.
pub(crate) fn shown(object: &Value, form: Form) -> Value {
    match form {
        Form::Whole => object.clone(),
        Form::Metadata | Form::MetadataList => {
            let mut metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
            if object.get("kind") == Some(&json!("DaemonSet")) {
                hide_template_count(&mut metadata);
            }
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
        }
    }
}

/// The count of templates is kept outside of the metadata, and only shown there in whole objects.
fn hide_template_count(metadata: &mut Value) {
    let Value::Object(metadata) = metadata else { return };
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.shift_remove(TEMPLATE_COUNT);
        if annotations.is_empty() {
            metadata.shift_remove("annotations");
        }
    }
}

/// Where a list of several pages goes on.
struct Page {
    version: u64,
    after: Key,
}

/// Returns the objects of a kind.
pub(crate) fn list(store: &Store, call: &Call) -> Result<Value, Failure> {
    let query = &call.query;
    if call.form == Form::Metadata {
        return Err(Failure::not_acceptable(call.kind, "PartialObjectMetadata", "List", ""));
    }
    let selector = Selector::parse(query.text("labelSelector"), query.text("fieldSelector"), call.kind)?;
    let limit = query.number("limit")?.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0);
    let page = match query.text("continue") {
        "" => None,
        token => Some(read_token(token)?),
    };
    let version = match &page {
        Some(page) => page.version,
        None => list_version(store, call)?,
    };
    let objects = store.list_at(Sort::of(call.kind), version).ok_or_else(|| {
        Failure::expired(match page {
            Some(_) => "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.".to_owned(),
            None => format!("too old resource version: {version}"),
        })
    })?;
    let mut wanted = objects
        .iter()
        .filter(|(key, _)| call.namespace.is_empty() || key.namespace == call.namespace)
        .filter(|(key, _)| page.as_ref().is_none_or(|page| **key > page.after))
        .filter(|(_, object)| selector.matches(object));
    let mut items: Vec<(&Key, &Arc<Value>)> = Vec::new();
    items.extend(wanted.by_ref().take(limit.unwrap_or(usize::MAX)));
    let left = wanted.count();
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), json!(version.to_string()));
    if let (true, Some((last, _))) = (left > 0, items.last()) {
        metadata.insert("continue".to_owned(), json!(write_token(version, last)));
        // With a selector the number is unknown: the rest was not looked at.
        if selector.is_empty() {
            metadata.insert("remainingItemCount".to_owned(), json!(left));
        }
    }
    let items = items.into_iter().map(|(_, object)| item(object, call.form)).collect();
    Ok(envelope(call.kind, call.form, metadata, items))
}

fn envelope(kind: &Kind, form: Form, metadata: Map<String, Value>, items: Vec<Value>) -> Value {
    let (name, version) = match form {
        Form::Whole => (format!("{}List", kind.kind), kind.api_version()),
        Form::Metadata | Form::MetadataList => ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned()),
    };
    // An empty list of metadata is null, one of whole objects is not.
    let items = if items.is_empty() && form != Form::Whole { Value::Null } else { Value::Array(items) };
    json!({"kind": name, "apiVersion": version, "metadata": metadata, "items": items})
}

/// Items of a list of whole objects do not repeat their kind.
fn item(object: &Value, form: Form) -> Value {
    let mut object = shown(object, form);
    if let (Form::Whole, Some(map)) = (form, object.as_object_mut()) {
        map.shift_remove("kind");
        map.shift_remove("apiVersion");
    }
    object
}

/// Returns the version that a list without a token shows.
fn list_version(store: &Store, call: &Call) -> Result<u64, Failure> {
    let query = &call.query;
    let matching = query.text("resourceVersionMatch");
    let asked = query
        .number("resourceVersion")
        .map_err(|failure| Failure::bad_request(format!("invalid resource version: {}", failure.message)))?;
    if !matching.is_empty() && asked.is_none() {
        let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
        return Err(Failure::invalid_options("ListOptions", &Cause::forbidden("resourceVersionMatch", why)));
    }
    match (asked, matching) {
        (Some(asked), _) if asked > store.version() => Err(Failure::version_too_large(asked, store.version())),
        (Some(asked), "Exact") => Ok(asked),
        _ => Ok(store.version()),
    }
}

fn write_token(version: u64, last: &Key) -> String {
    let start = format!("{}/{}\0", last.namespace, last.name);
    URL_SAFE_NO_PAD.encode(json!({"v": "meta.k8s.io/v1", "rv": version, "start": start}).to_string())
}

fn read_token(token: &str) -> Result<Page, Failure> {
    let refuse = || Failure::bad_request("invalid continue token: continue key is not valid");
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| refuse())?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
        let first = bytes.first().map_or(' ', |byte| char::from(*byte));
        let why = format!("invalid character '{first}' looking for beginning of value");
        Failure::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
    })?;
    let version = value.get("rv").and_then(Value::as_u64).ok_or_else(refuse)?;
    let start = value.get("start").and_then(Value::as_str).ok_or_else(refuse)?;
    let (namespace, name) = start.trim_end_matches('\0').split_once('/').ok_or_else(refuse)?;
    Ok(Page { version, after: Key::new(namespace, name) })
}
