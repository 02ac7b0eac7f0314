//! Pure. The volumes of an app that is deleted with its data: held for a while, brought back with the app by an undo, or let go.
//!
//! A volume is told to stay before its claim goes, so that no crash between the two loses it. What was to become of it is remembered, and is
//! put back when its time is over or its claim is back. Not here: which claims go (`remove`), the calls (`apply`).

use std::time::Duration;

use super::action::{Action, Blocked, Extras, Plan, Verb, WakeOn};
use super::prune::Victim;
use super::recreate::Recreate;
use super::snapshot::{Presence, Snapshot, TargetState};
use super::wanted::{LAST_WAVE, Wanted};
use super::write::Write;
use super::yields::Yields;
use crate::base::Timestamp;
use crate::model::{HeldVolume, HoldStage, Object, ObjectId};

/// What a volume has to be told to outlive its claim.
pub const RETAIN: &str = "Retain";
/// Time until a claim that is not bound yet is looked at again; its watch shows it earlier, if it is ours already.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// Time until a volume is looked at again whose time is over and which is used all the same.
const LOOK_LATER: Duration = Duration::from_secs(3600);

/// The volume of a claim that may go.
#[derive(Clone, PartialEq, Debug)]
pub struct ClaimedVolume {
    /// Name of the PersistentVolume.
    pub name: String,
    /// Its incarnation.
    pub uid: String,
    /// What is to become of it when its claim goes.
    pub policy: String,
    /// Whether it was told to stay for now.
    pub stays: bool,
    /// The claim as it is kept.
    pub claim: Object,
}

/// A volume that is held, as it was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Held {
    /// What we remember.
    pub volume: HeldVolume,
    /// Whether it is there; otherwise why nobody can tell.
    pub found: Result<VolumeState, String>,
    /// Its claim.
    pub claim: ClaimState,
}

/// Whether a volume is there, in the incarnation that is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VolumeState {
    /// It is gone.
    Gone,
    /// It has no claim.
    Free,
    /// It has one.
    Bound,
}

/// The claim for which a volume is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimState {
    /// It is not there.
    Missing,
    /// It is going.
    Leaving,
    /// It is there and names the volume.
    There,
    /// One of its name is there with another volume.
    Another,
}

/// Returns the identity of a volume.
fn id(volume: &str) -> ObjectId {
    ObjectId::new("", "PersistentVolume", "", volume)
}

/// Returns whether an object is a claim.
pub fn is_claim(id: &ObjectId) -> bool {
    id.group.is_empty() && id.kind == "PersistentVolumeClaim"
}

/// Adds to the calls what tells volumes to stay before their claims go, after all that stand there. Claims whose volumes nobody knows are taken
/// out of what goes; returns why.
pub(super) fn hold_claims(snapshot: &Snapshot, victims: &mut Vec<Victim>, actions: &mut Vec<Action>) -> Vec<Blocked> {
    if snapshot.policy.data_grace.is_zero() {
        return Vec::new();
    }
    let after: Vec<usize> = (0..actions.len()).collect();
    let mut unknown = Vec::new();
    victims.retain(|victim| match snapshot.volumes.get(&victim.id) {
        _ if !is_claim(&victim.id) => true,
        None => {
            unknown.push(unseen(snapshot, &victim.id));
            false
        }
        Some(volume) => {
            let held = volume.as_ref().and_then(|volume| hold(snapshot, volume));
            actions.extend(held.map(|volume| Action { after: after.clone(), ..action(actions.len(), volume) }));
            true
        }
    });
    unknown
}

/// Returns the volume as it is to be held; nothing if it is held already.
fn hold(snapshot: &Snapshot, volume: &ClaimedVolume) -> Option<HeldVolume> {
    let ClaimedVolume { name, uid, policy, stays, claim } = volume;
    let known = snapshot.held.iter().map(|held| &held.volume).find(|held| held.uid == *uid);
    if known.is_some() && *stays {
        return None;
    }
    Some(HeldVolume {
        name: name.clone(),
        cluster: snapshot.cluster.clone(),
        uid: uid.clone(),
        policy: known.map_or(policy, |known| &known.policy).clone(),
        claim: claim.clone(),
        since: snapshot.now,
        until: snapshot.now.plus(snapshot.policy.data_grace),
        stage: HoldStage::Held,
    })
}

