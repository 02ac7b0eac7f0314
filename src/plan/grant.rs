//! Pure. An app reaches beyond its own namespace only where the instance's settings grant it.
//!
//! A grant of secrets holds back the whole app: without the key its pods would not start.
//!
//! Not here: writing grants (`compile`).

use super::action::{Blocked, WakeOn};
use super::kind;
use super::namespace;
use super::snapshot::Snapshot;
use crate::model::ObjectId;

/// Returns why an app must not write an object.
pub(super) fn missing(snapshot: &Snapshot, id: &ObjectId) -> Option<Blocked> {
    let grants = &snapshot.policy.grants;
    if *id == namespace::id(&snapshot.namespace) {
        return None;
    }
    if kind::is_cluster_scoped(id) {
        let full = format!("{}.{}", id.kind, id.group);
        let granted = grants.kinds.iter().any(|kind| *kind == id.kind || *kind == full);
        return (!granted).then(|| blocked(snapshot, id, "lies outside namespaces", "kinds", &id.kind));
    }
    let own = id.namespace == snapshot.namespace || grants.namespaces.contains(&id.namespace);
    (!own).then(|| blocked(snapshot, id, &format!("lies in namespace {}", id.namespace), "namespaces", &id.namespace))
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
