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
mod weight;

use serde_json::Value;

use crate::model::{Diagnostic, FileTree, Object};
use crate::yaml;

use item::Item;
use layer::Builder;
pub use layer::FILE_NAMES;
pub use weight::MAX_BUILD_BYTES;
use weight::Meter;

/// The objects of a build and what is odd about its files.
#[derive(Clone, PartialEq, Debug)]
pub struct Built {
    /// All objects, in the order in which `kustomize build` prints them.
    pub objects: Vec<BuiltObject>,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// About how many bytes of memory they take, with what was made on the way to them.
    pub bytes: usize,
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
    run(&mut Builder::new(tree, directory, MAX_BUILD_BYTES), directory)
}

/// Builds as `build` does, or returns nothing if that takes more memory than some bytes.
pub fn build_small(tree: &FileTree, directory: &str, most: usize) -> Option<Result<Built, Vec<Diagnostic>>> {
    let mut builder = Builder::new(tree, directory, most);
    let built = run(&mut builder, directory);
    (!builder.meter.is_over()).then_some(built)
}

fn run(builder: &mut Builder<'_>, directory: &str) -> Result<Built, Vec<Diagnostic>> {
    let root = builder.directory(directory)?;
    let mut items = root.items;
    generate::append_hashes(&mut items);
    references::follow(&mut items, &builder.meter)?;
    items.retain(|item| !is_local(&item.object));
    if items.is_empty() {
        return refuse("K121", &root.file, 1, "the build holds no object");
    }
    root.order.sort(&mut items);
    let bytes = builder.meter.taken();
    Ok(Built {
        objects: items.into_iter().map(built).collect(),
        diagnostics: std::mem::take(&mut builder.diagnostics),
        bytes,
    })
}

/// Refuses the files of an app whose YAML would take more memory together than a build may: whoever compares whole apps reads all of it, also
/// what no kustomization names. The package as it is upstream, beside them, is read with the package.
pub fn check_size(tree: &FileTree, directory: &str) -> Result<(), Vec<Diagnostic>> {
    let beside = format!("{directory}/.");
    let below = format!("{directory}/");
    let files = || {
        let own = |path: &str| path.starts_with(&below) && !path.starts_with(&beside);
        tree.iter().filter(move |(path, _)| path.is_yaml() && own(path.as_str()))
    };
    let texts = || files().filter_map(|(path, file)| Some((path.as_str(), file.as_text()?)));
    let meter = Meter::new(MAX_BUILD_BYTES);
    if texts().all(|(_, text)| meter.take(weight::foreseen(text))) {
        return Ok(());
    }
    // What cannot be told by a look is read, one file after the other.
    let meter = Meter::new(MAX_BUILD_BYTES);
    for (path, text) in texts() {
        let Ok(loaded) = yaml::load(path, text, yaml::Dialect::Kube) else { continue };
        for document in &loaded.documents {
            meter.spend(weight::of_value(&document.value), path, document.line)?;
        }
    }
    Ok(())
}

/// Prints a build as `kustomize build` does, byte for byte.
pub fn render(built: &Built) -> String {
    let documents = built.objects.iter().map(|built| yaml::write_sorted_map(&built.object.0));
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
