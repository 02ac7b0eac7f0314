//! Operations with what happened to every object, in our words and in those of the predecessor.
//!
//! Not here: asking for one (`changes.rs`).

use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answered, app_name, json as answer, value};
use super::problem::Problem;
use super::{Host, instance};
use crate::model::{Operation, OperationId, OperationState, Request};
use crate::pipeline::Instance;
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
async fn stored(instance: &Instance, id: &OperationId) -> Result<Operation, Problem> {
    instance.store.operation(&instance.id, id).await?.ok_or_else(|| {
        Problem::new(404, "find the operation", format!("there is no operation {id}"), "wild operation list")
    })
}

/// `GET /operations/{id}/archive`: the objects that an operation deleted, as they were; of Secrets no value.
pub(super) async fn archive(State(daemon): Host, Path((name, id)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    let id = OperationId(id);
    let operation = stored(shown, &id).await?;
    let mut archived = match &operation.app {
        Some(app) => shown.store.archived(&shown.id, app, operation.started).await?,
        None => Vec::new(),
    };
    // The end of an app takes several operations, of which a person asked for the first.
    if !matches!(operation.request, Some(Request::Delete { .. })) {
        archived.retain(|one| one.operation == id);
    }
    Ok(answer(&json!({"archived": value(&archived)?})))
}

/// Returns an operation with the members that the predecessor's clients read.
fn document(instance: &str, operation: &Operation) -> Result<Value, Problem> {
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
