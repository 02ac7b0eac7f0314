//! What a cluster has beside its control plane: volumes for claims, and addresses for load balancers.
//!
//! Every pending claim gets a volume made for it, which the real controller-manager then binds; volumes whose claim is gone are removed;
//! a Service of type LoadBalancer gets an address from the documentation range.
//!
//! Not here: nodes and pods (kwok).

use reqwest::Method;
use serde_json::{Value, json};

use super::api::Api;

/// Name of the default storage class.
const STORAGE_CLASS: &str = "standard";
/// The address that every load balancer gets.
const ADDRESS: &str = "192.0.2.10";

/// Makes the storage class.
pub(crate) async fn make_storage_class(api: &Api) -> Result<(), String> {
    let class = json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": STORAGE_CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "rewild.test/none",
        "volumeBindingMode": "Immediate",
        "reclaimPolicy": "Delete",
    });
    api.send(Method::POST, "/apis/storage.k8s.io/v1/storageclasses", Some(&class)).await.map(|_| ())
}

/// Watches claims, volumes and services for as long as it is polled.
pub(crate) async fn run(api: Api) {
    let paths = ["/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes", "/api/v1/services"];
    let [claims, volumes, services] = paths.map(|path| follow(&api, path));
    tokio::join!(claims, volumes, services);
}

/// Watches a path for ever and cares for every object that is there.
async fn follow(api: &Api, path: &str) {
    loop {
        if let Ok(mut watch) = api.watch(path).await {
            while let Some(event) = watch.next().await {
                if event["type"] == "ADDED" || event["type"] == "MODIFIED" {
                    care(api, path, &event["object"]).await;
                }
            }
        }
        // The server is not up yet, or hangs on purpose: a pause before the next try.
        tokio::time::timeout(super::POLL, std::future::pending::<()>()).await.ok();
    }
}

/// Does what one object waits for. A refusal is no trouble: the object changed meanwhile, and its next event comes.
async fn care(api: &Api, path: &str, object: &Value) {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or("").to_owned();
    let phase = object["status"]["phase"].as_str().unwrap_or("");
    // A claim that names its volume gets no other one.
    let wants = path.ends_with("claims") && phase == "Pending" && object["spec"]["volumeName"].is_null();
    if wants && !waits_for_pod(api, object).await {
        api.send(Method::POST, "/api/v1/persistentvolumes", Some(&volume(object))).await.ok();
    }
    let goes = object["spec"]["persistentVolumeReclaimPolicy"] == "Delete" && text("deletionTimestamp").is_empty();
    if path.ends_with("volumes") && matches!(phase, "Released" | "Failed") && goes {
        api.send(Method::DELETE, &format!("{path}/{}", text("name")), None).await.ok();
    }
    let waits = object["spec"]["type"] == "LoadBalancer" && object["status"]["loadBalancer"]["ingress"].is_null();
    if path.ends_with("services") && waits {
        let path = format!("/api/v1/namespaces/{}/services/{}/status", text("namespace"), text("name"));
        let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": ADDRESS}]}}});
        api.send(Method::PATCH, &path, Some(&status)).await.ok();
    }
}

/// Returns whether the class of a claim gives it a volume only when a pod uses it.
async fn waits_for_pod(api: &Api, claim: &Value) -> bool {
    let name = claim["spec"]["storageClassName"].as_str().unwrap_or("");
    let class = api.send(Method::GET, &format!("/apis/storage.k8s.io/v1/storageclasses/{name}"), None).await;
    class.is_ok_and(|class| class["volumeBindingMode"] == "WaitForFirstConsumer")
}

/// Returns the volume for a claim.
fn volume(claim: &Value) -> Value {
    let (metadata, spec) = (&claim["metadata"], &claim["spec"]);
    let uid = metadata["uid"].as_str().unwrap_or("");
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": format!("pv-{uid}")},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": uid,
            },
            "csi": {"driver": "rewild.test", "volumeHandle": uid},
        },
    })
}
