//! The sandbox answers as a real API server does, as far as recorded scripts go.
//!
//! `WILD_RECORD_API=<kubeconfig> WILD_RECORD_API_BARE=<kubeconfig> cargo test --test it scripts_are_recorded` records the answers
//! anew, on a whole cluster and on an API server alone.
//!
//! Not here: the comparison with a real API server of this machine (`tests/live/scripts.rs`).

use std::collections::BTreeSet;

use rewild::sandbox::{Sandbox, Settings};

use crate::scripts_api::{self, Clusters};

/// Scripts whose answers are known to differ, with the reason.
const DIFFERENT: [(&str, &str); 0] = [];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sandbox_answers_as_the_api_server_did() {
    let alone = Settings { controllers: BTreeSet::new(), ..Settings::default() };
    let (bare, full) = (Sandbox::start(alone).await.unwrap(), Sandbox::start(Settings::default()).await.unwrap());
    let clusters = Clusters {
        bare: scripts_api::client(&bare.kubeconfig()).await,
        full: scripts_api::client(&full.kubeconfig()).await,
    };
    let found = scripts_api::differences(&clusters, &DIFFERENT).await;
    bare.stop().await;
    full.stop().await;
    let count = found.len();
    assert!(found.is_empty(), "{count} scripts differ (- real, + sandbox)\n{}", found.join("\n"));
}

#[test]
fn every_recorded_answer_has_its_script() {
    for entry in std::fs::read_dir(scripts_api::folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "out") {
            assert!(path.with_extension("api").exists(), "{} belongs to no script", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_are_recorded() {
    let read = |variable: &str| std::env::var_os(variable).map(|path| std::fs::read_to_string(path).unwrap());
    let (Some(bare), Some(full)) = (read("WILD_RECORD_API_BARE"), read("WILD_RECORD_API")) else { return };
    let clusters = Clusters { bare: scripts_api::client(&bare).await, full: scripts_api::client(&full).await };
    scripts_api::record(&clusters).await;
}
