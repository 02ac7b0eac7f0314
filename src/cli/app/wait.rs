//! `wild app wait`: a question that is answered when an app is as wanted, or cannot become so any more.
//!
//! Not here: waiting for an operation (`cli/wait.rs`).

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::super::error::{CommandError, ExitCode};
use super::super::format::harmless;
use super::super::json::text;
use super::super::session::Session;
use super::super::wait::{Pause, Watch};
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app wait quillblog
  wild app wait quillblog --for healthy --timeout 5m
  wild app wait quillblog --for deleted

Exit codes:
  0 reached   1 it cannot be reached any more, with the reason   2 error   5 timed out";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Wait {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    /// What is waited for.
    #[arg(long = "for", value_enum, default_value = "healthy", value_name = "STATE")]
    goal: Goal,
}

/// A state to wait for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goal {
    /// Applied completely and healthy.
    Healthy,
    /// Applied completely.
    Deployed,
    /// Applied completely, and no update waits.
    Updated,
    /// Gone.
    Deleted,
}

/// Where an app stands towards a goal.
#[derive(PartialEq, Eq, Debug)]
enum Distance {
    Reached,
    OnTheWay(String),
    Unreachable(String),
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Wait) -> Result<ExitCode, CommandError> {
    let Wait { app, goal } = arguments;
    if session.is_alone().await? {
        let list = session.get("/apps").await?;
        if let Distance::OnTheWay(why) = distance(find(&list, &app), goal) {
            let because = format!("it is {why}, and no daemon runs that would change it");
            let remedy = format!("wild daemon, or wild app deploy {app} --wait");
            return Err(CommandError::new(format!("wait for {app}"), because, remedy));
        }
    }
    reach(session, &app, goal).await
}

/// Waits until an app reaches a goal or cannot any more.
pub(super) async fn reach(session: &mut Session<'_>, app: &AppName, goal: Goal) -> Result<ExitCode, CommandError> {
    let longest = session.timeout()?;
    let mut watch = Watch::new(longest);
    let attempt = format!("wait for {app}");
    loop {
        let list = session.get("/apps").await?;
        let why = match distance(find(&list, app), goal) {
            Distance::Reached => {
                session.out.progress("");
                let line = format!("{app} is {}.", word(goal));
                session.note(&line);
                return Ok(ExitCode::Done);
            }
            Distance::Unreachable(why) => {
                session.out.progress("");
                session.out.note(&harmless(&format!("{app} cannot become {}: {why}", word(goal))));
                return Ok(ExitCode::Answer);
            }
            Distance::OnTheWay(why) => why,
        };
        if watch.is_over() {
            session.out.progress("");
            let remedy = format!("wild app show {app}");
            return Err(CommandError::new(attempt, format!("after {} s it is still {why}", longest.as_secs()), remedy)
                .with_code(ExitCode::TimedOut));
        }
        watch.tell(session, &format!("{app}  {why}"));
        if watch.pause().await == Pause::Interrupted {
            session.out.progress("");
            let error = CommandError::new(attempt, "you stopped waiting", format!("wild app show {app}"));
            return Err(error.with_code(ExitCode::Interrupted));
        }
    }
}

/// Returns an app of a list.
fn find<'a>(apps: &'a Value, app: &AppName) -> Option<&'a Value> {
    super::super::json::list(apps, "apps").iter().find(|state| text(state, "name") == app.as_str())
}

fn word(goal: Goal) -> &'static str {
    match goal {
        Goal::Healthy => "healthy",
        Goal::Deployed => "deployed",
        Goal::Updated => "up to date",
        Goal::Deleted => "deleted",
    }
}

fn distance(state: Option<&Value>, goal: Goal) -> Distance {
    let Some(state) = state else {
        return match goal {
            Goal::Deleted => Distance::Reached,
            Goal::Healthy | Goal::Deployed | Goal::Updated => {
                Distance::Unreachable("it is not in the instance".to_owned())
            }
        };
    };
    let (intent, health, why) = (text(state, "intent"), text(state, "health"), text(state, "healthReason"));
    let needs_you = text(state, "needsYou").to_owned();
    let described = if why.is_empty() { format!("{intent}, {health}") } else { format!("{intent}, {health}: {why}") };
    let deleting = text(state, "lifecycle") == "deleting";
    match (goal, intent, health) {
        (Goal::Deleted, ..) if deleting => Distance::OnTheWay("deleting".to_owned()),
        (Goal::Deleted, "blocked", _) => Distance::Unreachable(needs_you),
        (Goal::Deleted, ..) => Distance::OnTheWay(described),
        (Goal::Healthy | Goal::Deployed | Goal::Updated, ..) if deleting => {
            Distance::Unreachable("it is being deleted".to_owned())
        }
        (_, "added", _) => Distance::Unreachable("it is added and not deployed".to_owned()),
        // A cluster comes back by itself, and a requirement may become ready.
        (_, "blocked", _) if matches!(text(state, "reason"), "TargetUnreachable" | "RequirementNotReady") => {
            Distance::OnTheWay(needs_you)
        }
        (_, "blocked", _) => Distance::Unreachable(needs_you),
        (Goal::Updated, ..) if text(state, "update") == "needs-you" => Distance::Unreachable(needs_you),
        (Goal::Healthy, "applied", "healthy" | "stopped") | (Goal::Deployed, "applied", _) => Distance::Reached,
        (Goal::Updated, "applied", _) if text(state, "available").is_empty() => Distance::Reached,
        (Goal::Healthy | Goal::Deployed | Goal::Updated, ..) => Distance::OnTheWay(described),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(state: Value, goal: Goal, expected: &str) {
        let state = (!state.is_null()).then_some(state);
        let found = match distance(state.as_ref(), goal) {
            Distance::Reached => "reached".to_owned(),
            Distance::OnTheWay(why) => format!("on the way: {why}"),
            Distance::Unreachable(why) => format!("unreachable: {why}"),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn an_app_is_healthy_only_after_it_was_applied() {
        check(json!({"intent": "applied", "health": "healthy"}), Goal::Healthy, "reached");
        check(json!({"intent": "waiting", "health": "healthy"}), Goal::Healthy, "on the way: waiting, healthy");
        check(
            json!({"intent": "applied", "health": "starting", "healthReason": "0 of 1"}),
            Goal::Healthy,
            "on the way: applied, starting: 0 of 1",
        );
        check(json!({"intent": "applied", "health": "starting"}), Goal::Deployed, "reached");
    }

    #[test]
    fn what_a_person_must_do_first_cannot_be_waited_for() {
        check(json!({"intent": "blocked", "needsYou": "db is missing"}), Goal::Healthy, "unreachable: db is missing");
        let away = json!({"intent": "blocked", "reason": "TargetUnreachable", "needsYou": "the cluster is away"});
        check(away, Goal::Healthy, "on the way: the cluster is away");
        check(json!({"intent": "added"}), Goal::Deployed, "unreachable: it is added and not deployed");
        check(
            json!({"intent": "applied", "update": "needs-you", "needsYou": "1 conflict"}),
            Goal::Updated,
            "unreachable: 1 conflict",
        );
    }

    #[test]
    fn an_app_that_is_not_there_is_deleted_and_never_healthy() {
        check(Value::Null, Goal::Deleted, "reached");
        check(Value::Null, Goal::Healthy, "unreachable: it is not in the instance");
        check(json!({"lifecycle": "deleting", "intent": "waiting"}), Goal::Deleted, "on the way: deleting");
    }
}
