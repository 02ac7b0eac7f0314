//! Pure. Which fields of built-in kinds cannot be changed once an object exists.
//!
//! Not here: what is done about a change of such a field (`plan`).

use serde_json::Value;

use crate::model::Object;

/// A field that cannot be changed, as field names from the root.
pub type ImmutablePath = &'static [&'static str];

const ROLE_REF: &[ImmutablePath] = &[&["roleRef"]];
const SELECTOR: &[ImmutablePath] = &[&["spec", "selector"]];
const TABLE: &[(&str, &str, &[ImmutablePath])] = &[
    ("apps", "Deployment", SELECTOR),
    ("apps", "DaemonSet", SELECTOR),
    ("apps", "ReplicaSet", SELECTOR),
    (
        "apps",
        "StatefulSet",
        &[
            &["spec", "selector"],
            &["spec", "serviceName"],
            &["spec", "podManagementPolicy"],
            &["spec", "volumeClaimTemplates"],
        ],
    ),
    (
        "batch",
        "Job",
        &[
            &["spec", "selector"],
            &["spec", "template"],
            &["spec", "completions"],
            &["spec", "completionMode"],
            &["spec", "podFailurePolicy"],
        ],
    ),
    ("", "Secret", &[&["type"]]),
    ("", "Service", &[&["spec", "clusterIP"], &["spec", "ipFamilies"]]),
    (
        "",
        "Pod",
        &[
            &["spec", "affinity"],
            &["spec", "containers"],
            &["spec", "hostname"],
            &["spec", "hostNetwork"],
            &["spec", "imagePullSecrets"],
            &["spec", "initContainers"],
            &["spec", "nodeName"],
            &["spec", "nodeSelector"],
            &["spec", "priorityClassName"],
            &["spec", "restartPolicy"],
            &["spec", "runtimeClassName"],
            &["spec", "securityContext"],
            &["spec", "serviceAccountName"],
            &["spec", "subdomain"],
            &["spec", "volumes"],
        ],
    ),
    (
        "",
        "PersistentVolumeClaim",
        &[
            &["spec", "accessModes"],
            &["spec", "selector"],
            &["spec", "storageClassName"],
            &["spec", "volumeMode"],
            &["spec", "volumeName"],
            &["spec", "dataSource"],
            &["spec", "dataSourceRef"],
        ],
    ),
    (
        "",
        "PersistentVolume",
        &[&["spec", "csi"], &["spec", "hostPath"], &["spec", "local"], &["spec", "nfs"], &["spec", "volumeMode"]],
    ),
    ("rbac.authorization.k8s.io", "RoleBinding", ROLE_REF),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", ROLE_REF),
    ("scheduling.k8s.io", "PriorityClass", &[&["value"]]),
    ("networking.k8s.io", "IngressClass", &[&["spec", "controller"]]),
    ("node.k8s.io", "RuntimeClass", &[&["handler"]]),
    (
        "storage.k8s.io",
        "StorageClass",
        &[&["provisioner"], &["parameters"], &["reclaimPolicy"], &["volumeBindingMode"]],
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition", &[&["spec", "group"], &["spec", "names"], &["spec", "scope"]]),
];

/// What the server makes of such a field that an object does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unsaid {
    /// It stays absent.
    Absent,
    /// It becomes this text.
    Text(&'static str),
    /// It becomes something that only the server knows.
    Anything,
}

/// Returns what the server makes of a field that cannot be changed and that an object does not have.
pub fn unsaid(path: ImmutablePath) -> Unsaid {
    match path {
        [
            "spec",
            "clusterIP" | "completions" | "dataSourceRef" | "imagePullSecrets" | "ipFamilies" | "nodeName"
            | "priorityClassName" | "securityContext" | "serviceAccountName" | "storageClassName" | "volumeName",
        ] => Unsaid::Anything,
        ["spec", "restartPolicy"] => Unsaid::Text("Always"),
        ["spec", "podManagementPolicy"] => Unsaid::Text("OrderedReady"),
        ["spec", "completionMode"] => Unsaid::Text("NonIndexed"),
        ["spec", "volumeMode"] => Unsaid::Text("Filesystem"),
        ["spec", "serviceName"] => Unsaid::Text(""),
        ["type"] => Unsaid::Text("Opaque"),
        ["reclaimPolicy"] => Unsaid::Text("Delete"),
        ["volumeBindingMode"] => Unsaid::Text("Immediate"),
        _ => Unsaid::Absent,
    }
}

/// Returns what of such a field cannot be changed, in an object that is to look like this; nothing if all of it can.
///
/// Of a pod's containers the images can, of the families of a Service all but the first, and the number of completions of a Job whose pods
/// have numbers (Kubernetes 1.36, validation of updates).
pub fn fixed_part(object: &Object, path: ImmutablePath, value: &Value) -> Option<Value> {
    match (object.kind(), path) {
        ("Pod", ["spec", "containers" | "initContainers"]) => {
            let mut value = value.clone();
            for container in value.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                container.shift_remove("image");
            }
            Some(value)
        }
        ("Service", ["spec", "ipFamilies"]) => value.as_array().and_then(|families| families.first()).cloned(),
        ("Job", ["spec", "completions"]) => {
            let has_numbers = object.at(&["spec", "completionMode"]).is_some_and(|mode| mode == "Indexed");
            (!has_numbers).then(|| value.clone())
        }
        _ => Some(value.clone()),
    }
}

/// Returns the fields that cannot be changed in any object of a kind, as far as [`fixed_part`] says.
///
/// The data of a Secret or ConfigMap with `immutable: true` cannot be changed either; that depends on the object.
pub fn immutable_paths(group: &str, kind: &str) -> &'static [ImmutablePath] {
    TABLE.iter().find(|(g, k, _)| *g == group && *k == kind).map_or(&[], |(_, _, paths)| paths)
}

#[cfg(test)]
mod tests {
    use super::TABLE;
    use crate::schema::{Shape, kind};

    #[test]
    fn every_immutable_path_exists() {
        for (group, name, paths) in TABLE {
            for path in *paths {
                let mut shape = Shape::Struct(kind(group, name).unwrap().structure.unwrap());
                for step in *path {
                    let Shape::Struct(it) = &shape else { panic!("{name} {path:?}") };
                    shape = it.get().field(step).unwrap_or_else(|| panic!("{name} {path:?}")).shape.clone();
                }
            }
        }
    }
}
