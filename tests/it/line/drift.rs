//! Differences of the cluster from git, and objects of other tools.

use std::process::Command;

use rewild::model::{Branch, IgnoreRule, OperationOutcome, OperationState, Request};
use serde_json::json;

use super::{add, deploy, installed};
use crate::world::{World, app};

const STONEDB: &str = "/apis/apps/v1/namespaces/stonedb/statefulsets/stonedb";

#[tokio::test(flavor = "multi_thread")]
async fn reported_drift_is_shown_and_not_healed_until_somebody_asks() {
    let world = World::start(&["stonedb 15.5"]).await;
    world.set("drift: report\n").await;
    installed(&world, &["stonedb"]).await;
    world.patch(STONEDB, json!({"spec": {"replicas": 3}})).await;
    world
        .until("the drift is shown", async || world.state("stonedb").await.is_some_and(|state| !state.drift.is_empty()))
        .await;
    let state = world.state("stonedb").await.unwrap();
    let drift = &state.drift[0];
    assert_eq!((drift.path.as_str(), drift.manager.as_str()), ("spec.replicas", "kubectl-edit"));
    assert_eq!((&drift.desired, &drift.live), (&Some(json!(1)), &Some(json!(3))));
    let head = world.head().await;
    world
        .until("the status says so", async || world.status(&head, "wild/drift").await.as_deref() == Some("failure"))
        .await;
    world.look_again("stonedb").await;
    assert_eq!(world.get(STONEDB).await.unwrap().pointer("/spec/replicas"), Some(&json!(3)));
    world.done(Request::RevertDrift { app: app("stonedb"), objects: Vec::new() }).await;
    assert_eq!(world.get(STONEDB).await.unwrap().pointer("/spec/replicas"), Some(&json!(1)));
    world.healthy("stonedb").await;
    world
        .until("the status is good again", async || {
            world.status(&head, "wild/drift").await.as_deref() == Some("success")
        })
        .await;
    assert!(world.state("stonedb").await.unwrap().drift.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_that_a_person_leaves_to_others_is_drift_no_more() {
    let world = World::start(&["stonedb 15.5"]).await;
    world.set("drift: report\n").await;
    installed(&world, &["stonedb"]).await;
    world.patch(STONEDB, json!({"spec": {"replicas": 3}})).await;
    world
        .until("the drift is shown", async || world.state("stonedb").await.is_some_and(|state| !state.drift.is_empty()))
        .await;
    let shown = world.state("stonedb").await.unwrap().drift.remove(0);
    let rule = IgnoreRule {
        kind: shown.object.kind.clone(),
        name: shown.object.name.clone(),
        paths: vec![shown.path],
        ..IgnoreRule::default()
    };
    world.done(Request::IgnoreDrift { app: app("stonedb"), rule }).await;
    let settings = world.file("main", ".wild/config.yaml").await.unwrap();
    assert!(settings.contains("- /spec/replicas"), "{settings}");
    world
        .until("it is drift no more", async || {
            world.state("stonedb").await.is_some_and(|state| state.drift.is_empty() && state.health == "healthy")
        })
        .await;
    let head = world.head().await;
    world
        .until("the status is good", async || world.status(&head, "wild/drift").await.as_deref() == Some("success"))
        .await;
    // Neither a look nor a person who writes the whole object takes the field back.
    world.look_again("stonedb").await;
    world.done(deploy("stonedb")).await;
    assert_eq!(world.get(STONEDB).await.unwrap().pointer("/spec/replicas"), Some(&json!(3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_that_a_person_adopts_is_what_git_says_from_then_on() {
    let world = World::start(&["stonedb 15.5"]).await;
    world.set("drift: report\n").await;
    installed(&world, &["stonedb"]).await;
    let path = "apps/stonedb/statefulset.yaml";
    let before = world.file("main", path).await.unwrap();
    world.patch(STONEDB, json!({"spec": {"replicas": 3}})).await;
    world
        .until("the drift is shown", async || world.state("stonedb").await.is_some_and(|state| !state.drift.is_empty()))
        .await;
    let fields = world.state("stonedb").await.unwrap().drift;
    world.done(Request::AdoptDrift { app: app("stonedb"), fields, branch: Branch::Deployed }).await;
    assert_eq!(world.file("main", path).await.unwrap(), before.replace("replicas: 1", "replicas: 3"));
    let head = world.head().await;
    let log = world.git(&["log", "-1", "--format=%s%n%b", "main"]).1;
    assert!(log.starts_with("fix(stonedb): adopt replicas of StatefulSet/stonedb\nStatefulSet/stonedb spec.replicas: 1 → 3, by kubectl-edit at "), "{log}");
    world
        .until("it is drift no more", async || {
            world.state("stonedb").await.is_some_and(|state| state.drift.is_empty() && state.health == "healthy")
        })
        .await;
    world
        .until("the status is good", async || world.status(&head, "wild/drift").await.as_deref() == Some("success"))
        .await;
    // From now on the value is ours to keep.
    world.patch(STONEDB, json!({"spec": {"replicas": 2}})).await;
    world
        .until("another value is drift", async || {
            world.state("stonedb").await.is_some_and(|state| {
                state.drift.iter().any(|drift| drift.desired == Some(json!(3)) && drift.live == Some(json!(2)))
            })
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_another_tool_is_held_back_alone() {
    let world = World::start(&["stonedb 15.5"]).await;
    world
        .make(
            "/api/v1/namespaces",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "quickcache"}}),
        )
        .await;
    let foreign = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "quickcache", "annotations": {"meta.helm.sh/release-name": "cache"}},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "theirs:1"}]},
            },
        },
    });
    let path = "/apis/apps/v1/namespaces/quickcache/deployments";
    world.make(path, foreign).await;
    world.done(add("quickcache", &[])).await;
    // The namespace is nobody's, and a person lets the app in.
    let adopting = Request::Deploy { app: app("quickcache"), approve: None, recreate: Vec::new(), adopt: true };
    world.ask(adopting).await;
    world
        .until("the object is held back", async || {
            world.state("quickcache").await.is_some_and(|state| state.reason == "ForeignOwner")
        })
        .await;
    assert!(world.get("/api/v1/namespaces/quickcache/services/quickcache").await.is_some());
    assert!(world.get("/api/v1/namespaces/quickcache/secrets/quickcache-secrets").await.is_some());
    let live = world.get(&format!("{path}/quickcache")).await.unwrap();
    assert_eq!(live.pointer("/spec/template/spec/containers/0/image"), Some(&json!("theirs:1")));
    assert_eq!(live.pointer("/metadata/labels"), None);
}

