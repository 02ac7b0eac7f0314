//! Pure. Changes of config, asked for or pushed.
//!
//! Not here: new versions (`updating`).

use serde_json::json;

use super::{World, app, refused, set, summary, take};
use crate::compile::Cause;
use crate::model::{Request, Take};

#[test]
fn a_changed_value_is_one_commit_with_the_files_that_follow_from_it() {
    let mut world = World::with_blog();
    let proposal = world.act(&set("title", json!("Roof"))).unwrap();
    assert_eq!(summary(&proposal), ["generation blog: blog 1.0", "main config(blog): title Generation"]);
    assert!(world.text("config.yaml").contains("title: Roof"));
    assert!(world.text("apps/blog/deployment.yaml").contains("value: \"Roof\""));
}

#[test]
fn a_value_that_is_there_already_needs_no_commit() {
    let mut world = World::with_blog();
    assert!(world.act(&set("title", json!("Garden"))).unwrap().is_nothing());
}

#[test]
fn a_commit_that_only_sizes_an_app_is_of_type_scale() {
    let mut world = World::with_blog();
    assert_eq!(world.act(&set("memory", json!("2Gi"))).unwrap().main.unwrap().subject, "scale(blog): memory");
}

#[test]
fn a_value_that_no_file_reads_changes_config_alone() {
    let mut world = World::with_blog();
    world.push("config.yaml", |text| text.replace("    title", "    own: 1\n    title"));
    let proposal = world.act(&set("own", json!(2))).unwrap();
    assert_eq!(summary(&proposal), ["main config(blog): own None"]);
}

#[test]
fn a_key_that_the_package_does_not_have_is_refused_with_the_one_that_was_meant() {
    let mut world = World::with_blog();
    refused(
        world.act(&set("titel", json!("x"))),
        "user: change the config of blog: the package has no key titel; did you mean title?; \
         wild app config blog set title=VALUE",
    );
    let far = "user: change the config of blog: the package has no key a.b; wild app config blog get";
    refused(world.act(&set("a.b", json!("x"))), far);
}

#[test]
fn an_unset_value_goes_back_to_its_default() {
    let mut world = World::with_blog();
    world.act(&set("title", json!("Roof"))).unwrap();
    world.act(&Request::Config { app: app("blog"), set: Default::default(), unset: vec!["title".to_owned()] }).unwrap();
    assert!(world.text("config.yaml").contains("title: Garden"));
    assert!(world.text("apps/blog/deployment.yaml").contains("value: \"Garden\""));
}

#[test]
fn a_customised_file_keeps_its_edits_when_config_changes() {
    let mut world = World::with_blog();
    world.push("apps/blog/deployment.yaml", |text| text.replace("replicas: 1", "replicas: 3 # busy"));
    world.act(&set("memory", json!("2Gi"))).unwrap();
    let text = world.text("apps/blog/deployment.yaml");
    assert!(text.contains("replicas: 3 # busy") && text.contains("memory: \"2Gi\""), "{text}");
}

#[test]
fn a_pushed_change_of_config_is_compiled_in_a_commit_that_follows() {
    let mut world = World::with_blog();
    world.push("config.yaml", |text| text.replace("Garden", "Roof"));
    let proposal = world.run(&app("blog"), Cause::Changed).unwrap();
    assert_eq!(summary(&proposal), ["generation blog: blog 1.0", "main config(blog): follow config.yaml Generation"]);
    assert!(world.text("apps/blog/deployment.yaml").contains("value: \"Roof\""));
}

#[test]
fn a_pushed_edit_of_files_alone_compiles_nothing() {
    let mut world = World::with_blog();
    world.push("apps/blog/deployment.yaml", |text| text.replace("replicas: 1", "replicas: 3"));
    assert!(world.run(&app("blog"), Cause::Changed).unwrap().is_nothing());
}

#[test]
fn an_app_committed_by_hand_is_never_merged() {
    let mut world = World::new();
    world.push("apps/own/kustomization.yaml", |_| "resources: []\n".to_owned());
    assert!(world.run(&app("own"), Cause::Changed).unwrap().is_nothing());
    assert!(world.run(&app("own"), Cause::Upstream).unwrap().is_nothing());
    refused(
        world.act(&Request::Update { app: app("own"), to: None, take: None, grants: Vec::new() }),
        "user: update own: it is an app of your own, which no package stands behind; wild app show own",
    );
}

#[test]
fn config_that_collides_with_an_edited_file_waits_on_the_branch() {
    let mut world = World::with_blog();
    world.push("apps/blog/deployment.yaml", |text| text.replace("value: \"Garden\"", "value: \"Mine\""));
    let request = set("title", json!("Roof"));
    let proposal = world.act(&request).unwrap();
    assert_eq!(
        summary(&proposal),
        [
            "generation blog: blog 1.0",
            "update config(blog): title, 1 conflict open Generation",
            "Value apps/blog/deployment.yaml spec.template.spec.containers[name=blog].env[name=TITLE].value"
        ]
    );
    assert!(world.text("config.yaml").contains("Garden"));
    let proposal = world.act(&take(None, Take::Upstream)).unwrap();
    assert_eq!(summary(&proposal), ["main config(blog): follow config.yaml Generation", "drop"]);
    assert!(world.text("config.yaml").contains("title: Roof"));
    assert!(world.text("apps/blog/deployment.yaml").contains("value: \"Roof\""));
}

#[test]
fn config_that_its_package_cannot_compile_is_refused() {
    let mut world = World::with_blog();
    world.push("config.yaml", |_| "apps: [".to_owned());
    let refusal = world.run(&app("blog"), Cause::Changed).unwrap_err();
    assert_eq!(refusal.explanation().what, "compile blog 1.0");
    assert!(!refusal.explanation().diagnostics.is_empty());
}

#[test]
fn markers_that_a_person_left_stop_the_merge() {
    let mut world = World::with_blog();
    world.push("apps/blog/service.yaml", |text| format!("{text}<<<<<<< a\n=======\n>>>>>>> b\n"));
    refused(
        world.act(&set("title", json!("Roof"))),
        "user: merge into blog: apps/blog/service.yaml holds conflict markers; git log -p -- apps/blog/service.yaml",
    );
}
