//! The slow audit: how much it asks, whose turn it is, and what becomes of a difference that no managed field shows.

use std::collections::BTreeSet;
use std::time::Duration;

use rewild::model::{EventKind, ObjectId, Record, Request};
use serde_json::{Value, json};

use super::installed;
use crate::commits::step;
use crate::world::{World, app};

const HOUR: Duration = Duration::from_secs(3600);
/// Objects of the app: its namespace and what its files hold.
const OBJECTS: usize = 3;

async fn records(world: &World) -> Vec<Record> {
    let instance = world.handle.instance();
    let inventory = instance.store.inventory(&instance.id, &app("hand")).await.unwrap();
    inventory.records().cloned().collect()
}

async fn audited(world: &World) -> BTreeSet<(ObjectId, String)> {
    let audited = records(world).await.into_iter().filter(|record| !record.audited.is_empty());
    audited.map(|record| (record.id, record.audited)).collect()
}

/// Sets the share that is compared in an hour.
async fn set_percent(world: &World, percent: u8) {
    let text = world.file("main", ".wild/config.yaml").await.unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("audit:")).collect();
    let text = format!("{}\naudit: {{percentPerHour: {percent}}}\n", kept.join("\n"));
    let head = world.push("audit", &[(".wild/config.yaml", Some(&text))]).await;
    let follows = async || world.status(&head, "wild/deploy").await.as_deref() == Some("success");
    world.until("the setting is in force", follows).await;
}

/// Lets an hour go by and the daemon look at its clock.
async fn hour(world: &World) {
    step::<0>(HOUR);
    world.look_again("hand").await;
}

fn value(object: Option<Value>, path: &str) -> Value {
    object.unwrap_or_default().pointer(path).cloned().unwrap_or_default()
}

/// One test, because all that step the clock step the same one.
#[tokio::test(flavor = "multi_thread")]
async fn each_hour_a_share_is_compared_and_what_nothing_else_shows_is_found() {
    shares_and_corrections().await;
    reports().await;
}

async fn shares_and_corrections() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    let files = [
        ("apps/hand/kustomization.yaml", Some("namespace: hand\nresources: [kept.yaml, other.yaml]\n")),
        ("apps/hand/kept.yaml", Some("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n")),
        ("apps/hand/other.yaml", Some("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {a: b}\n")),
    ];
    world.restart_stepped::<0>().await;
    world.push("by hand", &files).await;
    world.healthy("hand").await;
    assert_eq!(records(&world).await.len(), OBJECTS);

    set_percent(&world, 0).await;
    let before = world.requests().len();
    hour(&world).await;
    hour(&world).await;
    assert_eq!(world.requests().split_off(before), Vec::<String>::new(), "off means off");

    set_percent(&world, 1).await;
    let mut seen = BTreeSet::new();
    for turn in 1..=2 * OBJECTS {
        let before = world.requests().len();
        hour(&world).await;
        world.until("one was compared", async || !audited(&world).await.is_subset(&seen)).await;
        let requests = world.requests().split_off(before);
        assert_eq!(requests.len(), 2, "{requests:#?}");
        assert!(requests[0].starts_with("get ") && requests[1].contains("dryRun=All"), "{requests:#?}");
        seen.extend(audited(&world).await);
        assert_eq!(seen.len(), turn);
        let objects: BTreeSet<&ObjectId> = seen.iter().map(|(id, _)| id).collect();
        assert_eq!(objects.len(), turn.min(OBJECTS), "each has its turn before one has its second");
    }

    // Who has written a moment ago compares what changes then; one that has just begun wrote nothing.
    world.restart_stepped::<0>().await;
    world.healthy("hand").await;
    world.cluster.alter("configmaps", "hand", "kept", |object| object["data"]["a"] = json!("bent"));
    let path = "/api/v1/namespaces/hand/configmaps/kept";
    world.look_again("hand").await;
    assert_eq!(value(world.get(path).await, "/data/a"), "bent", "nothing but the audit can see that");
    set_percent(&world, 100).await;
    hour(&world).await;
    world.until("it is put back", async || value(world.get(path).await, "/data/a") == "b").await;
    let instance = world.handle.instance();
    let found = async || {
        let events = instance.store.events(&instance.id, None, 500).await.unwrap();
        let found = events.into_iter().filter(|event| event.kind == EventKind::AuditMismatch);
        found.map(|event| event.detail).collect::<Vec<_>>()
    };
    assert_eq!(found().await, ["ConfigMap/kept data.a"]);
    let counted =
        async || world.daemon.metrics().encode().contains("wild_audit_mismatch_total{controller=\"home\"} 1\n");
    world.until("the mismatch is counted", counted).await;
    world.healthy("hand").await;

    installed(&world, &["stonedb"]).await;
    let secret = "/api/v1/namespaces/stonedb/secrets/stonedb-secrets";
    let data = value(world.get(secret).await, "/data");
    let (key, kept) = data.as_object().unwrap().iter().next().unwrap();
    world.cluster.alter("secrets", "stonedb", "stonedb-secrets", |object| object["data"][key] = json!("YmVudA=="));
    hour(&world).await;
    world.until("the secret is put back", async || value(world.get(secret).await, "/data") == data).await;
    let all = found().await;
    assert!(all.contains(&format!("Secret/stonedb-secrets data.{key}")), "{all:?}");
    assert!(all.iter().all(|detail| !detail.contains(kept.as_str().unwrap()) && !detail.contains("YmVudA")), "{all:?}");
}

/// A difference that is only reported stays reported.
async fn reports() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    let text = world.file("main", ".wild/config.yaml").await.unwrap();
    let settings = format!("{text}drift: report\naudit: {{percentPerHour: 100}}\n");
    let files = [
        (".wild/config.yaml", Some(settings.as_str())),
        ("apps/hand/kustomization.yaml", Some("namespace: hand\nresources: [kept.yaml]\n")),
        ("apps/hand/kept.yaml", Some("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n")),
    ];
    world.restart_stepped::<0>().await;
    world.push("by hand", &files).await;
    world.healthy("hand").await;
    world.cluster.alter("configmaps", "hand", "kept", |object| object["data"]["a"] = json!("bent"));
    hour(&world).await;
    let drift = async || world.state("hand").await.unwrap().drift;
    world.until("it is shown", async || !drift().await.is_empty()).await;
    let shown = drift().await.remove(0);
    assert_eq!((shown.kind.as_str(), shown.path.as_str()), ("audit-mismatch", "data.a"));
    assert_eq!((shown.desired, shown.live), (Some(json!("b")), Some(json!("bent"))));
    world.look_again("hand").await;
    assert_eq!(drift().await.len(), 1, "another look finds it again");
    world.done(Request::RevertDrift { app: app("hand"), objects: Vec::new() }).await;
    let path = "/api/v1/namespaces/hand/configmaps/kept";
    assert_eq!(value(world.get(path).await, "/data/a"), "b");
    world.look_again("hand").await;
    world.until("it is gone", async || drift().await.is_empty()).await;
}
