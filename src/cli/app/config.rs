//! `wild app config`: values of an app in `config.yaml`; each call is one commit.
//!
//! Not here: what a key means (`package`).

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::super::error::{CommandError, ExitCode};
use super::super::format::Document;
use super::super::json::plain;
use super::super::report::Next;
use super::super::session::Session;
use super::super::wait::{Change, Patience};
use super::assignment;
use crate::model::AppName;

const GET_HELP: &str = "Examples:
  wild app config quillblog get
  wild app config quillblog get domain

Exit codes:
  0 printed   2 no such app or key";

const SET_HELP: &str = "Examples:
  wild app config quillblog set storage=400Gi
  wild app config quillblog set title=\"Our garden\" domain=blog.example.org --dry-run

Exit codes:
  0 set   2 error: no such app, an unknown key
  3 your files and the new value touch the same place: decide   6 blocked";

const UNSET_HELP: &str = "Examples:
  wild app config quillblog unset storage

Exit codes:
  0 back to its default   2 error   3 a decision is needed   6 blocked";

/// Arguments.
#[derive(Args, Debug)]
pub(in crate::cli) struct Config {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    #[command(subcommand)]
    verb: ConfigVerb,
}

/// What can be done with config values.
#[derive(Subcommand, Debug)]
enum ConfigVerb {
    /// Prints the values of an app, or one.
    #[command(after_long_help = GET_HELP)]
    Get {
        /// Dotted key.
        #[arg(value_name = "KEY")]
        key: Option<String>,
    },
    /// Sets values.
    #[command(after_long_help = SET_HELP)]
    Set {
        /// Dotted keys with their new values.
        #[arg(value_name = "KEY=VALUE", required = true, value_parser = assignment)]
        values: Vec<(String, Value)>,
    },
    /// Puts values back to the package's default.
    #[command(after_long_help = UNSET_HELP)]
    Unset {
        /// Dotted keys.
        #[arg(value_name = "KEY", required = true)]
        keys: Vec<String>,
    },
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Config) -> Result<ExitCode, CommandError> {
    let Config { app, verb } = arguments;
    let body = match verb {
        ConfigVerb::Get { key } => return get(session, &app, key.as_deref()).await,
        ConfigVerb::Set { values } => json!({"config": values.into_iter().collect::<Map<_, _>>()}),
        ConfigVerb::Unset { keys } => json!({"config": {}, "unset": keys}),
    };
    let below = format!("/apps/{app}/config");
    let asked = session.ask(Change { method: "PATCH", below, body, patience: Patience::Wait }).await?;
    let undecided = format!("Decide: wild app resolve {app}");
    Ok(session.report(asked, &Next { done: "", undecided: &undecided }))
}

async fn get(session: &mut Session<'_>, app: &AppName, key: Option<&str>) -> Result<ExitCode, CommandError> {
    let values = session.get(&format!("/apps/{app}/config")).await?;
    let Some(key) = key else {
        session.print(Document { kind: "Config", value: values, items: None }, crate::yaml::write);
        return Ok(ExitCode::Done);
    };
    let found = key.split('.').try_fold(&values, |value, part| value.get(part)).cloned();
    let Some(found) = found else {
        let keys = values.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
        let nearest = crate::base::nearest::nearest(key, keys);
        let remedy = match nearest {
            Some(nearest) => format!("wild app config {app} get {nearest}"),
            None => format!("wild app config {app} get"),
        };
        return Err(CommandError::new(format!("read config value {key} of {app}"), "it is not set", remedy));
    };
    let text =
        if found.is_object() || found.is_array() { crate::yaml::write(&found) } else { format!("{}\n", plain(&found)) };
    session.print(
        Document { kind: "Config", value: json!({"app": app, "key": key, "value": found}), items: None },
        |_| text,
    );
    Ok(ExitCode::Done)
}