fn unseen(snapshot: &Snapshot, id: &ObjectId) -> Blocked {
    let why = snapshot.unseen.get(id).map_or("nobody looked", String::as_str);
    Blocked {
        object: Some(id.clone()),
        reason: "VolumeUnseen".into(),
        message: format!("{} stays, because its volume could not be seen and held: {why}", id.short()),
        hint: String::new(),
    }
}

fn action(position: usize, volume: HeldVolume) -> Action {
    let reason = format!("it is held until {}", day(volume.until));
    call(position, id(&volume.name), reason, Verb::Hold { volume })
}

fn call(position: usize, object: ObjectId, reason: String, verb: Verb) -> Action {
    let uid = match &verb {
        Verb::Hold { volume } | Verb::Return { volume } | Verb::LetGo { volume } => Some(volume.uid.clone()),
        Verb::Apply { .. } | Verb::Delete { .. } | Verb::Release | Verb::Free { .. } => None,
    };
    Action {
        id: position,
        verb,
        object,
        api_version: "v1".to_owned(),
        wave: LAST_WAVE,
        // Before every deletion of the same wave.
        stage: u8::MAX,
        after: Vec::new(),
        reason,
        uid,
        hash: String::new(),
        source: String::new(),
        yields: Yields::default(),
        recreate: Recreate::Never("it holds data"),
        extras: Extras::Leave,
        notice: None,
    }
}

/// Returns the claims that have to come back before anything else of the app is written: one that is made anew would get an empty volume.
/// What waits for that is taken out of the writes.
pub(super) fn come_back(
    snapshot: &Snapshot,
    writes: &mut Vec<(Wanted, Write)>,
    plan: &mut Plan,
) -> Vec<(ObjectId, HeldVolume)> {
    let mut returns = Vec::new();
    for held in snapshot.held.iter().filter(|held| held.volume.stage == HoldStage::Returning) {
        let claim = claim_of(&held.volume);
        match (&held.found, held.claim) {
            (Err(why), _) => plan.blocked.push(Blocked {
                object: Some(claim),
                reason: "VolumeUnseen".into(),
                message: format!("the volume {} that is held for it could not be seen: {why}", held.volume.name),
                hint: String::new(),
            }),
            (Ok(VolumeState::Gone), _) => {
                plan.notes.push(format!("{} cannot come back: its volume {} is gone", claim.short(), held.volume.name));
            }
            (Ok(VolumeState::Free | VolumeState::Bound), ClaimState::Missing) => {
                returns.push((claim, held.volume.clone()));
            }
            (Ok(_), ClaimState::Leaving) => {
                plan.wake_on.push(WakeOn::Gone(claim));
                look_again(snapshot, plan);
            }
            (Ok(VolumeState::Free), ClaimState::There) => look_again(snapshot, plan),
            (Ok(VolumeState::Bound), ClaimState::There) => {}
            (Ok(_), ClaimState::Another) => plan.notes.push(format!(
                "{} is there with another volume; {} stays as it is",
                claim.short(),
                held.volume.name
            )),
        }
    }
    let is_held_back = !returns.is_empty() || plan.blocked.iter().any(|blocked| blocked.reason == "VolumeUnseen");
    if is_held_back {
        let waiting = writes.extract_if(.., |(wanted, _)| wanted.id.kind != "Namespace");
        let claims: Vec<String> = returns.iter().map(|(claim, _)| claim.short()).collect();
        for (wanted, _) in waiting {
            plan.later.entry(wanted.id).or_default().extend(claims.clone());
        }
    }
    returns
}

