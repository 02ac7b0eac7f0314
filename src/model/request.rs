//! Format. What a person asks for, typed and with its data: stored as JSON in the operation before it is acknowledged.
//!
//! Pure. A request holds no secret value. Not here: turning it into a commit (`compile::edit`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AppName, ClusterName, CommitId, DriftState, IgnoreRule, OperationId, PackageName, Suspension, Verify};

/// A change somebody asked for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Request {
    /// Add a package as an app.
    Add {
        /// Package name, optionally with its upstream: `directory/package`.
        package: PackageName,
        /// Name in the instance.
        app: AppName,
        /// Which app satisfies which reference.
        bindings: BTreeMap<String, AppName>,
        /// Config values by dotted key.
        values: BTreeMap<String, Value>,
        /// Version, or the newest.
        version: Option<String>,
        /// Whether it is deployed at once.
        deploy: Deploy,
        /// Secrets of other apps that it may read, as `APP.KEY`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        grants: Vec<String>,
    },
    /// Change config values of an app.
    Config {
        /// The app.
        app: AppName,
        /// Values by dotted key.
        set: BTreeMap<String, Value>,
        /// Dotted keys that go back to their default.
        unset: Vec<String>,
    },
    /// Apply what is committed, now; the first time it also marks the app as deployed.
    Deploy {
        /// The app.
        app: AppName,
        /// Digest of a plan whose deletions are approved.
        approve: Option<String>,
        /// Objects, as `Kind/name`, that may be deleted and made anew where a field of them cannot be changed.
        #[serde(default)]
        recreate: Vec<String>,
        /// Whether objects that are there already and that nobody owns are taken over.
        #[serde(default)]
        adopt: bool,
    },
    /// One pass now, as any other would be; more only if a Job is named.
    Reconcile {
        /// The app.
        app: AppName,
        /// Name of a Job that runs again although it has run for what is committed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rerun: Option<String>,
    },
    /// Bring the app to a newer package version.
    Update {
        /// The app.
        app: AppName,
        /// Version, or the newest.
        to: Option<String>,
        /// The side that wins every conflict, so that none waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        take: Option<Take>,
        /// Secrets of other apps that it may read from then on, as `APP.KEY`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        grants: Vec<String>,
    },
    /// Let the app read secrets of other apps.
    Grant {
        /// The app.
        app: AppName,
        /// The secrets, as `APP.KEY`.
        secrets: Vec<String>,
    },
    /// Decide conflicts of an update that waits.
    Resolve {
        /// The app.
        app: AppName,
        /// Decisions; an empty list only finishes.
        decisions: Vec<Decision>,
    },
    /// Remember what people chose in the merges of the app so far.
    Learn {
        /// The app.
        app: AppName,
    },
    /// Remember a decision no longer, so that its conflict is asked again.
    Forget {
        /// The app.
        app: AppName,
        /// Id of the conflict or key of the decision; nothing means all of the app.
        key: Option<String>,
    },
    /// Take an app that a person keeps by hand under the care of a package.
    Adopt {
        /// The app.
        app: AppName,
        /// The package, if it is not called as the app is.
        package: Option<PackageName>,
    },
    /// Keep the app and part it from its package.
    Eject {
        /// The app.
        app: AppName,
    },
    /// Drop an update that waits.
    Abort {
        /// The app.
        app: AppName,
    },
    /// Undo a commit that changed the app.
    Rollback {
        /// The app.
        app: AppName,
        /// State to go back to.
        to: CommitId,
        /// Why.
        reason: String,
        /// The operation that this takes back, so that what outlived it comes back as well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undoes: Option<OperationId>,
    },
    /// Remove the app.
    Delete {
        /// The app.
        app: AppName,
        /// What happens to volumes and namespace.
        data: DataFate,
    },
    /// Put the committed values back where the cluster differs.
    RevertDrift {
        /// The app.
        app: AppName,
        /// The objects, as `Kind/name`; none means all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        objects: Vec<String>,
    },
    /// Take values of the cluster into the repository.
    AdoptDrift {
        /// The app.
        app: AppName,
        /// The fields, as they were seen.
        fields: Vec<DriftState>,
        /// Where the commit goes.
        #[serde(default, skip_serializing_if = "Branch::is_deployed")]
        branch: Branch,
    },
    /// Leave fields of live objects to whoever holds them.
    IgnoreDrift {
        /// The app.
        app: AppName,
        /// Which fields, and until when.
        rule: IgnoreRule,
    },
    /// Write nothing of the app until it is resumed.
    Suspend {
        /// The app.
        app: AppName,
        /// Why and until when.
        suspension: Suspension,
    },
    /// Write again what is committed.
    Resume {
        /// The app.
        app: AppName,
    },
    /// Let the app live on another cluster of the instance.
    Move {
        /// The app.
        app: AppName,
        /// Name of the cluster.
        cluster: ClusterName,
    },
    /// Follow a further upstream.
    AddDirectory {
        /// Its name.
        name: String,
        /// Where it is fetched from.
        url: String,
        /// Branch.
        branch: String,
        /// What must be true of its commits.
        #[serde(default)]
        verify: Verify,
    },
    /// Follow an upstream that went back, lost its packages or is not signed to where it is.
    AcceptRewind {
        /// Its name.
        name: String,
        /// Where it was; nothing if nothing of it was ever taken.
        from: Option<CommitId>,
        /// Where it was seen.
        to: CommitId,
    },
}

