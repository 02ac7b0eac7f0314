//! The part of a pass that is about the app's Keycloak: after its cluster, so that a Keycloak that hangs holds up nothing else.
//!
//! Its actions are rows of the same operation. Not here: what to do (`plan::realm`), requests (`target`).

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::budget::{self, Place};
use super::cancel::Opened;
use super::read::Sight;
use super::skip::skips;
use super::{Error, Instance, lock, state, statuses};
use crate::apply::{self, Applied};
use crate::model::{
    AppName, CommitId, DriftState, Effect, Inventory, ObjectState, Operation, REALM_GROUP, SecretPayloads, Secrets,
};
use crate::observe::{self, RealmFiles, RealmObservation};
use crate::package::realm::REALM_DIRECTORY;
use crate::plan::realm::{RealmServer, RealmSnapshot, Waited};
use crate::plan::{self, Ask, DriftItem, DriftKind, Plan, Policy, Presence, Snapshot, Verb};
use crate::record;
use crate::target::Keycloak;

/// What an instance knows of its Keycloak.
pub(super) struct Realms {
    /// The way to it, if the daemon's settings name one.
    pub(super) keycloak: Option<Keycloak>,
    /// By app, since when it waits for the server or a realm. A restart forgets it, which costs one more look.
    waits: Mutex<BTreeMap<AppName, Waited>>,
}

impl Realms {
    /// Returns what is known at the beginning.
    pub(super) fn of(keycloak: Option<Keycloak>) -> Self {
        Self { keycloak, waits: Mutex::default() }
    }
}

/// What was found of an app's Keycloak.
struct Looked {
    snapshot: RealmSnapshot,
    payloads: SecretPayloads,
}

/// What this part of a pass came to.
#[derive(Default)]
pub(super) struct Part {
    /// What differed.
    pub(super) drift: Vec<DriftState>,
    /// The objects with their health.
    pub(super) objects: Vec<ObjectState>,
}

/// Where this part of a pass stands in the whole.
pub(super) struct Ground<'a> {
    /// What the commit says of the app.
    pub(super) sight: &'a Sight,
    /// The secrets that the app may have.
    pub(super) secrets: &'a Secrets,
    /// The cluster's snapshot, with all that is remembered of the app.
    pub(super) snapshot: &'a Snapshot,
    /// What is remembered of the Keycloak's objects.
    pub(super) inventory: Inventory,
    /// The commit that this pass made.
    pub(super) made: &'a Option<CommitId>,
}

/// Plans and carries out what an app wants of its Keycloak. The plan and its outcomes are added to those of the cluster; the operation is
/// opened if the cluster needed none.
pub(super) async fn carry_out<'a>(
    instance: &'a Instance,
    ground: Ground<'a>,
    (plan, applied): (&mut Plan, &mut Applied),
    opened: Option<Opened<'a>>,
) -> Result<(Part, Option<Opened<'a>>), Error> {
    let Ground { sight, secrets, snapshot, inventory, made } = ground;
    let ask = snapshot.ask.clone();
    let Some(looked) = look(instance, (snapshot, sight, secrets), inventory, ask).await? else {
        return Ok((Part::default(), opened));
    };
    let mut own = plan::realm::plan(&looked.snapshot, plan.actions.len());
    budget::stand(instance, (&snapshot.app, Place::Keycloak), &looked.snapshot.inventory, own.going).await?;
    note_wait(instance, &looked.snapshot, &own);
    record::settle_realms(&instance.store, &instance.id, &own).await?;
    if !applied.is_complete() || !plan.blocked.is_empty() {
        own.actions.retain(|action| !matches!(action.verb, Verb::Delete { .. }));
    }
    let mut done = Applied::default();
    let mut opened = opened;
    let writes = !own.actions.is_empty() && !skips("apply") && statuses::begin(instance, &snapshot.commit).await?;
    if let Some(keycloak) = instance.realms.keycloak.as_ref().filter(|_| writes) {
        let Opened { recording, underway } = match opened.take() {
            Some(opened) => opened,
            None => open(instance, snapshot, plan, &own, made.clone()).await?,
        };
        recording.admit(&own).await?;
        let hidden = instance.secrets.read()?;
        done = apply::apply_realms(&own, keycloak, &looked.payloads, (&recording, underway.halt(), &hidden)).await;
        opened = Some(Opened { recording, underway });
    }
    let part = Part { drift: own.drift.iter().flat_map(drift_of).collect(), objects: objects(&looked.snapshot, &done) };
    applied.outcomes.extend(done.outcomes);
    plan.join(own);
    Ok((part, opened))
}

/// Returns what would be done.
pub(super) async fn preview(
    instance: &Instance,
    snapshot: &Snapshot,
    (sight, secrets): (&Sight, &Secrets),
    (inventory, first): (Inventory, usize),
) -> Result<Option<Plan>, Error> {
    let looked = look(instance, (snapshot, sight, secrets), inventory, snapshot.ask.clone()).await?;
    Ok(looked.map(|looked| plan::realm::plan(&looked.snapshot, first)))
}

