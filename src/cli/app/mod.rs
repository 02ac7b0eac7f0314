//! `wild app`: packages that were added to the instance, one file per verb.
//!
//! Not here: what an app is (`model`), the packages on offer (`directory.rs`).

mod add;
mod adopt;
mod config;
mod delete;
mod deploy;
mod diff;
mod eject;
mod events;
mod grants;
mod history;
mod list;
mod logs;
mod place;
mod reconcile;
mod resolve;
mod rollback;
mod show;
mod status;
mod suspend;
mod tree;
mod update;
mod wait;

use clap::Subcommand;
use serde_json::Value;

use super::client::encode;
use super::environment::Stream;
use super::error::{CommandError, ExitCode};
use super::json::{count, list, text};
use super::session::Session;
use crate::model::AppName;

pub(super) use status::{is_calm, status_table};

/// What can be done with apps.
#[derive(Subcommand, Debug)]
pub(super) enum AppVerb {
    /// Lists packages on offer, or apps.
    List(list::List),
    /// Shows an app, or a package that could become one.
    Show(show::Show),
    /// Adds a package as an app: compiles its files and commits them.
    Add(add::Add),
    /// Shows and changes config values of an app.
    Config(config::Config),
    /// Applies what is committed to the cluster.
    Deploy(deploy::Deploy),
    /// Waits until an app is as wanted.
    Wait(wait::Wait),
    /// Shows version, health, drift and what needs you.
    Status(status::AppStatus),
    /// Shows differences between git, cluster, package and your own edits.
    Diff(diff::Diff),
    /// Merges a newer package version into your files.
    Update(update::Update),
    /// Decides the conflicts of an update.
    Resolve(resolve::Resolve),
    /// Undoes a change of an app by a new commit.
    Rollback(rollback::Rollback),
    /// Takes an app that is kept by hand under the care of its package.
    Adopt(adopt::Adopt),
    /// Keeps an app and parts it from its package.
    Eject(eject::Eject),
    /// Removes an app; volumes and namespace stay unless you say otherwise.
    Delete(delete::Delete),
    /// Stops every write of an app; it is watched on.
    Suspend(suspend::Suspend),
    /// Writes again what is committed of a suspended app.
    Resume(suspend::Resume),
    /// Walks one pass of an app now; a Job that has run may run again.
    Reconcile(reconcile::Reconcile),
    /// Lets an app live on another cluster.
    Move(place::Move),
    /// Shows the commits that touched an app.
    History(history::History),
    /// Shows the objects of an app with what controllers made of them.
    Tree(tree::Tree),
    /// Shows what happened to an app, in order of time.
    Events(events::Events),
    /// Shows what the pods of an app say.
    Logs(logs::Logs),
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: AppVerb) -> Result<ExitCode, CommandError> {
    match verb {
        AppVerb::List(arguments) => list::run(session, arguments).await,
        AppVerb::Show(arguments) => show::run(session, arguments).await,
        AppVerb::Add(arguments) => add::run(session, arguments).await,
        AppVerb::Config(arguments) => config::run(session, arguments).await,
        AppVerb::Deploy(arguments) => deploy::run(session, arguments).await,
        AppVerb::Wait(arguments) => wait::run(session, arguments).await,
        AppVerb::Status(arguments) => status::run(session, arguments).await,
        AppVerb::Diff(arguments) => diff::run(session, arguments).await,
        AppVerb::Update(arguments) => update::run(session, arguments).await,
        AppVerb::Resolve(arguments) => resolve::run(session, arguments).await,
        AppVerb::Rollback(arguments) => rollback::run(session, arguments).await,
        AppVerb::Adopt(arguments) => adopt::run(session, arguments).await,
        AppVerb::Eject(arguments) => eject::run(session, arguments).await,
        AppVerb::Delete(arguments) => delete::run(session, arguments).await,
        AppVerb::Suspend(arguments) => suspend::suspend(session, arguments).await,
        AppVerb::Resume(arguments) => suspend::resume(session, arguments).await,
        AppVerb::Reconcile(arguments) => reconcile::run(session, arguments).await,
        AppVerb::Move(arguments) => place::run(session, arguments).await,
        AppVerb::History(arguments) => history::run(session, arguments).await,
        AppVerb::Tree(arguments) => tree::run(session, arguments).await,
        AppVerb::Events(arguments) => events::run(session, arguments).await,
        AppVerb::Logs(arguments) => logs::run(session, arguments).await,
    }
}

