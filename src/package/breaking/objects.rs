//! Pure. What objects break: fields that cannot change, data, names, rights, databases, addresses.
//!
//! Not here: which objects belong together (`pairs.rs`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::pairs::{Pairs, pair};
use super::{decide, note};
use crate::model::{Diagnostic, Object};
use crate::schema;

/// Kinds that make pods and go on with them.
const WORKLOADS: [&str; 5] = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController"];
/// Kinds without a namespace that packages bring.
const CLUSTER_KINDS: [&str; 16] = [
    "Namespace",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "StorageClass",
    "PersistentVolume",
    "PriorityClass",
    "IngressClass",
    "RuntimeClass",
    "CSIDriver",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ClusterIssuer",
];
/// Images of databases whose data has the form of its major version, by the last part of their name.
const DATABASES: [&str; 9] =
    ["postgres", "postgresql", "mysql", "mariadb", "mongo", "mongodb", "redis", "postgis", "pgvector"];
const NOTHING: &Value = &Value::Null;

/// What the package says it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Category {
    /// A database: the data of all its images has the form of a major version.
    Database,
    /// Anything else: only images of well-known databases count.
    Other,
}

/// Returns B08 to B15.
pub(super) fn compare(old: &[Object], new: &[Object], category: Category) -> Vec<Diagnostic> {
    let mut pairs = pair(old, new);
    let mut findings = Vec::new();
    moved(&pairs, &mut findings);
    let renamed = pairs.renamed(selector_mark);
    for (before, after) in &renamed {
        let message = format!("{} is {} now, for the same pods", before.id().short(), after.id().short());
        findings.push(note("B11", &after.id().short(), message));
    }
    for (before, after) in pairs.kept.iter().chain(&renamed) {
        images(before, after, category, &mut findings);
    }
    for (before, after) in &pairs.kept {
        immutable(before, after, &mut findings);
        claim(before, after, &mut findings);
        definition(before, Some(after), &mut findings);
        rights(Some(before), after, &mut findings);
        addresses(before, after, &mut findings);
    }
    without_pair(&mut pairs, &mut findings);
    findings
}

fn at<'a>(object: &'a Object, path: &[&str]) -> &'a Value {
    object.at(path).unwrap_or(NOTHING)
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Returns what selects the pods of a workload.
fn selector_mark(object: &Object) -> Option<String> {
    if !WORKLOADS.contains(&object.kind()) {
        return None;
    }
    Some(at(object, &["spec", "selector"])).filter(|selector| !selector.is_null()).map(ToString::to_string)
}

fn moved(pairs: &Pairs<'_>, findings: &mut Vec<Diagnostic>) {
    let mut seen = BTreeSet::new();
    for (before, after) in &pairs.kept {
        let places = (before.namespace(), after.namespace());
        if places.0 != places.1 && seen.insert(places) {
            let message = format!("the namespace {} becomes {}", places.0, places.1);
            let hint = "data of the old namespace does not move by itself; plan the move";
            findings.push(decide("B10", places.1, message, hint));
        }
    }
}

fn immutable(before: &Object, after: &Object, findings: &mut Vec<Diagnostic>) {
    let fields: &[(&str, &[&str])] = match after.kind() {
        "Deployment" | "DaemonSet" | "ReplicaSet" => &[("selector", &["spec", "selector"])],
        "StatefulSet" => &[
            ("selector", &["spec", "selector"]),
            ("volumeClaimTemplates", &["spec", "volumeClaimTemplates"]),
            ("serviceName", &["spec", "serviceName"]),
        ],
        "Job" => &[("template", &["spec", "template"])],
        "Service" => &[("clusterIP", &["spec", "clusterIP"])],
        _ => &[],
    };
    let changed: Vec<&str> =
        fields.iter().filter(|(_, path)| at(before, path) != at(after, path)).map(|(name, _)| *name).collect();
    let annotated = after.annotation("rewild.dev/recreate") == Some("allow");
    if !changed.is_empty() && !annotated {
        let name = after.id().short();
        let message = format!("{name}: {} cannot be changed in place", changed.join(" and "));
        findings.push(decide("B08", &name, message, "it must be deleted and made anew; its pods go meanwhile"));
    }
}

