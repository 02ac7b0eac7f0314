//! Pure. Rules about labels and selectors.
//!
//! Not here: services that select nothing (`references.rs`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{LintInput, LintPart, about, found};
use crate::model::Diagnostic;

/// Labels that every object of an app carries, with the value that is fixed.
const STANDARD: [(&str, Option<&str>); 3] =
    [("app", None), ("managedBy", Some("kustomize")), ("partOf", Some("wild-cloud"))];
/// Labels that charts of Helm select by.
const HELM_LABELS: &str = "app.kubernetes.io/";

/// Checks labels and selectors.
pub(super) fn check(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    let mut seen: BTreeMap<(String, String), &LintPart> = BTreeMap::new();
    for part in input.parts {
        let Some(selector) = selector(part) else { continue };
        if let Some(label) = selector.keys().find(|label| label.starts_with(HELM_LABELS)) {
            findings.push(about("L021", part, format!("its selector uses the label {label}")));
        }
        if part.object.kind() == "Service" || selector.is_empty() {
            continue;
        }
        let key = (part.object.namespace().to_owned(), sorted(selector));
        if let Some(other) = seen.get(&key) {
            let message = format!("it selects the pods of {} too", other.object.id().short());
            findings.push(about("L004", part, message));
        } else {
            seen.insert(key, part);
        }
    }
    standard(input, findings);
}

fn selector(part: &LintPart) -> Option<&Map<String, Value>> {
    let path: &[&str] = match part.object.kind() {
        "Service" | "ReplicationController" => &["spec", "selector"],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => &["spec", "selector", "matchLabels"],
        _ => return None,
    };
    part.object.at(path).and_then(Value::as_object)
}

fn sorted(selector: &Map<String, Value>) -> String {
    let entries: BTreeMap<&String, &Value> = selector.iter().collect();
    entries.into_iter().map(|(key, value)| format!("{key}={value} ")).collect()
}

/// Names the standard labels that some object lacks, once for the package.
fn standard(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    let missing: Vec<&str> = STANDARD
        .iter()
        .filter(|(label, fixed)| {
            input.parts.iter().any(|part| match (part.object.label(label), fixed) {
                (None, _) => true,
                (Some(value), Some(fixed)) => value != *fixed,
                (Some(_), None) => false,
            })
        })
        .map(|(label, _)| *label)
        .collect();
    if !missing.is_empty() {
        let kustomization = input.package.files.paths().find(|path| path.name().starts_with("kustomization"));
        let file = kustomization.map_or("kustomization.yaml", |path| path.as_str());
        findings.push(found("L022", file, 1, format!("objects lack the label {}", missing.join(", "))));
    }
}
