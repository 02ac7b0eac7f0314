//! `wild hook run`: what git starts when somebody pushes. The check works without a daemon; a push that the daemon does not hear of is seen
//! at its next look. `wild hook install`: sets up a clone, or the repository that people push to.
//!
//! Not here: the checks and the scripts (`git::hook`), what a clone is given (`git::clone`), the merge driver (`merge_file.rs`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::client::{Call, Client};
use super::error::{CommandError, ExitCode};
use super::json::{list, text};
use super::locate::{around, connect, open_state, read_settings, repository_around, settings_file};
use super::scan::{broken_seals, sought};
use super::session::Session;
use crate::base::{chain, shell_word};
use crate::git::hook::{ID_RULE, Intake, RefUpdate, Rewind, check};
use crate::git::{self, Leaked, Repository, Staged};
use crate::settings::Home;

/// Push options that are looked at.
const MAX_PUSH_OPTIONS: usize = 32;
/// The deployed branch where HEAD names none.
const BRANCH: &str = "main";

const RUN_HELP: &str = "Examples:
  wild hook run pre-receive
  wild hook run post-receive
  wild hook run pre-commit

Exit codes:
  0 the push or the commit may go on   2 it is refused";

const INSTALL_HELP: &str =
    "Sets up a clone so that plain git merges files of apps, and files that SOPS encrypted, as wild does:
  git fetch && git merge refs/wild/generated/quillblog
It also keeps secrets in clear out of commits there. In a bare repository it writes the hooks that check what people push.

Examples:
  wild hook install
  wild hook install my-cloud
  wild hook install --uninstall

Exit codes:
  0 set up, or it was   2 error";

/// What can be done with hooks.
#[derive(Subcommand, Debug)]
pub(super) enum HookVerb {
    /// Runs a hook in a repository, with what git gives it on standard input.
    #[command(after_long_help = RUN_HELP)]
    Run {
        /// The hook.
        #[arg(value_enum, value_name = "NAME")]
        name: Hook,
        /// What git gives the hook: the file with the message.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Sets up a clone for merges by plain git, or the hooks of a bare repository.
    #[command(after_long_help = INSTALL_HELP)]
    Install {
        /// The clone; the one around the working directory if it is not named.
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
        /// Takes the setup of a clone back.
        #[arg(long)]
        uninstall: bool,
    },
}

/// A hook of git.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hook {
    /// Before any ref moves.
    PreReceive,
    /// After all have moved.
    PostReceive,
    /// Before a commit is made in a work tree.
    PreCommit,
    /// Before a merge that needs no hand becomes a commit.
    PreMergeCommit,
    /// Before a patch that came by mail becomes a commit.
    PreApplypatch,
    /// Before a commit gets its message.
    CommitMsg,
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: HookVerb) -> Result<ExitCode, CommandError> {
    match verb {
        HookVerb::Run { name: Hook::PreReceive, file: _ } => pre_receive(session).await,
        HookVerb::Run { name: Hook::PostReceive, file: _ } => Ok(post_receive(session).await),
        HookVerb::Run { name: Hook::PreCommit | Hook::PreMergeCommit | Hook::PreApplypatch, file: _ } => {
            pre_commit(session).await
        }
        HookVerb::Run { name: Hook::CommitMsg, file } => commit_message(session, file.as_deref()).await,
        HookVerb::Install { folder, uninstall } => install(session, folder.as_deref(), uninstall).await,
    }
}

/// Sets up a clone, or the hooks of a bare repository.
async fn install(session: &mut Session<'_>, folder: Option<&Path>, undo: bool) -> Result<ExitCode, CommandError> {
    let environment = session.environment;
    let folder = match folder {
        Some(folder) => environment.path(folder),
        None => repository_around(&environment.directory).unwrap_or_else(|| environment.directory.clone()),
    };
    let what = format!("set up {}", folder.display());
    let fail = |error: git::Error| CommandError::new(what.clone(), chain(&error), "wild hook install DIR");
    let repository = Repository::open(&folder).await.map_err(fail)?;
    if session.is_dry_run() {
        session.note(&format!("Would {what}. Nothing was changed."));
        return Ok(ExitCode::Done);
    }
    let changed = match (repository.is_bare(), undo) {
        (false, false) => {
            let installed = git::hook::install_in_clone(&repository, &environment.program).await.map_err(fail)?;
            let mut changed = git::set_up_clone(&repository, &environment.program).await.map_err(fail)?;
            changed.extend(installed.written.iter().map(|path| format!("wrote {}", path.display())));
            changed
        }
        (false, true) => {
            let mut changed = git::undo_clone(&repository).await.map_err(fail)?;
            let removed = git::hook::remove_from_clone(&repository).await.map_err(fail)?;
            changed.extend(removed.iter().map(|path| format!("{} is gone", path.display())));
            changed
        }
        (true, false) => {
            let installed = git::hook::install(&repository, &environment.program).await.map_err(fail)?;
            installed.written.iter().map(|path| format!("wrote {}", path.display())).collect()
        }
        (true, true) => {
            let because = "without its hooks a bare repository takes in pushes that nobody checked";
            return Err(CommandError::new(what, because, format!("rm {}/hooks/pre-receive", folder.display())));
        }
    };
    for line in &changed {
        session.note(line);
    }
    if changed.is_empty() {
        session.note("Nothing was to do.");
    }
    Ok(ExitCode::Done)
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
    let scanner = match Repository::open(&path).await {
        Ok(repository) => sought(session, &repository).await.scanner,
        Err(error) => return Err(fail(error)),
    };
    let elsewhere = ids_elsewhere(session, &path);
    let intake = Intake { repository: path, branch: branch.clone(), quarantine, updates, rewind, scanner, elsewhere };
    let refusals = check(intake).await.map_err(fail)?;
    match refusals.split_first() {
        None => Ok(ExitCode::Done),
        Some((first, others)) => Err(CommandError {
            findings: others.iter().map(ToString::to_string).collect(),
            ..CommandError::new(format!("push to {branch}"), first.to_string(), first.hint.clone())
        }),
    }
}

