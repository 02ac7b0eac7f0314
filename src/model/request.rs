//! Format. What a person asks for, typed and with its data: stored as JSON in the operation before it is acknowledged.
//!
//! Pure. A request holds no secret value. Not here: turning it into a commit (`compile::edit`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AppName, CommitId, PackageName, Suspension};

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
    },
    /// Bring the app to a newer package version.
    Update {
        /// The app.
        app: AppName,
        /// Version, or the newest.
        to: Option<String>,
    },
    /// Decide conflicts of an update that waits.
    Resolve {
        /// The app.
        app: AppName,
        /// Decisions; an empty list only finishes.
        decisions: Vec<Decision>,
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
    /// Follow a further upstream.
    AddDirectory {
        /// Its name.
        name: String,
        /// Where it is fetched from.
        url: String,
        /// Branch.
        branch: String,
    },
}

impl Request {
    /// Returns the app that the request is about, if it is about one.
    pub fn app(&self) -> Option<&AppName> {
        match self {
            Self::Add { app, .. }
            | Self::Config { app, .. }
            | Self::Deploy { app, .. }
            | Self::Update { app, .. }
            | Self::Resolve { app, .. }
            | Self::Abort { app }
            | Self::Rollback { app, .. }
            | Self::Delete { app, .. }
            | Self::RevertDrift { app }
            | Self::Suspend { app, .. }
            | Self::Resume { app } => Some(app),
            Self::AddDirectory { .. } => None,
        }
    }

    /// Returns the word for the request in operation ids and logs.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Config { .. } => "config",
            Self::Deploy { .. } => "deploy",
            Self::Update { .. } => "update",
            Self::Resolve { .. } => "resolve",
            Self::Abort { .. } => "abort",
            Self::Rollback { .. } => "rollback",
            Self::Delete { .. } => "delete",
            Self::RevertDrift { .. } => "revert",
            Self::Suspend { .. } => "suspend",
            Self::Resume { .. } => "resume",
            Self::AddDirectory { .. } => "directory",
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
#[serde(rename_all = "lowercase")]
pub enum DataFate {
    /// They stay.
    Keep,
    /// They go.
    Delete,
}

/// One decision on a conflict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// Id of the conflict, or the path of a file; absent for all that are open.
    pub conflict: Option<String>,
    /// The side that wins.
    pub take: Side,
}

/// A side of a merge, in the words people read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// What both started from.
    Base,
    /// The committed text.
    Mine,
    /// The package's new text.
    Upstream,
}
