//! `wild cluster`: the clusters of an instance. `add` copies one context of a kubeconfig into the state directory of the instance, readable by
//! nobody else.
//!
//! The first one that is added is where all apps live that the settings do not put elsewhere. The daemon reads only this copy, so that neither `KUBECONFIG` nor a later change of context moves it to another cluster. Files that the
//! context names are copied into it; a program that it runs to sign in is not, because only what the daemon's settings name is run.
//!
//! Not here: connecting (`target`).

mod accept;
mod chosen;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::Value;

use super::client::encode;
use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{count, flag, list, text};
use super::locate::{connect, open_state, read_settings, settings_file};
use super::session::Session;
use super::table::table;
use crate::model::InstanceId;
use crate::settings::{self, StateDirectory};
use crate::yaml;
pub(super) use accept::identity;
pub(super) use chosen::{Chosen, choose, told};
use chosen::{kept, named, without};

const ADD_HELP: &str = "Examples:
  wild cluster add
  wild cluster add --kubeconfig ~/.kube/config
  wild cluster add --context home
  wild cluster add --context home --as edge

The first cluster is where all apps live. Apps live on another one where `.wild/config.yaml` says so: `wild app move`.

Only what reaches a server by a way of its own is copied: without proxy, over an encrypted connection whose certificate is checked; plain http
only to this machine. Files that the context names are copied into it. A token that no header takes, such as one with a line break, and what
is no certificate or no key are refused by field and line.

A context that runs a program to sign in is copied without it. The program must be written out in daemon.yaml, by its whole path, for the
first cluster of the instance home or for its cluster edge:
  clusters:
    home: {exec: {command: /usr/local/bin/get-token, args: [--cluster, home], env: {PROFILE: home}}}
    home/edge: {exec: {command: /usr/local/bin/get-token}}

Exit codes:
  0 copied   2 error: no such context, one that is refused, or it needs a program that daemon.yaml does not name";

const LIST_HELP: &str = "Examples:
  wild cluster list
  wild cluster list -o json

Exit codes:
  0 shown   2 error";

const SHOW_HELP: &str = "Examples:
  wild cluster show home
  wild cluster show home -o json

Exit codes:
  0 shown   2 error: no such cluster";

const ACCEPT_HELP: &str = "Examples:
  wild cluster accept edge --dry-run
  wild cluster accept edge --yes

A cluster is known again by its namespace kube-system, or by its server and the certificate authority of that where the namespace may not be \
read. A server at another address is believed only if the same authority vouches for it, or if both are on this machine; any other is not even \
asked. When the kubeconfig leads to another cluster, nothing is written until it leads back or somebody accepts it. What is in git is applied \
there from then on; what is on the other cluster stays as it is.

Exit codes:
  0 accepted, or it is the one that is known   2 error: no such cluster, not confirmed   6 it leads elsewhere again by now";

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
    /// Shows one cluster: how it is reached, by what it is known again, what is wrong with its kubeconfig.
    #[command(after_long_help = SHOW_HELP)]
    Show {
        /// The cluster.
        #[arg(value_name = "CLUSTER")]
        name: String,
    },
    /// Takes the cluster that the kubeconfig leads to now for the one that is meant.
    #[command(after_long_help = ACCEPT_HELP)]
    Accept {
        /// The cluster; the first one by default.
        #[arg(value_name = "CLUSTER")]
        name: Option<String>,
    },
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
            let mut chosen = choose(session.environment, kubeconfig.as_deref(), context.as_deref()).await?;
            if let Some(name) = name {
                chosen.call(&name)?;
            }
            add(session, &chosen, if first { Rank::First } else { Rank::Beside }).await
        }
        ClusterVerb::List => list_all(session).await,
        ClusterVerb::Show { name } => accept::show(session, &name).await,
        ClusterVerb::Accept { name } => accept::accept(session, name.as_deref()).await,
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
    for remark in &chosen.remarks {
        session.note(remark);
    }
    if session.is_dry_run() {
        session.note(&format!("Would copy context {} ({}). Nothing was changed.", chosen.context, chosen.server));
        return Ok(ExitCode::Done);
    }
    let (first, narrowed) = chosen.write(&state, &id, rank)?;
    narrowed.iter().for_each(|it| session.note(&told(it)));
    tell_move(session, (chosen, &first), known);
    let name = text(&instance, "name");
    session.note(&format!("Context {} ({}) is copied for {name}.", chosen.context, chosen.server));
    if first != chosen.context {
        session.note(&format!("Apps live on {first} unless moved: wild app move APP --to {}", chosen.context));
    }
    tell_daemon(session, "The running daemon uses it from now on.")
}

