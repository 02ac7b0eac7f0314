//! A person ends an operation between two requests: a deployment, a deletion, and one that has nothing left to send.
//!
//! Not here: a process that dies meanwhile (`src/store/tests.rs`), what the planner leaves out (`src/plan/cancel.rs`).

use rewild::http::{Direct, DirectRequest};
use rewild::model::{CommitId, DataFate, Effect, Operation, OperationId, OperationState, Request};
use serde_json::{Value, json};

use super::{Plain, config, workload};
use crate::proxy::{Fault, Proxy, To};
use crate::world::{Ground, World, app};

const NAME: &str = "cancelled";
/// The object whose request is on its way when the word comes.
const SLOW: &str = "/namespaces/cancelled/configmaps/config";

/// Pushes a config map, a Deployment, which goes out after it, and a config map of the next wave.
async fn push<C: Ground>(plain: &Plain<'_, C>, version: &str) -> CommitId {
    let web = workload("Deployment", "web", ("web", version), "  replicas: 0\n");
    let late = config("late", version).replace("{name: late}", "{name: late, annotations: {rewild.dev/wave: \"1\"}}");
    plain.push(&[("config.yaml", &config("config", version)), ("web.yaml", &web), ("late.yaml", &late)]).await
}

/// Says the word by the API.
pub(crate) async fn cancel<C: Ground>(world: &World<C>, id: &OperationId, reason: &str) -> (u16, Value) {
    let path = format!("/api/v1/instances/home/operations/{id}/cancel");
    let body = json!({"reason": reason});
    let request = DirectRequest { method: "POST", path: &path, body: Some(&body), actor: "carol" };
    Direct::new(world.daemon.clone()).call(request).await
}

async fn stored<C: Ground>(world: &World<C>, id: &OperationId) -> Operation {
    let instance = world.handle.instance();
    instance.store.operation(&instance.id, id).await.unwrap().unwrap()
}

/// Pushes a version, ends its deployment while the first request is on its way, and waits for what comes of it.
async fn end_in_the_middle<C: Ground>(plain: &Plain<'_, C>, proxy: &Proxy, version: &str) -> (CommitId, Operation) {
    let world = plain.world;
    proxy.spoil(To::WritesOf(SLOW), Fault::Delay, 1);
    let head = push(plain, version).await;
    let ended = end_on_the_way(plain.name, world, proxy).await;
    (head, ended)
}

/// Ends the operation of an app whose request is held up, and waits for what comes of it.
async fn end_on_the_way<C: Ground>(name: &str, world: &World<C>, proxy: &Proxy) -> Operation {
    world.until("a request is on its way", async || proxy.hits() == 1).await;
    let instance = world.handle.instance();
    let running = instance.store.operations_in(&instance.id, OperationState::Running).await.unwrap();
    let id = running.iter().find(|it| it.app == Some(app(name))).unwrap().id.clone();
    let (code, answer) = cancel(world, &id, "too  slow").await;
    assert_eq!((code, &answer["id"]), (202, &json!(id)), "{answer}");
    assert_eq!(stored(world, &id).await.state, OperationState::Running, "its request is on its way");
    proxy.release();
    let ends = async || stored(world, &id).await.state != OperationState::Running;
    world.until("the operation ends", ends).await;
    stored(world, &id).await
}

/// Checks that the second half of a version is not there.
async fn is_halfway<C: Ground>(plain: &Plain<'_, C>, version: &str, before: &str) {
    let image = plain.live("apps/v1", "deployments", "web").await["spec"]["template"]["spec"]["containers"][0].clone();
    assert_eq!(image["image"], format!("registry.example.invalid/main:{before}"));
    assert_eq!(plain.config("late").await["data"]["version"], before);
    assert_eq!(plain.config("config").await["data"]["version"], version);
}

