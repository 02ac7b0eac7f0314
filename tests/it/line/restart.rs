//! Passes that must write nothing: a second one, one after a restart, one after a lost store; and a cluster that does not answer.

use std::collections::BTreeSet;

use rewild::model::ObjectId;

use super::installed;
use crate::commits::clock;
use crate::world::{World, app};

async fn remembered(world: &World, name: &str) -> BTreeSet<ObjectId> {
    let instance = world.handle.instance();
    let inventory = instance.store.inventory(&instance.id, &app(name)).await.unwrap();
    inventory.records().map(|record| record.id.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_pass_writes_nothing() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache"]).await;
    world.look_again("stonedb").await;
    let (before, head) = (world.versions().await, world.head().await);
    for name in ["stonedb", "quickcache"] {
        world.look_again(name).await;
    }
    assert_eq!(world.versions().await, before);
    assert_eq!(world.head().await, head);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_writes_nothing() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache"]).await;
    let (before, head, since) = (world.versions().await, world.head().await, clock());
    world.restart().await;
    for name in ["stonedb", "quickcache"] {
        world.looked_at(name, since).await;
        world.healthy(name).await;
    }
    assert_eq!(world.versions().await, before);
    assert_eq!(world.head().await, head);
}

const HAND: [&str; 2] = ["/apis/apps/v1/namespaces/hand/deployments/web", "/api/v1/namespaces/hand/configmaps/kept"];

/// Returns the files of an app without a package, with its Deployment or without.
fn by_hand(with_web: bool) -> [(&'static str, Option<&'static str>); 3] {
    let list = match with_web {
        true => "namespace: hand\nresources: [kept.yaml, web.yaml]\n",
        false => "namespace: hand\nresources: [kept.yaml]\n",
    };
    let web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    \
               metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: \"web:1\"}]}\n";
    [
        ("apps/hand/kustomization.yaml", Some(list)),
        ("apps/hand/kept.yaml", Some("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n")),
        ("apps/hand/web.yaml", with_web.then_some(web)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_was_removed_from_git_goes_although_the_store_was_lost_meanwhile() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["quickcache"]).await;
    world.push("by hand", &by_hand(true)).await;
    world.healthy("hand").await;
    // A copy of a person bears our labels, and nobody applied it in our name.
    let copy = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "copy", "labels": world.get(HAND[1]).await.unwrap()["metadata"]["labels"]}});
    world.make("/api/v1/namespaces/hand/configmaps", copy).await;
    world.stop().await;
    world.push("no web", &by_hand(false)).await;
    world.restart_without_store().await;
    world.until("the Deployment is gone", async || world.get(HAND[0]).await.is_none()).await;
    world.healthy("hand").await;
    assert!(world.get(HAND[1]).await.is_some());
    assert!(world.get("/api/v1/namespaces/hand/configmaps/copy").await.is_some(), "the copy is not ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_was_deleted_goes_although_the_store_was_lost_meanwhile() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    world.push("by hand", &by_hand(true)).await;
    world.healthy("hand").await;
    world.stop().await;
    let gone = by_hand(true).map(|(path, _)| (path, None));
    world.push("no hand\n\nWild-Delete: hand\nWild-Delete-Data: delete", &gone).await;
    world.restart_without_store().await;
    for path in HAND {
        world.until(&format!("{path} is gone"), async || world.get(path).await.is_none()).await;
    }
    world.until("the app is forgotten", async || world.state("hand").await.is_none()).await;
    // Nobody can tell any more whether we made it.
    assert!(world.get("/api/v1/namespaces/hand").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_store_is_rebuilt_without_a_write() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache"]).await;
    let known = remembered(&world, "stonedb").await;
    assert!(!known.is_empty());
    let (before, head) = (world.versions().await, world.head().await);
    world.restart_without_store().await;
    for name in ["stonedb", "quickcache"] {
        world.healthy(name).await;
    }
    assert_eq!(world.versions().await, before);
    assert_eq!(world.head().await, head);
    assert_eq!(remembered(&world, "stonedb").await, known);
}

/// A process that was killed between the last deletion and the write of the ApplySet leaves names behind in which nothing stands.
#[tokio::test(flavor = "multi_thread")]
async fn names_in_which_nothing_stands_leave_the_apply_set_after_a_restart_and_the_others_stay_without_a_store() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache"]).await;
    let parent = format!("/api/v1/namespaces/wild-system/configmaps/wild-{}", world.handle.instance().id);
    let named = async |world: &World| {
        let annotations = world.get(&parent).await.unwrap()["metadata"]["annotations"].clone();
        ["contains-group-kinds", "additional-namespaces"]
            .map(|key| annotations[format!("applyset.kubernetes.io/{key}")].as_str().unwrap().to_owned())
    };
    let before = named(&world).await;
    world.stop().await;
    let [kinds, namespaces] = &before;
    let stale = serde_json::json!({"metadata": {"annotations": {
        "applyset.kubernetes.io/contains-group-kinds": format!("{kinds},Ingress.networking.k8s.io,Widget.nobody.example"),
        "applyset.kubernetes.io/additional-namespaces": format!("{namespaces},default,nowhere"),
    }}});
    world.patch(&parent, stale).await;
    world.restart_without_store().await;
    world.until("only names in which something stands are left", async || named(&world).await == before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_does_not_answer_is_said_and_loses_nothing() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    let known = remembered(&world, "stonedb").await;
    world.stop_cluster().await;
    world.look_again("stonedb").await;
    world
        .until("the state says so", async || {
            world.state("stonedb").await.is_some_and(|state| state.intent == "blocked" && !state.needs_you.is_empty())
        })
        .await;
    let state = world.state("stonedb").await.unwrap();
    assert_ne!(state.health, "healthy", "{state:#?}");
    assert_eq!(remembered(&world, "stonedb").await, known);
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_follow_their_config() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    super::restarts::pods_follow_their_config(&world).await;
    super::restarts::a_lost_key_restarts_nothing(&mut world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consent_outlives_a_restart() {
    super::farewell::a_consent_outlives_a_restart(&mut World::start(&["stonedb 15.5"]).await).await;
}
