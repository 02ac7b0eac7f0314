//! The whole story on real parts, told by command lines of `wild` and by `git push` alone: a person pushes to a forge, a daemon follows,
//! the forge shows what became of it, the cluster is as git says, and leaving is free.
//!
//! What happened is asked of git, kubectl and Gitea. Not here: the parts (`home.rs`), single statuses (`statuses.rs`).

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::home::{DEPLOY, DRIFT, Home};
use crate::leaving::leave;
use crate::parts::until;
use crate::scripts_api::shape::shapes_of_scripts;

const DATABASE: [&str; 4] = ["-n", "stonedb", "statefulset", "stonedb"];
const SERVER: [&str; 4] = ["-n", "photobox", "deployment", "photobox-server"];
const WORKER: [&str; 4] = ["-n", "photobox", "deployment", "photobox-worker"];
const LIBRARY: [&str; 4] = ["-n", "photobox", "pvc", "photobox-library"];

/// Where an image, a memory limit, a number of replicas and the ready ones stand.
const IMAGE: &str = "/spec/template/spec/containers/0/image";
const MEMORY: &str = "/spec/template/spec/containers/0/resources/limits/memory";
const REPLICAS: &str = "/spec/replicas";
const READY: &str = "/status/readyReplicas";

const SERVER_FILE: &str = "apps/photobox/server-deployment.yaml";
const UPDATE: &str = "refs/heads/wild/update/photobox";

#[test]
fn the_story_holds_on_real_parts() {
    let Some(mut home) = Home::start() else { return };
    add(&home);
    deploy(&home);
    let customised = customise(&home);
    update(&home, &customised);
    let reviewed = conflict(&home);
    resolve(&home, &customised, &reviewed);
    drift(&home);
    heal(&home);
    roll_back(&home);
    remember(&home);
    delete(&home);
    undo(&home);
    delete(&home);
    only_known_requests(&home);
    no_secret_is_told(&home);
    home.stop_daemon();
    leave(&home);
}

fn image(version: &str) -> Value {
    json!(format!("registry.example.org/photobox/server:{version}"))
}

/// Adding compiles and commits; nothing runs.
fn add(home: &Home) {
    home.publish("photobox 1.0");
    let directory = home.path("directory.git").display().to_string();
    home.wild(&format!("directory add sample {directory}"), 0);
    let listed = home.json("directory list", 0);
    assert_eq!(listed["directories"][0]["packages"].as_array().map(Vec::len), Some(4), "{listed}");
    assert!(home.file(".wild/config.yaml").contains(&directory));
    // From here on only events wake it.
    let settings = home.file(".wild/config.yaml");
    home.push(
        "chore: no timer",
        &[(".wild/config.yaml", &settings, &format!("{settings}reconcile:\n  interval: \"0\"\n"))],
    );
    for app in ["stonedb", "quickcache", "quillblog", "photobox"] {
        let grants = match app {
            "quillblog" => " --grant stonedb.password",
            "photobox" => " --grant stonedb.password --grant quickcache.auth",
            _ => "",
        };
        let added = home.json(&format!("app add {app}{grants}"), 0);
        assert_eq!(added["outcome"], "changed", "{added}");
        let head = home.pull();
        assert_eq!(added["commit"], head.as_str());
        assert_eq!(
            home.in_clone(&["rev-parse", "HEAD^2"]),
            home.on_forge(&format!("refs/wild/generated/{app}")).unwrap()
        );
        assert_eq!(home.live(&["namespace", app]), Value::Null, "an added app is not in the cluster");
    }
    assert!(home.file("apps/stonedb/statefulset.yaml").contains("kind: StatefulSet"));
}

/// Apps come when what they require is there.
fn deploy(home: &Home) {
    home.wild("app deploy quillblog", 6);
    assert_eq!(home.live(&["-n", "quillblog", "deployments"])["items"], json!([]));
    home.wild("app deploy stonedb quickcache photobox --wait", 0);
    home.wild("app wait quillblog", 0);
    home.becomes(&DATABASE, &[(READY, json!(1))]);
    for workload in [SERVER, WORKER, ["-n", "quillblog", "deployment", "quillblog"]] {
        let live = home.becomes(&workload, &[(READY, json!(1))]);
        assert_eq!(live.pointer("/metadata/labels/rewild.dev~1app"), Some(&json!(workload[1])));
    }
    home.wild("status", 0);
    home.wild("drift list", 0);
    home.tells(&home.pull(), DEPLOY, "success");
    let secret = |app: &str, key: &str| {
        let live = home.live(&["-n", app, "secret", &format!("{app}-secrets")]);
        String::from_utf8(STANDARD.decode(live["data"][key].as_str().unwrap()).unwrap()).unwrap()
    };
    let password = secret("stonedb", "password");
    assert!(password.len() > 8 && secret("photobox", "dbUrl").contains(&password));
    home.in_clone(&["fetch", "-q", "origin", "+refs/*:refs/all/*"]);
    assert!(!home.in_clone(&["log", "--all", "-p"]).contains(&password), "the password is in git");
}

