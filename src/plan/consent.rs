//! Pure. A wanted object without a record: made if it is not there; otherwise its owner decides.
//!
//! Foreign objects are refused, never taken over silently. Not here: who the owner is (`owner`).

use super::action::{Blocked, DriftItem, Force};
use super::drift;
use super::fields;
use super::hook;
use super::kind;
use super::marks::MANAGER;
use super::snapshot::{Existing, Live, NamespaceState, Owner, Snapshot};
use super::wanted::Wanted;
use super::write::{Brings, Decision, Write, judged};
use crate::model::{AdoptPolicy, Record, RecordState};

/// Decides about a wanted object that we have no record of, or a record of another incarnation.
pub(super) fn decide(snapshot: &Snapshot, wanted: &Wanted) -> (Decision, Vec<DriftItem>) {
    let seen = snapshot.live.get(&wanted.id).map(from_live);
    let Some(existing) = snapshot.existing.get(&wanted.id).cloned().or(seen) else {
        return (has_run(snapshot, wanted).unwrap_or_else(|| absent(snapshot, wanted)), Vec::new());
    };
    match &existing.owner {
        Owner::Us { hash, .. } if *hash == wanted.hash => proven(snapshot, wanted, &existing),
        Owner::Us { fields, .. } if !fields.is_empty() => {
            let reason = format!("changed in {}", snapshot.commit.short());
            (over((snapshot, wanted, &existing), Brings::News, Force::No, reason), Vec::new())
        }
        // Our labels alone prove nothing: operators copy labels.
        Owner::Us { .. } | Owner::Nobody => (unowned(snapshot, wanted, &existing), Vec::new()),
        Owner::Released => {
            (over((snapshot, wanted, &existing), Brings::News, Force::Yes, "takes back what was kept"), Vec::new())
        }
        Owner::App(_) | Owner::Tool { .. } | Owner::Controller(_) if wanted.is_derived_namespace() => {
            (Decision::Leave, Vec::new())
        }
        Owner::App(app) => {
            let message = format!("{} belongs to app {app}", wanted.id.short());
            (
                blocked(wanted, "OwnedByApp", message, format!("remove it from one of the apps: wild app diff {app}")),
                Vec::new(),
            )
        }
        Owner::Tool { tool, mark } => {
            let message = format!("{} belongs to {tool}, by its {mark}", wanted.id.short());
            (
                blocked(wanted, "ForeignOwner", message, format!("remove it from {tool}, or its mark from the object")),
                Vec::new(),
            )
        }
        Owner::Controller(controller) => {
            let message = format!("{} belongs to {controller}, which would make it anew", wanted.id.short());
            (blocked(wanted, "ForeignOwner", message, String::new()), Vec::new())
        }
    }
}

/// Decides about a Job that is gone after its run and whose record was lost: it runs once.
fn has_run(snapshot: &Snapshot, wanted: &Wanted) -> Option<Decision> {
    snapshot.done.get(&wanted.id).filter(|hash| **hash == wanted.hash)?;
    Some(Decision::Recover(hook::remembered(snapshot, wanted, RecordState::Applied)))
}

/// Decides about an object that is not there.
fn absent(snapshot: &Snapshot, wanted: &Wanted) -> Decision {
    if wanted.is_derived_namespace() && snapshot.namespace_state == NamespaceState::Active {
        // It is there and nobody said whose it is: it serves as it is.
        return Decision::Leave;
    }
    let reason = format!("new in {}", snapshot.commit.short());
    Decision::Write(Write::of(snapshot, wanted, None, reason))
}

/// Decides about an object of ours whose record was lost: its fields prove that nothing has to be written.
fn proven(snapshot: &Snapshot, wanted: &Wanted, existing: &Existing) -> (Decision, Vec<DriftItem>) {
    let Owner::Us { hash, fields, time, generation } = &existing.owner else { return (Decision::Leave, Vec::new()) };
    let Some(managed) = existing.managed.as_ref().filter(|_| !fields.is_empty()) else {
        let write = over((snapshot, wanted, existing), Brings::Correction, Force::No, "its record was lost");
        return (write, Vec::new());
    };
    let (_, lost) = wanted.yields.split(fields::lost_leaves(&wanted.payload, managed, MANAGER));
    if !lost.is_empty() {
        let (decision, items) = judged(snapshot, wanted, drift::explained(&lost, time), Some(existing.uid.clone()));
        if decision != Decision::Leave {
            return (decision, items);
        }
    }
    let record = Record {
        id: wanted.id.clone(),
        api_version: wanted.payload.api_version().to_owned(),
        state: RecordState::Applied,
        uid: existing.uid.clone(),
        hash: hash.clone(),
        fields: fields.clone(),
        time: time.clone(),
        generation: *generation,
        created: false,
        commit: Some(snapshot.commit.clone()),
        audited: String::new(),
    };
    (Decision::Recover(record), Vec::new())
}

/// Decides about an object that nobody owns.
fn unowned(snapshot: &Snapshot, wanted: &Wanted, existing: &Existing) -> Decision {
    if wanted.id.kind == "Namespace" && kind::is_cluster_scoped(&wanted.id) {
        return over((snapshot, wanted, existing), Brings::News, Force::No, "marks the namespace that is there");
    }
    if snapshot.ask.adopt || snapshot.policy.adopt == AdoptPolicy::Unowned {
        return over((snapshot, wanted, existing), Brings::News, Force::Yes, "takes over what nobody owns");
    }
    let message = format!("{} is there already and nobody owns it", wanted.id.short());
    blocked(wanted, "AdoptionNeedsConsent", message, "set adopt: unowned in .wild/config.yaml".into())
}

/// Returns an apply over an object that is there and that we have no record of.
fn over(at: (&Snapshot, &Wanted, &Existing), brings: Brings, force: Force, reason: impl Into<String>) -> Decision {
    let (snapshot, wanted, existing) = at;
    let write = Write::of(snapshot, wanted, Some(existing.uid.clone()), reason.into());
    Decision::Write(Write { brings, force, ..write })
}

fn blocked(wanted: &Wanted, reason: &str, message: String, hint: String) -> Decision {
    Decision::Block(Blocked { object: Some(wanted.id.clone()), reason: reason.into(), message, hint }, None)
}

/// Reads a live object that a watch of our label showed and nobody looked at closer.
fn from_live(live: &Live) -> Existing {
    let owner = Owner::Us {
        hash: live.hash.clone(),
        fields: live.fields.clone(),
        time: live.time.clone(),
        generation: live.generation,
    };
    let (uid, managed, baseline) = (live.uid.clone(), live.managed.clone(), live.baseline.clone());
    Existing { uid, owner, managed, baseline, template: None }
}
