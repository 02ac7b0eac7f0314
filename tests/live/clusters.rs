//! Apps of one instance on two real control planes.
//!
//! Not here: the checks (`tests/it/clusters.rs`), the same on two sandboxes (`tests/it/line/clusters.rs`).

#[path = "../it/clusters.rs"]
mod checks;

use std::sync::Arc;

use crate::ground::Plane;
use crate::parts::{ControlPlane, Shape};
use crate::world::World;
use checks::{Pair, check};

#[tokio::test(flavor = "multi_thread")]
async fn apps_of_one_instance_live_on_two_real_clusters() {
    let (Some(near), Some(far)) = (ControlPlane::start(Shape::Full), ControlPlane::start(Shape::Full)) else { return };
    let [near, far] = [near, far].map(|plane| Plane(Arc::new(plane)));
    let pair = Pair::of(near, far).await;
    check(World::start_on(tempfile::tempdir().unwrap(), pair, "k3f7q2cccc", &["stonedb 15.5"]).await).await;
}
