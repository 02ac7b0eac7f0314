//! Pure. What two sides say together although each is fine alone: names that something refers to and nothing has, entries of
//! a kustomization without their file, fields that are set in two ways.
//!
//! Objects are read from the files as they are; what a kustomization adds to names is on both ends of a reference alike.
//! Not here: building (`kustomize`), what is done about a finding (`withdraw`), changes that are fine and still worth a look
//! (`caution`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::links::KUSTOMIZATIONS;
use crate::base::{Digest, Encoder, RepoPath};
use crate::model::{FileTree, Object};
use crate::yaml;

mod entries;
mod names;
mod ports;
#[cfg(test)]
mod tests;
mod unseen;

use entries::Kustomization;
pub(super) use unseen::{Blind, is_seen_in, is_unseen};

/// A field of an object, or a whole object or file where the field is empty.
pub(super) type Spot = (String, String);

/// Something that does not hold.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Finding {
    /// File of the object that refers to something.
    pub(super) file: RepoPath,
    /// That object.
    pub(super) object: String,
    /// Field that refers to something.
    pub(super) field: String,
    /// What is wrong, for people.
    pub(super) what: String,
    /// The only value that would do.
    pub(super) repair: Option<String>,
    /// Kind and name of the object that is missing, if that is it.
    pub(super) missing: Option<(String, String)>,
    /// What has a part in it: first what is put back at once, then what is put back if that was not enough.
    pub(super) steps: Vec<Vec<Spot>>,
}

impl Finding {
    /// Returns what two trees are compared by: what is wrong, whatever the object or container is called.
    pub(super) fn likeness(&self) -> (String, String) {
        (self.object.split(['/', ' ']).next().unwrap_or("").to_owned(), self.what.clone())
    }
}

/// An object with the file that holds it.
pub(super) struct Placed {
    pub(super) file: RepoPath,
    pub(super) object: Object,
}

/// The objects and kustomizations of a tree.
pub(super) struct Scene {
    placed: Vec<Placed>,
    kustomizations: Vec<Kustomization>,
    paths: BTreeSet<RepoPath>,
}

impl Scene {
    /// Reads the files of an app; a file that is no YAML holds nothing.
    pub(super) fn read(files: &FileTree) -> Self {
        let is_own = |path: &&RepoPath| !super::tree::is_beside(path);
        let paths: BTreeSet<RepoPath> = files.paths().filter(is_own).cloned().collect();
        let mut scene = Self { placed: Vec::new(), kustomizations: Vec::new(), paths };
        for (path, file) in files.iter().filter(|(path, _)| path.is_yaml() && is_own(path)) {
            let Some(text) = file.as_text() else { continue };
            let is_kustomization = KUSTOMIZATIONS.contains(&path.name());
            if !is_kustomization && !text.contains("kind:") {
                continue;
            }
            let Ok(loaded) = yaml::load(path.as_str(), text, yaml::Dialect::Kube) else { continue };
            let values = loaded.documents.into_iter().map(|document| document.value);
            if is_kustomization {
                scene.kustomizations.extend(values.map(|value| Kustomization { path: path.clone(), value }));
            } else {
                let objects = values.filter_map(Object::from_value).filter(|object| !object.kind().is_empty());
                scene.placed.extend(objects.map(|object| Placed { file: path.clone(), object }));
            }
        }
        scene
    }

    /// Returns everything that does not hold.
    pub(super) fn findings(&self) -> BTreeSet<Finding> {
        let mut found = BTreeSet::new();
        for it in &self.placed {
            names::look(it, self, &mut found);
            ports::look(it, self, &mut found);
        }
        entries::look(self, &mut found);
        found
    }

    /// Returns what declares an object: itself, the kustomization that generates it, or an object whose controller makes it.
    pub(super) fn declarers(&self, kind: &str, name: &str) -> Vec<Spot> {
        let mut found: Vec<Spot> = Vec::new();
        for it in &self.placed {
            let is_it = it.object.kind() == kind && it.object.name() == name;
            if is_it || kind == "Secret" && made_secret(&it.object) == Some(name) {
                found.push((it.object.id().to_string(), String::new()));
            }
        }
        let generating = self.kustomizations.iter().filter(|it| it.generates(kind, name));
        found.extend(generating.map(|it| (it.path.to_string(), String::new())));
        found
    }

