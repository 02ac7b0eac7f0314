//! Systems that actions are applied to: a Kubernetes cluster, real or the sandbox, and a Keycloak, both over HTTP.
//!
//! A target obeys: it sends what it is given, reports what was answered, and keeps the newest state of watched objects. Every call
//! has a deadline. Not here: what to send (`plan`), in which order (`apply`).

mod address;
mod body;
mod cluster;
mod keycloak;
mod pulse;
mod quoted;
mod refusal;
#[cfg(test)]
pub(crate) mod scripted;
mod told;
use refusal::Quoting;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub use body::with_values;
pub use cluster::{Access, Cluster, Patience, Plugin, check_kubeconfig, read_plain_file, read_private_file};
pub use keycloak::{Keycloak, RealmAccess, RealmCounts, RealmFound, RealmWrite, RealmWritten};
pub use pulse::since_boot;
pub use refusal::{FieldConflict, Refusal, RefusalKind};
pub use told::Guard;

use crate::base::Timestamp;
use crate::health::Health;
use crate::model::{
    ClusterIdentity, Editors, HealthRule, InstanceId, Leaving, Narrowed, Object, ObjectId, Observed, OwnEntry, Prune,
    SecretValue, Spread,
};

/// Tells in which kinds and namespaces of a target anything of ours stands, or is about to, at the moment when it is asked.
pub trait Whereabouts: Sync {
    /// Returns them; nothing if that cannot be told.
    fn spread(&self) -> Pin<Box<dyn Future<Output = Option<Spread>> + Send + '_>>;
}

/// A boxed answer, so that targets can be told apart at run time.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// A kind with the version it is spoken to in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Kind {
    /// API group, empty for the core group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Kind.
    pub kind: String,
}

impl Kind {
    /// Returns the kind of an object identity under an `apiVersion`.
    pub fn of(id: &ObjectId, api_version: &str) -> Self {
        let version = api_version.rsplit('/').next().unwrap_or(api_version);
        Self { group: id.group.clone(), version: version.to_owned(), kind: id.kind.clone() }
    }

    /// Returns `apiVersion` as objects carry it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// A server-side apply.
#[derive(Clone, Debug)]
pub struct ApplyRequest {
    /// The object.
    pub id: ObjectId,
    /// `apiVersion` of the body.
    pub api_version: String,
    /// The body; with `metadata.uid` if the object must already be there.
    pub body: Value,
    /// Whether fields of other managers are taken over.
    pub ownership: Ownership,
    /// Whether it is only tried.
    pub mode: Mode,
    /// Desired hash, noted in the answer.
    pub hash: String,
    /// Whether the body lacks fields that others hold; then the watch goes on to tell who holds what.
    pub is_partial: bool,
}

/// Whether an apply takes over fields of other managers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ownership {
    /// It does.
    Take,
    /// A conflict is an answer.
    Respect,
}

/// Whether a request is only tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It is carried out.
    Write,
    /// The server checks it and changes nothing.
    DryRun,
}

/// A deletion.
#[derive(Clone, Debug)]
pub struct DeleteRequest {
    /// The object.
    pub id: ObjectId,
    /// `apiVersion` to speak.
    pub api_version: String,
    /// Incarnation that is meant; another one is left alone.
    pub uid: String,
    /// Labels that the object must still carry: our instance and app.
    pub labels: Vec<(String, String)>,
    /// Who says whether it may go as it is just before.
    pub stays: Stays,
    /// Whether dependents stay.
    pub dependents: Dependents,
    /// Annotation that stays on it when our marks are taken off, unless it says that we did not make it.
    pub trace: Option<(String, String)>,
}

/// Says why a live object stays; nothing where it may go.
type Judge = dyn Fn(&Object) -> Option<String> + Send + Sync;

/// Looks at an object just before it is deleted.
#[derive(Clone, Default)]
pub struct Stays(Option<Arc<Judge>>);

