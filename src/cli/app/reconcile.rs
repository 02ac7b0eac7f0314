//! `wild app reconcile`: one pass for an app, now, and on request a Job that runs again.
//!
//! Not here: the pass (`pipeline`), what agrees to more than any pass may do (`deploy.rs`).

use clap::Args;
use serde_json::json;

use super::super::error::{CommandError, ExitCode};
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Change, Patience};
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app reconcile quillblog
  wild app reconcile quillblog --rerun-job migrate

It does what a pass by itself would, and commits nothing: differences that the settings only report stay as they are, which \
`wild app deploy` puts back. A Job runs once for what is committed; with --rerun-job it is made anew and runs again, a hook that \
failed as well.

Exit codes:
  0 done   2 error, or no such app or Job   6 blocked";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Reconcile {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    /// Job that runs again.
    #[arg(long, value_name = "NAME")]
    rerun_job: Option<String>,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Reconcile) -> Result<ExitCode, CommandError> {
    let Reconcile { app, rerun_job } = arguments;
    let (below, body) = (format!("/apps/{app}/reconcile"), json!({"rerun": rerun_job}));
    let asked = session.ask(Change { method: "POST", below, body, patience: Patience::Wait }).await?;
    Ok(session.report(asked, &Next { done: "", undecided: "" }))
}
