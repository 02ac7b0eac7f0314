//! Pure. Reads the fields of a kustomization: keys in any case, unknown ones refused, every refusal with its line.
//!
//! Not here: which fields there are (`kustomization.rs`).

use serde_json::{Map, Value};

use super::{Refusal, refuse};
use crate::base::nearest::nearest;
use crate::yaml::Document;

/// A map inside a kustomization file.
#[derive(Clone)]
pub(super) struct Section<'a> {
    pub(super) file: &'a str,
    document: &'a Document,
    path: Vec<String>,
    map: &'a Map<String, Value>,
}

impl<'a> Section<'a> {
    /// Returns the root of a document.
    pub(super) fn root(file: &'a str, document: &'a Document) -> Result<Self, Refusal> {
        match &document.value {
            Value::Object(map) => Ok(Self { file, document, path: Vec::new(), map }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                refuse("K109", file, document.line, "a kustomization is a map of fields")
            }
        }
    }

    /// Returns the maps of a document that is a map or a list of maps.
    pub(super) fn roots(file: &'a str, document: &'a Document) -> Result<Vec<Self>, Refusal> {
        let Value::Array(items) = &document.value else { return Ok(vec![Self::root(file, document)?]) };
        let section = |(position, item): (usize, &'a Value)| match item {
            Value::Object(map) => Ok(Self { file, document, path: vec![position.to_string()], map }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                refuse("K109", file, document.line, "the file is a list of maps")
            }
        };
        items.iter().enumerate().map(section).collect()
    }

    /// Returns the line of this section.
    pub(super) fn line(&self) -> usize {
        self.line_at(&[])
    }

    /// Returns the line of a field, or of the section.
    pub(super) fn line_of(&self, key: &str) -> usize {
        self.field(key).map_or_else(|| self.line(), |(key, _)| self.line_at(&[key]))
    }

    fn line_at(&self, below: &[&str]) -> usize {
        let path: Vec<&str> = self.path.iter().map(String::as_str).chain(below.iter().copied()).collect();
        self.document.line_of(&path).unwrap_or(self.document.line)
    }

    /// Refuses every key that is not one of these.
    pub(super) fn allow_only(&self, known: &[&str]) -> Result<(), Refusal> {
        for key in self.map.keys() {
            if !known.iter().any(|known| known.eq_ignore_ascii_case(key)) {
                let place = if self.path.is_empty() { "a kustomization" } else { "this entry" };
                let mut refusal = Refusal::new();
                let mut finding = crate::model::Diagnostic::error(
                    "K103",
                    self.file,
                    self.line_at(&[key]),
                    format!("{place} has no field {key:?}"),
                );
                if let Some(near) = nearest(key, known.iter().copied()) {
                    finding = finding.with_hint(format!("did you mean {near:?}?"));
                }
                refusal.push(finding);
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Returns a field and its key as written; an exact key wins over one in another case.
    pub(super) fn field(&self, name: &str) -> Option<(&'a str, &'a Value)> {
        let exact = self.map.get_key_value(name);
        let found = exact.or_else(|| self.map.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)));
        found.filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.as_str(), value))
    }

    /// Returns a text.
    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        match self.field(name) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((key, _)) => self.wrong(&[key], key, "a text; put quotes around it"),
        }
    }

    /// Returns a text, empty if the field is absent.
    pub(super) fn text_or_empty(&self, name: &str) -> Result<String, Refusal> {
        Ok(self.text(name)?.unwrap_or("").to_owned())
    }

    /// Returns a boolean, false if the field is absent.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.field(name) {
            None => Ok(false),
            Some((_, Value::Bool(flag))) => Ok(*flag),
            Some((key, _)) => self.wrong(&[key], key, "true or false"),
        }
    }

    /// Returns a whole number.
    pub(super) fn number(&self, name: &str) -> Result<i64, Refusal> {
        match self.field(name) {
            None => Ok(0),
            Some((key, value)) => value.as_i64().map_or_else(|| self.wrong(&[key], key, "a whole number"), Ok),
        }
    }

    /// Returns a list of texts with their lines.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<(String, usize)>, Refusal> {
        let mut texts = Vec::new();
        for (position, (key, value)) in self.list(name)?.into_iter().enumerate() {
            let at = position.to_string();
            match value {
                Value::String(text) => texts.push((text.clone(), self.line_at(&[key, &at]))),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    return self.wrong(&[key, &at], key, "a list of texts");
                }
            }
        }
        Ok(texts)
    }

    /// Returns a map of texts.
    pub(super) fn text_map(&self, name: &str) -> Result<Vec<(String, String)>, Refusal> {
        let Some((key, value)) = self.field(name) else { return Ok(Vec::new()) };
        let Value::Object(map) = value else { return self.wrong(&[key], key, "a map") };
        let mut entries = Vec::new();
        for (name, value) in map {
            match value {
                Value::String(text) => entries.push((name.clone(), text.clone())),
                Value::Null => entries.push((name.clone(), String::new())),
                Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    return self.wrong(&[key, name], name, "a text; put quotes around it");
                }
            }
        }
        Ok(entries)
    }

    /// Returns the map in a field.
    pub(super) fn section(&self, name: &str) -> Result<Option<Self>, Refusal> {
        match self.field(name) {
            None => Ok(None),
            Some((key, Value::Object(map))) => Ok(Some(self.below(map, &[key]))),
            Some((key, _)) => self.wrong(&[key], key, "a map"),
        }
    }

    /// Returns the maps in a list.
    pub(super) fn sections(&self, name: &str) -> Result<Vec<Self>, Refusal> {
        let mut sections = Vec::new();
        for (position, (key, value)) in self.list(name)?.into_iter().enumerate() {
            let at = position.to_string();
            match value {
                Value::Object(map) => sections.push(self.below(map, &[key, &at])),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    return self.wrong(&[key, &at], key, "a list of maps");
                }
            }
        }
        Ok(sections)
    }

    fn list(&self, name: &str) -> Result<Vec<(&'a str, &'a Value)>, Refusal> {
        match self.field(name) {
            None => Ok(Vec::new()),
            Some((key, Value::Array(items))) => Ok(items.iter().map(|item| (key, item)).collect()),
            Some((key, _)) => self.wrong(&[key], key, "a list"),
        }
    }

    fn below(&self, map: &'a Map<String, Value>, path: &[&str]) -> Self {
        let path = self.path.iter().cloned().chain(path.iter().map(|step| (*step).to_owned())).collect();
        Self { file: self.file, document: self.document, path, map }
    }

    fn wrong<T>(&self, path: &[&str], name: &str, wanted: &str) -> Result<T, Refusal> {
        refuse("K109", self.file, self.line_at(path), format!("{name} wants {wanted}"))
    }

    /// Returns a refusal at a field of this section.
    pub(super) fn refuse<T>(&self, id: &str, name: &str, message: impl Into<String>) -> Result<T, Refusal> {
        refuse(id, self.file, self.line_of(name), message)
    }
}
