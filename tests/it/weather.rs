//! Faults between us and the cluster: a revision ends as without them, once, and nothing says so before it is true.
//!
//! Each row is a world of its own, so rows run side by side. Also read by `tests/live/weather.rs`, where all meet one real API server. Not
//! here: the faults themselves (`proxy.rs`).

use std::time::Duration;

use rewild::model::CommitId;
use rewild::target::Patience;
use serde_json::{Value, json};

use crate::proxy::{Fault, Frames, Proxy, To, UNREADABLE};
use crate::world::{Ground, HASTY, World};

/// Writes that are sent at once by a daemon that just began.
const FIRST_LIMIT: usize = 8;
/// Corrections of one object after which a fight must have been seen.
const ROUNDS: i64 = 5;

/// What goes wrong, how often, and whether already when the daemon starts.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    to: To,
    fault: Fault,
    times: usize,
    at_start: bool,
}

const fn row(to: To, fault: Fault, times: usize) -> Row {
    Row { to, fault, times, at_start: false }
}

const fn at_start(to: To, fault: Fault, times: usize) -> Row {
    Row { to, fault, times, at_start: true }
}

/// F23 to F25, F27, F28 and F34 to F37: what an API server and the way to it do in bad weather.
pub(crate) const ROWS: [Row; 18] = [
    row(To::Writes, Fault::LoseAnswer, 1),
    row(To::Writes, Fault::LoseAnswer, 3),
    row(To::Writes, Fault::Truncate, 2),
    row(To::Writes, Fault::Reset, 1),
    row(To::Writes, Fault::Hold, 2),
    row(To::Writes, Fault::Refuse(409, ""), 2),
    row(To::Writes, Fault::Refuse(429, "1"), 1),
    row(To::Writes, Fault::Refuse(429, "garbage"), 1),
    row(To::Writes, Fault::Refuse(429, "1000000000000"), 1),
    row(To::Writes, Fault::Refuse(429, "3600"), 1),
    row(To::Writes, Fault::Refuse(500, ""), 1),
    row(To::Writes, Fault::Refuse(503, ""), 4),
    row(To::Writes, Fault::Refuse(504, ""), 2),
    at_start(To::Watches, Fault::Refuse(410, ""), 2),
    at_start(To::Watches, Fault::Reset, 4),
    at_start(To::Calls, Fault::Hold, 3),
    at_start(To::Calls, Fault::Truncate, 3),
    at_start(To::All, Fault::Reset, 6),
];

/// F26 and F29 to F32: what a watch does not tell, tells late, tells twice, or tells so that hardly anyone reads it.
pub(crate) const FRAMES: [Frames; 9] = [
    Frames::Silent,
    Frames::Twice,
    Frames::Again,
    Frames::Bookmarks,
    Frames::Without("DELETED"),
    Frames::Without("MODIFIED"),
    Frames::Stale,
    Frames::Cut,
    Frames::Deep,
];

/// What people do to an object while a request about it is on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hand {
    Edits,
    Deletes,
}

/// F43: before a request is carried out and after it.
pub(crate) const HANDS: [(Fault, Hand); 4] = [
    (Fault::Delay, Hand::Edits),
    (Fault::Delay, Hand::Deletes),
    (Fault::DelayAnswer, Hand::Edits),
    (Fault::DelayAnswer, Hand::Deletes),
];
/// Operations of one revision that people are in the way of: its own, what failed over their hands, what puts things back.
const FEW: usize = 6;

/// Watches are closed, doubted and begun anew within seconds; what takes an hour in the product is waited for.
const RESTLESS: Patience = Patience {
    haste: 1,
    stream: Duration::from_secs(2),
    idle: Duration::from_secs(4),
    fresh: Duration::from_secs(180),
    page: 500,
    quiet: Duration::from_secs(70),
    relist: Duration::from_secs(3),
    unused: Duration::from_millis(100),
    clock: rewild::target::since_boot,
};

/// An app with a config map and a Deployment in a namespace of its own.
pub(crate) struct Plain<'a, C: Ground> {
    pub(crate) world: World<C>,
    pub(crate) name: &'a str,
}

