//! Pure. Rolling back and deleting.
//!
//! Not here: the world (`tests`).

use serde_json::json;

use super::{World, app, blog, commit, delete, refused, set, summary, update};
use crate::compile::{Cause, Sources, propose, record_of};
use crate::model::{DataFate, Request};

fn rollback(world: &mut World, to: usize) -> Request {
    world.past = Some(world.main[to].clone());
    Request::Rollback { app: app("blog"), to: commit(to), reason: "It was better before.".to_owned(), undoes: None }
}

#[test]
fn a_rolled_back_customisation_is_one_commit_with_its_reason() {
    let mut world = World::with_blog();
    let good = world.main.len() - 1;
    world.push("apps/blog/deployment.yaml", |text| text.replace("replicas: 1", "replicas: 9"));
    world.push("README.md", |_| "mine\n".to_owned());
    let request = rollback(&mut world, good);
    let proposal = world.act(&request).unwrap();
    assert_eq!(summary(&proposal), ["main rollback(blog): to 0000000 None"]);
    assert_eq!(proposal.main.unwrap().body, "It was better before.");
    assert!(world.text("apps/blog/deployment.yaml").contains("replicas: 1"));
    assert_eq!(world.text("README.md"), "mine\n");
}

#[test]
fn a_rolled_back_config_goes_with_the_files_and_leaves_other_sections() {
    let mut world = World::with_blog();
    let good = world.main.len() - 1;
    world.act(&set("title", json!("Roof"))).unwrap();
    world.push("config.yaml", |text| text.replace("domain: example.org", "domain: other.org"));
    let request = rollback(&mut world, good);
    world.act(&request).unwrap();
    assert!(world.text("config.yaml").contains("title: Garden") && world.text("config.yaml").contains("other.org"));
    assert!(world.text("apps/blog/deployment.yaml").contains("value: \"Garden\""));
}

#[test]
fn a_roll_back_to_what_is_there_does_nothing() {
    let mut world = World::with_blog();
    let now = world.main.len() - 1;
    let request = rollback(&mut world, now);
    assert!(world.act(&request).unwrap().is_nothing());
}

#[test]
fn a_rolled_back_version_is_held_and_comes_whole_with_the_next_one() {
    let mut world = World::with_blog();
    let good = world.main.len() - 1;
    let policy = |name: &str, text: &str| {
        if name == "deployment.yaml" { text.replace("Always", "OnFailure") } else { text.to_owned() }
    };
    world.publish("blog", blog("1.1", policy));
    world.act(&update(None)).unwrap();
    let request = rollback(&mut world, good);
    let proposal = world.act(&request).unwrap();
    assert_eq!(summary(&proposal), ["generation blog: blog 1.0", "main rollback(blog): to 0000000 Generation"]);
    let record = record_of(world.head(), &app("blog")).unwrap().unwrap();
    assert_eq!((record.version.as_str(), record.wanted), ("1.0", None));
    assert!(world.run(&app("blog"), Cause::Upstream).unwrap().is_nothing(), "1.1 is held");
    world.act(&set("title", json!("Roof"))).unwrap();
    assert!(world.run(&app("blog"), Cause::Upstream).unwrap().is_nothing(), "also after a change of config");
    world.publish("blog", blog("1.2", policy));
    let proposal = world.run(&app("blog"), Cause::Upstream).unwrap();
    assert_eq!(proposal.main.unwrap().subject, "upgrade(blog): 1.0 -> 1.2");
    assert_eq!(record_of(world.head(), &app("blog")).unwrap().unwrap().held, None);
    assert!(world.text("apps/blog/deployment.yaml").contains("OnFailure"), "what 1.1 brought comes again");
}

#[test]
fn a_commit_without_the_app_is_no_state_to_go_back_to() {
    let mut world = World::with_blog();
    let request = rollback(&mut world, 0);
    refused(
        world.act(&request),
        "user: roll blog back to 0000000: there is no app blog in that commit; wild app history blog",
    );
}

