//! Pure. What an object needs before it: its namespace, its kind's definition, what its pod template names.
//!
//! Not here: order by kind (`kind`), order by authors (`wanted`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::namespace;
use crate::model::{Object, ObjectId};

/// Returns the objects that this one needs, whether or not they are among those we write.
pub(super) fn needs(object: &Object) -> BTreeSet<ObjectId> {
    let home = object.namespace();
    let mut needs = BTreeSet::new();
    if !home.is_empty() {
        needs.insert(namespace::id(home));
    }
    if let Some(spec) = pod_spec(object) {
        let mut add = |kind: &str, name: Option<&Value>| {
            if let Some(name) = name.and_then(Value::as_str) {
                needs.insert(ObjectId::new("", kind, home, name));
            }
        };
        add("ServiceAccount", spec.get("serviceAccountName"));
        for secret in items(spec, "imagePullSecrets") {
            add("Secret", secret.get("name"));
        }
        pod_needs(spec, &mut add);
    }
    needs
}

/// Returns the ConfigMaps and Secrets whose content the pods of an object read.
pub(super) fn config(object: &Object) -> BTreeSet<ObjectId> {
    let mut config = BTreeSet::new();
    if let Some(spec) = pod_spec(object) {
        pod_needs(spec, &mut |kind: &str, name: Option<&Value>| {
            if let Some(name) = name.and_then(Value::as_str).filter(|_| matches!(kind, "ConfigMap" | "Secret")) {
                config.insert(ObjectId::new("", kind, object.namespace(), name));
            }
        });
    }
    config
}

fn pod_needs(spec: &Value, add: &mut impl FnMut(&str, Option<&Value>)) {
    for volume in items(spec, "volumes") {
        volume_needs(volume, add);
    }
    for container in items(spec, "initContainers").chain(items(spec, "containers")) {
        container_needs(container, add);
    }
}

/// Returns the group and kind that a CustomResourceDefinition defines.
pub(super) fn defines(object: &Object) -> Option<(&str, &str)> {
    if object.kind() != "CustomResourceDefinition" {
        return None;
    }
    let group = object.at(&["spec", "group"]).and_then(Value::as_str)?;
    Some((group, object.at(&["spec", "names", "kind"]).and_then(Value::as_str)?))
}

fn pod_spec(object: &Object) -> Option<&Value> {
    match object.kind() {
        "Pod" => object.at(&["spec"]),
        "CronJob" => object.at(&["spec", "jobTemplate", "spec", "template", "spec"]),
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => object.at(&["spec", "template", "spec"]),
        _ => None,
    }
}

fn volume_needs(volume: &Value, add: &mut impl FnMut(&str, Option<&Value>)) {
    let part = |key: &str, name: &str| volume.get(key).and_then(|source| source.get(name));
    add("ConfigMap", part("configMap", "name"));
    add("Secret", part("secret", "secretName"));
    add("PersistentVolumeClaim", part("persistentVolumeClaim", "claimName"));
    for source in volume.get("projected").into_iter().flat_map(|projected| items(projected, "sources")) {
        add("ConfigMap", source.get("configMap").and_then(|it| it.get("name")));
        add("Secret", source.get("secret").and_then(|it| it.get("name")));
    }
}

fn container_needs(container: &Value, add: &mut impl FnMut(&str, Option<&Value>)) {
    let name = |from: &Value, key: &str| from.get(key).and_then(|it| it.get("name")).cloned();
    for from in items(container, "envFrom") {
        add("ConfigMap", name(from, "configMapRef").as_ref());
        add("Secret", name(from, "secretRef").as_ref());
    }
    for from in items(container, "env").filter_map(|variable| variable.get("valueFrom")) {
        add("ConfigMap", name(from, "configMapKeyRef").as_ref());
        add("Secret", name(from, "secretKeyRef").as_ref());
    }
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_workload_needs_what_its_pods_name() {
        let pods = json!({
            "serviceAccountName": "runner",
            "imagePullSecrets": [{"name": "registry"}],
            "volumes": [
                {"name": "a", "configMap": {"name": "files"}},
                {"name": "b", "secret": {"secretName": "keys"}},
                {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "d", "projected": {"sources": [{"configMap": {"name": "more"}}, {"secret": {"name": "token"}}]}},
                {"name": "e", "emptyDir": {}},
            ],
            "initContainers": [{"envFrom": [{"configMapRef": {"name": "setup"}}, {"secretRef": {"name": "init"}}]}],
            "containers": [{"env": [
                {"name": "A", "value": "x"},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "config", "key": "b"}}},
                {"name": "C", "valueFrom": {"secretKeyRef": {"name": "password", "key": "c"}}},
            ]}],
        });
        let object = |kind: &str, spec: Value| {
            Object::from_value(json!({"kind": kind, "metadata": {"namespace": "blog"}, "spec": spec})).unwrap()
        };
        let expected = [
            "ConfigMap blog/config",
            "ConfigMap blog/files",
            "ConfigMap blog/more",
            "ConfigMap blog/setup",
            "Namespace/blog",
            "PersistentVolumeClaim blog/data",
            "Secret blog/init",
            "Secret blog/keys",
            "Secret blog/password",
            "Secret blog/registry",
            "Secret blog/token",
            "ServiceAccount blog/runner",
        ];
        for object in [
            object("Deployment", json!({"template": {"spec": pods}})),
            object("CronJob", json!({"jobTemplate": {"spec": {"template": {"spec": pods}}}})),
            object("Pod", pods.clone()),
        ] {
            let mut needed: Vec<String> = needs(&object).iter().map(ToString::to_string).collect();
            needed.sort();
            assert_eq!(needed, expected, "{}", object.kind());
        }
    }

    #[test]
    fn other_objects_need_their_namespace_only() {
        let object =
            Object::from_value(json!({"kind": "Service", "metadata": {"namespace": "blog"}, "spec": {}})).unwrap();
        assert_eq!(needs(&object), [namespace::id("blog")].into());
        let object = Object::from_value(json!({"kind": "ClusterRole", "metadata": {"name": "a"}})).unwrap();
        assert_eq!(needs(&object), [].into());
    }
}
