//! A Kubernetes API server as a target.
//!
//! `call` is the one typed entry point of all requests, with a deadline each; `discovery` knows paths of kinds; `write` applies and
//! deletes; `apply_set` keeps our parent object; `watch` keeps `cache` up to date. Library retries are off.
//!
//! Not here: the in-memory server (`sandbox`), which is reached through the same code.

mod access;
mod apply_set;
mod cache;
mod call;
mod connection;
mod contents;
mod counts;
mod discovery;
mod doubt;
mod endpoints;
mod file;
mod free;
mod identity;
mod jobs;
mod json;
mod limit;
mod logs;
mod patience;
mod plugin;
mod reply;
mod source;
mod tell;
mod volume;
mod watch;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use super::pulse::{BEAT, Pulse};
use super::{
    AccessReport, Answer, ApplyRequest, DeleteRequest, Deletion, FreeRequest, Kind, LiveObject, LogLines, LogRequest,
    Note, PatchRequest, Places, Reachability, Refusal, SourceSecret, Target, TargetCounts, TargetEvent, VolumeRequest,
    WatchState, Whereabouts, Written,
};
use crate::base::Timestamp;
use crate::health::Health;
use crate::model::{ClusterIdentity, Editors, HealthRule, InstanceId, Object, ObjectId, OwnEntry};
pub use access::{Access, check_kubeconfig};
use cache::Cache;
pub use file::{read_plain_file, read_private_file};
use limit::Limit;
pub use patience::Patience;
pub use plugin::Plugin;

/// Reads in flight.
const READ_LIMIT: usize = 16;

/// Name of the service account that writes for an app where the settings want that.
const ACCOUNT: &str = "wild-apply";

/// A connected cluster. Cheap to clone; the watches end with the last clone.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
    /// As whom objects in namespaces are written, if not as ourselves.
    user: Option<Arc<str>>,
}

struct Inner {
    connection: connection::Connection,
    identity: identity::Identity,
    patience: Patience,
    pulse: Pulse,
    /// Told when this process stood still.
    stood_still: Notify,
    instance: InstanceId,
    control_namespace: String,
    kinds: Mutex<discovery::Kinds>,
    /// What the definitions of kinds say of a status, and when they were read.
    spoken: Mutex<BTreeMap<Kind, (bool, std::time::Instant)>>,
    cache: Mutex<Cache>,
    news: Notify,
    synced: Notify,
    judged_anew: Notify,
    /// Told when no app needs some kind any more.
    unused: Notify,
    /// Told when the server answers again. Watches wait for it without keeping the cluster.
    back: Arc<Notify>,
    writes: Limit,
    counts: counts::Counts,
    reads: Semaphore,
    parent: apply_set::Parent,
    /// Secrets that apps have copies of, as they were read last.
    sources: Mutex<source::Sources>,
    /// The Jobs that have run, once they were read.
    jobs: tokio::sync::Mutex<Option<BTreeMap<String, String>>>,
    reachability: Mutex<Reachability>,
    /// When a quiet watch let the server be asked whether it answers.
    doubted: tokio::sync::Mutex<Option<std::time::Instant>>,
    clock: fn() -> Timestamp,
    stop: CancellationToken,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Cluster {
    /// Connects lazily: wrong settings are found here, a server that does not answer by the first call.
    pub async fn connect(
        access: &Access,
        instance: &InstanceId,
        control_namespace: &str,
        clock: fn() -> Timestamp,
    ) -> Result<Self, Refusal> {
        Self::open(access, identity::Identity::unwatched(), (instance, control_namespace), clock).await
    }

    /// The same, of a cluster of which this is known, or nothing before the first contact: what is found there is compared with it.
    pub async fn connect_known(
        access: &Access,
        known: Option<ClusterIdentity>,
        instance: (&InstanceId, &str),
        clock: fn() -> Timestamp,
    ) -> Result<Self, Refusal> {
        Self::open(access, identity::Identity::watched(known), instance, clock).await
    }

    async fn open(
        access: &Access,
        identity: identity::Identity,
        (instance, control_namespace): (&InstanceId, &str),
        clock: fn() -> Timestamp,
    ) -> Result<Self, Refusal> {
        let inner = Inner {
            connection: connection::Connection::open(access, clock).await?,
            identity,
            patience: access.patience(),
            pulse: Pulse::begin(access.patience().clock),
            stood_still: Notify::new(),
            instance: instance.clone(),
            control_namespace: control_namespace.to_owned(),
            kinds: Mutex::default(),
            spoken: Mutex::default(),
            cache: Mutex::new(Cache::new(access.patience())),
            news: Notify::new(),
            synced: Notify::new(),
            judged_anew: Notify::new(),
            unused: Notify::new(),
            back: Arc::default(),
            writes: Limit::default(),
            counts: counts::Counts::default(),
            reads: Semaphore::new(READ_LIMIT),
            parent: apply_set::Parent::default(),
            sources: Mutex::default(),
            jobs: tokio::sync::Mutex::default(),
            reachability: Mutex::new(Reachability::Unasked),
            doubted: tokio::sync::Mutex::default(),
            clock,
            stop: CancellationToken::new(),
        };
        let inner = Arc::new(inner);
        tokio::spawn(beat(Arc::downgrade(&inner), inner.stop.clone()));
        Ok(Self { inner, user: None })
    }

    /// Returns as whom an object is written. What stands in no namespace is nobody's but ours: a grant in the settings let it through.
    fn user_of(&self, id: &ObjectId) -> Option<&str> {
        self.user.as_deref().filter(|_| !id.namespace.is_empty())
    }
}

impl Inner {
    fn cache(&self) -> MutexGuard<'_, Cache> {
        locked(&self.cache)
    }

