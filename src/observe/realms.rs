//! Reads what an app wants of a Keycloak, and what that says about it: one request an object, in order.
//!
//! Secrets stay beside the snapshot. A server that did not answer a moment ago is not asked before its time. Not here: what follows from it
//! (`plan::realm`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::base::Timestamp;
use crate::model::{
    AppName, CLIENT_SECRET, CommitId, Diagnostic, ErrorClass, FileTree, Inventory, Object, ObjectId, Purpose,
    REALM_API, RealmKind, SecretPayloads, SecretValue, Secrets, realm_object,
};
use crate::package::realm::{RealmObject, realm_objects};
use crate::plan::hash;
use crate::plan::realm::{RealmLive, RealmServer, RealmSnapshot, RealmWanted, Waited};
use crate::plan::{Ask, Policy, Presence};
use crate::target::{Keycloak, Refusal};

/// What the files of an app say of its Keycloak.
#[derive(Clone, Debug)]
pub struct RealmFiles {
    /// The objects in the order in which they are applied, or why they do not read.
    pub desired: Result<Vec<RealmWanted>, Vec<Diagnostic>>,
    /// Secrets of clients by object.
    pub payloads: SecretPayloads,
    /// Secrets without a value by object, as dotted paths.
    pub missing_secrets: BTreeMap<ObjectId, String>,
}

/// What a snapshot of an app's Keycloak is made of.
pub struct RealmObservation<'a> {
    /// The app.
    pub app: &'a AppName,
    /// The commit that is wanted.
    pub commit: &'a CommitId,
    /// Whether the app is in that commit.
    pub presence: Presence,
    /// What its files say.
    pub files: &'a RealmFiles,
    /// What is remembered of its objects.
    pub inventory: Inventory,
    /// Wanted objects that other apps have applied.
    pub owners: BTreeMap<ObjectId, AppName>,
    /// What the settings say about the app.
    pub policy: Policy,
    /// What a person asked for.
    pub ask: Ask,
    /// Whether the app is held since a person ended an operation of it.
    pub is_held: bool,
    /// Whether grants of the app wait for a person's word.
    pub awaits_word: bool,
    /// What the app waits for since an earlier pass.
    pub waited: Option<Waited>,
    /// The server, if one is known.
    pub keycloak: Option<&'a Keycloak>,
    /// The present.
    pub now: Timestamp,
}

/// Reads the files of an app.
pub fn realm_files(app: &AppName, files: &FileTree, secrets: &Secrets, hash_key: &[u8; 32]) -> RealmFiles {
    let mut read =
        RealmFiles { desired: Ok(Vec::new()), payloads: SecretPayloads::default(), missing_secrets: BTreeMap::new() };
    let objects = match realm_objects(files, app) {
        Ok(objects) => objects,
        Err(findings) => return RealmFiles { desired: Err(findings), ..read },
    };
    let mut wanted = Vec::with_capacity(objects.len());
    for object in objects {
        let path = format!("apps.{app}.{}", object.secret_from);
        let secret = if object.secret_from.is_empty() { None } else { secrets.get(&path) };
        if let Some(secret) = secret {
            let values = BTreeMap::from([(CLIENT_SECRET.to_owned(), secret.clone())]);
            read.payloads.insert(object.id.clone(), values);
        } else if !object.secret_from.is_empty() {
            read.missing_secrets.insert(object.id.clone(), path);
        }
        wanted.push(wanted_of(object, secret, hash_key));
    }
    read.desired = Ok(wanted);
    read
}

fn wanted_of(object: RealmObject, secret: Option<&SecretValue>, hash_key: &[u8; 32]) -> RealmWanted {
    let RealmObject { id, kind, spec, secret_from, file, line } = object;
    let mut whole = Object::default();
    whole.0.insert("apiVersion".to_owned(), Value::from(REALM_API));
    whole.0.insert("kind".to_owned(), Value::from(kind.word()));
    whole.set_metadata_name(&id);
    whole.0.insert("spec".to_owned(), Value::Object(spec.clone()));
    if let Some(secret) = secret {
        whole.0.insert(CLIENT_SECRET.to_owned(), Value::from(secret.expose(Purpose::KeyedHash)));
    }
    let hash = hash::desired_hash(hash_key, &whole);
    RealmWanted { id, spec, hash, has_secret: !secret_from.is_empty(), source: format!("{file}:{line}") }
}

