//! Pure. Fields of ours that other managers than people's hold, under every policy about them.

use super::check;
use super::world::{World, deployment};
use crate::model::{ConflictPolicy, DriftPolicy, HandoverRule};
use crate::plan::{Correct, Verb, plan};

const TUNER: Option<(&str, &str, &str)> = Some(("tuner", "Update", ""));
const REPLICAS: &[&str] = &["f:spec", "f:replicas"];
const CHANGED: &str = "* Deployment/web changed spec.replicas by tuner (Update) at 2026-11-21T11:00:00Z";

fn edited(policy: ConflictPolicy, other: Option<(&str, &str, &str)>) -> World {
    let web = deployment("web", "web:1");
    World::deployed(std::slice::from_ref(&web))
        .edits(&web, other, &[REPLICAS])
        .with(|snapshot| snapshot.policy.conflicts = policy)
}

#[test]
fn a_field_of_ours_that_a_program_holds_is_taken_left_or_holds_the_object_back() {
    let put_back = "~ Deployment web puts back what differs";
    check(&edited(ConflictPolicy::Force, TUNER), &[put_back, CHANGED, "= 1 unchanged"]);
    let left = format!("{CHANGED}, left as it is");
    check(&edited(ConflictPolicy::Yield, TUNER), &[&left, "= 2 unchanged"]);
    let held = "! FieldConflict: fields of Deployment/web are held by others: spec.replicas by tuner (try: wild drift revert blog)";
    check(&edited(ConflictPolicy::Block, TUNER), &[&left, held, "= 1 unchanged"]);
    let off = edited(ConflictPolicy::Block, TUNER).with(|snapshot| snapshot.policy.drift = DriftPolicy::Off);
    check(&off, &["= 2 unchanged"]);
    // A person is no program, and one who asks for the committed values says more than the settings.
    let edit = Some(("kubectl-edit", "Update", ""));
    assert_eq!(plan(&edited(ConflictPolicy::Yield, edit).snapshot).actions.len(), 1);
    let asked = edited(ConflictPolicy::Block, TUNER).with(|snapshot| snapshot.ask.correct = Correct::All);
    check(&asked, &[put_back, CHANGED, "= 1 unchanged"]);
}

#[test]
fn a_new_revision_leaves_out_what_may_stay_with_others() {
    let changed = edited(ConflictPolicy::Yield, TUNER).drops("Deployment/web").wants(&deployment("web", "web:2"));
    let actions = plan(&changed.snapshot).actions;
    let Verb::Apply { payload, .. } = &actions[0].verb else { panic!("{actions:?}") };
    assert_eq!(payload.at(&["spec", "replicas"]), None);
    assert_eq!(payload.at(&["spec", "template", "spec", "containers"]).unwrap()[0]["image"], "web:2");
    assert!(actions[0].yields.is_partial());
    let blocked = edited(ConflictPolicy::Block, TUNER).drops("Deployment/web").wants(&deployment("web", "web:2"));
    assert_eq!(plan(&blocked.snapshot).actions, []);
}

#[test]
fn a_field_that_is_handed_over_by_the_settings_is_nobodys_drift() {
    let rule = |manager: &str, subresource: &str| HandoverRule {
        path: "/spec/replicas".into(),
        manager: manager.into(),
        subresource: subresource.into(),
    };
    let world = |rule: HandoverRule| {
        edited(ConflictPolicy::Force, TUNER).with(|snapshot| snapshot.policy.handover = vec![rule])
    };
    let held = "i Deployment/web spec.replicas is held by tuner since 2026-11-21T11:00:00Z and is left to it";
    check(&world(rule("tun*", "")), &[held, "= 2 unchanged"]);
    assert_eq!(plan(&world(rule("tuner", "scale")).snapshot).actions.len(), 1);
    assert_eq!(plan(&world(rule("other", "")).snapshot).actions.len(), 1);
}