/// Returns the identities that belong to other repositories, as far as whoever pushes may read that.
fn ids_elsewhere(session: &Session<'_>, own: &Path) -> BTreeSet<String> {
    let environment = session.environment;
    let settings = read_settings(environment, &settings_file(environment, None)).ok();
    let state = settings.filter(|settings| settings.state_dir.exists()).and_then(|settings| open_state(&settings).ok());
    let homes = state.and_then(|state| state.homes().ok()).unwrap_or_default();
    let own = own.canonicalize().ok();
    let is_elsewhere =
        |home: &Home| home.repository.exists() && own.as_ref().is_some_and(|own| !own.starts_with(&home.repository));
    homes.into_iter().filter(|(_, home)| is_elsewhere(home)).map(|(id, _)| id.to_string()).collect()
}

/// Looks for secrets and lost identities in what the next commit brings.
async fn pre_commit(session: &mut Session<'_>) -> Result<ExitCode, CommandError> {
    let what = "look for secrets in the commit";
    let fail = |error: git::Error| CommandError::new(what, chain(&error), "git status");
    let repository = committing(session).await.map_err(fail)?;
    let sought = sought(session, &repository).await;
    let index = session.environment.variable("GIT_INDEX_FILE").map(|path| session.environment.path(Path::new(path)));
    let index = index.filter(|path| path.exists());
    let Staged { mut leaks, sealed } = repository.staged_leaks(index.clone(), sought.scanner).await.map_err(fail)?;
    leaks.extend(broken_seals(session, sealed).await);
    refuse_leaks(&leaks, |place| format!("git restore --staged -- {}, or take it out", shell_word(place)))?;
    match repository.staged_id_faults(index).await.map_err(fail)?.first() {
        None => Ok(ExitCode::Done),
        Some(fault) => {
            let because = format!("{}:{}: {ID_RULE}: {fault}", fault.file, fault.line);
            let remedy =
                format!("{}; if this is a copy to be an instance of its own: git commit --no-verify", fault.remedy());
            Err(CommandError::new("commit", because, remedy))
        }
    }
}

/// Looks for secrets in the message of a commit.
async fn commit_message(session: &mut Session<'_>, file: Option<&Path>) -> Result<ExitCode, CommandError> {
    let what = "look for secrets in the message";
    let Some(file) = file.map(|file| session.environment.path(file)) else {
        return Err(CommandError::new(what, "git names no file", "wild hook run commit-msg FILE"));
    };
    let read = std::fs::read(&file).map_err(|error| CommandError::new(what, error.to_string(), "git commit"))?;
    let repository = committing(session).await;
    let repository = repository.map_err(|error| CommandError::new(what, chain(&error), "git status"))?;
    let sought = sought(session, &repository).await;
    let leaks = Repository::leaks_in_text(&sought.scanner, "the message of the commit", &read);
    refuse_leaks(&leaks, |_| "git commit, with another message".to_owned())
}

/// Opens the repository in which a commit is about to be made.
async fn committing(session: &Session<'_>) -> Result<Repository, git::Error> {
    let environment = session.environment;
    let folder = around(&environment.directory).map(|found| found.repository);
    Repository::open(&folder.unwrap_or_else(|| environment.directory.clone())).await
}

/// Refuses a commit because of what leaks, and says how it is taken out of there.
fn refuse_leaks(leaks: &[Leaked], take_out: fn(&str) -> String) -> Result<ExitCode, CommandError> {
    let Some((first, others)) = leaks.split_first() else { return Ok(ExitCode::Done) };
    let none = first.leak.exception(&first.place).map(|entry| format!("; if it is none: {entry}")).unwrap_or_default();
    let (place, then) = (&first.place, first.leak.remedy());
    let remedy = format!("{}; once it was in git: {then}{none}", take_out(place));
    Err(CommandError {
        findings: others.iter().map(ToString::to_string).collect(),
        ..CommandError::new("commit", first.to_string(), remedy)
    })
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
        Ok(Some(client)) => tell(session, &client).await.unwrap_or_default(),
        Ok(None) | Err(_) => Vec::new(),
    };
    match told.as_slice() {
        [] => session.out.note("wild: the push will be seen at the daemon's next look"),
        names => session.out.note(&format!("wild: seen by {}; follow it with: wild status", names.join(", "))),
    }
    ExitCode::Done
}

/// Tells every instance of the daemon that lives in this repository, and returns those that heard of it.
async fn tell(session: &Session<'_>, client: &Client) -> Option<Vec<String>> {
    let environment = session.environment;
    let own = environment.path(Path::new(environment.variable("GIT_DIR").unwrap_or("."))).canonicalize().ok()?;
    let own = if own.file_name().is_some_and(|name| name == ".git") { own.parent()?.to_owned() } else { own };
    let actor = environment.actor(Some(&own));
    let answer =
        client.call(Call { method: "GET", path: "/api/v1/instances", body: None, actor: &actor }).await.ok()?;
    let is_here = |instance: &&Value| Path::new(text(instance, "path")).canonicalize().is_ok_and(|path| path == own);
    let mut told = Vec::new();
    for found in list(&answer, "items").iter().filter(is_here) {
        let name = text(found, "name");
        let path = format!("/api/v1/instances/{name}/pushed");
        if client.call(Call { method: "POST", path: &path, body: Some(&json!({})), actor: &actor }).await.is_ok() {
            told.push(name.to_owned());
        }
    }
    Some(told)
}
