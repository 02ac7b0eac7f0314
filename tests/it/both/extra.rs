//! What people add to objects beside what git says.

use rewild::model::Request;
use serde_json::{Value, json};

use super::{Plain, config, workload};
use crate::world::{Ground, World, app};

/// The variable, the key and the label that a person adds, each by a way of its own.
async fn add<C: Ground>(plain: &Plain<'_, C>) {
    let world = plain.world;
    let variable = json!([{"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": {"name": "MINE", "value": "1"}}]);
    world.json_patch_as("kubectl-edit", &plain.path("apps/v1", "deployments", "web"), variable).await;
    let restart = json!({"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-11-22T10:00:00Z"}}}}});
    world.patch_as("kubectl-rollout", &plain.path("apps/v1", "deployments", "web"), restart).await;
    let maps = plain.path("v1", "configmaps", "files");
    world.patch_as("k9s", &maps, json!({"metadata": {"labels": {"mine": "yes"}}})).await;
    world.patch_as("console-7", &maps, json!({"data": {"mine": "1"}})).await;
    world.patch_as("tuner", &maps, json!({"data": {"tuned": "1"}})).await;
}

async fn push<C: Ground>(plain: &Plain<'_, C>, version: &str) -> rewild::model::CommitId {
    let web = workload("Deployment", "web", ("web", version), "  replicas: 1\n")
        .replace("\"}\n", "\", env: [{name: OURS, value: \"1\"}]}\n");
    plain.push(&[("web.yaml", &web), ("files.yaml", &config("files", version))]).await
}

fn variables(live: &Value) -> Vec<&str> {
    let variables = live["spec"]["template"]["spec"]["containers"][0]["env"].as_array();
    variables.into_iter().flatten().filter_map(|it| it["name"].as_str()).collect()
}

/// Returns what is told of an app as drift, each as its kind and its path.
async fn told<C: Ground>(plain: &Plain<'_, C>) -> Vec<String> {
    let state = plain.world.state(plain.name).await.unwrap();
    let mut told: Vec<String> =
        state.drift.iter().map(|it| format!("{} {} {}", it.kind, it.object.short(), it.path)).collect();
    told.sort();
    told
}

const ALL: [&str; 3] = [
    "extra ConfigMap/files data.mine",
    "extra ConfigMap/files metadata.labels.mine",
    "extra Deployment/web spec.template.spec.containers[name=main].env[name=MINE]",
];

/// §7.2: additions are told and left, through new revisions too, until a person says that they go.
pub(super) async fn what_people_add_is_told_and_left<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "added" };
    let first = push(&plain, "1").await;
    plain.done(&first).await;
    add(&plain).await;
    world.until("what was added is told", async || told(&plain).await == ALL).await;
    // What an update under our own name adds is told as well, and is no claim: it goes as soon as we write.
    let maps = plain.path("v1", "configmaps", "files");
    world.patch_as("wild", &maps, json!({"data": {"passing": "1"}})).await;
    let passing = "extra ConfigMap/files data.passing".to_owned();
    world.until("it is told", async || told(&plain).await.contains(&passing)).await;
    // What is ours is put back beside it.
    world.patch(&maps, json!({"data": {"version": "by hand"}})).await;
    plain.until("what is ours is put back", &maps, |live| live["data"]["version"] == json!("1")).await;
    world.until("the rest is told", async || told(&plain).await == ALL).await;
    let live = world.get(&maps).await.unwrap();
    assert_eq!((&live["data"]["passing"], &live["data"]["mine"]), (&Value::Null, &json!("1")));
    let second = push(&plain, "2").await;
    plain.done(&second).await;
    world.until("what was added is still told", async || told(&plain).await == ALL).await;
    let live = world.get(&maps).await.unwrap();
    assert_eq!((&live["data"]["mine"], &live["data"]["version"]), (&json!("1"), &json!("2")));
    let web = plain.path("apps/v1", "deployments", "web");
    assert_eq!(variables(&world.get(&web).await.unwrap()), ["OURS", "MINE"]);
    world.done(Request::RevertDrift { app: app(plain.name), objects: Vec::new() }).await;
    are_gone(&plain).await;
    world.until("nothing is left to tell", async || told(&plain).await.is_empty()).await;
}

/// §7.2: additions go at once where the settings say so; what a program set stays.
pub(super) async fn what_people_add_is_taken_away<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "takenaway" };
    let first = push(&plain, "1").await;
    plain.done(&first).await;
    let before = plain.uid(&plain.path("v1", "configmaps", "files")).await;
    add(&plain).await;
    are_gone(&plain).await;
    assert_eq!(plain.uid(&plain.path("v1", "configmaps", "files")).await, before);
    world.until("nothing is left to tell", async || told(&plain).await.is_empty()).await;
}

async fn are_gone<C: Ground>(plain: &Plain<'_, C>) {
    let maps = plain.path("v1", "configmaps", "files");
    let is_gone = |live: &Value| live["data"].get("mine").is_none() && live["metadata"]["labels"].get("mine").is_none();
    plain.until("the key and the label are gone", &maps, is_gone).await;
    let web = plain.path("apps/v1", "deployments", "web");
    plain.until("the variable is gone", &web, |live| variables(live) == ["OURS"]).await;
    let live = plain.world.get(&maps).await.unwrap();
    assert_eq!(live["data"]["tuned"], json!("1"), "a program is no person");
    let template = plain.world.get(&web).await.unwrap()["spec"]["template"]["metadata"]["annotations"].clone();
    assert_eq!(
        template["kubectl.kubernetes.io/restartedAt"],
        json!("2026-11-22T10:00:00Z"),
        "a restart is no addition"
    );
}
