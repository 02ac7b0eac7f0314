//! The three ways of finishing an update that conflicts: our request, `git merge` with our driver, `git merge` without it.

use rewild::model::{Decision, Request, Side};

use super::{installed, update};
use crate::world::{World, app};

const SERVER: &str = "apps/photobox/server-deployment.yaml";
const GENERATED: &str = "refs/wild/generated/photobox";
/// A clone that was set up merges by our driver, which shows base as well.
const BY_DRIVER: &str = "wild hook install 2>/dev/null
    git fetch -q origin
    ! git merge -q --no-edit refs/wild/generated/photobox >/dev/null
    sed -i -e '/^|||||||/,/^>>>>>>>/d' -e '/^<<<<<<</d' apps/photobox/server-deployment.yaml";
/// A clone as git makes it.
const BY_PLAIN_GIT: &str = "git fetch -q origin refs/wild/generated/photobox
    ! git merge -q --no-edit FETCH_HEAD >/dev/null
    sed -i -e '/^=======/,/^>>>>>>>/d' -e '/^<<<<<<</d' apps/photobox/server-deployment.yaml";

/// A person edits a Deployment, and a new version changes the same field and others.
async fn with_a_waiting_update() -> World {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.in_a_clone(&format!("sed -i 's/cpu: 100m/cpu: 200m/' {SERVER} && git commit -qam more && git push -q"));
    world.healthy("photobox").await;
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    assert_eq!(world.state("photobox").await.unwrap().conflicts, 1);
    world
}

/// Finishes the merge in a clone, keeping ours in the one place that is open, and pushes it to a branch.
fn finish(world: &World, way: &str, branch: &str) {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_wild")).parent().unwrap().display().to_string();
    world.in_a_clone(&format!(
        "export PATH=\"{program}:$PATH\"
        {way}
        ! grep -q '^[<=>|]\\{{7\\}}' {SERVER}
        test \"$(git diff --name-only --diff-filter=U)\" = {SERVER}
        git add {SERVER} && git commit -q --no-edit && git push -q origin HEAD:{branch}"
    ));
}

fn rev_parse(world: &World, word: &str) -> String {
    let (ok, text) = world.git(&["rev-parse", "--verify", word]);
    assert!(ok, "{word}");
    text.trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_three_ways_end_in_one_tree_with_the_same_parents() {
    let world = with_a_waiting_update().await;
    let before = world.head().await.to_string();
    finish(&world, BY_DRIVER, "by-driver");
    finish(&world, BY_PLAIN_GIT, "by-plain-git");
    let decisions = vec![Decision { conflict: None, take: Side::Mine }];
    world.done(Request::Resolve { app: app("photobox"), decisions }).await;
    let generation = rev_parse(&world, GENERATED);
    for way in ["main", "by-driver", "by-plain-git"] {
        assert_eq!(rev_parse(&world, &format!("{way}^1")), before, "{way}");
        assert_eq!(rev_parse(&world, &format!("{way}^2")), generation, "{way}");
        let (same, text) = world.git(&["diff", "main", way, "--", ".", ":!config.yaml"]);
        assert!(same && text.is_empty(), "{way}: {text}");
    }
}

async fn is_finished_by(way: &str) {
    let world = with_a_waiting_update().await;
    let config = world.file("wild/update/photobox", "config.yaml").await;
    finish(&world, way, "main");
    world.until("nothing waits", async || world.state("photobox").await.unwrap().conflicts == 0).await;
    world
        .until("the branch of the update goes", async || {
            world.repository.head("wild/update/photobox").await.unwrap().is_none()
        })
        .await;
    world.healthy("photobox").await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("cpu: 200m") && text.contains("photobox/server:1.1"), "{text}");
    assert_eq!(world.file("main", "config.yaml").await, config, "the keys of the new version follow");
    let before = world.head().await;
    world.done(update("photobox")).await;
    assert_eq!(world.head().await, before, "there is nothing left to merge");
    assert_eq!(world.state("photobox").await.unwrap().conflicts, 0, "it is not asked again");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_merged_with_our_driver_is_finished() {
    is_finished_by(BY_DRIVER).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_merged_by_plain_git_is_finished() {
    is_finished_by(BY_PLAIN_GIT).await;
}
