//! Pure. Who owns a live object, read from its metadata alone.
//!
//! Server-side apply has no "must not exist" precondition, so an object without a record of ours is asked for its owner
//! before the first write. Not here: what is done about an owner (`consent`).

use serde_json::Value;

use super::fields;
use super::marks::{APP, HASH, INSTANCE, Identity, MANAGER, PART_OF, RELEASED_MANAGER};
use super::snapshot::Owner;
use crate::model::{Object, OwnEntry, PRUNE, Prune};

/// Where a tool leaves its mark.
enum Mark {
    Label(&'static str),
    Annotation(&'static str),
    Applier(&'static str),
}

/// Marks of tools that own what they applied.
const TOOLS: [(&str, Mark); 14] = [
    ("Flux", Mark::Label("kustomize.toolkit.fluxcd.io/name")),
    ("Flux", Mark::Label("helm.toolkit.fluxcd.io/name")),
    ("Flux", Mark::Applier("kustomize-controller")),
    ("Flux", Mark::Applier("helm-controller")),
    ("Argo CD", Mark::Annotation("argocd.argoproj.io/tracking-id")),
    ("Argo CD", Mark::Label("argocd.argoproj.io/instance")),
    ("Argo CD", Mark::Applier("argocd-controller")),
    ("Helm", Mark::Annotation("meta.helm.sh/release-name")),
    ("kapp", Mark::Label("kapp.k14s.io/app")),
    ("kluctl", Mark::Label("kluctl.io/discriminator")),
    ("Config Sync", Mark::Label("configmanagement.gke.io/managed")),
    ("Config Sync", Mark::Annotation("configmanagement.gke.io/managed")),
    ("Fleet", Mark::Annotation("objectset.rio.cattle.io/id")),
    ("kro", Mark::Label("kro.run/owned")),
];

/// Returns who owns a live object, given whole or as metadata only, as seen by one of our apps.
///
/// The mark of another tool counts before ours, because operators copy our labels but nobody copies somebody's mark and
/// then applies in our name.
pub fn owner_of(object: &Object, identity: Identity<'_>) -> Owner {
    let managed = object.metadata().and_then(|metadata| metadata.get("managedFields")).unwrap_or(&Value::Null);
    if let Some(owner) = tool(object, managed, |_, _| true) {
        return owner;
    }
    if let Some(controller) = controller(object) {
        return Owner::Controller(controller);
    }
    match (object.label(PART_OF), object.label(INSTANCE), object.label(APP)) {
        (_, Some(instance), _) if instance != identity.instance.as_str() => {
            Owner::Tool { tool: format!("Rewild instance {instance}"), mark: format!("label {INSTANCE}") }
        }
        (Some(set), ..) if set != identity.apply_set => {
            Owner::Tool { tool: format!("ApplySet {set}"), mark: format!("label {PART_OF}") }
        }
        (_, Some(_), Some(app)) if app != identity.app.as_str() => Owner::App(app.to_owned()),
        (Some(_), Some(_), Some(_)) => ours(object, managed),
        _ if is_released(managed) => Owner::Released,
        _ => Owner::Nobody,
    }
}

/// Returns why an object that we applied must not be deleted, read from its metadata just before; nothing if it may. Another tool may have
/// taken it over, and somebody may keep it. A mark that we applied ourselves says nothing of others.
pub fn stays(object: &Object, identity: Identity<'_>) -> Option<String> {
    let managed = object.metadata().and_then(|metadata| metadata.get("managedFields")).unwrap_or(&Value::Null);
    let own = fields::applied_entry(managed, MANAGER).and_then(|entry| entry.pointer("/fieldsV1/f:metadata"));
    let is_own = |map: &str, key: &str| own.and_then(|own| own.get(map)?.get(format!("f:{key}"))).is_some();
    if Prune::of(object) == Prune::Keep {
        return Some(format!("{PRUNE}: keep stands on it"));
    }
    let is_given = own.is_none_or(|own| own.get("f:ownerReferences").is_none());
    let set = object.label(PART_OF).filter(|set| *set != identity.apply_set);
    let owner = match (tool(object, managed, |map, key| !is_own(map, key)), set) {
        (Some(Owner::Tool { tool, mark }), _) => format!("{tool} by now, by its {mark}"),
        (_, Some(set)) => format!("ApplySet {set} by now, by its label {PART_OF}"),
        _ => format!("{} by now, by its owner reference", controller(object).filter(|_| is_given)?),
    };
    Some(format!("it belongs to {owner}: take that off, or put {PRUNE}: keep on it"))
}

/// Returns the tool that a field manager belongs to, for conflicts.
pub fn tool_of_manager(manager: &str) -> Option<&'static str> {
    TOOLS.iter().find_map(|(tool, mark)| match mark {
        Mark::Applier(name) => (*name == manager).then_some(*tool),
        Mark::Label(_) | Mark::Annotation(_) => None,
    })
}

/// Returns the tool whose mark an object carries, of those marks that count: they are asked for as fields of the metadata.
fn tool(object: &Object, managed: &Value, counts: impl Fn(&str, &str) -> bool) -> Option<Owner> {
    TOOLS.iter().find_map(|(tool, mark)| {
        let mark = match mark {
            Mark::Label(key) => object.label(key).filter(|_| counts("f:labels", key)).map(|_| format!("label {key}")),
            Mark::Annotation(key) => {
                object.annotation(key).filter(|_| counts("f:annotations", key)).map(|_| format!("annotation {key}"))
            }
            Mark::Applier(name) => fields::applied_entry(managed, name).map(|_| format!("field manager {name}")),
        }?;
        Some(Owner::Tool { tool: (*tool).to_owned(), mark })
    })
}

/// Returns `Kind/name` of the controller that an owner reference names.
fn controller(object: &Object) -> Option<String> {
    let references = object.metadata()?.get("ownerReferences")?.as_array()?;
    let reference = references.iter().find(|reference| reference.get("controller") == Some(&Value::Bool(true)))?;
    let part = |key| reference.get(key).and_then(Value::as_str).unwrap_or("");
    Some(format!("{}/{}", part("kind"), part("name")))
}

fn ours(object: &Object, managed: &Value) -> Owner {
    let OwnEntry { fields, time } = OwnEntry::of(Some(managed));
    let generation = object.metadata().and_then(|metadata| metadata.get("generation")).and_then(Value::as_i64);
    Owner::Us {
        hash: object.annotation(HASH).unwrap_or("").to_owned(),
        fields,
        time,
        generation: generation.unwrap_or(0),
    }
}

/// Returns whether we gave the object up on purpose, which left its fields to a manager with a name of ours.
fn is_released(managed: &Value) -> bool {
    fields::holders(managed).iter().any(|holder| holder.manager == RELEASED_MANAGER)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{AppName, InstanceId};

    #[track_caller]
    fn check(metadata: Value, expected: &str) {
        let object = Object::from_value(json!({"metadata": metadata})).unwrap();
        let identity = Identity {
            instance: &InstanceId::parse("k3f7q2m5xd").unwrap(),
            apply_set: "applyset-x-v1",
            app: &AppName::parse("blog").unwrap(),
        };
        let text = match owner_of(&object, identity) {
            Owner::Nobody => "nobody".to_owned(),
            Owner::Released => "released".to_owned(),
            Owner::Us { hash, fields, .. } => {
                format!("us {hash} {}", if fields.is_empty() { "by label" } else { "by field" })
            }
            Owner::App(app) => format!("app {app}"),
            Owner::Tool { tool, mark } => format!("{tool} by {mark}"),
            Owner::Controller(controller) => format!("controller {controller}"),
        };
        assert_eq!(text, expected);
    }

    fn labels(instance: &str, app: &str, set: &str) -> Value {
        json!({"rewild.dev/instance": instance, "rewild.dev/app": app, "applyset.kubernetes.io/part-of": set})
    }

    fn applied_by(manager: &str) -> Value {
        json!([{"manager": manager, "operation": "Apply", "fieldsV1": {"f:spec": {}}}])
    }

    #[test]
    fn every_tool_is_known_by_its_mark() {
        for (metadata, expected) in [
            (
                json!({"labels": {"kustomize.toolkit.fluxcd.io/name": "a"}}),
                "Flux by label kustomize.toolkit.fluxcd.io/name",
            ),
            (json!({"labels": {"helm.toolkit.fluxcd.io/name": "a"}}), "Flux by label helm.toolkit.fluxcd.io/name"),
            (
                json!({"managedFields": applied_by("kustomize-controller")}),
                "Flux by field manager kustomize-controller",
            ),
            (json!({"managedFields": applied_by("helm-controller")}), "Flux by field manager helm-controller"),
            (
                json!({"annotations": {"argocd.argoproj.io/tracking-id": "a"}}),
                "Argo CD by annotation argocd.argoproj.io/tracking-id",
            ),
            (json!({"labels": {"argocd.argoproj.io/instance": "a"}}), "Argo CD by label argocd.argoproj.io/instance"),
            (json!({"managedFields": applied_by("argocd-controller")}), "Argo CD by field manager argocd-controller"),
            (
                json!({"annotations": {"meta.helm.sh/release-name": "a"}}),
                "Helm by annotation meta.helm.sh/release-name",
            ),
            (json!({"labels": {"kapp.k14s.io/app": "1"}}), "kapp by label kapp.k14s.io/app"),
            (json!({"labels": {"kluctl.io/discriminator": "a"}}), "kluctl by label kluctl.io/discriminator"),
            (
                json!({"annotations": {"configmanagement.gke.io/managed": "enabled"}}),
                "Config Sync by annotation configmanagement.gke.io/managed",
            ),
            (
                json!({"annotations": {"objectset.rio.cattle.io/id": "a"}}),
                "Fleet by annotation objectset.rio.cattle.io/id",
            ),
            (json!({"labels": {"kro.run/owned": "true"}}), "kro by label kro.run/owned"),
        ] {
            check(metadata, expected);
        }
    }

    #[test]
    fn a_plain_object_is_nobodys() {
        check(json!({}), "nobody");
        check(json!({"labels": {"app.kubernetes.io/instance": "a", "app.kubernetes.io/managed-by": "Helm"}}), "nobody");
        check(json!({"managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {}}]}), "nobody");
    }

    #[test]
    fn a_tool_that_only_updated_a_field_is_no_owner() {
        check(
            json!({"managedFields": [{"manager": "helm-controller", "operation": "Update", "fieldsV1": {}}]}),
            "nobody",
        );
    }

    #[test]
    fn our_marks_count_with_the_hash_and_the_entry_that_prove_them() {
        let ours = labels("k3f7q2m5xd", "blog", "applyset-x-v1");
        let annotations = json!({"rewild.dev/hash": "v1.h"});
        check(json!({"labels": ours, "annotations": annotations}), "us v1.h by label");
        check(
            json!({"labels": ours, "annotations": annotations, "managedFields": applied_by("wild")}),
            "us v1.h by field",
        );
    }

    #[test]
    fn another_app_instance_or_set_is_named() {
        check(json!({"labels": labels("k3f7q2m5xd", "shop", "applyset-x-v1")}), "app shop");
        check(
            json!({"labels": labels("aaaaaaaaaa", "blog", "applyset-y-v1")}),
            "Rewild instance aaaaaaaaaa by label rewild.dev/instance",
        );
        check(
            json!({"labels": {"applyset.kubernetes.io/part-of": "applyset-y-v1"}}),
            "ApplySet applyset-y-v1 by label applyset.kubernetes.io/part-of",
        );
    }

    #[test]
    fn a_controlled_object_belongs_to_its_controller_even_with_our_labels() {
        let references = json!([{"kind": "CronJob", "name": "backup", "controller": true}]);
        let labels = labels("k3f7q2m5xd", "blog", "applyset-x-v1");
        check(json!({"labels": labels, "ownerReferences": references}), "controller CronJob/backup");
        check(json!({"ownerReferences": [{"kind": "ConfigMap", "name": "a"}]}), "nobody");
    }

    #[test]
    fn what_we_gave_up_on_purpose_is_released() {
        check(
            json!({"managedFields": [{"manager": "wild-released", "operation": "Update", "fieldsV1": {}}]}),
            "released",
        );
    }

    #[test]
    fn what_somebody_else_took_over_or_keeps_stays() {
        let identity = Identity {
            instance: &InstanceId::parse("k3f7q2m5xd").unwrap(),
            apply_set: "applyset-x-v1",
            app: &AppName::parse("blog").unwrap(),
        };
        let why = |more: Value| {
            let mut metadata = json!({"labels": labels("k3f7q2m5xd", "blog", "applyset-x-v1")});
            for (key, value) in more.as_object().unwrap() {
                match (metadata[key].as_object_mut(), value) {
                    (Some(map), Value::Object(more)) => map.extend(more.clone()),
                    _ => metadata[key] = value.clone(),
                }
            }
            stays(&Object::from_value(json!({"metadata": metadata})).unwrap(), identity).unwrap_or_default()
        };
        const FLUX: &str = "kustomize.toolkit.fluxcd.io/name";
        assert_eq!(why(json!({})), "");
        let says = |owner: &str| format!("it belongs to {owner}: take that off, or put rewild.dev/prune: keep on it");
        assert_eq!(why(json!({"labels": {FLUX: "a"}})), says(&format!("Flux by now, by its label {FLUX}")));
        let own = json!([{"manager": "wild", "operation": "Apply", "fieldsV1": {"f:metadata": {"f:labels": {format!("f:{FLUX}"): {}}}}}]);
        assert_eq!(why(json!({"labels": {FLUX: "a"}, "managedFields": own})), "", "git says so itself");
        let applied = why(json!({"managedFields": applied_by("argocd-controller")}));
        assert_eq!(applied, says("Argo CD by now, by its field manager argocd-controller"));
        let kept = why(json!({"annotations": {"rewild.dev/prune": "keep"}}));
        assert_eq!(kept, "rewild.dev/prune: keep stands on it");
        let references = json!([{"kind": "Operator", "name": "one", "controller": true}]);
        assert_eq!(why(json!({"ownerReferences": references})), says("Operator/one by now, by its owner reference"));
        let set = why(json!({"labels": {PART_OF: "applyset-y-v1"}}));
        assert_eq!(set, says("ApplySet applyset-y-v1 by now, by its label applyset.kubernetes.io/part-of"));
    }

    #[test]
    fn managers_of_tools_are_known() {
        assert_eq!(tool_of_manager("kustomize-controller"), Some("Flux"));
        assert_eq!(tool_of_manager("kubectl"), None);
    }
}
