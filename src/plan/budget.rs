//! Pure. How many objects a plan may delete before a person has to agree, and the name by which a person agrees.
//!
//! Not here: which objects go (`prune`, `remove`).

use std::collections::BTreeSet;

use super::action::Blocked;
use super::kind;
use super::namespace;
use super::prune::{self, Victim};
use super::snapshot::{Desired, Presence, Snapshot};
use crate::base::Encoder;
use crate::model::{Inventory, ObjectId, Record, RecordState};

/// Characters of a digest: enough that nobody finds a second plan with the same one, few enough to be typed.
const DIGEST_CHARS: usize = 16;

/// Returns the name of these deletions, the same for the same objects in the same incarnations; empty for none.
pub(super) fn digest(victims: &[Victim]) -> String {
    if victims.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<&Victim> = victims.iter().collect();
    sorted.sort();
    let mut encoder = Encoder::new();
    encoder.list(sorted.len());
    for Victim { id, api_version: _, uid } in sorted {
        encoder.text(&id.group).text(&id.kind).text(&id.namespace).text(&id.name).text(uid);
    }
    encoder.digest().to_hex().chars().take(DIGEST_CHARS).collect()
}

/// Returns why these deletions wait for a person; nothing if they may go on.
pub(super) fn exceeded(snapshot: &Snapshot, victims: &[Victim]) -> Option<Blocked> {
    let digest = digest(victims);
    if victims.is_empty() || is_approved(snapshot, &digest) || is_agreed(snapshot, victims) {
        return None;
    }
    let why = match snapshot.presence {
        Presence::Vanished => format!("no commit says that {} was to be deleted", snapshot.app),
        Presence::Moves => format!("{} moves to another cluster, which its data does not", snapshot.app),
        Presence::Kept if let Some(victim) = victims.iter().find(|victim| kind::is_protected(&victim.id.kind)) => {
            format!("{} takes content with it that git does not hold", victim.id.short())
        }
        Presence::Kept if is_everything(snapshot, victims) => "it is every object of the app".into(),
        Presence::Kept if victims.len() > limit(snapshot) => format!("the limit is {}", limit(snapshot)),
        Presence::Kept if exceeds_instance(snapshot, victims) => {
            let (others, limit) = (snapshot.elsewhere.deleted, limit_of_all(snapshot));
            format!("the limit for all apps in one revision is {limit}, of which others take {others}")
        }
        Presence::Kept if halved(snapshot, victims) > 1 => {
            format!("{} namespaces lose half of their objects or more", halved(snapshot, victims))
        }
        Presence::RemovedKeepingData | Presence::RemovedWithData if exceeds_apps(snapshot) => {
            let (apps, limit) = (snapshot.elsewhere.removed + 1, snapshot.policy.deletion_of_all.apps);
            format!("one commit removes {apps} apps, where the limit is {limit}")
        }
        Presence::Kept | Presence::Added | Presence::RemovedKeepingData | Presence::RemovedWithData => return None,
    };
    let (count, all) = (victims.len(), base(snapshot).count());
    Some(Blocked {
        object: None,
        reason: "DeletionNeedsApproval".into(),
        message: format!("{count} of {all} objects would be deleted, and {why}; the plan is {digest}"),
        hint: format!("wild app deploy {} --prune --plan {digest}", snapshot.app),
    })
}

/// Returns whether a person agreed to the deletions of this name.
pub(super) fn is_approved(snapshot: &Snapshot, digest: &str) -> bool {
    !digest.is_empty() && snapshot.ask.approve.as_deref() == Some(digest)
}

/// Returns whether a person agreed to all of these deletions at an earlier stage of the same farewell.
pub(super) fn is_agreed(snapshot: &Snapshot, victims: &[Victim]) -> bool {
    victims.iter().all(|victim| snapshot.agreed.contains(&(victim.id.clone(), victim.uid.clone())))
}

