//! Volumes: every claim gets the one that it names or that is kept for it, or one of its own; a volume whose claim is gone goes by its
//! policy.
//!
//! Not here: claims that a StatefulSet makes (`stateful_set.rs`).

use serde_json::{Value, json};

use crate::sandbox::controllers::{change, create, is_deleting, set_status, text};
use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store, child_mut, metadata_child_mut, metadata_mut};
use crate::sandbox::write::metadata_text;
use crate::schema::{Kind, kind};

pub(super) const CLAIMS: Sort = Sort { group: "", plural: "persistentvolumeclaims" };
const VOLUMES: Sort = Sort { group: "", plural: "persistentvolumes" };
const PODS: Sort = Sort { group: "", plural: "pods" };
const CLASSES: Sort = Sort { group: "storage.k8s.io", plural: "storageclasses" };
const PROTECTION: &str = "kubernetes.io/pvc-protection";

/// Looks at one claim: binds it, or lets it go when it is deleted.
pub(super) fn bind(store: &mut Store, key: &Key) -> Result<(), Failure> {
    let (Some(own), Some(volume)) = (kind("", "PersistentVolumeClaim"), kind("", "PersistentVolume")) else {
        return Ok(());
    };
    let Some(live) = store.get(CLAIMS, key).cloned() else { return Ok(()) };
    if is_deleting(&live) {
        return let_go(store, own, key);
    }
    if text(&live, "/status/phase") == "Bound" || store.is_held(key) || waits_for_pod(store, key, &live) {
        return Ok(());
    }
    let named = text(&live, "/spec/volumeName");
    let Some(name) = (if named.is_empty() { Some(offered(store, key)) } else { free(store, named, &live) }) else {
        return Ok(());
    };
    let name = name.unwrap_or_else(|| format!("pvc-{}", metadata_text(&live, "uid")));
    let size = live.pointer("/spec/resources/requests/storage").cloned().unwrap_or_else(|| json!("1Gi"));
    let modes = live.pointer("/spec/accessModes").cloned().unwrap_or_else(|| json!(["ReadWriteOnce"]));
    match store.get(VOLUMES, &Key::new("", &name)).is_some() {
        true => take(store, volume, &live, &name)?,
        false => make_volume(store, volume, &live, (&name, &size, &modes))?,
    }
    let marks: &[&str] =
        if named.is_empty() { &["bind-completed", "bound-by-controller"] } else { &["bind-completed"] };
    change(store, (own, ""), key, |claim| {
        child_mut(claim, "spec").insert("volumeName".to_owned(), json!(name));
        let annotations = metadata_child_mut(claim, "annotations");
        for mark in marks {
            annotations.insert(format!("pv.kubernetes.io/{mark}"), json!("yes"));
        }
    })?;
    set_status(store, own, key, |status| {
        status.insert("phase".to_owned(), json!("Bound"));
        status.insert("accessModes".to_owned(), modes);
        status.insert("capacity".to_owned(), json!({"storage": size}));
    })
}

/// Returns whether the class of a claim gives it a volume only when a pod uses it, and none does.
fn waits_for_pod(store: &Store, key: &Key, claim: &Value) -> bool {
    let class = store.get(CLASSES, &Key::new("", text(claim, "/spec/storageClassName")));
    class.is_some_and(|class| text(class, "/volumeBindingMode") == "WaitForFirstConsumer") && !is_used(store, key)
}

/// Returns whether a pod names a claim.
fn is_used(store: &Store, key: &Key) -> bool {
    store.list(PODS, &key.namespace).any(|(_, pod)| claims_of(pod).any(|name| name == key.name))
}

/// Returns the claims that a pod names.
pub(super) fn claims_of(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    volumes.into_iter().flatten().map(|it| text(it, "/persistentVolumeClaim/claimName")).filter(|name| !name.is_empty())
}

/// Returns the volume that is kept for a claim of this name.
fn offered(store: &Store, key: &Key) -> Option<String> {
    let is_kept = |volume: &Value| is_for(volume, key) && text(volume, "/spec/claimRef/uid").is_empty();
    store.list(VOLUMES, "").find(|(_, volume)| is_kept(volume)).map(|(found, _)| found.name.clone())
}

fn is_for(volume: &Value, key: &Key) -> bool {
    let of = |field: &str| text(volume, &format!("/spec/claimRef/{field}"));
    (of("namespace"), of("name")) == (key.namespace.as_str(), key.name.as_str())
}

