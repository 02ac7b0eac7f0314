//! A group of the sandbox that a proxy before it cannot serve.
//!
//! Not here: what must hold (`tests/it/partial.rs`), an aggregated API of a real server (`tests/live/partial.rs`).

use rewild::sandbox::{Controller, Sandbox};

use crate::partial::{Hidden, Hiding, check};
use crate::proxy::{Fault, Proxy, To};
use crate::world::World;

const SWEEP: &str = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: hidden}\nspec:\n  schedule: \"1 1 * * *\"\n  jobTemplate:\n    spec:\n      \
                     template:\n        spec:\n          restartPolicy: Never\n          containers: [{name: run, image: \"run:1\"}]\n";

impl Hiding for Sandbox {
    const HIDDEN: Hidden = Hidden { kind: "CronJob", text: SWEEP, api: "batch/v1", plural: "cronjobs" };

    type Veil = Proxy;

    async fn hide(world: &mut World<Self>) -> Proxy {
        world.cluster.stop_controller(Controller::Namespace);
        let proxy = Proxy::start(world.cluster.url()).await;
        proxy.spoil(To::Group("batch"), Fault::Refuse(503, ""), usize::MAX);
        world.restart_through(proxy.url()).await;
        proxy
    }

    async fn show(world: &World<Self>, veil: &Proxy) {
        assert!(veil.hits() > 0, "the fault was not met");
        veil.clear();
        world.cluster.start_controller(Controller::Namespace);
    }

    async fn is_stored(world: &World<Self>, namespace: &str) -> bool {
        world.get(&format!("/apis/batch/v1/namespaces/{namespace}/cronjobs/hidden")).await.is_some()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_seen_is_not_taken_for_gone() {
    check(&mut World::start(&["stonedb 15.5"]).await).await;
}
