//! Histories that people bend with plain git: squash merges, reverted updates, a lost ref of generations.

use rewild::model::{Decision, Request, Side};

use super::{installed, update};
use crate::world::{World, app};

const SERVER: &str = "apps/photobox/server-deployment.yaml";
const GENERATED: &str = "refs/wild/generated/photobox";

async fn with_a_waiting_update() -> World {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "cpu: 100m", "cpu: 200m").await;
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    assert_eq!(world.state("photobox").await.unwrap().conflicts, 1);
    world
}

/// Waits until the newest generation is in the history of the branch.
async fn joined(world: &World) {
    world
        .until("the generation is joined", async || world.git(&["merge-base", "--is-ancestor", GENERATED, "main"]).0)
        .await;
}

async fn subjects(world: &World, count: &str) -> String {
    world.git(&["log", "--first-parent", "--format=%s", count, "main"]).1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squashed_update_is_joined_and_its_conflict_is_not_asked_again() {
    let world = with_a_waiting_update().await;
    world.in_a_clone(
        "git merge --squash origin/wild/update/photobox
         git rm -q -f .wild/conflicts/photobox.yaml
         git commit -q -m 'take the update'
         git push -q origin main",
    );
    joined(&world).await;
    assert!(
        subjects(&world, "-2").await.starts_with("chore(photobox): join generation "),
        "{}",
        subjects(&world, "-3").await
    );
    let (same, _) = world.git(&["diff", "--quiet", "main~1", "main"]);
    assert!(same, "a join changes no file");
    world.until("nothing waits", async || world.state("photobox").await.unwrap().conflicts == 0).await;
    assert_eq!(world.repository.head("wild/update/photobox").await.unwrap(), None);
    world.healthy("photobox").await;
    let before = world.head().await;
    world.done(update("photobox")).await;
    assert_eq!(world.head().await, before, "there is nothing left to merge");
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("cpu: 200m") && text.contains("photobox/server:1.1"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reverted_update_is_held_and_comes_whole_when_asked_for_again() {
    let world = with_a_waiting_update().await;
    let decisions = vec![Decision { conflict: None, take: Side::Mine }];
    world.done(Request::Resolve { app: app("photobox"), decisions }).await;
    world.healthy("photobox").await;
    assert!(world.file("main", SERVER).await.unwrap().contains("photobox/server:1.1"));
    world.in_a_clone("git revert --no-edit -m 1 HEAD && git push -q origin main");
    world
        .until("the revert is joined", async || {
            subjects(&world, "-1").await.starts_with("chore(photobox): join generation ")
        })
        .await;
    world.healthy("photobox").await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("cpu: 200m") && text.contains("photobox/server:1.0"), "{text}");
    let record = world.file("main", ".wild/generated/photobox.yaml").await.unwrap();
    assert!(record.contains("wanted: \"1.0\""), "{record}");
    world.done(update("photobox")).await;
    let branch =
        world.repository.head("wild/update/photobox").await.unwrap().map_or("main", |_| "wild/update/photobox");
    assert!(world.file(branch, SERVER).await.unwrap().contains("photobox/server:1.1"), "the update comes again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_ref_of_generations_is_found_in_the_history_of_the_branch() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "replicas: 1", "replicas: 2").await;
    world.healthy("photobox").await;
    let generation = world.git(&["rev-parse", GENERATED]).1;
    assert!(world.git(&["update-ref", "-d", GENERATED]).0);
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    assert_eq!(world.git(&["rev-parse", &format!("{GENERATED}~1")]).1, generation, "the chain goes on where it was");
    joined(&world).await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("replicas: 2") && text.contains("photobox/server:1.1"), "{text}");
}
