//! Volumes: every claim gets one of its own.
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
    if text(&live, "/status/phase") == "Bound" || store.is_held(key) {
        return Ok(());
    }
    let name = format!("pvc-{}", metadata_text(&live, "uid"));
    let size = live.pointer("/spec/resources/requests/storage").cloned().unwrap_or_else(|| json!("1Gi"));
    let modes = live.pointer("/spec/accessModes").cloned().unwrap_or_else(|| json!(["ReadWriteOnce"]));
    if store.get(VOLUMES, &Key::new("", &name)).is_none() {
        make_volume(store, volume, &live, (&name, &size, &modes))?;
    }
    change(store, (own, ""), key, |claim| {
        child_mut(claim, "spec").insert("volumeName".to_owned(), json!(name));
        let annotations = metadata_child_mut(claim, "annotations");
        for mark in ["bind-completed", "bound-by-controller"] {
            annotations.insert(format!("pv.kubernetes.io/{mark}"), json!("yes"));
        }
    })?;
    set_status(store, own, key, |status| {
        status.insert("phase".to_owned(), json!("Bound"));
        status.insert("accessModes".to_owned(), modes);
        status.insert("capacity".to_owned(), json!({"storage": size}));
    })
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
    set_status(store, kind, &Key::new("", name), |status| {
        status.insert("phase".to_owned(), json!("Bound"));
    })
}

/// A claim that no pod uses any more loses its protection, and its volume goes with it.
fn let_go(store: &mut Store, kind: &'static Kind, key: &Key) -> Result<(), Failure> {
    let used = store.list(Sort { group: "", plural: "pods" }, &key.namespace).any(|(_, pod)| {
        let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
        volumes.into_iter().flatten().any(|it| text(it, "/persistentVolumeClaim/claimName") == key.name)
    });
    if used {
        return Ok(());
    }
    let volume = store.get(CLAIMS, key).map(|claim| text(claim, "/spec/volumeName").to_owned()).unwrap_or_default();
    change(store, (kind, ""), key, |claim| {
        if let Some(list) = metadata_mut(claim).get_mut("finalizers").and_then(Value::as_array_mut) {
            list.retain(|name| name != PROTECTION);
        }
    })?;
    if store.get(CLAIMS, key).is_none() {
        store.delete(VOLUMES, &Key::new("", &volume));
    }
    Ok(())
}
