//! Reads: a committed revision, memory, secrets and the live state of one app become a `Snapshot`. Decides nothing, writes nothing.
//!
//! Requests are sent only to open the watch of a kind, to look at an object that is wanted or remembered and that no watch shows, and at the
//! app's namespace, for what is on its way for long, and for the objects whose turn it is in the slow audit. Not here: what follows from it (`plan`).

mod audit;
mod before;
mod contact;
mod desired;
mod explain;
mod grounds;
mod live;
mod neighbours;
mod realms;
mod room;
mod said;
mod underway;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::base::Timestamp;
use crate::model::{
    AppName, ClusterName, CommitId, Diagnostic, FileTree, HeldVolume, IdentityPolicy, InstanceId, Inventory, ObjectId,
    OwnEntry, RecordState, SecretPayloads, Secrets, Settings, apply_set,
};
use crate::package;
use crate::plan::copies::SecretCopy;
use crate::plan::{
    Ask, Desired, Fights, NamespaceState, Policy, Presence, RequirementState, Snapshot, TargetState, Underway,
};
use crate::plan::{hook, namespace};
use crate::target::{Kind, Place, Places, Reachability, Refusal, Target};

pub use before::{Past, before};
pub use desired::{secret_needs, wanted_ids};
pub use explain::explain;
pub use realms::{RealmFiles, RealmObservation, observe_realms, realm_files};
pub use room::{Room, turn};

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
    /// The cluster that is looked at.
    pub cluster: &'a ClusterName,
    /// The commit that is wanted.
    pub commit: &'a CommitId,
    /// `apps/<app>/**` of that commit, or of the one before it that removed the app, by repository path.
    pub files: &'a FileTree,
    /// Whether the app is in that commit, and if not, why.
    pub presence: Presence,
    /// Settings of that commit.
    pub settings: &'a Settings,
    /// Secret values, without those of other apps that this one may not have.
    pub secrets: &'a Secrets,
    /// What the app reads of other apps and may not have.
    pub withheld: &'a [package::SecretCopy],
    /// Key of the hashes on live objects.
    pub hash_key: &'a [u8; 32],
    /// What we remember.
    pub inventory: Inventory,
    /// Volumes of the app that are held.
    pub held: Vec<HeldVolume>,
    /// Whether volumes go at once, because a person said so.
    pub grace: Grace,
    /// The apps that this one requires.
    pub requirements: Vec<RequirementState>,
    /// Installed apps that require this one.
    pub dependents: Vec<AppName>,
    /// Objects that were put back lately.
    pub fights: Fights,
    /// Objects that are on their way.
    pub underway: Underway,
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

/// Whether the volumes of an app that goes are held for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grace {
    /// As long as the settings say.
    Given,
    /// A person waived it.
    Waived,
}

/// A snapshot, and the secret values that must not be in it.
pub struct Observed {
    /// The planner's input.
    pub snapshot: Snapshot,
    /// The true values of the Secret objects.
    pub payloads: SecretPayloads,
    /// The room that all this takes, to be kept as long as it is.
    pub room: Room,
}

/// Makes the snapshot of one app.
pub async fn observe(observation: Observation<'_>) -> Observed {
    let Observation { instance, app, commit, presence, settings, inventory, .. } = &observation;
    let (built, room) = build(&observation).await;
    let last = places(wanted(&built.desired));
    let parent = apply_set::parent_id(instance, &settings.cluster.control_namespace);
    let mut snapshot = Snapshot {
        instance: (*instance).clone(),
        apply_set: apply_set::id(&parent),
        app: (*app).clone(),
        cluster: observation.cluster.clone(),
        namespace: built.namespace,
        commit: (*commit).clone(),
        presence: *presence,
        desired: of_presence(built.desired, *presence),
        inventory: inventory.clone(),
        found: Vec::new(),
        before: Default::default(),
        live: Default::default(),
        existing: Default::default(),
        audited: Default::default(),
        contact: Default::default(),
        done: Default::default(),
        ended: Default::default(),
        unseen: Default::default(),
        freshness: Default::default(),
        shippers: Default::default(),
        namespace_state: NamespaceState::Missing,
        neighbours: BTreeMap::new(),
        volumes: Default::default(),
        held: Vec::new(),
        requirements: observation.requirements.clone(),
        dependents: observation.dependents.clone(),
        awaited: built.awaited,
        missing_secrets: built.missing_secrets,
        unapproved: None,
        withheld: observation.withheld.to_vec(),
        grounds: Default::default(),
        claims: Default::default(),
        elsewhere: Default::default(),
        standing: None,
        refused: observation.refused,
        said: Default::default(),
        cancelled: None,
        fights: observation.fights.clone(),
        agreed: Default::default(),
        target: TargetState::Reachable,
        underway: observation.underway.clone(),
        unspoken: Default::default(),
        unclaimed: Default::default(),
        policy: policy_of(settings, app),
        ask: observation.ask.clone(),
        now: observation.now,
    };
    if observation.grace == Grace::Waived {
        snapshot.policy.data_grace = Duration::ZERO;
    }
    let acting = acting(snapshot.policy.identity, &snapshot.namespace, observation.target);
    let target = acting.as_deref().unwrap_or(observation.target);
    if observation.held.is_empty() && is_idle(&snapshot, &last, target).await {
        // Nothing of this app is or was in the cluster, or nothing may be concluded: no request is worth it.
        return Observed { snapshot, payloads: built.payloads, room };
    }
    fill(&mut snapshot, &observation, &built.payloads, target).await;
    Observed { snapshot, payloads: built.payloads, room }
}