fn claim(before: &Object, after: &Object, findings: &mut Vec<Diagnostic>) {
    if after.kind() != "PersistentVolumeClaim" {
        return;
    }
    let size = ["spec", "resources", "requests", "storage"];
    let mut changed = Vec::new();
    if quantity(at(after, &size)) < quantity(at(before, &size)) {
        changed.push("it shrinks");
    }
    if at(before, &["spec", "storageClassName"]) != at(after, &["spec", "storageClassName"]) {
        changed.push("its storage class changes");
    }
    if at(before, &["spec", "accessModes"]) != at(after, &["spec", "accessModes"]) {
        changed.push("its access modes change");
    }
    if !changed.is_empty() {
        let name = after.id().short();
        let message = format!("{name}: {}, which its data does not survive", changed.join(" and "));
        findings.push(decide("B09", &name, message, "back the data up first"));
    }
}

/// Returns a size in bytes, as far as sizes of disks are written.
fn quantity(value: &Value) -> u128 {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end).unwrap_or((&text, ""));
    let factor: u128 = match unit {
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        "k" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        _ => 1,
    };
    digits.parse::<u128>().unwrap_or(0).saturating_mul(factor)
}

/// Compares definitions of types: versions that are served no longer, and the scope.
fn definition(before: &Object, after: Option<&Object>, findings: &mut Vec<Diagnostic>) {
    if before.kind() != "CustomResourceDefinition" {
        return;
    }
    let served = |object: &Object| -> BTreeSet<String> {
        let versions = at(object, &["spec", "versions"]).as_array().into_iter().flatten();
        let served = versions.filter(|version| version.get("served") == Some(&Value::Bool(true)));
        served.filter_map(|version| version.get("name")?.as_str().map(str::to_owned)).collect()
    };
    let name = before.name();
    let hint = "objects of the type must be moved or deleted first";
    let Some(after) = after else {
        return findings.push(decide("B12", name, format!("the type {name} goes with all its objects"), hint));
    };
    let lost: Vec<String> = served(before).difference(&served(after)).cloned().collect();
    if !lost.is_empty() {
        let message = format!("the type {name} is no longer served as {}", lost.join(" and "));
        findings.push(decide("B12", name, message, hint));
    }
    if at(before, &["spec", "scope"]) != at(after, &["spec", "scope"]) {
        findings.push(decide("B12", name, format!("the scope of the type {name} changes"), hint));
    }
}

/// Finds rights and settings of pods that the app did not have.
fn rights(before: Option<&Object>, after: &Object, findings: &mut Vec<Diagnostic>) {
    let name = after.id().short();
    let hint = "grant it with the update, or stay at this version";
    if matches!(after.kind(), "Role" | "ClusterRole") {
        let known = before.map(granted).unwrap_or_default();
        let new: Vec<String> = granted(after).difference(&known).cloned().collect();
        if !new.is_empty() {
            findings.push(decide("B13", &name, format!("{name} may now also {}", new.join(", ")), hint));
        }
        return;
    }
    let asked = |object: &Object| -> BTreeSet<String> {
        schema::privileges(object).into_iter().map(|privilege| privilege.what).collect()
    };
    let known = before.map(asked).unwrap_or_default();
    let new: Vec<String> = asked(after).difference(&known).cloned().collect();
    if !new.is_empty() {
        findings.push(decide("B13", &name, format!("{name} now asks for {}", new.join(", ")), hint));
    }
}

/// Returns what a role allows, as verb and resource.
fn granted(object: &Object) -> BTreeSet<String> {
    let mut granted = BTreeSet::new();
    for rule in at(object, &["rules"]).as_array().into_iter().flatten() {
        let field = |name: &str| rule.get(name).unwrap_or(NOTHING);
        for verb in texts(field("verbs")) {
            let resources = texts(field("resources")).chain(texts(field("nonResourceURLs")));
            granted.extend(resources.map(|resource| format!("{verb} {resource}")));
        }
    }
    granted
}

fn pod(object: &Object) -> &Value {
    match object.kind() {
        "Pod" => at(object, &["spec"]),
        "CronJob" => at(object, &["spec", "jobTemplate", "spec", "template", "spec"]),
        _ => at(object, &["spec", "template", "spec"]),
    }
}

