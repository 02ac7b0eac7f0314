//! Pure. Objects of a Keycloak: their kinds, and how one is named beside the objects of a cluster.
//!
//! They share operations, inventory and drift with the objects of a cluster and are told apart by their API group.
//! Not here: reading them from files (`package::realm`), the paths they are reached at (`target::keycloak`).

use super::{Inventory, ObjectId};

/// API group of the objects of a Keycloak.
pub const REALM_GROUP: &str = "keycloak.rewild.dev";
/// `apiVersion` of the objects of a Keycloak.
pub const REALM_API: &str = "keycloak.rewild.dev/v1";

/// Field of a client that holds its secret, and the name under which the value travels beside a plan.
pub const CLIENT_SECRET: &str = "secret";

/// A kind of object of a Keycloak, in the order in which objects are applied.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RealmKind {
    /// A realm.
    Realm,
    /// A role of a realm.
    Role,
    /// A client.
    Client,
    /// A user.
    User,
    /// An authentication flow.
    Flow,
    /// A required action.
    RequiredAction,
    /// A step of an authentication flow, with its place in the order.
    FlowExecution,
}

impl RealmKind {
    /// All kinds in order.
    pub const ALL: [Self; 7] =
        [Self::Realm, Self::Role, Self::Client, Self::User, Self::Flow, Self::RequiredAction, Self::FlowExecution];

    /// Returns the word in `kind`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Realm => "Realm",
            Self::Role => "Role",
            Self::Client => "Client",
            Self::User => "User",
            Self::Flow => "Flow",
            Self::RequiredAction => "RequiredAction",
            Self::FlowExecution => "FlowExecution",
        }
    }

    /// Returns the kind that a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Returns the kind of an object; nothing for one of a cluster.
    pub fn of(id: &ObjectId) -> Option<Self> {
        Self::parse(&id.kind).filter(|_| id.group == REALM_GROUP)
    }
}

/// Returns the identity of an object of a realm: the realm takes the place of the namespace, and of a flow's step the name is
/// `flow/step`.
pub fn realm_object(kind: RealmKind, realm: &str, name: &str) -> ObjectId {
    ObjectId::new(REALM_GROUP, kind.word(), realm, name)
}

impl Inventory {
    /// Takes the records of a Keycloak's objects out.
    pub fn split_realms(&mut self) -> Self {
        let is_realm = |id: &ObjectId| id.group == REALM_GROUP;
        let taken: Vec<_> = self.records().filter(|record| is_realm(&record.id)).cloned().collect();
        for record in &taken {
            self.remove(&record.id);
        }
        Self::new(taken)
    }
}
