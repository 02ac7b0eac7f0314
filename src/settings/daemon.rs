//! Format. `daemon.yaml`, version `rewild.dev/v1`: the settings of one daemon, which belong to the host.
//!
//! All keys are optional; an unknown key or a bad value stops the start with file and line. Not here: the settings of an instance,
//! which are committed with it (`model::Settings`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::Error;
use super::file::read;
use crate::base::nearest::nearest;
use crate::base::parse_duration;
use crate::model::{Diagnostic, InstanceName, Subdirectory};
use crate::yaml;

/// The settings of a daemon.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DaemonSettings {
    /// Format version.
    pub api_version: String,
    /// Kind of the document.
    pub kind: String,
    /// State directory; empty for the usual place.
    pub state_dir: PathBuf,
    /// Address of the API and the status page.
    pub listen: String,
    /// Unix socket for the command line; empty for the usual place.
    pub socket: PathBuf,
    /// Address of the metrics; empty turns them off.
    pub metrics_listen: String,
    /// Address by which people reach the daemon, for links in statuses.
    pub public_url: String,
    /// The instances.
    pub instances: Vec<InstanceEntry>,
    /// How to reach clusters other than by the kubeconfig in the state directory: by the name of an instance for its first cluster, by
    /// `<instance>/<cluster>` for another.
    pub clusters: BTreeMap<String, ClusterAccess>,
    /// Times between looks at what cannot tell us.
    pub intervals: IntervalTexts,
    /// File with the SSH keys that may sign upstreams with `verify: signed`, as OpenSSH has it; relative to the state directory.
    pub allowed_signers: PathBuf,
    /// File with the OpenPGP keys that may, as `gpg --export` writes it; relative to the state directory.
    pub allowed_keyring: PathBuf,
    /// Who may see the status page without signing in.
    pub auth: AuthSettings,
    /// Addresses that may be reached although they are not public or not encrypted.
    pub egress: EgressSettings,
    /// Logs.
    pub log: LogSettings,
}

/// One instance of a daemon.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstanceEntry {
    /// Its name.
    pub name: InstanceName,
    /// Its repository; relative to the state directory.
    pub path: PathBuf,
    /// The directory of the repository in which it lives; the top if it is not given.
    #[serde(default)]
    pub subdirectory: Subdirectory,
    /// The deployed branch.
    #[serde(default = "main_branch")]
    pub branch: String,
    /// Address of a repository that it is kept equal to; empty if none.
    #[serde(default)]
    pub remote: String,
    /// File with the credential of that remote.
    #[serde(default)]
    pub credential_file: PathBuf,
    /// Kubeconfig; empty for the one in the state directory.
    #[serde(default)]
    pub kubeconfig: PathBuf,
    /// Its Keycloak, if it has one.
    #[serde(default)]
    pub keycloak: Option<KeycloakEntry>,
}

/// How the Keycloak of an instance is reached. It stands here and not in the instance, so that no commit can send the credential elsewhere.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeycloakEntry {
    /// Address.
    pub url: String,
    /// Realm that the client or the user lives in.
    #[serde(default = "master_realm")]
    pub realm: String,
    /// Client that asks for tokens.
    #[serde(default = "admin_client")]
    pub client: String,
    /// User that asks by a password; empty where the client asks by its own secret.
    #[serde(default)]
    pub user: String,
    /// File whose first line is the secret or the password; relative to the state directory.
    pub credential_file: PathBuf,
}

fn master_realm() -> String {
    "master".to_owned()
}

fn admin_client() -> String {
    "admin-cli".to_owned()
}

/// How a cluster is reached.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClusterAccess {
    /// By the service account of the pod that the daemon runs in.
    pub in_cluster: bool,
    /// By what a program prints.
    pub exec: Option<ExecEntry>,
}

