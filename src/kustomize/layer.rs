//! Pure. One directory of a build: gathers its objects and lets its changes work on them in kustomize's order.
//!
//! Not here: the changes (`patches.rs`, `rename.rs`, `labels.rs`, `images.rs`), what follows once at the root (`mod.rs`).

use serde_json::Value;

use super::item::{Item, check_distinct, with_plain_numbers};
use super::kustomization::{Kustomization, Role, read};
use super::order::Order;
use super::weight::{Meter, of_object};
use super::{Refusal, fields, generate, images, labels, patches, refuse, rename, replacements};
use crate::model::{Diagnostic, FileTree};
use crate::yaml::{load_resources, objects_of};

/// Objects of one build.
const MAX_OBJECTS: usize = 5_000;
/// Directories inside directories.
const MAX_DIRECTORY_DEPTH: usize = 16;
/// Directories of one build; the same directory may be named by several others.
const MAX_DIRECTORIES: usize = 1_000;
/// Names of kustomization files, in the order in which kustomize looks for them.
pub const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
/// Fields of `spec` that `replicas` sets, by kind.
const SCALED: [&str; 4] = ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"];

/// What a directory makes.
pub(super) struct Layer {
    pub(super) items: Vec<Item>,
    pub(super) file: String,
    pub(super) order: Order,
}

/// Builds directories of one tree.
pub(super) struct Builder<'a> {
    tree: &'a FileTree,
    /// Nothing above this directory is read.
    top: String,
    /// Directories that are being built, the outermost first.
    open: Vec<String>,
    directories: usize,
    pub(super) meter: Meter,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// What a path in a kustomization leads to.
enum Found {
    File(String),
    Directory(String),
}

impl<'a> Builder<'a> {
    pub(super) fn new(tree: &'a FileTree, top: &str, most: usize) -> Self {
        Self {
            tree,
            top: top.to_owned(),
            open: Vec::new(),
            directories: 0,
            meter: Meter::new(most),
            diagnostics: Vec::new(),
        }
    }

    /// Builds a directory on its own.
    pub(super) fn directory(&mut self, directory: &str) -> Result<Layer, Refusal> {
        let kustomization = self.kustomization(directory)?;
        if kustomization.role == Role::Component {
            return refuse("K105", &kustomization.file, 1, "a Component belongs under components");
        }
        let mut items = Vec::new();
        self.layer(directory, &kustomization, &mut items)?;
        Ok(Layer { items, file: kustomization.file, order: kustomization.order })
    }

    /// Lets a directory work on objects. Recursion is bounded by the depth of directories.
    fn layer(&mut self, directory: &str, kustomization: &Kustomization, items: &mut Vec<Item>) -> Result<(), Refusal> {
        self.open.push(directory.to_owned());
        self.directories += 1;
        if self.open.len() > MAX_DIRECTORY_DEPTH || self.directories > MAX_DIRECTORIES {
            let message = "more than 16 directories inside each other, or more than 1,000 in all";
            return refuse("K132", &kustomization.file, 1, message);
        }
        let before = items.len();
        for (path, line) in &kustomization.resources {
            self.resource(directory, &kustomization.file, (path, *line), items)?;
            if items.len() > MAX_OBJECTS {
                return refuse("K120", &kustomization.file, *line, "the build holds more than 5,000 objects");
            }
        }
        check_distinct(items, before)?;
        generate::run(self, directory, kustomization, items)?;
        for (path, line) in &kustomization.components {
            self.component(directory, &kustomization.file, (path, *line), items)?;
        }
        self.change(directory, kustomization, items)?;
        self.open.pop();
        Ok(())
    }

    /// Lets the changes of a kustomization work, in an order that does not depend on the file.
    fn change(&mut self, directory: &str, kustomization: &Kustomization, items: &mut Vec<Item>) -> Result<(), Refusal> {
        patches::apply_strategic(self, directory, kustomization, items)?;
        patches::apply(self, directory, kustomization, items)?;
        rename::set_namespace(kustomization, items, &self.meter)?;
        rename::add_affixes(kustomization, items, &self.meter)?;
        labels::add_labels(kustomization, items, &self.meter)?;
        labels::add_annotations(kustomization, items, &self.meter)?;
        patches::apply_json(self, directory, kustomization, items)?;
        scale(kustomization, items)?;
        images::replace(kustomization, items, &self.meter)?;
        replacements::apply(self, directory, kustomization, items)
    }

    fn resource(
        &mut self,
        directory: &str,
        file: &str,
        (path, line): (&str, usize),
        items: &mut Vec<Item>,
    ) -> Result<(), Refusal> {
        match self.find(directory, file, (path, line))? {
            Found::File(found) => {
                let found = self.objects(&found)?;
                items.extend(found);
            }
            Found::Directory(found) => {
                self.check_cycle(&found, file, line)?;
                items.extend(self.directory(&found)?.items);
            }
        }
        Ok(())
    }

    fn component(
        &mut self,
        directory: &str,
        file: &str,
        (path, line): (&str, usize),
        items: &mut Vec<Item>,
    ) -> Result<(), Refusal> {
        let Found::Directory(found) = self.find(directory, file, (path, line))? else {
            return refuse("K105", file, line, format!("the component {path:?} is no directory"));
        };
        self.check_cycle(&found, file, line)?;
        let kustomization = self.kustomization(&found)?;
        if kustomization.role == Role::Kustomization {
            return refuse("K105", &kustomization.file, 1, "only a Component belongs under components");
        }
        self.layer(&found, &kustomization, items)
    }

