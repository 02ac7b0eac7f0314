//! Pure. Drift: every way in which somebody changes an object of ours, under every policy.

use super::check;
use super::world::{World, config, deployment};
use crate::model::DriftPolicy;
use crate::plan::{Correct, DriftKind, Force, Owner, Verb, plan};

const EDIT: Option<(&str, &str, &str)> = Some(("kubectl-edit", "Update", ""));
const WEB: [&str; 5] = ["f:spec", "f:template", "f:spec", "f:containers", "k:{\"name\":\"web\"}"];

fn web() -> World {
    World::deployed(&[deployment("web", "web:1")])
}

/// Lets somebody edit fields of the deployment.
fn edited(other: Option<(&str, &str, &str)>, paths: &[&[&str]]) -> World {
    web().edits(&deployment("web", "web:1"), other, paths)
}

fn policy(world: World, policy: DriftPolicy) -> World {
    world.with(|snapshot| snapshot.policy.drift = policy)
}

fn at_web<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    WEB.iter().chain(rest).copied().collect()
}

const PUT_BACK: &str = "~ Deployment web puts back what differs";

#[test]
fn a_changed_field_is_put_back_by_force_in_the_same_incarnation() {
    let world = edited(EDIT, &[&at_web(&["f:image"])]);
    check(
        &world,
        &[
            PUT_BACK,
            "* Deployment/web changed spec.template.spec.containers[name=web].image by kubectl-edit (Update) at 2026-11-21T11:00:00Z",
            "= 1 unchanged",
        ],
    );
    let action = &plan(&world.snapshot).actions[0];
    assert_eq!(action.uid.as_deref(), Some("uid-web"));
    assert!(matches!(action.verb, Verb::Apply { force: Force::Yes, .. }));
}

#[test]
fn under_report_a_changed_field_is_shown_and_left() {
    let world = policy(edited(EDIT, &[&["f:spec", "f:replicas"]]), DriftPolicy::Report);
    check(
        &world,
        &[
            "* Deployment/web changed spec.replicas by kubectl-edit (Update) at 2026-11-21T11:00:00Z, left as it is",
            "= 1 unchanged",
        ],
    );
}

#[test]
fn under_report_a_value_that_a_person_put_back_is_ours_again() {
    let seen = |replicas: i64| {
        let world = policy(edited(EDIT, &[&["f:spec", "f:replicas"]]), DriftPolicy::Report);
        world.live("Deployment/web", |live| {
            let mut whole = deployment("web", "web:1");
            whole.0["spec"]["replicas"] = replicas.into();
            live.whole = Some(whole);
        })
    };
    let left = "* Deployment/web changed spec.replicas by kubectl-edit (Update) at 2026-11-21T11:00:00Z, left as it is";
    check(&seen(3), &[left, "= 1 unchanged"]);
    check(&seen(2), &[PUT_BACK, "= 1 unchanged"]);
}

#[test]
fn under_report_a_person_may_still_ask_for_the_correction() {
    let world = policy(edited(EDIT, &[&["f:spec", "f:replicas"]]), DriftPolicy::Report);
    check(
        &world.with(|snapshot| snapshot.ask.correct = Correct::All),
        &[
            PUT_BACK,
            "* Deployment/web changed spec.replicas by kubectl-edit (Update) at 2026-11-21T11:00:00Z",
            "= 1 unchanged",
        ],
    );
}

#[test]
fn a_person_may_ask_for_one_object_and_leave_the_others() {
    let world = policy(edited(EDIT, &[&["f:spec", "f:replicas"]]), DriftPolicy::Report);
    let asks = |object: &str| {
        let objects = Correct::of(&[object.to_owned()]);
        plan(&world.clone().with(|snapshot| snapshot.ask.correct = objects).snapshot).actions.len()
    };
    assert_eq!((asks("Deployment/web"), asks("ConfigMap/files")), (1, 0));
}

#[test]
fn with_the_policy_off_nobody_looks() {
    check(&policy(edited(EDIT, &[&["f:spec", "f:replicas"]]), DriftPolicy::Off), &["= 2 unchanged"]);
}

