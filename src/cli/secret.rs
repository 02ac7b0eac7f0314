//! `wild secret`: values that never lie in git. None is ever printed, and none stands on a command line.
//!
//! Not here: the file that keeps them (`settings`), which of them apps ask for (`package`).

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::client::encode;
use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{flag, list, text};
use super::scan::{self, Scan};
use super::session::Session;
use super::table::table;
use crate::model::AppName;

const LIST_HELP: &str = "Examples:
  wild secret list
  wild secret list quillblog -o json

No value is ever printed: they stand in secrets.yaml, which git never sees.

Exit codes:
  0 listed   1 an app waits for a value   2 error";

const SET_HELP: &str = "Examples:
  wild secret set apps.quillblog.adminPassword < password.txt

The value comes from standard input, without its last line end; on a terminal it is asked for and not shown. \
A copy of another app's secret that you set here no longer follows its owner.

Exit codes:
  0 set   2 error";

const GENERATE_HELP: &str = "Examples:
  wild secret generate apps.quillblog.dbUrl

Makes a value that is absent, or makes again what a template of the package makes from other values.

Exit codes:
  0 made   2 error, also if there is a value already";

const ROTATE_HELP: &str = "Examples:
  wild secret rotate apps.quillblog.databasePassword --dry-run
  wild secret rotate apps.quillblog.databasePassword --yes

The old value is gone. Copies in other apps follow by themselves; what keeps the old value is named first. \
A program that stores a password of its own, such as a database, has to be told the new one.

Exit codes:
  0 made anew   2 error, also if it was not confirmed";

const SCAN_HELP: &str = "Examples:
  wild secret scan
  wild secret scan --history
  wild secret scan --staged
  wild secret scan v1.2 -o json

Looks for secrets in clear in a commit of the repository around the working directory: the values of secrets.yaml as they are now, \
in every usual spelling, private keys, keys of age, tokens, kubeconfigs, and files that claim to be encrypted and are not. \
The same search runs before a commit, at a push, at a fetch, and before anything is applied. No daemon is needed. What only looks like a secret is listed in .wild/config.yaml: noSecrets.

Exit codes:
  0 none   1 there are some   2 error";

/// What can be done about secrets.
#[derive(Subcommand, Debug)]
pub(super) enum SecretVerb {
    /// Lists secrets: which have a value, where it comes from, who reads it.
    #[command(after_long_help = LIST_HELP)]
    List {
        /// Only those of this app.
        #[arg(value_name = "APP", value_parser = AppName::parse)]
        app: Option<AppName>,
    },
    /// Looks for secrets in clear in git.
    #[command(after_long_help = SCAN_HELP)]
    Scan(Scan),
    /// Sets a value that comes from standard input.
    #[command(after_long_help = SET_HELP)]
    Set(Place),
    /// Makes a value that is absent.
    #[command(after_long_help = GENERATE_HELP)]
    Generate(Place),
    /// Makes a value anew, in place of the one that is there.
    #[command(after_long_help = ROTATE_HELP)]
    Rotate(Place),
}

/// Which secret.
#[derive(Args, Debug)]
pub(super) struct Place {
    /// Path in secrets.yaml, such as apps.ghost.password.
    #[arg(value_name = "PATH")]
    path: String,
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: SecretVerb) -> Result<ExitCode, CommandError> {
    match verb {
        SecretVerb::List { app } => show(session, app.as_ref()).await,
        SecretVerb::Scan(arguments) => scan::run(session, arguments).await,
        SecretVerb::Set(place) => set(session, &place.path).await,
        SecretVerb::Generate(place) => make(session, &place.path, false).await,
        SecretVerb::Rotate(place) => rotate(session, &place.path).await,
    }
}

