//! `wild app delete`: an app leaves the tree and the cluster. Asks for its name, because a `y` is typed too easily.
//!
//! Not here: what of it goes and what stays (`plan`).

use clap::Args;
use serde_json::{Value, json};

use super::super::error::{CommandError, ExitCode};
use super::super::json::{list, text};
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Change, Patience};
use super::settle;
use crate::model::{AppName, DataFate as Fate};

const HELP: &str = "Examples:
  wild app delete quillblog --dry-run
  wild app delete quillblog --yes
  wild app delete quillblog --delete-data --yes
  wild app delete quillblog --delete-data --force --yes

Objects, volumes and values of secrets are kept for a while after they are gone: `wild undo` brings the app back as \
it was. Volumes are held for 7 days (deletion.dataGrace in .wild/config.yaml), after that their storage class says \
what becomes of them. With --force nothing is held and nothing brings the data back.

Exit codes:
  0 deleted, or it was not there   2 error, or nobody could be asked
  6 blocked: another app requires it";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Delete {
    /// Apps.
    #[arg(value_name = "APP", required = true, value_parser = AppName::parse)]
    apps: Vec<AppName>,
    /// Keeps volumes and namespace; this is the default.
    #[arg(long, conflicts_with = "delete_data")]
    keep_data: bool,
    /// Deletes volumes and namespace too; for 7 days `wild undo` brings the data back.
    #[arg(long)]
    delete_data: bool,
    /// Lets volumes and secret values go at once; nothing brings them back.
    #[arg(long, requires = "delete_data")]
    force: bool,
    /// Returns as soon as the request is stored.
    #[arg(long)]
    no_wait: bool,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Delete) -> Result<ExitCode, CommandError> {
    let Delete { apps, keep_data: _, delete_data, force, no_wait } = arguments;
    let fate = match (delete_data, force) {
        (false, _) => Fate::Keep,
        (true, false) => Fate::Delete,
        (true, true) => Fate::DeleteNow,
    };
    let patience = if no_wait { Patience::Leave } else { Patience::Wait };
    if let [app] = apps.as_slice() {
        return one(session, app, fate, patience).await;
    }
    let mut code = ExitCode::Done;
    for app in &apps {
        let ended = one(session, app, fate, patience).await;
        code = code.and(settle(session, ended));
    }
    Ok(code)
}

async fn one(
    session: &mut Session<'_>,
    app: &AppName,
    fate: Fate,
    patience: Patience,
) -> Result<ExitCode, CommandError> {
    let states = session.get("/apps").await?;
    let Some(state) = list(&states, "apps").iter().find(|state| text(state, "name") == app.as_str()) else {
        let names = list(&states, "apps").iter().map(|state| text(state, "name"));
        let meant = crate::base::nearest::nearest(app.as_str(), names);
        let meant = meant.map(|meant| format!(" Did you mean {meant}?")).unwrap_or_default();
        session.note(&format!("{app} is not there; nothing to delete.{meant}"));
        return Ok(ExitCode::Done);
    };
    if !session.is_dry_run() {
        confirm(session, app, state, fate)?;
    }
    let (word, done) = match fate {
        Fate::Keep => ("keep", "Volumes and namespace stay."),
        Fate::Delete => {
            ("delete", "Its volumes and its namespace go too; until its volumes are let go, wild undo brings it back.")
        }
        Fate::DeleteNow => ("delete-now", "Its volumes and its namespace go too, at once."),
    };
    let below = format!("/apps/{app}?data={word}");
    let asked = session.ask(Change { method: "DELETE", below, body: json!({}), patience }).await?;
    Ok(session.report(asked, &Next { done, undecided: "" }))
}

/// Asks for the name of the app, or fails where nobody can be asked.
fn confirm(session: &mut Session<'_>, app: &AppName, state: &Value, fate: Fate) -> Result<(), CommandError> {
    if session.flags.yes {
        return Ok(());
    }
    let what = format!("delete {app}");
    let (flag, data) = match fate {
        Fate::Keep => ("", "its volumes and its namespace stay"),
        Fate::Delete => (" --delete-data", "its volumes and its namespace GO TOO, its volumes after some days"),
        Fate::DeleteNow => (" --delete-data --force", "its volumes and its namespace GO TOO, AT ONCE AND FOR GOOD"),
    };
    let remedy = format!("wild app delete {app}{flag} --yes");
    if !session.may_ask() {
        return Err(CommandError::new(
            what,
            "it must be confirmed, and there is no terminal to ask on: --yes is missing",
            remedy,
        ));
    }
    let objects = list(state, "objects").len();
    session.out.note(&format!("This deletes {app} with {objects} objects; {data}."));
    match session.out.ask("Type the name of the app to go on:") {
        Some(answer) if answer == app.as_str() => Ok(()),
        _ => Err(CommandError::new(what, "the name was not typed; nothing was changed", remedy)),
    }
}
