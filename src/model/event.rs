//! Pure. What we tell the outside: a closed list, turned into statuses, streams and log lines by `broadcast`.
//!
//! Not here: the sentences (`broadcast::message`).

use serde::{Deserialize, Serialize};

use super::{AppName, CommitId, OperationId};
use crate::base::Timestamp;

/// Something that happened, with the time it was seen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// When.
    pub time: Timestamp,
    /// The app, if it is about one.
    pub app: Option<AppName>,
    /// The operation that it belongs to, if any.
    pub operation: Option<OperationId>,
    /// The commit that it speaks about, if any.
    pub commit: Option<CommitId>,
    /// What.
    pub kind: EventKind,
    /// Details for people in one line; never a secret value.
    pub detail: String,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A new head of the deployed branch was seen.
    RevisionSeen,
    /// An app was compiled and committed.
    Committed,
    /// An update waits for decisions.
    UpdateConflict,
    /// A newer package version is there.
    UpdateAvailable,
    /// The first write of a revision of an app went out.
    Applying,
    /// Every object of an app's revision is applied.
    Applied,
    /// Every object of an app's revision is applied and healthy.
    Healthy,
    /// An app's health is lost.
    Unhealthy,
    /// An app's pass failed.
    Failed,
    /// An app is held back.
    Blocked,
    /// A newer revision took over before this one was applied.
    Superseded,
    /// Live objects differ from what git says.
    DriftDetected,
    /// They do not any more.
    DriftCorrected,
    /// The slow audit found values that differ although the managed fields say that nobody touched them.
    AuditMismatch,
    /// An app is gone from the cluster.
    Deleted,
    /// The target does not answer, or answers again.
    Target,
}
