//! Copies of secrets of an app that was never deployed: whatever way it goes, or the version or the word that they came with, they go too.
//!
//! Not here: apps that are deployed (`consent.rs`, `readers.rs`).

use rewild::model::{CommitId, Request};

use super::consent;
use super::consent::{is_at, publish, push_grants, value, wild};
use crate::world::{World, app};

/// Where the copies are while the app is there.
const COPIES: [&str; 2] = ["secrets.yaml apps.chat.dbPassword", "secrets.yaml apps.chat.url"];

/// The package: it reads a value of the database and makes another one of that.
fn package(version: &str) -> String {
    format!(
        "version: '{version}'\nrequires: [{{name: stonedb, alias: db}}]\nrequiredSecrets: [db.password]\n\
         defaultSecrets:\n- {{key: url, default: 'x://{{{{ .secrets.dbPassword }}}}@y'}}\n- {{key: own}}\n"
    )
}

/// Starts a world in which the app was added with a grant, and not deployed. Returns the value that it copied, and the head before.
async fn world() -> (World, String, CommitId) {
    let world = consent::world().await;
    let wanted = value(&world, "apps.stonedb.password");
    let before = world.head().await;
    publish(&world, "chat", &package("1")).await;
    added(&world, &wanted).await;
    (world, wanted, before)
}

async fn added(world: &World, wanted: &str) {
    let (code, out) = wild(world, "wild app add chat --grant stonedb.password").await;
    assert_eq!(code, 0, "{out:?}");
    is_at(world, wanted, &COPIES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copies_of_an_app_that_was_never_deployed_go_with_it_by_command() {
    let (world, wanted, _) = world().await;
    for line in ["wild app delete chat --yes", "wild app delete chat --yes --delete-data"] {
        let (code, out) = wild(&world, line).await;
        assert_eq!(code, 0, "{line}: {out:?}");
        is_at(&world, &wanted, &[]).await;
        added(&world, &wanted).await;
    }
    // After an update that was not deployed either.
    publish(&world, "chat", &package("2")).await;
    let (code, out) = wild(&world, "wild app update chat").await;
    assert_eq!(code, 0, "{out:?}");
    assert_eq!(wild(&world, "wild app delete chat --yes").await.0, 0);
    is_at(&world, &wanted, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copies_of_an_app_that_was_never_deployed_go_with_its_directory() {
    let (mut world, wanted, _) = world().await;
    let ways = [
        "git rm -rq apps/chat .wild/generated/chat.yaml && git commit -qm 'away with it' && git push -q",
        "git rm -rq apps/chat && git commit -qm 'away with its files' && git push -q",
        "git mv apps/chat apps/talk && git commit -qm 'another name' && git push -q",
        "git rm -q apps/chat/manifest.yaml && git commit -qm 'no manifest' && git push -q && \
         git rm -rq apps/chat && git commit -qm 'then the rest' && git push -q",
    ];
    for way in ways {
        let before = world.head().await;
        world.in_a_clone(way);
        is_at(&world, &wanted, &[]).await;
        // It comes back as it was, and has what is still granted.
        world.in_a_clone(&format!("git checkout -q {before} -- . && git rm -rqf --ignore-unmatch apps/talk && git commit -qm back && git push -q"));
        is_at(&world, &wanted, &COPIES).await;
    }
    world.stop().await;
    world.in_a_clone(ways[0]);
    world.restart().await;
    is_at(&world, &wanted, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copies_of_an_app_that_was_never_deployed_go_when_the_commit_that_added_it_is_taken_back() {
    let (world, wanted, before) = world().await;
    world.in_a_clone(&format!(
        "git checkout -q {before} -- . && git diff --name-only --diff-filter=A {before} HEAD | xargs git rm -qf && \
         git commit -qm 'as it was' && git push -q"
    ));
    is_at(&world, &wanted, &[]).await;
    added(&world, &wanted).await;
    // And one that never came to be: its undo is a roll-back.
    let back = Request::Rollback { app: app("chat"), to: before, reason: "too much".into(), undoes: None };
    world.ask(back).await;
    if world.file("main", "apps/chat/manifest.yaml").await.is_none() {
        is_at(&world, &wanted, &[]).await;
    } else {
        is_at(&world, &wanted, &COPIES).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_copied_for_an_update_that_is_taken_back_goes_again() {
    let world = consent::world().await;
    let wanted = value(&world, "apps.stonedb.password");
    publish(&world, "chat", "version: '1'\nrequires: [{name: stonedb, alias: db}]\n").await;
    assert_eq!(wild(&world, "wild app add chat").await.0, 0);
    let before = world.head().await;
    publish(&world, "chat", &package("2")).await;
    let (code, out) = wild(&world, "wild app update chat --grant stonedb.password").await;
    assert_eq!(code, 0, "{out:?}");
    is_at(&world, &wanted, &COPIES).await;
    world.done(Request::Rollback { app: app("chat"), to: before, reason: "too much".into(), undoes: None }).await;
    is_at(&world, &wanted, &[]).await;
    // The same by a push that brings the older files back.
    let (code, out) = wild(&world, "wild app update chat --grant stonedb.password").await;
    assert_eq!(code, 0, "{out:?}");
    is_at(&world, &wanted, &COPIES).await;
    world.edit("apps/chat/manifest.yaml", "requiredSecrets: [db.password]\n", "").await;
    is_at(&world, &wanted, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_is_taken_back_before_the_first_deployment_takes_the_copies_along() {
    let (world, wanted, _) = world().await;
    push_grants(&world, "chat", "").await;
    is_at(&world, &wanted, &[]).await;
    push_grants(&world, "chat", "stonedb.password").await;
    is_at(&world, &wanted, &COPIES).await;
    // The word and the app in one push.
    world.in_a_clone(
        "git rm -rq apps/chat .wild/generated/chat.yaml && sed -i '/^apps:/,$d' .wild/config.yaml && \
         git commit -qam 'both' && git push -q",
    );
    is_at(&world, &wanted, &[]).await;
}
