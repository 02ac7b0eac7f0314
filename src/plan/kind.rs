//! Pure. What the rules of the planner know of kinds: order, protection, scope.
//!
//! Not here: the shape of kinds (`schema`), their health (`health`).

use std::time::Duration;

use serde_json::Value;

use super::action::WakeOn;
use super::snapshot::{Desired, Snapshot};
use crate::base::Timestamp;
use crate::model::{Object, ObjectId};
use crate::schema::{self, Scope};

/// Time until a kind is asked for again whose definition belongs to the app.
const OWN_KIND_PAUSE: Duration = Duration::from_secs(1);
/// The same for a kind of somebody else: one small request of each app that waits for it.
const KIND_PAUSE: Duration = Duration::from_secs(10);
/// Stage of Namespace and CustomResourceDefinition: everything else may need them.
pub(super) const STAGE_FIRST: u8 = 0;
/// Stage of classes and of roles: objects of all other kinds name them.
const STAGE_CLASSES: u8 = 1;
/// Stage of ways to what runs.
const STAGE_WAYS: u8 = 5;
/// Stage of custom resources: after their definitions, before workloads.
pub(super) const STAGE_CUSTOM: u8 = 3;
/// Stage of admission webhooks: their backend must exist first, or they refuse everything.
pub(super) const STAGE_ADMISSION: u8 = 6;

/// Returns the order of a kind inside a wave; deletions run it backwards.
pub fn stage(group: &str, kind: &str) -> u8 {
    if schema::is_custom(group, kind) {
        // By their names these say what they are for, in whatever group.
        return match kind {
            _ if kind.ends_with("Class") => STAGE_CLASSES,
            _ if kind.ends_with("Route") => STAGE_WAYS,
            _ => STAGE_CUSTOM,
        };
    }
    match kind {
        "Namespace" | "CustomResourceDefinition" => STAGE_FIRST,
        "ClusterRole" => STAGE_CLASSES,
        _ if kind.ends_with("Class") => STAGE_CLASSES,
        "ServiceAccount"
        | "Role"
        | "RoleBinding"
        | "ClusterRoleBinding"
        | "ResourceQuota"
        | "LimitRange"
        | "NetworkPolicy"
        | "Secret"
        | "ConfigMap"
        | "PersistentVolume"
        | "PersistentVolumeClaim"
        | "Service" => 2,
        "Deployment"
        | "StatefulSet"
        | "DaemonSet"
        | "ReplicaSet"
        | "Pod"
        | "Job"
        | "CronJob"
        | "HorizontalPodAutoscaler"
        | "PodDisruptionBudget" => 4,
        "Ingress" | "APIService" => STAGE_WAYS,
        _ if kind.starts_with("ValidatingAdmissionPolicy") || kind.starts_with("MutatingAdmissionPolicy") => {
            STAGE_ADMISSION
        }
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => STAGE_ADMISSION,
        _ if schema::kind(group, kind).is_none() => STAGE_CUSTOM,
        _ => 2,
    }
}

/// Returns whether a kind is never pruned: its deletion takes content with it that git does not hold.
pub fn is_protected(kind: &str) -> bool {
    matches!(kind, "Namespace" | "PersistentVolumeClaim" | "PersistentVolume" | "CustomResourceDefinition")
}

/// Returns when to look again for a kind that the server does not know. An established definition is served a moment later, of which no watch
/// tells; that of another owner is in no watch of ours.
pub(super) fn look_again(snapshot: &Snapshot, event: &WakeOn) -> Option<Timestamp> {
    let WakeOn::Kind { group, kind } = event else { return None };
    Some(snapshot.now.plus(if is_own(snapshot, group, kind) { OWN_KIND_PAUSE } else { KIND_PAUSE }))
}

/// Returns whether the app itself brings the definition of a kind.
pub(super) fn is_own(snapshot: &Snapshot, group: &str, kind: &str) -> bool {
    let Desired::Objects(objects) = &snapshot.desired else { return false };
    let text = |object: &Object, path: &[&str], wanted: &str| object.at(path).and_then(Value::as_str) == Some(wanted);
    objects.iter().map(|desired| &desired.object).any(|object| {
        object.kind() == "CustomResourceDefinition"
            && text(object, &["spec", "group"], group)
            && text(object, &["spec", "names", "kind"], kind)
    })
}

/// Returns whether an object is a Job, which runs once.
pub(super) fn is_job(id: &ObjectId) -> bool {
    id.kind == "Job" && id.group == "batch"
}

/// Returns whether a kind holds a user's data, so that it stays when an app is deleted without its data.
pub(super) fn holds_data(kind: &str) -> bool {
    matches!(kind, "Namespace" | "PersistentVolumeClaim" | "PersistentVolume")
}

/// Returns whether an object lies outside namespaces; an unknown kind is what its object says.
pub(super) fn is_cluster_scoped(id: &ObjectId) -> bool {
    match schema::scope(&id.group, &id.kind) {
        Scope::Cluster => true,
        Scope::Namespaced => false,
        Scope::Unknown => id.namespace.is_empty(),
    }
}

/// Returns whether objects of a kind must name a namespace.
pub(super) fn needs_namespace(id: &ObjectId) -> bool {
    schema::scope(&id.group, &id.kind) == Scope::Namespaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_in_the_order_in_which_they_need_each_other() {
        for (group, kind, expected) in [
            ("", "Namespace", 0),
            ("apiextensions.k8s.io", "CustomResourceDefinition", 0),
            ("storage.k8s.io", "StorageClass", 1),
            ("gateway.networking.k8s.io", "GatewayClass", 1),
            ("rbac.authorization.k8s.io", "ClusterRole", 1),
            ("rbac.authorization.k8s.io", "RoleBinding", 2),
            ("", "Secret", 2),
            ("", "PersistentVolumeClaim", 2),
            ("cert-manager.io", "Certificate", 3),
            ("serving.knative.dev", "Service", 3),
            ("traefik.io", "IngressRoute", 5),
            ("apps", "Deployment", 4),
            ("autoscaling", "HorizontalPodAutoscaler", 4),
            ("networking.k8s.io", "Ingress", 5),
            ("gateway.networking.k8s.io", "HTTPRoute", 5),
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", 6),
            ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", 6),
        ] {
            assert_eq!(stage(group, kind), expected, "{kind}");
        }
    }

    #[test]
    fn an_unknown_kind_is_scoped_as_its_object_says() {
        assert!(is_cluster_scoped(&ObjectId::new("x.io", "Widget", "", "a")));
        assert!(!is_cluster_scoped(&ObjectId::new("x.io", "Widget", "blog", "a")));
        assert!(!is_cluster_scoped(&ObjectId::new("", "ConfigMap", "", "a")));
        assert!(needs_namespace(&ObjectId::new("", "ConfigMap", "", "a")));
        assert!(is_cluster_scoped(&ObjectId::new("", "Namespace", "blog", "a")));
    }
}
