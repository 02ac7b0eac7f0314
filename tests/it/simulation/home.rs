//! An instance whose passes are those of the engine, from observe to record, over a cluster that may die with them.
//!
//! What a pass of the product reads from git comes from memory here, and so does what other apps want. Not here: the cluster (`target.rs`),
//! what the apps are to be (`apps.rs`).

use std::collections::{BTreeMap, BTreeSet};

use rewild::apply::{self, Kept, Noted, Sink};
use rewild::base::Timestamp;
use rewild::model::{
    AppName, CommitId, FileTree, InstanceId, ObjectId, Operation, Outcome, RecordState, Secrets, Settings,
};
use rewild::observe::{self, Grace, Observation, Observed, Past, observe};
use rewild::plan::{self, Action, Ask, Claim, Owner, Plan, Presence, Recreate, Snapshot, Verb, marks};
use rewild::record::{self, Recording};
use rewild::store::Store;
use serde_json::Value;

use super::apps::{APPS, Wishes, files, order};
use super::hands::Hand;
use super::target::{Cluster, Loss, is_going};

const ID: &str = "k3f7q2m5xd";
const KEY: [u8; 32] = [7; 32];
const SETTINGS: &str = r#"{"apiVersion": "rewild.dev/v1", "instanceId": "k3f7q2m5xd", "apps": {
    "one": {"grants": {"namespaces": ["shared"]}}, "two": {"grants": {"namespaces": ["shared"]}}}}"#;
/// Rounds over all apps after which all must be at rest.
const MAX_ROUNDS: usize = 16;
/// Commits whose files are kept: those that brought what changes now.
const KEPT: usize = 32;

/// The instance.
pub(crate) struct Home {
    store: Store,
    pub(crate) cluster: Cluster,
    instance: InstanceId,
    settings: Settings,
    secrets: Secrets,
    wishes: Wishes,
    commit: CommitId,
    commits: usize,
    /// By app, its files as each commit that changed them had them.
    history: BTreeMap<&'static str, Vec<(CommitId, FileTree)>>,
    passes: i64,
    /// Namespaces of which nobody knows any more who made them, since a store was lost.
    pub(crate) orphans: BTreeSet<ObjectId>,
    /// How often a store was lost.
    pub(crate) stores: usize,
    /// The plans since the last commit as people read them, for a test that fails.
    pub(crate) told: String,
}

/// Keeps outcomes at once, so that what a process has kept when it dies, and who is next, hangs on no clock.
struct AtOnce<'a> {
    cluster: &'a Cluster,
    sink: &'a Recording<'a>,
}

impl AtOnce<'_> {
    /// Waits for something, for ever if the process has died before.
    async fn done<T>(&self, kept: Noted<'_, T>) -> T {
        if self.cluster.is_dead() {
            std::future::pending().await
        }
        tokio::task::block_in_place(|| futures::executor::block_on(tokio::task::unconstrained(kept)))
    }
}

impl Sink for AtOnce<'_> {
    fn keep<'a>(&'a self, action: &'a Action, kept: Kept<'a>) -> Noted<'a, Result<(), String>> {
        Box::pin(self.done(self.sink.keep(action, kept)))
    }

    fn outcome<'a>(&'a self, action: &'a Action, outcome: &'a Outcome) -> Noted<'a, ()> {
        Box::pin(self.done(self.sink.outcome(action, outcome)))
    }
}

/// What a pass came to.
struct Came {
    /// Whether there is more to do.
    is_busy: bool,
    /// The name of deletions that wait for a person.
    asks: Option<String>,
    /// The plan as people read it.
    plan: String,
}

fn app(name: &str) -> AppName {
    AppName::parse(name).unwrap()
}

impl Home {
    pub(crate) async fn new() -> Self {
        Self {
            store: Store::in_memory().await.unwrap(),
            cluster: Cluster::default(),
            instance: InstanceId::parse(ID).unwrap(),
            settings: serde_json::from_str(SETTINGS).unwrap(),
            secrets: Secrets::new(),
            wishes: Wishes::new(),
            commit: CommitId::parse(&"0".repeat(40)).unwrap(),
            commits: 0,
            history: BTreeMap::new(),
            passes: 0,
            orphans: BTreeSet::new(),
            stores: 0,
            told: String::new(),
        }
    }

