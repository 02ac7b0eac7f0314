//! The last step's first half: what a pass found becomes the state of an app, and changes of it become events and statuses.
//!
//! Not here: sentences (`broadcast::message`), the verdict on a commit (`statuses.rs`).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::read::Sight;
use super::realms::is_of_realm;
use super::skip::skips;
use super::{Committed, Error, Instance, Overview, overview, read, statuses, vouched};
use crate::apply::Applied;
use crate::compile;
use crate::health::Health;
use crate::merge::Conflict;
use crate::model::{
    AppName, AppState, ClusterName, CommitId, DriftState, Event, EventKind, ObjectState, Operation, OperationState,
    PackageName,
};
use crate::package;
use crate::plan::{self, Blocked, Nowhere, Plan, Presence, Snapshot, Verb, Verdict, recovery};

/// Everything that the state of an app follows from.
pub(super) struct Facts<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) plan: &'a Plan,
    pub(super) applied: &'a Applied,
    pub(super) drift: Vec<DriftState>,
    pub(super) committed: &'a Committed,
    pub(super) sight: &'a Sight,
    /// Objects of the app's Keycloak.
    pub(super) realms: Vec<ObjectState>,
}

/// Returns the state of an app after a pass over its cluster; nothing once it is gone from git and from the cluster.
pub(super) async fn of_pass(instance: &Instance, facts: &Facts<'_>) -> Result<Option<AppState>, Error> {
    let Facts { snapshot, plan, applied, drift, committed, sight, realms } = facts;
    let Some(mut state) = of_repository(instance, &snapshot.app, committed, sight, Some(snapshot)).await? else {
        return Ok(None);
    };
    let gone = match snapshot.presence {
        Presence::RemovedKeepingData | Presence::RemovedWithData => true,
        // Until a person agrees it is as much there as before.
        Presence::Vanished => plan.blocked.is_empty(),
        Presence::Kept | Presence::Added | Presence::Moves => false,
    };
    // A volume that outlives the app is no longer a part of it.
    let is_over = plan.actions.iter().all(|action| matches!(action.verb, Verb::LetGo { .. }));
    if gone && is_over && plan.leaving.is_empty() && plan.blocked.is_empty() {
        return Ok(None);
    }
    // What this pass has just put back is no longer drift; what it failed to put back, or was not to, still is.
    let is_left = |item: &DriftState| {
        !applied.is_complete() || plan.drift.iter().any(|it| it.object == item.object && it.verdict == Verdict::Report)
    };
    state.drift = drift.iter().filter(|item| is_left(item)).cloned().collect();
    state.namespace.clone_from(&snapshot.namespace);
    // The plan saw the objects as they were before this pass wrote them.
    let health = if applied.changed() { Health::progressing("just applied") } else { plan.health.clone() };
    state.health = health.state.word().to_owned();
    state.health_reason = health.reason;
    state.needs_you.clear();
    state.hint.clear();
    state.objects = objects(snapshot);
    state.objects.extend(realms.iter().cloned());
    if snapshot.presence == Presence::Added {
        state.health = "unknown".to_owned();
        "not deployed".clone_into(&mut state.health_reason);
        state.lifecycle = lifecycle(&state, gone).to_owned();
        return Ok(Some(state));
    }
    intend(&mut state, plan, applied, committed, instance.secrets.path());
    advise(&mut state, committed);
    let failed = plan.blocked.iter().filter(|blocked| blocked.reason == "HookFailed");
    let said = failed.filter_map(|blocked| snapshot.said.get(blocked.object.as_ref()?)).next();
    state.notices = plan::notices(snapshot);
    state.log = said.cloned().unwrap_or_default();
    state.lifecycle = lifecycle(&state, gone).to_owned();
    Ok(Some(state))
}

