//! A cluster that does not answer, and does again.

use std::time::Duration;

use rewild::model::{DataFate, Request};
use rewild::target::Patience;
use serde_json::Value;

use super::{Plain, config, has_version};
use crate::proxy::{Fault, Proxy, To};
use crate::world::{Ground, HASTY, World, app};

/// Watches are closed and doubted within seconds, so that an outage of some seconds is a long one.
const RESTLESS: Patience = Patience {
    haste: 1,
    stream: Duration::from_secs(2),
    idle: Duration::from_secs(4),
    fresh: Duration::from_secs(8),
    relist: Duration::from_secs(3),
    ..HASTY
};

/// The apps: one that is changed meanwhile, two that are deleted, and one of which nobody wants anything.
const APPS: [&str; 4] = ["away", "cutoff", "lost", "calm"];

/// §2.4, and what seed S3 asks of a deletion: nothing is said that nobody knows, and nobody has to ask again.
pub(super) async fn a_cluster_that_answers_again_is_brought_what_it_missed<C: Ground>(world: &mut World<C>) {
    for name in APPS {
        let plain = Plain { world, name };
        let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
        plain.done(&first).await;
    }
    let proxy = Proxy::start_with(&world.cluster.url(), world.cluster.client()).await;
    world.restart_hurried(proxy.url(), RESTLESS).await;
    for name in APPS {
        world.healthy(name).await;
    }
    let [plain, cut, lost, calm] = APPS.map(|name| Plain { world, name });
    proxy.spoil(To::All, Fault::Reset, usize::MAX);
    let second = plain.push(&[("config.yaml", &config("config", "2"))]).await;
    // A person takes the namespace of one app away meanwhile.
    let [cut_off, taken] = ["cutoff", "lost"].map(|name| format!("/api/v1/namespaces/{name}"));
    world.try_delete(&taken).await;
    plain.until("a namespace is gone", &taken, Value::is_null).await;
    for name in [cut.name, lost.name] {
        let deleted = Request::Delete { app: app(name), data: DataFate::Delete };
        world.handle.ask(deleted, "alice").await.unwrap();
        let path = format!("apps/{name}/config.yaml");
        world.until("the repository is clean", async || world.file("main", &path).await.is_none()).await;
    }
    for plain in [&plain, &cut, &lost, &calm] {
        let at = format!("(at {})", proxy.url().trim_end_matches('/'));
        plain
            .stands_for("TargetUnreachable", &["has not answered since 20", &at, "it is asked again every few seconds"])
            .await;
    }
    let state = world.state(plain.name).await.unwrap();
    assert_eq!(state.health, "unknown", "{}", state.health_reason);
    assert_ne!(world.status(&second, "wild/deploy").await.as_deref(), Some("success"));
    assert_eq!(cut.config("config").await["data"]["version"], "1");
    world.until("what the watches told is doubted", async || !is_trusted(world)).await;
    proxy.clear();
    plain.until("what it missed is there", &plain.path("v1", "configmaps", "config"), has_version("2")).await;
    plain.done(&second).await;
    for (name, path) in [(cut.name, &cut_off), (lost.name, &taken)] {
        world.until(&format!("{name} is gone"), async || world.state(name).await.is_none()).await;
        assert!(world.get(path).await.is_none(), "{path} is there");
    }
    // An app that nothing is to be done for is known to be well as soon as the watches tell again.
    calm.healthy().await;
}

/// Returns whether the watch of the kind that all have is trusted.
fn is_trusted<C: Ground>(world: &World<C>) -> bool {
    let text = world.daemon.metrics().encode();
    let mut lines = text.lines().filter(|line| line.starts_with("wild_watch_fresh{"));
    lines.any(|line| line.contains("kind=\"ConfigMap\"") && line.ends_with(" 1"))
}
