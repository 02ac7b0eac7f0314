//! The branch moves between the plan of a pass and its writes, while the daemon stands still or is gone: what was planned for the commit before
//! is not what is there in the end. And it moves very often.
//!
//! `WILD_LONG` pushes ten thousand times. Not here: kills at points of a pass (`mod.rs`), a gate that only ends a daemon (`stress.rs`).

use std::path::Path;

use rewild::git::Layout;
use rewild::sandbox::Sandbox;
use rustix::process::Signal;

use super::child::{DEADLINE, POLL, git};
use super::home::{Cluster, Home, ID, LIFE, make_upstream};
use super::sandbox;
use super::stress::Gated;

const CACHE: &str = "/apis/apps/v1/namespaces/quickcache/deployments/quickcache";
const FILE: &str = "apps/quickcache/deployment.yaml";

/// Pushes of an ordinary run, and of a long one.
const PUSHES: [usize; 2] = [150, 10_000];
/// By how much more memory the daemon may hold after the storm than before it.
const MOST_GROWTH: u64 = 96 * 1024 * 1024;

/// What becomes of the daemon while its plan is made and nothing of it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meanwhile {
    /// It goes on as soon as the branch has moved.
    Waits,
    /// It is stopped by a signal, and goes on later.
    Stands,
    /// It is killed and started again.
    Dies,
}

/// How the branch moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Move {
    /// A later commit says something else of the same object.
    On,
    /// It goes back to what was before.
    Back,
}

/// Commits another number of replicas in a person's clone and pushes it. Returns the commit.
fn push(root: &Path, replicas: u32) -> String {
    let clone = root.join("clone");
    let text = std::fs::read_to_string(clone.join(FILE)).unwrap();
    let line = text.lines().find(|line| line.trim_start().starts_with("replicas:")).unwrap();
    let (indent, _) = line.split_once("replicas:").unwrap();
    std::fs::write(clone.join(FILE), text.replace(line, &format!("{indent}replicas: {replicas}"))).unwrap();
    git(root, "clone", &["commit", "-qam", &format!("{replicas} replicas")]);
    git(root, "clone", &["push", "-q", "origin", "HEAD:main"]);
    git(root, "clone", &["rev-parse", "HEAD"]).trim().to_owned()
}

async fn replicas<C: Cluster>(home: &Home<C>) -> Option<u64> {
    home.cluster.read(CACHE).await?["spec"]["replicas"].as_u64()
}

/// Returns what the last status of a commit says.
async fn said<C: Cluster>(home: &Home<C>, commit: &str) -> Vec<(String, String)> {
    let commit = rewild::model::CommitId::parse(commit).unwrap();
    let statuses = home.asked(async |store| store.statuses(&home.id, &commit).await.unwrap()).await;
    statuses.into_iter().map(|status| (status.state, status.description)).collect()
}

async fn until(what: &str, log: impl Fn() -> String, condition: impl AsyncFn() -> bool) {
    let mut tick = tokio::time::interval(POLL);
    let met = async {
        while !condition().await {
            tick.tick().await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, met).await.is_ok(), "{what}\n{}", log());
}

