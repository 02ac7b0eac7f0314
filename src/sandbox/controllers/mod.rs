//! Small controllers that make the cluster move: each looks at objects that changed and brings one thing closer to its end.
//!
//! Not here: requests of clients. A controller writes through the same rules as they do.

mod balancer;
mod daemon_set;
mod deployment;
mod garbage;
mod job;
mod namespace;
mod pod;
mod replica_set;
mod stateful_set;
mod volume;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::sandbox::call::Persistence;
use crate::sandbox::cluster::Cluster;
use crate::sandbox::defaults::set_defaults;
use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store, child_mut};
use crate::sandbox::write::{self, Write, metadata_text};
use crate::sandbox::{admission, canon, fields};
use crate::schema::{Kind, kind};

/// Objects that controllers look at before requests get their turn again.
const BATCH: usize = 64;
/// Manager of what controllers write.
const MANAGER: &str = "kube-controller-manager";
/// The one node of the cluster.
pub(crate) const NODE: &str = "sandbox";

/// A part of the control plane that can be stopped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Controller {
    /// Empties and removes namespaces that are being deleted.
    Namespace,
    /// Gives every namespace its default account and the cluster's certificate.
    NamespaceContent,
    /// Deletes objects whose owners are gone.
    GarbageCollector,
    /// Rolls Deployments out over ReplicaSets.
    Deployment,
    /// Keeps the pods of ReplicaSets.
    ReplicaSet,
    /// Keeps the pods and claims of StatefulSets.
    StatefulSet,
    /// Keeps a pod on each node.
    DaemonSet,
    /// Runs Jobs to their end.
    Job,
    /// Binds claims to volumes.
    Volume,
    /// Gives Services of type LoadBalancer an address.
    Balancer,
    /// Starts, readies and removes pods, as a scheduler and a node would.
    Pod,
}

impl Controller {
    /// All controllers.
    pub const ALL: [Self; 11] = [
        Self::Namespace,
        Self::NamespaceContent,
        Self::GarbageCollector,
        Self::Deployment,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::Volume,
        Self::Balancer,
        Self::Pod,
    ];
}

