//! Config, updates with and without conflicts, roll-back.

use rewild::model::{Decision, Request, Take};
use serde_json::json;

use super::{add, deploy, installed, update};
use crate::commits::commit;
use crate::world::{World, app};

const SERVER: &str = "apps/photobox/server-deployment.yaml";
const SERVER_PATH: &str = "/apis/apps/v1/namespaces/photobox/deployments/photobox-server";
const STONEDB: &str = "/apis/apps/v1/namespaces/stonedb/statefulsets/stonedb";

async fn first_parents(world: &World, from: &rewild::model::CommitId) -> usize {
    let (done, text) = world.git(&["rev-list", "--count", "--first-parent", &format!("{from}..main")]);
    assert!(done);
    text.trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_config_change_is_one_commit_that_is_applied() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    let before = world.head().await;
    let set = [("timezone".to_owned(), json!("Europe/Berlin"))].into();
    world.done(Request::Config { app: app("stonedb"), set, unset: Vec::new() }).await;
    assert_eq!(first_parents(&world, &before).await, 1);
    assert!(world.file("main", "config.yaml").await.unwrap().contains("Europe/Berlin"));
    assert!(world.file("main", "apps/stonedb/statefulset.yaml").await.unwrap().contains("Europe/Berlin"));
    world.healthy("stonedb").await;
    assert!(world.get(STONEDB).await.unwrap().to_string().contains("Europe/Berlin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pushed_config_change_is_followed_by_one_commit() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    let pushed = world.edit("config.yaml", "timezone: UTC", "timezone: Europe/Rome").await;
    world
        .until("the files follow the config", async || {
            world.get(STONEDB).await.unwrap().to_string().contains("Europe/Rome")
        })
        .await;
    world.healthy("stonedb").await;
    assert_eq!(first_parents(&world, &pushed).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_update_keeps_the_customisation() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "replicas: 1", "replicas: 2").await;
    world
        .until("the customisation is applied", async || {
            world.get(SERVER_PATH).await.unwrap().pointer("/spec/replicas") == Some(&json!(2))
        })
        .await;
    world.publish("photobox 1.1").await;
    let before = world.head().await;
    world.done(update("photobox")).await;
    assert_eq!(first_parents(&world, &before).await, 1);
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("replicas: 2") && text.contains("photobox/server:1.1"), "{text}");
    world.healthy("photobox").await;
    let live = world.get(SERVER_PATH).await.unwrap();
    assert_eq!(live.pointer("/spec/replicas"), Some(&json!(2)));
    assert!(live.to_string().contains("photobox/server:1.1"));
    assert_eq!(world.state("photobox").await.unwrap().version, "1.1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflicting_update_waits_on_its_branch_until_it_is_resolved() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "cpu: 100m", "cpu: 200m").await;
    world
        .until("the customisation is applied", async || {
            world.get(SERVER_PATH).await.unwrap().to_string().contains("200m")
        })
        .await;
    world.healthy("photobox").await;
    world.publish("photobox 1.1").await;
    let before = world.head().await;
    world.done(update("photobox")).await;
    assert_eq!(world.head().await, before);
    assert!(world.repository.head("wild/update/photobox").await.unwrap().is_some());
    let state = world.state("photobox").await.unwrap();
    assert_eq!((state.conflicts, state.intent.as_str()), (1, "applied"), "what is committed is what runs: {state:#?}");
    assert!(world.file("wild/update/photobox", ".wild/conflicts/photobox.yaml").await.is_some());

    // Another app goes on meanwhile.
    world.done(add("quillblog", &[])).await;
    world.done(deploy("quillblog")).await;
    world.healthy("quillblog").await;
    assert_eq!(world.state("photobox").await.unwrap().conflicts, 1);

    let decisions = vec![Decision::new(None, Take::Mine)];
    world.done(Request::Resolve { app: app("photobox"), decisions }).await;
    world.healthy("photobox").await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("cpu: 200m") && text.contains("photobox/server:1.1"), "{text}");
    assert_eq!(world.repository.head("wild/update/photobox").await.unwrap(), None);
    assert_eq!(world.file("main", ".wild/conflicts/photobox.yaml").await, None);
    assert!(world.git(&["merge-base", "--is-ancestor", "refs/wild/generated/photobox", "main"]).0);
    assert_eq!(world.state("photobox").await.unwrap().conflicts, 0);

    // Git lists objects before it walks the refs, so what is written meanwhile would be called missing.
    world.stop().await;
    let (sound, findings) = world.git(&["fsck", "--strict"]);
    assert!(sound, "{findings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn config_that_changes_while_an_update_waits_is_deployed_at_once_and_stays() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "cpu: 100m", "cpu: 200m").await;
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    let holds = |text: &str, words: [&str; 3]| assert!(words.iter().all(|word| text.contains(word)), "{text}");
    let set = [("port".to_owned(), json!("2400"))].into();
    world.done(Request::Config { app: app("photobox"), set, unset: Vec::new() }).await;
    let text = world.file("main", SERVER).await.unwrap();
    holds(&text, ["containerPort: 2400", "photobox/server:1.0", "cpu: 200m"]);
    assert_eq!(world.state("photobox").await.unwrap().conflicts, 1);
    let decisions = vec![Decision::new(None, Take::Mine)];
    world.done(Request::Resolve { app: app("photobox"), decisions }).await;
    let text = world.file("main", SERVER).await.unwrap();
    holds(&text, ["containerPort: 2400", "photobox/server:1.1", "cpu: 200m"]);
    let of = |name: &str| world.git(&["rev-parse", name]).1;
    assert_eq!(of("main^2"), of("refs/wild/generated/photobox"));
    let before = world.head().await;
    world.done(update("photobox")).await;
    assert_eq!(world.head().await, before, "there is nothing left to merge");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_committed_to_the_update_branch_stays_in_history() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "cpu: 100m", "cpu: 200m").await;
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    let branch = "wild/update/photobox";
    let settings = "apps/photobox/configmap.yaml";
    let text = world.file(branch, settings).await.unwrap();
    let text = format!("# Reviewed.\n{text}");
    let reviewed = commit(&world.repository, branch, "reviewed", &[(settings, Some(&text))]).await;
    let decisions = vec![Decision::new(None, Take::Mine)];
    world.done(Request::Resolve { app: app("photobox"), decisions }).await;
    assert_eq!(world.repository.head(branch).await.unwrap(), None);
    assert!(world.file("main", settings).await.unwrap().starts_with("# Reviewed.\n"));
    let reviewed = reviewed.to_string();
    assert!(world.git(&["merge-base", "--is-ancestor", &reviewed, "main"]).0);
    let second = |name: &str| world.git(&["rev-parse", name]).1;
    assert_eq!(second("main^2"), second("refs/wild/generated/photobox"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customisation_is_rolled_back() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    let to = world.head().await;
    world.edit("apps/stonedb/statefulset.yaml", "cpu: 100m", "cpu: 250m").await;
    let holds = async |text: &str| world.get(STONEDB).await.unwrap().to_string().contains(text);
    world.until("the customisation is applied", async || holds("250m").await).await;
    world.done(Request::Rollback { app: app("stonedb"), to, reason: "too much".into(), undoes: None }).await;
    world.until("it is gone", async || !holds("250m").await).await;
    world.healthy("stonedb").await;
    assert!(!world.file("main", "apps/stonedb/statefulset.yaml").await.unwrap().contains("250m"));
    let (_, subject) = world.git(&["log", "-1", "--format=%s", "main"]);
    assert!(subject.starts_with("rollback(stonedb)"), "{subject}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_to_a_version_is_read_from_the_history_of_the_upstream() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    let manifest = async || {
        let head = world.upstream.head("main").await.unwrap().unwrap();
        let tree = world.upstream.read_tree(&head, &["stonedb/manifest.yaml"]).await.unwrap();
        tree.text("stonedb/manifest.yaml").unwrap().to_owned()
    };
    // The second commit of 15.8 opens it; the one before said another way.
    let first = manifest().await;
    for (version, from) in [("15.8", ">=15.7"), ("15.8", ">=15.4 <15.8"), ("15.9", ">=15.8 <15.9")] {
        let text = first.replace("version: \"15.4\"", &format!("version: \"{version}\""));
        assert_ne!(text, first);
        let text = format!("{text}upgradePath:\n- from: \"{from}\"\n");
        let message = format!("stonedb {version}");
        commit(&world.upstream, "main", &message, &[("stonedb/manifest.yaml", Some(&text))]).await;
    }
    world.fetch().await;
    let ended = world.ask(update("stonedb")).await;
    let refusal = ended.refusal.unwrap();
    assert!(refusal.because.contains("the way is 15.8, 15.9"), "{refusal:#?}");
    for version in ["15.8", "15.9"] {
        world
            .done(Request::Update { app: app("stonedb"), to: Some(version.to_owned()), take: None, grants: Vec::new() })
            .await;
        assert_eq!(world.state("stonedb").await.unwrap().version, version);
    }
}
