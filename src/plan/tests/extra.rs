//! Pure. What people add to an object beside what git says, under every policy.

use serde_json::json;

use super::check;
use super::world::{World, config, deployment, managed};
use crate::model::{DriftPolicy, Editors, ExtraPolicy, IgnoreRule};
use crate::plan::wanted::Wanted;
use crate::plan::{Correct, Extras, Force, Verb, plan};

/// Lets an editor add a variable and a label to the deployment, without touching a field of ours.
fn added(world: World) -> World {
    let payload = Wanted::new(&world.snapshot, &super::world::desired(&deployment("web", "web:1"))).payload;
    world.live("Deployment/web", |live| {
        let mut managed = live.managed.take().unwrap_or_else(|| managed(&payload));
        let item = json!({".": {}, "f:name": {}, "f:value": {}});
        let pod = json!({"f:containers": {"k:{\"name\":\"web\"}": {"f:env": {"k:{\"name\":\"C\"}": item}}}});
        managed.as_array_mut().unwrap().push(json!({
            "manager": "kubectl-edit", "operation": "Update", "apiVersion": "apps/v1", "time": "2026-11-21T11:00:00Z",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:mine": {}}}, "f:spec": {"f:template": {"f:spec": pod}}},
        }));
        live.managed = Some(managed);
    })
}

fn web() -> World {
    added(World::deployed(&[deployment("web", "web:1")]))
}

fn policy(world: World, policy: ExtraPolicy) -> World {
    world.with(|snapshot| snapshot.policy.extra = policy)
}

const ADDED: &str = "* Deployment/web has in addition metadata.labels.mine, spec.template.spec.containers[name=web].env[name=C] by \
                     kubectl-edit (Update) at 2026-11-21T11:00:00Z";
const GOES: &str = "~ Deployment web takes away what was added";

#[test]
fn an_addition_is_told_and_left() {
    check(&web(), &[&format!("{ADDED}, left as it is"), "= 2 unchanged"]);
    let only_label = web().with(|snapshot| {
        let rule = IgnoreRule {
            kind: "Deployment".into(),
            paths: vec!["/spec/template/spec/containers/*/env/*".into()],
            ..IgnoreRule::default()
        };
        snapshot.policy.ignore.push(rule);
    });
    let item = plan(&only_label.snapshot).drift.remove(0);
    assert_eq!((item.paths.as_slice(), item.harmless), (&["metadata.labels.mine".to_owned()][..], true));
    assert!(!plan(&web().snapshot).drift[0].harmless);
}

#[test]
fn people_add_through_the_editors_that_the_settings_name_too() {
    let by_console = web().live("Deployment/web", |live| {
        let entries = live.managed.as_mut().unwrap().as_array_mut().unwrap();
        entries.last_mut().unwrap()["manager"] = json!("console-7");
    });
    check(&by_console, &["= 2 unchanged"]);
    let named = by_console.with(|snapshot| snapshot.policy.editors = Editors::beside(["console"]));
    check(&named, &[&format!("{}, left as it is", ADDED.replace("kubectl-edit", "console-7")), "= 2 unchanged"]);
}

#[test]
fn an_addition_is_kept_or_taken_away_where_the_settings_say_so() {
    check(&policy(web(), ExtraPolicy::Keep), &["= 2 unchanged"]);
    let removed = policy(web(), ExtraPolicy::Remove);
    check(&removed, &[GOES, ADDED, "= 1 unchanged"]);
    let action = plan(&removed.snapshot).actions.remove(0);
    assert_eq!((action.extras, action.uid.as_deref()), (Extras::Remove, Some("uid-web")));
    assert!(matches!(action.verb, Verb::Apply { force: Force::Yes, .. }));
    check(&removed.with(|snapshot| snapshot.policy.drift = DriftPolicy::Off), &["= 2 unchanged"]);
    // A person who asks for it says more than the settings.
    check(&web().with(|snapshot| snapshot.ask.correct = Correct::All), &[GOES, ADDED, "= 1 unchanged"]);
}

#[test]
fn an_addition_holds_nothing_else_back() {
    let world = web().with(|snapshot| snapshot.policy.drift = DriftPolicy::Correct);
    let edit = Some(("keda", "Update", ""));
    let edited = added(World::deployed(&[deployment("web", "web:1")]).edits(
        &deployment("web", "web:1"),
        edit,
        &[&["f:spec", "f:replicas"]],
    ));
    let changed = "* Deployment/web changed spec.replicas by keda (Update) at 2026-11-21T11:00:00Z";
    check(
        &edited,
        &["~ Deployment web puts back what differs", changed, &format!("{ADDED}, left as it is"), "= 1 unchanged"],
    );
    assert_eq!(plan(&edited.snapshot).actions[0].extras, Extras::Leave);
    let new = world.drops("Deployment/web").wants(&deployment("web", "web:2"));
    check(&new, &["~ Deployment web changed in ccccccc", &format!("{ADDED}, left as it is"), "= 1 unchanged"]);
}

#[test]
fn what_was_there_when_an_object_was_taken_over_is_no_addition() {
    let world = World::deployed(&[]).wants(&config("files", "1")).exists("ConfigMap/files", crate::plan::Owner::Nobody);
    let taken = plan(&world.with(|snapshot| snapshot.ask.adopt = true).snapshot);
    assert_eq!(taken.actions[0].extras, Extras::Keep);
}
