//! The three ways of finishing an update that conflicts: our request, `git merge` with our driver, `git merge` without it.

use rewild::model::{Decision, Request, Take};

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

/// Where the person pushes to: the deployed branch, and the branch of the update goes with it.
const AND_DROP: &str = "main :wild/update/photobox";

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
    let decisions = vec![Decision::new(None, Take::Mine)];
    world.done(Request::Resolve { app: app("photobox"), decisions }).await;
    let generation = rev_parse(&world, GENERATED);
    for way in ["main", "by-driver", "by-plain-git"] {
        assert_eq!(rev_parse(&world, &format!("{way}^1")), before, "{way}");
        assert_eq!(rev_parse(&world, &format!("{way}^2")), generation, "{way}");
        let (same, text) = world.git(&["diff", "main", way, "--", ".", ":!config.yaml"]);
        assert!(same && text.is_empty(), "{way}: {text}");
    }
}

/// Finishes an update by git, goes back and updates again: it is not asked again.
async fn is_finished_by(way: &str, branch: &str) {
    let world = with_a_waiting_update().await;
    let before = world.head().await;
    let config = world.file("wild/update/photobox", "config.yaml").await;
    finish(&world, way, branch);
    world.until("nothing waits", async || world.state("photobox").await.unwrap().conflicts == 0).await;
    world
        .until("the branch of the update goes", async || {
            world.repository.head("wild/update/photobox").await.unwrap().is_none()
        })
        .await;
    world.until("the keys of the new version follow", async || world.file("main", "config.yaml").await == config).await;
    world.healthy("photobox").await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("cpu: 200m") && text.contains("photobox/server:1.1"), "{text}");
    let merged = world.head().await;
    world.done(update("photobox")).await;
    assert_eq!(world.head().await, merged, "there is nothing left to merge");
    is_not_asked_again(&world, before).await;
}

/// Goes back to a commit before the update and updates again.
async fn is_not_asked_again(world: &World, before: rewild::model::CommitId) {
    let kept = world.git(&["ls-tree", "-r", "--name-only", "refs/wild/resolutions", "photobox/"]).1;
    assert_eq!(kept.lines().count(), 1, "{kept}");
    world.done(Request::Rollback { app: app("photobox"), to: before, reason: String::new(), undoes: None }).await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("cpu: 200m") && text.contains("photobox/server:1.0"), "{text}");
    let id = kept.trim().rsplit('/').next().unwrap();
    world.done(update("photobox")).await;
    assert_eq!(world.repository.head("wild/update/photobox").await.unwrap(), None, "it is not asked again");
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("cpu: 200m") && text.contains("photobox/server:1.1"), "{text}");
    let message = world.git(&["log", "-1", "--format=%B", "main"]).1;
    assert!(message.contains(&format!("Wild-Resolution: {id} mine")), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_decided_by_request_is_not_asked_again() {
    let world = with_a_waiting_update().await;
    let before = world.head().await;
    let decisions = vec![Decision::new(None, Take::Mine)];
    world.done(Request::Resolve { app: app("photobox"), decisions }).await;
    is_not_asked_again(&world, before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_merged_with_our_driver_is_finished() {
    is_finished_by(BY_DRIVER, "main").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_merged_by_plain_git_is_finished() {
    is_finished_by(BY_PLAIN_GIT, "main").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_merged_by_plain_git_is_finished_also_if_its_branch_was_taken_away() {
    is_finished_by(BY_PLAIN_GIT, AND_DROP).await;
}

/// A second version comes while a person decides about the first.
async fn with_two_waiting_generations() -> (World, String) {
    let world = with_a_waiting_update().await;
    let (base, first) = (world.git(&["merge-base", "main", GENERATED]).1, rev_parse(&world, GENERATED));
    world.publish("photobox 2.0").await;
    world.done(update("photobox")).await;
    assert_eq!(world.state("photobox").await.unwrap().conflicts, 1);
    assert_eq!(rev_parse(&world, &format!("{GENERATED}~1")), first);
    assert_eq!(rev_parse(&world, &format!("{GENERATED}~2")), base.trim());
    assert_eq!(world.git(&["merge-base", "main", GENERATED]).1, base, "the chain is two ahead of the branch");
    let tip = rev_parse(&world, GENERATED);
    (world, tip)
}

/// Both versions are there, once, and nothing is left to merge.
async fn holds_both(world: &World, tip: &str) {
    world.healthy("photobox").await;
    assert_eq!(rev_parse(world, GENERATED), tip);
    assert!(world.git(&["merge-base", "--is-ancestor", tip, "main"]).0);
    let text = world.file("main", SERVER).await.unwrap();
    let parts = ["cpu: 200m", "photobox/server:2.0", "periodSeconds: 5", "memory: 768Mi"];
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    assert!(world.file("main", "apps/photobox/worker-deployment.yaml").await.is_some());
    assert_eq!(world.file("main", "apps/photobox/worker.yaml").await, None);
    let head = world.head().await;
    world.done(update("photobox")).await;
    assert_eq!(world.head().await, head, "there is nothing left to merge");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_generations_that_wait_are_finished_at_once_by_a_request() {
    let (world, tip) = with_two_waiting_generations().await;
    assert_eq!(rev_parse(&world, "wild/update/photobox^2"), tip);
    let decisions = vec![Decision::new(None, Take::Mine)];
    world.done(Request::Resolve { app: app("photobox"), decisions }).await;
    assert_eq!(rev_parse(&world, "main^2"), tip);
    holds_both(&world, &tip).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_generations_that_wait_are_finished_at_once_by_plain_git() {
    let (world, tip) = with_two_waiting_generations().await;
    finish(&world, BY_PLAIN_GIT, "main");
    world
        .until("nothing waits", async || {
            world.state("photobox").await.unwrap().conflicts == 0
                && world.repository.head("wild/update/photobox").await.unwrap().is_none()
        })
        .await;
    holds_both(&world, &tip).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_old_merges_chose_is_learned_when_the_ref_is_lost() {
    let world = with_a_waiting_update().await;
    let before = world.head().await;
    let decisions = vec![Decision::new(None, Take::Mine)];
    world.done(Request::Resolve { app: app("photobox"), decisions }).await;
    let kept = |world: &World| world.git(&["ls-tree", "-r", "--name-only", "refs/wild/resolutions"]).1;
    let names = kept(&world);
    assert!(world.git(&["update-ref", "-d", "refs/wild/resolutions"]).0);
    let ended = world.done(Request::Learn { app: app("photobox") }).await;
    assert_eq!(ended.message, "1 merge read, 1 new decision remembered");
    assert_eq!(kept(&world), names);
    is_not_asked_again(&world, before).await;
}
