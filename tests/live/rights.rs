//! What an account that may not do everything is told, by a real API server, and apps that write as accounts of their own.
//!
//! Not here: what the engine does where it may do all (`engine.rs`).

use serde_json::{Value, json};

use crate::both::{Plain, config};
use crate::ground::Plane;
use crate::world::{Ground, World};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A cluster as an account sees it that may look at everything and write little.
struct Limited(Plane, &'static str);

impl Ground for Limited {
    fn url(&self) -> String {
        self.0.url()
    }

    fn kubeconfig(&self) -> String {
        let mut config: Value = serde_json::from_str(&self.0.kubeconfig()).unwrap();
        config["users"][0]["user"]["as"] = json!(self.1);
        config.to_string()
    }

    fn client(&self) -> reqwest::Client {
        self.0.client()
    }
}

/// §14: a rule that is missing.
pub(crate) async fn a_rule_that_is_missing_is_named(plane: &Plane) {
    let plane = Limited(plane.clone(), "limited");
    let directory = tempfile::tempdir().unwrap();
    let role = |rules: Value| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "limited"}, "rules": rules});
    let look = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]});
    let write = json!({"apiGroups": [""], "resources": ["namespaces", "configmaps"], "verbs": ["*"]});
    let services = json!({"apiGroups": [""], "resources": ["services"], "verbs": ["create", "patch"]});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "limited"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "limited"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited"}]});
    let world = World::start_on(directory, plane, "k3f7q2mrrr", &["stonedb 15.5"]).await;
    world.make(&format!("{RBAC}/clusterroles"), role(json!([look.clone(), write.clone()]))).await;
    world.make(&format!("{RBAC}/clusterrolebindings"), binding).await;
    let plain = Plain { world: &world, name: "limited" };
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n";
    let fine = config("config", "1");
    plain.push(&[("config.yaml", &fine), ("service.yaml", service)]).await;
    let rule = "- {apiGroups: [\"\"], resources: [\"services\"], verbs: [\"patch\"]}";
    plain
        .stands_for(
            "ApplyFailed",
            &["apply Service limited/web", "may not patch services in the namespace limited", rule],
        )
        .await;
    plain.until("the rest is applied", &plain.path("v1", "configmaps", "config"), |live| !live.is_null()).await;
    world.patch(&format!("{RBAC}/clusterroles/limited"), json!({"rules": [look, write, services]})).await;
    // The server takes a moment to learn a rule; a person who says so again is heard.
    let is_done = async || {
        plain.allow(&[]).await;
        world.state(plain.name).await.is_some_and(|state| state.intent == "applied")
    };
    world.until("what is allowed is done", is_done).await;
    plain.healthy().await;
    world.stop().await;
}

fn rbac(kind: &str, name: &str, more: Value) -> Value {
    let mut object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}});
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

/// Security R14: with `identity: impersonate` what an app may do in its namespace is what the account `wild-apply` there may do; the daemon itself
/// looks, keeps its own objects and makes namespaces.
pub(crate) async fn an_app_writes_as_an_account_of_its_own(plane: &Plane) {
    let world = World::start_on(
        tempfile::tempdir().unwrap(),
        Limited(plane.clone(), "watcher"),
        "k3f7q2muuu",
        &["stonedb 15.5"],
    );
    let world = world.await;
    let rules = json!({"rules": [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create", "patch"]},
        {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"], "resourceNames": ["wild-apply"]},
    ]});
    let to = |kind: &str, role: &str, subject: Value| json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}, "subjects": [subject]});
    let watcher = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "watcher"});
    world.make(&format!("{RBAC}/clusterroles"), rbac("ClusterRole", "watcher", rules)).await;
    let binding = rbac("ClusterRoleBinding", "watcher", to("ClusterRole", "watcher", watcher.clone()));
    world.make(&format!("{RBAC}/clusterrolebindings"), binding).await;
    // Our own namespace, where another world may have been before.
    let own = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "wild-system"}});
    if world.get("/api/v1/namespaces/wild-system").await.is_none() {
        world.make("/api/v1/namespaces", own).await;
    }
    let within = format!("{RBAC}/namespaces/wild-system");
    let rules = json!({"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]});
    world.make(&format!("{within}/roles"), rbac("Role", "watcher", rules)).await;
    world.make(&format!("{within}/rolebindings"), rbac("RoleBinding", "watcher", to("Role", "watcher", watcher))).await;
    world.set("identity: impersonate\n").await;
    let plain = Plain { world: &world, name: "own" };
    plain.push(&[("config.yaml", &config("config", "1"))]).await;
    let rule = "- {apiGroups: [\"\"], resources: [\"configmaps\"], verbs: [\"patch\"]}";
    let says = ["the service account own/wild-apply may not patch configmaps in the namespace own", rule];
    plain.stands_for("ApplyFailed", &says).await;
    let within = format!("{RBAC}/namespaces/own");
    let rules = json!({"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch", "delete", "get"]}]});
    let account = json!({"kind": "ServiceAccount", "name": "wild-apply", "namespace": "own"});
    world.make(&format!("{within}/roles"), rbac("Role", "wild-apply", rules)).await;
    let binding = rbac("RoleBinding", "wild-apply", to("Role", "wild-apply", account));
    world.make(&format!("{within}/rolebindings"), binding).await;
    let is_done = async || {
        plain.allow(&[]).await;
        world.state(plain.name).await.is_some_and(|state| state.intent == "applied")
    };
    world.until("what the account may do is done", is_done).await;
    plain.healthy().await;
    // Drift is put back, and what is wanted no longer goes, by the same account.
    let path = plain.path("v1", "configmaps", "config");
    world.patch(&path, json!({"data": {"version": "by hand"}})).await;
    plain.until("it is put back", &path, |live| live["data"]["version"] == json!("1")).await;
    let last = plain.push(&[("other.yaml", &config("other", "1"))]).await;
    plain.done(&last).await;
    plain.until("what is not wanted is gone", &path, Value::is_null).await;
    world.stop().await;
}