/// Adds the return of claims to the calls, after all that stand there.
pub(super) fn bring_back(returns: Vec<(ObjectId, HeldVolume)>, plan: &mut Plan) {
    for (claim, volume) in returns {
        let position = plan.actions.len();
        let reason = format!("it comes back with its volume {}", volume.name);
        let after = (0..position).filter(|id| plan.actions.get(*id).is_some_and(is_apply)).collect();
        plan.actions.push(Action { after, ..call(position, claim, reason, Verb::Return { volume }) });
    }
}

fn is_apply(action: &Action) -> bool {
    matches!(action.verb, Verb::Apply { .. })
}

/// Adds the end of what is held: its own policy comes back when its time is over, or when its claim is back.
pub(super) fn end(snapshot: &Snapshot, plan: &mut Plan) {
    if snapshot.presence == Presence::Vanished || snapshot.target != TargetState::Reachable {
        return;
    }
    for held in &snapshot.held {
        if let Some(reason) = reason_to_end(snapshot, held) {
            let volume = held.volume.clone();
            let action = call(plan.actions.len(), id(&volume.name), reason, Verb::LetGo { volume });
            plan.actions.push(action);
        } else if !is_called_back(snapshot, &held.volume) {
            let is_over = held.volume.until <= snapshot.now;
            wake(plan, if is_over { snapshot.now.plus(LOOK_LATER) } else { held.volume.until });
        }
    }
}

/// Returns whether a person asked for a volume, and its app is there to have it.
pub(super) fn is_called_back(snapshot: &Snapshot, volume: &HeldVolume) -> bool {
    volume.stage == HoldStage::Returning && snapshot.presence == Presence::Kept
}

/// Returns why a volume is held no longer; nothing if it still is.
pub(super) fn reason_to_end(snapshot: &Snapshot, held: &Held) -> Option<String> {
    let Ok(found) = held.found else { return None };
    match (found, held.claim, is_called_back(snapshot, &held.volume)) {
        (VolumeState::Gone, ..) => Some("it is gone".to_owned()),
        (VolumeState::Bound, ClaimState::There, true) => Some("its claim is back".to_owned()),
        (_, _, true) | (_, ClaimState::There | ClaimState::Leaving, false) => None,
        (_, ClaimState::Missing | ClaimState::Another, false) => {
            (held.volume.until <= snapshot.now).then(|| "the time is over for which it was held".to_owned())
        }
    }
}

fn look_again(snapshot: &Snapshot, plan: &mut Plan) {
    wake(plan, snapshot.now.plus(LOOK_AGAIN));
}

fn wake(plan: &mut Plan, at: Timestamp) {
    plan.wake_at = Some(plan.wake_at.map_or(at, |known| known.min(at)));
}

/// Returns the identity of the claim that a volume is held for.
pub fn claim_of(volume: &HeldVolume) -> ObjectId {
    ObjectId::new("", "PersistentVolumeClaim", volume.claim.namespace(), volume.claim.name())
}

/// Returns the claim as it is made again: what it asked for, on this volume, and nothing that the server or we noted on it.
pub fn again(volume: &HeldVolume) -> Object {
    let mut claim = super::hash::canonical(&volume.claim);
    let metadata = claim.metadata_mut();
    metadata.shift_remove("finalizers");
    metadata.shift_remove("ownerReferences");
    if let Some(annotations) = metadata.get_mut("annotations").and_then(serde_json::Value::as_object_mut) {
        // The cluster notes there how a claim came to its volume.
        annotations.retain(|key, _| !key.starts_with("pv.kubernetes.io/") && !key.contains("volume.kubernetes.io/"));
    }
    if let Some(spec) = claim.0.get_mut("spec").and_then(serde_json::Value::as_object_mut) {
        spec.insert("volumeName".to_owned(), serde_json::Value::from(volume.name.as_str()));
        // A volume that holds data is filled from nowhere.
        spec.shift_remove("dataSource");
        spec.shift_remove("dataSourceRef");
    }
    claim
}

/// Returns the date of a time.
fn day(time: Timestamp) -> String {
    time.to_string().chars().take("2026-11-21".len()).collect()
}
