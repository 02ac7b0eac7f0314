//! `wild app deploy`: one pass for an app, now.
//!
//! Not here: the pass (`pipeline`), waiting for health (`wait.rs`).

use clap::Args;
use serde_json::json;

use super::super::error::{CommandError, ExitCode};
use super::super::json::{list, text};
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Asked, Change, Patience};
use super::grants::{self, Grants};
use super::settle;
use super::wait::{Goal, reach};
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app deploy quillblog
  wild app deploy quillblog --wait --timeout 5m
  wild app deploy quillblog --dry-run
  wild app deploy quillblog --recreate Deployment/quillblog
  wild app deploy quillblog --adopt
  wild app deploy quillblog --grant stonedb.password
  wild app deploy --all

An object that is there already and that nobody owns is taken over with --adopt, this once; what that would change is told by the refusal \
without it and by --adopt --dry-run. What belongs to another app or another tool is never taken over. --grant puts on record that the app may read a secret of another app, and then deploys it.

A namespace that the app did not make is entered with a grant on record only: apps.APP.grants.namespaces in .wild/config.yaml. Where nobody \
owns it --adopt writes that, in one commit with the rest; for the system's (default, kube-*, wild-system) and somebody else's only a hand does.

Exit codes:
  0 applied, with --wait also healthy   2 error, or the cluster refused   3 conflicts are open
  5 timed out, it goes on   6 blocked: a requirement, a grant, uncommitted edits, a deletion to approve";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Deploy {
    /// Apps.
    #[arg(value_name = "APP", required_unless_present = "all", value_parser = AppName::parse)]
    apps: Vec<AppName>,
    /// Deploys every app of the instance.
    #[arg(long, conflicts_with = "apps")]
    all: bool,
    /// Waits until it is healthy.
    #[arg(long, conflicts_with = "no_wait")]
    wait: bool,
    /// Returns as soon as the request is stored.
    #[arg(long)]
    no_wait: bool,
    /// Agrees to deletions, together with --plan.
    #[arg(long, requires = "plan")]
    prune: bool,
    /// Approves exactly the deletions of the plan with this digest.
    #[arg(long, value_name = "DIGEST", conflicts_with = "all")]
    plan: Option<String>,
    /// Lets an object be deleted and made anew if a field of it cannot be changed; may be given again.
    #[arg(long, value_name = "KIND/NAME", conflicts_with = "all")]
    recreate: Vec<String>,
    /// Takes over objects that are there already and that nobody owns, and lets the app into namespaces that are.
    #[arg(long, conflicts_with = "all")]
    adopt: bool,
    #[command(flatten)]
    grants: Grants,
}

/// What one deploy is asked for.
pub(super) struct Wish {
    plan: Option<String>,
    recreate: Vec<String>,
    adopt: bool,
    patience: Patience,
    healthy: bool,
}

impl Wish {
    /// Returns the wish to take over what is there and nobody's.
    pub(super) fn adopting(patience: Patience) -> Self {
        Self { plan: None, recreate: Vec::new(), adopt: true, patience, healthy: false }
    }
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Deploy) -> Result<ExitCode, CommandError> {
    let Deploy { mut apps, all, wait, no_wait, plan, recreate, adopt, grants, prune: _ } = arguments;
    if !grants.is_empty() {
        let [app] = apps.as_slice() else {
            let because = "a grant is for one app";
            return Err(CommandError::new("deploy with --grant", because, "wild app deploy APP --grant APP.KEY"));
        };
        grants::give(session, app, &grants).await?;
    }
    if all {
        let answer = session.get("/apps").await?;
        apps = list(&answer, "apps").iter().filter_map(|app| AppName::parse(text(app, "name")).ok()).collect();
    }
    if apps.is_empty() {
        session.note("No app was added yet.");
    }
    let patience = if no_wait { Patience::Leave } else { Patience::Wait };
    let wish = Wish { plan, recreate, adopt, patience, healthy: wait };
    if let [app] = apps.as_slice() {
        return one(session, app, &wish).await;
    }
    let mut code = ExitCode::Done;
    for app in &apps {
        let ended = one(session, app, &wish).await;
        code = code.and(settle(session, ended));
    }
    Ok(code)
}

/// Asks for one deploy. What holds the app back is an error with what helps.
pub(super) async fn one(session: &mut Session<'_>, app: &AppName, wish: &Wish) -> Result<ExitCode, CommandError> {
    let body = json!({"approve": wish.plan, "recreate": wish.recreate, "adopt": wish.adopt});
    let below = format!("/apps/{app}/deploy");
    let asked = session.ask(Change { method: "POST", below, body, patience: wish.patience }).await?;
    let next = Next { done: "", undecided: &format!("Decide: wild app resolve {app}") };
    let code = ended(session, app, asked, &next).await?;
    if wish.healthy && code == ExitCode::Done && !session.is_dry_run() {
        reach(session, app, Goal::Healthy).await
    } else {
        Ok(code)
    }
}

/// Reports how a deploy ended. What holds the app back is an error with what helps.
pub(super) async fn ended(
    session: &mut Session<'_>,
    app: &AppName,
    asked: Asked,
    next: &Next<'_>,
) -> Result<ExitCode, CommandError> {
    let blocked = match &asked {
        Asked::Ended(operation) if text(operation, "outcome") == "blocked" => {
            Some(text(operation, "message").to_owned())
        }
        _ => None,
    };
    let code = session.report(asked, next);
    match blocked {
        Some(because) => Err(held_back(session, app, because).await),
        None => Ok(code),
    }
}

/// Returns why an app is held back, in the words of its state.
async fn held_back(session: &mut Session<'_>, app: &AppName, message: String) -> CommandError {
    let state = session.get(&format!("/apps/{app}")).await.unwrap_or_default();
    let because = if text(&state, "needsYou").is_empty() { message } else { text(&state, "needsYou").to_owned() };
    let remedy =
        if text(&state, "hint").is_empty() { format!("wild app show {app}") } else { text(&state, "hint").to_owned() };
    CommandError::new(format!("deploy {app}"), because, remedy).with_code(ExitCode::Blocked)
}
