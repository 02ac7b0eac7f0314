//! A cluster in memory that dies where it is told to: before a request, or after it was carried out, or so that only its answer is lost.
//!
//! It does what the engine relies on: incarnations, versions, generations, owned fields, fields that cannot be changed, Jobs that run, objects
//! that take a while to go. Not here: everything else that a server does (`sandbox`).

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;

use rewild::base::Timestamp;
use rewild::health;
use rewild::model::{Editors, HealthRule, Leaving, Object, ObjectId, Observed, OwnEntry, Prune};
use rewild::plan::marks;
use rewild::target::{
    Answer, ApplyRequest, DeleteRequest, Deletion, Dependents, FreeRequest, Kind, LiveObject, LogLines, LogRequest,
    Mode, Note, Ownership, PatchRequest, Places, Reachability, Refusal, RefusalKind, SourceSecret, Target,
    TargetCounts, TargetEvent, VolumeRequest, WatchState, Whereabouts, Written,
};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::hands::{Hand, Ledger};

/// When the cluster begins; each change takes a second.
const BEGIN: &str = "2026-11-21T00:00:00Z";

/// How a process or an answer is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Loss {
    /// The process dies before the request is sent.
    Before,
    /// It dies when the request was carried out, before it takes the answer in.
    After,
    /// It lives on without the answer.
    Answer,
    /// It dies as after a request, and its store is gone.
    Store,
}

/// What was done to an object that there is or was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Deed {
    Created,
    /// It was given new content.
    Changed,
    /// What a person had changed was put right.
    Corrected,
    Deleted,
}

/// What has to be well before an object is given new content: objects, each with what it says of its version if that is told.
pub(crate) type Order = BTreeMap<ObjectId, Vec<(ObjectId, Option<String>)>>;

/// What an object was given last.
struct Given {
    /// Hash and app.
    intent: String,
    version: Option<String>,
}

#[derive(Default)]
pub(super) struct State {
    version: u64,
    pub(super) objects: BTreeMap<ObjectId, Value>,
    /// What people did.
    pub(super) ledger: Ledger,
    /// Objects that people had their hands on, until we take them away.
    pub(super) touched: BTreeSet<ObjectId>,
    given: BTreeMap<ObjectId, Given>,
    /// Objects that have been well with what they were given last.
    well: BTreeSet<ObjectId>,
    order: Order,
    /// Digest of all that was done, in its order.
    history: u64,
    /// The incarnations of Jobs that have run, whether they are there or not.
    ended: BTreeMap<ObjectId, String>,
    /// Jobs of which it is noted that they have run.
    noted: BTreeMap<ObjectId, String>,
    /// How often each Job ran, by what it runs.
    runs: BTreeMap<String, usize>,
    deeds: BTreeMap<(ObjectId, Deed), usize>,
    /// Incarnations that the last plan lists for deletion.
    listed: BTreeSet<(ObjectId, String)>,
}

#[derive(Default)]
struct Fate {
    arrivals: usize,
    /// At which arrival what is lost.
    due: Option<(usize, Loss)>,
    armed: Option<Loss>,
    /// Whether the process has died, so that nothing it still sends goes out.
    is_dead: bool,
}

/// The cluster.
#[derive(Default)]
pub(crate) struct Cluster {
    state: Mutex<State>,
    fate: Mutex<Fate>,
    people: Mutex<People>,
    died: watch::Sender<bool>,
}

/// What people are going to do.
#[derive(Default)]
struct People {
    arrivals: usize,
    /// At which arrival they do what.
    due: Vec<(usize, Hand)>,
    /// Whether they have done anything since it was asked for.
    has_acted: bool,
}

impl Cluster {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Loses something at the n-th request from now.
    pub(crate) fn arm(&self, arrival: usize, loss: Loss) {
        *self.fate.lock().unwrap() = Fate { due: Some((arrival, loss)), armed: Some(loss), ..Fate::default() };
    }

    /// Counts requests from now, and loses nothing.
    pub(crate) fn count(&self) {
        *self.fate.lock().unwrap() = Fate::default();
    }

    /// Returns how many requests came since they are counted.
    pub(crate) fn counted(&self) -> usize {
        self.fate.lock().unwrap().arrivals
    }