impl<C: Ground> Plain<'_, C> {
    fn config_path(&self) -> String {
        format!("/api/v1/namespaces/{0}/configmaps/config", self.name)
    }

    fn extra_path(&self) -> String {
        format!("/api/v1/namespaces/{0}/configmaps/extra", self.name)
    }

    fn web_path(&self) -> String {
        format!("/apis/apps/v1/namespaces/{0}/deployments/web", self.name)
    }

    /// Commits a version of the app, with one more config map or without.
    async fn push(&self, version: &str, extra: bool) -> CommitId {
        let more = if extra { ", extra.yaml" } else { "" };
        let list = format!("namespace: {}\nresources: [config.yaml, web.yaml{more}]\n", self.name);
        let config = |name: &str| {
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{version: \"{version}\"}}\n")
        };
        let web = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 1\n  selector: {{matchLabels: {{app: web}}}}\n  \
             template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - name: web\n        image: web:{version}\n"
        );
        let path = |file: &str| format!("apps/{}/{file}", self.name);
        let files = [
            (path("kustomization.yaml"), Some(list)),
            (path("config.yaml"), Some(config("config"))),
            (path("web.yaml"), Some(web)),
            (path("extra.yaml"), extra.then(|| config("extra"))),
        ];
        let changes: Vec<(&str, Option<&str>)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_deref())).collect();
        self.world.push(&format!("version {version}"), &changes).await
    }

    async fn live(&self) -> [Value; 2] {
        let [config, web] = [self.config_path(), self.web_path()];
        [self.world.get(&config).await.unwrap_or_default(), self.world.get(&web).await.unwrap_or_default()]
    }

    /// Does what people do: changes an object and deletes another.
    async fn disturb(&self) {
        self.world.patch(&self.config_path(), json!({"data": {"version": "by hand"}})).await;
        self.world.try_delete(&self.web_path()).await;
    }

    /// Returns how often an object was written or deleted.
    async fn written(&self, name: &str) -> usize {
        let instance = self.world.handle.instance();
        let mut count = 0;
        for operation in instance.store.operations(&instance.id, &Default::default()).await.unwrap() {
            let outcomes = instance.store.outcomes(&operation.id).await.unwrap();
            count += outcomes.iter().filter(|outcome| outcome.object.name == name).count();
        }
        count
    }

    /// Waits until a version is applied and said to be; nothing may say so before.
    async fn ends(&self, head: &CommitId, version: &str, what: &str) {
        self.world
            .until(&format!("{what}: the revision is applied"), async || {
                let said = self.world.status(head, "wild/deploy").await.as_deref() == Some("success");
                let [config, web] = self.live().await;
                let done = shows(&config, &web, version);
                assert!(done || !said, "{what}: success was said too early");
                said && done
            })
            .await;
    }
}

fn shows(config: &Value, web: &Value, version: &str) -> bool {
    config["data"]["version"] == json!(version)
        && web["spec"]["template"]["spec"]["containers"][0]["image"] == json!(format!("web:{version}"))
}

/// Returns how many writes the daemon sends at once.
fn write_limit<C: Ground>(world: &World<C>) -> Option<usize> {
    counted(world, "wild_apply_limit")
}

/// Returns what a series of the daemon counts.
fn counted<C: Ground>(world: &World<C>, name: &str) -> Option<usize> {
    let text = world.daemon.metrics().encode();
    let line = text.lines().find(|line| line.split('{').next() == Some(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap()
}

/// Checks that one revision ends the same in bad weather.
pub(crate) async fn check<C: Ground>(row: Row, mut plain: Plain<'_, C>) {
    let Row { to, fault, times, at_start } = row;
    let what = format!("{fault:?} to {to:?}, {times} times");
    plain.push("1", false).await;
    plain.world.healthy(plain.name).await;
    let before = plain.live().await;
    let proxy = Proxy::start_with(&plain.world.cluster.url(), plain.world.cluster.client()).await;
    if at_start {
        proxy.spoil(to, fault, times);
    }
    // Only where an answer never comes is it worth to give up sooner: a slow machine is no fault.
    let patience = if matches!(fault, Fault::Hold) { HASTY } else { Patience::default() };
    plain.world.restart_hurried(proxy.url(), patience).await;
    if !at_start {
        plain.world.healthy(plain.name).await;
        proxy.spoil(to, fault, times);
    }
    let head = plain.push("2", false).await;
    plain.ends(&head, "2", &what).await;
    let after = plain.live().await;
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before["metadata"]["uid"], after["metadata"]["uid"], "{what}: it was made anew");
    }
    assert_eq!(generation(&after[1]), generation(&before[1]) + 1, "{what}: it was changed more than once");
    assert_eq!(proxy.hits(), times, "{what}: the fault was not met");
    if matches!((to, fault), (To::Writes, Fault::Refuse(429 | 503, _))) {
        let half = async || write_limit(&plain.world).is_some_and(|limit| (1..=FIRST_LIMIT / 2).contains(&limit));
        plain.world.until(&format!("{what}: half as many writes are sent at once"), half).await;
    }
    plain.world.stop().await;
}