/// Returns what the repository alone says about an app; nothing if it is not in the tree and nothing of it is remembered.
pub(super) async fn of_repository(
    instance: &Instance,
    app: &AppName,
    committed: &Committed,
    sight: &Sight,
    snapshot: Option<&Snapshot>,
) -> Result<Option<AppState>, Error> {
    let in_tree = matches!(sight.presence, Presence::Kept | Presence::Added);
    if !in_tree && snapshot.is_none() {
        return Ok(None);
    }
    let before = instance.store.app_state(&instance.id, app).await?;
    let record = compile::record_of(&sight.files, app).ok().flatten();
    let conflicts = read::conflicts(instance, app).await?.len();
    let version = record.as_ref().map(|record| record.version.clone()).unwrap_or_default();
    let available = match &record {
        Some(record) => available(instance, sight, &record.package, &record.version).await?,
        None => None,
    };
    let mut state = AppState {
        name: app.clone(),
        package: record.map(|record| record.package.to_string()).unwrap_or_default(),
        version,
        update: match (conflicts, &available) {
            (1.., _) => Some("needs-you".to_owned()),
            (0, Some(_)) => Some("ready".to_owned()),
            (0, None) => None,
        },
        available: available.unwrap_or_default(),
        namespace: before.as_ref().map_or_else(|| app.to_string(), |state| state.namespace.clone()),
        cluster: cluster(instance, sight, snapshot),
        health: before.as_ref().map_or_else(|| "unknown".to_owned(), |state| state.health.clone()),
        health_reason: before.as_ref().map(|state| state.health_reason.clone()).unwrap_or_default(),
        intent: if sight.presence == Presence::Added { "added" } else { "waiting" }.to_owned(),
        reason: String::new(),
        needs_you: String::new(),
        hint: String::new(),
        log: Vec::new(),
        notices: Vec::new(),
        lifecycle: String::new(),
        drift: before.as_ref().map(|state| state.drift.clone()).unwrap_or_default(),
        conflicts,
        commit: Some(committed.head.clone()),
        applied: before.as_ref().and_then(|state| state.applied.clone()),
        objects: before.map(|state| state.objects.clone()).unwrap_or_default(),
        observed_at: instance.now(),
    };
    if instance.targets().is_empty() && state.intent == "waiting" {
        "no cluster is known yet".clone_into(&mut state.health_reason);
    }
    if snapshot.is_none()
        && state.intent == "waiting"
        && let Some(applied) = &state.applied
        && is_same(instance, app, applied, &committed.head).await?
    {
        "applied".clone_into(&mut state.intent);
    }
    if snapshot.is_none() {
        state.lifecycle = lifecycle(&state, false).to_owned();
    }
    advise(&mut state, committed);
    Ok(Some(state))
}

/// Returns the cluster that an app is on, or is to be on.
fn cluster(instance: &Instance, sight: &Sight, snapshot: Option<&Snapshot>) -> ClusterName {
    let named = || instance.targets().named(&sight.context).map(|(name, _)| name.clone());
    snapshot.map(|snapshot| snapshot.cluster.clone()).or_else(named).unwrap_or_default()
}

/// Notes that no cluster is known for an app; what is applied of it stays as it is.
pub(super) fn stands_nowhere(state: &mut AppState, nowhere: &Nowhere) {
    let (reason, why, hint) = nowhere.told(&state.name);
    if *nowhere == Nowhere::NoCluster {
        return;
    }
    "blocked".clone_into(&mut state.intent);
    reason.clone_into(&mut state.reason);
    "unknown".clone_into(&mut state.health);
    state.health_reason.clear();
    state.needs_you = why;
    state.hint = hint;
    state.lifecycle = lifecycle(state, false).to_owned();
}

/// Returns whether an app is the same in two commits, so that what was applied of the one is applied of the other.
async fn is_same(instance: &Instance, app: &AppName, one: &CommitId, other: &CommitId) -> Result<bool, Error> {
    let own = format!("apps/{app}");
    let tree = &instance.tree;
    Ok(one == other || tree.tree_id(one, &own).await? == tree.tree_id(other, &own).await?)
}

/// Returns the version that an upstream offers beyond the one that is there.
async fn available(
    instance: &Instance,
    sight: &Sight,
    package: &PackageName,
    version: &str,
) -> Result<Option<String>, Error> {
    for directory in &sight.settings.directories {
        let Some(commit) = vouched::followed(instance, directory).await? else { continue };
        for place in package::directories(&directory.path, package) {
            let offered = read::version_at(instance, &commit, &place).await?;
            let Some(offered) = offered.filter(|offered| offered != version) else { continue };
            // What breaks a rule beside its manifest is not on offer.
            let measured = instance.repository.measure(&commit, std::slice::from_ref(&place)).await?;
            if measured.values().all(Result::is_ok) {
                return Ok(Some(offered));
            }
        }
    }
    Ok(None)
}