#[test]
fn scaling_is_named_by_its_subresource() {
    check(
        &edited(Some(("kubectl", "Update", "scale")), &[&["f:spec", "f:replicas"]]),
        &[
            PUT_BACK,
            "* Deployment/web changed spec.replicas by kubectl (Update scale) at 2026-11-21T11:00:00Z",
            "= 1 unchanged",
        ],
    );
}

#[test]
fn a_removed_list_item_is_named_by_its_key() {
    check(
        &edited(None, &[&at_web(&["f:env", "k:{\"name\":\"A\"}"])]),
        &[PUT_BACK, "* Deployment/web removed spec.template.spec.containers[name=web].env[name=A]", "= 1 unchanged"],
    );
}

#[test]
fn two_editors_are_named_apart() {
    let removed: &[&str] = &at_web(&["f:env", "k:{\"name\":\"A\"}"]);
    let world = edited(None, &[removed, &["f:spec", "f:replicas"]]).live("Deployment/web", |live| {
        let entry = serde_json::json!({
            "manager": "kubectl", "operation": "Update", "subresource": "scale", "time": "2026-11-21T11:30:00Z",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
        });
        live.managed.as_mut().unwrap().as_array_mut().unwrap().push(entry);
    });
    check(
        &world,
        &[
            PUT_BACK,
            "* Deployment/web changed spec.replicas by kubectl (Update scale) at 2026-11-21T11:30:00Z",
            "* Deployment/web removed spec.template.spec.containers[name=web].env[name=A]",
            "= 1 unchanged",
        ],
    );
}

#[test]
fn an_update_under_our_name_is_an_impostor() {
    check(
        &edited(Some(("wild", "Update", "")), &[&["f:spec", "f:replicas"]]),
        &[PUT_BACK, "* Deployment/web changed spec.replicas by wild (Update) at 2026-11-21T11:00:00Z", "= 1 unchanged"],
    );
}

#[test]
fn an_apply_under_our_name_shows_by_its_time_alone() {
    let world = edited(None, &[]).live("Deployment/web", |live| live.time = "2026-11-21T11:00:00Z".into());
    check(&world, &[PUT_BACK, "* Deployment/web changed by wild (Apply) at 2026-11-21T11:00:00Z", "= 1 unchanged"]);
}

#[test]
fn a_difference_that_nobody_explains_is_still_drift() {
    let world = web().live("Deployment/web", |live| live.fields = "other".into());
    check(&world, &[PUT_BACK, "* Deployment/web changed", "= 1 unchanged"]);
}

#[test]
fn our_marks_are_put_back_without_a_word_also_under_report() {
    let world = edited(EDIT, &[&["f:metadata", "f:annotations", "f:rewild.dev/hash"]]);
    for world in [world.clone(), policy(world, DriftPolicy::Report)] {
        check(&world, &[PUT_BACK, "= 1 unchanged"]);
        let plan = plan(&world.snapshot);
        assert_eq!(plan.drift[0].kind, DriftKind::Bookkeeping);
        assert_eq!(plan.drifted().count(), 0);
    }
}

#[test]
fn a_removed_instance_label_is_only_bookkeeping() {
    check(&edited(None, &[&["f:metadata", "f:labels", "f:rewild.dev/instance"]]), &[PUT_BACK, "= 1 unchanged"]);
}

#[test]
fn labels_and_annotations_of_the_object_itself_are_harmless() {
    let files = config("files", "1");
    let harmless = |path: &[&str]| {
        let world = World::deployed(std::slice::from_ref(&files)).edits(&files, EDIT, &[path]);
        plan(&world.snapshot).drift[0].harmless
    };
    assert!(harmless(&["f:metadata", "f:labels", "f:app"]));
    assert!(!harmless(&["f:data", "f:k"]));
}

#[test]
fn a_deleted_object_is_made_again() {
    check(
        &web().loses("Deployment/web"),
        &["+ Deployment web puts back what differs", "* Deployment/web is gone", "= 1 unchanged"],
    );
}

#[test]
fn under_report_a_deleted_object_stays_deleted() {
    check(
        &policy(web().loses("Deployment/web"), DriftPolicy::Report),
        &["* Deployment/web is gone, left as it is", "= 1 unchanged"],
    );
}

