//! `wild app move`: lets an app live on another cluster of the instance.
//!
//! Not here: what follows from it (`plan`).

use clap::Args;
use serde_json::json;

use super::super::error::{CommandError, ExitCode};
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Change, Patience};
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app move quillblog --to edge

The app first goes from where it is, once you agreed to the plan that is named, and then comes to the other cluster. What it has
stored does not move: its volumes and its namespace stay where they are. `wild cluster list` shows the clusters.

Exit codes:
  0 moved   2 error: no such cluster   6 waits for your word about what goes where it is";

/// Arguments of `wild app move`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Move {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    /// The cluster.
    #[arg(long, value_name = "CLUSTER")]
    to: String,
}

/// Moves an app.
pub(super) async fn run(session: &mut Session<'_>, arguments: Move) -> Result<ExitCode, CommandError> {
    let Move { app, to } = arguments;
    let (below, body) = (format!("/apps/{app}/move"), json!({"cluster": to}));
    let asked = session.ask(Change { method: "POST", below, body, patience: Patience::Wait }).await?;
    Ok(session.report(asked, &Next { done: "", undecided: "" }))
}
