//! Pure. Kustomizations: entries whose file is not there, files that no entry names, fields that a kustomization sets in two
//! ways.
//!
//! Not here: building (`kustomize`), entries that follow a file whose fate is open (`links`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Finding, Placed, Scene, Spot, containers, list, nothing_named, parts_of_image, pods, text};
use crate::base::RepoPath;
use crate::model::Object;
use crate::yaml;

/// Lists of a kustomization whose items name files or directories.
const FILE_LISTS: [&str; 10] = [
    "resources",
    "components",
    "bases",
    "crds",
    "configurations",
    "generators",
    "transformers",
    "validators",
    "patchesStrategicMerge",
    "patches",
];
/// Lists of a generator that name files.
const GENERATOR_LISTS: [&str; 2] = ["files", "envs"];
/// Generators and the kinds that they make.
const GENERATORS: [(&str, &str); 2] = [("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")];

/// A kustomization of a tree.
pub(super) struct Kustomization {
    pub(super) path: RepoPath,
    pub(super) value: Value,
}

impl Kustomization {
    /// Returns whether it generates an object.
    pub(super) fn generates(&self, kind: &str, name: &str) -> bool {
        let lists = GENERATORS.iter().filter(|(_, made)| *made == kind);
        lists.flat_map(|(field, _)| list(&self.value, field)).any(|it| text(it, "name") == Some(name))
    }

    /// Returns the files and directories that it names, with the field that does.
    fn entries(&self) -> Vec<(&'static str, &str)> {
        let mut found = Vec::new();
        for field in FILE_LISTS {
            found.extend(list(&self.value, field).filter_map(named).map(|entry| (field, entry)));
        }
        for (field, _) in GENERATORS {
            for generator in list(&self.value, field) {
                let items = GENERATOR_LISTS.iter().flat_map(|key| list(generator, key)).filter_map(Value::as_str);
                found.extend(items.map(|item| (field, item.rsplit_once('=').map_or(item, |(_, file)| file))));
            }
        }
        // A patch may stand in the list itself, and what lies elsewhere is nobody's file here.
        found.retain(|(_, entry)| !entry.contains('\n') && !entry.contains("//") && !entry.contains(':'));
        found
    }

    /// Returns where an entry leads; nothing if it leaves the repository.
    fn target(&self, entry: &str) -> Option<RepoPath> {
        let mut steps: Vec<&str> = self.path.as_str().split('/').collect();
        steps.pop();
        for step in entry.split('/') {
            match step {
                "" | "." => {}
                ".." => {
                    steps.pop()?;
                }
                step => steps.push(step),
            }
        }
        RepoPath::parse(&steps.join("/")).ok()
    }

    /// Makes a finding about a field of it.
    fn finding(&self, field: &str, what: String, steps: Vec<Vec<Spot>>) -> Finding {
        let (file, object) = (self.path.clone(), self.path.name().to_owned());
        Finding { file, object, field: field.to_owned(), what, repair: None, missing: None, steps }
    }
}

/// Returns the file that an item names.
fn named(item: &Value) -> Option<&str> {
    item.as_str().or_else(|| text(item, "path"))
}

/// Adds what is wrong with the kustomizations.
pub(super) fn look(scene: &Scene, found: &mut BTreeSet<Finding>) {
    let mut covered = BTreeSet::new();
    for it in &scene.kustomizations {
        for (field, entry) in it.entries() {
            let Some(target) = it.target(entry) else { continue };
            if !scene.paths.contains(&target) && !scene.paths.iter().any(|path| path.is_within(target.as_str())) {
                let what = nothing_named(entry, "a file or directory");
                let steps = vec![vec![whole(&target)], vec![whole(&it.path)]];
                found.insert(it.finding(field, what, steps));
            }
            covered.insert(target);
        }
        in_two_ways(it, scene, found);
    }
    for (file, kustomization) in loose(scene, &covered) {
        let what = format!("no kustomization names {}, so its objects are left out", file.name());
        let steps = vec![vec![whole(file)], vec![whole(&kustomization.path)]];
        found.insert(kustomization.finding("resources", what, steps));
    }
}

fn whole(path: &RepoPath) -> Spot {
    (path.to_string(), String::new())
}

