//! Pure. The planner's output: what to send, in which order, what is held back and why, what drifted, what would wake us.
//!
//! Not here: how the decisions are made (one file per rule beside this one).

use std::collections::{BTreeMap, BTreeSet};

use super::recreate::Recreate;
use super::snapshot::Agreed;
use super::yields::Yields;
use crate::base::Timestamp;
use crate::health::{Health, HealthState};
use crate::model::{AppName, ClusterName, CommitId, HeldVolume, Object, ObjectId, Record};

/// What to do for one app.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The app.
    pub app: AppName,
    /// The commit it would bring.
    pub commit: CommitId,
    /// Calls in order of wave, stage and identity.
    pub actions: Vec<Action>,
    /// Objects that are as wanted.
    pub unchanged: Vec<ObjectId>,
    /// Records that were lost and are proven by the live objects; `record` stores them, nothing is sent.
    pub recovered: Vec<Record>,
    /// Records whose objects are known to be gone or no longer ours; `record` drops them, nothing is sent.
    pub forgotten: Vec<ObjectId>,
    /// Objects whose deletion has begun and is not finished.
    pub leaving: Vec<ObjectId>,
    /// Jobs that have run, with their hashes, and those that go, without: what the target notes for a time without a store.
    pub jobs: Vec<(ObjectId, Option<String>)>,
    /// What is held back.
    pub blocked: Vec<Blocked>,
    /// Objects whose turn comes when others are healthy: those of later waves,
    /// and objects that depend on others, each with what it waits for.
    pub later: BTreeMap<ObjectId, Vec<String>>,
    /// What differs from git on the target.
    pub drift: Vec<DriftItem>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// Health of the app as far as it was seen; meaningful when no action is left.
    pub health: Health,
    /// When to look again by the clock.
    pub wake_at: Option<Timestamp>,
    /// What to look again for.
    pub wake_on: Vec<WakeOn>,
    /// Digest over the deletions, held back or not, the name by which a person approves them; empty if there are none.
    pub digest: String,
    /// What a person would let go by agreeing, held back or not, in this incarnation of the plan.
    pub victims: Vec<ObjectId>,
    /// Whether something that is no longer wanted is to go.
    pub going: Going,
    /// Deletions of a farewell to which a person agreed, for its later stages.
    pub agreed: Agreed,
}

/// Whether something of an app that is no longer wanted is to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Going {
    /// Nobody looked: the plan ended before that.
    Unknown,
    /// Nothing is.
    Nothing,
    /// Something is, or may be where it cannot be looked at, also where it waits for something.
    Something,
}

impl Plan {
    /// Returns a plan of nothing.
    pub fn nothing(app: AppName, commit: CommitId) -> Self {
        Self {
            app,
            commit,
            actions: Vec::new(),
            unchanged: Vec::new(),
            recovered: Vec::new(),
            forgotten: Vec::new(),
            leaving: Vec::new(),
            jobs: Vec::new(),
            blocked: Vec::new(),
            later: BTreeMap::new(),
            drift: Vec::new(),
            notes: Vec::new(),
            health: Health::new(HealthState::Unknown, ""),
            wake_at: None,
            wake_on: Vec::new(),
            digest: String::new(),
            victims: Vec::new(),
            going: Going::Unknown,
            agreed: Agreed::new(),
        }
    }

    /// Adds the plan of another target for the same app. Its actions carry ids behind those of this one.
    pub fn join(&mut self, other: Self) {
        let Self { app: _, commit: _, actions, unchanged, recovered, forgotten, leaving, jobs, .. } = other;
        self.actions.extend(actions);
        self.unchanged.extend(unchanged);
        self.recovered.extend(recovered);
        self.forgotten.extend(forgotten);
        self.leaving.extend(leaving);
        self.jobs.extend(jobs);
        self.blocked.extend(other.blocked);
        self.later.extend(other.later);
        self.drift.extend(other.drift);
        self.notes.extend(other.notes);
        self.wake_at = self.wake_at.into_iter().chain(other.wake_at).min();
        self.wake_on.extend(other.wake_on);
        if self.digest.is_empty() {
            self.digest = other.digest;
        }
    }

    /// Returns what those wait for whose turn comes later.
    pub fn waits_for(&self) -> Vec<&str> {
        let all: BTreeSet<&str> = self.later.values().flatten().map(String::as_str).collect();
        all.into_iter().collect()
    }

    /// Returns the drift that people are shown: all but what is put back without a word.
    pub fn drifted(&self) -> impl Iterator<Item = &DriftItem> {
        self.drift.iter().filter(|item| item.kind != DriftKind::Bookkeeping)
    }
}

