//! `wild app list`: packages on offer, or apps of the instance.
//!
//! Not here: health and drift (`status.rs`).

use clap::Args;
use serde_json::{Value, json};

use super::super::directory::{broken, outdated_apps, warn};
use super::super::error::{CommandError, ExitCode};
use super::super::format::Document;
use super::super::json::{list, text};
use super::super::session::Session;
use super::super::table::table;

const HELP: &str = "Examples:
  wild app list
  wild app list --deployed
  wild app list --outdated -o json

Exit codes:
  0 listed   2 error";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct List {
    /// Lists packages on offer; this is the default.
    #[arg(long, conflicts_with_all = ["deployed", "outdated"])]
    available: bool,
    /// Lists the apps of the instance.
    #[arg(long)]
    deployed: bool,
    /// Lists the apps that a newer package version waits for.
    #[arg(long)]
    outdated: bool,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: List) -> Result<ExitCode, CommandError> {
    let List { available: _, deployed, outdated } = arguments;
    if deployed || outdated { apps(session, outdated).await } else { packages(session).await }
}

async fn apps(session: &mut Session<'_>, outdated: bool) -> Result<ExitCode, CommandError> {
    let answer = if outdated { outdated_apps(session).await? } else { session.get("/apps").await? };
    warn(session, &answer);
    if list(&answer, "apps").is_empty() && session.is_for_people() {
        session.note(if outdated {
            "No app is outdated."
        } else {
            "No app was added yet. Add one: wild app add PACKAGE"
        });
        return Ok(ExitCode::Done);
    }
    let width = session.environment.width();
    session.print(Document { kind: "AppList", value: answer, items: Some(("apps", "app")) }, |answer| {
        let row = |app: &Value| {
            ["name", "package", "version", "available", "namespace", "status"]
                .map(|key| text(app, key).to_owned())
                .to_vec()
        };
        table(
            &["app", "package", "version", "update", "namespace", "status"],
            list(answer, "apps").iter().map(row),
            width,
        )
    });
    Ok(ExitCode::Done)
}

async fn packages(session: &mut Session<'_>) -> Result<ExitCode, CommandError> {
    let answer = session.get("/directories").await?;
    let installed = session.get("/apps").await?;
    let mut packages = Vec::new();
    for directory in list(&answer, "directories") {
        for package in list(directory, "packages") {
            let mut package = package.clone();
            let apps: Vec<Value> = list(&installed, "apps")
                .iter()
                .filter(|app| text(app, "package") == text(&package, "name"))
                .map(|app| Value::from(text(app, "name")))
                .collect();
            if let Some(fields) = package.as_object_mut() {
                fields.insert("directory".to_owned(), Value::from(text(directory, "name")));
                fields.insert("apps".to_owned(), Value::from(apps));
            }
            packages.push(package);
        }
    }
    packages.sort_by(|a, b| text(a, "name").cmp(text(b, "name")));
    warn_of_directories(session, &answer);
    if packages.is_empty() && session.is_for_people() {
        session.note("No package is known yet. Follow a directory: wild directory add NAME URL");
        return Ok(ExitCode::Done);
    }
    let width = session.environment.width();
    let document =
        Document { kind: "PackageList", value: json!({"packages": packages}), items: Some(("packages", "package")) };
    session.print(document, |value| {
        table(
            &["package", "version", "directory", "installed as", "description"],
            list(value, "packages").iter().map(row),
            width,
        )
    });
    Ok(ExitCode::Done)
}

/// Says what is wrong with directories themselves: their broken packages are rows of the list.
fn warn_of_directories(session: &mut Session<'_>, answer: &Value) {
    let without_packages = |directory: &Value| {
        let mut directory = directory.clone();
        directory.as_object_mut().and_then(|fields| fields.remove("packages"));
        directory
    };
    let directories: Vec<Value> = list(answer, "directories").iter().map(without_packages).collect();
    warn(session, &json!({"directories": directories}));
}

fn row(package: &Value) -> Vec<String> {
    let apps: Vec<&str> = list(package, "apps").iter().filter_map(Value::as_str).collect();
    // A broken package is listed with its reason, never hidden.
    let description = match broken(package) {
        Some(broken) => format!("broken: {broken}"),
        None => text(package, "description").to_owned(),
    };
    let text = |key: &str| text(package, key).to_owned();
    vec![text("name"), text("version"), text("directory"), apps.join(", "), description]
}
