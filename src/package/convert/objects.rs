//! Pure. Turns fixed values of a chart's objects into config keys and secrets, and gives pods their security contexts.
//!
//! Not here: labels (`labels.rs`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Collected;
use crate::model::Object;

/// Annotation by which names of an Ingress are published.
const DNS_TARGET: &str = "external-dns.alpha.kubernetes.io/target";
/// Certificate that all apps share.
const WILDCARD: &str = "wildcard-wild-cloud-tls";

/// Takes Secrets out, and returns their names; their keys become secrets of the package, without their values.
pub(super) fn take_secrets(objects: &mut Vec<Object>, collected: &mut Collected) -> Vec<String> {
    let mut names = Vec::new();
    objects.retain(|object| {
        let is_plain = matches!(object.at(&["type"]).and_then(Value::as_str), None | Some("Opaque"));
        if object.kind() != "Secret" || !is_plain {
            return true;
        }
        let keys = ["data", "stringData"].iter().filter_map(|field| object.at(&[*field])?.as_object());
        collected.secrets.extend(keys.flat_map(Map::keys).cloned());
        let note = format!("Secret/{} became defaultSecrets; its values were dropped", object.name());
        collected.notes.push(note);
        names.push(object.name().to_owned());
        false
    });
    names
}

/// Turns what people set into config keys.
pub(super) fn settle(package: &str, object: &mut Object, secrets: &[String], collected: &mut Collected) {
    let mut root = Value::Object(std::mem::take(&mut object.0));
    read_own_secret(&mut root, secrets, &format!("{package}-secrets"));
    let kind = root.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = root.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let pods = match kind.as_str() {
        "CronJob" => Some("/spec/jobTemplate/spec/template/spec"),
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => Some("/spec/template/spec"),
        "Pod" => Some("/spec"),
        _ => None,
    };
    if let Some(spec) = pods.and_then(|path| root.pointer_mut(path)) {
        pod(package, &name, spec, collected);
    }
    match kind.as_str() {
        "Ingress" => ingress(&mut root, collected),
        "PersistentVolumeClaim" => size(root.pointer_mut("/spec/resources/requests/storage"), collected),
        "StatefulSet" => {
            let claims = root.pointer_mut("/spec/volumeClaimTemplates").and_then(Value::as_array_mut);
            for claim in claims.into_iter().flatten() {
                size(claim.pointer_mut("/spec/resources/requests/storage"), collected);
            }
        }
        _ => {}
    }
    if let Value::Object(map) = root {
        object.0 = map;
    }
}

/// Lets everything that named a Secret of the chart name that of the app. Depth is bounded by the loader.
fn read_own_secret(value: &mut Value, secrets: &[String], own: &str) {
    match value {
        Value::Object(map) => {
            for (field, inner) in map.iter_mut() {
                let named = match field.as_str() {
                    "secretKeyRef" | "secretRef" => inner.get_mut("name"),
                    "secret" if inner.get("secretName").is_some() => inner.get_mut("secretName"),
                    "secret" => inner.get_mut("name"),
                    _ => None,
                };
                if let Some(name) = named.filter(|it| it.as_str().is_some_and(|it| secrets.iter().any(|s| s == it))) {
                    *name = Value::from(own);
                }
                read_own_secret(inner, secrets, own);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| read_own_secret(item, secrets, own)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn pod(package: &str, name: &str, spec: &mut Value, collected: &mut Collected) {
    let Some(map) = spec.as_object_mut() else { return };
    if let Some(context) = below(map, "securityContext") {
        context.entry("runAsNonRoot").or_insert(Value::Bool(true));
        context.entry("seccompProfile").or_insert_with(|| json!({"type": "RuntimeDefault"}));
    }
    for field in ["initContainers", "containers"] {
        for container in map.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            if let Some(context) = below(container, "securityContext") {
                context.entry("allowPrivilegeEscalation").or_insert(Value::Bool(false));
                context.entry("capabilities").or_insert_with(|| json!({"drop": ["ALL"]}));
            }
            image(package, name, container, collected);
        }
    }
}

/// Returns the map below a key, made if it is absent or something else.
fn below<'a>(map: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    let slot = map.entry(key.to_owned()).or_insert(Value::Null);
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut()
}

/// Makes the image of a container a config key, one key per image.
fn image(package: &str, workload: &str, container: &mut Map<String, Value>, collected: &mut Collected) {
    let Some(image) = container.get("image").and_then(Value::as_str).map(str::to_owned) else { return };
    let known = collected.config.iter().find(|(_, value)| value.as_str() == Some(&image)).map(|(key, _)| key.clone());
    let key = known.unwrap_or_else(|| {
        let name = container.get("name").and_then(Value::as_str).unwrap_or(workload);
        let own = name.strip_prefix(package).unwrap_or(name).trim_matches('-');
        let first = !collected.config.contains_key("image");
        let key = if first { "image".to_owned() } else { format!("{}Image", camel(own)) };
        collected.config.insert(key.clone(), Value::from(image.clone()));
        key
    });
    container.insert("image".to_owned(), Value::from(format!("{{{{ .{key} }}}}")));
}

/// Returns a name as a config key.
fn camel(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut out = String::new();
    for (position, word) in words.enumerate() {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if position > 0 => out.push(first.to_ascii_uppercase()),
            Some(first) => out.push(first),
            None => {}
        }
        out.push_str(letters.as_str());
    }
    if out.is_empty() { "other".to_owned() } else { out }
}

fn size(storage: Option<&mut Value>, collected: &mut Collected) {
    let Some(storage) = storage else { return };
    collected.config.entry("storage").or_insert_with(|| storage.clone());
    *storage = Value::from("{{ .storage }}");
}

/// Makes the host a config key, and adds what names and certificates need.
fn ingress(root: &mut Value, collected: &mut Collected) {
    collected.config.entry("domain").or_insert_with(|| Value::from("{{ .app.namespace }}.{{ .cloud.domain }}"));
    let domain = Value::from("{{ .domain }}");
    for rule in root.pointer_mut("/spec/rules").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(rule) = rule.as_object_mut() {
            rule.insert("host".to_owned(), domain.clone());
        }
    }
    if let Some(spec) = root.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("tls".to_owned(), json!([{"hosts": [domain], "secretName": WILDCARD}]));
    }
    if let Some(metadata) = root.get_mut("metadata").and_then(Value::as_object_mut) {
        let mut annotations: BTreeMap<String, Value> = match metadata.get("annotations") {
            Some(Value::Object(map)) => map.clone().into_iter().collect(),
            _ => BTreeMap::new(),
        };
        annotations.insert(DNS_TARGET.to_owned(), Value::from("{{ .domain }}"));
        metadata.insert("annotations".to_owned(), annotations.into_iter().collect());
    }
}