/// Returns the files with objects that no kustomization names although one stands beside or above them.
fn loose<'a>(scene: &'a Scene, covered: &BTreeSet<RepoPath>) -> BTreeMap<&'a RepoPath, &'a Kustomization> {
    let above = |file: &RepoPath| {
        let directory = |it: &&Kustomization| it.path.parent().is_some_and(|parent| file.is_within(parent.as_str()));
        scene.kustomizations.iter().find(directory)
    };
    let files = scene.placed.iter().map(|it| &it.file).filter(|file| !covered.contains(*file));
    files.filter_map(|file| Some((file, above(file)?))).collect()
}

/// A patch of a kustomization, with its file where it has one of its own.
struct Patch {
    file: Option<RepoPath>,
    /// Name of the object that it changes.
    target: String,
    sets_replicas: bool,
    /// Images that it sets, without tag and digest.
    images: BTreeSet<String>,
}

/// Adds replica counts and images that both an entry of their own and a patch set.
fn in_two_ways(it: &Kustomization, scene: &Scene, found: &mut BTreeSet<Finding>) {
    let patches = patches(it, scene);
    let steps = |patch: &Patch| {
        let file = patch.file.iter().map(whole).collect();
        vec![vec![whole(&it.path)], file]
    };
    for name in list(&it.value, "replicas").filter_map(|entry| text(entry, "name")) {
        for patch in patches.iter().filter(|patch| patch.sets_replicas && patch.target == name) {
            let what = format!("the replicas of {name} are set under replicas and by a patch");
            found.insert(it.finding("replicas", what, steps(patch)));
        }
    }
    for name in list(&it.value, "images").filter_map(|entry| text(entry, "name")) {
        for patch in patches.iter().filter(|patch| patch.images.contains(name)) {
            let what = format!("the image {name} of {} is set under images and by a patch", patch.target);
            found.insert(it.finding("images", what, steps(patch)));
        }
    }
}

fn patches(it: &Kustomization, scene: &Scene) -> Vec<Patch> {
    let mut found = Vec::new();
    let items = ["patches", "patchesStrategicMerge", "patchesJson6902"].into_iter().flat_map(|f| list(&it.value, f));
    for item in items {
        let target = item.get("target").and_then(|target| text(target, "name")).unwrap_or("");
        let inline = text(item, "patch").or_else(|| item.as_str().filter(|text| text.contains('\n')));
        if let Some(inline) = inline {
            let loaded = yaml::load(it.path.as_str(), inline, yaml::Dialect::Kube);
            let values = loaded.map(|loaded| loaded.documents).unwrap_or_default();
            found.extend(values.into_iter().map(|document| patch(None, target, &document.value)));
            continue;
        }
        let file = text(item, "path").or_else(|| item.as_str()).and_then(|entry| it.target(entry));
        let own = |placed: &&Placed| file.as_ref() == Some(&placed.file);
        let objects = scene.placed.iter().filter(own).map(|placed| placed.object.to_value());
        found.extend(objects.map(|value| patch(file.clone(), target, &value)));
    }
    found
}

/// Reads a patch: a part of an object, or a list of operations.
fn patch(file: Option<RepoPath>, target: &str, value: &Value) -> Patch {
    if let Value::Array(operations) = value {
        let paths: Vec<&str> = operations.iter().filter_map(|it| text(it, "path")).collect();
        let sets_replicas = paths.contains(&"/spec/replicas");
        let images = operations.iter().filter(|it| text(it, "path").is_some_and(|path| path.ends_with("/image")));
        let images =
            images.filter_map(|it| text(it, "value")).map(|image| parts_of_image(image).0.to_owned()).collect();
        return Patch { file, target: target.to_owned(), sets_replicas, images };
    }
    let object = Object::from_value(value.clone()).unwrap_or_default();
    let pods = pods(&object);
    let containers = pods.iter().flat_map(|(path, pod)| containers(path, pod));
    let images = containers
        .filter_map(|(_, container)| text(container, "image"))
        .map(|image| parts_of_image(image).0.to_owned())
        .collect();
    let target = if target.is_empty() { object.name() } else { target }.to_owned();
    Patch { file, target, sets_replicas: object.at(&["spec", "replicas"]).is_some(), images }
}
