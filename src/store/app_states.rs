//! The tables `app_states` and `cursors`: what was last found about an app, so that a restart tells nothing twice and shows
//! something at once, with the time it was true.
//!
//! Not here: lifecycle and health themselves, which a pass computes and never reads from here to decide.

use sqlx::Row;

use super::{Error, Store, attempt, row};
use crate::model::{AppName, AppState, CommitId, InstanceId};

impl Store {
    /// Stores what a pass found about an app.
    pub async fn put_app_state(&self, instance: &InstanceId, state: &AppState) -> Result<(), Error> {
        sqlx::query("INSERT OR REPLACE INTO app_states (instance, app, commit_id, body) VALUES ($1, $2, $3, $4)")
            .bind(instance.as_str())
            .bind(state.name.as_str())
            .bind(state.applied.as_ref().map_or("", CommitId::as_str))
            .bind(serde_json::to_string(state).map_err(row("app_states"))?)
            .execute(&self.pool)
            .await
            .map_err(attempt("store the state of an app"))?;
        Ok(())
    }

    /// Returns what was last found about all apps, by name.
    pub async fn app_states(&self, instance: &InstanceId) -> Result<Vec<AppState>, Error> {
        let rows = sqlx::query("SELECT body FROM app_states WHERE instance = $1 ORDER BY app")
            .bind(instance.as_str())
            .fetch_all(&self.pool)
            .await
            .map_err(attempt("read the states of apps"))?;
        rows.iter()
            .map(|found| {
                let body: String = found.try_get("body").map_err(row("app_states"))?;
                serde_json::from_str(&body).map_err(row("app_states"))
            })
            .collect()
    }

    /// Forgets an app that is gone from git and from the cluster.
    pub async fn remove_app_state(&self, instance: &InstanceId, app: &AppName) -> Result<(), Error> {
        sqlx::query("DELETE FROM app_states WHERE instance = $1 AND app = $2")
            .bind(instance.as_str())
            .bind(app.as_str())
            .execute(&self.pool)
            .await
            .map_err(attempt("remove the state of an app"))?;
        Ok(())
    }

    /// Returns a remembered text, such as the last head that was closed with statuses.
    pub async fn cursor(&self, instance: &InstanceId, name: &str) -> Result<Option<String>, Error> {
        let found = sqlx::query("SELECT value FROM cursors WHERE instance = $1 AND name = $2")
            .bind(instance.as_str())
            .bind(name)
            .fetch_optional(&self.pool)
            .await
            .map_err(attempt("read a cursor"))?;
        found.map(|found| found.try_get("value").map_err(row("cursors"))).transpose()
    }

    /// Remembers a text.
    pub async fn put_cursor(&self, instance: &InstanceId, name: &str, value: &str) -> Result<(), Error> {
        sqlx::query("INSERT OR REPLACE INTO cursors (instance, name, value) VALUES ($1, $2, $3)")
            .bind(instance.as_str())
            .bind(name)
            .bind(value)
            .execute(&self.pool)
            .await
            .map_err(attempt("store a cursor"))?;
        Ok(())
    }
}
