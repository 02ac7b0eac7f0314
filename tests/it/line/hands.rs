//! Hands in the way: bad objects among good ones, edits while a revision goes out, an app that is deleted and added at once, kinds that
//! cannot be seen.

use std::fmt::Write;

use rewild::model::{DataFate, Request};
use serde_json::{Value, json};

use super::{add, deploy, installed};
use crate::proxy::{Fault, Proxy, To};
use crate::world::{World, app};

const MANY: usize = 48;
const WEB_PATH: &str = "/apis/apps/v1/namespaces/plain/deployments/web";
const JOB_PATH: &str = "/apis/batch/v1/namespaces/plain/cronjobs/sweep";

/// Returns config maps, a Deployment with a selector, and a config map with a key.
fn fifty(version: &str, selector: &str, key: &str) -> String {
    let mut text = String::new();
    for number in 0..MANY {
        let _ = write!(
            text,
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: part-{number}}}\ndata: {{version: \"{version}\"}}\n---\n"
        );
    }
    let _ = write!(
        text,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 1\n  selector: {{matchLabels: {{app: {selector}}}}}\n  \
         template:\n    metadata: {{labels: {{app: {selector}}}}}\n    spec:\n      containers:\n      - name: web\n        image: web:1\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: keyed}}\ndata: {{\"{key}\": \"{version}\"}}\n"
    );
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
async fn of_fifty_objects_two_bad_ones_hold_no_other_back() {
    let world = World::start(&["stonedb 15.5"]).await;
    push(&world, &fifty("1", "web", "key")).await;
    world.healthy("plain").await;
    let web = world.get(WEB_PATH).await.unwrap();
    let head = push(&world, &fifty("2", "other", "bad key")).await;
    world
        .until("the revision is told to have failed", async || {
            world.status(&head, "wild/deploy").await.as_deref() == Some("failure")
        })
        .await;
    for number in 0..MANY {
        assert_eq!(part(&world, number).await["data"]["version"], json!("2"), "part-{number}");
    }
    assert_eq!(world.get(WEB_PATH).await.unwrap()["metadata"]["uid"], web["metadata"]["uid"], "it was made anew");
    let state = world.state("plain").await.unwrap();
    assert!(state.needs_you.contains("bad key"), "{}", state.needs_you);
    // One is mended: the other is told, and is not taken for done.
    let head = push(&world, &fifty("2", "other", "key")).await;
    world
        .until("the selector is told", async || {
            world.state("plain").await.is_some_and(|state| state.reason == "RecreateNeedsApproval")
        })
        .await;
    assert_ne!(world.status(&head, "wild/deploy").await.as_deref(), Some("success"));
    let state = world.state("plain").await.unwrap();
    assert_eq!(state.hint, "wild app deploy plain --recreate Deployment/web");
    let recreate = vec!["Deployment/web".to_owned()];
    world.done(Request::Deploy { app: app("plain"), approve: None, recreate }).await;
    world.healthy("plain").await;
    assert_ne!(world.get(WEB_PATH).await.unwrap()["metadata"]["uid"], web["metadata"]["uid"]);
    world.until("all is well", async || world.status(&head, "wild/deploy").await.as_deref() == Some("success")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_is_deleted_and_added_at_once_is_a_new_one() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    // The namespace goes last and may be wanted again before its turn comes; the volume is a new one in any case.
    let paths = [
        "/api/v1/namespaces/stonedb/persistentvolumeclaims/stonedb-data",
        "/apis/apps/v1/namespaces/stonedb/statefulsets/stonedb",
        "/api/v1/namespaces/stonedb/services/stonedb",
    ];
    let mut old = Vec::new();
    for path in paths {
        old.push(world.get(path).await.unwrap()["metadata"]["uid"].clone());
    }
    let (delete, add, deploy) =
        (Request::Delete { app: app("stonedb"), data: DataFate::Delete }, add("stonedb", &[]), deploy("stonedb"));
    // Nobody waits for anything.
    for request in [delete, add, deploy] {
        world.handle.ask(request, "alice").await.unwrap();
    }
    world
        .until("every object is another one and well", async || {
            world.look_again("stonedb").await;
            for (path, old) in paths.iter().zip(&old) {
                if world.get(path).await.is_none_or(|now| now["metadata"]["uid"] == *old) {
                    return false;
                }
            }
            world.state("stonedb").await.is_some_and(|state| state.intent == "applied" && state.health == "healthy")
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_by_hand_while_revisions_go_out_change_nothing_in_the_end() {
    const LAST: usize = 8;
    let world = World::start(&["stonedb 15.5"]).await;
    push(&world, &fifty("0", "web", "key")).await;
    world.healthy("plain").await;
    for revision in 1..=LAST {
        push(&world, &fifty(&revision.to_string(), "web", "key")).await;
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
async fn what_cannot_be_seen_is_not_deleted_and_goes_when_it_can() {
    let sweep = "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: sweep}\nspec:\n  schedule: \"1 1 * * *\"\n  jobTemplate:\n    \
                 spec:\n      template:\n        spec:\n          restartPolicy: Never\n          containers: [{name: run, image: \"run:1\"}]\n";
    let mut world = World::start(&["stonedb 15.5"]).await;
    push(&world, &format!("{}{sweep}", fifty("1", "web", "key"))).await;
    world.healthy("plain").await;
    let proxy = Proxy::start(world.cluster.url()).await;
    proxy.spoil(To::Group("batch"), Fault::Refuse(503, ""), usize::MAX);
    world.restart_through(proxy.url()).await;
    push(&world, &fifty("2", "web", "key")).await;
    world.until("the rest is applied", async || part(&world, 0).await["data"]["version"] == json!("2")).await;
    world.look_again("plain").await;
    assert!(world.get(JOB_PATH).await.is_some(), "it was deleted unseen");
    assert!(proxy.hits() > 0);
    proxy.clear();
    world
        .until("it is gone", async || {
            world.look_again("plain").await;
            world.get(JOB_PATH).await.is_none()
        })
        .await;
    world.healthy("plain").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_changes_while_it_is_let_go_is_looked_at_once_more() {
    const NAMESPACE: &str = "/api/v1/namespaces/plain";
    let mut world = World::start(&["stonedb 15.5"]).await;
    push(&world, &fifty("1", "web", "key")).await;
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
    world.done(Request::Deploy { app: app("plain"), approve: asked().await, recreate: Vec::new() }).await;
    assert_eq!(proxy.hits(), 2);
    let is_another = async || world.get(NAMESPACE).await.is_some_and(|now| now["metadata"]["uid"] != before);
    world.until("it is another one", is_another).await;
    world.healthy("plain").await;
}
