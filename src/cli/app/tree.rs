//! `wild app tree`: the objects of an app with what controllers made of them.
//!
//! Not here: which objects the app wants (`plan.rs`).

use clap::Args;
use serde_json::Value;

use super::super::error::{CommandError, ExitCode};
use super::super::format::Document;
use super::super::json::{list, object, text};
use super::super::session::Session;
use crate::model::AppName;

const HELP: &str = "Examples:
  wild app tree quillblog
  wild app tree quillblog -o json

Exit codes:
  0 shown   2 no such app, or the cluster does not answer";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Tree {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Tree) -> Result<ExitCode, CommandError> {
    let Tree { app } = arguments;
    let answer = session.get(&format!("/apps/{app}/tree")).await?;
    if list(&answer, "objects").is_empty() && session.is_for_people() {
        session.note("It has no object in the cluster.");
        return Ok(ExitCode::Done);
    }
    session.print(Document { kind: "ObjectTree", value: answer, items: None }, |answer| {
        list(answer, "objects").iter().map(|root| branch(root, 0)).collect()
    });
    Ok(ExitCode::Done)
}

fn branch(node: &Value, level: usize) -> String {
    let name = node.get("object").map(object).unwrap_or_default();
    let health = [text(node, "health"), text(node, "reason")].into_iter().filter(|part| !part.is_empty());
    let health = health.collect::<Vec<_>>().join(": ");
    let line = format!("{}{name}  {health}", "  ".repeat(level));
    let below: String = list(node, "owns").iter().map(|node| branch(node, level + 1)).collect();
    format!("{}\n{below}", line.trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::branch;

    #[test]
    fn each_level_is_moved_in() {
        let id = |kind: &str, name: &str| json!({"group": "apps", "kind": kind, "namespace": "blog", "name": name});
        let tree = json!({"object": id("Deployment", "web"), "health": "starting", "reason": "0 of 1 ready", "owns": [
            {"object": id("ReplicaSet", "web-1"), "owns": []}]});
        assert_eq!(branch(&tree, 0), "Deployment/web (blog)  starting: 0 of 1 ready\n  ReplicaSet/web-1 (blog)\n");
    }
}
