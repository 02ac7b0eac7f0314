//! `wild kustomize build`: our kustomize alone, for comparing it with the real one.
//!
//! Not here: the build (`kustomize`).

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::error::{CommandError, ExitCode};
use super::session::Session;
use crate::base::RepoPath;
use crate::base::limits::MAX_FILE_BYTES;
use crate::kustomize;
use crate::model::{File, FileMode, FileTree};

/// Most files that are read.
const MAX_FILES: usize = 10_000;
/// Deepest nesting of folders that is read.
const MAX_DEPTH: usize = 32;

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
    let root = session.environment.path(&folder);
    let what = format!("build {}", folder.display());
    let mut files = FileTree::new();
    read_folder(&root, "", MAX_DEPTH, &mut files)
        .map_err(|error| CommandError::new(what.clone(), error.to_string(), "check the folder"))?;
    let built = kustomize::build(&files, "")
        .map_err(|diagnostics| CommandError::of_diagnostics(what, &diagnostics, "correct the file"))?;
    for finding in &built.diagnostics {
        session.note(&finding.to_string());
    }
    session.out.data(&kustomize::render(&built));
    Ok(ExitCode::Done)
}

/// Reads the files below a folder; links and what git would not store are left out.
fn read_folder(root: &Path, below: &str, depth: usize, files: &mut FileTree) -> std::io::Result<()> {
    let refuse = |text: &str| Err(std::io::Error::other(text.to_owned()));
    if depth == 0 {
        return refuse("it is nested too deeply");
    }
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| *name != ".git") else { continue };
        let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read_folder(root, &path, depth - 1, files)?;
        } else if kind.is_file() {
            let fits = usize::try_from(entry.metadata()?.len()).is_ok_and(|bytes| bytes <= MAX_FILE_BYTES);
            if !fits || files.len() >= MAX_FILES {
                return refuse("it holds too much");
            }
            let path = RepoPath::parse(&path).map_err(std::io::Error::other)?;
            files.insert(path, File { bytes: std::fs::read(entry.path())?.into(), mode: FileMode::Regular });
        }
    }
    Ok(())
}
