//! `wild app eject`: an app is parted from its package and stays as it is.
//!
//! Not here: what goes (`compile`).

use clap::Args;
use serde_json::json;

use super::super::error::{CommandError, ExitCode};
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Change, Patience};
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app eject stonedb --dry-run
  wild app eject stonedb

The record of its package goes, and so does apps/APP/.package. Everything else stays, and it gets no more updates.

Exit codes:
  0 ejected   2 error   3 an update waits for a decision   6 blocked";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Eject {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Eject) -> Result<ExitCode, CommandError> {
    let below = format!("/apps/{}/eject", arguments.app);
    let asked = session.ask(Change { method: "POST", below, body: json!({}), patience: Patience::Wait }).await?;
    Ok(session.report(asked, &Next { done: "", undecided: "" }))
}
