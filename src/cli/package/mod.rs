//! `wild package`: what the author of a package needs before it is published.
//!
//! Not here: the rules (`package::lint`), rendering and building (`compile`).

mod convert;
mod deployed;
mod lint;
mod new;
mod preview;
mod sarif;
mod test;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::Value;

use super::error::{CommandError, ExitCode};
use super::folder::read_folder;
use super::session::Session;
use crate::compile::{self, Examined};
use crate::model::{Config, Diagnostic, FileTree, PackageName};
use crate::package::{self, PackageManifest};
use crate::yaml::{self, Dialect};

/// What can be done with packages.
#[derive(Subcommand, Debug)]
pub(super) enum PackageVerb {
    /// Examines packages and lists what is worth changing before they are published.
    #[command(after_long_help = lint::HELP)]
    Lint(lint::Lint),
    /// Prints the objects that a package gives.
    #[command(after_long_help = preview::HELP)]
    Preview(preview::Preview),
    /// Runs the tests that lie beside a package, in _tests/<package>/, and deploys what comes out onto a cluster in memory.
    #[command(after_long_help = test::HELP)]
    Test(test::Test),
    /// Makes the folder of a new package that no rule objects to.
    #[command(after_long_help = new::HELP)]
    New(new::New),
    /// Makes a package of what a Helm chart renders.
    #[command(after_long_help = convert::HELP)]
    ConvertHelm(convert::ConvertHelm),
}

/// A package in a folder.
#[derive(Args, Debug)]
pub(super) struct Folder {
    /// Folder of the package; its name is the package's name.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Config to render with, in the form of config.yaml; one is made up without.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: PackageVerb) -> Result<ExitCode, CommandError> {
    match verb {
        PackageVerb::Lint(arguments) => lint::run(session, &arguments),
        PackageVerb::Preview(arguments) => preview::run(session, &arguments),
        PackageVerb::Test(arguments) => test::run(session, &arguments).await,
        PackageVerb::New(arguments) => new::run(session, &arguments),
        PackageVerb::ConvertHelm(arguments) => convert::run(session, &arguments),
    }
}

/// A package that was read.
struct Source {
    name: PackageName,
    root: PathBuf,
    files: FileTree,
    /// What stands in the folder and in no package.
    refused: Vec<Diagnostic>,
}

impl Source {
    fn read(session: &Session<'_>, folder: &Path, what: &str) -> Result<Self, CommandError> {
        let root = session.environment.path(folder);
        // A path such as `.` has no name of its own.
        let real = root.canonicalize().unwrap_or_else(|_| root.clone());
        let name = real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = PackageName::parse(name).map_err(|error| {
            let finding = Diagnostic::error("P003", &folder.display().to_string(), 0, error.to_string());
            CommandError::of_diagnostics(what, &[finding], "name the folder as the package")
        })?;
        let (files, refused) = read_folder(&root, what)?;
        Ok(Self { name, files, refused, root: real })
    }

    /// Examines it; packages in the folders beside it are what it may require.
    fn examine(&self, config: Option<&Config>) -> Examined {
        let mut examined = compile::examine(&self.name, &self.files, config, &self.others());
        if !self.refused.is_empty() {
            // Without these files it would be another package.
            examined.generated = None;
            examined.findings = self.refused.iter().cloned().chain(examined.findings).collect();
        }
        examined
    }

    fn others(&self) -> BTreeMap<String, PackageManifest> {
        let beside = self.root.parent().and_then(|parent| std::fs::read_dir(parent).ok()).into_iter().flatten();
        let manifests = beside.filter_map(|entry| {
            let entry = entry.ok()?;
            let name = PackageName::parse(entry.file_name().to_str()?).ok()?;
            let text = std::fs::read_to_string(entry.path().join(package::MANIFEST)).ok()?;
            package::read_manifest(package::MANIFEST, &name, &text).ok()
        });
        manifests.map(|read| (read.manifest.is.clone(), read.manifest)).collect()
    }
}

/// Reads a config from a file.
fn read_config(session: &Session<'_>, path: Option<&Path>, what: &str) -> Result<Option<Config>, CommandError> {
    let Some(path) = path else { return Ok(None) };
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(session.environment.path(path))
        .map_err(|error| CommandError::new(what, format!("{shown}: {error}"), "name a file that can be read"))?;
    let document = yaml::load_one(&shown, &text, Dialect::Gomplate)
        .map_err(|findings| CommandError::of_diagnostics(what, &findings, "correct the file"))?;
    match document.map(|document| document.value) {
        None | Some(Value::Null) => Ok(Some(Config::default())),
        Some(Value::Object(map)) => Ok(Some(Config(map))),
        Some(_) => {
            Err(CommandError::new(what, format!("{shown} is no map of sections"), "give it the form of config.yaml"))
        }
    }
}

#[cfg(test)]
mod tests;
