//! Pure. Every fact that a plan of one app may depend on, at one instant.
//!
//! Not here: where the facts come from (`observe`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::fight::Fights;
use super::marks::Identity;
use super::overdue::Underway;
use super::volume::{ClaimedVolume, Held};
use crate::base::Timestamp;
use crate::health::Health;
use crate::model::{
    AdoptPolicy, AppName, Cancellation, ClusterName, CommitId, ConflictPolicy, DeletionBudget, Diagnostic, DriftPolicy,
    Editors, ExtraPolicy, Finalizer, Grants, HandoverRule, HealthRule, IdentityPolicy, IgnoreRule, InstanceBudget,
    InstanceId, Inventory, Leaving, Object, ObjectId, PackageName, Prune, Record, RecoverySettings, SharedSecret,
    Suspension,
};
use crate::package::SecretCopy;

/// The planner's input for one app on one target.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    /// The instance.
    pub instance: InstanceId,
    /// Id of the ApplySet that our objects carry as a label.
    pub apply_set: String,
    /// The app.
    pub app: AppName,
    /// Cluster that this is about.
    pub cluster: ClusterName,
    /// Namespace the app is deployed to.
    pub namespace: String,
    /// Commit that is wanted.
    pub commit: CommitId,
    /// Whether the app's directory is in that commit.
    pub presence: Presence,
    /// The objects of that commit.
    pub desired: Desired,
    /// What we remember.
    pub inventory: Inventory,
    /// Those of them that were forgotten, as a store that is lost is, and were found again by their marks.
    pub found: Vec<Record>,
    /// What was applied last of objects that are wanted otherwise now, as git has it and without values of Secrets; filled in only where fields
    /// of the object cannot be changed, or somebody changed it. One that is not named is not known.
    pub before: BTreeMap<ObjectId, DesiredObject>,
    /// What the target reports about remembered and wanted objects, also about those whose instance label was taken off.
    pub live: BTreeMap<ObjectId, Live>,
    /// Objects that are wanted and there, and not remembered or of another incarnation than remembered: who owns them.
    ///
    /// The app's own Namespace (`namespace::id`) counts as wanted also where the package renders none.
    pub existing: BTreeMap<ObjectId, Existing>,
    /// Objects whose live values were compared with what a forced apply would make of them, with the paths that differ.
    pub audited: BTreeMap<ObjectId, Vec<String>>,
    /// Objects that wait for consent to be taken over, with the paths that this would change. One that is not named was not tried.
    pub contact: BTreeMap<ObjectId, Vec<String>>,
    /// Jobs that are not there, with what was noted of them: the hash with which they have run, or that they failed.
    pub done: BTreeMap<ObjectId, String>,
    /// Jobs that are not there any more, with how the incarnation that we wrote ended, as far as the watch saw it.
    pub ended: BTreeMap<ObjectId, Health>,
    /// Objects that the target did not let us look at, with what it said. Nothing is known about them.
    pub unseen: BTreeMap<ObjectId, String>,
    /// Whether the watch of a kind, as (group, kind), can be trusted.
    pub freshness: BTreeMap<(String, String), Freshness>,
    /// Packages that bring kinds which the target does not know, by (group, kind).
    pub shippers: BTreeMap<(String, String), PackageName>,
    /// The app's namespace.
    pub namespace_state: NamespaceState,
    /// What lives in namespaces of the app that may go, beside its own objects and system content, such as `Deployment/other`: by namespace.
    ///
    /// A namespace that is not named was not seen, and then it stays.
    pub neighbours: BTreeMap<String, Vec<String>>,
    /// The volumes of the claims that may go; nothing for a claim that has none. A claim that is not named was not seen.
    pub volumes: BTreeMap<ObjectId, Option<ClaimedVolume>>,
    /// Volumes that are held since their claims were deleted.
    pub held: Vec<Held>,
    /// The apps that this one requires.
    pub requirements: Vec<RequirementState>,
    /// Installed apps that require this one.
    pub dependents: Vec<AppName>,
    /// Copies of Secrets that cannot be made now, each with why; what there is of them stays.
    pub awaited: BTreeMap<ObjectId, String>,
    /// Dotted paths of secrets that are needed and absent.
    pub missing_secrets: Vec<String>,
    /// Grants of the app that came in one push with what they are for, and that nobody has approved.
    pub unapproved: Option<UnapprovedGrants>,
    /// Secrets of other apps that the app reads and may not have, each with why.
    pub withheld: Vec<SecretCopy>,
    /// Whose the namespaces are that the app wants to write into, as far as that was looked at; by name.
    pub grounds: BTreeMap<String, Ground>,
    /// What other apps of this revision say of objects that this one wants or remembers; filled in where both are concerned.
    pub claims: BTreeMap<ObjectId, Claim>,
    /// What this revision takes from other apps; filled in only where it takes something from this one.
    pub elsewhere: Elsewhere,
    /// The incarnations that stood when what is to go now came up; nothing where nothing was to go before this pass.
    pub standing: Option<BTreeSet<String>>,
    /// Whether the target refused an object of this commit when it was applied last.
    pub refused: bool,
    /// The last lines of what hooks said that ended badly, without values of secrets.
    pub said: BTreeMap<ObjectId, Vec<String>>,
    /// The word of a person that ended an operation of this app, and by that holds it as it is.
    pub cancelled: Option<Cancellation>,
    /// Fields that were put back lately.
    pub fights: Fights,
    /// Objects that are on their way, and since when.
    pub underway: Underway,
    /// Objects of custom kinds whose controllers should say something of them, and have not yet.
    pub unspoken: BTreeSet<ObjectId>,
    /// Claims that get a volume only when a pod uses them, which none is meant to.
    pub unclaimed: BTreeSet<ObjectId>,
    /// The target as a whole.
    pub target: TargetState,
    /// What the settings say about this app.
    pub policy: Policy,
    /// What a person asked for in this pass.
    pub ask: Ask,
    /// Deletions of its farewell to which a person agreed in an earlier pass.
    pub agreed: Agreed,
    /// The present.
    pub now: Timestamp,
}

