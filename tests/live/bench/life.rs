//! What happens to apps that are there: the same again, one commit, edits of the cluster, nothing at all, and a restart.
//!
//! Not here: bringing them there (`install.rs`).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::Size;
use crate::daemon::{Daemon, pause};
use crate::figures::{Samples, count};
use crate::instance::{Home, config_map, name};
use crate::rig::{Listed, Rig, until_installed};

/// Runs everything on one control plane.
pub(crate) fn run(size: &Size) {
    let rig = Rig::start();
    let (home, mut daemon) = rig.with_daemon(Listed::Yes);
    home.write_apps(size.apps, "1");
    home.commit("install");
    home.push();
    rig.runtime.block_on(async {
        until_installed(&rig.api, size.apps).await;
        daemon.until_quiet().await;
    });
    println!("life: {} apps of five objects each", size.apps);
    rig.runtime.block_on(idle(&rig, &daemon, size));
    rig.runtime.block_on(commits(&rig, &home, &daemon, size));
    rig.runtime.block_on(edits(&rig, &daemon, size));
    rig.runtime.block_on(again(&rig, &home, &daemon, size));
    restarts(&rig, &mut daemon, size);
}

async fn idle(rig: &Rig, daemon: &Daemon, size: &Size) {
    let (before, cpu) = (rig.plane.requests().len(), daemon.processor_time());
    pause(size.idle).await;
    let time = format!("{:?}", size.idle);
    count("  idle: anonymous memory, MiB", daemon.anonymous_kib() / 1024);
    count(&format!("  idle: requests in {time}"), since(rig, before));
    count(&format!("  idle: processor time in {time}"), format!("{:?}", daemon.processor_time() - cpu));
}

/// A commit that changes one app, from the begin of its push to its object in the cluster.
async fn commits(rig: &Rig, home: &Home, daemon: &Daemon, size: &Size) {
    let mut watch = rig.api.watch("/api/v1/configmaps").await;
    let (mut pushed, mut applied) = (Samples::default(), Samples::default());
    let before = rig.plane.requests().len();
    for round in 0..size.commits {
        let (app, version) = (name(round * 7 % size.apps), format!("commit-{round}"));
        home.write(&format!("apps/{app}/config-map.yaml"), &config_map(&app, &version));
        home.commit("change one app");
        let begun = Instant::now();
        home.push();
        pushed.add(begun.elapsed());
        until(&mut watch, &app, |live| live["data"]["version"] == json!(version)).await;
        applied.add(begun.elapsed());
    }
    daemon.until_quiet().await;
    applied.print("  one commit: begin of the push to applied");
    pushed.print("  one commit: the push alone");
    count("  one commit: requests of all", since(rig, before));
}

/// What somebody does to a live object of an app.
struct Edit {
    /// Where it is sent: the object or a subresource of it.
    path: &'static str,
    /// Under which name.
    manager: &'static str,
    /// The field that is another one by it; of an object that is deleted, its uid.
    pointer: &'static str,
    /// What is sent: the value of the field, nothing where it is taken away.
    value: Option<Value>,
}

const CONFIG_MAP: &str = "/api/v1/namespaces/{}/configmaps/{}";
const SERVICE: &str = "/api/v1/namespaces/{}/services/{}";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/{}/deployments/{}";
const UID: &str = "/metadata/uid";
const MARK: &str = "/metadata/annotations/rewild.dev~1hash";

/// Returns every sort of change of an object that is put back.
fn sorts() -> Vec<Edit> {
    let set = |path, manager, pointer, value| Edit { path, manager, pointer, value: Some(value) };
    let take = |path, pointer| Edit { path, manager: "kubectl-edit", pointer, value: None };
    let edit = |path, pointer, value| set(path, "kubectl-edit", pointer, value);
    vec![
        edit(CONFIG_MAP, "/data/version", json!("edited")),
        edit(SERVICE, "/spec/selector/app", json!("edited")),
        edit(DEPLOYMENT, "/spec/replicas", json!(2)),
        edit(DEPLOYMENT, "/spec/template/spec/containers/0/image", json!("registry.example.org/edited:1")),
        edit(SERVICE, "/spec/ports/0/targetPort", json!(9_090)),
        edit(CONFIG_MAP, "/metadata/labels/tier", json!("edited")),
        edit(CONFIG_MAP, MARK, json!("edited")),
        set(DEPLOYMENT, "kubectl", "/spec/replicas", json!(3)),
        set(CONFIG_MAP, "wild", "/data/version", json!("edited")),
        take(CONFIG_MAP, "/data/version"),
        take(SERVICE, "/metadata/labels/tier"),
        take(CONFIG_MAP, UID),
        take(DEPLOYMENT, UID),
    ]
}

