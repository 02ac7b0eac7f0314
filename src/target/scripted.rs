//! A target for unit tests: answers as it was told to and keeps what it was asked.
//!
//! Not here: a cluster that behaves (`sandbox`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Mutex;

use super::{
    Answer, ApplyRequest, DeleteRequest, Deletion, FreeRequest, Kind, LiveObject, LogLines, LogRequest, Note,
    Ownership, PatchRequest, Places, Reachability, Refusal, RefusalKind, SourceSecret, Target, TargetCounts,
    TargetEvent, VolumeRequest, WatchState, Whereabouts, Written,
};
use crate::model::{Editors, HealthRule, Object, ObjectId, OwnEntry};

/// The target.
#[derive(Default)]
pub(crate) struct Scripted {
    /// Answers to applies, in order.
    pub(crate) applies: Mutex<VecDeque<Result<Written, Refusal>>>,
    /// What a try of a new object answers.
    pub(crate) tries: Option<Refusal>,
    /// What a deletion answers; gone otherwise.
    pub(crate) deletes: Option<Deletion>,
    /// The incarnations that were deleted.
    pub(crate) deleted: Mutex<Vec<String>>,
    /// The steps of each patch.
    pub(crate) patched: Mutex<Vec<serde_json::Value>>,
    /// How each apply treated the fields of others.
    pub(crate) sent: Mutex<Vec<Ownership>>,
    /// What was done to volumes and claims.
    pub(crate) volumes: Mutex<Vec<String>>,
    /// What reads of an object answer; nothing is there otherwise.
    pub(crate) objects: BTreeMap<ObjectId, Result<Object, Refusal>>,
    /// The objects that were read, in order.
    pub(crate) read: Mutex<Vec<ObjectId>>,
    /// What the watches know.
    pub(crate) live: BTreeMap<ObjectId, LiveObject>,
    /// The Events in any namespace.
    pub(crate) told: Vec<Object>,
    /// What any namespace holds.
    pub(crate) inside: Vec<Object>,
    /// How many objects of any kind there are.
    pub(crate) tally: usize,
    /// How Jobs ended that are gone, with their incarnations.
    pub(crate) ended: BTreeMap<ObjectId, (String, crate::health::Health)>,
    /// The pods of any namespace.
    pub(crate) pods: Vec<Object>,
    /// What pods are listed one time after the other, before those.
    pub(crate) lists: Mutex<VecDeque<Vec<Object>>>,
    /// Whether definitions of kinds declare a status.
    pub(crate) declares_status: bool,
    /// Logs, by pod and container, that cannot be opened.
    pub(crate) no_log: Vec<String>,
    /// Logs by pod and container.
    pub(crate) logs: BTreeMap<String, Vec<String>>,
    /// What Secrets that apps have copies of are like; nothing is there otherwise.
    pub(crate) sources: BTreeMap<ObjectId, Result<SourceSecret, Refusal>>,
    /// What growing the ApplySet answers.
    pub(crate) grows: Option<Refusal>,
    /// After how many applies this process stands still.
    pub(crate) stands_still: Option<usize>,
    /// What opening the watches answers.
    pub(crate) watching: Option<Refusal>,
}

fn ready<'a, T: Send + 'a>(answer: Result<T, Refusal>) -> Answer<'a, T> {
    Box::pin(std::future::ready(answer))
}

impl Target for Scripted {
    fn apply<'a>(&'a self, request: &'a ApplyRequest) -> Answer<'a, Written> {
        self.sent.lock().unwrap().push(request.ownership);
        let answer = self.applies.lock().unwrap().pop_front().unwrap();
        // Stored as it was sent, unless the answer says otherwise.
        ready(answer.map(|written| match written.object.0.is_empty() {
            true => Written { object: Object::from_value(request.body.clone()).unwrap_or_default(), ..written },
            false => written,
        }))
    }

    fn try_create<'a>(&'a self, _request: &'a ApplyRequest) -> Answer<'a, ()> {
        ready(self.tries.clone().map_or(Ok(()), Err))
    }

    fn patch<'a>(&'a self, request: &'a PatchRequest) -> Answer<'a, ()> {
        self.patched.lock().unwrap().push(request.steps.clone());
        ready(Ok(()))
    }

    fn delete<'a>(&'a self, request: &'a DeleteRequest) -> Answer<'a, Deletion> {
        self.deleted.lock().unwrap().push(request.uid.clone());
        ready(Ok(self.deletes.unwrap_or(Deletion::Gone)))
    }

    fn release<'a>(&'a self, _request: &'a DeleteRequest) -> Answer<'a, ()> {
        ready(Ok(()))
    }

    fn free<'a>(&'a self, _request: &'a FreeRequest) -> Answer<'a, ()> {
        ready(Ok(()))
    }

