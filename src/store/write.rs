//! The one writer of the database: what waits to be written at the same moment shares one transaction, and so one sync of the disk.
//!
//! Every write is answered after its transaction is on disk. Not here: what is written (the files of the tables).

#[cfg(test)]
use std::sync::Arc;

use sqlx::sqlite::{Sqlite, SqliteConnection, SqlitePool};
use sqlx::{Connection, QueryBuilder};
use tokio::sync::{mpsc, oneshot};

use super::{Error, attempt};
use crate::base::chain;

/// Writes that wait for the writer; whoever has one more waits until there is room.
const WAITING_CAPACITY: usize = 256;
/// Writes that share one transaction.
const SHARED_LIMIT: usize = 256;

/// Rows that one statement inserts at most. Every number of rows is another text, and all of them are to stay prepared.
pub(super) const ROW_LIMIT: usize = 16;

/// What SQLite calls a broken constraint (`SQLITE_CONSTRAINT`).
const CONSTRAINT: u32 = 19;

/// A table, in the order in which a transaction writes them: no statement touches two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Table {
    Operations,
    Outcomes,
    Records,
    Archive,
    Volumes,
    AppStates,
    Events,
    Statuses,
    Cursors,
}

/// A value of a statement.
enum Value {
    Text(String),
    Number(i64),
}

/// The text of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    Whole(&'static str),
    /// What stands before the values of an insert: such statements are put together.
    Row(&'static str),
}

/// A statement with its values.
pub(super) struct Statement {
    attempt: &'static str,
    table: Table,
    text: Text,
    values: Vec<Value>,
}

impl Statement {
    /// Returns a statement without values; `attempt` says in errors what it was for.
    pub(super) fn new(attempt: &'static str, table: Table, sql: &'static str) -> Self {
        Self { attempt, table, text: Text::Whole(sql), values: Vec::new() }
    }

    /// Returns a statement that inserts one row of the values to be added; `head` ends with the columns.
    pub(super) fn row(attempt: &'static str, table: Table, head: &'static str) -> Self {
        Self { attempt, table, text: Text::Row(head), values: Vec::new() }
    }

    /// Adds a text.
    pub(super) fn text(mut self, text: impl Into<String>) -> Self {
        self.values.push(Value::Text(text.into()));
        self
    }

    /// Adds a number.
    pub(super) fn number(mut self, number: i64) -> Self {
        self.values.push(Value::Number(number));
        self
    }
}

/// Executes a statement, or several that insert one row each into one table. Returns how many rows were changed.
async fn execute(connection: &mut SqliteConnection, statements: &[(usize, &Statement)]) -> Result<u64, Error> {
    let Some((_, first)) = statements.first() else { return Ok(0) };
    let done = match first.text {
        Text::Whole(sql) => {
            let bound = first.values.iter().fold(sqlx::query(sql), |query, value| match value {
                Value::Text(text) => query.bind(text.as_str()),
                Value::Number(number) => query.bind(*number),
            });
            bound.execute(connection).await
        }
        Text::Row(head) => {
            let mut insert = QueryBuilder::<Sqlite>::new(head);
            insert.push_values(statements, |mut row, (_, statement)| {
                for value in &statement.values {
                    match value {
                        Value::Text(text) => row.push_bind(text.as_str()),
                        Value::Number(number) => row.push_bind(*number),
                    };
                }
            });
            insert.build().execute(connection).await
        }
    };
    done.map(|done| done.rows_affected()).map_err(attempt(first.attempt))
}

/// Returns how many of the first statements are executed as one.
fn run_of(statements: &[(usize, &Statement)]) -> usize {
    let Some((_, first)) = statements.first() else { return 0 };
    match first.text {
        Text::Whole(_) => 1,
        Text::Row(_) => statements.iter().take(ROW_LIMIT).take_while(|(_, it)| it.text == first.text).count(),
    }
}

/// Statements of which all happen or none, and who waits for that.
struct Write {
    statements: Vec<Statement>,
    answer: oneshot::Sender<Result<u64, Error>>,
}

/// Where writes are handed in. Cheap to clone; the writer ends with the last one.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    waiting: mpsc::Sender<Write>,
    #[cfg(test)]
    transactions: Arc<std::sync::atomic::AtomicUsize>,
}

