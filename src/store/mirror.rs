//! What the rows of one instance say that every pass asks for, in memory: its inventories, the volumes that are held, and which of its
//! requests are open.
//!
//! The rows are read once, when somebody first asks; from then on memory changes in the order in which writes are handed in. A write that
//! fails ends the mirror, and the next question reads the rows again. Not here: the tables themselves (the files of that name).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sqlx::Row;
use tokio::sync::{MappedMutexGuard, MutexGuard};

use super::write::Statement;
use super::{Error, Store, attempt, row};
use crate::model::{AppName, InstanceId, OperationId};

/// The mirrors of all instances that were asked about.
pub(super) type Mirrors = BTreeMap<InstanceId, Mirror>;

/// The mirrored rows of one instance.
#[derive(Default, Debug)]
pub(super) struct Mirror {
    /// Bodies of records by app, then by cluster and object.
    records: BTreeMap<AppName, BTreeMap<String, Box<str>>>,
    /// Whose record it is, by cluster and object.
    owners: HashMap<String, AppName>,
    /// Bodies of held volumes by app, then by uid.
    volumes: BTreeMap<AppName, BTreeMap<String, Box<str>>>,
    /// Requests that are not carried out yet, by app; those of no app are about the instance.
    requests: BTreeMap<Option<AppName>, BTreeSet<OperationId>>,
}

/// How a write changes what is mirrored.
#[derive(Debug)]
pub(super) enum Change {
    /// The record under a key is now this, of this app, whosever it was.
    Put { app: AppName, key: String, body: Box<str> },
    /// There is no record under a key.
    Remove { key: String },
    /// A volume of an app is held.
    Hold { app: AppName, uid: String, body: Box<str> },
    /// It is held no longer.
    LetGo { app: AppName, uid: String },
    /// A request is open.
    Open { app: Option<AppName>, id: OperationId },
    /// It is carried out, or never will be.
    Ended { app: Option<AppName>, id: OperationId },
}

impl Mirror {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Put { app, key, body } => {
                if let Some(before) = self.owners.insert(key.clone(), app.clone())
                    && before != app
                {
                    take(&mut self.records, &before, &key);
                }
                self.records.entry(app).or_default().insert(key, body);
            }
            Change::Remove { key } => {
                if let Some(app) = self.owners.remove(&key) {
                    take(&mut self.records, &app, &key);
                }
            }
            Change::Hold { app, uid, body } => {
                self.volumes.entry(app).or_default().insert(uid, body);
            }
            Change::LetGo { app, uid } => take(&mut self.volumes, &app, &uid),
            Change::Open { app, id } => {
                self.requests.entry(app).or_default().insert(id);
            }
            Change::Ended { app, id } => {
                if let Some(open) = self.requests.get_mut(&app) {
                    open.remove(&id);
                    if open.is_empty() {
                        self.requests.remove(&app);
                    }
                }
            }
        }
    }

    /// Returns the bodies of the records of an app, in the order of cluster and object.
    pub(super) fn records(&self, app: &AppName) -> impl Iterator<Item = &str> {
        bodies(self.records.get(app))
    }

    /// Returns the apps that have records, with the bodies of those.
    pub(super) fn all_records(&self) -> impl Iterator<Item = (&AppName, impl Iterator<Item = &str>)> {
        self.records.iter().map(|(app, rows)| (app, bodies(Some(rows))))
    }

    /// Returns how many records all apps have.
    pub(super) fn count_records(&self) -> usize {
        self.owners.len()
    }

    /// Returns the keys of all records.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.owners.keys().map(String::as_str)
    }

    /// Returns the app that has the record under a key.
    pub(super) fn owner(&self, key: &str) -> Option<&AppName> {
        self.owners.get(key)
    }

    /// Returns the bodies of the volumes of an app that are held, by uid.
    pub(super) fn volumes(&self, app: &AppName) -> impl Iterator<Item = &str> {
        bodies(self.volumes.get(app))
    }

    /// Returns the apps of which volumes are held.
    pub(super) fn apps_with_volumes(&self) -> impl Iterator<Item = &AppName> {
        self.volumes.keys()
    }

    /// Returns whether a request of an app, or about the instance, is open.
    pub(super) fn is_asked(&self, app: Option<&AppName>) -> bool {
        self.requests.contains_key(&app.cloned())
    }
}

