//! The tables `operations` and `outcomes`.
//!
//! Not here: what an operation means (`model::Operation`), when it is opened and closed (`record`).

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::mirror::Change;
use super::write::{Statement, Table};
use super::{Error, Store, archive, attempt, records, row};
use crate::base::Timestamp;
use crate::model::{
    AppName, ClusterName, CommitId, InstanceId, ObjectId, Operation, OperationId, OperationOutcome, OperationState,
    Outcome, Record, RefusalText, Who,
};

/// Rows that a list returns unless a filter asks for fewer.
const LIST_LIMIT: i64 = 500;

/// Stores an operation that must be new, after all others of its instance.
const INSERT: &str = "INSERT INTO operations (id, instance, app, verb, request, reason, actor, commit_id, state, outcome, message, refusal, started, ended, position)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
        (SELECT COALESCE(MAX(position), 0) + 1 FROM operations WHERE instance = $2))";
/// Stores an operation unless it was accepted and stored earlier.
const INSERT_UNLESS_STORED: &str = "INSERT INTO operations (id, instance, app, verb, request, reason, actor, commit_id, state, outcome, message, refusal, started, ended, position)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
        (SELECT COALESCE(MAX(position), 0) + 1 FROM operations WHERE instance = $2)) ON CONFLICT (id) DO NOTHING";

/// Which operations a list returns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OperationFilter {
    /// Only those about this app.
    pub app: Option<AppName>,
    /// At most so many, newest first.
    pub limit: Option<i64>,
}

/// What an outcome means for the inventory.
#[derive(Clone, PartialEq, Debug)]
pub enum RecordChange<'a> {
    /// Nothing.
    Nothing,
    /// The record of an app's object is now this.
    Put(&'a AppName, Box<Record>),
    /// The object of a cluster is no longer in it.
    Remove(&'a ClusterName, &'a ObjectId),
    /// A volume of an app, by its uid, is held no longer.
    LetVolumeGo(&'a AppName, &'a str),
}

impl Store {
    /// Stores a new operation.
    pub async fn insert_operation(&self, instance: &InstanceId, operation: &Operation) -> Result<(), Error> {
        let statement = insert(instance, operation, INSERT)?;
        self.change(instance, vec![statement], asked(operation)).await.map(|_| ())
    }

    /// Stores that an operation runs, new or accepted earlier, with the records of what it is about to apply; all or nothing.
    pub async fn begin_operation(
        &self,
        instance: &InstanceId,
        app: &AppName,
        operation: &Operation,
        records: &[Record],
    ) -> Result<(), Error> {
        let mut statements = vec![insert(instance, operation, INSERT_UNLESS_STORED)?];
        let mut changes = asked(operation);
        if operation.request.is_some() {
            statements.push(update(operation)?);
        }
        for record in records {
            let (statement, change) = records::put(instance, app, record)?;
            statements.push(statement);
            changes.push(change);
        }
        self.change(instance, statements, changes).await.map(|_| ())
    }

    /// Replaces what can change of a stored operation: state, outcome, commit, message, end.
    pub async fn update_operation(&self, instance: &InstanceId, operation: &Operation) -> Result<(), Error> {
        self.change(instance, vec![update(operation)?], asked(operation)).await.map(|_| ())
    }

    /// Notes that an operation that has not ended is to end before it is done, and why. It stays so whatever its pass stores until then, unless that had sent all there was.
    pub async fn mark_operation(&self, id: &OperationId, refusal: &RefusalText) -> Result<(), Error> {
        let sql = "UPDATE operations SET refusal = $2 WHERE id = $1 AND state IN ('waiting', 'running')";
        let statement = Statement::new("note that an operation is to end", Table::Operations, sql);
        self.writer.write(statement.text(&id.0).text(refusal_text(Some(refusal))?)).await.map(|_| ())
    }

    /// Returns an operation by its id.
    pub async fn operation(&self, instance: &InstanceId, id: &OperationId) -> Result<Option<Operation>, Error> {
        let found = sqlx::query("SELECT * FROM operations WHERE instance = $1 AND id = $2")
            .bind(instance.as_str())
            .bind(&id.0)
            .fetch_optional(&self.readers)
            .await
            .map_err(attempt("read an operation"))?;
        found.as_ref().map(parse).transpose()
    }

