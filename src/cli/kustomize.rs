//! `wild kustomize build`: our kustomize alone, for comparing it with the real one.
//!
//! Not here: the build (`kustomize`).

use std::path::PathBuf;

use clap::Subcommand;

use super::error::{CommandError, ExitCode};
use super::folder::read_folder;
use super::session::Session;
use crate::kustomize;

const HELP: &str = "Examples:
  wild kustomize build apps/quillblog

Exit codes:
  0 built   2 error";

/// What can be done with a kustomization.
#[derive(Subcommand, Debug)]
pub(super) enum KustomizeVerb {
    /// Builds a folder and prints its objects.
    #[command(after_long_help = HELP)]
    Build {
        /// Folder with a kustomization.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// Runs a verb.
pub(super) fn run(session: &mut Session<'_>, verb: KustomizeVerb) -> Result<ExitCode, CommandError> {
    let KustomizeVerb::Build { folder } = verb;
    let what = format!("build {}", folder.display());
    let (files, left_out) = read_folder(&session.environment.path(&folder), &what)?;
    for finding in left_out {
        session.note(&format!("left out: {finding}"));
    }
    let built = kustomize::build(&files, "")
        .map_err(|diagnostics| CommandError::of_diagnostics(what, &diagnostics, "correct the file"))?;
    for finding in &built.diagnostics {
        session.note(&finding.to_string());
    }
    session.out.data(&kustomize::render(&built));
    Ok(ExitCode::Done)
}
