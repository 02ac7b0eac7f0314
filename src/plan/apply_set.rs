//! Pure. The ApplySet parent: the one object by which other tools recognise everything an instance owns on a cluster.
//!
//! There is one set per instance and cluster, not per app, because a parent write per app would cost a quarter of an
//! install of small apps. It lists neither members nor commits, so neither a commit nor a new object of a known kind
//! writes it. Keys and id follow kubectl, which differs from the enhancement's text. Not here: when it is written (`apply`).

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use crate::base::sha256;
use crate::model::{InstanceId, Object, ObjectId};

/// Label on the parent: the id of the set.
pub const ID: &str = "applyset.kubernetes.io/id";
/// Annotation on the parent: the tool that owns the set, and its version.
pub const TOOLING: &str = "applyset.kubernetes.io/tooling";
/// Annotation on the parent: kinds that members have.
pub const CONTAINS_GROUP_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
/// Annotation on the parent: namespaces that members live in, without the parent's own.
pub const ADDITIONAL_NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";
/// Name of our tool in [`TOOLING`], before the slash.
const TOOL: &str = "wild";

/// Returns the identity of the parent of an instance.
pub fn parent_id(instance: &InstanceId, control_namespace: &str) -> ObjectId {
    ObjectId::new("", "ConfigMap", control_namespace, &format!("wild-{instance}"))
}

/// Returns the id of the set whose parent this is.
pub fn id(parent: &ObjectId) -> String {
    let name = format!("{}.{}.{}.{}", parent.name, parent.namespace, parent.kind, parent.group);
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(sha256(name.as_bytes()).0))
}

/// Returns the parent for members of these kinds, as (group, kind), in these namespaces.
pub fn parent(
    instance: &InstanceId,
    control_namespace: &str,
    kinds: &BTreeSet<(String, String)>,
    namespaces: &BTreeSet<String>,
    version: &str,
) -> Object {
    let parent = parent_id(instance, control_namespace);
    let kinds: BTreeSet<String> = kinds.iter().map(|(group, kind)| group_kind(group, kind)).collect();
    let namespaces: Vec<&str> =
        namespaces.iter().map(String::as_str).filter(|name| !name.is_empty() && *name != control_namespace).collect();
    let value = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": parent.name,
            "namespace": parent.namespace,
            "labels": { ID: id(&parent) },
            "annotations": {
                TOOLING: format!("{TOOL}/v{version}"),
                CONTAINS_GROUP_KINDS: kinds.into_iter().collect::<Vec<_>>().join(","),
                ADDITIONAL_NAMESPACES: namespaces.join(","),
            },
        },
    });
    Object::from_value(value).unwrap_or_default()
}

/// What a live parent says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parent {
    /// It is ours and lists these kinds, as (group, kind), and namespaces.
    Ours {
        /// Kinds.
        kinds: BTreeSet<(String, String)>,
        /// Namespaces without the parent's own.
        namespaces: BTreeSet<String>,
    },
    /// Another tool's; the text is its tooling annotation, possibly empty.
    Foreign(String),
}

/// Reads a live parent. A newer version of our tool is still us.
pub fn read(object: &Object) -> Parent {
    let tooling = object.annotation(TOOLING).unwrap_or("");
    if tooling.split('/').next() != Some(TOOL) {
        return Parent::Foreign(tooling.to_owned());
    }
    let list = |key| object.annotation(key).unwrap_or("").split(',').filter(|item| !item.is_empty());
    Parent::Ours {
        kinds: list(CONTAINS_GROUP_KINDS)
            .map(|item| {
                item.split_once('.').map_or((String::new(), item.into()), |(kind, group)| (group.into(), kind.into()))
            })
            .collect(),
        namespaces: list(ADDITIONAL_NAMESPACES).map(str::to_owned).collect(),
    }
}

fn group_kind(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance() -> InstanceId {
        InstanceId::parse("k3f7q2m5xd").unwrap()
    }

    fn kinds(pairs: &[(&str, &str)]) -> BTreeSet<(String, String)> {
        pairs.iter().map(|(group, kind)| ((*group).into(), (*kind).into())).collect()
    }

    #[test]
    fn the_id_is_the_one_that_kubectl_computes() {
        // printf '%s' 'wild-k3f7q2m5xd.wild-system.ConfigMap.' | sha256sum, as unpadded base64url.
        let id = id(&parent_id(&instance(), "wild-system"));
        assert_eq!(id, "applyset-mw2I1HYCUjLDctz_JROMAY8VL-wLNpGkvi3AV_dsE5k-v1");
    }

    #[test]
    fn kinds_and_namespaces_are_sorted_and_the_parents_own_namespace_is_left_out() {
        let namespaces = ["blog", "wild-system", "", "auth"].map(str::to_owned).into();
        let object = parent(
            &instance(),
            "wild-system",
            &kinds(&[("apps", "Deployment"), ("", "Secret"), ("", "ConfigMap")]),
            &namespaces,
            "0.1.0",
        );
        assert_eq!(object.annotation(CONTAINS_GROUP_KINDS), Some("ConfigMap,Deployment.apps,Secret"));
        assert_eq!(object.annotation(ADDITIONAL_NAMESPACES), Some("auth,blog"));
        assert_eq!(object.annotation(TOOLING), Some("wild/v0.1.0"));
        assert_eq!(object.id(), parent_id(&instance(), "wild-system"));
    }

    #[test]
    fn a_parent_reads_back_as_it_was_written() {
        let kinds = kinds(&[("apps", "Deployment"), ("", "Secret")]);
        let namespaces: BTreeSet<String> = ["auth".to_owned(), "blog".to_owned()].into();
        let object = parent(&instance(), "wild-system", &kinds, &namespaces, "9.9.9");
        assert_eq!(read(&object), Parent::Ours { kinds, namespaces });
    }

    #[test]
    fn a_parent_of_another_tool_is_foreign() {
        let mut object = parent(&instance(), "wild-system", &BTreeSet::new(), &BTreeSet::new(), "1");
        object.set_annotation(TOOLING, "kubectl/v1.36.3");
        assert_eq!(read(&object), Parent::Foreign("kubectl/v1.36.3".into()));
    }
}