fn containers(object: &Object) -> impl Iterator<Item = &Value> {
    let pod = pod(object);
    ["initContainers", "containers"]
        .into_iter()
        .flat_map(move |field| pod.get(field).and_then(Value::as_array).into_iter().flatten())
}

fn images(before: &Object, after: &Object, category: Category, findings: &mut Vec<Diagnostic>) {
    for container in containers(after) {
        let name = container.get("name");
        let Some(earlier) = containers(before).find(|earlier| earlier.get("name") == name) else { continue };
        let (Some(from), Some(to)) = (database(earlier, category), database(container, category)) else { continue };
        if from.0 == to.0 && from.1 != to.1 {
            let object = after.id().short();
            let message = format!("{object}: {} goes from major version {} to {}", to.0, from.1, to.1);
            findings.push(decide(
                "B14",
                &object,
                message,
                "dump the data before the update, it cannot be read otherwise",
            ));
        }
    }
}

/// Returns the database that a container runs, with its major version.
fn database(container: &Value, category: Category) -> Option<(String, String)> {
    let image = container.get("image")?.as_str()?;
    let image = image.split('@').next().unwrap_or(image);
    let (name, tag) = image.rsplit('/').next()?.split_once(':')?;
    let major: String = tag.trim_start_matches('v').chars().take_while(char::is_ascii_digit).collect();
    let counts = category == Category::Database || DATABASES.contains(&name);
    (counts && !major.is_empty()).then(|| (name.to_owned(), major))
}

/// Compares what other apps and people reach the app by.
fn addresses(before: &Object, after: &Object, findings: &mut Vec<Diagnostic>) {
    let name = after.id().short();
    let ports = |object: &Object| -> Vec<String> {
        let ports = at(object, &["spec", "ports"]).as_array().into_iter().flatten();
        ports.filter_map(|port| port.get("port")).map(ToString::to_string).collect()
    };
    let mut changed: Vec<String> = Vec::new();
    match after.kind() {
        "Service" => {
            let (old, new) = (ports(before), ports(after));
            if old != new {
                changed.push(format!("its ports are {} and were {}", new.join(", "), old.join(", ")));
            }
            if at(before, &["spec", "type"]) != at(after, &["spec", "type"]) {
                changed.push("its type changes".to_owned());
            }
        }
        "Ingress" => {
            let hosts = |object: &Object| -> Vec<String> {
                let rules = at(object, &["spec", "rules"]).as_array().into_iter().flatten();
                rules.filter_map(|rule| rule.get("host")?.as_str().map(str::to_owned)).collect()
            };
            if hosts(before) != hosts(after) {
                changed.push(format!("its hosts are {} now", hosts(after).join(", ")));
            }
            if at(before, &["spec", "ingressClassName"]) != at(after, &["spec", "ingressClassName"]) {
                changed.push("its class changes".to_owned());
            }
        }
        _ => {}
    }
    if !changed.is_empty() {
        findings.push(note("B15", &name, format!("{name}: {}", changed.join(", "))));
    }
}

/// Reports what went and what came: data, types, rights, addresses.
fn without_pair(pairs: &mut Pairs<'_>, findings: &mut Vec<Diagnostic>) {
    let services = pairs.renamed(|object| {
        let selector = (object.kind() == "Service").then(|| at(object, &["spec", "selector"]));
        selector.filter(|selector| !selector.is_null()).map(ToString::to_string)
    });
    for (before, after) in services {
        let message = format!("the Service {} is called {} now", before.name(), after.name());
        findings.push(note("B15", &after.id().short(), message));
    }
    for object in &pairs.gone {
        let name = object.id().short();
        match object.kind() {
            "PersistentVolumeClaim" => {
                let message = format!("{name} goes, and its data with it");
                findings.push(decide("B09", &name, message, "back the data up first"));
            }
            "CustomResourceDefinition" => definition(object, None, findings),
            "Service" => findings.push(note("B15", &name, format!("{name} goes"))),
            _ => {}
        }
    }
    for object in &pairs.added {
        if CLUSTER_KINDS.contains(&object.kind()) && object.kind() != "Namespace" {
            let name = object.id().short();
            let message = format!("{name} is new and belongs to the whole cluster");
            findings.push(decide("B13", &name, message, "grant it with the update, or stay at this version"));
        } else {
            rights(None, object, findings);
        }
    }
}
