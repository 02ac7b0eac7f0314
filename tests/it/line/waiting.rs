//! Requirements, health before success, secrets.

use rewild::model::{OperationState, Request};
use rewild::pipeline;

use super::{add, deploy, installed};
use crate::world::{World, app};

const CONFIG: &str = "/api/v1/namespaces/stonedb/configmaps/stonedb-config";
const LIST: &str = "apps/stonedb/kustomization.yaml";
const EXTRA: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: extra
spec:
  selector:
    matchLabels: {part: extra}
  template:
    metadata:
      labels: {part: extra}
    spec:
      containers:
      - name: extra
        image: registry.example.org/extra:1
";
const BLOG: &str = "/apis/apps/v1/namespaces/quillblog/deployments/quillblog";

#[tokio::test(flavor = "multi_thread")]
async fn an_app_waits_for_what_it_requires_and_is_released_by_itself() {
    let world = World::start(&["stonedb 15.5"]).await;
    world.cluster.hold_ready("stonedb", "stonedb");
    world.done(add("stonedb", &[])).await;
    world.done(add("quillblog", &[])).await;
    world.done(deploy("stonedb")).await;
    let ended = world.ask(deploy("quillblog")).await;
    assert_eq!(ended.state, OperationState::Succeeded, "{ended:#?}");
    let state = world.state("quillblog").await.unwrap();
    assert_eq!((state.intent.as_str(), state.reason.as_str()), ("blocked", "RequirementNotReady"), "{state:#?}");
    assert_eq!(world.get(BLOG).await, None);
    world.cluster.release_ready("stonedb", "stonedb");
    world.healthy("stonedb").await;
    world.healthy("quillblog").await;
    assert!(world.get(BLOG).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_status_says_success_before_health_was_seen() {
    let world = World::start(&["stonedb 15.5"]).await;
    world.cluster.hold_ready("stonedb", "stonedb");
    world.done(add("stonedb", &[])).await;
    world.done(deploy("stonedb")).await;
    let head = world.head().await;
    world
        .until("it is applied", async || world.state("stonedb").await.is_some_and(|state| state.intent == "applied"))
        .await;
    for _ in 0..3 {
        world.look_again("stonedb").await;
        assert_eq!(world.status(&head, "wild/deploy").await.as_deref(), Some("pending"));
    }
    world.cluster.release_ready("stonedb", "stonedb");
    world
        .until("the status is success", async || world.status(&head, "wild/deploy").await.as_deref() == Some("success"))
        .await;
    assert_eq!(world.state("stonedb").await.unwrap().health, "healthy");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_value_is_in_git() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "quillblog"]).await;
    let secrets = world.handle.instance().secrets.read().unwrap();
    let values: Vec<String> = secrets
        .paths()
        .map(|path| secrets.get(path).unwrap().expose(rewild::model::Purpose::RequestBody).to_owned())
        .collect();
    assert!(values.len() >= 5, "{}", values.len());
    // Every object, also what no ref reaches.
    let (done, list) = world.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)"]);
    assert!(done);
    let mut read = 0;
    for line in list.lines() {
        let (kind, id) = line.split_once(' ').unwrap();
        if kind != "tree" {
            let text = world.git(&["cat-file", kind, id]).1;
            assert!(values.iter().all(|value| !text.contains(value.as_str())), "{kind} {id} holds a secret value");
            read += 1;
        }
    }
    assert!(read > 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_value_pasted_into_the_config_is_refused_before_it_is_in_git() {
    let world = World::start(&["stonedb 15.5"]).await;
    world.done(add("stonedb", &[])).await;
    let head = world.head().await;
    let secrets = world.handle.instance().secrets.read().unwrap();
    let value = secrets.get("apps.stonedb.password").unwrap().expose(rewild::model::Purpose::RequestBody).to_owned();
    let set = [("timezone".to_owned(), serde_json::Value::from(value.as_str()))].into();
    let ended = world.ask(Request::Config { app: app("stonedb"), set, unset: Vec::new() }).await;
    let refusal = ended.refusal.unwrap();
    let ids: std::collections::BTreeSet<&str> = refusal.diagnostics.iter().map(|it| it.id.as_str()).collect();
    assert_eq!((ended.state, ids.into_iter().collect::<Vec<_>>()), (OperationState::Failed, vec!["P063"]));
    assert!(!format!("{refusal:?}").contains(&value));
    assert_eq!(world.head().await, head);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_cannot_be_read_turn_their_commit_red_until_they_can() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    let status = async |commit| world.status(&commit, "wild/deploy").await;
    let text = world.file("main", ".wild/config.yaml").await.unwrap();
    let broken = world.push("break it", &[(".wild/config.yaml", Some(&format!("{text}drift: sometimes\n")))]).await;
    world.until("the commit is red", async || status(broken.clone()).await.as_deref() == Some("failure")).await;
    // A pass of the commit before may end only now.
    pipeline::update_statuses(world.handle.instance()).await.unwrap();
    assert_eq!(status(broken.clone()).await.as_deref(), Some("failure"), "what is known of apps is not known of it");
    let mended = world.push("mend it", &[(".wild/config.yaml", Some(&format!("{text}drift: report\n")))]).await;
    world.until("the next one is green", async || status(mended.clone()).await.as_deref() == Some("success")).await;
    assert_eq!(status(broken).await.as_deref(), Some("failure"), "and stays so");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_cannot_be_read_stop_no_app_and_no_start() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    let text = world.file("main", ".wild/config.yaml").await.unwrap();
    world.push("break it", &[(".wild/config.yaml", Some(&text.replace("kind: Instance", "kind: [")))]).await;
    let pushed = world.edit("apps/stonedb/configmap.yaml", "\ndata:\n", "\ndata:\n  colour: green\n").await;
    let colour =
        async || world.get(CONFIG).await.and_then(|object| object["data"]["colour"].as_str().map(str::to_owned));
    world.until("the app goes on", async || colour().await.as_deref() == Some("green")).await;
    assert_eq!(world.status(&pushed, "wild/deploy").await.as_deref(), Some("failure"));
    world.restart().await;
    world.edit("apps/stonedb/configmap.yaml", "colour: green", "colour: blue").await;
    let colour =
        async || world.get(CONFIG).await.and_then(|object| object["data"]["colour"].as_str().map(str::to_owned));
    world.until("the app goes on after a restart", async || colour().await.as_deref() == Some("blue")).await;
    let mended = world.push("mend it", &[(".wild/config.yaml", Some(&text))]).await;
    world.until("all is well", async || world.status(&mended, "wild/deploy").await.as_deref() == Some("success")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_on_a_commit_that_nobody_looked_at_yet_is_not_that_of_the_one_before() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    world.cluster.hold_ready("stonedb", "extra");
    let list = world.file("main", LIST).await.unwrap();
    let list = list.replace("- service.yaml", "- service.yaml\n  - extra.yaml");
    let files = [(LIST, Some(list.as_str())), ("apps/stonedb/extra.yaml", Some(EXTRA))];
    let pushed = world.push("one workload more", &files).await;
    // As the end of a pass does that began before the push.
    pipeline::update_statuses(world.handle.instance()).await.unwrap();
    assert_eq!(world.status(&pushed, "wild/deploy").await.as_deref(), Some("pending"));
    world.look_again("stonedb").await;
    assert_eq!(world.status(&pushed, "wild/deploy").await.as_deref(), Some("pending"));
    world.cluster.release_ready("stonedb", "extra");
    world
        .until("it is success", async || world.status(&pushed, "wild/deploy").await.as_deref() == Some("success"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_leaves_an_app_as_it_is_takes_nothing_back_that_a_pass_found() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    world.push("another app", &[("apps/other/kustomization.yaml", Some("resources: []\n"))]).await;
    pipeline::seen(world.handle.instance()).await.unwrap();
    assert_eq!(world.state("stonedb").await.unwrap().intent, "applied");
}
