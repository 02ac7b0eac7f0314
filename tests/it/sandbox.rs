//! The sandbox answers as a real API server does, as far as recorded scripts go.
//!
//! `WILD_RECORD_API=<kubeconfig> WILD_RECORD_API_BARE=<kubeconfig> cargo test --test it scripts_are_recorded` records the answers
//! anew, on a whole cluster and on an API server alone.
//!
//! Not here: the comparison with a real API server of this machine (`tests/live/scripts.rs`).

use std::collections::BTreeSet;

use rewild::sandbox::{Controller, Sandbox, Settings};

use crate::scripts_api::player::Player;
use crate::scripts_api::script::Script;
use crate::scripts_api::{self, Clusters};

/// Scripts whose answers are known to differ, with the reason.
const DIFFERENT: [(&str, &str); 0] = [];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sandbox_answers_as_the_api_server_did() {
    let alone = Settings { controllers: BTreeSet::new(), ..Settings::default() };
    let (bare, full) = (Sandbox::start(alone).await.unwrap(), Sandbox::start(Settings::default()).await.unwrap());
    let clusters = Clusters {
        bare: scripts_api::client(&bare.kubeconfig()).await,
        full: scripts_api::client(&full.kubeconfig()).await,
    };
    let found = scripts_api::differences(&clusters, &DIFFERENT).await;
    bare.stop().await;
    full.stop().await;
    let count = found.len();
    assert!(found.is_empty(), "{count} scripts differ (- real, + sandbox)\n{}", found.join("\n"));
}

#[test]
fn every_recorded_answer_has_its_script() {
    for entry in std::fs::read_dir(scripts_api::folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "out") {
            assert!(path.with_extension("api").exists(), "{} belongs to no script", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_are_recorded() {
    let read = |variable: &str| std::env::var_os(variable).map(|path| std::fs::read_to_string(path).unwrap());
    let (Some(bare), Some(full)) = (read("WILD_RECORD_API_BARE"), read("WILD_RECORD_API")) else { return };
    let clusters = Clusters { bare: scripts_api::client(&bare).await, full: scripts_api::client(&full).await };
    scripts_api::record(&clusters).await;
}

/// Plays an ad hoc script and returns its answers.
async fn ask(sandbox: &Sandbox, script: &str) -> String {
    let client = scripts_api::client(&sandbox.kubeconfig()).await;
    Player::new(client, "ad-hoc").play(&Script::parse(script).unwrap()).await
}

const WEB: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2,
"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}}}"#;

fn apply_web(namespace: &str) -> String {
    format!("PATCH /apis/apps/v1/namespaces/{namespace}/deployments/web?fieldManager=wild\ntype: apply\n{WEB}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_workload_is_unready_until_it_is_released() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    sandbox.hold_ready("default", "web");
    let until = |what: &str| format!("UNTIL /apis/apps/v1/namespaces/default/deployments/web {what}");
    let held = ask(&sandbox, &format!("{}\n\n{}", apply_web("default"), until("/status/unavailableReplicas=2"))).await;
    assert!(held.contains("MinimumReplicasUnavailable"), "{held}");
    sandbox.release_ready("default", "web");
    let released = ask(&sandbox, &until("/status/availableReplicas=2")).await;
    assert!(released.contains("NewReplicaSetAvailable"), "{released}");
    sandbox.hold_ready("default", "");
    let again = ask(&sandbox, &until("/status/unavailableReplicas=2")).await;
    assert!(again.contains("MinimumReplicasUnavailable"), "{again}");
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_controller_catches_up_when_it_is_started() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    sandbox.stop_controller(Controller::Namespace);
    let delete = "POST /api/v1/namespaces\n{\"metadata\": {\"name\": \"stuck\"}}\n\nDELETE /api/v1/namespaces/stuck\n\nGET /api/v1/namespaces/stuck";
    let answer = ask(&sandbox, delete).await;
    assert!(answer.contains("\"phase\": \"Terminating\"") && !answer.contains("404"), "{answer}");
    sandbox.start_controller(Controller::Namespace);
    let answer = ask(&sandbox, "UNTIL /api/v1/namespaces/stuck gone").await;
    assert!(answer.contains("< gone"), "{answer}");
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_from_a_forgotten_version_ends_with_410() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    let make = "POST /api/v1/namespaces/default/configmaps\n{\"metadata\": {\"name\": \"a\"}}";
    ask(&sandbox, make).await;
    sandbox.compact();
    let old = "GET /api/v1/configmaps?watch=true&resourceVersion=101&timeoutSeconds=5\n\nGET /api/v1/configmaps?resourceVersion=101&resourceVersionMatch=Exact";
    let answer = ask(&sandbox, old).await;
    assert_eq!(answer.matches("\"code\": 410").count(), 2, "{answer}");
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_cluster_takes_no_further_object() {
    let small = Settings { max_object_bytes: 15_000, controllers: BTreeSet::new(), ..Settings::default() };
    let sandbox = Sandbox::start(small).await.unwrap();
    let make = |name: &str| {
        let text = "x".repeat(15_000);
        format!(
            "POST /api/v1/namespaces/default/configmaps\n{{\"metadata\": {{\"name\": \"{name}\"}}, \"data\": {{\"k\": \"{text}\"}}}}"
        )
    };
    let answer = ask(&sandbox, &format!("{}\n\n{}", make("a"), make("b"))).await;
    assert!(answer.contains("database space exceeded"), "{}", answer.lines().count());
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_taken_port_is_said() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    let port = sandbox.url().rsplit(':').next().unwrap().parse().unwrap();
    let refused = Sandbox::start(Settings { port, ..Settings::default() }).await.err().unwrap();
    assert_eq!(refused.to_string(), format!("listen on 127.0.0.1:{port} for the sandbox cluster"));
    sandbox.stop().await;
    Sandbox::start(Settings { port, ..Settings::default() }).await.unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_of_a_database_goes_with_its_volume() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    let script = r#"NAMESPACE

POST /apis/apps/v1/namespaces/$ns/statefulsets
{"metadata": {"name": "db"}, "spec": {"selector": {"matchLabels": {"app": "db"}}, "serviceName": "db",
 "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": "db:1"}]}},
 "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}

UNTIL /apis/apps/v1/namespaces/$ns/statefulsets/db /status/availableReplicas=1

GET /api/v1/namespaces/$ns/persistentvolumeclaims/data-db-0

DELETE /api/v1/namespaces/$ns

UNTIL /api/v1/namespaces/$ns gone

GET /api/v1/persistentvolumes"#;
    let answer = ask(&sandbox, script).await;
    assert!(answer.contains("\"phase\": \"Bound\"") && answer.contains("< gone"), "{answer}");
    assert!(answer.trim_end().ends_with('}') && answer.contains("\"items\": []"), "{answer}");
    sandbox.stop().await;
}
