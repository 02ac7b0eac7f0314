//! Apps of one instance on several sandboxes: the checks of `clusters.rs`, clusters that come and go, and one that swallows what it is sent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rewild::http::{Direct, DirectRequest};
use rewild::sandbox::{Sandbox, Settings};
use rewild::target::{Access, Target};
use serde_json::{Value, json};

use crate::both::{Plain, config};
use crate::clusters::{Pair, check};
use crate::proxy::{Fault, Proxy, To};
use crate::world::{HASTY, World};

/// Clusters of an instance that has many.
const MANY: usize = 30;
/// More requests than a test sends.
const ALWAYS: usize = 1_000_000;
/// How long a list of clusters may take of which one is silent: a request is given up after a second, and this machine may be busy.
const BOUND: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn apps_of_one_instance_live_on_two_clusters() {
    let sandbox = async || Sandbox::start(Settings::default()).await.unwrap();
    let pair = Pair::of(sandbox().await, sandbox().await).await;
    check(World::start_on(tempfile::tempdir().unwrap(), pair, "k3f7q2cccc", &["stonedb 15.5"]).await).await;
}

/// Returns a kubeconfig of clusters, each with its address; the first one is the current one.
fn kubeconfig(clusters: &[(&str, &str)]) -> String {
    let named = |key: &str, of: &dyn Fn(&str, &str) -> Value| -> Value {
        clusters.iter().map(|(name, server)| json!({"name": name, key: of(name, server)})).collect()
    };
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": named("cluster", &|_, server| json!({"server": server})),
        "users": named("user", &|_, _| json!({})),
        "contexts": named("context", &|name, _| json!({"cluster": name, "user": name})),
        "current-context": clusters.first().map_or("", |(name, _)| name),
    })
    .to_string()
}

/// Returns what clusters the daemon knows, and what it says of them.
async fn clusters(world: &World) -> Vec<(String, Value)> {
    let answer = get(world, "/clusters").await;
    let told = |cluster: &Value| (cluster["name"].as_str().unwrap().to_owned(), cluster["reachable"].clone());
    answer["clusters"].as_array().unwrap().iter().map(told).collect()
}