/// A write that was handed in and takes its turn after those before it.
pub(super) struct Written {
    answer: oneshot::Receiver<Result<u64, Error>>,
}

impl Writer {
    /// Starts the writer of a database.
    pub(super) fn start(pool: SqlitePool) -> Self {
        let (waiting, mut writes) = mpsc::channel(WAITING_CAPACITY);
        #[cfg(test)]
        let transactions = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        #[cfg(test)]
        let counted = transactions.clone();
        tokio::spawn(async move {
            while let Some(first) = writes.recv().await {
                let mut shared: Vec<Write> = vec![first];
                // Whoever is about to hand in something does so before the transaction begins, and shares it.
                tokio::task::yield_now().await;
                while shared.len() < SHARED_LIMIT
                    && let Ok(next) = writes.try_recv()
                {
                    shared.push(next);
                }
                #[cfg(test)]
                counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                write(&pool, shared).await;
            }
        });
        Self {
            waiting,
            #[cfg(test)]
            transactions,
        }
    }

    /// Hands in statements of which all happen or none.
    pub(super) async fn hand_in(&self, statements: Vec<Statement>) -> Written {
        let (sender, answer) = oneshot::channel();
        // A writer that is gone answers nothing, which `done` tells.
        let _ = self.waiting.send(Write { statements, answer: sender }).await;
        Written { answer }
    }

    /// Writes one statement and returns how many rows it changed.
    pub(super) async fn write(&self, statement: Statement) -> Result<u64, Error> {
        self.hand_in(vec![statement]).await.done().await
    }
}

impl Written {
    /// Waits until the write is on disk and returns how many rows its statements changed.
    pub(super) async fn done(self) -> Result<u64, Error> {
        self.answer.await.unwrap_or_else(|_| Err(attempt("write")(sqlx::Error::PoolClosed)))
    }
}

/// Writes everything in one transaction and answers. If that fails each is written in one of its own, so that what fails alone takes
/// nothing else with it: a savepoint around each would cost every transaction what hardly any of them needs.
async fn write(pool: &SqlitePool, writes: Vec<Write>) {
    let results = match together(pool, &writes).await {
        Ok(changed) => changed.into_iter().map(Ok).collect(),
        Err(error) if writes.len() == 1 => vec![Err(error)],
        Err(_) => {
            let mut results = Vec::with_capacity(writes.len());
            for one in writes.chunks(1) {
                results.push(together(pool, one).await.map(|changed| changed.into_iter().sum()));
            }
            results
        }
    };
    for (write, result) in writes.into_iter().zip(results) {
        // Whoever asked may have gone away; what was written stays.
        let _ = write.answer.send(result);
    }
}

/// Writes in one transaction and returns how many rows each write changed.
///
/// A commit that fails, such as on a full disk, leaves its transaction open, and all later ones would be parts of it: acknowledged, seen by
/// nobody and gone with the process. So its connection is closed, which takes it back.
async fn together(pool: &SqlitePool, writes: &[Write]) -> Result<Vec<u64>, Error> {
    let commit = attempt("commit a transaction");
    let mut connection = pool.acquire().await.map_err(&commit)?;
    let mut transaction = connection.begin().await.map_err(&commit)?;
    let (failed, ends_it) = match execute_all(&mut transaction, writes).await {
        Ok(changed) => match transaction.commit().await {
            Ok(()) => return Ok(changed),
            Err(error) => (commit(error), true),
        },
        Err(error) => {
            let ends_it = !is_of_a_row(&error);
            drop(transaction);
            (error, ends_it)
        }
    };

    if ends_it && let Err(error) = connection.detach().close_hard().await {
        tracing::warn!(error = chain(&error), "a connection to the store was not closed");
    }
    Err(failed)
}

/// Returns whether a statement broke a constraint, which is about its rows and says nothing of the connection.
fn is_of_a_row(error: &Error) -> bool {
    let Error::Query { source: sqlx::Error::Database(error), .. } = error else { return false };
    // The low byte of an extended code is the primary one.
    error.code().and_then(|code| code.parse::<u32>().ok()).is_some_and(|code| code & 0xff == CONSTRAINT)
}