/// Looks at the server.
pub async fn observe_realms(observation: RealmObservation<'_>) -> RealmSnapshot {
    let RealmObservation {
        app,
        commit,
        presence,
        files,
        inventory,
        owners,
        policy,
        ask,
        is_held,
        awaits_word,
        waited,
        keycloak,
        now,
    } = observation;
    let mut snapshot = RealmSnapshot {
        app: app.clone(),
        commit: commit.clone(),
        presence,
        desired: files.desired.clone(),
        inventory,
        standing: None,
        live: BTreeMap::new(),
        unseen: BTreeMap::new(),
        absent: BTreeSet::new(),
        server: RealmServer::Answers,
        owners,
        missing_secrets: files.missing_secrets.clone(),
        policy,
        ask,
        is_held,
        awaits_word,
        waited,
        now,
    };
    let Some(keycloak) = keycloak else { return RealmSnapshot { server: RealmServer::Unknown, ..snapshot } };
    if let Some(silence) = still_silent(&snapshot) {
        return RealmSnapshot { server: RealmServer::Silent(silence), ..snapshot };
    }
    if let Err(refusal) = read_all(&mut snapshot, files, keycloak).await {
        snapshot.server = RealmServer::Silent(refusal.message);
    }
    snapshot
}

/// Returns what the server's last failure was, if it is not its time to be asked again.
fn still_silent(snapshot: &RealmSnapshot) -> Option<String> {
    let waited = snapshot.waited.as_ref()?;
    let is_early = waited.commit == snapshot.commit && snapshot.now < waited.until && !snapshot.ask.correct.is_all();
    (is_early && !waited.silence.is_empty()).then(|| waited.silence.clone())
}

/// Reads the wanted and the remembered objects; an error is one of the whole server.
async fn read_all(snapshot: &mut RealmSnapshot, files: &RealmFiles, keycloak: &Keycloak) -> Result<(), Refusal> {
    let wanted: Vec<ObjectId> = match &snapshot.desired {
        Ok(wanted) if snapshot.presence == Presence::Kept => wanted.iter().map(|wanted| wanted.id.clone()).collect(),
        Ok(_) | Err(_) => Vec::new(),
    };
    let remembered = snapshot.inventory.records().map(|record| record.id.clone());
    let mut ids: Vec<ObjectId> = wanted.into_iter().chain(remembered).collect();
    ids.sort_by_key(|id| (RealmKind::of(id), id.clone()));
    ids.dedup();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for id in ids {
        let realm = id.namespace.clone();
        if !known.contains(&realm) && id != realm_object(RealmKind::Realm, &realm, &realm) {
            known.insert(realm.clone());
            match keycloak.has_realm(&realm).await {
                Ok(true) => {}
                Ok(false) => _ = snapshot.absent.insert(realm.clone()),
                Err(refusal) if refusal.class() == ErrorClass::System => return Err(refusal),
                // Who may not see the realm may yet see the object.
                Err(_) => {}
            }
        }
        if snapshot.absent.contains(&realm) {
            continue;
        }
        match keycloak.find(&id).await {
            Ok(found) => {
                let is_realm = RealmKind::of(&id) == Some(RealmKind::Realm);
                if is_realm {
                    known.insert(realm.clone());
                }
                let Some(found) = found else {
                    if is_realm {
                        snapshot.absent.insert(realm);
                    }
                    continue;
                };
                let secret = files.payloads.get(&id).and_then(|values| values.get(CLIENT_SECRET));
                let same_secret = secret.is_none_or(|secret| found.has_secret(secret));
                snapshot.live.insert(id, RealmLive { uid: found.uid, body: found.body, same_secret });
            }
            Err(refusal) if refusal.class() == ErrorClass::System => return Err(refusal),
            Err(refusal) => _ = snapshot.unseen.insert(id, refusal.message),
        }
    }
    Ok(())
}
