//! Scripts of API requests, recorded on a real API server and replayed on the sandbox.
//!
//! A script is `fixtures/scripts/api/<name>.api`, its answers `<name>.out`. With `WILD_RECORD_API=<kubeconfig>` the test
//! `scripts_are_recorded` runs all scripts (or those named in `WILD_SCRIPTS`, separated by commas) against that cluster and
//! writes the answers; without it, nothing is recorded and the sandbox has to give the recorded answers.
//!
//! Not here: how a script is read (`script.rs`), run (`player.rs`) and made comparable (`normal.rs`).

mod normal;
mod player;
mod script;

use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig};
use rewild::sandbox::{Sandbox, Settings};

use player::Player;
use script::Script;

/// Scripts whose answers are known to differ, with the reason. The list only shrinks.
const DIFFERENT: [(&str, &str); 0] = [];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scripts/api")
}

/// Returns the scripts in the order of their names.
pub(crate) fn scripts() -> Vec<(String, Script)> {
    let wanted = std::env::var("WILD_SCRIPTS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|name| !name.is_empty()).collect();
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().unwrap().strip_suffix(".api").map(str::to_owned))
        .filter(|name| wanted.is_empty() || wanted.contains(&name.as_str()))
        .collect();
    names.sort();
    let read = |name: &String| std::fs::read_to_string(folder().join(format!("{name}.api"))).unwrap();
    names
        .iter()
        .map(|name| (name.clone(), Script::parse(&read(name)).unwrap_or_else(|why| panic!("{name}: {why}"))))
        .collect()
}

/// Returns a client of the cluster of a kubeconfig.
pub(crate) async fn client(kubeconfig: &str) -> kube::Client {
    // The second call fails because the provider is set already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    kube::Client::try_from(config).unwrap()
}

/// Runs every script against a cluster and returns how the answers differ from the recorded ones.
pub(crate) async fn differences(client: &kube::Client) -> Vec<String> {
    let mut found = Vec::new();
    for (name, script) in scripts() {
        let recorded = std::fs::read_to_string(folder().join(format!("{name}.out"))).unwrap_or_default();
        let recorded = recorded.split_once('\n').map_or("", |(_, rest)| rest);
        let played = Player::new(client.clone(), &name).play(&script).await;
        let known = DIFFERENT.iter().any(|(other, _)| *other == name);
        if played == recorded && known {
            found.push(format!("{name} gives the recorded answers now: take it off the list of known differences"));
        } else if played != recorded && !known {
            found.push(format!("{name}:\n{}", normal::difference(recorded, &played)));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sandbox_answers_as_the_api_server_did() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    let client = client(&sandbox.kubeconfig()).await;
    let found = differences(&client).await;
    sandbox.stop().await;
    let count = found.len();
    assert!(found.is_empty(), "{count} scripts differ (- real, + sandbox)\n{}", found.join("\n"));
}

#[test]
fn every_recorded_answer_has_its_script() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "out") {
            assert!(path.with_extension("api").exists(), "{} belongs to no script", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_are_recorded() {
    let Some(path) = std::env::var_os("WILD_RECORD_API") else { return };
    let client = client(&std::fs::read_to_string(path).unwrap()).await;
    let version = client.apiserver_version().await.unwrap().git_version;
    for (name, script) in scripts() {
        let played = Player::new(client.clone(), &name).play(&script).await;
        std::fs::write(folder().join(format!("{name}.out")), format!("# kube-apiserver {version}\n{played}")).unwrap();
    }
}
