//! `wild cluster`: the clusters of an instance. `add` copies one context of a kubeconfig into the state directory of the instance, readable by
//! nobody else.
//!
//! The first one that is added is where all apps live that the settings do not put elsewhere. The daemon reads only this copy, so that neither `KUBECONFIG` nor a later change of context moves it to another cluster. Files that the
//! context names are copied into it; a program that it runs to sign in is not, because only what the daemon's settings name is run.
//!
//! Not here: connecting (`target`).

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::environment::Surroundings;
use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{count, flag, list, text};
use super::locate::{connect, open_state, read_settings, settings_file};
use super::session::Session;
use super::table::table;
use crate::model::{ClusterName, InstanceId};
use crate::settings::{self, StateDirectory};
use crate::yaml::{self, Dialect};

const ADD_HELP: &str = "Examples:
  wild cluster add
  wild cluster add --kubeconfig ~/.kube/config
  wild cluster add --context home
  wild cluster add --context home --as edge

The first cluster is where all apps live. Apps live on another one where `.wild/config.yaml` says so: `wild app move`.

A context that runs a program to sign in is copied without it. The program must be written out in daemon.yaml, by its whole path, for the
first cluster of the instance home or for its cluster edge:
  clusters:
    home: {exec: {command: /usr/local/bin/get-token, args: [--cluster, home], env: {PROFILE: home}}}
    home/edge: {exec: {command: /usr/local/bin/get-token}}

Exit codes:
  0 copied   2 error: no such context, or it needs a program that daemon.yaml does not name";

const LIST_HELP: &str = "Examples:
  wild cluster list
  wild cluster list -o json

Exit codes:
  0 shown   2 error";

const REMOVE_HELP: &str = "Examples:
  wild cluster remove edge

Nothing in the cluster changes.

Exit codes:
  0 forgotten   2 error: no such cluster   6 apps are on it";

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
        /// What the cluster is called here; as the context is by default.
        #[arg(long = "as", value_name = "CLUSTER")]
        name: Option<String>,
        /// Makes it the first cluster, where all apps live that the settings do not put elsewhere.
        #[arg(long)]
        first: bool,
    },
    /// Shows the clusters, whether they answer, and how many apps are on each.
    #[command(after_long_help = LIST_HELP)]
    List,
    /// Forgets a cluster that no app is on.
    #[command(after_long_help = REMOVE_HELP)]
    Remove {
        /// The cluster.
        #[arg(value_name = "CLUSTER")]
        name: String,
    },
}

/// Whether an added cluster becomes the first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rank {
    /// It does.
    First,
    /// Only where there is none.
    Beside,
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: ClusterVerb) -> Result<ExitCode, CommandError> {
    match verb {
        ClusterVerb::Add { kubeconfig, context, name, first } => {
            let mut chosen = choose(session.environment, kubeconfig.as_deref(), context.as_deref())?;
            if let Some(name) = name {
                chosen.call(&name)?;
            }
            add(session, &chosen, if first { Rank::First } else { Rank::Beside }).await
        }
        ClusterVerb::List => show(session).await,
        ClusterVerb::Remove { name } => remove(session, &name).await,
    }
}

async fn add(session: &mut Session<'_>, chosen: &Chosen, rank: Rank) -> Result<ExitCode, CommandError> {
    let instance = session.call("GET", "", None).await?;
    let (state, id) = place(session, &instance, "add a cluster")?;
    let known = list(&instance, "clusters");
    let is_first = |cluster: &Value| flag(cluster, "first") && text(cluster, "name") == chosen.context;
    let rank_of = if known.is_empty() || known.iter().any(is_first) { Rank::First } else { rank };
    chosen.may_sign_in(session.environment, text(&instance, "name"), rank_of)?;
    if session.is_dry_run() {
        session.note(&format!("Would copy context {} ({}). Nothing was changed.", chosen.context, chosen.server));
        return Ok(ExitCode::Done);
    }
    let first = chosen.write(&state, &id, rank)?;
    let name = text(&instance, "name");
    session.note(&format!("Context {} ({}) is copied for {name}.", chosen.context, chosen.server));
    if first != chosen.context {
        session.note(&format!("Apps live on {first} unless moved: wild app move APP --to {}", chosen.context));
    }
    tell_daemon(session, "The running daemon uses it from now on.")
}

/// Returns the state directory and the identity of an instance.
fn place(session: &Session<'_>, instance: &Value, what: &str) -> Result<(StateDirectory, InstanceId), CommandError> {
    let id = InstanceId::parse(text(instance, "id"))
        .map_err(|error| CommandError::new(what, error.to_string(), "wild status"))?;
    let settings = read_settings(session.environment, &settings_file(session.environment, None))?;
    let root = text(instance, "stateDir");
    let state = if root.is_empty() { open_state(&settings)? } else { open(Path::new(root))? };
    Ok((state, id))
}

fn tell_daemon(session: &mut Session<'_>, told: &str) -> Result<ExitCode, CommandError> {
    if connect(session.environment, &session.flags)?.is_some() {
        session.note(told);
    }
    Ok(ExitCode::Done)
}

