//! `wild app suspend` and `wild app resume`: nothing of an app is written for a while.
//!
//! Not here: what follows from it (`plan`).

use clap::Args;
use serde_json::{Value, json};

use super::super::error::{CommandError, ExitCode};
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Change, Patience};
use crate::model::AppName;

const SUSPEND_HELP: &str = "Examples:
  wild app suspend quillblog --reason maintenance
  wild app suspend quillblog --reason pictures --until 2035-01-31T00:00:00Z

Watches, drift and health are shown as ever. The app cannot be deleted until it is resumed.

Exit codes:
  0 suspended   2 error";

const RESUME_HELP: &str = "Examples:
  wild app resume quillblog

Exit codes:
  0 resumed, and applied as committed   2 error   6 blocked by something else";

/// Arguments of `wild app suspend`.
#[derive(Args, Debug)]
#[command(after_long_help = SUSPEND_HELP)]
pub(in crate::cli) struct Suspend {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    /// Why, for everybody who wonders.
    #[arg(long)]
    reason: String,
    /// When it ends by itself.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

/// Arguments of `wild app resume`.
#[derive(Args, Debug)]
#[command(after_long_help = RESUME_HELP)]
pub(in crate::cli) struct Resume {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
}

/// Suspends an app.
pub(super) async fn suspend(session: &mut Session<'_>, arguments: Suspend) -> Result<ExitCode, CommandError> {
    let Suspend { app, reason, until } = arguments;
    let body = json!({"reason": reason, "until": until.unwrap_or_default()});
    ask(session, format!("/apps/{app}/suspend"), body).await
}

/// Resumes an app.
pub(super) async fn resume(session: &mut Session<'_>, arguments: Resume) -> Result<ExitCode, CommandError> {
    ask(session, format!("/apps/{}/resume", arguments.app), json!({})).await
}

async fn ask(session: &mut Session<'_>, below: String, body: Value) -> Result<ExitCode, CommandError> {
    let asked = session.ask(Change { method: "POST", below, body, patience: Patience::Wait }).await?;
    Ok(session.report(asked, &Next { done: "", undecided: "" }))
}
