//! Pure. The engine's memory of the objects it applied: the base of pruning and of drift detection.
//!
//! Not here: the rows (`store`), what a target reports now (`plan::Live`).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{ClusterName, CommitId, ObjectId};

/// Where an object stands in our memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordState {
    /// About to be applied for the first time; written before the first request.
    Intended,
    /// Applied.
    Applied,
    /// Its deletion was accepted and is not finished.
    Deleting,
}

/// What we remember of one object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The object.
    pub id: ObjectId,
    /// The cluster it is on.
    #[serde(default, skip_serializing_if = "ClusterName::is_first")]
    pub cluster: ClusterName,
    /// `apiVersion` it was applied with.
    pub api_version: String,
    /// Where it stands.
    pub state: RecordState,
    /// Incarnation we wrote; empty before the first answer.
    pub uid: String,
    /// Desired hash that was applied last.
    pub hash: String,
    /// First 16 bytes, in hex, of the digest over our managed fields after our last write; empty if that left out fields which others hold.
    pub fields: String,
    /// Time of our managed fields entry after our last write.
    pub time: String,
    /// Generation after our last write.
    pub generation: i64,
    /// Whether we created it; decides over a namespace's deletion.
    pub created: bool,
    /// Commit whose content was applied last.
    pub commit: Option<CommitId>,
    /// When the live values were compared last, as RFC 3339; empty if they never were.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub audited: String,
}

impl Record {
    /// Returns the record of an object that was applied; tests say what they are about beside it.
    #[cfg(test)]
    pub(crate) fn sample(id: ObjectId) -> Self {
        Self {
            id,
            cluster: ClusterName::default(),
            api_version: "v1".to_owned(),
            state: RecordState::Applied,
            uid: "u".to_owned(),
            hash: "h".to_owned(),
            fields: "f".to_owned(),
            time: "t".to_owned(),
            generation: 1,
            created: true,
            commit: None,
            audited: String::new(),
        }
    }

    /// Returns whether our last write left out fields that others hold, so that the object is never as git says.
    pub fn is_partial(&self) -> bool {
        self.state == RecordState::Applied && self.fields.is_empty() && !self.uid.is_empty()
    }
}

/// All records of one app.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inventory {
    records: BTreeMap<ObjectId, Record>,
}

/// In which kinds and namespaces objects stand.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Spread {
    /// Their kinds, each with its group before it.
    pub kinds: BTreeSet<(String, String)>,
    /// Their namespaces; none of what stands in no namespace.
    pub namespaces: BTreeSet<String>,
}

impl Spread {
    /// Adds an object.
    pub fn add(&mut self, id: &ObjectId) {
        self.kinds.insert((id.group.clone(), id.kind.clone()));
        if !id.namespace.is_empty() {
            self.namespaces.insert(id.namespace.clone());
        }
    }
}

impl Inventory {
    /// Returns an inventory of these records.
    pub fn new(records: impl IntoIterator<Item = Record>) -> Self {
        Self { records: records.into_iter().map(|record| (record.id.clone(), record)).collect() }
    }

    /// Parts the records by the cluster that their objects are on. An app has objects on a second one only while it moves.
    pub fn by_cluster(self) -> BTreeMap<ClusterName, Self> {
        let mut parts: BTreeMap<ClusterName, Self> = BTreeMap::new();
        for record in self.records.into_values() {
            parts.entry(record.cluster.clone()).or_default().insert(record);
        }
        parts
    }

    /// Returns the record of an object.
    pub fn get(&self, id: &ObjectId) -> Option<&Record> {
        self.records.get(id)
    }

    /// Returns all records in order of identity.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// Adds or replaces a record.
    pub fn insert(&mut self, record: Record) {
        self.records.insert(record.id.clone(), record);
    }

    /// Removes a record.
    pub fn remove(&mut self, id: &ObjectId) {
        self.records.remove(id);
    }

    /// Returns whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }
}
