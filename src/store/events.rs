//! The table `events`: what was told, in order, so that a slow receiver loses nothing.
//!
//! Not here: telling it (`broadcast`).

use sqlx::Row;

use super::{Error, Store, attempt, row};
use crate::model::{AppName, Event, InstanceId};

/// Events that are kept per instance; older ones are removed as new ones come.
const EVENT_CAPACITY: i64 = 10_000;

impl Store {
    /// Stores an event and returns its position.
    pub async fn add_event(&self, instance: &InstanceId, event: &Event) -> Result<i64, Error> {
        let stored = sqlx::query(
            "INSERT INTO events (position, instance, app, time, body)
             VALUES ((SELECT COALESCE(MAX(position), 0) + 1 FROM events), $1, $2, $3, $4) RETURNING position",
        )
        .bind(instance.as_str())
        .bind(event.app.as_ref().map_or("", AppName::as_str))
        .bind(event.time.0)
        .bind(serde_json::to_string(event).map_err(row("events"))?)
        .fetch_one(&self.pool)
        .await
        .map_err(attempt("store an event"))?;
        let position: i64 = stored.try_get("position").map_err(row("events"))?;
        sqlx::query("DELETE FROM events WHERE instance = $1 AND position <= $2")
            .bind(instance.as_str())
            .bind(position.saturating_sub(EVENT_CAPACITY))
            .execute(&self.pool)
            .await
            .map_err(attempt("remove old events"))?;
        Ok(position)
    }

    /// Returns the newest events of an app, or of the whole instance, oldest first.
    pub async fn events(&self, instance: &InstanceId, app: Option<&AppName>, limit: i64) -> Result<Vec<Event>, Error> {
        let rows = sqlx::query(
            "SELECT body FROM events WHERE instance = $1 AND ($2 = '' OR app = $2) ORDER BY position DESC LIMIT $3",
        )
        .bind(instance.as_str())
        .bind(app.map_or("", AppName::as_str))
        .bind(limit.clamp(0, EVENT_CAPACITY))
        .fetch_all(&self.pool)
        .await
        .map_err(attempt("read events"))?;
        rows.iter()
            .rev()
            .map(|found| {
                let body: String = found.try_get("body").map_err(row("events"))?;
                serde_json::from_str(&body).map_err(row("events"))
            })
            .collect()
    }
}
