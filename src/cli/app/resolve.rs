//! `wild app resolve`: decides the conflicts of an update that waits on its branch.
//!
//! Not here: the merge commit (`compile`).

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::super::error::{CommandError, ExitCode};
use super::super::format::Document;
use super::super::json::{list, text};
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Change, Patience};
use super::conflict_lines;
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app resolve quillblog --list
  wild app resolve quillblog --take mine
  wild app resolve quillblog apps/quillblog/deployment.yaml --take upstream
  wild app resolve quillblog --continue
  wild app resolve quillblog --abort

Exit codes:
  0 all decided, the update is merged   2 error   3 conflicts are left   6 blocked";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Resolve {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    /// Conflict: its id, or the path of a file; none means all.
    #[arg(value_name = "CONFLICT")]
    conflict: Option<String>,
    /// The side that wins.
    #[arg(long, value_enum, value_name = "SIDE", conflicts_with_all = ["list", "continue", "abort"])]
    take: Option<Take>,
    /// Lists the conflicts.
    #[arg(long, conflicts_with_all = ["continue", "abort"])]
    list: bool,
    /// Finishes after the branch was edited with git.
    #[arg(long, conflicts_with = "abort")]
    r#continue: bool,
    /// Drops the update.
    #[arg(long)]
    abort: bool,
}

/// A side of a conflict.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Take {
    /// What is committed.
    Mine,
    /// What the package brings.
    Upstream,
    /// What both started from.
    Base,
}

impl Take {
    fn word(self) -> &'static str {
        match self {
            Self::Mine => "mine",
            Self::Upstream => "upstream",
            Self::Base => "base",
        }
    }
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Resolve) -> Result<ExitCode, CommandError> {
    let Resolve { app, conflict, take, list: only_list, r#continue: finish, abort } = arguments;
    let update = format!("/updates/{app}");
    if abort {
        let asked = session
            .ask(Change { method: "POST", below: format!("{update}/abort"), body: json!({}), patience: Patience::Wait })
            .await?;
        return Ok(session.report(asked, &Next { done: "The update is dropped.", undecided: "" }));
    }
    let waiting = session.get(&update).await?;
    let decisions = match (take, finish) {
        (Some(side), _) => vec![json!({"conflict": conflict, "take": side.word()})],
        (None, true) => Vec::new(),
        (None, false) if only_list => return Ok(show(session, waiting)),
        (None, false) if session.may_ask() => one_by_one(session, &app, list(&waiting, "conflicts"))?,
        (None, false) => {
            let code = show(session, waiting);
            if code == ExitCode::Done {
                return Ok(code);
            }
            let error = CommandError::new(
                format!("resolve {app}"),
                "which side wins was not said",
                format!("wild app resolve {app} --take mine"),
            );
            return Err(error.with_code(ExitCode::Decision));
        }
    };
    let body = json!({"decisions": decisions});
    let asked = session
        .ask(Change { method: "POST", below: format!("{update}/resolve"), body, patience: Patience::Wait })
        .await?;
    let left = format!("Conflicts are left: wild app resolve {app} --list");
    Ok(session.report(asked, &Next { done: "", undecided: &left }))
}

fn show(session: &mut Session<'_>, waiting: Value) -> ExitCode {
    let open = !list(&waiting, "conflicts").is_empty();
    if !open && session.is_for_people() {
        session.note("No conflict is open.");
    }
    session.print(Document { kind: "Update", value: waiting, items: Some(("conflicts", "conflict")) }, |waiting| {
        list(waiting, "conflicts").iter().map(conflict_lines).collect()
    });
    if open { ExitCode::Decision } else { ExitCode::Done }
}

/// Asks a person for each conflict; an empty answer leaves it open.
fn one_by_one(session: &mut Session<'_>, app: &AppName, conflicts: &[Value]) -> Result<Vec<Value>, CommandError> {
    let mut decisions = Vec::new();
    for conflict in conflicts {
        session.out.note(&conflict_lines(conflict));
        let answer = session.out.ask("take mine, upstream or base? (empty leaves it open)").unwrap_or_default();
        let side = match answer.as_str() {
            "" => continue,
            "m" | "mine" => "mine",
            "u" | "upstream" => "upstream",
            "b" | "base" => "base",
            other => {
                let because = format!("{other:?} is no side");
                return Err(CommandError::new(
                    format!("resolve {app}"),
                    because,
                    format!("wild app resolve {app} --take mine"),
                ));
            }
        };
        decisions.push(json!({"conflict": text(conflict, "id"), "take": side}));
    }
    if decisions.is_empty() {
        let error = CommandError::new(
            format!("resolve {app}"),
            "nothing was decided",
            format!("wild app resolve {app} --list"),
        );
        return Err(error.with_code(ExitCode::Decision));
    }
    Ok(decisions)
}