impl Snapshot {
    /// Returns who this app is on a target.
    pub fn identity(&self) -> Identity<'_> {
        Identity { instance: &self.instance, apply_set: &self.apply_set, app: &self.app }
    }

    /// Returns whether the watch of an object's kind can be trusted.
    pub fn freshness_of(&self, id: &ObjectId) -> Freshness {
        let kind = (id.group.clone(), id.kind.clone());
        self.freshness.get(&kind).copied().unwrap_or(Freshness::Unwatched)
    }
}

/// Whether an app is in the wanted commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Its directory is there and it is deployed.
    Kept,
    /// It is there and was never deployed: added only.
    Added,
    /// A commit that says so removed it, and its volumes and namespace stay.
    RemovedKeepingData,
    /// A commit that says so removed it with its volumes and namespace.
    RemovedWithData,
    /// It is there and is to live on another cluster than this one.
    Moves,
    /// It is gone and no commit says that this was meant.
    Vanished,
}

/// The objects of the wanted commit.
#[derive(Clone, PartialEq, Debug)]
pub enum Desired {
    /// The build worked.
    Objects(Vec<DesiredObject>),
    /// It did not; nothing is known about what is wanted.
    Unreadable(Vec<Diagnostic>),
    /// The commit holds secrets in clear, which is not applied: where, and which sort.
    Leaking(Vec<Diagnostic>),
}

/// One wanted object.
#[derive(Clone, PartialEq, Debug)]
pub struct DesiredObject {
    /// The object as committed, without our marks. Values of a Secret are replaced by digests.
    pub object: Object,
    /// Keyed hash over the object with its true values.
    pub hash: String,
    /// Repository path of the file it stands in; empty for objects we derive.
    pub file: String,
    /// Line in that file.
    pub line: usize,
}

