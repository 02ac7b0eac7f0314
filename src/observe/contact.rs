//! First contact with objects that nobody owns: what taking them over would change, by one read and one apply that is only tried.
//!
//! Secrets are never read. What cannot be tried is left out: that an object is there is known without it. Not here: whether it may be taken
//! over (`plan`).

use super::live::{Seen, seen};
use crate::model::{ObjectId, SecretPayloads};
use crate::plan::audit::Probe;
use crate::plan::{Snapshot, TargetState, audit, unowned};
use crate::target::{Refusal, Target};

/// Objects of an app that are tried in one pass.
const MAX_OBJECTS: usize = 50;

/// Fills in what would change of the objects that wait for consent.
pub(super) async fn fill(
    snapshot: &mut Snapshot,
    payloads: &SecretPayloads,
    target: &dyn Target,
) -> Result<(), Refusal> {
    if snapshot.target != TargetState::Reachable {
        return Ok(());
    }
    for id in unowned(snapshot).into_iter().take(MAX_OBJECTS) {
        let Some(probe) = audit::first_contact(snapshot, &id) else { continue };
        if let Some(changes) = changes(payloads, (&id, &probe), target).await? {
            snapshot.contact.insert(id, changes);
        }
    }
    Ok(())
}

/// Returns the paths that an apply would change; nothing if nobody can tell.
async fn changes(
    payloads: &SecretPayloads,
    (id, probe): (&ObjectId, &Probe),
    target: &dyn Target,
) -> Result<Option<Vec<String>>, Refusal> {
    let api_version = probe.payload.api_version();
    let Seen::Answer(Some(live)) = seen(target.get(id, api_version).await)? else { return Ok(None) };
    let Seen::Answer(tried) = seen(target.apply(&super::audit::trial(payloads, (id, probe))).await)? else {
        return Ok(None);
    };
    Ok(Some(probe.changes(live, tried.object)))
}
