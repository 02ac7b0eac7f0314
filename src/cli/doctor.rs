//! `wild doctor`: everything that does not go on by itself, why, and what would free it.
//!
//! Not here: finding that out, which is what every pass does (`plan`).

use clap::Args;
use serde_json::{Value, json};

use super::app::is_calm;
use super::cluster::{acceptance, identity, is_elsewhere, is_silent};
use super::directory::broken;
use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{flag, list, object, text};
use super::session::Session;
use super::table::span;
use crate::base::Timestamp;
use crate::model::AppName;

const HELP: &str = "Examples:
  wild doctor
  wild doctor quillblog
  wild doctor -o json

Told of each app that is not as git wants it: why, what would free it, and when it is looked at next by the clock. With APP also \
everything of it that is held back, and what happened last. Told as well: whether each cluster is the one that is known, what of a kubeconfig \
is not used, which files others could read, whether git runs our hooks, what apps are granted, and which secrets stand in clear in git.

Exit codes:
  0 nothing is stuck   1 something is   2 error, or no such app";

/// Events that are told of one app, the newest.
const EVENTS: usize = 5;

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Doctor {
    /// App; all of them, and the instance, without.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: Option<AppName>,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Doctor) -> Result<ExitCode, CommandError> {
    let Doctor { app } = arguments;
    let instance = session.get("").await?;
    let checks = session.get("/checks").await?;
    let mut found = of_instance(&instance);
    found.extend(list(&checks, "checks").iter().flat_map(|check| list(check, "findings")).map(in_git));
    match app {
        None => found.extend(list(&session.get("/apps").await?, "apps").iter().filter_map(of_app)),
        Some(app) => {
            let state = session.get(&format!("/apps/{app}")).await?;
            if let Some(stuck) = of_app(&state) {
                found.push(with_evidence(session, &app, stuck).await);
            }
        }
    }
    let (stuck, checked) = (!found.is_empty(), checked(&instance, &checks));
    if !stuck && session.is_for_people() {
        session.note("Nothing is stuck.");
    }
    if session.is_for_people() {
        checked.iter().for_each(|check| session.note(&format!("  {}.", text(check, "told"))));
    }
    let (value, now) = (json!({"findings": found, "checked": checked}), session.now());
    session.print(Document { kind: "FindingList", value, items: None }, |value| {
        list(value, "findings").iter().map(|found| shown(found, now)).collect::<Vec<_>>().join("\n")
    });
    Ok(if stuck { ExitCode::Answer } else { ExitCode::Done })
}

/// Adds to what is found about an app all that is held back of it and what happened last.
async fn with_evidence(session: &mut Session<'_>, app: &AppName, mut found: Value) -> Value {
    // A plan that cannot be made, such as without a cluster, is no reason to tell nothing.
    let planned = session.get(&format!("/apps/{app}/plan")).await.unwrap_or_default();
    let events = session.get(&format!("/apps/{app}/events")).await.unwrap_or_default();
    let events = list(&events, "events");
    let last = events.get(events.len().saturating_sub(EVENTS)..).unwrap_or_default();
    if let Some(fields) = found.as_object_mut() {
        fields.insert("heldBack".to_owned(), json!(list(&planned, "blocked")));
        fields.insert("waits".to_owned(), json!(list(&planned, "later")));
        fields.insert("leaving".to_owned(), json!(list(&planned, "leaving")));
        fields.insert("cascades".to_owned(), json!(list(&planned, "cascades")));
        fields.insert("events".to_owned(), json!(last));
    }
    found
}

fn finding(what: impl Into<String>, because: &str, remedy: impl Into<String>, details: Vec<String>) -> Value {
    json!({"what": what.into(), "because": because, "try": remedy.into(), "details": details})
}

