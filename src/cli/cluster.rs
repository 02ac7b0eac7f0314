//! `wild cluster add`: copies one context of a kubeconfig into the state directory of the instance, readable by nobody else.
//!
//! The daemon reads only this copy, so that neither `KUBECONFIG` nor a later change of context moves it to another cluster. Files that the
//! context names are copied into it; a context that runs a program for its credentials is refused, because the copy would run it too.
//!
//! Not here: connecting (`target`).

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::environment::Surroundings;
use super::error::{CommandError, ExitCode};
use super::json::{list, text};
use super::locate::{connect, open_state, read_settings, settings_file};
use super::session::Session;
use crate::model::InstanceId;
use crate::settings::{self, StateDirectory};
use crate::yaml::{self, Dialect};

const ADD_HELP: &str = "Examples:
  wild cluster add
  wild cluster add --kubeconfig ~/.kube/config
  wild cluster add --context home

Exit codes:
  0 copied   2 error: no such context, or it needs a program for its credentials";

/// What can be done with clusters.
#[derive(Subcommand, Debug)]
pub(super) enum ClusterVerb {
    /// Lets the instance use a cluster.
    #[command(after_long_help = ADD_HELP)]
    Add {
        /// Kubeconfig; KUBECONFIG or ~/.kube/config by default.
        #[arg(long, value_name = "FILE")]
        kubeconfig: Option<PathBuf>,
        /// Context in it; its current one by default.
        #[arg(long, value_name = "NAME")]
        context: Option<String>,
    },
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: ClusterVerb) -> Result<ExitCode, CommandError> {
    let ClusterVerb::Add { kubeconfig, context } = verb;
    let chosen = choose(session.environment, kubeconfig.as_deref(), context.as_deref())?;
    let instance = session.call("GET", "", None).await?;
    let what = "add a cluster";
    let id = InstanceId::parse(text(&instance, "id"))
        .map_err(|error| CommandError::new(what, error.to_string(), "wild status"))?;
    let settings = read_settings(session.environment, &settings_file(session.environment, None))?;
    let root = text(&instance, "stateDir");
    let state = if root.is_empty() { open_state(&settings)? } else { open(Path::new(root))? };
    if session.is_dry_run() {
        session.note(&format!("Would copy context {} ({}). Nothing was changed.", chosen.context, chosen.server));
        return Ok(ExitCode::Done);
    }
    chosen.write(&state, &id)?;
    session.note(&format!("Context {} ({}) is copied for {}.", chosen.context, chosen.server, text(&instance, "name")));
    if connect(session.environment, &session.flags)?.is_some() {
        session.note("The running daemon uses it after its next start.");
    }
    Ok(ExitCode::Done)
}

fn open(root: &Path) -> Result<StateDirectory, CommandError> {
    StateDirectory::open(root).map_err(|error| CommandError::of_settings(format!("open {}", root.display()), &error))
}

/// One context of a kubeconfig, with everything in it.
pub(super) struct Chosen {
    /// Its name.
    pub(super) context: String,
    /// Address of the cluster.
    pub(super) server: String,
    config: Value,
}

impl Chosen {
    /// Writes the copy.
    pub(super) fn write(&self, state: &StateDirectory, id: &InstanceId) -> Result<(), CommandError> {
        let own = state.instance(id);
        let written =
            own.and_then(|own| settings::write_private(&own.kubeconfig(), yaml::write(&self.config).as_bytes()));
        written.map_err(|error| CommandError::of_settings("copy the kubeconfig", &error))
    }
}

/// Reads the chosen context.
pub(super) fn choose(
    environment: &Surroundings,
    file: Option<&Path>,
    context: Option<&str>,
) -> Result<Chosen, CommandError> {
    let files = files(environment, file);
    let mut seen = Vec::new();
    for file in &files {
        let Ok(content) = std::fs::read_to_string(file) else { continue };
        let name = file.display().to_string();
        // What a parser quotes of this file may be a credential.
        let config =
            yaml::load_one(&name, &content, Dialect::Kube).ok().flatten().map(|document| document.value).ok_or_else(
                || {
                    CommandError::new(
                        format!("read the kubeconfig {name}"),
                        "it is no YAML document",
                        "kubectl config view",
                    )
                },
            )?;
        let wanted = context.unwrap_or_else(|| text(&config, "current-context")).to_owned();
        seen.extend(list(&config, "contexts").iter().map(|context| text(context, "name").to_owned()));
        if let Some(found) = named(&config, "contexts", &wanted, "context") {
            return copy(file, &config, &wanted, found);
        }
    }
    let wanted = context.unwrap_or("its current one");
    let what = format!("find the context {wanted}");
    match (seen.is_empty(), files.as_slice()) {
        (true, [file]) => Err(CommandError::new(
            what,
            format!("{} has no context or cannot be read", file.display()),
            "wild cluster add --kubeconfig FILE",
        )),
        (true, _) => Err(CommandError::new(what, "no kubeconfig was found", "wild cluster add --kubeconfig FILE")),
        (false, _) => {
            let remedy = format!("wild cluster add --context {}", seen.first().map(String::as_str).unwrap_or_default());
            Err(CommandError::new(what, format!("there are only: {}", seen.join(", ")), remedy))
        }
    }
}