async fn open<'a>(
    instance: &'a Instance,
    snapshot: &'a Snapshot,
    plan: &Plan,
    own: &Plan,
    made: Option<CommitId>,
) -> Result<Opened<'a>, Error> {
    let operation = instance.operation("reconcile", Some(&snapshot.app), None);
    let underway = instance.cancels.enter(&operation.id);
    let operation = Operation { commit: made, ..operation };
    state::tell_applying(instance, snapshot, own, &operation).await?;
    let recording = record::open(&instance.store, &instance.id, snapshot, plan, operation).await?;
    Ok(Opened { recording: recording.hiding(instance.secrets.read()?), underway })
}

/// Looks at the Keycloak of an app; nothing for an app that has none.
async fn look(
    instance: &Instance,
    (whole, sight, secrets): (&Snapshot, &Sight, &Secrets),
    inventory: Inventory,
    ask: Ask,
) -> Result<Option<Looked>, Error> {
    let (app, presence) = (&whole.app, whole.presence);
    let has_files = presence == Presence::Kept && sight.files.holds_below(&format!("apps/{app}/{REALM_DIRECTORY}"));
    if !has_files && inventory.is_empty() {
        lock(&instance.realms.waits).remove(app);
        return Ok(None);
    }
    let files = observe::realm_files(app, &sight.files, secrets, &instance.hash_key);
    let owners = owners(instance, app, &files, &inventory).await?;
    let waited = lock(&instance.realms.waits).get(app).cloned();
    let policy: Policy = whole.policy.clone();
    let standing = budget::standing(instance, app, Place::Keycloak).await?;
    let mut snapshot = observe::observe_realms(RealmObservation {
        app,
        commit: &whole.commit,
        presence,
        files: &files,
        inventory,
        owners,
        policy,
        ask,
        is_held: whole.cancelled.is_some(),
        awaits_word: whole.unapproved.is_some(),
        waited,
        keycloak: instance.realms.keycloak.as_ref(),
        now: instance.now(),
    })
    .await;
    snapshot.standing = standing;
    Ok(Some(Looked { snapshot, payloads: files.payloads }))
}

/// Returns the apps that have applied wanted objects which this app does not remember.
async fn owners(
    instance: &Instance,
    app: &AppName,
    files: &RealmFiles,
    inventory: &Inventory,
) -> Result<BTreeMap<crate::model::ObjectId, AppName>, Error> {
    let mut owners = BTreeMap::new();
    for wanted in files.desired.iter().flatten().filter(|wanted| inventory.get(&wanted.id).is_none()) {
        let owner = instance.store.owner_of(&instance.id, &wanted.id).await?;
        owners.extend(owner.filter(|owner| owner != app).map(|owner| (wanted.id.clone(), owner)));
    }
    Ok(owners)
}

/// Remembers that an app waits for the server or for a realm.
fn note_wait(instance: &Instance, snapshot: &RealmSnapshot, plan: &Plan) {
    let waits = |reason: &str| plan.blocked.iter().any(|blocked| blocked.reason == reason);
    let mut known = lock(&instance.realms.waits);
    if !waits("KeycloakUnreachable") && !waits("RealmMissing") {
        known.remove(&snapshot.app);
        return;
    }
    let silence = match &snapshot.server {
        RealmServer::Silent(why) => why.clone(),
        RealmServer::Answers | RealmServer::Unknown => String::new(),
    };
    let next = Waited::next(known.get(&snapshot.app), &snapshot.commit, snapshot.now);
    known.insert(snapshot.app.clone(), Waited { silence, ..next });
}

/// Returns a difference as people are shown it: where, and never what, because nobody said which fields of others hold secrets.
fn drift_of(item: &DriftItem) -> Vec<DriftState> {
    let kind = match item.kind {
        DriftKind::Missing => "missing",
        DriftKind::Replaced => "replaced",
        _ => "changed",
    };
    let state = |path: &str| DriftState {
        object: item.object.clone(),
        kind: kind.to_owned(),
        path: path.to_owned(),
        desired: None,
        live: None,
        manager: String::new(),
        since: String::new(),
        harmless: false,
    };
    match item.paths.is_empty() {
        true => vec![state("")],
        false => item.paths.iter().map(|path| state(path)).collect(),
    }
}

fn objects(snapshot: &RealmSnapshot, done: &Applied) -> Vec<ObjectState> {
    let wanted = snapshot.desired.iter().flatten().filter(|_| snapshot.presence == Presence::Kept);
    let mut ids: Vec<_> = wanted.map(|wanted| wanted.id.clone()).collect();
    ids.extend(snapshot.inventory.records().map(|record| record.id.clone()));
    ids.sort();
    ids.dedup();
    let state = |object: crate::model::ObjectId| {
        let came = done.outcomes.iter().find(|outcome| outcome.object == object).map(|outcome| outcome.effect);
        let (health, reason) = match (came, snapshot.live.get(&object), &snapshot.server) {
            (Some(Effect::Deleted), ..) => return None,
            (Some(Effect::Created | Effect::Configured), ..) | (_, Some(_), _) => ("healthy", ""),
            (_, None, RealmServer::Answers) => ("failing", "it is not there"),
            (_, None, RealmServer::Silent(_) | RealmServer::Unknown) => ("unknown", "its Keycloak was not seen"),
        };
        Some(ObjectState { object, health: health.to_owned(), reason: reason.to_owned() })
    };
    ids.into_iter().filter_map(state).collect()
}

/// Returns whether an object is one of a Keycloak.
pub(super) fn is_of_realm(object: &crate::model::ObjectId) -> bool {
    object.group == REALM_GROUP
}
