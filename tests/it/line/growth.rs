//! What a pass costs does not grow with the number of the other apps. Counted, not timed.

use std::collections::BTreeSet;

use rewild::model::{InstanceId, ObjectId};
use rewild::sandbox::{self, Sandbox};
use rewild::target::{Access, Cluster, Kind, Target};

use super::{add, deploy};
use crate::commits::clock;
use crate::world::World;

/// Apps beside the one that is changed.
const APPS: usize = 40;
/// Passes that wait at the same moment.
const WAITING: usize = 20;

fn config_map(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {name}}}\ndata: {{value: \"{value}\"}}\n"
    )
}

/// Waits until an app is applied from the head.
async fn applied(world: &World, name: &str) {
    let head = world.head().await;
    let is_applied = async || world.state(name).await.is_some_and(|state| state.applied.as_ref() == Some(&head));
    world.until(&format!("{name} is applied"), is_applied).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_to_one_app_reads_that_app_alone() {
    let world = World::start(&["stonedb 15.5"]).await;
    let names: Vec<String> = (0..APPS).map(|app| format!("app-{app}")).collect();
    let files: Vec<[(String, String); 3]> = names
        .iter()
        .map(|name| {
            let list = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [config.yaml]\n";
            let path = |file: &str| format!("apps/{name}/{file}");
            let manifest = format!("name: {name}\nis: {name}\nversion: \"1\"\ndescription: one of many\n");
            [
                (path("kustomization.yaml"), list.to_owned()),
                (path("config.yaml"), config_map(name, "1")),
                (path("manifest.yaml"), manifest),
            ]
        })
        .collect();
    let changes: Vec<(&str, Option<&str>)> =
        files.iter().flatten().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
    world.push("forty apps", &changes).await;
    for name in &names {
        world.healthy(name).await;
    }
    let read = || world.handle.instance().repository.files_read();
    let before = read();
    world.push("one app", &[("apps/app-7/config.yaml", Some(&config_map("app-7", "2")))]).await;
    applied(&world, "app-7").await;
    world.healthy("app-7").await;
    let path = "/api/v1/namespaces/app-7/configmaps/app-7";
    assert_eq!(world.get(path).await.unwrap()["data"]["value"], "2");
    let more = read() - before;
    assert!(more < u64::try_from(APPS).unwrap(), "{more} files were read");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_compiled_again_from_what_led_to_nothing() {
    let world = World::start(&["stonedb 15.5"]).await;
    world.done(add("stonedb", &[])).await;
    world.done(deploy("stonedb")).await;
    world.healthy("stonedb").await;
    world.look_again("stonedb").await;
    let generated = world.file("main", ".wild/generated/stonedb.yaml").await.unwrap();
    let repository = &world.handle.instance().repository;
    let own = repository.read_tree(&world.head().await, &["apps/stonedb"]).await.unwrap().len();
    let before = repository.files_read();
    world.look_again("stonedb").await;
    let more = repository.files_read() - before;
    // Its own files and the manifest upstream; a compile reads its generation as well.
    assert!(more <= u64::try_from(own).unwrap() + 1, "{more} files were read of {own}");
    // What it is made from has changed, so it is compiled.
    world.edit("config.yaml", "timezone: UTC", "timezone: Europe/Rome").await;
    world
        .until("the files follow the config", async || {
            let record = world.file("main", ".wild/generated/stonedb.yaml").await;
            record.is_some_and(|record| record != generated)
        })
        .await;
}

// On one thread: no answer comes before all have begun to wait.
#[tokio::test]
async fn passes_that_bring_namespaces_at_the_same_moment_share_one_write_of_the_apply_set() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("audit.log");
    let settings = sandbox::Settings { audit_log: Some(log.clone()), ..sandbox::Settings::default() };
    let sandbox = Sandbox::start(settings).await.unwrap();
    let access = Access::Text(sandbox.kubeconfig());
    let instance = InstanceId::parse("k3f7q2m5xd").unwrap();
    let cluster = Cluster::connect(&access, &instance, "wild-system", clock).await.unwrap();
    let kinds = BTreeSet::from([Kind { group: String::new(), version: "v1".into(), kind: "ConfigMap".into() }]);
    let namespaces: Vec<BTreeSet<String>> = (0..WAITING).map(|app| BTreeSet::from([format!("app-{app}")])).collect();
    let grown = namespaces.iter().map(|namespace| cluster.grow_apply_set(&kinds, namespace));
    for result in futures::future::join_all(grown).await {
        result.unwrap();
    }
    cluster.grow_apply_set(&kinds, &namespaces[7]).await.unwrap();
    let audit = std::fs::read_to_string(log).unwrap();
    let of_parents = audit.lines().filter(|line| line.contains("/configmaps")).count();
    assert_eq!(of_parents, 2, "one read and one write:\n{audit}");
    let id = ObjectId::new("", "ConfigMap", "wild-system", "wild-k3f7q2m5xd");
    let parent = cluster.get(&id, "v1").await.unwrap().unwrap();
    let named = parent.annotation("applyset.kubernetes.io/additional-namespaces").unwrap();
    assert_eq!(named.split(',').count(), WAITING);
    sandbox.stop().await;
}
