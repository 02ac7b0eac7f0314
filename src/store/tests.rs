//! The store against a database in memory and one in a file.
//!
//! Not here: what is remembered and when (`record`).

use super::{OperationFilter, RecordChange, Store, StoredStatus};
use crate::base::Timestamp;
use crate::model::{
    AppName, AppState, Archived, ClusterName, CommitId, DriftState, Effect, Event, EventKind, HeldVolume, HoldStage,
    InstanceId, Object, ObjectId, Operation, OperationId, OperationOutcome, OperationState, Outcome, Record,
    RecordState, RefusalText, Request, Standing,
};

fn instance() -> InstanceId {
    InstanceId::parse("k3f7q2m5xd").unwrap()
}

fn app() -> AppName {
    AppName::parse("quillblog").unwrap()
}

fn operation(started: i64, state: OperationState) -> Operation {
    Operation {
        id: OperationId::new("deploy", Some(&app()), Timestamp(started)),
        verb: "deploy".into(),
        app: Some(app()),
        request: Some(Request::Deploy { app: app(), approve: None, recreate: Vec::new(), adopt: false }),
        trigger: "request".into(),
        actor: "alice".into(),
        user: "root".into(),
        commit: None,
        state,
        outcome: None,
        message: String::new(),
        refusal: None,
        started: Timestamp(started),
        ended: None,
    }
}

fn record(name: &str) -> Record {
    Record {
        state: RecordState::Intended,
        uid: String::new(),
        ..Record::sample(ObjectId::new("", "ConfigMap", "quillblog", name))
    }
}

fn outcome(name: &str) -> Outcome {
    Outcome {
        object: record(name).id,
        effect: Effect::Created,
        error: None,
        message: String::new(),
        reason: String::new(),
        observed: None,
    }
}

fn volume(uid: &str) -> HeldVolume {
    HeldVolume {
        name: "pv".into(),
        cluster: ClusterName::default(),
        uid: uid.into(),
        policy: "Delete".into(),
        claim: Object::default(),
        since: Timestamp(1),
        until: Timestamp(2),
        stage: HoldStage::Held,
    }
}

#[tokio::test]
async fn an_operation_survives_its_row() {
    let store = Store::in_memory().await.unwrap();
    let mut stored = operation(1, OperationState::Waiting);
    store.insert_operation(&instance(), &stored).await.unwrap();
    stored.state = OperationState::Succeeded;
    stored.outcome = Some(OperationOutcome::NeedsDecision);
    stored.commit = Some(CommitId::parse(&"a".repeat(40)).unwrap());
    stored.ended = Some(Timestamp(2));
    store.update_operation(&instance(), &stored).await.unwrap();
    assert_eq!(store.operation(&instance(), &stored.id).await.unwrap(), Some(stored));
}

#[tokio::test]
async fn requests_are_found_oldest_first_and_lists_newest_first() {
    let store = Store::in_memory().await.unwrap();
    // The clock is set back after the first.
    for started in [2, 1, 3] {
        store.insert_operation(&instance(), &operation(started, OperationState::Waiting)).await.unwrap();
    }
    let starts = |operations: Vec<Operation>| operations.iter().map(|o| o.started.0).collect::<Vec<_>>();
    assert_eq!(starts(store.operations_in(&instance(), OperationState::Waiting).await.unwrap()), [2, 1, 3]);
    assert_eq!(starts(store.operations(&instance(), &OperationFilter::default()).await.unwrap()), [3, 1, 2]);
}

#[tokio::test]
async fn a_request_that_a_dead_process_left_running_waits_again_and_a_pass_of_its_own_is_interrupted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wild.db");
    let store = Store::open(&path).await.unwrap();
    store.insert_operation(&instance(), &operation(1, OperationState::Running)).await.unwrap();
    store.insert_operation(&instance(), &operation(2, OperationState::Waiting)).await.unwrap();
    let own = Operation { request: None, ..operation(3, OperationState::Running) };
    store.insert_operation(&instance(), &own).await.unwrap();
    store.close().await;
    let store = Store::open(&path).await.unwrap();
    assert_eq!(store.take_over_running(&instance(), Timestamp(9)).await.unwrap(), 2);
    let interrupted = store.operations_in(&instance(), OperationState::Interrupted).await.unwrap();
    assert_eq!(interrupted.iter().map(|o| (o.started.0, o.ended)).collect::<Vec<_>>(), [(3, Some(Timestamp(9)))]);
    let waiting = store.operations_in(&instance(), OperationState::Waiting).await.unwrap();
    assert_eq!(waiting.iter().map(|o| (o.started.0, o.ended)).collect::<Vec<_>>(), [(1, None), (2, None)]);
}

