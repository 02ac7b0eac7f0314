//! What comes back after a deletion, and what goes in the end.
//!
//! Not here: what is told (`data.rs`), which the real cluster is told as well.

use rewild::model::{DataFate, OperationOutcome, OperationState, Request};

use super::data::{
    APP, data_comes_back, data_goes_in_the_end, delete, deployed, held, undo, until_bound, volume_path,
    what_was_pruned_comes_back,
};
use super::{add, deploy, installed};
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

/// Whatever of a deletion the store does not take, the deletion does not end before it does.
#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_goes_on_once_the_store_takes_what_it_did_not() {
    let world = World::start(&["stonedb 15.5"]).await;
    // One connection: another one would not have seen that a trigger went.
    let file = format!("sqlite:{}", world.root().join("state/wild.db").display());
    let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect(&file).await.unwrap();
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '[_s]q*'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&pool).await.unwrap();
    assert!(tables.len() > 8 && tables.iter().any(|table| table == "archive"), "{tables:?}");
    let errors = || {
        let text = world.daemon.metrics().encode();
        let line =
            text.lines().find(|line| line.starts_with("controller_runtime_reconcile_errors_total")).map(str::to_owned);
        line.unwrap_or_default()
    };
    let store = &world.handle.instance().store;
    let mut met = Vec::new();
    for table in tables {
        world.done(add("stonedb", &[])).await;
        world.done(deploy("stonedb")).await;
        world.healthy("stonedb").await;

        for verb in ["INSERT", "UPDATE", "DELETE"] {
            let full: &'static str = format!(
                "CREATE TRIGGER full_{verb} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            )
            .leak();
            sqlx::query(full).execute(&pool).await.unwrap();
        }
        let before = errors();
        let request = Request::Delete { app: app("stonedb"), data: DataFate::Delete };
        let asked = world.handle.ask(request.clone(), "alice").await.ok();
        let ended = async || match &asked {
            None => None,
            Some(asked) => {
                let now = store.operation(&world.handle.instance().id, &asked.id).await.unwrap().unwrap();
                Some(now).filter(|now| !matches!(now.state, OperationState::Waiting | OperationState::Running))
            }
        };
        if asked.is_some() {
            world.until("a pass fails or it ends", async || errors() != before || ended().await.is_some()).await;
        }
        if errors() != before || asked.is_none() {
            met.push(table.clone());
        }
        for verb in ["INSERT", "UPDATE", "DELETE"] {
            let free: &'static str = format!("DROP TRIGGER full_{verb}").leak();
            sqlx::query(free).execute(&pool).await.unwrap();
        }

        match &asked {
            None => drop(world.done(request).await),
            Some(_) => {
                world.until(&format!("it ends, after {table}"), async || ended().await.is_some()).await;
                let ended = ended().await.unwrap();
                assert_eq!(
                    (ended.state, ended.outcome),
                    (OperationState::Succeeded, Some(OperationOutcome::Changed)),
                    "{table}: {ended:#?}"
                );
            }
        }
        world.until("the app is gone", async || world.state("stonedb").await.is_none()).await;
        world.until("the namespace is gone", async || world.get("/api/v1/namespaces/stonedb").await.is_none()).await;
    }
    for table in ["archive", "outcomes", "records", "operations"] {
        assert!(met.iter().any(|met| met == table), "{table} was not in the way: {met:?}");
    }
}