/// Fills in everything that a target tells.
async fn fill(snapshot: &mut Snapshot, observation: &Observation<'_>, payloads: &SecretPayloads, target: &dyn Target) {
    let looked = match look(snapshot, &observation.held, target).await {
        Ok(()) => contact::fill(snapshot, payloads, target).await,
        refused => refused,
    };
    if let Err(refusal) = looked {
        note_unreachable(snapshot, target, &refusal);
    }
    said::fill(snapshot, observation.secrets, target).await;
    audit::fill(snapshot, payloads, &observation.audit, target).await;
}

/// Returns the target as an app writes on it that lives in a namespace, where it does not write as ourselves.
pub fn acting(identity: IdentityPolicy, namespace: &str, target: &dyn Target) -> Option<Arc<dyn Target>> {
    match identity {
        IdentityPolicy::Kubeconfig => None,
        IdentityPolicy::Impersonate => Some(target.acting_in(namespace)),
    }
}

/// Returns what the app wants, with what is copied for it.
async fn build(observation: &Observation<'_>) -> (desired::Built, Room) {
    let Observation { app, files, settings, secrets, withheld, hash_key, .. } = observation;
    let (shared, control) = (&settings.tls.shared, settings.cluster.control_namespace.as_str());
    let source = desired::Source { app, files, secrets, withheld, hash_key, shared, control };
    let (rendered, room) = room::render_kept(&source).await;
    let found = find_sources(observation, &rendered).await;
    (desired::build(&source, rendered, found), room)
}

/// Follows the Secrets that the app has copies of and returns what there is of each.
async fn find_sources(observation: &Observation<'_>, rendered: &desired::Rendered) -> Vec<desired::Found> {
    let Observation { app, presence, target, .. } = observation;
    // What goes with its app, or is not there yet, is compared with nothing.
    let copies = if *presence == Presence::Kept { rendered.copies.as_slice() } else { &[] };
    let sources: BTreeSet<ObjectId> = copies.iter().map(|copy| copy.source.clone()).collect();
    if !target.reachability().is_silent() {
        // Whatever cannot be followed is told by the reads below.
        let _ = target.follow(app.as_str(), &sources).await;
    }
    self::sources(copies, *target).await
}

/// Returns what there is of each Secret that is copied.
async fn sources(copies: &[SecretCopy], target: &dyn Target) -> Vec<desired::Found> {
    let mut all = Vec::new();
    for SecretCopy { source, .. } in copies {
        all.push(match target.source(source).await {
            Ok(Some(secret)) => desired::Found::There(secret),
            Ok(None) => desired::Found::Nothing(format!("{source} is not there")),
            Err(refusal) => desired::Found::Nothing(refusal.message),
        });
    }
    all
}

