//! `GET /metrics` in the OpenMetrics text format, on a listener of its own: numbers about apps are not for everybody who may see the page.
//!
//! Not here: counting (`daemon::metrics`).

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::Host;
use super::caller::admit_reader;
use crate::daemon::Daemon;

/// Media type of the text.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the routes of the metrics listener.
pub(super) fn router(daemon: Daemon) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .layer(from_fn_with_state(daemon.clone(), admit_reader))
        .with_state(daemon)
}

async fn metrics(State(daemon): Host) -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(OPEN_METRICS))];
    (kind, daemon.metrics().encode()).into_response()
}
