//! Pure. Kubernetes objects in a file, with the place of each.
//!
//! Not here: objects of a kustomization (`kustomize`), which also reads them through here.

use serde_json::Value;

use super::{Dialect, Document, Lines, load};
use crate::model::{Diagnostic, Object};

/// A Kubernetes object and where it was read.
#[derive(Clone, PartialEq, Debug)]
pub struct LoadedObject {
    /// The object; it has a kind and a name.
    pub object: Object,
    /// The file as it was given.
    pub file: String,
    /// Line from 1.
    pub line: usize,
}

/// Reads all objects of a file as kubectl does. Lists are expanded behind the last document of the file.
///
/// A null in a list is refused: it is what a forgotten or deleted line leaves behind.
pub fn load_objects(file: &str, text: &str) -> Result<Vec<LoadedObject>, Vec<Diagnostic>> {
    collect(file, load(file, text, Dialect::Kube)?.documents, Nulls::Refused)
}

/// Returns the objects in documents that are read already; nulls in lists stay, as in `kustomize build`.
pub fn objects_of(file: &str, documents: Vec<Document>) -> Result<Vec<LoadedObject>, Vec<Diagnostic>> {
    collect(file, documents, Nulls::Kept)
}

/// What becomes of nulls in lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Refused,
    Kept,
}

fn collect(file: &str, documents: Vec<Document>, nulls: Nulls) -> Result<Vec<LoadedObject>, Vec<Diagnostic>> {
    let mut found = Found { file, nulls, objects: Vec::new(), findings: Vec::new() };
    let mut listed = Vec::new();
    for document in documents {
        match items(document) {
            Ok(items) => listed.extend(items),
            Err(document) => found.take(document.value, &document.lines),
        }
    }
    // Lists in lists are expanded one level only: the API knows no deeper ones.
    for (value, lines) in listed {
        found.take(value, &lines);
    }
    if found.findings.is_empty() { Ok(found.objects) } else { Err(found.findings) }
}

/// Returns the items of a document that is a list, else the document as it was.
fn items(document: Document) -> Result<Vec<(Value, Lines)>, Document> {
    let is_list = document.value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    let Some(Value::Array(values)) = document.value.get("items").filter(|_| is_list) else { return Err(document) };
    let lines = document.lines.child("items").map(Lines::items).unwrap_or_default();
    let line = |position: usize| lines.get(position).cloned().unwrap_or_default();
    Ok(values.iter().enumerate().map(|(position, value)| (value.clone(), line(position))).collect())
}

struct Found<'a> {
    file: &'a str,
    nulls: Nulls,
    objects: Vec<LoadedObject>,
    findings: Vec<Diagnostic>,
}

impl Found<'_> {
    fn take(&mut self, value: Value, lines: &Lines) {
        let line = lines.line.max(1);
        let Some(object) = Object::from_value(value) else {
            return self.refuse("Y114", line, "a Kubernetes object is a map with kind and metadata.name".into());
        };
        if object.kind().is_empty() {
            return self.refuse("Y113", line, "the object has no kind".into());
        }
        if object.name().is_empty() {
            let message = match object.at(&["metadata", "name"]) {
                None | Some(Value::Null | Value::String(_)) => format!("the {} has no metadata.name", object.kind()),
                Some(_) => format!("the metadata.name of the {} is no text: put quotes around it", object.kind()),
            };
            return self.refuse("Y113", line, message);
        }
        if let Some((path, line)) = self.null_in_list(&object, lines) {
            return self.refuse("Y112", line, format!("empty item at {path}"));
        }
        self.objects.push(LoadedObject { object, file: self.file.to_owned(), line });
    }

    fn null_in_list(&self, object: &Object, lines: &Lines) -> Option<(String, usize)> {
        if self.nulls == Nulls::Kept {
            return None;
        }
        object.0.iter().find_map(|(key, value)| empty_item(value, lines.child(key), &mut vec![key.clone()]))
    }

    fn refuse(&mut self, id: &str, line: usize, message: String) {
        self.findings.push(Diagnostic::error(id, self.file, line, message));
    }
}

/// Returns the first null in a list. Its depth is bounded by the loader.
fn empty_item(value: &Value, lines: Option<&Lines>, path: &mut Vec<String>) -> Option<(String, usize)> {
    let children: Vec<(String, &Value)> = match value {
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    for (key, child) in children {
        let child_lines = lines.and_then(|lines| lines.child(&key));
        path.push(key);
        let found = if child.is_null() && value.is_array() {
            Some((path.join("."), child_lines.map_or(1, |lines| lines.line)))
        } else {
            empty_item(child, child_lines, path)
        };
        path.pop();
        if found.is_some() {
            return found;
        }
    }
    None
}
