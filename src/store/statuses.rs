//! The table `statuses`: the newest state per commit and context, and which of them a forge has been told.
//!
//! Not here: the words (`broadcast::message`), the forge (`forge`).

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::write::{Statement, Table};
use super::{Error, Store, attempt, row};
use crate::base::Timestamp;
use crate::model::{CommitId, InstanceId};

/// Unsent statuses that are handed out at once.
const UNSENT_LIMIT: i64 = 100;

/// A commit status as stored. States are ours: `pending`, `success`, `warning`, `failure`, `error`.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredStatus {
    /// The commit.
    pub commit: CommitId,
    /// Which of our statuses on it.
    pub context: String,
    /// The state.
    pub state: String,
    /// One sentence.
    pub description: String,
    /// Since when.
    pub changed: Timestamp,
}

/// A status that no forge has been told yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsentStatus {
    /// The newest state.
    pub status: StoredStatus,
    /// Whether its commit was stored as a new one and no forge has been told of that.
    pub is_new: bool,
}

/// What the column `sent` says.
const SENT: &str = "yes";
const UNSENT: &str = "";
const UNSENT_NEW: &str = "new";

impl Store {
    /// Stores a status and returns whether it differs from the one before; an equal one changes nothing.
    pub async fn put_status(&self, instance: &InstanceId, status: &StoredStatus) -> Result<bool, Error> {
        self.put(instance, status, UNSENT).await
    }

    /// The same of a commit that is new, which stays to be told whatever is stored of the commit before that is.
    pub async fn put_new_status(&self, instance: &InstanceId, status: &StoredStatus) -> Result<bool, Error> {
        self.put(instance, status, UNSENT_NEW).await
    }

    async fn put(&self, instance: &InstanceId, status: &StoredStatus, sent: &'static str) -> Result<bool, Error> {
        let statement = Statement::new(
            "store a commit status",
            Table::Statuses,
            "INSERT INTO statuses (instance, commit_id, context, state, description, changed, sent) VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (instance, commit_id, context) DO UPDATE
             SET state = excluded.state, description = excluded.description, changed = excluded.changed,
                 sent = CASE WHEN statuses.sent = 'new' THEN 'new' ELSE excluded.sent END
             WHERE statuses.state <> excluded.state OR statuses.description <> excluded.description",
        )
        .text(instance.as_str())
        .text(status.commit.as_str())
        .text(status.context.as_str())
        .text(status.state.as_str())
        .text(status.description.as_str())
        .number(status.changed.0)
        .text(sent);
        Ok(self.writer.write(statement).await? > 0)
    }

    /// Returns the statuses of a commit by context.
    pub async fn statuses(&self, instance: &InstanceId, commit: &CommitId) -> Result<Vec<StoredStatus>, Error> {
        let rows = sqlx::query("SELECT * FROM statuses WHERE instance = $1 AND commit_id = $2 ORDER BY context")
            .bind(instance.as_str())
            .bind(commit.as_str())
            .fetch_all(&self.readers)
            .await
            .map_err(attempt("read commit statuses"))?;
        rows.iter().map(parse).collect()
    }

    /// Returns statuses that no forge has been told yet: those of new commits first, then by age.
    pub async fn unsent_statuses(&self, instance: &InstanceId) -> Result<Vec<UnsentStatus>, Error> {
        let unsent =
            "SELECT * FROM statuses WHERE instance = $1 AND sent IN ($2, $3) ORDER BY sent DESC, changed LIMIT $4";
        let rows = sqlx::query(unsent)
            .bind(instance.as_str())
            .bind(UNSENT)
            .bind(UNSENT_NEW)
            .bind(UNSENT_LIMIT)
            .fetch_all(&self.readers)
            .await
            .map_err(attempt("read unsent commit statuses"))?;
        rows.iter()
            .map(|found| Ok(UnsentStatus { status: parse(found)?, is_new: text(found, "sent")? == UNSENT_NEW }))
            .collect()
    }

    /// Notes that a forge was told this status. If it has changed meanwhile, only its commit is no new one any more.
    pub async fn mark_status_sent(&self, instance: &InstanceId, status: &StoredStatus) -> Result<(), Error> {
        let statement = Statement::new(
            "mark a commit status as sent",
            Table::Statuses,
            "UPDATE statuses SET sent = CASE WHEN state = $4 AND changed = $5 THEN $6 ELSE $7 END
             WHERE instance = $1 AND commit_id = $2 AND context = $3 AND sent <> $6",
        )
        .text(instance.as_str())
        .text(status.commit.as_str())
        .text(status.context.as_str())
        .text(status.state.as_str())
        .number(status.changed.0)
        .text(SENT)
        .text(UNSENT);
        self.writer.write(statement).await.map(|_| ())
    }
}

fn text(found: &SqliteRow, column: &str) -> Result<String, Error> {
    found.try_get(column).map_err(row("statuses"))
}

fn parse(found: &SqliteRow) -> Result<StoredStatus, Error> {
    let text = |column: &str| text(found, column);
    Ok(StoredStatus {
        commit: CommitId::parse(&text("commit_id")?).map_err(row("statuses"))?,
        context: text("context")?,
        state: text("state")?,
        description: text("description")?,
        changed: Timestamp(found.try_get("changed").map_err(row("statuses"))?),
    })
}
