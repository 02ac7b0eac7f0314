//! Pure. The id of our ApplySet: what the label on each member says, and by which other tools recognise the members.
//!
//! There is one set per instance and cluster, not per app, because a parent write per app would cost a quarter of an
//! install of small apps. The id follows kubectl, which differs from the enhancement's text. Not here: the parent object,
//! which names the kinds and namespaces in use (`target`).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{InstanceId, ObjectId};
use crate::base::sha256;

/// Returns the identity of the parent of an instance.
pub fn parent_id(instance: &InstanceId, control_namespace: &str) -> ObjectId {
    ObjectId::new("", "ConfigMap", control_namespace, &format!("wild-{instance}"))
}

/// Returns the id of the set whose parent this is.
pub fn id(parent: &ObjectId) -> String {
    let name = format!("{}.{}.{}.{}", parent.name, parent.namespace, parent.kind, parent.group);
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(sha256(name.as_bytes()).0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_the_one_that_kubectl_computes() {
        // printf '%s' 'wild-k3f7q2m5xd.wild-system.ConfigMap.' | sha256sum, as unpadded base64url.
        let instance = InstanceId::parse("k3f7q2m5xd").unwrap();
        let id = id(&parent_id(&instance, "wild-system"));
        assert_eq!(id, "applyset-mw2I1HYCUjLDctz_JROMAY8VL-wLNpGkvi3AV_dsE5k-v1");
    }
}