    fn change_volume<'a>(&'a self, request: &'a VolumeRequest) -> Answer<'a, ()> {
        self.volumes.lock().unwrap().push(format!("{} {:?}", request.name, request.change));
        ready(Ok(()))
    }

    fn bring_back<'a>(&'a self, claim: &'a Object) -> Answer<'a, ()> {
        self.volumes.lock().unwrap().push(format!("claim {}", claim.name()));
        ready(Ok(()))
    }

    fn get<'a>(&'a self, id: &'a ObjectId, _api_version: &'a str) -> Answer<'a, Option<Object>> {
        self.read.lock().unwrap().push(id.clone());
        ready(self.objects.get(id).cloned().transpose())
    }

    fn metadata<'a>(&'a self, id: &'a ObjectId, api_version: &'a str) -> Answer<'a, Option<Object>> {
        self.get(id, api_version)
    }

    fn contents<'a>(&'a self, _namespace: &'a str) -> Answer<'a, Vec<Object>> {
        ready(Ok(self.inside.clone()))
    }

    fn told<'a>(&'a self, _namespace: &'a str) -> Answer<'a, Vec<Object>> {
        ready(Ok(self.told.clone()))
    }

    fn tally<'a>(&'a self, _kind: &'a Kind) -> Answer<'a, usize> {
        ready(Ok(self.tally))
    }

    fn pods<'a>(&'a self, _namespace: &'a str) -> Answer<'a, Vec<Object>> {
        ready(Ok(self.lists.lock().unwrap().pop_front().unwrap_or_else(|| self.pods.clone())))
    }

    fn declares_status<'a>(&'a self, _kind: &'a Kind) -> Answer<'a, bool> {
        ready(Ok(self.declares_status))
    }

    fn log<'a>(&'a self, request: &'a LogRequest) -> Answer<'a, LogLines> {
        let key = format!("{}/{}", request.pod, request.container);
        if self.no_log.contains(&key) {
            return ready(Err(Refusal::new(RefusalKind::Server, format!("no log of {key}"))));
        }
        let lines = self.logs.get(&key).cloned().unwrap_or_default();
        ready(Ok(Box::pin(futures::stream::iter(lines))))
    }

    fn judge_by(&self, _rules: &[HealthRule], _editors: &Editors) {}

    fn watch<'a>(&'a self, _app: &'a str, _kinds: &'a Places) -> Answer<'a, ()> {
        ready(self.watching.clone().map_or(Ok(()), Err))
    }

    fn follow<'a>(&'a self, _app: &'a str, _sources: &'a BTreeSet<ObjectId>) -> Answer<'a, ()> {
        ready(Ok(()))
    }

    fn source<'a>(&'a self, id: &'a ObjectId) -> Answer<'a, Option<SourceSecret>> {
        ready(self.sources.get(id).cloned().transpose())
    }

    fn grow_apply_set<'a>(&'a self, _kinds: &'a BTreeSet<Kind>, _namespaces: &'a BTreeSet<String>) -> Answer<'a, ()> {
        ready(self.grows.clone().map_or(Ok(()), Err))
    }

    fn shrink_apply_set<'a>(&'a self, _known: &'a dyn Whereabouts) -> Answer<'a, bool> {
        ready(Ok(true))
    }

    fn job_done<'a>(&'a self, _id: &'a ObjectId) -> Answer<'a, Option<String>> {
        ready(Ok(None))
    }

    fn note_jobs<'a>(&'a self, _jobs: &'a [(ObjectId, Option<String>)]) -> Answer<'a, ()> {
        ready(Ok(()))
    }

    fn tell<'a>(&'a self, _note: &'a Note) -> Answer<'a, ()> {
        ready(Ok(()))
    }

    fn live(&self, id: &ObjectId) -> Option<LiveObject> {
        self.live.get(id).cloned()
    }

    fn ended(&self, id: &ObjectId) -> Option<(String, crate::health::Health)> {
        self.ended.get(id).cloned()
    }

    fn count(&self, app: &str) -> usize {
        self.members(app).len()
    }

    fn members(&self, app: &str) -> Vec<(ObjectId, String)> {
        let own = self.live.iter().filter(|(_, live)| live.app == app);
        own.map(|(id, _)| (id.clone(), "v1".to_owned())).collect()
    }

    fn seen(&self, _app: &str) -> u64 {
        0
    }

    fn stops(&self) -> u64 {
        let sent = self.sent.lock().unwrap().len();
        self.stands_still.is_some_and(|after| sent >= after).into()
    }

    fn watch_state(&self, _app: &str, _group: &str, _kind: &str) -> WatchState {
        if self.watching.is_some() { WatchState::Stale } else { WatchState::Fresh }
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
        ready(Ok(()))
    }

    fn acting_in(&self, _: &str) -> std::sync::Arc<dyn Target> {
        std::sync::Arc::new(Self::default())
    }
}