/// Returns what holds the whole instance.
fn of_instance(instance: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    match instance.get("cluster").filter(|cluster| !cluster.is_null()) {
        None => found.push(finding("no cluster is known", "nothing can be applied", "wild cluster add", Vec::new())),
        Some(cluster) => found.extend(of_cluster(cluster, "the cluster")),
    }
    for cluster in list(instance, "clusters").iter().filter(|cluster| !flag(cluster, "first")) {
        found.extend(of_cluster(cluster, &format!("the cluster {}", text(cluster, "name"))));
    }
    let open = list(instance, "openFiles").iter();
    found.extend(open.map(|file| open_file(file, "whoever read it knows what is in it", "replace what is in it")));
    let strays = list(instance, "strayClusters").iter();
    found.extend(strays.map(|it| finding(text(it, "what"), text(it, "because"), text(it, "remedy"), Vec::new())));
    let refusal = |closed: &Value| closed.get("closed").cloned().unwrap_or_default();
    let closed = list(instance, "closedInstances").iter().map(refusal);
    found.extend(closed.map(|it| finding(text(&it, "what"), text(&it, "because"), text(&it, "remedy"), Vec::new())));
    let trouble = instance.get("remote").map(|remote| text(remote, "trouble")).unwrap_or_default();
    if !trouble.is_empty() {
        found.push(finding("the remote is not followed", trouble, "wild status", Vec::new()));
    }
    found.extend(list(instance, "directories").iter().flat_map(of_directory));
    found.extend(of_repository(instance));
    if !text(instance, "ready").is_empty() {
        found.push(finding("the branch is not read", text(instance, "ready"), "git log -1", Vec::new()));
    }
    found
}

/// Returns what is wrong with a cluster that is called so, and with the way to it.
fn of_cluster(cluster: &Value, called: &str) -> Vec<Value> {
    let (why, trouble) = (text(cluster, "why"), text(cluster, "trouble"));
    let mut found = Vec::new();
    if flag(cluster, "refused") {
        let what = format!("{called} is not connected, because of what its kubeconfig says");
        found.push(finding(what, why, "wild cluster add", Vec::new()));
    } else if is_elsewhere(cluster) {
        let what =
            format!("the kubeconfig leads to another cluster than {}, so nothing is written", text(cluster, "name"));
        found.push(finding(what, why, acceptance(cluster), Vec::new()));
    } else if is_silent(cluster) {
        let what = format!("{called} does not answer since {}", text(cluster, "since"));
        let remedy = "look at the API server; it is asked again every few seconds";
        found.push(finding(what, why, remedy, Vec::new()));
    }
    if !trouble.is_empty() {
        let what = format!("the kubeconfig of {called} changed and is not used, but what it was before");
        found.push(finding(what, trouble, "wild cluster add", Vec::new()));
    }
    let narrowed = list(cluster, "narrowed").iter();
    found.extend(narrowed.map(|file| {
        open_file(file, "whoever read it can sign in to the cluster", "replace what signs in, then: wild cluster add")
    }));
    found
}

/// Returns what is found of a file that others could read until its mode was narrowed.
fn open_file(file: &Value, because: &str, remedy: &str) -> Value {
    let what = format!("others could read {} (mode {})", text(file, "path"), text(file, "mode"));
    finding(what, because, remedy, Vec::new())
}

/// Returns what a check of the repository found, as other findings are.
fn in_git(found: &Value) -> Value {
    finding(text(found, "what"), text(found, "because"), text(found, "try"), Vec::new())
}

/// Returns what was looked at and is in order, each with what was looked at and what is told of it.
fn checked(instance: &Value, checks: &Value) -> Vec<Value> {
    let is_known = |cluster: &&Value| cluster.get("reachable") == Some(&Value::Bool(true)) && !is_elsewhere(cluster);
    let clusters = list(instance, "clusters").iter().filter(is_known).filter_map(|cluster| {
        let known = cluster.pointer("/known/identity")?;
        let told =
            format!("{} answers and is the cluster that is known: {}", text(cluster, "name"), identity(Some(known)));
        Some(json!({"check": "clusterIdentity", "told": told}))
    });
    let are_narrow = list(instance, "openFiles").is_empty();
    let told = "Files of the state directory and of secrets are their user's alone";
    let modes = are_narrow.then(|| json!({"check": "fileModes", "told": told}));
    let in_git = list(checks, "checks").iter().filter(|check| !text(check, "told").is_empty());
    let in_git = in_git.map(|check| json!({"check": text(check, "check"), "told": text(check, "told")}));
    clusters.chain(modes).chain(in_git).collect()
}

