//! Pure. A wanted object without a record: made if it is not there; otherwise its owner decides.
//!
//! Foreign objects are refused, never taken over silently. Not here: who the owner is (`owner`).

use super::action::{Blocked, DriftItem, Extras, Force, WakeOn};
use super::drift;
use super::fields;
use super::hook;
use super::kind;
use super::marks::MANAGER;
use super::snapshot::{Claim, Desired, DesiredObject, Existing, Live, NamespaceState, Owner, Presence, Snapshot};
use super::wanted::Wanted;
use super::write::{Brings, Decision, Write, judged};
use crate::model::{AdoptPolicy, AppName, ObjectId, Record, RecordState};

/// Fields that are named in a sentence.
const MAX_NAMED: usize = 10;

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
        Owner::Us { .. } | Owner::Nobody => (nobodys(snapshot, wanted, &existing), Vec::new()),
        Owner::Released => {
            let decision = over((snapshot, wanted, &existing), Brings::News, Force::Yes, "takes back what was kept");
            (adopting(decision), Vec::new())
        }
        Owner::App(_) | Owner::Tool { .. } | Owner::Controller(_) if wanted.is_derived_namespace() => {
            (Decision::Leave, Vec::new())
        }
        Owner::App(_) if given_up(snapshot, &wanted.id).is_some() => {
            (over((snapshot, wanted, &existing), Brings::News, Force::No, news(snapshot, wanted)), Vec::new())
        }
        Owner::App(app) => {
            let other = rival(snapshot, &wanted.id).unwrap_or(app);
            let message = match rival(snapshot, &wanted.id) {
                Some(other) if other == app => {
                    format!("{} belongs to app {app}, which wants it too", wanted.id.short())
                }
                Some(other) => format!("{} belongs to app {app}, and app {other} wants it too", wanted.id.short()),
                None => format!("{} belongs to app {app}", wanted.id.short()),
            };
            let hint = format!("remove it from one of the apps: wild app diff {other}");
            // The other app may give it up.
            let wake_on = AppName::parse(app).ok().map(WakeOn::App);
            let blocked = Blocked { object: Some(wanted.id.clone()), reason: "OwnedByApp".into(), message, hint };
            (Decision::Block(blocked, wake_on), Vec::new())
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

/// Returns the app that an object comes from which moves here in this revision.
pub(super) fn given_up<'a>(snapshot: &'a Snapshot, id: &ObjectId) -> Option<&'a AppName> {
    match snapshot.claims.get(id) {
        Some(Claim::GivenUp(app)) => Some(app),
        Some(Claim::Wanted(_) | Claim::Possible(_)) | None => None,
    }
}

/// Returns another app of the revision that wants an object.
fn rival<'a>(snapshot: &'a Snapshot, id: &ObjectId) -> Option<&'a str> {
    match snapshot.claims.get(id) {
        Some(Claim::Wanted(app) | Claim::Possible(app)) => Some(app.as_str()),
        Some(Claim::GivenUp(_)) | None => None,
    }
}

/// Returns why an object that is there is written.
pub(super) fn news(snapshot: &Snapshot, wanted: &Wanted) -> String {
    match given_up(snapshot, &wanted.id) {
        Some(app) => format!("moves here from app {app}"),
        None => format!("changed in {}", snapshot.commit.short()),
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
        cluster: snapshot.cluster.clone(),
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

/// Returns the objects that nobody owns and that wait for a word before they are taken over.
pub fn unowned(snapshot: &Snapshot) -> Vec<ObjectId> {
    let Desired::Objects(objects) = &snapshot.desired else { return Vec::new() };
    if snapshot.presence != Presence::Kept || snapshot.ask.adopt || snapshot.policy.adopt == AdoptPolicy::Unowned {
        return Vec::new();
    }
    let is_nobodys = |desired: &&DesiredObject| {
        let owner = snapshot.existing.get(&desired.object.id()).map(|existing| &existing.owner);
        match owner {
            Some(Owner::Nobody) => true,
            Some(Owner::Us { hash, fields, .. }) => fields.is_empty() && *hash != desired.hash,
            Some(Owner::Released | Owner::App(_) | Owner::Tool { .. } | Owner::Controller(_)) | None => false,
        }
    };
    let ids = objects.iter().filter(is_nobodys).map(|desired| desired.object.id());
    ids.filter(|id| !(id.kind == "Namespace" && kind::is_cluster_scoped(id))).collect()
}

/// Returns what taking an object over would change, as the rest of a sentence; empty if it was not tried.
fn consequence(snapshot: &Snapshot, id: &ObjectId) -> String {
    let Some(changes) = snapshot.contact.get(id) else { return String::new() };
    if changes.is_empty() {
        return "; taking it over would change nothing".into();
    }
    let named: Vec<&str> = changes.iter().take(MAX_NAMED).map(String::as_str).collect();
    let more = changes.len().saturating_sub(named.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("; taking it over would change {}{more}", named.join(", "))
}

/// Decides about an object that nobody owns.
fn nobodys(snapshot: &Snapshot, wanted: &Wanted, existing: &Existing) -> Decision {
    if wanted.id.kind == "Namespace" && kind::is_cluster_scoped(&wanted.id) {
        let at = (snapshot, wanted, existing);
        return adopting(over(at, Brings::News, Force::No, "marks the namespace that is there"));
    }
    if snapshot.ask.adopt || snapshot.policy.adopt == AdoptPolicy::Unowned {
        return adopting(over((snapshot, wanted, existing), Brings::News, Force::Yes, "takes over what nobody owns"));
    }
    let consequence = consequence(snapshot, &wanted.id);
    let message = format!("{} is there already and nobody owns it{consequence}", wanted.id.short());
    blocked(wanted, "AdoptionNeedsConsent", message, format!("wild app deploy {} --adopt", snapshot.app))
}

/// Returns an apply over an object that is there and that we have no record of.
fn over(at: (&Snapshot, &Wanted, &Existing), brings: Brings, force: Force, reason: impl Into<String>) -> Decision {
    let (snapshot, wanted, existing) = at;
    let write = Write::of(snapshot, wanted, Some(existing.uid.clone()), reason.into());
    Decision::Write(Write { brings, force, ..write })
}

/// Returns the apply that takes an object over: what people hold of it beside git stays as it is.
fn adopting(decision: Decision) -> Decision {
    match decision {
        Decision::Write(write) => Decision::Write(Write { extras: Extras::Keep, ..write }),
        other => other,
    }
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
