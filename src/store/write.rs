//! The one writer of the database: what waits to be written at the same moment shares one transaction, and so one sync of the disk.
//!
//! Every write is answered after its transaction is on disk. Not here: what is written (the files of the tables).

use std::sync::Arc;

use sqlx::sqlite::{SqliteConnection, SqlitePool};
use tokio::sync::{mpsc, oneshot};

use super::{Error, attempt};

/// Writes that wait for the writer; whoever has one more waits until there is room.
const WAITING_CAPACITY: usize = 256;
/// Writes that share one transaction.
const SHARED_LIMIT: usize = 256;

/// A value of a statement.
enum Value {
    Text(String),
    Number(i64),
}

/// A statement with its values.
pub(super) struct Statement {
    attempt: &'static str,
    sql: &'static str,
    values: Vec<Value>,
}

impl Statement {
    /// Returns a statement without values; `attempt` says in errors what it was for.
    pub(super) fn new(attempt: &'static str, sql: &'static str) -> Self {
        Self { attempt, sql, values: Vec::new() }
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

    async fn execute(self, connection: &mut SqliteConnection) -> Result<u64, Error> {
        let bound = self.values.into_iter().fold(sqlx::query(self.sql), |query, value| match value {
            Value::Text(text) => query.bind(text),
            Value::Number(number) => query.bind(number),
        });
        bound.execute(connection).await.map(|done| done.rows_affected()).map_err(attempt(self.attempt))
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

/// Writes everything in one transaction and answers. What fails alone takes nothing else with it.
async fn write(pool: &SqlitePool, writes: Vec<Write>) {
    let mut answers = Vec::with_capacity(writes.len());
    let done = async {
        let mut transaction = pool.begin().await?;
        for Write { statements, answer } in writes {
            let result = execute(&mut transaction, statements).await;
            answers.push((answer, result));
        }
        transaction.commit().await
    };
    let committed = done.await.map_err(Arc::new);
    for (answer, result) in answers {
        let result = match &committed {
            Ok(()) => result,
            Err(source) => Err(Error::Commit { source: source.clone() }),
        };
        // Whoever asked may have gone away; what was written stays.
        let _ = answer.send(result);
    }
}

async fn execute(connection: &mut SqliteConnection, statements: Vec<Statement>) -> Result<u64, Error> {
    let several = statements.len() > 1;
    let control = attempt("write several rows");
    if several {
        sqlx::query("SAVEPOINT several").execute(&mut *connection).await.map_err(&control)?;
    }
    let mut changed = Ok(0);
    for statement in statements {
        changed = match (changed, statement.execute(connection).await) {
            (Ok(before), Ok(more)) => Ok(before + more),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        if changed.is_err() {
            break;
        }
    }
    if several {
        if changed.is_err() {
            sqlx::query("ROLLBACK TO several").execute(&mut *connection).await.map_err(&control)?;
        }
        sqlx::query("RELEASE several").execute(&mut *connection).await.map_err(&control)?;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::{Statement, Writer};
    use crate::store::Store;

    fn put(name: &str) -> Statement {
        let sql = "INSERT INTO cursors (instance, name, value) VALUES ('i', $1, '')";
        Statement::new("store a cursor", sql).text(name)
    }

    async fn names(store: &Store) -> Vec<String> {
        sqlx::query_scalar("SELECT name FROM cursors ORDER BY name").fetch_all(&store.readers).await.unwrap()
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
    async fn a_closed_store_says_so() {
        let store = Store::in_memory().await.unwrap();
        store.close().await;
        assert!(store.writer.write(put("a")).await.is_err());
    }
}
