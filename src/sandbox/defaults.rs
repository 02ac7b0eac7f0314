//! Defaults that the API server fills into objects, kind by kind.
//!
//! Not here: defaults of pods (`pod_defaults.rs`), what depends on other objects (`rules.rs`, `admission.rs`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::sandbox::pod_defaults::{pod_defaults, template_defaults};
use crate::sandbox::store::{child_mut, metadata_mut};
use crate::sandbox::write::metadata_text;
use crate::schema::{DEFAULT_PROTOCOL, Kind};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Fills the defaults of an object's kind. The object is in canonical form, before and after.
pub(crate) fn set_defaults(object: &mut Value, kind: &Kind) {
    match (kind.group, kind.kind) {
        ("apps", _) => workload(object, kind.kind),
        ("batch", "Job") => job(object),
        ("batch", "CronJob") => cron_job(object),
        ("", _) => core(object, kind.kind),
        ("networking.k8s.io", "NetworkPolicy") => network_policy(object),
        ("networking.k8s.io", "IngressClass") => {
            if let Some(parameters) = inner(child_mut(object, "spec"), "parameters") {
                fill(parameters, "scope", json!("Cluster"));
            }
        }
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => binding(object),
        ("storage.k8s.io", "StorageClass") => {
            fill_top(object, "reclaimPolicy", json!("Delete"));
            fill_top(object, "volumeBindingMode", json!("Immediate"));
        }
        ("scheduling.k8s.io", "PriorityClass") => {
            fill_top(object, "preemptionPolicy", json!("PreemptLowerPriority"));
        }
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler(object),
        ("discovery.k8s.io", "EndpointSlice") => {
            for port in entries(object, "ports") {
                fill(port, "name", json!(""));
                fill(port, "protocol", json!(DEFAULT_PROTOCOL));
            }
        }
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => {
            webhooks(object, kind.kind == "MutatingWebhookConfiguration");
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object),
        _ => {}
    }
}

/// Sets a value where there is none.
pub(crate) fn fill(map: &mut Map<String, Value>, key: &str, value: Value) {
    if map.get(key).is_none_or(Value::is_null) {
        map.insert(key.to_owned(), value);
    }
}

fn fill_top(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(map) = object {
        fill(map, key, value);
    }
}

/// Returns the map below a key if there is one.
pub(crate) fn inner<'a>(map: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    map.get_mut(key).and_then(Value::as_object_mut)
}

/// Returns the maps of a list below a key.
pub(crate) fn maps<'a>(map: &'a mut Map<String, Value>, key: &str) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    map.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

fn entries<'a>(object: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

fn core(object: &mut Value, kind: &str) {
    match kind {
        "Namespace" => {
            let name = metadata_text(object, "name").to_owned();
            if !name.is_empty() {
                let metadata = metadata_mut(object);
                let labels = metadata.entry("labels").or_insert_with(|| json!({}));
                if let Value::Object(labels) = labels {
                    labels.insert("kubernetes.io/metadata.name".to_owned(), json!(name));
                }
            }
            child_mut(object, "status").entry("phase").or_insert_with(|| json!("Active"));
        }
        "Pod" => pod_defaults(child_mut(object, "spec")),
        "Service" => service(object),
        "Secret" => secret(object),
        "PersistentVolumeClaim" => claim(object),
        "PersistentVolume" => {
            let spec = child_mut(object, "spec");
            fill(spec, "persistentVolumeReclaimPolicy", json!("Retain"));
            fill(spec, "volumeMode", json!("Filesystem"));
            if let Some(path) = inner(spec, "hostPath") {
                fill(path, "type", json!(""));
            }
            fill(child_mut(object, "status"), "phase", json!("Pending"));
        }
        "ReplicationController" => {
            let spec = child_mut(object, "spec");
            fill(spec, "replicas", json!(1));
            template_defaults(spec);
        }
        "LimitRange" => limits(child_mut(object, "spec")),
        "Endpoints" => {
            for subset in entries(object, "subsets") {
                for port in maps(subset, "ports") {
                    fill(port, "protocol", json!(DEFAULT_PROTOCOL));
                }
            }
        }
        _ => {}
    }
}