/// §12.3: who may see some namespaces only is told of drift there all the same, and of nothing else.
pub(crate) async fn an_account_of_one_namespace_watches_that(plane: &Plane) {
    let limited = Limited(plane.clone(), "narrow");
    let world = World::start_on(tempfile::tempdir().unwrap(), limited, "k3f7q2mnnn", &["stonedb 15.5"]).await;
    let subject = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "narrow"}]);
    let to = |kind: &str| json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "narrow"}, "subjects": subject});
    let spaces = json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch", "patch"], "resourceNames": ["narrow"]});
    let all = json!({"apiGroups": ["", "apps"], "resources": ["*"], "verbs": ["*"]});
    world.make(&format!("{RBAC}/clusterroles"), rbac("ClusterRole", "narrow", json!({"rules": [spaces]}))).await;
    world.make(&format!("{RBAC}/clusterrolebindings"), rbac("ClusterRoleBinding", "narrow", to("ClusterRole"))).await;
    for name in ["wild-system", "narrow"] {
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        if world.get(&format!("/api/v1/namespaces/{name}")).await.is_none() {
            world.make("/api/v1/namespaces", space).await;
        }
        let within = format!("{RBAC}/namespaces/{name}");
        world.make(&format!("{within}/roles"), rbac("Role", "narrow", json!({"rules": [all]}))).await;
        world.make(&format!("{within}/rolebindings"), rbac("RoleBinding", "narrow", to("Role"))).await;
    }
    world.set("apps: {narrow: {grants: {namespaces: [narrow]}}}\n").await;
    let plain = Plain { world: &world, name: "narrow" };
    let text = config("narrowed", "1");
    let path = plain.path("v1", "configmaps", "narrowed");
    let is_applied = async || {
        plain.allow(&[]).await;
        world.state(plain.name).await.is_some_and(|state| state.intent == "applied")
    };
    plain.push(&[("config.yaml", &text)]).await;
    world.until("what the account may do is done", is_applied).await;
    plain.healthy().await;
    // Nothing but a watch tells of that.
    world.patch(&path, json!({"data": {"version": "by hand"}})).await;
    plain.until("it is put back", &path, |live| live["data"]["version"] == json!("1")).await;
    world.try_delete(&path).await;
    plain.until("it is made anew", &path, |live| live["data"]["version"] == json!("1")).await;
    // Where it may do nothing it says so, and goes on where it may.
    let other = Plain { world: &world, name: "elsewhere" };
    other.push(&[("config.yaml", &config("outside", "1"))]).await;
    other.stands_for("GrantMissing", &["namespace elsewhere cannot be looked at", "may not get namespaces"]).await;
    world.patch(&path, json!({"data": {"version": "again"}})).await;
    plain.until("it is put back again", &path, |live| live["data"]["version"] == json!("1")).await;
    // An object that is wanted no longer goes: that the list of its namespace is complete is known.
    let last = plain.push(&[("other.yaml", &config("other", "1"))]).await;
    plain.done(&last).await;
    plain.until("what is not wanted is gone", &path, Value::is_null).await;
    // With the rule that was missing the other is applied, and watched as well.
    world.patch(&format!("{RBAC}/clusterroles/narrow"), json!({"rules": [spaces, all]})).await;
    let is_applied = async || {
        other.allow(&[]).await;
        world.state(other.name).await.is_some_and(|state| state.intent == "applied")
    };
    world.until("what is allowed now is done", is_applied).await;
    let path = other.path("v1", "configmaps", "outside");
    world.patch(&path, json!({"data": {"version": "by hand"}})).await;
    other.until("it is put back there", &path, |live| live["data"]["version"] == json!("1")).await;
    world.stop().await;
}