/// Returns whether nothing is to be done about an app that is not there. One that was removed and of which nothing is remembered may have
/// been forgotten with the store: then the watches of its kinds still show its objects.
async fn is_idle(snapshot: &Snapshot, last: &Places, target: &dyn Target) -> bool {
    match snapshot.presence {
        Presence::Kept => false,
        Presence::Vanished | Presence::Added | Presence::Moves => snapshot.inventory.is_empty(),
        Presence::RemovedKeepingData | Presence::RemovedWithData => {
            // A target that does not answer is asked again by the ordinary look once it does.
            let is_forgotten = snapshot.inventory.is_empty();
            let app = snapshot.app.as_str();
            let is_idle = is_forgotten && target.watch(app, last).await.is_ok() && target.count(app) == 0;
            // It needs nothing any more, so there is nothing to wait for.
            is_idle && target.watch(app, &Places::new()).await.is_ok()
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
        extra: settings.extra_of(app.as_str()),
        suspend: settings.suspension_of(app.as_str()),
        ignore: settings.ignore_of(app.as_str()),
        editors: settings.editors.clone(),
        handover: settings.handover_of(app.as_str()),
        conflicts: settings.conflicts_of(app.as_str()),
        health: settings.health.clone(),
        health_timeout: settings.health_timeout_of(app.as_str()),
        adopt: settings.adopt,
        deletion: settings.deletion.app.clone(),
        data_grace: settings.deletion.data_grace,
        deletion_of_all: settings.deletion.instance.clone(),
        recovery: settings.recovery.clone(),
        grants: settings.grants_of(app.as_str()),
        control_namespace: settings.cluster.control_namespace.clone(),
        identity: settings.identity_of(app.as_str()),
        shared: settings.tls.shared.clone(),
    }
}

/// Fills in what the target shows.
async fn look(snapshot: &mut Snapshot, held: &[HeldVolume], target: &dyn Target) -> Result<(), Refusal> {
    for record in snapshot.inventory.records().filter(|record| record.state != RecordState::Intended) {
        let own = OwnEntry { fields: record.fields.clone(), time: record.time.clone() };
        target.expect(&record.id, &record.uid, &own);
    }
    target.judge_by(&snapshot.policy.health, &snapshot.policy.editors);
    if let Err(refusal) = target.watch(snapshot.app.as_str(), &kinds(snapshot)).await
        && target.reachability().is_silent()
    {
        return Err(refusal);
    }
    // One watch that does not open on a target that answers is doubt about one kind, which plan knows how to treat.
    live::fill(snapshot, target).await?;
    grounds::fill(snapshot, target).await?;
    underway::fill(snapshot, target).await?;
    neighbours::fill(snapshot, target).await?;
    volumes::fill(snapshot, held, target).await
}

/// Returns the kinds of all wanted and remembered objects, with the places of these.
fn kinds(snapshot: &Snapshot) -> Places {
    let remembered = snapshot.inventory.records().map(|record| (record.id.clone(), record.api_version.clone()));
    let own = (namespace::id(&snapshot.namespace), "v1".to_owned());
    places(remembered.chain(wanted(&snapshot.desired)).chain([own]))
}

/// Returns the wanted objects, each with its `apiVersion`.
fn wanted(desired: &Desired) -> impl Iterator<Item = (ObjectId, String)> {
    let objects = match desired {
        Desired::Objects(objects) => objects.as_slice(),
        Desired::Unreadable(_) | Desired::Leaking(_) => &[],
    };
    objects.iter().map(|it| (it.object.id(), it.object.api_version().to_owned()))
}

/// Returns the kinds of objects with their places. The version that comes last wins over those before: one watch per kind is enough.
fn places(objects: impl Iterator<Item = (ObjectId, String)>) -> Places {
    let mut kinds = Places::new();
    for (id, api_version) in objects {
        let kind = Kind::of(&id, &api_version);
        let same = kinds.extract_if(.., |it, _| it.group == kind.group && it.kind == kind.kind && *it != kind);
        let mut places: BTreeSet<Place> = same.flat_map(|(_, places)| places).collect();
        places.insert(Place::of(&id));
        kinds.entry(kind).or_default().extend(places);
    }
    kinds
}

/// Notes that the target did not answer.
fn note_unreachable(snapshot: &mut Snapshot, target: &dyn Target, refusal: &Refusal) {
    snapshot.target =
        away(target).unwrap_or_else(|| TargetState::Unreachable { since: snapshot.now, why: refusal.message.clone() });
}

/// Returns why nothing is to be concluded from what a target shows; nothing if it answers or was not asked.
fn away(target: &dyn Target) -> Option<TargetState> {
    let Reachability::Unreachable { since, why } = target.reachability() else { return None };
    let report = target.access_report();
    Some(match (report.is_elsewhere, report.known, report.found) {
        (true, Some(known), Some(found)) => {
            TargetState::Elsewhere { why: format!("it is {found}, and known is {known}") }
        }
        _ => TargetState::Unreachable { since, why },
    })
}
