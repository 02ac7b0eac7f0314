//! `wild package new`.
//!
//! Not here: the files of a new package (`package::scaffold`).

use std::path::PathBuf;

use clap::Args;

use crate::cli::error::{CommandError, ExitCode};
use crate::cli::folder::write_folder;
use crate::cli::session::Session;
use crate::model::PackageName;
use crate::package;

pub(super) const HELP: &str = "Examples:
  wild package new my-app
  wild package new my-app --in ./packages

Exit codes:
  0 made   2 error, or the folder is there already";

/// Arguments of the command.
#[derive(Args, Debug)]
pub(in crate::cli) struct New {
    /// Name of the package.
    #[arg(value_name = "NAME")]
    name: String,
    /// Folder to make it in.
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    parent: PathBuf,
}

/// Runs the command.
pub(super) fn run(session: &mut Session<'_>, arguments: &New) -> Result<ExitCode, CommandError> {
    let what = format!("make the package {}", arguments.name);
    let name = PackageName::parse(&arguments.name).map_err(|error| {
        CommandError::new(what.clone(), error.to_string(), "use lower-case letters, digits and hyphens")
    })?;
    let root = session.environment.path(&arguments.parent).join(name.as_str());
    write_folder(&root, &package::scaffold(&name), &what)?;
    session.note(&format!("{} made. Next: wild package lint {}", root.display(), root.display()));
    Ok(ExitCode::Done)
}
