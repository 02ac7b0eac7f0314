//! Pure. Reads YAML as the tools around Kubernetes read it, writes texts that all of them read back alike, and edits a
//! single key of a file without touching any other byte.
//!
//! Values come out of [`load`], [`load_one`] and [`load_objects`]; [`write()`] and [`write_sorted`] print them; [`edit`]
//! changes files that people own. In the gomplate dialect a number with a dot or an exponent stays a float, because
//! templates print `1e6` and `1000000` differently; in the Kubernetes dialect `1.0` is 1, as in JSON.
//!
//! Not here: what kinds and fields mean (`schema`), typed reading of manifests (`package`).

mod build;
pub mod cst;
pub mod edit;
mod emit;
pub mod kubeconfig;
pub mod leak;
pub mod line;
mod lines;
mod margin;
mod number;
mod objects;
mod older;
mod plain;
mod quick;
mod scalar;
pub mod sops;
mod tree;
mod typed;
pub mod veil;
mod write;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::base::limits::{MAX_FILE_BYTES, MAX_MANIFEST_BYTES, MAX_YAML_DEPTH};
use crate::model::Diagnostic;

use build::{Annotations, Builder, Compare, Tags};

pub use emit::{write_sorted, write_sorted_map};
pub use lines::Lines;
pub use objects::{LoadedObject, load_objects, objects_of};
pub use plain::{Entry, Plain, load_plain};
pub use typed::read_typed;
pub use write::{write, write_flow, write_scalar};

/// Nesting of a manifest, config file or kustomization.
const MAX_MANIFEST_DEPTH: usize = 64;

/// Whose reading of plain scalars and keys counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// kubectl, the API server, kustomization files and JSON patches: the rules of yaml.v2.
    Kube,
    /// gomplate, our own files, and resources inside `kustomize build`: the rules of yaml.v3.
    Gomplate,
}

/// One document.
#[derive(Clone, PartialEq, Debug)]
pub struct Document {
    /// The value; never null.
    pub value: Value,
    /// Line from 1 on which the content starts.
    pub line: usize,
    /// Where the parts of the value stand.
    pub lines: Lines,
}

impl Document {
    /// Returns the line of the key or item at a path; list items are numbered from 0.
    pub fn line_of(&self, path: &[&str]) -> Option<usize> {
        if path.is_empty() { Some(self.line) } else { self.lines.at(path) }
    }
}

/// The documents of a file and what is odd about them.
#[derive(Clone, PartialEq, Debug)]
pub struct Loaded {
    /// All documents that hold something, in order.
    pub documents: Vec<Document>,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads all documents of a file; empty ones are left out.
pub fn load(file: &str, text: &str, dialect: Dialect) -> Result<Loaded, Vec<Diagnostic>> {
    let source = Source { file, text, max_bytes: MAX_FILE_BYTES, max_depth: MAX_YAML_DEPTH };
    read(&source, dialect, Compare::One, Tags::Dropped, Annotations::AsOthers)
}

/// Reads all documents of a resource file as `kustomize build` does, and warns of scalars that kubectl reads differently.
/// Annotations are texts as they are written, whatever they look like.
pub fn load_resources(file: &str, text: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let source = Source { file, text, max_bytes: MAX_FILE_BYTES, max_depth: MAX_YAML_DEPTH };
    read(&source, Dialect::Gomplate, Compare::Both, Tags::Dropped, Annotations::Texts)
}

/// Reads a file of strategic patches as `load_resources` reads resources; a null deletes an annotation.
pub fn load_patches(file: &str, text: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let source = Source { file, text, max_bytes: MAX_FILE_BYTES, max_depth: MAX_YAML_DEPTH };
    read(&source, Dialect::Gomplate, Compare::Both, Tags::Dropped, Annotations::TextsAndNulls)
}

/// Reads the one document of a manifest, config file or kustomization. Nothing when the file is empty; a second document
/// is an error, because every tool would silently ignore it.
///
/// Warnings are dropped: duplicate keys are errors in our own files, and dates are the reader's business.
pub fn load_one(file: &str, text: &str, dialect: Dialect) -> Result<Option<Document>, Vec<Diagnostic>> {
    let source = Source { file, text, max_bytes: MAX_MANIFEST_BYTES, max_depth: MAX_MANIFEST_DEPTH };
    let loaded = read(&source, dialect, Compare::One, Tags::Refused, Annotations::AsOthers)?;
    let mut documents = loaded.documents.into_iter();
    let first = documents.next();
    match documents.next() {
        None => Ok(first),
        Some(second) => Err(vec![
            Diagnostic::error("Y108", file, second.line, "the file holds a second document where one is wanted")
                .with_hint("remove everything from the second --- on"),
        ]),
    }
}

/// Returns what a scalar without quotes means to `kustomize build`; a time stays its text.
pub fn plain_scalar(text: &str) -> Value {
    match scalar::read(text, Dialect::Gomplate) {
        scalar::Reading::Null => Value::Null,
        scalar::Reading::Bool(flag) => Value::Bool(flag),
        scalar::Reading::Number(number) => Value::Number(number),
        scalar::Reading::NotFinite | scalar::Reading::Time(_) | scalar::Reading::Text => Value::from(text),
    }
}

/// Turns floats without a fraction into integers, everywhere in a value, as JSON cannot tell them apart.
pub fn plain_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(scalar::as_json(number)),
        Value::Array(items) => items.into_iter().map(plain_numbers).collect(),
        Value::Object(mut map) => {
            map.values_mut().for_each(|item| *item = plain_numbers(std::mem::take(item)));
            Value::Object(map)
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

/// A text and the limits it must keep.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
    max_bytes: usize,
    max_depth: usize,
}

fn read(
    source: &Source<'_>,
    dialect: Dialect,
    compare: Compare,
    tags: Tags,
    annotations: Annotations,
) -> Result<Loaded, Vec<Diagnostic>> {
    let Source { file, text, max_bytes, max_depth } = *source;
    if text.len() > max_bytes {
        let message = format!("the file is refused: {} bytes, at most {max_bytes} are read", text.len());
        return Err(vec![Diagnostic::error("Y120", file, 1, message)]);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tree = tree::parse(file, text, max_depth).map_err(|finding| vec![*finding])?;
    let mut builder = Builder::new(file, &tree, dialect, compare, tags);
    builder.annotations = annotations;
    let mut documents = Vec::new();
    for root in &tree.roots {
        let (value, lines) = builder.value(*root);
        if !value.is_null() {
            documents.push(Document { value, line: lines.line, lines });
        }
    }
    let diagnostics = builder.findings;
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics.into_iter().filter(Diagnostic::is_error).collect());
    }
    Ok(Loaded { documents, diagnostics })
}