/// Executes the statements of all writes and returns how many rows each write changed.
async fn execute_all(connection: &mut SqliteConnection, writes: &[Write]) -> Result<Vec<u64>, Error> {
    let mut changed = vec![0; writes.len()];
    let mut statements: Vec<(usize, &Statement)> = Vec::new();
    for (at, write) in writes.iter().enumerate() {
        statements.extend(write.statements.iter().map(|statement| (at, statement)));
    }
    // Statements of different tables may change places.
    statements.sort_by_key(|(_, statement)| statement.table);

    let mut rest = statements.as_slice();
    while let Some((run, others)) = rest.split_at_checked(run_of(rest)).filter(|(run, _)| !run.is_empty()) {
        let rows = execute(connection, run).await?;
        // Several inserts change one row each.
        let share = if run.len() == 1 { rows } else { 1 };
        for (at, _) in run {
            if let Some(changed) = changed.get_mut(*at) {
                *changed += share;
            }
        }
        rest = others;
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::{Statement, Table, Writer};
    use crate::store::Store;

    fn put(name: &str) -> Statement {
        let head = "INSERT INTO cursors (name, instance, value) ";
        Statement::row("store a cursor", Table::Cursors, head).text(name).text("i").text("")
    }

    async fn names(store: &Store) -> Vec<String> {
        sqlx::query_scalar("SELECT name FROM cursors ORDER BY name").fetch_all(&store.readers).await.unwrap()
    }

    #[tokio::test]
    async fn what_is_written_after_a_commit_that_failed_is_stored() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("wild.db");
        let store = Store::open(&path).await.unwrap();
        for sql in [
            "CREATE TABLE parents (name TEXT PRIMARY KEY)",
            "CREATE TABLE children (parent TEXT REFERENCES parents (name) DEFERRABLE INITIALLY DEFERRED)",
        ] {
            sqlx::query(sql).execute(&store.connection).await.unwrap();
        }
        // Only the commit finds that there is no such parent.
        let orphan = "INSERT INTO children (parent) VALUES ('nobody')";
        store.writer.write(Statement::new("store a child", Table::Cursors, orphan)).await.unwrap_err();

        store.writer.write(put("a")).await.unwrap();
        let other = Store::open(&path).await.unwrap();
        assert_eq!(names(&other).await, ["a"], "another connection sees it");
    }

    #[tokio::test]
    async fn what_fails_alone_takes_nothing_else_with_it_and_leaves_no_half() {
        let store = Store::in_memory().await.unwrap();
        let writer: &Writer = &store.writer;
        // All are handed in before the writer runs, so they share one transaction.
        let first = writer.hand_in(vec![put("a"), put("b")]).await;
        let broken = writer.hand_in(vec![put("c"), put("a")]).await;
        let last = writer.hand_in(vec![put("d")]).await;
        assert_eq!(first.done().await.unwrap(), 2);
        assert!(broken.done().await.unwrap_err().to_string().contains("store a cursor"));
        assert_eq!(last.done().await.unwrap(), 1);
        assert_eq!(names(&store).await, ["a", "b", "d"]);
        assert_eq!(writer.transactions.load(std::sync::atomic::Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn any_number_of_rows_are_written_and_each_write_knows_its_own() {
        let store = Store::in_memory().await.unwrap();
        let change =
            Statement::new("change a cursor", Table::Cursors, "UPDATE cursors SET value = 'x' WHERE name < $1");
        let mut written = Vec::new();
        let mut wanted = Vec::new();
        for count in [1, 31, 2, 40] {
            let rows: Vec<String> = (0..count).map(|row| format!("{:02}-{row:02}", wanted.len())).collect();
            written.push((count, store.writer.hand_in(rows.iter().map(|name| put(name)).collect()).await));
            wanted.extend(rows);
        }
        let changed = store.writer.hand_in(vec![change.text("02")]).await;
        for (count, written) in written {
            assert_eq!(written.done().await.unwrap(), count);
        }
        // The first write of one row, and the 31 of the second.
        assert_eq!(changed.done().await.unwrap(), 32);
        assert_eq!(names(&store).await, wanted);
    }

    #[tokio::test]
    async fn a_closed_store_says_so() {
        let store = Store::in_memory().await.unwrap();
        store.close().await;
        assert!(store.writer.write(put("a")).await.is_err());
    }
}
