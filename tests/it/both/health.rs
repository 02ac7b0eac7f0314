//! What kinds say of themselves, and what an app makes of it.

use serde_json::{Value, json};

use super::{Plain, is_told, nowhere, workload};
use crate::world::{Ground, World};

/// §6.
pub(super) async fn an_app_is_as_well_as_its_objects<C: Ground>(world: &World<C>) {
    tokio::join!(sets(world), pods(world), others(world), claims(world));
}

/// Sets that do not roll out by themselves, and agents that no node wants.
async fn sets<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "wellsets" };
    let push = async |image: &str| {
        let by_hand = workload(
            "StatefulSet",
            "byhand",
            ("byhand", image),
            "  serviceName: s\n  updateStrategy: {type: OnDelete}\n",
        );
        let partly = workload(
            "StatefulSet",
            "partly",
            ("partly", image),
            "  serviceName: s\n  replicas: 2\n  updateStrategy: {rollingUpdate: {partition: 1}}\n",
        );
        let agent = workload("DaemonSet", "agent", ("agent", image), "");
        let none = nowhere(&workload("DaemonSet", "none", ("none", image), ""));
        let still = workload("Deployment", "still", ("still", image), "  replicas: 0\n");
        plain
            .push(&[
                ("byhand.yaml", &by_hand),
                ("partly.yaml", &partly),
                ("agent.yaml", &agent),
                ("none.yaml", &none),
                ("still.yaml", &still),
            ])
            .await
    };
    let first = push("1").await;
    plain.done(&first).await;
    let image = |pod: &Value| pod["spec"]["containers"][0]["image"].as_str().unwrap_or("").to_owned();
    let second = push("2").await;
    plain.done(&second).await;
    let set = plain.live("apps/v1", "statefulsets", "byhand").await;
    let revision = set["status"]["updateRevision"].as_str().unwrap().to_owned();
    let old = format!(
        "1 of 1 pods still run the old version until somebody deletes them: those without the label controller-revision-hash={revision}"
    );
    is_told(&plain, "StatefulSet/byhand", "healthy", &old).await;
    let label = plain.live("v1", "pods", "byhand-0").await["metadata"]["labels"]["controller-revision-hash"].clone();
    assert!(label.is_string() && label != revision.as_str(), "{label}");
    let pod = async |name: &str| image(&plain.live("v1", "pods", name).await);
    assert!(pod("byhand-0").await.ends_with(":1") && pod("partly-0").await.ends_with(":1"));
    assert!(pod("partly-1").await.ends_with(":2"));
    world.try_delete(&plain.path("v1", "pods", "byhand-0")).await;
    is_told(&plain, "StatefulSet/byhand", "healthy", "").await;
    plain.until("its pod is new", &plain.path("v1", "pods", "byhand-0"), |pod| image(pod).ends_with(":2")).await;
}

/// A pod that no node takes, and one that failed.
async fn pods<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "wellpods" };
    let solo = "apiVersion: v1\nkind: Pod\nmetadata: {name: solo}\nspec:\n  containers:\n  - {name: main, image: \"registry.example.invalid/main:1\"}\n";
    let first = plain.push(&[("solo.yaml", solo)]).await;
    plain.done(&first).await;
    let status = plain.path("v1", "pods", "solo/status");
    let failed =
        json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}});
    world.patch_as("kubelet", &status, failed).await;
    is_told(&plain, "Pod/solo", "failing", "The node was low on resource: memory").await;
    let web = nowhere(&workload("Deployment", "web", ("web", "1"), ""));
    let head = plain.push(&[("web.yaml", &web)]).await;
    is_told(&plain, "Deployment/web", "starting", "0 of 1 pods").await;
    world.look_again(plain.name).await;
    assert_ne!(world.status(&head, "wild/deploy").await.as_deref(), Some("success"));
    let web = workload("Deployment", "web", ("web", "1"), "");
    let last = plain.push(&[("web.yaml", &web)]).await;
    plain.agree().await;
    plain.done(&last).await;
}

/// Claims, addresses, and a kind about which the instance has a rule.
async fn others<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "wellothers" };
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n";
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: out}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n";
    let policy = |state: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: policy, labels: {{state: {state}}}}}\nspec: {{podSelector: {{}}}}\n"
        )
    };
    let push = async |state: &str| {
        plain.push(&[("claim.yaml", claim), ("out.yaml", service), ("policy.yaml", &policy(state))]).await
    };
    let first = push("fine").await;
    plain.done(&first).await;
    let live = plain.live("v1", "services", "out").await;
    assert!(live["status"]["loadBalancer"]["ingress"][0]["ip"].is_string(), "it counts as well without an address");
    assert_eq!(plain.live("v1", "persistentvolumeclaims", "data").await["status"]["phase"], json!("Bound"));
    push("broken").await;
    is_told(&plain, "NetworkPolicy/policy", "failing", "metadata.labels.state is broken").await;
    let last = push("fine").await;
    plain.done(&last).await;
}

/// A claim that gets its volume when a pod uses it, which none of the app does.
async fn claims<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "wellclaims" };
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "on-demand"},
        "provisioner": "rewild.test/none", "volumeBindingMode": "WaitForFirstConsumer"});
    world.make("/apis/storage.k8s.io/v1/storageclasses", class).await;
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  storageClassName: on-demand\n  resources: {requests: {storage: 1Gi}}\n";
    let still = workload("Deployment", "still", ("still", "1"), "  replicas: 0\n").replace(
        "      containers:",
        "      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n      containers:",
    );
    let first = plain.push(&[("claim.yaml", claim), ("still.yaml", &still)]).await;
    plain.done(&first).await;
    is_told(&plain, "PersistentVolumeClaim/data", "healthy", "it gets a volume when a pod uses it").await;
    assert_eq!(plain.live("v1", "persistentvolumeclaims", "data").await["status"]["phase"], json!("Pending"));
}