fn objects(snapshot: &Snapshot) -> Vec<ObjectState> {
    snapshot
        .inventory
        .records()
        .filter(|record| !is_of_realm(&record.id))
        .map(|record| {
            let live = snapshot.live.get(&record.id);
            let (health, reason) = match live {
                None => ("failing", "it is not there".to_owned()),
                Some(live) if live.terminating => ("deleting", String::new()),
                Some(live) => {
                    let health = plan::of_live(snapshot, &record.id, live);
                    (health.state.word(), health.reason)
                }
            };
            ObjectState { object: record.id.clone(), health: health.to_owned(), reason }
        })
        .collect()
}

/// Fills in intent, applied commit and reason.
fn intend(state: &mut AppState, plan: &Plan, applied: &Applied, committed: &Committed, secrets: &Path) {
    let is_held = plan.blocked.first().is_some_and(|blocked| blocked.reason == plan::HELD);
    let failed = applied.failed().next().filter(|_| !is_held);
    let whole_app_blocked = plan.blocked.first();
    if let Some(failed) = failed {
        "waiting".clone_into(&mut state.intent);
        "ApplyFailed".clone_into(&mut state.reason);
        state.needs_you.clone_from(&failed.message);
        state.hint = format!("wild app events {}", state.name);
    } else if let Some(blocked) = whole_app_blocked {
        "blocked".clone_into(&mut state.intent);
        state.reason.clone_from(&blocked.reason);
        state.needs_you.clone_from(&blocked.message);
        if let Some(against) = against(state).filter(|_| blocked.reason == "Fighting") {
            state.needs_you = format!("{}; {against} now", blocked.message);
        }
        state.hint = hint(state, blocked, secrets);
    } else if let Some(held) = applied.blocked().next() {
        "blocked".clone_into(&mut state.intent);
        state.reason.clone_from(&held.reason);
        state.needs_you.clone_from(&held.message);
        if held.reason == "RecreateNeedsApproval" {
            state.hint = format!("wild app deploy {} --recreate {}", state.name, held.object.short());
        } else if held.reason == plan::FIELD_CONFLICT {
            state.hint = format!("wild drift revert {}", state.name);
        }
    } else if !plan.later.is_empty() {
        "waiting".clone_into(&mut state.intent);
        "WaveNotHealthy".clone_into(&mut state.reason);
        let waits_for: Vec<String> = plan.waits_for().into_iter().map(|name| with_health(state, name)).collect();
        state.health_reason = format!("{} later objects wait for {}", plan.later.len(), waits_for.join(", "));
    } else if applied.is_complete() {
        "applied".clone_into(&mut state.intent);
        state.applied = Some(committed.head.clone());
    } else {
        "waiting".clone_into(&mut state.intent);
    }
}

/// Returns the name of an object with what keeps it from being healthy.
fn with_health(state: &AppState, name: &str) -> String {
    let found = state.objects.iter().find(|it| it.object.short() == name && it.health != "healthy");
    match found {
        Some(it) if it.reason.is_empty() => format!("{name} ({})", it.health),
        Some(it) => format!("{name} ({}: {})", it.health, it.reason),
        None => name.to_owned(),
    }
}

/// Returns what the cluster says of a field that somebody fights about, as the rest of a sentence.
fn against(state: &AppState) -> Option<String> {
    let value = |drift: &DriftState| Some(format!("{} is {} there", drift.path, drift.live.as_ref()?));
    state.drift.iter().find_map(value)
}

/// Returns the command for what holds an app back; here the paths of this machine are known.
fn hint(state: &AppState, blocked: &Blocked, secrets: &Path) -> String {
    match (blocked.reason.as_str(), &state.applied) {
        ("SecretMissing", _) => blocked.hint.replace("secrets.yaml", &secrets.display().to_string()),
        ("Unreadable", Some(applied)) if blocked.hint.is_empty() => {
            format!("wild app rollback {} --to {}", state.name, applied.short())
        }
        _ => blocked.hint.clone(),
    }
}

