//! What handlers share: JSON answers, bodies, names in paths.
//!
//! Not here: problems (`problem.rs`).

use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::problem::Problem;
use crate::model::AppName;

/// An answer, or why there is none.
pub(super) type Answered = Result<Response, Problem>;

/// Returns a value as an answer.
pub(super) fn json(value: &Value) -> Response {
    with_status(StatusCode::OK, value)
}

/// Returns a value as an answer with a status.
pub(super) fn with_status(status: StatusCode, value: &Value) -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, kind, value.to_string()).into_response()
}

/// Returns something that we print as JSON.
pub(super) fn value(item: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(item).map_err(|error| Problem::new(500, "write an answer", error.to_string(), "wild status"))
}

/// Parses the body of a request; an empty one stands for an empty object.
pub(super) fn body<T: DeserializeOwned>(bytes: &Bytes) -> Result<T, Problem> {
    let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes)
        .map_err(|error| Problem::unreadable("read the body of the request", error.to_string()))
}

/// Parses the name of an app in a path.
pub(super) fn app_name(text: &str) -> Result<AppName, Problem> {
    AppName::parse(text).map_err(|error| {
        Problem::new(422, format!("find the app {text}"), error.to_string(), "wild app list --deployed")
    })
}