#[test]
fn a_deleted_object_is_not_missed_while_the_watch_is_not_fresh() {
    let world = web().loses("Deployment/web").watch("apps", "Deployment", crate::plan::Freshness::Stale);
    check(&world, &["= 2 unchanged"]);
}

#[test]
fn an_object_made_anew_by_somebody_is_taken_in_its_new_incarnation() {
    let world = web().live("Deployment/web", |live| live.uid = "other".into());
    check(&world, &[PUT_BACK, "* Deployment/web was made anew", "= 1 unchanged"]);
    assert_eq!(plan(&world.snapshot).actions[0].uid.as_deref(), Some("other"));
}

#[test]
fn an_object_made_anew_by_another_tool_is_refused() {
    let flux = Owner::Tool { tool: "Flux".into(), mark: "label x".into() };
    for world in [web().live("Deployment/web", |live| live.uid = "other".into()), web().loses("Deployment/web")] {
        check(
            &world.exists("Deployment/web", flux.clone()),
            &[
                "! ForeignOwner: Deployment/web belongs to Flux, by its label x (try: remove it from Flux, or its mark from the object)",
                "= 1 unchanged",
            ],
        );
    }
}

#[test]
fn cleared_managed_fields_are_claimed_again() {
    let world = web().live("Deployment/web", |live| live.fields.clear());
    check(&world, &[PUT_BACK, "* Deployment/web lost its owner", "= 1 unchanged"]);
}

#[test]
fn a_new_revision_of_an_object_ends_its_drift_under_every_policy() {
    for drift in [DriftPolicy::Correct, DriftPolicy::Report, DriftPolicy::Off] {
        let world = edited(EDIT, &[&["f:spec", "f:replicas"]]);
        let world = policy(world, drift).drops("Deployment/web").wants(&deployment("web", "web:2"));
        check(&world, &["~ Deployment web changed in ccccccc", "= 1 unchanged"]);
        let action = &plan(&world.snapshot).actions[0];
        assert!(matches!(action.verb, Verb::Apply { force: Force::Yes, .. }));
    }
}

#[test]
fn a_view_from_before_our_own_write_is_no_drift() {
    let before = |world: World| world.live("Deployment/web", |live| live.fields = "before".into());
    let world = before(web()).record("Deployment/web", |record| record.generation = 2);
    check(&world, &["= 2 unchanged"]);
    let world = before(web()).live("Deployment/web", |live| live.time = "2026-11-21T09:59:59Z".into());
    check(&world, &["= 2 unchanged"]);
}

#[test]
fn fields_that_others_add_are_not_drift() {
    let world = web().live("Deployment/web", |live| live.resource_version = "99".into());
    check(&world, &["= 2 unchanged"]);
}

const SCALER: Option<(&str, &str, &str)> = Some(("kube-controller-manager", "Update", "scale"));
const REPLICAS: &[&str] = &["f:spec", "f:replicas"];

#[test]
fn what_an_autoscaler_scaled_is_left_to_it() {
    let note = "i Deployment/web spec.replicas is held by kube-controller-manager since 2026-11-21T11:00:00Z and is left to it";
    check(&edited(SCALER, &[REPLICAS]), &[note, "= 2 unchanged"]);
    // Also where a person asks for everything else to be put back.
    check(&edited(SCALER, &[REPLICAS]).with(|snapshot| snapshot.ask.correct = Correct::All), &[note, "= 2 unchanged"]);
}

#[test]
fn a_new_revision_leaves_out_what_an_autoscaler_holds() {
    let world = edited(SCALER, &[REPLICAS]).drops("Deployment/web").wants(&deployment("web", "web:2"));
    let actions = plan(&world.snapshot).actions;
    let Verb::Apply { payload, force: Force::No } = &actions[0].verb else { panic!("{actions:?}") };
    assert_eq!(payload.at(&["spec", "replicas"]), None);
    assert_eq!(payload.at(&["spec", "template", "spec", "containers"]).unwrap()[0]["image"], "web:2");
}