impl Stays {
    /// Returns one that asks this of the object, given by its metadata: the answer says why it stays.
    pub fn where_told(why: impl Fn(&Object) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(why)))
    }

    /// Returns why an object stays; nothing if it may go.
    pub fn why(&self, object: &Object) -> Option<String> {
        self.0.as_ref().and_then(|why| why(object))
    }
}

impl std::fmt::Debug for Stays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Stays(told)" } else { "Stays(never)" })
    }
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dependents {
    /// The garbage collector removes them afterwards.
    Collected,
    /// They stay.
    Orphaned,
}

/// A JSON patch under our name.
#[derive(Clone, Debug)]
pub struct PatchRequest {
    /// The object.
    pub id: ObjectId,
    /// `apiVersion` to speak.
    pub api_version: String,
    /// The steps; they begin with tests of incarnation and version.
    pub steps: Value,
}

/// The end of a deletion that does not end by itself: of a namespace, or of an object in one.
#[derive(Clone, Debug)]
pub struct FreeRequest {
    /// The object.
    pub id: ObjectId,
    /// `apiVersion` to speak.
    pub api_version: String,
    /// Incarnation that is meant; another one is left alone.
    pub uid: String,
    /// Its own finalizers that go.
    pub finalizers: Vec<String>,
}

/// A change of a volume.
#[derive(Clone, Debug)]
pub struct VolumeRequest {
    /// Name of the PersistentVolume.
    pub name: String,
    /// Incarnation that is meant; another one is left alone.
    pub uid: String,
    /// What to change.
    pub change: VolumeChange,
}

/// What to change of a volume. Each may be said twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VolumeChange {
    /// It outlives its claim. A volume that is gone cannot.
    Retain,
    /// A new claim of this name may have it.
    Offer {
        /// Namespace of the claim.
        namespace: String,
        /// Its name.
        claim: String,
    },
    /// What becomes of it when its claim is gone; nothing is to be said of a volume that is.
    Policy(String),
}

/// The answer to an apply.
#[derive(Clone, Debug)]
pub struct Written {
    /// What the server says about the object now.
    pub observed: Observed,
    /// Whether it was not there before.
    pub created: bool,
    /// Whether it was sent more than once: then what it made the first time was there before.
    pub again: bool,
    /// Whether the server changed nothing.
    pub unchanged: bool,
    /// The object as answered.
    pub object: Object,
}

/// Something to tell in the cluster, as an Event about a namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Name of the Event.
    pub name: String,
    /// Who tells it.
    pub instance: InstanceId,
    /// The namespace.
    pub namespace: String,
    /// Why, in one word.
    pub reason: &'static str,
    /// Whether somebody should look.
    pub is_warning: bool,
    /// What happened; never a secret value. That of an Event that is there stays.
    pub text: String,
    /// When it happened last.
    pub last: Timestamp,
    /// How often it happened.
    pub count: u32,
}

/// The answer to a deletion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deletion {
    /// It is gone.
    Gone,
    /// It is accepted; finalizers hold the object.
    Begun,
}

/// What is known of a watched object. Nothing else of it stays in memory.
#[derive(Clone, PartialEq, Debug)]
pub struct LiveObject {
    /// Incarnation.
    pub uid: String,
    /// Version; compared for equality only.
    pub resource_version: String,
    /// Generation of the spec, 0 for kinds without.
    pub generation: i64,
    /// Our managed fields entry in short.
    pub own: OwnEntry,
    /// Whether deletion has begun.
    pub terminating: bool,
    /// What is known of its deletion, if that has begun.
    pub leaving: Option<Leaving>,
    /// Health, for kinds that are watched in full form.
    pub health: Option<Health>,
    /// When anybody changed anything about it last, as its `managedFields` say; known only while it is on its way.
    pub changed: Option<Timestamp>,
    /// The whole `managedFields`, kept only while our entry is not as we wrote it or people hold fields beside it.
    pub managed: Option<Value>,
    /// Hash in the annotation.
    pub hash: String,
    /// What the annotation says of the config of then, on a workload that was taken over.
    pub baseline: String,
    /// Whether the annotation says that it is a namespace which we did not make.
    pub entered: bool,
    /// Whether it is of a custom kind and carries nothing that a controller says of it.
    pub unspoken: bool,
    /// What becomes of it when nobody wants it any more.
    pub prune: Prune,
    /// Until when the annotation says that its differences are left alone.
    pub hold: String,
    /// The objects that the annotations say it depends on.
    pub depends_on: String,
    /// App in the label.
    pub app: String,
}

