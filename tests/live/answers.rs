//! Answers of a real API server that are none, and a server whose store stands still.
//!
//! Not here: the checks that run on the sandbox as well (`tests/it/answers.rs`).

#[path = "../it/answers.rs"]
mod checks;

use std::sync::Arc;

use rewild::target::{Reachability, Target};

use crate::ground::Plane;
use crate::parts::{ControlPlane, Shape, until};
use crate::world::HASTY;
use checks::{Behind, behind};

/// Uses a control plane of its own, because it stops the store behind it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_silent_where_its_store_stands_still_and_not_where_a_write_is_slow() {
    let Some(plane) = ControlPlane::start(Shape::Api) else { return };
    let plane = Plane(Arc::new(plane));
    checks::a_server_from_which_nothing_comes_is_asked(&plane).await;
    checks::a_process_that_stood_still_listens_anew(&plane).await;
    checks::the_set_of_another_tool_is_left_alone(&plane).await;
    checks::a_watch_begins_anew_after_its_version_is_forgotten(&plane).await;
    checks::a_list_that_grows_too_old_comes_without_pages(&plane).await;
    checks::a_deletion_is_asked_for_again(&plane).await;
    checks::a_slow_write_says_nothing_of_the_server(&plane).await;
    let behind = behind(&plane, "store", HASTY).await;
    let Behind { cluster, .. } = &behind;
    cluster.apply(&behind.request()).await.unwrap();
    let store = plane.0.program("etcd").unwrap();
    store.suspend();
    let refusal = cluster.apply(&behind.request()).await.unwrap_err();
    assert!(refusal.is_unreachable() && cluster.reachability().is_silent(), "{refusal}");
    for _ in 0..2 {
        // The server itself answers, and says that it is well.
        assert!(cluster.probe().await.is_err() && cluster.reachability().is_silent());
    }
    store.resume();
    until("the server answers", || plane.0.kubectl(&["get", "--raw", "/readyz"]).ok());
    cluster.probe().await.unwrap();
    assert_eq!(cluster.reachability(), Reachability::Reachable);
}
