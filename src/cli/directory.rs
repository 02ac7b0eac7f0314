//! `wild directory`: the package directories that an instance follows.
//!
//! Not here: fetching them (`pipeline`), reading packages (`package`).

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{list, short, text};
use super::report::Next;
use super::session::Session;
use super::table::table;
use super::wait::{Asked, Change, Patience};

const ADD_HELP: &str = "Examples:
  wild directory add sample https://git.example.org/wild/directory.git
  wild directory add stable https://git.example.org/wild/directory.git --branch stable

Exit codes:
  0 fetched and added   2 error, or it cannot be fetched: then it is not added";

const LIST_HELP: &str = "Examples:
  wild directory list
  wild directory list -o json

Exit codes:
  0 listed   2 error";

const FETCH_HELP: &str = "Examples:
  wild directory fetch

Exit codes:
  0 fetched   2 one of them cannot be fetched";

const OUTDATED_HELP: &str = "Examples:
  wild directory outdated
  wild directory outdated -o name

Exit codes:
  0 every app has the newest version   1 some have not   2 error";

/// What can be done with package directories.
#[derive(Subcommand, Debug)]
pub(super) enum DirectoryVerb {
    /// Lists the directories that the instance follows.
    #[command(after_long_help = LIST_HELP)]
    List,
    /// Follows a further directory.
    #[command(after_long_help = ADD_HELP)]
    Add {
        /// Name of it here.
        #[arg(value_name = "NAME")]
        name: String,
        /// Address of its git repository.
        #[arg(value_name = "URL")]
        url: String,
        /// Branch that is followed.
        #[arg(long, default_value = "main", value_name = "BRANCH")]
        branch: String,
    },
    /// Looks for news in all directories.
    #[command(after_long_help = FETCH_HELP)]
    Fetch,
    /// Lists the apps that a newer package version waits for.
    #[command(after_long_help = OUTDATED_HELP)]
    Outdated,
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: DirectoryVerb) -> Result<ExitCode, CommandError> {
    match verb {
        DirectoryVerb::List => show(session).await,
        DirectoryVerb::Add { name, url, branch } => add(session, &name, &url, &branch).await,
        DirectoryVerb::Fetch => fetch(session).await,
        DirectoryVerb::Outdated => outdated(session).await,
    }
}

async fn show(session: &mut Session<'_>) -> Result<ExitCode, CommandError> {
    let answer = session.get("/directories").await?;
    if list(&answer, "directories").is_empty() && session.is_for_people() {
        session.note("No directory is followed yet: wild directory add NAME URL");
        return Ok(ExitCode::Done);
    }
    print(session, answer);
    Ok(ExitCode::Done)
}

fn print(session: &mut Session<'_>, answer: Value) {
    let width = session.environment.width();
    session.print(
        Document { kind: "DirectoryList", value: answer, items: Some(("directories", "directory")) },
        |answer| {
            let rows = list(answer, "directories").iter().map(|directory| {
                let field = |key: &str| text(directory, key).to_owned();
                let packages = list(directory, "packages").len().to_string();
                let commit = short(text(directory, "commit")).to_owned();
                vec![field("name"), field("url"), field("branch"), commit, packages, field("error")]
            });
            table(&["directory", "url", "branch", "commit", "packages", "error"], rows, width)
        },
    );
}

async fn add(session: &mut Session<'_>, name: &str, url: &str, branch: &str) -> Result<ExitCode, CommandError> {
    let body = json!({"name": name, "url": url, "branch": branch});
    let asked = session
        .ask(Change { method: "POST", below: "/directories".to_owned(), body, patience: Patience::Wait })
        .await?;
    let made = matches!(asked, Asked::Ended(_));
    let code = session.report(asked, &Next { done: "", undecided: "" });
    if !made || code != ExitCode::Done {
        return Ok(code);
    }
    let fetched = session.call("POST", "/directories/fetch", Some(&json!({}))).await?;
    let found = list(&fetched, "directories").iter().find(|directory| text(directory, "name") == name);
    match found.map(|directory| (text(directory, "error"), list(directory, "packages").len())) {
        Some(("", packages)) => {
            let line = format!("{packages} packages are on offer: wild app list");
            session.note(&line);
            Ok(ExitCode::Done)
        }
        Some((error, _)) => Err(CommandError::new(
            format!("fetch the directory {name}"),
            error,
            "wild directory fetch, once it answers",
        )),
        None => Ok(ExitCode::Done),
    }
}

async fn fetch(session: &mut Session<'_>) -> Result<ExitCode, CommandError> {
    let answer = session.call("POST", "/directories/fetch", Some(&json!({}))).await?;
    let failed = list(&answer, "directories").iter().find(|directory| !text(directory, "error").is_empty());
    let error = failed.map(|directory| {
        let what = format!("fetch the directory {}", text(directory, "name"));
        CommandError::new(what, text(directory, "error"), "wild directory fetch, once it answers")
    });
    print(session, answer);
    error.map_or(Ok(ExitCode::Done), Err)
}

/// Returns the apps that a fetched directory has another package version for, with that version. Asked of the directories themselves:
/// what is known of an app is as old as its last pass, which may be older than the last fetch.
pub(super) async fn outdated_apps(session: &mut Session<'_>) -> Result<Value, CommandError> {
    let directories = session.get("/directories").await?;
    let mut answer = session.get("/apps").await?;
    if let Some(apps) = answer.get_mut("apps").and_then(Value::as_array_mut) {
        apps.retain_mut(|app| {
            let offered =
                offered(&directories, text(app, "package")).filter(|offered| *offered != text(app, "version"));
            if let (Some(offered), Some(fields)) = (offered, app.as_object_mut()) {
                fields.insert("available".to_owned(), Value::from(offered));
                fields.entry("update").and_modify(|update| {
                    if update.is_null() {
                        *update = Value::from("ready");
                    }
                });
            }
            offered.is_some()
        });
    }
    Ok(answer)
}

/// Returns the version of a package in the first directory that has it whole.
fn offered<'a>(directories: &'a Value, package: &str) -> Option<&'a str> {
    let all = list(directories, "directories").iter().flat_map(|directory| list(directory, "packages"));
    all.filter(|offer| text(offer, "name") == package).map(|offer| text(offer, "version")).find(|text| !text.is_empty())
}

async fn outdated(session: &mut Session<'_>) -> Result<ExitCode, CommandError> {
    let answer = outdated_apps(session).await?;
    let some = !list(&answer, "apps").is_empty();
    if !some && session.is_for_people() {
        session.note("Every app has the newest version.");
        return Ok(ExitCode::Done);
    }
    let width = session.environment.width();
    session.print(Document { kind: "AppList", value: answer, items: Some(("apps", "app")) }, |answer| {
        let row =
            |app: &Value| ["name", "version", "available", "update"].map(|key| text(app, key).to_owned()).to_vec();
        table(&["app", "version", "available", "update"], list(answer, "apps").iter().map(row), width)
    });
    Ok(if some { ExitCode::Answer } else { ExitCode::Done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_directory_that_has_a_package_whole_offers_it() {
        let package = |name: &str, version: &str| json!({"name": name, "version": version});
        let directories = json!({"directories": [
            {"packages": [package("ghost", ""), package("mail", "1")]},
            {"packages": [package("ghost", "5"), package("mail", "2")]},
        ]});
        for (name, expected) in [("ghost", Some("5")), ("mail", Some("1")), ("chat", None)] {
            assert_eq!(offered(&directories, name), expected, "{name}");
        }
    }
}