/// §13: what was sent stays, the rest is left out, and neither an event of the cluster nor the clock nor a restart brings it.
pub(super) async fn what_a_person_ends_stays_as_it_is_until_somebody_says_so<C: Ground>(world: &mut World<C>) {
    let proxy = Proxy::start_with(&world.cluster.url(), world.cluster.client()).await;
    world.restart_through(proxy.url()).await;
    let plain = Plain { world, name: NAME };
    let first = push(&plain, "1").await;
    plain.done(&first).await;
    let (second, ended) = end_in_the_middle(&plain, &proxy, "2").await;
    assert_eq!((ended.state, ended.actor.as_str()), (OperationState::Cancelled, "wild"));
    assert!(
        ended.message.contains("it was cancelled by carol (user ")
            && ended.message.contains("): too slow; 1 configured"),
        "{}",
        ended.message
    );
    assert_eq!(
        effects(world, &ended).await,
        [("ConfigMap/config", Effect::Configured), ("Deployment/web", Effect::Skipped)].map(owned)
    );
    is_halfway(&plain, "2", "1").await;
    assert_eq!(cancel(world, &ended.id, "").await.1["because"], "it is cancelled already");
    holds(&plain, &second).await;
    // Neither what somebody changes by hand nor the schedule brings the rest.
    world.patch(&plain.path("v1", "configmaps", "config"), json!({"data": {"version": "by hand"}})).await;
    let drifted = async || world.state(NAME).await.is_some_and(|state| !state.drift.is_empty());
    world.until("the change is seen", drifted).await;
    world.look_again(NAME).await;
    is_halfway(&plain, "by hand", "1").await;
    world.restart_through(proxy.url()).await;
    let plain = Plain { world, name: NAME };
    world.look_again(NAME).await;
    holds(&plain, &second).await;
    is_halfway(&plain, "by hand", "1").await;
    // A person's word does, and so does another revision.
    world.done(Request::Deploy { app: app(NAME), approve: None, recreate: Vec::new(), adopt: false }).await;
    plain.done(&second).await;
    is_halfway(&plain, "2", "2").await;
    let (third, ended) = end_in_the_middle(&plain, &proxy, "3").await;
    assert_eq!(ended.state, OperationState::Cancelled);
    holds(&plain, &third).await;
    let fourth = push(&plain, "4").await;
    plain.done(&fourth).await;
    is_halfway(&plain, "4", "4").await;
    what_waits_is_never_carried_out(&plain, &proxy).await;
    a_word_at_the_last_request_holds_nothing(&plain, &proxy).await;
    a_deletion_stays_half_done(world, &proxy).await;
    world.restart().await;
}

/// Checks that the app is held and that nothing says that the commit is applied.
async fn holds<C: Ground>(plain: &Plain<'_, C>, commit: &CommitId) {
    plain.stands_for("Held", &["was cancelled by carol (user ", "): too slow"]).await;
    let state = plain.world.state(NAME).await.unwrap();
    assert_eq!((state.intent.as_str(), state.hint.as_str()), ("blocked", "wild app deploy cancelled"));
    assert_ne!(plain.world.status(commit, "wild/deploy").await.as_deref(), Some("success"));
}

/// Nothing is left out of an operation that had sent all there was, so it is done.
async fn a_word_at_the_last_request_holds_nothing<C: Ground>(plain: &Plain<'_, C>, proxy: &Proxy) {
    proxy.spoil(To::WritesOf("/namespaces/cancelled/configmaps/late"), Fault::Delay, 1);
    let last = push(plain, "6").await;
    let ended = end_on_the_way(plain.name, plain.world, proxy).await;
    assert_eq!((ended.state, ended.refusal), (OperationState::Succeeded, None), "{}", ended.message);
    plain.done(&last).await;
    is_halfway(plain, "6", "6").await;
}

