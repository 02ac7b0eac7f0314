//! Pure. The objects that an app wants of a Keycloak: a snapshot becomes an ordinary plan, one action an object, in order.
//!
//! Realm, roles, clients, users, flows, then required actions and the steps of flows; each after the one before. What is not declared is
//! nobody's business. A server that does not answer and a realm that is not there hold back this part of the app and nothing else.
//! Not here: reading files (`package::realm`), requests (`target::keycloak`).

mod compare;
mod decide;
mod wait;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

pub use compare::differences;
pub use decide::plan;
pub use wait::{DRIFT_LOOK, Waited, pause};

use super::snapshot::{Ask, Policy, Presence};
use crate::base::Timestamp;
use crate::model::{AppName, CommitId, Diagnostic, Inventory, Object, ObjectId};

/// The planner's input for one app on its Keycloak.
#[derive(Clone, PartialEq, Debug)]
pub struct RealmSnapshot {
    /// The app.
    pub app: AppName,
    /// Commit that is wanted.
    pub commit: CommitId,
    /// Whether the app is in that commit.
    pub presence: Presence,
    /// The objects of that commit in the order in which they are applied, or why they do not read.
    pub desired: Result<Vec<RealmWanted>, Vec<Diagnostic>>,
    /// What we remember of its Keycloak's objects.
    pub inventory: Inventory,
    /// The incarnations that stood when what is to go now came up; nothing where nothing was to go before this pass.
    pub standing: Option<BTreeSet<String>>,
    /// What the server reports about remembered and wanted objects; one that is not named is not there.
    pub live: BTreeMap<ObjectId, RealmLive>,
    /// Objects that the server did not let us look at, with what it said.
    pub unseen: BTreeMap<ObjectId, String>,
    /// Realms of wanted or remembered objects that are not there.
    pub absent: BTreeSet<String>,
    /// The server.
    pub server: RealmServer,
    /// Wanted objects that other apps have applied.
    pub owners: BTreeMap<ObjectId, AppName>,
    /// Secrets of wanted clients that have no value, as dotted paths.
    pub missing_secrets: BTreeMap<ObjectId, String>,
    /// What the settings say about this app.
    pub policy: Policy,
    /// What a person asked for in this pass.
    pub ask: Ask,
    /// Whether the app is held since a person ended an operation of it. The cluster's plan says so.
    pub is_held: bool,
    /// Whether grants of the app wait for a person's word. The cluster's plan says so.
    pub awaits_word: bool,
    /// What the app waits for since an earlier pass.
    pub waited: Option<Waited>,
    /// The present.
    pub now: Timestamp,
}

/// One wanted object.
#[derive(Clone, PartialEq, Debug)]
pub struct RealmWanted {
    /// Identity.
    pub id: ObjectId,
    /// The fields that are ours, without any secret.
    pub spec: Map<String, Value>,
    /// Keyed hash over them and the true secret.
    pub hash: String,
    /// Whether its secret is ours as well.
    pub has_secret: bool,
    /// File and line.
    pub source: String,
}

/// What a server reports about an object.
#[derive(Clone, PartialEq, Debug)]
pub struct RealmLive {
    /// Incarnation.
    pub uid: String,
    /// Its representation without secrets.
    pub body: Value,
    /// Whether its secret is the wanted one; true where none is wanted.
    pub same_secret: bool,
}

/// The server as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RealmServer {
    /// It answers.
    Answers,
    /// It does not, or does not know us; what the last try said.
    Silent(String),
    /// Nobody said which it is.
    Unknown,
}

impl RealmWanted {
    /// Returns what an action carries: the object as its file says, without any secret.
    fn payload(&self) -> Object {
        let mut object = Object::default();
        object.0.insert("spec".to_owned(), Value::Object(self.spec.clone()));
        object
    }
}

#[cfg(test)]
mod tests;
