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
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app delete quillblog --dry-run
  wild app delete quillblog --yes
  wild app delete quillblog --delete-data --yes

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
    /// Deletes volumes and namespace too; nothing brings them back.
    #[arg(long)]
    delete_data: bool,
    /// Returns as soon as the request is stored.
    #[arg(long)]
    no_wait: bool,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Delete) -> Result<ExitCode, CommandError> {
    let Delete { apps, keep_data: _, delete_data, no_wait } = arguments;
    let patience = if no_wait { Patience::Leave } else { Patience::Wait };
    if let [app] = apps.as_slice() {
        return one(session, app, delete_data, patience).await;
    }
    let mut code = ExitCode::Done;
    for app in &apps {
        let ended = one(session, app, delete_data, patience).await;
        code = code.and(settle(session, ended));
    }
    Ok(code)
}

async fn one(
    session: &mut Session<'_>,
    app: &AppName,
    delete_data: bool,
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
    let fate = if delete_data { "delete" } else { "keep" };
    if !session.is_dry_run() {
        confirm(session, app, state, delete_data)?;
    }
    let below = format!("/apps/{app}?data={fate}");
    let asked = session.ask(Change { method: "DELETE", below, body: json!({}), patience }).await?;
    let done = if delete_data { "Its volumes and its namespace go too." } else { "Volumes and namespace stay." };
    Ok(session.report(asked, &Next { done, undecided: "" }))
}

/// Asks for the name of the app, or fails where nobody can be asked.
fn confirm(session: &mut Session<'_>, app: &AppName, state: &Value, delete_data: bool) -> Result<(), CommandError> {
    if session.flags.yes {
        return Ok(());
    }
    let what = format!("delete {app}");
    let flag = if delete_data { " --delete-data" } else { "" };
    let remedy = format!("wild app delete {app}{flag} --yes");
    if !session.may_ask() {
        return Err(CommandError::new(
            what,
            "it must be confirmed, and there is no terminal to ask on: --yes is missing",
            remedy,
        ));
    }
    let objects = list(state, "objects").len();
    let data = if delete_data { "its volumes and its namespace GO TOO" } else { "its volumes and its namespace stay" };
    session.out.note(&format!("This deletes {app} with {objects} objects; {data}."));
    match session.out.ask("Type the name of the app to go on:") {
        Some(answer) if answer == app.as_str() => Ok(()),
        _ => Err(CommandError::new(what, "the name was not typed; nothing was changed", remedy)),
    }
}