#[tokio::test]
async fn an_operation_that_was_to_end_is_cancelled_when_its_process_dies() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wild.db");
    let store = Store::open(&path).await.unwrap();
    let running = operation(1, OperationState::Waiting);
    store.insert_operation(&instance(), &running).await.unwrap();
    let refusal = RefusalText {
        code: 6,
        what: "deploy blog".into(),
        because: "it was cancelled by ann".into(),
        remedy: "wild app deploy blog".into(),
        diagnostics: Vec::new(),
    };
    store.mark_operation(&running.id, &refusal).await.unwrap();
    // Its pass, which has not heard of it yet, goes on.
    store
        .update_operation(&instance(), &Operation { state: OperationState::Running, ..running.clone() })
        .await
        .unwrap();
    store.close().await;
    let store = Store::open(&path).await.unwrap();
    store.take_over_running(&instance(), Timestamp(9)).await.unwrap();
    let found = store.operation(&instance(), &running.id).await.unwrap().unwrap();
    assert_eq!((found.state, found.ended), (OperationState::Cancelled, Some(Timestamp(9))));
    assert_eq!(found.refusal, Some(refusal.clone()));
    let ended = Operation { refusal: None, ..found };
    store.update_operation(&instance(), &ended).await.unwrap();
    store.mark_operation(&running.id, &RefusalText { code: 2, ..refusal.clone() }).await.unwrap();
    assert_eq!(store.operation(&instance(), &running.id).await.unwrap().unwrap().refusal, Some(refusal));
    // The word that came when all was sent is void.
    store.update_operation(&instance(), &Operation { state: OperationState::Succeeded, ..ended }).await.unwrap();
    assert_eq!(store.operation(&instance(), &running.id).await.unwrap().unwrap().refusal, None);
}

#[tokio::test]
async fn what_a_pass_could_not_close_is_interrupted_and_nothing_else() {
    let store = Store::in_memory().await.unwrap();
    let running = |number| operation(number, OperationState::Running);
    let own = Operation { request: None, ..running(1) };
    let asked = running(2);
    let other = Operation { request: None, app: Some(AppName::parse("other").unwrap()), ..running(3) };
    let done = Operation { request: None, ..operation(4, OperationState::Succeeded) };
    for one in [&own, &asked, &other, &done] {
        store.insert_operation(&instance(), one).await.unwrap();
    }
    assert_eq!(store.interrupt_running(&instance(), &app(), Timestamp(9)).await.unwrap(), 1);
    let interrupted = store.operations_in(&instance(), OperationState::Interrupted).await.unwrap();
    assert_eq!(
        interrupted.iter().map(|found| (&found.id, found.ended)).collect::<Vec<_>>(),
        [(&own.id, Some(Timestamp(9)))]
    );
}

#[tokio::test]
async fn outcomes_keep_the_order_of_the_plan() {
    let store = Store::in_memory().await.unwrap();
    let id = OperationId("op".into());
    for position in [1, 0] {
        let outcome = outcome(&position.to_string());
        store.put_outcome(&instance(), (&id, position), &outcome, RecordChange::Nothing).await.unwrap();
    }
    let names: Vec<_> = store.outcomes(&id).await.unwrap().into_iter().map(|o| o.object.name.clone()).collect();
    assert_eq!(names, ["0", "1"]);
}