/// A person customises by git; the compiled files are theirs to change.
fn customise(home: &Home) -> String {
    let worker = "apps/photobox/worker.yaml";
    let edits = [(SERVER_FILE, "memory: 512Mi", "memory: 4Gi"), (worker, "replicas: 1", "replicas: 2")];
    let pushed = home.push("scale(photobox): room for videos", &edits);
    let live = home.becomes(&SERVER, &[(MEMORY, json!("4Gi"))]);
    assert_eq!(live.pointer("/metadata/annotations/rewild.dev~1commit"), Some(&json!(pushed)));
    home.becomes(&WORKER, &[(REPLICAS, json!(2)), (READY, json!(2))]);
    let before = home.tells(&pushed, DEPLOY, "success");
    assert!(!before.is_empty() && before.iter().all(|state| state == "pending"), "{before:?}");
    pushed
}

/// An upstream update keeps the customisation.
fn update(home: &Home, customised: &str) {
    home.publish("photobox 1.1");
    home.wild("directory fetch", 0);
    assert!(home.wild("directory outdated -o name", 1).contains("app/photobox"));
    home.wild("app update photobox", 0);
    merged(home, customised, "1.1");
    home.becomes(&SERVER, &[(IMAGE, image("1.1")), (MEMORY, json!("4Gi"))]);
    home.becomes(&WORKER, &[(IMAGE, image("1.1")), (REPLICAS, json!(2)), (READY, json!(2))]);
    home.tells(&home.pull(), DEPLOY, "success");
}

/// One that conflicts waits on a branch of its own, on the forge too, and blocks nothing.
fn conflict(home: &Home) -> String {
    home.publish("photobox 2.0");
    home.wild("directory fetch", 0);
    let before = home.pull();
    home.wild("app update photobox", 3);
    assert_eq!(home.pull(), before, "the deployed branch stays");
    let tip = home.revision("home.git", UPDATE);
    until("the update waits on the forge", || (home.on_forge(UPDATE).as_ref() == Some(&tip)).then_some(()));
    assert!(home.git_says(&["merge-base", "--is-ancestor", &before, UPDATE]));
    assert!(!home.git_says(&["grep", "-q", "^<<<<<<<", UPDATE, "--", "apps"]), "there are conflict markers");
    let open = home.json("app resolve photobox --list", 3);
    let sides = &open["conflicts"][0];
    let says = |side: &str, text: &str| assert!(sides[side].as_str().unwrap().contains(text), "{sides:#}");
    says("base", "512Mi");
    says("mine", "4Gi");
    says("upstream", "768Mi");
    home.becomes(&SERVER, &[(IMAGE, image("1.1")), (MEMORY, json!("4Gi"))]);
    home.wild("app deploy stonedb --wait", 0);
    review(home)
}

