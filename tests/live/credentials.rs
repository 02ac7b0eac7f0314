//! F45: a certificate that expires and a token that is worth nothing any more. Whoever runs the cluster puts another one into the file, and
//! the daemon goes on with that without a restart.
//!
//! Not here: the one call that is answered 401 (`cluster.rs`).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rewild::target::Access;
use serde_json::{Value, json};

use crate::commits::clock;
use crate::ground::Plane;
use crate::order::{Plain, config};
use crate::world::{Ground, World};

/// How long the first certificate is good, which is for a deployment.
const BRIEF: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_secs(3_600);
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const ACCOUNT: &str = "brief";

/// Returns the kubeconfig of the administrator with another identity.
fn kubeconfig_of(plane: &Plane, user: Value) -> String {
    let mut config: Value = serde_json::from_str(&Ground::kubeconfig(plane)).unwrap();
    config["users"][0]["user"] = user;
    config.to_string()
}

fn certificate(plane: &Plane, lasts: Duration) -> String {
    let [certificate, key] = plane.0.brief_identity(lasts).map(|text| STANDARD.encode(text));
    kubeconfig_of(plane, json!({"client-certificate-data": certificate, "client-key-data": key}))
}

/// Makes an account that may do everything, and returns a token of it.
async fn token(world: &World<Plane>) -> String {
    let rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": ACCOUNT},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": ACCOUNT}]});
    world.make(ACCOUNTS, account).await;
    world.make(rbac, binding).await;
    let url = format!("{}{ACCOUNTS}/{ACCOUNT}/token", world.cluster.url());
    let body =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}});
    let asked = world.cluster.client().post(url).header("Content-Type", "application/json").body(body.to_string());
    let answer: Value = asked.send().await.unwrap().json().await.unwrap();
    answer["status"]["token"].as_str().unwrap().to_owned()
}

/// Returns a client that is nobody to the API server.
fn anybody(plane: &Plane) -> reqwest::Client {
    let config: Value = serde_json::from_str(&Ground::kubeconfig(plane)).unwrap();
    let authority = std::fs::read(config["clusters"][0]["cluster"]["certificate-authority"].as_str().unwrap()).unwrap();
    let authority = reqwest::Certificate::from_pem(&authority).unwrap();
    reqwest::Client::builder().no_proxy().tls_certs_only([authority]).build().unwrap()
}

async fn is_version(plain: &Plain, version: &str) -> bool {
    plain.live("api/v1", "configmaps", "config").await["data"]["version"] == json!(version)
}

/// Pushes a version that cannot be brought out, and waits until that is told.
async fn is_held(plain: &Plain, version: &str) {
    plain.push(&[("config.yaml", &config("config", "", version))]).await;
    plain.stands_for("TargetUnreachable").await;
    let state = plain.world.state(plain.name).await.unwrap();
    assert!(state.health != "healthy" && state.needs_you.contains("401"), "{state:#?}");
    assert_ne!(plain.world.status(&plain.world.head().await, "wild/deploy").await.as_deref(), Some("success"));
    assert!(!is_version(plain, version).await);
}

async fn arrives(plain: &Plain, version: &str) {
    let says = format!("version {version} is there");
    plain.world.until(&says, async || is_version(plain, version).await).await;
    plain.healthy().await;
}

/// A certificate, then a token, then a certificate again.
pub(crate) async fn credentials(plane: &Plane) {
    let mut plain = Plain::start(plane, "k3f7q2mqqq", "credentials").await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    std::fs::write(&path, certificate(plane, BRIEF)).unwrap();
    let expires = clock().plus(BRIEF);
    plain.world.restart_by(Access::File { path: path.clone(), context: String::new() }).await;
    plain.push(&[("config.yaml", &config("config", "", "1"))]).await;
    arrives(&plain, "1").await;
    plain.world.until("the certificate has expired", async || clock() > expires).await;
    is_held(&plain, "2").await;
    let token = token(&plain.world).await;
    std::fs::write(&path, kubeconfig_of(plane, json!({"token": token}))).unwrap();
    arrives(&plain, "2").await;
    plain.world.try_delete(&format!("{ACCOUNTS}/{ACCOUNT}")).await;
    let url = format!("{}/api/v1/namespaces/default", plane.url());
    let anybody = anybody(plane);
    plain
        .world
        .until("the token is worth nothing", async || {
            anybody.get(&url).bearer_auth(&token).send().await.unwrap().status() == 401
        })
        .await;
    is_held(&plain, "3").await;
    std::fs::write(&path, certificate(plane, LONG)).unwrap();
    arrives(&plain, "3").await;
    plain.world.stop().await;
}
