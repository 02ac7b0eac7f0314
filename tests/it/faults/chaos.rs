//! Many rounds of commits, edits and deletions by hand, operations that a person ends, bad weather, stopped controllers, processes that are
//! killed and lost stores, in an order that a fixed seed draws: in the end the cluster is as if nothing but the last commit had ever happened.
//!
//! `WILD_LONG` asks for more rounds. Also read by `tests/live/faults.rs`. Not here: what else people ask for with commands (`home.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rewild::git::Layout;
use rewild::model::{AppName, OperationState};
use rewild::store::Store;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::child::{DEADLINE, End, POLL, git};
use super::home::{Cluster, Home, make_upstream};
use crate::proxy::{Fault, Proxy, To};
use crate::world::{Ground, kubeconfig_of};

/// Rounds of a long run.
const LONG: usize = 1_000;
const SEED: u64 = 20_261_121;
const APPS: [&str; 3] = ["one", "two", "three"];
/// Config maps that an app may have; how many may go at once without asking is more.
const PARTS: u64 = 6;
/// Config maps that an app keeps, so that a commit never takes everything.
const KEPT: u64 = 2;
/// How often it is looked whether an operation is under way that can be ended.
const LOOKS: usize = 40;
const LISTS: [&str; 3] = ["/api/v1/namespaces", "/api/v1/configmaps", "/apis/apps/v1/deployments"];
/// Where a process may be killed, beside at any time.
const POINTS: [&str; 8] = ["read", "merge", "observe", "plan", "apply", "written", "record", "broadcast"];

/// A cluster whose controllers can be stopped.
pub(crate) trait Halting: Ground {
    /// Stops what makes workloads ready.
    fn halt(&self);
    /// Lets it go on.
    fn go_on(&self);
}

/// Numbers that are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.roll(choices.len() as u64)).unwrap()]
    }
}

/// What an app is to be.
#[derive(Clone)]
struct App {
    present: bool,
    parts: BTreeMap<u64, u64>,
    replicas: u64,
    image: u64,
}

impl App {
    fn new() -> Self {
        Self { present: true, parts: (0..PARTS).map(|part| (part, 0)).collect(), replicas: 1, image: 0 }
    }

    /// Changes one thing, as a commit does.
    fn change(&mut self, dice: &mut Dice, number: u64) {
        let part = dice.roll(PARTS);
        match dice.roll(5) {
            0 if part >= KEPT && self.parts.contains_key(&part) => _ = self.parts.remove(&part),
            1 => self.replicas = 1 + dice.roll(3),
            2 => self.image = number,
            _ => _ = self.parts.insert(part, number),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: {}\n  selector: {{matchLabels: {{app: web}}}}\n  \
             template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - name: web\n        image: web:{}\n",
            self.replicas, self.image
        );
        for (part, version) in &self.parts {
            text.push_str(&format!(
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: part-{part}}}\ndata: {{version: \"{version}\"}}\n"
            ));
        }
        text
    }
}

/// The cluster, reached by the daemon through bad weather and by everybody else directly.
struct Behind<'a, C> {
    ground: &'a C,
    proxy: Proxy,
}

impl<C: Ground> Cluster for Behind<'_, C> {
    fn kubeconfig(&self) -> String {
        kubeconfig_of(self.proxy.url())
    }

    async fn read(&self, path: &str) -> Option<Value> {
        let answer = self.ground.client().get(format!("{}{path}", self.ground.url())).send().await.unwrap();
        if answer.status() == 404 { None } else { Some(answer.json().await.unwrap()) }
    }
}

impl<C: Ground> Behind<'_, C> {
    /// Changes an object as a person would, if it is there.
    async fn edit(&self, path: &str, body: Value) {
        let request = self.ground.client().patch(format!("{}{path}?fieldManager=kubectl-edit", self.ground.url()));
        let request = request.header("Content-Type", "application/merge-patch+json").body(body.to_string());
        let code = request.send().await.unwrap().status();
        assert!(code.is_success() || code == 404, "{path}: {code}");
    }

    /// Deletes an object as a person would, if it is there.
    async fn delete(&self, path: &str) {
        let code = self.ground.client().delete(format!("{}{path}", self.ground.url())).send().await.unwrap().status();
        assert!(code.is_success() || code == 404, "{path}: {code}");
    }
}