#[tokio::test]
async fn what_old_operations_did_to_each_object_is_forgotten_and_that_they_were_is_not() {
    let store = Store::in_memory().await.unwrap();
    let outcome = Outcome {
        object: record("a").id,
        effect: Effect::Created,
        error: None,
        message: String::new(),
        reason: String::new(),
        observed: None,
    };
    let ended = |started, ended| Operation { ended, ..operation(started, OperationState::Succeeded) };
    let all = [ended(1, Some(Timestamp(10))), ended(2, Some(Timestamp(20))), ended(3, None)];
    for operation in &all {
        store.insert_operation(&instance(), operation).await.unwrap();
        store.put_outcome(&instance(), (&operation.id, 0), &outcome, RecordChange::Nothing).await.unwrap();
    }
    let other = InstanceId::parse("k3f7q2m5xe").unwrap();
    assert_eq!(store.forget_outcomes(&other, Timestamp(99)).await.unwrap(), 0);
    assert_eq!(store.forget_outcomes(&instance(), Timestamp(20)).await.unwrap(), 1);
    let mut left = Vec::new();
    for operation in &all {
        left.push(store.outcomes(&operation.id).await.unwrap().len());
    }
    assert_eq!(left, [0, 1, 1]);
    assert_eq!(store.operations(&instance(), &OperationFilter::default()).await.unwrap().len(), 3);
}

#[tokio::test]
async fn an_inventory_is_replaced_record_by_record() {
    let store = Store::in_memory().await.unwrap();
    store.put_records(&instance(), &app(), &[record("a"), record("b")]).await.unwrap();
    store.put_records(&instance(), &app(), &[Record { state: RecordState::Applied, ..record("a") }]).await.unwrap();
    store.remove_record(&instance(), &ClusterName::default(), &record("b").id).await.unwrap();
    let inventory = store.inventory(&instance(), &app()).await.unwrap();
    assert_eq!(inventory.len(), 1);
    assert_eq!(inventory.get(&record("a").id).unwrap().state, RecordState::Applied);
    assert_eq!(store.inventories(&instance()).await.unwrap(), [(app(), inventory)]);
}

#[tokio::test]
async fn an_equal_status_is_no_change_and_a_sent_one_is_not_sent_again() {
    let store = Store::in_memory().await.unwrap();
    let commit = CommitId::parse(&"a".repeat(40)).unwrap();
    let status = |state: &str, changed| StoredStatus {
        commit: commit.clone(),
        context: "wild/deploy (home)".into(),
        state: state.into(),
        description: "queued".into(),
        changed: Timestamp(changed),
    };
    assert!(store.put_status(&instance(), &status("pending", 1)).await.unwrap());
    assert!(!store.put_status(&instance(), &status("pending", 2)).await.unwrap());
    let unsent = async || {
        let unsent = store.unsent_statuses(&instance()).await.unwrap();
        unsent.into_iter().map(|unsent| (unsent.status, unsent.is_new)).collect::<Vec<_>>()
    };
    assert_eq!(unsent().await, [(status("pending", 1), false)]);
    assert!(store.put_status(&instance(), &status("success", 3)).await.unwrap());
    store.mark_status_sent(&instance(), &status("pending", 1)).await.unwrap();
    assert_eq!(unsent().await, [(status("success", 3), false)]);
    store.mark_status_sent(&instance(), &status("success", 3)).await.unwrap();
    assert_eq!(unsent().await, []);
    // A new commit stays one until that is told.
    assert!(store.put_new_status(&instance(), &status("pending", 4)).await.unwrap());
    assert!(store.put_status(&instance(), &status("success", 5)).await.unwrap());
    assert_eq!(unsent().await, [(status("success", 5), true)]);
    store.mark_status_sent(&instance(), &status("pending", 4)).await.unwrap();
    assert_eq!(unsent().await, [(status("success", 5), false)]);
    store.mark_status_sent(&instance(), &status("success", 5)).await.unwrap();
    assert_eq!(unsent().await, []);
}