fn bodies(rows: Option<&BTreeMap<String, Box<str>>>) -> impl Iterator<Item = &str> {
    rows.into_iter().flat_map(BTreeMap::values).map(Box::as_ref)
}

fn take(apps: &mut BTreeMap<AppName, BTreeMap<String, Box<str>>>, app: &AppName, key: &str) {
    if let Some(rows) = apps.get_mut(app) {
        rows.remove(key);
        if rows.is_empty() {
            apps.remove(app);
        }
    }
}

impl Store {
    /// Writes statements of which all happen or none, with what they change in the mirror of an instance. Returns how many rows changed.
    pub(super) async fn change(
        &self,
        instance: &InstanceId,
        statements: Vec<Statement>,
        changes: Vec<Change>,
    ) -> Result<u64, Error> {
        let mut all = self.mirrors.lock().await;
        if let Some(mirror) = all.get_mut(instance) {
            changes.into_iter().for_each(|change| mirror.apply(change));
        }
        // Under the lock, so that rows and memory change in one order.
        let written = self.writer.hand_in(statements).await;
        drop(all);
        let done = written.done().await;
        if done.is_err() {
            self.forget_mirror(instance).await;
        }
        done
    }

    /// Lets the next question read the rows of an instance again.
    pub(super) async fn forget_mirror(&self, instance: &InstanceId) {
        self.mirrors.lock().await.remove(instance);
    }

    /// Returns the mirror of an instance. Nothing is written through it while the answer is kept.
    pub(super) async fn mirror(&self, instance: &InstanceId) -> Result<MappedMutexGuard<'_, Mirror>, Error> {
        let mut all = self.mirrors.lock().await;
        if !all.contains_key(instance) {
            let read = self.read_mirror(instance).await?;
            all.insert(instance.clone(), read);
        }
        Ok(MutexGuard::map(all, |all| all.entry(instance.clone()).or_default()))
    }

    async fn read_mirror(&self, instance: &InstanceId) -> Result<Mirror, Error> {
        // What was handed in before must be among the rows.
        self.writer.hand_in(Vec::new()).await.done().await?;
        let mut mirror = Mirror::default();
        let sql = "SELECT app, cluster || '/' || object AS place, body FROM records WHERE instance = $1";
        for (app, key, body) in self.read_rows("read all inventories", sql, instance).await? {
            if let Some(app) = app {
                mirror.apply(Change::Put { app, key, body: body.into() });
            }
        }
        let sql = "SELECT app, uid AS place, body FROM volumes WHERE instance = $1";
        for (app, uid, body) in self.read_rows("read the volumes that are held", sql, instance).await? {
            if let Some(app) = app {
                mirror.apply(Change::Hold { app, uid, body: body.into() });
            }
        }
        let sql = "SELECT app, id AS place, '' AS body FROM operations
             WHERE instance = $1 AND state IN ('waiting', 'running') AND request <> ''";
        for (app, id, _) in self.read_rows("list the requests that are open", sql, instance).await? {
            mirror.apply(Change::Open { app, id: OperationId(id) });
        }
        Ok(mirror)
    }

    /// Reads rows of an app, which may be none, a place and a body.
    async fn read_rows(
        &self,
        what: &'static str,
        sql: &'static str,
        instance: &InstanceId,
    ) -> Result<Vec<(Option<AppName>, String, String)>, Error> {
        let rows = sqlx::query(sql).bind(instance.as_str()).fetch_all(&self.readers).await.map_err(attempt(what))?;
        let read = |found: &sqlx::sqlite::SqliteRow| {
            let text = |column: &str| found.try_get::<String, _>(column).map_err(row("rows of apps"));
            let app = Some(text("app")?).filter(|app| !app.is_empty());
            let app = app.map(|app| AppName::parse(&app)).transpose().map_err(row("rows of apps"))?;
            Ok((app, text("place")?, text("body")?))
        };
        rows.iter().map(read).collect()
    }
}