/// Returns what is wrong with the repository: branches of our name that somebody else made.
fn of_repository(instance: &Value) -> Vec<Value> {
    let branches = list(instance, "foreignBranches").iter().filter_map(Value::as_str).map(|branch| {
        let what = format!("somebody else made {branch}");
        let because = match branch {
            "refs/heads/wild" => "no branch wild/… can be made while it is there, on which updates wait for people",
            _ => "it stands on no commit of ours, so nothing of it is read",
        };
        finding(what, because, format!("git push origin :{branch}"), Vec::new())
    });
    branches.collect()
}

/// Returns what is wrong with a package directory: what keeps it from being followed, and each package of it that is broken.
fn of_directory(directory: &Value) -> Vec<Value> {
    let name = text(directory, "name");
    let trouble = directory.get("trouble").filter(|trouble| !trouble.is_null()).map(|trouble| {
        let commits = [("followed", "from"), ("offered", "to")].map(|(word, key)| (word, text(trouble, key)));
        let commits = commits.into_iter().filter(|(_, commit)| !commit.is_empty());
        let details = commits.map(|(word, commit)| format!("{word}: {commit}")).collect();
        let what = format!("the directory {name} is not followed");
        finding(what, text(trouble, "message"), text(trouble, "hint"), details)
    });
    let broken = list(directory, "packages").iter().filter_map(|package| {
        let what = format!("the package {} of {name} is broken", text(package, "name"));
        Some(finding(what, &broken(package)?, "wild directory fetch, once it was corrected there", Vec::new()))
    });
    let refused = list(directory, "refused").iter().map(|found| {
        let what = format!("{} of {name} can be no package", text(found, "file"));
        finding(what, text(found, "message"), text(found, "hint"), Vec::new())
    });
    trouble.into_iter().chain(broken).chain(refused).collect()
}

