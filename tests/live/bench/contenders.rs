//! What else can put the same objects there: a bare loop over the bytes that we send, and kubectl.
//!
//! Not here: ourselves (`daemon.rs`).

use futures::{StreamExt, stream};
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::client::Api;
use crate::instance;
use crate::parts::{ControlPlane, Scratch};
use crate::rig::KINDS;

/// Requests that the loop keeps in flight, as many as we do.
const IN_FLIGHT: usize = 16;

/// What we sent: per app its objects in the order of their stages, each with the path it is applied at.
pub(crate) type Sent = Vec<Vec<(String, String)>>;

/// Takes what we sent back out of the cluster: the fields that we own of every object.
pub(crate) async fn sent(api: &Api, apps: usize) -> Sent {
    let mut sent: Sent = vec![Vec::new(); apps];
    for path in KINDS {
        let list = api.get(path).await;
        let kind = list["kind"].as_str().unwrap().trim_end_matches("List").to_owned();
        let version = list["apiVersion"].clone();
        for item in list["items"].as_array().unwrap() {
            let name = item["metadata"]["name"].as_str().unwrap();
            let Some(app) = name.strip_prefix("app-").and_then(|number| number.parse::<usize>().ok()) else { continue };
            let entries = item["metadata"]["managedFields"].as_array().unwrap();
            let Some(ours) = entries.iter().find(|entry| entry["manager"] == "wild") else { continue };
            let mut body = owned(item, &ours["fieldsV1"]);
            let metadata = body.as_object_mut().unwrap().entry("metadata").or_insert_with(|| json!({}));
            metadata["name"] = json!(name);
            let namespace = item["metadata"]["namespace"].as_str();
            if let Some(namespace) = namespace {
                metadata["namespace"] = json!(namespace);
            }
            body["apiVersion"] = version.clone();
            body["kind"] = json!(kind);
            let (root, plural) = path.rsplit_once('/').unwrap();
            let within = namespace.map(|namespace| format!("namespaces/{namespace}/")).unwrap_or_default();
            sent[app].push((format!("{root}/{within}{plural}/{name}"), body.to_string()));
        }
    }
    sent
}

/// Returns the part of a value that a set of managed fields names.
fn owned(value: &Value, fields: &Value) -> Value {
    let Some(fields) = fields.as_object().filter(|fields| fields.keys().any(|key| key != ".")) else {
        return value.clone();
    };
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter_map(|(key, value)| {
                fields.get(&format!("f:{key}")).map(|below| (key.clone(), owned(value, below)))
            });
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(items) => {
            let keyed = fields.iter().filter_map(|(key, below)| Some((key.strip_prefix("k:")?, below)));
            let picked = keyed.filter_map(|(key, below)| {
                let key: Map<String, Value> = serde_json::from_str(key).ok()?;
                let item = items.iter().find(|item| key.iter().all(|(name, wanted)| item.get(name) == Some(wanted)))?;
                let mut picked = owned(item, below);
                for (name, wanted) in key {
                    picked.as_object_mut()?.insert(name, wanted);
                }
                Some(picked)
            });
            Value::Array(picked.collect())
        }
        plain => plain.clone(),
    }
}

/// Returns what stands in the second and not in the first: what an update has to send.
pub(crate) fn changed(before: &Sent, after: &Sent) -> Sent {
    let pairs = before.iter().zip(after);
    pairs.map(|(before, after)| after.iter().filter(|object| !before.contains(object)).cloned().collect()).collect()
}

/// Sends all of it app by app, as we do, so that controllers are as busy meanwhile: an app's objects one after the other, many apps at once.
pub(crate) async fn send_by_app(api: &Api, sent: &Sent) {
    let apps = sent.iter().map(|app| async move {
        for (path, body) in app {
            apply(api, path, body).await;
        }
    });
    stream::iter(apps).buffer_unordered(IN_FLIGHT).collect::<Vec<()>>().await;
}

async fn apply(api: &Api, path: &str, body: &str) {
    let path = format!("{path}?fieldManager=wild&fieldValidation=Strict&force=true");
    api.send(Method::PATCH, &path, "application/apply-patch+yaml", body.to_owned()).await;
}

/// Sends all of it, stage by stage: what controllers have to do with workloads, which come last, is mostly left for afterwards.
pub(crate) async fn send_all(api: &Api, sent: &Sent) {
    for stage in 0..KINDS.len() {
        let calls = sent.iter().filter_map(|app| app.get(stage)).map(|(path, body)| apply(api, path, body));
        stream::iter(calls).buffer_unordered(IN_FLIGHT).collect::<Vec<()>>().await;
    }
}

/// Writes one file with the objects of all apps as a person keeps them, and returns its path.
pub(crate) fn write_objects(scratch: &Scratch, apps: usize, version: &str) -> String {
    let mut text = String::new();
    for app in (0..apps).map(instance::name) {
        text.push_str(&format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {app}\n---\n"));
        for (file, object) in instance::files(&app, version) {
            if file != "kustomization.yaml" {
                text.push_str(&object.replacen("metadata:\n", &format!("metadata:\n  namespace: {app}\n"), 1));
                text.push_str("---\n");
            }
        }
    }
    let path = scratch.path().join("all.yaml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Applies the file with kubectl.
pub(crate) fn kubectl(plane: &ControlPlane, file: &str) {
    plane.kubectl(&["apply", "--server-side", "-f", file]).unwrap();
}
