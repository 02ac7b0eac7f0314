//! The tables `app_states` and `cursors`: what was last found about an app, so that a restart tells nothing twice and shows
//! something at once, with the time it was true.
//!
//! Not here: lifecycle and health themselves, which a pass computes and never reads from here to decide.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sqlx::Row;

use super::write::{Statement, Table, Written};
use super::{Error, Store, attempt, row};
use crate::base::Timestamp;
use crate::model::{AppName, AppState, CommitId, InstanceId, Standing};

/// The remembered texts of one instance by name. Each is read once: every pass asks for several.
pub(super) type Cursors = BTreeMap<String, Option<String>>;

/// The states of one instance's apps. They are read once: after each pass a verdict is found over all of them, which therefore must not cost
/// more the more apps there are.
#[derive(Default, Debug)]
pub(super) struct Known {
    states: BTreeMap<AppName, Arc<AppState>>,
    standings: BTreeMap<Standing, BTreeSet<AppName>>,
    drifted: BTreeSet<AppName>,
}

impl Known {
    fn put(&mut self, state: AppState) {
        self.remove(&state.name);
        self.standings.entry(state.standing()).or_default().insert(state.name.clone());
        if !state.drift.is_empty() {
            self.drifted.insert(state.name.clone());
        }
        self.states.insert(state.name.clone(), Arc::new(state));
    }

    fn remove(&mut self, app: &AppName) {
        let Some(state) = self.states.remove(app) else { return };
        if let Some(apps) = self.standings.get_mut(&state.standing()) {
            apps.remove(app);
        }
        self.drifted.remove(app);
    }
}

/// What the apps of an instance come to.
#[derive(Debug)]
pub struct Survey {
    /// How the worst stands and the first that stands so; nothing if no app is wanted in the cluster.
    pub worst: Option<(Standing, Arc<AppState>)>,
    /// Apps that are wanted in the cluster.
    pub deployed: usize,
    /// Those that differ from git.
    pub drifted: Vec<Arc<AppState>>,
}

impl Store {
    /// Stores what a pass found about an app.
    pub async fn put_app_state(&self, instance: &InstanceId, state: &AppState) -> Result<(), Error> {
        self.put_app_states(instance, vec![state.clone()]).await
    }

    /// Stores what is known about several apps: all of it, or nothing.
    pub async fn put_app_states(&self, instance: &InstanceId, states: Vec<AppState>) -> Result<(), Error> {
        let statements = states.iter().map(|state| put(instance, state)).collect::<Result<Vec<_>, _>>()?;
        let mut all = self.app_states.lock().await;
        let known = self.known(&mut all, instance).await?;
        states.into_iter().for_each(|state| known.put(state));
        // Handed in under the lock, so that rows and what is known change in one order.
        let written = self.writer.hand_in(statements).await;
        drop(all);
        self.settle_app_states(instance, written).await
    }

    /// Waits for a write. One that fails is not known any more: what is on disk counts, and is read again.
    async fn settle_app_states(&self, instance: &InstanceId, written: Written) -> Result<(), Error> {
        let done = written.done().await;
        if done.is_err() {
            self.app_states.lock().await.remove(instance);
        }
        done.map(|_| ())
    }

    /// Notes that an app was found again as it was. Only in memory: a process that starts looks at every app anew.
    pub async fn touch_app_state(&self, instance: &InstanceId, app: &AppName, now: Timestamp) -> Result<(), Error> {
        let mut all = self.app_states.lock().await;
        if let Some(state) = self.known(&mut all, instance).await?.states.get_mut(app) {
            *state = Arc::new(AppState { observed_at: now, ..AppState::clone(state) });
        }
        Ok(())
    }

    /// Returns what was last found about all apps, by name.
    pub async fn app_states(&self, instance: &InstanceId) -> Result<Vec<Arc<AppState>>, Error> {
        let mut all = self.app_states.lock().await;
        Ok(self.known(&mut all, instance).await?.states.values().cloned().collect())
    }

    /// Returns what all apps come to.
    pub async fn survey(&self, instance: &InstanceId) -> Result<Survey, Error> {
        let mut all = self.app_states.lock().await;
        let Known { states, standings, drifted } = self.known(&mut all, instance).await?;
        let deployed = || standings.iter().filter(|(standing, _)| **standing != Standing::Added);
        let first =
            |(standing, apps): (&Standing, &BTreeSet<AppName>)| Some((*standing, states.get(apps.first()?)?.clone()));
        Ok(Survey {
            worst: deployed().find_map(first),
            deployed: deployed().map(|(_, apps)| apps.len()).sum(),
            drifted: drifted.iter().filter_map(|app| states.get(app).cloned()).collect(),
        })
    }

