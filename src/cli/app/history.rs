//! `wild app history`: the commits that touched an app.
//!
//! Not here: operations (`operation.rs`).

use clap::Args;

use super::super::error::{CommandError, ExitCode};
use super::super::format::Document;
use super::super::json::{list, short, text};
use super::super::session::Session;
use super::super::table::{ago, table};
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app history quillblog
  wild app history quillblog -o json

Exit codes:
  0 shown   2 no such app";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct History {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: History) -> Result<ExitCode, CommandError> {
    let History { app } = arguments;
    let answer = session.get(&format!("/apps/{app}/history")).await?;
    let (now, width) = (session.now(), session.environment.width());
    session.print(Document { kind: "History", value: answer, items: Some(("commits", "commit")) }, |answer| {
        let rows = list(answer, "commits").iter().map(|commit| {
            let state = list(commit, "statuses").first().map(|status| text(status, "state")).unwrap_or_default();
            vec![
                short(text(commit, "id")).to_owned(),
                ago(text(commit, "time"), now),
                text(commit, "author").to_owned(),
                state.to_owned(),
                text(commit, "subject").to_owned(),
            ]
        });
        table(&["commit", "when", "who", "outcome", "subject"], rows, width)
    });
    Ok(ExitCode::Done)
}