/// §7.4: what is adopted for review is on a branch of its own until a person merges it; what people commit there is theirs.
#[tokio::test(flavor = "multi_thread")]
async fn drift_that_is_adopted_for_review_waits_on_a_branch_until_a_person_merges_it() {
    const BRANCH: &str = "wild/drift/stonedb";
    const FILE: &str = "apps/stonedb/statefulset.yaml";
    let world = World::start(&["stonedb 15.5"]).await;
    world.set("drift: report\n").await;
    installed(&world, &["stonedb"]).await;
    let (before, head) = (world.file("main", FILE).await.unwrap(), world.head().await);
    let adopt = async |replicas: u64| {
        world.patch(STONEDB, json!({"spec": {"replicas": replicas}})).await;
        let shows = |drift: &rewild::model::DriftState| drift.live == Some(json!(replicas));
        let is_shown = async || world.state("stonedb").await.is_some_and(|state| state.drift.iter().any(shows));
        world.until("the drift is shown", is_shown).await;
        let fields = world.state("stonedb").await.unwrap().drift;
        world.ask(Request::AdoptDrift { app: app("stonedb"), fields, branch: Branch::Review }).await
    };
    for (replicas, parents) in [(3, vec![head.to_string()]), (2, vec![head.to_string(), "old".to_owned()])] {
        let old = world.git(&["rev-parse", BRANCH]).1.trim().to_owned();
        let done = adopt(replicas).await;
        assert_eq!((done.state, done.outcome), (OperationState::Succeeded, Some(OperationOutcome::Changed)));
        assert!(done.message.contains("to have it: git merge wild/drift/stonedb"), "{}", done.message);
        let there = world.file(BRANCH, FILE).await.unwrap();
        assert_eq!(there, before.replace("replicas: 1", &format!("replicas: {replicas}")));
        let parents = parents.join(" ").replace("old", &old);
        assert_eq!(world.git(&["log", "-1", "--format=%P", BRANCH]).1.trim(), parents);
    }
    let tip = world.git(&["rev-parse", BRANCH]).1;
    let again = adopt(2).await;
    assert_eq!(world.git(&["rev-parse", BRANCH]).1, tip, "the same once more is no commit");
    assert_eq!((world.head().await, world.file("main", FILE).await.unwrap()), (head, before));
    assert!(!world.state("stonedb").await.unwrap().drift.is_empty(), "it is a difference as long as nobody merged it");
    let said = crate::both::wild(&world, &format!("wild undo {}", again.id), "").await;
    assert!(said.contains("it is on a branch that nobody has merged"), "{said}");
    let tree = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let person = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"];
        let mut command = Command::new("git");
        command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
        let ran = command.arg("-C").arg(tree.path()).args(person).args(arguments).output().unwrap();
        assert!(ran.status.success(), "git {arguments:?}: {ran:?}");
    };
    git(&["clone", "-q", world.git(&["rev-parse", "--absolute-git-dir"]).1.trim(), "."]);
    git(&["checkout", "-q", BRANCH]);
    std::fs::write(tree.path().join("apps/stonedb/NOTES.md"), "two are enough\n").unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "why"]);
    git(&["push", "-q", "origin", BRANCH]);
    let refused = adopt(4).await;
    let because = refused.refusal.map(|refusal| refusal.because).unwrap_or_default();
    assert!(because.contains("wild/drift/stonedb holds commits of people"), "{because}");
    git(&["checkout", "-q", "main"]);
    git(&["merge", "-q", "--no-edit", BRANCH]);
    git(&["push", "-q", "origin", "main"]);
    world.until("the branch is gone", async || !world.git(&["rev-parse", "-q", "--verify", BRANCH]).0).await;
    assert!(world.file("main", FILE).await.unwrap().contains("replicas: 2"));
    assert!(world.file("main", "apps/stonedb/NOTES.md").await.is_some());
}
