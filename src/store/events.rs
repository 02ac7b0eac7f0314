//! The table `events`: what was told, in order, so that a slow receiver loses nothing.
//!
//! Not here: telling it (`broadcast`).

use std::sync::atomic::Ordering;

use sqlx::Row;

use super::write::{Statement, Table};
use super::{Error, Store, attempt, row};
use crate::model::{AppName, Event, InstanceId};

/// Events that are kept per instance at least; older ones are removed as new ones come.
const EVENT_CAPACITY: i64 = 10_000;
/// How many writes of events share one removal of old ones.
const WRITES_PER_TRIM: u64 = 100;

impl Store {
    /// Stores events after all others, in this order, and removes those that are too old.
    pub async fn add_events(&self, instance: &InstanceId, events: &[Event]) -> Result<(), Error> {
        let mut newest = self.newest_event.lock().await;
        let mut position = match *newest {
            Some(position) => position,
            None => self.last_event().await?,
        };
        let mut statements = Vec::with_capacity(events.len() + 1);
        for event in events {
            position += 1;
            statements.push(add(instance, position, event)?);
        }
        if self.told.fetch_add(1, Ordering::Relaxed).is_multiple_of(WRITES_PER_TRIM) {
            let trim = Statement::new(
                "remove old events",
                Table::Events,
                "DELETE FROM events WHERE instance = $1 AND position <= (SELECT MAX(position) FROM events) - $2",
            );
            statements.push(trim.text(instance.as_str()).number(EVENT_CAPACITY));
        }
        *newest = Some(position);
        // Under the lock: whoever reads behind a position must not meet an earlier one later.
        let written = self.writer.hand_in(statements).await;
        drop(newest);
        written.done().await.map(|_| ())
    }

    /// Returns events after a position, oldest first, each with its own position.
    pub async fn events_after(
        &self,
        instance: &InstanceId,
        position: i64,
        limit: i64,
    ) -> Result<Vec<(i64, Event)>, Error> {
        let rows = sqlx::query(
            "SELECT position, body FROM events WHERE instance = $1 AND position > $2 ORDER BY position LIMIT $3",
        )
        .bind(instance.as_str())
        .bind(position)
        .bind(limit.clamp(0, EVENT_CAPACITY))
        .fetch_all(&self.readers)
        .await
        .map_err(attempt("read events"))?;
        rows.iter()
            .map(|found| {
                let body: String = found.try_get("body").map_err(row("events"))?;
                let event = serde_json::from_str(&body).map_err(row("events"))?;
                Ok((found.try_get("position").map_err(row("events"))?, event))
            })
            .collect()
    }

    /// Returns whether every event of an instance after a position is still kept.
    pub async fn keeps_events_after(&self, instance: &InstanceId, position: i64) -> Result<bool, Error> {
        let found = sqlx::query(
            "SELECT COUNT(*) AS held, COALESCE(SUM(CASE WHEN position <= $2 THEN 1 ELSE 0 END), 0) AS older FROM events WHERE instance = $1",
        )
        .bind(instance.as_str())
        .bind(position)
        .fetch_one(&self.readers)
        .await
        .map_err(attempt("look which events are kept"))?;
        let number = |column: &str| found.try_get::<i64, _>(column).map_err(row("events"));
        // One that is as old or older is kept, so none between was removed; or there never were enough to remove any.
        Ok(number("older")? > 0 || number("held")? < EVENT_CAPACITY)
    }

    /// Returns the position of the newest event of all instances; zero if there is none.
    pub async fn last_event(&self) -> Result<i64, Error> {
        let found = sqlx::query("SELECT COALESCE(MAX(position), 0) AS last FROM events")
            .fetch_one(&self.readers)
            .await
            .map_err(attempt("read events"))?;
        found.try_get("last").map_err(row("events"))
    }

    /// Returns the newest events of an app, or of the whole instance, oldest first.
    pub async fn events(&self, instance: &InstanceId, app: Option<&AppName>, limit: i64) -> Result<Vec<Event>, Error> {
        let rows = sqlx::query(
            "SELECT body FROM events WHERE instance = $1 AND ($2 = '' OR app = $2) ORDER BY position DESC LIMIT $3",
        )
        .bind(instance.as_str())
        .bind(app.map_or("", AppName::as_str))
        .bind(limit.clamp(0, EVENT_CAPACITY))
        .fetch_all(&self.readers)
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

fn add(instance: &InstanceId, position: i64, event: &Event) -> Result<Statement, Error> {
    let head = "INSERT INTO events (position, instance, app, time, body) ";
    Ok(Statement::row("store an event", Table::Events, head)
        .number(position)
        .text(instance.as_str())
        .text(event.app.as_ref().map_or("", AppName::as_str))
        .number(event.time.0)
        .text(serde_json::to_string(event).map_err(row("events"))?))
}
