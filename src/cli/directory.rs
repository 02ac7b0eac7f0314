//! `wild directory`: the package directories that an instance follows.
//!
//! Not here: fetching them (`pipeline`), reading packages (`package`).

use clap::Subcommand;
use serde_json::{Value, json};

use super::client::encode;
use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{count, list, short, text};
use super::report::Next;
use super::session::Session;
use super::table::table;
use super::wait::{Asked, Change, Patience};
use crate::model::{DirectoryTrouble, Verify};

const ADD_HELP: &str = "Examples:
  wild directory add sample https://git.example.org/wild/directory.git
  wild directory add stable https://git.example.org/wild/directory.git --branch stable
  wild directory add own https://git.example.org/wild/directory.git --branch own --verify signed

With --verify signed nothing is taken of a commit that is not signed by a key of allowedSigners (SSH) or allowedKeyring (OpenPGP) of \
daemon.yaml. What is signed is the newest commit of the branch, and with it all that leads to it.

Exit codes:
  0 fetched and added   2 error, or it cannot be fetched or is not signed: then it is not added";

const LIST_HELP: &str = "Examples:
  wild directory list
  wild directory list -o json

Exit codes:
  0 listed   2 error";

const FETCH_HELP: &str = "Examples:
  wild directory fetch
  wild directory fetch sample
  wild directory fetch sample --accept-rewind

A directory that went back, rewrote its history, lost its packages or is not signed as it must be stays where it was until \
--accept-rewind. Accepted is the commit that wild directory list shows; where it was is kept under refs/wild/rewound.

Exit codes:
  0 fetched   2 one of them cannot be fetched, or is not followed";

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
        /// What must be true of its commits before anything is taken from them.
        #[arg(long, value_enum, default_value_t = Verification::None, value_name = "WHAT")]
        verify: Verification,
    },
    /// Looks for news in all directories, or in one.
    #[command(after_long_help = FETCH_HELP)]
    Fetch {
        /// The directory; all of them without.
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Follows it although it went back, rewrote its history, lost its packages or is not signed.
        #[arg(long, requires = "name")]
        accept_rewind: bool,
    },
    /// Lists the apps that a newer package version waits for.
    #[command(after_long_help = OUTDATED_HELP)]
    Outdated,
}

/// What must be true of the commits of a directory.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(super) enum Verification {
    /// Nothing.
    None,
    /// They are signed by somebody whom daemon.yaml names.
    Signed,
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: DirectoryVerb) -> Result<ExitCode, CommandError> {
    match verb {
        DirectoryVerb::List => show(session).await,
        DirectoryVerb::Add { name, url, branch, verify } => {
            let verify = match verify {
                Verification::None => Verify::None,
                Verification::Signed => Verify::Signed,
            };
            add(session, &name, json!({"name": name, "url": url, "branch": branch, "verify": verify})).await
        }
        DirectoryVerb::Fetch { name: Some(name), accept_rewind: true } => Box::pin(accept(session, &name)).await,
        DirectoryVerb::Fetch { name, accept_rewind: _ } => Box::pin(fetch(session, name.as_deref())).await,
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
                vec![field("name"), field("url"), field("branch"), commit, voucher(directory), packages, field("error")]
            });
            let heads = ["directory", "url", "branch", "commit", "signed", "packages", "error"];
            let shown = table(&heads, rows, width);
            list(answer, "directories").iter().flat_map(findings).fold(shown, |shown, line| format!("{shown}{line}\n"))
        },
    );
}

/// Returns who answers for the commit of a directory.
fn voucher(directory: &Value) -> String {
    let vouched = directory.get("vouched").cloned().unwrap_or_default();
    match (text(directory, "verify"), text(&vouched, "signer"), text(&vouched, "accepted")) {
        ("signed", "", "") => "no".to_owned(),
        ("signed", "", person) => format!("no, accepted by {person}"),
        ("signed", signer, _) => format!("by {signer}"),
        _ => String::new(),
    }
}

/// Returns one line for each thing that is wrong with a directory: what keeps it from being followed and what helps, and every package that is
/// broken, where and why.
pub(super) fn findings(directory: &Value) -> Vec<String> {
    let name = text(directory, "name");
    let trouble = directory.get("trouble").filter(|trouble| !trouble.is_null());
    let trouble = trouble.map(|it| format!("{name}: {}; {}", text(it, "message"), text(it, "hint")));
    let broken = list(directory, "packages").iter().filter_map(|package| {
        let broken = broken(package)?;
        Some(format!("{name}: the package {} is broken: {broken}", text(package, "name")))
    });
    let refused = list(directory, "refused").iter().map(|found| format!("{name}: {}", finding(found)));
    trouble.into_iter().chain(broken).chain(refused).collect()
}

/// Returns where and why a package is broken; nothing if it is whole.
pub(super) fn broken(package: &Value) -> Option<String> {
    package.get("broken").filter(|broken| !broken.is_null()).map(finding)
}

fn finding(found: &Value) -> String {
    let file = match (text(found, "file"), count(found, "line")) {
        ("", _) => String::new(),
        (file, 0) => format!("{file}: "),
        (file, line) => format!("{file}:{line}: "),
    };
    format!("{file}{}: {}", text(found, "id"), text(found, "message"))
}

async fn add(session: &mut Session<'_>, name: &str, body: Value) -> Result<ExitCode, CommandError> {
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
        Some((error, _)) => Err(CommandError::new(format!("fetch the directory {name}"), error, "wild directory list")),
        None => Ok(ExitCode::Done),
    }
}

