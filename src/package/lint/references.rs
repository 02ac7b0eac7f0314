//! Pure. Rules about names inside an app: what an object names must be there.
//!
//! Not here: addresses of other apps and keys of required packages (`names.rs`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{LintInput, LintPart, about, containers, each_text, list, pod_labels, pod_spec, text};
use crate::model::Diagnostic;

/// Annotation by which names of an Ingress are published.
const DNS_TARGET: &str = "external-dns.alpha.kubernetes.io/target";
/// Characters of a hash behind the name of a generated object.
const HASH_CHARS: usize = 10;

/// Checks every reference.
pub(super) fn check(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    for part in input.parts {
        if let Some(spec) = pod_spec(&part.object) {
            pod(input, part, spec, findings);
        }
        match part.object.kind() {
            "Service" => service(input, part, findings),
            "Ingress" => ingress(input, part, findings),
            "HorizontalPodAutoscaler" => autoscaler(input, part, findings),
            "StatefulSet" => claims(input, part, findings),
            _ => {}
        }
    }
    hashed(input, findings);
    definitions(input, findings);
}

/// Returns an object of the app by kind and name.
fn find<'a>(input: &LintInput<'a>, kind: &str, name: &str) -> Option<&'a LintPart> {
    input.parts.iter().find(|part| part.object.kind() == kind && part.object.name() == name)
}

fn pod(input: &LintInput<'_>, part: &LintPart, spec: &Value, findings: &mut Vec<Diagnostic>) {
    let mut missing = |kind: &str, name: &str| {
        if !name.is_empty() && find(input, kind, name).is_none() {
            findings.push(about("L031", part, format!("there is no {kind} {name}")));
        }
    };
    let account = text(spec, "serviceAccountName");
    if account != "default" {
        missing("ServiceAccount", account);
    }
    for volume in list(spec, "volumes") {
        missing("PersistentVolumeClaim", volume.get("persistentVolumeClaim").map_or("", |it| text(it, "claimName")));
        missing("ConfigMap", needed(volume.get("configMap")).map_or("", |it| text(it, "name")));
    }
    for container in containers(spec) {
        for source in list(container, "envFrom") {
            missing("ConfigMap", needed(source.get("configMapRef")).map_or("", |it| text(it, "name")));
        }
    }
    let volumes: BTreeSet<&str> = list(spec, "volumes").iter().map(|volume| text(volume, "name")).collect();
    let templates = part.object.at(&["spec", "volumeClaimTemplates"]).and_then(Value::as_array).into_iter().flatten();
    let claims: BTreeSet<&str> =
        templates.filter_map(|claim| claim.get("metadata")).map(|it| text(it, "name")).collect();
    for container in containers(spec) {
        for mount in list(container, "volumeMounts").iter().map(|mount| text(mount, "name")) {
            if !volumes.contains(mount) && !claims.contains(mount) {
                findings.push(about("L031", part, format!("there is no volume {mount}")));
            }
        }
        for variable in list(container, "env") {
            key_of_config_map(input, part, variable, findings);
        }
    }
}

/// Returns a reference unless it is optional.
fn needed(reference: Option<&Value>) -> Option<&Value> {
    reference.filter(|reference| reference.get("optional").and_then(Value::as_bool) != Some(true))
}

fn key_of_config_map(input: &LintInput<'_>, part: &LintPart, variable: &Value, findings: &mut Vec<Diagnostic>) {
    let reference = variable.get("valueFrom").and_then(|from| from.get("configMapKeyRef"));
    let Some(reference) = needed(reference) else { return };
    let (name, key) = (text(reference, "name"), text(reference, "key"));
    match find(input, "ConfigMap", name) {
        None => findings.push(about("L031", part, format!("there is no ConfigMap {name}"))),
        Some(map) if map.object.at(&["data", key]).is_none() && map.object.at(&["binaryData", key]).is_none() => {
            findings.push(about("L031", part, format!("the ConfigMap {name} has no key {key}")));
        }
        Some(_) => {}
    }
}

fn service(input: &LintInput<'_>, part: &LintPart, findings: &mut Vec<Diagnostic>) {
    let Some(selector) = part.object.at(&["spec", "selector"]).and_then(Value::as_object) else { return };
    let selects = |other: &&LintPart| {
        pod_labels(&other.object)
            .is_some_and(|labels| selector.iter().all(|(key, value)| labels.get(key) == Some(value)))
    };
    let selected: Vec<&LintPart> = input.parts.iter().filter(selects).collect();
    if selected.is_empty() && !selector.is_empty() {
        return findings.push(about("L031", part, "it selects no pods"));
    }
    let names: BTreeSet<&str> = selected
        .iter()
        .filter_map(|other| pod_spec(&other.object))
        .flat_map(containers)
        .flat_map(|container| list(container, "ports"))
        .map(|port| text(port, "name"))
        .collect();
    let ports = part.object.at(&["spec", "ports"]).and_then(Value::as_array).into_iter().flatten();
    for target in ports.map(|port| text(port, "targetPort")).filter(|target| !target.is_empty()) {
        if !names.contains(target) && target.parse::<u16>().is_err() {
            findings.push(about("L031", part, format!("its pods have no port {target}")));
        }
    }
}

