//! `wild app resolve`: decides the conflicts of an update that waits on its branch, and keeps what was decided.
//!
//! Not here: the merge commit (`compile`).

use clap::Args;
use serde_json::{Value, json};

use super::super::error::{CommandError, ExitCode};
use super::super::format::{Document, harmless};
use super::super::json::{flag, list, text};
use super::super::report::Next;
use super::super::session::Session;
use super::super::table::{ago, table};
use super::super::wait::{Change, Patience};
use super::grants::{self, Grants};
use super::{conflict_lines, revealing};
use crate::merge::ConflictKind;
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app resolve quillblog --list
  wild app resolve quillblog --take mine
  wild app resolve quillblog apps/quillblog/deployment.yaml --take upstream
  wild app resolve quillblog apps/quillblog/deployment.yaml --take 288Mi
  wild app resolve quillblog --take mine --remember
  wild app resolve quillblog --continue
  wild app resolve quillblog --abort
  wild app resolve quillblog --remembered
  wild app resolve quillblog --learn
  wild app resolve quillblog --forget

What was decided is remembered: the same conflict is not asked again. --remembered lists it, --forget takes it back.

Exit codes:
  0 all decided, the update is merged   2 error   3 conflicts are left   6 blocked";

/// Returns the help with what the kinds of conflicts mean.
fn help() -> String {
    let kinds = ConflictKind::ALL.map(|kind| format!("  {:<18}  {}\n", kind.word(), kind.meaning()));
    format!(
        "{HELP}\n\nKinds of conflicts; yours stands until you decide, and the side to look at first is named:\n{}",
        kinds.concat()
    )
}

/// Words of `--take` that name a side; anything else is a value.
const SIDES: [&str; 3] = ["mine", "upstream", "base"];

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = help())]
pub(in crate::cli) struct Resolve {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    /// Conflict: its id, or the path of a file; none means all.
    #[arg(value_name = "CONFLICT")]
    conflict: Option<String>,
    /// What wins: mine, upstream, base, or a value of your own.
    #[arg(long, value_name = "SIDE|VALUE", group = "verb", allow_hyphen_values = true)]
    take: Option<String>,
    /// The same side wins from now on wherever this place is in conflict.
    #[arg(long, requires = "take")]
    remember: bool,
    /// Lists the conflicts.
    #[arg(long, group = "verb")]
    list: bool,
    /// Shows the values under this name although they look like secrets; on a terminal only.
    #[arg(long, value_name = "NAME")]
    reveal: Option<String>,
    /// Finishes after the branch was edited with git.
    #[arg(long, group = "verb")]
    r#continue: bool,
    /// Drops the update.
    #[arg(long, group = "verb")]
    abort: bool,
    /// Lists what is remembered.
    #[arg(long, group = "verb")]
    remembered: bool,
    /// Remembers what was chosen in the merges so far.
    #[arg(long, group = "verb")]
    learn: bool,
    /// Forgets the decision about CONFLICT, or all.
    #[arg(long, group = "verb")]
    forget: bool,
    #[command(flatten)]
    grants: Grants,
}

/// Returns a side or a value as the API reads it.
pub(super) fn take(word: &str) -> Value {
    if SIDES.contains(&word) { json!(word) } else { json!({"value": word}) }
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Resolve) -> Result<ExitCode, CommandError> {
    let update = format!("/updates/{}", arguments.app);
    grants::give(session, &arguments.app, &arguments.grants).await?;
    if arguments.abort {
        return ask(session, format!("{update}/abort"), json!({}), "The update is dropped.").await;
    }
    if arguments.learn {
        return ask(session, format!("{update}/learn"), json!({}), "").await;
    }
    if arguments.forget {
        return ask(session, format!("{update}/forget"), json!({"key": arguments.conflict}), "").await;
    }
    if arguments.remembered {
        let known = session.get(&format!("{update}/remembered")).await?;
        return Ok(show_remembered(session, known));
    }
    decide(session, arguments).await
}