    /// Notes that this process runs, and returns how often it stood still. What the watches told before is doubted then: nobody knows what
    /// they missed, and their connections may be dead.
    fn beat(&self) -> u64 {
        let (stops, stood_still) = self.pulse.beat();
        if stood_still {
            tracing::warn!("this process stood still; the cluster is looked at anew");
            self.cache().doubt();
            self.stood_still.notify_waiters();
        }
        stops
    }

    /// Notes whether a call was answered, and wakes whoever waits for a change of that.
    fn note(&self, refusal: Option<&Refusal>) {
        let mut known = locked(&self.reachability);
        let was_silent = known.is_silent();
        let changed = match refusal.filter(|refusal| refusal.is_unreachable()) {
            None => {
                *known = Reachability::Reachable;
                if was_silent {
                    self.back.notify_waiters();
                }
                was_silent
            }
            Some(refusal) => {
                let why = format!("{} (at {})", refusal.message, self.connection.address());
                match &mut *known {
                    // What keeps it away now may be another thing than what did at first.
                    Reachability::Unreachable { since: _, why: last } => *last = why,
                    Reachability::Unasked | Reachability::Reachable => {
                        *known = Reachability::Unreachable { since: (self.clock)(), why };
                        // Whatever comes back may be another cluster at the same place.
                        self.identity.doubt();
                    }
                }
                !was_silent
            }
        };
        drop(known);
        if changed {
            self.cache().news.insert(TargetEvent::Reachability);
            self.news.notify_one();
            self.synced.notify_waiters();
        }
    }

    /// Notes that something came which the server knows without its store: no sign that one answers again which did not.
    fn note_word(&self) {
        if self.silence().is_none() {
            self.note(None);
        }
    }

    /// Returns why the server does not answer; nothing if it does.
    fn silence(&self) -> Option<String> {
        match &*locked(&self.reachability) {
            Reachability::Unasked | Reachability::Reachable => None,
            Reachability::Unreachable { since: _, why } => Some(why.clone()),
        }
    }
}

/// Locks a mutex whose content stays valid if a holder panicked: every change under it is one assignment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that this process runs, as long as the cluster is there.
async fn beat(cluster: Weak<Inner>, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(BEAT)).await.is_some() {
        let Some(inner) = cluster.upgrade() else { return };
        inner.beat();
    }
}

impl Target for Cluster {
    fn apply<'a>(&'a self, request: &'a ApplyRequest) -> Answer<'a, Written> {
        Box::pin(self.inner.apply(request, self.user_of(&request.id)))
    }

    fn try_create<'a>(&'a self, request: &'a ApplyRequest) -> Answer<'a, ()> {
        Box::pin(self.inner.try_create(request, self.user_of(&request.id)))
    }

    fn patch<'a>(&'a self, request: &'a PatchRequest) -> Answer<'a, ()> {
        Box::pin(self.inner.patch(request, self.user_of(&request.id)))
    }

    fn delete<'a>(&'a self, request: &'a DeleteRequest) -> Answer<'a, Deletion> {
        Box::pin(self.inner.delete(request, self.user_of(&request.id)))
    }

    fn release<'a>(&'a self, request: &'a DeleteRequest) -> Answer<'a, ()> {
        Box::pin(self.inner.release(request, self.user_of(&request.id)))
    }

    fn free<'a>(&'a self, request: &'a FreeRequest) -> Answer<'a, ()> {
        Box::pin(self.inner.free(request))
    }

    fn change_volume<'a>(&'a self, request: &'a VolumeRequest) -> Answer<'a, ()> {
        Box::pin(self.inner.change_volume(request))
    }

    fn bring_back<'a>(&'a self, claim: &'a Object) -> Answer<'a, ()> {
        Box::pin(self.inner.bring_back(claim))
    }

