//! Pure. Builds the objects of a kustomization directory as `kustomize build` v5.8.1 does, from files that are values.
//!
//! Per directory: resources in list order, config map generators, secret generators, components, then the changes in a
//! fixed order (`layer.rs`). Once at the root: name hashes, name references, leaving out of local configuration, order.
//! No process is started and nothing is fetched; what would need that is refused by name.
//!
//! Not here: rendering of templates (`template`), what is applied in which order (`plan`).

mod fields;
mod generate;
mod images;
mod item;
mod json_patch;
mod kustomization;
mod labels;
#[cfg(test)]
mod laws;
mod layer;
mod order;
mod patches;
mod path;
mod reader;
mod references;
mod rename;
mod replacements;
mod selector;
mod strategic;
mod structured;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::model::{Diagnostic, FileTree, Object};

use item::Item;
use layer::Builder;
pub use layer::FILE_NAMES;

/// The objects of a build and what is odd about its files.
#[derive(Clone, PartialEq, Debug)]
pub struct Built {
    /// All objects, in the order in which `kustomize build` prints them.
    pub objects: Vec<BuiltObject>,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// One object and where it came from.
#[derive(Clone, PartialEq, Debug)]
pub struct BuiltObject {
    /// The object as it is to be applied.
    pub object: Object,
    /// The file that holds it, or the kustomization that generates it; relative to the tree.
    pub file: String,
    /// Line from 1 in that file.
    pub line: usize,
}

/// Why a build failed.
type Refusal = Vec<Diagnostic>;

/// Builds the kustomization in a directory of a tree; an empty directory name means the top of the tree.
///
/// A directory without any object is refused: an empty build must never read as a wish to delete everything.
pub fn build(tree: &FileTree, directory: &str) -> Result<Built, Vec<Diagnostic>> {
    let mut builder = Builder::new(tree, directory);
    let root = builder.directory(directory)?;
    let mut items = root.items;
    generate::append_hashes(&mut items);
    references::follow(&mut items)?;
    items.retain(|item| !is_local(&item.object));
    if items.is_empty() {
        return refuse("K121", &root.file, 1, "the build holds no object");
    }
    root.order.sort(&mut items);
    Ok(Built { objects: items.into_iter().map(built).collect(), diagnostics: builder.diagnostics })
}

/// Prints a build as `kustomize build` does, byte for byte.
pub fn render(built: &Built) -> String {
    let documents = built.objects.iter().map(|built| crate::yaml::write_sorted_map(&built.object.0));
    documents.collect::<Vec<_>>().join("---\n")
}

fn built(mut item: Item) -> BuiltObject {
    if !item.former.is_empty() {
        item.drop_empty_annotations();
    }
    BuiltObject { object: item.object, file: item.file, line: item.line }
}

/// Returns whether an object serves other objects of the build only and is never applied.
fn is_local(object: &Object) -> bool {
    object.annotation("config.kubernetes.io/local-config").is_some_and(|value| value != "false")
}

/// Returns an error at a place as the whole outcome.
fn refuse<T>(id: &str, file: &str, line: usize, message: impl Into<String>) -> Result<T, Refusal> {
    Err(vec![Diagnostic::error(id, file, line, message)])
}

/// Returns the map below a key, made if it is absent or something else.
fn child_map<'a>(
    map: &'a mut serde_json::Map<String, Value>,
    key: &str,
) -> Option<&'a mut serde_json::Map<String, Value>> {
    let slot = map.entry(key.to_owned()).or_insert_with(|| Value::Object(serde_json::Map::new()));
    if slot.is_null() {
        *slot = Value::Object(serde_json::Map::new());
    }
    slot.as_object_mut()
}