/// A person reviews the update on the forge and commits to its branch; returns that commit.
fn review(home: &Home) -> String {
    home.in_clone(&["fetch", "-q", "origin"]);
    home.in_clone(&["checkout", "-q", "-b", "review", "origin/wild/update/photobox"]);
    let file = home.path("clone/apps/photobox/configmap.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("# Reviewed by alice.\n{text}")).unwrap();
    home.in_clone(&["commit", "-qam", "docs: reviewed"]);
    home.in_clone(&["push", "-q", "origin", "review:wild/update/photobox"]);
    let reviewed = home.in_clone(&["rev-parse", "HEAD"]);
    home.in_clone(&["checkout", "-q", "main"]);
    until("the review is seen", || (home.revision("home.git", UPDATE) == reviewed).then_some(()));
    reviewed
}

/// Decided, every edit of either side that did not conflict is there.
fn resolve(home: &Home, customised: &str, reviewed: &str) {
    home.wild("app resolve photobox --take mine", 0);
    merged(home, customised, "2.0");
    assert!(home.file("apps/photobox/configmap.yaml").contains("# Reviewed by alice."));
    home.in_clone(&["merge-base", "--is-ancestor", reviewed, "HEAD"]);
    until("the branch is gone from the forge", || home.on_forge(UPDATE).is_none().then_some(()));
    let server = home.file(SERVER_FILE);
    for text in ["memory: 4Gi", "photobox/server:2.0", "periodSeconds: 5", "cpu: 150m"] {
        assert!(server.contains(text), "{text}:\n{server}");
    }
    let renamed = home.file("apps/photobox/worker-deployment.yaml");
    assert!(renamed.contains("replicas: 2") && renamed.contains("photobox/server:2.0"), "{renamed}");
    assert!(!home.path("clone/apps/photobox/worker.yaml").exists() && !home.path("clone/.wild/conflicts").exists());
    assert!(home.file("apps/photobox/lens.yaml").contains("LENS_MODEL"));
    home.becomes(&SERVER, &[(IMAGE, image("2.0")), (MEMORY, json!("4Gi"))]);
    home.becomes(&WORKER, &[(IMAGE, image("2.0")), (REPLICAS, json!(2)), (READY, json!(2))]);
    home.wild("app wait photobox", 0);
    home.tells(&home.pull(), DEPLOY, "success");
}

/// Checks that an update is one true merge that plain git understands.
fn merged(home: &Home, customised: &str, version: &str) {
    let head = home.pull();
    let generation = home.on_forge("refs/wild/generated/photobox").unwrap();
    assert_eq!(home.in_clone(&["rev-parse", "HEAD^2"]), generation);
    assert_eq!(home.in_clone(&["merge-base", &head, &generation]), generation, "the generation is an ancestor of main");
    home.in_clone(&["merge-base", "--is-ancestor", customised, &head]);
    assert!(home.file("apps/photobox/manifest.yaml").contains(version));
}

/// With policy `report`, what somebody edits in the cluster is shown and stays until a person says so.
fn drift(home: &Home) {
    let app = "\n  photobox:\n";
    home.push("chore: look first", &[(".wild/config.yaml", app, &format!("{app}    drift: report\n"))]);
    let head = home.pull();
    home.tells(&head, DEPLOY, "success");
    home.plane.kubectl_edit(&SERVER, "/replicas:.1$/s/1$/5/").unwrap();
    home.tells(&head, DRIFT, "failure");
    let shown = home.wild("drift show photobox", 1);
    assert!(shown.lines().any(|line| line.contains("spec.replicas") && line.contains("kubectl-edit")), "{shown}");
    let listed = home.json("drift list", 1);
    assert_eq!(listed["drift"].as_array().map(Vec::len), Some(1), "{listed:#}");
    home.becomes(&SERVER, &[(REPLICAS, json!(5))]);
    home.wild("drift revert photobox", 0);
    home.becomes(&SERVER, &[(REPLICAS, json!(1)), (MEMORY, json!("4Gi"))]);
    assert_eq!(home.pull(), head, "putting back makes no commit");
    home.tells(&head, DRIFT, "success");
    home.wild("drift list", 0);
}

/// With policy `correct` it is put back at once: one read tells which values differ, one patch puts them back, nothing is listed.
fn heal(home: &Home) {
    home.wild("app wait stonedb", 0);
    let before = home.plane.requests().len();
    home.plane.kubectl_edit(&DATABASE, "/replicas:.1$/s/1$/4/").unwrap();
    home.becomes(&DATABASE, &[(REPLICAS, json!(1)), ("/metadata/generation", json!(3))]);
    home.becomes(
        &DATABASE,
        &[(READY, json!(1)), ("/status/replicas", json!(1)), ("/status/observedGeneration", json!(3))],
    );
    home.wild("app wait stonedb", 0);
    let mut sent = home.plane.requests().split_off(before);
    // Streams end by themselves after some minutes and are opened again where they ended.
    sent.retain(|request| !request.starts_with("WATCH "));
    let patch = "PATCH apps/v1 statefulsets ?fieldManager&fieldValidation=Strict&force content=apply-patch";
    assert_eq!(sent, ["GET apps/v1 statefulsets", patch]);
}

/// A mistake, which the API server refuses in part, turns its commit red and is undone by a new commit.
fn roll_back(home: &Home) {
    let good = home.pull();
    let worker = "apps/photobox/worker-deployment.yaml";
    let edits = [(SERVER_FILE, "memory: 4Gi", "memory: 64Mi"), (worker, "replicas: 2", "replicas: 3")];
    let mistake = home.push("scale(photobox): less memory, more workers", &edits);
    home.tells(&mistake, DEPLOY, "failure");
    let why = home.sentence(&mistake, DEPLOY);
    assert!(why.contains("photobox-server") && why.contains("422"), "{why}");
    home.becomes(&WORKER, &[(REPLICAS, json!(3))]);
    home.becomes(&SERVER, &[(MEMORY, json!("4Gi"))]);
    let to = history(home).into_iter().map(|(commit, _)| commit).find(|commit| *commit != mistake).unwrap();
    home.wild(&format!("app rollback photobox --to {to} --reason memory"), 0);
    let head = home.pull();
    home.in_clone(&["diff", "--exit-code", &good, &head, "--", "apps/photobox", "config.yaml"]);
    home.in_clone(&["merge-base", "--is-ancestor", &mistake, &head]);
    assert!(head != mistake && head != good);
    home.becomes(&WORKER, &[(REPLICAS, json!(2)), (READY, json!(2))]);
    home.tells(&head, DEPLOY, "success");
}

/// Returns the commits that touched photobox with their subjects, newest first.
fn history(home: &Home) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let history = home.json("app history photobox", 0);
    history["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|commit| (text(&commit["id"]), text(&commit["subject"])))
        .collect()
}

/// What happened can be asked for.
fn remember(home: &Home) {
    let subjects: Vec<String> = history(home).into_iter().map(|(_, subject)| subject).collect();
    for wanted in ["scale(photobox): room for videos", "scale(photobox): less memory, more workers"] {
        assert!(subjects.iter().any(|subject| subject == wanted), "{subjects:#?}");
    }
    let operations = home.json("operation list --app photobox --limit 50", 0);
    let verbs: BTreeSet<&str> = operations["operations"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|operation| operation["verb"].as_str())
        .collect();
    for verb in ["add", "deploy", "update", "resolve", "revert", "rollback"] {
        assert!(verbs.contains(verb), "{verb} is not among {verbs:?}");
    }
    let events = home.json("app events photobox", 0);
    let kinds: BTreeSet<&str> =
        events["events"].as_array().unwrap().iter().filter_map(|event| event["kind"].as_str()).collect();
    assert!(kinds.len() > 3, "{kinds:?}");
}

/// Deleted, the app goes and its data stay.
fn delete(home: &Home) {
    let before = home.pull();
    home.wild("app delete photobox", 2);
    home.wild("app delete photobox --yes", 0);
    home.wild("app wait photobox --for deleted", 0);
    let head = home.pull();
    home.in_clone(&["merge-base", "--is-ancestor", &before, &head]);
    assert!(!home.path("clone/apps/photobox").exists());
    assert!(!home.file("config.yaml").contains("photobox"));
    until("the workloads are gone", || {
        let left = home.live(&["-n", "photobox", "deployments,services,ingresses,configmaps,secrets"]);
        let left =
            left["items"].as_array()?.iter().filter(|item| item["metadata"]["name"] != "kube-root-ca.crt").count();
        (left == 0).then_some(())
    });
    assert_eq!(home.live(&["namespace", "photobox"])["status"]["phase"], "Active");
    assert_eq!(home.live(&LIBRARY)["status"]["phase"], "Bound");
    home.becomes(&DATABASE, &[(READY, json!(1))]);
    home.tells(&head, DEPLOY, "success");
}

/// A deleted app comes back as it was, with its volumes.
fn undo(home: &Home) {
    let deleted = home.in_clone(&["rev-parse", "HEAD"]);
    home.wild("undo", 0);
    let head = home.pull();
    home.in_clone(&["diff", "--exit-code", &format!("{deleted}~1"), &head, "--", "apps/photobox", "config.yaml"]);
    home.wild("app wait photobox", 0);
    home.becomes(&SERVER, &[(READY, json!(1))]);
    home.tells(&head, DEPLOY, "success");
}

/// Values of Secrets are nowhere in what the daemon logged, at a level that operators use to find trouble, and in what it tells.
fn no_secret_is_told(home: &Home) {
    let secrets = home.live(&["-A", "secrets", "-l", "rewild.dev/app"]);
    let mut values = BTreeSet::new();
    for secret in secrets["items"].as_array().unwrap() {
        for value in secret["data"].as_object().unwrap().values() {
            let encoded = value.as_str().unwrap().to_owned();
            values.insert(String::from_utf8(STANDARD.decode(&encoded).unwrap()).unwrap());
            values.insert(encoded);
        }
    }
    assert!(values.len() > 4, "{values:?}");
    let log = home.daemon_log();
    assert!(log.contains("DEBUG"), "{}", log.lines().next().unwrap_or_default());
    let asked = [
        "plan quillblog",
        "app show quillblog",
        "app events quillblog",
        "operation list --limit 100",
        "operation archive",
        "status",
    ];
    let told: Vec<(&str, String)> = asked.iter().map(|line| (*line, home.json(line, 0).to_string())).collect();
    for value in values.iter().filter(|value| value.len() > 8) {
        assert!(!log.contains(value), "{value} is in the log");
        for (line, text) in &told {
            assert!(!text.contains(value), "{value} is in wild {line}");
        }
    }
}

/// Every request of the daemon is one that the scripts send to the sandbox and to the real API server, whose answers are compared.
fn only_known_requests(home: &Home) {
    let sent: BTreeSet<String> = home.plane.requests().into_iter().collect();
    let known = shapes_of_scripts();
    let unknown: Vec<&String> = sent.difference(&known).collect();
    assert!(unknown.is_empty(), "no script sends these: {unknown:#?}");
}
