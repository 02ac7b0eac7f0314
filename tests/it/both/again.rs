//! What is deleted and wanted again at once, deleted twice, or asked for by several people at the same moment.
//!
//! Not here: a cluster that does not answer meanwhile (`away.rs`), namespaces that do not end (`ended.rs`).

use futures::future::join_all;
use rewild::model::{DataFate, Deploy, OperationState, PackageName, Request};
use serde_json::{Value, json};

use super::{Plain, config, has_version};
use crate::proxy::Proxy;
use crate::world::{Ground, World, app};

/// A finalizer that nobody serves.
const HELD: &str = "example.org/held";
/// Values that several people set at the same moment, by the key.
const SET: [(&str, &str); 3] =
    [("maxMemory", "2gb"), ("port", "6380"), ("image", "registry.example.org/quickcache:several")];

fn add(package: &str) -> Request {
    Request::Add {
        package: PackageName::parse(package).unwrap(),
        app: app(package),
        bindings: Default::default(),
        values: Default::default(),
        version: None,
        deploy: Deploy::Now,
        grants: Vec::new(),
    }
}

/// §8.4, F42: nobody waits for anything, and what the old one leaves behind for a while is not taken for the new one.
pub(super) async fn an_app_that_is_deleted_and_added_at_once_is_a_new_one<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "stonedb" };
    world.done(add(plain.name)).await;
    plain.healthy().await;
    // The namespace goes last and may be wanted again before its turn comes; the volume is a new one in any case.
    let objects = [
        ("v1", "persistentvolumeclaims", "stonedb-data"),
        ("apps/v1", "statefulsets", "stonedb"),
        ("v1", "services", "stonedb"),
    ];
    let paths = objects.map(|(api, plural, name)| plain.path(api, plural, name));
    let old = plain.uids(&paths).await;
    // One of them does not go before it is allowed to.
    let service = &paths[2];
    world.patch_as("some-operator", service, json!({"metadata": {"finalizers": [HELD]}})).await;
    for request in [Request::Delete { app: app(plain.name), data: DataFate::Delete }, add(plain.name)] {
        world.handle.ask(request, "alice").await.unwrap();
    }
    let is_new = async |at: usize| {
        let now = plain.uid(&paths[at]).await;
        now.is_string() && now != old[at]
    };
    plain.stands_for("ObjectTerminating", &["Service/stonedb"]).await;
    assert_eq!(plain.uid(service).await, old[2], "it is still the old one");
    assert_ne!(world.state(plain.name).await.unwrap().health, "healthy");
    world.patch_as("some-operator", service, json!({"metadata": {"finalizers": null}})).await;
    let all_new = async || {
        world.look_again(plain.name).await;
        is_new(0).await && is_new(1).await && is_new(2).await
    };
    world.until("every object is another one", all_new).await;
    plain.healthy().await;
    assert!(world.get(service).await.unwrap()["metadata"]["finalizers"].is_null(), "the old one lives on in the new");
}

/// §18, seed S3: a namespace that somebody is deleting already is deleted by that and not once more.
pub(super) async fn an_app_whose_namespace_is_going_already_goes_with_it<C: Ground>(world: &World<C>, proxy: &Proxy) {
    let plain = Plain { world, name: "goingtwice" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    let path = "/api/v1/namespaces/goingtwice";
    world.patch_as("some-operator", path, json!({"metadata": {"finalizers": [HELD]}})).await;
    world.try_delete(path).await;
    let begun = world.get(path).await.unwrap()["metadata"]["deletionTimestamp"].clone();
    plain.until("its content is gone", &plain.path("v1", "configmaps", "config"), Value::is_null).await;
    let deleted = Request::Delete { app: app(plain.name), data: DataFate::Delete };
    world.handle.ask(deleted, "alice").await.unwrap();
    let is_gone = async || world.file("main", "apps/goingtwice/config.yaml").await.is_none();
    world.until("the repository is clean", is_gone).await;
    plain.stands_for("NamespaceStuck", &[HELD]).await;
    let held = world.get(path).await.unwrap();
    assert_eq!(held["metadata"]["deletionTimestamp"], begun, "{held}");
    world.patch_as("some-operator", path, json!({"metadata": {"finalizers": null}})).await;
    world.until("nothing of it is left", async || world.state(plain.name).await.is_none()).await;
    assert!(world.get(path).await.is_none(), "it came back");
    assert_eq!(proxy.deletions(path), 0, "it was going already");
}

/// §18, seed S3: requests for one app at the same moment are carried out one after the other, and none is lost.
pub(super) async fn what_several_people_ask_of_one_app_at_once_is_all_done<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "quickcache" };
    world.done(add(plain.name)).await;
    plain.healthy().await;
    let sets = SET.map(|(key, value)| {
        let set = [(key.to_owned(), json!(value))].into();
        Request::Config { app: app(plain.name), set, unset: Vec::new() }
    });
    let deploys =
        [(); 2].map(|()| Request::Deploy { app: app(plain.name), approve: None, recreate: Vec::new(), adopt: false });
    let others = config("beside", "1");
    let others = [("config.yaml", others.as_str())];
    let pushes = Plain { world, name: "besides" };
    let (ended, pushed) =
        tokio::join!(join_all(sets.into_iter().chain(deploys).map(|request| world.ask(request))), pushes.push(&others));
    for operation in &ended {
        assert_eq!(operation.state, OperationState::Succeeded, "{operation:#?}");
    }
    plain.healthy().await;
    pushes.done(&pushed).await;
    let path = plain.path("apps/v1", "deployments", "quickcache");
    let holds_all = |live: &Value| {
        let text = live["spec"].to_string();
        SET.iter().all(|(_, value)| text.contains(value))
    };
    plain.until("all of it is applied", &path, holds_all).await;
    let text = world.file("main", "config.yaml").await.unwrap();
    assert!(SET.iter().all(|(key, value)| text.contains(key) && text.contains(value)), "{text}");
    pushes.until("nothing beside it is lost", &pushes.path("v1", "configmaps", "beside"), has_version("1")).await;
}
