//! Apps that come and go by a push or a request.

use rewild::model::{DataFate, Request};

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
