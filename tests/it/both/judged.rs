//! What people do to apps that are held back, stopped or only reported, and what an app does for itself around an update and a failure.

use rewild::model::{Branch, DataFate, IgnoreRule, OperationState, Request, Suspension};
use serde_json::{Value, json};

use super::{Plain, config, has_version, nowhere, says, workload};
use crate::world::{Ground, World, app};

fn manifest(name: &str, more: &str) -> String {
    format!("name: {name}\nis: {name}\nversion: \"1\"\ndescription: one of two\n{more}")
}

/// §5.4: what was applied is put back while what is new waits.
pub(super) async fn what_was_applied_is_put_back_while_what_is_new_waits<C: Ground>(world: &World<C>) {
    let (base, top) = (Plain { world, name: "lower" }, Plain { world, name: "upper" });
    let requires = manifest("upper", "requires:\n- {name: lower, installedAs: lower}\n");
    let (well, sick) = (workload("Deployment", "web", ("web", "1"), ""), manifest("lower", ""));
    let stands = async |web: &str| base.push(&[("web.yaml", web), ("manifest.yaml", &sick)]).await;
    let push = async |version: &str| {
        top.push(&[("config.yaml", &config("config", version)), ("manifest.yaml", &requires)]).await
    };
    let lower = stands(&well).await;
    base.done(&lower).await;
    let first = push("1").await;
    top.done(&first).await;
    stands(&nowhere(&well.replace("main:1", "main:2"))).await;
    let is_sick = async || world.state(base.name).await.is_some_and(|state| state.health != "healthy");
    world.until("what it requires is not well", is_sick).await;
    push("2").await;
    top.stands_for("RequirementNotReady", &["lower"]).await;
    let path = top.path("v1", "configmaps", "config");
    world.try_delete(&path).await;
    top.until("it is there again as it was", &path, has_version("1")).await;
    world.patch(&path, json!({"data": {"version": "by hand"}})).await;
    top.until("it is put back as it was, a second time", &path, has_version("1")).await;
    stands(&well).await;
    base.healthy().await;
    top.until("what is new comes", &path, has_version("2")).await;
    top.healthy().await;
}

/// §5.4: so also while the revision cannot be built.
pub(super) async fn what_was_applied_is_put_back_while_a_revision_does_not_build<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "unbuilt" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    plain.push(&[("config.yaml", "kind: [\n")]).await;
    plain.stands_for("Unreadable", &[]).await;
    let path = plain.path("v1", "configmaps", "config");
    world.try_delete(&path).await;
    plain.until("it is there again", &path, has_version("1")).await;
    let last = plain.push(&[("config.yaml", &config("config", "2"))]).await;
    plain.done(&last).await;
}

/// §2.6: nothing of an app is written while it is suspended, not even its end.
pub(super) async fn nothing_of_a_suspended_app_is_written<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "suspended" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    let suspension = Suspension { reason: "the disk is moved".into(), until: String::new() };
    world.done(Request::Suspend { app: app(plain.name), suspension }).await;
    plain.stands_for("Suspended", &["the disk is moved"]).await;
    let path = plain.path("v1", "configmaps", "config");
    world.patch(&path, json!({"data": {"version": "by hand"}})).await;
    let is_told = async || world.state(plain.name).await.is_some_and(|state| !state.drift.is_empty());
    world.until("the drift is told", is_told).await;
    plain.push(&[("config.yaml", &config("config", "2")), ("more.yaml", &config("more", "1"))]).await;
    world.look_again(plain.name).await;
    assert!(has_version("by hand")(&plain.config("config").await), "it was written");
    assert!(plain.config("more").await.is_null(), "it was made");
    let refused = world.ask(Request::Delete { app: app(plain.name), data: DataFate::Keep }).await;
    assert_eq!((refused.state, refused.refusal.map(|refusal| refusal.code)), (OperationState::Failed, Some(6)));
    world.done(Request::Resume { app: app(plain.name) }).await;
    plain.until("it is as committed", &path, has_version("2")).await;
    plain.healthy().await;
}

