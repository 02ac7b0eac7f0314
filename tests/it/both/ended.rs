//! Namespaces whose deletion does not end: by whose hand they are held, and what is still in them.

use serde_json::{Value, json};

use rewild::model::{DataFate, Request};

use super::{Plain, config, has_version};
use crate::proxy::Proxy;
use crate::world::{Ground, World, app};

/// A finalizer that nobody serves.
const HELD: &str = "example.org/held";

/// Waits for what the app says of its namespace, looking again as the schedule does.
async fn until_told<C: Ground>(plain: &Plain<'_, C>, says: &str) {
    plain
        .world
        .until(&format!("{} says {says}", plain.name), async || {
            plain.world.look_again(plain.name).await;
            plain
                .world
                .state(plain.name)
                .await
                .is_some_and(|state| state.reason == "NamespaceStuck" && state.needs_you.contains(says))
        })
        .await;
}

/// Waits until the namespace is another one and the app is back in it.
async fn until_back<C: Ground>(plain: &Plain<'_, C>, before: &Value) {
    let path = format!("/api/v1/namespaces/{}", plain.name);
    plain
        .world
        .until(&format!("the namespace {} is another one", plain.name), async || {
            plain.world.look_again(plain.name).await;
            let now = plain.uid(&path).await;
            now.is_string() && now != *before
        })
        .await;
    plain.healthy().await;
    plain.until("what was in it is back", &plain.path("v1", "configmaps", "config"), has_version("1")).await;
}

/// §9: `metadata.finalizers`.
pub(super) async fn a_namespace_that_a_person_holds_is_freed_and_one_that_a_program_holds_is_not<C: Ground>(
    world: &World<C>,
) {
    let run = async |name: &'static str, manager: &str| {
        let plain = Plain { world, name };
        let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
        plain.done(&first).await;
        let path = format!("/api/v1/namespaces/{name}");
        let before = plain.uid(&path).await;
        world.patch_as(manager, &path, json!({"metadata": {"finalizers": [HELD]}})).await;
        world.try_delete(&path).await;
        if manager != "kubectl-edit" {
            until_told(&plain, HELD).await;
            assert_eq!(plain.uid(&path).await, before);
            let held = world.get(&path).await.unwrap();
            assert_eq!(held["metadata"]["finalizers"], json!([HELD]), "it was taken off a program's hands");
            world.patch_as(manager, &path, json!({"metadata": {"finalizers": null}})).await;
        }
        until_back(&plain, &before).await;
    };
    tokio::join!(run("heldbyhand", "kubectl-edit"), run("heldbyprogram", "some-operator"));
}

/// §9: content that a finalizer keeps: that of a person goes, that of a program waits for a word.
pub(super) async fn what_a_namespace_still_holds_goes_if_a_person_holds_it_or_agrees<C: Ground>(world: &World<C>) {
    let run = async |name: &'static str, manager: &str| {
        let plain = Plain { world, name };
        let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
        plain.done(&first).await;
        let (path, object) = (format!("/api/v1/namespaces/{name}"), plain.path("v1", "configmaps", "config"));
        let before = plain.uid(&path).await;
        world.patch_as(manager, &object, json!({"metadata": {"finalizers": [HELD]}})).await;
        world.try_delete(&path).await;
        if manager != "kubectl-edit" {
            until_told(&plain, &format!("ConfigMap/config (finalizer {HELD}, placed by {manager})")).await;
            // What the cluster itself says of it is told as well.
            until_told(&plain, &format!("{HELD} in 1 resource instances")).await;
            let held = world.get(&path).await.unwrap();
            assert_eq!(
                (&held["metadata"]["uid"], &held["spec"]["finalizers"]),
                (&before, &json!(["kubernetes"])),
                "it was freed with something in it"
            );
            assert_eq!(world.get(&object).await.unwrap()["metadata"]["finalizers"], json!([HELD]));
            agree(&plain).await;
        }
        until_back(&plain, &before).await;
    };
    tokio::join!(run("leftbyhand", "kubectl-edit"), run("notempty", "some-operator"));
}