/// Limits of a container fall back on each other.
fn limits(spec: &mut Map<String, Value>) {
    for item in maps(spec, "limits").filter(|item| item.get("type") == Some(&json!("Container"))) {
        for (to, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
            let Some(Value::Object(source)) = item.get(from).cloned() else { continue };
            let target = item.entry(to).or_insert_with(|| json!({}));
            if let Value::Object(target) = target {
                source.into_iter().for_each(|(key, value)| fill(target, &key, value));
            }
        }
    }
}

fn service(object: &mut Value) {
    let spec = child_mut(object, "spec");
    fill(spec, "type", json!("ClusterIP"));
    fill(spec, "sessionAffinity", json!("None"));
    if spec.get("sessionAffinity") == Some(&json!("None")) {
        spec.shift_remove("sessionAffinityConfig");
    } else if spec.get("sessionAffinity") == Some(&json!("ClientIP")) {
        fill(spec, "sessionAffinityConfig", json!({"clientIP": {"timeoutSeconds": 10_800}}));
    }
    let sort = spec.get("type").and_then(Value::as_str).unwrap_or("").to_owned();
    if matches!(sort.as_str(), "NodePort" | "LoadBalancer") {
        fill(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    if matches!(sort.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        fill(spec, "internalTrafficPolicy", json!("Cluster"));
    }
    if sort == "LoadBalancer" {
        fill(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
    let balanced = sort == "LoadBalancer";
    for port in maps(spec, "ports") {
        fill(port, "protocol", json!(DEFAULT_PROTOCOL));
        let own = port.get("port").cloned().unwrap_or(Value::Null);
        let unset = port.get("targetPort").is_none_or(|target| target == &json!(0) || target == &json!(""));
        if unset {
            port.insert("targetPort".to_owned(), own);
        }
    }
    if let (true, Some(balancer)) = (balanced, inner(child_mut(object, "status"), "loadBalancer")) {
        for address in maps(balancer, "ingress").filter(|address| address.contains_key("ip")) {
            fill(address, "ipMode", json!("VIP"));
        }
    }
}

/// Texts of a Secret are a convenience of writing: they are kept as data.
fn secret(object: &mut Value) {
    fill_top(object, "type", json!("Opaque"));
    let Value::Object(map) = object else { return };
    if let Some(Value::Object(texts)) = map.shift_remove("stringData") {
        let data = map.entry("data").or_insert_with(|| json!({}));
        if let Value::Object(data) = data {
            for (key, text) in texts {
                data.insert(key, json!(STANDARD.encode(text.as_str().unwrap_or(""))));
            }
        }
    }
}

fn claim(object: &mut Value) {
    fill(child_mut(object, "spec"), "volumeMode", json!("Filesystem"));
    fill(child_mut(object, "status"), "phase", json!("Pending"));
}

fn workload(object: &mut Value, kind: &str) {
    if !matches!(kind, "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet") {
        return;
    }
    let spec = child_mut(object, "spec");
    match kind {
        "Deployment" => {
            fill(spec, "replicas", json!(1));
            fill(spec, "revisionHistoryLimit", json!(10));
            fill(spec, "progressDeadlineSeconds", json!(600));
            rolling(spec, "strategy", &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))]);
        }
        "DaemonSet" => {
            fill(spec, "revisionHistoryLimit", json!(10));
            rolling(spec, "updateStrategy", &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))]);
        }
        "StatefulSet" => {
            fill(spec, "replicas", json!(1));
            fill(spec, "revisionHistoryLimit", json!(10));
            fill(spec, "podManagementPolicy", json!("OrderedReady"));
            fill(spec, "persistentVolumeClaimRetentionPolicy", json!({}));
            if let Some(policy) = inner(spec, "persistentVolumeClaimRetentionPolicy") {
                fill(policy, "whenDeleted", json!("Retain"));
                fill(policy, "whenScaled", json!("Retain"));
            }
            rolling(spec, "updateStrategy", &[("partition", json!(0))]);
            for template in spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut).into_iter().flatten() {
                fill_top(template, "apiVersion", json!("v1"));
                fill_top(template, "kind", json!("PersistentVolumeClaim"));
                claim(template);
            }
        }
        _ => fill(spec, "replicas", json!(1)),
    }
    template_defaults(spec);
}

