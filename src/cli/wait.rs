//! Asks for a change and waits for its operation, one line per change of state.
//!
//! Not here: what the operation does (`daemon`), how it is printed (`report.rs`).

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior};

use super::client::encode;
use super::error::{CommandError, ExitCode};
use super::json::{list, short, text};
use super::session::Session;
use super::table::span;

/// Time between two looks at an operation.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Time after which a wait says again what it waits for.
const REMIND_INTERVAL: Duration = Duration::from_secs(30);
/// Work that is done sooner prints no progress.
const QUIET_TIME: Duration = Duration::from_millis(300);

/// A change to ask for.
pub(super) struct Change {
    /// Method.
    pub(super) method: &'static str,
    /// Path below the instance.
    pub(super) below: String,
    /// Body.
    pub(super) body: Value,
    /// Whether its end is waited for.
    pub(super) patience: Patience,
}

/// Whether an end is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Patience {
    /// It is.
    Wait,
    /// The operation is named and goes on alone.
    Leave,
}

/// What became of a change.
pub(super) enum Asked {
    /// What it would do; nothing was changed.
    Preview(Value),
    /// It is stored and will be carried out.
    Begun(Value),
    /// The operation has ended.
    Ended(Value),
}

impl Session<'_> {
    /// Asks for a change; with `--dry-run` for what it would do.
    pub(super) async fn ask(&mut self, change: Change) -> Result<Asked, CommandError> {
        let Change { method, below, body, patience } = change;
        if self.is_dry_run() {
            let joint = if below.contains('?') { '&' } else { '?' };
            return Ok(Asked::Preview(self.call(method, &format!("{below}{joint}dryRun=true"), Some(&body)).await?));
        }
        let begun = self.call(method, &below, Some(&body)).await?;
        match patience {
            Patience::Leave => Ok(Asked::Begun(begun)),
            Patience::Wait => self.follow(text(&begun, "operation_id")).await.map(Asked::Ended),
        }
    }

    /// Waits until an operation has ended. Its failure is an error with the operation's own three parts.
    pub(super) async fn follow(&mut self, id: &str) -> Result<Value, CommandError> {
        let ended = self.end_of(id).await?;
        match text(&ended, "state") {
            "succeeded" => Ok(ended),
            _ => Err(failed(&ended)),
        }
    }

    /// Waits until an operation has ended, however it does.
    pub(super) async fn end_of(&mut self, id: &str) -> Result<Value, CommandError> {
        let path = format!("/operations/{}", encode(id));
        let mut watch = Watch::new(self.timeout()?);
        let ended = loop {
            let operation = self.get(&path).await?;
            if !matches!(text(&operation, "state"), "waiting" | "running") {
                break operation;
            }
            if watch.is_over() {
                self.out.progress("");
                return Err(too_long(&operation, watch.began.elapsed()));
            }
            watch.tell(self, &describe(&operation));
            if watch.pause().await == Pause::Interrupted {
                self.out.progress("");
                return Err(interrupted(id));
            }
        };
        self.out.progress("");
        Ok(ended)
    }
}

/// How a pause between two looks ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pause {
    /// It is time to look again.
    Over,
    /// A person pressed Ctrl-C.
    Interrupted,
}

/// A wait: when it began, when it must end, what it said last.
pub(super) struct Watch {
    began: Instant,
    deadline: Instant,
    ticks: tokio::time::Interval,
    said: String,
    said_at: Instant,
}

