//! The walk over a scripted target.
//!
//! Not here: what settles a conflict (`settle.rs`), a target that behaves (`tests/it`).

use serde_json::json;

use super::*;
use crate::model::{AppName, CommitId, InstanceId, ObjectId, Observed, SecretValue};
use crate::plan::Yields;
use crate::target::scripted::Scripted;

pub(super) fn action(force: Force) -> Action {
    let payload = Object::from_value(json!({"kind": "Deployment", "metadata": {"name": "a"}})).unwrap();
    Action {
        id: 0,
        verb: Verb::Apply { payload, force },
        object: ObjectId::new("apps", "Deployment", "n", "a"),
        api_version: "apps/v1".into(),
        wave: 0,
        stage: 0,
        after: Vec::new(),
        reason: String::new(),
        uid: Some("u".into()),
        hash: String::new(),
        source: String::new(),
        yields: Yields::default(),
        recreate: Recreate::Never("nobody said so"),
        extras: Extras::Leave,
        notice: None,
    }
}

/// Remembers what it is to keep, unless it cannot.
#[derive(Default)]
pub(super) struct Keeper {
    kept: std::sync::Mutex<Vec<String>>,
    fails: bool,
}

impl Sink for Keeper {
    fn keep<'a>(&'a self, action: &'a Action, kept: Kept<'a>) -> Noted<'a, Result<(), String>> {
        let what = match kept {
            Kept::Object(object) => object.kind().to_owned(),
            Kept::Volume(volume) => format!("volume {} {}", volume.name, volume.policy),
        };
        self.kept.lock().unwrap().push(format!("{what} {}", action.object.short()));
        Box::pin(async { if self.fails { Err("the disk is full".to_owned()) } else { Ok(()) } })
    }

    fn outcome<'a>(&'a self, _action: &'a Action, _outcome: &'a Outcome) -> Noted<'a, ()> {
        Box::pin(async {})
    }
}

pub(super) async fn sent(action: &Action, target: &Scripted, sink: &Keeper) -> Outcome {
    sent_at(action, target, sink, Age::begin(target)).await
}

async fn sent_at(action: &Action, target: &Scripted, sink: &Keeper, age: Age) -> Outcome {
    let (instance, app) = (InstanceId::parse("k3f7q2m5xd").unwrap(), AppName::parse("blog").unwrap());
    let identity = Identity { instance: &instance, apply_set: "applyset-x-v1", app: &app };
    let (secrets, halt) = (&SecretPayloads::default(), &Halt::default());
    send(action, Hands { identity, target, secrets, hidden: &Secrets::new(), sink, halt, age }).await.1
}

#[tokio::test]
async fn a_plan_that_is_too_old_deletes_nothing_and_applies_all_the_same() {
    static MINUTES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    // Each reading is a whole minute after the one before.
    let clock = || Duration::from_secs(60 * MINUTES.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
    let delete = Verb::Delete { propagation: Propagation::Background };
    let now = Recreate::Now(Propagation::Background);
    let allowed = Recreate::Allowed(Propagation::Background);
    for (action, answers, effect) in [
        (Action { verb: delete, ..action(Force::No) }, vec![], Effect::Skipped),
        (Action { verb: Verb::Free { finalizers: Vec::new() }, ..action(Force::No) }, vec![], Effect::Skipped),
        (Action { recreate: now, ..action(Force::No) }, vec![], Effect::Skipped),
        (Action { recreate: allowed, ..action(Force::No) }, vec![immutable()], Effect::Skipped),
        (action(Force::No), vec![accepted()], Effect::Configured),
    ] {
        let target = Scripted { applies: std::sync::Mutex::new(answers.into()), ..Scripted::default() };
        let age = Age::by(clock, &target);
        let outcome = sent_at(&action, &target, &Keeper::default(), age).await;
        assert_eq!((outcome.effect, target.deleted.lock().unwrap().len()), (effect, 0), "{action:?}");
        let applied = Applied { outcomes: vec![outcome], asked: None };
        assert_eq!(applied.is_outdated(), effect == Effect::Skipped);
    }
}

#[tokio::test]
async fn what_cannot_be_kept_is_not_deleted() {
    let verb = Verb::Delete { propagation: Propagation::Background };
    let action = Action { verb, uid: Some("u".into()), ..action(Force::No) };
    let live = |uid: &str| {
        let live = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "uid": uid}});
        let objects = [(action.object.clone(), Ok(Object::from_value(live).unwrap()))];
        Scripted { objects: objects.into(), ..Scripted::default() }
    };
    for (uid, fails, expected) in [
        ("u", false, (Effect::Deleted, vec!["Deployment Deployment/a"], 1)),
        ("u", true, (Effect::Failed, vec!["Deployment Deployment/a"], 0)),
        ("another", true, (Effect::Deleted, vec![], 1)),
    ] {
        let (keeper, target) = (Keeper { fails, ..Keeper::default() }, live(uid));
        let outcome = sent(&action, &target, &keeper).await;
        let deleted = target.deleted.lock().unwrap().len();
        let kept = keeper.kept.lock().unwrap().clone();
        assert_eq!((outcome.effect, kept.iter().map(String::as_str).collect(), deleted), expected, "{uid} {fails}");
    }
}

