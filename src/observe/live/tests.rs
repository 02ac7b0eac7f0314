//! Tests of `live`: what a snapshot says about objects that no watch shows.
//!
//! Not here: what follows from it (`plan`).

use serde_json::json;

use crate::base::Timestamp;
use crate::model::{
    AppName, CommitId, File, FileTree, InstanceId, Inventory, Object, ObjectId, OwnEntry, Prune, Record, RecordState,
    Secrets, Settings, apply_set,
};
use crate::observe::{Observation, observe};
use crate::plan::{Ask, Owner, Presence, Snapshot, TargetState, Verb};
use crate::target::scripted::Scripted;
use crate::target::{LiveObject, Refusal, RefusalKind};

const SETTINGS: &str = r#"{"apiVersion": "rewild.dev/v1", "instanceId": "k3f7q2m5xd"}"#;
const KUSTOMIZATION: &str = "namespace: blog\nresources: [deployment.yaml]\n";
const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: blog}\nspec: {}\n";

fn web() -> ObjectId {
    ObjectId::new("apps", "Deployment", "blog", "web")
}

fn namespace() -> (ObjectId, Result<Object, Refusal>) {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blog", "uid": "n"}});
    (ObjectId::new("", "Namespace", "", "blog"), Ok(Object::from_value(object).unwrap()))
}

fn deployment(uid: &str) -> Object {
    let metadata =
        json!({"name": "web", "namespace": "blog", "uid": uid, "annotations": {"meta.helm.sh/release-name": "r"}});
    Object::from_value(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata})).unwrap()
}

fn record(uid: &str) -> Record {
    Record { api_version: "apps/v1".into(), uid: uid.into(), ..Record::sample(web()) }
}

pub(in crate::observe) async fn snapshot(target: &Scripted, inventory: Inventory) -> Snapshot {
    snapshot_of(Presence::Kept, target, inventory).await
}

async fn snapshot_of(presence: Presence, target: &Scripted, inventory: Inventory) -> Snapshot {
    let mut files = FileTree::new();
    for (path, text) in [("kustomization.yaml", KUSTOMIZATION), ("deployment.yaml", DEPLOYMENT)] {
        files.insert(crate::base::RepoPath::parse(&format!("apps/blog/{path}")).unwrap(), File::text(text));
    }
    let settings: Settings = serde_json::from_str(SETTINGS).unwrap();
    observe(Observation {
        instance: &InstanceId::parse("k3f7q2m5xd").unwrap(),
        app: &AppName::parse("blog").unwrap(),
        cluster: &Default::default(),
        commit: &CommitId::parse(&"a".repeat(40)).unwrap(),
        files: &files,
        presence,
        settings: &settings,
        secrets: &Secrets::new(),
        withheld: &[],
        hash_key: &[0; 32],
        inventory,
        held: Vec::new(),
        grace: crate::observe::Grace::Given,
        requirements: Vec::new(),
        dependents: Vec::new(),
        fights: Default::default(),
        underway: Default::default(),
        refused: false,
        audit: Default::default(),
        ask: Ask::default(),
        target,
        now: Timestamp(0),
    })
    .await
    .snapshot
}

#[tokio::test]
async fn another_incarnation_without_our_label_has_its_owner() {
    let target = Scripted { objects: [namespace(), (web(), Ok(deployment("new")))].into(), ..Scripted::default() };
    let seen = snapshot(&target, Inventory::new([record("old")])).await;
    assert_eq!(seen.live.get(&web()).map(|live| live.uid.as_str()), Some("new"));
    assert!(matches!(&seen.existing[&web()].owner, Owner::Tool { tool, .. } if tool == "Helm"), "{seen:#?}");
    let seen = snapshot(&target, Inventory::new([record("new")])).await;
    assert!(seen.live.contains_key(&web()) && !seen.existing.contains_key(&web()));
}

#[tokio::test]
async fn another_incarnation_that_carries_our_labels_has_its_owner_all_the_same() {
    let (_, shown, _) = config("web", false);
    let shown = LiveObject { uid: "new".into(), ..shown };
    let mut target = Scripted { objects: [namespace(), (web(), Ok(deployment("new")))].into(), ..Scripted::default() };
    target.live.insert(web(), shown);
    let seen = snapshot(&target, Inventory::new([record("old")])).await;
    assert!(matches!(&seen.existing[&web()].owner, Owner::Tool { tool, .. } if tool == "Helm"), "{seen:#?}");
    let plan = crate::plan::plan(&seen);
    assert!(plan.actions.iter().all(|action| action.object != web()), "{plan:#?}");
    for known in [record("new"), Record { state: RecordState::Deleting, ..record("old") }] {
        let seen = snapshot(&target, Inventory::new([known])).await;
        assert!(seen.live.contains_key(&web()) && !seen.existing.contains_key(&web()));
    }
}

#[tokio::test]
async fn what_a_missing_namespace_would_hold_is_not_asked_for() {
    let target = Scripted::default();
    let seen = snapshot(&target, Inventory::default()).await;
    assert_eq!(seen.namespace_state, crate::plan::NamespaceState::Missing);
    assert_eq!(*target.read.lock().unwrap(), [namespace().0]);
}

