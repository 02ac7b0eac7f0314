//! Pure. What people added to an object beside what git says, by their own managers, and what becomes of it.
//!
//! Additions are no drift of our fields and never hold a correction of those back. Not here: which managers are people's
//! (`model::additions`), what editors held before we took an object over, which stays theirs (`editors`).

use std::collections::BTreeMap;

use serde_json::Value;

use super::action::{DriftItem, DriftKind, Extras, Force, Verdict};
use super::drift::{self, Difference};
use super::fields::{self, Holder, LostLeaf};
use super::fight::HeldFields;
use super::hold;
use super::marks::MANAGER;
use super::snapshot::{Live, Snapshot};
use super::wanted::Wanted;
use super::write::{Brings, Decision, Write};
use crate::model::{DriftPolicy, Editors, ExtraPolicy, Object, additions};

/// Adds to what was decided about an object what becomes of the additions to it.
pub(super) fn judge(
    snapshot: &Snapshot,
    wanted: &Wanted,
    (decision, mut items): (Decision, Vec<DriftItem>),
) -> (Decision, Vec<DriftItem>) {
    let Some(live) = snapshot.live.get(&wanted.id) else { return (decision, items) };
    let found = found(live, wanted);
    let Some(verdict) = verdict(snapshot, wanted).filter(|_| !found.is_empty()) else { return (decision, items) };
    let fought = HeldFields::of(snapshot, wanted);
    let is_held =
        hold::until(snapshot, &wanted.id).is_some() || found.iter().any(|it| fought.until(&it.paths).is_some());
    let decision = match decision {
        Decision::Leave if verdict == Verdict::Revert && !is_held => {
            let write = Write::of(snapshot, wanted, Some(live.uid.clone()), "takes away what was added".into());
            Decision::Write(Write { brings: Brings::Correction, force: Force::Yes, extras: Extras::Remove, ..write })
        }
        Decision::Write(write) if verdict == Verdict::Revert && write.uid.is_some() => {
            Decision::Write(Write { extras: Extras::Remove, ..write })
        }
        other => other,
    };
    let goes = matches!(&decision, Decision::Write(write) if write.extras == Extras::Remove);
    let verdict = if goes { Verdict::Revert } else { Verdict::Report };
    items.extend(found.into_iter().map(|difference| drift::item(&wanted.id, difference, verdict)));
    (decision, items)
}

/// Returns the additions that no rule leaves to who made them, by who that was.
fn found(live: &Live, wanted: &Wanted) -> Vec<Difference> {
    let Some(managed) = &live.managed else { return Vec::new() };
    let (_, left) = wanted.yields.split(leaves(&wanted.payload, managed, wanted.yields.editors()));
    let mut groups: BTreeMap<Holder, Difference> = BTreeMap::new();
    for leaf in left {
        let holder = leaf.holder.clone().unwrap_or_default();
        let group = groups.entry(holder.clone()).or_insert_with(|| Difference {
            kind: DriftKind::Extra,
            paths: Vec::new(),
            keys: Vec::new(),
            holder,
            harmless: true,
        });
        group.harmless &= drift::is_own_metadata(&leaf);
        group.paths.push(leaf.path);
    }
    groups.into_values().collect()
}

/// Returns what people added. What git has as well was taken from us, which is told as such.
pub(super) fn leaves(payload: &Object, managed: &Value, editors: &Editors) -> Vec<LostLeaf> {
    let lost = fields::lost_leaves(payload, managed, MANAGER);
    let mut leaves: Vec<LostLeaf> = additions(Some(managed), editors).iter().map(fields::leaf_of).collect();
    leaves.retain(|leaf| lost.iter().all(|lost| !leaf.keys.starts_with(&lost.keys)));
    leaves
}

fn verdict(snapshot: &Snapshot, wanted: &Wanted) -> Option<Verdict> {
    let is_off = drift::policy(&wanted.payload).unwrap_or(snapshot.policy.drift) == DriftPolicy::Off;
    match snapshot.policy.extra {
        ExtraPolicy::Keep => None,
        ExtraPolicy::Report | ExtraPolicy::Remove if snapshot.ask.correct.is_about(&wanted.id) => Some(Verdict::Revert),
        ExtraPolicy::Report | ExtraPolicy::Remove if is_off => None,
        ExtraPolicy::Report => Some(Verdict::Report),
        ExtraPolicy::Remove => Some(Verdict::Revert),
    }
}