#[tokio::test]
async fn events_come_back_in_order() {
    let store = Store::in_memory().await.unwrap();
    for time in 1..=3 {
        let event = Event {
            time: Timestamp(time),
            app: (time != 2).then(app),
            operation: None,
            commit: None,
            kind: EventKind::Applied,
            detail: String::new(),
        };
        store.add_events(&instance(), &[event]).await.unwrap();
    }
    let times = |events: Vec<Event>| events.iter().map(|e| e.time.0).collect::<Vec<_>>();
    assert_eq!(times(store.events(&instance(), None, 2).await.unwrap()), [2, 3]);
    assert_eq!(times(store.events(&instance(), Some(&app()), 9).await.unwrap()), [1, 3]);
}

#[tokio::test]
async fn a_cursor_is_what_was_put_last() {
    let store = Store::in_memory().await.unwrap();
    assert_eq!(store.cursor(&instance(), "head").await.unwrap(), None);
    store.put_cursor(&instance(), "head", "a").await.unwrap();
    store.put_cursor(&instance(), "head", "b").await.unwrap();
    assert_eq!(store.cursor(&instance(), "head").await.unwrap().as_deref(), Some("b"));
    store.close().await;
    assert_eq!(store.cursor(&instance(), "head").await.unwrap().as_deref(), Some("b"), "it is read once");
    // What was not stored is not taken for stored.
    assert!(store.put_cursor(&instance(), "head", "c").await.is_err());
    assert!(store.cursor(&instance(), "head").await.is_err());
}

#[tokio::test]
async fn an_operation_begins_once_whether_it_was_accepted_before_or_not() {
    let store = Store::in_memory().await.unwrap();
    let accepted = operation(1, OperationState::Waiting);
    store.insert_operation(&instance(), &accepted).await.unwrap();
    for running in [Operation { state: OperationState::Running, ..accepted }, operation(2, OperationState::Running)] {
        store.begin_operation(&instance(), &app(), &running, &[record("a")]).await.unwrap();
        assert_eq!(store.operation(&instance(), &running.id).await.unwrap(), Some(running));
    }
    assert_eq!(store.inventory(&instance(), &app()).await.unwrap().len(), 1);
    assert!(store.insert_operation(&instance(), &operation(1, OperationState::Waiting)).await.is_err());
}

#[tokio::test]
async fn the_requests_of_one_app_are_found_among_any_number_of_others() {
    let store = Store::in_memory().await.unwrap();
    for started in 0..600 {
        let other = AppName::parse(&format!("app-{started}")).unwrap();
        let id = OperationId::new("deploy", Some(&other), Timestamp(started));
        let waiting = Operation { id, app: Some(other), ..operation(started, OperationState::Waiting) };
        store.insert_operation(&instance(), &waiting).await.unwrap();
    }
    let last = operation(1_000, OperationState::Waiting);
    store.insert_operation(&instance(), &last).await.unwrap();
    assert_eq!(store.open_requests(&instance(), Some(&app())).await.unwrap(), [last]);
    assert!(store.open_requests(&instance(), None).await.unwrap().is_empty());
}

/// Returns a state that says nothing but this.
fn state_of(name: &str, intent: &str, health: &str) -> AppState {
    let empty =
        ["package", "version", "available", "namespace", "healthReason", "reason", "needsYou", "hint", "lifecycle"];
    let mut body: serde_json::Map<_, _> = empty.iter().map(|key| ((*key).to_owned(), "".into())).collect();
    body.extend([("name", name), ("intent", intent), ("health", health)].map(|(key, it)| (key.to_owned(), it.into())));
    body.insert("conflicts".to_owned(), 0.into());
    body.extend(["drift", "objects"].map(|key| (key.to_owned(), serde_json::json!([]))));
    body.insert("observedAt".to_owned(), serde_json::to_value(Timestamp(1)).unwrap());
    serde_json::from_value(body.into()).unwrap()
}

