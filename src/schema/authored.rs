//! Pure. Metadata that is not for authors: what only the cluster sets, what owns an object, and what keeps it from going.
//!
//! People commit what `kubectl get -o yaml` printed. Not here: what is done about it (`plan`, `package::lint`).

use serde_json::{Map, Value};

use crate::model::Object;

/// Fields of the metadata that only the cluster sets.
pub const SERVER_METADATA: [&str; 7] =
    ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"];
/// Annotations that only controllers of the cluster set, and would set again whatever a file says.
pub const CLUSTER_ANNOTATIONS: [&str; 2] =
    ["deployment.kubernetes.io/revision", "deprecated.daemonset.template.generation"];
/// What the cluster itself writes into `spec.finalizers` of every namespace.
const OF_NAMESPACES: &str = "kubernetes";

/// Returns the fields of an object that only the cluster sets, by path; what holds nothing, such as `creationTimestamp: null`, says nothing.
pub fn of_server(object: &Object) -> Vec<String> {
    let metadata = object.metadata();
    let of_metadata = SERVER_METADATA.iter().filter(|key| metadata.is_some_and(|it| says_something(it.get(**key))));
    let mut found: Vec<String> = of_metadata.map(|key| format!("metadata.{key}")).collect();
    let annotations = CLUSTER_ANNOTATIONS.iter().filter(|key| object.annotation(key).is_some());
    found.extend(annotations.map(|key| format!("metadata.annotations[{key}]")));
    found.extend(says_something(object.0.get("status")).then(|| "status".to_owned()));
    found
}

/// Returns where an object, or a part of it that others are made from, names an owner.
pub fn owner_references(object: &Object) -> Option<String> {
    let mut found = Vec::new();
    each_metadata(object, &mut |path, metadata| {
        found.extend(says_something(metadata.get("ownerReferences")).then(|| format!("{path}.ownerReferences")));
    });
    found.into_iter().next()
}

/// Returns what keeps an object, or those that are made from a part of it, from going: each name once, in order of place.
pub fn finalizers(object: &Object) -> Vec<String> {
    let mut found = Vec::new();
    each_metadata(object, &mut |_, metadata| found.extend(names(metadata.get("finalizers"))));
    if object.group().is_empty() && object.kind() == "Namespace" {
        let own = names(object.at(&["spec", "finalizers"]));
        found.extend(own.into_iter().filter(|name| name != OF_NAMESPACES));
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|name| seen.insert(name.clone()));
    found
}

/// Returns the texts of a list; what is no text stands as it is written.
fn names(list: Option<&Value>) -> Vec<String> {
    let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match list {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().map(written).collect(),
        Some(other) => vec![written(other)],
    }
}

/// Calls a function with the metadata of an object and of everything in it that has some, such as templates of pods and claims, each with its
/// path. Depth is bounded by the loader. A definition holds schemas, which are no objects.
fn each_metadata(object: &Object, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    let is_definition = object.kind() == "CustomResourceDefinition";
    if let Some(metadata) = object.metadata() {
        visit("metadata", metadata);
    }
    let parts = object.0.iter().filter(|(key, _)| !is_definition && *key != "metadata" && *key != "status");
    parts.for_each(|(key, value)| below(key, value, visit));
}

fn below(path: &str, value: &Value, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = format!("{path}.{key}");
                if let Some(metadata) = value.as_object().filter(|_| key == "metadata") {
                    visit(&path, metadata);
                }
                below(&path, value, visit);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(number, item)| below(&format!("{path}[{number}]"), item, visit));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns whether anything in a value says something: tools print `status: {}` and a status of empty lists and texts.
fn says_something(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => items.iter().any(|item| says_something(Some(item))),
        Some(Value::Object(map)) => map.values().any(|item| says_something(Some(item))),
        Some(Value::Bool(_) | Value::Number(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    #[test]
    fn what_a_server_sets_is_named_wherever_it_says_something() {
        let dump = object(json!({"kind": "Deployment", "metadata": {
            "name": "web", "uid": "u", "resourceVersion": "7", "generation": 2, "creationTimestamp": "2026-11-21T10:00:00Z",
            "managedFields": [{"manager": "kubectl"}], "annotations": {"deployment.kubernetes.io/revision": "3", "mine": "a"}, "selfLink": "/apis/x", "deletionTimestamp": "2026-11-21T10:00:00Z",
        }, "status": {"replicas": 1}}));
        let named = of_server(&dump).join(" ");
        let expected = "metadata.uid metadata.resourceVersion metadata.generation metadata.creationTimestamp metadata.managedFields \
                        metadata.selfLink metadata.deletionTimestamp metadata.annotations[deployment.kubernetes.io/revision] status";
        assert_eq!(named, expected);
        let printed = json!({"metadata": {"creationTimestamp": null, "managedFields": [], "resourceVersion": ""},
            "status": {"acceptedNames": {"kind": "", "plural": ""}, "conditions": [], "storedVersions": null}});
        assert_eq!(of_server(&object(printed)), Vec::<String>::new());
        let only = |value: Value| of_server(&object(value)).join(" ");
        assert_eq!(only(json!({"status": {"replicas": 0}})), "status");
        assert_eq!(
            only(
                json!({"metadata": {"name": "a"}, "spec": {"status": {"a": 1}, "template": {"metadata": {"uid": "u"}}}})
            ),
            ""
        );
    }

    #[test]
    fn an_owner_is_found_on_the_object_and_in_its_templates() {
        let owner = json!([{"kind": "Node", "name": "n", "uid": "u"}]);
        let at = |value: Value| owner_references(&object(value)).unwrap_or_default();
        assert_eq!(at(json!({"metadata": {"ownerReferences": owner}})), "metadata.ownerReferences");
        let template = json!({"spec": {"template": {"metadata": {"ownerReferences": owner}}}});
        assert_eq!(at(template), "spec.template.metadata.ownerReferences");
        let claims = json!({"spec": {"volumeClaimTemplates": [{}, {"metadata": {"ownerReferences": owner}}]}});
        assert_eq!(at(claims), "spec.volumeClaimTemplates[1].metadata.ownerReferences");
        let cron = json!({"spec": {"jobTemplate": {"spec": {"template": {"metadata": {"ownerReferences": owner}}}}}});
        assert_eq!(at(cron), "spec.jobTemplate.spec.template.metadata.ownerReferences");
        assert_eq!(at(json!({"metadata": {"ownerReferences": []}, "data": {"ownerReferences": "x"}})), "");
        let schema = json!({"kind": "CustomResourceDefinition", "spec": {"metadata": {"ownerReferences": owner}}});
        assert_eq!(at(schema), "", "a schema is no object");
    }

    #[test]
    fn finalizers_are_found_wherever_they_take_effect() {
        let of = |value: Value| finalizers(&object(value)).join(" ");
        assert_eq!(
            of(json!({"metadata": {"finalizers": ["a.b/c", "foregroundDeletion", "a.b/c"]}})),
            "a.b/c foregroundDeletion"
        );
        let pods =
            json!({"metadata": {"finalizers": []}, "spec": {"template": {"metadata": {"finalizers": ["x.y/z"]}}}});
        assert_eq!(of(pods), "x.y/z");
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes", "a.b/hold"]}});
        assert_eq!(of(namespace), "a.b/hold");
        assert_eq!(of(json!({"metadata": {"finalizers": null}, "status": {"metadata": {"finalizers": ["x"]}}})), "");
        assert_eq!(of(json!({"metadata": {"finalizers": "a.b/c"}})), "a.b/c", "no list, and the server says so");
    }
}