    /// Takes in a commit.
    pub(crate) fn commit(&mut self, wishes: &Wishes) {
        self.commits += 1;
        self.commit = CommitId::parse(&format!("{:040x}", self.commits)).unwrap();
        for (name, namespace) in APPS {
            let now = files(name, namespace, &wishes[name]);
            let before = self.history.entry(name).or_default();
            if wishes[name].is_present && before.last().is_none_or(|(_, files)| *files != now) {
                before.push((self.commit.clone(), now));
                let much = before.len().saturating_sub(KEPT);
                before.drain(..much);
            }
        }
        self.cluster.order(order(wishes));
        self.wishes = wishes.clone();
    }

    /// Walks until nothing is left to do, losing what is armed one after the other; returns how much of it was lost.
    pub(crate) async fn settle(&mut self, losses: &[(usize, Loss)]) -> usize {
        let (mut losses, mut lost, before) = (losses.iter(), 0, self.stores);
        let mut arm = |cluster: &Cluster| _ = losses.next().map(|(arrival, loss)| cluster.arm(*arrival, *loss));
        arm(&self.cluster);
        let mut asks: BTreeMap<&str, String> = BTreeMap::new();
        let mut order: Vec<&'static str> = Vec::new();
        self.told.clear();
        for _ in 0..MAX_ROUNDS {
            let mut is_busy = false;
            order.extend(APPS.iter().map(|(name, _)| *name));
            for name in std::mem::take(&mut order) {
                let walked = self.pass(name, asks.remove(name)).await;
                if let Some(loss) = self.cluster.has_lost() {
                    (lost, is_busy) = (lost + 1, true);
                    if loss == Loss::Store {
                        self.lose_store().await;
                    }
                    arm(&self.cluster);
                }
                is_busy |= self.cluster.was_disturbed();
                let told = walked.as_ref().map_or("it died\n", |came| came.plan.as_str());
                self.told.push_str(&format!("{name}:\n{told}"));
                let Some(came) = walked else {
                    // The process that begins anew looks at this app first.
                    if self.stores == before {
                        self.no_object_is_unknown().await;
                    }
                    order.push(name);
                    is_busy = true;
                    break;
                };
                is_busy |= came.is_busy;
                asks.extend(came.asks.map(|digest| (name, digest)));
            }
            is_busy |= self.cluster.tick();
            if !is_busy {
                return lost;
            }
        }
        panic!("it does not come to rest: {}", self.told);
    }

    /// Begins with an empty store: of all objects the marks alone say whose they are.
    async fn lose_store(&mut self) {
        self.stores += 1;
        self.store = Store::in_memory().await.unwrap();
        let objects = self.cluster.objects();
        let there = objects.iter().filter(|(id, object)| id.kind == "Namespace" && !is_going(object));
        self.orphans.extend(there.map(|(id, _)| id.clone()));
    }

    /// Lets a person delete the empty namespaces that outlived their apps, because they held more or nobody knew who had made them.
    pub(crate) fn clean_up(&mut self) {
        let is_used = |id: &ObjectId| APPS.iter().any(|(app, name)| id.name == *name && self.wishes[app].is_present);
        let objects = self.cluster.objects();
        let is_empty = |id: &ObjectId| objects.keys().all(|other| other.namespace != id.name);
        let left = objects.keys().filter(|id| id.kind == "Namespace" && !is_used(id) && is_empty(id));
        for id in left {
            self.orphans.remove(id);
            self.cluster.disturb(&Hand::Deletes(id.clone()));
        }
    }

    /// Walks the line for one app; nothing if the process died on the way.
    async fn pass(&mut self, name: &'static str, approve: Option<String>) -> Option<Came> {
        self.passes += 1;
        let walked = tokio::select! {
            biased;
            () = self.cluster.death() => None,
            came = self.walk(name, approve) => Some(came),
        };
        // What was handed to the store before the end is in it; a real process dies with what was not.
        self.store.put_cursor(&self.instance, "barrier", &self.passes.to_string()).await.unwrap();
        walked
    }

