//! Data that outlives its app, on the real controllers that bind claims to volumes.
//!
//! Not here: what is told (`tests/it/line/data.rs`, whose code this is), who makes volumes (`parts::caretaker`).

use std::sync::Arc;

use crate::ground::{Plane, start};
use crate::held_data::{data_comes_back, data_goes_in_the_end, what_was_pruned_comes_back};
use crate::parts::{ControlPlane, Shape};

#[tokio::test(flavor = "multi_thread")]
async fn what_was_deleted_comes_back_with_its_data_and_goes_in_the_end() {
    let Some(plane) = ControlPlane::start(Shape::Full) else { return };
    let plane = Plane(Arc::new(plane));
    // One app name, so one after the other.
    let world = start(&plane, "k3f7q2mddd").await;
    data_comes_back(&world).await;
    data_goes_in_the_end(&world).await;
    what_was_pruned_comes_back(&world).await;
    world.stop().await;
}
