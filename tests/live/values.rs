//! The slow audit on a real API server: nothing that the server does to an object counts as a difference, and a value that changes in its
//! store behind everybody's back is found.
//!
//! Not here: whose turn it is, and how much is asked (`tests/it/line/audit.rs`).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rewild::model::EventKind;
use serde_json::{Value, json};

use crate::commits::step;
use crate::ground::Plane;
use crate::order::{Plain, config, web};
use crate::world::app;

const HOUR: Duration = Duration::from_secs(3600);
/// What is there of the app: its namespace and four objects.
const OBJECTS: usize = 5;
const SERVICE: &str =
    "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n";
const INGRESS: &str = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec:\n  rules:\n  - host: web.example.org\n    http:\n      \
                       paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]\n";

/// Replaces a text by one as long in what the store holds of an object, as a damaged disk does.
async fn bend(plane: &Plane, key: &str, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let client = reqwest::Client::new();
    let ask = async |call: &str, body: Value| {
        let answer = client.post(format!("{}/v3/kv/{call}", plane.0.etcd())).body(body.to_string()).send();
        answer.await.unwrap().json::<Value>().await.unwrap()
    };
    let key = STANDARD.encode(format!("/registry/{key}"));
    let held = ask("range", json!({"key": key})).await;
    let mut bytes = STANDARD.decode(held["kvs"][0]["value"].as_str().unwrap()).unwrap();
    let at: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert_eq!(at.len(), 1, "{from} is in {key} not once");
    bytes[at[0]..at[0] + to.len()].copy_from_slice(to.as_bytes());
    ask("put", json!({"key": key, "value": STANDARD.encode(bytes)})).await;
}

/// Returns what the audit found.
async fn found(plain: &Plain) -> Vec<String> {
    let instance = plain.world.handle.instance();
    let events = instance.store.events(&instance.id, None, 500).await.unwrap();
    let found = events.into_iter().filter(|event| event.kind == EventKind::AuditMismatch);
    found.map(|event| event.detail).collect()
}

/// All objects are compared without a difference; one that is bent in the store is put back.
pub(crate) async fn audited(plane: &Plane) {
    let mut plain = Plain::start(plane, "k3f7q2mlll", "audited").await;
    plain.world.restart_stepped::<0>().await;
    let settings = plain.world.file("main", ".wild/config.yaml").await.unwrap();
    let settings = format!("{settings}audit: {{percentPerHour: 100}}\n");
    plain.world.push("audit all", &[(".wild/config.yaml", Some(&settings))]).await;
    let web = web("web", "1", "");
    let config = config("config", "", "straight");
    plain
        .push(&[("web.yaml", &web), ("service.yaml", SERVICE), ("ingress.yaml", INGRESS), ("config.yaml", &config)])
        .await;
    plain.healthy().await;
    let instance = plain.world.handle.instance();
    let hour = async || {
        let mut before: Vec<String> = Vec::new();
        let times = async || {
            let inventory = instance.store.inventory(&instance.id, &app(plain.name)).await.unwrap();
            inventory.records().map(|record| record.audited.clone()).collect::<Vec<_>>()
        };
        before.extend(times().await);
        step::<0>(HOUR);
        plain.world.look_again(plain.name).await;
        let is_done = async || {
            let now = times().await;
            now.len() == OBJECTS && now.iter().zip(&before).all(|(now, before)| now > before)
        };
        plain.world.until("all are compared", is_done).await;
    };
    hour().await;
    assert_eq!(found(&plain).await, Vec::<String>::new());
    // Who has written nothing yet looks closer at nothing that changes without a sign.
    plain.world.restart_stepped::<0>().await;
    plain.world.look_again(plain.name).await;
    bend(plane, "configmaps/audited/config", "straight", "crooked!").await;
    let version = async || plain.live("api/v1", "configmaps", "config").await["data"]["version"].clone();
    plain.world.until("the server shows it", async || version().await == json!("crooked!")).await;
    plain.world.look_again(plain.name).await;
    assert_eq!(version().await, json!("crooked!"), "nothing but the audit can see that");
    step::<0>(HOUR);
    plain.world.look_again(plain.name).await;
    plain.world.until("it is put back", async || version().await == json!("straight")).await;
    assert_eq!(found(&plain).await, ["ConfigMap/config data.version"]);
    plain.healthy().await;
    plain.world.stop().await;
}
