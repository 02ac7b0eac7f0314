//! Pure. The order in which a build is printed. What is applied when does not depend on it.
//!
//! Not here: waves and stages (`plan`).

use std::cmp::Ordering;

use super::item::Item;
use crate::model::Object;

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
    pub(super) fn sort(&self, items: &mut Vec<Item>) {
        let Self::Legacy { first, last } = self else { return };
        let mut keyed: Vec<(Key, Item)> =
            std::mem::take(items).into_iter().map(|item| (Key::of(&item.object, first, last), item)).collect();
        keyed.sort_by(|(a, _), (b, _)| a.compare(b));
        items.extend(keyed.into_iter().map(|(_, item)| item));
    }
}

/// What decides on the place of an object, taken once.
struct Key {
    rank: (usize, usize),
    by_type: String,
    by_place: String,
    is_namespace: bool,
    is_core: bool,
}

impl Key {
    fn of(object: &Object, first: &[String], last: &[String]) -> Self {
        let (group, kind) = (object.group(), object.kind());
        Self {
            rank: rank(kind, first, last),
            by_type: format!("{}_{}_{}", or(group, "~G"), or(object.version(), "~V"), or(kind, "~K")),
            by_place: format!("{}|{}", or(object.namespace(), "~X"), or(object.name(), "~N")),
            is_namespace: kind == "Namespace",
            is_core: group.is_empty(),
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let by_type = self.by_type.cmp(&other.by_type);
        // A Namespace of another group stands behind the one of the core group, against the order of their texts.
        let namespaces = self.is_namespace && other.is_namespace && (self.is_core || other.is_core);
        let by_type = if namespaces { by_type.reverse() } else { by_type };
        self.rank.cmp(&other.rank).then(by_type).then_with(|| self.by_place.cmp(&other.by_place))
    }
}

/// Returns a group number and the place inside it.
fn rank(kind: &str, first: &[String], last: &[String]) -> (usize, usize) {
    if let Some(at) = last.iter().rposition(|it| it == kind) {
        return (2, at);
    }
    first.iter().rposition(|it| it == kind).map_or((1, 0), |at| (0, at))
}

fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}