/// Checks that what people do is put back, once, whatever the watches tell of it.
pub(crate) async fn check_frames<C: Ground>(frames: Frames, mut plain: Plain<'_, C>) {
    let what = format!("{frames:?}");
    let proxy = Proxy::start_with(&plain.world.cluster.url(), plain.world.cluster.client()).await;
    plain.push("1", true).await;
    plain.world.restart_hurried(proxy.url(), RESTLESS).await;
    plain.world.healthy(plain.name).await;
    let head = plain.push("2", false).await;
    plain.ends(&head, "2", &what).await;
    plain.world.until("the extra one is pruned", async || plain.world.get(&plain.extra_path()).await.is_none()).await;
    let before = plain.live().await;
    proxy.bend(frames);
    if frames == Frames::Stale {
        plain.world.restart_hurried(proxy.url(), RESTLESS).await;
    } else {
        plain.disturb().await;
    }
    plain
        .world
        .until(&format!("{what}: the fault is met"), async || {
            let met = proxy.hits() > 0;
            let [config, web] = plain.live().await;
            // What happens between two watches comes with the list of the later one: no frame of this sort was sent.
            if !met && frames != Frames::Stale && shows(&config, &web, "2") {
                plain.disturb().await;
            }
            met
        })
        .await;
    plain.world.look_again(plain.name).await;
    if matches!(frames, Frames::Cut | Frames::Bookmarks | Frames::Stale) {
        proxy.bend(Frames::Straight);
    }
    plain
        .world
        .until(&format!("{what}: all is as committed"), async || {
            let [config, web] = plain.live().await;
            shows(&config, &web, "2")
        })
        .await;
    plain.world.until(&format!("{what}: every kind is listed again"), async || proxy.listed_anew()).await;
    plain
        .world
        .until(&format!("{what}: it is healthy"), async || {
            plain
                .world
                .state(plain.name)
                .await
                .is_some_and(|state| state.health == "healthy" && state.intent == "applied")
        })
        .await;
    let after = plain.live().await;
    assert_eq!(before[0]["metadata"]["uid"], after[0]["metadata"]["uid"], "{what}: it was made anew");
    if frames == Frames::Stale {
        assert_eq!(before[1]["metadata"]["uid"], after[1]["metadata"]["uid"], "{what}: it was made anew");
        assert_eq!(generation(&before[1]), generation(&after[1]), "{what}: it was changed");
    } else {
        assert_ne!(before[1]["metadata"]["uid"], after[1]["metadata"]["uid"], "{what}: it was not deleted");
        assert_eq!(generation(&after[1]), 1, "{what}: it was made more than once");
    }
    assert!(plain.world.get(&plain.extra_path()).await.is_none(), "{what}: what was pruned came back");
    proxy.bend(Frames::Straight);
    let head = plain.push("3", false).await;
    plain.ends(&head, "3", &what).await;
    let last = plain.live().await;
    assert_eq!(generation(&last[1]), generation(&after[1]) + 1, "{what}: it was changed more than once");
    plain.world.stop().await;
}

/// Checks that an object of which nothing can be read holds up no other of its kind, also after a restart, and is not taken for gone.
pub(crate) async fn check_unreadable<C: Ground>(mut plain: Plain<'_, C>) {
    let proxy = Proxy::start_with(&plain.world.cluster.url(), plain.world.cluster.client()).await;
    plain.push("1", true).await;
    plain.world.restart_hurried(proxy.url(), RESTLESS).await;
    plain.world.healthy(plain.name).await;
    let before = plain.world.get(&plain.extra_path()).await.unwrap();
    let written = plain.written("extra").await;
    for place in ["a stream", "a list, after a restart"] {
        proxy.bend(Frames::Unreadable("extra"));
        if place != "a stream" {
            plain.world.restart_hurried(proxy.url(), RESTLESS).await;
        }
        plain.world.patch(&plain.extra_path(), json!({"data": {"other": place}})).await;
        plain.world.until(&format!("{place}: the fault is met"), async || proxy.hits() > 0).await;
        if place == "a stream" {
            let are_counted = async || {
                counted(&plain.world, "wild_watch_malformed_total")
                    .is_some_and(|them| them == UNREADABLE * proxy.hits())
            };
            plain.world.until("every sort of what cannot be read is passed over", are_counted).await;
        }
        plain.disturb().await;
        let is_mended = async || {
            let [config, web] = plain.live().await;
            shows(&config, &web, "1")
        };
        plain.world.until(&format!("{place}: the others are put back"), is_mended).await;
        plain.world.until(&format!("{place}: every kind is listed again"), async || proxy.listed_anew()).await;
        plain.world.healthy(plain.name).await;
        // What the proxy sent may still be on its way.
        let is_counted = async || counted(&plain.world, "wild_watch_malformed_total").is_some_and(|them| them > 0);
        plain.world.until(&format!("{place}: what cannot be read is counted"), is_counted).await;
        assert_eq!(plain.written("extra").await, written, "{place}: it is not gone");
    }
    let head = plain.push("2", true).await;
    plain.ends(&head, "2", "with one that cannot be read").await;
    let after = plain.world.get(&plain.extra_path()).await.unwrap();
    assert_eq!((&after["metadata"]["uid"], &after["data"]["version"]), (&before["metadata"]["uid"], &json!("2")));
    plain.world.stop().await;
}

