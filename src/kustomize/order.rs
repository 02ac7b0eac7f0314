//! Pure. The order in which a build is printed. What is applied when does not depend on it.
//!
//! Not here: waves and stages (`plan`).

use std::cmp::Ordering;

use super::item::{Id, Item};

/// Kinds that come first, in this order.
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
/// Kinds that come last, in this order.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// How a build is sorted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// As the objects were read.
    Fifo,
    /// By kind, with kinds that come first and last.
    Legacy { first: Vec<String>, last: Vec<String> },
}

impl Default for Order {
    fn default() -> Self {
        let own = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect();
        Self::Legacy { first: own(&FIRST), last: own(&LAST) }
    }
}

impl Order {
    /// Sorts objects.
    pub(super) fn sort(&self, items: &mut [Item]) {
        match self {
            Self::Fifo => {}
            Self::Legacy { first, last } => items.sort_by(|a, b| compare(a, b, first, last)),
        }
    }
}

fn compare(a: &Item, b: &Item, first: &[String], last: &[String]) -> Ordering {
    let (a_id, b_id) = (a.id(), b.id());
    rank(a_id.kind, first, last).cmp(&rank(b_id.kind, first, last)).then_with(|| {
        let by_type = type_key(&a_id).cmp(&type_key(&b_id));
        // A Namespace of another group stands behind the one of the core group, against the order of their texts.
        let namespaces = a_id.kind == "Namespace" && b_id.kind == "Namespace";
        let core = a_id.group.is_empty() || b_id.group.is_empty();
        let by_type = if namespaces && core { by_type.reverse() } else { by_type };
        by_type.then_with(|| place_key(a).cmp(&place_key(b)))
    })
}

/// Returns a group number and the place inside it.
fn rank(kind: &str, first: &[String], last: &[String]) -> (usize, usize) {
    if let Some(at) = last.iter().rposition(|it| it == kind) {
        return (2, at);
    }
    first.iter().rposition(|it| it == kind).map_or((1, 0), |at| (0, at))
}

fn type_key(id: &Id<'_>) -> String {
    format!("{}_{}_{}", or(id.group, "~G"), or(id.version, "~V"), or(id.kind, "~K"))
}

fn place_key(item: &Item) -> String {
    format!("{}|{}", or(item.object.namespace(), "~X"), or(item.object.name(), "~N"))
}

fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}