#[test]
fn what_a_person_changed_beside_an_autoscaler_is_put_back_without_the_replicas() {
    let mut world = edited(EDIT, &[&at_web(&["f:image"])]);
    let taken = edited(SCALER, &[REPLICAS]).snapshot.live.values().find_map(|live| live.managed.clone()).unwrap();
    world = world.live("Deployment/web", |live| {
        let managed = live.managed.as_mut().unwrap();
        managed[0]["fieldsV1"]["f:spec"].as_object_mut().unwrap().shift_remove("f:replicas");
        managed.as_array_mut().unwrap().push(taken[1].clone());
    });
    let actions = plan(&world.snapshot).actions;
    let Verb::Apply { payload, force: Force::Yes } = &actions[0].verb else { panic!("{actions:?}") };
    assert_eq!(payload.at(&["spec", "replicas"]), None);
    assert_eq!(payload.at(&["spec", "template", "spec", "containers"]).unwrap()[0]["image"], "web:1");
}

#[test]
fn a_field_that_a_rule_ignores_is_shown_and_left_until_the_rule_ends() {
    let rule = |until: &str| crate::model::IgnoreRule {
        kind: "Deployment".into(),
        paths: vec!["/spec/replicas".into()],
        until: until.into(),
        reason: "night shift".into(),
        ..crate::model::IgnoreRule::default()
    };
    let world = |until: &str| edited(EDIT, &[REPLICAS]).with(|snapshot| snapshot.policy.ignore = vec![rule(until)]);
    check(
        &world("2026-11-22T00:00:00Z"),
        &[
            "i Deployment/web spec.replicas is held by kubectl-edit since 2026-11-21T11:00:00Z and is ignored: night shift",
            "= 2 unchanged",
        ],
    );
    let wake_at = plan(&world("2026-11-22T00:00:00Z").snapshot).wake_at;
    assert_eq!(wake_at, Some(crate::base::Timestamp::parse("2026-11-22T00:00:00Z").unwrap()));
    check(
        &world("2026-11-21T11:59:00Z"),
        &[
            PUT_BACK,
            "* Deployment/web changed spec.replicas by kubectl-edit (Update) at 2026-11-21T11:00:00Z",
            "= 1 unchanged",
        ],
    );
}

#[test]
fn an_author_says_what_is_done_about_the_drift_of_one_object() {
    let object = |word: &str| {
        let mut object = deployment("web", "web:1");
        object.set_annotation("rewild.dev/drift", word);
        object
    };
    let world = |word: &str| {
        let object = object(word);
        World::deployed(std::slice::from_ref(&object)).edits(&object, EDIT, &[&at_web(&["f:image"])])
    };
    assert_eq!(plan(&world("report").snapshot).actions.len(), 0);
    assert_eq!(plan(&world("report").snapshot).drift.len(), 1);
    assert_eq!(plan(&world("off").snapshot).drift.len(), 0);
    assert_eq!(plan(&policy(world("correct"), DriftPolicy::Report).snapshot).actions.len(), 1);
}

#[test]
fn what_a_person_holds_is_told_and_left_alone_until_then() {
    let at = |text: &str| crate::base::Timestamp::parse(text).unwrap();
    let held = |until: &str, now: &str| {
        let world = edited(EDIT, &[&at_web(&["f:image"])]).live("Deployment/web", |live| live.hold = until.to_owned());
        plan(&world.with(|snapshot| snapshot.now = at(now)).snapshot)
    };
    let plan_of = held("2026-11-21T13:00:00Z", "2026-11-21T12:00:00Z");
    assert_eq!((plan_of.actions.len(), plan_of.drift.len()), (0, 1));
    assert_eq!(plan_of.wake_at, Some(at("2026-11-21T13:00:00Z")));
    assert_eq!(held("2026-11-21T13:00:00Z", "2026-11-21T13:00:01Z").actions.len(), 1);
    let longest = held("2099-01-01T00:00:00Z", "2026-11-21T12:00:00Z");
    assert_eq!(longest.wake_at, Some(at("2026-11-22T12:00:00Z")), "a day, unless it is known when it was written");
    assert_eq!(held("tomorrow", "2026-11-21T12:00:00Z").actions.len(), 1);
}
