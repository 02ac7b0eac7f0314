//! Apps of one instance on two clusters: each lives where the settings say, one that hangs slows no other, and an app moves when a person says so.
//!
//! Run on two sandboxes (`tests/it/line/clusters.rs`) and on two real control planes (`tests/live/clusters.rs`).

use rewild::model::{AppState, CommitId, DataFate, Operation, OperationOutcome, OperationState, Request};
use serde_json::{Value, json};

use crate::both::{Plain, cancel, config, has_version, says};
use crate::proxy::{Fault, Proxy, To};
use crate::world::{Ground, HASTY, World, app};

/// More requests than are sent while a cluster hangs.
const ALWAYS: usize = 1_000_000;
/// Where the apps of these checks live. Both have their objects in one namespace, under one name.
const PLACES: &str = "apps:\n  away: {cluster: {context: edge}, grants: {namespaces: [both]}}\n  here: {grants: {namespaces: [both]}}\n  lost: {cluster: {context: nowhere}}\n";

/// Two clusters, which the kubeconfig calls `home` and `edge`.
pub(crate) struct Pair<C: Ground> {
    near: C,
    far: C,
    to_near: Proxy,
    to_far: Proxy,
}

impl<C: Ground> Pair<C> {
    pub(crate) async fn of(near: C, far: C) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let to_near = Proxy::start_with(&near.url(), near.client()).await;
        let to_far = Proxy::start_with(&far.url(), far.client()).await;
        Self { near, far, to_near, to_far }
    }

    /// Reads an object of the second cluster; null if it is not there.
    async fn far(&self, path: &str) -> Value {
        let answer = self.far.client().get(format!("{}{path}", self.far.url())).send().await.unwrap();
        if answer.status() == 404 { Value::Null } else { answer.json().await.unwrap() }
    }

    /// Changes an object of the second cluster as a person does.
    async fn edit_far(&self, path: &str, body: Value) {
        let url = format!("{}{path}?fieldManager=kubectl-edit", self.far.url());
        let request = self.far.client().patch(url).header("Content-Type", "application/merge-patch+json");
        let answer = request.body(body.to_string()).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }
}

/// The first cluster is the one that everybody means who names none.
impl<C: Ground> Ground for Pair<C> {
    fn url(&self) -> String {
        self.near.url()
    }

    fn kubeconfig(&self) -> String {
        let named = |key: &str, of: [Value; 2]| -> Value {
            ["home", "edge"].into_iter().zip(of).map(|(name, it)| json!({"name": name, key: it})).collect()
        };
        let [near, far] = [self.to_near.url(), self.to_far.url()].map(|server| json!({"server": server}));
        let of = |name: &str| json!({"cluster": name, "user": name});
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": named("cluster", [near, far]),
            "users": named("user", [json!({}), json!({})]),
            "contexts": named("context", [of("home"), of("edge")]),
            "current-context": "home",
        })
        .to_string()
    }

    fn client(&self) -> reqwest::Client {
        self.near.client()
    }
}

const SETTING: &str = "/api/v1/namespaces/both/configmaps/setting";

/// The world of these checks.
struct Apps<C: Ground> {
    world: World<Pair<C>>,
}