/// A program that prints an `ExecCredential`.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecEntry {
    /// Absolute path of the program.
    pub command: PathBuf,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its environment, beside a path to find programs in.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Times between looks, as written.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct IntervalTexts {
    /// Remotes of instances.
    pub poll_remote: String,
    /// Upstreams, beside the merge bot's schedule.
    pub poll_directory: String,
}

/// Times between looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Intervals {
    /// Remotes of instances.
    pub poll_remote: Duration,
    /// Upstreams, beside the merge bot's schedule.
    pub poll_directory: Duration,
}

/// Who may see what without signing in.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AuthSettings {
    /// `none`, or `viewer` for the read-only status page on loopback.
    pub anonymous_loopback: String,
}

/// Where the daemon may connect to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct EgressSettings {
    /// Private hosts, `http://` addresses and local paths, written out.
    pub allow: Vec<String>,
}

/// Logs.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LogSettings {
    /// `auto` (JSON unless a terminal), `json` or `text`.
    pub format: String,
    /// Level filter.
    pub level: String,
}

fn main_branch() -> String {
    "main".to_owned()
}

impl Default for DaemonSettings {
    fn default() -> Self {
        Self {
            api_version: "rewild.dev/v1".to_owned(),
            kind: "Daemon".to_owned(),
            state_dir: PathBuf::new(),
            listen: "127.0.0.1:5055".to_owned(),
            socket: PathBuf::new(),
            metrics_listen: "127.0.0.1:5056".to_owned(),
            public_url: String::new(),
            instances: Vec::new(),
            clusters: BTreeMap::new(),
            intervals: IntervalTexts::default(),
            allowed_signers: PathBuf::new(),
            allowed_keyring: PathBuf::new(),
            auth: AuthSettings::default(),
            egress: EgressSettings::default(),
            log: LogSettings::default(),
        }
    }
}

impl Default for IntervalTexts {
    fn default() -> Self {
        Self { poll_remote: "2m".to_owned(), poll_directory: "1h".to_owned() }
    }
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self { anonymous_loopback: "none".to_owned() }
    }
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { format: "auto".to_owned(), level: "info".to_owned() }
    }
}

