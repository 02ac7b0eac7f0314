//! What the real gomplate and the real kustomize make of every version of the sample packages, against what is recorded.
//!
//! World: the two programs as children, temporary directories, `fixtures/directory`. With `tests/run record` the recorded
//! files are written anew. The defaults of a manifest are rendered by gomplate too, so nothing of our renderer takes part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rewild::yaml::{Dialect, load_one};
use serde_json::{Map, Value, json};

use crate::parts::{Gomplate, is_recording, kustomize, part};

/// First line of every recorded build.
const HEADER: &str = "# Recorded from gomplate v4.3.3 (files/) and kustomize v5.8.1 (this file).\n";

/// Versions that are broken on purpose: an action without quotes, a key with a hyphen.
const BROKEN: [(&str, &str); 2] = [("townhall", "3.3"), ("chat-pane", "0.5.0")];

/// Returns what the tools give now, by path below `fixtures/directory`.
fn record(oracle: &mut Gomplate) -> BTreeMap<String, String> {
    let root = root();
    let samples = map(&std::fs::read_to_string(root.join("samples.yaml")).unwrap());
    let mut recorded = BTreeMap::new();
    for package in directories(&root) {
        for version in directories(&root.join(&package)).into_iter().filter(|name| !name.ends_with(".expected")) {
            for (sample, config) in &samples {
                let made = Version { directory: root.join(&package).join(&version), package: &package, config };
                let prefix = format!("{package}/{version}.expected/{sample}");
                if made.is_broken() {
                    continue;
                }
                let files = made.files(oracle);
                recorded.insert(format!("{prefix}/build.yaml"), format!("{HEADER}{}", build(&files)));
                recorded.extend(files.into_iter().map(|(path, text)| (format!("{prefix}/files/{path}"), text)));
            }
        }
    }
    recorded
}

/// Returns what is recorded, by path below `fixtures/directory`.
fn recorded() -> BTreeMap<String, String> {
    let root = root();
    let mut found = BTreeMap::new();
    for package in directories(&root) {
        for version in directories(&root.join(&package)).into_iter().filter(|name| name.ends_with(".expected")) {
            found.extend(texts(&root, &root.join(&package).join(version)));
        }
    }
    found
}

/// Compares both, or writes the first with `tests/run record`.
fn compare(oracle: &mut Gomplate) {
    let made = record(oracle);
    if is_recording() {
        for path in recorded().keys().filter(|path| !made.contains_key(*path)) {
            std::fs::remove_file(root().join(path)).unwrap();
        }
        for (path, text) in &made {
            let path = root().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        return;
    }
    let recorded = recorded();
    assert_eq!(made.keys().collect::<Vec<_>>(), recorded.keys().collect::<Vec<_>>());
    for (path, text) in made {
        assert_eq!(text, recorded[&path], "{path}");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/directory")
}

fn map(text: &str) -> Map<String, Value> {
    let document = load_one("", text, Dialect::Gomplate).unwrap().unwrap();
    document.value.as_object().unwrap().clone()
}

fn directories(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> =
        entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the texts of all files below a directory, by path from `root`.
fn texts(root: &Path, directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(texts(root, &entry));
        } else {
            let path = entry.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.insert(path, std::fs::read_to_string(&entry).unwrap());
        }
    }
    found
}

/// A version of a package with a config.
struct Version<'a> {
    directory: PathBuf,
    package: &'a str,
    config: &'a Value,
}

/// Which generation of packages a version belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Generation {
    First,
    Second,
    Third,
    Service,
}

