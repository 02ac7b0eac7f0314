//! F45: a certificate that expires, a token that is worth nothing any more, an authority that no longer vouches for the server. Whoever runs the
//! cluster puts another one into the file, or a program prints it, and the daemon goes on with that without a restart.
//!
//! Not here: the one call that is answered 401 (`cluster.rs`).

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rewild::model::{ClusterName, Reason, Trigger};
use rewild::target::{Access, Reachability};
use serde_json::{Value, json};

use crate::both;
use crate::commits::clock;
use crate::ground::Plane;
use crate::order::{Plain, config};
use crate::parts::{ControlPlane, Shape};
use crate::world::{Ground, World};

/// How long the first certificate is good, which is for a deployment.
const BRIEF: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_secs(3_600);
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const ACCOUNT: &str = "brief";

/// Returns the kubeconfig of the administrator with another identity.
fn kubeconfig_of(plane: &Plane, user: Value) -> String {
    let mut config: Value = serde_json::from_str(&plane.0.whole_kubeconfig()).unwrap();
    config["users"][0]["user"] = user;
    config.to_string()
}

fn certificate(plane: &Plane, lasts: Duration) -> String {
    let [certificate, key] = plane.0.brief_identity(lasts).map(|text| STANDARD.encode(text));
    kubeconfig_of(plane, json!({"client-certificate-data": certificate, "client-key-data": key}))
}

/// Makes an account that may do everything, and returns a token of it.
async fn token(world: &World<Plane>, name: &str) -> String {
    let rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": name}]});
    world.make(ACCOUNTS, account).await;
    world.make(rbac, binding).await;
    let url = format!("{}{ACCOUNTS}/{name}/token", world.cluster.url());
    let body =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}});
    let asked = world.cluster.client().post(url).header("Content-Type", "application/json").body(body.to_string());
    let answer: Value = asked.send().await.unwrap().json().await.unwrap();
    answer["status"]["token"].as_str().unwrap().to_owned()
}

/// Removes an account and waits until its token is worth nothing.
async fn revoke(world: &World<Plane>, plane: &Plane, (name, token): (&str, &str)) {
    world.try_delete(&format!("{ACCOUNTS}/{name}")).await;
    let url = format!("{}/api/v1/namespaces/default", plane.url());
    let anybody = anybody(plane);
    let is_unknown = async || anybody.get(&url).bearer_auth(token).send().await.unwrap().status() == 401;
    world.until("the token is worth nothing", is_unknown).await;
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
    let token = token(&plain.world, ACCOUNT).await;
    std::fs::write(&path, kubeconfig_of(plane, json!({"token": token}))).unwrap();
    arrives(&plain, "2").await;
    revoke(&plain.world, plane, (ACCOUNT, &token)).await;
    is_held(&plain, "3").await;
    std::fs::write(&path, certificate(plane, LONG)).unwrap();
    arrives(&plain, "3").await;
    plain.world.stop().await;
}

/// A program prints a token that expires, one that is taken back before that, and one that lasts.
pub(crate) async fn programs(plane: &Plane) {
    let mut plain = Plain::start(plane, "k3f7q2mrrr", "programs").await;
    let directory = tempfile::tempdir().unwrap();
    let [command, says, runs] = ["sign-in", "says", "runs"].map(|name| directory.path().join(name));
    std::fs::write(&command, "#!/bin/sh\necho run >> \"$2\"\nexec cat \"$1\"\n").unwrap();
    std::fs::set_permissions(&command, std::fs::Permissions::from_mode(0o700)).unwrap();
    let print = |token: &str, lasts| {
        let status = json!({"token": token, "expirationTimestamp": clock().plus(lasts).to_string()});
        let kind = ("client.authentication.k8s.io/v1", "ExecCredential");
        let text = json!({"apiVersion": kind.0, "kind": kind.1, "status": status}).to_string();
        // The program may read it at any moment.
        std::fs::write(directory.path().join("next"), text).unwrap();
        std::fs::rename(directory.path().join("next"), &says).unwrap();
    };
    let ran = || std::fs::read_to_string(&runs).unwrap_or_default().lines().count();
    let (first, second) = (token(&plain.world, "first").await, token(&plain.world, "second").await);
    print(&first, BRIEF);
    let expires = clock().plus(BRIEF);
    let [command, says, runs] = [&command, &says, &runs].map(|path| path.display().to_string());
    let clusters = format!("clusters: {{home: {{exec: {{command: {command}, args: [{says}, {runs}]}}}}}}\n");
    let nobody = Access::Text(kubeconfig_of(plane, json!({})));
    plain.world.restart_signed(&clusters, nobody).await;
    plain.push(&[("config.yaml", &config("config", "", "1"))]).await;
    arrives(&plain, "1").await;
    print(&second, LONG);
    plain.world.until("the first has expired", async || clock() > expires).await;
    revoke(&plain.world, plane, ("first", &first)).await;
    let before = ran();
    plain.push(&[("config.yaml", &config("config", "", "2"))]).await;
    arrives(&plain, "2").await;
    assert!(before >= 1 && ran() >= 2, "{before} {}", ran());
    // It does not know that this one is worth nothing before the server says so.
    let third = token(&plain.world, "third").await;
    print(&third, LONG);
    revoke(&plain.world, plane, ("second", &second)).await;
    plain.push(&[("config.yaml", &config("config", "", "3"))]).await;
    arrives(&plain, "3").await;
    let kept = plain.world.kept().await;
    assert!([&first, &second, &third].iter().all(|token| !kept.contains(token.as_str())));
    plain.world.stop().await;
}