/// Takes sides, or shows what is open.
async fn decide(session: &mut Session<'_>, arguments: Resolve) -> Result<ExitCode, CommandError> {
    let Resolve { app, conflict, take: side, remember, list: only_list, r#continue: finish, reveal, .. } = arguments;
    let update = format!("/updates/{app}");
    let reveal = revealing(session, reveal.as_deref())?.replacen('&', "?", 1);
    let waiting = session.get(&format!("{update}{reveal}")).await?;
    let decisions = match (side, finish) {
        (Some(side), _) => vec![json!({"conflict": conflict, "take": take(&side), "always": remember})],
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
    let change = Change { method: "POST", below: format!("{update}/resolve"), body, patience: Patience::Wait };
    let asked = session.ask(change).await?;
    let left = format!("Conflicts are left: wild app resolve {app} --list");
    Ok(session.report(asked, &Next { done: "", undecided: &left }))
}

async fn ask(session: &mut Session<'_>, below: String, body: Value, done: &str) -> Result<ExitCode, CommandError> {
    let asked = session.ask(Change { method: "POST", below, body, patience: Patience::Wait }).await?;
    Ok(session.report(asked, &Next { done, undecided: "Its conflict is open again." }))
}

fn show(session: &mut Session<'_>, waiting: Value) -> ExitCode {
    let open = !list(&waiting, "conflicts").is_empty();
    if !open && session.is_for_people() {
        session.note("No conflict is open.");
    }
    let now = session.now();
    session.print(Document { kind: "Update", value: waiting, items: Some(("conflicts", "conflict")) }, |waiting| {
        let mut lines = String::new();
        for conflict in list(waiting, "conflicts") {
            lines.push_str(&conflict_lines(conflict));
            if let Some(changed) = conflict.get("changed").filter(|changed| changed.is_object()) {
                let (who, when) = (text(changed, "author"), ago(text(changed, "time"), now));
                lines.push_str(&format!("      your file was changed last by {who}, {when}\n"));
            }
        }
        for decided in list(waiting, "decided") {
            let when = if flag(decided, "earlier") { "decided earlier" } else { "decided" };
            lines.push_str(&format!("  ✓ {}  {when}: {}\n", named(decided), word(decided)));
        }
        lines
    });
    if open { ExitCode::Decision } else { ExitCode::Done }
}

/// Returns where a decision holds, or its id where that is not known.
fn named(decided: &Value) -> &str {
    let place = text(decided, "place");
    if place.is_empty() { text(decided, "id") } else { place }
}

/// Returns what was taken, in one word or as the value.
fn word(decided: &Value) -> String {
    let take = decided.get("take").unwrap_or(&Value::Null);
    take.as_str().map_or_else(|| text(take, "value").to_owned(), str::to_owned)
}

fn show_remembered(session: &mut Session<'_>, known: Value) -> ExitCode {
    if list(&known, "decisions").is_empty() && session.is_for_people() {
        session.note("Nothing is remembered.");
    }
    for finding in list(&known, "findings").iter().filter_map(Value::as_str) {
        session.note(finding);
    }
    let (now, width) = (session.now(), session.environment.width());
    session.print(Document { kind: "DecisionList", value: known, items: Some(("decisions", "decision")) }, |known| {
        let rows = list(known, "decisions").iter().map(|decision| {
            let place = if text(decision, "path").is_empty() { text(decision, "file") } else { text(decision, "path") };
            let take = if flag(decision, "always") { format!("always {}", word(decision)) } else { word(decision) };
            let who = text(decision, "who").split(" <").next().unwrap_or_default().to_owned();
            let id = text(decision, "id").to_owned();
            vec![id, take, who, ago(text(decision, "when"), now), place.to_owned()]
        });
        table(&["id", "take", "who", "when", "where"], rows, width)
    });
    ExitCode::Done
}

/// Asks a person for each conflict; an empty answer leaves it open.
fn one_by_one(session: &mut Session<'_>, app: &AppName, conflicts: &[Value]) -> Result<Vec<Value>, CommandError> {
    let mut decisions = Vec::new();
    for conflict in conflicts {
        session.out.note(&harmless(&conflict_lines(conflict)));
        let answer =
            session.out.ask("take mine, upstream, base or a value? (empty leaves it open)").unwrap_or_default();
        let side = match answer.as_str() {
            "" => continue,
            "m" => "mine",
            "u" => "upstream",
            "b" => "base",
            other => other,
        };
        decisions.push(json!({"conflict": text(conflict, "id"), "take": take(side)}));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_side_and_anything_else_a_value() {
        assert_eq!(take("mine"), json!("mine"));
        assert_eq!(take("3Gi"), json!({"value": "3Gi"}));
        assert_eq!(word(&json!({"take": "base"})), "base");
        assert_eq!(word(&json!({"take": {"value": "3Gi"}})), "3Gi");
    }
}
