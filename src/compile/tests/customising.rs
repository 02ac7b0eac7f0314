//! Pure. Customised templates: each stands for the package's file of its path.
//!
//! Not here: the world (`tests`).

use serde_json::json;

use super::{World, app, blog, plain, set, summary, take, update};
use crate::compile::{Cause, record_of, take_in};
use crate::merge::ConflictKind;
use crate::model::{FileTree, Take};

const DEPLOYMENT: &str = "apps/blog/deployment.yaml";
const SHOWN: &str = "apps/blog/.package/deployment.yaml";
const CUSTOM: &str = "apps/blog/.custom/deployment.yaml";

/// An instance with the app `blog`, whose deployment somebody customised as a template.
fn customised(edit: impl Fn(&str) -> String) -> World {
    let mut world = World::with_blog();
    let shown = world.text(SHOWN).to_owned();
    world.push(CUSTOM, |_| edit(&shown));
    world
}

fn busy(text: &str) -> String {
    let edited = text.replace("replicas: 1", "replicas: {{ if eq .title \"Roof\" }}9{{ else }}3{{ end }} # Mine.");
    assert_ne!(edited, text);
    edited
}

/// The package with another edit of its deployment.
fn next(version: &str, from: &'static str, to: &'static str) -> FileTree {
    blog(version, move |name, text| if name == "deployment.yaml" { text.replace(from, to) } else { text.to_owned() })
}

#[test]
fn a_customised_template_is_compiled_in_place_of_the_packages_file() {
    let mut world = customised(busy);
    let proposal = world.run(&app("blog"), Cause::Changed).unwrap();
    let follows = "main config(blog): follow the customised templates Generation";
    assert_eq!(summary(&proposal), ["generation blog: blog 1.0", follows]);
    assert!(world.text(DEPLOYMENT).contains("replicas: 3 # Mine."));
    assert!(world.text(SHOWN).contains("replicas: 1"), "the package is shown as it is");
    assert!(!world.chains["blog"].generations[1].files.contains(CUSTOM), "a generation holds what was compiled");
    world.act(&set("title", json!("Roof"))).unwrap();
    let text = world.text(DEPLOYMENT);
    assert!(text.contains("replicas: 9 # Mine.") && text.contains("value: \"Roof\""), "{text}");
}

#[test]
fn what_is_customised_is_a_part_of_what_a_generation_was_made_from() {
    let mut world = customised(busy);
    world.run(&app("blog"), Cause::Changed).unwrap();
    let custom = |world: &World| record_of(world.head(), &app("blog")).unwrap().unwrap().custom;
    let first = custom(&world);
    assert!(first.is_some());
    world.push(CUSTOM, |text| text.replace("}}3{{", "}}4{{"));
    world.run(&app("blog"), Cause::Changed).unwrap();
    assert!(world.text(DEPLOYMENT).contains("replicas: 4 # Mine.") && custom(&world) != first);
    let mut files = world.head().clone();
    files.remove_below("apps/blog/.custom");
    world.main.push(files);
    world.run(&app("blog"), Cause::Changed).unwrap();
    assert!(world.text(DEPLOYMENT).contains("replicas: 1\n"), "what is taken back is the package's again");
    assert_eq!(custom(&world), None);
}

#[test]
fn an_update_is_merged_into_the_template_and_compiled_from_it() {
    let mut world = customised(busy);
    world.run(&app("blog"), Cause::Changed).unwrap();
    world.publish(
        "blog",
        next(
            "1.1",
            "restartPolicy: Always",
            "restartPolicy: {{ if eq .title \"Roof\" }}Never{{ else }}OnFailure{{ end }}",
        ),
    );
    let proposal = world.act(&update(None)).unwrap();
    assert!(proposal.conflicts.is_empty(), "{:?}", proposal.conflicts);
    let (template, text) = (world.text(CUSTOM), world.text(DEPLOYMENT));
    assert!(template.contains("}}3{{") && template.contains("}}OnFailure{{"), "{template}");
    assert!(text.contains("replicas: 3 # Mine.") && text.contains("restartPolicy: OnFailure"), "{text}");
    assert!(world.text(SHOWN).contains("replicas: 1") && world.text(SHOWN).contains("}}OnFailure{{"));
}

