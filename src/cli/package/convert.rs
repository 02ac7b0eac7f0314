//! `wild package convert-helm`.
//!
//! Not here: the conversion (`package::convert`), running Helm.

use std::path::PathBuf;

use clap::Args;

use crate::cli::error::{CommandError, ExitCode};
use crate::cli::folder::write_folder;
use crate::cli::session::Session;
use crate::model::PackageName;
use crate::package;

pub(super) const HELP: &str =
    "Reads what helm template printed, from a file or from the standard input, and makes a package of it.

Examples:
  wild package convert-helm my-app rendered.yaml
  wild package convert-helm my-app --in ./packages

Exit codes:
  0 made   2 error, or the folder is there already";

/// Arguments of the command.
#[derive(Args, Debug)]
pub(in crate::cli) struct ConvertHelm {
    /// Name of the package.
    #[arg(value_name = "NAME")]
    name: String,
    /// What helm template printed; the standard input without.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Folder to make it in.
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    parent: PathBuf,
}

/// Runs the command.
pub(super) fn run(session: &mut Session<'_>, arguments: &ConvertHelm) -> Result<ExitCode, CommandError> {
    let what = format!("convert {}", arguments.name);
    let name = PackageName::parse(&arguments.name).map_err(|error| {
        CommandError::new(what.clone(), error.to_string(), "use lower-case letters, digits and hyphens")
    })?;
    let rendered = match &arguments.file {
        Some(file) => std::fs::read_to_string(session.environment.path(file)).map_err(|error| {
            CommandError::new(what.clone(), format!("{}: {error}", file.display()), "helm template NAME CHART > FILE")
        })?,
        None => session.out.input().ok_or_else(|| {
            CommandError::new(what.clone(), "the input is no text or too long", "helm template NAME CHART > FILE")
        })?,
    };
    let converted = package::convert(&name, &rendered)
        .map_err(|findings| CommandError::of_diagnostics(what.clone(), &findings, "correct the input"))?;
    let root = session.environment.path(&arguments.parent).join(name.as_str());
    write_folder(&root, &converted.files, &what)?;
    for note in &converted.notes {
        session.note(note);
    }
    session.note(&format!("{} made. Next: wild package lint {}", root.display(), root.display()));
    Ok(ExitCode::Done)
}