impl<C: Ground> Apps<C> {
    fn plain(&self, name: &'static str) -> Plain<'_, Pair<C>> {
        Plain { world: &self.world, name }
    }

    async fn push(&self, name: &'static str, version: &str) -> CommitId {
        self.plain(name).push_into("both", &[("setting.yaml", &config("setting", version))]).await
    }

    async fn state_until(&self, name: &str, what: &str, holds: impl Fn(&AppState) -> bool) -> AppState {
        self.world
            .until(&format!("{name}: {what}"), async || self.world.state(name).await.is_some_and(|it| holds(&it)))
            .await;
        self.world.state(name).await.unwrap()
    }

    async fn far_until(&self, what: &str, holds: impl Fn(&Value) -> bool) {
        self.world.until(&format!("edge: {what}"), async || holds(&self.world.cluster.far(SETTING).await)).await;
    }

    async fn near_until(&self, what: &str, holds: impl Fn(&Value) -> bool) {
        let near = async || self.world.get(SETTING).await.unwrap_or_default();
        self.world.until(&format!("home: {what}"), async || holds(&near().await)).await;
    }
}

/// Runs all checks, one after the other.
pub(crate) async fn check<C: Ground>(world: World<Pair<C>>) {
    world.set(PLACES).await;
    let mut apps = Apps { world };
    apps_live_where_the_settings_say(&apps).await;
    each_cluster_is_watched(&apps).await;
    a_cluster_that_nobody_added_is_told(&apps).await;
    a_lost_store_is_made_again(&mut apps).await;
    one_that_hangs_slows_no_other(&mut apps).await;
    an_app_moves_when_a_person_says_so(&apps).await;
    an_app_is_deleted_where_it_is(&apps).await;
    apps.world.stop().await;
}

async fn apps_live_where_the_settings_say<C: Ground>(apps: &Apps<C>) {
    let (here, away) = (apps.push("here", "near 1").await, apps.push("away", "far 1").await);
    apps.plain("here").done(&here).await;
    apps.plain("away").done(&away).await;
    apps.near_until("it is as its app says", has_version("near 1")).await;
    apps.far_until("it is as its app says", has_version("far 1")).await;
    let clusters = ["here", "away"].map(async |name| apps.world.state(name).await.unwrap().cluster.as_str().to_owned());
    assert_eq!(futures::future::join_all(clusters).await, ["", "edge"]);
    // What is dropped by one is not kept because the other wants it.
    let here = apps.plain("here").push_into("both", &[("other.yaml", &config("other", "1"))]).await;
    apps.plain("here").done(&here).await;
    let gone = async || apps.world.get(SETTING).await.is_none();
    apps.world.until("what is wanted elsewhere is pruned here", gone).await;
    let here = apps.push("here", "near 1").await;
    apps.plain("here").done(&here).await;
}

async fn each_cluster_is_watched<C: Ground>(apps: &Apps<C>) {
    apps.world.cluster.edit_far(SETTING, json!({"data": {"version": "by hand"}})).await;
    apps.far_until("what somebody changed is put back", has_version("far 1")).await;
    let near = apps.world.get(SETTING).await.unwrap();
    assert_eq!(near["data"]["version"], json!("near 1"));
    apps.plain("away").healthy().await;
}

async fn a_cluster_that_nobody_added_is_told<C: Ground>(apps: &Apps<C>) {
    apps.push("lost", "1").await;
    let state = apps.state_until("lost", "it is told", |state| state.reason == "ClusterUnknown").await;
    assert_eq!(state.hint, "wild cluster add --context nowhere");
    assert_eq!(state.needs_you, "lost is to live on the cluster nowhere, which nobody added");
    let asked =
        apps.world.ask(Request::Deploy { app: app("lost"), approve: None, recreate: Vec::new(), adopt: false }).await;
    assert_eq!(asked.outcome, Some(OperationOutcome::Blocked), "{asked:?}");
}

async fn a_lost_store_is_made_again<C: Ground>(apps: &mut Apps<C>) {
    let versions = async |apps: &Apps<C>| {
        let [near, far] = [apps.world.get(SETTING).await.unwrap_or_default(), apps.world.cluster.far(SETTING).await];
        [near, far].map(|object| object["metadata"]["resourceVersion"].clone())
    };
    let before = versions(apps).await;
    apps.world.restart_without_store().await;
    for name in ["here", "away"] {
        apps.plain(name).healthy().await;
    }
    assert_eq!(versions(apps).await, before, "nothing is written");
    let instance = apps.world.handle.instance();
    let inventory = instance.store.inventory(&instance.id, &app("away")).await.unwrap();
    let clusters: Vec<&str> = inventory.records().map(|record| record.cluster.as_str()).collect();
    assert_eq!(clusters, ["edge", "edge"], "{inventory:?}");
}

async fn one_that_hangs_slows_no_other<C: Ground>(apps: &mut Apps<C>) {
    apps.world.restart_with(HASTY).await;
    for name in ["here", "away"] {
        apps.plain(name).healthy().await;
    }
    apps.world.cluster.to_far.spoil(To::All, Fault::Hold, ALWAYS);
    let away = apps.push("away", "far 2").await;
    apps.world.until("the cluster is asked", async || apps.world.cluster.to_far.hits() > 0).await;
    // While requests hang there, everything goes on here: a revision, and what somebody changes.
    let here = apps.push("here", "near 2").await;
    apps.plain("here").done(&here).await;
    apps.world.patch(SETTING, json!({"data": {"version": "by hand"}})).await;
    apps.near_until("it is put back while the other hangs", has_version("near 2")).await;
    let state = apps.state_until("away", "its cluster is silent", |state| state.reason == "TargetUnreachable").await;
    assert!(state.needs_you.starts_with("the cluster edge has not answered since"), "{state:?}");
    assert_eq!(apps.world.cluster.far(SETTING).await["data"]["version"], json!("far 1"));
    assert_ne!(apps.world.status(&away, "wild/deploy").await.as_deref(), Some("success"));
    let up = |name: &str| format!("wild_target_up{{target=\"{name}\"}}");
    let metrics = apps.world.daemon.metrics().encode();
    for line in [format!("{} 1", up("home")), format!("{} 0", up("home/edge"))] {
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
    // What is not known is not told as equal.
    says(&apps.world, "wild drift list", &["away may differ: its cluster does not answer"]).await;
    says(&apps.world, "wild drift show here", &["The cluster is as git says."]).await;
    apps.world.cluster.to_far.clear();
    apps.plain("away").done(&away).await;
    apps.far_until("it is brought what it missed", has_version("far 2")).await;
}

async fn an_app_moves_when_a_person_says_so<C: Ground>(apps: &Apps<C>) {
    // The object of the app that is here already has the same name, so that one goes first.
    apps.world.done(Request::Delete { app: app("here"), data: DataFate::Delete }).await;
    apps.near_until("the place is free", Value::is_null).await;
    let cluster = rewild::model::ClusterName::parse("home").unwrap();
    let asked = apps.world.ask(Request::Move { app: app("away"), cluster }).await;
    assert_eq!(asked.outcome, Some(OperationOutcome::Blocked), "{asked:?}");
    let state = apps.state_until("away", "it asks", |state| state.reason == "DeletionNeedsApproval").await;
    assert!(state.needs_you.contains("away moves to another cluster, which its data does not"), "{state:?}");
    assert!(!apps.world.cluster.far(SETTING).await.is_null(), "it went without a word");
    a_move_that_is_ended_stays_half_done(apps, &state).await;
    let state = apps.state_until("away", "it asks", |state| state.reason == "DeletionNeedsApproval").await;
    apps.world.done(deployment(agreed(&state))).await;
    apps.near_until("it is where it is to be", has_version("far 2")).await;
    let state = apps.state_until("away", "it is well", |it| it.intent == "applied" && it.health == "healthy").await;
    assert!(state.cluster.is_first(), "{state:?}");
    let namespace = apps.world.cluster.far("/api/v1/namespaces/both").await;
    assert!(
        namespace["metadata"]["labels"]["rewild.dev/app"].is_null(),
        "its namespace stays, without us: {namespace}"
    );
}

/// Returns the digest of the plan that an app asks to agree to.
fn agreed(state: &AppState) -> Option<String> {
    state.hint.rsplit(' ').next().map(str::to_owned)
}

fn deployment(approve: Option<String>) -> Request {
    Request::Deploy { app: app("away"), approve, recreate: Vec::new(), adopt: false }
}

/// What is gone from the one cluster is not made on the other before a person says so.
async fn a_move_that_is_ended_stays_half_done<C: Ground>(apps: &Apps<C>, state: &AppState) {
    let (world, far) = (&apps.world, &apps.world.cluster.to_far);
    far.spoil(To::WritesOf("/configmaps/setting"), Fault::Delay, 1);
    let asked = world.handle.ask(deployment(agreed(state)), "alice").await.unwrap();
    world.until("a request is on its way", async || far.hits() == 1).await;
    assert_eq!(cancel(world, &asked.id, "too soon").await.0, 202);
    far.release();
    let instance = world.handle.instance();
    let stored = async || -> Operation { instance.store.operation(&instance.id, &asked.id).await.unwrap().unwrap() };
    world.until("the operation ends", async || stored().await.ended.is_some()).await;
    assert_eq!(stored().await.state, OperationState::Cancelled);
    apps.far_until("it is gone from where it was", Value::is_null).await;
    world.look_again("away").await;
    let held = apps.state_until("away", "it is held", |state| state.reason == "Held").await;
    assert_eq!(held.hint, "wild app deploy away");
    assert!(
        held.needs_you.contains("deploy was cancelled by carol") && held.needs_you.contains(": too soon"),
        "{held:?}"
    );
    let namespace = world.cluster.far("/api/v1/namespaces/both").await;
    assert_eq!(namespace["metadata"]["labels"]["rewild.dev/app"], json!("away"), "it was let go");
    assert!(world.get(SETTING).await.is_none(), "it came before it was gone");
    // What is left is another plan than the one that was agreed to.
    let asked = world.ask(deployment(None)).await;
    assert_eq!(asked.outcome, Some(OperationOutcome::Blocked), "{asked:?}");
}

async fn an_app_is_deleted_where_it_is<C: Ground>(apps: &Apps<C>) {
    let settings = apps.world.set("  third: {cluster: {context: edge}}\n").await;
    let pushed = apps.plain("third").push(&[("setting.yaml", &config("setting", "1"))]).await;
    apps.plain("third").done(&pushed).await;
    assert_ne!(settings, pushed);
    let path = "/api/v1/namespaces/third/configmaps/setting";
    assert!(!apps.world.cluster.far(path).await.is_null());
    apps.world.done(Request::Delete { app: app("third"), data: DataFate::Delete }).await;
    let gone = async || apps.world.cluster.far("/api/v1/namespaces/third").await.is_null();
    apps.world.until("edge: the deleted app is gone with its namespace", gone).await;
    let forgotten = async || apps.world.state("third").await.is_none();
    apps.world.until("the deleted app is forgotten", forgotten).await;
}