/// Returns where a kubeconfig may be: the given file, the list in `KUBECONFIG`, or the usual place.
fn files(environment: &Surroundings, given: Option<&Path>) -> Vec<PathBuf> {
    match (given, environment.variable("KUBECONFIG"), environment.variable("HOME")) {
        (Some(given), ..) => vec![environment.path(given)],
        (None, Some(several), _) => {
            several.split(':').filter(|path| !path.is_empty()).map(|path| environment.path(Path::new(path))).collect()
        }
        (None, None, Some(home)) => vec![Path::new(home).join(".kube/config")],
        (None, None, None) => Vec::new(),
    }
}

/// Returns the inner object of a named entry.
fn named<'a>(config: &'a Value, key: &str, name: &str, inner: &str) -> Option<&'a Value> {
    list(config, key).iter().find(|entry| text(entry, "name") == name)?.get(inner)
}

fn copy(file: &Path, config: &Value, context: &str, found: &Value) -> Result<Chosen, CommandError> {
    let what = format!("copy the context {context} of {}", file.display());
    let missing = |kind: &str| {
        CommandError::new(what.clone(), format!("it names a {kind} that is not there"), "kubectl config view")
    };
    let cluster = named(config, "clusters", text(found, "cluster"), "cluster").ok_or_else(|| missing("cluster"))?;
    let user = named(config, "users", text(found, "user"), "user").cloned().unwrap_or_else(|| json!({}));
    if ["exec", "auth-provider"].iter().any(|key| user.get(*key).is_some()) {
        let because = "it runs a program for its credentials, and the daemon runs none that a file names";
        return Err(CommandError::new(what, because, "make a service account with a token and add its kubeconfig"));
    }
    let folder = file.parent().unwrap_or(Path::new("/"));
    let read = |path: &str| {
        std::fs::read(folder.join(path)).map_err(|error| {
            CommandError::new(
                what.clone(),
                format!("read {path}: {error}"),
                "check that the file is there and may be read",
            )
        })
    };
    let mut cluster = cluster.as_object().cloned().unwrap_or_default();
    let mut user = user.as_object().cloned().unwrap_or_default();
    inline(&mut cluster, "certificate-authority", &read)?;
    inline(&mut user, "client-certificate", &read)?;
    inline(&mut user, "client-key", &read)?;
    if let Some(Value::String(path)) = user.shift_remove("tokenFile") {
        let token = String::from_utf8_lossy(&read(&path)?).trim().to_owned();
        user.insert("token".to_owned(), Value::from(token));
    }
    let server = cluster.get("server").and_then(Value::as_str).unwrap_or_default().to_owned();
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
        "clusters": [{"name": context, "cluster": cluster}],
        "users": [{"name": context, "user": user}],
    });
    Ok(Chosen { context: context.to_owned(), server, config })
}

/// Replaces the name of a file by its content.
fn inline(
    fields: &mut Map<String, Value>,
    key: &str,
    read: &impl Fn(&str) -> Result<Vec<u8>, CommandError>,
) -> Result<(), CommandError> {
    if let Some(Value::String(path)) = fields.shift_remove(key) {
        fields.insert(format!("{key}-data"), Value::from(STANDARD.encode(read(&path)?)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "apiVersion: v1
kind: Config
current-context: home
contexts:
- {name: home, context: {cluster: one, user: admin}}
- {name: work, context: {cluster: one, user: program}}
clusters:
- {name: one, cluster: {server: 'https://127.0.0.1:6443', certificate-authority: ca.pem}}
users:
- {name: admin, user: {token: abc}}
- {name: program, user: {exec: {command: get-token}}}
";

    fn world() -> (tempfile::TempDir, Surroundings) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("config"), CONFIG).unwrap();
        std::fs::write(directory.path().join("ca.pem"), "pem").unwrap();
        let environment = Surroundings::bare(directory.path());
        (directory, environment)
    }

    #[test]
    fn a_context_is_copied_alone_and_with_the_files_it_names() {
        let (_directory, environment) = world();
        let chosen = choose(&environment, Some(Path::new("config")), None).unwrap();
        assert_eq!((chosen.context.as_str(), chosen.server.as_str()), ("home", "https://127.0.0.1:6443"));
        let text = yaml::write(&chosen.config);
        assert!(text.contains("certificate-authority-data: cGVt") && text.contains("token: abc"), "{text}");
        assert!(!text.contains("get-token"), "{text}");
    }

    #[test]
    fn a_context_that_runs_a_program_is_refused() {
        let (_directory, environment) = world();
        let error = choose(&environment, Some(Path::new("config")), Some("work")).err().unwrap();
        assert!(error.because.contains("program"), "{error:?}");
    }

    #[test]
    fn an_unknown_context_is_answered_with_those_that_are_there() {
        let (_directory, environment) = world();
        let error = choose(&environment, Some(Path::new("config")), Some("lab")).err().unwrap();
        assert_eq!(error.because, "there are only: home, work");
        assert!(choose(&environment, None, None).err().unwrap().because.contains("no kubeconfig"));
    }
}
