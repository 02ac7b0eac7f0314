//! Format. Our labels and annotations on live objects, version `v1`; read back by every later build and by other tools.
//!
//! Pure. The marks stand on an object's own metadata only: never on a pod template, never in a selector, because a mark
//! there would restart pods. Not here: who owns an object that carries other marks (`owner`), the parent of the set
//! (`model::apply_set`).

use serde_json::{Map, Value};

use super::namespace;
pub use crate::model::MANAGER;
use crate::model::{AppName, CommitId, InstanceId, Object, ObjectId};

/// Field manager that a released object's fields are handed to, so that nobody takes them for ours.
pub const RELEASED_MANAGER: &str = "wild-released";
/// Label: the ApplySet that an object belongs to. The key is shared with kubectl and other tools.
pub const PART_OF: &str = "applyset.kubernetes.io/part-of";
/// Label: the instance that an object belongs to. Watches select by it.
pub const INSTANCE: &str = "rewild.dev/instance";
/// Label: the app that an object belongs to.
pub const APP: &str = "rewild.dev/app";
/// Label: shown by other tools; ours only where the committed object says nothing else.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`MANAGED_BY`] on our objects.
pub const MANAGED_BY_US: &str = "wild";
/// Annotation: keyed hash of the desired object.
pub const HASH: &str = "rewild.dev/hash";
/// Annotation: the last commit that changed the object. Outside the hash, so a commit rewrites only what it changes.
pub const COMMIT: &str = "rewild.dev/commit";
/// Annotation: repository path of the source file. Outside the hash.
pub const PATH: &str = "rewild.dev/path";
/// Annotation on a workload that was taken over while it ran: the digest of its config then, and what its pod template said then, if
/// anything. Outside the hash.
pub const CONFIG_BASELINE: &str = "rewild.dev/config-baseline";
/// Annotation on the copy of a Secret: `<namespace>/<name>@<uid>` of what it was taken from. Inside the hash.
pub const COPIED_FROM: &str = "rewild.dev/copied-from";
/// Annotation on a namespace that was there before its app, which a grant let in. Outside the hash.
pub const ENTERED: &str = "rewild.dev/entered";
/// Annotation that stays on a namespace of ours which outlives its app: `<instance>/<app>`, which may come back to it.
pub const LEFT_BY: &str = "rewild.dev/left-by";
/// Prefix of all our keys, those of authors included.
pub const PREFIX: &str = "rewild.dev/";
/// Annotation keys below [`PREFIX`] that authors may write on committed objects.
pub const AUTHOR_KEYS: [&str; 11] = [
    "wave",
    "depends-on",
    "hook",
    "hook-delete",
    "hook-timeout",
    "prune",
    "recreate",
    "drift",
    "ignore",
    "restart-on-change",
    "health",
];

/// The marks that only the engine writes, as (section of metadata, key).
pub const ENGINE_MARKS: [(&str, &str); 9] = [
    ("labels", PART_OF),
    ("labels", INSTANCE),
    ("labels", APP),
    ("annotations", HASH),
    ("annotations", COMMIT),
    ("annotations", PATH),
    ("annotations", CONFIG_BASELINE),
    ("annotations", ENTERED),
    ("annotations", LEFT_BY),
];

/// Who we are on a target: what the labels say.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// The instance.
    pub instance: &'a InstanceId,
    /// Id of its ApplySet.
    pub apply_set: &'a str,
    /// The app.
    pub app: &'a AppName,
}

/// What the marks of one object say beside who we are.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Desired hash.
    pub hash: &'a str,
    /// Commit that changed the object last.
    pub commit: &'a CommitId,
    /// Repository path of the source file; empty for objects that we derive.
    pub path: &'a str,
}

