//! Pure. Objects that other objects name: ConfigMaps and Secrets with their keys, claims, accounts, roles, Services behind
//! routes, what an autoscaler scales.
//!
//! A name that no side declares is made at run time or by another app; who compares the sides leaves it out. Not here: ports,
//! volumes and labels (`ports`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Finding, Placed, Scene, containers, finding, list, list_at, nothing_named, pods, text};
use crate::model::Object;

/// The account that every namespace has.
const DEFAULT_ACCOUNT: &str = "default";

/// An object that a field names.
struct Reference<'a> {
    field: String,
    kind: &'a str,
    name: &'a str,
    /// A key of its data.
    key: Option<&'a str>,
}

/// Adds the objects that an object names and that are not there.
pub(super) fn look(it: &Placed, scene: &Scene, found: &mut BTreeSet<Finding>) {
    for Reference { field, kind, name, key } in references(&it.object) {
        let declarers = scene.declarers(kind, name);
        if declarers.is_empty() {
            let article = if kind.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" };
            let what = nothing_named(name, &format!("{article} {kind}"));
            let missing = Some((kind.to_owned(), name.to_owned()));
            found.insert(Finding { missing, ..finding(it, &field, what, Vec::new()) });
            continue;
        }
        let Some(key) = key else { continue };
        let holders: Vec<&Placed> = scene.named(kind, name).collect();
        let keys: BTreeSet<&String> = holders.iter().flat_map(|holder| keys(&holder.object)).collect();
        // What is generated or made by a controller has keys that nobody sees here.
        if holders.len() == declarers.len() && !keys.is_empty() && !keys.iter().any(|known| *known == key) {
            let what = nothing_named(key, &format!("a key of the {kind} {name}"));
            let fields = ["data", "stringData", "binaryData"];
            let spots = |holder: &&Placed| fields.map(|field| (holder.object.id().to_string(), field.to_owned()));
            found.insert(finding(it, &field, what, holders.iter().flat_map(spots).collect()));
        }
    }
}

/// Returns the keys of a ConfigMap or Secret.
fn keys(object: &Object) -> impl Iterator<Item = &String> {
    let maps =
        ["data", "stringData", "binaryData"].into_iter().filter_map(move |field| object.at(&[field])?.as_object());
    maps.flat_map(|map| map.keys())
}

/// Returns all objects that an object names.
fn references(object: &Object) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    for (path, pod) in pods(object) {
        in_pod(&path, pod, &mut found);
        for (place, container) in containers(&path, pod) {
            in_container(&place, container, &mut found);
        }
    }
    match object.kind() {
        "HorizontalPodAutoscaler" => {
            if let Some(target) = object.at(&["spec", "scaleTargetRef"]) {
                add("spec.scaleTargetRef", text(target, "kind"), text(target, "name"), &mut found);
            }
        }
        "RoleBinding" | "ClusterRoleBinding" => in_binding(object, &mut found),
        "Ingress" => in_ingress(object, &mut found),
        "HTTPRoute" | "GRPCRoute" | "TCPRoute" | "TLSRoute" | "UDPRoute" => {
            for backend in list_at(object, &["spec", "rules"]).flat_map(|rule| list(rule, "backendRefs")) {
                let kind = text(backend, "kind").unwrap_or("Service");
                add("spec.rules", Some(kind), text(backend, "name"), &mut found);
            }
        }
        _ => {}
    }
    found
}

fn add<'a>(field: &str, kind: Option<&'a str>, name: Option<&'a str>, found: &mut Vec<Reference<'a>>) {
    if let (Some(kind), Some(name)) = (kind, name) {
        found.push(Reference { field: field.to_owned(), kind, name, key: None });
    }
}

/// Adds what a map refers to, unless it says that it may be absent.
fn add_from<'a>(field: &str, from: &'a Value, (kind, name): (&'a str, &str), found: &mut Vec<Reference<'a>>) {
    let is_optional = from.get("optional") == Some(&Value::Bool(true));
    if let Some(name) = text(from, name).filter(|_| !is_optional) {
        found.push(Reference { field: field.to_owned(), kind, name, key: text(from, "key") });
    }
}

fn in_pod<'a>(path: &str, pod: &'a Value, found: &mut Vec<Reference<'a>>) {
    let account = text(pod, "serviceAccountName").filter(|name| *name != DEFAULT_ACCOUNT);
    add(&format!("{path}.serviceAccountName"), Some("ServiceAccount"), account, found);
    for secret in list(pod, "imagePullSecrets") {
        add(&format!("{path}.imagePullSecrets"), Some("Secret"), text(secret, "name"), found);
    }
    for volume in list(pod, "volumes") {
        let field = format!("{path}.volumes[name={}]", text(volume, "name").unwrap_or(""));
        let projected = volume.get("projected").into_iter().flat_map(|projected| list(projected, "sources"));
        for source in projected.chain([volume]) {
            if let Some(from) = source.get("configMap") {
                add_from(&field, from, ("ConfigMap", "name"), found);
            }
            if let Some(from) = source.get("secret") {
                let name = if from.get("secretName").is_some() { "secretName" } else { "name" };
                add_from(&field, from, ("Secret", name), found);
            }
        }
        if let Some(claim) = volume.get("persistentVolumeClaim") {
            add(&field, Some("PersistentVolumeClaim"), text(claim, "claimName"), found);
        }
    }
}

fn in_container<'a>(place: &str, container: &'a Value, found: &mut Vec<Reference<'a>>) {
    for variable in list(container, "env") {
        let field = format!("{place}.env[name={}]", text(variable, "name").unwrap_or(""));
        let Some(from) = variable.get("valueFrom") else { continue };
        for (key, kind) in [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")] {
            if let Some(from) = from.get(key) {
                add_from(&field, from, (kind, "name"), found);
            }
        }
    }
    for source in list(container, "envFrom") {
        for (key, kind) in [("configMapRef", "ConfigMap"), ("secretRef", "Secret")] {
            if let Some(from) = source.get(key) {
                add_from(&format!("{place}.envFrom"), from, (kind, "name"), found);
            }
        }
    }
}

fn in_binding<'a>(object: &'a Object, found: &mut Vec<Reference<'a>>) {
    if let Some(role) = object.at(&["roleRef"]) {
        add("roleRef", text(role, "kind"), text(role, "name"), found);
    }
    for subject in list_at(object, &["subjects"]) {
        let account = text(subject, "kind").filter(|kind| *kind == "ServiceAccount");
        add("subjects", account, text(subject, "name").filter(|name| *name != DEFAULT_ACCOUNT), found);
    }
}

fn in_ingress<'a>(object: &'a Object, found: &mut Vec<Reference<'a>>) {
    let service = |backend: &'a Value| text(backend.get("service")?, "name");
    for path in list_at(object, &["spec", "rules"]).filter_map(|rule| rule.get("http")).flat_map(|it| list(it, "paths"))
    {
        add("spec.rules", Some("Service"), path.get("backend").and_then(service), found);
    }
    let default = object.at(&["spec", "defaultBackend"]).and_then(service);
    add("spec.defaultBackend", Some("Service"), default, found);
    for tls in list_at(object, &["spec", "tls"]) {
        add("spec.tls", Some("Secret"), text(tls, "secretName"), found);
    }
}