/// What is deleted is gone, the rest stays, until a person says so.
async fn a_deletion_stays_half_done<C: Ground>(world: &mut World<C>, proxy: &Proxy) {
    const PARTING: &str = "parting";
    let plain = Plain { world, name: PARTING };
    let first = push(&plain, "1").await;
    plain.done(&first).await;
    let web = plain.path("apps/v1", "deployments", "web");
    proxy.spoil(To::WritesOf("/namespaces/parting/deployments/web"), Fault::Delay, 1);
    world.handle.ask(Request::Delete { app: app(PARTING), data: DataFate::Delete }, "alice").await.unwrap();
    let ended = end_on_the_way(PARTING, world, proxy).await;
    assert_eq!((ended.state, ended.verb.as_str()), (OperationState::Cancelled, "delete"));
    let left = [("ConfigMap/config", Effect::Skipped), ("ConfigMap/late", Effect::Skipped)];
    let all: Vec<_> = [("Deployment/web", Effect::Deleted)].into_iter().chain(left).map(owned).collect();
    assert_eq!(effects(world, &ended).await, all);
    assert_eq!(world.file("main", "apps/parting/web.yaml").await, None, "no commit is taken back");
    plain.until("what was deleted is gone", &web, Value::is_null).await;
    let stands = async |world: &World<C>| {
        let plain = Plain { world, name: PARTING };
        world.look_again(PARTING).await;
        plain
            .stands_for("Held", &["parting is held as it is: delete was cancelled by carol (user ", "): too slow"])
            .await;
        assert_eq!(world.state(PARTING).await.unwrap().hint, "wild app delete parting --delete-data");
        assert_eq!(plain.config("config").await["data"]["version"], "1");
        assert_eq!(plain.config("late").await["data"]["version"], "1");
    };
    stands(world).await;
    world.restart_through(proxy.url()).await;
    stands(world).await;
    // The last request of all is the one that deletes the namespace: whoever ends that comes too late.
    proxy.spoil(To::WritesOf("/api/v1/namespaces/parting"), Fault::Delay, 1);
    world.done(Request::Delete { app: app(PARTING), data: DataFate::Delete }).await;
    let ended = end_on_the_way(PARTING, world, proxy).await;
    assert_eq!((ended.state, ended.refusal), (OperationState::Succeeded, None), "{}", ended.message);
    world.until("the namespace is gone", async || world.get("/api/v1/namespaces/parting").await.is_none()).await;
    world.until("nothing of it is left", async || world.state(PARTING).await.is_none()).await;
}

/// What came of each object.
async fn effects<C: Ground>(world: &World<C>, operation: &Operation) -> Vec<(String, Effect)> {
    let outcomes = world.handle.instance().store.outcomes(&operation.id).await.unwrap();
    outcomes.iter().map(|outcome| (outcome.object.short(), outcome.effect)).collect()
}

fn owned((name, effect): (&str, Effect)) -> (String, Effect) {
    (name.to_owned(), effect)
}

/// A request that waits behind another is cancelled at once; the other goes on.
async fn what_waits_is_never_carried_out<C: Ground>(plain: &Plain<'_, C>, proxy: &Proxy) {
    let world = plain.world;
    proxy.spoil(To::WritesOf(SLOW), Fault::Delay, 1);
    let fifth = push(plain, "5").await;
    world.until("a request is on its way", async || proxy.hits() == 1).await;
    let undone = Request::Rollback { app: app(NAME), to: fifth.clone(), reason: String::new(), undoes: None };
    let waiting = world.handle.ask(undone, "bob").await.unwrap();
    assert_eq!(cancel(world, &waiting.id, "").await.0, 200);
    let ended = stored(world, &waiting.id).await;
    assert_eq!(ended.state, OperationState::Cancelled);
    assert!(ended.message.starts_with("it was cancelled by carol (user "), "{}", ended.message);
    proxy.release();
    plain.done(&fifth).await;
    is_halfway(plain, "5", "5").await;
    assert_eq!(stored(world, &waiting.id).await, ended);
    let (code, answer) = cancel(world, &OperationId("op_none".to_owned()), "").await;
    assert_eq!((code, answer["because"].as_str()), (404, Some("there is no operation op_none")));
}
