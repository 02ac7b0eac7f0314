//! What goes out in which order, what is made anew, what is left to others, and what stands still.

use rewild::model::{DataFate, OperationState, Request, Suspension};
use serde_json::json;

use super::installed;
use crate::world::{World, app};

const PATH: &str = "apps/plain";

/// Pushes an app of plain files, each an object in YAML.
async fn push(world: &World, files: &[(&str, &str)]) {
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let list = format!("namespace: plain\nresources: [{}]\n", names.join(", "));
    let paths: Vec<String> = names.iter().map(|name| format!("{PATH}/{name}")).collect();
    let list_path = format!("{PATH}/kustomization.yaml");
    let mut changes = vec![(list_path.as_str(), Some(list.as_str()))];
    changes.extend(paths.iter().map(String::as_str).zip(files.iter().map(|(_, text)| Some(*text))));
    world.push("plain files", &changes).await;
}

fn web(image: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 1\n  selector: {{matchLabels: {{app: web}}}}\n  \
         template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - name: web\n        image: {image}\n"
    )
}

fn job(image: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: migrate}}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      \
         containers:\n      - name: run\n        image: {image}\n"
    )
}

const LATE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: late\n  annotations: {rewild.dev/wave: \"1\"}\ndata: {k: v}\n";
const LATE_PATH: &str = "/api/v1/namespaces/plain/configmaps/late";
const WEB_PATH: &str = "/apis/apps/v1/namespaces/plain/deployments/web";
const JOB_PATH: &str = "/apis/batch/v1/namespaces/plain/jobs/migrate";
const CONFIG_PATH: &str = "/api/v1/namespaces/plain/configmaps/config";
const NOTED_PATH: &str = "/api/v1/namespaces/wild-system/configmaps/wild-k3f7q2m5xd-jobs";
const CLAIM_PATH: &str = "/api/v1/namespaces/plain/persistentvolumeclaims/data";

#[tokio::test(flavor = "multi_thread")]
async fn a_later_wave_waits_until_the_one_before_is_healthy() {
    let world = World::start(&["stonedb 15.5"]).await;
    world.cluster.hold_ready("plain", "web");
    push(&world, &[("web.yaml", &web("web:1")), ("late.yaml", LATE)]).await;
    world
        .until("the second wave waits", async || {
            let state = world.state("plain").await;
            let is_there = world.get(WEB_PATH).await.is_some();
            is_there && state.is_some_and(|state| state.reason == "WaveNotHealthy")
        })
        .await;
    world.look_again("plain").await;
    assert_eq!(world.get(LATE_PATH).await, None);
    let head = world.head().await;
    assert_eq!(world.status(&head, "wild/deploy").await.as_deref(), Some("pending"));
    world.cluster.release_ready("plain", "web");
    world.healthy("plain").await;
    assert!(world.get(LATE_PATH).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_job_is_made_anew_when_its_template_changes_and_a_claim_never_is() {
    let world = World::start(&["stonedb 15.5"]).await;
    let claim = |mode: &str| {
        format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data}}\nspec:\n  accessModes: [{mode}]\n  resources: {{requests: {{storage: 1Gi}}}}\n"
        )
    };
    push(&world, &[("job.yaml", &job("run:1")), ("claim.yaml", &claim("ReadWriteOnce"))]).await;
    world.healthy("plain").await;
    let uid = async |path: &str| world.get(path).await.unwrap().pointer("/metadata/uid").cloned();
    let (old_job, old_claim) = (uid(JOB_PATH).await, uid(CLAIM_PATH).await);
    push(&world, &[("job.yaml", &job("run:2")), ("claim.yaml", &claim("ReadWriteOnce"))]).await;
    world
        .until("the job is made anew", async || {
            let live = world.get(JOB_PATH).await.unwrap_or_default();
            live.pointer("/spec/template/spec/containers/0/image") == Some(&json!("run:2"))
        })
        .await;
    world.healthy("plain").await;
    assert_ne!(uid(JOB_PATH).await, old_job);
    push(&world, &[("job.yaml", &job("run:2")), ("claim.yaml", &claim("ReadWriteMany"))]).await;
    world
        .until("the change of the claim is refused", async || {
            world.state("plain").await.is_some_and(|state| state.reason == "ApplyFailed")
        })
        .await;
    assert_eq!(uid(CLAIM_PATH).await, old_claim);
    let needs_you = world.state("plain").await.unwrap().needs_you;
    assert!(needs_you.contains("never made anew") && needs_you.contains("move the data"), "{needs_you}");
}

