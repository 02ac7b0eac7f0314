//! Pure. What becomes of objects whose new content is held back: they are kept as they were applied last.
//!
//! What that was is built again from the commit that brought it (`Snapshot::before`); of what cannot be built nothing is said. Not here: what
//! holds new content back (`line`), building it again (`observe`).

use std::collections::{BTreeMap, BTreeSet};

use super::action::{DriftItem, Plan, Verdict};
use super::kind;
use super::line;
use super::marks;
use super::snapshot::{Desired, DesiredObject, Freshness, Live, NamespaceState, Presence, Snapshot};
use super::wanted::Wanted;
use super::write::{self, Brings, Decision, Write};
use crate::model::{CommitId, ObjectId, Record, RecordState};

/// Returns the commits that brought objects which are wanted otherwise now, or of which nothing is known any more, and which somebody changed
/// since, each with those objects: if what is new waits, they are put back. Nothing while nobody changes anything.
pub fn strayed(snapshot: &Snapshot) -> BTreeMap<CommitId, BTreeSet<ObjectId>> {
    let mut commits: BTreeMap<CommitId, BTreeSet<ObjectId>> = BTreeMap::new();
    if snapshot.presence != Presence::Kept {
        return commits;
    }
    for record in snapshot.inventory.records().filter(|record| differs(snapshot, record)) {
        if let Some(commit) = record.commit.clone().filter(|_| is_wanted_otherwise(snapshot, record)) {
            commits.entry(commit).or_default().insert(record.id.clone());
        }
    }
    commits
}

/// Returns whether an object is not as we left it, as far as the watch tells. A Job runs once.
fn differs(snapshot: &Snapshot, record: &Record) -> bool {
    let is_as_left = |live: &Live| live.uid == record.uid && live.fields == record.fields && live.time == record.time;
    let is_ours = record.state == RecordState::Applied && !record.is_partial() && !kind::is_job(&record.id);
    is_ours
        && !snapshot.live.get(&record.id).is_some_and(is_as_left)
        && snapshot.freshness_of(&record.id) == Freshness::Fresh
}

/// Returns whether git says something else of an object than what was applied; where it cannot be read, or is empty, it says nothing.
fn is_wanted_otherwise(snapshot: &Snapshot, record: &Record) -> bool {
    match &snapshot.desired {
        Desired::Unreadable(_) | Desired::Leaking(_) => true,
        Desired::Objects(objects) if objects.is_empty() => true,
        Desired::Objects(objects) => {
            objects.iter().any(|desired| desired.hash != record.hash && desired.object.id() == record.id)
        }
    }
}

/// Puts back what was applied of objects whose new content is not among these writes; returns the corrections and tells the drift.
pub(super) fn restore(snapshot: &Snapshot, written: &BTreeSet<ObjectId>, plan: &mut Plan) -> Vec<(Wanted, Write)> {
    let mut writes = Vec::new();
    if matches!(snapshot.namespace_state, NamespaceState::Terminating(_)) {
        return writes;
    }
    for (id, before) in snapshot.before.iter().filter(|(id, _)| !written.contains(*id) && !kind::is_job(id)) {
        let Some(record) = snapshot.inventory.get(id).filter(|record| record.state == RecordState::Applied) else {
            continue;
        };
        let wanted = as_applied(snapshot, before, record);
        if wanted.refused.is_some() {
            continue;
        }
        let (decision, items) = write::decide(snapshot, &wanted);
        match decision {
            Decision::Write(mut write) if write.brings == Brings::Correction && has_its_values(id) => {
                tell(plan, id, items);
                line::hold_fought(write.fought.take(), plan);
                writes.push((wanted, write));
            }
            Decision::Write(Write { brings: Brings::Correction, .. }) => {
                tell(plan, id, items.into_iter().map(|item| DriftItem { verdict: Verdict::Report, ..item }).collect());
            }
            Decision::Hold(blocked, until) => {
                tell(plan, id, items);
                line::hold_fought(Some((blocked, until)), plan);
            }
            Decision::Report => tell(plan, id, items),
            Decision::Leave | Decision::Recover(_) | Decision::Write(_) | Decision::Block(..) => {}
        }
    }
    writes
}

/// Returns whether what would be sent is what was applied: of Secrets only the values of now are at hand.
fn has_its_values(id: &ObjectId) -> bool {
    id.kind != "Secret"
}

/// Returns an object as it was applied, with the marks of then.
fn as_applied(snapshot: &Snapshot, before: &DesiredObject, record: &Record) -> Wanted {
    let mut wanted = Wanted::new(snapshot, before);
    if let Some(commit) = &record.commit {
        wanted.payload.set_annotation(marks::COMMIT, commit.as_str());
    }
    wanted
}

fn tell(plan: &mut Plan, id: &ObjectId, items: Vec<DriftItem>) {
    if !items.is_empty() {
        plan.drift.retain(|item| item.object != *id);
        plan.drift.extend(items);
    }
}
