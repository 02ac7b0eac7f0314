//! Pure. Changes what objects are called: namespace, prefix and suffix of names.
//!
//! Not here: fields of other objects that name them (`references.rs`).

use serde_json::Value;

use super::fields::{Missing, visit};
use super::item::{Id, Item, twins};
use super::kustomization::Kustomization;
use super::weight::{Meter, of_text};
use super::{Refusal, refuse};

/// Puts every object into the kustomization's namespace.
pub(super) fn set_namespace(kustomization: &Kustomization, items: &mut [Item], meter: &Meter) -> Result<(), Refusal> {
    let namespace = kustomization.namespace.as_str();
    if namespace.is_empty() {
        return Ok(());
    }
    for item in items.iter_mut() {
        meter.spend(item.remember() + of_text(namespace), &kustomization.file, 1)?;
        put(item, namespace);
    }
    // All are placed before any is compared: an object that is placed stays where it is, so no clash is missed.
    let Some((other, item)) = twins(items, 0) else { return Ok(()) };
    let message = format!("in namespace {namespace} there are two of {}, also from {}", item.id(), other.file);
    refuse("K111", &item.file, item.line, message)
}

fn put(item: &mut Item, namespace: &str) {
    let mut set = |value: &mut Value| *value = Value::from(namespace);
    if !item.is_cluster_scoped() {
        item.object.metadata_mut().insert("namespace".to_owned(), Value::from(namespace));
    }
    let (api, kind) = (item.object.api_version().to_owned(), item.object.kind().to_owned());
    match (item.object.group(), kind.as_str()) {
        (_, "RoleBinding" | "ClusterRoleBinding") => {
            visit(&mut item.object, &["subjects[]"], Missing::Skip, &mut |subjects| {
                let subjects = subjects.as_array_mut().into_iter().flatten();
                for subject in subjects.filter_map(Value::as_object_mut) {
                    if subject.get("name").and_then(Value::as_str) == Some("default") {
                        subject.insert("namespace".to_owned(), Value::from(namespace));
                    }
                }
            })
        }
        ("apiregistration.k8s.io", "APIService") => {
            visit(&mut item.object, &["spec", "service", "namespace"], Missing::Scalar, &mut set);
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            let path = ["spec", "conversion", "webhook", "clientConfig", "service", "namespace"];
            visit(&mut item.object, &path, Missing::Skip, &mut set);
        }
        (_, "Namespace") if api == "v1" => item.set_name(namespace),
        (_, _) => {}
    }
}

/// Puts prefix and suffix around names.
pub(super) fn add_affixes(kustomization: &Kustomization, items: &mut [Item], meter: &Meter) -> Result<(), Refusal> {
    let (prefix, suffix) = (kustomization.name_prefix.as_str(), kustomization.name_suffix.as_str());
    for item in items.iter_mut() {
        if keeps_name(&item.original()) {
            continue;
        }
        if !prefix.is_empty() {
            let former = item.remember();
            item.prefixes.push(prefix.to_owned());
            let name = format!("{prefix}{}", item.object.name());
            item.set_name(&name);
            meter.spend(former + of_text(prefix) + of_text(&name), &kustomization.file, 1)?;
        }
        if !suffix.is_empty() {
            let former = item.remember();
            item.suffixes.push(suffix.to_owned());
            let name = format!("{}{suffix}", item.object.name());
            item.set_name(&name);
            meter.spend(former + of_text(suffix) + of_text(&name), &kustomization.file, 1)?;
        }
    }
    Ok(())
}

/// Returns whether the name of an object means something to the cluster and must stay.
fn keeps_name(id: &Id<'_>) -> bool {
    matches!(id.kind, "CustomResourceDefinition" | "Namespace")
        || id.kind == "APIService" && id.group == "apiregistration.k8s.io"
}
