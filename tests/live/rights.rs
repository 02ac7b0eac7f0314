//! What an account that may not do everything is told, by a real API server.
//!
//! Not here: what the engine does where it may do all (`engine.rs`).

use serde_json::{Value, json};

use crate::both::{Plain, config};
use crate::ground::Plane;
use crate::world::{Ground, World};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A cluster as an account sees it that may look at everything and write little.
struct Limited(Plane);

impl Ground for Limited {
    fn url(&self) -> String {
        self.0.url()
    }

    fn kubeconfig(&self) -> String {
        let mut config: Value = serde_json::from_str(&self.0.kubeconfig()).unwrap();
        config["users"][0]["user"]["as"] = json!("limited");
        config.to_string()
    }

    fn client(&self) -> reqwest::Client {
        self.0.client()
    }
}

/// §14: a rule that is missing.
pub(crate) async fn a_rule_that_is_missing_is_named(plane: &Plane) {
    let plane = Limited(plane.clone());
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