impl Watch {
    /// Begins a wait.
    pub(super) fn new(longest: Duration) -> Self {
        let began = Instant::now();
        let mut ticks = tokio::time::interval_at(began + POLL_INTERVAL, POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { began, deadline: began + longest, ticks, said: String::new(), said_at: began }
    }

    /// Returns whether the deadline has passed.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Says what is waited for if that is news, and again from time to time.
    pub(super) fn tell(&mut self, session: &mut Session<'_>, line: &str) {
        if session.flags.quiet || self.began.elapsed() < QUIET_TIME {
            return;
        }
        let again = self.said_at.elapsed() >= REMIND_INTERVAL;
        if self.said == line && !again {
            return;
        }
        let text = if self.said == line {
            format!("still waiting for {line} ({})", span(self.began.elapsed().as_secs()))
        } else {
            line.to_owned()
        };
        session.out.progress(&text);
        line.clone_into(&mut self.said);
        self.said_at = Instant::now();
    }

    /// Waits for the next look.
    pub(super) async fn pause(&mut self) -> Pause {
        tokio::select! {
            _ = self.ticks.tick() => Pause::Over,
            _ = tokio::signal::ctrl_c() => Pause::Interrupted,
        }
    }
}

fn describe(operation: &Value) -> String {
    let subject = match text(operation, "app") {
        "" => "instance",
        app => app,
    };
    let done = list(operation, "outcomes").len();
    let count = if done == 0 { String::new() } else { format!("  {done} objects") };
    format!("{subject}  {} {}{count}", text(operation, "verb"), text(operation, "state"))
}

fn too_long(operation: &Value, waited: Duration) -> CommandError {
    let because = format!("it is still {} after {}", text(operation, "state"), span(waited.as_secs()));
    let id = text(operation, "id");
    CommandError::new(format!("wait for {id}"), because, format!("wild operation show {id}"))
        .with_code(ExitCode::TimedOut)
}

fn interrupted(id: &str) -> CommandError {
    let because = "you stopped waiting; the operation goes on";
    CommandError::new(format!("wait for {id}"), because, format!("wild operation show {id}"))
        .with_code(ExitCode::Interrupted)
}

/// Returns why an operation failed: its refusal, or what its failed actions said.
fn failed(operation: &Value) -> CommandError {
    let id = text(operation, "id");
    let remedy = format!("wild operation show {id}");
    let attempt = match text(operation, "app") {
        "" => text(operation, "verb").to_owned(),
        app => format!("{} {app}", text(operation, "verb")),
    };
    if let Some(refusal) = operation.get("refusal").and_then(|refusal| serde_json::from_value(refusal.clone()).ok()) {
        return CommandError::of_refusal(&refusal);
    }
    let mut failures =
        list(operation, "outcomes").iter().filter(|outcome| text(outcome, "effect") == "Failed").map(|outcome| {
            format!(
                "{}: {}",
                outcome.get("object").map(super::json::object).unwrap_or_default(),
                text(outcome, "message")
            )
        });
    let because = failures.next().unwrap_or_else(|| match text(operation, "message") {
        "" => format!("the operation {}", text(operation, "state")),
        message => message.to_owned(),
    });
    let code = if text(operation, "outcome") == "blocked" { ExitCode::Blocked } else { ExitCode::Error };
    CommandError { findings: failures.collect(), ..CommandError::new(attempt, because, remedy).with_code(code) }
}

/// Returns how a command ends whose operation has ended well.
pub(super) fn code_of(operation: &Value) -> ExitCode {
    match text(operation, "outcome") {
        "needs-decision" => ExitCode::Decision,
        "blocked" => ExitCode::Blocked,
        _ => ExitCode::Done,
    }
}

/// Returns the line about the commit of an operation; empty if it made none.
pub(super) fn commit_line(operation: &Value) -> String {
    match text(operation, "commit") {
        "" => String::new(),
        commit => format!("  commit  {}\n", short(commit)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failed_operation_tells_its_refusal() {
        let refusal = json!({"code": 6, "what": "deploy a", "because": "b is failing", "remedy": "wild app events b", "diagnostics": []});
        let error = failed(&json!({"id": "op_1", "state": "failed", "refusal": refusal}));
        assert_eq!((error.code, error.because.as_str()), (ExitCode::Blocked, "b is failing"));
    }

    #[test]
    fn a_failed_operation_without_one_tells_what_the_cluster_said() {
        let outcome = |name: &str, effect: &str| json!({"object": {"kind": "Pod", "name": name}, "effect": effect, "message": "no"});
        let outcomes = json!([outcome("a", "Created"), outcome("b", "Failed"), outcome("c", "Failed")]);
        let error =
            failed(&json!({"id": "op_1", "verb": "deploy", "app": "x", "state": "failed", "outcomes": outcomes}));
        assert_eq!((error.what.as_str(), error.because.as_str()), ("deploy x", "Pod/b: no"));
        assert_eq!(error.findings, ["Pod/c: no"]);
    }

    #[test]
    fn the_outcome_of_an_operation_decides_over_the_exit_code() {
        for (outcome, code) in
            [("changed", 0), ("unchanged", 0), ("needs-decision", 3), ("blocked", 6), ("superseded", 0)]
        {
            assert_eq!(code_of(&json!({"outcome": outcome})).number(), code, "{outcome}");
        }
    }
}