    /// Returns what is lost if it was to be, and lets the next process live.
    pub(crate) fn has_lost(&self) -> Option<Loss> {
        let mut fate = self.fate.lock().unwrap();
        let lost = fate.armed.filter(|_| fate.due.is_none());
        if lost.is_some() {
            *fate = Fate::default();
            self.died.send_replace(false);
        }
        lost
    }

    /// Lets people do something at the n-th requests from now, and nothing else.
    pub(crate) fn expect_people(&self, due: Vec<(usize, Hand)>) {
        *self.people.lock().unwrap() = People { due, ..People::default() };
    }

    /// Returns whether people have done anything since this was asked last.
    pub(crate) fn was_disturbed(&self) -> bool {
        std::mem::take(&mut self.people.lock().unwrap().has_acted)
    }

    /// Lets a person do something now.
    pub(crate) fn disturb(&self, hand: &Hand) {
        self.state().disturb(hand);
    }

    /// Lets those act whose time it is.
    fn let_people_act(&self) {
        let mut people = self.people.lock().unwrap();
        people.arrivals += 1;
        let now = people.arrivals;
        let (due, later) = std::mem::take(&mut people.due).into_iter().partition(|(arrival, _)| *arrival <= now);
        people.due = later;
        let due: Vec<(usize, Hand)> = due;
        for (_, hand) in due {
            let mut state = self.state();
            people.has_acted |= state.disturb(&hand);
            state.note(&hand);
        }
    }

    /// Waits until the process is to die.
    pub(crate) async fn death(&self) {
        let _ = self.died.subscribe().wait_for(|died| *died).await;
    }

    /// Returns whether the process has died and not begun anew.
    pub(crate) fn is_dead(&self) -> bool {
        self.fate.lock().unwrap().is_dead
    }

    /// A moment of the process in which it may die as well, such as before it stores something.
    pub(crate) async fn moment(&self) {
        let _ = self.step(|_| Ok(())).await;
    }

    /// Carries out a request, unless something is lost. Its answer takes a while, in which others are sent.
    async fn step<T>(&self, run: impl FnOnce(&mut State) -> Result<T, Refusal>) -> Result<T, Refusal> {
        self.let_people_act();
        let loss = {
            let mut fate = self.fate.lock().unwrap();
            fate.arrivals += 1;
            let loss = fate.due.filter(|(arrival, _)| *arrival == fate.arrivals).map(|(_, loss)| loss);
            if loss.is_some() {
                fate.due = None;
            }
            let was_dead = fate.is_dead;
            fate.is_dead |= matches!(loss, Some(Loss::Before | Loss::After | Loss::Store));
            if was_dead { Some(Loss::Before) } else { loss }
        };
        match loss {
            None => {
                let answer = run(&mut self.state());
                a_while().await;
                answer
            }
            Some(Loss::Answer) => {
                let _ = run(&mut self.state());
                a_while().await;
                Err(Refusal::new(RefusalKind::Timeout, "the answer is lost"))
            }
            Some(loss) => {
                if loss != Loss::Before {
                    let _ = run(&mut self.state());
                }
                self.died.send_replace(true);
                std::future::pending().await
            }
        }
    }

    /// Lets time pass: what is being deleted is gone, and workloads are as they are to be. Returns whether anything changed.
    pub(crate) fn tick(&self) -> bool {
        let mut state = self.state();
        let gone: Vec<ObjectId> =
            state.objects.iter().filter(|(_, it)| is_going(it)).map(|(id, _)| id.clone()).collect();
        for id in &gone {
            state.remove(id);
        }
        let is_late = |object: &Value| object["status"]["observedGeneration"] != object["metadata"]["generation"];
        let late = state.objects.iter().filter(|(id, object)| id.kind == "Deployment" && is_late(object));
        let late: Vec<ObjectId> = late.map(|(id, _)| id.clone()).collect();
        for id in &late {
            state.roll_out(id);
        }
        !gone.is_empty() || !late.is_empty()
    }

    /// A pass begins: what it finds missing is not well any more.
    pub(crate) fn look(&self) {
        let state = &mut *self.state();
        state.well.retain(|id| state.objects.contains_key(id));
    }

