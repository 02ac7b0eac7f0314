//! The recorded scripts of API requests still hold on the real API server. `WILD_RECORD=1` records their answers anew.
//!
//! Not here: the same scripts on the sandbox (`tests/it/sandbox.rs`).

use std::collections::BTreeSet;

use rewild::sandbox::{Sandbox, Settings};

use crate::parts::{ControlPlane, Shape, is_recording};
use crate::random::random_script;
use crate::scripts_api::player::Player;
use crate::scripts_api::script::Script;
use crate::scripts_api::{self, Clusters};

/// Random scripts of one run; `WILD_LONG` makes it more.
const SCRIPTS: u64 = 25;
const MANY_SCRIPTS: u64 = 1_000;
/// How often a random script must differ to be wrong.
const TRIES: usize = 2;

async fn client(plane: &ControlPlane) -> kube::Client {
    scripts_api::client(&std::fs::read_to_string(plane.kubeconfig()).unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_answers_as_recorded() {
    let (Some(bare), Some(full)) = (ControlPlane::start(Shape::Api), ControlPlane::shared()) else { return };
    // What every container says: nothing.
    std::fs::write(full.log_file(), "").unwrap();
    let clusters = Clusters { bare: client(&bare).await, full: client(&full).await };
    if is_recording() {
        return scripts_api::record(&clusters).await;
    }
    let found = scripts_api::differences(&clusters, &[]).await;
    let count = found.len();
    assert!(found.is_empty(), "{count} scripts differ (- recorded, + now)\n{}", found.join("\n"));
}

/// `WILD_SEED` plays a single one.
#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_thought_of_has_the_same_answers_on_the_sandbox() {
    let Some(plane) = ControlPlane::start(Shape::Api) else { return };
    let sandbox = Settings { controllers: BTreeSet::new(), ..Settings::default() };
    let sandbox = Sandbox::start(sandbox).await.unwrap();
    let (real, ours) = (client(&plane).await, scripts_api::client(&sandbox.kubeconfig()).await);
    let count = if std::env::var_os("WILD_LONG").is_some() { MANY_SCRIPTS } else { SCRIPTS };
    let seeds = match std::env::var("WILD_SEED") {
        Ok(seed) => seed.parse().map(|seed| seed..seed + 1).unwrap(),
        Err(_) => 0..count,
    };
    let mut wrong = Vec::new();
    for seed in seeds {
        let script = Script::parse(&random_script(seed)).unwrap();
        let name = format!("random-{seed}");
        // Managers stand in the order of whole seconds. Where one ends between two requests of only one of the clusters, an apply that changes
        // nothing else is a write there; it does not end at the same place twice.
        let mut differences = Vec::new();
        for _ in 0..TRIES {
            let (expected, found) = (
                Player::new(real.clone(), &name).play(&script).await,
                Player::new(ours.clone(), &name).play(&script).await,
            );
            if expected == found {
                break;
            }
            differences.push(scripts_api::difference(&expected, &found));
        }
        if differences.len() == TRIES {
            wrong.push(format!("WILD_SEED={seed}:\n{}", differences.join("\nand then\n")));
        }
    }
    sandbox.stop().await;
    assert!(wrong.is_empty(), "{} scripts differ (- real, + sandbox)\n{}", wrong.len(), wrong.join("\n"));
}
