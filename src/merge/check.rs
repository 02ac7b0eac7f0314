//! Pure. What two sides say together although each is fine alone: names that something refers to and nothing has.
//!
//! Objects are read from the files as they are; what a kustomization adds to names is on both ends of a reference alike.
//! Not here: building (`kustomize`), what is done about a finding (`tree`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::base::RepoPath;
use crate::model::{FileTree, Object};
use crate::yaml;

/// A name that nothing has.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Finding {
    /// File of the object that refers to it.
    pub(super) file: RepoPath,
    /// The object that refers to it.
    pub(super) object: String,
    /// Field that refers to it.
    pub(super) field: String,
    /// The name.
    pub(super) name: String,
    /// What should have the name.
    pub(super) wanted: &'static str,
    /// Names that there are.
    pub(super) known: Vec<String>,
    /// Objects and fields that have a part in it.
    pub(super) involved: Vec<(String, String)>,
}

/// An object with the file that holds it.
struct Placed {
    file: RepoPath,
    object: Object,
}

/// Returns the names that objects of a tree refer to and nothing has.
pub(super) fn dangling(files: &FileTree) -> BTreeSet<Finding> {
    let placed = objects(files);
    let mut found = BTreeSet::new();
    for it in &placed {
        for (path, pod) in pods(&it.object) {
            in_pod(it, &path, pod, &mut found);
        }
        if it.object.kind() == "Service" {
            in_service(it, &placed, &mut found);
        }
    }
    found
}

fn objects(files: &FileTree) -> Vec<Placed> {
    let mut found = Vec::new();
    for (path, file) in files.iter().filter(|(path, _)| path.is_yaml() && !super::is_package_view(path)) {
        let Some(text) = file.as_text().filter(|text| text.contains("kind:")) else { continue };
        let Ok(loaded) = yaml::load(path.as_str(), text, yaml::Dialect::Kube) else { continue };
        let values = loaded.documents.into_iter().filter_map(|document| Object::from_value(document.value));
        found.extend(values.map(|object| Placed { file: path.clone(), object }));
    }
    found
}

/// Returns the pod specs of an object, each with its path.
fn pods(object: &Object) -> Vec<(String, &Value)> {
    let paths: [&[&str]; 3] =
        [&["spec", "template", "spec"], &["spec", "jobTemplate", "spec", "template", "spec"], &["spec"]];
    let is_pod = |spec: &&Value| spec.get("containers").is_some_and(Value::is_array);
    paths.into_iter().filter_map(|path| Some((path.join("."), object.at(path).filter(is_pod)?))).collect()
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn in_pod(it: &Placed, path: &str, pod: &Value, found: &mut BTreeSet<Finding>) {
    let named = |value: &Value, key: &str| {
        list(value, key).filter_map(|it| text(it, "name")).map(str::to_owned).collect::<Vec<_>>()
    };
    let claims = list_at(&it.object, &["spec", "volumeClaimTemplates"]);
    let claims = claims.filter_map(|claim| text(claim.get("metadata")?, "name")).map(str::to_owned);
    let volumes: Vec<String> = named(pod, "volumes").into_iter().chain(claims).collect();
    for group in ["containers", "initContainers"] {
        for container in list(pod, group) {
            let place = format!("{path}.{group}[name={}]", text(container, "name").unwrap_or_default());
            let ports = named(container, "ports");
            for (probe, port) in probes(container) {
                if !ports.iter().any(|it| it == port) {
                    let involved = [format!("{place}.ports"), format!("{place}.{probe}")];
                    found.insert(finding(it, involved, (port, "a port of the container"), &ports));
                }
            }
            for volume in list(container, "volumeMounts").filter_map(|mount| text(mount, "name")) {
                if !volumes.iter().any(|it| it == volume) {
                    let involved = [format!("{path}.volumes"), format!("{place}.volumeMounts")];
                    found.insert(finding(it, involved, (volume, "a volume of the pod"), &volumes));
                }
            }
        }
    }
}

/// Returns the probes of a container that name a port.
fn probes(container: &Value) -> Vec<(&'static str, &str)> {
    let mut found = Vec::new();
    for probe in ["readinessProbe", "livenessProbe", "startupProbe"] {
        for action in ["httpGet", "tcpSocket"] {
            let port = container.get(probe).and_then(|probe| probe.get(action)).and_then(|action| text(action, "port"));
            found.extend(port.filter(|port| port.parse::<u16>().is_err()).map(|port| (probe, port)));
        }
    }
    found
}

fn list_at<'a>(object: &'a Object, path: &[&str]) -> impl Iterator<Item = &'a Value> {
    object.at(path).and_then(Value::as_array).into_iter().flatten()
}

