//! `wild drift`: what differs in the cluster from what git says.
//!
//! Not here: seeing it (`observe`), judging it (`plan`).

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{flag, list, object, plain, text};
use super::report::Next;
use super::session::Session;
use super::table::{ago, table};
use super::wait::{Change, Patience};
use crate::model::{AppName, Branch};

const LIST_HELP: &str = "Examples:
  wild drift list
  wild drift list -o json

Exit codes:
  0 no drift   1 there is drift   2 error   6 not known of every app";

const SHOW_HELP: &str = "Examples:
  wild drift show quillblog

Exit codes:
  0 no drift   1 there is drift   2 no such app   6 not known";

const REVERT_HELP: &str = "Examples:
  wild drift revert quillblog
  wild drift revert quillblog Deployment/quillblog

With an object, the others stay as their policy says.

Exit codes:
  0 put back, or there was none   2 error   6 blocked";

const ADOPT_HELP: &str = "Examples:
  wild drift adopt quillblog --dry-run
  wild drift adopt quillblog
  wild drift adopt quillblog Deployment/quillblog spec.replicas
  wild drift adopt quillblog --branch

A field that the package makes from a config value changes that value; any other changes the file that \
holds it. What a file cannot say alone, such as one half of a patch, is refused, and values of Secrets are. \
With --branch the commit goes to wild/drift/APP, and the cluster's value stays a difference until a person \
merges that.
A difference is there to adopt while it is reported (drift: report) or the app is suspended; otherwise it is \
put back at once.

Exit codes:
  0 adopted, or would be   2 error, or nothing to adopt   6 blocked";

const IGNORE_HELP: &str = "Examples:
  wild drift ignore quillblog Deployment/quillblog spec.replicas --reason 'scaled by hand'
  wild drift ignore quillblog Deployment/quillblog spec.replicas --until 2035-01-31T00:00:00Z

A field is written as drift is shown, or as a JSON pointer in which * stands for any key.
The rule is committed to .wild/config.yaml; take it out there to end it.

Exit codes:
  0 left to whoever holds it   2 error";

/// What can be done about drift.
#[derive(Subcommand, Debug)]
pub(super) enum DriftVerb {
    /// Lists every live difference from git.
    #[command(after_long_help = LIST_HELP)]
    List,
    /// Shows the differences of one app, field by field.
    #[command(after_long_help = SHOW_HELP)]
    Show {
        /// App.
        #[arg(value_name = "APP", value_parser = AppName::parse)]
        app: AppName,
    },
    /// Puts the committed values back.
    #[command(after_long_help = REVERT_HELP)]
    Revert {
        /// App.
        #[arg(value_name = "APP", value_parser = AppName::parse)]
        app: AppName,
        /// Objects, as KIND/NAME, or NAMESPACE/KIND/NAME where two have one name; none means all that differ.
        #[arg(value_name = "OBJECT")]
        objects: Vec<String>,
    },
    /// Takes values of the cluster into the repository, as one commit.
    #[command(after_long_help = ADOPT_HELP)]
    Adopt {
        /// App.
        #[arg(value_name = "APP", value_parser = AppName::parse)]
        app: AppName,
        /// Object, as KIND/NAME, or NAMESPACE/KIND/NAME where two have one name; none means all that differ.
        #[arg(value_name = "OBJECT")]
        object: Option<String>,
        /// Fields, as drift is shown; none means all that differ.
        #[arg(value_name = "FIELD")]
        fields: Vec<String>,
        /// Commits to a branch of its own, for review, and not to the deployed one.
        #[arg(long)]
        branch: bool,
    },
    /// Leaves fields of a live object to whoever holds them.
    #[command(after_long_help = IGNORE_HELP)]
    Ignore(Ignore),
}

