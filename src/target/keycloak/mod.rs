//! A Keycloak, over its Admin REST API, in plain JSON: typed representations would drop fields that they do not know.
//!
//! An object is found by its natural key. A write takes in what the server says at that moment and puts the declared fields over it, so that
//! what is not declared stays as it is, and reads back what came of it. Not here: which objects, in which order (`plan::realm`).

mod body;
mod call;
mod place;

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::address::segment as encoded;
use super::{Refusal, RefusalKind};
use crate::model::{ObjectId, Purpose, RealmKind, SecretValue};

pub use call::{Keycloak, RealmCounts};
use place::Place;

/// How a Keycloak is reached, as the operator says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RealmAccess {
    /// Address, such as `https://sso.example.org`, with a path if it lives below one.
    pub url: String,
    /// Realm that the client or the user below lives in.
    pub realm: String,
    /// Client that asks for tokens.
    pub client: String,
    /// User that asks by its password; empty where the client asks by its own secret.
    pub user: String,
    /// File whose first line is the secret or the password; read for each token, so that a new one needs no restart.
    pub credential: PathBuf,
}

/// An object as a server gives it back.
#[derive(Clone, Debug)]
pub struct RealmFound {
    /// Incarnation.
    pub uid: String,
    /// Its representation, without any secret.
    pub body: Value,
    /// Its secret, if it has one.
    pub secret: Option<SecretValue>,
}

/// A write of an object.
#[derive(Clone, Copy, Debug)]
pub struct RealmWrite<'a> {
    /// The object.
    pub id: &'a ObjectId,
    /// The fields that are ours.
    pub spec: &'a Map<String, Value>,
    /// Its secret, if that is ours.
    pub secret: Option<&'a SecretValue>,
}

/// What a write left.
#[derive(Clone, Debug)]
pub struct RealmWritten {
    /// Whether it was not there before.
    pub created: bool,
    /// The object afterwards.
    pub found: RealmFound,
}

impl Keycloak {
    /// Returns whether a realm is there.
    pub async fn has_realm(&self, realm: &str) -> Result<bool, Refusal> {
        let place = Place::realm(realm);
        Ok(self.read(&place.path, &format!("look for the realm {realm}")).await?.is_some())
    }

    /// Reads an object, or nothing if it or its realm is not there.
    pub async fn find(&self, id: &ObjectId) -> Result<Option<RealmFound>, Refusal> {
        let Some(place) = Place::of(id) else { return Err(strange(id)) };
        Ok(self.look(&place, id).await?.map(|(_, body)| found(place.kind, body)))
    }

    /// Makes an object, or changes the declared fields of the one that is there. Returns what is there afterwards.
    pub async fn write(&self, write: &RealmWrite<'_>) -> Result<RealmWritten, Refusal> {
        let RealmWrite { id, spec, secret } = *write;
        let Some(place) = Place::of(id) else { return Err(strange(id)) };
        let what = format!("write {id}");
        let declared = body::with_secret(spec, secret);
        let before = self.look(&place, id).await?;
        match &before {
            None => self.make(&place, &declared, &what).await?,
            Some((path, live)) => self.change(path, body::merged(place.kind, live, &declared), &what).await?,
        }
        // What was made is complete only now: a step of a flow is made without its place in the order.
        let Some((path, live)) = self.look(&place, id).await? else {
            return Err(Refusal::new(RefusalKind::Changed, format!("{what}: it was written and is not there")));
        };
        let created = before.is_none();
        if !created || !place.is_made_in_two_steps() || body::covers(&live, &declared) {
            return Ok(RealmWritten { created, found: found(place.kind, live) });
        }
        self.change(&path, body::merged(place.kind, &live, &declared), &what).await?;
        let found_again = self.look(&place, id).await?.map(|(_, body)| found(place.kind, body));
        let gone = || Refusal::new(RefusalKind::Changed, format!("{what}: it was written and is not there"));
        Ok(RealmWritten { created, found: found_again.ok_or_else(gone)? })
    }

    /// Deletes an object if it is still this incarnation; returns whether it was.
    pub async fn remove(&self, id: &ObjectId, uid: &str) -> Result<bool, Refusal> {
        let Some(place) = Place::of(id) else { return Err(strange(id)) };
        let Some((path, body)) = self.look(&place, id).await? else { return Ok(false) };
        let live = found(place.kind, body);
        if live.uid != uid {
            return Ok(false);
        }
        let path = match place.kind {
            RealmKind::FlowExecution => format!("{}/authentication/executions/{}", place.realm, encoded(&live.uid)),
            _ => path,
        };
        self.send("DELETE", &path, None, &format!("delete {id}")).await?;
        Ok(true)
    }

    /// Reads an object; returns the path at which it is changed with its representation.
    async fn look(&self, place: &Place, id: &ObjectId) -> Result<Option<(String, Value)>, Refusal> {
        let what = format!("read {id}");
        let Some(answer) = self.read(&place.path, &what).await? else { return Ok(None) };
        let Some(entry) = place
            .pick(answer)
            .map_err(|why| Refusal::new(RefusalKind::Invalid(Vec::new()), format!("{what}: {why}")))?
        else {
            return Ok(None);
        };
        let path = place.path_of(&entry);
        // A list of users carries less than one of them does.
        let entry = match place.kind {
            RealmKind::User => match self.read(&path, &what).await? {
                Some(whole) => whole,
                None => return Ok(None),
            },
            _ => entry,
        };
        Ok(Some((path, entry)))
    }

    async fn make(&self, place: &Place, declared: &Map<String, Value>, what: &str) -> Result<(), Refusal> {
        let (path, body) = place.creation(declared);
        self.send("POST", &path, Some(&body), what).await
    }

    async fn change(&self, path: &str, body: Value, what: &str) -> Result<(), Refusal> {
        self.send("PUT", path, Some(&body), what).await
    }
}

/// Takes what a server gave back apart: the incarnation, the secret, the rest.
fn found(kind: RealmKind, mut body: Value) -> RealmFound {
    let secret = body.as_object_mut().and_then(|map| map.shift_remove("secret"));
    let secret = secret.as_ref().and_then(Value::as_str).map(|text| SecretValue::new(text.to_owned()));
    let key = if kind == RealmKind::RequiredAction { "alias" } else { "id" };
    let uid = body.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    RealmFound { uid, body, secret }
}

fn strange(id: &ObjectId) -> Refusal {
    Refusal::new(RefusalKind::UnknownKind, format!("{id} is no object of a Keycloak"))
}

impl RealmFound {
    /// Returns whether its secret is this one.
    pub fn has_secret(&self, wanted: &SecretValue) -> bool {
        let live = self.secret.as_ref().map(|secret| secret.expose(Purpose::RequestBody));
        live == Some(wanted.expose(Purpose::RequestBody))
    }
}

/// Returns an empty JSON map.
fn nothing() -> Value {
    json!({})
}
