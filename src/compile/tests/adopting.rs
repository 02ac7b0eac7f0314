//! Pure. Apps that leave their package, and apps kept by hand that a package takes up.
//!
//! Not here: the world (`tests`).

use super::remembering::{DEPLOYMENT, grown};
use super::{World, app, refused, summary, update};
use crate::compile::edit::app_files;
use crate::compile::record_of;
use crate::model::{FileTree, Request};

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

#[test]
fn an_app_that_no_version_comes_near_to_is_not_adopted() {
    let mut world = World::new();
    world.push("apps/blog/kustomization.yaml", |_| "resources: [a.yaml]\n".to_owned());
    world.push("apps/blog/a.yaml", |_| "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n".to_owned());
    let refusal = world.act(&Request::Adopt { app: app("blog"), package: None }).unwrap_err();
    assert!(refusal.explanation().because.starts_with("the nearest version, 1.0 at 0000000, differs in "), "{refusal}");
}