/// Checks that a revision ends the same whatever people do to its objects while it goes out, without a storm.
pub(crate) async fn check_hands<C: Ground>((fault, hand): (Fault, Hand), mut plain: Plain<'_, C>) {
    let what = format!("somebody {hand:?} during {fault:?}");
    let proxy = Proxy::start_with(&plain.world.cluster.url(), plain.world.cluster.client()).await;
    plain.push("1", false).await;
    plain.world.restart_through(proxy.url()).await;
    plain.world.healthy(plain.name).await;
    let (before, world) = (plain.live().await, &plain.world);
    proxy.spoil(To::WritesOf("/configmaps/config"), fault, 1);
    let head = plain.push("2", false).await;
    let is_held = async || {
        let carried_out = plain.live().await[0]["data"]["version"] == json!("2");
        proxy.hits() == 1 && carried_out == (fault == Fault::DelayAnswer)
    };
    world.until(&format!("{what}: the request is on its way"), is_held).await;
    match hand {
        Hand::Edits => world.patch(&plain.config_path(), json!({"data": {"version": "by hand"}})).await,
        Hand::Deletes => world.try_delete(&plain.config_path()).await,
    }
    // The turn of this one comes later.
    world.patch(&plain.web_path(), json!({"spec": {"replicas": 5}})).await;
    proxy.release();
    world
        .until(&format!("{what}: the revision is applied and told"), async || {
            let [config, web] = plain.live().await;
            let is_done = shows(&config, &web, "2") && web["spec"]["replicas"] == json!(1);
            is_done && world.status(&head, "wild/deploy").await.as_deref() == Some("success")
        })
        .await;
    world.healthy(plain.name).await;
    let after = plain.live().await;
    let is_same = before[0]["metadata"]["uid"] == after[0]["metadata"]["uid"];
    assert_eq!(is_same, hand == Hand::Edits, "{what}: it is another one, or the old one");
    assert_eq!(before[1]["metadata"]["uid"], after[1]["metadata"]["uid"], "{what}: it was made anew");
    // The revision, the edit, and what puts that back: the first and the last may be one.
    assert!(generation(&after[1]) <= generation(&before[1]) + 3, "{what}: it was changed too often");
    let instance = world.handle.instance();
    let rows = instance.store.operations(&instance.id, &Default::default()).await.unwrap();
    let of_head = rows.iter().filter(|row| row.commit.as_ref() == Some(&head)).count();
    assert!(of_head <= FEW, "{what}: {of_head} operations\n{rows:#?}");
    plain.world.stop().await;
}

