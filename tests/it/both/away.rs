//! A cluster that does not answer, and does again.

use super::{Plain, config, has_version};
use crate::proxy::{Fault, Proxy, To};
use crate::world::{Ground, World};

/// §2.4: nothing is said that nobody knows, and nobody has to ask again.
pub(super) async fn a_cluster_that_answers_again_is_brought_what_it_missed<C: Ground>(world: &mut World<C>) {
    let plain = Plain { world, name: "away" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    let proxy = Proxy::start_with(&world.cluster.url(), world.cluster.client()).await;
    world.restart_through(proxy.url()).await;
    let plain = Plain { world, name: "away" };
    plain.healthy().await;
    proxy.spoil(To::All, Fault::Reset, usize::MAX);
    let second = plain.push(&[("config.yaml", &config("config", "2"))]).await;
    plain.stands_for("TargetUnreachable", &[]).await;
    let state = world.state(plain.name).await.unwrap();
    assert_eq!(state.health, "unknown", "{}", state.health_reason);
    assert_ne!(world.status(&second, "wild/deploy").await.as_deref(), Some("success"));
    proxy.clear();
    plain.until("what it missed is there", &plain.path("v1", "configmaps", "config"), has_version("2")).await;
    plain.done(&second).await;
}
