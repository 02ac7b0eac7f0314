//! Pure. Namespaces that an app did not make: who may let it in, and that nothing is written before.

use serde_json::json;

use super::world::{World, config, job};
use super::{check, check_health};
use crate::model::AppName;
use crate::plan::{Ground, NamespaceState, Owner, Presence, Verb, adoptable, plan};

/// Returns the app in a namespace that is there.
fn in_a_namespace(owner: Option<Owner>) -> World {
    let world =
        World::new().wants(&config("files", "1")).with(|snapshot| snapshot.namespace_state = NamespaceState::Active);
    match owner {
        Some(owner) => world.exists("Namespace/blog", owner),
        None => world,
    }
}

fn granted(world: &World) -> World {
    world.clone().with(|snapshot| snapshot.policy.grants.namespaces.push("blog".into()))
}

#[test]
fn a_namespace_that_nobody_owns_is_entered_and_marked_with_a_grant() {
    let world = in_a_namespace(Some(Owner::Nobody));
    check(
        &world,
        &[
            "! GrantMissing: namespace blog is there already and was not made by blog, and blog may not enter it without a grant; --adopt \
           writes blog into apps.blog.grants.namespaces (try: wild app deploy blog --adopt)",
        ],
    );
    assert_eq!(adoptable(&world.snapshot), ["blog"]);
    let granted = granted(&world);
    check(&granted, &["~ Namespace blog marks the namespace that is there", "+ ConfigMap files new in ccccccc"]);
    let plan = plan(&granted.snapshot);
    let Verb::Apply { payload, .. } = &plan.actions[0].verb else { panic!("{plan:#?}") };
    assert_eq!(payload.annotation("rewild.dev/entered"), Some("granted"));
    assert_eq!(adoptable(&granted.snapshot), Vec::<String>::new());
}

#[test]
fn a_namespace_of_somebody_else_is_entered_by_no_adoption_and_serves_as_it_is() {
    let add = "(try: add blog to apps.blog.grants.namespaces in .wild/config.yaml)";
    for (owner, whose) in [
        (Some(Owner::App("shop".into())), "belongs to app shop"),
        (Some(Owner::Tool { tool: "Flux".into(), mark: "label x".into() }), "belongs to Flux, by its label x"),
        (Some(Owner::Controller("Operator/one".into())), "belongs to Operator/one"),
        (None, "cannot be looked at: it was not looked at"),
    ] {
        let world = in_a_namespace(owner);
        let told = format!("! GrantMissing: namespace blog {whose}, and blog may not enter it without a grant {add}");
        check(&world, &[&told]);
        assert_eq!(adoptable(&world.snapshot), Vec::<String>::new());
        check(&granted(&world), &["+ ConfigMap files new in ccccccc", "= 1 unchanged"]);
        check_health(&granted(&world), "missing: ConfigMap/files: it was not applied yet");
    }
}

#[test]
fn a_namespace_of_the_system_is_entered_by_no_adoption_whoever_made_it() {
    for name in ["default", "kube-system", "kube-anything", "wild-system"] {
        let mut files = config("files", "1");
        files.metadata_mut().insert("namespace".into(), json!(name));
        let world = World::new().wants(&files).with(|snapshot| {
            snapshot.namespace = name.into();
            snapshot.namespace_state = NamespaceState::Active;
        });
        for ground in [Ground::Foreign(Owner::Nobody), Ground::Ours, Ground::Missing] {
            let world = world.clone().with(|snapshot| _ = snapshot.grounds.insert(name.into(), ground));
            let told = format!(
                "! GrantMissing: namespace {name} is the system's, and blog may not enter it without a grant \
                 (try: add {name} to apps.blog.grants.namespaces in .wild/config.yaml)"
            );
            check(&world, &[&told]);
            assert_eq!(adoptable(&world.snapshot), Vec::<String>::new());
        }
        let granted = world.with(|snapshot| snapshot.policy.grants.namespaces.push(name.into()));
        assert!(plan(&granted.snapshot).actions.iter().any(|action| action.object.namespace == name));
    }
    let named = in_a_namespace(None).with(|snapshot| {
        snapshot.app = AppName::parse("kube-blog").unwrap();
        snapshot.policy.grants.namespaces.push("blog".into());
    });
    let told = "! GrantMissing: the name kube-blog is the system's, and so is the namespace of that name \
                (try: add kube-blog to apps.kube-blog.grants.namespaces in .wild/config.yaml)";
    check(&named, &[told]);
}

#[test]
fn a_namespace_that_a_grant_let_in_stays_shut_once_the_grant_is_gone() {
    let world = World::deployed(&[config("files", "1")]).has_namespace(false);
    check(&world, &["= 2 unchanged"]);
    let entered = world.live("Namespace/blog", |live| live.entered = true);
    let plan_of = |world: &World| plan(&world.snapshot);
    assert_eq!(plan_of(&entered).blocked[0].reason, "GrantMissing");
    assert_eq!(adoptable(&entered.snapshot), ["blog"]);
    // Nothing is put back there either.
    let edited = entered.clone().edits(&config("files", "1"), None, &[&["f:data", "f:k"]]);
    assert!(plan_of(&edited).actions.is_empty());
    check(&granted(&entered), &["= 2 unchanged"]);
}

#[test]
fn the_hooks_of_an_app_run_only_where_it_may_write() {
    let mut hook = job("rescue");
    hook.set_annotation("rewild.dev/hook", "on-failure");
    hook.metadata_mut().insert("namespace".into(), json!("other"));
    let world = World::deployed(&[]).wants(&hook).wants(&config("files", "1")).with(|snapshot| snapshot.refused = true);
    assert!(plan(&world.snapshot).actions.iter().all(|action| action.object.namespace != "other"));
    let granted = world.with(|snapshot| snapshot.policy.grants.namespaces.push("other".into()));
    assert!(plan(&granted.snapshot).actions.iter().any(|action| action.object.namespace == "other"));
    hook.set_annotation("rewild.dev/hook", "pre-delete");
    let leaving = World::deployed(&[config("files", "1")])
        .wants(&hook)
        .with(|snapshot| snapshot.presence = Presence::RemovedKeepingData);
    let plan = plan(&leaving.snapshot);
    assert!(plan.actions.iter().all(|action| action.object.namespace != "other"), "{plan:#?}");
    assert!(plan.notes.contains(&"Job/rescue is not run, because nobody granted that".to_owned()), "{:?}", plan.notes);
    assert!(!plan.actions.is_empty(), "the rest goes all the same");
}
