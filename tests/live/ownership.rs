//! Who owns which field after an edit: the recorded managed fields, asked of the API server again.
//!
//! `fixtures/plan/managed-fields.json` holds payloads by kind, and edits with what the server wrote into `managedFields` after one of a
//! freshly applied object. `tests/run record` writes changed answers anew. Not here: what a lost field means (`plan`).

use std::path::Path;

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::parts::{ControlPlane, Shape, is_recording};

const RECORDED: &str = "fixtures/plan/managed-fields.json";
/// The namespace of the payloads.
const NAMESPACE: &str = "blog";
/// Times that stand for ours and for everybody else's in the recording.
const TIMES: [&str; 2] = ["2026-11-21T10:00:00Z", "2026-11-21T11:00:00Z"];

#[test]
fn the_server_writes_after_every_recorded_edit_the_recorded_managed_fields() {
    // Without controllers nobody else owns a status, and no object vanishes by itself.
    let Some(plane) = ControlPlane::start(Shape::Api) else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDED);
    let mut recorded: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let payloads = recorded["payloads"].as_object().unwrap().clone();
    for first in ["Namespace", "CustomResourceDefinition"] {
        apply(&plane, &payloads[first]).unwrap();
    }
    plane.kubectl(&["wait", "--for=condition=Established", "crd/widgets.example.org", "--timeout=30s"]).unwrap();
    let mut wrong = Vec::new();
    for (name, case) in recorded["cases"].as_object_mut().unwrap() {
        let kind = case["object"].as_str().unwrap().to_owned();
        let payload = &payloads[&kind];
        let applied = fresh(&plane, payload);
        let now = match case["edit"].as_str().unwrap() {
            "" => applied,
            edit => {
                edited(&plane, edit, payload).unwrap_or_else(|why| crate::parts::fail(&format!("{name}: {why}")));
                plane.send(Method::GET, &path(payload), "application/json", None).unwrap()
            }
        };
        let now = now["metadata"].get("managedFields").cloned().unwrap_or_else(|| json!([]));
        if timeless(&now) != timeless(&case["managedFields"]) {
            wrong.push(format!("{name}:\n  recorded {}\n  now      {now}", case["managedFields"]));
            case["managedFields"] = with_stand_in_times(now);
        }
    }
    if is_recording() && !wrong.is_empty() {
        std::fs::write(&file, written(recorded.as_object().unwrap())).unwrap();
    }
    assert!(is_recording() || wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Removes what is left of an object and applies it as `wild`.
fn fresh(plane: &ControlPlane, payload: &Value) -> Value {
    // A namespace would not go without controllers, and the definition takes its objects along.
    if !matches!(payload["kind"].as_str(), Some("Namespace" | "CustomResourceDefinition")) {
        let json = "application/json";
        plane.send(Method::DELETE, &path(payload), json, Some(&json!({"gracePeriodSeconds": 0}))).ok();
        let unheld = json!({"metadata": {"finalizers": null}});
        plane.send(Method::PATCH, &path(payload), "application/merge-patch+json", Some(&unheld)).ok();
    }
    apply(plane, payload).unwrap()
}

fn apply(plane: &ControlPlane, payload: &Value) -> Result<Value, String> {
    let path = format!("{}?fieldManager=wild&force=true", path(payload));
    plane.send(Method::PATCH, &path, "application/apply-patch+yaml", Some(payload))
}

/// Returns the path of an object.
fn path(object: &Value) -> String {
    let api_version = object["apiVersion"].as_str().unwrap();
    let kind = object["kind"].as_str().unwrap();
    let plural = match kind {
        "Ingress" => "ingresses".to_owned(),
        "NetworkPolicy" => "networkpolicies".to_owned(),
        kind => kind.to_lowercase() + "s",
    };
    let root = if api_version.contains('/') { "apis" } else { "api" };
    let inside =
        if object["metadata"]["namespace"].is_null() { String::new() } else { format!("/namespaces/{NAMESPACE}") };
    format!("/{root}/{api_version}{inside}/{plural}/{}", object["metadata"]["name"].as_str().unwrap())
}

/// Carries out an edit as it is recorded: a kubectl command in one line, with JSON behind `-p` as it is.
fn edited(plane: &ControlPlane, edit: &str, payload: &Value) -> Result<String, String> {
    let line = edit.strip_prefix("kubectl ").unwrap();
    if line.starts_with("apply ") {
        // The recording leaves out what was applied: our data, changed where the apply is forced.
        let mut other =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": payload["metadata"]["name"]}});
        other["data"] = if line.contains("--force-conflicts") { json!({"k": "2"}) } else { payload["data"].clone() };
        let mut args: Vec<&str> = line.split(' ').collect();
        args.extend(["-n", NAMESPACE, "-f", "-"]);
        return plane.kubectl_with(&args, &other.to_string());
    }
    let (before, patch) = line.split_once(" -p ").unwrap_or((line, ""));
    let (patch, after) = patch.split_once(" --field-manager").unwrap_or((patch, ""));
    let manager = format!("--field-manager{after}");
    let mut args: Vec<&str> = before.split(' ').collect();
    if !patch.is_empty() {
        args.extend(["-p", patch, &manager]);
    }
    args.extend(["-n", NAMESPACE]);
    plane.kubectl(&args)
}

/// Returns managed fields without their times, and in an order that does not come from times, as the server's does.
fn timeless(fields: &Value) -> Vec<Value> {
    let mut fields = fields.as_array().cloned().unwrap_or_default();
    for entry in fields.iter_mut().filter_map(Value::as_object_mut) {
        entry.shift_remove("time");
    }
    fields.sort_by_key(|entry| format!("{} {} {}", entry["manager"], entry["operation"], entry["subresource"]));
    fields
}

fn with_stand_in_times(mut fields: Value) -> Value {
    for entry in fields.as_array_mut().into_iter().flatten() {
        let ours = entry["manager"] == "wild" && entry["operation"] == "Apply";
        entry["time"] = json!(if ours { TIMES[0] } else { TIMES[1] });
    }
    fields
}

/// Writes the recording with one payload and one case a line, so that a diff shows which changed.
fn written(recorded: &Map<String, Value>) -> String {
    let mut lines = vec!["{".to_owned(), format!("\"recordedWith\": {},", recorded["recordedWith"])];
    for (table, end) in [("payloads", "},"), ("cases", "}")] {
        lines.push(format!("\"{table}\": {{"));
        let entries = recorded[table].as_object().unwrap();
        let last = entries.len();
        lines.extend(entries.iter().enumerate().map(|(index, (name, value))| {
            let comma = if index + 1 < last { "," } else { "" };
            format!("{}: {value}{comma}", json!(name))
        }));
        lines.push(end.to_owned());
    }
    lines.push("}".to_owned());
    lines.join("\n") + "\n"
}
