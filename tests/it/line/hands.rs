//! Hands in the way: edits while many revisions go out, a namespace that changes while it is let go.
//!
//! Not here: edits while one request is on its way (`weather.rs`).

use std::fmt::Write;

use rewild::model::Request;
use serde_json::{Value, json};

use crate::proxy::{Fault, Proxy, To};
use crate::world::{World, app};

const MANY: usize = 48;

/// Returns config maps, all of one version.
fn parts(version: &str) -> String {
    let mut text = String::new();
    for number in 0..MANY {
        let _ = write!(
            text,
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: part-{number}}}\ndata: {{version: \"{version}\"}}\n---\n"
        );
    }
    text
}

async fn push(world: &World, text: &str) -> rewild::model::CommitId {
    let list = "namespace: plain\nresources: [all.yaml]\n";
    world
        .push("plain files", &[("apps/plain/kustomization.yaml", Some(list)), ("apps/plain/all.yaml", Some(text))])
        .await
}

async fn part(world: &World, number: usize) -> Value {
    world.get(&format!("/api/v1/namespaces/plain/configmaps/part-{number}")).await.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_by_hand_while_revisions_go_out_change_nothing_in_the_end() {
    const LAST: usize = 8;
    let world = World::start(&["stonedb 15.5"]).await;
    push(&world, &parts("0")).await;
    world.healthy("plain").await;
    for revision in 1..=LAST {
        push(&world, &parts(&revision.to_string())).await;
        let path = format!("/api/v1/namespaces/plain/configmaps/part-{revision}");
        world.patch(&path, json!({"data": {"version": "by hand"}})).await;
        world.try_delete(&format!("/api/v1/namespaces/plain/configmaps/part-{}", revision + LAST)).await;
    }
    world
        .until("the last revision is there", async || {
            for number in 0..MANY {
                if part(&world, number).await["data"]["version"] != json!(LAST.to_string()) {
                    return false;
                }
            }
            true
        })
        .await;
    world.healthy("plain").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_changes_while_it_is_let_go_is_looked_at_once_more() {
    const NAMESPACE: &str = "/api/v1/namespaces/plain";
    let mut world = World::start(&["stonedb 15.5"]).await;
    push(&world, &parts("1")).await;
    world.healthy("plain").await;
    let proxy = Proxy::start(world.cluster.url()).await;
    world.restart_through(proxy.url()).await;
    world.healthy("plain").await;
    world.patch_as("some-operator", NAMESPACE, json!({"metadata": {"finalizers": ["example.org/held"]}})).await;
    let before = world.get(NAMESPACE).await.unwrap()["metadata"]["uid"].clone();
    world.try_delete(NAMESPACE).await;
    let asked = async || {
        let state = world.state("plain").await?;
        state.hint.strip_prefix("wild app deploy plain --prune --plan ").map(str::to_owned)
    };
    world
        .until("a person is asked", async || {
            world.look_again("plain").await;
            asked().await.is_some()
        })
        .await;
    proxy.spoil(To::WritesOf(NAMESPACE), Fault::Refuse(409, ""), 2);
    world.done(Request::Deploy { app: app("plain"), approve: asked().await, recreate: Vec::new(), adopt: false }).await;
    assert_eq!(proxy.hits(), 2);
    let is_another = async || world.get(NAMESPACE).await.is_some_and(|now| now["metadata"]["uid"] != before);
    world.until("it is another one", is_another).await;
    world.healthy("plain").await;
}
