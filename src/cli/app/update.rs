//! `wild app update`: a newer package version is merged into the committed files.
//!
//! Not here: the merge (`merge`), deciding conflicts (`resolve.rs`).

use clap::Args;
use serde_json::{Value, json};

use super::super::error::{CommandError, ExitCode};
use super::super::json::{list, text};
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Asked, Change, Patience};
use super::grants::{self, Grants};
use super::{conflict_lines, settle};
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app update quillblog
  wild app update quillblog --to 5.2
  wild app update quillblog --dry-run
  wild app update quillblog --take mine
  wild app update quillblog --grant stonedb.password

A version that reads secrets of other apps which the one before did not read is merged once they are granted: with --grant, or when you are asked on a terminal.

Exit codes:
  0 merged, or nothing newer   2 error   3 conflicts are kept on a branch: decide
  6 blocked: a secret of another app that nobody granted";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Update {
    /// Apps.
    #[arg(value_name = "APP", required = true, value_parser = AppName::parse)]
    apps: Vec<AppName>,
    /// Version, if it is not the newest.
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// What wins every conflict, so that none waits: mine, upstream or base.
    #[arg(long, value_name = "SIDE", value_parser = ["mine", "upstream", "base"])]
    take: Option<String>,
    #[command(flatten)]
    grants: Grants,
    /// Returns as soon as the request is stored.
    #[arg(long)]
    no_wait: bool,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Update) -> Result<ExitCode, CommandError> {
    let Update { apps, to, take, grants, no_wait } = arguments;
    if apps.len() > 1 && !grants.is_empty() {
        let because = "a grant is for one app, and several are named";
        return Err(CommandError::new("update with --grant", because, "wild app update APP --grant APP.KEY"));
    }
    let patience = if no_wait { Patience::Leave } else { Patience::Wait };
    let body = json!({"to": to, "take": take, "grants": grants.words()});
    if let [app] = apps.as_slice() {
        return one(session, app, body, patience).await;
    }
    let mut code = ExitCode::Done;
    for app in &apps {
        let ended = one(session, app, body.clone(), patience).await;
        code = code.and(settle(session, ended));
    }
    Ok(code)
}

async fn one(
    session: &mut Session<'_>,
    app: &AppName,
    mut body: Value,
    patience: Patience,
) -> Result<ExitCode, CommandError> {
    let below = format!("/updates/{app}");
    grants::ask(session, ("POST", &below), &mut body).await?;
    let asked = session.ask(Change { method: "POST", below, body, patience }).await?;
    let ended = matches!(asked, Asked::Ended(_));
    let code = session.report(asked, &Next { done: "", undecided: "" });
    if code == ExitCode::Decision && ended && session.is_for_people() {
        let waiting = session.get(&format!("/updates/{app}")).await?;
        let lines: String = list(&waiting, "conflicts").iter().map(conflict_lines).collect();
        session.out.data(&lines);
        session.note(&format!("Kept on branch {}; nothing else is touched.", text(&waiting, "branch")));
        session.note(&format!("Decide: wild app resolve {app} --take mine      or edit the branch with git"));
    }
    Ok(code)
}
