//! Walks the actions on a Keycloak, one after the other. Decides nothing.
//!
//! What the server gives back after a write must be as declared: a value that it does not take would be written for ever otherwise.
//! Not here: requests (`target::keycloak`), what to do (`plan::realm`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Applied, Halt, Kept, Sink, outcome, short, skipped, unkept, waits_for};
use crate::model::{
    CLIENT_SECRET, Effect, ErrorClass, Object, ObjectId, Observed, Outcome, REALM_API, SecretPayloads, Secrets,
};
use crate::plan::realm::differences;
use crate::plan::{Action, Plan, Verb};
use crate::target::{Keycloak, RealmFound, RealmWrite, Refusal, RefusalKind};

/// Carries out a plan on a Keycloak.
///
/// A person's word to stop is heard between two actions; the rest is skipped.
pub async fn apply_realms(
    plan: &Plan,
    keycloak: &Keycloak,
    secrets: &SecretPayloads,
    (sink, halt, hidden): (&dyn Sink, &Halt, &Secrets),
) -> Applied {
    let mut applied = Applied::default();
    let mut bad: BTreeSet<usize> = BTreeSet::new();
    let mut stopped: Option<String> = None;
    for action in &plan.actions {
        let held = stopped.clone().or_else(|| waits_for(action, &bad).map(str::to_owned));
        let came = match (halt.why(), held) {
            (Some(why), _) => outcome(action, Effect::Skipped, short(why)),
            (None, Some(why)) => skipped(action, &why),
            (None, None) => match call(action, keycloak, secrets, sink).await {
                Ok(outcome) => Outcome { message: hidden.mask(&outcome.message), ..outcome },
                Err(refusal) => {
                    let refusal = Refusal { message: hidden.mask(&refusal.message), ..refusal };
                    if refusal.is_unreachable() {
                        stopped = Some(refusal.message.clone());
                    }
                    let place = if action.source.is_empty() { String::new() } else { format!(" ({})", action.source) };
                    let failed = outcome(action, Effect::Failed, short(&format!("{}{place}", refusal.message)));
                    Outcome { error: Some(refusal.class()), ..failed }
                }
            },
        };
        if matches!(came.effect, Effect::Failed | Effect::Skipped) {
            bad.insert(action.id);
        }
        sink.outcome(action, &came).await;
        applied.outcomes.push(came);
    }
    applied
}

async fn call(
    action: &Action,
    keycloak: &Keycloak,
    secrets: &SecretPayloads,
    sink: &dyn Sink,
) -> Result<Outcome, Refusal> {
    match &action.verb {
        Verb::Apply { payload, .. } => {
            let none = Map::new();
            let spec = payload.at(&["spec"]).and_then(Value::as_object).unwrap_or(&none);
            let secret = secrets.get(&action.object).and_then(|values| values.get(CLIENT_SECRET));
            let write = RealmWrite { id: &action.object, spec, secret };
            let written = keycloak.write(&write).await?;
            let mut paths = differences(spec, &written.found.body);
            if secret.is_some_and(|secret| !written.found.has_secret(secret)) {
                paths.push(CLIENT_SECRET.to_owned());
            }
            let effect = if written.created { Effect::Created } else { Effect::Configured };
            Ok(match paths.is_empty() {
                true => done(action, effect, &written.found),
                false => kept_otherwise(action, &paths, &written.found),
            })
        }
        Verb::Delete { .. } => {
            if let Some(found) = keycloak.find(&action.object).await? {
                let object = archived(&action.object, found.body);
                sink.keep(action, Kept::Object(&object)).await.map_err(|why| unkept(action, &why))?;
            }
            keycloak.remove(&action.object, action.uid.as_deref().unwrap_or_default()).await?;
            Ok(outcome(action, Effect::Deleted, "gone".to_owned()))
        }
        _ => {
            let message = format!("{} is no object that a cluster has", action.object);
            Err(Refusal::new(RefusalKind::UnknownKind, message))
        }
    }
}

fn done(action: &Action, effect: Effect, found: &RealmFound) -> Outcome {
    let observed = observed(found, &action.hash);
    Outcome { observed: Some(observed), ..outcome(action, effect, String::new()) }
}

/// Returns the outcome of a write whose fields the server keeps otherwise. It is remembered as ours, and not as applied.
fn kept_otherwise(action: &Action, paths: &[String], found: &RealmFound) -> Outcome {
    let message = format!(
        "write {}: the server took it and keeps {} otherwise than declared ({})",
        action.object,
        paths.join(", "),
        action.source
    );
    let failed = outcome(action, Effect::Failed, short(&message));
    Outcome { error: Some(ErrorClass::User), observed: Some(observed(found, "")), ..failed }
}

fn observed(found: &RealmFound, hash: &str) -> Observed {
    Observed {
        uid: found.uid.clone(),
        resource_version: String::new(),
        generation: 0,
        fields: String::new(),
        time: String::new(),
        hash: hash.to_owned(),
    }
}

/// Returns an object that is about to be deleted in the form in which files have it.
fn archived(id: &ObjectId, body: Value) -> Object {
    let mut object = Object::default();
    object.0.insert("apiVersion".to_owned(), Value::from(REALM_API));
    object.0.insert("kind".to_owned(), Value::from(id.kind.as_str()));
    object.set_metadata_name(id);
    object.0.insert("spec".to_owned(), body);
    object
}