    /// Takes in what is to be well before what.
    pub(crate) fn order(&self, order: Order) {
        self.state().order = order;
    }

    /// Returns what people did since this was asked last.
    pub(crate) fn ledger(&self) -> Ledger {
        let mut state = self.state();
        let open = state.ledger.open.clone();
        std::mem::replace(&mut state.ledger, Ledger { open, ..Ledger::default() })
    }

    /// Returns the objects that people had their hands on.
    pub(crate) fn touched(&self) -> BTreeSet<ObjectId> {
        self.state().touched.clone()
    }

    /// Returns a digest of all that was done, in its order.
    pub(crate) fn history(&self) -> u64 {
        self.state().history
    }

    /// Returns all objects.
    pub(crate) fn objects(&self) -> BTreeMap<ObjectId, Value> {
        self.state().objects.clone()
    }

    /// Returns what was done to objects since this was asked last, and how often what Jobs run was run at all.
    pub(crate) fn deeds(&self) -> (BTreeMap<(ObjectId, Deed), usize>, BTreeMap<String, usize>) {
        let mut state = self.state();
        (std::mem::take(&mut state.deeds), state.runs.clone())
    }

    /// Takes note of what a plan lists for deletion: nothing else may be deleted from now on.
    pub(crate) fn list(&self, listed: BTreeSet<(ObjectId, String)>) {
        self.state().listed = listed;
    }
}

