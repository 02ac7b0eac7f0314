//! The main line from end to end on the sandbox.

mod answers;
mod audit;
mod bent;
mod both;
mod clusters;
mod credentials;
mod data;
mod deletion;
mod drift;
mod farewell;
mod finish;
mod growth;
mod hands;
mod health;
mod hooks;
mod order;
mod overdue;
mod partial;
mod presence;
mod realms;
mod restart;
mod restarts;
mod secrets;
mod templates;
mod unknown;
mod updates;
mod waiting;
mod weather;

use rewild::model::{DataFate, Deploy, PackageName, Request};
use serde_json::json;

use crate::world::{World, app};

pub(crate) fn add(package: &str, bindings: &[(&str, &str)]) -> Request {
    Request::Add {
        package: PackageName::parse(package).unwrap(),
        app: app(package),
        bindings: bindings.iter().map(|(reference, bound)| ((*reference).to_owned(), app(bound))).collect(),
        values: Default::default(),
        version: None,
        deploy: Deploy::Later,
        grants: asked_by(package).iter().map(|grant| (*grant).to_owned()).collect(),
    }
}

/// Returns the secrets of other apps that a package of the sample directory reads.
pub(crate) fn asked_by(package: &str) -> &'static [&'static str] {
    match package {
        "quillblog" => &["stonedb.password"],
        "photobox" => &["stonedb.password", "quickcache.auth"],
        _ => &[],
    }
}

/// Adds and deploys apps and waits until each is healthy.
async fn installed(world: &World, apps: &[&str]) {
    for name in apps {
        world.done(add(name, &[])).await;
        world.done(deploy(name)).await;
        world.healthy(name).await;
    }
}

pub(crate) fn deploy(name: &str) -> Request {
    Request::Deploy { app: app(name), approve: None, recreate: Vec::new(), adopt: false }
}

pub(crate) fn update(name: &str) -> Request {
    Request::Update { app: app(name), to: None, take: None, grants: Vec::new() }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_added_app_waits_until_it_is_deployed_and_is_deleted_with_its_volumes_kept() {
    let world = World::start(&["stonedb 15.5"]).await;
    world.done(add("stonedb", &[])).await;
    assert_eq!(world.state("stonedb").await.unwrap().intent, "added");
    assert_eq!(world.get("/api/v1/namespaces/stonedb").await, None);
    world.done(deploy("stonedb")).await;
    world.healthy("stonedb").await;
    assert!(world.get("/apis/apps/v1/namespaces/stonedb/statefulsets/stonedb").await.is_some());
    world.done(Request::Delete { app: app("stonedb"), data: DataFate::Keep }).await;
    world.until("the app is gone", async || world.state("stonedb").await.is_none()).await;
    assert_eq!(world.get("/apis/apps/v1/namespaces/stonedb/statefulsets/stonedb").await, None);
    assert!(world.get("/api/v1/namespaces/stonedb").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_field_is_put_back() {
    let world = World::start(&["stonedb 15.5"]).await;
    world.done(add("stonedb", &[])).await;
    world.done(deploy("stonedb")).await;
    world.healthy("stonedb").await;
    let path = "/apis/apps/v1/namespaces/stonedb/statefulsets/stonedb";
    world.patch(path, json!({"spec": {"replicas": 3}})).await;
    world
        .until("the field is put back", async || {
            world.get(path).await.unwrap().pointer("/spec/replicas") == Some(&json!(1))
        })
        .await;
    world.healthy("stonedb").await;
}
