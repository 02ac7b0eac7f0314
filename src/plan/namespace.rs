//! Pure. The app's namespace, derived if the package renders none.
//!
//! Not here: who may delete it (`remove`), what holds while it is being deleted (`recovery`).

use serde_json::json;

use super::hash;
use super::snapshot::DesiredObject;
use crate::model::{Object, ObjectId};

/// Key for the hash of a derived Namespace: its whole content is its public name, so there is nothing to hide.
const PUBLIC_KEY: [u8; 32] = [0; 32];

/// Returns the identity of a namespace.
pub fn id(namespace: &str) -> ObjectId {
    ObjectId::new("", "Namespace", "", namespace)
}

/// Returns whether an object is a namespace.
pub fn is_one(id: &ObjectId) -> bool {
    id.group.is_empty() && id.kind == "Namespace"
}

/// Returns the Namespace object of an app whose package renders none.
pub fn derived(namespace: &str) -> DesiredObject {
    let value = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let object = Object::from_value(value).unwrap_or_default();
    let hash = hash::desired_hash(&PUBLIC_KEY, &object);
    DesiredObject { object, hash, file: String::new(), line: 0 }
}