/// Runs the controllers until the cluster stops.
pub(crate) async fn run(cluster: Arc<Cluster>) {
    let mut changes = cluster.changes();
    loop {
        changes.mark_unchanged();
        while cluster.change(step) {
            tokio::task::yield_now().await;
        }
        tokio::select! {
            () = cluster.stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
    }
}

/// Looks at some objects that changed and returns whether there was any.
fn step(store: &mut Store) -> bool {
    let gone = std::mem::take(&mut store.gone);
    let mut worked = !gone.is_empty();
    for object in gone {
        wake_relatives(store, &object);
    }
    for _ in 0..BATCH {
        let Some((sort, key)) = store.dirty.pop_first() else { break };
        worked = true;
        react(store, sort, &key);
    }
    worked
}

/// Makes controllers look at the owners, the dependents and the namespace of an object that is gone.
fn wake_relatives(store: &mut Store, object: &Value) {
    let dependents = store.dependents(metadata_text(object, "uid"));
    store.dirty.extend(dependents);
    let namespace = metadata_text(object, "namespace");
    for owner in owners(object) {
        if let Some((kind, key)) = owner_place(owner, namespace) {
            store.dirty.insert((Sort::of(kind), key));
        }
    }
    // A claim that waited for its last pod can go now.
    for volume in object.pointer("/spec/volumes").and_then(Value::as_array).into_iter().flatten() {
        let claim = text(volume, "/persistentVolumeClaim/claimName");
        if !claim.is_empty() {
            store.dirty.insert((volume::CLAIMS, Key::new(namespace, claim)));
        }
    }
    wake_namespace(store, namespace);
}

fn wake_namespace(store: &mut Store, namespace: &str) {
    if !namespace.is_empty() {
        store.dirty.insert((namespace::NAMESPACES, Key::new("", namespace)));
    }
}

fn react(store: &mut Store, sort: Sort, key: &Key) {
    let Some(object) = store.get(sort, key).cloned() else { return };
    let runs = |store: &Store, controller: Controller| store.running.contains(&controller);
    if runs(store, Controller::GarbageCollector) {
        garbage::collect(store, sort, key, &object);
    }
    // A controller that met a conflict or a refusal is woken again by the change that caused it.
    let done = match (sort.group, sort.plural) {
        ("", "namespaces") => namespace::react(store, key),
        ("", "pods") => pod::react(store, key),
        ("", "services") if runs(store, Controller::Balancer) => balancer::answer(store, key),
        ("", "persistentvolumeclaims") if runs(store, Controller::Volume) => volume::bind(store, key),
        ("", "persistentvolumes") if runs(store, Controller::Volume) => volume::settle(store, key),
        ("apps", "deployments") if runs(store, Controller::Deployment) => deployment::reconcile(store, key),
        ("apps", "replicasets") => replica_set::react(store, key),
        ("apps", "statefulsets") if runs(store, Controller::StatefulSet) => stateful_set::reconcile(store, key),
        ("apps", "daemonsets") if runs(store, Controller::DaemonSet) => daemon_set::reconcile(store, key),
        ("batch", "jobs") if runs(store, Controller::Job) => job::reconcile(store, key),
        _ => Ok(()),
    };
    if let Err(failure) = done {
        tracing::debug!(
            kind = sort.plural,
            namespace = key.namespace,
            name = key.name,
            error = failure.message,
            "a sandbox controller was refused"
        );
    }
    if !metadata_text(&object, "deletionTimestamp").is_empty() {
        wake_namespace(store, metadata_text(&object, "namespace"));
    }
}

/// Makes what every cluster has from the start.
pub(crate) fn found_cluster(store: &mut Store) {
    for name in ["kube-system", "kube-public", "kube-node-lease", "default"] {
        make(store, ("", "Namespace"), json!({"metadata": {"name": name}}));
    }
    let service = json!({"metadata": {"name": "kubernetes", "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"clusterIP": "10.0.0.1", "ports": [{"name": "https", "port": 443, "targetPort": 6443}]}});
    make(store, ("", "Service"), service);
    if store.running.contains(&Controller::Pod) {
        make_node(store);
    }
    if store.running.contains(&Controller::Volume) {
        let class = json!({"metadata": {"name": "standard",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}, "provisioner": "sandbox.local"});
        make(store, ("storage.k8s.io", "StorageClass"), class);
    }
}

fn make_node(store: &mut Store) {
    let room = json!({"cpu": "64", "memory": "256Gi", "pods": "10k"});
    let node =
        json!({"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}}});
    make(store, ("", "Node"), node);
    let ready = json!([{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "sandbox",
        "lastHeartbeatTime": store.now_text(), "lastTransitionTime": store.now_text()}]);
    if let Some(node) = kind("", "Node") {
        let status = json!({"capacity": room, "allocatable": room, "conditions": ready});
        let _ = set_status(store, node, &Key::new("", NODE), |own| own.extend(map(status)));
    }
}

/// Creates an object of the cluster itself; one that cannot be made is left out.
fn make(store: &mut Store, sort: (&str, &str), object: Value) {
    if let Some(kind) = kind(sort.0, sort.1)
        && let Err(failure) = create(store, kind, object)
    {
        tracing::debug!(kind = sort.1, error = failure.message, "the sandbox could not make an object of its own");
    }
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// Creates an object as a controller does.
fn create(store: &mut Store, kind: &'static Kind, object: Value) -> Result<Value, Failure> {
    let namespace = metadata_text(&object, "namespace").to_owned();
    let write = Write::by(store, (kind, &namespace, ""), MANAGER.to_owned(), Persistence::Keep);
    let mut object = canon::canonical(&object, kind).map_err(Failure::bad_request)?.object;
    set_defaults(&mut object, kind);
    write::prepare_name(store, &write, &mut object);
    fields::track_update(None, &mut object, write.applied());
    admission::admit_new(store, &write, &mut object)?;
    write::finish_create(store, &write, object)
}

/// Changes an object as a controller does.
fn change(
    store: &mut Store,
    target: (&'static Kind, &str),
    key: &Key,
    edit: impl FnOnce(&mut Value),
) -> Result<(), Failure> {
    change_as(store, MANAGER, target, key, edit)
}

/// Changes an object as a part of the cluster with a name of its own does.
fn change_as(
    store: &mut Store,
    manager: &str,
    target: (&'static Kind, &str),
    key: &Key,
    edit: impl FnOnce(&mut Value),
) -> Result<(), Failure> {
    let (kind, subresource) = target;
    let Some(live) = store.get(Sort::of(kind), key).map(|live| (**live).clone()) else { return Ok(()) };
    let mut object = live.clone();
    edit(&mut object);
    let mut object = canon::canonical(&object, kind).map_err(Failure::bad_request)?.object;
    if object == live {
        return Ok(());
    }
    let write = Write::by(store, (kind, &key.namespace, subresource), manager.to_owned(), Persistence::Keep);
    fields::track_update(Some(&live), &mut object, write.applied());
    write::finish_update(store, &write, &live, object).map(|_| ())
}

/// Changes the status of an object.
fn set_status(
    store: &mut Store,
    kind: &'static Kind,
    key: &Key,
    edit: impl FnOnce(&mut Map<String, Value>),
) -> Result<(), Failure> {
    change(store, (kind, "status"), key, |object| edit(child_mut(object, "status")))
}

/// Sets a condition; its time changes only with its status.
fn set_condition(status: &mut Map<String, Value>, mut condition: Map<String, Value>, now: &str) {
    let list = status.entry("conditions").or_insert_with(|| json!([]));
    if !list.is_array() {
        *list = json!([]);
    }
    let Value::Array(list) = list else { return };
    let same_type = |it: &Value| it.get("type") == condition.get("type");
    let old = list.iter().position(same_type);
    let before = old.and_then(|at| list.get(at)).cloned().unwrap_or(Value::Null);
    let same = before.get("status") == condition.get("status");
    let time = before.get("lastTransitionTime").filter(|_| same).cloned().unwrap_or_else(|| json!(now));
    condition.insert("lastTransitionTime".to_owned(), time);
    match old.and_then(|at| list.get_mut(at)) {
        Some(slot) => *slot = Value::Object(condition),
        None => list.push(Value::Object(condition)),
    }
}

/// Returns the owner references of an object.
fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    let list = object.get("metadata").and_then(|metadata| metadata.get("ownerReferences")).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// Returns where the owner that a reference names would be.
fn owner_place(owner: &Value, namespace: &str) -> Option<(&'static Kind, Key)> {
    let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or("");
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    let kind = kind(group, text("kind"))?;
    Some((kind, Key::of(kind, namespace, text("name"))))
}

/// Returns the reference of a controller to what it owns.
fn owner_reference(owner: &Value, kind: &Kind) -> Value {
    json!([{"apiVersion": kind.api_version(), "kind": kind.kind, "name": metadata_text(owner, "name"),
        "uid": metadata_text(owner, "uid"), "controller": true, "blockOwnerDeletion": true}])
}

/// Returns the objects of a kind that an object controls, in the order of their names.
fn controlled(store: &Store, owner: &Value, sort: Sort) -> BTreeMap<Key, Arc<Value>> {
    let uid = metadata_text(owner, "uid");
    let controls = |object: &Value| {
        owners(object).any(|it| it.get("uid") == Some(&json!(uid)) && it.get("controller") == Some(&json!(true)))
    };
    store
        .dependents(uid)
        .into_iter()
        .filter(|(other, _)| *other == sort)
        .filter_map(|(_, key)| store.get(sort, &key).cloned().map(|object| (key, object)))
        .filter(|(_, object)| controls(object))
        .collect()
}

/// Makes the controller of an object look at it.
fn wake_owner(store: &mut Store, object: &Value) {
    let namespace = metadata_text(object, "namespace");
    for owner in owners(object) {
        if let Some((kind, key)) = owner_place(owner, namespace) {
            store.dirty.insert((Sort::of(kind), key));
        }
    }
}

fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

fn is_deleting(object: &Value) -> bool {
    !metadata_text(object, "deletionTimestamp").is_empty()
}

/// Returns a short name for a pod template: equal templates have equal names.
fn template_hash(template: &Value) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut encoder = crate::base::Encoder::new();
    encoder.value(template);
    let digest = encoder.digest().to_hex();
    let pairs: Vec<char> = digest.chars().collect();
    let pick = |pair: &[char]| {
        let number = usize::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap_or(0);
        LETTERS.get(number % LETTERS.len()).map_or('b', |letter| char::from(*letter))
    };
    pairs.chunks(2).take(10).map(pick).collect()
}
