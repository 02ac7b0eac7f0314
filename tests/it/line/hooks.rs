//! Hooks of an update, of a failure and of the end of an app.
//!
//! Not here: hooks around every deployment (`order.rs`), the same on real controllers (`tests/live/order.rs`).

use rewild::model::Request;
use rewild::sandbox::Controller;
use serde_json::json;

use crate::world::{World, app};

const CONFIG: &str = "/api/v1/namespaces/plain/configmaps/config";
const NAMESPACE: &str = "/api/v1/namespaces/plain";
const MOMENTS: [(&str, &str); 4] =
    [("check", "pre-update"), ("tell", "on-failure"), ("export", "pre-delete"), ("sweep", "post-delete")];

fn hook(name: &str, moment: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, annotations: {{rewild.dev/hook: {moment}}}}}\nspec:\n  template:\n    spec:\n      \
         restartPolicy: Never\n      nodeName: node\n      containers:\n      - name: run\n        image: run:1\n"
    )
}

/// Pushes a version of the app with hooks.
async fn push(world: &World, version: &str, hooks: &[(&str, &str)]) {
    let hooks: Vec<String> = hooks.iter().map(|(name, moment)| hook(name, moment)).collect();
    let list = "namespace: plain\nresources: [config.yaml, hooks.yaml]\n";
    let config =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: config}}\ndata: {{version: \"{version}\"}}\n");
    let files = [
        ("apps/plain/kustomization.yaml", Some(list)),
        ("apps/plain/config.yaml", Some(config.as_str())),
        ("apps/plain/hooks.yaml", Some(&hooks.join("---\n"))),
    ];
    world.push("a version", &files).await;
}

/// Removes the app with everything in it, by a commit that says so.
async fn remove(world: &World) {
    let files = ["kustomization", "config", "hooks"].map(|file| format!("apps/plain/{file}.yaml"));
    let gone: Vec<(&str, Option<&str>)> = files.iter().map(|file| (file.as_str(), None)).collect();
    world.push("no plain\n\nWild-Delete: plain\nWild-Delete-Data: delete", &gone).await;
}