#[test]
fn a_template_that_both_changed_waits_for_a_person_and_either_side_is_compiled() {
    for (decision, replicas) in [(Take::Mine, "replicas: 3 # Mine."), (Take::Upstream, "replicas: 5")] {
        let mut world = customised(busy);
        world.run(&app("blog"), Cause::Changed).unwrap();
        world.publish("blog", next("1.1", "replicas: 1", "replicas: 5"));
        let proposal = world.act(&update(None)).unwrap();
        let [conflict] = &proposal.conflicts[..] else { panic!("{:?}", proposal.conflicts) };
        assert_eq!((conflict.kind, conflict.path.as_str()), (ConflictKind::Value, CUSTOM));
        assert!(world.text(DEPLOYMENT).contains("replicas: 3 # Mine."), "the deployed branch stays");
        world.act(&take(None, decision)).unwrap();
        assert!(world.text(DEPLOYMENT).contains(replicas), "{}", world.text(DEPLOYMENT));
        assert_eq!(world.text(CUSTOM).contains("}}3{{"), replicas.contains("Mine"), "{}", world.text(CUSTOM));
        assert!(world.run(&app("blog"), Cause::Changed).unwrap().is_nothing());
    }
}

#[test]
fn a_template_of_ones_own_beside_the_packages_is_compiled_too() {
    let mut world = customised(|text| text.to_owned());
    world.push("apps/blog/.custom/notes.yaml", |_| {
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata: {title: \"{{ .title }}\"}\n".to_owned()
    });
    world.push("apps/blog/.custom/kustomization.yaml", |_| {
        "resources:\n- deployment.yaml\n- service.yaml\n- notes.yaml\n".to_owned()
    });
    world.run(&app("blog"), Cause::Changed).unwrap();
    assert!(world.text("apps/blog/notes.yaml").contains("title: \"Garden\""));
    assert!(!world.head().contains("apps/blog/.package/notes.yaml"));
}

#[test]
fn a_manifest_cannot_be_customised() {
    let mut world = World::with_blog();
    let shown = world.text("apps/blog/.package/manifest.yaml").replace("Garden", "Mine");
    world.push("apps/blog/.custom/manifest.yaml", |_| shown.clone());
    let proposal = world.act(&set("title", json!("Roof"))).unwrap();
    let told: Vec<String> = proposal.diagnostics.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|it| it.contains("P014: a manifest cannot be customised")), "{told:?}");
    assert!(world.text("apps/blog/manifest.yaml").contains("Garden"));
}

#[test]
fn a_customised_template_that_does_not_render_is_named() {
    let mut world = customised(|text| text.replace("replicas: 1", "replicas: {{ .nowhere }}"));
    let refusal = world.run(&app("blog"), Cause::Changed).unwrap_err();
    assert!(refusal.explanation().because.starts_with(CUSTOM), "{refusal}");
    assert!(world.text(DEPLOYMENT).contains("replicas: 1"));
}

#[test]
fn a_merge_by_plain_git_brings_the_template_along_in_the_commit_that_follows() {
    let mut world = customised(busy);
    world.run(&app("blog"), Cause::Changed).unwrap();
    let (base, ours) = (world.chains["blog"].generations[1].files.clone(), world.head().clone());
    world.publish("blog", next("1.1", "restartPolicy: Always", "restartPolicy: OnFailure"));
    world.act(&update(None)).unwrap();
    // Git brings the generation alone.
    let theirs = world.chains["blog"].generations[2].files.clone();
    let mut files = ours.clone();
    files.extend(theirs.clone());
    world.main.truncate(world.main.len() - 1);
    world.main.push(files.clone());
    assert!(world.text(DEPLOYMENT).contains("OnFailure") && !world.text(CUSTOM).contains("OnFailure"));
    let past = super::PastMerge {
        commit: crate::model::CommitId::parse(&"d".repeat(40)).unwrap(),
        who: "alice <alice@example.org>".to_owned(),
        when: crate::base::Timestamp::parse("2026-01-02T03:04:05Z").unwrap(),
        base,
        ours,
        theirs,
        files,
    };
    let proposal = take_in(&app("blog"), &world.sources(&app("blog")), &past).unwrap();
    world.commit(&app("blog"), &proposal);
    assert!(world.text(CUSTOM).contains("OnFailure") && world.text(CUSTOM).contains("}}3{{"), "{}", world.text(CUSTOM));
    assert!(world.run(&app("blog"), Cause::Changed).unwrap().is_nothing(), "what git merged stays");
    assert!(world.text(DEPLOYMENT).contains("OnFailure"));
}

#[test]
fn an_app_without_customised_templates_says_nothing_of_them() {
    let mut world = World::new();
    world.publish("blog", blog("1.0", plain));
    world.act(&super::add("blog", crate::model::Deploy::Now)).unwrap();
    assert!(!world.text(".wild/generated/blog.yaml").contains("custom"));
}