fn ingress(input: &LintInput<'_>, part: &LintPart, findings: &mut Vec<Diagnostic>) {
    let object = &part.object;
    let rules = object.at(&["spec", "rules"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut lacks = Vec::new();
    if rules.is_empty() || rules.iter().any(|rule| text(rule, "host").is_empty()) {
        lacks.push("a host");
    }
    let secrets = object.at(&["spec", "tls"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if secrets.is_empty() || secrets.iter().any(|entry| text(entry, "secretName").is_empty()) {
        lacks.push("a TLS secret");
    }
    if object.annotation(DNS_TARGET).is_none() {
        lacks.push("the target of external-dns");
    }
    if !lacks.is_empty() {
        findings.push(about("L023", part, format!("it lacks {}", lacks.join(", "))));
    }
    let paths = rules.iter().filter_map(|rule| rule.get("http")).flat_map(|http| list(http, "paths"));
    for service in paths.filter_map(|path| path.get("backend")?.get("service")) {
        backend(input, part, service, findings);
    }
}

fn backend(input: &LintInput<'_>, part: &LintPart, backend: &Value, findings: &mut Vec<Diagnostic>) {
    let name = text(backend, "name");
    let Some(service) = find(input, "Service", name) else {
        return findings.push(about("L031", part, format!("there is no Service {name}")));
    };
    let Some(port) = backend.get("port") else { return };
    let ports = service.object.at(&["spec", "ports"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let fits = |own: &Value| match port.get("number") {
        Some(number) => own.get("port") == Some(number),
        None => text(own, "name") == text(port, "name"),
    };
    if !ports.iter().any(fits) {
        findings.push(about("L031", part, format!("the Service {name} has no such port")));
    }
}

fn autoscaler(input: &LintInput<'_>, part: &LintPart, findings: &mut Vec<Diagnostic>) {
    let Some(target) = part.object.at(&["spec", "scaleTargetRef"]) else { return };
    let (kind, name) = (text(target, "kind"), text(target, "name"));
    if find(input, kind, name).is_none() {
        findings.push(about("L031", part, format!("there is no {kind} {name}")));
    }
}

/// The size of a volume cannot be changed later by everybody, so it should be a config key.
fn claims(input: &LintInput<'_>, part: &LintPart, findings: &mut Vec<Diagnostic>) {
    let Some(source) = input.package.files.text(&part.file) else { return };
    let fixed = source.split_once("volumeClaimTemplates:").is_some_and(|(_, templates)| {
        templates.lines().any(|line| line.trim_start().starts_with("storage:") && !line.contains("{{"))
    });
    if fixed {
        findings.push(about("L035", part, "the size of its volumes is no config key"));
    }
}

/// Finds generated names that are used where a build does not follow them.
fn hashed(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    let generated = input.parts.iter().filter(|part| {
        matches!(part.object.kind(), "ConfigMap" | "Secret") && part.file.to_lowercase().contains("kustomization")
    });
    let plain: Vec<(&str, &str)> = generated
        .filter_map(|part| {
            let (plain, hash) = part.object.name().rsplit_once('-')?;
            (hash.len() == HASH_CHARS).then_some((plain, part.object.name()))
        })
        .collect();
    for part in input.parts {
        let mut names = Vec::new();
        part.object.0.values().for_each(|value| each_text(value, &mut |text| names.push(text)));
        for (name, whole) in &plain {
            if part.object.name() != *whole && part.object.name() != *name && names.contains(name) {
                findings.push(about("L028", part, format!("it names {name}, which is called {whole}")));
            }
        }
    }
}

fn definitions(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    for definition in input.parts.iter().filter(|part| part.object.kind() == "CustomResourceDefinition") {
        let group = definition.object.at(&["spec", "group"]).and_then(Value::as_str).unwrap_or_default();
        let kind = definition.object.at(&["spec", "names", "kind"]).and_then(Value::as_str).unwrap_or_default();
        if input.parts.iter().any(|part| part.object.group() == group && part.object.kind() == kind) {
            findings.push(about("L035", definition, format!("the app also holds objects of the kind {kind}")));
        }
    }
}
