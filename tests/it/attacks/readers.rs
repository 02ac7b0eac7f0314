//! A key of an app that others read goes in one of several ways: who reads it is looked at again, has it no longer and says so, without
//! anybody waking it.
//!
//! Not here: whether a key may be had (`consent.rs`).

use rewild::model::Purpose;

use super::consent::{held, publish, push_grants, spread, value, wild};
use crate::line::{add, deploy};
use crate::world::World;

/// The committed manifest of the app that owns the keys.
const OWNER: &str = "apps/lockbox/manifest.yaml";
/// What its package says of its keys.
const KEYS: &str = "defaultSecrets: [key, spare]\nexports: [key, spare]\n";

/// Starts a world in which one app reads a key of another, and a second reader was added and never deployed. Returns the key.
async fn world() -> (World, String) {
    let world = World::start(&["quickcache 7.0"]).await;
    publish(&world, "lockbox", &format!("version: '1'\n{KEYS}")).await;
    world.done(add("lockbox", &[])).await;
    world.done(deploy("lockbox")).await;
    world.healthy("lockbox").await;
    let reader = "version: '1'\nrequires: [lockbox]\nrequiredSecrets: [lockbox.key]\n";
    for (name, line) in [("chat", "wild app add chat --deploy"), ("talk", "wild app add talk")] {
        publish(&world, name, reader).await;
        let (code, out) = wild(&world, &format!("{line} --grant lockbox.key")).await;
        assert_eq!(code, 0, "{out:?}");
    }
    let key = value(&world, "apps.lockbox.key");
    is_read(&world, &key).await;
    (world, key)
}

/// Waits until both readers have the key, and the one that is deployed is as wanted.
async fn is_read(world: &World, key: &str) {
    let all = ["secrets.yaml apps.chat.lockboxKey", "secrets.yaml apps.talk.lockboxKey"];
    world
        .until("both have the key", async || {
            let found = spread(world, key).await;
            all.iter().all(|place| found.contains(*place))
        })
        .await;
    world
        .until("the reader is as wanted at the head", async || {
            let (state, head) = (world.state("chat").await, world.head().await);
            state.is_some_and(|it| it.intent == "applied" && it.health == "healthy" && it.commit == Some(head))
        })
        .await;
}

/// Waits until neither reader has the key in secrets.yaml any more.
async fn is_unread(world: &World, key: &str) {
    let is_copy = |place: &String| place.starts_with("secrets.yaml") && !place.contains("lockbox.");
    world.until("no reader has the key", async || !spread(world, key).await.iter().any(is_copy)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_a_key_that_its_owner_exports_no_more_is_told_and_has_it_again_with_the_word() {
    let (world, key) = world().await;
    let manifest = world.file("main", OWNER).await.unwrap();
    let others = [
        ("one of two is exported", "exports: [spare]\n", "which exports only spare"),
        ("none is exported", "exports: []\n", "which exports none"),
        ("it has another name", "exports: [name, spare]\n", "which exports only name, spare"),
        ("its case changes", "exports: [Key, spare]\n", "which exports only Key, spare"),
    ];
    for (message, exports, because) in others {
        let text = manifest.replace("exports: [key, spare]\n", exports);
        assert_ne!(text, manifest);
        world.push(message, &[(OWNER, Some(&text))]).await;
        held(&world, "chat", because).await;
        is_unread(&world, &key).await;
        world.push("as before", &[(OWNER, Some(&manifest))]).await;
        is_read(&world, &key).await;
    }
    // In one push with a change of the reader's own, and in two pushes at once.
    let map = "apps/chat/map.yaml";
    let other = world.file("main", map).await.unwrap().replace("of: chat", "of: another");
    let text = manifest.replace("exports: [key, spare]\n", "exports: [spare]\n");
    world.push("both", &[(OWNER, Some(&text)), (map, Some(&other))]).await;
    held(&world, "chat", "which exports only spare").await;
    world.push("as before", &[(OWNER, Some(&manifest))]).await;
    world.push("and gone", &[(OWNER, Some(&text))]).await;
    held(&world, "chat", "which exports only spare").await;
    is_unread(&world, &key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_a_key_hears_of_its_new_value_and_of_a_word_taken_back() {
    let (world, key) = world().await;
    let (code, out) = wild(&world, "wild secret rotate apps.lockbox.key --yes").await;
    assert_eq!(code, 0, "{out:?}");
    let new = value(&world, "apps.lockbox.key");
    assert_ne!(new, key);
    is_read(&world, &new).await;
    world
        .until("the cluster has the new value", async || {
            spread(&world, &new).await.contains("Secret chat/chat-secrets lockbox.key")
        })
        .await;
    push_grants(&world, "talk", "lockbox.key").await;
    held(&world, "chat", "which nobody granted").await;
    let secrets = world.handle.instance().secrets.clone();
    world
        .until("only the other reader has it", async || {
            let values = secrets.read().unwrap();
            let has = |path: &str| values.get(path).is_some_and(|it| it.expose(Purpose::RequestBody) == new);
            !has("apps.chat.lockboxKey") && has("apps.talk.lockboxKey")
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_a_key_is_looked_at_again_when_its_owner_goes_and_when_it_comes_back() {
    let (mut world, key) = world().await;
    let manifest = world.file("main", OWNER).await.unwrap();
    let seen = async |world: &World, head| {
        world
            .until("the reader was looked at", async || {
                world.state("chat").await.is_some_and(|state| state.commit.as_ref() == Some(&head))
            })
            .await;
    };
    world.in_a_clone("git rm -rq apps/lockbox .wild/generated/lockbox.yaml && git commit -qm 'away' && git push -q");
    seen(&world, world.head().await).await;
    world.in_a_clone("git revert --no-edit HEAD && git push -q");
    seen(&world, world.head().await).await;
    is_read(&world, &key).await;
    // What is pushed while nobody listens is heard of at the next start.
    world.stop().await;
    let text = manifest.replace("exports: [key, spare]\n", "exports: [spare]\n");
    world.push("while nobody listens", &[(OWNER, Some(&text))]).await;
    world.restart().await;
    held(&world, "chat", "which exports only spare").await;
    is_unread(&world, &key).await;
}
