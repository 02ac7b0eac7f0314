//! Pure. Turns what `helm template` printed into a package: one file per object, config keys for what people set, labels and
//! security contexts as lint wants them.
//!
//! Not here: running Helm (the author does), writing the files (`cli`).

mod labels;
mod objects;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::base::RepoPath;
use crate::model::{Diagnostic, File, FileTree, Object, PackageName};
use crate::yaml;

/// How findings name the input.
const RENDERED: &str = "rendered.yaml";

/// A package made of a chart's output.
#[derive(Clone, PartialEq, Debug)]
pub struct Converted {
    /// Its files.
    pub files: FileTree,
    /// What the author has to look at.
    pub notes: Vec<String>,
}

/// What is collected on the way.
#[derive(Default)]
struct Collected {
    config: Map<String, Value>,
    secrets: BTreeSet<String>,
    notes: Vec<String>,
}

/// Converts the output of `helm template`.
pub fn convert(name: &PackageName, rendered: &str) -> Result<Converted, Vec<Diagnostic>> {
    let loaded = yaml::load_objects(RENDERED, rendered)?;
    let mut collected = Collected::default();
    collected.config.insert("namespace".to_owned(), Value::from(name.as_str()));
    let mut objects: Vec<Object> = loaded.into_iter().map(|loaded| loaded.object).collect();
    if objects.is_empty() {
        let message = "the input holds no object";
        return Err(vec![Diagnostic::error("P071", RENDERED, 1, message).with_hint("helm template NAME CHART")]);
    }
    objects.retain(|object| stays(object, &mut collected));
    let secrets = objects::take_secrets(&mut objects, &mut collected);
    labels::simplify(name.as_str(), &mut objects);
    let mut files = FileTree::new();
    let mut resources = vec!["namespace.yaml".to_owned()];
    for object in &mut objects {
        escape(object);
        objects::settle(name.as_str(), object, &secrets, &mut collected);
        let path = path_of(name.as_str(), object, &resources);
        put(&mut files, &path, &yaml::write(&object.to_value()));
        resources.push(path);
    }
    put(&mut files, "namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ .namespace }}\n");
    put(&mut files, "kustomization.yaml", &kustomization(name.as_str(), &resources));
    put(&mut files, "manifest.yaml", &manifest(name.as_str(), &collected));
    put(&mut files, "README.md", &format!("# {name}\n\nConverted from a Helm chart.\n"));
    Ok(Converted { files, notes: collected.notes })
}

/// Returns whether an object belongs to the package; hooks and tests of Helm do not.
fn stays(object: &Object, collected: &mut Collected) -> bool {
    let is_hook = object.annotation("helm.sh/hook").is_some();
    if is_hook {
        collected.notes.push(format!("{} is a hook of Helm and was left out", object.id().short()));
    }
    !is_hook && object.kind() != "Namespace"
}

/// Keeps braces in texts from being read as templates.
fn escape(object: &mut Object) {
    object.0.values_mut().for_each(escape_value);
}

/// Depth is bounded by the loader.
fn escape_value(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("{{") => *text = text.replace("{{", "{{ \"{{\" }}"),
        Value::Array(items) => items.iter_mut().for_each(escape_value),
        Value::Object(map) => map.values_mut().for_each(escape_value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns a file name after kind and name that no other object has.
fn path_of(package: &str, object: &Object, taken: &[String]) -> String {
    let kind = object.kind().to_lowercase();
    let name = object.name().strip_prefix(package).unwrap_or(object.name()).trim_matches('-');
    let stem = if name.is_empty() { kind } else { format!("{name}-{kind}") };
    let stem = stem.replace([':', '/'], "-");
    let mut candidates = std::iter::once(format!("{stem}.yaml")).chain((2..).map(|n| format!("{stem}-{n}.yaml")));
    candidates.find(|path| !taken.contains(path)).unwrap_or(stem)
}

fn put(files: &mut FileTree, path: &str, text: &str) {
    if let Ok(path) = RepoPath::parse(path) {
        files.insert(path, File::text(text));
    }
}

fn kustomization(name: &str, resources: &[String]) -> String {
    let value = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": "{{ .namespace }}",
        "labels": [{
            "includeSelectors": true,
            "pairs": {"app": name, "managedBy": "kustomize", "partOf": "wild-cloud"},
        }],
        "resources": resources,
    });
    yaml::write(&value)
}

fn manifest(name: &str, collected: &Collected) -> String {
    let mut value = json!({
        "name": name,
        "is": name,
        "description": format!("{name}, converted from a Helm chart"),
        "version": "0.1.0",
        "icon": format!("https://example.org/{name}/icon.svg"),
        "category": "other",
        "defaultConfig": collected.config,
    });
    if let (Some(map), false) = (value.as_object_mut(), collected.secrets.is_empty()) {
        let keys: Vec<Value> = collected.secrets.iter().map(|key| json!({ "key": key })).collect();
        map.insert("defaultSecrets".to_owned(), Value::from(keys));
    }
    yaml::write(&value)
}