    fn get<'a>(&'a self, id: &'a ObjectId, api_version: &'a str) -> Answer<'a, Option<Object>> {
        self.inner.counts.read("object");
        Box::pin(self.inner.read(id, api_version, call::Form::Full))
    }

    fn metadata<'a>(&'a self, id: &'a ObjectId, api_version: &'a str) -> Answer<'a, Option<Object>> {
        self.inner.counts.read("metadata");
        Box::pin(async move {
            let read = self.inner.read(id, api_version, call::Form::Metadata).await?;
            if let Some(object) = &read {
                self.inner.cache().learn(id, object);
            }
            Ok(read)
        })
    }

    fn contents<'a>(&'a self, namespace: &'a str) -> Answer<'a, Vec<Object>> {
        self.inner.counts.read("contents");
        Box::pin(self.inner.contents(namespace))
    }

    fn told<'a>(&'a self, namespace: &'a str) -> Answer<'a, Vec<Object>> {
        self.inner.counts.read("events");
        Box::pin(self.inner.told(namespace))
    }

    fn tally<'a>(&'a self, kind: &'a Kind) -> Answer<'a, usize> {
        self.inner.counts.read("tally");
        Box::pin(self.inner.tally(kind))
    }

    fn pods<'a>(&'a self, namespace: &'a str) -> Answer<'a, Vec<Object>> {
        self.inner.counts.read("pods");
        Box::pin(self.inner.pods(namespace))
    }

    fn declares_status<'a>(&'a self, kind: &'a Kind) -> Answer<'a, bool> {
        Box::pin(self.inner.declares_status(kind))
    }

    fn log<'a>(&'a self, request: &'a LogRequest) -> Answer<'a, LogLines> {
        Box::pin(self.inner.log(request))
    }

    fn judge_by(&self, rules: &[HealthRule], editors: &Editors) {
        if self.inner.cache().judge_by(rules, editors) {
            self.inner.judged_anew.notify_waiters();
        }
    }

    fn watch<'a>(&'a self, app: &'a str, kinds: &'a Places) -> Answer<'a, ()> {
        Box::pin(watch::open(&self.inner, app, kinds))
    }

    fn follow<'a>(&'a self, app: &'a str, sources: &'a BTreeSet<ObjectId>) -> Answer<'a, ()> {
        Box::pin(watch::follow(&self.inner, app, sources))
    }

    fn source<'a>(&'a self, id: &'a ObjectId) -> Answer<'a, Option<SourceSecret>> {
        Box::pin(self.inner.source(id))
    }

    fn grow_apply_set<'a>(&'a self, kinds: &'a BTreeSet<Kind>, namespaces: &'a BTreeSet<String>) -> Answer<'a, ()> {
        Box::pin(self.inner.grow_apply_set(kinds, namespaces))
    }

    fn shrink_apply_set<'a>(&'a self, known: &'a dyn Whereabouts) -> Answer<'a, bool> {
        Box::pin(self.inner.shrink_apply_set(known))
    }

    fn job_done<'a>(&'a self, id: &'a ObjectId) -> Answer<'a, Option<String>> {
        Box::pin(self.inner.job_done(id))
    }

    fn note_jobs<'a>(&'a self, jobs: &'a [(ObjectId, Option<String>)]) -> Answer<'a, ()> {
        Box::pin(self.inner.note_jobs(jobs))
    }

    fn tell<'a>(&'a self, note: &'a Note) -> Answer<'a, ()> {
        Box::pin(self.inner.tell(note))
    }

    fn live(&self, id: &ObjectId) -> Option<LiveObject> {
        self.inner.cache().live(id)
    }

    fn ended(&self, id: &ObjectId) -> Option<(String, Health)> {
        self.inner.cache().ended(id)
    }

    fn count(&self, app: &str) -> usize {
        self.inner.cache().count(app)
    }

    fn members(&self, app: &str) -> Vec<(ObjectId, String)> {
        self.inner.cache().members(app)
    }

    fn doubts(&self, app: &str) -> BTreeSet<ObjectId> {
        self.inner.cache().doubts.take(app)
    }

    fn seen(&self, app: &str) -> u64 {
        self.inner.cache().seen(app)
    }

    fn stops(&self) -> u64 {
        self.inner.beat()
    }

    fn watch_state(&self, app: &str, group: &str, kind: &str) -> WatchState {
        self.inner.cache().state(app, group, kind)
    }

    fn expect(&self, id: &ObjectId, uid: &str, own: &OwnEntry) {
        self.inner.cache().expect(id, uid, own);
    }

    fn forget(&self, id: &ObjectId) {
        self.inner.cache().forget(id);
    }

    fn events(&self) -> Pin<Box<dyn Future<Output = BTreeSet<TargetEvent>> + Send + '_>> {
        Box::pin(async {
            loop {
                let notified = self.inner.news.notified();
                let news = std::mem::take(&mut self.inner.cache().news);
                if !news.is_empty() {
                    return news;
                }
                notified.await;
            }
        })
    }

    fn counted(&self) -> TargetCounts {
        self.inner.counted()
    }

    fn reachability(&self) -> Reachability {
        locked(&self.inner.reachability).clone()
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(self.inner.probe())
    }

    fn look_soon(&self) {
        self.inner.connection.look_soon();
    }

    fn access_report(&self) -> AccessReport {
        self.inner.access_report()
    }

    fn acting_in(&self, namespace: &str) -> Arc<dyn Target> {
        let user = format!("system:serviceaccount:{namespace}:{ACCOUNT}");
        Arc::new(Self { inner: self.inner.clone(), user: Some(user.into()) })
    }
}
