//! Events in the cluster about what became of apps.
//!
//! Not here: how often a series is written (`src/broadcast/kubernetes.rs`).

use rewild::model::Request;
use rewild::target::Reachability;
use serde_json::{Value, json};

use super::{Plain, config};
use crate::proxy::{Fault, Proxy, To};
use crate::world::{Ground, World, app};

const NAME: &str = "noticed";
const LIST: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

/// Returns the Events of a reason about the namespace of the app.
async fn told<C: Ground>(world: &World<C>, reason: &str) -> Vec<Value> {
    let list = world.get(LIST).await.unwrap();
    let is_meant = |event: &&Value| {
        event["reportingController"] == "wild" && event["reason"] == reason && event["regarding"]["name"] == NAME
    };
    list["items"].as_array().unwrap().iter().filter(is_meant).cloned().collect()
}

/// Waits until a reason is told, and checks that it is one Event.
async fn is_told<C: Ground>(world: &World<C>, reason: &str, sort: &str, text: &str) {
    world.until(&format!("{reason} is told"), async || !told(world, reason).await.is_empty()).await;
    let events = told(world, reason).await;
    assert_eq!(events.len(), 1, "{events:#?}");
    let event = &events[0];
    assert_eq!((&event["type"], &event["regarding"]["kind"]), (&json!(sort), &json!("Namespace")));
    assert!(event["note"].as_str().unwrap().contains(text), "{event:#}");
    let namespace = world.get(&format!("/api/v1/namespaces/{NAME}")).await.unwrap();
    assert_eq!(event["regarding"]["uid"], namespace["metadata"]["uid"], "{event:#}");
}

/// §13: nothing is told unless the settings say so; then one Event for each reason, and nobody waits for it.
pub(super) async fn what_becomes_of_apps_is_told_in_the_cluster_where_somebody_wants_it<C: Ground>(
    world: &mut World<C>,
) {
    let proxy = Proxy::start_with(&world.cluster.url(), world.cluster.client()).await;
    world.restart_through(proxy.url()).await;
    let plain = Plain { world, name: NAME };
    let files = |version: &str| config("config", version);
    let first = plain.push(&[("config.yaml", &files("0"))]).await;
    plain.done(&first).await;
    world.set("kubernetesEvents: true\n").await;
    for version in ["1", "2", "3"] {
        let head = plain.push(&[("config.yaml", &files(version))]).await;
        plain.done(&head).await;
    }
    world.patch(&plain.path("v1", "configmaps", "config"), json!({"data": {"version": "by hand"}})).await;
    is_told(world, "DriftCorrected", "Normal", "noticed: the cluster is as git says again").await;
    is_told(world, "DriftDetected", "Warning", "noticed: not as in git: ConfigMap/config").await;
    is_told(world, "DeploySucceeded", "Normal", "noticed: every object is applied and healthy").await;
    let back = Request::Rollback { app: app(NAME), to: first, reason: String::new(), undoes: None };
    world.done(back).await;
    is_told(world, "RolledBack", "Normal", "an earlier revision").await;
    // A cluster that takes no Event takes everything else.
    proxy.spoil(To::WritesOf("/events"), Fault::Hold, usize::MAX);
    plain.push(&[("config.yaml", &files("4").replace("version:", "\"bad key\":"))]).await;
    plain.stands_for("ApplyFailed", &["bad key"]).await;
    world.until("an Event is on its way", async || proxy.hits() > 0).await;
    let mended = plain.push(&[("config.yaml", &files("5"))]).await;
    plain.done(&mended).await;
    let instance = world.handle.instance();
    assert!(instance.targets().all().all(|(_, target)| target.reachability() == Reachability::Reachable));
    assert_eq!(told(world, "DeployFailed").await, Vec::<Value>::new());
    world.restart().await;
}
