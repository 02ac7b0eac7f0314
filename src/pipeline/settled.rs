//! What a whole pass found to be exactly as wanted: a later pass that nobody asked for, from the same inputs, ends at once.
//!
//! Everything that the second half of the line depends on is compared by identity: the app's files, its record, what the settings say about
//! it, the secrets, and what the watches saw of its objects since. Not here: what compiling depends on (`inputs.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use super::inputs::Inputs;
use super::overview::{Overview, overview};
use super::readers::{self, Owners};
use super::state::{self, Change, Facts};
use super::{Error, Instance, Passed, audit, leaks, lock};
use crate::compile;
use crate::model::{AppName, AppState, ClusterName, Reason, Secrets};
use crate::observe;
use crate::plan::{Freshness, Plan, Policy, Presence};
use crate::target::{Reachability, Target, WatchState};

/// The apps that were found as wanted, each with what that was found from.
#[derive(Default)]
pub(super) struct Memory(Mutex<BTreeMap<AppName, Settled>>);

struct Settled {
    tree: Option<String>,
    record: Option<String>,
    cluster: ClusterName,
    policy: Policy,
    control_namespace: String,
    secrets: Arc<Secrets>,
    kinds: BTreeSet<(String, String)>,
    seen: u64,
    /// What those say whose secrets the app reads.
    owners: Owners,
}

/// Ends a pass of an app that is still as it was found last; returns nothing if it has to be looked at.
pub(super) async fn still(instance: &Instance, app: &AppName, why: Reason) -> Result<Option<Passed>, Error> {
    let compiles = match why {
        Reason::Push | Reason::File | Reason::Scheduled => true,
        Reason::Health | Reason::Released | Reason::Retry => false,
        Reason::Request | Reason::Upstream | Reason::Drift | Reason::Audit => return Ok(None),
    };
    if !audit::due(instance, app).is_empty() {
        return Ok(None);
    }
    let overview = overview(instance).await?;
    if !leaks::at(instance, &overview).await?.against(app).is_empty() {
        return Ok(None);
    }
    let context = overview.settings()?.context_of(app.as_str()).to_owned();
    let targets = instance.targets();
    let Some((cluster, target)) = targets.named(&context) else { return Ok(None) };
    if !is_as_found(instance, app, &overview, (cluster, target.as_ref()))? {
        return Ok(None);
    }
    let made = overview.files.contains(&compile::record_path(app));
    if compiles && made && !Inputs::of(instance, app, &overview, why).await?.are_settled(instance).await? {
        return Ok(None);
    }
    let Some(known) = instance.store.app_state(&instance.id, app).await? else { return Ok(None) };
    let state = AppState {
        intent: "applied".to_owned(),
        commit: Some(overview.head.clone()),
        applied: Some(overview.head.clone()),
        observed_at: instance.now(),
        ..AppState::clone(&known)
    };
    let before = match known.intent == state.intent && known.commit == state.commit {
        true => {
            instance.store.touch_app_state(&instance.id, app, instance.now()).await?;
            Some(known)
        }
        false => state::put(instance, app, Some(&state)).await?,
    };
    state::tell(instance, Change { app, before, state: Some(&state), ended: None, healed: false }).await?;
    Ok(Some(Passed { judged: true, state: Some(state), ..Passed::default() }))
}

fn is_as_found(
    instance: &Instance,
    app: &AppName,
    overview: &Overview,
    (home, target): (&ClusterName, &dyn Target),
) -> Result<bool, Error> {
    let memory = lock(&instance.settled.0);
    let Some(settled) = memory.get(app) else { return Ok(false) };
    let Settled { tree, record, cluster, policy, control_namespace, secrets, kinds, seen, owners } = settled;
    let settings = overview.settings()?;
    Ok(overview.apps.get(app) == tree.as_ref()
        && home == cluster
        && overview.files.text(&compile::record_path(app)) == record.as_deref()
        && observe::policy_of(&settings, app) == *policy
        && settings.cluster.control_namespace == *control_namespace
        && Arc::ptr_eq(&instance.secrets.read()?, secrets)
        && readers::are_as_found(owners, overview)
        && target.seen(app.as_str()) == *seen
        && target.reachability() == Reachability::Reachable
        && kinds.iter().all(|(group, kind)| target.watch_state(app.as_str(), group, kind) == WatchState::Fresh))
}

/// What a pass was made from that no snapshot holds.
pub(super) struct Ground {
    /// The secrets that it read.
    pub(super) secrets: Arc<Secrets>,
    /// What the watches had seen of the app when it began to look.
    pub(super) seen: u64,
}

/// Remembers what a pass found, if there was nothing to do and nothing to wait for; forgets the app otherwise.
pub(super) fn note(instance: &Instance, facts: &Facts<'_>, state: Option<&AppState>, ground: Ground) {
    let Facts { snapshot, plan, applied: _, drift: _, committed, sight, realms: _ } = facts;
    let is_well = state.is_some_and(|state| {
        state.intent == "applied" && matches!(state.health.as_str(), "healthy" | "stopped") && state.conflicts == 0
    });
    let is_fresh = snapshot.freshness.values().all(|freshness| *freshness == Freshness::Fresh);
    let app = &snapshot.app;
    let mut memory = lock(&instance.settled.0);
    let is_complete = snapshot.awaited.is_empty();
    if !is_well
        || !is_fresh
        || !is_complete
        || !is_idle(plan)
        || committed.refusal.is_some()
        || snapshot.presence != Presence::Kept
    {
        memory.remove(app);
        return;
    }
    let settled = Settled {
        tree: sight.overview.apps.get(app).cloned(),
        record: sight.overview.files.text(&compile::record_path(app)).map(str::to_owned),
        cluster: snapshot.cluster.clone(),
        policy: snapshot.policy.clone(),
        control_namespace: sight.settings.cluster.control_namespace.clone(),
        secrets: ground.secrets,
        kinds: snapshot.freshness.keys().cloned().collect(),
        seen: ground.seen,
        owners: readers::owners(&sight.files, app, &sight.overview),
    };
    memory.insert(app.clone(), settled);
}

/// Returns whether a plan leaves nothing to do, to report or to wait for.
fn is_idle(plan: &Plan) -> bool {
    let Plan { actions, recovered, forgotten, leaving, blocked, later, drift, wake_at, wake_on, .. } = plan;
    actions.is_empty()
        && recovered.is_empty()
        && forgotten.is_empty()
        && leaving.is_empty()
        && blocked.is_empty()
        && later.is_empty()
        && drift.is_empty()
        && wake_at.is_none()
        && wake_on.is_empty()
}
