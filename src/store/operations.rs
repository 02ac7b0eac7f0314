//! The tables `operations` and `outcomes`.
//!
//! Not here: what an operation means (`model::Operation`), when it is opened and closed (`record`).

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::{Error, Store, attempt, row};
use crate::base::Timestamp;
use crate::model::{
    AppName, CommitId, InstanceId, Operation, OperationId, OperationOutcome, OperationState, Outcome, RefusalText,
};

/// Rows that a list returns unless a filter asks for fewer.
const LIST_LIMIT: i64 = 500;

/// Which operations a list returns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OperationFilter {
    /// Only those about this app.
    pub app: Option<AppName>,
    /// At most so many, newest first.
    pub limit: Option<i64>,
}

impl Store {
    /// Stores a new operation.
    pub async fn insert_operation(&self, instance: &InstanceId, operation: &Operation) -> Result<(), Error> {
        let Operation {
            id,
            verb,
            app,
            request,
            trigger,
            actor,
            commit,
            state,
            outcome,
            message,
            refusal,
            started,
            ended,
        } = operation;
        let request = match request {
            Some(request) => serde_json::to_string(request).map_err(row("operations"))?,
            None => String::new(),
        };
        sqlx::query(
            "INSERT INTO operations (id, instance, app, verb, request, reason, actor, commit_id, state, outcome, message, refusal, started, ended)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        )
        .bind(&id.0)
        .bind(instance.as_str())
        .bind(app.as_ref().map_or("", AppName::as_str))
        .bind(verb)
        .bind(request)
        .bind(trigger)
        .bind(actor)
        .bind(commit.as_ref().map_or("", CommitId::as_str))
        .bind(state_word(*state))
        .bind(outcome.map_or("", outcome_word))
        .bind(message)
        .bind(refusal_text(refusal.as_ref())?)
        .bind(started.0)
        .bind(ended.map_or(0, |time| time.0))
        .execute(&self.pool)
        .await
        .map_err(attempt("store an operation"))?;
        Ok(())
    }

    /// Replaces what can change of a stored operation: state, outcome, commit, message, end.
    pub async fn update_operation(&self, operation: &Operation) -> Result<(), Error> {
        sqlx::query(
            "UPDATE operations SET state = $2, outcome = $3, commit_id = $4, message = $5, ended = $6, refusal = $7 WHERE id = $1",
        )
        .bind(&operation.id.0)
        .bind(state_word(operation.state))
        .bind(operation.outcome.map_or("", outcome_word))
        .bind(operation.commit.as_ref().map_or("", CommitId::as_str))
        .bind(&operation.message)
        .bind(operation.ended.map_or(0, |time| time.0))
        .bind(refusal_text(operation.refusal.as_ref())?)
        .execute(&self.pool)
        .await
        .map_err(attempt("update an operation"))?;
        Ok(())
    }

    /// Returns an operation by its id.
    pub async fn operation(&self, instance: &InstanceId, id: &OperationId) -> Result<Option<Operation>, Error> {
        let found = sqlx::query("SELECT * FROM operations WHERE instance = $1 AND id = $2")
            .bind(instance.as_str())
            .bind(&id.0)
            .fetch_optional(&self.pool)
            .await
            .map_err(attempt("read an operation"))?;
        found.as_ref().map(parse).transpose()
    }

    /// Returns operations, newest first.
    pub async fn operations(&self, instance: &InstanceId, filter: &OperationFilter) -> Result<Vec<Operation>, Error> {
        let rows = sqlx::query(
            "SELECT * FROM operations WHERE instance = $1 AND ($2 = '' OR app = $2) ORDER BY started DESC, id DESC LIMIT $3",
        )
        .bind(instance.as_str())
        .bind(filter.app.as_ref().map_or("", AppName::as_str))
        .bind(filter.limit.unwrap_or(LIST_LIMIT).min(LIST_LIMIT))
        .fetch_all(&self.pool)
        .await
        .map_err(attempt("list operations"))?;
        rows.iter().map(parse).collect()
    }

    /// Returns the operations in a state, oldest first: Waiting ones are requests that must be carried out.
    pub async fn operations_in(&self, instance: &InstanceId, state: OperationState) -> Result<Vec<Operation>, Error> {
        let rows =
            sqlx::query("SELECT * FROM operations WHERE instance = $1 AND state = $2 ORDER BY started, id LIMIT $3")
                .bind(instance.as_str())
                .bind(state_word(state))
                .bind(LIST_LIMIT)
                .fetch_all(&self.pool)
                .await
                .map_err(attempt("list operations by state"))?;
        rows.iter().map(parse).collect()
    }

    /// Marks operations that a dead process left running as interrupted and returns how many there were.
    pub async fn interrupt_running(&self, instance: &InstanceId, now: Timestamp) -> Result<u64, Error> {
        let done = sqlx::query(
            "UPDATE operations SET state = 'interrupted', ended = $2, message = 'the process that ran it ended before it did'
             WHERE instance = $1 AND state = 'running'",
        )
        .bind(instance.as_str())
        .bind(now.0)
        .execute(&self.pool)
        .await
        .map_err(attempt("mark interrupted operations"))?;
        Ok(done.rows_affected())
    }

    /// Stores the outcome of one action; a repeated position replaces it.
    pub async fn put_outcome(&self, operation: &OperationId, position: usize, outcome: &Outcome) -> Result<(), Error> {
        sqlx::query("INSERT OR REPLACE INTO outcomes (operation, position, body) VALUES ($1, $2, $3)")
            .bind(&operation.0)
            .bind(i64::try_from(position).unwrap_or(i64::MAX))
            .bind(serde_json::to_string(outcome).map_err(row("outcomes"))?)
            .execute(&self.pool)
            .await
            .map_err(attempt("store an outcome"))?;
        Ok(())
    }

    /// Returns the outcomes of an operation in the order of its plan.
    pub async fn outcomes(&self, operation: &OperationId) -> Result<Vec<Outcome>, Error> {
        let rows = sqlx::query("SELECT body FROM outcomes WHERE operation = $1 ORDER BY position")
            .bind(&operation.0)
            .fetch_all(&self.pool)
            .await
            .map_err(attempt("read outcomes"))?;
        rows.iter()
            .map(|found| {
                let body: String = found.try_get("body").map_err(row("outcomes"))?;
                serde_json::from_str(&body).map_err(row("outcomes"))
            })
            .collect()
    }
}

fn parse(found: &SqliteRow) -> Result<Operation, Error> {
    let text = |column: &str| found.try_get::<String, _>(column).map_err(row("operations"));
    let time = |column: &str| found.try_get::<i64, _>(column).map_err(row("operations"));
    let some = |text: String| (!text.is_empty()).then_some(text);
    let ended = time("ended")?;
    Ok(Operation {
        id: OperationId(text("id")?),
        verb: text("verb")?,
        app: some(text("app")?).map(|name| AppName::parse(&name)).transpose().map_err(row("operations"))?,
        request: some(text("request")?)
            .map(|body| serde_json::from_str(&body))
            .transpose()
            .map_err(row("operations"))?,
        trigger: text("reason")?,
        actor: text("actor")?,
        commit: some(text("commit_id")?).map(|id| CommitId::parse(&id)).transpose().map_err(row("operations"))?,
        state: word::<OperationState>(&text("state")?)?,
        outcome: some(text("outcome")?).map(|name| word::<OperationOutcome>(&name)).transpose()?,
        message: text("message")?,
        refusal: some(text("refusal")?)
            .map(|body| serde_json::from_str(&body))
            .transpose()
            .map_err(row("operations"))?,
        started: Timestamp(time("started")?),
        ended: (ended != 0).then_some(Timestamp(ended)),
    })
}

fn refusal_text(refusal: Option<&RefusalText>) -> Result<String, Error> {
    refusal.map_or(Ok(String::new()), |refusal| serde_json::to_string(refusal).map_err(row("operations")))
}

/// Reads an enum from the word that its serialisation writes.
fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(row("operations"))
}

fn state_word(state: OperationState) -> &'static str {
    match state {
        OperationState::Waiting => "waiting",
        OperationState::Running => "running",
        OperationState::Succeeded => "succeeded",
        OperationState::Failed => "failed",
        OperationState::Cancelled => "cancelled",
        OperationState::Interrupted => "interrupted",
    }
}

fn outcome_word(outcome: OperationOutcome) -> &'static str {
    match outcome {
        OperationOutcome::Changed => "changed",
        OperationOutcome::Unchanged => "unchanged",
        OperationOutcome::NeedsDecision => "needs-decision",
        OperationOutcome::Blocked => "blocked",
        OperationOutcome::Superseded => "superseded",
    }
}
