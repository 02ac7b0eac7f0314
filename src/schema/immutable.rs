//! Pure. Which fields of built-in kinds cannot be changed once an object exists.
//!
//! Not here: what is done about a change of such a field (`plan`).

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
        &[&["spec", "selector"], &["spec", "template"], &["spec", "completionMode"], &["spec", "podFailurePolicy"]],
    ),
    ("", "Secret", &[&["type"]]),
    ("", "Service", &[&["spec", "clusterIP"]]),
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
        ],
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
        ["spec", "clusterIP" | "storageClassName" | "volumeName"] => Unsaid::Anything,
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

/// Returns the fields that cannot be changed in any object of a kind.
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