async fn has(world: &World, job: &str) -> bool {
    world.get(&format!("/apis/batch/v1/namespaces/plain/jobs/{job}")).await.is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_an_update_and_of_the_end_run_then_and_at_no_other_time() {
    let world = World::start(&["stonedb 15.5"]).await;
    push(&world, "1", &MOMENTS).await;
    world.healthy("plain").await;
    world.look_again("plain").await;
    for (job, _) in MOMENTS {
        assert!(!has(&world, job).await, "{job} ran");
    }
    push(&world, "2", &MOMENTS).await;
    world.until("the hook of the update runs", async || has(&world, "check").await).await;
    world.healthy("plain").await;
    assert!(!has(&world, "export").await && !has(&world, "sweep").await && !has(&world, "tell").await);
    world.cluster.stop_controller(Controller::Job);
    remove(&world).await;
    world.until("the first of the last hooks runs", async || has(&world, "export").await).await;
    world.look_again("plain").await;
    assert!(world.get(CONFIG).await.is_some(), "it went before its hook had ended");
    world.cluster.start_controller(Controller::Job);
    world.until("it goes", async || world.get(CONFIG).await.is_none()).await;
    world.until("everything is gone", async || world.get(NAMESPACE).await.is_none()).await;
    world.until("the app is forgotten", async || world.state("plain").await.is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_the_cluster_refuses_brings_the_hook_for_failures_once() {
    let world = World::start(&["stonedb 15.5"]).await;
    push(&world, "1", &[("tell", "on-failure")]).await;
    world.healthy("plain").await;
    let bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {\"bad key\": x}\n";
    let head = world.push("a bad key", &[("apps/plain/config.yaml", Some(bad))]).await;
    world.until("the hook runs", async || has(&world, "tell").await).await;
    world
        .until("the revision is told to have failed", async || {
            world.status(&head, "wild/deploy").await.as_deref() == Some("failure")
        })
        .await;
    let uid = async || world.get("/apis/batch/v1/namespaces/plain/jobs/tell").await.unwrap()["metadata"]["uid"].clone();
    let first = uid().await;
    world.look_again("plain").await;
    world.look_again("plain").await;
    assert_eq!(uid().await, first);
    let state = world.state("plain").await.unwrap();
    assert!(state.needs_you.contains("bad key"), "{}", state.needs_you);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_hook_runs_when_everything_is_gone_and_holds_the_namespace_over_a_restart() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    push(&world, "1", &[("sweep", "post-delete")]).await;
    world.healthy("plain").await;
    world.cluster.stop_controller(Controller::Job);
    remove(&world).await;
    world.until("the last hook runs", async || has(&world, "sweep").await).await;
    assert!(world.get(CONFIG).await.is_none(), "the last hook ran too early");
    world.restart().await;
    world.look_again("plain").await;
    assert!(has(&world, "sweep").await && world.get(NAMESPACE).await.is_some());
    world.cluster.start_controller(Controller::Job);
    world.until("everything is gone", async || world.get(NAMESPACE).await.is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_failed_shows_what_it_said_last() {
    let world = World::start(&["stonedb 15.5"]).await;
    // The pod of the hook is made and never ends, so that its Job ends as the test says.
    world.cluster.stop_controller(Controller::Pod);
    push(&world, "1", &[("check", "pre-deploy")]).await;
    let pods = async || world.get("/api/v1/namespaces/plain/pods?limit=500").await.unwrap_or_default()["items"].clone();
    world.until("the hook runs", async || pods().await.as_array().is_some_and(|pods| pods.len() == 1)).await;
    let failed = json!({"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "it failed"});
    let path = "/apis/batch/v1/namespaces/plain/jobs/check/status";
    world.patch(path, json!({"status": {"conditions": [failed]}})).await;
    let state = async || world.state("plain").await.unwrap();
    world.until("it is told", async || state().await.reason == "HookFailed").await;
    let said = "run: nothing runs in the sandbox, run:1 counts as running";
    world.until("what it said is shown", async || state().await.log == [said]).await;
    assert!(state().await.needs_you.starts_with("Job/check failed"), "{}", state().await.needs_you);
    let asked = Request::Deploy { app: app("plain"), approve: None, recreate: Vec::new(), adopt: false };
    let message = world.ask(asked).await.message;
    assert!(message.contains(&format!("Job/check said last:\n| {said}")), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_failed_or_was_killed_has_not_run_when_its_job_is_gone() {
    const JOB: &str = "/apis/batch/v1/namespaces/plain/jobs/check";
    let mut world = World::start(&["stonedb 15.5"]).await;
    // The pod of the hook is made and never ends, so that its Job ends as the test says.
    world.cluster.stop_controller(Controller::Pod);
    push(&world, "1", &[("check", "pre-deploy")]).await;
    world.until("the hook runs", async || has(&world, "check").await).await;
    let uid = async || world.get(JOB).await.unwrap_or_default()["metadata"]["uid"].clone();
    let killed = uid().await;
    world.delete_as_read(JOB).await;
    world
        .until("it runs again", async || {
            let now = uid().await;
            now.is_string() && now != killed
        })
        .await;
    let failed = json!({"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "it failed"});
    world.patch(&format!("{JOB}/status"), json!({"status": {"conditions": [failed]}})).await;
    let is_told = async |world: &World| world.state("plain").await.is_some_and(|state| state.reason == "HookFailed");
    world.until("it is told", async || is_told(&world).await).await;
    world.delete_as_read(JOB).await;
    world.until("its Job is gone", async || !has(&world, "check").await).await;
    for restarts in [false, true] {
        if restarts {
            world.restart().await;
        }
        world.look_again("plain").await;
        assert!(is_told(&world).await, "{:?}", world.state("plain").await);
        assert!(!has(&world, "check").await && world.get(CONFIG).await.is_none());
    }
}
