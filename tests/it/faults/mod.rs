//! The daemon is killed at named points and started again: it ends where one ends that nobody disturbed.
//!
//! The whole life of two apps is lived once undisturbed, then once for each point, killed at every step of that life that passes the
//! point. After each step both are compared. Not here: what the points are (`pipeline`).

pub(crate) mod chaos;
pub(crate) mod child;
mod clock;
pub(crate) mod home;
mod kills;
pub(crate) mod life;
mod moved;
pub(crate) mod seen;
mod shared;
mod shim;
mod stress;

use rewild::git::Layout;
use rewild::sandbox::{self, Controller, Sandbox};
use serde_json::Value;

use chaos::Halting;
use home::{CALLED_BACK, Cluster, LIFE};
use life::{Fault, Hits, Lives, compare};

/// Lives that are lived side by side.
const WIDTH: usize = 3;

impl Cluster for Sandbox {
    fn kubeconfig(&self) -> String {
        Self::kubeconfig(self)
    }

    async fn read(&self, path: &str) -> Option<Value> {
        let answer = reqwest::get(format!("{}{path}", self.url())).await.unwrap();
        if answer.status() == 404 { None } else { Some(answer.json().await.unwrap()) }
    }
}

impl Halting for Sandbox {
    fn halt(&self) {
        self.stop_controller(Controller::Deployment);
    }

    fn go_on(&self) {
        self.start_controller(Controller::Deployment);
    }
}

async fn sandbox() -> Sandbox {
    Sandbox::start(sandbox::Settings::default()).await.unwrap()
}

const fn once(point: &'static str) -> Fault {
    Fault { point, arrival: 1, times: 1 }
}

/// Steps of the life that end with the repository.
const COMMITS: [&str; 7] = ["add", "deploy", "update", "add and deploy", "resolve", "config", "delete"];
/// Steps of the life that change the cluster.
const WRITES: [&str; 7] = ["deploy", "customise", "update", "add and deploy", "resolve", "config", "delete"];

/// The nine steps of the line and the places between, each with steps of the life in which it must be hit.
const POINTS: [(&str, &[&str]); 12] = [
    ("accepted", &COMMITS),
    ("read", &COMMITS),
    ("merge", &COMMITS),
    ("compile", &COMMITS),
    ("commit", &COMMITS),
    ("between generation and branch", &COMMITS),
    ("observe", &WRITES),
    ("plan", &WRITES),
    ("apply", &WRITES),
    ("written", &WRITES),
    ("record", &WRITES),
    ("broadcast", &WRITES),
];

fn assert_hit(fault: Fault, hits: &Hits, wanted: &[&str]) {
    let missed: Vec<_> = wanted.iter().filter(|step| !hits.contains(*step)).collect();
    assert!(missed.is_empty(), "{} was not reached in {missed:?}, only in {hits:?}", fault.point);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_killed_at_any_step_of_the_line_ends_where_an_undisturbed_one_does() {
    let faults: Vec<Fault> = POINTS.into_iter().map(|(point, _)| once(point)).collect();
    let lives = Lives { life: &LIFE, layout: Layout::Bare, faults: &faults, width: WIDTH };
    for (fault, hits) in compare(lives, sandbox).await {
        let (_, wanted) = POINTS.into_iter().find(|(point, _)| *point == fault.point).unwrap();
        assert_hit(fault, &hits, wanted);
    }
}

/// Adding, deploying and deleting one app of six objects.
const SHORT: [usize; 2] = [4, 9];

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_killed_after_any_write_to_the_cluster_ends_where_an_undisturbed_one_does() {
    let life = SHORT.map(|step| LIFE[step]);
    let faults: Vec<Fault> = (1..=7).map(|arrival| Fault { arrival, ..once("written") }).collect();
    let lives = Lives { life: &life, layout: Layout::Bare, faults: &faults, width: WIDTH };
    for (fault, hits) in compare(lives, sandbox).await {
        // The app has six objects, so there is no seventh write, and the sixth was not the last by chance.
        assert_eq!(hits.contains("add and deploy"), fault.arrival <= 6, "write {}: {hits:?}", fault.arrival);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn data_comes_back_however_often_the_daemon_is_killed_on_the_way() {
    let kept = (1..=4).map(|arrival| Fault { arrival, ..once("kept") });
    let written = (1..=4).map(|arrival| Fault { arrival, ..once("written") });
    let others = ["commit", "observe", "apply", "record"].map(once);
    let faults: Vec<Fault> = kept.chain(written).chain(others).collect();
    let lives = Lives { life: &CALLED_BACK, layout: Layout::Bare, faults: &faults, width: WIDTH };
    for (fault, hits) in compare(lives, sandbox).await {
        let wanted: &[&str] = if fault.point == "kept" { &["delete with data"] } else { &["delete with data", "undo"] };
        assert_hit(fault, &hits, wanted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_dies_again_and_again_at_the_same_point_ends_where_an_undisturbed_one_does() {
    let life = SHORT.map(|step| LIFE[step]);
    let again = |point| Fault { times: 3, ..once(point) };
    let faults =
        ["read", "commit", "between generation and branch", "apply", "written", "record", "broadcast"].map(again);
    let lives = Lives { life: &life, layout: Layout::Bare, faults: &faults, width: WIDTH };
    for (fault, hits) in compare(lives, sandbox).await {
        assert_hit(fault, &hits, &["add and deploy", "delete"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_work_tree_follow_the_branch_after_the_daemon_died_between_the_two() {
    let life = [0, 1, 8].map(|step| LIFE[step]);
    let faults = ["between branch and files", "observe"].map(once);
    let lives = Lives { life: &life, layout: Layout::WorkTree, faults: &faults, width: WIDTH };
    for (fault, hits) in compare(lives, sandbox).await {
        assert_hit(fault, &hits, &["deploy", "config"]);
    }
}

/// Rounds of an ordinary run.
const ROUNDS: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn after_any_chaos_the_cluster_is_as_the_last_commit_says() {
    chaos::check(&sandbox().await, ROUNDS).await;
}
