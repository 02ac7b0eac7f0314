//! Logs of an app on a real API server, which passes them on from the node of a pod: kwok plays the node and reads them from a file.
//!
//! Not here: which pods are of an app (`http::logs`).

use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::home::Home;

/// Two pods, one of which has two containers, and the pod of somebody else.
const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  \
                   template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - {name: web, image: \"registry.example.invalid/web:1\"}\n      \
                   - {name: side, image: \"registry.example.invalid/side:1\"}\n";

/// The lines of every container, as a node writes them down.
const LINES: [(&str, &str); 3] = [
    ("2026-11-22T10:00:00.000000001Z", "first"),
    ("2026-11-22T10:00:01.000000001Z", "second"),
    ("2026-11-22T10:00:02.000000001Z", "third"),
];

fn write(path: &Path, lines: &[(&str, &str)]) {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    for (time, line) in lines {
        writeln!(file, "{time} stdout F {line}").unwrap();
    }
}

#[test]
fn logs_of_an_app_come_from_its_pods() {
    let Some(home) = Home::start() else { return };
    let home = &home;
    let file = home.plane.log_file();
    write(&file, &LINES);
    push(home, "chatty", WEB);
    crate::parts::until("the app is there", || home.wild_says("app wait chatty --timeout 60s", 0).then_some(()));

    let all = home.json("app logs chatty", 0);
    let lines = all["logs"].as_array().unwrap();
    let message = |line: &Value| line["message"].as_str().unwrap().to_owned();
    let messages: Vec<String> = lines.iter().map(message).collect();
    let expected: Vec<&str> = ["first", "second", "third"].iter().flat_map(|word| [*word; 4]).collect();
    assert_eq!(messages, expected, "the lines of two pods with two containers each, in order of time: {all}");
    let pod = lines[0]["pod"].as_str().unwrap();
    let shown = home.wild(&format!("app logs chatty --tail 1 --pod {pod}"), 0);
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.contains(&format!("{pod}/side  third\n")), "{shown}");
    assert_eq!(home.wild(&format!("app logs chatty --tail 2 --pod {pod} -c web"), 0), "second\nthird\n");
    home.wild("app logs chatty --pod nobody", 2);
    home.wild("app logs nobody", 2);
    follow(home, &file, pod);
    follow_all(home, pod);
    hook_that_fails(home);
}

/// Pushes an app of one file.
fn push(home: &Home, name: &str, text: &str) {
    home.pull();
    let folder = home.path("clone").join("apps").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kustomization.yaml"), format!("namespace: {name}\nresources: [all.yaml]\n")).unwrap();
    std::fs::write(folder.join("all.yaml"), text).unwrap();
    home.in_clone(&["add", "apps"]);
    home.in_clone(&["commit", "-qm", name]);
    home.in_clone(&["push", "-q", "origin", "HEAD:main"]);
}

/// What a hook said before it failed is shown where a person looks for why its app waits.
fn hook_that_fails(home: &Home) {
    const HOOK: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: check, annotations: {rewild.dev/hook: pre-deploy}}\nspec:\n  backoffLimit: 0\n  \
                        template:\n    metadata: {labels: {pod-container-running-failed.stage.kwok.x-k8s.io: \"true\"}}\n    spec:\n      restartPolicy: Never\n      \
                        containers: [{name: run, image: \"registry.example.invalid/run:1\"}]\n";
    push(home, "failing", HOOK);
    crate::parts::until("it is there", || home.wild_says("app show failing", 0).then_some(()));
    let state = || home.json("app show failing", 0);
    crate::parts::until("it is told", || (state()["reason"] == "HookFailed").then_some(()));
    let said =
        || (state()["log"].as_array().is_some_and(|lines| lines.iter().any(|line| line == "fourth"))).then_some(());
    crate::parts::until("what it said is shown", said);
    let said = home.wild("app deploy failing", 6);
    assert!(said.contains("Job/check said last:\n") && said.contains("| fourth"), "{said}");
}

/// A pod that takes the place of another one is followed as well.
fn follow_all(home: &Home, pod: &str) {
    let out = home.path("followed-all");
    let mut command: Command = home.wild_command("app logs chatty --follow --tail 1 -c web");
    let mut child = command.stdout(std::fs::File::create(&out).unwrap()).spawn().unwrap();
    let names = || -> std::collections::BTreeSet<String> {
        let text = std::fs::read_to_string(&out).unwrap();
        text.lines().filter_map(|line| Some(line.split_once('/')?.0.to_owned())).collect()
    };
    crate::parts::until("both pods are followed", || (names().len() == 2).then_some(()));
    home.plane.kubectl(&["-n", "chatty", "delete", "pod", pod, "--wait=false"]).unwrap();
    crate::parts::until("the new pod is followed", || (names().len() == 3).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A line that is written later comes while the command runs.
fn follow(home: &Home, file: &Path, pod: &str) {
    let out = home.path("followed");
    let mut command: Command = home.wild_command(&format!("app logs chatty --follow --tail 1 -c web --pod {pod}"));
    let mut child = command.stdout(std::fs::File::create(&out).unwrap()).spawn().unwrap();
    let has = |text: &str| std::fs::read_to_string(&out).unwrap().contains(text).then_some(());
    crate::parts::until("what was there is shown", || has("/web  third\n"));
    write(file, &[("2026-11-22T10:00:03.000000001Z", "fourth")]);
    crate::parts::until("what came is shown", || has("/web  fourth\n"));
    assert!(!std::fs::read_to_string(&out).unwrap().contains("second"));
    child.kill().unwrap();
    child.wait().unwrap();
}