/// A control plane of one test, reached by a client that knows both authorities.
struct Rotating {
    url: String,
    kubeconfig: String,
    client: reqwest::Client,
}

impl Ground for Rotating {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn kubeconfig(&self) -> String {
        self.kubeconfig.clone()
    }

    fn client(&self) -> reqwest::Client {
        self.client.clone()
    }
}

impl Rotating {
    /// Returns the kubeconfig of the administrator with the certificate of an authority written into it.
    fn vouched_by(&self, authority: &str) -> String {
        let mut config: Value = serde_json::from_str(&self.kubeconfig).unwrap();
        config["clusters"][0]["cluster"] =
            json!({"server": self.url, "certificate-authority-data": STANDARD.encode(authority)});
        config.to_string()
    }
}

/// The authority behind the certificate of the API server is replaced by another one.
#[tokio::test(flavor = "multi_thread")]
async fn another_authority_that_stands_in_the_file_is_trusted_without_a_restart() {
    let Some(mut plane) = ControlPlane::start(Shape::Api) else { return };
    let kubeconfig = std::fs::read_to_string(plane.kubeconfig()).unwrap();
    let config: Value = serde_json::from_str(&kubeconfig).unwrap();
    let read = |value: &Value| std::fs::read_to_string(value.as_str().unwrap()).unwrap();
    let user = &config["users"][0]["user"];
    let old = read(&config["clusters"][0]["cluster"]["certificate-authority"]);
    let new = plane.other_authority();
    let identity = read(&user["client-certificate"]) + &read(&user["client-key"]);
    let known = [&old, &new].map(|authority| reqwest::Certificate::from_pem(authority.as_bytes()).unwrap());
    let identity = reqwest::Identity::from_pem(identity.as_bytes()).unwrap();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only(known).identity(identity).build().unwrap();
    let ground = Rotating { url: plane.address(), kubeconfig: plane.whole_kubeconfig(), client };
    let (before, after) = (ground.vouched_by(&old), ground.vouched_by(&new));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    std::fs::write(&path, before).unwrap();
    let mut world = World::start_on(tempfile::tempdir().unwrap(), ground, "k3f7q2msss", &["stonedb 15.5"]).await;
    world.restart_by(Access::File { path: path.clone(), context: String::new() }).await;
    let plain = both::Plain { world: &world, name: "plain" };
    let first = plain.push(&[("setting.yaml", &both::config("setting", "1"))]).await;
    plain.done(&first).await;
    let known = world.handle.instance().known_cluster(&ClusterName::default()).await.unwrap();
    let before_rotation = known.unwrap().identity.authority;
    plane.restart_by_other_authority();
    let second = plain.push(&[("setting.yaml", &both::config("setting", "2"))]).await;
    plain.stands_for("TargetUnreachable", &[]).await;
    let why = async || {
        let targets = world.handle.instance().targets();
        let (_, target) = targets.all().next().unwrap();
        matches!(target.reachability(), Reachability::Unreachable { since: _, why } if why.contains("certificate"))
    };
    world.until("it is told that nobody known vouches for the server", why).await;
    assert_ne!(world.status(&second, "wild/deploy").await.as_deref(), Some("success"));
    std::fs::write(&path, after).unwrap();
    plain.done(&second).await;
    plain.healthy().await;
    // Others vouch for it, and it is the same cluster.
    let known = world.handle.instance().known_cluster(&ClusterName::default()).await.unwrap().unwrap().identity;
    assert!(known.uid.is_some() && known.authority != before_rotation, "{known}");
    world.stop().await;
}

/// Two API servers that know nothing of each other, and one file.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_leads_to_another_control_plane_stops_the_writes_until_it_leads_back_or_a_person_accepts_it() {
    let (Some(near), Some(far)) = (ControlPlane::start(Shape::Api), ControlPlane::start(Shape::Api)) else { return };
    let [near, far] = [near, far].map(|plane| Plane(Arc::new(plane)));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    std::fs::write(&path, near.0.whole_kubeconfig()).unwrap();
    let mut world = World::start_on(tempfile::tempdir().unwrap(), near.clone(), "k3f7q2mttt", &["stonedb 15.5"]).await;
    world.restart_by(Access::File { path: path.clone(), context: String::new() }).await;
    let plain = both::Plain { world: &world, name: "plain" };
    let push = async |version: &str| plain.push(&[("setting.yaml", &both::config("setting", version))]).await;
    let first = push("1").await;
    plain.done(&first).await;
    let is_there = async || -> bool {
        let url = format!("{}/api/v1/namespaces/plain", far.url());
        far.client().get(url).send().await.unwrap().status().is_success()
    };
    std::fs::write(&path, far.0.whole_kubeconfig()).unwrap();
    let second = push("2").await;
    plain.stands_for("ClusterElsewhere", &["the kubeconfig leads to another cluster", &far.url()]).await;
    assert_ne!(world.status(&second, "wild/deploy").await.as_deref(), Some("success"));
    assert!(!is_there().await);
    std::fs::write(&path, near.0.whole_kubeconfig()).unwrap();
    plain.done(&second).await;
    std::fs::write(&path, far.0.whole_kubeconfig()).unwrap();
    let third = push("3").await;
    plain.stands_for("ClusterElsewhere", &[]).await;
    let instance = world.handle.instance();
    let found = instance.targets().all().next().unwrap().1.access_report().found.unwrap();
    instance.accept_cluster(&ClusterName::default(), &found, "alice").await.unwrap();
    world.handle.wake(Trigger { app: None, reason: Reason::Released });
    plain.done(&third).await;
    assert!(is_there().await);
    world.stop().await;
}