/// Makes a finding; the last of the fields is the one that refers to the name.
fn finding(it: &Placed, fields: [String; 2], (name, wanted): (&str, &'static str), known: &[String]) -> Finding {
    let object = it.object.id().to_string();
    let [_, field] = fields.clone();
    let involved = fields.map(|field| (object.clone(), field)).to_vec();
    Finding { file: it.file.clone(), object, field, name: name.to_owned(), wanted, known: known.to_vec(), involved }
}

/// Returns the labels at a path.
fn labels(value: Option<&Value>) -> BTreeMap<&str, &str> {
    let map = value.and_then(Value::as_object);
    map.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect()
}

/// Looks for the pods of a Service and their ports.
fn in_service(it: &Placed, placed: &[Placed], found: &mut BTreeSet<Finding>) {
    let selector = labels(it.object.at(&["spec", "selector"]));
    if selector.is_empty() {
        return;
    }
    let is_chosen = |other: &&Placed| {
        let own = labels(other.object.at(&["spec", "template", "metadata", "labels"]));
        !own.is_empty() && selector.iter().all(|(key, value)| own.get(key) == Some(value))
    };
    let chosen: Vec<&Placed> = placed.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        let shown: Vec<String> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let field = || "spec.selector".to_owned();
        let mut new = finding(it, [field(), field()], (&shown.join(","), "the labels of a pod"), &[]);
        let workloads = placed.iter().filter(|other| !pods(&other.object).is_empty());
        new.involved
            .extend(workloads.map(|other| (other.object.id().to_string(), "spec.template.metadata".to_owned())));
        found.insert(new);
        return;
    }
    let mut names = Vec::new();
    let mut involved = Vec::new();
    for (other, (path, pod)) in
        chosen.iter().flat_map(|other| pods(&other.object).into_iter().map(move |pod| (other, pod)))
    {
        for container in list(pod, "containers") {
            names.extend(list(container, "ports").filter_map(|port| text(port, "name")).map(str::to_owned));
            let place = format!("{path}.containers[name={}].ports", text(container, "name").unwrap_or_default());
            involved.push((other.object.id().to_string(), place));
        }
    }
    for target in list_at(&it.object, &["spec", "ports"]).filter_map(|port| text(port, "targetPort")) {
        if target.parse::<u16>().is_err() && !names.iter().any(|name| name == target) {
            let field = || "spec.ports".to_owned();
            let mut new = finding(it, [field(), field()], (target, "a port of its pods"), &names);
            new.involved.extend(involved.iter().cloned());
            found.insert(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::dangling;
    use crate::base::RepoPath;
    use crate::model::{File, FileTree};

    const POD: &str = "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a}\nspec:\n  template:\n    metadata: {labels: {app: a}}\n    spec:\n      volumes: [{name: v}]\n      containers:\n      - name: a\n        ports: [{name: web, containerPort: 80}]\n        volumeMounts: [{name: v, mountPath: /v}]\n        readinessProbe: {httpGet: {port: web}}\n---\nkind: Service\nmetadata: {name: a}\nspec:\n  selector: {app: a}\n  ports: [{port: 80, targetPort: web}]\n";

    fn check(from: &str, to: &str, expected: &[&str]) {
        assert!(from.is_empty() || POD.contains(from));
        let file = File::text(&POD.replacen(from, to, 1));
        let files = FileTree::from_iter([(RepoPath::parse("apps/a/all.yaml").unwrap(), file)]);
        let found: Vec<String> = dangling(&files).iter().map(|it| format!("{} {}", it.field, it.name)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_name_that_nothing_has_is_found() {
        check("", "", &[]);
        check(
            "{name: web, c",
            "{name: http, c",
            &["spec.template.spec.containers[name=a].readinessProbe web", "spec.ports web"],
        );
        check("[{name: v}]", "[]", &["spec.template.spec.containers[name=a].volumeMounts v"]);
        check("targetPort: web", "targetPort: http", &["spec.ports http"]);
        check("{labels: {app: a}}", "{labels: {app: b}}", &["spec.selector app=a"]);
        check("port: web}}", "port: 80}}", &[]);
    }
}