/// Checks that the watch of a kind that no app needs is closed, and opened again with the next object of the kind.
pub(crate) async fn check_unused<C: Ground>(mut plain: Plain<'_, C>) {
    plain.world.restart_with(RESTLESS).await;
    let (world, name) = (&plain.world, plain.name);
    let path = format!("/api/v1/namespaces/{name}/serviceaccounts/helper");
    let push = async |account: bool| {
        let more = if account { ", account.yaml" } else { "" };
        let list = format!("namespace: {name}\nresources: [config.yaml{more}]\n");
        let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {version: \"1\"}\n";
        let helper = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: helper}\n";
        let file = |file: &str| format!("apps/{name}/{file}");
        let files = [file("kustomization.yaml"), file("config.yaml"), file("account.yaml")];
        let texts = [Some(list.as_str()), Some(config), account.then_some(helper)];
        let changes: Vec<(&str, Option<&str>)> = files.iter().map(String::as_str).zip(texts).collect();
        let head = world.push("an account", &changes).await;
        world
            .until("it is applied", async || world.status(&head, "wild/deploy").await.as_deref() == Some("success"))
            .await;
    };
    let watched = |kind: &str| {
        let fresh = format!("kind=\"{kind}\"}} 1");
        let text = world.daemon.metrics().encode();
        text.lines().any(|line| line.starts_with("wild_watch_fresh{") && line.ends_with(&fresh))
    };
    for _ in 0..2 {
        push(true).await;
        world.until("it is watched", async || watched("ServiceAccount")).await;
        // A watch that is needed stays open past the time after which others are closed.
        world.try_delete(&path).await;
        world.until("it is made anew", async || world.get(&path).await.is_some()).await;
        push(false).await;
        world.until("it is not watched", async || !watched("ServiceAccount")).await;
        assert!(watched("ConfigMap") && watched("Namespace"));
    }
    plain.world.stop().await;
}

/// F38: checks that who takes our marks off again and again does not have us write for ever.
async fn check_fight_over_marks<C: Ground>(plain: &Plain<'_, C>) {
    let (world, path) = (&plain.world, plain.config_path());
    let is_marked = async || !plain.live().await[0]["metadata"]["annotations"]["rewild.dev/path"].is_null();
    let (rounds, quiet) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    world.until("our mark is put back", async || is_marked().await).await;
    world
        .until("our mark is left off", async || {
            if is_marked().await {
                rounds.set(rounds.get() + 1);
                quiet.set(0);
                world.patch(&path, json!({"metadata": {"annotations": {"rewild.dev/path": null}}})).await;
            }
            world.look_again(plain.name).await;
            quiet.set(quiet.get() + 1);
            quiet.get() > 3 && !is_marked().await
        })
        .await;
    assert!(rounds.get() <= ROUNDS + 1, "it was put back {} times", rounds.get());
    let version = plain.live().await[0]["metadata"]["resourceVersion"].clone();
    world.look_again(plain.name).await;
    assert_eq!(plain.live().await[0]["metadata"]["resourceVersion"], version);
}

/// F38: checks that a fight is seen within five rounds, told, and not gone on with.
pub(crate) async fn check_fight<C: Ground>(mut plain: Plain<'_, C>) {
    plain.world.restart_slow().await;
    plain.push("1", false).await;
    plain.world.healthy(plain.name).await;
    let begun = generation(&plain.live().await[1]);
    let (world, path) = (&plain.world, plain.web_path());
    world
        .until("the fight is told", async || {
            if world.get(&path).await.is_some_and(|web| web["spec"]["replicas"] == json!(1)) {
                world.patch(&path, json!({"spec": {"replicas": 5}})).await;
            }
            world.state(plain.name).await.is_some_and(|state| state.reason == "Fighting")
        })
        .await;
    // Each round is a change of theirs and one of ours.
    let told = plain.live().await;
    assert!(generation(&told[1]) <= begun + 2 * ROUNDS + 1, "the fight went on for too long");
    let state = world.state(plain.name).await.unwrap();
    let said = [
        "kubectl-edit keeps changing Deployment/web spec.replicas (git says 1), last at 20",
        "spec.replicas is 5 there now",
    ];
    assert!(said.iter().all(|text| state.needs_you.contains(text)), "{}", state.needs_you);
    assert_eq!(state.hint, format!("wild drift ignore {} Deployment/web spec.replicas", plain.name));
    world.look_again(plain.name).await;
    let later = plain.live().await;
    assert_eq!(generation(&later[1]), generation(&told[1]), "it was put back all the same");
    assert_eq!(later[1]["spec"]["replicas"], json!(5));
    // Another field is put back all the same, and the one that is fought over is left alone.
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:hand"}]}}}});
    world.patch(&path, image).await;
    let image_of = |web: &Value| web["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    world.until("the other field is put back", async || image_of(&plain.live().await[1]) == json!("web:1")).await;
    assert_eq!(plain.live().await[1]["spec"]["replicas"], json!(5));
    // Another field of another object is corrected all the same.
    world.patch(&plain.config_path(), json!({"data": {"version": "by hand"}})).await;
    world.until("the other object is put back", async || plain.live().await[0]["data"]["version"] == json!("1")).await;
    check_fight_over_marks(&plain).await;
    plain.world.stop().await;
}
