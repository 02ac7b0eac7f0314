//! `wild app add`: a package becomes an app.
//!
//! Not here: compiling it (`compile`).

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::super::error::{CommandError, ExitCode};
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Change, Patience};
use super::deploy::{self, Wish};
use super::grants::{self, Grants};
use super::{assignment, binding};
use crate::model::{AppName, PackageName};

const HELP: &str = "Examples:
  wild app add quillblog --grant stonedb.password
  wild app add quillblog --as blog --dep db=stonedb --set namespace=blog --grant stonedb.password
  wild app add quillblog --grant stonedb.password --dry-run
  wild app add quickcache --deploy
  wild app add quickcache --as pages --set namespace=team --deploy --adopt

Adding grants nothing. What the package asks for of other apps' secrets is asked on a terminal, key by key; elsewhere it is refused with the line that grants it.

Exit codes:
  0 added   2 error: no such package, an unknown key, a requirement that nothing satisfies
  6 blocked: a secret of another app that nobody granted";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Add {
    /// Package.
    #[arg(value_name = "PACKAGE", value_parser = PackageName::parse)]
    package: PackageName,
    /// Name of the app, if it is not that of the package.
    #[arg(long = "as", value_name = "NAME", value_parser = AppName::parse)]
    name: Option<AppName>,
    /// App that satisfies a requirement of the package.
    #[arg(long = "dep", value_name = "REF=APP", value_parser = binding)]
    bindings: Vec<(String, AppName)>,
    /// Config value.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    values: Vec<(String, Value)>,
    /// Config value from a file.
    #[arg(long = "set-file", value_name = "KEY=FILE")]
    files: Vec<String>,
    /// Package version, if it is not the newest.
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    #[command(flatten)]
    grants: Grants,
    /// Deploys it at once.
    #[arg(long)]
    deploy: bool,
    /// Takes over objects that are there already and that nobody owns, and lets the app into namespaces that are.
    #[arg(long, requires = "deploy")]
    adopt: bool,
    /// Returns as soon as the request is stored.
    #[arg(long)]
    no_wait: bool,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Add) -> Result<ExitCode, CommandError> {
    let Add { package, name, bindings, values, files, version, grants, deploy, adopt, no_wait } = arguments;
    let mut config: Map<String, Value> = values.into_iter().collect();
    for file in &files {
        let (key, path) = file.split_once('=').ok_or_else(|| {
            CommandError::new(format!("read --set-file {file}"), "it is no KEY=FILE", "--set-file motd=motd.txt")
        })?;
        config.insert(key.to_owned(), Value::from(read(session, path)?));
    }
    let app = match &name {
        Some(name) => name.clone(),
        None => AppName::parse(package.as_str())
            .map_err(|error| CommandError::new(format!("add {package}"), error.to_string(), "--as NAME"))?,
    };
    let mappings: Map<String, Value> = bindings.into_iter().map(|(key, app)| (key, json!(app))).collect();
    let mut body = json!({
        "package": package,
        "as": name,
        "config": config,
        "requiredAppMappings": mappings,
        "version": version,
        "deploy": deploy,
        "grants": grants.words(),
    });
    grants::ask(session, ("POST", "/apps"), &mut body).await?;
    let patience = if no_wait { Patience::Leave } else { Patience::Wait };
    let undecided = format!("Decide: wild app resolve {app}");
    if adopt && !session.is_dry_run() {
        // What is there already is looked up for an app that is in git.
        if let Some(fields) = body.as_object_mut() {
            fields.insert("deploy".to_owned(), json!(false));
        }
        let change = Change { method: "POST", below: "/apps".to_owned(), body, patience: Patience::Wait };
        let asked = session.ask(change).await?;
        return match session.report(asked, &Next { done: "", undecided: &undecided }) {
            ExitCode::Done => deploy::one(session, &app, &Wish::adopting(patience)).await,
            code => Ok(code),
        };
    }
    let asked = session.ask(Change { method: "POST", below: "/apps".to_owned(), body, patience }).await?;
    let later = format!("Nothing runs yet. Review: wild app show {app}   Deploy: wild app deploy {app}");
    let next = Next { done: if deploy { "" } else { &later }, undecided: &undecided };
    deploy::ended(session, &app, asked, &next).await
}

fn read(session: &Session<'_>, path: &str) -> Result<String, CommandError> {
    let path = session.environment.path(&PathBuf::from(path));
    std::fs::read_to_string(&path).map_err(|error| {
        CommandError::new(
            format!("read {}", path.display()),
            error.to_string(),
            "check that the file is there and is text",
        )
    })
}