/// Returns what holds an app; nothing if it is as wanted.
fn of_app(app: &Value) -> Option<Value> {
    if is_calm(app) && text(app, "intent") == "applied" {
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
    let mut found = finding(what, because.unwrap_or("it goes on by itself"), remedy, details.collect());
    if let Some(fields) = found.as_object_mut() {
        fields.insert("app".to_owned(), json!(name));
        fields.insert("freedBy".to_owned(), json!(list(app, "wakeOn")));
        fields.insert("nextLook".to_owned(), app.get("nextLook").cloned().unwrap_or_default());
    }
    Some(found)
}

fn shown(found: &Value, now: Timestamp) -> String {
    let mut lines = format!("{}\n  because: {}\n", text(found, "what"), text(found, "because"));
    let told = list(found, "details").iter().filter_map(Value::as_str).map(str::to_owned);
    let held = list(found, "heldBack").iter().filter(|held| text(held, "message") != text(found, "because"));
    let held = held.map(|held| format!("held back: {} ({})", text(held, "message"), text(held, "reason")));
    let waits = list(found, "waits").iter().map(|id| format!("{} waits for its turn", object(id)));
    let leaving = list(found, "leaving").iter().map(|id| format!("{} is being deleted", object(id)));
    let cascades = list(found, "cascades").iter().map(|it| text(it, "text").to_owned());
    for line in told.chain(held).chain(waits).chain(leaving).chain(cascades) {
        lines.push_str(&format!("    {line}\n"));
    }
    for event in list(found, "events") {
        let what = format!("{} {}  {}", text(event, "time"), text(event, "kind"), text(event, "detail"));
        lines.push_str(&format!("    {}\n", what.trim_end()));
    }
    for freed in list(found, "freedBy") {
        lines.push_str(&format!("  freed when: {}\n", text(freed, "text")));
    }
    if let Ok(next) = Timestamp::parse(text(found, "nextLook")) {
        let wait = next.since(now).as_secs();
        let when = if wait == 0 { "now".to_owned() } else { format!("in {}", span(wait)) };
        lines.push_str(&format!("  next look: {when} ({next})\n"));
    }
    format!("{lines}  try: {}\n", text(found, "try"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_that_is_held_back_is_told_with_reason_objects_and_remedy() {
        let id = json!({"group": "apps", "kind": "Deployment", "namespace": "blog", "name": "web"});
        let app = json!({"name": "blog", "intent": "blocked", "reason": "RequirementNotReady", "health": "starting",
            "needsYou": "it requires stonedb, which is starting", "hint": "wild app status stonedb",
            "wakeOn": [{"on": "app", "what": "stonedb", "text": "stonedb is deployed and healthy"}],
            "nextLook": "2026-11-21T12:05:00Z", "objects": [{"object": id, "health": "starting", "reason": "0 of 1 ready"}]});
        let now = Timestamp::parse("2026-11-21T12:00:00Z").unwrap();
        assert_eq!(
            shown(&of_app(&app).unwrap(), now),
            "blog is blocked (RequirementNotReady) and starting\n  because: it requires stonedb, which is starting\n    \
             Deployment/web (blog) is starting  0 of 1 ready\n  freed when: stonedb is deployed and healthy\n  \
             next look: in 5m0s (2026-11-21T12:05:00Z)\n  try: wild app status stonedb\n"
        );
        assert_eq!(of_app(&json!({"name": "blog", "intent": "applied", "health": "healthy"})), None);
        let waits = of_app(&json!({"name": "blog", "intent": "waiting", "health": "healthy"})).unwrap();
        let told = "blog is waiting and healthy\n  because: it goes on by itself\n  try: wild app events blog\n";
        assert_eq!(shown(&waits, now), told);
    }

    #[test]
    fn of_one_app_all_that_is_held_back_and_what_happened_last_is_told() {
        let id = json!({"group": "", "kind": "Secret", "namespace": "blog", "name": "token"});
        let found = json!({"what": "blog is blocked", "because": "first", "try": "wild status", "details": [],
            "heldBack": [{"reason": "A", "message": "first"}, {"reason": "B", "message": "second"}], "leaving": [id],
            "waits": [id], "cascades": [{"text": "Namespace/blog is empty"}],
            "events": [{"time": "T", "kind": "blocked", "detail": "first"}], "freedBy": [], "nextLook": null});
        let told = "blog is blocked\n  because: first\n    held back: second (B)\n    Secret/token (blog) waits for its turn\n    \
                    Secret/token (blog) is being deleted\n    Namespace/blog is empty\n    T blocked  first\n  try: wild status\n";
        assert_eq!(shown(&found, Timestamp(0)), told);
    }

    #[test]
    fn what_holds_the_whole_instance_comes_first() {
        let silent = json!({"cluster": {"reachable": false, "since": "T", "why": "refused"},
            "clusters": [{"first": true}, {"name": "edge", "reachable": false, "since": "U"}, {"name": "attic", "reachable": null}, {"name": "lab", "reachable": true}],
            "strayClusters": [{"what": "use clusters.hme of daemon.yaml", "because": "B", "remedy": "R"}], "remote": {"trouble": "it went back"},
            "closedInstances": [{"name": "lab", "closed": {"what": "open the instance lab", "because": "C", "remedy": "D"}}]});
        let whats: Vec<String> = of_instance(&silent).iter().map(|it| text(it, "what").to_owned()).collect();
        assert_eq!(
            whats,
            [
                "the cluster does not answer since T",
                "the cluster edge does not answer since U",
                "use clusters.hme of daemon.yaml",
                "open the instance lab",
                "the remote is not followed"
            ]
        );
        assert!(of_instance(&json!({"cluster": {"reachable": true}, "remote": null, "ready": null})).is_empty());
    }

    #[test]
    fn a_cluster_that_is_refused_elsewhere_or_was_open_is_told_with_what_helps_and_a_known_one_as_well() {
        let file = json!({"path": "/k", "mode": "0644"});
        let known = json!({"identity": {"server": "https://a", "authority": "", "uid": "u"}, "since": "S", "by": ""});
        let instance = json!({"openFiles": [{"path": "/s", "mode": "0640"}], "cluster": {"reachable": true, "trouble": "T"},
            "clusters": [{"first": true, "name": "home", "reachable": true, "trouble": "T", "known": known},
                {"name": "edge", "reachable": false, "refused": true, "why": "W"},
                {"name": "lab", "reachable": false, "elsewhere": true, "why": "V", "known": known},
                {"name": "attic", "reachable": true, "narrowed": [file]}]});
        let told = |found: &Value| [text(found, "what"), text(found, "try")].join(" -> ");
        assert_eq!(
            of_instance(&instance).iter().map(told).collect::<Vec<_>>(),
            [
                "the kubeconfig of the cluster changed and is not used, but what it was before -> wild cluster add",
                "the cluster edge is not connected, because of what its kubeconfig says -> wild cluster add",
                "the kubeconfig leads to another cluster than lab, so nothing is written -> wild cluster accept lab",
                "others could read /k (mode 0644) -> replace what signs in, then: wild cluster add",
                "others could read /s (mode 0640) -> replace what is in it",
            ]
        );
        let home = "home answers and is the cluster that is known: https://a, kube-system u, authority none of its own";
        let told = |instance: &Value, checks: &Value| {
            checked(instance, checks).iter().map(|check| text(check, "told").to_owned()).collect::<Vec<_>>()
        };
        let wrong = json!({"checks": [{"check": "hooks", "told": null, "findings": []}]});
        assert_eq!(told(&instance, &wrong), [home]);
        let calm = json!({"clusters": [], "openFiles": []});
        let sound = json!({"checks": [{"check": "hooks", "told": "Git runs them", "findings": []}]});
        let narrow = "Files of the state directory and of secrets are their user's alone";
        assert_eq!(told(&calm, &sound), [narrow, "Git runs them"]);
    }

    #[test]
    fn branches_of_somebody_else_are_told() {
        let branch = "refs/heads/wild/update/blog";
        let instance = json!({"foreignBranches": [branch]});
        let told: String = of_repository(&instance).iter().map(|found| shown(found, Timestamp(0))).collect();
        let expected = "somebody else made refs/heads/wild/update/blog\n  \
                        because: it stands on no commit of ours, so nothing of it is read\n  \
                        try: git push origin :refs/heads/wild/update/blog\n";
        assert_eq!(told, expected);
        assert!(of_repository(&json!({"foreignBranches": []})).is_empty());
    }

    #[test]
    fn a_directory_is_told_with_both_commits_and_each_broken_package_with_its_place() {
        let link = json!({"id": "P010", "file": "blog/x", "line": 0, "message": "no links"});
        let trouble = json!({"message": "it went back", "hint": "wild x", "from": "aa", "to": "bb"});
        let directory = json!({"name": "sample", "trouble": trouble, "packages": [{"name": "blog", "broken": link}]});
        let told: String = of_directory(&directory).iter().map(|found| shown(found, Timestamp(0))).collect();
        let expected = "the directory sample is not followed\n  because: it went back\n    followed: aa\n    offered: bb\n  \
                        try: wild x\nthe package blog of sample is broken\n  because: blog/x: P010: no links\n  \
                        try: wild directory fetch, once it was corrected there\n";
        assert_eq!(told, expected);
    }
}
