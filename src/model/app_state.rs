//! Format. What the last pass found out about an app: the body of a row of the store and the `app` of the API (`rewild.dev/v1`).
//!
//! Pure. Shown, never decided by: the next pass reads the world again. Not here: filling it (`pipeline`).

use serde::{Deserialize, Serialize};

use super::{AppName, ClusterName, CommitId, ObjectId};
use crate::base::Timestamp;

/// An app as people are shown it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppState {
    /// The app.
    pub name: AppName,
    /// Package it was made from; empty for an app without one.
    pub package: String,
    /// Version of the package; empty for an app without one.
    pub version: String,
    /// Newer version that is there; empty if none.
    pub available: String,
    /// `ready` or `needs-you`, if a newer version is there.
    pub update: Option<String>,
    /// Namespace.
    pub namespace: String,
    /// Cluster that it is on.
    #[serde(default, skip_serializing_if = "ClusterName::is_first")]
    pub cluster: ClusterName,
    /// Word for health: `healthy`, `starting`, `failing`, `stopped`, `deleting`, `unknown`.
    pub health: String,
    /// Why, if it is not healthy, or what it lacks all the same.
    pub health_reason: String,
    /// Word for intent: `added`, `applied`, `waiting`, `blocked`, `held`.
    pub intent: String,
    /// Code of the reason, if the app is blocked.
    pub reason: String,
    /// What a person should know or do, one sentence; empty if nothing.
    pub needs_you: String,
    /// The command that helps; empty if none.
    pub hint: String,
    /// The last lines of a hook that failed, without values of secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// What of its files is left out, with file and line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// The lifecycle word, computed: `not-added`, `added`, `deploying`, `deployed`, `updating`, `drifted`, `deleting`, `deleted`, `stuck`.
    pub lifecycle: String,
    /// Live differences from git.
    pub drift: Vec<DriftState>,
    /// Conflicts of an update that waits.
    pub conflicts: usize,
    /// Commit that is wanted.
    pub commit: Option<CommitId>,
    /// Commit that was applied completely.
    pub applied: Option<CommitId>,
    /// Every object with its health.
    pub objects: Vec<ObjectState>,
    /// When this was found.
    pub observed_at: Timestamp,
}

/// How an app stands in the verdict on a commit, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Standing {
    /// An object of it was refused.
    Refused,
    /// It was applied and does not work.
    Failing,
    /// Something holds it back.
    Blocked,
    /// It is not applied yet, or not known to work.
    Waiting,
    /// It is applied and works.
    Well,
    /// Nobody wants it in the cluster yet, so it says nothing about a commit.
    Added,
}

impl AppState {
    /// Returns how the app stands in the verdict on a commit.
    pub fn standing(&self) -> Standing {
        match (self.intent.as_str(), self.health.as_str()) {
            ("added", _) => Standing::Added,
            _ if self.reason == "ApplyFailed" => Standing::Refused,
            ("applied", "failing") => Standing::Failing,
            ("blocked", _) => Standing::Blocked,
            ("applied", "healthy" | "stopped") => Standing::Well,
            _ => Standing::Waiting,
        }
    }

    /// Returns why its differences from git are not all told: it is not as its last commit was applied, so nothing is known of what that changes;
    /// nothing where they are. Of an app that nobody wants in a cluster yet there are none.
    pub fn uncompared(&self) -> Option<String> {
        if matches!(self.intent.as_str(), "applied" | "added") || (self.intent == "held" && self.commit == self.applied)
        {
            return None;
        }
        let said = [&self.needs_you, &self.health_reason].into_iter().find(|said| !said.is_empty());
        Some(said.cloned().unwrap_or_else(|| "its last commit is not applied".to_owned()))
    }
}

/// A live difference as people are shown it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftState {
    /// The object.
    pub object: ObjectId,
    /// Word for the kind: `changed`, `removed`, `missing`, `replaced`, `ownership-lost`, `audit-mismatch`.
    pub kind: String,
    /// Field path; empty when the whole object is meant.
    pub path: String,
    /// Committed value; never of a Secret.
    pub desired: Option<serde_json::Value>,
    /// Live value, if it was read; never of a Secret.
    pub live: Option<serde_json::Value>,
    /// Who holds the field now.
    pub manager: String,
    /// Since when.
    pub since: String,
    /// Whether only labels and annotations of the object's own metadata are touched.
    pub harmless: bool,
}

/// An object of an app with its health.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectState {
    /// The object.
    pub object: ObjectId,
    /// Word for its health.
    pub health: String,
    /// Why, if it is not healthy.
    pub reason: String,
}
