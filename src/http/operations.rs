//! Operations with what happened to every object, in our words and in those of the predecessor.
//!
//! Ending one before it is done is here as well. Not here: asking for one (`changes.rs`).

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answered, app_name, json as answer, value, with_status};
use super::changes::Change;
use super::problem::Problem;
use super::{Host, instance};
use crate::model::{Operation, OperationId, OperationOutcome, OperationState, Reason, Request, Trigger};
use crate::pipeline::{self, Instance, Trial, Word};
use crate::store::OperationFilter;

/// Query of a list.
#[derive(Deserialize)]
pub(super) struct Which {
    #[serde(default)]
    app: Option<String>,
    #[serde(default)]
    limit: Option<i64>,
}

/// `GET /operations`: newest first.
pub(super) async fn list(State(daemon): Host, Path(name): Path<String>, Query(which): Query<Which>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    let app = which.app.as_deref().map(app_name).transpose()?;
    let limit = which.limit.map(|limit| limit.max(0));
    let operations = shown.store.operations(&shown.id, &OperationFilter { app, limit }).await?;
    let documents: Vec<Value> =
        operations.iter().map(|operation| document(&name, operation)).collect::<Result<_, _>>()?;
    Ok(answer(&json!({"operations": documents})))
}

/// `GET /operations/{id}`: one operation and its outcomes.
pub(super) async fn show(State(daemon): Host, Path((name, id)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    let id = OperationId(id);
    let operation = stored(shown, &id).await?;
    let outcomes = shown.store.outcomes(&id).await?;
    let mut document = document(&name, &operation)?;
    if let Some(fields) = document.as_object_mut() {
        fields.insert("outcomes".to_owned(), value(&outcomes)?);
    }
    Ok(answer(&document))
}

/// Returns an operation of an instance.
pub(super) async fn stored(instance: &Instance, id: &OperationId) -> Result<Operation, Problem> {
    instance.store.operation(&instance.id, id).await?.ok_or_else(|| unknown(id))
}

fn unknown(id: &OperationId) -> Problem {
    Problem::new(404, "find the operation", format!("there is no operation {id}"), "wild operation list")
}

/// Body of `POST /operations/{id}/cancel`.
#[derive(Deserialize)]
struct Cancel {
    #[serde(default)]
    reason: String,
}

/// `POST /operations/{id}/cancel`: what waits is never carried out, what runs ends after the requests that are under way.
pub(super) async fn cancel(change: Change) -> Answered {
    let Cancel { reason } = change.body()?;
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    let id = OperationId(change.word("id").to_owned());
    let instance = change.instance();
    let word = match change.trial() {
        Trial::Real => pipeline::cancel(instance, &id, (&change.who(), &reason)).await?,
        Trial::Dry => {
            let operation = stored(instance, &id).await?;
            if matches!(operation.state, OperationState::Waiting | OperationState::Running) {
                return Ok(answer(&json!({"dryRun": true, "id": id, "message": "It would be cancelled."})));
            }
            Word::Ended(operation)
        }
    };
    let (status, message, operation) = match word {
        Word::Unknown => return Err(unknown(&id)),
        Word::Ended(operation) => return Err(ended(&operation)),
        Word::TooLate(operation) => return Err(too_late(&operation)),
        Word::Heard(operation) => (StatusCode::ACCEPTED, "it ends after the requests that are under way", operation),
        Word::Done(operation) => (StatusCode::OK, "Operation cancelled", operation),
    };
    if operation.app.is_some() {
        change.wake(Trigger { app: operation.app, reason: Reason::Released });
    }
    Ok(with_status(status, &json!({"id": id, "operation_id": id, "message": message})))
}

/// Body of `POST /operations/{id}/approve`.
#[derive(Deserialize)]
struct Approve {
    /// Digest of the plan that a person saw.
    #[serde(default)]
    plan: Option<String>,
}

/// `POST /operations/{id}/approve`: agrees to the deletions or the grants that an operation was held back for, if they are still the same.
pub(super) async fn approve(change: Change) -> Answered {
    let Approve { plan: named } = change.body()?;
    let id = OperationId(change.word("id").to_owned());
    let operation = stored(change.instance(), &id).await?;
    let what = format!("approve {} ({})", operation.id, operation.verb);
    let refuse = |because: &str, remedy: String| Problem::new(409, what.clone(), because, remedy).with_exit_code(6);
    let show = || format!("wild operation show {id}");
    let Some(app) = operation.app.clone().filter(|_| operation.outcome == Some(OperationOutcome::Blocked)) else {
        return Err(refuse("it waits for nobody", show()));
    };
    let agree = |digest: String| {
        let (app, approve) = (app.clone(), Some(digest));
        change.ask(Request::Deploy { app, approve, recreate: Vec::new(), adopt: false })
    };
    // Agreed is to what was shown: the plan that is named, or else the one that the operation names.
    let is_shown = |digest: &String| match &named {
        Some(named) => named == digest,
        None => operation.message.contains(digest),
    };
    let waiting = pipeline::waiting_grants(change.instance(), &app).await;
    if let Some(waiting) = waiting.as_ref().filter(|waiting| is_shown(&waiting.digest)) {
        return agree(waiting.digest.clone()).await;
    }
    let plan = pipeline::preview(change.instance(), &app, None).await?.plan;
    let digest = plan.map(|plan| plan.digest).unwrap_or_default();
    if !digest.is_empty() && is_shown(&digest) {
        return agree(digest).await;
    }
    let show_plan = format!("wild plan {app}");
    match waiting {
        Some(waiting) => {
            Err(refuse(&format!("it waits for another plan by now: {}", waiting.message(&app)), show_plan))
        }
        None if digest.is_empty() => {
            Err(refuse("nothing would be deleted any more, and no grant that it names waits", show()))
        }
        None => Err(refuse("what would be deleted now is not what it was held back for", show_plan)),
    }
}

fn ended(operation: &Operation) -> Problem {
    let what = format!("cancel {} ({})", operation.id, operation.verb);
    let state = match operation.state {
        OperationState::Cancelled => "is cancelled already",
        OperationState::Failed => "has ended already: failed",
        OperationState::Interrupted => "has ended already: interrupted",
        OperationState::Succeeded | OperationState::Waiting | OperationState::Running => "has ended already: succeeded",
    };
    let remedy = format!("wild operation show {}", operation.id);
    Problem::new(409, what, format!("it {state}"), remedy).with_exit_code(6)
}

fn too_late(operation: &Operation) -> Problem {
    let what = format!("cancel {} ({})", operation.id, operation.verb);
    let because = "all of its requests are sent and it is about to end";
    Problem::new(409, what, because, format!("wild operation show {}", operation.id)).with_exit_code(6)
}

/// `GET /operations/{id}/archive`: the objects that an operation deleted, as they were; of Secrets no value.
pub(super) async fn archive(State(daemon): Host, Path((name, id)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    let id = OperationId(id);
    let operation = stored(shown, &id).await?;
    let mut archived = match &operation.app {
        Some(app) => shown.store.archived(&shown.id, app, Some(&id)).await?,
        None => Vec::new(),
    };
    // The end of an app takes several operations, of which a person asked for the first.
    if !matches!(operation.request, Some(Request::Delete { .. })) {
        archived.retain(|one| one.operation == id);
    }
    Ok(answer(&json!({"archived": value(&archived)?})))
}

/// Returns an operation with the members that the predecessor's clients read.
pub(super) fn document(instance: &str, operation: &Operation) -> Result<Value, Problem> {
    let mut document = value(operation)?;
    let (kind, target) = match &operation.app {
        Some(app) => (format!("{}_app", operation.verb), app.to_string()),
        None => (operation.verb.clone(), instance.to_owned()),
    };
    let (status, progress) = match operation.state {
        OperationState::Waiting => ("pending", 0),
        OperationState::Running => ("running", 50),
        OperationState::Succeeded => ("completed", 100),
        OperationState::Failed | OperationState::Interrupted => ("failed", 100),
        OperationState::Cancelled => ("cancelled", 100),
    };
    if let Some(fields) = document.as_object_mut() {
        fields.insert("type".to_owned(), Value::from(kind));
        fields.insert("target".to_owned(), Value::from(target));
        fields.insert("instance".to_owned(), Value::from(instance));
        fields.insert("status".to_owned(), Value::from(status));
        fields.insert("progress".to_owned(), Value::from(progress));
        fields.insert("started_at".to_owned(), json!(operation.started));
        fields.insert("ended_at".to_owned(), json!(operation.ended));
    }
    Ok(document)
}
