//! Events in the cluster about what became of apps.
//!
//! Not here: how often a series is written (`src/broadcast/kubernetes.rs`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
    told_of(world, NAME, reason).await
}

async fn told_of<C: Ground>(world: &World<C>, app: &str, reason: &str) -> Vec<Value> {
    let list = world.get(LIST).await.unwrap();
    let is_meant = |event: &&Value| {
        event["reportingController"] == "wild" && event["reason"] == reason && event["regarding"]["name"] == app
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
    no_value_of_a_secret_is_in_any(world).await;
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

/// I9: what somebody wrote into a Secret, and what a server says about a bad one, is told without a value.
async fn no_value_of_a_secret_is_in_any<C: Ground>(world: &World<C>) {
    const PLANTS: [&str; 3] = ["planted-mango-Fe21", "planted-nutmeg-Gy47", "planted-olive-Hk65"];
    let plain = Plain { world, name: "whispered" };
    let [value, edited, senseless] = PLANTS;
    let secret = |more: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: whisper}}\n{more}stringData: {{k: {value}}}\n")
    };
    let first = plain.push(&[("secret.yaml", &secret(""))]).await;
    plain.done(&first).await;
    let path = plain.path("v1", "secrets", "whisper");
    let before = world.get(&path).await.unwrap()["data"]["k"].clone();
    world.patch(&path, json!({"stringData": {"k": edited}})).await;
    plain.until("it is put back", &path, |live| live["data"]["k"] == before).await;
    plain.push(&[("secret.yaml", &secret(&format!("immutable: {senseless}\n")))]).await;
    plain.stands_for("ApplyFailed", &["Secret whispered/whisper"]).await;
    for reason in ["DriftDetected", "DeployFailed"] {
        let is_told = async || !told_of(world, plain.name, reason).await.is_empty();
        world.until(&format!("{reason} is told of the Secret"), is_told).await;
        let events = json!(told_of(world, plain.name, reason).await).to_string();
        assert!(events.contains("whisper"), "{events}");
        for plant in PLANTS.iter().flat_map(|plant| [(*plant).to_owned(), STANDARD.encode(plant)]) {
            assert!(!events.contains(&plant), "{plant} is shown: {events}");
        }
    }
    let last = plain.push(&[("secret.yaml", &secret(""))]).await;
    plain.done(&last).await;
}