/// Arguments of `wild drift ignore`.
#[derive(Args, Debug)]
pub(super) struct Ignore {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    /// Object, as KIND/NAME; * stands for any text.
    #[arg(value_name = "OBJECT")]
    object: String,
    /// Fields.
    #[arg(value_name = "FIELD", required = true)]
    fields: Vec<String>,
    /// Only while this manager holds them; may be given again.
    #[arg(long = "manager", value_name = "NAME")]
    managers: Vec<String>,
    /// When it ends by itself.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Why, for everybody who wonders.
    #[arg(long, default_value = "")]
    reason: String,
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: DriftVerb) -> Result<ExitCode, CommandError> {
    match verb {
        DriftVerb::List => show(session, None).await,
        DriftVerb::Show { app } => {
            // The route of one app tells whether it is there.
            session.get(&format!("/apps/{app}")).await?;
            show(session, Some(&app)).await
        }
        DriftVerb::Revert { app, objects } => {
            let below = format!("/drift/{app}/revert");
            let body = json!({"objects": objects});
            let asked = session.ask(Change { method: "POST", below, body, patience: Patience::Wait }).await?;
            Ok(session.report(asked, &Next { done: "", undecided: "" }))
        }
        DriftVerb::Adopt { app, object, fields, branch } => {
            let below = format!("/drift/{app}/adopt");
            let branch = if branch { Branch::Review } else { Branch::Deployed };
            let body = json!({"object": object, "fields": fields, "branch": branch});
            let asked = session.ask(Change { method: "POST", below, body, patience: Patience::Wait }).await?;
            Ok(session.report(asked, &Next { done: "", undecided: "" }))
        }
        DriftVerb::Ignore(arguments) => ignore(session, arguments).await,
    }
}

async fn ignore(session: &mut Session<'_>, arguments: Ignore) -> Result<ExitCode, CommandError> {
    let Ignore { app, object, fields, managers, until, reason } = arguments;
    let Some((kind, name)) = object.split_once('/').filter(|(kind, name)| !kind.is_empty() && !name.is_empty()) else {
        let because = format!("{object:?} is no object such as Deployment/{app}.");
        return Err(CommandError::new(format!("fields of {app} were not left to others."), because, "wild drift list"));
    };
    let body = json!({
        "kind": kind, "name": name, "paths": fields, "managers": managers,
        "until": until.unwrap_or_default(), "reason": reason,
    });
    let below = format!("/drift/{app}/ignore");
    let asked = session.ask(Change { method: "POST", below, body, patience: Patience::Wait }).await?;
    Ok(session.report(asked, &Next { done: "", undecided: "" }))
}

async fn show(session: &mut Session<'_>, app: Option<&AppName>) -> Result<ExitCode, CommandError> {
    let mut answer = session.get("/drift").await?;
    for key in ["drift", "unknown"] {
        if let (Some(app), Some(items)) = (app, answer.get_mut(key).and_then(Value::as_array_mut)) {
            items.retain(|item| text(item, "app") == app.as_str());
        }
    }
    let (some, known) = (!list(&answer, "drift").is_empty(), list(&answer, "unknown").is_empty());
    if session.is_for_people() {
        for unknown in list(&answer, "unknown") {
            session.note(&format!("{} may differ: {}", text(unknown, "app"), text(unknown, "because")));
        }
        let has_cluster = !session.get("").await?.get("cluster").is_none_or(Value::is_null);
        match (some, known, has_cluster) {
            (true, ..) => {}
            (false, true, true) => session.note("The cluster is as git says."),
            (false, true, false) => session.note("No cluster is known yet, so nothing is compared: wild cluster add"),
            (false, false, _) => session.note("Nothing else differs from git."),
        }
    }
    let (now, width) = (session.now(), session.environment.width());
    session.print(Document { kind: "DriftList", value: answer, items: Some(("drift", "app")) }, |answer| {
        if !some {
            return String::new();
        }
        let rows = list(answer, "drift").iter().map(|item| {
            let value = |key: &str| item.get(key).map(plain).unwrap_or_default();
            let worst = if flag(item, "harmless") { "harmless" } else { "harmful" };
            vec![
                text(item, "app").to_owned(),
                item.get("object").map(object).unwrap_or_default(),
                format!("{} {}", text(item, "kind"), text(item, "path")).trim().to_owned(),
                format!("{} → {}", value("desired"), value("live")),
                text(item, "manager").to_owned(),
                ago(text(item, "since"), now),
                worst.to_owned(),
            ]
        });
        table(&["app", "object", "field", "git → live", "by", "since", "weight"], rows, width)
    });
    if some && session.is_for_people() {
        session.note("Put back: wild drift revert APP · keep it: wild drift adopt APP · leave it: wild drift ignore APP OBJECT FIELD");
    }
    Ok(match (some, known) {
        (true, _) => ExitCode::Answer,
        (false, false) => ExitCode::Blocked,
        (false, true) => ExitCode::Done,
    })
}
