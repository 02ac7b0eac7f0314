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