#[tokio::test]
async fn the_worst_of_all_apps_is_known_whatever_changes() {
    let store = Store::in_memory().await.unwrap();
    let worst = async || {
        let survey = store.survey(&instance()).await.unwrap();
        (
            survey.worst.map(|(standing, state)| (standing, state.name.to_string())),
            survey.deployed,
            survey.drifted.len(),
        )
    };
    let put = async |state: AppState| store.put_app_state(&instance(), &state).await.unwrap();
    assert_eq!(worst().await, (None, 0, 0));
    put(state_of("added", "added", "failing")).await;
    assert_eq!(worst().await, (None, 0, 0));
    for (name, intent, health) in [("blog", "applied", "healthy"), ("shop", "applied", "stopped")] {
        put(state_of(name, intent, health)).await;
    }
    assert_eq!(worst().await, (Some((Standing::Well, "blog".to_owned())), 2, 0));
    put(state_of("shop", "waiting", "")).await;
    assert_eq!(worst().await, (Some((Standing::Waiting, "shop".to_owned())), 2, 0));
    put(state_of("wiki", "blocked", "healthy")).await;
    put(state_of("mail", "applied", "failing")).await;
    assert_eq!(worst().await, (Some((Standing::Failing, "mail".to_owned())), 4, 0));
    let refused = AppState { reason: "ApplyFailed".to_owned(), ..state_of("blog", "blocked", "healthy") };
    let drift = DriftState {
        object: ObjectId::new("", "ConfigMap", "blog", "files"),
        kind: "changed".to_owned(),
        path: "data.k".to_owned(),
        desired: None,
        live: None,
        manager: String::new(),
        since: String::new(),
        harmless: false,
    };
    put(AppState { drift: vec![drift], ..refused }).await;
    assert_eq!(worst().await, (Some((Standing::Refused, "blog".to_owned())), 4, 1));
    for app in ["blog", "mail"] {
        store.remove_app_state(&instance(), &AppName::parse(app).unwrap()).await.unwrap();
    }
    assert_eq!(worst().await, (Some((Standing::Blocked, "wiki".to_owned())), 2, 0));
}