/// Returns the volume that a claim names, if it may have it.
fn free(store: &Store, name: &str, claim: &Value) -> Option<Option<String>> {
    let volume = store.get(VOLUMES, &Key::new("", name))?;
    let key = Key::new(metadata_text(claim, "namespace"), metadata_text(claim, "name"));
    let uid = text(volume, "/spec/claimRef/uid");
    let is_own = is_for(volume, &key) && (uid.is_empty() || uid == metadata_text(claim, "uid"));
    (is_own || volume.pointer("/spec/claimRef").is_none()).then(|| Some(name.to_owned()))
}

/// Gives a volume that is there to a claim.
fn take(store: &mut Store, kind: &'static Kind, claim: &Value, name: &str) -> Result<(), Failure> {
    let key = Key::new("", name);
    let [space, own, uid] = ["namespace", "name", "uid"].map(|part| json!(metadata_text(claim, part)));
    change(store, (kind, ""), &key, |volume| {
        let reference =
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": space, "name": own, "uid": uid});
        child_mut(volume, "spec").insert("claimRef".to_owned(), reference);
    })?;
    set_phase(store, kind, &key, "Bound")
}

fn set_phase(store: &mut Store, kind: &'static Kind, key: &Key, phase: &str) -> Result<(), Failure> {
    let now = store.now_text();
    set_status(store, kind, key, |status| {
        if status.insert("phase".to_owned(), json!(phase)) != Some(json!(phase)) {
            status.insert("lastPhaseTransitionTime".to_owned(), json!(now));
        }
    })
}

/// Looks at one volume: one that is kept for a claim waits for it, one whose claim is gone goes if its policy says so.
pub(super) fn settle(store: &mut Store, key: &Key) -> Result<(), Failure> {
    let Some(kind) = kind("", "PersistentVolume") else { return Ok(()) };
    let Some(live) = store.get(VOLUMES, key).cloned() else { return Ok(()) };
    let [space, name, uid] = ["namespace", "name", "uid"].map(|part| text(&live, &format!("/spec/claimRef/{part}")));
    if is_deleting(&live) {
        return Ok(());
    }
    let claim = Key::new(space, name);
    let has = store.get(CLAIMS, &claim).map(|claim| metadata_text(claim, "uid").to_owned());
    if uid.is_empty() {
        store.dirty.insert((CLAIMS, claim));
        return set_phase(store, kind, key, "Available");
    }
    if has.as_deref() == Some(uid) {
        return Ok(());
    }
    if text(&live, "/spec/persistentVolumeReclaimPolicy") == "Delete" {
        store.delete(VOLUMES, key);
        return Ok(());
    }
    set_phase(store, kind, key, "Released")
}

fn make_volume(
    store: &mut Store,
    kind: &'static Kind,
    claim: &Value,
    what: (&str, &Value, &Value),
) -> Result<(), Failure> {
    let (name, size, modes) = what;
    let reference = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": metadata_text(claim, "name"),
        "namespace": metadata_text(claim, "namespace"), "uid": metadata_text(claim, "uid")});
    let spec = json!({"capacity": {"storage": size}, "accessModes": modes, "claimRef": reference,
        "persistentVolumeReclaimPolicy": "Delete", "storageClassName": text(claim, "/spec/storageClassName"),
        "hostPath": {"path": format!("/sandbox/{name}")}});
    create(store, kind, json!({"metadata": {"name": name}, "spec": spec}))?;
    set_phase(store, kind, &Key::new("", name), "Bound")
}

/// A claim that no pod uses any more loses its protection, and its volume goes with it.
fn let_go(store: &mut Store, kind: &'static Kind, key: &Key) -> Result<(), Failure> {
    if is_used(store, key) {
        return Ok(());
    }
    let volume = store.get(CLAIMS, key).map(|claim| text(claim, "/spec/volumeName").to_owned()).unwrap_or_default();
    change(store, (kind, ""), key, |claim| {
        if let Some(list) = metadata_mut(claim).get_mut("finalizers").and_then(Value::as_array_mut) {
            list.retain(|name| name != PROTECTION);
        }
    })?;
    if store.get(CLAIMS, key).is_none() && !volume.is_empty() {
        return settle(store, &Key::new("", &volume));
    }
    Ok(())
}