    /// Returns operations, the last that was stored first, whatever the clock said then.
    pub async fn operations(&self, instance: &InstanceId, filter: &OperationFilter) -> Result<Vec<Operation>, Error> {
        let rows = sqlx::query(
            "SELECT * FROM operations WHERE instance = $1 AND ($2 = '' OR app = $2) ORDER BY position DESC LIMIT $3",
        )
        .bind(instance.as_str())
        .bind(filter.app.as_ref().map_or("", AppName::as_str))
        .bind(filter.limit.unwrap_or(LIST_LIMIT).min(LIST_LIMIT))
        .fetch_all(&self.readers)
        .await
        .map_err(attempt("list operations"))?;
        rows.iter().map(parse).collect()
    }

    /// Returns the operations in a state, oldest first: Waiting ones are requests that must be carried out.
    pub async fn operations_in(&self, instance: &InstanceId, state: OperationState) -> Result<Vec<Operation>, Error> {
        let rows =
            sqlx::query("SELECT * FROM operations WHERE instance = $1 AND state = $2 ORDER BY position LIMIT $3")
                .bind(instance.as_str())
                .bind(state_word(state))
                .bind(LIST_LIMIT)
                .fetch_all(&self.readers)
                .await
                .map_err(attempt("list operations by state"))?;
        rows.iter().map(parse).collect()
    }

    /// Returns the requests of an app that are not carried out yet, or those that are about no app, oldest first. One runs although no pass
    /// of the app does if that pass could not go on.
    pub async fn open_requests(&self, instance: &InstanceId, app: Option<&AppName>) -> Result<Vec<Operation>, Error> {
        if !self.mirror(instance).await?.is_asked(app) {
            return Ok(Vec::new());
        }
        let rows = sqlx::query(
            "SELECT * FROM operations WHERE instance = $1 AND state IN ('waiting', 'running') AND app = $2 AND request <> '' ORDER BY position LIMIT $3",
        )
        .bind(instance.as_str())
        .bind(app.map_or("", AppName::as_str))
        .bind(LIST_LIMIT)
        .fetch_all(&self.readers)
        .await
        .map_err(attempt("list the requests that are open"))?;
        rows.iter().map(parse).collect()
    }

    /// Puts requests that a dead process left running back among those that wait, marks its other operations as interrupted, those that were
    /// to end as cancelled, and returns how many there were.
    pub async fn take_over_running(&self, instance: &InstanceId, now: Timestamp) -> Result<u64, Error> {
        let statement = Statement::new(
            "take over what a dead process left running",
            Table::Operations,
            "UPDATE operations SET
                 state = CASE WHEN refusal <> '' THEN 'cancelled' WHEN request = '' THEN 'interrupted' ELSE 'waiting' END,
                 ended = CASE WHEN request = '' OR refusal <> '' THEN $2 ELSE 0 END,
                 message = CASE WHEN request = '' OR refusal <> '' THEN 'the process that ran it ended before it did' ELSE '' END
             WHERE instance = $1 AND state = 'running'",
        )
        .text(instance.as_str())
        .number(now.0);
        let done = self.writer.write(statement).await;
        self.forget_mirror(instance).await;
        done
    }

    /// Marks operations of an app as interrupted that a pass opened by itself and could not close. Only who works on the app may ask, as an
    /// operation that is under way looks just the same.
    pub async fn interrupt_running(&self, instance: &InstanceId, app: &AppName, now: Timestamp) -> Result<u64, Error> {
        let statement = Statement::new(
            "interrupt what a pass left running",
            Table::Operations,
            "UPDATE operations SET state = 'interrupted', ended = $3, message = 'the pass that ran it could not go on'
             WHERE instance = $1 AND app = $2 AND state = 'running' AND request = ''",
        )
        .text(instance.as_str())
        .text(app.as_str())
        .number(now.0);
        self.writer.write(statement).await
    }

    /// Stores the outcome of one action with what it means for the inventory; a repeated position replaces it.
    pub async fn put_outcome(
        &self,
        instance: &InstanceId,
        (operation, position): (&OperationId, usize),
        outcome: &Outcome,
        change: RecordChange<'_>,
    ) -> Result<(), Error> {
        let mut statements = vec![outcome_row(operation, position, outcome)?];
        let changed = match change {
            RecordChange::Nothing => None,
            RecordChange::Put(app, record) => Some(records::put(instance, app, &record)?),
            RecordChange::Remove(cluster, id) => Some(records::remove(instance, cluster, id)),
            RecordChange::LetVolumeGo(app, uid) => Some(archive::let_go(instance, app, uid)),
        };
        let (more, changes): (Vec<_>, Vec<_>) = changed.into_iter().unzip();
        statements.extend(more);
        self.change(instance, statements, changes).await.map(|_| ())
    }