async fn show(session: &mut Session<'_>, app: Option<&AppName>) -> Result<ExitCode, CommandError> {
    let mut answer = session.get("/secrets").await?;
    if let (Some(app), Some(items)) = (app, answer.get_mut("secrets").and_then(Value::as_array_mut)) {
        items.retain(|item| text(item, "app") == app.as_str());
    }
    let waits = list(&answer, "secrets").iter().any(|item| !flag(item, "set") && text(item, "origin") == "person");
    let width = session.environment.width();
    session.print(Document { kind: "SecretList", value: answer, items: Some(("secrets", "secret")) }, |answer| {
        let rows = list(answer, "secrets").iter().map(|item| {
            let origin = match text(item, "origin") {
                "random" => "made at random".to_owned(),
                "template" => "made from other values".to_owned(),
                "person" => "given by a person".to_owned(),
                "copy" => format!("copy of {}", text(item, "copyOf")),
                _ => "no app asks for it".to_owned(),
            };
            let readers: Vec<String> =
                list(item, "readers").iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let set = if flag(item, "set") { "yes" } else { "no" };
            vec![text(item, "path").to_owned(), set.to_owned(), origin, readers.join(", ")]
        });
        table(&["secret", "set", "origin", "also read by"], rows, width)
    });
    if waits && session.is_for_people() {
        session.note("Give a value: wild secret set PATH");
    }
    Ok(if waits { ExitCode::Answer } else { ExitCode::Done })
}

async fn set(session: &mut Session<'_>, path: &str) -> Result<ExitCode, CommandError> {
    let what = || format!("set {path}");
    let given =
        if session.may_ask() { session.out.ask_hidden(&format!("Value of {path}:")) } else { session.out.input() };
    let given = given
        .ok_or_else(|| CommandError::new(what(), "standard input holds no text", "wild secret set PATH < FILE"))?;
    let value = given.strip_suffix('\n').map_or(given.as_str(), |value| value.strip_suffix('\r').unwrap_or(value));
    if value.is_empty() {
        let remedy = "wild secret set PATH < FILE";
        return Err(CommandError::new(what(), "the value is empty", remedy));
    }
    let done = write(session, "PUT", &format!("/secrets/{}", encode(path)), &json!({ "value": value })).await?;
    tell(session, done, "set")
}

async fn make(session: &mut Session<'_>, path: &str, anew: bool) -> Result<ExitCode, CommandError> {
    let below = format!("/secrets/{}/generate", encode(path));
    let done = write(session, "POST", &below, &json!({ "anew": anew })).await?;
    tell(session, done, "made")
}

/// Names what depends on the value before the old one is gone.
async fn rotate(session: &mut Session<'_>, path: &str) -> Result<ExitCode, CommandError> {
    if session.flags.yes || session.is_dry_run() {
        return make(session, path, true).await;
    }
    let below = format!("/secrets/{}/generate?dryRun=true", encode(path));
    let would = session.call("POST", &below, Some(&json!({"anew": true}))).await?;
    for line in consequences(&would) {
        session.note(&line);
    }
    let no = |because: &str| {
        CommandError::new(format!("rotate {path}"), because, format!("wild secret rotate {path} --yes"))
    };
    if !session.may_ask() {
        return Err(no("the old value would be gone, and nobody confirmed that"));
    }
    let answer = session.out.ask(&format!("Replace the value of {path}? [y/N]"));
    if !answer.is_some_and(|answer| answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes")) {
        return Err(no("it was not confirmed"));
    }
    make(session, path, true).await
}

async fn write(session: &mut Session<'_>, method: &str, below: &str, body: &Value) -> Result<Value, CommandError> {
    let below = if session.is_dry_run() { format!("{below}?dryRun=true") } else { below.to_owned() };
    session.call(method, &below, Some(body)).await
}

fn tell(session: &mut Session<'_>, done: Value, verb: &str) -> Result<ExitCode, CommandError> {
    session.print(Document { kind: "SecretChange", value: done, items: None }, |done| {
        let mut lines = consequences(done);
        let path = text(done, "path");
        lines.insert(
            0,
            if flag(done, "written") { format!("{path} is {verb}.") } else { "Nothing was changed.".to_owned() },
        );
        lines.join("\n") + "\n"
    });
    Ok(ExitCode::Done)
}

/// Says what a new value brings along.
fn consequences(change: &Value) -> Vec<String> {
    let names = |key: &str| list(change, key).iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>();
    let follows = names("followers").into_iter().map(|path| format!("  {path} follows by itself"));
    let stale =
        names("stale").into_iter().map(|path| format!("  {path} keeps the old value: wild secret generate {path}"));
    follows.chain(stale).collect()
}
