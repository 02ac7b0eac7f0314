//! Fills in the values of drifted fields by one read per object. Values of Secrets are never read, and where somebody wrote one into another
//! object, or under the name of a secret, it is hidden.
//!
//! Not here: finding the fields (`plan`).

use std::collections::BTreeMap;

use crate::model::{DriftState, Object, ObjectId, Secrets, Veil, value_at};
use crate::plan::{Desired, DriftItem, DriftKind, Snapshot, archive};
use crate::target::Target;

/// Fields of one object that a report holds; an object that lost more is drifted as a whole.
const MAX_FIELDS: usize = 50;

/// Returns the drift of a plan as people are shown it. An object that cannot be read now is shown without live values.
pub async fn explain(
    snapshot: &Snapshot,
    drift: &[DriftItem],
    secrets: &Secrets,
    target: &dyn Target,
) -> Vec<DriftState> {
    let mut wanted: BTreeMap<ObjectId, &Object> = BTreeMap::new();
    if let Desired::Objects(objects) = &snapshot.desired {
        wanted.extend(objects.iter().map(|desired| (desired.object.id(), &desired.object)));
    }
    let mut explained = Vec::new();
    for item in drift.iter().filter(|item| item.kind != DriftKind::Bookkeeping) {
        let desired = wanted.get(&item.object).copied();
        let secret = item.object.group.is_empty() && item.object.kind == "Secret";
        let read = match item.kind {
            DriftKind::Changed | DriftKind::Removed | DriftKind::Extra | DriftKind::AuditMismatch => !secret,
            DriftKind::Bookkeeping | DriftKind::Missing | DriftKind::Replaced | DriftKind::OwnershipLost => false,
        };
        let whole = snapshot.live.get(&item.object).and_then(|live| live.whole.clone());
        let live = match (read, desired) {
            (true, Some(_)) if whole.is_some() => whole,
            (true, Some(desired)) => target.get(&item.object, desired.api_version()).await.ok().flatten(),
            _ => None,
        };
        let state = |path: &str| {
            let wanted = desired.filter(|_| !secret).and_then(|object| value_at(object, path));
            let found = live.as_ref().and_then(|object| value_at(object, path));
            let [desired, live] = Veil::default().pair(path, wanted.as_ref(), found.as_ref());
            DriftState {
                object: item.object.clone(),
                kind: word(item.kind).to_owned(),
                path: path.to_owned(),
                desired,
                live: live.map(|value| archive::mask(&value, secrets)),
                manager: item.manager.clone(),
                since: item.since.clone(),
                harmless: item.harmless,
            }
        };
        if item.paths.is_empty() {
            explained.push(state(""));
        }
        explained.extend(item.paths.iter().take(MAX_FIELDS).map(|path| state(path)));
    }
    explained
}

fn word(kind: DriftKind) -> &'static str {
    match kind {
        DriftKind::Changed => "changed",
        DriftKind::Removed => "removed",
        DriftKind::Bookkeeping => "bookkeeping",
        DriftKind::Missing => "missing",
        DriftKind::Replaced => "replaced",
        DriftKind::OwnershipLost => "ownership-lost",
        DriftKind::Extra => "extra",
        DriftKind::AuditMismatch => "audit-mismatch",
    }
}
