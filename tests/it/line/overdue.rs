//! What time makes of health: pods that do not get up, a load balancer that does not answer, a workload that is never ready.

use std::time::Duration;

use serde_json::{Value, json};

use crate::both::{Plain, config, is_told, nowhere, workload};
use crate::commits::step;
use crate::world::World;

/// The clock that this test steps.
const CLOCK: usize = 1;

/// Lets time go by and the daemon look at its clock.
async fn pass(world: &World, seconds: u64) {
    step::<CLOCK>(Duration::from_secs(seconds));
    world.look_again("slow").await;
}

/// A deletion that nobody ends is told with what holds it and who placed that.
async fn a_deletion_is_held(world: &World) {
    let plain = Plain { world, name: "slow" };
    let (kept, held) = (config("kept", "1"), config("held", "1"));
    let first = plain.push(&[("kept.yaml", &kept), ("held.yaml", &held)]).await;
    // They stand in place of everything that the app had.
    plain.agree().await;
    plain.done(&first).await;
    let path = plain.path("v1", "configmaps", "held");
    let finalizer = |names: Value| json!({"metadata": {"finalizers": names}});
    world.patch_as("operator", &path, finalizer(json!(["example.org/hold"]))).await;
    let last = plain.push(&[("kept.yaml", &kept)]).await;
    plain.until("it is being deleted", &path, |live| live["metadata"]["deletionTimestamp"].is_string()).await;
    pass(world, 61).await;
    plain.stands_for("DeletionStuck", &["ConfigMap/held", "finalizer example.org/hold, placed by operator"]).await;
    world.patch_as("operator", &path, finalizer(json!(null))).await;
    plain.done(&last).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_its_way_for_too_long_fails_and_says_why() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    world.restart_stepped::<CLOCK>().await;
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: out}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n";
    let (web, lost) =
        (workload("Deployment", "web", ("web", "1"), ""), nowhere(&workload("Deployment", "lost", ("lost", "1"), "")));
    for held in ["out", "web"] {
        world.cluster.hold_ready("slow", held);
    }
    let plain = Plain { world: &world, name: "slow" };
    let head = plain.push(&[("out.yaml", service), ("web.yaml", &web), ("lost.yaml", &lost)]).await;
    for (object, says) in
        [("Service/out", "no load balancer"), ("Deployment/web", "0 of 1"), ("Deployment/lost", "0 of 1")]
    {
        is_told(&plain, object, "starting", says).await;
    }
    pass(&world, 31).await;
    is_told(&plain, "Deployment/lost", "failing", "is not scheduled: 0/1 nodes are available").await;
    is_told(&plain, "Deployment/web", "starting", "0 of 1").await;
    pass(&world, 5 * 60).await;
    is_told(&plain, "Service/out", "failing", "no load balancer answered").await;
    is_told(&plain, "Deployment/web", "starting", "0 of 1").await;
    pass(&world, 5 * 60).await;
    is_told(&plain, "Deployment/web", "failing", "it is not ready after 10 min: 0 of 1").await;
    assert_ne!(world.status(&head, "wild/deploy").await.as_deref(), Some("success"));
    for held in ["out", "web"] {
        world.cluster.release_ready("slow", held);
    }
    let found = workload("Deployment", "lost", ("lost", "1"), "");
    let last = plain.push(&[("out.yaml", service), ("web.yaml", &web), ("lost.yaml", &found)]).await;
    plain.done(&last).await;
    a_deletion_is_held(&world).await;
}