/// Fills in what a person should do, the most pressing first, and the command for it.
fn advise(state: &mut AppState, committed: &Committed) {
    if let Some(refusal) = &committed.refusal {
        state.needs_you = format!("{}: {}", refusal.what, refusal.because);
        state.hint.clone_from(&refusal.remedy);
        return;
    }
    if !state.needs_you.is_empty() {
        return;
    }
    let name = &state.name;
    let (needs_you, hint) = match (state.conflicts, state.drift.len(), state.health.as_str(), state.intent.as_str()) {
        (1, ..) => ("1 conflict".to_owned(), format!("wild app resolve {name}")),
        (2.., ..) => (format!("{} conflicts", state.conflicts), format!("wild app resolve {name}")),
        (0, 1.., ..) => ("changed in the cluster".to_owned(), format!("wild drift show {name}")),
        (0, 0, "failing", _) => (state.health_reason.clone(), format!("wild app events {name}")),
        (0, 0, _, "added") => ("added, not deployed".to_owned(), format!("wild app deploy {name}")),
        (0, 0, _, _) if !state.available.is_empty() => {
            (format!("{} is available", state.available), format!("wild app update {name}"))
        }
        (0, 0, _, _) => (String::new(), String::new()),
    };
    state.needs_you = needs_you;
    state.hint = hint;
}

fn lifecycle(state: &AppState, gone: bool) -> &'static str {
    match (gone, state.intent.as_str(), state.drift.is_empty(), state.health.as_str(), &state.applied) {
        (true, "blocked", ..) if state.reason == recovery::STUCK => "stuck",
        (true, ..) => "deleting",
        (false, "added", ..) => "added",
        (false, _, false, ..) => "drifted",
        (false, "applied", true, "healthy" | "stopped", _) => "deployed",
        (false, "blocked", ..) if state.reason != recovery::GOING => "stuck",
        (false, _, true, _, None) => "deploying",
        (false, _, true, _, Some(_)) => "updating",
    }
}

/// Notes that apps which a new head changed wait for a pass, so that nothing shows the state before as that of the head.
pub(super) async fn wait(instance: &Instance, changed: &BTreeSet<AppName>) -> Result<(), Error> {
    let mut waiting = Vec::new();
    for app in changed {
        let known = instance.store.app_state(&instance.id, app).await?;
        if let Some(known) = known.filter(|known| known.intent == "applied") {
            waiting.push(AppState { intent: "waiting".to_owned(), ..AppState::clone(&known) });
        }
    }
    if !waiting.is_empty() {
        instance.store.put_app_states(&instance.id, waiting).await?;
    }
    Ok(())
}

/// Returns the state of an app as a head sees it: one that is of other files waits, because its pass began before the head was there.
async fn as_of(instance: &Instance, state: AppState, head: &Overview) -> AppState {
    let is_of_head = match &state.commit {
        _ if state.intent != "applied" => true,
        None => false,
        Some(commit) => {
            let changed = overview::changed_since(instance, commit, head).await;
            // A commit that is gone has nothing in common with the head.
            changed.is_ok_and(|changed| !changed.contains(&state.name))
        }
    };
    if is_of_head { state } else { AppState { intent: "waiting".to_owned(), ..state } }
}

/// Tells that the first write of a revision is about to go out; returns when, if it puts back what differs.
pub(super) async fn tell_applying(
    instance: &Instance,
    snapshot: &Snapshot,
    plan: &Plan,
    operation: &Operation,
) -> Result<Option<Instant>, Error> {
    if plan.actions.is_empty() || skips("broadcast") {
        return Ok(None);
    }
    let correction = plan.drifted().next().is_some();
    let kind = if correction { EventKind::DriftDetected } else { EventKind::Applying };
    let detail = match plan.drifted().next() {
        Some(item) => format!("{} {}", item.object.short(), item.paths.join(", ")),
        None => format!("{} objects", plan.actions.len()),
    };
    instance
        .bus
        .tell(vec![Event {
            time: instance.now(),
            app: Some(snapshot.app.clone()),
            operation: Some(operation.id.clone()),
            commit: Some(snapshot.commit.clone()),
            kind,
            detail,
        }])
        .await;
    Ok(correction.then(Instant::now))
}