    /// Returns the content of all objects and kustomizations that are named.
    pub(super) fn content(&self, names: &BTreeSet<&str>) -> Digest {
        let mut encoder = Encoder::new();
        for it in &self.placed {
            let name = it.object.id().to_string();
            if names.contains(name.as_str()) {
                encoder.text(&name).value(&it.object.to_value());
            }
        }
        for it in self.kustomizations.iter().filter(|it| names.contains(it.path.as_str())) {
            encoder.text(it.path.as_str()).value(&it.value);
        }
        encoder.digest()
    }

    fn named<'a>(&'a self, kind: &'a str, name: &'a str) -> impl Iterator<Item = &'a Placed> {
        self.placed.iter().filter(move |it| it.object.kind() == kind && it.object.name() == name)
    }
}

/// Returns the name of the Secret that a controller makes from an object.
fn made_secret(object: &Object) -> Option<&str> {
    let named = |path: &[&str]| object.at(path).and_then(Value::as_str);
    match object.kind() {
        "Certificate" => named(&["spec", "secretName"]),
        "ExternalSecret" => named(&["spec", "target", "name"]).or(Some(object.name())),
        "SealedSecret" => named(&["spec", "template", "metadata", "name"]).or(Some(object.name())),
        _ => None,
    }
}

/// Returns the pod specs of an object, each with its path.
pub(super) fn pods(object: &Object) -> Vec<(String, &Value)> {
    let paths: [&[&str]; 3] =
        [&["spec", "template", "spec"], &["spec", "jobTemplate", "spec", "template", "spec"], &["spec"]];
    let is_pod = |spec: &&Value| spec.get("containers").is_some_and(Value::is_array);
    paths.into_iter().filter_map(|path| Some((path.join("."), object.at(path).filter(is_pod)?))).collect()
}

/// Returns the containers of a pod spec, each with its path.
pub(super) fn containers<'a>(path: &str, pod: &'a Value) -> Vec<(String, &'a Value)> {
    let group = |group: &'static str| {
        let place = move |container: &Value| format!("{path}.{group}[name={}]", text(container, "name").unwrap_or(""));
        list(pod, group).map(move |container| (place(container), container)).collect::<Vec<_>>()
    };
    [group("containers"), group("initContainers")].concat()
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

pub(super) fn list_at<'a>(object: &'a Object, path: &[&str]) -> impl Iterator<Item = &'a Value> + use<'a> {
    object.at(path).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the repository and the tag of an image, without its digest.
pub(super) fn parts_of_image(image: &str) -> (&str, &str) {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')).unwrap_or((image, ""))
}

/// Returns the texts of a map, such as labels.
fn texts(value: Option<&Value>) -> BTreeMap<&str, &str> {
    let map = value.and_then(Value::as_object);
    map.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect()
}

/// Says that nothing has a name.
fn nothing_named(name: &str, wanted: &str) -> String {
    format!("nothing has the name {name}, which should be {wanted}")
}

/// Makes a finding about a field of an object, in which other spots have a part.
fn finding(it: &Placed, field: &str, what: String, others: Vec<Spot>) -> Finding {
    let object = it.object.id().to_string();
    let mut spots = vec![(object.clone(), field.to_owned())];
    spots.extend(others);
    let objects: BTreeSet<Spot> = spots.iter().map(|(object, _)| (object.clone(), String::new())).collect();
    let files = vec![(it.file.to_string(), String::new())];
    Finding {
        file: it.file.clone(),
        object,
        field: field.to_owned(),
        what,
        repair: None,
        missing: None,
        steps: vec![spots, objects.into_iter().collect(), files],
    }
}

/// Returns the only one of some names.
fn only(names: &[String]) -> Option<String> {
    match names {
        [only] => Some(only.clone()),
        _ => None,
    }
}
