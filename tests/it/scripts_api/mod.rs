//! Scripts of API requests, recorded on a real API server and replayed on the sandbox.
//!
//! A script is `fixtures/scripts/api/<name>.api`, its answers `<name>.out`. `WILD_SCRIPTS` restricts all of this to some
//! scripts, by their names with commas between. Shared by the tests on the sandbox and those on the real API server.
//!
//! Not here: the tests (`tests/it/sandbox.rs`), how a script is read (`script.rs`), run (`player.rs`) and made comparable (`normal.rs`), what
//! kind of request a request is (`shape.rs`).

mod normal;
pub(crate) mod player;
pub(crate) mod script;
pub(crate) mod shape;

use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig};
pub(crate) use normal::difference;
use player::Player;
use script::{Needs, Script};

/// The clusters that scripts run against.
pub(crate) struct Clusters {
    /// An API server alone.
    pub(crate) bare: kube::Client,
    /// A whole cluster.
    pub(crate) full: kube::Client,
}

impl Clusters {
    async fn play(&self, name: &str, script: &Script) -> String {
        let client = match script.needs {
            Needs::Nothing => &self.bare,
            Needs::Controllers => &self.full,
        };
        Player::new(client.clone(), name).play(script).await
    }
}

/// Returns where the scripts lie.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scripts/api")
}

/// Returns the scripts to run, in the order of their names.
fn scripts() -> Vec<(String, Script)> {
    let wanted = std::env::var("WILD_SCRIPTS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|name| !name.is_empty()).collect();
    read_scripts(|name| wanted.is_empty() || wanted.contains(&name))
}

fn read_scripts(wanted: impl Fn(&str) -> bool) -> Vec<(String, Script)> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().unwrap().strip_suffix(".api").map(str::to_owned))
        .filter(|name| wanted(name))
        .collect();
    names.sort();
    let read = |name: &String| std::fs::read_to_string(folder().join(format!("{name}.api"))).unwrap();
    names.iter().map(|name| (name.clone(), Script::parse(&read(name)).expect("a script that is understood"))).collect()
}

/// Returns a client of the cluster of a kubeconfig.
pub(crate) async fn client(kubeconfig: &str) -> kube::Client {
    // The second call fails because the provider is set already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    kube::Client::try_from(config).unwrap()
}

/// Runs every script against a cluster and returns how the answers differ from the recorded ones.
///
/// Scripts of the list may differ, with the reason given there; the list only shrinks.
pub(crate) async fn differences(clusters: &Clusters, list: &[(&str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, script) in scripts() {
        let recorded = std::fs::read_to_string(folder().join(format!("{name}.out"))).unwrap_or_default();
        let recorded = recorded.split_once('\n').map_or("", |(_, rest)| rest);
        let played = clusters.play(&name, &script).await;
        let known = list.iter().any(|(other, _)| *other == name);
        if played == recorded && known {
            found.push(format!("{name} gives the recorded answers now: take it off the list of known differences"));
        } else if played != recorded && !known {
            found.push(format!("{name}:\n{}", difference(recorded, &played)));
        }
    }
    found
}

/// Runs every script against a cluster and writes the answers down.
pub(crate) async fn record(clusters: &Clusters) {
    let version = clusters.bare.apiserver_version().await.unwrap().git_version;
    for (name, script) in scripts() {
        let played = clusters.play(&name, &script).await;
        std::fs::write(folder().join(format!("{name}.out")), format!("# kube-apiserver {version}\n{played}")).unwrap();
    }
}
