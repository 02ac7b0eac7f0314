//! The daemon is killed while it deploys to a real control plane, and ends where an undisturbed one does.
//!
//! The steps, the comparison and the daemon are those of `tests/it/faults`; here they meet a real API server and real controllers. Not
//! here: every point in every step (`tests/it/faults`).

#![expect(clippy::panic, reason = "a test ends at the first surprise")]

#[path = "../it/faults/chaos.rs"]
mod chaos;
#[path = "../it/faults/child.rs"]
mod child;
#[path = "../it/faults/home.rs"]
mod home;
#[path = "../it/faults/life.rs"]
mod life;
#[path = "../it/faults/seen.rs"]
mod seen;

use std::sync::Arc;

use reqwest::Method;
use rewild::git::Layout;
use serde_json::Value;

use crate::ground::Plane;
use crate::parts::{ControlPlane, Shape};
use chaos::Halting;
use home::{CALLED_BACK, Cluster, LIFE, make_upstream};
use life::{Fault, Lives, compare, undisturbed};

/// The program that makes workloads ready.
const CONTROLLERS: &str = "kube-controller-manager";
/// Rounds of chaos in an ordinary run.
const ROUNDS: usize = 24;
/// Adding, deploying, changing and deleting an app, until nothing of it is left for the next life.
const LIFE_OF_ONE: [usize; 4] = [0, 1, 8, 10];

impl Cluster for Plane {
    fn kubeconfig(&self) -> String {
        self.0.whole_kubeconfig()
    }

    async fn read(&self, path: &str) -> Option<Value> {
        // The control plane has a runtime of its own.
        tokio::task::block_in_place(|| self.0.send(Method::GET, path, "application/json", None)).ok()
    }
}

impl Halting for Plane {
    fn halt(&self) {
        self.0.program(CONTROLLERS).unwrap().suspend();
    }

    fn go_on(&self) {
        self.0.program(CONTROLLERS).unwrap().resume();
    }
}

const fn at(point: &'static str, arrival: usize) -> Fault {
    Fault { point, arrival, times: 1 }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_killed_on_a_real_cluster_ends_where_an_undisturbed_one_does() {
    let Some(plane) = ControlPlane::start(Shape::Full) else { return };
    let plane = Plane(Arc::new(plane));
    // The app has four objects.
    let faults = [
        at("commit", 1),
        at("between generation and branch", 1),
        at("written", 1),
        at("written", 2),
        at("written", 3),
        at("written", 4),
        at("record", 1),
    ];
    let life = LIFE_OF_ONE.map(|step| LIFE[step]);
    // The first life of all makes our own namespace, which every later one finds.
    let rehearsal = tempfile::tempdir().unwrap();
    make_upstream(rehearsal.path()).await;
    undisturbed(&life, Layout::Bare, rehearsal.path(), plane.clone()).await;
    let lives = Lives { life: &life, layout: Layout::Bare, faults: &faults, width: 1 };
    for (fault, hits) in compare(lives, async || plane.clone()).await {
        assert!(hits.contains("deploy"), "{} {} was not reached: {hits:?}", fault.point, fault.arrival);
    }
    let faults = [at("kept", 1), at("kept", 2), at("written", 2)];
    let lives = Lives { life: &CALLED_BACK, layout: Layout::Bare, faults: &faults, width: 1 };
    for (fault, hits) in compare(lives, async || plane.clone()).await {
        assert!(hits.contains("delete with data"), "{} {} was not reached: {hits:?}", fault.point, fault.arrival);
    }
    // Nothing of the lives is left on the cluster.
    chaos::check(&plane, ROUNDS).await;
}
