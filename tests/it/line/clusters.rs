//! Apps of one instance on two sandboxes. The checks are those of `clusters.rs`.

use rewild::sandbox::{Sandbox, Settings};

use crate::clusters::{Pair, check};
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn apps_of_one_instance_live_on_two_clusters() {
    let sandbox = async || Sandbox::start(Settings::default()).await.unwrap();
    let pair = Pair::of(sandbox().await, sandbox().await).await;
    check(World::start_on(tempfile::tempdir().unwrap(), pair, "k3f7q2cccc", &["stonedb 15.5"]).await).await;
}