fn rolling(spec: &mut Map<String, Value>, key: &str, numbers: &[(&str, Value)]) {
    let strategy = spec.entry(key).or_insert_with(|| json!({}));
    let Value::Object(strategy) = strategy else { return };
    fill(strategy, "type", json!("RollingUpdate"));
    if strategy.get("type") != Some(&json!("RollingUpdate")) {
        return;
    }
    fill(strategy, "rollingUpdate", json!({}));
    if let Some(rolling) = inner(strategy, "rollingUpdate") {
        numbers.iter().for_each(|(key, value)| fill(rolling, key, value.clone()));
    }
}

fn job(object: &mut Value) {
    let spec = child_mut(object, "spec");
    let parallel = spec.contains_key("parallelism");
    if !spec.contains_key("completions") && !parallel {
        fill(spec, "completions", json!(1));
    }
    fill(spec, "parallelism", json!(1));
    fill(spec, "backoffLimit", json!(6));
    fill(spec, "completionMode", json!("NonIndexed"));
    fill(spec, "suspend", json!(false));
    fill(spec, "manualSelector", json!(false));
    let replacement = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    fill(spec, "podReplacementPolicy", json!(replacement));
    template_defaults(spec);
}

fn cron_job(object: &mut Value) {
    let spec = child_mut(object, "spec");
    fill(spec, "concurrencyPolicy", json!("Allow"));
    fill(spec, "suspend", json!(false));
    fill(spec, "successfulJobsHistoryLimit", json!(3));
    fill(spec, "failedJobsHistoryLimit", json!(1));
    if let Some(job) = inner(spec, "jobTemplate").and_then(|template| inner(template, "spec")) {
        template_defaults(job);
    }
}

fn network_policy(object: &mut Value) {
    let spec = child_mut(object, "spec");
    for direction in ["ingress", "egress"] {
        for rule in maps(spec, direction) {
            for port in maps(rule, "ports") {
                fill(port, "protocol", json!(DEFAULT_PROTOCOL));
            }
        }
    }
    let types = if spec.contains_key("egress") { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    fill(spec, "policyTypes", types);
}

fn binding(object: &mut Value) {
    let role = child_mut(object, "roleRef");
    if role.get("apiGroup").is_none_or(|group| group == "") {
        role.insert("apiGroup".to_owned(), json!(RBAC));
    }
    for subject in entries(object, "subjects") {
        if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
            fill(subject, "apiGroup", json!(RBAC));
        }
    }
}

fn autoscaler(object: &mut Value) {
    let spec = child_mut(object, "spec");
    fill(spec, "minReplicas", json!(1));
    fill(
        spec,
        "metrics",
        json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]),
    );
}

fn webhooks(object: &mut Value, mutating: bool) {
    for hook in entries(object, "webhooks") {
        fill(hook, "failurePolicy", json!("Fail"));
        fill(hook, "matchPolicy", json!("Equivalent"));
        fill(hook, "namespaceSelector", json!({}));
        fill(hook, "objectSelector", json!({}));
        fill(hook, "timeoutSeconds", json!(10));
        if mutating {
            fill(hook, "reinvocationPolicy", json!("Never"));
        }
        if let Some(service) = inner(hook, "clientConfig").and_then(|config| inner(config, "service")) {
            fill(service, "port", json!(443));
        }
        for rule in maps(hook, "rules") {
            fill(rule, "scope", json!("*"));
        }
    }
}

fn definition(object: &mut Value) {
    let spec = child_mut(object, "spec");
    fill(spec, "conversion", json!({"strategy": "None"}));
    if let Some(names) = inner(spec, "names") {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or("").to_owned();
        fill(names, "singular", json!(kind.to_lowercase()));
        fill(names, "listKind", json!(format!("{kind}List")));
    }
}
