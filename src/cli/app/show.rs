//! `wild app show`: one app, or a package that could become one.
//!
//! Not here: what differs (`diff.rs`).

use clap::Args;
use serde_json::Value;

use super::super::directory::broken;
use super::super::error::{CommandError, ExitCode};
use super::super::format::Document;
use super::super::json::{list, object, plain, text};
use super::super::session::Session;
use super::super::table::{ago, table};
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app show quillblog
  wild app show quillblog -o yaml

Exit codes:
  0 shown   2 neither an app nor a package has this name";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Show {
    /// App or package.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Show) -> Result<ExitCode, CommandError> {
    let Show { app } = arguments;
    let missing = match session.get(&format!("/apps/{app}")).await {
        Ok(answer) => {
            let now = session.now();
            let width = session.environment.width();
            session.print(Document { kind: "App", value: answer, items: None }, |answer| {
                let mut shown = fields(
                    answer,
                    &[
                        "name",
                        "package",
                        "version",
                        "available",
                        "namespace",
                        "cluster",
                        "health",
                        "healthReason",
                        "intent",
                        "reason",
                        "lifecycle",
                        "needsYou",
                        "hint",
                        "commit",
                        "applied",
                    ],
                );
                shown.push_str(&lines(answer, "log", "log"));
                shown.push_str(&lines(answer, "notices", "notice"));
                shown.push_str(&format!("{:<14}{}\n", "observed", ago(text(answer, "observedAt"), now)));
                let rows = list(answer, "objects").iter().map(|found| {
                    vec![
                        found.get("object").map(object).unwrap_or_default(),
                        text(found, "health").to_owned(),
                        text(found, "reason").to_owned(),
                    ]
                });
                format!("{shown}\n{}", table(&["object", "health", "reason"], rows, width))
            });
            return Ok(ExitCode::Done);
        }
        Err(missing) => missing,
    };
    let directories = session.get("/directories").await?;
    let packages = list(&directories, "directories").iter().flat_map(|directory| list(directory, "packages"));
    let Some(package) = packages.into_iter().find(|package| text(package, "name") == app.as_str()).cloned() else {
        return Err(missing);
    };
    let broken = broken(&package);
    session.print(Document { kind: "Package", value: package, items: None }, |package| {
        fields(package, &["name", "version", "description"])
    });
    if let Some(broken) = broken {
        let remedy = "wild directory fetch, once it was corrected there";
        return Err(CommandError::new(format!("read the package {app}"), broken, remedy));
    }
    session.note(&format!("It is not added yet: wild app add {app}"));
    Ok(ExitCode::Done)
}

/// Returns the texts of a list one below the other, each behind a word.
fn lines(value: &Value, key: &str, word: &str) -> String {
    list(value, key).iter().filter_map(Value::as_str).map(|line| format!("{word:<14}{line}\n")).collect()
}

/// Returns fields one below the other; empty ones are left out.
fn fields(value: &Value, keys: &[&str]) -> String {
    let line = |key: &&str| {
        let shown = value.get(*key).map(plain).unwrap_or_default();
        (!shown.is_empty() && shown != "-").then(|| format!("{key:<14}{shown}\n"))
    };
    keys.iter().filter_map(line).collect()
}
