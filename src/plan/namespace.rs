//! Pure. The app's namespace: derived if the package renders none, and a stop for everything while it is being deleted.
//!
//! Not here: who may delete it (`remove`), how a stuck one is freed.

use serde_json::json;

use super::action::{Blocked, WakeOn};
use super::hash;
use super::snapshot::{DesiredObject, NamespaceState, Snapshot};
use crate::model::{Object, ObjectId};

/// Key for the hash of a derived Namespace: its whole content is its public name, so there is nothing to hide.
const PUBLIC_KEY: [u8; 32] = [0; 32];

/// Returns the identity of a namespace.
pub fn id(namespace: &str) -> ObjectId {
    ObjectId::new("", "Namespace", "", namespace)
}

/// Returns the Namespace object of an app whose package renders none.
pub fn derived(namespace: &str) -> DesiredObject {
    let value = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let object = Object::from_value(value).unwrap_or_default();
    let hash = hash::desired_hash(&PUBLIC_KEY, &object);
    DesiredObject { object, hash, file: String::new(), line: 0 }
}

/// Returns why nothing can be written while the namespace is going.
///
/// A namespace that is being deleted takes no new content, and what is in it is lost; so the app starts anew under the
/// namespace's next incarnation.
pub(super) fn terminating(snapshot: &Snapshot) -> Option<(Blocked, WakeOn)> {
    let NamespaceState::Terminating { why } = &snapshot.namespace_state else { return None };
    let because = if why.is_empty() { String::new() } else { format!(": {why}") };
    let blocked = Blocked {
        object: Some(id(&snapshot.namespace)),
        reason: "NamespaceTerminating".into(),
        message: format!("namespace {} is being deleted{because}", snapshot.namespace),
        hint: String::new(),
    };
    Some((blocked, WakeOn::NamespaceGone(snapshot.namespace.clone())))
}
