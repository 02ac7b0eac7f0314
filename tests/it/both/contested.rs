//! Fields of ours that a program takes, where the settings do not say that they are taken back.

use rewild::model::{CommitId, Request};
use serde_json::{Value, json};

use super::Plain;
use crate::world::{Ground, World, app};

async fn push<C: Ground>(plain: &Plain<'_, C>, version: &str, more: &str) -> CommitId {
    let files = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: files}}\ndata: {{theirs: git, tuned: git, version: \"{version}\"{more}}}\n"
    );
    plain.push(&[("files.yaml", &files)]).await
}

/// Returns what is told of an app as drift.
async fn told<C: Ground>(plain: &Plain<'_, C>) -> Vec<String> {
    let state = plain.world.state(plain.name).await.unwrap();
    state.drift.iter().map(|it| format!("{} {} {}", it.kind, it.path, it.manager)).collect()
}

async fn data<C: Ground>(plain: &Plain<'_, C>) -> Value {
    plain.config("files").await["data"].clone()
}

/// §4.4: with `conflicts: yield`, through new revisions and new fields too; what is handed over is not even told.
pub(super) async fn what_a_program_holds_stays_with_it_and_is_told<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "yielding" };
    let first = push(&plain, "1", "").await;
    plain.done(&first).await;
    let maps = plain.path("v1", "configmaps", "files");
    world.patch_as("tuner", &maps, json!({"data": {"theirs": "another", "tuned": "another", "more": "another"}})).await;
    world.until("the field is told", async || told(&plain).await == ["changed data.theirs tuner"]).await;
    // What is ours is put back beside it, and so is what a person changes.
    world.patch_as("kubectl-edit", &maps, json!({"data": {"version": "by hand"}})).await;
    plain.until("what is ours is put back", &maps, |live| live["data"]["version"] == json!("1")).await;
    let second = push(&plain, "2", ", more: git").await;
    plain.done(&second).await;
    let both = ["changed data.more tuner", "changed data.theirs tuner"];
    let all = async || {
        let mut told = told(&plain).await;
        told.sort();
        told == both
    };
    world.until("both fields are told", all).await;
    let expected = json!({"theirs": "another", "tuned": "another", "more": "another", "version": "2"});
    assert_eq!(data(&plain).await, expected);
    // What nobody holds any more comes back by itself.
    world.patch_as("tuner", &maps, json!({"data": {"more": null}})).await;
    plain.until("what was given up is put back", &maps, |live| live["data"]["more"] == json!("git")).await;
    world.done(Request::RevertDrift { app: app(plain.name), objects: Vec::new() }).await;
    let expected = json!({"theirs": "git", "tuned": "another", "more": "git", "version": "2"});
    plain.until("all but what is handed over is as in git", &maps, |live| live["data"] == expected).await;
    world.until("nothing is left to tell", async || told(&plain).await.is_empty()).await;
    world.patch_as("tuner", &maps, json!({"data": {"tuned": null}})).await;
    plain.until("so does what was handed over", &maps, |live| live["data"]["tuned"] == json!("git")).await;
}

/// §4.4: with `conflicts: block` nothing of the object is written until a person says so.
pub(super) async fn what_a_program_holds_holds_the_object_back<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "blocking" };
    let first = push(&plain, "1", "").await;
    plain.done(&first).await;
    let maps = plain.path("v1", "configmaps", "files");
    world.patch_as("tuner", &maps, json!({"data": {"theirs": "another", "more": "another"}})).await;
    plain.stands_for("FieldConflict", &["data.theirs by tuner"]).await;
    let second = push(&plain, "2", "").await;
    world.look_again(plain.name).await;
    assert_eq!(data(&plain).await["version"], json!("1"));
    world.done(Request::RevertDrift { app: app(plain.name), objects: Vec::new() }).await;
    plain.done(&second).await;
    let expected = json!({"theirs": "git", "tuned": "git", "more": "another", "version": "2"});
    assert_eq!(data(&plain).await, expected);
    // A field that git did not say before is named by the server.
    push(&plain, "3", ", more: git").await;
    plain.stands_for("FieldConflict", &["data.more by tuner"]).await;
    assert_eq!(data(&plain).await["version"], json!("2"));
}