#[tokio::test]
async fn states_of_apps_are_read_once_and_kept_with_what_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wild.db");
    let store = Store::open(&path).await.unwrap();
    let shown = async |store: &Store| {
        let states = store.app_states(&instance()).await.unwrap();
        states.iter().map(|state| state.health.clone()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&store).await, [""; 0]);
    store.put_app_state(&instance(), &state_of(app().as_str(), "", "starting")).await.unwrap();
    store.put_app_state(&instance(), &state_of(app().as_str(), "", "healthy")).await.unwrap();
    assert_eq!(shown(&store).await, ["healthy"]);
    store.close().await;
    let store = Store::open(&path).await.unwrap();
    assert_eq!(shown(&store).await, ["healthy"]);
    store.remove_app_state(&instance(), &app()).await.unwrap();
    assert_eq!(shown(&store).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_database_is_opened_whatever_else_the_machine_does() {
    let directory = tempfile::tempdir().unwrap();
    let open = |number: usize| {
        let path = directory.path().join(format!("{number}.db"));
        tokio::spawn(async move { Store::open(&path).await.map(drop) })
    };
    let all: Vec<_> = (0..40).map(open).collect();
    for opened in all {
        opened.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn many_may_open_a_new_file_at_once() {
    for _ in 0..10 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("wild.db");
        let opened = futures::future::join_all((0..4).map(|_| Store::open(&path))).await;
        for store in opened {
            store.unwrap().close().await;
        }
    }
}

fn archived(name: &str, time: i64) -> Archived {
    Archived {
        object: record(name).id,
        uid: "u".into(),
        operation: OperationId("op".into()),
        commit: None,
        time: Timestamp(time),
        body: Object::default(),
    }
}

#[tokio::test]
async fn the_archive_keeps_the_newest_of_each_app_for_a_while() {
    let store = Store::in_memory().await.unwrap();
    let put = async |archived: &Archived| store.archive(&instance(), &app(), archived).await.unwrap();
    let kept = async || store.archived(&instance(), &app(), None).await.unwrap();
    put(&archived("a", 1)).await;
    put(&archived("a", 2)).await;
    put(&archived("b", 3)).await;
    assert_eq!(kept().await, [archived("a", 2), archived("b", 3)]);
    let other = AppName::parse("other").unwrap();
    store.archive(&instance(), &other, &archived("a", 1)).await.unwrap();
    for number in 0..1_000 {
        put(&archived(&format!("c{number}"), 4)).await;
    }
    let now = kept().await;
    assert_eq!((now.len(), now[0].object.name.as_str()), (1_000, "c0"));
    assert_eq!(store.archived(&instance(), &other, None).await.unwrap().len(), 1);
    let month = i64::try_from(super::ARCHIVE_TIME.as_micros()).unwrap();
    store.purge_archive(&instance(), Timestamp(month + 4)).await.unwrap();
    assert_eq!((kept().await.len(), store.archived(&instance(), &other, None).await.unwrap().len()), (1_000, 0));
    put(&archived("d", month + 5)).await;
    assert_eq!(kept().await, [archived("d", month + 5)]);
}

#[tokio::test]
async fn what_was_deleted_since_an_operation_is_found_although_the_clock_was_set_back() {
    let store = Store::in_memory().await.unwrap();
    let mut ids = Vec::new();
    for (name, time) in [("a", 9), ("b", 30), ("c", 20)] {
        let operation = operation(time, OperationState::Succeeded);
        store.insert_operation(&instance(), &operation).await.unwrap();
        let one = Archived { operation: operation.id.clone(), ..archived(name, time) };
        store.archive(&instance(), &app(), &one).await.unwrap();
        ids.push(operation.id);
    }
    let since = async |id: &OperationId| {
        let found = store.archived(&instance(), &app(), Some(id)).await.unwrap();
        found.into_iter().map(|it| it.object.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(since(&ids[0]).await, ["a", "c", "b"]);
    assert_eq!(since(&ids[1]).await, ["c", "b"]);
    assert_eq!(since(&ids[2]).await, ["c"]);
    assert!(since(&OperationId("op_unknown".into())).await.is_empty());
}

#[tokio::test]
async fn the_archive_of_an_app_has_a_bound_in_bytes() {
    let store = Store::in_memory().await.unwrap();
    let text = "x".repeat(1_500_000);
    for number in 0..50 {
        let body = Object::from_value(serde_json::json!({"data": text})).unwrap();
        let archived = Archived { body, ..archived(&format!("c{number:02}"), number) };
        store.archive(&instance(), &app(), &archived).await.unwrap();
    }
    let kept = store.archived(&instance(), &app(), None).await.unwrap();
    assert_eq!((kept.len(), kept[0].object.name.as_str()), (44, "c06"));
}

#[tokio::test]
async fn a_volume_is_held_until_it_is_let_go() {
    let store = Store::in_memory().await.unwrap();
    let held = volume("v");
    let back = HeldVolume { stage: HoldStage::Returning, ..held.clone() };
    for volume in [&held, &back] {
        store.hold_volumes(&instance(), &app(), std::slice::from_ref(volume)).await.unwrap();
    }
    assert_eq!(store.held_volumes(&instance(), &app()).await.unwrap(), [back]);
    assert_eq!(store.apps_with_volumes(&instance()).await.unwrap(), [app()]);
    let outcome = outcome("pv");
    let (instance, app) = (instance(), app());
    let gone = RecordChange::LetVolumeGo(&app, "v");
    store.put_outcome(&instance, (&OperationId("op".into()), 0), &outcome, gone).await.unwrap();
    assert_eq!(store.apps_with_volumes(&instance).await.unwrap(), []);
}

/// Returns everything that the mirror of an instance answers.
async fn mirrored(store: &Store) -> String {
    let id = instance();
    let mut text = format!("{} records\n", store.count_records(&id).await.unwrap());
    for (app, inventory) in store.inventories(&id).await.unwrap() {
        let names: Vec<&str> = inventory.records().map(|record| record.id.name.as_str()).collect();
        text.push_str(&format!("{app}: {names:?}\n"));
    }
    for app in ["blog", "shop"].map(|name| AppName::parse(name).unwrap()) {
        let inventory = store.inventory(&id, &app).await.unwrap();
        let held = store.held_volumes(&id, &app).await.unwrap();
        let open = store.open_requests(&id, Some(&app)).await.unwrap();
        text.push_str(&format!("{app}: {} {} {}\n", inventory.records().count(), held.len(), open.len()));
    }
    text + &format!("{:?}", store.apps_with_volumes(&id).await.unwrap())
}

/// Changes rows of every kind, one after the other.
async fn change(store: &Store, step: usize) -> Result<(), super::Error> {
    let [blog, shop] = ["blog", "shop"].map(|name| AppName::parse(name).unwrap());
    let (id, home) = (instance(), ClusterName::default());
    let request = Operation { app: Some(shop.clone()), ..operation(1, OperationState::Waiting) };
    let own = Operation { request: None, app: Some(blog.clone()), ..operation(2, OperationState::Running) };
    match step {
        0 => store.put_records(&id, &blog, &[record("a"), record("b")]).await,
        1 => store.insert_operation(&id, &request).await,
        // One that another app takes over.
        2 => store.put_records(&id, &shop, &[record("b")]).await,
        3 => store.begin_operation(&id, &blog, &own, &[record("c")]).await,
        4 => store.put_outcome(&id, (&own.id, 0), &outcome("a"), RecordChange::Remove(&home, &record("a").id)).await,
        5 => store.hold_volumes(&id, &blog, &[volume("1"), volume("2")]).await,
        6 => store.put_outcome(&id, (&own.id, 1), &outcome("pv"), RecordChange::LetVolumeGo(&blog, "1")).await,
        7 => store.remove_record(&id, &home, &record("b").id).await,
        8 => store.update_operation(&id, &Operation { state: OperationState::Running, ..request }).await,
        9 => store.take_over_running(&id, Timestamp(9)).await.map(|_| ()),
        _ => store.update_operation(&id, &Operation { state: OperationState::Succeeded, ..request }).await,
    }
}

#[tokio::test]
async fn what_is_in_memory_says_what_the_rows_say() {
    let store = Store::in_memory().await.unwrap();
    mirrored(&store).await;
    for step in 0..=10 {
        change(&store, step).await.unwrap();
        let known = mirrored(&store).await;
        store.forget_mirror(&instance()).await;
        assert_eq!(known, mirrored(&store).await, "after step {step}");
        if step == 8 {
            assert!(known.contains("shop: 0 0 1"), "{known}");
        }
    }
    let last = "1 records\nblog: [\"c\"]\nblog: 1 1 0\nshop: 0 0 0\n[\"blog\"]";
    assert_eq!(mirrored(&store).await, last);
}

#[tokio::test]
async fn a_write_that_fails_is_not_in_memory() {
    let store = Store::in_memory().await.unwrap();
    mirrored(&store).await;
    let broken = "CREATE TRIGGER broken BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'no room'); END";
    sqlx::query(broken).execute(&store.readers).await.unwrap();
    assert!(change(&store, 0).await.is_err());
    assert_eq!(store.count_records(&instance()).await.unwrap(), 0);
}

#[tokio::test]
async fn a_state_that_was_not_stored_is_not_known() {
    let store = Store::in_memory().await.unwrap();
    let state = state_of(app().as_str(), "applied", "starting");
    store.put_app_state(&instance(), &state).await.unwrap();
    for broken in [
        "CREATE TRIGGER unwritten BEFORE INSERT ON app_states BEGIN SELECT RAISE(ABORT, 'no room'); END",
        "CREATE TRIGGER undeleted BEFORE DELETE ON app_states BEGIN SELECT RAISE(ABORT, 'no room'); END",
    ] {
        sqlx::query(broken).execute(&store.readers).await.unwrap();
    }
    let next = AppState { health: "healthy".into(), ..state.clone() };
    store.put_app_state(&instance(), &next).await.unwrap_err();
    store.remove_app_state(&instance(), &app()).await.unwrap_err();
    let known = store.app_state(&instance(), &app()).await.unwrap().unwrap();
    assert_eq!(known.health, "starting", "what is on disk counts");
}

#[tokio::test]
async fn what_was_handed_in_before_the_rows_are_read_is_among_them() {
    let store = Store::in_memory().await.unwrap();
    let (put, counted) = tokio::join!(change(&store, 0), async { store.count_records(&instance()).await });
    put.unwrap();
    assert_eq!(counted.unwrap(), 2);
}