fn config(version: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: config}}\ndata: {{version: \"{version}\"}}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_runs_once_for_each_revision_of_its_app() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    let hook = job("run:1").replace("name: migrate", "name: migrate, annotations: {rewild.dev/hook: pre-deploy}");
    push(&world, &[("job.yaml", &hook), ("config.yaml", &config("1"))]).await;
    world.healthy("plain").await;
    let uid = async |world: &World| world.get(JOB_PATH).await.unwrap()["metadata"]["uid"].clone();
    let first = uid(&world).await;
    world.look_again("plain").await;
    world.restart_without_store().await;
    world.look_again("plain").await;
    world.healthy("plain").await;
    assert_eq!(uid(&world).await, first, "nothing has changed");
    push(&world, &[("job.yaml", &hook), ("config.yaml", &config("2"))]).await;
    world
        .until("the revision is there", async || world.get(CONFIG_PATH).await.unwrap()["data"]["version"] == json!("2"))
        .await;
    assert_ne!(uid(&world).await, first, "the hook went before the revision");
    world.healthy("plain").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_run_and_is_gone_does_not_run_again_when_the_store_is_lost() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    push(&world, &[("job.yaml", &job("run:1")), ("config.yaml", &config("1"))]).await;
    world.healthy("plain").await;
    world
        .until("it is noted", async || {
            let noted = world.get(NOTED_PATH).await.unwrap_or_default();
            noted["data"].as_object().is_some_and(|data| data.contains_key("plain.migrate"))
        })
        .await;
    // As its time to live does.
    let metadata = world.get(JOB_PATH).await.unwrap()["metadata"].clone();
    let same = json!({"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]});
    let options =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", "preconditions": same});
    let delete = reqwest::Client::new().delete(format!("{}{JOB_PATH}", world.cluster.url()));
    let delete = delete.header("Content-Type", "application/json").body(options.to_string());
    assert!(delete.send().await.unwrap().status().is_success());
    world.restart_without_store().await;
    world.look_again("plain").await;
    world.healthy("plain").await;
    assert_eq!(world.get(JOB_PATH).await, None);
    push(&world, &[("job.yaml", &job("run:2")), ("config.yaml", &config("1"))]).await;
    world.until("another job runs", async || world.get(JOB_PATH).await.is_some()).await;
    world.healthy("plain").await;
    push(&world, &[("config.yaml", &config("1"))]).await;
    world
        .until("it is forgotten with its job", async || {
            world.get(NOTED_PATH).await.unwrap()["data"].as_object().is_none_or(|data| data.is_empty())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_autoscaler_scaled_stays_also_over_a_new_revision() {
    let world = World::start(&["stonedb 15.5"]).await;
    push(&world, &[("web.yaml", &web("web:1"))]).await;
    world.healthy("plain").await;
    let scaled = reqwest::Client::new()
        .patch(format!("{}{WEB_PATH}/scale?fieldManager=kube-controller-manager", world.cluster.url()))
        .header("Content-Type", "application/merge-patch+json")
        .body(json!({"spec": {"replicas": 3}}).to_string());
    assert!(scaled.send().await.unwrap().status().is_success());
    world.look_again("plain").await;
    world.healthy("plain").await;
    assert!(world.state("plain").await.unwrap().drift.is_empty());
    for image in ["web:2", "web:3"] {
        push(&world, &[("web.yaml", &web(image))]).await;
        world
            .until("the new revision is there", async || {
                let live = world.get(WEB_PATH).await.unwrap();
                live.pointer("/spec/template/spec/containers/0/image") == Some(&json!(image))
            })
            .await;
        world.healthy("plain").await;
        assert_eq!(world.get(WEB_PATH).await.unwrap().pointer("/spec/replicas"), Some(&json!(3)), "{image}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_suspended_app_is_written_until_it_is_resumed() {
    const STONEDB: &str = "/apis/apps/v1/namespaces/stonedb/statefulsets/stonedb";
    let mut world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    let suspension = Suspension { reason: "the disk is moved".into(), until: String::new() };
    world.done(Request::Suspend { app: app("stonedb"), suspension }).await;
    world
        .until("the app stands still", async || {
            world.state("stonedb").await.is_some_and(|state| state.reason == "Suspended")
        })
        .await;
    world.restart().await;
    world.patch(STONEDB, json!({"spec": {"replicas": 3}})).await;
    world
        .until("the drift is shown", async || world.state("stonedb").await.is_some_and(|state| !state.drift.is_empty()))
        .await;
    world.look_again("stonedb").await;
    assert_eq!(world.get(STONEDB).await.unwrap().pointer("/spec/replicas"), Some(&json!(3)));
    let refused = world.ask(Request::Delete { app: app("stonedb"), data: DataFate::Keep }).await;
    assert_eq!((refused.state, refused.refusal.map(|refusal| refusal.code)), (OperationState::Failed, Some(6)));
    world.done(Request::Resume { app: app("stonedb") }).await;
    world.healthy("stonedb").await;
    assert_eq!(world.get(STONEDB).await.unwrap().pointer("/spec/replicas"), Some(&json!(1)));
}
