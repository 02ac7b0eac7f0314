//! Pure. Replaces the labels of charts by one: `component`, with a value per workload.
//!
//! Not here: the labels that the kustomization adds to all objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::model::Object;

/// Beginnings of labels and annotations that belong to charts.
const OF_CHARTS: [&str; 3] = ["app.kubernetes.io/", "helm.sh/", "meta.helm.sh/"];
/// Labels of older charts.
const OF_OLD_CHARTS: [&str; 6] = ["app", "chart", "heritage", "release", "component", "tier"];

/// Gives every workload a component, and every selector of its labels the same.
pub(super) fn simplify(package: &str, objects: &mut [Object]) {
    let workloads: Vec<(Map<String, Value>, String)> = objects
        .iter()
        .filter_map(|object| {
            let labels = object.at(template(object.kind())?)?.as_object()?.clone();
            Some((labels, component(package, object)))
        })
        .collect();
    for object in objects.iter_mut() {
        let own = component(package, object);
        if let Some(path) = template(object.kind()) {
            replace(object, path, &own);
        }
        for path in selectors(object.kind()) {
            let selects = |labels: &Map<String, Value>| {
                let wanted = object.at(path).and_then(Value::as_object);
                wanted.is_some_and(|wanted| {
                    !wanted.is_empty() && wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
                })
            };
            let found = workloads.iter().find(|(labels, _)| selects(labels)).map(|(_, component)| component.clone());
            if let Some(component) = found {
                replace(object, path, &component);
            }
        }
        clean(object);
    }
}

/// Returns where the labels of a workload's pods stand.
fn template(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => {
            Some(&["spec", "template", "metadata", "labels"])
        }
        "CronJob" => Some(&["spec", "jobTemplate", "spec", "template", "metadata", "labels"]),
        _ => None,
    }
}

/// Returns where an object selects pods.
fn selectors(kind: &str) -> &'static [&'static [&'static str]] {
    match kind {
        "Service" => &[&["spec", "selector"]],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "PodDisruptionBudget" => {
            &[&["spec", "selector", "matchLabels"]]
        }
        "NetworkPolicy" => &[&["spec", "podSelector", "matchLabels"]],
        _ => &[],
    }
}

/// Returns what a workload is: its component label, else its name without that of the package.
fn component(package: &str, object: &Object) -> String {
    let labels = template(object.kind()).and_then(|path| object.at(path)).and_then(Value::as_object);
    let said = labels.and_then(|labels| labels.get("app.kubernetes.io/component").or_else(|| labels.get("component")));
    if let Some(said) = said.and_then(Value::as_str) {
        return said.to_owned();
    }
    let name = object.name().strip_prefix(package).unwrap_or(object.name()).trim_matches('-');
    if name.is_empty() { "main".to_owned() } else { name.to_owned() }
}

fn replace(object: &mut Object, path: &[&str], component: &str) {
    let mut map = &mut object.0;
    for step in path {
        let slot = map.entry((*step).to_owned()).or_insert_with(|| Value::Object(Map::new()));
        match slot.as_object_mut() {
            Some(inner) => map = inner,
            None => return,
        }
    }
    *map = Map::from_iter([("component".to_owned(), json!(component))]);
}

/// Removes labels and annotations of charts, and the namespace, which the kustomization sets.
fn clean(object: &mut Object) {
    let metadata = object.metadata_mut();
    metadata.shift_remove("namespace");
    let of_chart = |key: &str| OF_CHARTS.iter().any(|start| key.starts_with(start)) || OF_OLD_CHARTS.contains(&key);
    for field in ["labels", "annotations"] {
        let kept: Map<String, Value> = metadata
            .get(field)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter(|(key, _)| !of_chart(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if kept.is_empty() {
            metadata.shift_remove(field);
        } else {
            let sorted: BTreeMap<String, Value> = kept.into_iter().collect();
            metadata.insert(field.to_owned(), sorted.into_iter().collect());
        }
    }
}
