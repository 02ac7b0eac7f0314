//! How long 100 apps take to be as their repository says, after their cluster was away while all of them changed.
//!
//! A gate stands before the API server. It either refuses connections, or takes them and lets nothing through. Not here: that nothing is lost
//! or done twice meanwhile, which tests assert (`weather.rs`).

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::Size;
use crate::client::Api;
use crate::daemon::{Daemon, pause};
use crate::figures::{Samples, count};
use crate::instance::{Home, config_map, name};
use crate::rig::{Rig, until_installed};

/// Apps that wait for their cluster.
const APPS: usize = 100;
/// How long it is away.
const AWAY: Duration = Duration::from_secs(60);

/// What the gate does to connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gate {
    /// They go through.
    Open,
    /// They end at once.
    Refusing,
    /// They are taken and stay without an answer.
    Silent,
}

/// Measures after both faults.
pub(crate) fn run(size: &Size) {
    let rig = Rig::start();
    let home = Home::make(&rig.scratch);
    home.write_apps(APPS, "0");
    home.commit("install");
    home.push();
    let (gate, port) = rig.runtime.block_on(stand_before(rig.plane.address()));
    let daemon = Daemon::start(&rig.scratch, &kubeconfig(&rig, port), &home);
    rig.runtime.block_on(until_installed(&rig.api, APPS));
    for fault in [Gate::Refusing, Gate::Silent] {
        let mut samples = Samples::default();
        for round in 0..size.rounds {
            rig.runtime.block_on(daemon.until_quiet());
            gate.send_replace(fault);
            // All change in git, and half of them in the cluster as well.
            let version = format!("{fault:?}-{round}");
            for app in (0..APPS).map(name) {
                home.write(&format!("apps/{app}/config-map.yaml"), &config_map(&app, &version));
            }
            home.commit("another version everywhere");
            home.push();
            rig.runtime.block_on(async {
                for app in (0..APPS).step_by(2).map(name) {
                    let path = format!("/apis/apps/v1/namespaces/{app}/deployments/{app}?fieldManager=kubectl-edit");
                    let edit = json!({"spec": {"replicas": 1}}).to_string();
                    rig.api.send(Method::PATCH, &path, "application/merge-patch+json", edit).await;
                }
                pause(AWAY).await;
                gate.send_replace(Gate::Open);
                converge(&rig.api, &version, &mut samples).await;
            });
        }
        samples.print(&format!("recovery: {fault:?} for {AWAY:?} → all of an app is right"));
    }
    count("recovery: apps, each round", APPS);
}

/// Adds how long each app took from now on until both of its objects were right.
async fn converge(api: &Api, version: &str, samples: &mut Samples) {
    let begun = Instant::now();
    let times = async |path: &str, is_right: &dyn Fn(&Value) -> bool| {
        let (mut watch, mut times) = (api.watch(path).await, vec![None; APPS]);
        while times.iter().any(Option::is_none) {
            let object = watch.next().await.expect("the watch goes on");
            let app = object["metadata"]["name"].as_str().and_then(|name| name.strip_prefix("app-")?.parse().ok());
            let Some(app) = app.filter(|app: &usize| *app < APPS && is_right(&object)) else { continue };
            times[app].get_or_insert(begun.elapsed());
        }
        times
    };
    let (is_updated, is_healed) =
        (|live: &Value| live["data"]["version"] == version, |live: &Value| live["spec"]["replicas"] == 0);
    let (changed, edited) =
        tokio::join!(times("/api/v1/configmaps", &is_updated), times("/apis/apps/v1/deployments", &is_healed));
    for (changed, edited) in changed.into_iter().zip(edited) {
        samples.add(changed.max(edited).unwrap());
    }
}

/// Stands before a server and returns what it does, and at which port.
async fn stand_before(address: String) -> (watch::Sender<Gate>, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = address.trim_start_matches("https://").to_owned();
    let (sender, gate) = watch::channel(Gate::Open);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(pass(connection, address.clone(), gate.clone()));
        }
    });
    (sender, port)
}

/// Lets a connection through for as long as the gate is open.
async fn pass(mut connection: TcpStream, address: String, mut gate: watch::Receiver<Gate>) {
    if *gate.borrow() == Gate::Open {
        let Ok(mut server) = TcpStream::connect(address).await else { return };
        let mut closing = gate.clone();
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut connection, &mut server) => return,
            _ = closing.wait_for(|gate| *gate != Gate::Open) => {}
        }
    }
    if *gate.borrow() == Gate::Silent {
        gate.wait_for(|gate| *gate != Gate::Silent).await.ok();
    }
}

/// Writes the daemon's kubeconfig with the gate in place of the server.
fn kubeconfig(rig: &Rig, port: u16) -> PathBuf {
    let mut kubeconfig: Value = serde_json::from_str(&rig.plane.whole_kubeconfig()).unwrap();
    kubeconfig["clusters"][0]["cluster"]["server"] = json!(format!("https://127.0.0.1:{port}"));
    let path = rig.scratch.path().join("kubeconfig");
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    path
}