/// Where an app has or wants objects of a kind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// In this namespace.
    Namespace(Box<str>),
    /// In none, under this name.
    Name(Box<str>),
}

impl Place {
    /// Returns the place of an object.
    pub fn of(id: &ObjectId) -> Self {
        match id.namespace.as_str() {
            "" => Self::Name(id.name.as_str().into()),
            namespace => Self::Namespace(namespace.into()),
        }
    }
}

/// Kinds of which an app has or wants objects, each with the places of these.
pub type Places = BTreeMap<Kind, BTreeSet<Place>>;

/// Whether the watch of a kind can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WatchState {
    /// Its first list is in and something arrived lately.
    Fresh,
    /// Nothing arrived for too long.
    Stale,
    /// It is not open.
    Closed,
    /// The server does not know the kind.
    UnknownKind,
}

/// Something a watch saw about an app's object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TargetEvent {
    /// An object is not as we wrote it, or is gone.
    Drift {
        /// The app in its label.
        app: String,
    },
    /// Health of an object changed.
    Health {
        /// The app in its label.
        app: String,
    },
    /// A Secret that the app has a copy of changed, came or went.
    Source {
        /// The app that follows it.
        app: String,
    },
    /// The target answers again, or stopped answering.
    Reachability,
}

/// Whether the target answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reachability {
    /// Nothing was asked of it yet.
    Unasked,
    /// It does.
    Reachable,
    /// It does not.
    Unreachable {
        /// Since when.
        since: Timestamp,
        /// What the last try said.
        why: String,
    },
}

impl Reachability {
    /// Returns whether it was asked and does not answer.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

/// How a target is reached, and whether it is the one that is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AccessReport {
    /// By what it is known; nothing before the first contact.
    pub known: Option<ClusterIdentity>,
    /// What was found there last.
    pub found: Option<ClusterIdentity>,
    /// Whether that is another one: then nothing is sent to it.
    pub is_elsewhere: bool,
    /// Why what it is reached by is not used as it is now, but as it was before; nothing if it is used.
    pub trouble: Option<String>,
    /// Files by which it is reached that others could read.
    pub narrowed: Vec<Narrowed>,
}

/// Which lines of the log of a container are wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogRequest {
    /// Namespace of the pod.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// Its container.
    pub container: String,
    /// Most lines, counted from the end.
    pub tail: u32,
    /// Only what is younger than this.
    pub since_seconds: Option<u64>,
    /// The container that ran before this one.
    pub previous: bool,
    /// Go on with lines that come later.
    pub follow: bool,
}

/// The lines of a log, each with its time in front.
pub type LogLines = futures::stream::BoxStream<'static, String>;

/// A Secret elsewhere, of which apps have copies.
#[derive(Clone, Debug)]
pub struct SourceSecret {
    /// Incarnation.
    pub uid: String,
    /// What sort of Secret it is, such as `kubernetes.io/tls`.
    pub sort: String,
    /// Its values by key, in base64 as the API has them.
    pub values: BTreeMap<String, SecretValue>,
}

