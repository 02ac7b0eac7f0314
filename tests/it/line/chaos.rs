//! Many rounds of commits, edits and deletions by hand, bad weather, stopped controllers, restarts and lost stores, in an order that a fixed
//! seed draws: in the end the cluster is as if nothing but the last commit had ever happened.
//!
//! `WILD_LONG` asks for more rounds. Not here: kills at named points (`faults`).

use std::collections::{BTreeMap, BTreeSet};

use rewild::sandbox::Controller;
use serde_json::{Value, json};

use crate::proxy::{Fault, Proxy, To};
use crate::world::World;

/// Rounds of an ordinary run, and of a long one.
const ROUNDS: (usize, usize) = (60, 1_000);
const SEED: u64 = 20_261_121;
const APPS: [&str; 3] = ["one", "two", "three"];
/// Config maps that an app may have; how many may go at once without asking is more.
const PARTS: u64 = 6;
/// Config maps that an app keeps, so that a commit never takes everything.
const KEPT: u64 = 2;
const LISTS: [&str; 2] = ["/api/v1/configmaps", "/apis/apps/v1/deployments"];

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.roll(choices.len() as u64)).unwrap()]
    }
}

/// What an app is to be.
#[derive(Clone)]
struct App {
    parts: BTreeMap<u64, u64>,
    replicas: u64,
    image: u64,
}

impl App {
    fn new() -> Self {
        Self { parts: (0..PARTS).map(|part| (part, 0)).collect(), replicas: 1, image: 0 }
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

async fn push(world: &World, wanted: &BTreeMap<&str, App>) {
    let mut files = Vec::new();
    for (name, app) in wanted {
        files.push((format!("apps/{name}/kustomization.yaml"), format!("namespace: {name}\nresources: [all.yaml]\n")));
        files.push((format!("apps/{name}/all.yaml"), app.text()));
    }
    let changes: Vec<(&str, Option<&str>)> =
        files.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
    world.push("a round", &changes).await;
}

/// Returns what we manage in the cluster, without what differs from run to run.
async fn seen(world: &World) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for list in LISTS {
        let list = world.get(list).await.unwrap();
        for item in list["items"].as_array().unwrap() {
            let metadata = &item["metadata"];
            if metadata["labels"]["rewild.dev/instance"].is_null() {
                continue;
            }
            let name = format!("{} {} {}", item["kind"], metadata["namespace"], metadata["name"]);
            let owners: BTreeSet<String> = metadata["managedFields"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|entry| entry["manager"] == "wild")
                .map(|entry| format!("{} {}", entry["operation"], entry["fieldsV1"]))
                .collect();
            let content =
                json!({"labels": metadata["labels"], "data": item["data"], "spec": item["spec"], "ours": owners});
            found.insert(name, content);
        }
    }
    found
}

/// Does something that nobody wants to happen.
async fn disturb(world: &mut World, proxy: &Proxy, dice: &mut Dice) {
    let name = dice.of(&APPS);
    let part = format!("/api/v1/namespaces/{name}/configmaps/part-{}", dice.roll(PARTS));
    let web = format!("/apis/apps/v1/namespaces/{name}/deployments/web");
    match dice.roll(16) {
        0..4 if world.get(&part).await.is_some() => {
            // Between the look and the edit it may go.
            world.try_patch(&part, json!({"data": {"version": "by hand"}})).await;
        }
        4 if world.get(&web).await.is_some() => _ = world.try_patch(&web, json!({"spec": {"replicas": 7}})).await,
        5..8 => world.try_delete(&part).await,
        8 => world.try_delete(&web).await,
        9 => proxy.spoil(To::Writes, Fault::LoseAnswer, 2),
        10 => proxy.spoil(To::Writes, dice.of(&[Fault::Refuse(409, ""), Fault::Refuse(500, ""), Fault::Reset]), 3),
        11 => proxy.spoil(To::Watches, dice.of(&[Fault::Refuse(410, ""), Fault::Reset]), 2),
        12 => world.cluster.stop_controller(Controller::Deployment),
        13 => world.cluster.start_controller(Controller::Deployment),
        14 => world.restart_through(proxy.url()).await,
        15 if dice.roll(2) == 0 => world.restart_without_store().await,
        _ => world.handle.wake(rewild::model::Trigger { app: None, reason: rewild::model::Reason::Scheduled }),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_any_chaos_the_cluster_is_as_the_last_commit_says() {
    let rounds = if std::env::var_os("WILD_LONG").is_some() { ROUNDS.1 } else { ROUNDS.0 };
    let mut dice = Dice(SEED);
    let mut world = World::start(&["stonedb 15.5"]).await;
    let mut wanted: BTreeMap<&str, App> = APPS.iter().map(|name| (*name, App::new())).collect();
    push(&world, &wanted).await;
    for name in APPS {
        world.healthy(name).await;
    }
    let proxy = Proxy::start(world.cluster.url()).await;
    world.restart_through(proxy.url()).await;
    for number in 1..=rounds as u64 {
        if dice.roll(3) == 0 {
            let name = dice.of(&APPS);
            wanted.get_mut(name).unwrap().change(&mut dice, number);
            push(&world, &wanted).await;
        } else {
            disturb(&mut world, &proxy, &mut dice).await;
        }
        if dice.roll(8) == 0 {
            world.look_again(dice.of(&APPS)).await;
        }
    }
    proxy.clear();
    world.cluster.start_controller(Controller::Deployment);
    // A new revision of every object ends what was put back too often.
    for app in wanted.values_mut() {
        app.image = u64::MAX;
        app.parts.values_mut().for_each(|version| *version = u64::MAX);
    }
    push(&world, &wanted).await;
    let undisturbed = World::start(&["stonedb 15.5"]).await;
    push(&undisturbed, &wanted).await;
    for name in APPS {
        undisturbed.healthy(name).await;
    }
    let expected = seen(&undisturbed).await;
    world.until("the cluster is as in an undisturbed run", async || seen(&world).await == expected).await;
    for name in APPS {
        world.healthy(name).await;
    }
}