/// What a target reports about an object.
#[derive(Clone, PartialEq, Debug)]
pub struct Live {
    /// Incarnation.
    pub uid: String,
    /// Version; compared for equality only.
    pub resource_version: String,
    /// Generation of the spec, 0 for kinds without.
    pub generation: i64,
    /// First 16 bytes, in hex, of the digest over our managed fields; empty if we own none.
    pub fields: String,
    /// Time of our managed fields entry.
    pub time: String,
    /// Whether deletion has begun.
    pub terminating: bool,
    /// What is known of its deletion, if that has begun.
    pub leaving: Option<Leaving>,
    /// Health, for kinds that are watched in full form; others count as healthy by being there.
    pub health: Option<Health>,
    /// When anybody changed anything about it last, while it is on its way.
    pub changed: Option<Timestamp>,
    /// The whole `managedFields`, kept only while our entry differs from what we wrote or people hold fields beside it.
    pub managed: Option<Value>,
    /// The object itself, read only where its values decide: it differs, and what differs is reported and not put back.
    pub whole: Option<Object>,
    /// Desired hash as the live annotation says.
    pub hash: String,
    /// What the live annotation says of the config of then, on a workload that was taken over.
    pub baseline: String,
    /// Whether its annotation says that it is a namespace which we did not make.
    pub entered: bool,
    /// Whether it is of a custom kind and carries nothing that a controller says of it.
    pub unspoken: bool,
    /// What its pod template says of its config; read only where its hash was made with another key than ours.
    pub template: Option<String>,
    /// What becomes of it when nobody wants it any more, as its author said.
    pub prune: Prune,
    /// Until when a person wants its differences left alone; possibly empty.
    pub hold: String,
    /// The objects that its author said it depends on, as `depends` writes them; possibly empty.
    pub depends_on: String,
}

/// An object that is there without a record of ours.
#[derive(Clone, PartialEq, Debug)]
pub struct Existing {
    /// Incarnation.
    pub uid: String,
    /// Who owns it.
    pub owner: Owner,
    /// Its whole `managedFields`, the proof that its values are as applied when the store was lost.
    pub managed: Option<Value>,
    /// What its annotation says of the config of then, on a workload that was taken over.
    pub baseline: String,
    /// What its pod template says of its config; read only where it may be taken over, or its hash was made with another key than ours.
    pub template: Option<String>,
}

/// Who owns an object that is not in our inventory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Nobody that we know.
    Nobody,
    /// This app of this instance: our marks, with the hash we would write. The store was lost.
    Us {
        /// Hash in the live annotation.
        hash: String,
        /// First 16 bytes, in hex, of the digest over our managed fields.
        fields: String,
        /// Time of our managed fields entry.
        time: String,
        /// Generation of the spec.
        generation: i64,
    },
    /// Nobody any more: we gave it up on purpose, such as a volume that outlived its app.
    Released,
    /// Another app of this instance.
    App(String),
    /// Another tool, with the mark that says so.
    Tool {
        /// Name, such as `Helm`.
        tool: String,
        /// The label, annotation or manager.
        mark: String,
    },
    /// A controller, by an owner reference.
    Controller(String),
}

/// Whose a namespace is, as its own metadata says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ground {
    /// It is not there, so nobody's.
    Missing,
    /// We made it for this app.
    Ours,
    /// It is there and we did not make it.
    Foreign(Owner),
    /// The target did not let us look, with what it said.
    Unseen(String),
}

/// Whether the watch of a kind can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Freshness {
    /// Something arrived lately.
    Fresh,
    /// Nothing arrived for too long.
    Stale,
    /// The kind is not watched yet.
    Unwatched,
    /// The server does not know the kind.
    UnknownKind,
}

/// The app's namespace on the target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamespaceState {
    /// It is not there.
    Missing,
    /// It is there.
    Active,
    /// It is being deleted.
    Terminating(Ending),
}

/// A namespace that is being deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ending {
    /// What the cluster says holds it, in one sentence; possibly empty.
    pub why: String,
    /// Since when.
    pub since: Timestamp,
    /// Incarnation.
    pub uid: String,
    /// Its own finalizers, beside the one that the cluster removes when it is empty.
    pub finalizers: Vec<Finalizer>,
    /// What is still in it; nothing if it is too early to look, or if anything could not be seen.
    pub rest: Option<Vec<Remnant>>,
}

/// An object in a namespace that is being deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remnant {
    /// The object.
    pub id: ObjectId,
    /// `apiVersion` to speak.
    pub api_version: String,
    /// Incarnation.
    pub uid: String,
    /// Whether its own deletion has begun.
    pub is_leaving: bool,
    /// What has to go before it does.
    pub finalizers: Vec<Finalizer>,
}

/// An app that this one requires.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequirementState {
    /// Name in the manifest.
    pub reference: String,
    /// App that satisfies it.
    pub app: Option<AppName>,
    /// Why it does not count as deployed; nothing if it does.
    pub waits: Option<String>,
}

/// What other apps of the same revision say of an object; of two claims the first counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Claim {
    /// This one wants it.
    Wanted(AppName),
    /// The files of this one do not build and name it, so it may want it.
    Possible(AppName),
    /// It bears the mark of this one, and no other app wants it any more.
    GivenUp(AppName),
}