    async fn walk(&self, name: &'static str, approve: Option<String>) -> Came {
        self.cluster.look();
        let Observed { mut snapshot, payloads, room: _room } = self.look(name, approve).await;
        self.claim(&mut snapshot).await;
        self.remember(&mut snapshot).await;
        let mut plan = plan::plan(&snapshot);
        assert_eq!(plan::lint(&snapshot, &plan), Vec::<String>::new());
        self.cluster.list(listed(&plan));
        self.cluster.moment().await;
        record::settle(&self.store, &self.instance, &snapshot, &plan).await.unwrap();
        apply::note_jobs(&mut plan, &self.cluster, snapshot.now).await;
        if !plan.actions.is_empty() {
            let operation = Operation::waiting("reconcile", Some(&app(name)), None, self.now());
            let opened = record::open(&self.store, &self.instance, &snapshot, &plan, operation).await.unwrap();
            self.cluster.moment().await;
            let halt = apply::Halt::default();
            let sink = AtOnce { cluster: &self.cluster, sink: &opened };
            let hands = apply::Hands {
                identity: snapshot.identity(),
                target: &self.cluster,
                secrets: &payloads,
                hidden: &Secrets::new(),
                sink: &sink,
                halt: &halt,
                age: apply::Age::begin(&self.cluster),
            };
            let applied = apply::apply(&plan, hands).await;
            self.cluster.moment().await;
            opened.close(&applied, &plan, snapshot.now).await.unwrap();
        }
        came(&plan)
    }

    fn now(&self) -> Timestamp {
        Timestamp(Timestamp::parse("2026-11-21T12:00:00Z").unwrap().0 + self.passes * 1_000_000)
    }

    async fn look(&self, name: &'static str, approve: Option<String>) -> Observed {
        let is_present = self.wishes[name].is_present;
        let nothing = FileTree::new();
        let app = app(name);
        observe(Observation {
            instance: &self.instance,
            app: &app,
            cluster: &Default::default(),
            commit: &self.commit,
            files: self.history.get(name).and_then(|all| all.last()).map_or(&nothing, |(_, files)| files),
            presence: if is_present { Presence::Kept } else { Presence::RemovedWithData },
            settings: &self.settings,
            secrets: &self.secrets,
            withheld: &[],
            hash_key: &KEY,
            inventory: self.store.inventory(&self.instance, &app).await.unwrap(),
            held: Vec::new(),
            grace: Grace::Given,
            requirements: Vec::new(),
            dependents: Vec::new(),
            fights: BTreeMap::new(),
            underway: Default::default(),
            refused: false,
            audit: BTreeSet::new(),
            ask: Ask { approve, ..Ask::default() },
            target: &self.cluster,
            now: self.now(),
        })
        .await
    }

    /// Returns another app that is to have an object.
    fn who_wants(&self, id: &ObjectId, but: &AppName) -> Option<AppName> {
        let others = APPS.iter().filter(|(name, _)| *name != but.as_str() && self.wishes[name].is_present);
        let wants = |name: &str| {
            let (_, files) = self.history[name].last().unwrap();
            let wanted = observe::wanted_ids(&app(name), files, &self.secrets, &KEY, &self.settings.tls.shared);
            wanted.unwrap().contains(id)
        };
        others.map(|(name, _)| *name).find(|name| wants(name)).map(app)
    }

    /// Fills in what other apps say of objects that this one drops or finds under their marks, as `pipeline` does.
    async fn claim(&self, snapshot: &mut Snapshot) {
        let dropped = plan::dropped(snapshot);
        for id in dropped {
            let other = self.who_wants(&id, &snapshot.app);
            snapshot.claims.extend(other.map(|other| (id, Claim::Wanted(other))));
        }
        let marked: Vec<(ObjectId, AppName)> = snapshot
            .existing
            .iter()
            .filter_map(|(id, it)| match &it.owner {
                // A namespace stays with the app that has it while that is there.
                Owner::App(app) if id.kind == "Namespace" && self.wishes[app.as_str()].is_present => None,
                Owner::App(app) => Some((id.clone(), AppName::parse(app).unwrap())),
                _ => None,
            })
            .collect();
        for (id, other) in marked {
            if let Some(rival) = self.who_wants(&id, &snapshot.app) {
                snapshot.claims.insert(id, Claim::Wanted(rival));
                continue;
            }
            let known = self.store.inventory(&self.instance, &other).await.unwrap().get(&id).cloned();
            let uid = snapshot.live.get(&id).map(|live| live.uid.clone());
            let is_live =
                |state: RecordState, record: &str| state == RecordState::Applied && uid.as_deref() == Some(record);
            if let Some(record) = known.filter(|record| is_live(record.state, &record.uid)) {
                snapshot.existing.remove(&id);
                snapshot.inventory.insert(record);
            }
            snapshot.claims.insert(id, Claim::GivenUp(other));
        }
    }