/// Returns a conflict with its three sides, for people.
pub(super) fn conflict_lines(conflict: &Value) -> String {
    let line = count(conflict, "line");
    let place = if line == 0 { String::new() } else { format!(":{line}") };
    let mut lines =
        format!("  ? {}{place}  {}  [{}]\n", text(conflict, "file"), text(conflict, "kind"), text(conflict, "id"));
    for key in ["path", "why"] {
        if !text(conflict, key).is_empty() {
            lines.push_str(&format!("      {}\n", text(conflict, key)));
        }
    }
    let live = conflict.get("live").and_then(Value::as_str).map(|_| "live");
    for side in ["base", "mine", "upstream"].into_iter().chain(live) {
        let value = conflict.get(side).and_then(Value::as_str).unwrap_or("(absent)");
        let mut first = true;
        for part in value.lines().chain(value.is_empty().then_some("(empty)")) {
            let label = if first { side } else { "" };
            lines.push_str(&format!("      {label:<8}  {part}\n"));
            first = false;
        }
    }
    if let Some(first) = conflict.get("preselected").filter(|first| first.is_object()) {
        lines.push_str(&format!("      first     {}: {}\n", text(first, "take"), text(first, "why")));
    }
    if let Some(suggestion) = conflict.get("suggestion").filter(|suggestion| suggestion.is_object()) {
        let (path, value) = (text(suggestion, "path"), text(suggestion, "value"));
        let place = if path == text(conflict, "path") { String::new() } else { format!("{path}: ") };
        lines.push_str(&format!("      suggest   {place}{value}\n"));
    }
    for other in list(conflict, "linked").iter().filter_map(Value::as_str) {
        lines.push_str(&format!("      linked    {other}\n"));
    }
    lines
}

/// Returns the part of a query that asks for the values under a name which look like secrets. What goes to a file or a pipe stays there, and
/// what comes from another machine was not asked by the user that the daemon runs as.
fn revealing(session: &Session<'_>, name: Option<&str>) -> Result<String, CommandError> {
    let Some(name) = name else { return Ok(String::new()) };
    let refuse = |because: &str, remedy: &str| Err(CommandError::new(format!("reveal {name}"), because, remedy));
    if session.environment.output != Stream::Terminal {
        return refuse("a secret is shown on a terminal only", "the same command on a terminal, without a pipe");
    }
    if session.flags.daemon_url.is_some() {
        return refuse("a secret is shown to the user of the daemon only", "the same command on its machine");
    }
    Ok(format!("&reveal={}", encode(name)))
}

/// Parses `KEY=VALUE`; the value is read as JSON where it is a number, a truth value or null, and as text otherwise.
pub(super) fn assignment(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is no KEY=VALUE"))?;
    if key.is_empty() || key.split('.').any(str::is_empty) {
        return Err(format!("{key:?} is no key"));
    }
    let typed = match value {
        "true" | "false" => serde_json::from_str(value).unwrap_or(Value::Null),
        _ if is_plain_number(value) => serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)),
        _ => Value::from(value),
    };
    Ok((key.to_owned(), typed))
}

/// Returns whether a text is a whole number that reads back as it is written; a version such as 1.10 or a mode such as 0755 is a text.
fn is_plain_number(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
}

/// Parses `REFERENCE=APP`.
pub(super) fn binding(text: &str) -> Result<(String, AppName), String> {
    let (reference, app) = text.split_once('=').ok_or_else(|| format!("{text:?} is no REFERENCE=APP"))?;
    let app = AppName::parse(app).map_err(|error| error.to_string())?;
    Ok((reference.to_owned(), app))
}

/// Runs a command on several apps one after the other; each is reported on its own, and the heaviest exit code counts.
pub(super) fn settle(session: &mut Session<'_>, ended: Result<ExitCode, CommandError>) -> ExitCode {
    match ended {
        Ok(code) => code,
        Err(error) => {
            error.write(session.out);
            error.code
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_keep_the_type_that_people_mean() {
        let check = |text: &str, expected: Value| assert_eq!(assignment(text).unwrap().1, expected, "{text}");
        check("a=5", json!(5));
        check("a=-5", json!(-5));
        check("a=1.10", json!("1.10"));
        check("a=0755", json!("0755"));
        check("a=true", json!(true));
        check("a=yes", json!("yes"));
        check("a=b=c", json!("b=c"));
        check("a=", json!(""));
        for text in ["a", "=1", "a..b=1"] {
            assert!(assignment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_conflict_shows_its_three_sides() {
        let conflict = json!({"file": "apps/a/x.yaml", "line": 3, "kind": "text", "id": "ab12", "base": "1\n", "mine": "2\n3\n", "upstream": null});
        let expected = "  ? apps/a/x.yaml:3  text  [ab12]\n      base      1\n      mine      2\n                3\n      upstream  (absent)\n";
        assert_eq!(conflict_lines(&conflict), expected);
        let conflict =
            json!({"file": "a", "kind": "value", "id": "1", "base": "1", "mine": "2", "upstream": "3", "live": "4"});
        assert!(conflict_lines(&conflict).ends_with("      upstream  3\n      live      4\n"));
        let conflict = json!({
            "file": "a", "kind": "semantic", "id": "1", "path": "spec.port", "linked": ["Service/a spec.ports"],
            "preselected": {"take": "mine", "why": "it stays"},
            "suggestion": {"path": "spec.port", "value": "http"},
        });
        let end = "      upstream  (absent)\n      first     mine: it stays\n      suggest   http\n      linked    Service/a spec.ports\n";
        assert!(conflict_lines(&conflict).ends_with(end), "{}", conflict_lines(&conflict));
    }
}