fn first(world: &World) -> Arc<dyn Target> {
    world.handle.instance().targets().all().next().unwrap().1.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_daemon_takes_a_cluster_in_and_lets_go_of_one() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    let edge = Sandbox::start(Settings::default()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    let write = |clusters: &[(&str, &str)]| std::fs::write(&path, kubeconfig(clusters)).unwrap();
    let home = world.cluster.url().to_owned();
    write(&[]);
    world.restart_by(Access::File { path: path.clone(), context: String::new() }).await;
    world.set("apps:\n  away: {cluster: {context: edge}}\n").await;
    let near = Plain { world: &world, name: "near" };
    let away = Plain { world: &world, name: "away" };
    let pushed = [
        near.push(&[("setting.yaml", &config("setting", "1"))]).await,
        away.push(&[("setting.yaml", &config("setting", "1"))]).await,
    ];
    let says = |name: &'static str, what: &'static str| {
        let world = &world;
        async move {
            let told = async || world.state(name).await.is_some_and(|state| format!("{state:?}").contains(what));
            world.until(&format!("{name}: {what}"), told).await;
        }
    };
    says("near", "no cluster is known yet").await;
    // One after the other, without a restart.
    write(&[("home", &home)]);
    near.done(&pushed[0]).await;
    says("away", "ClusterUnknown").await;
    let before = first(&world);
    write(&[("home", &home), ("edge", edge.url())]);
    away.done(&pushed[1]).await;
    assert_eq!(clusters(&world).await, [("home".to_owned(), json!(true)), ("edge".to_owned(), json!(true))]);
    // What does not read is no news, and what is gone is let go, not looked for and not deleted.
    std::fs::write(&path, "").unwrap();
    write(&[("home", &home)]);
    says("away", "objects of away are on the cluster edge, which is not known any more").await;
    let metrics = world.daemon.metrics().encode();
    assert!(!metrics.contains("wild_target_up{target=\"home/edge\"}"), "{metrics}");
    let url = format!("{}/api/v1/namespaces/away/configmaps/setting", edge.url());
    assert!(reqwest::get(&url).await.unwrap().status().is_success());
    write(&[("home", &home), ("edge", edge.url())]);
    away.healthy().await;
    assert!(Arc::ptr_eq(&before, &first(&world)), "the cluster that stayed was left alone");
    world.stop().await;
    edge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_cluster_is_told_in_bounded_time_and_one_that_nobody_asked_is_no_answer() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    let hole = Proxy::start(world.cluster.url()).await;
    let home = world.cluster.url().to_owned();
    let text = kubeconfig(&[("home", &home), ("edge", hole.url())]);
    world.restart_by(Access::Hurried(text, HASTY)).await;
    hole.spoil(To::All, Fault::Hold, ALWAYS);
    let shown = get(&world, "").await;
    let edge = &shown["clusters"][1];
    assert_eq!((edge["name"].as_str(), &edge["reachable"]), (Some("edge"), &Value::Null), "{shown}");
    let begun = Instant::now();
    assert_eq!(clusters(&world).await, [("home".to_owned(), json!(true)), ("edge".to_owned(), json!(false))]);
    assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
    let why = get(&world, "").await["clusters"][1]["why"].as_str().unwrap().to_owned();
    assert!(why.contains("no answer within"), "{why}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_clusters_a_silent_one_delays_no_other() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    let mut sandboxes = Vec::new();
    for _ in 0..MANY {
        sandboxes.push(Sandbox::start(Settings::default()).await.unwrap());
    }
    let hole = Proxy::start(sandboxes[0].url()).await;
    let names: Vec<String> = (0..MANY).map(|number| format!("c{number}")).collect();
    let servers = std::iter::once(hole.url()).chain(sandboxes.iter().skip(1).map(Sandbox::url));
    let home = world.cluster.url().to_owned();
    let others = names.iter().map(String::as_str).zip(servers);
    let all: Vec<(&str, &str)> = std::iter::once(("home", home.as_str())).chain(others).collect();
    world.restart_by(Access::Hurried(kubeconfig(&all), HASTY)).await;
    let places = names.iter().map(|name| format!("  app-{name}: {{cluster: {{context: {name}}}}}\n"));
    world.set(&format!("apps:\n{}", places.collect::<String>())).await;
    hole.spoil(To::All, Fault::Hold, ALWAYS);
    let apps: Vec<String> = names.iter().map(|name| format!("app-{name}")).collect();
    let list = "resources: [setting.yaml]\n";
    let files = apps.iter().flat_map(|app| {
        let text = config("setting", "1").replace("name: setting", &format!("name: setting, namespace: {app}"));
        [(format!("apps/{app}/kustomization.yaml"), list.to_owned()), (format!("apps/{app}/setting.yaml"), text)]
    });
    let files: Vec<(String, String)> = files.collect();
    let changes: Vec<(&str, Option<&str>)> =
        files.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
    let pushed = world.push("one app on each cluster", &changes).await;
    world.until("one cluster is asked and does not answer", async || hole.hits() > 0).await;
    let is_applied = async |app: &String| {
        world.state(app).await.is_some_and(|state| state.applied.as_ref() == Some(&pushed) && state.intent == "applied")
    };
    world
        .until("all others are applied", async || {
            futures::future::join_all(apps.iter().skip(1).map(is_applied)).await.into_iter().all(|applied| applied)
        })
        .await;
    let held = world.state(&apps[0]).await;
    assert!(held.is_none_or(|state| state.applied.is_none()), "the silent one cannot be");
    world.stop().await;
}

/// Asks the daemon for what it knows of the instance.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_daemon_is_told_of_a_cluster_that_nobody_has_is_told() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    let home = world.cluster.url().to_owned();
    let text = kubeconfig(&[("home", &home), ("edge", &home)]);
    world.restart_signed("clusters: {home: {}, home/edge: {}, home/egde: {}}\n", Access::Text(text)).await;
    let told = get(&world, "").await["strayClusters"].clone();
    assert_eq!(told.as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told[0]["what"], "use clusters.home/egde of daemon.yaml");
    assert_eq!(told[0]["because"], "no instance has a cluster of that name; there are home, home/edge, home/home");
    assert_eq!(told[0]["remedy"], "write clusters.home/edge in daemon.yaml and start wild daemon anew");
    world.stop().await;
}

async fn get(world: &World, path: &str) -> Value {
    let path = format!("/api/v1/instances/home{path}");
    let request = DirectRequest { method: "GET", path: &path, body: None, actor: "alice" };
    let (status, answer) = Direct::new(world.daemon.clone()).call(request).await;
    assert_eq!(status, 200, "{answer:#}");
    answer
}
