//! Reads: a committed revision, memory, secrets and the live state of one app become a `Snapshot`. Decides nothing, writes nothing.
//!
//! Requests are sent only to open the watch of a kind, to look at an object that is wanted or remembered and that no watch shows, and at the
//! app's namespace, and for the objects whose turn it is in the slow audit. Not here: what follows from it (`plan`).

mod audit;
mod desired;
mod explain;
mod live;

use std::collections::{BTreeMap, BTreeSet};

use crate::base::Timestamp;
use crate::model::{
    AppName, CommitId, Diagnostic, FileTree, InstanceId, Inventory, ObjectId, OwnEntry, RecordState, SecretPayloads,
    Secrets, Settings,
};
use crate::plan::{Ask, Desired, Fight, NamespaceState, Policy, Presence, RequirementState, Snapshot, TargetState};
use crate::plan::{apply_set, hook};
use crate::target::{Kind, Reachability, Refusal, Target};

pub use desired::secret_needs;
pub use explain::explain;

/// Why a snapshot could not be made. Trouble of the target is part of the snapshot instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings of the instance do not read.
    #[error("read the settings of the instance")]
    Settings {
        /// What is wrong.
        diagnostics: Vec<Diagnostic>,
    },
}

/// What a snapshot is made of.
pub struct Observation<'a> {
    /// The instance.
    pub instance: &'a InstanceId,
    /// The app.
    pub app: &'a AppName,
    /// The commit that is wanted.
    pub commit: &'a CommitId,
    /// `apps/<app>/**` of that commit, or of the one before it that removed the app, by repository path.
    pub files: &'a FileTree,
    /// Whether the app is in that commit, and if not, why.
    pub presence: Presence,
    /// Settings of that commit.
    pub settings: &'a Settings,
    /// Secret values.
    pub secrets: &'a Secrets,
    /// Key of the hashes on live objects.
    pub hash_key: &'a [u8; 32],
    /// What we remember.
    pub inventory: Inventory,
    /// The apps that this one requires.
    pub requirements: Vec<RequirementState>,
    /// Installed apps that require this one.
    pub dependents: Vec<AppName>,
    /// Objects that were put back lately.
    pub fights: BTreeMap<ObjectId, Fight>,
    /// Whether the target refused an object of this commit.
    pub refused: bool,
    /// Objects whose live values are compared.
    pub audit: BTreeSet<ObjectId>,
    /// What a person asked for.
    pub ask: Ask,
    /// The target.
    pub target: &'a dyn Target,
    /// The present.
    pub now: Timestamp,
}

/// A snapshot, and the secret values that must not be in it.
pub struct Observed {
    /// The planner's input.
    pub snapshot: Snapshot,
    /// The true values of the Secret objects.
    pub payloads: SecretPayloads,
}

/// Makes the snapshot of one app.
pub async fn observe(observation: Observation<'_>) -> Observed {
    let Observation { instance, app, commit, files, presence, settings, secrets, hash_key, inventory, .. } =
        &observation;
    let built = desired::build(&desired::Source { app, files, secrets, hash_key });
    let last = match &built.desired {
        Desired::Objects(objects) => {
            objects.iter().map(|it| Kind::of(&it.object.id(), it.object.api_version())).collect()
        }
        Desired::Unreadable(_) => BTreeSet::new(),
    };
    let parent = apply_set::parent_id(instance, &settings.cluster.control_namespace);
    let mut snapshot = Snapshot {
        instance: (*instance).clone(),
        apply_set: apply_set::id(&parent),
        app: (*app).clone(),
        namespace: built.namespace,
        commit: (*commit).clone(),
        presence: *presence,
        desired: of_presence(built.desired, *presence),
        inventory: inventory.clone(),
        found: Vec::new(),
        live: Default::default(),
        existing: Default::default(),
        audited: Default::default(),
        done: Default::default(),
        unseen: Default::default(),
        freshness: Default::default(),
        namespace_state: NamespaceState::Missing,
        neighbours: None,
        requirements: observation.requirements.clone(),
        dependents: observation.dependents.clone(),
        missing_secrets: built.missing_secrets,
        secret_grants: built.secret_grants,
        elsewhere: Default::default(),
        refused: observation.refused,
        fights: observation.fights.clone(),
        target: TargetState::Reachable,
        policy: policy_of(settings, app),
        ask: observation.ask.clone(),
        now: observation.now,
    };
    if is_idle(&snapshot, &last, observation.target).await {
        // Nothing of this app is or was in the cluster, or nothing may be concluded: no request is worth it.
        return Observed { snapshot, payloads: built.payloads };
    }
    if let Err(refusal) = look(&mut snapshot, observation.target).await {
        note_unreachable(&mut snapshot, observation.target, &refusal);
    }
    audit::fill(&mut snapshot, &built.payloads, &observation.audit, observation.target).await;
    Observed { snapshot, payloads: built.payloads }
}

