//! The table `records`: the inventory of every app.
//!
//! Not here: which records stay after a pass (`record`).

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::write::{Statement, Table};
use super::{Error, Store, attempt, row};
use crate::model::{AppName, ClusterName, InstanceId, Inventory, ObjectId, Record};

impl Store {
    /// Returns the inventory of an app.
    pub async fn inventory(&self, instance: &InstanceId, app: &AppName) -> Result<Inventory, Error> {
        let rows = sqlx::query("SELECT body FROM records WHERE instance = $1 AND app = $2")
            .bind(instance.as_str())
            .bind(app.as_str())
            .fetch_all(&self.readers)
            .await
            .map_err(attempt("read an inventory"))?;
        Ok(Inventory::new(rows.iter().map(parse).collect::<Result<Vec<_>, _>>()?))
    }

    /// Returns the inventories of all apps of an instance, also of apps that are gone from git.
    pub async fn inventories(&self, instance: &InstanceId) -> Result<Vec<(AppName, Inventory)>, Error> {
        let rows = sqlx::query("SELECT app, body FROM records WHERE instance = $1 ORDER BY app")
            .bind(instance.as_str())
            .fetch_all(&self.readers)
            .await
            .map_err(attempt("read all inventories"))?;
        let mut inventories: Vec<(AppName, Inventory)> = Vec::new();
        for found in &rows {
            let name: String = found.try_get("app").map_err(row("records"))?;
            let app = AppName::parse(&name).map_err(row("records"))?;
            let record = parse(found)?;
            match inventories.last_mut() {
                Some((last, inventory)) if *last == app => inventory.insert(record),
                _ => inventories.push((app, Inventory::new([record]))),
            }
        }
        Ok(inventories)
    }

    /// Returns how many objects the inventories of all apps of an instance hold.
    pub async fn count_records(&self, instance: &InstanceId) -> Result<usize, Error> {
        let found = sqlx::query("SELECT COUNT(*) AS number FROM records WHERE instance = $1")
            .bind(instance.as_str())
            .fetch_one(&self.readers)
            .await
            .map_err(attempt("count the inventories"))?;
        let number: i64 = found.try_get("number").map_err(row("records"))?;
        usize::try_from(number).map_err(row("records"))
    }

    /// Returns the app that remembers an object of a Keycloak.
    pub async fn owner_of(&self, instance: &InstanceId, id: &ObjectId) -> Result<Option<AppName>, Error> {
        let found = sqlx::query("SELECT app FROM records WHERE instance = $1 AND cluster = '' AND object = $2")
            .bind(instance.as_str())
            .bind(key(id))
            .fetch_optional(&self.readers)
            .await
            .map_err(attempt("read who owns an object"))?;
        let Some(found) = found else { return Ok(None) };
        let name: String = found.try_get("app").map_err(row("records"))?;
        AppName::parse(&name).map(Some).map_err(row("records"))
    }

    /// Stores records: all of them are there afterwards, or none.
    pub async fn put_records(&self, instance: &InstanceId, app: &AppName, records: &[Record]) -> Result<(), Error> {
        let statements = records.iter().map(|record| put(instance, app, record)).collect::<Result<Vec<_>, _>>()?;
        self.writer.hand_in(statements).await.done().await.map(|_| ())
    }

    /// Forgets an object of a cluster that is verified gone or no longer ours.
    pub async fn remove_record(
        &self,
        instance: &InstanceId,
        cluster: &ClusterName,
        id: &ObjectId,
    ) -> Result<(), Error> {
        self.writer.write(remove(instance, cluster, id)).await.map(|_| ())
    }
}

/// Returns the statement that stores a record.
pub(super) fn put(instance: &InstanceId, app: &AppName, record: &Record) -> Result<Statement, Error> {
    let head = "INSERT OR REPLACE INTO records (instance, app, cluster, object, body) ";
    Ok(Statement::row("store a record", Table::Records, head)
        .text(instance.as_str())
        .text(app.as_str())
        .text(record.cluster.as_str())
        .text(key(&record.id))
        .text(serde_json::to_string(record).map_err(row("records"))?))
}

/// Returns the statement that forgets an object.
pub(super) fn remove(instance: &InstanceId, cluster: &ClusterName, id: &ObjectId) -> Statement {
    let sql = "DELETE FROM records WHERE instance = $1 AND cluster = $2 AND object = $3";
    Statement::new("remove a record", Table::Records, sql).text(instance.as_str()).text(cluster.as_str()).text(key(id))
}

/// Returns the key of an object: its four parts, none of which can hold a slash except the last separator's neighbours.
fn key(id: &ObjectId) -> String {
    format!("{}/{}/{}/{}", id.group, id.kind, id.namespace, id.name)
}

fn parse(found: &SqliteRow) -> Result<Record, Error> {
    let body: String = found.try_get("body").map_err(row("records"))?;
    serde_json::from_str(&body).map_err(row("records"))
}
