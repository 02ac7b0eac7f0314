//! `wild package preview`.
//!
//! Not here: objects of an app that is installed.

use clap::Args;

use super::{Folder, Source, read_config};
use crate::cli::error::{CommandError, ExitCode};
use crate::cli::session::Session;
use crate::kustomize::{self, Built};
use crate::model::Severity;

pub(super) const HELP: &str = "Examples:
  wild package preview ./quillblog
  wild package preview ./quillblog --config config.yaml

Exit codes:
  0 printed   2 error";

/// Arguments of the command.
#[derive(Args, Debug)]
pub(in crate::cli) struct Preview {
    #[command(flatten)]
    package: Folder,
}

/// Runs the command.
pub(super) fn run(session: &mut Session<'_>, arguments: &Preview) -> Result<ExitCode, CommandError> {
    let Folder { folder, config } = &arguments.package;
    let what = format!("render {}", folder.display());
    let config = read_config(session, config.as_deref(), &what)?;
    let examined = Source::read(session, folder, &what)?.examine(config.as_ref());
    let Some(generated) = examined.generated else {
        return Err(CommandError::of_diagnostics(what, &examined.findings, "correct the file"));
    };
    for finding in generated.diagnostics.iter().filter(|finding| finding.severity != Severity::Info) {
        session.note(&finding.to_string());
    }
    let built = Built { objects: generated.objects, diagnostics: Vec::new(), bytes: 0 };
    session.out.data(&kustomize::render(&built));
    Ok(ExitCode::Done)
}