#[test]
fn a_deleted_app_leaves_nothing_but_says_so_in_a_trailer() {
    let mut world = World::with_blog();
    let proposal = world.act(&delete("blog")).unwrap();
    let edit = proposal.main.unwrap();
    assert_eq!(edit.subject, "feat(blog): remove");
    assert!(edit.trailers.contains(&("Wild-Delete".to_owned(), "blog".to_owned())));
    let left: Vec<&str> = world.head().paths().map(|path| path.as_str()).collect();
    assert_eq!(left, [".wild/config.yaml", "config.yaml"]);
    assert!(!world.text("config.yaml").contains("blog"), "{}", world.text("config.yaml"));
    refused(world.act(&delete("blog")), "user: delete blog: there is no app blog; wild app list --deployed");
}

#[test]
fn deleting_again_goes_on_with_what_was_committed() {
    let mut world = World::with_blog();
    world.act(&delete("blog")).unwrap();
    let blog = app("blog");
    let again = |removed: DataFate, data: DataFate| {
        let sources = Sources { removed: Some(removed), ..world.sources(&blog) };
        propose(&blog, &sources, Cause::Request(&Request::Delete { app: blog.clone(), data }))
    };
    for fate in [DataFate::Keep, DataFate::Delete] {
        let proposal = again(fate, fate).unwrap();
        assert!(proposal.is_nothing());
        assert_eq!(proposal.summary, ["blog is removed from the repository already"]);
    }
    refused(
        again(DataFate::Keep, DataFate::Delete),
        "user: delete blog: it is removed from the repository already, by a commit that says that its volumes and its namespace stay; git log -1 -- apps/blog",
    );
}

#[test]
fn a_deleted_app_can_be_added_again() {
    let mut world = World::with_blog();
    world.act(&delete("blog")).unwrap();
    let proposal = world.act(&super::add("blog", crate::model::Deploy::Now)).unwrap();
    assert_eq!(summary(&proposal), ["main feat(blog): add and deploy 1.0 None"]);
}

#[test]
fn a_version_that_was_rolled_back_from_comes_when_it_changed_or_somebody_asks() {
    for asked in [false, true] {
        let mut world = World::with_blog();
        let good = world.main.len() - 1;
        let policy = |name: &str, text: &str| match name {
            "deployment.yaml" => text.replace("Always", "OnFailure"),
            _ => text.to_owned(),
        };
        world.publish("blog", blog("1.1", policy));
        world.act(&update(None)).unwrap();
        let request = rollback(&mut world, good);
        world.act(&request).unwrap();
        if asked {
            world.act(&update(None)).unwrap();
        } else {
            world.publish("blog", blog("1.1", |name, text| policy(name, text).replace("replicas: 1", "replicas: 2")));
            world.run(&app("blog"), Cause::Upstream).unwrap();
        }
        assert!(world.text("apps/blog/deployment.yaml").contains("OnFailure"));
        assert_eq!(record_of(world.head(), &app("blog")).unwrap().unwrap().held, None);
    }
}

#[test]
fn a_deleted_app_comes_back_as_it_was_by_a_roll_back() {
    let mut world = World::with_blog();
    world.push("apps/blog/deployment.yaml", |text| text.replace("replicas: 1", "replicas: 9"));
    world.act(&set("title", json!("Roof"))).unwrap();
    world.push(".wild/config.yaml", |text| format!("{text}apps:\n  blog:\n    grants: {{kinds: [Role]}}\n"));
    let good = world.main.len() - 1;
    let before = world.head().clone();
    world.act(&delete("blog")).unwrap();
    assert!(world.head().text("apps/blog/deployment.yaml").is_none());
    let request = rollback(&mut world, good);
    world.act(&request).unwrap();
    let settings = ".wild/config.yaml";
    assert!(world.text(settings).contains("Role"), "{}", world.text(settings));
    let differ: Vec<_> =
        before.paths().filter(|path| before.get(path.as_str()) != world.head().get(path.as_str())).collect();
    assert!(differ.iter().all(|path| path.as_str() == settings), "{differ:?}");
    assert_eq!(before.len(), world.head().len());
}
