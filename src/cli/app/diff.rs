//! `wild app diff`: git against cluster, own edits against the package, or what an update would bring.
//!
//! Not here: the comparison (`http`).

use clap::Args;

use super::super::client::encode;
use super::super::error::{CommandError, ExitCode};
use super::super::format::Document;
use super::super::json::{list, text};
use super::super::session::Session;
use super::revealing;
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app diff quillblog
  wild app diff quillblog --mine
  wild app diff quillblog --upstream
  wild app diff quillblog --upstream=5.2
  wild app diff quillblog --reveal DB_PASSWORD

Values that look like secrets are hidden. --reveal shows those under one name, on a terminal only.

Exit codes:
  0 no difference   1 there are differences   2 error, or the cluster does not answer";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Diff {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    /// Committed files against the cluster; this is the default.
    #[arg(long, conflicts_with_all = ["mine", "upstream"])]
    live: bool,
    /// Your edits against what was generated from the package.
    #[arg(long, conflicts_with = "upstream")]
    mine: bool,
    /// What an update would bring, to a version or to the newest.
    #[arg(long, value_name = "VERSION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    upstream: Option<String>,
    /// Shows the values under this name although they look like secrets.
    #[arg(long, value_name = "NAME")]
    reveal: Option<String>,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Diff) -> Result<ExitCode, CommandError> {
    let Diff { app, live: _, mine, upstream, reveal } = arguments;
    let reveal = revealing(session, reveal.as_deref())?;
    let (against, version) = match (&upstream, mine) {
        (Some(version), _) => ("upstream", version.as_str()),
        (None, true) => ("mine", ""),
        (None, false) => ("live", ""),
    };
    let version = if version.is_empty() { String::new() } else { format!("&to={}", encode(version)) };
    let answer = session.get(&format!("/apps/{app}/diff?against={against}{version}{reveal}")).await?;
    let differs = !list(&answer, "diffs").is_empty();
    if !differs && session.is_for_people() {
        session.note("No difference.");
    }
    session.print(Document { kind: "Diff", value: answer, items: Some(("diffs", "diff")) }, |answer| {
        list(answer, "diffs").iter().map(|diff| text(diff, "text")).collect::<Vec<&str>>().concat()
    });
    Ok(if differs { ExitCode::Answer } else { ExitCode::Done })
}
