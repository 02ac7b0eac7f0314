//! Format. What is kept of an object that we deleted, and of a volume whose claim we deleted: the rows of the archive.
//!
//! Pure. No row holds a value of a Secret. Not here: what of an object is kept (`plan::archive`), how long (`store::archive`).

use serde::{Deserialize, Serialize};

use super::{ClusterName, CommitId, Object, ObjectId, OperationId};
use crate::base::Timestamp;

/// Annotation on a volume that is held: what is to become of it, for whoever finds it without our memory.
pub const RECLAIM_POLICY: &str = "rewild.dev/reclaim-policy";

/// An object as it was right before we deleted it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Archived {
    /// The object.
    pub object: ObjectId,
    /// Its incarnation.
    pub uid: String,
    /// The operation that deleted it.
    pub operation: OperationId,
    /// The commit whose content was applied to it last, if that is known.
    pub commit: Option<CommitId>,
    /// When.
    pub time: Timestamp,
    /// The object without status and managed fields; of a Secret no value.
    pub body: Object,
}

/// A volume that outlives the claim that we deleted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldVolume {
    /// Name of the PersistentVolume.
    pub name: String,
    /// Cluster that it is on.
    #[serde(default, skip_serializing_if = "ClusterName::is_first")]
    pub cluster: ClusterName,
    /// Its incarnation.
    pub uid: String,
    /// What was to become of it when its claim goes, before we said `Retain`.
    pub policy: String,
    /// The claim as it was.
    pub claim: Object,
    /// Since when it is held.
    pub since: Timestamp,
    /// Until when it is held.
    pub until: Timestamp,
    /// Whether it is to come back.
    pub stage: HoldStage,
}

impl HeldVolume {
    /// Returns the size that the claim asked for, as written; empty if it did not say.
    pub fn size(&self) -> &str {
        let size = self.claim.at(&["spec", "resources", "requests", "storage"]);
        size.and_then(serde_json::Value::as_str).unwrap_or("")
    }
}

/// Where a held volume stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoldStage {
    /// It waits for the end of its time.
    Held,
    /// A person asked for it; its claim comes back with the app.
    Returning,
}
