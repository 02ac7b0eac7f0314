//! Pure. An app reaches beyond its own namespace only where the instance's settings grant it.
//!
//! So are rights beyond those that it brings: what a role in its own namespace may say, others of the namespace could use.
//!
//! A grant of secrets holds back the whole app: without the key its pods would not start.
//!
//! Not here: writing grants (`compile`).

use serde_json::Value;

use super::action::{Blocked, WakeOn};
use super::kind;
use super::namespace;
use super::snapshot::{Desired, Snapshot};
use super::wanted::Wanted;
use crate::model::{Object, ObjectId};

/// API group of roles and their bindings.
const RBAC: &str = "rbac.authorization.k8s.io";
/// Verbs by which the holder of a role gets rights that the role does not name.
const ESCALATING: [&str; 3] = ["escalate", "bind", "impersonate"];

/// Returns why an app must not write an object.
pub(super) fn missing(snapshot: &Snapshot, wanted: &Wanted) -> Option<Blocked> {
    let id = &wanted.id;
    let grants = &snapshot.policy.grants;
    if *id == namespace::id(&snapshot.namespace) {
        return None;
    }
    if kind::is_cluster_scoped(id) {
        return (!is_granted(snapshot, id))
            .then(|| blocked(snapshot, id, "lies outside namespaces", "kinds", &id.kind));
    }
    let own = id.namespace == snapshot.namespace || grants.namespaces.contains(&id.namespace);
    if !own {
        let why = format!("lies in namespace {}", id.namespace);
        return Some(blocked(snapshot, id, &why, "namespaces", &id.namespace));
    }
    let beyond = beyond(snapshot, &wanted.payload).filter(|_| id.group == RBAC && !is_granted(snapshot, id))?;
    Some(Blocked { message: format!("{} {beyond}", id.short()), ..blocked(snapshot, id, "", "kinds", &id.kind) })
}

/// Returns whether the settings let the app bring objects of this kind.
fn is_granted(snapshot: &Snapshot, id: &ObjectId) -> bool {
    let full = format!("{}.{}", id.kind, id.group);
    snapshot.policy.grants.kinds.iter().any(|kind| *kind == id.kind || *kind == full)
}

/// Returns what rights a role or a binding gives beyond those that the app brings.
fn beyond(snapshot: &Snapshot, object: &Object) -> Option<String> {
    let text = |key: &str| object.at(&["roleRef", key]).and_then(Value::as_str).unwrap_or("");
    match object.kind() {
        "RoleBinding" if text("kind") == "ClusterRole" && !brings(snapshot, text("name")) => {
            Some(format!("gives the rights of ClusterRole/{}, which {} does not bring", text("name"), snapshot.app))
        }
        "Role" => {
            let rules = object.at(&["rules"]).and_then(Value::as_array)?;
            rules.iter().find_map(escalation).map(|what| format!("lets who has it {what}"))
        }
        _ => None,
    }
}

fn brings(snapshot: &Snapshot, role: &str) -> bool {
    let Desired::Objects(objects) = &snapshot.desired else { return false };
    let id = ObjectId::new(RBAC, "ClusterRole", "", role);
    objects.iter().any(|desired| desired.object.id() == id)
}

/// Returns by what a rule of a role goes beyond itself.
fn escalation(rule: &Value) -> Option<String> {
    let has = |list: &str, item: &str| {
        rule.get(list).and_then(Value::as_array).is_some_and(|all| all.iter().any(|it| it.as_str() == Some(item)))
    };
    if let Some(verb) = ESCALATING.iter().find(|verb| has("verbs", verb)) {
        return Some(format!("{verb}, which gives other rights than its own"));
    }
    // All verbs on roles are those above, too; on anything else they give no rights.
    let of_roles = (has("apiGroups", "*") || has("apiGroups", RBAC))
        && ["*", "roles", "rolebindings"].iter().any(|kind| has("resources", kind));
    (has("verbs", "*") && of_roles).then(|| "do everything to roles, which gives other rights than its own".to_owned())
}

/// Returns the keys of other apps' secrets that the app reads and that nobody granted.
pub(super) fn missing_secrets(snapshot: &Snapshot) -> Vec<(Blocked, WakeOn)> {
    let granted = &snapshot.policy.grants.secrets;
    let missing = snapshot.secret_grants.iter().filter(|key| !granted.contains(key));
    missing
        .map(|key| {
            let blocked = Blocked {
                object: None,
                reason: "GrantMissing".into(),
                message: format!("{} may not read the secret {key}", snapshot.app),
                hint: format!("add {key} to apps.{}.grants.secrets in .wild/config.yaml", snapshot.app),
            };
            (blocked, WakeOn::Revision)
        })
        .collect()
}

fn blocked(snapshot: &Snapshot, id: &ObjectId, why: &str, list: &str, item: &str) -> Blocked {
    Blocked {
        object: Some(id.clone()),
        reason: "GrantMissing".into(),
        message: format!("{} {why}, and {} may write only into its own", id.short(), snapshot.app),
        hint: format!("add {item} to apps.{}.grants.{list} in .wild/config.yaml", snapshot.app),
    }
}