/// Tells that a cluster of this name was at another address until now, or that another one was the first, whose apps are meant from now on.
fn tell_move(session: &mut Session<'_>, (chosen, first): (&Chosen, &str), known: &[Value]) {
    let (context, server) = (&chosen.context, &chosen.server);
    let server_of = |cluster: &Value| cluster.pointer("/known/identity").map(|known| text(known, "server").to_owned());
    let before = match first == context {
        true => known.iter().find(|cluster| flag(cluster, "first")),
        false => known.iter().find(|cluster| text(cluster, "name") == context),
    };
    let Some((before, known)) = before.and_then(|before| Some((text(before, "name"), server_of(before)?))) else {
        return;
    };
    if before != context {
        session.note(&format!(
            "The first cluster was {before} ({known}) until now. If this is another one, nothing is written until: wild cluster accept {context}"
        ));
    } else if known != *server {
        session.note(&format!(
            "{context} was {known} until now. If that is another cluster, nothing is written until: wild cluster accept {context}"
        ));
    }
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

async fn list_all(session: &mut Session<'_>) -> Result<ExitCode, CommandError> {
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

/// Returns whether a cluster answers and whether anything is wrong with the way to it, in words.
pub(super) fn answers(cluster: &Value) -> String {
    let answers = match cluster.get("reachable") {
        Some(Value::Bool(true)) => "reachable".to_owned(),
        _ if flag(cluster, "refused") => return format!("refused: {}", text(cluster, "why")),
        _ if is_elsewhere(cluster) => {
            format!("another cluster than before, nothing is written: {}", acceptance(cluster))
        }
        _ if is_silent(cluster) => format!("not reachable since {}: {}", text(cluster, "since"), text(cluster, "why")),
        _ => "not asked yet".to_owned(),
    };
    match (text(cluster, "trouble"), list(cluster, "narrowed").first()) {
        ("", None) => answers,
        ("", Some(file)) => format!("{answers}; others could read {}: replace what signs in", text(file, "path")),
        (trouble, _) => format!("{answers}; its kubeconfig changed and is not used: {trouble}"),
    }
}

/// Returns whether a cluster was asked and does not answer.
pub(super) fn is_silent(cluster: &Value) -> bool {
    cluster.get("reachable") == Some(&Value::Bool(false))
}

/// Returns whether the kubeconfig leads to another cluster than is known, so that nothing is written.
pub(super) fn is_elsewhere(cluster: &Value) -> bool {
    flag(cluster, "elsewhere")
}

/// Returns the command by which a person takes another cluster for the one that is meant.
pub(super) fn acceptance(cluster: &Value) -> String {
    format!("wild cluster accept {}", text(cluster, "name"))
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
    let (before, narrowed) = kept(&path, &what)?;
    narrowed.iter().for_each(|it| session.note(&told(it)));
    if named(&before, "contexts", name, "context").is_none() {
        return Err(CommandError::new(what, "there is no such cluster", "wild cluster list"));
    }
    if session.is_dry_run() {
        session.note(&format!("Would forget the cluster {name}. Nothing was changed."));
        return Ok(ExitCode::Done);
    }
    let after = without(&before, name);
    // What is remembered of it goes first: whoever breaks off in between has a cluster that is asked again which one it is.
    if known.is_some() {
        session.call("DELETE", &format!("/clusters/{}/known", encode(name)), None).await?;
    }
    settings::write_private(&path, yaml::write(&after).as_bytes())
        .map_err(|error| CommandError::of_settings(what, &error))?;
    session.note(&format!("The cluster {name} is forgotten; nothing in it changed."));
    tell_daemon(session, "The running daemon lets go of it now.")
}

fn open(root: &Path) -> Result<StateDirectory, CommandError> {
    StateDirectory::open(root).map_err(|error| CommandError::of_settings(format!("open {}", root.display()), &error))
}
