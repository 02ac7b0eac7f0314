//! Secrets that people handle by commands.

use std::ffi::OsString;

use rewild::cli::{self, Captured, Surroundings};
use rewild::model::Purpose;
use serde_json::json;

use super::installed;
use crate::world::World;

/// Runs a command line with something on standard input.
pub(super) async fn wild(world: &World, line: &str, given: &str) -> (u8, Captured) {
    let mut environment = Surroundings::bare(std::path::Path::new("/"));
    environment.daemon = Some(world.daemon.clone());
    let mut out = Captured { given: given.to_owned(), ..Captured::default() };
    let words = line.split(' ').map(OsString::from).collect();
    let code = cli::run(words, environment, &mut out).await;
    (code.number(), out)
}

fn value(world: &World, path: &str) -> String {
    world.handle.instance().secrets.read().unwrap().get(path).unwrap().expose(Purpose::RequestBody).to_owned()
}

/// Returns a key of the Secret of an app in the cluster, in base64.
async fn live(world: &World, app: &str, key: &str) -> Option<String> {
    let secret = world.get(&format!("/api/v1/namespaces/{app}/secrets/{app}-secrets")).await?;
    secret.pointer(&format!("/data/{key}"))?.as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_set_and_rotated_by_commands_that_never_show_them() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quillblog"]).await;
    let (owner, copy) = ("apps.stonedb.password", "apps.quillblog.dbPassword");
    let old = value(&world, owner);
    assert_eq!(value(&world, copy), old);
    let (_, listed) = wild(&world, "wild secret list", "").await;
    assert!(listed.data.contains("copy of apps.stonedb.password"), "{listed:?}");

    // Nobody confirmed it.
    let (code, out) = wild(&world, "wild secret rotate apps.stonedb.password", "").await;
    assert_eq!((code, value(&world, owner) == old), (2, true), "{out:?}");
    assert!(out.notes.contains("apps.quillblog.dbPassword follows by itself"), "{out:?}");
    let before = live(&world, "stonedb", "password").await;
    let (code, rotated) = wild(&world, "wild secret rotate apps.stonedb.password --yes", "").await;
    let new = value(&world, owner);
    assert!(code == 0 && new != old && value(&world, copy) == new, "{rotated:?}");
    world.until("the new value is applied", async || live(&world, "stonedb", "password").await != before).await;

    let before = live(&world, "quillblog", "adminPassword").await;
    let (code, set) = wild(&world, "wild secret set apps.quillblog.adminPassword", "hunter2: 'x'\n").await;
    assert_eq!((code, value(&world, "apps.quillblog.adminPassword").as_str()), (0, "hunter2: 'x'"), "{set:?}");
    world
        .until("the given value is applied", async || live(&world, "quillblog", "adminPassword").await != before)
        .await;
    // A copy that a person wrote over is that person's.
    wild(&world, &format!("wild secret set {copy}"), "mine").await;
    assert_eq!((value(&world, copy).as_str(), value(&world, owner)), ("mine", new.clone()));
    let told = format!("{listed:?}{rotated:?}{set:?}");
    assert!(!told.contains(&old) && !told.contains(&new) && !told.contains("hunter2"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_set_or_made_is_refused_and_changes_nothing() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb"]).await;
    let before = value(&world, "apps.stonedb.password");
    for (line, given, because) in [
        ("wild secret set apps.stonedb.password", "", "the value is empty"),
        ("wild secret set ../etc/passwd", "x", "a path has words"),
        ("wild secret set apps.stonedb._copied.x", "x", "a path has words"),
        ("wild secret generate apps.stonedb.password", "", "it has a value already"),
        ("wild secret generate apps.stonedb.nosuch", "", "no secret of stonedb is called nosuch"),
        ("wild secret rotate apps.nosuch.password --yes", "", "nosuch"),
        ("wild secret rotate cluster.password --yes", "", "only secrets of apps are made"),
    ] {
        let (code, out) = wild(&world, line, given).await;
        assert!(code == 2 && out.notes.contains(because), "{line}: {out:?}");
    }
    let huge = "x".repeat(64 * 1024 + 1);
    assert_eq!(wild(&world, "wild secret set apps.stonedb.password", &huge).await.0, 2);
    let (code, out) = wild(&world, "wild secret rotate apps.stonedb.password --dry-run -o json", "").await;
    let document: serde_json::Value = serde_json::from_str(&out.data).unwrap();
    assert_eq!((code, &document["written"]), (0, &json!(false)));
    assert_eq!(value(&world, "apps.stonedb.password"), before);
}