/// §7.4: the three answers of a person to drift that is only told.
pub(super) async fn drift_is_put_back_left_or_taken_over_as_a_person_says<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "answered" };
    let told = |name: &str| {
        config(name, "1").replace(
            &format!("{{name: {name}}}"),
            &format!("{{name: {name}, annotations: {{rewild.dev/drift: report}}}}"),
        )
    };
    let names = ["left", "taken"];
    let [left, taken] = names.map(told);
    let first = plain.push(&[("left.yaml", &left), ("taken.yaml", &taken)]).await;
    plain.done(&first).await;
    let change = async |name: &str, version: &str| {
        world.patch(&plain.path("v1", "configmaps", name), json!({"data": {"version": version}})).await;
        world
            .until(&format!("drift of {name} is told"), async || {
                let drift = world.state(plain.name).await.map(|state| state.drift).unwrap_or_default();
                drift.iter().any(|it| it.object.name == name && it.live == Some(json!(version)))
            })
            .await;
        world.state(plain.name).await.unwrap().drift
    };
    let is_clean = async || world.state(plain.name).await.is_some_and(|state| state.drift.is_empty());
    let shown = change("left", "2").await.remove(0);
    assert_eq!((shown.path.as_str(), shown.manager.as_str()), ("data.version", "kubectl-edit"));
    assert_eq!((&shown.desired, &shown.live), (&Some(json!("1")), &Some(json!("2"))));
    world.done(Request::RevertDrift { app: app(plain.name), objects: Vec::new() }).await;
    assert!(has_version("1")(&plain.config("left").await));
    world.until("nothing is told any more", is_clean).await;
    change("left", "5").await;
    change("taken", "5").await;
    says(world, "wild drift revert answered ConfigMap/nobody", &["the app has no such object"]).await;
    says(world, "wild drift revert answered ConfigMap/left", &["ConfigMap/left"]).await;
    assert!(has_version("1")(&plain.config("left").await) && has_version("5")(&plain.config("taken").await));
    let told =
        async || world.state(plain.name).await.unwrap().drift.iter().map(|it| it.object.short()).collect::<Vec<_>>();
    world.until("the other one is still told", async || told().await == ["ConfigMap/taken"]).await;
    says(world, "wild drift revert answered", &["ConfigMap/taken"]).await;
    world.until("nothing is told any more", is_clean).await;
    let shown = change("left", "3").await.remove(0);
    let rule = IgnoreRule {
        kind: shown.object.kind.clone(),
        name: shown.object.name.clone(),
        paths: vec![shown.path],
        ..IgnoreRule::default()
    };
    world.done(Request::IgnoreDrift { app: app(plain.name), rule }).await;
    world.until("it is drift no more", is_clean).await;
    let fields = change("taken", "4").await;
    world.done(Request::AdoptDrift { app: app(plain.name), fields, branch: Branch::Deployed }).await;
    let file = world.file("main", "apps/answered/taken.yaml").await.unwrap();
    assert!(file.contains("version: \"4\""), "{file}");
    world.until("git says the same", is_clean).await;
    world.look_again(plain.name).await;
    let live = [plain.config("left").await, plain.config("taken").await].map(|live| live["data"]["version"].clone());
    assert_eq!(live, [json!("3"), json!("4")]);
}

/// §5.5: the hook of an update runs with an update and not before, that of a failure once for a state of the app.
pub(super) async fn hooks_run_at_their_moments_and_at_no_other<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "moments" };
    let hook = |name: &str, moment: &str| {
        format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, annotations: {{rewild.dev/hook: {moment}}}}}\nspec:\n  template:\n    spec:\n      \
             restartPolicy: Never\n      containers:\n      - {{name: run, image: \"registry.example.invalid/run:1\"}}\n"
        )
    };
    let (check, tell) = (hook("check", "pre-update"), hook("tell", "on-failure"));
    let push =
        async |config: &str| plain.push(&[("check.yaml", &check), ("tell.yaml", &tell), ("config.yaml", config)]).await;
    let first = push(&config("config", "1")).await;
    plain.done(&first).await;
    world.look_again(plain.name).await;
    for name in ["check", "tell"] {
        assert!(plain.live("batch/v1", "jobs", name).await.is_null(), "{name} ran");
    }
    let second = push(&config("config", "2")).await;
    plain.until("the hook of the update runs", &plain.path("batch/v1", "jobs", "check"), Value::is_object).await;
    plain.done(&second).await;
    assert!(plain.live("batch/v1", "jobs", "tell").await.is_null(), "nothing failed");
    push("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {\"bad key\": x}\n").await;
    let job = plain.path("batch/v1", "jobs", "tell");
    plain.until("the hook of the failure runs", &job, Value::is_object).await;
    let before = plain.uid(&job).await;
    world.look_again(plain.name).await;
    world.look_again(plain.name).await;
    assert_eq!(plain.uid(&job).await, before, "it ran a second time");
    assert!(world.state(plain.name).await.unwrap().needs_you.contains("bad key"));
    let last = push(&config("config", "3")).await;
    plain.done(&last).await;
}
