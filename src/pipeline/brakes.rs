//! For which apps the brakes of an earlier head still hold: those that one push loosened together with anything else.
//!
//! A push that loosens brakes and changes nothing beside them is an answer to what was seen, and counts at once. In any other, whatever waits or
//! comes with it is judged by the brakes that stood before, until the app is as wanted. It is stored before the head counts as seen. Not here:
//! which settings are brakes (`plan::brakes`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::overview::Overview;
use super::{Error, Instance};
use crate::compile;
use crate::model::{AppName, CommitId, InstanceId, Settings};
use crate::plan::brakes::Brakes;
use crate::plan::{Plan, Snapshot};
use crate::store::Store;

/// Name of the cursor that holds them.
const HELD: &str = "brakes.held";

/// The apps that are held by brakes of an earlier head.
pub(super) struct HeldBrakes(Mutex<BTreeMap<AppName, Held>>);

/// What holds an app.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Held {
    brakes: Brakes,
    /// The newest head that would have loosened them.
    since: CommitId,
}

impl HeldBrakes {
    /// Returns what holds since before.
    pub(super) async fn read(store: &Store, instance: &InstanceId) -> Result<Self, Error> {
        let text = store.cursor(instance, HELD).await?.unwrap_or_default();
        Ok(Self(Mutex::new(serde_json::from_str(&text).unwrap_or_default())))
    }
}

async fn keep(
    instance: &Instance,
    all: &mut BTreeMap<AppName, Held>,
    next: BTreeMap<AppName, Held>,
) -> Result<(), Error> {
    if next == *all {
        return Ok(());
    }
    let text = serde_json::to_string(&next).unwrap_or_default();
    instance.store.put_cursor(&instance.id, HELD, &text).await?;
    *all = next;
    Ok(())
}

/// Takes in what a head loosens beyond the one before it, and returns the apps that are let go of by that.
pub(super) async fn take_in(
    instance: &Instance,
    before: &Overview,
    after: &Overview,
) -> Result<BTreeSet<AppName>, Error> {
    let none = BTreeSet::new();
    let (Ok(then), Ok(now)) = (before.settings(), after.settings()) else { return Ok(none) };
    let (then, now) = (Brakes::of(&then), Brakes::of(&now));
    if !now.is_looser_than(&then) {
        return Ok(none);
    }
    if is_alone(before, after) {
        let mut all = instance.brakes.0.lock().await;
        let released = all.keys().cloned().collect();
        return keep(instance, &mut all, BTreeMap::new()).await.map(|()| released);
    }
    let known = instance.store.app_states(&instance.id).await?;
    let known = known.iter().map(|state| state.name.clone());
    let apps: BTreeSet<AppName> = before.apps.keys().chain(after.apps.keys()).cloned().chain(known).collect();
    let mut all = instance.brakes.0.lock().await;
    let held = |app: AppName| {
        let brakes = all.get(&app).map_or_else(|| then.clone(), |held| held.brakes.and(&then));
        (app, Held { brakes, since: after.head.clone() })
    };
    let next = apps.into_iter().map(held).collect();
    keep(instance, &mut all, next).await.map(|()| none)
}

/// Returns whether nothing but settings changed between two heads.
fn is_alone(before: &Overview, after: &Overview) -> bool {
    let apps: BTreeSet<&AppName> = before.apps.keys().chain(after.apps.keys()).collect();
    let is_same = |path: &str| before.files.get(path) == after.files.get(path);
    before.apps == after.apps && is_same("config.yaml") && apps.iter().all(|app| is_same(&compile::record_path(app)))
}

/// Returns the settings by which an app is judged.
pub(super) async fn judging(instance: &Instance, app: &AppName, settings: Arc<Settings>) -> Arc<Settings> {
    match instance.brakes.0.lock().await.get(app) {
        None => settings,
        Some(held) => Arc::new(held.brakes.put_on(&settings)),
    }
}

/// Lets go of an app that is as wanted by a head that would have loosened its brakes, or a later one.
pub(super) async fn release(instance: &Instance, snapshot: &Snapshot, plan: &Plan) -> Result<(), Error> {
    let is_done =
        plan.actions.is_empty() && plan.blocked.is_empty() && plan.later.is_empty() && plan.leaving.is_empty();
    let mut all = instance.brakes.0.lock().await;
    let Some(held) = all.get(&snapshot.app).filter(|_| is_done) else { return Ok(()) };
    if held.since != snapshot.commit && !instance.repository.is_ancestor(&held.since, &snapshot.commit).await? {
        return Ok(());
    }
    let mut next = all.clone();
    next.remove(&snapshot.app);
    keep(instance, &mut all, next).await
}
