//! The recorded scripts of API requests still hold on the real API server. `WILD_RECORD=1` records their answers anew.
//!
//! Not here: the same scripts on the sandbox (`tests/it/sandbox.rs`).

use crate::parts::{ControlPlane, Shape, is_recording};
use crate::scripts_api::{self, Clusters};

async fn client(plane: &ControlPlane) -> kube::Client {
    scripts_api::client(&std::fs::read_to_string(plane.kubeconfig()).unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_answers_as_recorded() {
    let (Some(bare), Some(full)) = (ControlPlane::start(Shape::Api), ControlPlane::shared()) else { return };
    let clusters = Clusters { bare: client(&bare).await, full: client(&full).await };
    if is_recording() {
        return scripts_api::record(&clusters).await;
    }
    let found = scripts_api::differences(&clusters, &[]).await;
    let count = found.len();
    assert!(found.is_empty(), "{count} scripts differ (- recorded, + now)\n{}", found.join("\n"));
}
