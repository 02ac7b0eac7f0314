//! What the real gomplate and the real kustomize make of every version of the sample packages, against what is recorded.
//!
//! World: the two programs as children, temporary directories, `fixtures/directory`. With `WILD_BLESS=1` the recorded files
//! are written anew. The defaults of a manifest are rendered by gomplate too, so nothing of our renderer takes part.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rewild::yaml::{Dialect, load_one};
use serde_json::{Map, Value, json};

/// First line of every recorded build.
const HEADER: &str = "# Recorded from gomplate v4.3.3 (files/) and kustomize v5.8.1 (this file).\n";

/// Returns what the tools give now, by path below `fixtures/directory`.
pub fn record(gomplate: &Path, kustomize: &Path) -> BTreeMap<String, String> {
    let root = root();
    let samples = map(&std::fs::read_to_string(root.join("samples.yaml")).unwrap());
    let mut oracle = Gomplate::start(gomplate);
    let mut recorded = BTreeMap::new();
    for package in directories(&root) {
        for version in directories(&root.join(&package)).into_iter().filter(|name| !name.ends_with(".expected")) {
            for (sample, config) in &samples {
                let made = Version { directory: root.join(&package).join(&version), package: &package, config };
                let prefix = format!("{package}/{version}.expected/{sample}");
                let files = made.files(&mut oracle);
                recorded.insert(format!("{prefix}/build.yaml"), format!("{HEADER}{}", build(kustomize, &files)));
                recorded.extend(files.into_iter().map(|(path, text)| (format!("{prefix}/files/{path}"), text)));
            }
        }
    }
    recorded
}

/// Returns what is recorded, by path below `fixtures/directory`.
pub fn recorded() -> BTreeMap<String, String> {
    let root = root();
    let mut found = BTreeMap::new();
    for package in directories(&root) {
        for version in directories(&root.join(&package)).into_iter().filter(|name| name.ends_with(".expected")) {
            found.extend(texts(&root, &root.join(&package).join(version)));
        }
    }
    found
}

/// Compares both, or writes the first with `WILD_BLESS=1`.
pub fn compare(gomplate: &Path, kustomize: &Path) {
    let made = record(gomplate, kustomize);
    if std::env::var_os("WILD_BLESS").is_some() {
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

impl Version<'_> {
    /// Returns its files as gomplate renders them; what is written for people is left out.
    fn files(&self, oracle: &mut Gomplate) -> BTreeMap<String, String> {
        let config = Value::Object(self.effective_config(oracle));
        let templates = texts(&self.directory, &self.directory);
        templates
            .into_iter()
            .filter(|(path, _)| path != "manifest.yaml" && !path.ends_with(".md"))
            .map(|(path, text)| (path, oracle.render(&text, &config)))
            .filter(|(_, text)| !text.trim().is_empty())
            .collect()
    }

    fn effective_config(&self, oracle: &mut Gomplate) -> Map<String, Value> {
        let manifest = map(&std::fs::read_to_string(self.directory.join("manifest.yaml")).unwrap());
        let section = self.config["apps"][self.package].as_object().cloned().unwrap_or_default();
        let mut root = self.config.as_object().unwrap().clone();
        let mut apps = Map::new();
        for requirement in manifest.get("requires").and_then(Value::as_array).into_iter().flatten() {
            let name = requirement["name"].as_str().unwrap();
            let reference = requirement["alias"].as_str().unwrap_or(name);
            apps.insert(reference.to_owned(), self.config["apps"][name].clone());
        }
        root.insert("apps".to_owned(), Value::Object(apps));
        let mut made = Map::new();
        let paths = leaves(&manifest["defaultConfig"]);
        for (path, value) in paths {
            let resolved = match value.as_str().filter(|text| text.contains("{{")) {
                Some(text) => {
                    root.insert("app".to_owned(), Value::Object(laid_over(&made, &section)));
                    Value::from(oracle.render(text, &Value::Object(root.clone())))
                }
                None => value,
            };
            put(&mut made, &path, resolved);
        }
        laid_over(&made, &section)
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
fn build(kustomize: &Path, files: &BTreeMap<String, String>) -> String {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let output = Command::new(kustomize).arg("build").arg(directory.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The running oracle: one question and one answer per line.
struct Gomplate {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Gomplate {
    fn start(program: &Path) -> Self {
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let questions = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, questions, answers }
    }

    fn render(&mut self, template: &str, context: &Value) -> String {
        let question = json!({"name": "file", "template": template, "context": context});
        writeln!(self.questions, "{question}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["error"], "", "{template}");
        answer["output"].as_str().unwrap().to_owned()
    }
}

impl Drop for Gomplate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the program of a part, or nothing if it is not built.
fn part(name: &str, program: &str) -> Option<PathBuf> {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parts/build");
    let output = Command::new(build).args(["--paths", name]).output().ok()?;
    let line = String::from_utf8(output.stdout).ok()?;
    let directory = line.lines().find_map(|line| line.strip_prefix(&format!("{name}=")))?;
    Some(Path::new(directory).join(program))
}

#[test]
fn every_sample_package_gives_what_is_recorded() {
    match (part("gomplate", "gomplate-oracle"), part("kustomize", "kustomize")) {
        (Some(gomplate), Some(kustomize)) => compare(&gomplate, &kustomize),
        _ if std::env::var_os("WILD_REQUIRE_PARTS").is_some() => panic!("gomplate or kustomize is not built"),
        _ => println!("skipped: gomplate or kustomize is not built"),
    }
}
