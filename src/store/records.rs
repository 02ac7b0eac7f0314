//! The table `records`: the inventory of every app.
//!
//! Not here: which records stay after a pass (`record`).

use super::mirror::Change;
use super::write::{Statement, Table};
use super::{Error, Store, row};
use crate::model::{AppName, ClusterName, InstanceId, Inventory, ObjectId, Record, Spread};

impl Store {
    /// Returns the inventory of an app.
    pub async fn inventory(&self, instance: &InstanceId, app: &AppName) -> Result<Inventory, Error> {
        read(self.mirror(instance).await?.records(app))
    }

    /// Returns the inventories of all apps of an instance, also of apps that are gone from git.
    pub async fn inventories(&self, instance: &InstanceId) -> Result<Vec<(AppName, Inventory)>, Error> {
        let mirror = self.mirror(instance).await?;
        mirror.all_records().map(|(app, bodies)| Ok((app.clone(), read(bodies)?))).collect()
    }

    /// Returns how many objects the inventories of all apps of an instance hold.
    pub async fn count_records(&self, instance: &InstanceId) -> Result<usize, Error> {
        Ok(self.mirror(instance).await?.count_records())
    }

    /// Returns in which kinds and namespaces of a cluster the objects of all apps of an instance stand.
    pub async fn spread(&self, instance: &InstanceId, cluster: &ClusterName) -> Result<Spread, Error> {
        let mirror = self.mirror(instance).await?;
        let mut spread = Spread::default();
        mirror.keys().filter_map(|key| object_at(key, cluster)).for_each(|id| spread.add(&id));
        Ok(spread)
    }

    /// Returns the app that remembers an object of a Keycloak.
    pub async fn owner_of(&self, instance: &InstanceId, id: &ObjectId) -> Result<Option<AppName>, Error> {
        Ok(self.mirror(instance).await?.owner(&place(&ClusterName::default(), id)).cloned())
    }

    /// Stores records: all of them are there afterwards, or none.
    pub async fn put_records(&self, instance: &InstanceId, app: &AppName, records: &[Record]) -> Result<(), Error> {
        let puts = records.iter().map(|record| put(instance, app, record)).collect::<Result<Vec<_>, _>>()?;
        let (statements, changes) = puts.into_iter().unzip();
        self.change(instance, statements, changes).await.map(|_| ())
    }

    /// Forgets an object of a cluster that is verified gone or no longer ours.
    pub async fn remove_record(
        &self,
        instance: &InstanceId,
        cluster: &ClusterName,
        id: &ObjectId,
    ) -> Result<(), Error> {
        let (statement, change) = remove(instance, cluster, id);
        self.change(instance, vec![statement], vec![change]).await.map(|_| ())
    }
}

/// Returns what stores a record.
pub(super) fn put(instance: &InstanceId, app: &AppName, record: &Record) -> Result<(Statement, Change), Error> {
    let head = "INSERT OR REPLACE INTO records (instance, app, cluster, object, body) ";
    let body = serde_json::to_string(record).map_err(row("records"))?;
    let key = place(&record.cluster, &record.id);
    let change = Change::Put { app: app.clone(), key, body: body.as_str().into() };
    let statement = Statement::row("store a record", Table::Records, head)
        .text(instance.as_str())
        .text(app.as_str())
        .text(record.cluster.as_str())
        .text(key_of(&record.id))
        .text(body);
    Ok((statement, change))
}

/// Returns what forgets an object.
pub(super) fn remove(instance: &InstanceId, cluster: &ClusterName, id: &ObjectId) -> (Statement, Change) {
    let sql = "DELETE FROM records WHERE instance = $1 AND cluster = $2 AND object = $3";
    let statement = Statement::new("remove a record", Table::Records, sql);
    let statement = statement.text(instance.as_str()).text(cluster.as_str()).text(key_of(id));
    (statement, Change::Remove { key: place(cluster, id) })
}

/// Returns the key of an object on a cluster; the name of a cluster comes first, so that what follows it has always four parts.
fn place(cluster: &ClusterName, id: &ObjectId) -> String {
    format!("{}/{}", cluster.as_str(), key_of(id))
}

/// Returns the key of an object: its four parts, none of which can hold a slash except the last separator's neighbours.
fn key_of(id: &ObjectId) -> String {
    format!("{}/{}/{}/{}", id.group, id.kind, id.namespace, id.name)
}

/// Returns the object under a key, if it is on this cluster.
fn object_at(key: &str, cluster: &ClusterName) -> Option<ObjectId> {
    let mut parts = key.strip_prefix(cluster.as_str())?.strip_prefix('/')?.splitn(4, '/');
    let mut part = || parts.next();
    Some(ObjectId::new(part()?, part()?, part()?, part()?))
}

fn read<'a>(bodies: impl Iterator<Item = &'a str>) -> Result<Inventory, Error> {
    let records = bodies.map(|body| serde_json::from_str(body).map_err(row("records")));
    Ok(Inventory::new(records.collect::<Result<Vec<Record>, _>>()?))
}