/// §9: the namespace of an app that was deleted, held by a program.
pub(super) async fn the_namespace_of_a_deleted_app_goes_when_a_person_agrees<C: Ground>(
    world: &World<C>,
    proxy: &Proxy,
) {
    let plain = Plain { world, name: "condemned" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    let path = "/api/v1/namespaces/condemned";
    world.patch_as("some-operator", path, json!({"metadata": {"finalizers": [HELD]}})).await;
    world.ask(Request::Delete { app: app(plain.name), data: DataFate::DeleteNow }).await;
    until_told(&plain, &format!("finalizer {HELD}, placed by some-operator")).await;
    let state = world.state(plain.name).await.unwrap();
    let since = world.get(path).await.unwrap()["metadata"]["deletionTimestamp"].as_str().unwrap().to_owned();
    assert_eq!((state.lifecycle.as_str(), state.needs_you.contains(&since)), ("stuck", true), "{state:?}");
    assert_eq!(world.get(path).await.unwrap()["metadata"]["finalizers"], json!([HELD]));
    agree(&plain).await;
    world.until("the namespace is gone", async || world.get(path).await.is_none()).await;
    world.until("nothing of it is left", async || world.state(plain.name).await.is_none()).await;
    let object = plain.path("v1", "configmaps", "config");
    assert_eq!((proxy.deletions(path), proxy.deletions(&object)), (1, 1), "it was deleted twice");
}

/// §8.4: what something outside of the namespace owns is not the app's, and the namespace stays with it.
pub(super) async fn a_namespace_with_what_others_own_stays<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "lodging" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "lodger"}, "provisioner": "example.org/none"});
    world.make("/apis/storage.k8s.io/v1/storageclasses", class).await;
    let owner = plain.uid("/apis/storage.k8s.io/v1/storageclasses/lodger").await;
    let owners = json!([{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "name": "lodger", "uid": owner}]);
    let theirs =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs", "ownerReferences": owners}});
    world.make("/api/v1/namespaces/lodging/configmaps", theirs).await;
    world.ask(Request::Delete { app: app(plain.name), data: DataFate::DeleteNow }).await;
    world.until("the app is gone", async || world.state(plain.name).await.is_none()).await;
    assert!(plain.config("config").await.is_null());
    assert!(plain.config("theirs").await["metadata"]["deletionTimestamp"].is_null());
    let namespace = world.get("/api/v1/namespaces/lodging").await.expect("it holds what others own");
    assert!(namespace["metadata"]["deletionTimestamp"].is_null(), "{namespace}");
    assert!(plain.config("theirs").await.is_object());
}

/// Sets whether namespaces are freed.
async fn set_mode<C: Ground>(world: &World<C>, mode: &str) {
    const PATH: &str = ".wild/config.yaml";
    let text = world.file("main", PATH).await.unwrap();
    let line = |line: &str| match line.starts_with("recovery:") {
        true => format!("recovery: {{after: 1s, mode: {mode}}}\n"),
        false => format!("{line}\n"),
    };
    let text: String = text.lines().map(line).collect();
    world.push("another recovery", &[(PATH, Some(&text))]).await;
}

/// §9: `recovery.mode`. That it is stuck is told in the cluster as well, where the settings want that.
pub(super) async fn a_namespace_is_freed_only_where_the_settings_let_it<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "modes" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    set_mode(world, "never").await;
    let path = "/api/v1/namespaces/modes";
    let before = plain.uid(path).await;
    // A person holds it, so it is freed unasked where nothing else is said.
    world.patch_as("kubectl-edit", path, json!({"metadata": {"finalizers": [HELD]}})).await;
    world.try_delete(path).await;
    until_told(&plain, HELD).await;
    let is_told = async || {
        let list = world.get("/apis/events.k8s.io/v1/namespaces/default/events").await.unwrap();
        let is_meant =
            |event: &Value| event["reason"] == json!("NamespaceStuck") && event["regarding"]["name"] == json!("modes");
        list["items"].as_array().unwrap().iter().any(is_meant)
    };
    world.until("it is told in the cluster", is_told).await;
    let held = async || {
        world.look_again(plain.name).await;
        let held = world.get(path).await.unwrap()["metadata"].clone();
        assert_eq!((&held["uid"], &held["finalizers"]), (&before, &json!([HELD])), "it was freed");
    };
    held().await;
    assert_eq!(world.state(plain.name).await.unwrap().hint, "", "there is nothing to agree to");
    set_mode(world, "ask").await;
    until_told(&plain, "letting go of it is plan").await;
    held().await;
    agree(&plain).await;
    until_back(&plain, &before).await;
    set_mode(world, "auto").await;
}

/// Agrees to what is told, once everything that is left is on its way.
async fn agree<C: Ground>(plain: &Plain<'_, C>) {
    until_told(plain, "letting go of it is plan").await;
    let state = plain.world.state(plain.name).await.unwrap();
    let hint = format!("wild app deploy {} --prune --plan ", plain.name);
    let digest = state.hint.strip_prefix(&hint).unwrap().to_owned();
    plain
        .world
        .ask(Request::Deploy { app: app(plain.name), approve: Some(digest), recreate: Vec::new(), adopt: false })
        .await;
}