/// Returns whether nothing is to be done about an app that is not there. One that was removed and of which nothing is remembered may have
/// been forgotten with the store: then the watches of its kinds still show its objects.
async fn is_idle(snapshot: &Snapshot, last: &BTreeSet<Kind>, target: &dyn Target) -> bool {
    match snapshot.presence {
        Presence::Kept => false,
        Presence::Vanished => true,
        Presence::Added => snapshot.inventory.is_empty(),
        Presence::RemovedKeepingData | Presence::RemovedWithData => {
            // A target that does not answer is asked again by the ordinary look once it does.
            let is_forgotten = snapshot.inventory.is_empty();
            is_forgotten && target.watch(last).await.is_ok() && target.count(snapshot.app.as_str()) == 0
        }
    }
}

/// Leaves of what an app wanted before it was removed what is still of use.
fn of_presence(desired: Desired, presence: Presence) -> Desired {
    match (desired, presence) {
        (Desired::Objects(mut objects), Presence::RemovedKeepingData | Presence::RemovedWithData) => {
            objects.retain(|desired| hook::is_of_farewell(&desired.object));
            Desired::Objects(objects)
        }
        (desired, _) => desired,
    }
}

/// Returns what the settings say about an app.
pub fn policy_of(settings: &Settings, app: &AppName) -> Policy {
    Policy {
        drift: settings.drift_of(app.as_str()),
        suspend: settings.suspension_of(app.as_str()),
        ignore: settings.ignore_of(app.as_str()),
        health: settings.health.clone(),
        adopt: settings.adopt,
        deletion: settings.deletion.app.clone(),
        deletion_of_all: settings.deletion.instance.clone(),
        recovery: settings.recovery,
        grants: settings.grants_of(app.as_str()),
    }
}

/// Fills in what the target shows.
async fn look(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    for record in snapshot.inventory.records().filter(|record| record.state != RecordState::Intended) {
        let own = OwnEntry { fields: record.fields.clone(), time: record.time.clone() };
        target.expect(&record.id, &record.uid, &own);
    }
    target.judge_by(&snapshot.policy.health);
    if let Err(refusal) = target.watch(&kinds(snapshot)).await
        && target.reachability() != Reachability::Reachable
    {
        return Err(refusal);
    }
    // One watch that does not open on a target that answers is doubt about one kind, which plan knows how to treat.
    live::fill(snapshot, target).await
}

/// Returns the kinds of all wanted and remembered objects.
fn kinds(snapshot: &Snapshot) -> BTreeSet<Kind> {
    let mut kinds: BTreeSet<Kind> =
        snapshot.inventory.records().map(|record| Kind::of(&record.id, &record.api_version)).collect();
    if let Desired::Objects(objects) = &snapshot.desired {
        for wanted in objects {
            let id = wanted.object.id();
            // A wanted version wins over the one that was applied last: one watch per kind is enough.
            kinds.retain(|kind| kind.group != id.group || kind.kind != id.kind);
            kinds.insert(Kind::of(&id, wanted.object.api_version()));
        }
    }
    kinds.retain(|kind| !(kind.group.is_empty() && kind.kind == "Namespace"));
    kinds.insert(Kind { group: String::new(), version: "v1".to_owned(), kind: "Namespace".to_owned() });
    kinds
}

/// Notes that the target did not answer.
fn note_unreachable(snapshot: &mut Snapshot, target: &dyn Target, refusal: &Refusal) {
    match target.reachability() {
        Reachability::Unreachable { since, why } => snapshot.target = TargetState::Unreachable { since, why },
        Reachability::Reachable => {
            snapshot.target = TargetState::Unreachable { since: snapshot.now, why: refusal.message.clone() };
        }
    }
}
