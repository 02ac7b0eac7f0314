//! What admission does to new objects: checks their namespace and adds what nobody asked for and nobody owns.
//!
//! Not here: defaults (`defaults.rs`), validation (`validate.rs`).

use serde_json::{Value, json};

use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store, child_mut, metadata_mut};
use crate::sandbox::write::{Write, metadata_text};
use crate::schema::{Kind, Scope, kind};

const NAMESPACES: Sort = Sort { group: "", plural: "namespaces" };
const CLASSES: Sort = Sort { group: "storage.k8s.io", plural: "storageclasses" };
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// Admits a new object.
pub(crate) fn admit_new(store: &mut Store, write: &Write<'_>, object: &mut Value) -> Result<(), Failure> {
    check_namespace(store, write.kind, write.namespace, metadata_text(object, "name"))?;
    if !write.kind.group.is_empty() {
        return Ok(());
    }
    match write.kind.kind {
        "PersistentVolumeClaim" => {
            protect(object, "kubernetes.io/pvc-protection");
            if let Some(class) = default_class(store) {
                child_mut(object, "spec").entry("storageClassName").or_insert(json!(class));
            }
        }
        "PersistentVolume" => protect(object, "kubernetes.io/pv-protection"),
        "Pod" => admit_pod(store, object),
        _ => {}
    }
    Ok(())
}

fn check_namespace(store: &Store, sort: &Kind, namespace: &str, name: &str) -> Result<(), Failure> {
    if sort.scope != Scope::Namespaced {
        return Ok(());
    }
    let Some(found) = store.get(NAMESPACES, &Key::new("", namespace)) else {
        return Err(kind("", "Namespace").map_or_else(Failure::no_such_path, |it| Failure::not_found(it, namespace)));
    };
    if !metadata_text(found, "deletionTimestamp").is_empty() {
        return Err(Failure::terminating(sort, name, namespace));
    }
    Ok(())
}

fn protect(object: &mut Value, finalizer: &str) {
    let list = metadata_mut(object).entry("finalizers").or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut().filter(|list| !list.contains(&json!(finalizer))) {
        list.push(json!(finalizer));
    }
}

fn default_class(store: &Store) -> Option<String> {
    let mut classes = store.list(CLASSES, "").map(|(_, class)| class);
    let chosen = classes.find(|class| {
        class.get("metadata").and_then(|it| it.get("annotations")).and_then(|it| it.get(DEFAULT_CLASS))
            == Some(&json!("true"))
    })?;
    Some(metadata_text(chosen, "name").to_owned())
}

fn admit_pod(store: &mut Store, pod: &mut Value) {
    let token = format!("kube-api-access-{}", store.suffix(5));
    let spec = child_mut(pod, "spec");
    spec.entry("serviceAccountName").or_insert(json!("default"));
    let account = spec.get("serviceAccountName").cloned().unwrap_or(Value::Null);
    spec.insert("serviceAccount".to_owned(), account);
    spec.entry("priority").or_insert(json!(0));
    spec.entry("preemptionPolicy").or_insert(json!("PreemptLowerPriority"));
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let Some(list) = tolerations.as_array_mut() else { break };
        if !list.iter().any(|it| it.get("key") == Some(&json!(key))) {
            list.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}));
        }
    }
    if spec.get("automountServiceAccountToken") == Some(&json!(false)) {
        return;
    }
    for key in ["containers", "initContainers"] {
        for container in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(map) = container.as_object_mut() else { continue };
            let mounts = map.entry("volumeMounts").or_insert_with(|| json!([]));
            if let Some(mounts) = mounts.as_array_mut() {
                let path = "/var/run/secrets/kubernetes.io/serviceaccount";
                mounts.push(json!({"name": token, "readOnly": true, "mountPath": path}));
            }
        }
    }
    let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
    if let Some(volumes) = volumes.as_array_mut() {
        volumes.push(json!({"name": token, "projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace",
                "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}}]}}));
    }
}
