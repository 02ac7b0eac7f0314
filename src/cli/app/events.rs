//! `wild app events`: what happened to an app, oldest first.
//!
//! Not here: logs of pods.

use clap::Args;

use super::super::error::{CommandError, ExitCode};
use super::super::format::Document;
use super::super::json::{list, text};
use super::super::session::Session;
use super::super::table::{ago, table};
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app events quillblog
  wild app events quillblog -o json

What the cluster tells of its objects, and of what controllers made of them, stands among our own events by time, as long as the cluster \
keeps it, which is an hour by default. Values of secrets are hidden.

Exit codes:
  0 shown   2 no such app";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Events {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Events) -> Result<ExitCode, CommandError> {
    let Events { app } = arguments;
    let answer = session.get(&format!("/apps/{app}/events")).await?;
    if list(&answer, "events").is_empty() && session.is_for_people() {
        session.note("Nothing happened yet.");
        return Ok(ExitCode::Done);
    }
    if !text(&answer, "unread").is_empty() && session.is_for_people() {
        session.note(&format!("What the cluster tells is not shown: {}", text(&answer, "unread")));
    }
    let (now, width) = (session.now(), session.environment.width());
    session.print(Document { kind: "EventList", value: answer, items: Some(("events", "event")) }, |answer| {
        let rows = list(answer, "events").iter().map(|event| {
            vec![ago(text(event, "time"), now), text(event, "kind").to_owned(), text(event, "detail").to_owned()]
        });
        table(&["when", "what", "detail"], rows, width)
    });
    Ok(ExitCode::Done)
}
