//! The tables `archive` and `volumes`: objects as they were before we deleted them, and volumes that outlive their claims for a while.
//!
//! The archive is bounded in time, in objects and in bytes; the oldest go first, with each write and when an instance is opened. A volume
//! stays until somebody says that it is let go: its row is all that knows what was to become of it. Not here: what is kept
//! (`plan::archive`), when a volume goes (`plan::volume`).

use std::time::Duration;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::mirror::Change;
use super::write::{Statement, Table};
use super::{Error, Store, attempt, row};
use crate::base::Timestamp;
use crate::model::{AppName, Archived, HeldVolume, InstanceId, OperationId};

/// How long a deleted object is kept.
pub const ARCHIVE_TIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// Objects that are kept of one app.
const OBJECT_LIMIT: i64 = 1_000;
/// Bytes that are kept of one app; a single object has at most 1.5 MiB.
const BYTE_LIMIT: i64 = 64 * 1024 * 1024;

impl Store {
    /// Keeps an object that is about to be deleted; the same one again replaces its row.
    pub async fn archive(&self, instance: &InstanceId, app: &AppName, archived: &Archived) -> Result<(), Error> {
        let body = serde_json::to_string(archived).map_err(row("archive"))?;
        let put = Statement::new(
            "archive an object",
            Table::Archive,
            "INSERT OR REPLACE INTO archive (instance, app, operation, object, uid, time, bytes, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .text(instance.as_str())
        .text(app.as_str())
        .text(&archived.operation.0)
        .text(archived.object.to_string())
        .text(&archived.uid)
        .number(archived.time.0)
        .number(i64::try_from(body.len()).unwrap_or(i64::MAX))
        .text(body);
        let trim = Statement::new(
            "bound the archive",
            Table::Archive,
            "DELETE FROM archive WHERE instance = $1 AND app = $2 AND (object, uid) IN (
                 SELECT object, uid FROM (
                     SELECT object, uid,
                         ROW_NUMBER() OVER (ORDER BY time DESC, object, uid) AS place,
                         SUM(bytes) OVER (ORDER BY time DESC, object, uid ROWS UNBOUNDED PRECEDING) AS total
                     FROM archive WHERE instance = $1 AND app = $2
                 ) AS ranked WHERE place > $3 OR total > $4)",
        )
        .text(instance.as_str())
        .text(app.as_str())
        .number(OBJECT_LIMIT)
        .number(BYTE_LIMIT);
        let statements = vec![put, trim, too_old(instance, archived.time)];
        self.writer.hand_in(statements).await.done().await.map(|_| ())
    }

    /// Removes what was kept long enough.
    pub async fn purge_archive(&self, instance: &InstanceId, now: Timestamp) -> Result<(), Error> {
        self.writer.write(too_old(instance, now)).await.map(|_| ())
    }

    /// Returns what was deleted of an app by an operation and those after it, or ever, oldest first.
    pub async fn archived(
        &self,
        instance: &InstanceId,
        app: &AppName,
        since: Option<&OperationId>,
    ) -> Result<Vec<Archived>, Error> {
        let rows = sqlx::query(
            "SELECT body FROM archive WHERE instance = $1 AND app = $2 AND ($3 = '' OR operation IN
                 (SELECT id FROM operations WHERE instance = $1 AND position >=
                     (SELECT position FROM operations WHERE instance = $1 AND id = $3)))
             ORDER BY time, object, uid",
        )
        .bind(instance.as_str())
        .bind(app.as_str())
        .bind(since.map_or("", |id| id.0.as_str()))
        .fetch_all(&self.readers)
        .await
        .map_err(attempt("read the archive"))?;
        rows.iter().map(|found| parse(found, "archive")).collect()
    }

    /// Notes that volumes are held, or where they stand.
    pub async fn hold_volumes(
        &self,
        instance: &InstanceId,
        app: &AppName,
        volumes: &[HeldVolume],
    ) -> Result<(), Error> {
        let head = "INSERT OR REPLACE INTO volumes (instance, app, uid, body) ";
        let put = |volume: &HeldVolume| {
            let body = serde_json::to_string(volume).map_err(row("volumes"))?;
            let (uid, body_of) = (volume.uid.clone(), body.as_str().into());
            let statement = Statement::row("note a volume that is held", Table::Volumes, head)
                .text(instance.as_str())
                .text(app.as_str())
                .text(&volume.uid)
                .text(body);
            Ok((statement, Change::Hold { app: app.clone(), uid, body: body_of }))
        };
        let puts = volumes.iter().map(put).collect::<Result<Vec<_>, Error>>()?;
        let (statements, changes) = puts.into_iter().unzip();
        self.change(instance, statements, changes).await.map(|_| ())
    }

    /// Returns the volumes of an app that are held.
    pub async fn held_volumes(&self, instance: &InstanceId, app: &AppName) -> Result<Vec<HeldVolume>, Error> {
        let mirror = self.mirror(instance).await?;
        mirror.volumes(app).map(|body| serde_json::from_str(body).map_err(row("volumes"))).collect()
    }

    /// Returns the apps of which volumes are held.
    pub async fn apps_with_volumes(&self, instance: &InstanceId) -> Result<Vec<AppName>, Error> {
        Ok(self.mirror(instance).await?.apps_with_volumes().cloned().collect())
    }
}

/// Returns what forgets a volume.
pub(super) fn let_go(instance: &InstanceId, app: &AppName, uid: &str) -> (Statement, Change) {
    let sql = "DELETE FROM volumes WHERE instance = $1 AND app = $2 AND uid = $3";
    let statement = Statement::new("forget a volume", Table::Volumes, sql);
    let statement = statement.text(instance.as_str()).text(app.as_str()).text(uid);
    (statement, Change::LetGo { app: app.clone(), uid: uid.to_owned() })
}

fn too_old(instance: &InstanceId, now: Timestamp) -> Statement {
    let kept = i64::try_from(ARCHIVE_TIME.as_micros()).unwrap_or(i64::MAX);
    Statement::new("empty the archive", Table::Archive, "DELETE FROM archive WHERE instance = $1 AND time < $2")
        .text(instance.as_str())
        .number(now.0.saturating_sub(kept))
}

fn parse<T: serde::de::DeserializeOwned>(found: &SqliteRow, table: &'static str) -> Result<T, Error> {
    let body: String = found.try_get("body").map_err(row(table))?;
    serde_json::from_str(&body).map_err(row(table))
}
