//! `wild hook run`: what git starts when somebody pushes. The check works without a daemon; a push that the daemon does not hear of is seen
//! at its next look.
//!
//! Not here: the checks (`git::hook`), writing the scripts (`git::hook`).

use std::path::Path;

use clap::{Subcommand, ValueEnum};
use serde_json::json;

use super::client::{Call, Client};
use super::error::{CommandError, ExitCode};
use super::json::{list, text};
use super::locate::connect;
use super::session::Session;
use crate::base::chain;
use crate::git::Repository;
use crate::git::hook::{Intake, RefUpdate, Rewind, check};

/// Push options that are looked at.
const MAX_PUSH_OPTIONS: usize = 32;
/// The deployed branch where HEAD names none.
const BRANCH: &str = "main";

const RUN_HELP: &str = "Examples:
  wild hook run pre-receive
  wild hook run post-receive

Exit codes:
  0 the push may go on   2 it is refused";

/// What can be done with hooks.
#[derive(Subcommand, Debug)]
pub(super) enum HookVerb {
    /// Runs a hook in a repository, with what git gives it on standard input.
    #[command(after_long_help = RUN_HELP)]
    Run {
        /// The hook.
        #[arg(value_enum, value_name = "NAME")]
        name: Hook,
    },
}

/// A hook of git.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hook {
    /// Before any ref moves.
    PreReceive,
    /// After all have moved.
    PostReceive,
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: HookVerb) -> Result<ExitCode, CommandError> {
    let HookVerb::Run { name } = verb;
    match name {
        Hook::PreReceive => pre_receive(session).await,
        Hook::PostReceive => Ok(post_receive(session).await),
    }
}

async fn pre_receive(session: &mut Session<'_>) -> Result<ExitCode, CommandError> {
    let what = "check the push";
    let fail = |error: crate::git::Error| CommandError::new(what, chain(&error), "push again");
    let text = session.out.input().ok_or_else(|| CommandError::new(what, "git gave no text", "push again"))?;
    let updates = RefUpdate::parse_lines(&text).map_err(fail)?;
    let environment = session.environment;
    let path = environment.path(Path::new(environment.variable("GIT_DIR").unwrap_or(".")));
    let branch = match Repository::open(&path).await.map_err(fail)?.head_branch().await.map_err(fail)? {
        Some(branch) => branch,
        None => BRANCH.to_owned(),
    };
    // Outside of a quarantine this variable names the repository's own objects, which need no second look.
    let quarantine = environment.variable("GIT_QUARANTINE_PATH").map(|path| environment.path(Path::new(path)));
    let rewind = if is_rewind_allowed(session) { Rewind::Allowed } else { Rewind::Refused };
    let refusals =
        check(Intake { repository: path, branch: branch.clone(), quarantine, updates, rewind }).await.map_err(fail)?;
    match refusals.split_first() {
        None => Ok(ExitCode::Done),
        Some((first, others)) => Err(CommandError {
            findings: others.iter().map(ToString::to_string).collect(),
            ..CommandError::new(format!("push to {branch}"), first.to_string(), first.hint.clone())
        }),
    }
}

/// Returns whether the push carries the option by which a branch may go back. Whom the system lets write here is an administrator.
fn is_rewind_allowed(session: &Session<'_>) -> bool {
    let count = session.environment.variable("GIT_PUSH_OPTION_COUNT").and_then(|count| count.parse().ok()).unwrap_or(0);
    (0..count.min(MAX_PUSH_OPTIONS))
        .any(|index| session.environment.variable(&format!("GIT_PUSH_OPTION_{index}")) == Some("wild.allow-rewind"))
}

/// Tells the daemon that something was pushed. Never fails: the push is done.
async fn post_receive(session: &mut Session<'_>) -> ExitCode {
    let told = match connect(session.environment, &session.flags) {
        Ok(Some(client)) => tell(session, &client).await,
        Ok(None) | Err(_) => None,
    };
    match told {
        Some(name) => session.out.note(&format!("wild: seen by {name}; follow it with: wild status")),
        None => session.out.note("wild: the push will be seen at the daemon's next look"),
    }
    ExitCode::Done
}

/// Returns the instance that was told, if the daemon has this repository.
async fn tell(session: &Session<'_>, client: &Client) -> Option<String> {
    let environment = session.environment;
    let own = environment.path(Path::new(environment.variable("GIT_DIR").unwrap_or("."))).canonicalize().ok()?;
    let own = if own.file_name().is_some_and(|name| name == ".git") { own.parent()?.to_owned() } else { own };
    let actor = environment.actor(Some(&own));
    let answer =
        client.call(Call { method: "GET", path: "/api/v1/instances", body: None, actor: &actor }).await.ok()?;
    let found = list(&answer, "items")
        .iter()
        .find(|instance| Path::new(text(instance, "path")).canonicalize().is_ok_and(|path| path == own))?;
    let name = text(found, "name");
    let path = format!("/api/v1/instances/{name}/pushed");
    client.call(Call { method: "POST", path: &path, body: Some(&json!({})), actor: &actor }).await.ok()?;
    Some(name.to_owned())
}
