//! `wild package test`.
//!
//! Not here: what a test says and how it is judged (`compile`).

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::Source;
use super::deployed::{Deployed, deploy};
use crate::cli::error::{CommandError, ExitCode};
use crate::cli::format::Document;
use crate::cli::json::{list, text};
use crate::cli::session::Session;
use crate::compile::{self, Trial};
use crate::model::Object;
use crate::yaml::{self, Dialect};

pub(super) const HELP: &str = "A test is a file _tests/<package>/<test>.yaml beside the package:

  config: {cloud: {domain: example.org}}   what the package is rendered with; one is made up without
  objects: [{kind: Service, metadata: {name: blog}, spec: {type: ClusterIP}}]   each must be among what comes out
  absent: [{kind: Ingress, metadata: {name: blog}}]   none of them may
  refused: T310   or: the rule by which the package is refused with this config

What comes out is deployed onto an empty cluster in memory: it must take every object, and every workload must become \
healthy there. It runs no image. Objects of kinds that Kubernetes itself does not have are left out and named.

Examples:
  wild package test ./quillblog

Exit codes:
  0 all tests pass   1 some fail   2 error";

/// Arguments of the command.
#[derive(Args, Debug)]
pub(in crate::cli) struct Test {
    /// Folder of the package; its name is the package's name.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: &Test) -> Result<ExitCode, CommandError> {
    let what = format!("test {}", arguments.folder.display());
    let source = Source::read(session, &arguments.folder, &what)?;
    let folder = source.root.parent().unwrap_or(&source.root).join("_tests").join(source.name.as_str());
    let mut results = Vec::new();
    for path in tests_in(&folder, &what)? {
        let shown = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let trial = read(&path, &shown, &what)?;
        let examined = source.examine(trial.config.as_ref());
        let mut failures = compile::judge(&trial, &examined);
        let mut deployed = Deployed::default();
        if let Some(generated) = &examined.generated {
            let objects: Vec<Object> = generated.objects.iter().map(|built| built.object.clone()).collect();
            deployed = deploy(&objects)
                .await
                .map_err(|why| CommandError::new(&what, why, "wild package preview, which needs no port"))?;
        }
        failures.append(&mut deployed.objections);
        let left_out = deployed.left_out;
        results
            .push(json!({"name": shown, "passed": failures.is_empty(), "failures": failures, "notDeployed": left_out}));
    }
    let failed = results.iter().filter(|result| result["passed"] == false).count();
    let passed = results.len() - failed;
    let value = json!({"tests": results, "passed": passed, "failed": failed});
    session.print(Document { kind: "TestList", value, items: Some(("tests", "test")) }, |value| {
        let lines = list(value, "tests").iter().map(|test| {
            let texts = |field| list(test, field).iter().filter_map(|it| it.as_str()).map(|it| format!("  {it}"));
            let failures: Vec<String> = texts("failures").collect();
            let left_out =
                texts("notDeployed").map(|it| format!("{it} was not deployed: the cluster has no such kind"));
            let verdict = if failures.is_empty() { "passed" } else { "failed" };
            let notes = failures.iter().cloned().chain(left_out).map(|line| format!("{line}\n"));
            format!("{verdict} {}\n{}", text(test, "name"), notes.collect::<String>())
        });
        format!("{}{passed} passed, {failed} failed\n", lines.collect::<String>())
    });
    Ok(if failed > 0 { ExitCode::Answer } else { ExitCode::Done })
}

fn tests_in(folder: &Path, what: &str) -> Result<Vec<PathBuf>, CommandError> {
    let entries = std::fs::read_dir(folder).map_err(|error| {
        CommandError::new(what, format!("{}: {error}", folder.display()), "write a test; wild package test --help")
    })?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml"));
    paths.sort();
    Ok(paths)
}

fn read(path: &Path, shown: &str, what: &str) -> Result<Trial, CommandError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| CommandError::new(what, format!("{shown}: {error}"), "check the file"))?;
    let refuse = |findings: Vec<_>| CommandError::of_diagnostics(what, &findings, "correct the test");
    let document = yaml::load_one(shown, &text, Dialect::Gomplate).map_err(refuse)?;
    let document = document.map(|document| document.value).unwrap_or_default();
    Trial::read(shown, &document).map_err(refuse)
}
