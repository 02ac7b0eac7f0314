//! Looks at what is on its way for a while: the pods of its workloads, the storage class of a claim, the definition of a custom kind.
//!
//! What cannot be seen changes nothing: then an object is what it says of itself. Not here: when a look is due, and what follows (`plan`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::live::{Seen, seen};
use crate::model::{Object, ObjectId};
use crate::plan::{Presence, Snapshot, Underway, unused_claims};
use crate::target::{Kind, Refusal, Target};

/// What a storage class says that gives a claim its volume only when a pod uses it.
const WAITS: &str = "WaitForFirstConsumer";
/// Claims of an app whose storage class is asked for in one pass.
const MAX_CLAIMS: usize = 50;

/// Fills in what no single object shows, and for how long objects are on their way.
pub(super) async fn fill(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    if snapshot.presence != Presence::Kept {
        snapshot.underway = Underway::default();
        return Ok(());
    }
    fill_unspoken(snapshot, target).await?;
    fill_unclaimed(snapshot, target).await?;
    let mut underway = Underway::of(snapshot);
    if underway.is_look_due(snapshot.now) {
        match seen(target.pods(&snapshot.namespace).await)? {
            Seen::Answer(pods) => underway.look(Some(&pods), snapshot.now),
            Seen::Refused(_) => underway.look(None, snapshot.now),
        }
    }
    snapshot.underway = underway;
    Ok(())
}

/// Finds the objects of whose kind the definition says that a controller tells of them.
async fn fill_unspoken(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    let silent = snapshot.live.iter().filter(|(_, live)| live.unspoken && !live.terminating).map(|(id, _)| id);
    let silent: Vec<ObjectId> = silent.cloned().collect();
    for id in silent {
        let record = snapshot.inventory.get(&id);
        let Some(kind) = record.map(|record| Kind::of(&id, &record.api_version)) else { continue };
        if let Seen::Answer(true) = seen(target.declares_status(&kind).await)? {
            snapshot.unspoken.insert(id);
        }
    }
    Ok(())
}

/// Finds the claims that get a volume only when a pod uses them, among those that no pod of the app is going to use.
async fn fill_unclaimed(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    let unused: BTreeSet<ObjectId> = unused_claims(snapshot);
    for id in unused.into_iter().take(MAX_CLAIMS) {
        let Seen::Answer(Some(claim)) = seen(target.get(&id, "v1").await)? else { continue };
        let name = text(&claim, &["spec", "storageClassName"]);
        let class = ObjectId::new("storage.k8s.io", "StorageClass", "", name);
        if name.is_empty() {
            continue;
        }
        let Seen::Answer(Some(class)) = seen(target.get(&class, "storage.k8s.io/v1").await)? else { continue };
        if text(&class, &["volumeBindingMode"]) == WAITS {
            snapshot.unclaimed.insert(id);
        }
    }
    Ok(())
}

fn text<'a>(object: &'a Object, path: &[&str]) -> &'a str {
    object.at(path).and_then(Value::as_str).unwrap_or("")
}
