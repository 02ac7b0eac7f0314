//! Pure. What we know of Kubernetes types: kinds with scope and plural, how lists and maps are owned, immutable fields.
//!
//! Not here: defaults and validation of whole objects (`sandbox`), health rules (`health`).

mod authored;
mod immutable;
mod lists;
mod names;
mod pods;
pub mod quantity;
mod table;

use std::collections::HashMap;

pub use authored::{CLUSTER_ANNOTATIONS, SERVER_METADATA, finalizers, of_server, owner_references};
pub use immutable::{ImmutablePath, Unsaid, fixed_part, immutable_paths, unsaid};
pub use lists::{KeyField, ListForm, ListKeys, ListRule, merge_rule};
pub use names::{NameRule, name_rule, name_trouble};
pub use pods::{CONTAINERS, Control, Privilege, privileges};
pub use table::{Field, Kind, ListShape, Presence, Scope, Shape, StructRef, Structure, Unity};

/// Protocol of a container or Service port that names none. It is part of the port's key.
pub const DEFAULT_PROTOCOL: &str = "TCP";

/// How server-side apply tells the items of a list apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListKind {
    /// By the values of these keys.
    Keyed(&'static [&'static str]),
    /// By their value.
    Set,
    /// Not at all: the list is owned and replaced as a whole.
    Atomic,
}

/// Returns the built-in kinds in the order of discovery; a kind served in two versions occurs twice, the preferred one first.
pub fn kinds() -> &'static [Kind] {
    &table::KINDS
}

/// Returns a built-in kind in its preferred version.
pub fn kind(group: &str, kind: &str) -> Option<&'static Kind> {
    let preferred: &HashMap<(&str, &str), &'static Kind> = &table::PREFERRED;
    preferred.get(&(group, kind)).copied()
}

/// Returns whether a kind is not one of Kubernetes' own: a definition brings it, whatever its group and name look like.
pub fn is_custom(group: &str, name: &str) -> bool {
    group.contains('.') && kind(group, name).is_none()
}

/// Returns whether objects of a kind lie in a namespace.
pub fn scope(group: &str, name: &str) -> Scope {
    kind(group, name).map_or(Scope::Unknown, |it| it.scope)
}

/// Returns the name of a kind in request paths.
pub fn plural(group: &str, name: &str) -> Option<&'static str> {
    kind(group, name).map(|it| it.plural)
}

/// Returns how the items of the list at a path are told apart.
///
/// The path holds field names from the root; items of lists are not named: the environment of a Deployment's containers is
/// `spec template spec containers env`. A list that we know nothing of is atomic, as in a schema without markers.
pub fn list_kind(group: &str, kind: &str, path: &[&str]) -> ListKind {
    match shape_at(group, kind, path) {
        Some(Shape::List(_, ListShape::Keyed(keys))) => ListKind::Keyed(keys),
        Some(Shape::List(_, ListShape::Set)) => ListKind::Set,
        Some(_) | None => ListKind::Atomic,
    }
}

/// Returns whether the map or structure at a path is owned entry by entry or as a whole.
///
/// What we know nothing of is granular, as in a schema without markers.
pub fn map_kind(group: &str, kind: &str, path: &[&str]) -> Unity {
    match shape_at(group, kind, path) {
        Some(Shape::Struct(it)) => it.unity,
        Some(Shape::Map(_, unity)) => *unity,
        Some(_) | None => Unity::Granular,
    }
}

/// Returns what a missing key of a keyed list's item counts as.
pub fn default_key(key: &str) -> Option<&'static str> {
    (key == "protocol").then_some(DEFAULT_PROTOCOL)
}

/// Returns the shape of the value at a path; items of lists are not named in it.
pub fn shape_at(group: &str, name: &str, path: &[&str]) -> Option<&'static Shape> {
    let structure = match kind(group, name).and_then(|it| it.structure) {
        Some(structure) => structure.get(),
        // Every object has the same metadata, also one of a kind that we do not know.
        None => kind("", "ConfigMap").and_then(|it| it.structure).filter(|_| path.first() == Some(&"metadata"))?.get(),
    };
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(&structure.field(first)?.shape, |shape, step| below(shape, step))
}