    /// Reads the objects of a file.
    fn objects(&mut self, path: &str) -> Result<Vec<Item>, Refusal> {
        let text = self.text(path, path, 0)?;
        let loaded = load_resources(path, text)?;
        self.diagnostics.extend(loaded.diagnostics);
        let objects = objects_of(path, loaded.documents)?;
        for loaded in &objects {
            self.meter.spend(of_object(&loaded.object), path, loaded.line)?;
        }
        let item = |loaded: crate::yaml::LoadedObject| {
            let mut item = Item::new(with_plain_numbers(loaded.object), path, loaded.line);
            item.make_annotations_texts();
            item
        };
        Ok(objects.into_iter().map(item).collect())
    }

    fn kustomization(&self, directory: &str) -> Result<Kustomization, Refusal> {
        let mut present = FILE_NAMES.iter().map(|name| join(directory, name)).filter(|path| self.tree.contains(path));
        let shown = if directory.is_empty() { "." } else { directory };
        let Some(path) = present.next() else {
            return refuse("K102", shown, 0, "the directory holds no kustomization.yaml");
        };
        if let Some(second) = present.next() {
            return refuse("K101", &second, 0, format!("there is a second kustomization beside {path}"));
        }
        read(&path, self.text(&path, &path, 0)?)
    }

    /// Returns the text of a file.
    pub(super) fn text(&self, path: &str, from: &str, line: usize) -> Result<&'a str, Refusal> {
        match self.tree.text(path) {
            Some(text) => {
                self.meter.foresee(text, path)?;
                Ok(text)
            }
            None => refuse("K108", from, line, format!("{path} is no UTF-8 text")),
        }
    }

    /// Returns the bytes of a file that a kustomization names; it must lie in or below the directory.
    pub(super) fn bytes(&self, directory: &str, file: &str, (path, line): (&str, usize)) -> Result<&'a [u8], Refusal> {
        match self.find(directory, file, (path, line))? {
            Found::File(found) => Ok(self.tree.get(&found).map_or(&[], |file| file.bytes.as_ref())),
            Found::Directory(_) => refuse("K108", file, line, format!("{path} is a directory")),
        }
    }

    /// Returns the path and text of a file that a kustomization names.
    pub(super) fn named_text(
        &self,
        directory: &str,
        file: &str,
        (path, line): (&str, usize),
    ) -> Result<(String, &'a str), Refusal> {
        match self.find(directory, file, (path, line))? {
            Found::File(found) => {
                let text = self.text(&found, file, line)?;
                Ok((found, text))
            }
            Found::Directory(_) => refuse("K108", file, line, format!("{path} is a directory")),
        }
    }

    fn find(&self, directory: &str, file: &str, (path, line): (&str, usize)) -> Result<Found, Refusal> {
        if path.contains("://") || path.starts_with("git@") || path.contains("?ref=") {
            return remote(path, file, line);
        }
        let outside = || refuse("K131", file, line, format!("the path {path:?} leads out of the app's directory"));
        if path.starts_with('/') || path.contains('\\') {
            return outside();
        }
        let mut steps: Vec<&str> = directory.split('/').filter(|step| !step.is_empty()).collect();
        for step in path.split('/') {
            match step {
                "" | "." => {}
                ".." => {
                    if steps.pop().is_none() {
                        return outside();
                    }
                }
                _ => steps.push(step),
            }
        }
        let found = steps.join("/");
        if !is_within(&found, &self.top) {
            return outside();
        }
        if self.tree.contains(&found) {
            if !is_within(&found, directory) {
                let message = format!("the file {path:?} lies outside of the directory that names it");
                return refuse("K131", file, line, message);
            }
            return Ok(Found::File(found));
        }
        if found.is_empty() || self.tree.holds_below(&found) {
            return Ok(Found::Directory(found));
        }
        // A host as first step is how kustomize writes a remote directory without a scheme.
        let host = path.split('/').next().unwrap_or("");
        if host.contains('.') && !host.starts_with('.') && path.split('/').count() > 2 {
            return remote(path, file, line);
        }
        refuse("K108", file, line, format!("there is no file or directory {path:?}"))
    }

    fn check_cycle(&self, directory: &str, file: &str, line: usize) -> Result<(), Refusal> {
        let current = self.open.last().map_or("", String::as_str);
        if directory == current || is_within(current, directory) {
            return refuse("K131", file, line, "a directory cannot build itself or one that it lies in");
        }
        if self.open.iter().any(|open| open == directory) {
            return refuse("K132", file, line, format!("the directories build each other in a circle: {directory}"));
        }
        Ok(())
    }
}

fn remote<T>(path: &str, file: &str, line: usize) -> Result<T, Refusal> {
    let mut refusal =
        refuse::<()>("K130", file, line, format!("{path} is fetched from elsewhere")).err().unwrap_or_default();
    refusal.iter_mut().for_each(|finding| "copy it into the package".clone_into(&mut finding.hint));
    Err(refusal)
}

/// Sets the replicas of workloads.
fn scale(kustomization: &Kustomization, items: &mut [Item]) -> Result<(), Refusal> {
    for entry in &kustomization.replicas {
        let mut found = false;
        for item in items.iter_mut() {
            if item.is_or_was(|id| id.name == entry.name && SCALED.contains(&id.kind)) {
                found = true;
                fields::visit(&mut item.object, &["spec", "replicas"], fields::Missing::Scalar, &mut |value| {
                    *value = Value::from(entry.count);
                });
            }
        }
        if !found {
            let message = format!("replicas names {:?}, and no workload is called so", entry.name);
            return refuse("K112", &kustomization.file, entry.line, message);
        }
    }
    Ok(())
}

/// Returns a path below a directory; the top of the tree is the empty one.
pub(super) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

fn is_within(path: &str, directory: &str) -> bool {
    directory.is_empty() || path == directory || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}
