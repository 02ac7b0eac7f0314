//! `wild package lint`.
//!
//! Not here: the form of SARIF (`sarif.rs`).

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::{Source, read_config, sarif};
use crate::cli::arguments::Format;
use crate::cli::error::{CommandError, ExitCode};
use crate::cli::format::Document;
use crate::cli::json::{list, text};
use crate::cli::session::Session;
use crate::cli::table::table;
use crate::compile;
use crate::model::{Config, Diagnostic, Severity};
use crate::package::lint::rule_of;

pub(super) const HELP: &str = "Examples:
  wild package lint ./quillblog
  wild package lint ./quillblog ./stonedb -o json
  wild package lint ./quillblog -o sarif

Exit codes:
  0 nothing worse than information   1 warnings or errors   2 error";

/// Arguments of the command.
#[derive(Args, Debug)]
pub(in crate::cli) struct Lint {
    /// Folders of packages.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// An older version of the one package: says what the newer one breaks.
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// Config to render with, in the form of config.yaml; one is made up without.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(session: &mut Session<'_>, arguments: &Lint) -> Result<ExitCode, CommandError> {
    let what = "examine packages";
    let config = read_config(session, arguments.config.as_deref(), what)?;
    let (mut findings, mut unread) = (Vec::new(), Vec::new());
    for folder in &arguments.folders {
        let source = match Source::read(session, folder, what) {
            Ok(source) => source,
            // The others are examined nevertheless.
            Err(error) => {
                unread.push(error);
                continue;
            }
        };
        let shown = folder.display().to_string();
        let shown = shown.trim_end_matches('/');
        let examined = source.examine(config.as_ref());
        findings.extend(examined.findings.into_iter().map(|finding| (format!("{shown}/{}", finding.file), finding)));
    }
    if let Some(older) = &arguments.against {
        let [folder] = arguments.folders.as_slice() else {
            return Err(CommandError::new(what, "--against compares one package", "name one folder"));
        };
        findings.extend(against(session, folder, older, config.as_ref())?);
    }
    let is_bad = findings.iter().any(|(_, finding)| finding.severity != Severity::Info);
    if session.format() == Format::Sarif {
        session.out.data(&format!("{:#}\n", sarif::log(&findings)));
    } else {
        let value = json!({"findings": findings.iter().map(|(path, finding)| item(path, finding)).collect::<Vec<_>>()});
        session.print(Document { kind: "FindingList", value, items: Some(("findings", "finding")) }, people);
    }
    let mut unread = unread.into_iter();
    if let Some(first) = unread.next() {
        return Err(CommandError { findings: unread.map(|error| error.because).collect(), ..first });
    }
    if findings.is_empty() {
        session.note("Nothing was found.");
    }
    Ok(if is_bad { ExitCode::Answer } else { ExitCode::Done })
}

/// Returns what the package breaks against an older version of it.
fn against(
    session: &Session<'_>,
    folder: &Path,
    older: &Path,
    config: Option<&Config>,
) -> Result<Vec<(String, Diagnostic)>, CommandError> {
    let what = "compare packages";
    let new = Source::read(session, folder, what)?;
    let old = Source::read(session, older, what)?;
    let findings = compile::breaking_between(&new.name, &old.files, &new.files, config).map_err(|findings| {
        CommandError::of_diagnostics(what, &findings, "correct the older version, or lint without it")
    })?;
    let shown = folder.display().to_string();
    let shown = shown.trim_end_matches('/').to_owned();
    Ok(findings.into_iter().map(|finding| (format!("{shown}/{}", finding.file), finding)).collect())
}

fn item(path: &str, finding: &Diagnostic) -> Value {
    let Diagnostic { id, severity, file: _, line, column, subject: _, message, hint } = finding;
    // An error of another step is one in both places.
    let installing = rule_of(id).map_or(*severity, |rule| rule.installing);
    json!({
        "id": id,
        "severity": severity,
        "installing": installing,
        "file": path,
        "line": line,
        "column": column,
        "message": message,
        "fix": hint,
    })
}

fn people(value: &Value) -> String {
    let rows: Vec<Vec<String>> = list(value, "findings")
        .iter()
        .map(|item| {
            let line = item.get("line").and_then(Value::as_u64).unwrap_or_default();
            let place = if line > 0 { format!("{}:{line}", text(item, "file")) } else { text(item, "file").to_owned() };
            let words = ["id", "severity"].map(|key| text(item, key).to_owned());
            let [id, severity] = words;
            vec![id, severity, place, text(item, "message").to_owned(), text(item, "fix").to_owned()]
        })
        .collect();
    if rows.is_empty() { String::new() } else { table(&["ID", "SEVERITY", "PLACE", "FINDING", "FIX"], rows, None) }
}