/// Returns the shape of a field below a shape, through any lists between.
fn below(shape: &'static Shape, step: &str) -> Option<&'static Shape> {
    match shape {
        Shape::Struct(it) => it.get().field(step).map(|field| &field.shape),
        Shape::Map(item, _) => Some(item),
        Shape::List(item, _) => below(item, step),
        Shape::Text
        | Shape::Integer
        | Shape::Boolean
        | Shape::Number
        | Shape::Quantity
        | Shape::Time
        | Shape::MicroTime
        | Shape::Bytes
        | Shape::IntegerOrText
        | Shape::Any => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ListKind, Scope, Unity, is_custom, kind, list_kind, map_kind, plural, scope};

    const CONTAINER: &str = "spec template spec containers";

    #[test]
    fn kinds_know_their_scope_and_plural() {
        assert_eq!(scope("", "Namespace"), Scope::Cluster);
        assert_eq!(scope("apps", "Deployment"), Scope::Namespaced);
        assert_eq!(scope("example.org", "Deployment"), Scope::Unknown);
        assert_eq!(plural("networking.k8s.io", "NetworkPolicy"), Some("networkpolicies"));
        assert_eq!(plural("", "Endpoints"), Some("endpoints"));
        assert_eq!(plural("example.org", "Widget"), None);
    }

    #[test]
    fn a_kind_is_custom_by_itself_and_not_by_its_group() {
        for (group, kind, expected) in [
            ("", "Service", false),
            ("apps", "Deployment", false),
            ("networking.k8s.io", "Ingress", false),
            ("gateway.networking.k8s.io", "Gateway", true),
            ("snapshot.storage.k8s.io", "VolumeSnapshot", true),
            ("serving.knative.dev", "Service", true),
        ] {
            assert_eq!(is_custom(group, kind), expected, "{group} {kind}");
        }
    }

    #[test]
    fn the_preferred_version_comes_first() {
        assert_eq!(kind("autoscaling", "HorizontalPodAutoscaler").unwrap().version, "v2");
    }

    #[test]
    fn lists_are_told_apart_as_the_api_server_does() {
        check_list("Deployment", CONTAINER, ListKind::Keyed(&["name"]));
        check_list("Deployment", &format!("{CONTAINER} env"), ListKind::Keyed(&["name"]));
        check_list("Deployment", &format!("{CONTAINER} ports"), ListKind::Keyed(&["containerPort", "protocol"]));
        check_list("Deployment", &format!("{CONTAINER} volumeMounts"), ListKind::Keyed(&["mountPath"]));
        check_list("Deployment", &format!("{CONTAINER} args"), ListKind::Atomic);
        check_list("Deployment", &format!("{CONTAINER} envFrom"), ListKind::Atomic);
        check_list("Deployment", "spec template spec volumes", ListKind::Keyed(&["name"]));
        check_list("Deployment", "spec template spec imagePullSecrets", ListKind::Keyed(&["name"]));
        check_list("Deployment", "spec template spec hostAliases", ListKind::Keyed(&["ip"]));
        check_list("Deployment", "spec template spec tolerations", ListKind::Atomic);
        check_list(
            "Deployment",
            "spec template spec topologySpreadConstraints",
            ListKind::Keyed(&["topologyKey", "whenUnsatisfiable"]),
        );
        check_list("Deployment", "spec selector matchExpressions", ListKind::Atomic);
        check_list("Deployment", "status conditions", ListKind::Keyed(&["type"]));
        check_list("StatefulSet", "spec volumeClaimTemplates", ListKind::Atomic);
        check_list("Service", "spec ports", ListKind::Keyed(&["port", "protocol"]));
        check_list("Service", "spec externalIPs", ListKind::Atomic);
        check_list("ServiceAccount", "secrets", ListKind::Keyed(&["name"]));
        check_list("Ingress", "spec rules", ListKind::Atomic);
        check_list("Role", "rules", ListKind::Atomic);
        check_list("RoleBinding", "subjects", ListKind::Atomic);
    }

    #[test]
    fn metadata_is_known_for_every_kind() {
        check_list("Widget", "metadata finalizers", ListKind::Set);
        check_list("Widget", "metadata ownerReferences", ListKind::Keyed(&["uid"]));
        check_list("Widget", "spec items", ListKind::Atomic);
        assert_eq!(map_kind("example.org", "Widget", &["metadata", "labels"]), Unity::Granular);
    }

    #[test]
    fn selectors_are_owned_as_a_whole() {
        check_map("Deployment", "spec selector", Unity::Atomic);
        check_map("Service", "spec selector", Unity::Atomic);
        check_map("Deployment", "spec template spec nodeSelector", Unity::Atomic);
        check_map("Deployment", "spec template metadata labels", Unity::Granular);
        check_map("Deployment", &format!("{CONTAINER} resources limits"), Unity::Granular);
        check_map("PersistentVolume", "spec claimRef", Unity::Granular);
        check_map("ConfigMap", "data", Unity::Granular);
    }

    fn group(kind: &str) -> &'static str {
        super::kinds().iter().find(|it| it.kind == kind).map_or("example.org", |it| it.group)
    }

    fn check_list(kind: &str, path: &str, expected: ListKind) {
        let path: Vec<&str> = path.split(' ').collect();
        assert_eq!(list_kind(group(kind), kind, &path), expected, "{kind} {path:?}");
    }

    fn check_map(kind: &str, path: &str, expected: Unity) {
        let path: Vec<&str> = path.split(' ').collect();
        assert_eq!(map_kind(group(kind), kind, &path), expected, "{kind} {path:?}");
    }
}
