//! What comes back after a deletion, and what goes in the end.
//!
//! Not here: what is told (`data.rs`), which the real cluster is told as well.

use rewild::model::{DataFate, Request};

use super::data::{
    APP, data_comes_back, data_goes_in_the_end, delete, deployed, held, undo, until_bound, volume_path,
    what_was_pruned_comes_back,
};
use super::installed;
use crate::world::{World, app};

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_is_deleted_with_its_data_comes_back_with_it() {
    data_comes_back(&World::start(&["stonedb 15.5"]).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_that_is_held_goes_when_its_time_is_over() {
    data_goes_in_the_end(&World::start(&["stonedb 15.5"]).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_was_pruned_comes_back_by_an_undo() {
    what_was_pruned_comes_back(&World::start(&["stonedb 15.5"]).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secret_values_of_a_deleted_app_come_back_with_it() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    let secret = "/api/v1/namespaces/stonedb/secrets/stonedb-secrets";
    let before = world.get(secret).await.unwrap()["data"].clone();
    let id = world.done(Request::Delete { app: app("stonedb"), data: DataFate::Delete }).await.id;
    world.until("it is gone", async || world.state("stonedb").await.is_none()).await;
    let said = undo(&world, &id).await;
    assert!(said.contains("its secret values are those of then"), "{said}");
    world.healthy("stonedb").await;
    assert_eq!(world.get(secret).await.unwrap()["data"], before);
    let instance = world.handle.instance();
    let archived = instance.store.archived(&instance.id, &app("stonedb"), None).await.unwrap();
    let text = serde_json::to_string(&archived).unwrap();
    for value in before.as_object().unwrap().values() {
        assert!(!text.contains(value.as_str().unwrap()), "a value of a secret is archived");
    }
    assert!(text.contains("stonedb-secrets") && text.contains("(hidden)"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_starts_anew_ends_what_is_held() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    let volume = volume_path(&deployed(&world).await);
    let id = delete(&world, DataFate::Delete).await;
    world.restart().await;
    assert_eq!(held(&world).await, 1);
    undo(&world, &id).await;
    world.healthy(APP).await;
    assert_eq!(volume_path(&until_bound(&world).await), volume);
}
