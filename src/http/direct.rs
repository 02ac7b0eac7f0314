//! The same routes without a connection, for a command line that does a daemon's work in its own process.
//!
//! Not here: the routes (`mod.rs`).

use axum::body::{Body, Bytes, to_bytes};
use axum::handler::Handler;
use axum::http::{HeaderValue, Request, header};
use axum::routing::any_service;
use axum::{Extension, Router};
use futures::StreamExt;
use futures::stream::BoxStream;
use serde_json::Value;

use super::caller::Caller;
use super::problem::Problem;
use super::router;
use crate::daemon::Daemon;
use axum::response::{IntoResponse, Response};

/// Largest answer that is taken in; the longest is a plan of ten thousand apps.
const ANSWER_LIMIT: usize = 256 * 1024 * 1024;

/// The routes of a daemon in this process.
pub struct Direct {
    routes: Router,
}

/// A request to them.
pub struct DirectRequest<'a> {
    /// Method.
    pub method: &'a str,
    /// Path with its query.
    pub path: &'a str,
    /// Body.
    pub body: Option<&'a Value>,
    /// Who asks.
    pub actor: &'a str,
}

impl Direct {
    /// Returns the routes of a daemon.
    pub fn new(daemon: Daemon) -> Self {
        Self { routes: router(daemon).layer(Extension(Caller::Process)) }
    }

    /// Returns status and answer of a request.
    pub async fn call(&self, request: DirectRequest<'_>) -> (u16, Value) {
        let response = self.respond(request).await;
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), ANSWER_LIMIT).await.unwrap_or_default();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    /// Returns status and answer of a request whose answer may last; nothing where it breaks off.
    pub async fn stream(&self, request: DirectRequest<'_>) -> (u16, BoxStream<'static, Option<Bytes>>) {
        let response = self.respond(request).await;
        (response.status().as_u16(), response.into_body().into_data_stream().map(Result::ok).boxed())
    }

    async fn respond(&self, request: DirectRequest<'_>) -> Response {
        let DirectRequest { method, path, body, actor } = request;
        let attempt = format!("{method} {path}");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let built = Request::builder().method(method).uri(path).body(body);
        match built {
            Ok(mut request) => {
                let headers = request.headers_mut();
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
                if let Ok(actor) = HeaderValue::from_bytes(actor.as_bytes()) {
                    headers.insert("wild-actor", actor);
                }
                any_service(self.routes.clone()).call(request, ()).await
            }
            Err(error) => Problem::new(400, attempt, error.to_string(), "wild --help").into_response(),
        }
    }
}
