//! `wild app adopt`: an app that is kept by hand comes under the care of its package.
//!
//! Not here: which version it comes nearest to (`compile`).

use clap::Args;
use serde_json::json;

use super::super::error::{CommandError, ExitCode};
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Change, Patience};
use crate::model::{AppName, PackageName};

const HELP: &str = "Examples:
  wild app adopt stonedb --dry-run
  wild app adopt stonedb
  wild app adopt cache --package quickcache

No file of the app changes. The version that its files come nearest to is what it stands on from now on; what differs is \
yours and is kept by updates. If no version comes near, it stands on its own files as they are: what you customised \
before cannot be told from upstream text then, and the next update, for which only you can ask, brings upstream text.

Exit codes:
  0 adopted   2 error";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Adopt {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    /// Package, if it is not called as the app is.
    #[arg(long, value_name = "PACKAGE", value_parser = PackageName::parse)]
    package: Option<PackageName>,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Adopt) -> Result<ExitCode, CommandError> {
    let Adopt { app, package } = arguments;
    let (below, body) = (format!("/apps/{app}/adopt"), json!({"package": package}));
    let asked = session.ask(Change { method: "POST", below, body, patience: Patience::Wait }).await?;
    Ok(session.report(asked, &Next { done: "", undecided: "" }))
}