async fn show(session: &mut Session<'_>) -> Result<ExitCode, CommandError> {
    let value = session.get("/clusters").await?;
    let width = session.environment.width();
    session.print(Document { kind: "ClusterList", value, items: Some(("clusters", "name")) }, |value| {
        let rows = list(value, "clusters").iter().map(|cluster| {
            let first = if flag(cluster, "first") { "first" } else { "" };
            vec![
                text(cluster, "name").to_owned(),
                first.to_owned(),
                count(cluster, "apps").to_string(),
                answers(cluster),
            ]
        });
        table(&["name", "", "apps", "answers"], rows, width)
    });
    Ok(ExitCode::Done)
}

/// Returns whether a cluster answers, in words.
pub(super) fn answers(cluster: &Value) -> String {
    match cluster.get("reachable") {
        Some(Value::Bool(true)) => "reachable".to_owned(),
        _ if is_silent(cluster) => format!("not reachable since {}: {}", text(cluster, "since"), text(cluster, "why")),
        _ => "not asked yet".to_owned(),
    }
}

/// Returns whether a cluster was asked and does not answer.
pub(super) fn is_silent(cluster: &Value) -> bool {
    cluster.get("reachable") == Some(&Value::Bool(false))
}

async fn remove(session: &mut Session<'_>, name: &str) -> Result<ExitCode, CommandError> {
    let what = format!("remove the cluster {name}");
    let instance = session.call("GET", "", None).await?;
    let known = list(&instance, "clusters").iter().find(|cluster| text(cluster, "name") == name);
    if known.is_some_and(|cluster| count(cluster, "apps") > 0) {
        let error = CommandError::new(what, "apps are on it", "wild app move APP --to CLUSTER");
        return Err(CommandError { code: ExitCode::Blocked, ..error });
    }
    let (state, id) = place(session, &instance, &what)?;
    let path = state.instance(&id).map_err(|error| CommandError::of_settings(what.clone(), &error))?.kubeconfig();
    let before = kept(&path, &what)?;
    if named(&before, "contexts", name, "context").is_none() {
        return Err(CommandError::new(what, "there is no such cluster", "wild cluster list"));
    }
    if session.is_dry_run() {
        session.note(&format!("Would forget the cluster {name}. Nothing was changed."));
        return Ok(ExitCode::Done);
    }
    let after = without(&before, name);
    settings::write_private(&path, yaml::write(&after).as_bytes())
        .map_err(|error| CommandError::of_settings(what, &error))?;
    session.note(&format!("The cluster {name} is forgotten; nothing in it changed."));
    tell_daemon(session, "The running daemon lets go of it now.")
}

/// Reads the copy of an instance; an empty one if there is none.
fn kept(path: &Path, what: &str) -> Result<Value, CommandError> {
    let content = match std::fs::read_to_string(path) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(json!({})),
        Err(error) => return Err(CommandError::new(what, error.to_string(), format!("ls -l {}", path.display()))),
    };
    // What a parser quotes of this file may be a credential.
    let read = yaml::load_one("kubeconfig", &content, Dialect::Kube).ok().flatten().map(|document| document.value);
    read.ok_or_else(|| CommandError::new(what, format!("{} is no YAML", path.display()), "wild cluster add --first"))
}

/// Returns a kubeconfig without what belongs to one context of it.
fn without(config: &Value, name: &str) -> Value {
    let others = |key: &str| -> Vec<Value> {
        list(config, key).iter().filter(|entry| text(entry, "name") != name).cloned().collect()
    };
    let contexts = others("contexts");
    let current = match text(config, "current-context") {
        current if current == name => contexts.first().map(|context| text(context, "name")).unwrap_or_default(),
        current => current,
    };
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "contexts": contexts,
        "clusters": others("clusters"),
        "users": others("users"),
    })
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
    /// Whether it runs a program to sign in, which is not copied.
    runs_program: bool,
}

impl Chosen {
    /// Refuses a context that runs a program to sign in, unless the daemon's settings name one for it in an instance.
    pub(super) fn may_sign_in(
        &self,
        environment: &Surroundings,
        instance: &str,
        rank: Rank,
    ) -> Result<(), CommandError> {
        if !self.runs_program {
            return Ok(());
        }
        let programs = read_settings(environment, &settings_file(environment, None))?.programs_of(instance);
        if programs.contains_key(&self.context) || rank == Rank::First && programs.contains_key("") {
            return Ok(());
        }
        let cluster = if rank == Rank::First { instance.to_owned() } else { format!("{instance}/{}", self.context) };
        Err(CommandError::new(
            format!("copy the context {}", self.context),
            "it runs a program to sign in, and the daemon runs only what daemon.yaml names",
            format!(
                "write `clusters: {{{cluster}: {{exec: {{command: /PATH}}}}}}` into daemon.yaml: wild cluster add --help"
            ),
        ))
    }