    /// Forgets what came of each object of the operations that ended before a time; their rows stay. Returns how many were forgotten.
    pub async fn forget_outcomes(&self, instance: &InstanceId, before: Timestamp) -> Result<u64, Error> {
        let sql = "DELETE FROM outcomes WHERE operation IN
                 (SELECT id FROM operations WHERE instance = $1 AND ended <> 0 AND ended < $2)";
        let statement = Statement::new("forget what old operations did to each object", Table::Outcomes, sql);
        self.writer.write(statement.text(instance.as_str()).number(before.0)).await
    }

    /// Returns the outcomes of an operation in the order of its plan.
    pub async fn outcomes(&self, operation: &OperationId) -> Result<Vec<Outcome>, Error> {
        let rows = sqlx::query("SELECT body FROM outcomes WHERE operation = $1 ORDER BY position")
            .bind(&operation.0)
            .fetch_all(&self.readers)
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

/// Returns whether a request is open from now on, if the operation is one.
fn asked(operation: &Operation) -> Vec<Change> {
    let Operation { id, app, state, request: Some(_), .. } = operation else { return Vec::new() };
    let (app, id) = (app.clone(), id.clone());
    vec![match state {
        OperationState::Waiting | OperationState::Running => Change::Open { app, id },
        _ => Change::Ended { app, id },
    }]
}

/// Returns the statement that stores an operation.
fn insert(instance: &InstanceId, operation: &Operation, sql: &'static str) -> Result<Statement, Error> {
    let Operation {
        id,
        verb,
        app,
        request,
        trigger,
        actor,
        user,
        commit,
        state,
        outcome,
        message,
        refusal,
        started,
        ended,
    } = operation;
    let who = Who { name: actor.clone(), user: user.clone() };
    let request = match request {
        Some(request) => serde_json::to_string(request).map_err(row("operations"))?,
        None => String::new(),
    };
    Ok(Statement::new("store an operation", Table::Operations, sql)
        .text(&id.0)
        .text(instance.as_str())
        .text(app.as_ref().map_or("", AppName::as_str))
        .text(verb)
        .text(request)
        .text(trigger)
        .text(who.text())
        .text(commit.as_ref().map_or("", CommitId::as_str))
        .text(state_word(*state))
        .text(outcome.map_or("", outcome_word))
        .text(message)
        .text(refusal_text(refusal.as_ref())?)
        .number(started.0)
        .number(ended.map_or(0, |time| time.0)))
}

/// Returns the statement that replaces what can change of an operation. Why it was refused, or is to end, is taken back only by its success.
fn update(operation: &Operation) -> Result<Statement, Error> {
    let sql = "UPDATE operations SET state = $2, outcome = $3, commit_id = $4, message = $5, ended = $6,
         refusal = CASE WHEN $7 <> '' OR $2 = 'succeeded' THEN $7 ELSE refusal END WHERE id = $1";
    Ok(Statement::new("update an operation", Table::Operations, sql)
        .text(&operation.id.0)
        .text(state_word(operation.state))
        .text(operation.outcome.map_or("", outcome_word))
        .text(operation.commit.as_ref().map_or("", CommitId::as_str))
        .text(&operation.message)
        .number(operation.ended.map_or(0, |time| time.0))
        .text(refusal_text(operation.refusal.as_ref())?))
}

fn outcome_row(operation: &OperationId, position: usize, outcome: &Outcome) -> Result<Statement, Error> {
    let head = "INSERT OR REPLACE INTO outcomes (operation, position, body) ";
    Ok(Statement::row("store an outcome", Table::Outcomes, head)
        .text(&operation.0)
        .number(i64::try_from(position).unwrap_or(i64::MAX))
        .text(serde_json::to_string(outcome).map_err(row("outcomes"))?))
}

fn parse(found: &SqliteRow) -> Result<Operation, Error> {
    let text = |column: &str| found.try_get::<String, _>(column).map_err(row("operations"));
    let time = |column: &str| found.try_get::<i64, _>(column).map_err(row("operations"));
    let some = |text: String| (!text.is_empty()).then_some(text);
    let ended = time("ended")?;
    let who = Who::parse(&text("actor")?);
    Ok(Operation {
        id: OperationId(text("id")?),
        verb: text("verb")?,
        app: some(text("app")?).map(|name| AppName::parse(&name)).transpose().map_err(row("operations"))?,
        request: some(text("request")?)
            .map(|body| serde_json::from_str(&body))
            .transpose()
            .map_err(row("operations"))?,
        trigger: text("reason")?,
        actor: who.name,
        user: who.user,
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