/// Puts our marks on an object.
pub fn mark(object: &mut Object, identity: Identity<'_>, origin: Origin<'_>) {
    object.set_label(PART_OF, identity.apply_set);
    object.set_label(INSTANCE, identity.instance.as_str());
    object.set_label(APP, identity.app.as_str());
    if object.label(MANAGED_BY).is_none() {
        object.set_label(MANAGED_BY, MANAGED_BY_US);
    }
    object.set_annotation(HASH, origin.hash);
    object.set_annotation(COMMIT, origin.commit.as_str());
    if !origin.path.is_empty() {
        object.set_annotation(PATH, origin.path);
    }
}

/// Returns the annotation that stays on a namespace of ours which outlives its app.
pub fn trace(id: &ObjectId, identity: Identity<'_>) -> Option<(String, String)> {
    (*id == namespace::id(&id.name)).then(|| (LEFT_BY.to_owned(), left_by(identity)))
}

/// Returns by what a namespace is known that an app left.
pub(super) fn left_by(identity: Identity<'_>) -> String {
    format!("{}/{}", identity.instance.as_str(), identity.app)
}

/// Takes our marks off an object, and its label and annotation maps if they are empty then.
pub fn unmark(object: &mut Object) {
    if !object.0.contains_key("metadata") {
        return;
    }
    let metadata = object.metadata_mut();
    for (section, key) in ENGINE_MARKS {
        if let Some(map) = section_mut(metadata, section) {
            map.shift_remove(key);
        }
    }
    if let Some(labels) = section_mut(metadata, "labels")
        && labels.get(MANAGED_BY).and_then(Value::as_str) == Some(MANAGED_BY_US)
    {
        labels.shift_remove(MANAGED_BY);
    }
    for section in ["labels", "annotations"] {
        if section_mut(metadata, section).is_some_and(|map| map.is_empty()) {
            metadata.shift_remove(section);
        }
    }
}

fn section_mut<'a>(metadata: &'a mut Map<String, Value>, section: &str) -> Option<&'a mut Map<String, Value>> {
    metadata.get_mut(section).and_then(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn marked(object: serde_json::Value) -> Object {
        let mut object = Object::from_value(object).unwrap();
        let identity = Identity {
            instance: &InstanceId::parse("k3f7q2m5xd").unwrap(),
            apply_set: "applyset-x-v1",
            app: &AppName::parse("blog").unwrap(),
        };
        let commit = CommitId::parse(&"a".repeat(40)).unwrap();
        mark(&mut object, identity, Origin { hash: "v1.h", commit: &commit, path: "apps/blog/web.yaml" });
        object
    }

    #[test]
    fn marks_stand_on_the_metadata_of_the_object_only() {
        let object = marked(json!({"kind": "Deployment", "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}));
        assert_eq!(object.at(&["spec", "template", "metadata", "labels"]), Some(&json!({"a": "b"})));
        assert_eq!(
            object.to_value()["metadata"],
            json!({
                "labels": {
                    "applyset.kubernetes.io/part-of": "applyset-x-v1",
                    "rewild.dev/instance": "k3f7q2m5xd",
                    "rewild.dev/app": "blog",
                    "app.kubernetes.io/managed-by": "wild",
                },
                "annotations": {
                    "rewild.dev/hash": "v1.h",
                    "rewild.dev/commit": "a".repeat(40),
                    "rewild.dev/path": "apps/blog/web.yaml",
                },
            })
        );
    }

    #[test]
    fn the_authors_managed_by_label_is_kept() {
        let object = marked(json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "operator"}}}));
        assert_eq!(object.label(MANAGED_BY), Some("operator"));
    }

    #[test]
    fn taking_the_marks_off_gives_the_committed_object_again() {
        for committed in [
            json!({"metadata": {"name": "a"}}),
            json!({"metadata": {"name": "a", "labels": {"app": "blog"}}}),
            json!({"metadata": {"name": "a", "labels": {"app.kubernetes.io/managed-by": "operator"}}}),
        ] {
            let mut object = marked(committed.clone());
            unmark(&mut object);
            assert_eq!(object.to_value(), committed);
        }
    }
}