/// What was asked of a target since it was connected, and how things stand now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetCounts {
    /// Requests by method and code; 0 for those without an answer.
    pub requests: BTreeMap<(String, u16), u64>,
    /// How long the requests took, by method, that ended since this was asked for last; a bounded number of them.
    pub durations: Vec<(String, Duration)>,
    /// Reads beside the watches, by what was read.
    pub reads: BTreeMap<&'static str, u64>,
    /// Writes that were only tried, by what for.
    pub dry_runs: BTreeMap<&'static str, u64>,
    /// Watches that ended, by kind and why.
    pub restarts: BTreeMap<(String, &'static str), u64>,
    /// Objects of which only a list told that they are gone.
    pub missed: u64,
    /// What watches told that could not be read, and was passed over.
    pub malformed: u64,
    /// Most writes that may be in flight.
    pub write_limit: usize,
    /// Writes in flight.
    pub writes: usize,
    /// Whether the watch of each kind can be trusted.
    pub watches: BTreeMap<String, bool>,
}

/// What the engine asks of a target.
pub trait Target: Send + Sync {
    /// Sends a server-side apply. The answer is authoritative and becomes what the watch is compared with.
    fn apply<'a>(&'a self, request: &'a ApplyRequest) -> Answer<'a, Written>;
    /// Tries whether an object could be made, under a name that is made up for it; nothing is written.
    fn try_create<'a>(&'a self, request: &'a ApplyRequest) -> Answer<'a, ()>;
    /// Changes an object by a JSON patch.
    fn patch<'a>(&'a self, request: &'a PatchRequest) -> Answer<'a, ()>;
    /// Deletes after reading the object once more: same uid, same labels, then uid and version as preconditions.
    fn delete<'a>(&'a self, request: &'a DeleteRequest) -> Answer<'a, Deletion>;
    /// Takes our marks and our ownership off an object that stays.
    fn release<'a>(&'a self, request: &'a DeleteRequest) -> Answer<'a, ()>;
    /// Lets a namespace go that is being deleted, after seeing once more that nothing of any kind is left in it; or an object in such a namespace,
    /// which is deleted if nobody did, and otherwise loses its finalizers.
    fn free<'a>(&'a self, request: &'a FreeRequest) -> Answer<'a, ()>;
    /// Changes a volume.
    fn change_volume<'a>(&'a self, request: &'a VolumeRequest) -> Answer<'a, ()>;
    /// Makes a claim again, for nobody yet: whoever wants it takes it over.
    fn bring_back<'a>(&'a self, claim: &'a Object) -> Answer<'a, ()>;
    /// Reads an object, or nothing if it is not there.
    fn get<'a>(&'a self, id: &'a ObjectId, api_version: &'a str) -> Answer<'a, Option<Object>>;
    /// Reads only the metadata of an object, or nothing if it is not there.
    fn metadata<'a>(&'a self, id: &'a ObjectId, api_version: &'a str) -> Answer<'a, Option<Object>>;
    /// Reads the metadata of everything in a namespace, or refuses if anything could not be seen.
    fn contents<'a>(&'a self, namespace: &'a str) -> Answer<'a, Vec<Object>>;
    /// Lists the Events in a namespace, of whatever.
    fn told<'a>(&'a self, namespace: &'a str) -> Answer<'a, Vec<Object>>;
    /// Returns how many objects of a kind there are, in all namespaces.
    fn tally<'a>(&'a self, kind: &'a Kind) -> Answer<'a, usize>;
    /// Lists the pods of a namespace.
    fn pods<'a>(&'a self, namespace: &'a str) -> Answer<'a, Vec<Object>>;
    /// Returns whether the definition of a kind says that its controller tells of its objects.
    fn declares_status<'a>(&'a self, kind: &'a Kind) -> Answer<'a, bool>;
    /// Opens the log of a container.
    fn log<'a>(&'a self, request: &'a LogRequest) -> Answer<'a, LogLines>;
    /// Takes the instance's own rules about health and through which managers people edit. Kinds that another rule than before is about are
    /// listed anew, and all of them where people edit through others than before.
    fn judge_by(&self, rules: &[HealthRule], editors: &Editors);
    /// Opens the watches of the kinds that an app has or wants objects of, and returns when their first lists are in, or at a deadline. A
    /// kind that no app needs any more is closed after a while.
    fn watch<'a>(&'a self, app: &'a str, kinds: &'a Places) -> Answer<'a, ()>;
    /// Follows the Secrets that an app has copies of, and no others for it; returns when it is known of all whether they are there, or at a
    /// deadline.
    fn follow<'a>(&'a self, app: &'a str, sources: &'a BTreeSet<ObjectId>) -> Answer<'a, ()>;
    /// Returns a Secret that is followed, or nothing if it is not there. Each version of it is read once.
    fn source<'a>(&'a self, id: &'a ObjectId) -> Answer<'a, Option<SourceSecret>>;
    /// Makes sure that our ApplySet parent names these kinds and namespaces; writes only to grow it.
    fn grow_apply_set<'a>(&'a self, kinds: &'a BTreeSet<Kind>, namespaces: &'a BTreeSet<String>) -> Answer<'a, ()>;
    /// Takes kinds and namespaces out of our ApplySet parent in which nothing of ours stands any more. Returns whether it names nothing now
    /// that `known` does not hold: of what is left, objects were found, or it could not be told.
    fn shrink_apply_set<'a>(&'a self, known: &'a dyn Whereabouts) -> Answer<'a, bool>;
    /// Returns what was noted of a Job, if anything was.
    fn job_done<'a>(&'a self, id: &'a ObjectId) -> Answer<'a, Option<String>>;
    /// Notes how Jobs ended, and forgets those without a note; writes only what is not noted so.
    fn note_jobs<'a>(&'a self, jobs: &'a [(ObjectId, Option<String>)]) -> Answer<'a, ()>;
    /// Tells something in the cluster. Whatever becomes of that says nothing of the target.
    fn tell<'a>(&'a self, note: &'a Note) -> Answer<'a, ()>;
    /// Returns what the watch knows of an object.
    fn live(&self, id: &ObjectId) -> Option<LiveObject>;
    /// Returns the incarnation of a Job that ended, and how it did, if the watch saw that. Also of one that is gone, for a while.
    fn ended(&self, id: &ObjectId) -> Option<(String, Health)>;
    /// Returns how many objects with the mark of an app the watches show.
    fn count(&self, app: &str) -> usize;
    /// Returns the objects with the mark of an app that the watches show, each with the `apiVersion` that its kind is watched in.
    fn members(&self, app: &str) -> Vec<(ObjectId, String)>;
    /// Returns the objects of an app that may have been changed in a way which the watches cannot tell, each once.
    fn doubts(&self, _app: &str) -> BTreeSet<ObjectId> {
        BTreeSet::new()
    }
    /// Returns a number that changes with everything that the watches see of an app's objects.
    fn seen(&self, app: &str) -> u64;
    /// Returns how often this process stood still so long that what was seen of the target before is not acted upon any more.
    fn stops(&self) -> u64;
    /// Returns whether the watch of a kind can be trusted where an app has or wants objects of it.
    fn watch_state(&self, app: &str, group: &str, kind: &str) -> WatchState;
    /// Tells the watch what our last write of an object left, so that it can say when that is no longer so.
    fn expect(&self, id: &ObjectId, uid: &str, own: &OwnEntry);
    /// Forgets what was expected of an object.
    fn forget(&self, id: &ObjectId);
    /// Waits for news and returns all that came since the last call.
    fn events(&self) -> Pin<Box<dyn Future<Output = BTreeSet<TargetEvent>> + Send + '_>>;
    /// Returns what was asked of the target, and how things stand now.
    fn counted(&self) -> TargetCounts;
    /// Returns whether the target answers.
    fn reachability(&self) -> Reachability;
    /// Asks the target once whether it answers, and remembers the answer.
    fn probe(&self) -> Answer<'_, ()>;
    /// Lets what the target is reached by be looked at before the next request.
    fn look_soon(&self) {}
    /// Returns how the target is reached.
    fn access_report(&self) -> AccessReport {
        AccessReport::default()
    }
    /// Returns the same target on which objects in namespaces are written by the service account that a namespace has for that.
    fn acting_in(&self, namespace: &str) -> Arc<dyn Target>;
}