    /// Returns what was last found about an app.
    pub async fn app_state(&self, instance: &InstanceId, app: &AppName) -> Result<Option<Arc<AppState>>, Error> {
        let mut all = self.app_states.lock().await;
        Ok(self.known(&mut all, instance).await?.states.get(app).cloned())
    }

    /// Forgets an app that is gone from git and from the cluster.
    pub async fn remove_app_state(&self, instance: &InstanceId, app: &AppName) -> Result<(), Error> {
        let statement = Statement::new(
            "remove the state of an app",
            Table::AppStates,
            "DELETE FROM app_states WHERE instance = $1 AND app = $2",
        )
        .text(instance.as_str())
        .text(app.as_str());
        let mut all = self.app_states.lock().await;
        self.known(&mut all, instance).await?.remove(app);
        let written = self.writer.hand_in(vec![statement]).await;
        drop(all);
        self.settle_app_states(instance, written).await
    }

    /// Returns the states of an instance, read when somebody first asks.
    async fn known<'a>(
        &self,
        all: &'a mut BTreeMap<InstanceId, Known>,
        instance: &InstanceId,
    ) -> Result<&'a mut Known, Error> {
        if !all.contains_key(instance) {
            // What was handed in before must be among the rows.
            self.writer.hand_in(Vec::new()).await.done().await?;
            let mut known = Known::default();
            self.read_app_states(instance).await?.into_iter().for_each(|state| known.put(state));
            all.insert(instance.clone(), known);
        }
        Ok(all.entry(instance.clone()).or_default())
    }

    async fn read_app_states(&self, instance: &InstanceId) -> Result<Vec<AppState>, Error> {
        let rows = sqlx::query("SELECT body FROM app_states WHERE instance = $1 ORDER BY app")
            .bind(instance.as_str())
            .fetch_all(&self.readers)
            .await
            .map_err(attempt("read the states of apps"))?;
        rows.iter()
            .map(|found| {
                let body: String = found.try_get("body").map_err(row("app_states"))?;
                serde_json::from_str(&body).map_err(row("app_states"))
            })
            .collect()
    }

    /// Returns a remembered text, such as the last head that was closed with statuses.
    pub async fn cursor(&self, instance: &InstanceId, name: &str) -> Result<Option<String>, Error> {
        let mut all = self.cursors.lock().await;
        let known = all.entry(instance.clone()).or_default();
        if let Some(value) = known.get(name) {
            return Ok(value.clone());
        }
        let found = sqlx::query("SELECT value FROM cursors WHERE instance = $1 AND name = $2")
            .bind(instance.as_str())
            .bind(name)
            .fetch_optional(&self.readers)
            .await
            .map_err(attempt("read a cursor"))?;
        let value: Option<String> = found.map(|found| found.try_get("value").map_err(row("cursors"))).transpose()?;
        known.insert(name.to_owned(), value.clone());
        Ok(value)
    }

    /// Remembers a text.
    pub async fn put_cursor(&self, instance: &InstanceId, name: &str, value: &str) -> Result<(), Error> {
        let head = "INSERT OR REPLACE INTO cursors (instance, name, value) ";
        let statement =
            Statement::row("store a cursor", Table::Cursors, head).text(instance.as_str()).text(name).text(value);
        let mut all = self.cursors.lock().await;
        all.entry(instance.clone()).or_default().insert(name.to_owned(), Some(value.to_owned()));
        let written = self.writer.hand_in(vec![statement]).await;
        drop(all);
        let done = written.done().await;
        if done.is_err() {
            // What is on disk counts, and is read again.
            self.cursors.lock().await.entry(instance.clone()).or_default().remove(name);
        }
        done.map(|_| ())
    }
}

fn put(instance: &InstanceId, state: &AppState) -> Result<Statement, Error> {
    let head = "INSERT OR REPLACE INTO app_states (instance, app, commit_id, body) ";
    Ok(Statement::row("store the state of an app", Table::AppStates, head)
        .text(instance.as_str())
        .text(state.name.as_str())
        .text(state.applied.as_ref().map_or("", CommitId::as_str))
        .text(serde_json::to_string(state).map_err(row("app_states"))?))
}
