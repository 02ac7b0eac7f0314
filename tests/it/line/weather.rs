//! Faults between us and the cluster: a revision ends as without them, once, and nothing says so before it is true.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::proxy::{Fault, Proxy, To};
use crate::world::World;

const LIST: &str = "namespace: plain\nresources: [config.yaml, web.yaml]\n";
const CONFIG_PATH: &str = "/api/v1/namespaces/plain/configmaps/config";
const WEB_PATH: &str = "/apis/apps/v1/namespaces/plain/deployments/web";

fn config(version: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: config}}\ndata: {{version: \"{version}\"}}\n")
}

fn web(version: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 1\n  selector: {{matchLabels: {{app: web}}}}\n  \
         template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - name: web\n        image: web:{version}\n"
    )
}

/// What goes wrong, how often, and whether already when the daemon starts.
struct Row {
    to: To,
    fault: Fault,
    times: usize,
    at_start: bool,
}

const fn row(to: To, fault: Fault, times: usize) -> Row {
    Row { to, fault, times, at_start: false }
}

const fn at_start(to: To, fault: Fault, times: usize) -> Row {
    Row { to, fault, times, at_start: true }
}

/// F23, F24, F27, F28 and F34 to F37: what an API server and the way to it do in bad weather.
const ROWS: [Row; 13] = [
    row(To::Writes, Fault::LoseAnswer, 1),
    row(To::Writes, Fault::LoseAnswer, 3),
    row(To::Writes, Fault::Reset, 1),
    row(To::Writes, Fault::Refuse(409, ""), 2),
    row(To::Writes, Fault::Refuse(429, "1"), 1),
    row(To::Writes, Fault::Refuse(429, "garbage"), 1),
    row(To::Writes, Fault::Refuse(429, "1000000000000"), 1),
    row(To::Writes, Fault::Refuse(429, "3600"), 1),
    row(To::Writes, Fault::Refuse(500, ""), 1),
    row(To::Writes, Fault::Refuse(503, ""), 4),
    at_start(To::Watches, Fault::Refuse(410, ""), 2),
    at_start(To::Watches, Fault::Reset, 4),
    at_start(To::All, Fault::Reset, 6),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_ends_the_same_in_any_weather() {
    join_all(ROWS.iter().map(check)).await;
}

async fn check(row: &Row) {
    let Row { to, fault, times, at_start } = row;
    let what = format!("{fault:?} to {to:?}, {times} times");
    let mut world = World::start(&["stonedb 15.5"]).await;
    let (config_1, web_1) = (config("1"), web("1"));
    let files = [
        ("apps/plain/kustomization.yaml", Some(LIST)),
        ("apps/plain/config.yaml", Some(config_1.as_str())),
        ("apps/plain/web.yaml", Some(web_1.as_str())),
    ];
    world.push("plain", &files).await;
    world.healthy("plain").await;
    let before = [world.get(CONFIG_PATH).await.unwrap(), world.get(WEB_PATH).await.unwrap()];
    let proxy = Proxy::start(world.sandbox.url()).await;
    if *at_start {
        proxy.spoil(*to, *fault, *times);
    }
    world.restart_through(proxy.url()).await;
    if !at_start {
        world.healthy("plain").await;
        proxy.spoil(*to, *fault, *times);
    }
    let (config, web) = (config("2"), web("2"));
    let changes = [("apps/plain/config.yaml", Some(config.as_str())), ("apps/plain/web.yaml", Some(web.as_str()))];
    let head = world.push("the second revision", &changes).await;
    let is_there = |config: &Value, web: &Value| {
        config.pointer("/data/version") == Some(&json!("2"))
            && web.pointer("/spec/template/spec/containers/0/image") == Some(&json!("web:2"))
    };
    world
        .until(&format!("{what}: the revision is applied"), async || {
            let said = world.status(&head, "wild/deploy").await.as_deref() == Some("success");
            let live = [world.get(CONFIG_PATH).await.unwrap(), world.get(WEB_PATH).await.unwrap()];
            let done = is_there(&live[0], &live[1]);
            assert!(done || !said, "{what}: success was said too early");
            said && done
        })
        .await;
    let after = [world.get(CONFIG_PATH).await.unwrap(), world.get(WEB_PATH).await.unwrap()];
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.pointer("/metadata/uid"), after.pointer("/metadata/uid"), "{what}: it was made anew");
    }
    let generation = |object: &Value| object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap();
    assert_eq!(generation(&after[1]), generation(&before[1]) + 1, "{what}: it was changed more than once");
    assert_eq!(proxy.hits(), *times, "{what}: the fault was not met");
    world.stop().await;
}
