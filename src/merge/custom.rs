//! Pure. How the lists of an app's own types are told apart: by what its custom resource definitions mark, and by `listKeys` of the
//! package's manifest.
//!
//! What the sides say counts together, because either may hold objects that only its own definition describes.
//! Not here: the types that Kubernetes brings (`schema`), guesses from the items (`align`).

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::rules::{ListKey, Subject};
use super::tree::{Three, is_beside};
use crate::base::RepoPath;
use crate::model::{File, FileTree};
use crate::schema::{KeyField, ListForm, ListKeys, ListRule};
use crate::yaml::{self, Dialect};

/// The kind of a document that describes others.
const DEFINITION: &str = "CustomResourceDefinition";
/// The step of a path that stands for any name.
const ANY: &str = "*";
/// Lists of one app that are described; further ones are told apart by their items.
const MAX_LISTS: usize = 20_000;

/// Returns the lists that the definitions in the trees describe.
pub(super) fn from_definitions(trees: Three<&FileTree>) -> Vec<ListKey> {
    by_weight(trees.map(|tree| {
        let mut found = Vec::new();
        in_files(tree.iter(), |text| text.contains(DEFINITION), &mut found);
        found
    }))
}

/// Returns what is said of lists, what counts most first: what ours alone says, then theirs, so that a second merge, whose ours is the
/// result of the first, goes by the same.
fn by_weight(said: Three<Vec<ListKey>>) -> Vec<ListKey> {
    let Three { base, ours, theirs } = said;
    let known: HashSet<&ListKey> = base.iter().collect();
    let (old, new): (Vec<ListKey>, Vec<ListKey>) = ours.into_iter().partition(|list| known.contains(list));
    new.into_iter().chain(theirs).chain(old).chain(base.iter().cloned()).collect()
}

/// Returns the lists of an app's types that definitions in other apps of the instance describe. Only definitions of a group that the app
/// has objects of are read.
pub fn definitions_elsewhere(directory: &str, instance: &FileTree, app: [&FileTree; 2]) -> Vec<ListKey> {
    let texts = app.into_iter().flat_map(FileTree::iter).filter_map(|(_, file)| file.as_text());
    let versions =
        texts.flat_map(str::lines).filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("apiVersion:"));
    let group =
        |version: &str| version.trim().trim_matches(['"', '\'']).split_once('/').map(|(group, _)| group.to_owned());
    let groups: BTreeSet<String> = versions.filter_map(group).filter(|group| group.contains('.')).collect();
    let is_meant = |text: &str| text.contains(DEFINITION) && groups.iter().any(|group| text.contains(&**group));
    let elsewhere = instance.iter().filter(|(path, _)| path.is_within("apps") && !path.is_within(directory));
    let mut found = Vec::new();
    in_files(elsewhere.filter(|(path, _)| !is_beside(path)), is_meant, &mut found);
    found
}

fn in_files<'a>(
    files: impl Iterator<Item = (&'a RepoPath, &'a File)>,
    is_meant: impl Fn(&str) -> bool,
    found: &mut Vec<ListKey>,
) {
    let text = |(path, file): (&'a RepoPath, &'a File)| Some((path, file.as_text().filter(|text| is_meant(text))?));
    for (path, text) in files.filter(|(path, _)| path.is_yaml()).filter_map(text) {
        for definition in documents(path, text) {
            in_definition(&definition, found);
        }
    }
}

/// Returns the lists that the manifests of a package describe: a dotted path of fields, behind a kind where only that is meant, and the key.
pub(super) fn from_manifests(trees: Three<&FileTree>) -> Vec<ListKey> {
    by_weight(trees.map(in_manifests))
}

fn in_manifests(tree: &FileTree) -> Vec<ListKey> {
    let mut found = Vec::new();
    let is_manifest = |path: &RepoPath| path.name() == "manifest.yaml" && path.as_str().split('/').count() == 3;
    let files = tree.iter().filter(|(path, _)| is_manifest(path));
    for (path, text) in files.filter_map(|(path, file)| Some((path, file.as_text()?))) {
        let lists = documents(path, text).into_iter().filter_map(|it| it.get("listKeys")?.as_object().cloned());
        for (place, rule) in lists.flatten() {
            let Some(rule) = rule.as_str().and_then(ListRule::parse) else { continue };
            let mut path: Vec<String> = place.split('.').map(str::to_owned).collect();
            let is_kind = path.first().is_some_and(|first| first.starts_with(|c: char| c.is_ascii_uppercase()));
            let kind = is_kind.then(|| path.remove(0));
            found.push(ListKey { group: None, kind, path, rule });
        }
    }
    found
}

impl ListKey {
    /// Returns whether a list of a document is meant.
    pub(super) fn fits(&self, subject: &Subject, path: &[&str]) -> bool {
        let is_step = |(known, step): (&String, &&str)| known == ANY || known == step;
        self.group.as_ref().is_none_or(|group| *group == subject.group)
            && self.kind.as_ref().is_none_or(|kind| *kind == subject.kind)
            && self.path.len() == path.len()
            && self.path.iter().zip(path).all(is_step)
    }
}

fn documents(path: &RepoPath, text: &str) -> Vec<Value> {
    let loaded = yaml::load(path.as_str(), text, Dialect::Kube);
    loaded.map(|loaded| loaded.documents.into_iter().map(|document| document.value).collect()).unwrap_or_default()
}