/// One call on one target.
///
/// Actions are walked in the order of the plan; neighbours of the same wave and stage may go side by side. Deletions stand
/// in a wave of their own after all others.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// Position in the plan; other actions name it.
    pub id: usize,
    /// What to do.
    pub verb: Verb,
    /// On which object.
    pub object: ObjectId,
    /// With which `apiVersion`.
    pub api_version: String,
    /// Order that authors and requirements ask for.
    pub wave: i32,
    /// Order by kind inside a wave.
    pub stage: u8,
    /// Actions that must have succeeded before.
    pub after: Vec<usize>,
    /// Why, in one sentence without a full stop.
    pub reason: String,
    /// Incarnation that must still be there; absent when it must be new. For an apply it goes into `metadata.uid` of the
    /// body, which the payload does not hold.
    pub uid: Option<String>,
    /// Desired hash that this action brings.
    pub hash: String,
    /// File and line that the object comes from, for messages.
    pub source: String,
    /// Fields that are left out if the server says that another manager holds them.
    pub yields: Yields,
    /// What follows if the server says that a field cannot be changed.
    pub recreate: Recreate,
    /// What becomes of what people hold in the object beside our fields.
    pub extras: Extras,
    /// What of its file is left out, told with what comes of it.
    pub notice: Option<String>,
}

/// What becomes of the fields that people hold in an object beside ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extras {
    /// They are left as they are, to be told of.
    Leave,
    /// The object is taken over: what is there already stays theirs for good and is no addition.
    Keep,
    /// They go with this apply.
    Remove,
}

/// What to do with an object.
#[derive(Clone, PartialEq, Debug)]
pub enum Verb {
    /// Server-side apply.
    Apply {
        /// The body with our marks; values of a Secret are digests that `apply` replaces at the request edge.
        payload: Object,
        /// Whether fields of other managers are taken over.
        force: Force,
    },
    /// Delete with preconditions.
    Delete {
        /// What happens to dependents.
        propagation: Propagation,
    },
    /// Take our marks off and leave the object.
    Release,
    /// Let something go whose deletion does not end: a namespace if it is still empty then, or what such a namespace holds, which is told to
    /// go if nobody did.
    Free {
        /// Its own finalizers that go.
        finalizers: Vec<String>,
    },
    /// Tell a volume to outlive the claim that is about to go.
    Hold {
        /// The volume, as it is remembered.
        volume: HeldVolume,
    },
    /// Make a claim again on the volume that is held for it.
    Return {
        /// The volume.
        volume: HeldVolume,
    },
    /// Give a volume that is held its own policy back, by which it goes if it has no claim.
    LetGo {
        /// The volume.
        volume: HeldVolume,
    },
}

/// Whether an apply takes over fields of other managers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Force {
    /// It does.
    Yes,
    /// A conflict is an answer.
    No,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Propagation {
    /// The garbage collector removes them afterwards.
    Background,
    /// They stay.
    Orphan,
}

/// Something held back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The object; nothing if it is the whole app.
    pub object: Option<ObjectId>,
    /// Code of the reason, such as `RequirementNotReady`.
    pub reason: String,
    /// One sentence with what is known, without a full stop.
    pub message: String,
    /// The command that helps, or an empty text.
    pub hint: String,
}

/// A live difference from git on fields that are ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriftItem {
    /// The object.
    pub object: ObjectId,
    /// How it differs.
    pub kind: DriftKind,
    /// Field paths that are no longer ours, readable, such as `spec.replicas`; empty when the whole object is meant.
    pub paths: Vec<String>,
    /// Manager that now holds them, if one does.
    pub manager: String,
    /// How it took them: `Update`, `Apply`, or with a subresource `Update scale`; empty if nobody holds them.
    pub how: String,
    /// When it took them, as the server wrote it.
    pub since: String,
    /// Whether only labels and annotations of the object's own metadata are touched.
    pub harmless: bool,
    /// What this plan does about it.
    pub verdict: Verdict,
}

/// What is done about drift.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The committed value is put back in this plan.
    Revert,
    /// It is shown and left until a person decides.
    Report,
}

/// How a live object differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriftKind {
    /// Fields of ours were changed.
    Changed,
    /// Fields or list items of ours were removed.
    Removed,
    /// Our marks were edited, or somebody holds a field of ours with our value; put back without a word.
    Bookkeeping,
    /// The object is gone.
    Missing,
    /// It was deleted and made again by somebody else.
    Replaced,
    /// Our ownership was cleared.
    OwnershipLost,
    /// People added fields that git does not have.
    Extra,
    /// Values of ours differ although the managed fields say that nobody touched them; only the slow audit finds that.
    AuditMismatch,
}

/// What ends a block.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WakeOn {
    /// An app becomes deployed and healthy.
    App(AppName),
    /// A namespace is gone.
    NamespaceGone(String),
    /// A cluster answers.
    Target(ClusterName),
    /// A new revision.
    Revision,
    /// A secret is set.
    Secret(String),
    /// Health of an own object changes.
    Health,
    /// An object is gone.
    Gone(ObjectId),
    /// The server gets to know a kind.
    Kind {
        /// Its group.
        group: String,
        /// Its name.
        kind: String,
    },
}
