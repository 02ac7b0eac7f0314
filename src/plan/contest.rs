//! Pure. Fields of ours that other managers than people's hold, where the settings do not say that they are taken over.
//!
//! Either such a field stays with who holds it and is told as drift, or the object is held back. Not here: which fields those are (`yields`),
//! what a server says about them when it is asked (`conflict`).

use super::action::{Blocked, DriftItem, Verdict};
use super::drift;
use super::snapshot::Snapshot;
use super::wanted::Wanted;
use super::write::Decision;
use super::yields;
use crate::model::{ConflictPolicy, ObjectId};

/// Reason of an object that is held back because of fields.
pub const FIELD_CONFLICT: &str = "FieldConflict";

/// Adds to what was decided about an object what becomes of the fields of it that others hold.
pub(super) fn judge(
    snapshot: &Snapshot,
    wanted: &Wanted,
    (decision, mut items): (Decision, Vec<DriftItem>),
) -> (Decision, Vec<DriftItem>) {
    let found = yields::of_live(snapshot.live.get(&wanted.id), &wanted.payload, &wanted.yields);
    let contested: Vec<_> = found.into_iter().filter_map(|yielded| yielded.contested).collect();
    if contested.is_empty() {
        return (decision, items);
    }
    let name = |leaf: &super::fields::LostLeaf| {
        (leaf.path.clone(), leaf.holder.as_ref().map(|holder| holder.manager.clone()).unwrap_or_default())
    };
    let named: Vec<(String, String)> = contested.iter().map(name).collect();
    let told =
        drift::explained(&contested, "").into_iter().filter(|it| drift::verdict(snapshot, wanted, it.kind).is_some());
    let before = items.len();
    items.extend(told.map(|it| drift::item(&wanted.id, it, Verdict::Report)));
    if decision == Decision::Leave && items.len() == before {
        // Nobody is to look, and nothing is to be written.
        return (decision, items);
    }
    match (wanted.yields.conflicts(), &decision) {
        (ConflictPolicy::Block, Decision::Leave | Decision::Report | Decision::Write(_)) => {
            let blocked = Blocked {
                object: Some(wanted.id.clone()),
                reason: FIELD_CONFLICT.into(),
                message: held_by_others(&wanted.id, &named),
                hint: format!("wild drift revert {}", snapshot.app),
            };
            (Decision::Block(blocked, None), items)
        }
        _ => (decision, items),
    }
}

/// Returns the sentence about an object that is held back because others hold fields of it.
pub fn held_by_others(object: &ObjectId, fields: &[(String, String)]) -> String {
    let all: Vec<String> =
        fields.iter().map(|(field, manager)| format!("{} by {manager}", field.trim_start_matches('.'))).collect();
    format!("fields of {} are held by others: {}", object.short(), all.join(", "))
}
