//! Pure. Drift: how a live object differs from what we applied, and what is done about it.
//!
//! The record keeps uid, digest of our fields and time of our entry from the answer to our last write; an object that
//! shows the same three is as we left it. Not here: reading managed fields (`fields`).

use std::collections::BTreeMap;

use super::action::{DriftItem, DriftKind, Verdict};
use super::fields::{self, Holder, LostLeaf};
use super::marks::{ENGINE_MARKS, MANAGER};
use super::snapshot::{Live, Snapshot};
use super::wanted::Wanted;
use super::yields::Yields;
use crate::model::{DriftPolicy, Object, ObjectId, Record, value_at};

/// Annotation by which an author says what is done about the drift of one object.
const DRIFT: &str = "rewild.dev/drift";

/// A difference, before anything is decided about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Difference {
    pub(super) kind: DriftKind,
    pub(super) paths: Vec<String>,
    /// The same fields by their keys; nothing where they are not known.
    pub(super) keys: Vec<Vec<String>>,
    pub(super) holder: Holder,
    pub(super) harmless: bool,
}

impl Difference {
    fn whole(kind: DriftKind) -> Self {
        Self { kind, paths: Vec::new(), keys: Vec::new(), holder: Holder::default(), harmless: false }
    }
}

/// Returns how a live object differs from the record; nothing if it is as we left it, or if only what is left to others changed.
pub(super) fn differences(record: &Record, live: Option<&Live>, payload: &Object, yields: &Yields) -> Vec<Difference> {
    let Some(live) = live else { return vec![Difference::whole(DriftKind::Missing)] };
    if live.uid != record.uid {
        return vec![Difference::whole(DriftKind::Replaced)];
    }
    if is_older(record, live) {
        return Vec::new();
    }
    if live.fields.is_empty() {
        return vec![Difference::whole(DriftKind::OwnershipLost)];
    }
    if live.fields == record.fields && live.time == record.time {
        return Vec::new();
    }
    match &live.managed {
        Some(managed) => {
            let lost = fields::lost_leaves(payload, managed, MANAGER);
            let (yielded, lost) = yields.split(lost);
            if lost.is_empty() && !yielded.is_empty() {
                return Vec::new();
            }
            let mut differences = explained(&lost, &live.time);
            for difference in &mut differences {
                // Somebody holds our field with our value: only the ownership is to be taken back, which nobody need be told.
                if difference.kind == DriftKind::Changed && has_our_values(difference, live, payload) {
                    difference.kind = DriftKind::Bookkeeping;
                }
            }
            differences
        }
        // Who holds what we left out could not be asked, so nothing is taken from anybody.
        None if record.is_partial() => Vec::new(),
        None => vec![Difference::whole(DriftKind::Changed)],
    }
}

/// Returns whether all that was taken from us has the value that we want, as far as the object was read.
fn has_our_values(difference: &Difference, live: &Live, payload: &Object) -> bool {
    let Some(whole) = &live.whole else { return false };
    let same = |path: &String| value_at(payload, path).is_some_and(|wanted| value_at(whole, path) == Some(wanted));
    !difference.paths.is_empty() && difference.paths.iter().all(same)
}

/// Groups lost leaves by what happened and who holds them now.
pub(super) fn explained(lost: &[LostLeaf], time: &str) -> Vec<Difference> {
    if lost.is_empty() {
        // Nothing of ours is gone and the entry is another one: somebody applied under our name.
        let holder =
            Holder { manager: MANAGER.into(), operation: "Apply".into(), time: time.to_owned(), ..Holder::default() };
        return vec![Difference { holder, ..Difference::whole(DriftKind::Changed) }];
    }
    let mut groups: BTreeMap<(u8, Holder), Difference> = BTreeMap::new();
    for leaf in lost {
        let (order, kind) = match (is_mark(&leaf.keys), &leaf.holder) {
            (true, _) => (2, DriftKind::Bookkeeping),
            (false, Some(_)) => (0, DriftKind::Changed),
            (false, None) => (1, DriftKind::Removed),
        };
        let holder = leaf.holder.clone().unwrap_or_default();
        let group = groups.entry((order, holder.clone())).or_insert_with(|| Difference {
            kind,
            paths: Vec::new(),
            keys: Vec::new(),
            holder,
            harmless: true,
        });
        group.harmless &= is_own_metadata(leaf);
        group.paths.push(leaf.path.clone());
        group.keys.push(leaf.keys.clone());
    }
    groups.into_values().collect()
}

/// Returns what the slow audit found about an object of which managed fields say nothing.
pub(super) fn mismatch(snapshot: &Snapshot, id: &ObjectId) -> Option<Difference> {
    let paths = snapshot.audited.get(id).filter(|paths| !paths.is_empty())?;
    Some(Difference { paths: paths.clone(), ..Difference::whole(DriftKind::AuditMismatch) })
}

/// Returns what is done about a difference; nothing if nobody is to look.
pub(super) fn verdict(snapshot: &Snapshot, wanted: &Wanted, kind: DriftKind) -> Option<Verdict> {
    if snapshot.ask.correct.is_about(&wanted.id) {
        return Some(Verdict::Revert);
    }
    match (policy(&wanted.payload).unwrap_or(snapshot.policy.drift), kind) {
        (DriftPolicy::Off, _) => None,
        // Our own marks are nobody's choice, and other rules stand on them.
        (DriftPolicy::Correct, _) | (DriftPolicy::Report, DriftKind::Bookkeeping) => Some(Verdict::Revert),
        (
            DriftPolicy::Report,
            DriftKind::Changed
            | DriftKind::Removed
            | DriftKind::Missing
            | DriftKind::Replaced
            | DriftKind::OwnershipLost
            | DriftKind::Extra
            | DriftKind::AuditMismatch,
        ) => Some(Verdict::Report),
    }
}

/// Returns what the author of an object says about its drift.
pub fn policy(object: &Object) -> Option<DriftPolicy> {
    match object.annotation(DRIFT)? {
        "correct" => Some(DriftPolicy::Correct),
        "report" => Some(DriftPolicy::Report),
        "off" => Some(DriftPolicy::Off),
        _ => None,
    }
}

/// Returns the drift as the plan shows it.
pub(super) fn item(object: &ObjectId, difference: Difference, verdict: Verdict) -> DriftItem {
    let Difference { kind, paths, keys: _, holder, harmless } = difference;
    let Holder { manager, operation, subresource, time } = holder;
    let how = if subresource.is_empty() { operation } else { format!("{operation} {subresource}") };
    DriftItem { object: object.clone(), kind, paths, manager, how, since: time, harmless, verdict }
}

/// Returns whether the watch still shows the object as it was before our last write, which proves nothing about now.
fn is_older(record: &Record, live: &Live) -> bool {
    // The server writes all times in one form, so their texts compare as times do.
    live.generation < record.generation || (!live.time.is_empty() && live.time < record.time)
}

/// Returns whether a field is a mark of ours.
pub(super) fn is_mark(keys: &[String]) -> bool {
    match keys {
        [top, section, key] => top == "metadata" && ENGINE_MARKS.contains(&(section.as_str(), key.as_str())),
        _ => false,
    }
}

/// Returns whether a field is a label or an annotation of the object itself, by which nothing runs.
pub(super) fn is_own_metadata(leaf: &LostLeaf) -> bool {
    match leaf.keys.as_slice() {
        [top, section, ..] => top == "metadata" && (section == "labels" || section == "annotations"),
        _ => false,
    }
}
