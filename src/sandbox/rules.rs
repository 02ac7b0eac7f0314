//! What the server itself writes into objects of single kinds: generation, status, selectors, addresses.
//!
//! Not here: defaults that only look at the object (`defaults.rs`), refusals (`validate.rs`).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::sandbox::call::Persistence;
use crate::sandbox::fields::FieldSet;
use crate::sandbox::store::{Sort, Store, child_mut, metadata_child_mut, metadata_mut};
use crate::sandbox::write::{Write, metadata_text};
use crate::schema::Kind;

const SERVICES: Sort = Sort { group: "", plural: "services" };
/// Where a DaemonSet counts its templates, from before generations were counted.
pub(crate) const TEMPLATE_COUNT: &str = "deprecated.daemonset.template.generation";
/// First node port that is handed out.
const FIRST_NODE_PORT: u64 = 30_000;
/// Node ports that there are.
const NODE_PORTS: u64 = 2_768;
/// Cluster addresses that there are. They are not handed out in order, so that a new Service rarely gets that of one just deleted.
const ADDRESSES: u64 = 65_533;
/// Address of a Service that is only tried: that of the network itself.
const TRIED_ADDRESS: &str = "10.0.0.0";

/// Returns the fields that an endpoint never writes, and that nobody therefore owns through it.
pub(crate) fn reset_fields(kind: &Kind, subresource: &str) -> FieldSet {
    match (subresource, kind.kind) {
        ("", _) if kind.subresources.contains(&"status") => FieldSet::of_fields(&[&["status"]]),
        ("", _) => FieldSet::default(),
        ("status", "Deployment") => FieldSet::of_fields(&[&["spec"], &["metadata", "labels"]]),
        ("status", "Pod") => {
            FieldSet::of_fields(&[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]])
        }
        ("status", "VolumeAttachment") => FieldSet::of_fields(&[&["spec"], &["metadata"]]),
        ("status", _) => FieldSet::of_fields(&[&["spec"]]),
        ("finalize", _) => FieldSet::of_fields(&[&["status"]]),
        _ => FieldSet::default(),
    }
}

/// Returns whether the server counts the changes of what objects of a kind ask for.
fn has_generation(kind: &Kind) -> bool {
    matches!(
        kind.kind,
        "Deployment"
            | "DaemonSet"
            | "StatefulSet"
            | "ReplicaSet"
            | "ReplicationController"
            | "Job"
            | "CronJob"
            | "Pod"
            | "PodTemplate"
            | "Ingress"
            | "IngressClass"
            | "NetworkPolicy"
            | "PodDisruptionBudget"
            | "PriorityClass"
            | "EndpointSlice"
            | "ValidatingAdmissionPolicy"
            | "ValidatingAdmissionPolicyBinding"
            | "MutatingAdmissionPolicy"
            | "MutatingAdmissionPolicyBinding"
            | "ValidatingWebhookConfiguration"
            | "MutatingWebhookConfiguration"
            | "CustomResourceDefinition"
    )
}

/// Completes a new object.
pub(crate) fn prepare_create(store: &mut Store, write: &Write<'_>, object: &mut Value) {
    let kind = write.kind;
    if has_generation(kind) {
        metadata_mut(object).insert("generation".to_owned(), json!(1));
    }
    if let (true, Value::Object(map)) = (kind.subresources.contains(&"status"), &mut *object) {
        map.shift_remove("status");
    }
    match (kind.group, kind.kind) {
        ("", "Namespace") => {
            child_mut(object, "status").insert("phase".to_owned(), json!("Active"));
            let spec = child_mut(object, "spec");
            let list = spec.entry("finalizers").or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut().filter(|list| !list.contains(&json!("kubernetes"))) {
                list.push(json!("kubernetes"));
            }
        }
        ("", "PersistentVolumeClaim") => {
            child_mut(object, "status").insert("phase".to_owned(), json!("Pending"));
        }
        ("", "PersistentVolume") => {
            let now = store.now_text();
            let status = child_mut(object, "status");
            status.insert("lastPhaseTransitionTime".to_owned(), json!(now));
            status.insert("phase".to_owned(), json!("Pending"));
        }
        ("", "Pod") => {
            let class = quality(object);
            let status = child_mut(object, "status");
            status.insert("phase".to_owned(), json!("Pending"));
            status.insert("qosClass".to_owned(), json!(class));
        }
        ("", "Service") => allocate_addresses(store, write.persistence, None, object),
        ("batch", "Job") => select_own_pods(object),
        ("apps", "DaemonSet") => {
            metadata_child_mut(object, "annotations").insert(TEMPLATE_COUNT.to_owned(), json!("1"));
        }
        _ => {}
    }
}

