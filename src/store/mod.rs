//! The database: operations, outcomes, inventory, archive, events, statuses. A record, never the truth: losing it loses history, not the
//! ability to reconcile.
//!
//! One file per table group; all of them are methods of [`Store`]. Columns are TEXT and BIGINT only (times are microseconds in UTC),
//! so that one SQL text can serve a second database. Nested values are JSON in a `body` column, in the formats that `model` defines.
//!
//! Not here: deciding what to remember (`record`), the lock of an instance (`settings`).

mod app_states;
mod archive;
mod events;
mod mirror;
mod operations;
mod records;
mod statuses;
mod write;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};

pub use app_states::Survey;
pub use archive::ARCHIVE_TIME;
pub use operations::{OperationFilter, RecordChange};
pub use statuses::{StoredStatus, UnsentStatus};

use crate::model::InstanceId;
use write::Writer;

/// How long a statement waits for another writer before it fails.
const BUSY_DEADLINE: Duration = Duration::from_secs(5);
/// How often it is looked whether another process is done with opening the file.
const OPEN_POLL: Duration = Duration::from_millis(5);
/// Statements that a connection keeps prepared: for each table that rows are inserted into one per number of rows, and all others.
const STATEMENT_CAPACITY: usize = 8 * write::ROW_LIMIT;
/// Pages that a connection which reads keeps, in KiB: what it reads again lies in the memory of the system as well.
const READER_PAGES_KIB: u32 = 256;
/// Mode of the file: it holds what was applied, and whoever writes into it says what is known of a cluster.
const PRIVATE_MODE: u32 = 0o600;
/// Connections that read. Another one writes: the database lets one write at a time, and whoever finds it busy would sleep.
const READER_LIMIT: u32 = 4;

/// Why the store could not do something. Always a system error: no user input reaches SQL text.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system of the database locks or takes no file.
    #[error("lock the store {path}")]
    Lock {
        /// File of the database.
        path: String,
        /// What the file system said.
        source: std::io::Error,
    },
    /// The database could not be opened or migrated.
    #[error("open the store {path}")]
    Open {
        /// File of the database.
        path: String,
        /// What the database said.
        source: sqlx::Error,
    },
    /// A migration failed, or the file was written by a newer build.
    #[error("migrate the store {path}")]
    Migrate {
        /// File of the database.
        path: String,
        /// What the database said.
        source: sqlx::migrate::MigrateError,
    },
    /// A statement failed.
    #[error("{attempt} in the store")]
    Query {
        /// What was attempted.
        attempt: &'static str,
        /// What the database said.
        source: sqlx::Error,
    },
    /// A row does not read back.
    #[error("read a row of {table} in the store")]
    Row {
        /// The table.
        table: &'static str,
        /// What the parser said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The store of one daemon. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    readers: SqlitePool,
    writer: Writer,
    connection: SqlitePool,
    app_states: Arc<tokio::sync::Mutex<BTreeMap<InstanceId, app_states::Known>>>,
    cursors: Arc<tokio::sync::Mutex<BTreeMap<InstanceId, app_states::Cursors>>>,
    mirrors: Arc<tokio::sync::Mutex<mirror::Mirrors>>,
    /// Position of the newest event that was handed in, once it is known.
    newest_event: Arc<tokio::sync::Mutex<Option<i64>>>,
    /// Writes of events since the store was opened.
    told: Arc<AtomicU64>,
}

impl Store {
    /// Opens the database file, makes it if it is absent, and migrates it.
    pub async fn open(path: &Path) -> Result<Self, Error> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .statement_cache_capacity(STATEMENT_CAPACITY)
            .busy_timeout(BUSY_DEADLINE);
        let lock = alone(path).await;
        let made = make(path);
        let path = path.display().to_string();
        let _lock = lock.map_err(|source| Error::Lock { path: path.clone(), source })?;
        made.map_err(|source| Error::Lock { path: path.clone(), source })?;
        let connection = connect(options.clone(), 1, &path).await?;
        migrator().run(&connection).await.map_err(|source| Error::Migrate { path: path.clone(), source })?;
        // A negative number is one of KiB.
        let reading = options.pragma("cache_size", format!("-{READER_PAGES_KIB}"));
        let readers = connect(reading, READER_LIMIT, &path).await?;
        Ok(Self::over(readers, connection))
    }

    /// Opens a database that lives in memory and ends with the store.
    pub async fn in_memory() -> Result<Self, Error> {
        let path = "in memory";
        // A second connection would see a second, empty database.
        let only = connect(SqliteConnectOptions::new().in_memory(true), 1, path).await?;
        migrator().run(&only).await.map_err(|source| Error::Migrate { path: path.to_owned(), source })?;
        Ok(Self::over(only.clone(), only))
    }

    fn over(readers: SqlitePool, connection: SqlitePool) -> Self {
        Self {
            readers,
            writer: Writer::start(connection.clone()),
            connection,
            app_states: Arc::default(),
            cursors: Arc::default(),
            mirrors: Arc::default(),
            newest_event: Arc::default(),
            told: Arc::default(),
        }
    }

    /// Closes all connections after their last statement.
    pub async fn close(&self) {
        self.connection.close().await;
        self.readers.close().await;
    }
}

async fn connect(options: SqliteConnectOptions, connections: u32, path: &str) -> Result<SqlitePool, Error> {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .min_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(BUSY_DEADLINE)
        .connect_with(options)
        .await
        .map_err(|source| Error::Open { path: path.to_owned(), source })
}

/// Makes the file, if it is absent, so that nobody else may read it; what the database makes beside it takes its mode from it. One that is there
/// is not touched: whoever closes it would give up the locks that others of this process have on it.
fn make(path: &Path) -> std::io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(PRIVATE_MODE).open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Waits until no other process opens the same file: two that change the journal mode of a new file or migrate it at the same moment make
/// each other fail. Ends when the returned handle is dropped. What is locked is a file beside it, as network file systems lock no directory
/// and nothing that is open for reading alone.
async fn alone(path: &Path) -> Result<File, std::io::Error> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".opening");
    let handle = File::options().write(true).create(true).truncate(false).mode(PRIVATE_MODE).open(beside)?;
    let mut tick = tokio::time::interval(OPEN_POLL);
    let locked = async {
        loop {
            tick.tick().await;
            match handle.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    };
    match tokio::time::timeout(BUSY_DEADLINE, locked).await {
        Ok(locked) => locked.map(|()| handle),
        Err(_) => Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "another process does not end opening it")),
    }
}

/// Returns the migrations in order. A file is never changed once it was released: its checksum is compared at start.
fn migrator() -> Migrator {
    let migration = |number, name: &'static str, sql| {
        Migration::new(number, name.into(), MigrationType::Simple, SqlStr::from_static(sql), false)
    };
    Migrator::with_migrations(vec![
        migration(1, "first", include_str!("migrations/0001_first.sql")),
        migration(2, "archive", include_str!("migrations/0002_archive.sql")),
        migration(3, "clusters", include_str!("migrations/0003_clusters.sql")),
        migration(4, "order", include_str!("migrations/0004_order.sql")),
    ])
}

/// Returns a mapper of database errors that names the attempt.
fn attempt(attempt: &'static str) -> impl Fn(sqlx::Error) -> Error {
    move |source| Error::Query { attempt, source }
}

/// Returns a mapper of parse errors that names the table.
fn row<E: std::error::Error + Send + Sync + 'static>(table: &'static str) -> impl Fn(E) -> Error {
    move |source| Error::Row { table, source: Box::new(source) }
}

#[cfg(test)]
mod tests;
