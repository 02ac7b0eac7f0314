//! `wild operation`: what was asked for and done.
//!
//! Not here: waiting for one (`wait.rs`).

use clap::Subcommand;
use serde_json::{Value, json};

use super::client::encode;
use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{list, object, short, text};
use super::report::Next;
use super::session::Session;
use super::table::{ago, table};
use super::wait::{Asked, Change, Patience};
use crate::model::{AppName, Who};

const LIST_HELP: &str = "Examples:
  wild operation list
  wild operation list --app quillblog --limit 5

Exit codes:
  0 listed   2 error";

const ARCHIVE_HELP: &str = "Examples:
  wild operation archive
  wild operation archive -o json

Shows what was deleted as it was right before, for 30 days and at most 1000 objects of an app; of Secrets only \
which keys they had. Without ID it is the newest deletion of an app that somebody asked for. `wild undo` brings back \
what git holds, and volumes that are held; the rest can be taken from here by hand.

Exit codes:
  0 shown   2 no such operation";

const SHOW_HELP: &str = "Examples:
  wild operation show
  wild operation show --app quillblog -o json

Exit codes:
  0 shown   2 no such operation";

const CANCEL_HELP: &str = "Examples:
  wild operation cancel
  wild operation cancel --app quillblog --reason superseded

Without ID it is the newest that waits or runs. What waits is never carried out. What runs ends between two requests to the cluster: what was sent stays, the rest is \
left out, and no commit is taken back. The app is held as it is then, also over a restart of the daemon, until \
`wild app deploy`, `wild drift revert` or `wild app resume`, or until its files change; `wild app rollback` goes back. A \
deletion goes on with `wild app delete`, and `wild undo` takes it back.

Exit codes:
  0 cancelled   2 no such operation, or nothing waits or runs   6 it has ended already";

const APPROVE_HELP: &str = "Examples:
  wild operation approve
  wild operation approve --app quillblog

Without ID it is the newest that is held back. Agreed is to the deletions that it names, by their digest: if others would go by now, \
nothing is deleted. `wild plan APP` shows what goes, and what goes along with it. Grants that came in one push with what they are for wait \
for this word as well: until then nothing new of their app is applied, and no secret is copied. `wild plan APP` lists what waits, and \
`--plan DIGEST` names it, so that nothing else is agreed to which was pushed meanwhile.

Exit codes:
  0 applied   2 no such operation, or none is held back   6 it waits for nobody, or for something else";

/// Operations that are looked through for the newest deletion, or the newest that has not ended.
const MAX_OPERATIONS: usize = 100;
/// Headers of a table of operations.
pub(super) const HEADERS: [&str; 6] = ["when", "what", "app", "state", "who", "id"];

