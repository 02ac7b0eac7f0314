//! Leaving is free: what lies in the repository comes up on a fresh cluster by kubectl alone, and is the same there.
//!
//! Only the values of `secrets.yaml` are not in the repository. A person takes them along as one Secret `<app>-secrets` for each app, whose
//! keys are those below `apps.<app>` in that file; a copy of another app's value has there the name `<app><Key>` and in the Secret the one
//! that the manifest asks for, `<app>.<key>`. Not here: how the repository came to be (`story.rs`).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::home::Home;
use crate::parts::{ControlPlane, Shape, until};

/// Metadata that a cluster or we give to an object, and that no file of the repository asks for.
const GIVEN: [&str; 6] =
    ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "ownerReferences"];
/// What begins the labels and annotations that a cluster, kubectl or we give.
const GIVEN_MARKS: [&str; 9] = [
    "rewild.dev/",
    "applyset.kubernetes.io/",
    "app.kubernetes.io/managed-by",
    "kubectl.kubernetes.io/",
    "deployment.kubernetes.io/revision",
    "pv.kubernetes.io/",
    "volume.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "batch.kubernetes.io/",
];
/// Fields of specs that a cluster allocates.
const ALLOCATED: [&str; 5] = ["clusterIP", "clusterIPs", "nodePort", "volumeName", "healthCheckNodePort"];

/// Brings every app that is left up on a cluster that never saw us, and compares.
pub(crate) fn leave(home: &Home) {
    home.pull();
    let fresh = ControlPlane::start(Shape::Full).unwrap();
    let mut apps: Vec<String> = std::fs::read_dir(home.path("clone/apps"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    apps.sort();
    assert!(apps.len() >= 3, "{apps:?}");
    let supplied = supplied(home);
    let mut objects = Vec::new();
    for app in &apps {
        let folder = home.path("clone/apps").join(app).display().to_string();
        let applied = fresh.kubectl(&["apply", "-k", &folder, "-o", "json"]).unwrap();
        let mut applied: Value = serde_json::from_str(&applied).unwrap();
        let secret = secret(home, app, &supplied[app]);
        fresh.kubectl_with(&["apply", "-f", "-"], &secret.to_string()).unwrap();
        objects.append(applied["items"].as_array_mut().unwrap());
        objects.push(secret);
    }
    for app in &apps {
        until(&format!("{app} runs without us"), || {
            let pods = get(&fresh, &["-n", app, "pods"]);
            let pods = pods["items"].as_array()?;
            let done = |pod: &Value| {
                let ready = pod["status"]["conditions"].as_array().into_iter().flatten().any(is_ready);
                ready || pod["status"]["phase"] == "Succeeded"
            };
            (!pods.is_empty() && pods.iter().all(done)).then_some(())
        });
    }
    // Only now has the cluster done its part, such as binding claims.
    for object in &objects {
        compare(home, &fresh, object);
    }
}

fn is_ready(condition: &Value) -> bool {
    condition["type"] == "Ready" && condition["status"] == "True"
}

fn get(plane: &ControlPlane, args: &[&str]) -> Value {
    plane.kubectl_json(&[&["get"], args].concat())
}

/// Returns the values of `secrets.yaml` by app and dotted path.
fn supplied(home: &Home) -> BTreeMap<String, BTreeMap<String, String>> {
    let instances = home.path("state/wild/instances");
    let own = std::fs::read_dir(instances).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(own.join("secrets.yaml")).unwrap();
    let values: Value = serde_yaml::from_str(&text).unwrap();
    let apps = values["apps"].as_object().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of_app = |app: &String, tree: &Value| {
        // Which of them are copies is noted beside them.
        let keys = tree.as_object().unwrap().iter().filter(|(key, _)| *key != "_copied");
        let mut found: BTreeMap<String, String> = keys.map(|(key, value)| (key.clone(), text(value))).collect();
        let manifest = home.path("clone/apps").join(app).join("manifest.yaml");
        let manifest = std::fs::read_to_string(manifest).unwrap_or_default();
        let manifest: Value = serde_yaml::from_str(&manifest).unwrap_or_default();
        for wanted in manifest["requiredSecrets"].as_array().into_iter().flatten().map(text) {
            let (from, key) = wanted.split_once('.').unwrap();
            let (first, rest) = key.split_at(1);
            let copy = found.remove(&format!("{from}{}{rest}", first.to_uppercase())).unwrap();
            found.insert(wanted, copy);
        }
        found
    };
    apps.iter().map(|(app, tree)| (app.clone(), of_app(app, tree))).collect()
}

fn secret(home: &Home, app: &str, values: &BTreeMap<String, String>) -> Value {
    let namespace = home.live(&["-n", app, "secret", &format!("{app}-secrets")])["metadata"]["namespace"].clone();
    let data: BTreeMap<&String, String> = values.iter().map(|(key, value)| (key, STANDARD.encode(value))).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": format!("{app}-secrets"), "namespace": namespace},
        "data": data,
    })
}

/// Compares an object of the fresh cluster with the one that we keep in ours.
fn compare(home: &Home, fresh: &ControlPlane, object: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
    let namespace = text(&object["metadata"]["namespace"]);
    let mut args = vec![kind.as_str(), name.as_str()];
    if !namespace.is_empty() {
        args.extend(["-n", &namespace]);
    }
    let (ours, theirs) = (home.live(&args), get(fresh, &args));
    assert_ne!(ours, Value::Null, "{kind}/{name} is not in our cluster");
    let (ours, theirs) = (bare(ours), bare(theirs));
    assert_eq!(ours, theirs, "{kind}/{name}: ours is {ours:#}\ntheirs is {theirs:#}");
}

/// Returns an object without what a cluster, kubectl or we give it.
fn bare(mut object: Value) -> Value {
    let fields = object.as_object_mut().unwrap();
    fields.shift_remove("status");
    let kind = fields["kind"].as_str().unwrap_or("").to_owned();
    forget(&mut object);
    if kind == "Job" {
        // Chosen for each job by the cluster.
        object["spec"].as_object_mut().unwrap().shift_remove("selector");
    }
    object
}

/// Forgets given fields wherever they stand, and maps that are empty then.
fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in GIVEN.iter().chain(&ALLOCATED) {
                fields.shift_remove(*name);
            }
            for map in ["labels", "annotations"] {
                if let Some(marks) = fields.get_mut(map).and_then(Value::as_object_mut) {
                    let given = |key: &str| GIVEN_MARKS.iter().any(|mark| key.starts_with(mark));
                    marks.retain(|key, _| !given(key) && key != "controller-uid" && key != "job-name");
                    if marks.is_empty() {
                        fields.shift_remove(map);
                    }
                }
            }
            fields.values_mut().for_each(forget);
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