    /// Gives it another name.
    fn call(&mut self, name: &str) -> Result<(), CommandError> {
        let is_named = !name.is_empty() && ClusterName::parse(name).is_ok();
        if !is_named {
            return Err(CommandError::new(
                format!("call the cluster {name:?}"),
                "a name has printable characters and no blanks",
                "wild cluster add --as edge",
            ));
        }
        for key in ["contexts", "clusters", "users"] {
            let entry = self.config.get_mut(key).and_then(|list| list.get_mut(0)).and_then(Value::as_object_mut);
            if let Some(entry) = entry {
                entry.insert("name".to_owned(), Value::from(name));
            }
        }
        if let Some(context) = self.config.pointer_mut("/contexts/0/context") {
            *context = json!({"cluster": name, "user": name});
        }
        if let Some(fields) = self.config.as_object_mut() {
            fields.insert("current-context".to_owned(), Value::from(name));
        }
        name.clone_into(&mut self.context);
        Ok(())
    }

    /// Returns the copy together with the clusters that are there already.
    fn beside(&self, before: &Value, rank: Rank) -> Value {
        let mut config = without(before, &self.context);
        for key in ["contexts", "clusters", "users"] {
            if let Some(entries) = config.get_mut(key).and_then(Value::as_array_mut) {
                entries.extend(list(&self.config, key).iter().cloned());
            }
        }
        let first = match text(before, "current-context") {
            "" => &self.context,
            _ if rank == Rank::First => &self.context,
            first => first,
        };
        if let Some(fields) = config.as_object_mut() {
            fields.insert("current-context".to_owned(), Value::from(first));
        }
        config
    }

    /// Writes the copy and returns which cluster is the first one.
    pub(super) fn write(&self, state: &StateDirectory, id: &InstanceId, rank: Rank) -> Result<String, CommandError> {
        let what = "copy the kubeconfig";
        let path = state.instance(id).map_err(|error| CommandError::of_settings(what, &error))?.kubeconfig();
        let config = self.beside(&kept(&path, what)?, rank);
        settings::write_private(&path, yaml::write(&config).as_bytes())
            .map_err(|error| CommandError::of_settings(what, &error))?;
        Ok(text(&config, "current-context").to_owned())
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
    let runs_program = ["exec", "auth-provider"].iter().any(|key| user.contains_key(*key));
    if runs_program {
        user.clear();
    }
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
    Ok(Chosen { context: context.to_owned(), server, config, runs_program })
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
    fn a_second_cluster_stands_beside_the_first_and_under_its_own_name() {
        let (_directory, environment) = world();
        let chosen = || choose(&environment, Some(Path::new("config")), None).unwrap();
        let names = |config: &Value| -> Vec<String> {
            let contexts = list(config, "contexts").iter().map(|context| text(context, "name").to_owned());
            contexts.chain([text(config, "current-context").to_owned()]).collect()
        };
        let first = chosen().beside(&json!({}), Rank::Beside);
        assert_eq!(names(&first), ["home", "home"]);
        let mut other = chosen();
        assert!(other.call("two words").is_err() && other.call("").is_err());
        other.call("edge").unwrap();
        let both = other.beside(&first, Rank::Beside);
        assert_eq!(names(&both), ["home", "edge", "home"]);
        assert_eq!(both["contexts"][1]["context"], json!({"cluster": "edge", "user": "edge"}));
        assert_eq!(names(&other.beside(&first, Rank::First)), ["home", "edge", "edge"]);
        // The same again replaces what it was.
        assert_eq!(names(&chosen().beside(&both, Rank::Beside)), ["edge", "home", "home"]);
        assert_eq!(names(&without(&both, "home")), ["edge", "edge"]);
        assert_eq!(list(&without(&both, "edge"), "users").len(), 1);
    }

    #[test]
    fn a_context_that_runs_a_program_is_copied_without_it_where_the_settings_name_one() {
        let (directory, mut environment) = world();
        let file = directory.path().join("daemon.yaml");
        environment.variables.insert("WILD_CONFIG".to_owned(), file.display().to_string());
        let chosen = choose(&environment, Some(Path::new("config")), Some("work")).unwrap();
        assert!(!yaml::write(&chosen.config).contains("get-token"));
        let error = chosen.may_sign_in(&environment, "home", Rank::Beside).unwrap_err();
        assert!(error.because.contains("runs a program") && error.remedy.contains("{home/work: {exec:"), "{error:?}");
        let may = |instance, rank| chosen.may_sign_in(&environment, instance, rank).is_ok();
        std::fs::write(&file, "clusters: {home/work: {exec: {command: /bin/get-token}}}\n").unwrap();
        assert!(may("home", Rank::Beside) && !may("lab", Rank::First));
        std::fs::write(&file, "clusters: {home: {exec: {command: /bin/get-token}}}\n").unwrap();
        assert!(may("home", Rank::First) && !may("home", Rank::Beside));
    }

    #[test]
    fn an_unknown_context_is_answered_with_those_that_are_there() {
        let (_directory, environment) = world();
        let error = choose(&environment, Some(Path::new("config")), Some("lab")).err().unwrap();
        assert_eq!(error.because, "there are only: home, work");
        assert!(choose(&environment, None, None).err().unwrap().because.contains("no kubeconfig"));
    }
}
