//! Pure. Apps that leave their package, and apps kept by hand that a package takes up.
//!
//! Not here: the world (`tests`).

use super::remembering::{DEPLOYMENT, grown};
use super::{World, app, blog, refused, set, summary, take, update};
use crate::compile::edit::app_files;
use crate::compile::{Cause, record_of};
use crate::merge::ConflictKind;
use crate::model::{CommitId, FileTree, Request, Take};

#[test]
fn an_ejected_app_keeps_its_files_and_loses_its_package() {
    let mut world = World::with_blog();
    world.push(DEPLOYMENT, |text| text.replace("replicas: 1", "replicas: 3"));
    let own = |files: &FileTree| -> Vec<String> {
        app_files(files, &app("blog"))
            .paths()
            .map(ToString::to_string)
            .filter(|path| !path.contains(".package"))
            .collect()
    };
    let before = own(world.head());
    let proposal = world.act(&Request::Eject { app: app("blog") }).unwrap();
    assert_eq!(proposal.main.as_ref().unwrap().subject, "feat(blog): eject from blog 1.0");
    assert_eq!(proposal.generations, crate::compile::Fate::Drop);
    assert_eq!(app_files(world.head(), &app("blog")).paths().map(ToString::to_string).collect::<Vec<_>>(), before);
    assert!(world.text(DEPLOYMENT).contains("replicas: 3"));
    assert_eq!(record_of(world.head(), &app("blog")).unwrap(), None);
    world.chains.remove("blog");
    world.publish("blog", grown("1.1", "2Gi"));
    refused(
        world.act(&update(None)),
        "user: update blog: it is an app of your own, which no package stands behind; wild app show blog",
    );
}

#[test]
fn an_app_that_is_kept_by_hand_is_adopted_at_the_version_it_comes_nearest_to() {
    let mut world = World::with_blog();
    world.publish("blog", grown("1.1", "2Gi"));
    world.act(&update(None)).unwrap();
    world.push(DEPLOYMENT, |text| text.replace("replicas: 1", "replicas: 3"));
    world.publish("blog", grown("1.2", "3Gi"));
    world.act(&Request::Eject { app: app("blog") }).unwrap();
    world.chains.remove("blog");
    let before = app_files(world.head(), &app("blog"));
    let request = Request::Adopt { app: app("blog"), package: None };
    let proposal = world.act(&request).unwrap();
    assert_eq!(summary(&proposal), ["generation blog: blog 1.1", "main feat(blog): adopt as blog 1.1 Generation"]);
    let told = "blog stands on 1.1 at 0000000, from which it differs in 2 of ";
    assert!(
        proposal.summary[0].starts_with(told) && proposal.summary[0].contains("; next is 1."),
        "{:?}",
        proposal.summary
    );
    for (path, file) in before.iter() {
        assert_eq!(world.head().get(path.as_str()), Some(file), "{path}");
    }
    world.act(&update(None)).unwrap();
    let text = world.text(DEPLOYMENT);
    assert!(text.contains("replicas: 3") && text.contains("memory: 3Gi"), "{text}");
    refused(world.act(&request), "user: adopt blog: it is made from a package already; wild app show blog");
}

/// An instance with files of somebody's own under the name of a package.
fn by_hand(title: &str) -> World {
    let mut world = World::new();
    let config_map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{title: {title}}}\n");
    world.push("apps/blog/kustomization.yaml", |_| "resources: [a.yaml]\n".to_owned());
    world.push("apps/blog/a.yaml", |_| config_map.clone());
    world
}

fn adopt() -> Request {
    Request::Adopt { app: app("blog"), package: None }
}

#[test]
fn an_app_that_no_version_comes_near_to_stands_on_its_own_files() {
    let mut world = by_hand("Mine");
    let before = app_files(world.head(), &app("blog"));
    let proposal = world.act(&adopt()).unwrap();
    assert_eq!(summary(&proposal), ["generation blog: blog 1.0", "main feat(blog): adopt as blog 1.0 Generation"]);
    let told = &proposal.summary[0];
    assert!(
        told.starts_with("blog stands on its own files, because the nearest version is 1.0 at 0000000, from which"),
        "{told}"
    );
    assert!(told.contains("cannot be told from upstream text"), "{told}");
    assert_eq!(proposal.main.unwrap().body, format!("{told}."));
    let root = &world.chains["blog"].generations[0].files;
    for (path, file) in before.iter() {
        assert_eq!((world.head().get(path.as_str()), root.get(path.as_str())), (Some(file), Some(file)), "{path}");
    }
    assert!(root.contains("apps/blog/.package/deployment.yaml") && !root.contains("apps/blog/deployment.yaml"));
    let record = record_of(world.head(), &app("blog")).unwrap().unwrap();
    assert_eq!(
        (record.version.as_str(), record.wanted.as_deref(), record.renderer.as_str()),
        ("1.0", Some("1.0"), "none")
    );
    assert!(record.defaults.is_empty());
}