impl Version<'_> {
    /// Returns whether the version is one of those that nobody can render.
    fn is_broken(&self) -> bool {
        BROKEN.iter().any(|(package, version)| self.directory.ends_with(format!("{package}/{version}")))
    }

    /// Returns its files as gomplate renders them; what is written for people is left out.
    fn files(&self, oracle: &mut Gomplate) -> BTreeMap<String, String> {
        let templates = texts(&self.directory, &self.directory);
        let generation = generation(&templates);
        let config = Value::Object(self.root(generation, oracle));
        let rendered = templates.into_iter().filter_map(|(path, text)| match generation {
            Generation::Service => Some((path.strip_prefix("kustomize.template/")?.to_owned(), text)),
            _ => (path != "manifest.yaml" && !path.ends_with(".md")).then_some((path, text)),
        });
        rendered
            .map(|(path, text)| {
                let text = match generation {
                    Generation::First => oracle.render_with_config(&path, &text, &config),
                    _ => oracle.render(&path, &text, &config),
                };
                (path, text.unwrap())
            })
            .filter(|(_, text)| !text.trim().is_empty())
            .collect()
    }

    /// Returns what the files see at their root.
    fn root(&self, generation: Generation, oracle: &mut Gomplate) -> Map<String, Value> {
        match generation {
            Generation::Third => self.effective_config(oracle).0,
            Generation::Second => self.effective_config(oracle).1,
            Generation::First => {
                let mut root = self.effective_config(oracle).1;
                root.insert("config".to_owned(), Value::Object(root.clone()));
                root
            }
            Generation::Service => self.service_config(oracle),
        }
    }

    fn service_config(&self, oracle: &mut Gomplate) -> Map<String, Value> {
        let manifest = map(&std::fs::read_to_string(self.directory.join("wild-manifest.yaml")).unwrap());
        let mut root = self.config.as_object().unwrap().clone();
        for (_, key) in manifest["serviceConfig"].as_object().unwrap() {
            let path: Vec<String> = key["path"].as_str().unwrap().split('.').map(str::to_owned).collect();
            let there = path.iter().try_fold(self.config, |value, step| value.get(step));
            if there.is_none() {
                let value = match key["default"].as_str() {
                    Some(text) => Value::from(oracle.render("default", text, &Value::Object(root.clone())).unwrap()),
                    None => key["default"].clone(),
                };
                put(&mut root, &path, value);
            }
        }
        root
    }

    /// Returns the config of the app, and the whole config with the app in it.
    fn effective_config(&self, oracle: &mut Gomplate) -> (Map<String, Value>, Map<String, Value>) {
        let manifest = map(&std::fs::read_to_string(self.directory.join("manifest.yaml")).unwrap());
        let section = self.config["apps"][self.package].as_object().cloned().unwrap_or_default();
        let mut root = self.config.as_object().unwrap().clone();
        let mut apps = Map::new();
        for requirement in manifest.get("requires").and_then(Value::as_array).into_iter().flatten() {
            let name = requirement["name"].as_str().unwrap();
            let reference = requirement["alias"].as_str().unwrap_or(name);
            apps.insert(reference.to_owned(), self.config["apps"][name].clone());
        }
        let mut made = Map::new();
        let whole = |root: &mut Map<String, Value>, made: &Map<String, Value>| {
            let own = Value::Object(laid_over(made, &section));
            let mut apps = apps.clone();
            apps.insert(self.package.to_owned(), own.clone());
            root.insert("apps".to_owned(), Value::Object(apps));
            root.insert("app".to_owned(), own);
        };
        for (path, value) in leaves(&manifest["defaultConfig"]) {
            let resolved = match value.as_str().filter(|text| text.contains("{{")) {
                Some(text) => {
                    whole(&mut root, &made);
                    Value::from(oracle.render("default", text, &Value::Object(root.clone())).unwrap())
                }
                None => value,
            };
            put(&mut made, &path, resolved);
        }
        whole(&mut root, &made);
        root.shift_remove("app");
        (laid_over(&made, &section), root)
    }
}

/// Tells the generation by the file names and by what files read.
fn generation(templates: &BTreeMap<String, String>) -> Generation {
    let reads = |marks: &[&str]| {
        let files = templates.iter().filter(|(path, _)| path.as_str() != "manifest.yaml" && !path.ends_with(".md"));
        files.into_iter().any(|(_, text)| marks.iter().any(|mark| text.contains(mark)))
    };
    match () {
        () if templates.contains_key("wild-manifest.yaml") => Generation::Service,
        () if reads(&["source \"config\"", "ds \"config\"", " .config."]) => Generation::First,
        () if reads(&[" .apps.", ".apps \"", " .cloud.", " .operator."]) => Generation::Second,
        () => Generation::Third,
    }
}

/// Returns the values of a map that are no maps themselves, in order.
fn leaves(value: &Value) -> Vec<(Vec<String>, Value)> {
    let mut found = Vec::new();
    for (key, value) in value.as_object().unwrap() {
        if value.is_object() {
            found.extend(
                leaves(value)
                    .into_iter()
                    .map(|(path, leaf)| (std::iter::once(key.clone()).chain(path).collect(), leaf)),
            );
        } else {
            found.push((vec![key.clone()], value.clone()));
        }
    }
    found
}

fn put(map: &mut Map<String, Value>, path: &[String], value: Value) {
    if path.len() == 1 {
        map.insert(path[0].clone(), value);
    } else {
        let inner = map.entry(path[0].clone()).or_insert_with(|| json!({}));
        put(inner.as_object_mut().unwrap(), &path[1..], value);
    }
}

fn laid_over(below: &Map<String, Value>, above: &Map<String, Value>) -> Map<String, Value> {
    let mut result = below.clone();
    for (key, value) in above {
        let laid = match (result.get(key).and_then(Value::as_object), value.as_object()) {
            (Some(below), Some(above)) => Value::Object(laid_over(below, above)),
            _ => value.clone(),
        };
        result.insert(key.clone(), laid);
    }
    result
}

/// Returns what `kustomize build` prints for these files.
fn build(files: &BTreeMap<String, String>) -> String {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    kustomize(directory.path()).unwrap().unwrap()
}

#[test]
fn every_sample_package_gives_what_is_recorded() {
    let Some(mut oracle) = Gomplate::start() else { return };
    if part("kustomize").is_some() {
        compare(&mut oracle);
    }
}
