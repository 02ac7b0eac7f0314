//! Workloads whose config changes start their pods anew, and nothing else does; those that are taken over go on.
//!
//! Also read by `tests/live/order.rs`.

use rewild::model::Request;
use serde_json::{Value, json};

use crate::world::{Ground, World, app};

/// The app, which is its namespace as well.
const APP: &str = "restarts";

fn deployment(name: &str, annotation: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, annotations: {{{annotation}}}}}\nspec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  \
         template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n      containers:\n      - name: web\n        image: registry.example.invalid/web:1\n        \
         envFrom: [{{configMapRef: {{name: config}}}}]\n"
    )
}

async fn push<C: Ground>(world: &World<C>, label: &str, value: &str, names: &[&str]) {
    let config = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: config, labels: {{say: {label}}}}}\ndata: {{key: {value}}}\n"
    );
    let mut files = vec![("config.yaml".to_owned(), config)];
    for name in names {
        let annotation = if *name == "calm" { "rewild.dev/restart-on-change: \"false\"" } else { "" };
        files.push((format!("{name}.yaml"), deployment(name, annotation)));
    }
    let list: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
    files.push(("kustomization.yaml".into(), format!("namespace: {APP}\nresources: [{}]\n", list.join(", "))));
    let files: Vec<(String, String)> =
        files.into_iter().map(|(file, text)| (format!("apps/{APP}/{file}"), text)).collect();
    let changes: Vec<(&str, Option<&str>)> =
        files.iter().map(|(file, text)| (file.as_str(), Some(text.as_str()))).collect();
    let head = world.push("restarts", &changes).await;
    let applied = async || world.state(APP).await.is_some_and(|state| state.applied == Some(head.clone()));
    world.until("it is applied", applied).await;
}

async fn live<C: Ground>(world: &World<C>, name: &str) -> Value {
    let path = format!("/apis/apps/v1/namespaces/{APP}/deployments/{name}");
    world.get(&path).await.unwrap_or_default()
}

async fn generation<C: Ground>(world: &World<C>, name: &str) -> i64 {
    live(world, name).await["metadata"]["generation"].as_i64().unwrap()
}

/// Returns the names of the pods of a workload that are there to stay.
async fn pods<C: Ground>(world: &World<C>, name: &str) -> Vec<String> {
    let path = format!("/api/v1/namespaces/{APP}/pods?labelSelector=app%3D{name}");
    let list = world.get(&path).await.unwrap();
    let stays = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null();
    let items = list["items"].as_array().unwrap();
    items.iter().filter(stays).map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

pub(crate) async fn pods_follow_their_config<C: Ground>(world: &World<C>) {
    push(world, "a", "one", &["eager", "calm"]).await;
    world.healthy(APP).await;
    let (eager, calm) = (pods(world, "eager").await, pods(world, "calm").await);
    assert_eq!((eager.len(), calm.len()), (1, 1));

    push(world, "b", "one", &["eager", "calm"]).await;
    world.healthy(APP).await;
    assert_eq!(generation(world, "eager").await, 1, "a label is no content");

    push(world, "b", "two", &["eager", "calm"]).await;
    let is_new = async || {
        let now = pods(world, "eager").await;
        now.len() == 1 && now != eager
    };
    world.until("the pods are others", is_new).await;
    world.healthy(APP).await;
    assert_eq!((generation(world, "eager").await, generation(world, "calm").await), (2, 1));
    assert_eq!(pods(world, "calm").await, calm);

    let taken: Value = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "taken"},
        "spec": {"selector": {"matchLabels": {"app": "taken"}}, "template": {
            "metadata": {"labels": {"app": "taken"}},
            "spec": {"containers": [{"name": "web", "image": "registry.example.invalid/web:1",
                "envFrom": [{"configMapRef": {"name": "config"}}]}]}}},
    });
    world.make(&format!("/apis/apps/v1/namespaces/{APP}/deployments"), taken).await;
    world.until("its pod is there", async || pods(world, "taken").await.len() == 1).await;
    let (before, spec) = (pods(world, "taken").await, live(world, "taken").await["spec"].clone());
    let settings = world.file("main", ".wild/config.yaml").await.unwrap();
    world.push("adopt", &[(".wild/config.yaml", Some(&format!("{settings}adopt: unowned\n")))]).await;
    push(world, "b", "two", &["eager", "calm", "taken"]).await;
    world.healthy(APP).await;
    let now = live(world, "taken").await;
    assert_eq!(now["metadata"]["labels"]["rewild.dev/app"], APP, "{now}");
    assert_eq!((&now["spec"], pods(world, "taken").await), (&spec, before.clone()));
    let taken = generation(world, "taken").await;
    world.done(Request::Deploy { app: app(APP), approve: None, recreate: Vec::new(), adopt: false }).await;
    assert_eq!(generation(world, "taken").await, taken, "a second look changes nothing");

    push(world, "b", "three", &["eager", "calm", "taken"]).await;
    let is_new = async || {
        let now = pods(world, "taken").await;
        now.len() == 1 && now != before
    };
    world.until("the pods that were taken over are others", is_new).await;
    world.healthy(APP).await;
    assert_eq!((generation(world, "eager").await, generation(world, "taken").await), (3, taken + 1));
    assert!(world.state(APP).await.unwrap().drift.is_empty());
}

/// A key that is lost costs an apply of every object and starts no pod, with the store and without it.
pub(crate) async fn a_lost_key_restarts_nothing<C: Ground>(world: &mut World<C>) {
    let names = ["eager", "calm", "taken"];
    for with_store in [true, false] {
        let before = states(world, &names).await;
        let hash = hash_of(world, "taken").await;
        if with_store {
            world.restart_without_key().await;
        } else {
            world.restart_without_key_and_store().await;
        }
        world.until("it was applied with another key", async || hash_of(world, "taken").await != hash).await;
        world.healthy(APP).await;
        world.look_again(APP).await;
        assert_eq!(states(world, &names).await, before, "with its store: {with_store}");
    }
    let before = states(world, &["eager", "taken"]).await;
    push(world, "b", "four", &names).await;
    let is_new = async || {
        let now = states(world, &["eager", "taken"]).await;
        now.iter().zip(&before).all(|((_, now), (_, before))| now.len() == 1 && now != before)
    };
    world.until("the pods follow their config again", is_new).await;
    world.healthy(APP).await;
}

/// Returns what is wanted of workloads, and their pods.
async fn states<C: Ground>(world: &World<C>, names: &[&str]) -> Vec<(Value, Vec<String>)> {
    let mut states = Vec::new();
    for name in names {
        states.push((live(world, name).await["spec"].clone(), pods(world, name).await));
    }
    states
}

async fn hash_of<C: Ground>(world: &World<C>, name: &str) -> Value {
    live(world, name).await["metadata"]["annotations"]["rewild.dev/hash"].clone()
}
