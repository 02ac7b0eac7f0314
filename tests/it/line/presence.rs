//! Apps that come and go by a push or a request.

use rewild::model::{DataFate, Request};
use rewild::sandbox::Controller;
use serde_json::json;

use super::installed;
use crate::world::{World, app};

const GREETING: &str = "/api/v1/namespaces/hello/configmaps/greeting";
const FILES: [(&str, &str); 2] = [
    ("apps/hello/kustomization.yaml", "namespace: hello\nresources: [greeting.yaml]\n"),
    ("apps/hello/greeting.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeting}\ndata: {text: hello}\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_pushed_app_is_applied_and_its_vanishing_deletes_nothing() {
    let world = World::start(&["stonedb 15.5"]).await;
    world.push("write an app by hand", &FILES.map(|(path, text)| (path, Some(text)))).await;
    world.until("it is applied", async || world.get(GREETING).await.is_some()).await;
    world.healthy("hello").await;
    let (before, gone) = (world.versions().await, FILES.map(|(path, _)| (path, None)));
    world.push("lose an app", &gone).await;
    world
        .until("its absence is seen", async || {
            world.state("hello").await.is_some_and(|state| state.intent == "blocked" && !state.needs_you.is_empty())
        })
        .await;
    world.look_again("hello").await;
    assert_eq!(world.versions().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_with_data_takes_the_namespace() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache"]).await;
    world.done(Request::Delete { app: app("stonedb"), data: DataFate::Delete }).await;
    world.until("the namespace is gone", async || world.get("/api/v1/namespaces/stonedb").await.is_none()).await;
    world.until("the app is gone", async || world.state("stonedb").await.is_none()).await;
    assert!(!world.file("main", "config.yaml").await.unwrap().contains("stonedb:"));
    world.healthy("quickcache").await;
    assert!(world.get("/api/v1/namespaces/quickcache").await.is_some());
    let secrets = world.handle.instance().secrets.read().unwrap();
    assert!(secrets.paths().all(|path| !path.starts_with("apps.stonedb.")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_is_deleted_takes_the_namespace_that_it_had_and_no_other() {
    let world = World::start(&["stonedb 15.5"]).await;
    let files = FILES.map(|(path, text)| (path, text.replace("namespace: hello", "namespace: garden")));
    let pushed: Vec<(&str, Option<&str>)> = files.iter().map(|(path, text)| (*path, Some(text.as_str()))).collect();
    world.push("write an app by hand", &pushed).await;
    world.healthy("hello").await;
    let own = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hello"}});
    world.make("/api/v1/namespaces", own).await;
    let gone = FILES.map(|(path, _)| (path, None));
    world.push("no hello\n\nWild-Delete: hello\nWild-Delete-Data: delete", &gone).await;
    world.until("its namespace is gone", async || world.get("/api/v1/namespaces/garden").await.is_none()).await;
    world.until("the app is forgotten", async || world.state("hello").await.is_none()).await;
    assert!(
        world.get("/api/v1/namespaces/hello").await.is_some(),
        "a namespace of a person that has only its name is gone"
    );
}

const NAMESPACE: &str = "/api/v1/namespaces/stonedb";

/// Starts an app whose cluster has a second to end the deletion of a namespace by itself.
async fn impatient() -> World {
    let world = World::start(&["stonedb 15.5"]).await;
    let text = world.file("main", ".wild/config.yaml").await.unwrap();
    world.push("wait a second", &[(".wild/config.yaml", Some(&format!("{text}recovery: {{after: 1s}}\n")))]).await;
    installed(&world, &["stonedb"]).await;
    world
}

/// Waits until the app says why its namespace does not go; it is looked at again as the schedule does.
async fn until_told(world: &World, why: &str) {
    world
        .until(why, async || {
            world.look_again("stonedb").await;
            world
                .state("stonedb")
                .await
                .is_some_and(|state| state.reason == "NamespaceStuck" && state.needs_you.contains(why))
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_a_finalizer_of_a_person_holds_is_freed_and_the_app_comes_back() {
    let world = impatient().await;
    let uid = world.get(NAMESPACE).await.unwrap()["metadata"]["uid"].clone();
    world.patch(NAMESPACE, json!({"metadata": {"finalizers": ["example.org/by-hand"]}})).await;
    world.try_delete(NAMESPACE).await;
    world
        .until("the namespace is another one", async || {
            world.look_again("stonedb").await;
            world.get(NAMESPACE).await.is_some_and(|namespace| namespace["metadata"]["uid"] != uid)
        })
        .await;
    world.healthy("stonedb").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_still_holds_something_is_never_freed() {
    let world = impatient().await;
    world.cluster.stop_controller(Controller::Namespace);
    world.try_delete(NAMESPACE).await;
    until_told(&world, "it still holds").await;
    let namespace = world.get(NAMESPACE).await.unwrap();
    assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
    // The cluster gets to it after all, and the app starts anew.
    world.cluster.start_controller(Controller::Namespace);
    world
        .until("the namespace is another one", async || {
            world.look_again("stonedb").await;
            world.get(NAMESPACE).await.is_some_and(|now| now["metadata"]["uid"] != namespace["metadata"]["uid"])
        })
        .await;
    world.healthy("stonedb").await;
}