/// Lets everything else that is under way go on once.
async fn a_while() {
    let mut is_over = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

pub(super) fn is_going(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

/// Returns the fields of a payload as a server writes them down.
fn fields_of(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(key, item)| (format!("f:{key}"), fields_of(item))).collect(),
        Value::Array(items) if items.iter().all(|item| item.get("name").is_some()) => items
            .iter()
            .map(|item| {
                let mut fields = fields_of(item);
                fields["."] = json!({});
                (format!("k:{}", json!({"name": item["name"]})), fields)
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => json!({}),
    }
}

/// Returns what of an object is its content: all but what a server adds.
fn content(object: &Value) -> Value {
    let mut content = object.clone();
    content.as_object_mut().unwrap().shift_remove("status");
    if let Some(metadata) = content["metadata"].as_object_mut() {
        for key in ["uid", "resourceVersion", "generation", "managedFields", "deletionTimestamp"] {
            metadata.shift_remove(key);
        }
    }
    content
}

/// Returns the part of an object that cannot be changed.
fn frozen(object: &Value) -> Option<(&'static str, Value)> {
    match object["kind"].as_str() {
        Some("Job") => Some(("spec.template", object["spec"]["template"].clone())),
        Some("ConfigMap" | "Secret") if object["immutable"] == json!(true) => Some(("data", object["data"].clone())),
        _ => None,
    }
}

impl State {
    /// Returns the metadata of a new version of an object.
    pub(super) fn metadata(&mut self, body: &Value, before: Option<&Value>) -> Value {
        self.version += 1;
        let mut metadata = body["metadata"].clone();
        let uid = before
            .map_or_else(|| format!("uid-{}", self.version), |it| it["metadata"]["uid"].as_str().unwrap().to_owned());
        let generation = before.map_or(1, |before| {
            let is_same = ["spec", "data"].iter().all(|key| before[*key] == body[*key]);
            before["metadata"]["generation"].as_i64().unwrap() + i64::from(!is_same)
        });
        metadata["uid"] = json!(uid);
        metadata["resourceVersion"] = json!(self.version.to_string());
        metadata["generation"] = json!(generation);
        metadata
    }

    /// Returns the time of the newest change.
    pub(super) fn time(&self) -> String {
        let begin = Timestamp::parse(BEGIN).unwrap();
        Timestamp(begin.0 + i64::try_from(self.version).unwrap() * 1_000_000).to_string()
    }

    /// Takes something into the digest of all that was done.
    fn note(&mut self, deed: &impl std::fmt::Debug) {
        let mut hasher = DefaultHasher::new();
        (self.history, format!("{deed:?}")).hash(&mut hasher);
        self.history = hasher.finish();
    }

    /// Does for a workload what its controller does.
    fn roll_out(&mut self, id: &ObjectId) {
        self.version += 1;
        let version = self.version.to_string();
        let Some(live) = self.objects.get_mut(id) else { return };
        let replicas = live["spec"]["replicas"].clone();
        live["status"] = json!({"observedGeneration": live["metadata"]["generation"], "replicas": replicas, "updatedReplicas": replicas,
            "readyReplicas": replicas, "availableReplicas": replicas, "conditions": [{"type": "Available", "status": "True"}]});
        live["metadata"]["resourceVersion"] = json!(version);
        self.well.insert(id.clone());
    }

    /// Checks that all is well which has to be before an object is given new content.
    fn check_order(&self, id: &ObjectId) {
        for (needed, version) in self.order.get(id).into_iter().flatten() {
            let given = self.given.get(needed);
            let is_given = given.is_some_and(|given| version.is_none() || given.version == *version);
            assert!(is_given, "{id} is given new content before {needed} is, which comes earlier");
            assert!(
                self.well.contains(needed),
                "{id} is given new content, and {needed}, which comes earlier, is not well"
            );
        }
    }

    /// Takes note of what an object was given; returns whether that is new.
    fn give(&mut self, id: &ObjectId, body: &Value) -> bool {
        let metadata = &body["metadata"];
        let intent = format!("{} {}", metadata["annotations"][marks::HASH], metadata["labels"][marks::APP]);
        let is_news = self.given.get(id).is_none_or(|given| given.intent != intent);
        let image = &body["spec"]["template"]["spec"]["containers"][0]["image"];
        let version = body["data"]["version"].as_str().or(image.as_str()).map(str::to_owned);
        if is_news {
            self.check_order(id);
        }
        if id.kind != "Deployment" {
            self.well.insert(id.clone());
        } else if is_news || !self.objects.contains_key(id) {
            self.well.remove(id);
        }
        self.given.insert(id.clone(), Given { intent, version });
        is_news
    }

    fn check(&self, id: &ObjectId, body: &Value) -> Result<(), Refusal> {
        let refuse = |kind, why: &str| Err(Refusal::new(kind, format!("apply {id}: {why}")));
        let namespace = self.objects.get(&ObjectId::new("", "Namespace", "", &id.namespace));
        if !id.namespace.is_empty() {
            match namespace {
                None => return refuse(RefusalKind::NotFound, "its namespace is not there"),
                Some(namespace) if is_going(namespace) => {
                    return refuse(RefusalKind::NamespaceTerminating, "its namespace is being deleted");
                }
                Some(_) => {}
            }
        }
        let before = self.objects.get(id);
        let meant = &body["metadata"]["uid"];
        if !meant.is_null() && before.is_none_or(|before| before["metadata"]["uid"] != *meant) {
            return refuse(RefusalKind::UidMismatch, "it is another one");
        }
        match (before.and_then(frozen), frozen(body)) {
            (Some((field, before)), now) if now.as_ref().is_none_or(|(_, now)| *now != before) => {
                refuse(RefusalKind::Immutable(vec![field.to_owned()]), "field is immutable")
            }
            _ => Ok(()),
        }
    }

    fn apply(&mut self, request: &ApplyRequest) -> Result<Written, Refusal> {
        let id = &request.id;
        self.check(id, &request.body)?;
        if let Some(conflict) = self.conflict(id).filter(|_| request.ownership == Ownership::Respect) {
            return Err(conflict);
        }
        let before = self.objects.get(id).cloned();
        let mut body = request.body.clone();
        body["metadata"].as_object_mut().unwrap().shift_remove("uid");
        let unchanged = before.as_ref().is_some_and(|before| content(before) == content(&body));
        if !unchanged {
            let is_news = self.give(id, &body);
            let mut owned = body.clone();
            for key in ["apiVersion", "kind"] {
                owned.as_object_mut().unwrap().shift_remove(key);
            }
            for key in ["name", "namespace"] {
                owned["metadata"].as_object_mut().unwrap().shift_remove(key);
            }
            let mut object = body.clone();
            object["metadata"] = self.metadata(&body, before.as_ref());
            let time = self.time();
            object["metadata"]["managedFields"] = json!([{"manager": "wild", "operation": "Apply", "apiVersion": request.api_version,
                "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields_of(&owned)}]);
            if id.kind == "Job" {
                if before.is_none() {
                    *self.runs.entry(format!("{id} {}", body["spec"])).or_default() += 1;
                }
                let uid = object["metadata"]["uid"].as_str().unwrap().to_owned();
                self.ended.insert(id.clone(), uid);
                object["status"] = json!({"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]});
            }
            if id.kind == "Namespace" {
                object["status"] = json!({"phase": "Active"});
            }
            if let Some(before) = before.as_ref().filter(|_| id.kind == "Deployment") {
                object["status"] = before["status"].clone();
            }
            self.objects.insert(id.clone(), object);
            let puts_right = self.ledger.written(id, is_news);
            let deed = match before {
                None => Deed::Created,
                Some(_) if puts_right => Deed::Corrected,
                Some(_) => Deed::Changed,
            };
            self.done(id, deed);
        }
        let object = Object::from_value(self.objects[id].clone()).unwrap();
        let OwnEntry { fields, time } = OwnEntry::of(object.at(&["metadata", "managedFields"]));
        let text = |key: &str| object.at(&["metadata", key]).and_then(Value::as_str).unwrap().to_owned();
        let generation = object.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap();
        let hash = request.hash.clone();
        let observed =
            Observed { uid: text("uid"), resource_version: text("resourceVersion"), generation, fields, time, hash };
        Ok(Written { observed, created: before.is_none(), again: false, unchanged, object })
    }

    fn delete(&mut self, request: &DeleteRequest) -> Result<Deletion, Refusal> {
        let DeleteRequest { id, uid, labels, dependents, .. } = request;
        let Some(live) = self.objects.get_mut(id) else { return Ok(Deletion::Gone) };
        if live["metadata"]["uid"] != json!(uid) {
            return Ok(Deletion::Gone);
        }
        if labels.iter().any(|(key, value)| live["metadata"]["labels"][key] != json!(value)) {
            return Err(Refusal::new(RefusalKind::Conflict(Vec::new()), format!("delete {id}: it is not ours")));
        }
        if is_going(live) {
            return Ok(Deletion::Begun);
        }
        assert!(
            self.listed.contains(&(id.clone(), uid.clone())),
            "{id} {uid} is deleted, and the plan does not list it"
        );
        self.done(id, Deed::Deleted);
        // What has content, and every other object of the rest, takes a while.
        let takes_long = id.kind == "Namespace" || id.name.len() % 2 == 0;
        if takes_long && *dependents == Dependents::Collected && id.kind != "Job" {
            self.version += 1;
            let live = self.objects.get_mut(id).unwrap();
            live["metadata"]["deletionTimestamp"] = json!("2026-11-21T10:00:00Z");
            live["metadata"]["resourceVersion"] = json!(self.version.to_string());
            return Ok(Deletion::Begun);
        }
        self.remove(id);
        Ok(Deletion::Gone)
    }

    /// Counts what was done to an object.
    fn done(&mut self, id: &ObjectId, deed: Deed) {
        self.note(&(id, deed));
        *self.deeds.entry((id.clone(), deed)).or_default() += 1;
    }

    /// Takes away what was deleted, with what is in it.
    fn remove(&mut self, id: &ObjectId) {
        let goes = |other: &ObjectId| other == id || (id.kind == "Namespace" && other.namespace == id.name);
        let gone: Vec<ObjectId> = self.objects.keys().filter(|other| goes(other)).cloned().collect();
        for id in &gone {
            self.objects.remove(id);
            self.ledger.gone(id);
            self.touched.remove(id);
            self.given.remove(id);
            self.well.remove(id);
        }
    }

    fn release(&mut self, request: &DeleteRequest) {
        let Some(live) = self.objects.get_mut(&request.id) else { return };
        let metadata = live["metadata"].as_object_mut().unwrap();
        for section in ["labels", "annotations"] {
            let is_ours = |key: &str| key.starts_with(marks::PREFIX) || key == marks::PART_OF;
            if let Some(section) = metadata.get_mut(section).and_then(Value::as_object_mut) {
                section.retain(|key, _| !is_ours(key));
            }
        }
        for entry in metadata["managedFields"].as_array_mut().unwrap() {
            entry["manager"] = json!(marks::RELEASED_MANAGER);
            entry["operation"] = json!("Update");
        }
    }

    fn live(&self, id: &ObjectId) -> Option<LiveObject> {
        let object = Object::from_value(self.objects.get(id)?.clone()).unwrap();
        object.label(marks::INSTANCE)?;
        let text = |key: &str| object.at(&["metadata", key]).and_then(Value::as_str).unwrap_or("").to_owned();
        Some(LiveObject {
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            generation: object.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0),
            own: OwnEntry::of(object.at(&["metadata", "managedFields"])),
            terminating: !text("deletionTimestamp").is_empty(),
            leaving: Leaving::of(&object),
            health: health::has_rule(&id.group, &id.kind, &[]).then(|| health::assess(&object, &[])),
            changed: None,
            managed: self
                .ledger
                .open
                .contains(id)
                .then(|| object.at(&["metadata", "managedFields"]).cloned())
                .flatten(),
            hash: object.annotation(marks::HASH).unwrap_or("").to_owned(),
            baseline: String::new(),
            entered: object.annotation(marks::ENTERED).is_some(),
            unspoken: false,
            prune: Prune::of(&object),
            hold: String::new(),
            depends_on: object.annotation("rewild.dev/depends-on").unwrap_or("").to_owned(),
            app: object.label(marks::APP).unwrap_or("").to_owned(),
        })
    }

    fn read(&self, id: &ObjectId) -> Option<Object> {
        self.objects.get(id).map(|object| Object::from_value(object.clone()).unwrap())
    }
}

impl Target for Cluster {
    fn apply<'a>(&'a self, request: &'a ApplyRequest) -> Answer<'a, Written> {
        assert_eq!(request.mode, Mode::Write, "nobody asks for a dry run here");
        Box::pin(self.step(move |state| state.apply(request)))
    }

    fn try_create<'a>(&'a self, _request: &'a ApplyRequest) -> Answer<'a, ()> {
        Box::pin(self.step(|_| Ok(())))
    }

    fn patch<'a>(&'a self, _request: &'a PatchRequest) -> Answer<'a, ()> {
        Box::pin(self.step(|_| Ok(())))
    }

    fn delete<'a>(&'a self, request: &'a DeleteRequest) -> Answer<'a, Deletion> {
        Box::pin(self.step(move |state| state.delete(request)))
    }

    fn release<'a>(&'a self, request: &'a DeleteRequest) -> Answer<'a, ()> {
        Box::pin(self.step(move |state| {
            state.release(request);
            Ok(())
        }))
    }

    fn free<'a>(&'a self, _request: &'a FreeRequest) -> Answer<'a, ()> {
        Box::pin(self.step(|_| Ok(())))
    }

    fn change_volume<'a>(&'a self, _request: &'a VolumeRequest) -> Answer<'a, ()> {
        Box::pin(self.step(|_| Ok(())))
    }

    fn bring_back<'a>(&'a self, _claim: &'a Object) -> Answer<'a, ()> {
        Box::pin(self.step(|_| Ok(())))
    }

    fn get<'a>(&'a self, id: &'a ObjectId, _api_version: &'a str) -> Answer<'a, Option<Object>> {
        Box::pin(self.step(move |state| Ok(state.read(id))))
    }

    fn metadata<'a>(&'a self, id: &'a ObjectId, _api_version: &'a str) -> Answer<'a, Option<Object>> {
        Box::pin(self.step(move |state| Ok(state.read(id))))
    }

    fn contents<'a>(&'a self, namespace: &'a str) -> Answer<'a, Vec<Object>> {
        Box::pin(self.step(move |state| {
            let inside = state.objects.iter().filter(|(id, _)| id.namespace == namespace);
            Ok(inside.map(|(_, object)| Object::from_value(object.clone()).unwrap()).collect())
        }))
    }

    fn told<'a>(&'a self, _namespace: &'a str) -> Answer<'a, Vec<Object>> {
        Box::pin(self.step(|_| Ok(Vec::new())))
    }

    fn tally<'a>(&'a self, kind: &'a Kind) -> Answer<'a, usize> {
        Box::pin(self.step(move |state| {
            Ok(state.objects.keys().filter(|id| id.group == kind.group && id.kind == kind.kind).count())
        }))
    }

    fn pods<'a>(&'a self, _namespace: &'a str) -> Answer<'a, Vec<Object>> {
        Box::pin(self.step(|_| Ok(Vec::new())))
    }

    fn declares_status<'a>(&'a self, _kind: &'a Kind) -> Answer<'a, bool> {
        Box::pin(self.step(|_| Ok(false)))
    }

    fn log<'a>(&'a self, _request: &'a LogRequest) -> Answer<'a, LogLines> {
        Box::pin(self.step(|_| Err(Refusal::new(RefusalKind::NotFound, "there are no pods"))))
    }

    fn judge_by(&self, _rules: &[HealthRule], _editors: &Editors) {}

    fn watch<'a>(&'a self, _app: &'a str, _kinds: &'a Places) -> Answer<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn follow<'a>(&'a self, _app: &'a str, _sources: &'a BTreeSet<ObjectId>) -> Answer<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn source<'a>(&'a self, _id: &'a ObjectId) -> Answer<'a, Option<SourceSecret>> {
        Box::pin(self.step(|_| Ok(None)))
    }

    fn grow_apply_set<'a>(&'a self, _kinds: &'a BTreeSet<Kind>, _namespaces: &'a BTreeSet<String>) -> Answer<'a, ()> {
        Box::pin(self.step(|_| Ok(())))
    }

    fn shrink_apply_set<'a>(&'a self, _known: &'a dyn Whereabouts) -> Answer<'a, bool> {
        Box::pin(self.step(|_| Ok(true)))
    }

    fn ended(&self, id: &ObjectId) -> Option<(String, health::Health)> {
        self.state().ended.get(id).map(|uid| (uid.clone(), health::Health::healthy()))
    }

    fn job_done<'a>(&'a self, id: &'a ObjectId) -> Answer<'a, Option<String>> {
        Box::pin(self.step(move |state| Ok(state.noted.get(id).cloned())))
    }

    fn note_jobs<'a>(&'a self, jobs: &'a [(ObjectId, Option<String>)]) -> Answer<'a, ()> {
        Box::pin(self.step(move |state| {
            for (id, hash) in jobs {
                match hash {
                    Some(hash) => _ = state.noted.insert(id.clone(), hash.clone()),
                    None => _ = state.noted.remove(id),
                }
            }
            Ok(())
        }))
    }

    fn tell<'a>(&'a self, _note: &'a Note) -> Answer<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn live(&self, id: &ObjectId) -> Option<LiveObject> {
        self.state().live(id)
    }

    fn count(&self, app: &str) -> usize {
        self.members(app).len()
    }

    fn members(&self, app: &str) -> Vec<(ObjectId, String)> {
        let state = self.state();
        let ids = state.objects.keys().filter(|id| state.live(id).is_some_and(|live| live.app == app));
        ids.map(|id| (id.clone(), state.objects[id]["apiVersion"].as_str().unwrap().to_owned())).collect()
    }

    fn seen(&self, _app: &str) -> u64 {
        self.state().version
    }

    fn stops(&self) -> u64 {
        0
    }

    fn watch_state(&self, _app: &str, _group: &str, _kind: &str) -> WatchState {
        WatchState::Fresh
    }

    fn expect(&self, _id: &ObjectId, _uid: &str, _own: &OwnEntry) {}

    fn forget(&self, _id: &ObjectId) {}

    fn events(&self) -> Pin<Box<dyn Future<Output = BTreeSet<TargetEvent>> + Send + '_>> {
        Box::pin(std::future::pending())
    }

    fn counted(&self) -> TargetCounts {
        TargetCounts::default()
    }

    fn reachability(&self) -> Reachability {
        Reachability::Reachable
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(self.step(|_| Ok(())))
    }

    fn acting_in(&self, namespace: &str) -> Arc<dyn Target> {
        panic!("nobody writes as the account of {namespace} here")
    }
}