async fn fetch(session: &mut Session<'_>, name: Option<&str>) -> Result<ExitCode, CommandError> {
    let answer = session.call("POST", "/directories/fetch", Some(&json!({"name": name}))).await?;
    let is_asked = |directory: &&Value| name.is_none_or(|name| text(directory, "name") == name);
    let failed = list(&answer, "directories").iter().filter(is_asked).find(|it| !text(it, "error").is_empty());
    let error = failed.map(|directory| {
        let what = format!("fetch the directory {}", text(directory, "name"));
        let hint = directory.get("trouble").map(|trouble| text(trouble, "hint")).unwrap_or_default();
        CommandError::new(what, text(directory, "error"), hint)
    });
    print(session, answer);
    error.map_or(Ok(ExitCode::Done), Err)
}

/// Follows a directory to the commit at which it was seen when it went back, lost its packages or was not signed.
async fn accept(session: &mut Session<'_>, name: &str) -> Result<ExitCode, CommandError> {
    let what = format!("accept where the directory {name} is");
    let answer = session.get("/directories").await?;
    let Some(known) = list(&answer, "directories").iter().find(|directory| text(directory, "name") == name) else {
        return Err(CommandError::new(what, "no directory of that name is followed", "wild directory list"));
    };
    let trouble = known.get("trouble").cloned().and_then(|it| serde_json::from_value::<DirectoryTrouble>(it).ok());
    // Nobody accepts what nobody was shown.
    let Some(shown) = trouble.as_ref().filter(|trouble| trouble.kind.is_acceptable()) else {
        let nothing = "nothing was wrong with it when it was fetched last";
        let because = trouble.as_ref().map_or(nothing, |trouble| trouble.message.as_str());
        return Err(CommandError::new(what, because, format!("wild directory fetch {name}")));
    };
    let body = json!({"from": shown.from, "to": shown.to});
    let below = format!("/directories/{}/accept", encode(name));
    let asked = session.ask(Change { method: "POST", below, body, patience: Patience::Wait }).await?;
    let made = matches!(asked, Asked::Ended(_));
    let code = session.report(asked, &Next { done: "", undecided: "" });
    if !made || code != ExitCode::Done {
        return Ok(code);
    }
    fetch(session, Some(name)).await
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
    if let Some(fields) = answer.as_object_mut() {
        let troubled = |directory: &&Value| !findings(directory).is_empty();
        let found: Vec<Value> = list(&directories, "directories").iter().filter(troubled).map(wrong_of).collect();
        fields.insert("directories".to_owned(), Value::from(found));
    }
    Ok(answer)
}

/// Returns of a directory what is wrong with it.
fn wrong_of(directory: &Value) -> Value {
    let broken = list(directory, "packages").iter().filter(|package| broken(package).is_some());
    json!({
        "name": text(directory, "name"),
        "commit": directory.get("commit"),
        "trouble": directory.get("trouble"),
        "packages": broken.collect::<Vec<_>>(),
        "refused": list(directory, "refused"),
    })
}

/// Says what is wrong with directories: what they offer may be older than what is there.
pub(super) fn warn(session: &mut Session<'_>, answer: &Value) {
    if session.is_for_people() {
        list(answer, "directories").iter().flat_map(findings).for_each(|line| session.note(&line));
    }
}

/// Returns the version of a package in the first directory that has it whole.
fn offered<'a>(directories: &'a Value, package: &str) -> Option<&'a str> {
    let all = list(directories, "directories").iter().flat_map(|directory| list(directory, "packages"));
    all.filter(|offer| text(offer, "name") == package).map(|offer| text(offer, "version")).find(|text| !text.is_empty())
}

async fn outdated(session: &mut Session<'_>) -> Result<ExitCode, CommandError> {
    let answer = outdated_apps(session).await?;
    warn(session, &answer);
    let some = !list(&answer, "apps").is_empty();
    if !some && session.is_for_people() {
        let known = if list(&answer, "directories").is_empty() { "" } else { " that is known" };
        session.note(&format!("Every app has the newest version{known}."));
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
    fn what_is_wrong_with_a_directory_is_told_line_by_line() {
        let link = json!({"id": "P010", "file": "blog/x", "line": 0, "message": "no links"});
        let named = json!({"id": "P003", "file": "My Blog", "line": 0, "message": "no name"});
        let twice = json!({"id": "L001", "file": "shop/manifest.yaml", "line": 2, "message": "twice"});
        let directory = json!({"name": "sample", "refused": [named],
            "trouble": {"kind": "rewound", "message": "upstream rewound a..b: it went back", "hint": "wild x"},
            "packages": [{"name": "blog", "broken": link}, {"name": "mail", "broken": null}, {"name": "shop", "broken": twice}]});
        let expected = [
            "sample: upstream rewound a..b: it went back; wild x",
            "sample: the package blog is broken: blog/x: P010: no links",
            "sample: the package shop is broken: shop/manifest.yaml:2: L001: twice",
            "sample: My Blog: P003: no name",
        ];
        assert_eq!(findings(&directory), expected);
        assert_eq!(wrong_of(&directory)["packages"].as_array().unwrap().len(), 2);
        assert!(findings(&json!({"name": "sample", "trouble": null, "packages": [{"broken": null}]})).is_empty());
    }

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