/// Stores the state of an app, or that it is gone, and returns the state before. Comes before an operation is closed, so that whoever
/// waited for its end finds the state that it led to.
pub(super) async fn put(
    instance: &Instance,
    app: &AppName,
    state: Option<&AppState>,
) -> Result<Option<Arc<AppState>>, Error> {
    let head = statuses::seen_head(instance).await?;
    let before = instance.store.app_state(&instance.id, app).await?;
    if skips("record") {
        return Ok(before);
    }
    match (state, head.overview()) {
        (Some(state), Some(head)) => {
            let state = as_of(instance, state.clone(), head).await;
            instance.store.put_app_state(&instance.id, &state).await?;
        }
        (Some(state), None) => instance.store.put_app_state(&instance.id, state).await?,
        (None, _) => instance.store.remove_app_state(&instance.id, app).await?,
    }
    Ok(before)
}

/// What changed of an app, and the operation that changed it.
pub(super) struct Change<'a> {
    pub(super) app: &'a AppName,
    pub(super) before: Option<Arc<AppState>>,
    pub(super) state: Option<&'a AppState>,
    pub(super) ended: Option<&'a Operation>,
    /// Whether it put back what differed.
    pub(super) healed: bool,
}

/// Tells what changed of an app, and sets the statuses of the head.
pub(super) async fn tell(instance: &Instance, change: Change<'_>) -> Result<(), Error> {
    if skips("broadcast") {
        return Ok(());
    }
    let Change { app, before, state, ended, healed } = change;
    let event = |(kind, detail)| Event {
        time: instance.now(),
        app: Some(app.clone()),
        operation: ended.map(|operation| operation.id.clone()),
        commit: state.and_then(|state| state.commit.clone()),
        kind,
        detail,
    };
    instance.bus.tell(changes(before.as_deref(), state, (ended, healed)).into_iter().map(event).collect()).await;
    statuses::update(instance).await
}

/// Returns the events that lie between two states of an app.
fn changes(
    before: Option<&AppState>,
    after: Option<&AppState>,
    (ended, healed): (Option<&Operation>, bool),
) -> Vec<(EventKind, String)> {
    let Some(after) = after else {
        return if before.is_some() { vec![(EventKind::Deleted, String::new())] } else { Vec::new() };
    };
    let mut told = Vec::new();
    let was = |read: fn(&AppState) -> &str| before.map(read).unwrap_or_default();
    if before.is_none_or(|before| before.applied != after.applied) && after.intent == "applied" {
        told.push((EventKind::Applied, after.version.clone()));
    }
    if after.intent == "applied" && after.health != was(|state| &state.health) {
        match after.health.as_str() {
            "healthy" => told.push((EventKind::Healthy, String::new())),
            "failing" => told.push((EventKind::Unhealthy, after.health_reason.clone())),
            _ => {}
        }
    }
    if after.intent == "blocked"
        && (was(|state| &state.intent) != "blocked" || was(|state| &state.needs_you) != after.needs_you)
    {
        told.push((EventKind::Blocked, after.needs_you.clone()));
    }
    if ended.is_some_and(|operation| operation.state == OperationState::Failed) {
        told.push((EventKind::Failed, after.needs_you.clone()));
    }
    let drifted = before.map_or(0, |before| before.drift.len());
    match (drifted, after.drift.first()) {
        (0, Some(first)) => told.push((EventKind::DriftDetected, format!("{} {}", first.object.short(), first.path))),
        (1.., None) => told.push((EventKind::DriftCorrected, String::new())),
        // That it differed was told when it was about to be put back.
        (0, None) if healed => told.push((EventKind::DriftCorrected, String::new())),
        _ => {}
    }
    if after.conflicts > before.map_or(0, |before| before.conflicts) {
        told.push((EventKind::UpdateConflict, format!("{} conflicts", after.conflicts)));
    }
    if !after.available.is_empty() && was(|state| &state.available) != after.available {
        told.push((EventKind::UpdateAvailable, after.available.clone()));
    }
    told
}

/// Returns the three sides of a conflict as people read them.
pub fn conflict_texts(conflict: &Conflict) -> [(&'static str, String); 3] {
    let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "(absent)".to_owned());
    [("base", side(&conflict.base)), ("mine", side(&conflict.mine)), ("upstream", side(&conflict.upstream))]
}