/// Deletions of other apps in the same revision.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Elsewhere {
    /// How many objects go there.
    pub deleted: usize,
    /// How many objects all apps have, this one among them.
    pub objects: usize,
    /// How many other apps the commit removed that removed this one.
    pub removed: usize,
}

/// The target as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TargetState {
    /// It answers.
    Reachable,
    /// It does not.
    Unreachable {
        /// Since when.
        since: Timestamp,
        /// What the last try said.
        why: String,
    },
    /// What it is reached by leads to another one than is known.
    Elsewhere {
        /// What is known and what is there.
        why: String,
    },
}

/// What the settings say about this app.
#[derive(Clone, PartialEq, Debug)]
pub struct Policy {
    /// About drift.
    pub drift: DriftPolicy,
    /// About what people add.
    pub extra: ExtraPolicy,
    /// Whether nothing of it may be written for now.
    pub suspend: Option<Suspension>,
    /// About fields that are left to others.
    pub ignore: Vec<IgnoreRule>,
    /// About fields that others are wanted to change.
    pub handover: Vec<HandoverRule>,
    /// Through which managers people edit.
    pub editors: Editors,
    /// About other fields of ours that others hold.
    pub conflicts: ConflictPolicy,
    /// About the health of kinds.
    pub health: Vec<HealthRule>,
    /// How long an object may be on its way; without end if zero.
    pub health_timeout: Duration,
    /// About live objects without an owner.
    pub adopt: AdoptPolicy,
    /// About deletions.
    pub deletion: DeletionBudget,
    /// How long volumes are held whose claims were deleted; nothing if they go at once.
    pub data_grace: Duration,
    /// About deletions of all apps in one revision.
    pub deletion_of_all: InstanceBudget,
    /// About namespaces whose deletion does not end.
    pub recovery: RecoverySettings,
    /// About reaching beyond its namespace.
    pub grants: Grants,
    /// Namespace of our own objects in the cluster.
    pub control_namespace: String,
    /// As whom its objects are written.
    pub identity: IdentityPolicy,
    /// Secrets that apps may have copies of.
    pub shared: Vec<SharedSecret>,
}

/// Objects, each in an incarnation, that go because a person agreed.
pub type Agreed = BTreeSet<(ObjectId, String)>;

/// Grants of an app that wait for a person's word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnapprovedGrants {
    /// The grants, such as `kinds: Role`.
    pub grants: Vec<String>,
    /// Name by which they are approved.
    pub digest: String,
}

impl UnapprovedGrants {
    /// Returns what is told of them.
    pub fn message(&self, app: &AppName) -> String {
        let (grants, digest) = (self.grants.join(", "), &self.digest);
        format!("a push grants {app} {grants}, and brings what that is for along; the plan is {digest}")
    }

    /// Returns whether a grant of a secret is among them.
    pub fn holds_secret(&self, grant: &str) -> bool {
        self.grants.iter().any(|held| held.strip_prefix("secrets: ") == Some(grant))
    }
}

/// What a person asked for in this pass.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ask {
    /// Of which objects that drifted the whole is written, whatever the drift policy.
    pub correct: Correct,
    /// Take over live objects without an owner.
    pub adopt: bool,
    /// Digest of the plan whose deletions are approved.
    pub approve: Option<String>,
    /// Objects, as `Kind/name`, that may be made anew where a field of them cannot be changed.
    pub recreate: Vec<String>,
    /// Name of a Job that runs again although it has run.
    pub rerun: Option<String>,
}

/// Of which objects a person asks for the committed values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Correct {
    /// Of none.
    #[default]
    No,
    /// Of these, as [`ObjectId::is_called`] has them.
    Objects(Vec<String>),
    /// Of all.
    All,
}

impl Correct {
    /// Returns that a person asks for the committed values of these objects, or of all if there are none.
    pub fn of(objects: &[String]) -> Self {
        if objects.is_empty() { Self::All } else { Self::Objects(objects.to_vec()) }
    }

    /// Returns whether a person asks for the committed values of the whole app.
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// Returns whether a person asks for the committed values of an object.
    pub fn is_about(&self, id: &ObjectId) -> bool {
        match self {
            Self::No => false,
            Self::Objects(objects) => objects.iter().any(|object| id.is_called(object)),
            Self::All => true,
        }
    }
}