/// Returns the objects of the app by which deletions are measured.
fn base(snapshot: &Snapshot) -> impl Iterator<Item = &Record> {
    stood(&snapshot.inventory, snapshot.standing.as_ref())
}

/// Returns the objects that stood when what is to go came up. Those that came since, with the same revision or a later one, say nothing of how
/// much is lost: otherwise a revision that brings enough would let go of anything in the next pass.
pub(super) fn stood<'a>(
    inventory: &'a Inventory,
    standing: Option<&'a BTreeSet<String>>,
) -> impl Iterator<Item = &'a Record> {
    inventory.records().filter(move |record| standing.is_none_or(|standing| standing.contains(&record.uid)))
}

/// Returns how many objects of the app may go without a person.
pub(super) fn limit(snapshot: &Snapshot) -> usize {
    let budget = &snapshot.policy.deletion;
    let share = base(snapshot).count().saturating_mul(budget.percent) / 100;
    budget.min.max(share)
}

/// Returns how many objects all apps together may lose in one revision without a person.
fn limit_of_all(snapshot: &Snapshot) -> usize {
    let budget = &snapshot.policy.deletion_of_all;
    let share = snapshot.elsewhere.objects.saturating_mul(budget.percent) / 100;
    budget.min.max(share)
}

/// Returns whether all apps together would lose more than they may.
fn exceeds_instance(snapshot: &Snapshot, victims: &[Victim]) -> bool {
    victims.len().saturating_add(snapshot.elsewhere.deleted) > limit_of_all(snapshot)
}

/// Returns whether the commit that removed the app removed more apps than it may, and none of its objects has gone yet: a person who
/// agreed once is not asked at each of its stages.
fn exceeds_apps(snapshot: &Snapshot) -> bool {
    let own = namespace::id(&snapshot.namespace);
    let records = || snapshot.inventory.records();
    let has_begun = records().any(|it| it.state == RecordState::Deleting) || records().all(|it| it.id == own);
    snapshot.elsewhere.removed >= snapshot.policy.deletion_of_all.apps && !has_begun
}

/// Returns how many namespaces lose half of the app's objects in them or more.
fn halved(snapshot: &Snapshot, victims: &[Victim]) -> usize {
    let count = |namespace: &str| {
        let lost = victims.iter().filter(|victim| victim.id.namespace == namespace).count();
        (lost, base(snapshot).filter(|record| record.id.namespace == namespace).count())
    };
    let namespaces: BTreeSet<&str> = victims.iter().map(|victim| victim.id.namespace.as_str()).collect();
    let is_halved = |namespace: &&&str| {
        let (lost, all) = count(namespace);
        lost.saturating_mul(2) >= all
    };
    namespaces.iter().filter(|namespace| !namespace.is_empty()).filter(is_halved).count()
}

/// Returns whether nothing that may be pruned at all would be left, and not as many of the same kinds come in its place: what is only called
/// otherwise from now on, as generated names are with every change, is not lost.
pub(super) fn is_everything(snapshot: &Snapshot, victims: &[Victim]) -> bool {
    let prunable = base(snapshot).filter(|record| prune::may_go(snapshot, &record.id)).count();
    victims.len() >= prunable && !are_replaced(snapshot, victims)
}

/// Returns whether the revision brings at least as many objects of each kind as go of it.
fn are_replaced(snapshot: &Snapshot, victims: &[Victim]) -> bool {
    let Desired::Objects(objects) = &snapshot.desired else { return false };
    let stood: BTreeSet<&ObjectId> = base(snapshot).map(|record| &record.id).collect();
    let new: Vec<ObjectId> =
        objects.iter().map(|desired| desired.object.id()).filter(|id| !stood.contains(id)).collect();
    victims.iter().all(|victim| {
        let is_alike = |id: &&ObjectId| id.group == victim.id.group && id.kind == victim.id.kind;
        let going = victims.iter().map(|victim| &victim.id).filter(is_alike).count();
        new.iter().filter(is_alike).count() >= going
    })
}
