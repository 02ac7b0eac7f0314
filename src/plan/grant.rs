//! Pure. An app reaches beyond its own namespace only where the instance's settings grant it.
//!
//! Not here: keys of other apps' secrets, which are granted where they are read.

use super::action::Blocked;
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

fn blocked(snapshot: &Snapshot, id: &ObjectId, why: &str, list: &str, item: &str) -> Blocked {
    Blocked {
        object: Some(id.clone()),
        reason: "GrantMissing".into(),
        message: format!("{} {why}, and {} may write only into its own", id.short(), snapshot.app),
        hint: format!("add {item} to apps.{}.grants.{list} in .wild/config.yaml", snapshot.app),
    }
}
