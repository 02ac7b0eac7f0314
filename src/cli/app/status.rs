//! `wild app status`: version, health, drift and what needs you, one line per app.
//!
//! Not here: the whole instance (`cli/status.rs`).

use clap::Args;
use serde_json::Value;

use super::super::arguments::Format;
use super::super::error::{CommandError, ExitCode};
use super::super::format::Document;
use super::super::json::{list, text};
use super::super::session::Session;
use super::super::table::table;
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app status
  wild app status quillblog stonedb
  wild app status -o json
  wild app status --exit-code

Exit codes:
  0 shown   1 with --exit-code: something needs you or is not healthy   2 error";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct AppStatus {
    /// Apps; none means all.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    apps: Vec<AppName>,
    /// Ends with 1 if something needs you or is not healthy.
    #[arg(long)]
    exit_code: bool,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: AppStatus) -> Result<ExitCode, CommandError> {
    let AppStatus { apps, exit_code } = arguments;
    let mut answer = session.get("/apps").await?;
    if let Some(missing) =
        apps.iter().find(|app| !list(&answer, "apps").iter().any(|state| text(state, "name") == app.as_str()))
    {
        // The route of one app tells what is there instead.
        session.get(&format!("/apps/{missing}")).await?;
    }
    if let Some(states) = answer.get_mut("apps").and_then(Value::as_array_mut).filter(|_| !apps.is_empty()) {
        states.retain(|state| apps.iter().any(|app| text(state, "name") == app.as_str()));
    }
    let calm = list(&answer, "apps").iter().all(is_calm);
    if list(&answer, "apps").is_empty() && session.is_for_people() {
        session.note("No app was added yet. Add one: wild app add PACKAGE");
        return Ok(ExitCode::Done);
    }
    let (width, format) = (session.environment.width(), session.format());
    session.print(Document { kind: "AppList", value: answer, items: Some(("apps", "app")) }, |answer| {
        status_table(answer, format, width)
    });
    Ok(if exit_code && !calm { ExitCode::Answer } else { ExitCode::Done })
}

/// Returns whether nothing about an app needs attention.
pub(in crate::cli) fn is_calm(state: &Value) -> bool {
    text(state, "needsYou").is_empty() && matches!(text(state, "health"), "healthy" | "stopped")
}

/// Returns the table of apps, with what of their files is left out below.
pub(in crate::cli) fn status_table(answer: &Value, format: Format, width: Option<usize>) -> String {
    let mut headers = vec!["app", "version", "update", "health", "intent", "drift", "needs you"];
    let wide = format == Format::Wide;
    if wide {
        headers.extend(["lifecycle", "namespace", "applied"]);
    }
    let rows = list(answer, "apps").iter().map(|state| {
        let field = |key: &str| text(state, key).to_owned();
        let drift = list(state, "drift").len();
        let drift = if drift == 0 { String::new() } else { drift.to_string() };
        let needs_you = match (text(state, "needsYou"), text(state, "hint")) {
            ("", _) => String::new(),
            (what, "") => what.to_owned(),
            (what, hint) => format!("{what}: {hint}"),
        };
        let mut row = vec![
            field("name"),
            field("version"),
            field("available"),
            field("health"),
            field("intent"),
            drift,
            needs_you,
        ];
        if wide {
            row.extend([
                field("lifecycle"),
                field("namespace"),
                super::super::json::short(text(state, "applied")).to_owned(),
            ]);
        }
        row
    });
    let notices = list(answer, "apps").iter().flat_map(|state| list(state, "notices")).filter_map(Value::as_str);
    let notices: String = notices.map(|notice| format!("i {notice}\n")).collect();
    table(&headers, rows, width) + &notices
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_tells_what_needs_you_and_the_command_for_it() {
        let answer = json!({"apps": [{"name": "ghost", "version": "5.2.1", "available": "", "health": "healthy", "intent": "applied",
            "drift": [{}], "needsYou": "changed in the cluster", "hint": "wild drift show ghost"}]});
        let expected = "APP    VERSION  UPDATE  HEALTH   INTENT   DRIFT  NEEDS YOU\n\
                        ghost  5.2.1    -       healthy  applied  1      changed in the cluster: wild drift show ghost\n";
        assert_eq!(status_table(&answer, Format::Table, None), expected);
    }
}