/// An instance, what its apps are to be, and how often its daemon was killed.
struct Storm<'a, C> {
    home: Home<Behind<'a, C>>,
    prefix: &'static str,
    apps: BTreeMap<&'static str, App>,
    kills: usize,
    losses: usize,
    /// Operations that a person ended.
    cancels: usize,
}

impl<'a, C: Halting> Storm<'a, C> {
    /// Starts an instance whose apps and namespaces have names of their own.
    async fn start(above: &Path, prefix: &'static str, id: &str, ground: &'a C) -> Self {
        let proxy = Proxy::start_with(&ground.url(), ground.client()).await;
        let home = Home::start_as(above, prefix, (id, Layout::Bare), Behind { ground, proxy }).await;
        Self {
            home,
            prefix,
            apps: APPS.iter().map(|name| (*name, App::new())).collect(),
            kills: 0,
            losses: 0,
            cancels: 0,
        }
    }

    fn full(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    /// Pushes what the apps are to be; one of them may go by this commit.
    fn push(&self, gone: Option<&str>) {
        let root = &self.home.root;
        for (name, app) in &self.apps {
            let name = self.full(name);
            let folder = root.join("clone/apps").join(&name);
            if app.present {
                std::fs::create_dir_all(&folder).unwrap();
                let list = format!("namespace: {name}\nresources: [all.yaml]\n");
                std::fs::write(folder.join("kustomization.yaml"), list).unwrap();
                std::fs::write(folder.join("all.yaml"), app.text()).unwrap();
            } else if folder.exists() {
                std::fs::remove_dir_all(&folder).unwrap();
            }
        }
        let message = gone.map_or_else(
            || "a round".to_owned(),
            |name| format!("no {name}\n\nWild-Delete: {}\nWild-Delete-Data: delete", self.full(name)),
        );
        git(root, "clone", &["add", "-A"]);
        git(root, "clone", &["commit", "-q", "--allow-empty", "-m", &message]);
        git(root, "clone", &["push", "-q", "origin", "HEAD:main"]);
    }

    /// Commits a change; at most one app is away at a time, because nobody is there to approve that more go at once.
    fn change(&mut self, dice: &mut Dice, number: u64) {
        let name = dice.of(&APPS);
        let away = self.apps.iter().find(|(_, app)| !app.present).map(|(name, _)| *name);
        let leaves = dice.roll(12) == 0;
        match away {
            Some(away) if away == name || leaves => self.apps.get_mut(away).unwrap().present = true,
            None if leaves => {
                self.apps.get_mut(name).unwrap().present = false;
                return self.push(Some(name));
            }
            _ => self.apps.get_mut(name).unwrap().change(dice, number),
        }
        self.push(None);
    }

    /// Does something that nobody wants to happen.
    async fn disturb(&mut self, dice: &mut Dice, number: u64) {
        let name = self.full(dice.of(&APPS));
        let part = format!("/api/v1/namespaces/{name}/configmaps/part-{}", dice.roll(PARTS));
        let web = format!("/apis/apps/v1/namespaces/{name}/deployments/web");
        let cluster = &self.home.cluster;
        match dice.roll(19) {
            0..4 => cluster.edit(&part, json!({"data": {"version": "by hand"}})).await,
            4 => cluster.edit(&web, json!({"spec": {"replicas": 7}})).await,
            5..8 => cluster.delete(&part).await,
            8 => cluster.delete(&web).await,
            9 => cluster.proxy.spoil(To::Writes, Fault::LoseAnswer, 2),
            10 => {
                let fault = dice.of(&[Fault::Refuse(409, ""), Fault::Refuse(500, ""), Fault::Reset]);
                cluster.proxy.spoil(To::Writes, fault, 3);
            }
            11 => cluster.proxy.spoil(To::Watches, dice.of(&[Fault::Refuse(410, ""), Fault::Reset]), 2),
            12 => cluster.ground.halt(),
            13 => cluster.ground.go_on(),
            14 => self.kill().await,
            15 => {
                if dice.roll(4) == 0 {
                    self.kill_and_lose().await;
                }
            }
            16 => _ = self.home.wild.stop().await,
            17 => self.cancel(dice, number).await,
            _ => self.home.wild.arm(dice.of(&POINTS), 1 + usize::try_from(dice.roll(3)).unwrap()),
        }
    }

    /// Commits a change, and ends the operation that brings it while its first write is on its way. The app is held until its next revision.
    async fn cancel(&mut self, dice: &mut Dice, number: u64) {
        self.home.cluster.proxy.spoil(To::Writes, Fault::Delay, 1);
        self.change(dice, number);
        if let Some(id) = self.underway().await {
            let command = ["operation", "cancel", &id, "--reason", "a round"];
            let mut command = std::pin::pin!(self.home.wild.run(&command));
            // The command waits for the end of the write that is held, so that goes on as soon as the word is heard.
            let said = tokio::select! {
                said = &mut command => said,
                () = self.heard(&id) => {
                    self.home.cluster.proxy.release();
                    command.await
                }
            };
            self.cancels += usize::from(said.status.success());
        }
        self.home.cluster.proxy.release();
    }

    /// Returns an operation of an app that stays, once one is under way; nothing if none comes to write anything, or the daemon dies.
    async fn underway(&mut self) -> Option<String> {
        let mut tick = tokio::time::interval(POLL);
        for _ in 0..LOOKS {
            tick.tick().await;
            if self.home.wild.has_ended() {
                return None;
            }
            if self.home.cluster.proxy.hits() == 0 {
                continue;
            }
            let store = Store::open(&self.home.root.join("state/wild.db")).await.unwrap();
            let running = store.operations_in(&self.home.id, OperationState::Running).await.unwrap();
            store.close().await;
            // The rest of a removal could not be asked for.
            let stays =
                |name: &AppName| self.apps.iter().any(|(app, it)| it.present && self.full(app) == name.as_str());
            return running.into_iter().find(|it| it.app.as_ref().is_some_and(stays)).map(|it| it.id.0);
        }
        None
    }

    /// Waits until a word to end an operation is stored.
    async fn heard(&self, id: &str) {
        let mut tick = tokio::time::interval(POLL);
        loop {
            tick.tick().await;
            let store = Store::open(&self.home.root.join("state/wild.db")).await.unwrap();
            let running = store.operations_in(&self.home.id, OperationState::Running).await.unwrap();
            store.close().await;
            if running.iter().any(|it| it.id.0 == *id && it.refusal.is_some()) {
                return;
            }
        }
    }

    /// Asks for all that was held back.
    async fn deploy_all(&self) {
        for name in self.apps.iter().filter(|(_, app)| app.present).map(|(name, _)| self.full(name)) {
            let said = self.home.wild.run(&["app", "deploy", &name, "--no-wait"]).await;
            assert!(said.status.success(), "{said:?}\n{}", self.home.wild.log());
        }
    }

    /// Kills the daemon wherever it is.
    async fn kill(&mut self) {
        self.home.wild.signal(Signal::KILL);
        self.home.wild.wait().await;
        self.kills += 1;
    }

    /// The same, and the store is gone.
    async fn kill_and_lose(&mut self) {
        self.kill().await;
        self.losses += 1;
        for file in ["wild.db", "wild.db-wal", "wild.db-shm"] {
            let _ = std::fs::remove_file(self.home.root.join("state").join(file));
        }
    }

    /// Starts the daemon again, as often as it dies of an armed point.
    async fn revive(&mut self) {
        while self.home.wild.has_ended() {
            if let Some(end) = self.home.wild.ended() {
                assert_eq!(end, End::Hit, "{}", self.home.wild.log());
                self.kills += 1;
            }
            self.home.wild.start_again().await;
            self.home.wild.listens().await;
        }
    }

    /// Waits until the daemon has something to say of the newest commit, or has died.
    async fn breathe(&mut self) {
        let head = self.home.repository.head("main").await.unwrap().unwrap();
        let mut tick = tokio::time::interval(POLL);
        let said = async {
            while !self.home.wild.has_ended() {
                let store = Store::open(&self.home.root.join("state/wild.db")).await.unwrap();
                let is_said = !store.statuses(&self.home.id, &head).await.unwrap().is_empty();
                store.close().await;
                if is_said {
                    return;
                }
                tick.tick().await;
            }
        };
        let said = tokio::time::timeout(DEADLINE, said).await;
        assert!(said.is_ok(), "nothing is said of {head}\n{}\n{}", self.home.show().await, self.home.wild.log());
    }

    /// Returns what is ours in the cluster, without what differs from instance to instance.
    async fn seen(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for path in LISTS {
            let list = self.home.cluster.read(path).await.unwrap();
            let plural = path.rsplit('/').next().unwrap();
            for item in list["items"].as_array().unwrap() {
                let metadata = &item["metadata"];
                if metadata["labels"]["rewild.dev/instance"] != self.home.id.as_str() {
                    continue;
                }
                let name = format!("{plural} {} {}", metadata["namespace"], metadata["name"]);
                let owners: BTreeSet<String> = metadata["managedFields"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|entry| entry["manager"] == "wild")
                    .map(|entry| format!("{} {}", entry["operation"], entry["fieldsV1"]))
                    .collect();
                // The hash of the set hangs on the identity.
                let labels: BTreeMap<&String, &Value> = metadata["labels"]
                    .as_object()
                    .unwrap()
                    .iter()
                    .filter(|(key, _)| *key != "applyset.kubernetes.io/part-of")
                    .collect();
                let content = json!({"labels": labels, "data": item["data"], "spec": item["spec"], "ours": owners});
                let general = |text: String| text.replace(self.home.id.as_str(), "").replace(self.prefix, "");
                found.insert(general(name), general(content.to_string()));
            }
        }
        found
    }

    /// Waits until the cluster is as it is to be.
    async fn becomes(&mut self, expected: &BTreeMap<String, String>) {
        let mut tick = tokio::time::interval(POLL);
        let waited = tokio::time::timeout(DEADLINE, async {
            while self.seen().await != *expected {
                tick.tick().await;
            }
        });
        if waited.await.is_err() {
            let seen = self.seen().await;
            let names: BTreeSet<&String> = seen.keys().chain(expected.keys()).collect();
            let differ = names.into_iter().filter(|name| seen.get(*name) != expected.get(*name));
            let differ: Vec<String> =
                differ.map(|name| format!("{name}\n  {:?}\n  {:?}", seen.get(name), expected.get(name))).collect();
            panic!("{}\n{}\n{}", differ.join("\n"), self.home.show().await, self.home.wild.log());
        }
    }

    /// Waits until every app that is there is applied and healthy, and no other is known.
    async fn healthy(&self) {
        let wanted: BTreeSet<String> =
            self.apps.iter().filter(|(_, app)| app.present).map(|(name, _)| self.full(name)).collect();
        let mut tick = tokio::time::interval(POLL);
        let waited = tokio::time::timeout(DEADLINE, async {
            loop {
                let states = self.home.states().await;
                let well = states.iter().filter(|state| state.intent == "applied" && state.health == "healthy");
                let well: BTreeSet<String> = well.map(|state| state.name.to_string()).collect();
                if well == wanted && states.len() == wanted.len() {
                    return;
                }
                tick.tick().await;
            }
        });
        assert!(waited.await.is_ok(), "{}\n{}", self.home.show().await, self.home.wild.log());
    }
}

/// Lives through so many rounds, or the long run's, and compares with an instance on the same cluster to which nothing happened.
#[expect(clippy::print_stderr, reason = "a long run says what it did")]
pub(crate) async fn check<C: Halting>(ground: &C, rounds: usize) {
    let rounds = if std::env::var_os("WILD_LONG").is_some() { LONG } else { rounds };
    let directory = tempfile::tempdir().unwrap();
    make_upstream(directory.path()).await;
    let mut dice = Dice(SEED);
    let mut storm = Storm::start(directory.path(), "storm", "k3f7q2chao", ground).await;
    storm.push(None);
    storm.healthy().await;
    let mut commits = 0;
    for number in 1..=rounds as u64 {
        if dice.roll(3) == 0 {
            storm.change(&mut dice, number);
            commits += 1;
        } else {
            storm.disturb(&mut dice, number).await;
        }
        storm.revive().await;
        if dice.roll(8) == 0 {
            storm.breathe().await;
        }
    }
    if !storm.home.wild.disarm() {
        storm.home.wild.die().await;
    }
    storm.revive().await;
    storm.home.cluster.proxy.clear();
    ground.go_on();
    // A new revision of every object ends what was put back too often.
    for app in storm.apps.values_mut() {
        app.image = u64::MAX;
        app.parts.values_mut().for_each(|version| *version = u64::MAX);
    }
    storm.push(None);
    // What was ended when the process died may hold whatever revision the next one finds.
    storm.deploy_all().await;
    let mut calm = Storm::start(directory.path(), "calm", "k3f7q2calm", ground).await;
    calm.apps = storm.apps.clone();
    calm.push(None);
    calm.healthy().await;
    let expected = calm.seen().await;
    storm.becomes(&expected).await;
    storm.healthy().await;
    let Storm { kills, losses, cancels, .. } = &storm;
    eprintln!(
        "{rounds} rounds, {commits} commits, {kills} processes killed, {losses} stores lost, {cancels} operations cancelled"
    );
}