/// Completes a changed object with what its writer may not change.
pub(crate) fn prepare_update(store: &mut Store, write: &Write<'_>, live: &Value, object: &mut Value) {
    let (kind, subresource) = (write.kind, write.subresource);
    if subresource == "status" {
        keep_all_but_status(live, object);
        if kind.kind == "Deployment" {
            copy(live, object, &["metadata", "labels"]);
        }
        return;
    }
    if kind.subresources.contains(&"status") {
        copy(live, object, &["status"]);
    }
    match (kind.group, kind.kind) {
        ("", "Namespace") if subresource.is_empty() => copy(live, object, &["spec", "finalizers"]),
        ("", "Service") => {
            drop_node_ports(live, object);
            allocate_addresses(store, write.persistence, Some(live), object);
        }
        ("apps", "DaemonSet") => count_templates(live, object),
        _ => {}
    }
    let counted = |key: &str| !matches!(key, "kind" | "apiVersion" | "metadata" | "status");
    let wish = |object: &Value| -> Map<String, Value> {
        let map = object.as_object().into_iter().flatten();
        map.filter(|(key, _)| counted(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let annotations = |object: &Value| object.get("metadata").and_then(|it| it.get("annotations")).cloned();
    // A Deployment's annotations count too, because its controller copies them to the pods' owner.
    let changed = wish(live) != wish(object) || (kind.kind == "Deployment" && annotations(live) != annotations(object));
    if has_generation(kind) && changed {
        bump_generation(object);
    }
}

/// Counts one more change of what an object asks for, if changes of its kind are counted.
pub(crate) fn bump_generation(object: &mut Value) {
    let metadata = metadata_mut(object);
    if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
        metadata.insert("generation".to_owned(), json!(generation + 1));
    }
}

fn keep_all_but_status(live: &Value, object: &mut Value) {
    let (Value::Object(new), Value::Object(old)) = (&mut *object, live) else { return };
    new.retain(|key, _| matches!(key.as_str(), "metadata" | "status"));
    for (key, value) in old.iter().filter(|(key, _)| !matches!(key.as_str(), "metadata" | "status")) {
        new.insert(key.clone(), value.clone());
    }
}

/// Copies one value from the live object, or removes it if that has none.
fn copy(live: &Value, object: &mut Value, path: &[&str]) {
    let value = path.iter().try_fold(live, |value, step| value.get(step)).cloned();
    let Some((last, parents)) = path.split_last() else { return };
    let mut place = object;
    for parent in parents {
        child_mut(place, parent);
        let Some(next) = place.get_mut(parent) else { return };
        place = next;
    }
    let Value::Object(map) = place else { return };
    match value {
        Some(value) => map.insert((*last).to_owned(), value),
        None => map.shift_remove(*last),
    };
}

/// Returns the quality of service class of a pod.
fn quality(pod: &Value) -> &'static str {
    let containers = |key: &str| pod.pointer(&format!("/spec/{key}")).and_then(Value::as_array).cloned();
    let all: Vec<Value> = ["containers", "initContainers"].iter().filter_map(|key| containers(key)).flatten().collect();
    let of = |container: &Value, sort: &str| {
        container.pointer(&format!("/resources/{sort}")).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    if all.iter().all(|it| of(it, "limits").is_empty() && of(it, "requests").is_empty()) {
        return "BestEffort";
    }
    let guaranteed = all.iter().all(|it| {
        let (limits, requests) = (of(it, "limits"), of(it, "requests"));
        let both = ["cpu", "memory"];
        both.iter().all(|key| limits.contains_key(*key) && requests.get(*key) == limits.get(*key))
    });
    if guaranteed { "Guaranteed" } else { "Burstable" }
}

/// Makes a Job select the pods that it alone makes.
fn select_own_pods(job: &mut Value) {
    if job.pointer("/spec/manualSelector") == Some(&json!(true)) {
        return;
    }
    let (uid, name) = (metadata_text(job, "uid").to_owned(), metadata_text(job, "name").to_owned());
    let spec = child_mut(job, "spec");
    let selector = spec.entry("selector").or_insert_with(|| json!({}));
    child_mut(selector, "matchLabels").insert("batch.kubernetes.io/controller-uid".to_owned(), json!(uid));
    let template = spec.entry("template").or_insert_with(|| json!({}));
    let labels = metadata_child_mut(template, "labels");
    for prefix in ["batch.kubernetes.io/", ""] {
        labels.insert(format!("{prefix}controller-uid"), json!(uid));
        labels.insert(format!("{prefix}job-name"), json!(name));
    }
    // A Job without labels of its own has those of its pods.
    let labels = labels.clone();
    if job.pointer("/metadata/labels").is_none() {
        metadata_child_mut(job, "labels").extend(labels);
    }
}

fn count_templates(live: &Value, object: &mut Value) {
    let count = live.get("metadata").and_then(|it| it.get("annotations")).and_then(|it| it.get(TEMPLATE_COUNT));
    let count: i64 = count.and_then(Value::as_str).and_then(|text| text.parse().ok()).unwrap_or(0);
    let changed = live.pointer("/spec/template") != object.pointer("/spec/template");
    let count = (count + i64::from(changed)).to_string();
    metadata_child_mut(object, "annotations").insert(TEMPLATE_COUNT.to_owned(), json!(count));
}

/// Takes from a Service what only its former type had.
fn drop_node_ports(live: &Value, service: &mut Value) {
    let sort = |object: &Value| object.pointer("/spec/type").and_then(Value::as_str).unwrap_or("").to_owned();
    if sort(service) != "ClusterIP" || sort(live) == "ClusterIP" {
        return;
    }
    let spec = child_mut(service, "spec");
    for key in ["externalTrafficPolicy", "allocateLoadBalancerNodePorts", "healthCheckNodePort"] {
        spec.shift_remove(key);
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(port) = port {
            port.shift_remove("nodePort");
        }
    }
}

/// Gives a Service its cluster address and node ports, or leaves it those that it has.
fn allocate_addresses(store: &mut Store, mode: Persistence, live: Option<&Value>, service: &mut Value) {
    let kept = |pointer: &str| live.and_then(|live| live.pointer(pointer)).cloned();
    let sort = service.pointer("/spec/type").and_then(Value::as_str).unwrap_or("ClusterIP").to_owned();
    let (start, first) = (store.pick(NODE_PORTS), store.pick(ADDRESSES));
    let spec = child_mut(service, "spec");
    if sort == "ExternalName" {
        return;
    }
    if !spec.contains_key("clusterIP") {
        let address = kept("/spec/clusterIP").unwrap_or_else(|| match mode {
            Persistence::DryRun => json!(TRIED_ADDRESS),
            Persistence::Keep => json!(free_address(store, first)),
        });
        spec.insert("clusterIP".to_owned(), address);
    }
    let address = spec.get("clusterIP").cloned().unwrap_or(Value::Null);
    spec.entry("clusterIPs").or_insert_with(|| json!([address]));
    spec.entry("ipFamilies").or_insert_with(|| kept("/spec/ipFamilies").unwrap_or_else(|| json!(["IPv4"])));
    spec.entry("ipFamilyPolicy")
        .or_insert_with(|| kept("/spec/ipFamilyPolicy").unwrap_or_else(|| json!("SingleStack")));
    let wants_node_ports = sort == "NodePort"
        || (sort == "LoadBalancer" && spec.get("allocateLoadBalancerNodePorts") != Some(&json!(false)));
    if !wants_node_ports {
        return;
    }
    let old = kept("/spec/ports").unwrap_or(Value::Null);
    let node_ports = node_ports(store);
    let mut free = (0..NODE_PORTS)
        .map(|step| FIRST_NODE_PORT + (start + step) % NODE_PORTS)
        .filter(|port| !node_ports.contains(port));
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let same =
            |other: &&Value| other.get("port") == port.get("port") && other.get("protocol") == port.get("protocol");
        let before = old.as_array().into_iter().flatten().find(same).and_then(|it| it.get("nodePort")).cloned();
        if let Value::Object(map) = port {
            map.entry("nodePort").or_insert_with(|| before.unwrap_or_else(|| json!(free.next())));
        }
    }
}

fn node_ports(store: &Store) -> BTreeSet<u64> {
    let services = store.list(SERVICES, "").map(|(_, service)| service);
    let ports = services.filter_map(|it| it.pointer("/spec/ports")?.as_array().cloned()).flatten();
    ports.filter_map(|port| port.get("nodePort")?.as_u64()).collect()
}

/// Returns the first free address from one on. Hardly any is taken, so each is looked for among the services and no set is made of theirs.
fn free_address(store: &Store, first: u64) -> String {
    // The first two are the network's own and that of the API.
    let all = (0..ADDRESSES).map(|step| 2 + (first + step) % ADDRESSES);
    let mut all = all.map(|number| format!("10.0.{}.{}", number / 256, number % 256));
    let has = |service: &Value, address: &str| {
        service.get("spec").and_then(|spec| spec.get("clusterIP")).and_then(Value::as_str) == Some(address)
    };
    all.find(|address| !store.list(SERVICES, "").any(|(_, service)| has(service, address))).unwrap_or_default()
}
