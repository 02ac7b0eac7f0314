//! `wild plan`: what the next pass would do. The line up to and with plan; nothing is written.
//!
//! Not here: the plan itself (`plan` of the line).

use clap::Args;
use serde_json::{Value, json};

use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{list, text};
use super::report;
use super::session::Session;
use crate::model::AppName;
use crate::plan::is_unseen;

const HELP: &str = "Examples:
  wild plan
  wild plan quillblog
  wild plan -o json --exit-code

Shown is also what goes along with deletions, such as what a namespace holds and the volumes of claims; what would let go on \
what is held back; and when it is looked at again by the clock.

Exit codes:
  0 planned   1 with --exit-code: there is something to do
  2 error, or the cluster does not answer";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Plan {
    /// Apps; none means all.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    apps: Vec<AppName>,
    /// Ends with 1 if there is something to do.
    #[arg(long)]
    exit_code: bool,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Plan) -> Result<ExitCode, CommandError> {
    let Plan { apps, exit_code } = arguments;
    let answer = if apps.is_empty() {
        session.get("/plan").await?
    } else {
        let mut plans = Vec::new();
        for app in &apps {
            plans.push(session.get(&format!("/apps/{app}/plan")).await?);
        }
        json!({"plans": plans})
    };
    let nothing = list(&answer, "plans").iter().all(report::is_empty);
    let blocked = list(&answer, "plans").iter().flat_map(|plan| list(plan, "blocked"));
    let is_seen = !blocked.into_iter().any(|blocked| is_unseen(text(blocked, "reason")));
    if nothing && session.is_for_people() {
        session.note("Nothing to do.");
    }
    session.print(Document { kind: "PlanList", value: answer, items: Some(("plans", "app")) }, |answer| {
        let told = |plan: &&Value| !report::is_empty(plan) || !list(plan, "notes").is_empty();
        list(answer, "plans").iter().filter(told).map(app_plan).collect()
    });
    Ok(match (is_seen, exit_code && !nothing) {
        (false, _) => ExitCode::Error,
        (true, true) => ExitCode::Answer,
        (true, false) => ExitCode::Done,
    })
}

fn app_plan(plan: &Value) -> String {
    format!("{}\n{}", text(plan, "app"), report::plan(plan))
}
