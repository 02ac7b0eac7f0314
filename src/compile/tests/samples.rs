//! Pure. The story of an instance told with the sample packages: what the demo shows, without git and cluster.
//!
//! Not here: small cases (`adding`, `changing`, `updating`, `ending`).

use std::collections::BTreeMap;

use serde_json::json;

use super::{World, add, app, granting, summary};
use crate::compile::Cause;
use crate::model::{Decision, Deploy, FileTree, Request, Take};
use crate::package::history;

/// Returns the files of a package at a version.
fn sample(package: &str, version: &str) -> FileTree {
    let history = history();
    let wanted = format!("{package} {version}:");
    history.iter().find(|commit| commit.message.starts_with(&wanted)).unwrap().files.below(package)
}

/// An instance with the database, the cache and the two apps that need them, each at its first version.
fn instance() -> World {
    let mut world = World::new();
    world.push("config.yaml", |_| {
        "operator:\n  email: me@example.org\ncloud:\n  domain: example.org\n  internalDomain: internal.example.org\n  \
         nfs: {host: nas}\ncluster:\n  name: home\n"
            .to_owned()
    });
    for (package, version) in [("stonedb", "15.4"), ("quickcache", "7.0"), ("quillblog", "5.0"), ("photobox", "1.0")] {
        world.publish(package, sample(package, version));
        let grants: &[&str] = match package {
            "quillblog" => &["stonedb.password"],
            "photobox" => &["stonedb.password", "quickcache.auth"],
            _ => &[],
        };
        let proposal = world.act(&granting(add(package, Deploy::Now), grants)).unwrap();
        assert_eq!(proposal.main.unwrap().subject, format!("feat({package}): add and deploy {version}"));
    }
    world
}

fn update(name: &str) -> Request {
    Request::Update { app: app(name), to: None, take: None, grants: Vec::new() }
}

#[test]
fn four_apps_are_added_and_bound_to_each_other() {
    let world = instance();
    assert!(world.text("apps/photobox/manifest.yaml").contains("installedAs: quickcache"));
    assert!(world.text("apps/quillblog/manifest.yaml").contains("installedAs: stonedb"));
}

#[test]
fn every_version_of_every_package_merges_into_an_app_that_nobody_edited() {
    let mut world = instance();
    for commit in history().iter().skip(5) {
        let (package, rest) = commit.message.split_once(' ').unwrap();
        let (version, _) = rest.split_once(':').unwrap();
        world.publish(package, commit.files.below(package));
        let proposal = world.act(&update(package)).unwrap();
        assert_eq!(proposal.conflicts, [], "{package} {version}");
        let generated = &world.chains[package].generations.last().unwrap().files;
        for (path, file) in generated.iter().filter(|(path, _)| path.is_within("apps")) {
            assert_eq!(world.head().get(path.as_str()), Some(file), "{path} of {package} {version}");
        }
    }
}

#[test]
fn a_file_that_upstream_renamed_carries_local_edits_and_one_conflict_waits() {
    let mut world = instance();
    world.publish("photobox", sample("photobox", "1.1"));
    world.act(&update("photobox")).unwrap();
    world.push("apps/photobox/worker.yaml", |text| text.replace("replicas: 1", "replicas: 3 # two rooms"));
    world.push("apps/photobox/server-deployment.yaml", |text| text.replace("memory: 512Mi", "memory: 4Gi"));
    assert!(world.text("apps/photobox/worker.yaml").contains("two rooms"));
    world.publish("photobox", sample("photobox", "2.0"));
    let proposal = world.act(&update("photobox")).unwrap();
    assert_eq!(
        summary(&proposal),
        [
            "generation photobox: photobox 2.0",
            "update upgrade(photobox): 1.1 -> 2.0, 1 conflict open Generation",
            "Value apps/photobox/server-deployment.yaml spec.template.spec.containers[name=server].resources.limits.memory",
        ]
    );
    let branch = &world.branch("photobox").files;
    assert!(branch.text("apps/photobox/worker-deployment.yaml").unwrap().contains("replicas: 3 # two rooms"));
    assert!(!branch.contains("apps/photobox/worker.yaml"));
    let decisions = vec![Decision::new(Some("server-deployment.yaml"), Take::Mine)];
    world.act(&Request::Resolve { app: app("photobox"), decisions }).unwrap();
    let server = world.text("apps/photobox/server-deployment.yaml");
    assert!(server.contains("memory: 4Gi") && server.contains("server:2.0"), "{server}");
    assert!(world.text("apps/photobox/lens.yaml").contains("LENS_MODEL"));
    world.publish("photobox", sample("photobox", "2.1"));
    let proposal = world.run(&app("photobox"), Cause::Upstream).unwrap();
    assert_eq!(proposal.main.unwrap().subject, "upgrade(photobox): 2.0 -> 2.1");
    assert!(world.text("apps/photobox/worker-deployment.yaml").contains("--alive"));
}

#[test]
fn a_renamed_key_of_the_blog_waits_if_it_was_edited_and_follows_if_not() {
    for (edited, conflicts) in [(false, 0), (true, 1)] {
        let mut world = instance();
        world.publish("quillblog", sample("quillblog", "5.2"));
        world.act(&update("quillblog")).unwrap();
        if edited {
            let set = BTreeMap::from([("title".to_owned(), json!("Notes from the roof"))]);
            world.act(&Request::Config { app: app("quillblog"), set, unset: Vec::new() }).unwrap();
        }
        world.publish("quillblog", sample("quillblog", "5.3"));
        let proposal = world.act(&update("quillblog")).unwrap();
        assert_eq!(proposal.conflicts.len(), conflicts, "{:?}", proposal.conflicts);
        assert!(proposal.conflicts.iter().all(|conflict| conflict.key == "title"));
        // Only a key that was edited breaks anything.
        let broken: Vec<&str> = proposal.breaking.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!(broken, vec!["B01"; conflicts]);
    }
}