/// What can be done with operations.
#[derive(Subcommand, Debug)]
pub(super) enum OperationVerb {
    /// Lists operations, newest first.
    #[command(after_long_help = LIST_HELP)]
    List {
        /// Only those of an app.
        #[arg(long, value_name = "APP", value_parser = AppName::parse)]
        app: Option<AppName>,
        /// At most so many.
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u32,
    },
    /// Ends an operation before it is done.
    #[command(after_long_help = CANCEL_HELP)]
    Cancel {
        /// Id, as `wild operation list` shows it.
        #[arg(value_name = "ID", conflicts_with = "app")]
        id: Option<String>,
        /// The newest of an app.
        #[arg(long, value_name = "APP", value_parser = AppName::parse)]
        app: Option<AppName>,
        /// Why, for those who read the status of the app.
        #[arg(long, value_name = "REASON", default_value = "")]
        reason: String,
    },
    /// Agrees to the deletions, or to the grants of a push, that an operation is held back for.
    #[command(after_long_help = APPROVE_HELP)]
    Approve {
        /// Id, as `wild operation list` shows it.
        #[arg(value_name = "ID", conflicts_with = "app")]
        id: Option<String>,
        /// The newest of an app.
        #[arg(long, value_name = "APP", value_parser = AppName::parse)]
        app: Option<AppName>,
        /// Digest of the plan that was shown; grants of the newest of an app are approved by it alone.
        #[arg(long, value_name = "DIGEST")]
        plan: Option<String>,
    },
    /// Shows the objects that an operation deleted, as YAML.
    #[command(after_long_help = ARCHIVE_HELP)]
    Archive {
        /// Id, as `wild operation list` shows it.
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Shows one operation with what happened to every object.
    #[command(visible_alias = "get", after_long_help = SHOW_HELP)]
    Show {
        /// Id; the newest if it is left out.
        #[arg(value_name = "ID", conflicts_with = "app")]
        id: Option<String>,
        /// The newest of an app.
        #[arg(long, value_name = "APP", value_parser = AppName::parse)]
        app: Option<AppName>,
    },
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: OperationVerb) -> Result<ExitCode, CommandError> {
    match verb {
        OperationVerb::List { app, limit } => show_list(session, app.as_ref(), limit).await,
        OperationVerb::Show { id: Some(id), app: _ } => show(session, &id).await,
        OperationVerb::Show { id: None, app } => {
            let id = newest(session, app.as_ref()).await?;
            show(session, &id).await
        }
        OperationVerb::Cancel { id: Some(id), app: _, reason } => cancel(session, &id, &reason).await,
        OperationVerb::Cancel { id: None, app, reason } => {
            let id = newest_open(session, app.as_ref()).await?;
            cancel(session, &id, &reason).await
        }
        OperationVerb::Approve { id: Some(id), app: _, plan } => approve(session, &id, plan).await,
        OperationVerb::Approve { id: None, app, plan } => {
            let found = newest_blocked(session, app.as_ref()).await?;
            if plan.is_none() && text(&found, "verb") == "grant" {
                return Err(unseen(&found));
            }
            approve(session, text(&found, "id"), plan).await
        }
        OperationVerb::Archive { id: Some(id) } => archive(session, &id).await,
        OperationVerb::Archive { id: None } => {
            let id = newest_deletion(session).await?;
            archive(session, &id).await
        }
    }
}

async fn newest_open(session: &mut Session<'_>, app: Option<&AppName>) -> Result<String, CommandError> {
    let filter = app.map(|app| format!("&app={app}")).unwrap_or_default();
    let answer = session.get(&format!("/operations?limit={MAX_OPERATIONS}{filter}")).await?;
    let is_open = |operation: &&Value| matches!(text(operation, "state"), "waiting" | "running");
    let open = list(&answer, "operations").iter().find(is_open).map(|operation| text(operation, "id").to_owned());
    open.ok_or_else(|| CommandError::new("find the operation", "nothing waits or runs", "wild operation list"))
}

async fn cancel(session: &mut Session<'_>, id: &str, reason: &str) -> Result<ExitCode, CommandError> {
    let below = format!("/operations/{}/cancel", encode(id));
    let body = json!({"reason": reason});
    if session.is_dry_run() {
        let would = session.call("POST", &format!("{below}?dryRun=true"), Some(&body)).await?;
        session.print(Document { kind: "Preview", value: would, items: None }, |would| {
            format!("{}\n", text(would, "message"))
        });
        session.note("Nothing was changed.");
        return Ok(ExitCode::Done);
    }
    session.call("POST", &below, Some(&body)).await?;
    let ended = session.end_of(id).await?;
    if text(&ended, "state") != "cancelled" {
        let because = format!("it has ended: {}", text(&ended, "state"));
        let error = CommandError::new(format!("cancel {id}"), because, format!("wild operation show {id}"));
        return Err(error.with_code(ExitCode::Blocked));
    }
    let (app, is_changed) = (text(&ended, "app").to_owned(), text(&ended, "outcome") == "changed");
    let remedy = ended.get("refusal").map(|refusal| text(refusal, "remedy").to_owned()).unwrap_or_default();
    let back = if text(&ended, "verb") == "delete" {
        "wild undo".to_owned()
    } else {
        format!("wild app rollback {app} --to HEAD~1")
    };
    session.report(Asked::Ended(ended), &Next { done: "", undecided: "" });
    if is_changed && !app.is_empty() {
        session.note(&format!("{app} is held as it is. Next: {remedy}, or {back}"));
    }
    Ok(ExitCode::Done)
}

async fn newest_blocked(session: &mut Session<'_>, app: Option<&AppName>) -> Result<Value, CommandError> {
    let filter = app.map(|app| format!("&app={app}")).unwrap_or_default();
    let answer = session.get(&format!("/operations?limit={MAX_OPERATIONS}{filter}")).await?;
    let is_blocked = |operation: &&Value| text(operation, "outcome") == "blocked";
    let found = list(&answer, "operations").iter().find(is_blocked).cloned();
    found.ok_or_else(|| CommandError::new("find the operation", "none is held back", "wild operation list"))
}

/// Returns that nobody agrees to a grant that happens to be the newest: whoever pushes meanwhile would choose what that is.
fn unseen(operation: &Value) -> CommandError {
    let (app, message) = (text(operation, "app"), text(operation, "message"));
    let digest = message.rsplit(' ').next().unwrap_or_default();
    let remedy = format!("wild plan {app}, then: wild operation approve --app {app} --plan {digest}");
    CommandError::new(format!("approve what waits of {app}"), message, remedy).with_code(ExitCode::Blocked)
}

async fn approve(session: &mut Session<'_>, id: &str, plan: Option<String>) -> Result<ExitCode, CommandError> {
    let below = format!("/operations/{}/approve", encode(id));
    let body = plan.map_or_else(|| json!({}), |plan| json!({"plan": plan}));
    let asked = session.ask(Change { method: "POST", below, body, patience: Patience::Wait }).await?;
    Ok(session.report(asked, &Next { done: "", undecided: "" }))
}

async fn newest_deletion(session: &mut Session<'_>) -> Result<String, CommandError> {
    let answer = session.get(&format!("/operations?limit={MAX_OPERATIONS}")).await?;
    let deletion = list(&answer, "operations").iter().find(|operation| text(operation, "verb") == "delete");
    deletion.map(|operation| text(operation, "id").to_owned()).ok_or_else(|| {
        CommandError::new("find the operation", "nobody asked for a deletion lately", "wild operation archive ID")
    })
}

async fn archive(session: &mut Session<'_>, id: &str) -> Result<ExitCode, CommandError> {
    let answer = session.get(&format!("/operations/{}/archive", encode(id))).await?;
    if list(&answer, "archived").is_empty() && session.is_for_people() {
        session.note("It deleted nothing that is still kept.");
        return Ok(ExitCode::Done);
    }
    let document = Document { kind: "Archive", value: answer, items: Some(("archived", "object")) };
    session.print(document, |answer| {
        let bodies = list(answer, "archived").iter().filter_map(|one| one.get("body"));
        bodies.map(|body| format!("---\n{}", crate::yaml::write(body))).collect()
    });
    Ok(ExitCode::Done)
}

async fn show_list(session: &mut Session<'_>, app: Option<&AppName>, limit: u32) -> Result<ExitCode, CommandError> {
    let filter = app.map(|app| format!("&app={app}")).unwrap_or_default();
    let answer = session.get(&format!("/operations?limit={limit}{filter}")).await?;
    if list(&answer, "operations").is_empty() && session.is_for_people() {
        session.note("Nothing was asked for and nothing was done yet.");
        return Ok(ExitCode::Done);
    }
    let (now, width) = (session.now(), session.environment.width());
    session.print(
        Document { kind: "OperationList", value: answer, items: Some(("operations", "operation")) },
        |answer| {
            table(
                &HEADERS,
                list(answer, "operations").iter().map(|operation| row(operation, |time| ago(time, now))),
                width,
            )
        },
    );
    Ok(ExitCode::Done)
}

/// Returns the line of an operation.
pub(super) fn row(operation: &Value, when: impl Fn(&str) -> String) -> Vec<String> {
    let field = |key: &str| text(operation, key).to_owned();
    let state = match (text(operation, "state"), text(operation, "outcome")) {
        ("succeeded", "") => "succeeded".to_owned(),
        ("succeeded", outcome) => outcome.to_owned(),
        (state, _) => state.to_owned(),
    };
    vec![when(text(operation, "started")), field("verb"), field("app"), state, who(operation), field("id")]
}

/// Returns who asked, as a table shows it: the user with the name that he gave, where that is another.
fn who(operation: &Value) -> String {
    Who::new(text(operation, "actor"), text(operation, "user")).shown()
}

async fn newest(session: &mut Session<'_>, app: Option<&AppName>) -> Result<String, CommandError> {
    let filter = app.map(|app| format!("&app={app}")).unwrap_or_default();
    let answer = session.get(&format!("/operations?limit=1{filter}")).await?;
    match list(&answer, "operations").first().map(|operation| text(operation, "id").to_owned()) {
        Some(id) => Ok(id),
        None => Err(CommandError::new("find the operation", "nothing was asked for yet", "wild operation list")),
    }
}

async fn show(session: &mut Session<'_>, id: &str) -> Result<ExitCode, CommandError> {
    let answer = session.get(&format!("/operations/{}", encode(id))).await?;
    let width = session.environment.width();
    session.print(Document { kind: "Operation", value: answer, items: None }, |operation| {
        let mut lines = String::new();
        for key in ["id", "verb", "app", "state", "outcome", "trigger", "actor", "user", "started", "ended"] {
            if !text(operation, key).is_empty() {
                lines.push_str(&format!("{key:<10}{}\n", text(operation, key)));
            }
        }
        if !text(operation, "commit").is_empty() {
            lines.push_str(&format!("{:<10}{}\n", "commit", short(text(operation, "commit"))));
        }
        for line in text(operation, "message").lines() {
            lines.push_str(&format!("{:<10}{line}\n", "message"));
        }
        let outcomes = list(operation, "outcomes");
        if !outcomes.is_empty() {
            let rows = outcomes.iter().map(|outcome| {
                let name = outcome.get("object").map(object).unwrap_or_default();
                vec![name, text(outcome, "effect").to_lowercase(), text(outcome, "message").to_owned()]
            });
            lines.push('\n');
            lines.push_str(&table(&["object", "effect", "message"], rows, width));
        }
        lines
    });
    Ok(ExitCode::Done)
}
