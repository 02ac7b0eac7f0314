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
        until_is(&mut watch, &app, "/data/version", &json!(version)).await;
        applied.add(begun.elapsed());
    }
    daemon.until_quiet().await;
    applied.print("  one commit: begin of the push to applied");
    pushed.print("  one commit: the push alone");
    count("  one commit: requests of all", since(rig, before));
}

/// Edits as `kubectl edit` makes them, until they are reported and until they are healed.
async fn edits(rig: &Rig, daemon: &Daemon, size: &Size) {
    let sorts: [(&str, &str, Value); 3] = [
        ("/api/v1/namespaces/{}/configmaps/{}", "/data/version", json!("edited")),
        ("/api/v1/namespaces/{}/services/{}", "/spec/selector/app", json!("edited")),
        ("/apis/apps/v1/namespaces/{}/deployments/{}", "/spec/replicas", json!(2)),
    ];
    let mut watches = Vec::new();
    for path in ["/api/v1/configmaps", "/api/v1/services", "/apis/apps/v1/deployments"] {
        watches.push(rig.api.watch(path).await);
    }
    let (mut reported, mut healed) = (Samples::default(), Samples::default());
    let before = rig.plane.requests().len();
    for round in 0..size.edits {
        let app = name(round * 11 % size.apps);
        let ((path, pointer, edited), watch) = (&sorts[round % 3], &mut watches[round % 3]);
        let path = path.replace("{}", &app);
        let was = rig.api.get(&path).await.pointer(pointer).unwrap().clone();
        let known = drifts(daemon, &app).await;
        let begun = Instant::now();
        let patch = json!([{"op": "replace", "path": pointer, "value": edited}]).to_string();
        let edit = format!("{path}?fieldManager=kubectl-edit");
        rig.api.send(Method::PATCH, &edit, "application/json-patch+json", patch).await;
        let told = async {
            while drifts(daemon, &app).await == known {
                pause(Duration::from_millis(2)).await;
            }
            begun.elapsed()
        };
        let mended = async {
            until_is(watch, &app, pointer, edited).await;
            until_is(watch, &app, pointer, &was).await;
            begun.elapsed()
        };
        let (told, mended) = tokio::join!(told, mended);
        reported.add(told);
        healed.add(mended);
    }
    daemon.until_quiet().await;
    reported.print("  edit: sent to reported by the API");
    healed.print("  edit: sent to healed");
    count("  edit: requests of all", since(rig, before));
}

/// Returns how many drifts of an app were reported so far.
async fn drifts(daemon: &Daemon, app: &str) -> usize {
    let answer = daemon.read(&format!("/apps/{app}/events")).await.unwrap_or_default();
    let events = answer["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    events.iter().filter(|event| event["kind"] == "drift-detected").count()
}

/// Waits for an event that shows a value in an object.
async fn until_is(watch: &mut crate::client::Watch, app: &str, pointer: &str, wanted: &Value) {
    loop {
        let object = watch.next().await.expect("the watch goes on");
        if object["metadata"]["name"] == app && object.pointer(pointer) == Some(wanted) {
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