#[tokio::test]
async fn an_app_whose_kinds_the_apply_set_may_not_name_has_failed() {
    let second = ObjectId::new("apps", "Deployment", "n", "b");
    let actions = vec![action(Force::No), Action { id: 1, object: second, stage: 1, ..action(Force::No) }];
    let (app, commit) = (AppName::parse("blog").unwrap(), CommitId::parse(&"a".repeat(40)).unwrap());
    let plan = Plan { actions, ..Plan::nothing(app.clone(), commit) };
    let instance = InstanceId::parse("k3f7q2m5xd").unwrap();
    let identity = Identity { instance: &instance, apply_set: "applyset-x-v1", app: &app };
    for (kind, expected, class) in [
        (RefusalKind::Forbidden, Effect::Failed, ErrorClass::User),
        (RefusalKind::Busy, Effect::Failed, ErrorClass::System),
        (RefusalKind::Unreachable, Effect::Skipped, ErrorClass::System),
    ] {
        let grows = Some(Refusal::new(kind, "put the parent: the server said no"));
        let (target, sink) = (Scripted { grows, ..Scripted::default() }, Keeper::default());
        let (secrets, halt) = (SecretPayloads::default(), Halt::default());
        let hands = Hands {
            identity,
            target: &target,
            secrets: &secrets,
            hidden: &Secrets::new(),
            sink: &sink,
            halt: &halt,
            age: Age::begin(&target),
        };
        let applied = apply(&plan, hands).await;
        let [first, second] = applied.outcomes.as_slice() else { panic!("{applied:?}") };
        assert_eq!((first.effect, first.error, second.effect), (expected, Some(class), Effect::Skipped));
        assert!(first.message.contains("the server said no"), "{}", first.message);
        assert!(target.sent.lock().unwrap().is_empty());
    }
}

fn volume() -> HeldVolume {
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "blog"}, "spec": {}});
    let claim = Object::from_value(claim).unwrap();
    let [since, until] = [1, 2].map(Timestamp);
    let (name, uid, policy) = ("pv-1".into(), "v".into(), "Delete".into());
    let (cluster, stage) = (crate::model::ClusterName::default(), crate::model::HoldStage::Held);
    HeldVolume { name, cluster, uid, policy, claim, since, until, stage }
}

