//! `wild doctor`: everything that does not go on by itself, why, and what would free it.
//!
//! Not here: finding that out, which is what every pass does (`plan`).

use clap::Args;
use serde_json::{Value, json};

use super::app::is_calm;
use super::cluster::is_silent;
use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{flag, list, object, text};
use super::session::Session;

const HELP: &str = "Examples:
  wild doctor
  wild doctor -o json

Exit codes:
  0 nothing is stuck   1 something is   2 error";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Doctor {}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Doctor) -> Result<ExitCode, CommandError> {
    let Doctor {} = arguments;
    let instance = session.get("").await?;
    let apps = session.get("/apps").await?;
    let found: Vec<Value> =
        of_instance(&instance).into_iter().chain(list(&apps, "apps").iter().filter_map(of_app)).collect();
    let stuck = !found.is_empty();
    if !stuck && session.is_for_people() {
        session.note("Nothing is stuck.");
    }
    let value = json!({"findings": found});
    session.print(Document { kind: "FindingList", value, items: None }, |value| {
        list(value, "findings").iter().map(shown).collect::<Vec<_>>().join("\n")
    });
    Ok(if stuck { ExitCode::Answer } else { ExitCode::Done })
}

fn finding(what: impl Into<String>, because: &str, remedy: impl Into<String>, details: Vec<String>) -> Value {
    json!({"what": what.into(), "because": because, "try": remedy.into(), "details": details})
}

/// Returns what holds the whole instance.
fn of_instance(instance: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    match instance.get("cluster").filter(|cluster| !cluster.is_null()) {
        None => found.push(finding("no cluster is known", "nothing can be applied", "wild cluster add", Vec::new())),
        Some(cluster) if is_silent(cluster) => {
            let what = format!("the cluster does not answer since {}", text(cluster, "since"));
            let remedy = "look at the API server; it is asked again every few seconds";
            found.push(finding(what, text(cluster, "why"), remedy, Vec::new()));
        }
        Some(_) => {}
    }
    let others = list(instance, "clusters").iter().filter(|cluster| !flag(cluster, "first"));
    for cluster in others.filter(|cluster| is_silent(cluster)) {
        let what = format!("the cluster {} does not answer since {}", text(cluster, "name"), text(cluster, "since"));
        found.push(finding(what, text(cluster, "why"), "wild cluster list", Vec::new()));
    }
    let trouble = instance.get("remote").map(|remote| text(remote, "trouble")).unwrap_or_default();
    if !trouble.is_empty() {
        found.push(finding("the remote is not followed", trouble, "wild status", Vec::new()));
    }
    if !text(instance, "ready").is_empty() {
        found.push(finding("the branch is not read", text(instance, "ready"), "git log -1", Vec::new()));
    }
    found
}

/// Returns what holds an app; nothing if it is as wanted or waits for nobody.
fn of_app(app: &Value) -> Option<Value> {
    if is_calm(app) {
        return None;
    }
    let (name, intent, health) = (text(app, "name"), text(app, "intent"), text(app, "health"));
    let reason = if text(app, "reason").is_empty() { String::new() } else { format!(" ({})", text(app, "reason")) };
    let what = format!("{name} is {intent}{reason} and {health}");
    let because = [text(app, "needsYou"), text(app, "healthReason")].into_iter().find(|text| !text.is_empty());
    let remedy = match text(app, "hint") {
        "" => format!("wild app events {name}"),
        hint => hint.to_owned(),
    };
    let is_well = |it: &&Value| matches!(text(it, "health"), "healthy" | "stopped");
    let details = list(app, "objects").iter().filter(|it| !is_well(it)).map(|it| {
        let id = it.get("object").map(object).unwrap_or_default();
        format!("{id} is {}  {}", text(it, "health"), text(it, "reason")).trim_end().to_owned()
    });
    Some(finding(what, because.unwrap_or("it goes on by itself"), remedy, details.collect()))
}

fn shown(found: &Value) -> String {
    let details: String =
        list(found, "details").iter().filter_map(Value::as_str).map(|line| format!("    {line}\n")).collect();
    format!("{}\n  because: {}\n{details}  try: {}\n", text(found, "what"), text(found, "because"), text(found, "try"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_that_is_held_back_is_told_with_reason_objects_and_remedy() {
        let id = json!({"group": "apps", "kind": "Deployment", "namespace": "blog", "name": "web"});
        let app = json!({"name": "blog", "intent": "blocked", "reason": "RequirementNotReady", "health": "starting",
            "needsYou": "it requires stonedb, which is starting", "hint": "wild app status stonedb",
            "objects": [{"object": id, "health": "starting", "reason": "0 of 1 ready"}]});
        assert_eq!(
            shown(&of_app(&app).unwrap()),
            "blog is blocked (RequirementNotReady) and starting\n  because: it requires stonedb, which is starting\n    \
             Deployment/web (blog) is starting  0 of 1 ready\n  try: wild app status stonedb\n"
        );
        assert_eq!(of_app(&json!({"name": "blog", "intent": "applied", "health": "healthy"})), None);
    }

    #[test]
    fn what_holds_the_whole_instance_comes_first() {
        let silent = json!({"cluster": {"reachable": false, "since": "T", "why": "refused"},
            "clusters": [{"first": true}, {"name": "edge", "reachable": false, "since": "U"}, {"name": "attic", "reachable": null}, {"name": "lab", "reachable": true}], "remote": {"trouble": "it went back"}});
        let whats: Vec<String> = of_instance(&silent).iter().map(|it| text(it, "what").to_owned()).collect();
        assert_eq!(
            whats,
            [
                "the cluster does not answer since T",
                "the cluster edge does not answer since U",
                "the remote is not followed"
            ]
        );
        assert!(of_instance(&json!({"cluster": {"reachable": true}, "remote": null, "ready": null})).is_empty());
    }
}
