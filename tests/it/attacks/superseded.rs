//! Commits that another took over from: "before it was applied" is said only where no request of them can have arrived.
//!
//! Not here: the other verdicts (`line`).

use rewild::model::CommitId;

use crate::line::{add, deploy};
use crate::proxy::{Fault, Proxy, To};
use crate::world::{HASTY, World};

const STONEDB: &str = "apps/stonedb/statefulset.yaml";
const BEFORE: &str = "before it was applied";
const AFTER: &str = "after it had begun to be applied";

/// A world with an app, behind a proxy.
async fn world() -> (World, Proxy) {
    let mut world = World::start(&["stonedb 15.5"]).await;
    for name in ["stonedb", "quickcache"] {
        world.done(add(name, &[])).await;
        world.done(deploy(name)).await;
        world.healthy(name).await;
    }
    let proxy = Proxy::start(world.cluster.url()).await;
    world.restart_hurried(proxy.url(), HASTY).await;
    world.healthy("stonedb").await;
    (world, proxy)
}

/// Returns what is said about a commit.
async fn said(world: &World, commit: &CommitId) -> String {
    let instance = world.handle.instance();
    let statuses = instance.store.statuses(&instance.id, commit).await.unwrap();
    let deploy = statuses.into_iter().find(|status| status.context.starts_with("wild/deploy"));
    deploy.map(|status| status.description).unwrap_or_default()
}

/// Waits until a commit was taken over from, and expects what is said about that.
async fn is_said(world: &World, commit: &CommitId, expected: &str) {
    world.until("it is taken over from", async || said(world, commit).await.starts_with("Superseded by ")).await;
    let said = said(world, commit).await;
    assert!(said.contains(expected), "{commit}: {said}");
}

/// Pushes a change of a file that goes to the cluster as it is.
async fn push(world: &World, from: &str, to: &str) -> CommitId {
    let commit = world.edit(STONEDB, &format!("cpu: {from}"), &format!("cpu: {to}")).await;
    world.until("it is seen", async || !said(world, &commit).await.is_empty()).await;
    commit
}

async fn live(world: &World) -> String {
    world.get("/apis/apps/v1/namespaces/stonedb/statefulsets/stonedb").await.unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_which_no_request_was_sent_is_superseded_before() {
    let (mut world, proxy) = world().await;
    proxy.spoil(To::All, Fault::Refuse(503, "1"), usize::MAX);
    world.restart_hurried(proxy.url(), HASTY).await;
    let first = push(&world, "100m", "110m").await;
    let second = push(&world, "110m", "120m").await;
    is_said(&world, &first, BEFORE).await;
    proxy.clear();
    world.until("the second is applied", async || live(&world).await.contains("120m")).await;
    assert!(said(&world, &first).await.contains(BEFORE), "and nothing of the first was written since");
    world.until("it is healthy", async || said(&world, &second).await.contains("healthy")).await;
}

/// Supersedes a commit while its requests go wrong, and returns what is said about it then.
async fn superseded_in(fault: Fault) -> String {
    let (world, proxy) = world().await;
    proxy.spoil(To::Writes, fault, usize::MAX);
    let first = push(&world, "100m", "110m").await;
    world.until("a request is sent", async || proxy.hits() > 0).await;
    let second = push(&world, "110m", "120m").await;
    let said_then = said(&world, &first).await;
    proxy.clear();
    proxy.release();
    world.until("the second is applied", async || live(&world).await.contains("120m")).await;
    world.until("it is healthy", async || said(&world, &second).await.contains("healthy")).await;
    assert_eq!(said(&world, &first).await, said_then);
    said_then
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_requests_are_on_their_way_is_superseded_after() {
    for fault in [Fault::Delay, Fault::DelayAnswer, Fault::Hold] {
        let said = superseded_in(fault).await;
        assert!(said.contains(AFTER), "{fault:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_requests_have_no_answer_is_not_called_unwritten() {
    for fault in [Fault::LoseAnswer, Fault::Reset, Fault::Truncate] {
        let said = superseded_in(fault).await;
        assert!(!said.is_empty() && !said.contains(BEFORE), "{fault:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_process_had_begun_is_known_to_the_next() {
    let (mut world, proxy) = world().await;
    // An answer that is lost would make the commit a failed one, of which nobody says that it was superseded.
    proxy.spoil(To::Writes, Fault::Hold, usize::MAX);
    let first = push(&world, "100m", "110m").await;
    world.until("a request is sent", async || proxy.hits() > 0).await;
    world.stop().await;
    let second = world.edit(STONEDB, "cpu: 110m", "cpu: 120m").await;
    proxy.clear();
    proxy.release();
    world.restart_hurried(proxy.url(), HASTY).await;
    world.until("it is healthy", async || said(&world, &second).await.contains("healthy")).await;
    is_said(&world, &first, AFTER).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pushed_commit_and_the_one_that_was_made_of_it_share_what_was_begun() {
    let (world, proxy) = world().await;
    proxy.spoil(To::Writes, Fault::Delay, usize::MAX);
    let pushed = world.edit("config.yaml", "timezone: UTC", "timezone: Europe/Rome").await;
    world.until("a request is sent", async || proxy.hits() > 0).await;
    let made = world.head().await;
    assert_ne!(made, pushed);
    let second = push(&world, "100m", "120m").await;
    is_said(&world, &pushed, AFTER).await;
    is_said(&world, &made, AFTER).await;
    proxy.clear();
    proxy.release();
    world.until("it is healthy", async || said(&world, &second).await.contains("healthy")).await;
}