/// Changes of every sort, until they are reported and until they are healed.
async fn edits(rig: &Rig, daemon: &Daemon, size: &Size) {
    let sorts = sorts();
    let mut watches = BTreeMap::new();
    for (path, all) in
        [(CONFIG_MAP, "/api/v1/configmaps"), (SERVICE, "/api/v1/services"), (DEPLOYMENT, "/apis/apps/v1/deployments")]
    {
        watches.insert(path, rig.api.watch(all).await);
    }
    let (mut reported, mut healed) = (Samples::default(), Samples::default());
    let before = rig.plane.requests().len();
    for round in 0..size.edits {
        let app = name(round * 11 % size.apps);
        let edit = &sorts[round % sorts.len()];
        let watch = watches.get_mut(edit.path).unwrap();
        let path = edit.path.replace("{}", &app);
        let was = rig.api.get(&path).await.pointer(edit.pointer).unwrap().clone();
        let known = drifts(daemon, &app).await;
        let begun = Instant::now();
        send(rig, &path, edit).await;
        let told = async {
            // Our own marks come back without a word.
            if edit.pointer == MARK {
                return None;
            }
            while drifts(daemon, &app).await == known {
                pause(Duration::from_millis(2)).await;
            }
            Some(begun.elapsed())
        };
        let mended = async {
            until(watch, &app, |live| live.pointer(edit.pointer) != Some(&was)).await;
            if edit.pointer != UID {
                until(watch, &app, |live| live.pointer(edit.pointer) == Some(&was)).await;
            }
            begun.elapsed()
        };
        let (told, mended) = tokio::join!(told, mended);
        told.into_iter().for_each(|told| reported.add(told));
        healed.add(mended);
    }
    daemon.until_quiet().await;
    reported.print("  edit: sent to reported by the API");
    healed.print("  edit: sent to healed");
    count("  edit: sorts, none missed", sorts.len());
    count("  edit: requests of all", since(rig, before));
}

async fn send(rig: &Rig, path: &str, edit: &Edit) {
    let Edit { manager, pointer, value, .. } = edit;
    let to = format!("{path}?fieldManager={manager}");
    let step = match value {
        Some(value) if *manager == "kubectl" => {
            let scale = format!("{path}/scale?fieldManager={manager}");
            let body = json!({"spec": {"replicas": value}}).to_string();
            rig.api.send(Method::PATCH, &scale, "application/merge-patch+json", body).await;
            return;
        }
        Some(value) => json!([{"op": "replace", "path": pointer, "value": value}]),
        None if *pointer == UID => {
            rig.api.send(Method::DELETE, path, "application/json", String::new()).await;
            return;
        }
        None => json!([{"op": "remove", "path": pointer}]),
    };
    rig.api.send(Method::PATCH, &to, "application/json-patch+json", step.to_string()).await;
}

/// Returns how many drifts of an app were reported so far.
async fn drifts(daemon: &Daemon, app: &str) -> usize {
    let answer = daemon.read(&format!("/apps/{app}/events")).await.unwrap_or_default();
    let events = answer["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    events.iter().filter(|event| event["kind"] == "drift-detected").count()
}

/// Waits for an event that shows an object as it is to be.
async fn until(watch: &mut crate::client::Watch, app: &str, is_meant: impl Fn(&Value) -> bool) {
    loop {
        let object = watch.next().await.expect("the watch goes on");
        if object["metadata"]["name"] == app && is_meant(&object) {
            return;
        }
    }
}

/// Makes every app be looked at again although nothing of it changed.
async fn again(rig: &Rig, home: &Home, daemon: &Daemon, size: &Size) {
    let (before, passes) = (rig.plane.requests().len(), daemon.passes().await.unwrap());
    home.write(
        ".wild/config.yaml",
        "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: bench00001\nreconcile: {interval: 20m}\n",
    );
    home.commit("touch the settings");
    home.push();
    let begun = Instant::now();
    daemon.until_passed(passes.ended + u64::try_from(size.apps).unwrap()).await;
    count("  same again: all apps passed after", format!("{:?}", begun.elapsed()));
    count("  same again: requests", since(rig, before));
}

/// Ends the daemon as a crash would, with and without losing its store.
fn restarts(rig: &Rig, daemon: &mut Daemon, size: &Size) {
    for (what, lost) in [("store kept", false), ("store lost", true)] {
        let before = rig.plane.requests().len();
        daemon.end();
        if lost {
            for file in ["wild.db", "wild.db-wal", "wild.db-shm"] {
                std::fs::remove_file(rig.scratch.path().join("state").join(file)).ok();
            }
        }
        let begun = Instant::now();
        daemon.start_again(&rig.scratch);
        rig.runtime.block_on(daemon.until_passed(u64::try_from(size.apps).unwrap()));
        count(&format!("  restart, {what}: all apps passed after"), format!("{:?}", begun.elapsed()));
        rig.runtime.block_on(daemon.until_quiet());
        count(&format!("  restart, {what}: requests"), since(rig, before));
        count(&format!("  restart, {what}: anonymous memory, MiB"), daemon.anonymous_kib() / 1024);
        rig.runtime.block_on(pause(size.idle));
        let time = format!("{:?}", size.idle);
        count(&format!("  restart, {what}: the same {time} later, MiB"), daemon.anonymous_kib() / 1024);
    }
}

/// Returns how many requests of each shape the daemon has sent since there were so many.
fn since(rig: &Rig, before: usize) -> String {
    let mut shapes: BTreeMap<String, usize> = BTreeMap::new();
    for shape in rig.plane.requests().into_iter().skip(before) {
        let short = shape.split(" ?").next().unwrap_or_default().to_owned();
        *shapes.entry(short).or_default() += 1;
    }
    if shapes.is_empty() {
        "none".to_owned()
    } else {
        shapes.iter().map(|(shape, number)| format!("{shape} {number}  ")).collect()
    }
}