async fn check(above: &Path, meanwhile: Meanwhile, moved: Move) {
    let what = format!("{meanwhile:?}, the branch moves {moved:?}");
    let name = format!("{meanwhile:?}-{moved:?}");
    let mut home = Home::start(above, &name, Layout::Bare, Gated::start(usize::MAX).await).await;
    for step in &LIFE[..2] {
        home.act(step, false).await;
        assert_eq!(home.quiet(step).await, None, "{what}\n{}", home.wild.log());
    }
    git(&home.root, "clone", &["pull", "-q", "--ff-only", "origin", "main"]);
    let before = git(&home.root, "clone", &["rev-parse", "HEAD"]).trim().to_owned();

    home.cluster.close_at(1);
    let planned = push(&home.root, 3);
    home.cluster.closed().await;
    if meanwhile == Meanwhile::Stands {
        home.wild.signal(Signal::STOP);
    }
    let (head, wanted) = match moved {
        Move::On => (push(&home.root, 5), 5),
        Move::Back => {
            git(&home.root, "clone", &["push", "-qf", "origin", &format!("{before}:main")]);
            (before, 1)
        }
    };
    match meanwhile {
        Meanwhile::Waits => {}
        Meanwhile::Stands => home.wild.signal(Signal::CONT),
        Meanwhile::Dies => {
            home.wild.signal(Signal::KILL);
            home.wild.die().await;
        }
    }
    home.cluster.release();
    if meanwhile == Meanwhile::Dies {
        home.wild.start().await;
    }

    assert_eq!(home.quiet(&LIFE[1]).await, None, "{what}\n{}", home.wild.log());
    let log = || home.wild.log();
    until(&format!("{what}: what the head says is there"), log, async || replicas(&home).await == Some(wanted)).await;
    let is_told = async || said(&home, &head).await.iter().any(|(state, _)| state == "success");
    until(&format!("{what}: the head is a success"), log, is_told).await;
    assert_eq!(replicas(&home).await, Some(wanted), "{what}");
    let of_planned = said(&home, &planned).await;
    assert!(of_planned.iter().all(|(state, _)| state != "success" && state != "pending"), "{what}: {of_planned:?}");
    assert!(home.wild.stop().await.success(), "{what}\n{}", home.wild.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_moves_between_plan_and_writes_ends_as_its_head_says() {
    let directory = tempfile::tempdir().unwrap();
    make_upstream(directory.path()).await;
    for meanwhile in [Meanwhile::Waits, Meanwhile::Stands, Meanwhile::Dies] {
        for moved in [Move::On, Move::Back] {
            check(directory.path(), meanwhile, moved).await;
        }
    }
}

/// Returns how much memory the daemon holds that works below a directory.
fn memory(root: &Path) -> u64 {
    let lock = std::fs::read_to_string(root.join("state/instances").join(ID).join("lock")).unwrap();
    let pid = lock.strip_prefix("pid ").and_then(|rest| rest.split(' ').next()).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_pushes_ends_as_the_last_one_says_and_leaves_no_more_than_it_must() {
    let directory = tempfile::tempdir().unwrap();
    make_upstream(directory.path()).await;
    let mut home: Home<Sandbox> = Home::start(directory.path(), "home", Layout::Bare, sandbox().await).await;
    for step in &LIFE[..2] {
        home.act(step, false).await;
        assert_eq!(home.quiet(step).await, None, "{}", home.wild.log());
    }
    git(&home.root, "clone", &["pull", "-q", "--ff-only", "origin", "main"]);
    let rest = memory(&home.root);

    let pushes = PUSHES[usize::from(std::env::var_os("WILD_LONG").is_some())];
    let root = home.root.clone();
    let head = tokio::task::spawn_blocking(move || {
        (0..pushes).fold(String::new(), |_, number| push(&root, u32::try_from(number % 7 + 2).unwrap()))
    });
    let head = head.await.unwrap();
    let wanted = u64::try_from((pushes - 1) % 7 + 2).unwrap();
    let log = || home.wild.log();
    until("the last one is there", log, async || replicas(&home).await == Some(wanted)).await;
    let is_told = async || said(&home, &head).await.iter().any(|(state, _)| state == "success");
    until("the last one is a success", log, is_told).await;
    let unsent = async || home.asked(async |store| store.unsent_statuses(&home.id).await.unwrap().len()).await;
    until("everybody is told", log, async || unsent().await == 0).await;
    let grown = memory(&home.root).saturating_sub(rest);

    // Nothing is left half done, and no commit is left without an end.
    let operations = home.asked(async |store| store.operations(&home.id, &Default::default()).await.unwrap()).await;
    let open = operations.iter().filter(|it| it.ended.is_none()).count();
    println!("{pushes} pushes: the daemon grew by {} MiB, {} operations are listed", grown >> 20, operations.len());
    assert_eq!(open, 0);
    assert!(grown < MOST_GROWTH, "the daemon grew by {} MiB", grown >> 20);
    let log = git(&home.root, "clone", &["log", "--format=%H", &format!("-{}", pushes.min(150))]);
    for commit in log.lines() {
        let of_it = said(&home, commit).await;
        assert!(of_it.iter().all(|(state, _)| state != "pending"), "{commit}: {of_it:?}");
    }
    assert!(home.wild.stop().await.success());
}
