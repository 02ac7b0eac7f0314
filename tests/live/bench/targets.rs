//! One instance with an app on each of many clusters, in memory: how long a commit takes to reach each, and how long where one of the clusters is
//! a black hole, which takes connections and answers nothing.
//!
//! The clusters run in this process and share its processors with the daemon. Not here: that one cluster holds up no other at all, which a test
//! asserts (`tests/it/line/clusters.rs`).

use std::net::{Ipv4Addr, TcpListener};
use std::time::Instant;

use rewild::sandbox::{Sandbox, Settings};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::Size;
use crate::client::Api;
use crate::daemon::Daemon;
use crate::figures::{Samples, ratio};
use crate::instance::{Home, config_map, name};
use crate::parts::Scratch;
use crate::rig::{until_installed, until_updated};

/// Share of all clusters that the figure is about.
const SLOW: f64 = 0.99;

/// Measures with all clusters and with one of them silent, and prints both and their ratio.
pub(crate) fn run(size: &Size) {
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime = Runtime::new().unwrap();
    let all = measure(&runtime, size, None);
    all.print(&format!("targets: commit → {} clusters", size.targets));
    // Connections wait in its backlog for ever.
    let hole = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let others = measure(&runtime, size, Some(&hole));
    others.print("targets: the same, one of them a black hole");
    ratio("targets: p99 of the others ÷ p99 of all", others.quantile(SLOW), all.quantile(SLOW));
    ratio("targets: median of the others ÷ median of all", others.median(), all.median());
}

/// Returns how long each commit took to reach each cluster that answers.
fn measure(runtime: &Runtime, size: &Size, hole: Option<&TcpListener>) -> Samples {
    let sandboxes: Vec<Sandbox> =
        (0..size.targets).map(|_| runtime.block_on(Sandbox::start(Settings::default())).unwrap()).collect();
    let mut servers: Vec<String> = sandboxes.iter().map(|sandbox| sandbox.url().to_owned()).collect();
    let answering = if hole.is_some() { size.targets - 1 } else { size.targets };
    if let Some(hole) = hole {
        servers[answering] = format!("http://{}", hole.local_addr().unwrap());
    }
    let scratch = Scratch::new("targets").unwrap();
    let path = scratch.path().join("kubeconfig");
    std::fs::write(&path, kubeconfig(&servers)).unwrap();
    let home = Home::make(&scratch);
    let places: String =
        (0..size.targets).map(|app| format!("  {}: {{cluster: {{context: c{app}}}}}\n", name(app))).collect();
    let settings = "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: bench00001\n";
    home.write(".wild/config.yaml", &format!("{settings}apps:\n{places}"));
    home.write_apps(size.targets, "0");
    home.commit("install");
    let daemon = Daemon::start(&scratch, &path, &home);
    runtime.block_on(daemon.until("", |instance| instance["ready"].is_null()));
    home.push();
    let apis: Vec<Api> = servers.iter().take(answering).map(|server| Api::at(server)).collect();
    runtime.block_on(futures::future::join_all(apis.iter().map(|api| until_installed(api, 1))));
    let mut samples = Samples::default();
    for round in 1..=size.commits {
        let version = round.to_string();
        for app in (0..size.targets).map(name) {
            home.write(&format!("apps/{app}/config-map.yaml"), &config_map(&app, &version));
        }
        home.commit("another version everywhere");
        let begun = Instant::now();
        home.push();
        let reached = apis.iter().map(async |api| {
            until_updated(api, 1, &version).await;
            begun.elapsed()
        });
        runtime.block_on(futures::future::join_all(reached)).into_iter().for_each(|took| samples.add(took));
    }
    drop(daemon);
    for sandbox in sandboxes {
        runtime.block_on(sandbox.stop());
    }
    samples
}

/// Returns a kubeconfig of clusters by number.
fn kubeconfig(servers: &[String]) -> String {
    let named = |key: &str, of: &dyn Fn(usize) -> Value| -> Value {
        (0..servers.len()).map(|number| json!({"name": format!("c{number}"), key: of(number)})).collect()
    };
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": named("cluster", &|number| json!({"server": servers[number]})),
        "users": named("user", &|_| json!({})),
        "contexts": named("context", &|number| json!({"cluster": format!("c{number}"), "user": format!("c{number}")})),
        "current-context": "c0",
    })
    .to_string()
}