#[tokio::test]
async fn a_refused_look_at_one_object_is_about_that_object_only() {
    let refused = Refusal::new(RefusalKind::Forbidden, "read Deployment blog/web: forbidden");
    let target = Scripted { objects: [namespace(), (web(), Err(refused))].into(), ..Scripted::default() };
    let mut seen = snapshot(&target, Inventory::default()).await;
    seen.policy.grants.namespaces.push("blog".into());
    assert_eq!(seen.target, TargetState::Reachable);
    assert_eq!(seen.unseen.get(&web()).map(String::as_str), Some("read Deployment blog/web: forbidden"));
    let plan = crate::plan::plan(&seen);
    let held: Vec<&str> = plan.blocked.iter().map(|blocked| blocked.reason.as_str()).collect();
    assert_eq!(held, ["NotReadable"]);
    assert!(plan.actions.iter().all(|action| action.object != web()));
}

#[tokio::test]
async fn a_watch_that_does_not_open_is_doubt_and_no_silence_of_the_target() {
    let late = Refusal::new(RefusalKind::Timeout, "watch Deployment: the first list did not arrive");
    let target = Scripted { objects: [namespace()].into(), watching: Some(late), ..Scripted::default() };
    assert_eq!(snapshot(&target, Inventory::default()).await.target, TargetState::Reachable);
}

#[tokio::test]
async fn silence_in_the_middle_is_silence_of_the_target() {
    let silent = Refusal::new(RefusalKind::Timeout, "read Deployment blog/web: no answer within 10 s");
    let target = Scripted { objects: [namespace(), (web(), Err(silent))].into(), ..Scripted::default() };
    assert!(matches!(snapshot(&target, Inventory::default()).await.target, TargetState::Unreachable { .. }));
}

#[tokio::test]
async fn of_an_app_that_goes_the_namespace_is_found_too_and_loses_our_marks() {
    let (_, live, object) = config("blog", true);
    let mut value = object.to_value();
    value["kind"] = json!("Namespace");
    value["metadata"].as_object_mut().unwrap().shift_remove("namespace");
    let id = namespace().0;
    let mut target =
        Scripted { objects: [(id.clone(), Ok(Object::from_value(value).unwrap()))].into(), ..Scripted::default() };
    target.live.insert(id.clone(), live);
    for presence in [Presence::RemovedKeepingData, Presence::RemovedWithData] {
        let seen = snapshot_of(presence, &target, Inventory::default()).await;
        assert_eq!(seen.inventory.records().map(|record| &record.id).collect::<Vec<_>>(), [&id]);
        assert!(!seen.existing.contains_key(&id));
        let plan = crate::plan::plan(&seen);
        let verbs: Vec<_> = plan.actions.iter().map(|action| (&action.object, &action.verb)).collect();
        assert_eq!(verbs, [(&id, &Verb::Release)]);
    }
}

/// A config map as the watch and a read show it; copies of our labels by a person have no entry of ours.
fn config(name: &str, entry: bool) -> (ObjectId, LiveObject, Object) {
    let id = ObjectId::new("", "ConfigMap", "blog", name);
    let manager = if entry { "wild" } else { "kubectl-create" };
    let operation = if entry { "Apply" } else { "Update" };
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": name, "namespace": "blog", "uid": "u", "resourceVersion": "5",
        "labels": {"rewild.dev/instance": "k3f7q2m5xd", "rewild.dev/app": "blog", "applyset.kubernetes.io/part-of": set()},
        "annotations": {"rewild.dev/hash": "v1.h"},
        "managedFields": [{"manager": manager, "operation": operation, "apiVersion": "v1", "time": "2026-11-21T12:00:00Z", "fieldsV1": {"f:data": {}}}]}});
    let object = Object::from_value(object).unwrap();
    let live = LiveObject {
        uid: "u".into(),
        resource_version: "5".into(),
        generation: 0,
        own: OwnEntry::of(object.at(&["metadata", "managedFields"])),
        terminating: false,
        leaving: None,
        health: None,
        changed: None,
        managed: None,
        hash: "v1.h".into(),
        baseline: String::new(),
        entered: false,
        unspoken: false,
        prune: Prune::ByKind,
        hold: String::new(),
        depends_on: String::new(),
        app: "blog".into(),
    };
    (id, live, object)
}

fn set() -> String {
    apply_set::id(&apply_set::parent_id(&InstanceId::parse("k3f7q2m5xd").unwrap(), "wild-system"))
}

#[tokio::test]
async fn an_object_with_all_our_marks_that_nobody_remembers_is_found_and_a_copy_is_not() {
    let mut target = Scripted { objects: [namespace()].into(), ..Scripted::default() };
    for (name, entry) in [("ours", true), ("copy", false)] {
        let (id, live, object) = config(name, entry);
        target.live.insert(id.clone(), live);
        target.objects.insert(id, Ok(object));
    }
    let seen = snapshot(&target, Inventory::default()).await;
    let found: Vec<&str> = seen.found.iter().map(|record| record.id.name.as_str()).collect();
    assert_eq!(found, ["ours"]);
    assert_eq!(seen.inventory.records().count(), 1);
    let plan = crate::plan::plan(&seen);
    assert!(plan.actions.iter().all(|action| action.object.name != "copy"), "{plan:#?}");
}
