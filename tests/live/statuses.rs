//! Commit statuses on a real Gitea beside a real cluster: nothing is green before it is healthy, nothing stays green after it differs.
//!
//! A pod is held by asking for a node that there is not; it is released by making the node one. Not here: the whole story (`story.rs`).

use serde_json::json;

use crate::home::{DEPLOY, DRIFT, Home};
use crate::parts::until;

const DATABASE: [&str; 4] = ["-n", "stonedb", "statefulset", "stonedb"];
const FILE: &str = "apps/stonedb/statefulset.yaml";
const SETTINGS: &str = ".wild/config.yaml";

#[test]
fn statuses_on_the_forge_tell_the_truth() {
    let Some(mut home) = Home::start() else { return };
    home.publish("stonedb 15.4");
    home.wild(&format!("directory add sample {}", home.path("directory.git").display()), 0);
    home.wild("app add stonedb --deploy", 0);
    home.wild("app wait stonedb", 0);
    home.tells(&home.pull(), DEPLOY, "success");
    no_success_while_a_pod_is_held(&home);
    red_while_the_cluster_differs(&home);
    green_once_the_cluster_is_adopted(&home);
    red_while_nothing_can_be_read(&home);
    nothing_is_pushed_over(&home);
    let refused = "the forge did not take a status";
    assert!(!home.daemon_log().contains(refused), "no status is sent before its commit\n{}", home.daemon_log());
    home.stop_daemon();
}

fn no_success_while_a_pod_is_held(home: &Home) {
    let node = "    spec:\n      securityContext:";
    let held = "    spec:\n      nodeSelector: {example.org/room: free}\n      securityContext:";
    let first = home.push("feat(stonedb): a room of its own", &[(FILE, node, held)]);
    until("the pod is held", || {
        let pod = home.live(&["-n", "stonedb", "pod", "stonedb-0"]);
        (pod["status"]["phase"] == "Pending" && !pod["spec"]["nodeSelector"].is_null()).then_some(())
    });
    home.wild("app deploy stonedb", 0);
    home.wild("app wait stonedb --timeout 2s", 5);
    only_pending(&home.told(&first, DEPLOY));

    // A commit that takes over closes the one before, which nobody will ever see healthy.
    let second = home.push("chore(stonedb): wait longer", &[(FILE, "replicas: 1", "replicas: 1 # one is enough")]);
    only_pending(&home.tells(&first, DEPLOY, "warning"));
    home.wild("app wait stonedb --timeout 2s", 5);
    until("the forge knows of it", || (!home.told(&second, DEPLOY).is_empty()).then_some(()));
    only_pending(&home.told(&second, DEPLOY));

    home.plane.kubectl(&["label", "node", "kwok-0", "example.org/room=free"]).unwrap();
    only_pending(&home.tells(&second, DEPLOY, "success"));
    assert_eq!(home.told(&first, DEPLOY).last().map(String::as_str), Some("warning"));
    home.becomes(&DATABASE, &[("/status/readyReplicas", json!(1))]);
}

fn only_pending(told: &[String]) {
    assert!(!told.is_empty() && told.iter().all(|state| state == "pending"), "{told:?}");
}

/// With policy `report` nothing is put back: the person who changed it, or we when asked, must.
fn red_while_the_cluster_differs(home: &Home) {
    let settings = home.file(SETTINGS);
    let head = home.push("chore: look first", &[(SETTINGS, &settings, &format!("{settings}drift: report\n"))]);
    home.tells(&head, DEPLOY, "success");
    home.tells(&head, DRIFT, "success");
    let scale =
        |replicas: &str| home.plane.kubectl(&["-n", "stonedb", "scale", "statefulset/stonedb", replicas]).unwrap();
    scale("--replicas=3");
    home.tells(&head, DRIFT, "failure");
    home.becomes(&DATABASE, &[("/spec/replicas", json!(3))]);
    scale("--replicas=1");
    home.tells(&head, DRIFT, "success");
    scale("--replicas=2");
    home.tells(&head, DRIFT, "failure");
    home.wild("drift revert stonedb", 0);
    home.tells(&head, DRIFT, "success");
    home.becomes(&DATABASE, &[("/spec/replicas", json!(1))]);
    assert_eq!(home.told(&head, DRIFT), ["success", "failure", "success", "failure", "success"]);
    assert_eq!(home.pull(), head, "none of that makes a commit");
}

/// A value of the cluster that a person adopts is in git, on the forge, and no difference any more.
fn green_once_the_cluster_is_adopted(home: &Home) {
    let before = home.pull();
    home.plane.kubectl(&["-n", "stonedb", "scale", "statefulset/stonedb", "--replicas=2"]).unwrap();
    home.tells(&before, DRIFT, "failure");
    let shown = home.wild("drift adopt stonedb --dry-run", 0);
    assert!(shown.contains("~ apps/stonedb/statefulset.yaml") && home.pull() == before, "{shown}");
    home.wild("drift adopt stonedb StatefulSet/stonedb spec.template", 2);
    home.wild("drift adopt stonedb --branch", 0);
    let reviewed = home.in_clone(&["ls-remote", "origin", "refs/heads/wild/drift/stonedb"]);
    assert!(reviewed.ends_with("refs/heads/wild/drift/stonedb") && home.pull() == before, "{reviewed}");
    home.wild("drift adopt stonedb", 0);
    let head = home.pull();
    assert_eq!(home.in_clone(&["diff", "--name-only", &before, &head]), FILE);
    assert!(home.file(FILE).contains("replicas: 2 # one is enough"), "{}", home.file(FILE));
    home.tells(&head, DRIFT, "success");
    home.tells(&head, DEPLOY, "success");
    home.becomes(&DATABASE, &[("/spec/replicas", json!(2)), ("/status/readyReplicas", json!(2))]);
    home.wild("drift adopt stonedb", 2);
}

/// A forge takes any push, so what our own hooks would have refused is said on the commit.
fn red_while_nothing_can_be_read(home: &Home) {
    let broken = home.push("chore: a typo", &[(SETTINGS, "drift: report", "drift: repot")]);
    home.tells(&broken, DEPLOY, "failure");
    let why = home.sentence(&broken, DEPLOY);
    assert!(why.contains(".wild/config.yaml") && why.contains("repot"), "{why}");
    let mended = home.push("fix: the typo", &[(SETTINGS, "drift: repot", "drift: correct")]);
    home.tells(&mended, DEPLOY, "success");
}

/// History that a person rewrites on the forge is a person's to judge; until then it is told and nothing is pushed there.
fn nothing_is_pushed_over(home: &Home) {
    home.wild("status --exit-code", 0);
    let head = home.pull();
    let to = |commit: &str| home.in_clone(&["push", "-q", "--force", "origin", &format!("{commit}:refs/heads/main")]);
    to("HEAD~1");
    let back = home.on_forge("refs/heads/main");
    until("it is told", || home.wild_says("status --exit-code", 1).then_some(()));
    let told = home.wild("status", 0);
    assert!(told.contains("the remote is not followed: the remote went back"), "{told}");
    assert_eq!(home.revision("home.git", "main"), head);
    assert!(back.is_some() && home.on_forge("refs/heads/main") == back);
    to(&head);
    until("it is followed again", || home.wild_says("status --exit-code", 0).then_some(()));
}