#[tokio::test]
async fn a_volume_is_remembered_before_it_is_told_to_stay_and_offered_before_its_claim_comes_back() {
    let action = |verb| Action { verb, ..action(Force::No) };
    let said = |target: &Scripted| target.volumes.lock().unwrap().clone();
    let (hold, target) = (action(Verb::Hold { volume: volume() }), Scripted::default());
    let full = Keeper { fails: true, ..Keeper::default() };
    assert_eq!(sent(&hold, &target, &full).await.effect, Effect::Failed);
    assert_eq!(said(&target), Vec::<String>::new());
    assert_eq!(sent(&hold, &target, &Keeper::default()).await.effect, Effect::Configured);
    let back = action(Verb::Return { volume: volume() });
    assert_eq!(sent(&back, &target, &Keeper::default()).await.effect, Effect::Created);
    let go = action(Verb::LetGo { volume: volume() });
    assert_eq!(sent(&go, &target, &Keeper::default()).await.effect, Effect::Configured);
    let offer = r#"pv-1 Offer { namespace: "blog", claim: "data" }"#;
    assert_eq!(said(&target), ["pv-1 Retain", offer, "claim data", r#"pv-1 Policy("Delete")"#]);
}

pub(super) fn accepted() -> Result<Written, Refusal> {
    let [uid, resource_version, fields, time, hash] = ["u", "2", "f", "t", "h"].map(str::to_owned);
    let observed = Observed { uid, resource_version, generation: 1, fields, time, hash };
    Ok(Written { observed, created: false, again: false, unchanged: false, object: Object::default() })
}

fn immutable() -> Result<Written, Refusal> {
    Err(Refusal::new(RefusalKind::Immutable(vec!["spec.template".into()]), "apply Job/a: field is immutable"))
}

/// Sends an apply that is refused because of an immutable field; returns effect, message and what was deleted.
async fn replaced(recreate: Recreate, target: Scripted) -> (Effect, String, Vec<String>) {
    let target = Scripted { applies: std::sync::Mutex::new([immutable(), accepted()].into()), ..target };
    let action = Action { recreate, uid: Some("old".into()), ..action(Force::No) };
    let outcome = sent(&action, &target, &Keeper::default()).await;
    let deleted = target.deleted.lock().unwrap().clone();
    (outcome.effect, outcome.message, deleted)
}

#[tokio::test]
async fn what_stands_beside_our_fields_is_taken_out_once_and_what_editors_hold_as_well_is_ours_alone() {
    let entry = |manager: &str, operation: &str| {
        let fields = serde_json::json!({"f:spec": {"f:strategy": {"f:type": {}}}});
        serde_json::json!({"manager": manager, "operation": operation, "fieldsV1": fields})
    };
    let metadata = serde_json::json!({"name": "a", "uid": "old", "resourceVersion": "5", "managedFields": [entry("wild", "Apply"), entry("wild", "Update")]});
    let strategy = |strategy: serde_json::Value| {
        Object::from_value(serde_json::json!({"metadata": metadata, "spec": {"strategy": strategy}})).unwrap()
    };
    let live = strategy(serde_json::json!({"type": "RollingUpdate", "rollingUpdate": {}}));
    let stored = strategy(serde_json::json!({"type": "Recreate"}));
    let refused = Refusal::new(RefusalKind::Invalid(vec!["spec.strategy.rollingUpdate".into()]), "no");
    let answer = accepted().map(|answer| Written { object: stored, ..answer });
    let target = Scripted {
        applies: std::sync::Mutex::new([Err(refused), answer].into()),
        objects: [(action(Force::No).object, Ok(live))].into(),
        ..Scripted::default()
    };
    let mut action = Action { uid: Some("old".into()), ..action(Force::No) };
    let payload = serde_json::json!({"metadata": {"name": "a"}, "spec": {"strategy": {"type": "Recreate"}}});
    action.verb = Verb::Apply { payload: Object::from_value(payload).unwrap(), force: Force::No };
    let outcome = sent(&action, &target, &Keeper::default()).await;
    assert_eq!(outcome.message, "takes out what stood beside spec.strategy.rollingUpdate");
    assert_eq!(*target.sent.lock().unwrap(), [Ownership::Respect, Ownership::Take]);
    let patched = target.patched.lock().unwrap().clone();
    let removed = patched[1].as_array().unwrap().last().cloned();
    assert_eq!((patched.len(), removed), (2, Some(json!({"op": "remove", "path": "/metadata/managedFields/1"}))));
}

#[tokio::test]
async fn what_only_a_patch_of_ours_holds_any_more_is_taken_away() {
    let entry = |operation: &str, fields: serde_json::Value| json!({"manager": "wild", "operation": operation, "fieldsV1": {"f:spec": fields}});
    let (ours, passing) = (json!({"f:replicas": {}}), json!({"f:strategy": {"f:type": {}}}));
    let stored = |entries: &[serde_json::Value]| {
        let metadata = json!({"name": "a", "uid": "u", "resourceVersion": "5", "managedFields": entries});
        Object::from_value(json!({"metadata": metadata})).unwrap()
    };
    let with_rest = stored(&[entry("Apply", ours.clone()), entry("Update", passing)]);
    let answer = |object: &Object| accepted().map(|answer| Written { object: object.clone(), ..answer });
    let clean = stored(&[entry("Apply", ours)]);
    let target = Scripted {
        applies: std::sync::Mutex::new([answer(&with_rest), answer(&clean)].into()),
        objects: [(action(Force::No).object, Ok(with_rest))].into(),
        ..Scripted::default()
    };
    let outcome = sent(&action(Force::No), &target, &Keeper::default()).await;
    assert_eq!((outcome.effect, target.sent.lock().unwrap().len()), (Effect::Configured, 2));
    let patched = target.patched.lock().unwrap().clone();
    assert_eq!(patched.len(), 1, "{patched:?}");
    let all = entry("Apply", json!({"f:replicas": {}, "f:strategy": {"f:type": {}}}));
    assert!(patched[0].as_array().unwrap().iter().any(|step| step["value"] == all), "{patched:?}");
}

#[tokio::test]
async fn a_target_that_stops_answering_ends_the_stage() {
    let (lot, away) = (10 * STAGE_WIDTH, || Refusal::new(RefusalKind::Unreachable, "the cluster does not answer"));
    let objects = (0..lot).map(|id| {
        let object = ObjectId::new("apps", "Deployment", "n", &format!("a-{id}"));
        Action { id, object, ..action(Force::No) }
    });
    let commit = crate::model::CommitId::parse(&"0".repeat(40)).unwrap();
    let plan = Plan { actions: objects.collect(), ..Plan::nothing(crate::model::AppName::parse("a").unwrap(), commit) };
    let target =
        Scripted { applies: std::sync::Mutex::new((0..lot).map(|_| Err(away())).collect()), ..Scripted::default() };
    let (keeper, halt, secrets) = (Keeper::default(), Halt::default(), SecretPayloads::default());
    let instance = InstanceId::parse("k3f7q2m5xd").unwrap();
    let identity = Identity { instance: &instance, apply_set: "applyset-x-v1", app: &plan.app };
    let hands = Hands {
        identity,
        target: &target,
        secrets: &secrets,
        hidden: &Secrets::new(),
        sink: &keeper,
        halt: &halt,
        age: Age::begin(&target),
    };
    let applied = apply(&plan, hands).await;
    let effects = |effect| applied.outcomes.iter().filter(|outcome| outcome.effect == effect).count();
    let sent = target.sent.lock().unwrap().len();
    assert!(sent <= STAGE_WIDTH, "{sent} were sent");
    assert_eq!((effects(Effect::Failed), effects(Effect::Skipped)), (sent, lot - sent));
    assert!(applied.outcomes.iter().all(|outcome| outcome.message == "the cluster does not answer"));
}

#[tokio::test]
async fn no_message_holds_a_value_of_a_secret() {
    let (instance, app) = (InstanceId::parse("k3f7q2m5xd").unwrap(), AppName::parse("blog").unwrap());
    let identity = Identity { instance: &instance, apply_set: "applyset-x-v1", app: &app };
    let value = "a-value-that-somebody-wrote-where-all-may-read";
    let mut hidden = Secrets::new();
    hidden.insert("apps.blog.token", SecretValue::new(value.to_owned()));
    // It stands where a message is cut.
    let said = format!("{} {value}", "x".repeat(MAX_MESSAGE_CHARS - 10));
    let answers = [Err(Refusal::new(RefusalKind::Invalid(Vec::new()), said))];
    let target = Scripted { applies: std::sync::Mutex::new(answers.into()), ..Scripted::default() };
    let (sink, halt, secrets) = (&Keeper::default(), &Halt::default(), &SecretPayloads::default());
    let age = Age::begin(&target);
    let hands = Hands { identity, target: &target, secrets, hidden: &hidden, sink, halt, age };
    let (_, outcome, refusal) = send(&action(Force::No), hands).await;
    assert!(outcome.message.ends_with(" (hidden)") && !refusal.unwrap().message.contains("a-value"), "{outcome:?}");
}

#[tokio::test]
async fn the_longest_wait_that_a_target_asks_for_is_told() {
    let waits = [None, Some(30), Some(7)].map(|seconds| seconds.map(Duration::from_secs));
    let actions = (0..waits.len()).map(|id| {
        let object = ObjectId::new("apps", "Deployment", "n", &format!("a-{id}"));
        Action { id, object, ..action(Force::No) }
    });
    let (app, commit) = (AppName::parse("blog").unwrap(), CommitId::parse(&"a".repeat(40)).unwrap());
    let plan = Plan { actions: actions.collect(), ..Plan::nothing(app, commit) };
    let busy = |retry_after| Err(Refusal { retry_after, ..Refusal::new(RefusalKind::Busy, "too many requests") });
    let target = Scripted { applies: std::sync::Mutex::new(waits.map(busy).into()), ..Scripted::default() };
    let (keeper, halt, secrets) = (Keeper::default(), Halt::default(), SecretPayloads::default());
    let instance = InstanceId::parse("k3f7q2m5xd").unwrap();
    let identity = Identity { instance: &instance, apply_set: "applyset-x-v1", app: &plan.app };
    let age = Age::begin(&target);
    let hands = Hands {
        identity,
        target: &target,
        secrets: &secrets,
        hidden: &Secrets::new(),
        sink: &keeper,
        halt: &halt,
        age,
    };
    assert_eq!(apply(&plan, hands).await.asked, Some(Duration::from_secs(30)));
}

#[tokio::test]
async fn a_process_that_stood_still_carries_out_nothing_more_of_a_plan() {
    let lot = 3;
    let actions = (0..lot).map(|id| {
        let object = ObjectId::new("apps", "Deployment", "n", &format!("a-{id}"));
        Action { id, stage: u8::try_from(id).unwrap(), object, ..action(Force::No) }
    });
    let (app, commit) = (AppName::parse("blog").unwrap(), CommitId::parse(&"a".repeat(40)).unwrap());
    let plan = Plan { actions: actions.collect(), ..Plan::nothing(app, commit) };
    let answers = (0..lot).map(|_| accepted()).collect();
    let target = Scripted { applies: std::sync::Mutex::new(answers), stands_still: Some(1), ..Scripted::default() };
    let (keeper, halt, secrets) = (Keeper::default(), Halt::default(), SecretPayloads::default());
    let instance = InstanceId::parse("k3f7q2m5xd").unwrap();
    let identity = Identity { instance: &instance, apply_set: "applyset-x-v1", app: &plan.app };
    let age = Age::begin(&target);
    let hands = Hands {
        identity,
        target: &target,
        secrets: &secrets,
        hidden: &Secrets::new(),
        sink: &keeper,
        halt: &halt,
        age,
    };
    let applied = apply(&plan, hands).await;
    let effects: Vec<Effect> = applied.outcomes.iter().map(|outcome| outcome.effect).collect();
    assert_eq!(effects, [Effect::Configured, Effect::Skipped, Effect::Skipped]);
    assert!(applied.is_outdated(), "it is looked at again at once");
}

#[tokio::test]
async fn a_hook_that_runs_again_is_made_anew_at_once() {
    let target = Scripted { applies: std::sync::Mutex::new([accepted()].into()), ..Scripted::default() };
    let recreate = Recreate::Now(Propagation::Background);
    let action = Action { recreate, uid: Some("old".into()), ..action(Force::No) };
    let outcome = sent(&action, &target, &Keeper::default()).await;
    assert_eq!((outcome.effect, outcome.message.as_str()), (Effect::Recreated, "it runs once for each revision"));
    assert_eq!(*target.deleted.lock().unwrap(), ["old"]);
    assert_eq!(*target.sent.lock().unwrap(), [Ownership::Respect]);
    let refuses = Refusal::new(RefusalKind::Invalid(Vec::new()), "try a new Job/a: spec.template is missing");
    let target = Scripted { tries: Some(refuses), ..Scripted::default() };
    let outcome = sent(&action, &target, &Keeper::default()).await;
    assert_eq!(outcome.effect, Effect::Failed);
    assert!(outcome.message.contains("was not deleted to run again"), "{}", outcome.message);
    assert_eq!(*target.deleted.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn what_cannot_be_changed_is_made_anew_only_where_the_plan_and_the_server_agree() {
    let allowed = || Recreate::Allowed(Propagation::Background);
    let (effect, _, deleted) = replaced(allowed(), Scripted::default()).await;
    assert_eq!((effect, deleted), (Effect::Recreated, vec!["old".to_owned()]));

    let begun = Scripted { deletes: Some(Deletion::Begun), ..Scripted::default() };
    let (effect, message, deleted) = replaced(allowed(), begun).await;
    assert_eq!((effect, deleted), (Effect::Deleted, vec!["old".to_owned()]));
    assert_eq!(message, "its deletion has begun; it is made anew when it is gone");

    let refuses = Refusal::new(RefusalKind::Invalid(Vec::new()), "try a new Job/a: spec.template is missing");
    let refusing = Scripted { tries: Some(refuses), ..Scripted::default() };
    let (effect, message, deleted) = replaced(allowed(), refusing).await;
    assert_eq!((effect, deleted), (Effect::Failed, Vec::new()));
    assert!(message.contains("it was not deleted") && message.contains("spec.template is missing"), "{message}");

    let (effect, _, deleted) = replaced(Recreate::Ask("its pods stop"), Scripted::default()).await;
    assert_eq!((effect, deleted), (Effect::Blocked, Vec::new()));
    let (effect, _, deleted) = replaced(Recreate::Never("move it"), Scripted::default()).await;
    assert_eq!((effect, deleted), (Effect::Failed, Vec::new()));
}
