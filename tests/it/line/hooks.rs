//! Hooks of an update, of a failure and of the end of an app.
//!
//! Not here: hooks around every deployment (`order.rs`), the same on real controllers (`tests/live/order.rs`).

use rewild::sandbox::Controller;

use crate::world::World;

const CONFIG: &str = "/api/v1/namespaces/plain/configmaps/config";
const NAMESPACE: &str = "/api/v1/namespaces/plain";
const MOMENTS: [(&str, &str); 4] =
    [("check", "pre-update"), ("tell", "on-failure"), ("export", "pre-delete"), ("sweep", "post-delete")];

fn hook(name: &str, moment: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, annotations: {{rewild.dev/hook: {moment}}}}}\nspec:\n  template:\n    spec:\n      \
         restartPolicy: Never\n      containers:\n      - name: run\n        image: run:1\n"
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