impl DaemonSettings {
    /// Reads the settings of a file, or the defaults if it is not there.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let Some(content) = read(path)? else { return Ok(Self::default()) };
        let name = path.display().to_string();
        let wrong = |diagnostics| Error::Content { path: path.to_owned(), diagnostics };
        let text = String::from_utf8(content)
            .map_err(|_| wrong(vec![Diagnostic::error("S101", &name, 0, "the file is not UTF-8")]))?;
        Self::parse(&name, &text).map_err(wrong)
    }

    /// Parses the text of a settings file.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let settings: Self = yaml::read_typed(file, text)?;
        let refuse =
            |message: String, hint: &str| Err(vec![Diagnostic::error("S102", file, 0, message).with_hint(hint)]);
        if settings.api_version != "rewild.dev/v1" || settings.kind != "Daemon" {
            let found = format!("apiVersion {:?}, kind {:?} is not known here", settings.api_version, settings.kind);
            return refuse(found, "apiVersion: rewild.dev/v1 and kind: Daemon");
        }
        if !matches!(settings.auth.anonymous_loopback.as_str(), "none" | "viewer") {
            return refuse(
                format!("auth.anonymousLoopback {:?} is not known", settings.auth.anonymous_loopback),
                "none or viewer",
            );
        }
        for (index, entry) in settings.instances.iter().enumerate() {
            if settings.instances.iter().take(index).any(|earlier| earlier.name == entry.name) {
                return refuse(format!("two instances are named {}", entry.name), "give each a name of its own");
            }
        }
        for (name, cluster) in &settings.clusters {
            let Some(exec) = &cluster.exec else { continue };
            if cluster.in_cluster {
                return refuse(format!("clusters.{name} has inCluster and exec"), "keep one of them");
            }
            if !exec.command.is_absolute() {
                let found = format!(
                    "clusters.{name}.exec.command {:?} is no absolute path",
                    exec.command.display().to_string()
                );
                return refuse(found, "write out where the program is, such as /usr/local/bin/get-token");
            }
        }
        settings.intervals(file)?;
        Ok(settings)
    }

    /// Returns the programs that sign in to clusters of an instance: by what the kubeconfig calls a cluster, empty for the first one.
    pub fn programs_of(&self, instance: &str) -> BTreeMap<String, ExecEntry> {
        let named = self.clusters.iter().filter_map(|(name, cluster)| {
            let (of, context) = name.split_once('/').unwrap_or((name, ""));
            Some((context.to_owned(), cluster.exec.clone()?)).filter(|_| of == instance)
        });
        named.collect()
    }

    /// Returns the names below `clusters` that are none of these, each with the one of them that was probably meant.
    pub fn stray_clusters<'a>(&'a self, known: &'a BTreeSet<String>) -> Vec<(&'a str, Option<&'a str>)> {
        let strays = self.clusters.keys().filter(|name| !known.contains(*name));
        strays.map(|name| (name.as_str(), nearest(name, known.iter().map(String::as_str)))).collect()
    }

    /// Returns the times between looks.
    pub fn intervals(&self, file: &str) -> Result<Intervals, Vec<Diagnostic>> {
        let parse = |key: &str, text: &str| {
            parse_duration(text).ok_or_else(|| {
                let message = format!("intervals.{key} {text:?} is no duration");
                vec![Diagnostic::error("S103", file, 0, message).with_hint("such as 90s, 5m or 2h")]
            })
        };
        Ok(Intervals {
            poll_remote: parse("pollRemote", &self.intervals.poll_remote)?,
            poll_directory: parse("pollDirectory", &self.intervals.poll_directory)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::DaemonSettings;

    #[test]
    fn an_empty_file_gives_the_defaults() {
        assert_eq!(DaemonSettings::parse("daemon.yaml", "{}\n").unwrap(), DaemonSettings::default());
    }

    #[test]
    fn programs_sign_in_to_the_clusters_that_they_stand_at() {
        let text = "clusters:\n  home: {exec: {command: /bin/one}}\n  home/edge: {exec: {command: /bin/two, args: [a]}}\n  lab/edge: {inCluster: true}\n";
        let settings = DaemonSettings::parse("daemon.yaml", text).unwrap();
        let commands = |instance| -> Vec<String> {
            let programs = settings.programs_of(instance);
            programs.iter().map(|(name, exec)| format!("{name}={}", exec.command.display())).collect()
        };
        assert_eq!(commands("home"), ["=/bin/one", "edge=/bin/two"]);
        assert!(commands("lab").is_empty());
    }

    #[test]
    fn what_fits_no_cluster_is_found_with_the_nearest() {
        let text = "clusters: {home: {inCluster: true}, home/egde: {inCluster: true}, attic: {inCluster: true}}\n";
        let settings = DaemonSettings::parse("daemon.yaml", text).unwrap();
        let known = ["home", "home/edge"].map(str::to_owned).into();
        assert_eq!(settings.stray_clusters(&known), [("attic", None), ("home/egde", Some("home/edge"))]);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (text, word) in [
            ("lissten: x\n", "lissten"),
            ("intervals: {pollRemote: soon}\n", "pollRemote"),
            ("auth: {anonymousLoopback: admin}\n", "anonymousLoopback"),
            ("instances: [{name: a, path: x}, {name: a, path: y}]\n", "two instances"),
            ("clusters: {a: {exec: {command: get-token}}}\n", "no absolute path"),
            ("clusters: {a: {exec: {command: /bin/get-token, shell: sh}}}\n", "shell"),
            ("clusters: {a: {inCluster: true, exec: {command: /bin/get-token}}}\n", "inCluster and exec"),
        ] {
            let found = DaemonSettings::parse("daemon.yaml", text).unwrap_err();
            assert!(found.iter().any(|d| d.to_string().contains(word)), "{text}: {found:?}");
        }
    }
}
