//! Reads both sides of an audited object: what it is, and what a forced apply would make of it, which is only tried.
//!
//! Not here: whose turn it is, and the comparison (`plan::audit`).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::{Object, ObjectId, OwnEntry, SecretPayloads};
use crate::plan::audit::{self, Probe};
use crate::plan::{Snapshot, TargetState};
use crate::target::{ApplyRequest, Mode, Ownership, Refusal, Target, with_values};

/// Compares the objects whose turn it is. One that cannot be compared now is left for another turn.
pub(super) async fn fill(
    snapshot: &mut Snapshot,
    payloads: &SecretPayloads,
    due: &BTreeSet<ObjectId>,
    target: &dyn Target,
) {
    if snapshot.target != TargetState::Reachable {
        return;
    }
    for id in due {
        let Some(probe) = audit::probe(snapshot, id) else { continue };
        match compare(snapshot, payloads, (id, &probe), target).await {
            Ok(Some(differences)) => _ = snapshot.audited.insert(id.clone(), differences),
            Ok(None) => {}
            Err(refusal) => {
                tracing::warn!(app = %snapshot.app, object = %id, error = %refusal, "an object was not audited")
            }
        }
    }
}

/// Returns the paths at which an object differs; nothing if it changed meanwhile or if its managed fields already say that somebody did
/// something to it, which its watch is about to tell.
async fn compare(
    snapshot: &Snapshot,
    payloads: &SecretPayloads,
    (id, probe): (&ObjectId, &Probe),
    target: &dyn Target,
) -> Result<Option<Vec<String>>, Refusal> {
    let api_version = probe.payload.api_version();
    let Some(live) = target.get(id, api_version).await? else { return Ok(None) };
    let known = snapshot.live.get(id).map(|live| (live.uid.as_str(), live.fields.as_str(), live.time.as_str()));
    let own = OwnEntry::of(live.at(&["metadata", "managedFields"]));
    if known != Some((text(&live, "uid"), own.fields.as_str(), own.time.as_str())) {
        return Ok(None);
    }
    let tried = target.apply(&trial(payloads, (id, probe))).await?.object;
    // Nothing is written, so another version says that somebody else wrote between the two requests.
    let is_same = text(&live, "resourceVersion") == text(&tried, "resourceVersion");
    Ok(is_same.then(|| probe.differences(&live, &tried)))
}

/// Returns the apply that shows what ours would change: nothing is written, and no holder of a field is asked.
pub(super) fn trial(payloads: &SecretPayloads, (id, probe): (&ObjectId, &Probe)) -> ApplyRequest {
    ApplyRequest {
        id: id.clone(),
        api_version: probe.payload.api_version().to_owned(),
        body: with_values(&probe.payload, payloads.get(id), Some(&probe.uid)),
        ownership: Ownership::Take,
        mode: Mode::DryRun,
        hash: String::new(),
        is_partial: false,
    }
}

fn text<'a>(object: &'a Object, key: &str) -> &'a str {
    object.at(&["metadata", key]).and_then(Value::as_str).unwrap_or("")
}