/// Where a change is committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Branch {
    /// On the deployed branch.
    #[default]
    Deployed,
    /// On a branch of its own, for a person to merge.
    Review,
}

impl Branch {
    /// Returns whether it is the deployed branch.
    pub fn is_deployed(&self) -> bool {
        *self == Self::Deployed
    }
}

impl Request {
    /// Returns the app that the request is about, if it is about one.
    pub fn app(&self) -> Option<&AppName> {
        match self {
            Self::Add { app, .. }
            | Self::Config { app, .. }
            | Self::Deploy { app, .. }
            | Self::Reconcile { app, .. }
            | Self::Update { app, .. }
            | Self::Grant { app, .. }
            | Self::Resolve { app, .. }
            | Self::Learn { app }
            | Self::Adopt { app, .. }
            | Self::Eject { app }
            | Self::Forget { app, .. }
            | Self::Abort { app }
            | Self::Rollback { app, .. }
            | Self::Delete { app, .. }
            | Self::RevertDrift { app, .. }
            | Self::AdoptDrift { app, .. }
            | Self::IgnoreDrift { app, .. }
            | Self::Suspend { app, .. }
            | Self::Resume { app }
            | Self::Move { app, .. } => Some(app),
            Self::AddDirectory { .. } | Self::AcceptRewind { .. } => None,
        }
    }

    /// Returns the word for the request in operation ids and logs.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Config { .. } => "config",
            Self::Deploy { .. } => "deploy",
            Self::Reconcile { .. } => "reconcile",
            Self::Update { .. } => "update",
            Self::Grant { .. } => "grant",
            Self::Resolve { .. } => "resolve",
            Self::Learn { .. } => "learn",
            Self::Forget { .. } => "forget",
            Self::Adopt { .. } => "adopt",
            Self::Eject { .. } => "eject",
            Self::Abort { .. } => "abort",
            Self::Rollback { .. } => "rollback",
            Self::Delete { .. } => "delete",
            Self::RevertDrift { .. } => "revert",
            Self::AdoptDrift { .. } => "adopt-drift",
            Self::IgnoreDrift { .. } => "ignore",
            Self::Suspend { .. } => "suspend",
            Self::Resume { .. } => "resume",
            Self::Move { .. } => "move",
            Self::AddDirectory { .. } => "directory",
            Self::AcceptRewind { .. } => "accept-rewind",
        }
    }
}

/// Whether an added app is deployed at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deploy {
    /// By the same request.
    Now,
    /// By a later one.
    Later,
}

/// What happens to volumes and namespace of a deleted app.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataFate {
    /// They stay.
    Keep,
    /// They go, the volumes after a while in which they can be brought back.
    Delete,
    /// They go at once.
    DeleteNow,
}

/// One decision on a conflict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// Id of the conflict, or the path of a file; absent for all that are open.
    pub conflict: Option<String>,
    /// What wins.
    pub take: Take,
    /// Whether the same side wins from now on wherever this place is in conflict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
}

impl Decision {
    /// Returns the decision of one conflict, or of all that are open.
    pub fn new(conflict: Option<&str>, take: Take) -> Self {
        Self { conflict: conflict.map(str::to_owned), take, always: false }
    }
}

/// What wins a conflict, in the words people read: a side of the merge, or a value of one's own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Take {
    /// What both started from.
    Base,
    /// The committed text.
    Mine,
    /// The package's new text.
    Upstream,
    /// A value, as it shall stand in the file.
    Value(String),
}

impl Take {
    /// Returns the word for the side.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Mine => "mine",
            Self::Upstream => "upstream",
            Self::Value(_) => "value",
        }
    }
}
