//! The volumes of claims that go with their app, and those that are held since.
//!
//! Asked for only where an app is removed with its data or its author lets a claim go, and where something is held. Not here: what follows (`plan::volume`).

use serde_json::Value;

use super::live::{Seen, seen};
use crate::model::{HeldVolume, Object, ObjectId, RECLAIM_POLICY};
use crate::plan::volume::{RETAIN, claim_of, is_claim};
use crate::plan::{ClaimState, ClaimedVolume, Held, Presence, Snapshot, VolumeState, archive, prune};
use crate::target::{Refusal, Target};

/// Where a volume says what becomes of it.
const RECLAIM: [&str; 2] = ["spec", "persistentVolumeReclaimPolicy"];

/// Fills in the volumes of claims that may go, and what is held.
pub(super) async fn fill(snapshot: &mut Snapshot, held: &[HeldVolume], target: &dyn Target) -> Result<(), Refusal> {
    if !snapshot.policy.data_grace.is_zero() {
        fill_claimed(snapshot, target).await?;
    }
    for volume in held {
        let held = look(volume, target).await?;
        snapshot.held.push(held);
    }
    Ok(())
}

/// Returns whether an object may go that is never pruned without a word of its author.
pub(super) fn may_go(snapshot: &Snapshot, id: &ObjectId) -> bool {
    match snapshot.presence {
        Presence::RemovedWithData => true,
        Presence::Kept => prune::is_let_go(snapshot, id),
        Presence::Added | Presence::RemovedKeepingData | Presence::Vanished | Presence::Moves => false,
    }
}

async fn fill_claimed(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    let is_there = |id: &ObjectId| snapshot.live.get(id).is_some_and(|live| !live.terminating);
    let goes = |id: &ObjectId| is_claim(id) && is_there(id) && may_go(snapshot, id);
    let claims: Vec<ObjectId> =
        snapshot.inventory.records().map(|record| &record.id).filter(|id| goes(id)).cloned().collect();
    for id in claims {
        match claimed(&id, target).await? {
            Seen::Answer(volume) => _ = snapshot.volumes.insert(id, volume),
            Seen::Refused(why) => _ = snapshot.unseen.insert(id, why),
        }
    }
    Ok(())
}

/// Returns the volume of a claim; nothing if it has none, or one that is not its own.
async fn claimed(id: &ObjectId, target: &dyn Target) -> Result<Seen<Option<ClaimedVolume>>, Refusal> {
    let claim = match seen(target.get(id, "v1").await)? {
        Seen::Answer(Some(claim)) => claim,
        Seen::Answer(None) => return Ok(Seen::Answer(None)),
        Seen::Refused(why) => return Ok(Seen::Refused(why)),
    };
    let name = text(&claim, &["spec", "volumeName"]);
    if name.is_empty() {
        return Ok(Seen::Answer(None));
    }
    let volume = match seen(target.get(&volume_id(name), "v1").await)? {
        Seen::Answer(volume) => volume,
        Seen::Refused(why) => return Ok(Seen::Refused(why)),
    };
    let is_own = |volume: &Object| text(volume, &["spec", "claimRef", "uid"]) == text(&claim, &["metadata", "uid"]);
    Ok(Seen::Answer(volume.filter(is_own).map(|volume| ClaimedVolume {
        name: name.to_owned(),
        uid: text(&volume, &["metadata", "uid"]).to_owned(),
        policy: volume.annotation(RECLAIM_POLICY).unwrap_or(text(&volume, &RECLAIM)).to_owned(),
        stays: text(&volume, &RECLAIM) == RETAIN,
        claim: archive::kept(&claim, id, "v1"),
    })))
}

/// Looks at a volume that is held and at its claim.
async fn look(volume: &HeldVolume, target: &dyn Target) -> Result<Held, Refusal> {
    let found = match seen(target.get(&volume_id(&volume.name), "v1").await)? {
        Seen::Answer(live) => Ok(state(volume, live.as_ref())),
        Seen::Refused(why) => Err(why),
    };
    let (found, claim) = match seen(target.get(&claim_of(volume), "v1").await)? {
        Seen::Answer(claim) => (found, claim_state(volume, claim.as_ref())),
        // As long as nobody knows about the claim, nothing is known of the volume that would decide anything.
        Seen::Refused(why) => (found.and(Err(why)), ClaimState::Missing),
    };
    Ok(Held { volume: volume.clone(), found, claim })
}

fn state(volume: &HeldVolume, live: Option<&Object>) -> VolumeState {
    match live.filter(|live| text(live, &["metadata", "uid"]) == volume.uid) {
        None => VolumeState::Gone,
        Some(live) if text(live, &["status", "phase"]) == "Bound" => VolumeState::Bound,
        Some(_) => VolumeState::Free,
    }
}

fn claim_state(volume: &HeldVolume, claim: Option<&Object>) -> ClaimState {
    match claim {
        None => ClaimState::Missing,
        Some(claim) if claim.at(&["metadata", "deletionTimestamp"]).is_some() => ClaimState::Leaving,
        Some(claim) if text(claim, &["spec", "volumeName"]) == volume.name => ClaimState::There,
        Some(_) => ClaimState::Another,
    }
}

fn volume_id(name: &str) -> ObjectId {
    ObjectId::new("", "PersistentVolume", "", name)
}

fn text<'a>(object: &'a Object, path: &[&str]) -> &'a str {
    object.at(path).and_then(Value::as_str).unwrap_or("")
}
