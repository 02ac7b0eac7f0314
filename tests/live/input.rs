//! Every bad input beside a live daemon again, on a real control plane.
//!
//! Not here: the rows and how one is played (`tests/it/bad_input`).

#![expect(clippy::panic, reason = "a test ends at the first surprise")]

#[path = "../it/bad_input/mod.rs"]
mod bad_input;
#[path = "../it/machine.rs"]
mod machine;

use crate::commits;
use crate::parts::{ControlPlane, Shape};
use bad_input::{ROWS, play};
use machine::Access;

/// Namespaces of the apps that the rows deploy.
const NAMESPACES: [&str; 4] = ["stonedb", "quickcache", "quillblog", "photobox"];

#[test]
fn bad_input_moves_nothing_on_a_real_cluster_and_is_said_as_on_the_sandbox() {
    let Some(plane) = ControlPlane::start(Shape::Full) else { return };
    let kubeconfig = std::fs::read_to_string(plane.kubeconfig()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for row in ROWS {
        let access = Access { kubeconfig: kubeconfig.clone(), url: plane.address(), http: plane.client() };
        runtime.block_on(play(access, row));
        // What one row deployed belongs to an instance that the next knows nothing of.
        let there = [&["delete", "namespace", "--ignore-not-found", "--wait"], &NAMESPACES[..]].concat();
        plane.kubectl(&there).unwrap();
    }
}