#[test]
fn what_stands_on_its_own_files_is_changed_by_nobody_but_a_person() {
    let mut world = by_hand("Mine");
    world.act(&adopt()).unwrap();
    world.publish("blog", grown("1.1", "2Gi"));
    for cause in [Cause::Upstream, Cause::Changed] {
        assert!(world.run(&app("blog"), cause).unwrap().is_nothing(), "{cause:?}");
    }
    world.act(&set("title", "Park".into())).unwrap();
    let root = app_files(&world.chains["blog"].generations[0].files, &app("blog"));
    assert!(app_files(world.head(), &app("blog")) == root, "no file of the app changes");
    assert!(world.text("config.yaml").contains("title: Park"));
    let proposal = world.act(&update(None)).unwrap();
    assert!(
        proposal.conflicts.is_empty() && proposal.notices[0].contains("upstream text takes the place"),
        "{:?}",
        proposal.notices
    );
    assert!(world.text(DEPLOYMENT).contains("value: \"Park\"") && !world.head().contains("apps/blog/a.yaml"));
    let record = record_of(world.head(), &app("blog")).unwrap().unwrap();
    assert_eq!((record.version.as_str(), record.wanted), ("1.1", None));
}

#[test]
fn what_is_customised_after_the_adoption_is_told_from_upstream_text() {
    let mut world = by_hand("Mine");
    world.act(&adopt()).unwrap();
    world.push("apps/blog/a.yaml", |text| text.replace("Mine", "Yours"));
    let proposal = world.act(&update(None)).unwrap();
    let kinds: Vec<ConflictKind> = proposal.conflicts.iter().map(|conflict| conflict.kind).collect();
    assert_eq!(kinds, [ConflictKind::EditDelete], "{:?}", proposal.conflicts);
    world.act(&take(None, Take::Mine)).unwrap();
    assert!(world.text("apps/blog/a.yaml").contains("Yours") && world.head().contains(DEPLOYMENT));
}

#[test]
fn an_app_whose_package_does_not_compile_here_stands_on_its_own_files_too() {
    let mut world = World::with_blog();
    world.act(&Request::Eject { app: app("blog") }).unwrap();
    world.chains.remove("blog");
    world.packages.clear();
    let broken = |name: &str, text: &str| {
        if name == "service.yaml" { format!("{text}# {{{{ .nowhere }}}}\n") } else { text.to_owned() }
    };
    world.publish("blog", blog("1.0", broken));
    let proposal = world.act(&adopt()).unwrap();
    let told = &proposal.summary[0];
    assert!(
        told.starts_with(
            "blog stands on its own files, because no version of blog compiles here: apps/blog/service.yaml"
        ),
        "{told}"
    );
    assert!(proposal.generation.unwrap().files.contains("apps/blog/.package/service.yaml"));
    assert!(world.run(&app("blog"), Cause::Changed).unwrap().is_nothing());
}

#[test]
fn an_app_that_went_back_to_its_own_files_stands_on_them_again() {
    let mut world = by_hand("Mine");
    world.act(&adopt()).unwrap();
    let adopted = world.head().clone();
    world.act(&update(None)).unwrap();
    world.past = Some(adopted.clone());
    let request = Request::Rollback {
        app: app("blog"),
        to: CommitId::parse(&"b".repeat(40)).unwrap(),
        reason: String::new(),
        undoes: None,
    };
    world.act(&request).unwrap();
    assert_eq!(app_files(world.head(), &app("blog")), app_files(&adopted, &app("blog")));
    assert_eq!(
        world.chains["blog"].generations.last().unwrap().files.text("apps/blog/a.yaml"),
        adopted.text("apps/blog/a.yaml")
    );
    world.publish("blog", grown("1.1", "2Gi"));
    assert!(world.run(&app("blog"), Cause::Upstream).unwrap().is_nothing());
}

#[test]
fn the_view_of_a_package_that_is_there_says_what_an_app_was_made_from() {
    let mut world = World::with_blog();
    let shown = world.head().clone();
    world.act(&Request::Eject { app: app("blog") }).unwrap();
    world.chains.remove("blog");
    for (path, file) in shown.iter().filter(|(path, _)| path.is_within("apps/blog/.package")) {
        world.push(path.as_str(), |_| file.as_text().unwrap().to_owned());
    }
    // The upstream knows other versions only.
    world.packages.clear();
    world.publish("blog", grown("2.0", "9Gi"));
    let proposal = world.act(&adopt()).unwrap();
    let told = &proposal.summary[0];
    assert!(told.starts_with("blog stands on 1.0 in .package, from which it differs in 0 of "), "{told}");
    assert!(told.contains("; next is 2.0 at 0000000, which differs in "), "{told}");
    assert_eq!(record_of(world.head(), &app("blog")).unwrap().unwrap().version, "1.0");
    world.act(&update(None)).unwrap();
    assert!(world.text(DEPLOYMENT).contains("memory: \"9Gi\"") || world.text(DEPLOYMENT).contains("memory: 9Gi"));
}

#[test]
fn an_app_without_a_package_of_its_name_is_not_adopted() {
    let mut world = by_hand("Mine");
    world.packages.clear();
    let expected = "user: adopt blog: no directory has a package of this name; wild app adopt blog --package PACKAGE";
    refused(world.act(&adopt()), expected);
}
