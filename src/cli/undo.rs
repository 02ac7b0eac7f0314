//! `wild undo`: takes back what somebody asked for, by one more commit.
//!
//! Not here: going back over several commits (`app rollback`).

use clap::Args;
use serde_json::{Value, json};

use super::client::encode;
use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{list, text};
use super::operation;
use super::report::Next;
use super::session::Session;
use super::table::{ago, table};
use super::wait::{Change, Patience};

/// Operations that are looked through for the newest that changed the repository.
const MAX_OPERATIONS: usize = 100;
/// What people ask for that can be taken back.
const VERBS: [&str; 10] =
    ["add", "config", "update", "resolve", "adopt", "eject", "rollback", "delete", "adopt-drift", "suspend"];

const HELP: &str = "Examples:
  wild undo --list
  wild undo --dry-run
  wild undo

Without ID the newest request that changed the repository is taken back. A deleted app comes back with its files, \
its config and its secret values, and with its data: volumes that stayed are taken over again, and those that were \
deleted with the app are held for 7 days (deletion.dataGrace in .wild/config.yaml) and bound again. An operation \
that deleted objects because git no longer held them is undone by the commit that held them last. What cannot come \
back is said; `wild operation archive ID` shows it as it was. What later commits of the app stand on is refused, and \
they are named.

Exit codes:
  0 undone, or would be   2 error, or nothing to undo   3 a decision is needed
  6 later commits changed the app";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Undo {
    /// Operation, as `wild operation list` shows it.
    #[arg(value_name = "ID", conflicts_with = "list")]
    id: Option<String>,
    /// Lists what can be taken back, newest first.
    #[arg(long)]
    list: bool,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Undo) -> Result<ExitCode, CommandError> {
    let Undo { id, list: only_list } = arguments;
    if only_list {
        return show(session).await;
    }
    let id = match id {
        Some(id) => id,
        None => newest(session).await?,
    };
    let below = format!("/operations/{}/undo", encode(&id));
    let asked = session.ask(Change { method: "POST", below, body: json!({}), patience: Patience::Wait }).await?;
    Ok(session.report(asked, &Next { done: "", undecided: "" }))
}

async fn undoable(session: &mut Session<'_>) -> Result<Value, CommandError> {
    let mut answer = session.get(&format!("/operations?limit={MAX_OPERATIONS}")).await?;
    if let Some(operations) = answer.get_mut("operations").and_then(Value::as_array_mut) {
        operations
            .retain(|operation| VERBS.contains(&text(operation, "verb")) && text(operation, "outcome") == "changed");
    }
    Ok(answer)
}

async fn newest(session: &mut Session<'_>) -> Result<String, CommandError> {
    let answer = undoable(session).await?;
    match list(&answer, "operations").first() {
        Some(operation) => Ok(text(operation, "id").to_owned()),
        None => {
            Err(CommandError::new("undo", "nothing that was asked for changed the repository", "wild operation list"))
        }
    }
}

async fn show(session: &mut Session<'_>) -> Result<ExitCode, CommandError> {
    let answer = undoable(session).await?;
    if list(&answer, "operations").is_empty() && session.is_for_people() {
        session.note("There is nothing to undo.");
        return Ok(ExitCode::Done);
    }
    let (now, width) = (session.now(), session.environment.width());
    session.print(
        Document { kind: "OperationList", value: answer, items: Some(("operations", "operation")) },
        |answer| {
            let rows = list(answer, "operations").iter();
            table(&operation::HEADERS, rows.map(|operation| operation::row(operation, |time| ago(time, now))), width)
        },
    );
    Ok(ExitCode::Done)
}
