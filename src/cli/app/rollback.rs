//! `wild app rollback`: a change of an app is undone by a new commit; the branch never goes back.
//!
//! Not here: which commits there are (`history.rs`).

use clap::Args;
use serde_json::{Value, json};

use super::super::error::{CommandError, ExitCode};
use super::super::json::{list, short, text};
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Change, Patience};
use crate::model::AppName;

/// Fewest characters by which a commit may be named.
const SHORTEST_ID: usize = 4;

const HELP: &str = "Examples:
  wild app rollback quillblog --to HEAD~1 --dry-run
  wild app rollback quillblog --to HEAD~1 --reason \"pictures broke\"
  wild app rollback quillblog --to 5.7 --dry-run

The version that the app goes back from is held: updates by policy leave it alone until it changes.

Exit codes:
  0 rolled back   2 error   3 a decision is needed   6 blocked";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Rollback {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    /// Commit to go back to, as `wild app history` shows it, or version; HEAD~1 is the app's commit before its newest.
    #[arg(long, value_name = "COMMIT|VERSION")]
    to: String,
    /// Why; it goes into the commit.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Rollback) -> Result<ExitCode, CommandError> {
    let Rollback { app, to, reason } = arguments;
    let history = session.get(&format!("/apps/{app}/history")).await?;
    let commit = commit(list(&history, "commits"), &app, &to)?;
    let body = json!({"to": commit, "reason": reason});
    let asked = session
        .ask(Change { method: "POST", below: format!("/apps/{app}/rollback"), body, patience: Patience::Wait })
        .await?;
    Ok(session.report(asked, &Next { done: "", undecided: "" }))
}

/// Returns the one commit of an app's history that a text names; what is not in it may be any commit of the instance, which the daemon knows.
fn commit(history: &[Value], app: &AppName, wanted: &str) -> Result<String, CommandError> {
    let what = format!("roll {app} back to {wanted}");
    let remedy = format!("wild app history {app}");
    if let Some(back) = wanted.strip_prefix("HEAD~") {
        let found =
            back.parse().ok().and_then(|back: usize| history.get(back)).map(|commit| text(commit, "id").to_owned());
        let because = format!("the app has {} commits", history.len());
        return found.ok_or_else(|| CommandError::new(what, because, remedy));
    }
    if !wanted.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(wanted.to_owned());
    }
    let found: Vec<&str> =
        history.iter().map(|commit| text(commit, "id")).filter(|id| id.starts_with(wanted)).collect();
    match (wanted.len() < SHORTEST_ID, found.as_slice()) {
        (true, _) => Err(CommandError::new(what, format!("{SHORTEST_ID} characters of the commit are needed"), remedy)),
        (false, [one]) => Ok((*one).to_owned()),
        (false, []) => Ok(wanted.to_owned()),
        (false, several) => {
            let several: Vec<&str> = several.iter().map(|id| short(id)).collect();
            Err(CommandError::new(what, format!("several commits begin like this: {}", several.join(", ")), remedy))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_named_by_its_first_characters() {
        let app = AppName::parse("a").unwrap();
        let history = [json!({"id": "abcd1"}), json!({"id": "abcd2"}), json!({"id": "ffff3"})];
        assert_eq!(commit(&history, &app, "ffff").unwrap(), "ffff3");
        assert_eq!(commit(&history, &app, "HEAD~1").unwrap(), "abcd2");
        assert_eq!(commit(&history, &app, "eeee").unwrap(), "eeee", "the daemon may know it");
        assert_eq!(commit(&history, &app, "1.0").unwrap(), "1.0", "a version");
        for (wanted, word) in
            [("abcd", "several"), ("HEAD~3", "has 3 commits"), ("HEAD~x", "has 3"), ("ff", "4 characters")]
        {
            let error = commit(&history, &app, wanted).unwrap_err();
            assert!(error.because.contains(word), "{error:?}");
        }
    }
}
