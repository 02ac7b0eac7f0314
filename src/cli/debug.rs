//! `wild debug`: our parts alone, for comparing them with the real ones.
//!
//! Not here: our kustomize alone (`kustomize.rs`).

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::{CommandError, ExitCode};
use super::json::text;
use super::merge_batch;
use super::merge_file::Sides;
use super::session::Session;
use crate::template::{self, Context};
use crate::yaml::{self, Dialect};

const MERGE_BATCH_HELP: &str = "Each line of the input is {\"id\", \"path\", \"base\", \"ours\", \"theirs\"}, with null for a side without the file.

Examples:
  wild debug merge-batch

Exit codes:
  0 every line was answered   2 a line is no case";

const MERGE_TREE_HELP: &str = "Examples:
  wild debug merge-tree base mine upstream --out merged

Exit codes:
  0 merged   1 conflicts   2 error";

const BATCH_HELP: &str = "Each line of the input is {\"name\", \"template\", \"context\"}, each line of the output {\"name\", \"output\", \"error\"}. A \
context that is a text is the text of a YAML file.

Examples:
  wild debug render-batch

Exit codes:
  0 every line was answered   2 a line is no case";

/// What can be compared.
#[derive(Subcommand, Debug)]
pub(super) enum DebugVerb {
    /// Renders templates, one case per line.
    #[command(after_long_help = BATCH_HELP)]
    RenderBatch,
    /// Merges files, one case per line.
    #[command(after_long_help = MERGE_BATCH_HELP)]
    MergeBatch,
    /// Merges three folders.
    #[command(after_long_help = MERGE_TREE_HELP)]
    MergeTree {
        #[command(flatten)]
        sides: Sides,
        /// Folder for the result; it must not exist.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

/// Runs a verb.
pub(super) async fn run(session: &mut Session<'_>, verb: &DebugVerb) -> Result<ExitCode, CommandError> {
    match verb {
        DebugVerb::RenderBatch => render_batch(session),
        DebugVerb::MergeBatch => Ok(merge_batch::batch(session).await),
        DebugVerb::MergeTree { sides, out } => merge_batch::trees(session, sides, out).await,
    }
}

fn render_batch(session: &mut Session<'_>) -> Result<ExitCode, CommandError> {
    let what = "render a batch";
    let Some(input) = session.out.input() else {
        return Err(CommandError::new(
            what,
            "the input is no text or too long",
            "wild debug render-batch < cases.jsonl",
        ));
    };
    for (number, line) in input.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).map_err(|error| {
            CommandError::new(
                what,
                format!("line {} is no case: {error}", number + 1),
                "wild debug render-batch --help",
            )
        })?;
        let answer = answer(&case);
        session.out.data(&format!("{answer}\n"));
    }
    Ok(ExitCode::Done)
}

fn answer(case: &Value) -> Value {
    let name = text(case, "name");
    let rendered = context(case.get("context")).and_then(|context| {
        template::render(name, text(case, "template"), &Context::new(context))
            .map_err(|findings| findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    });
    match rendered {
        Ok(rendered) => json!({"name": name, "output": rendered.text, "error": ""}),
        Err(error) => json!({"name": name, "output": "", "error": error}),
    }
}

/// Returns the root of a case's data.
fn context(value: Option<&Value>) -> Result<Value, String> {
    match value {
        Some(Value::String(text)) => match yaml::load_one("context", text, Dialect::Gomplate) {
            Ok(document) => Ok(document.map_or(Value::Null, |document| document.value)),
            Err(findings) => Err(findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
        },
        Some(value) => Ok(value.clone()),
        None => Ok(Value::Null),
    }
}