fn in_definition(definition: &Value, found: &mut Vec<ListKey>) {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let (Some(DEFINITION), Some(group), Some(kind)) =
        (definition.get("kind").and_then(Value::as_str), text("/spec/group"), text("/spec/names/kind"))
    else {
        return;
    };
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let is_served = |version: &&Value| version.get("served") != Some(&Value::Bool(false));
    for schema in versions.filter(is_served).filter_map(|version| version.pointer("/schema/openAPIV3Schema")) {
        let mut walk = Walk { group: &group, kind: &kind, path: Vec::new(), found: &mut *found };
        walk.schema(schema);
    }
}

struct Walk<'a> {
    group: &'a str,
    kind: &'a str,
    path: Vec<String>,
    found: &'a mut Vec<ListKey>,
}

impl Walk<'_> {
    /// Looks through a schema; how deep it goes is bounded by the loader.
    fn schema(&mut self, schema: &Value) {
        if self.found.len() >= MAX_LISTS {
            return;
        }
        if let Some(items) = schema.get("items") {
            self.list(schema, items);
            // The items of a list are no step of a path.
            return self.fields(items);
        }
        self.fields(schema);
    }

    fn fields(&mut self, schema: &Value) {
        for (name, below) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.step(name, below);
        }
        if let Some(below) = schema.get("additionalProperties").filter(|below| below.is_object()) {
            self.step(ANY, below);
        }
    }

    fn step(&mut self, name: &str, below: &Value) {
        self.path.push(name.to_owned());
        self.schema(below);
        self.path.pop();
    }

    fn list(&mut self, schema: &Value, items: &Value) {
        let form = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("map") => ListForm::Keyed(keys(schema, items.get("properties").and_then(Value::as_object))),
            Some("set") => ListForm::Set,
            // How the server owns a list does not bind a merge of texts.
            Some(_) | None => return,
        };
        let (group, kind) = (Some(self.group.to_owned()), Some(self.kind.to_owned()));
        let rule = ListRule { form, is_ordered: false };
        self.found.push(ListKey { group, kind, path: self.path.clone(), rule });
    }
}

fn keys(schema: &Value, fields: Option<&Map<String, Value>>) -> ListKeys {
    let names = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array).into_iter().flatten();
    let default = |name: &str| match fields?.get(name)?.get("default")? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let field = |name: &str| KeyField { path: vec![name.to_owned()], default: default(name) };
    ListKeys { primary: vec![names.filter_map(Value::as_str).map(field).collect()], alternate: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::definitions_elsewhere;
    use crate::base::RepoPath;
    use crate::merge::{Rules, Three, merge};
    use crate::model::{File, FileTree};

    const DEFINITION: &str =
        include_str!("../../fixtures/merge/51-a-definition-in-the-package-gives-the-key-of-a-list/base/crd.yaml");

    fn tree(path: &str, text: &str) -> FileTree {
        [(RepoPath::parse(path).unwrap(), File::text(text))].into_iter().collect()
    }

    #[test]
    fn a_definition_in_another_app_says_how_lists_are_told_apart() {
        let shelf = |boards: &str| {
            let head =
                "apiVersion: quarry.example/v1\nkind: Shelf\nmetadata:\n  name: s\nspec:\n  boards:\n  - row: 1\n";
            tree("apps/a/shelf.yaml", &format!("{head}{boards}"))
        };
        let (base, ours) = (shelf(""), shelf("  - row: 2\n    paint: red\n"));
        let theirs = shelf("  - row: 2\n    side: left\n    wood: oak\n");
        let boards = |instance: &FileTree| {
            let custom = definitions_elsewhere("apps/a", instance, [&ours, &theirs]);
            let rules = Rules { custom, ..Rules::default() };
            let merged = merge(Three { base: &base, ours: &ours, theirs: &theirs }, &rules);
            merged.files.text("apps/a/shelf.yaml").unwrap().matches("row: 2").count()
        };
        assert_eq!(boards(&tree("apps/operator/crd.yaml", DEFINITION)), 1);
        for (path, definition) in [
            ("apps/operator/.package/crd.yaml", DEFINITION.to_owned()),
            ("docs/crd.yaml", DEFINITION.to_owned()),
            ("apps/operator/crd.yaml", DEFINITION.replace("quarry.example", "other.example")),
        ] {
            assert_eq!(boards(&tree(path, &definition)), 2, "{path}");
        }
    }
    #[test]
    fn a_key_that_upstream_changed_counts_in_the_first_merge_as_in_the_second() {
        let app = |key: &str, parts: &str| -> FileTree {
            let manifest = format!("name: a\nlistKeys:\n  Odd.parts: {key}\n");
            let odd = format!("kind: Odd\nmetadata:\n  name: odd\nparts:\n{parts}");
            let file = |path: &str, text: &str| (RepoPath::parse(path).unwrap(), File::text(text));
            [file("apps/a/manifest.yaml", &manifest), file("apps/a/odd.yaml", &odd)].into_iter().collect()
        };
        let base = app("sku", "- {sku: a1, size: 1}\n- {sku: b2, size: 2}\n");
        let ours = app("sku", "- {sku: b2, size: 2, hue: red}\n- {sku: a1, size: 1}\n");
        for key in ["size", "none"] {
            let theirs = app(key, "- {sku: a0, size: 1}\n- {sku: b2, size: 20}\n- {sku: c3, size: 3}\n");
            let merged = |ours| merge(Three { base: &base, ours, theirs: &theirs }, &Rules::default());
            let first = merged(&ours);
            assert_eq!(merged(&first.files).files, first.files, "{key}");
        }
    }
}