    /// Fills in what was applied last of objects that change.
    async fn remember(&self, snapshot: &mut Snapshot) {
        let history = self.history.get(snapshot.app.as_str());
        for (commit, brought) in plan::changed(snapshot) {
            let files = history.into_iter().flatten().rfind(|(known, _)| *known <= commit).map(|(_, files)| files);
            let Some(files) = files else { continue };
            let (settings, secrets) = (&self.settings, &self.secrets);
            let past = Past { files, brought: &brought, settings, secrets, hash_key: &KEY };
            let before = observe::before(snapshot, past, &self.cluster).await;
            snapshot.before.extend(before);
        }
    }

    /// I3 at any moment: what carries our mark is remembered.
    async fn no_object_is_unknown(&self) {
        let known = self.remembered().await;
        for (id, uid) in self.ours() {
            let record = known.get(&id);
            assert!(record.is_some(), "{id} {uid} is in the cluster and nobody remembers it");
        }
    }

    /// I3 at rest: what carries our mark is what is remembered, in the same incarnation.
    pub(crate) async fn memory_is_true(&self) {
        let mut known = self.remembered().await;
        let ours = self.ours();
        // A Job that has run is remembered after it is gone.
        known.retain(|id, _| id.kind != "Job" || ours.contains_key(id));
        assert_eq!(ours, known, "the inventory is not what is there\n{}", self.told);
    }

    async fn remembered(&self) -> BTreeMap<ObjectId, String> {
        let mut known = BTreeMap::new();
        for (name, _) in APPS {
            let inventory = self.store.inventory(&self.instance, &app(name)).await.unwrap();
            known.extend(inventory.records().map(|record| (record.id.clone(), record.uid.clone())));
        }
        known
    }

    fn ours(&self) -> BTreeMap<ObjectId, String> {
        let is_ours = |object: &Value| object["metadata"]["labels"][marks::INSTANCE] == ID;
        let objects = self.cluster.objects().into_iter().filter(|(_, object)| is_ours(object));
        objects.map(|(id, object)| (id, object["metadata"]["uid"].as_str().unwrap().to_owned())).collect()
    }
}

/// Returns what a plan lists for deletion, for good or to be made anew.
fn listed(plan: &Plan) -> BTreeSet<(ObjectId, String)> {
    let is_listed = |verb: &Verb, recreate: &Recreate| match verb {
        Verb::Delete { .. } => true,
        Verb::Apply { .. } => matches!(recreate, Recreate::Allowed(_) | Recreate::Now(_)),
        _ => false,
    };
    let listed = plan.actions.iter().filter(|action| is_listed(&action.verb, &action.recreate));
    listed.filter_map(|action| Some((action.object.clone(), action.uid.clone()?))).collect()
}

fn came(plan: &Plan) -> Came {
    let held = plan.blocked.iter().find(|blocked| blocked.reason == "DeletionNeedsApproval");
    let asks = held.map(|_| plan.digest.clone());
    // What waits for others is done when they are.
    let waits = plan.blocked.iter().any(|blocked| blocked.reason != "DeletionNeedsApproval");
    let is_busy = waits
        || asks.is_some()
        || !plan.actions.is_empty()
        || !plan.forgotten.is_empty()
        || !plan.recovered.is_empty()
        || !plan.leaving.is_empty()
        || !plan.later.is_empty();
    Came { is_busy, asks, plan: plan::display(plan) }
}
