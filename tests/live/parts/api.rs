//! A small Kubernetes client for the starter itself, independent of the one under test.
//!
//! Not here: kubectl, which tests look at the cluster with (`control_plane.rs`).

use std::time::Duration;

use reqwest::{Certificate, Client, Identity, Method};
use serde_json::Value;

use super::pki::Credentials;

/// How long one request may take; a watch is closed by the server before.
const CALL_DEADLINE: Duration = Duration::from_secs(20);
/// How long the server keeps a watch open, in seconds.
const WATCH_SECONDS: u32 = 600;

/// The API server, spoken to as administrator.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    base: String,
}

impl Api {
    /// Makes a client for the server on a port of loopback.
    pub(crate) fn new(port: u16, credentials: &Credentials) -> Result<Self, String> {
        rustls::crypto::ring::default_provider().install_default().ok();
        let attempt = |error: reqwest::Error| format!("set up a client: {error}");
        let authority = Certificate::from_pem(credentials.authority.as_bytes()).map_err(attempt)?;
        let identity = Identity::from_pem(credentials.identity.as_bytes()).map_err(attempt)?;
        let builder = Client::builder().no_proxy().tls_certs_only([authority]).identity(identity);
        let client = builder.user_agent("wild-test-starter").build().map_err(attempt)?;
        Ok(Self { client, base: format!("https://127.0.0.1:{port}") })
    }

    /// Returns the client below.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns whether a path answers with 200.
    pub(crate) async fn answers(&self, path: &str) -> bool {
        let sent = self.client.get(format!("{}{path}", self.base)).timeout(CALL_DEADLINE).send().await;
        sent.is_ok_and(|answer| answer.status().is_success())
    }

    /// Sends a body, or none, and returns the answer; a PATCH merges.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, String> {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        self.send_as(method, path, kind, body).await
    }

    /// Sends a body of a content type, or none, and returns the answer.
    pub(crate) async fn send_as(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: Option<&Value>,
    ) -> Result<Value, String> {
        let attempt = format!("{method} {path}");
        let mut request = self.client.request(method, format!("{}{path}", self.base)).timeout(CALL_DEADLINE);
        if let Some(body) = body {
            request = request.header("Content-Type", kind).body(body.to_string());
        }
        let answer = request.send().await.map_err(|error| format!("{attempt}: {error}"))?;
        let status = answer.status();
        let text = answer.text().await.map_err(|error| format!("{attempt}: {error}"))?;
        if !status.is_success() {
            return Err(format!("{attempt}: {status}: {text}"));
        }
        serde_json::from_str(&text).map_err(|error| format!("{attempt}: {error}"))
    }

    /// Opens a watch: present objects come first.
    pub(crate) async fn watch(&self, path: &str) -> Result<Watch, String> {
        let url = format!("{}{path}?watch=1&timeoutSeconds={WATCH_SECONDS}", self.base);
        let answer = self.client.get(url).send().await.and_then(reqwest::Response::error_for_status);
        answer.map(|stream| Watch { stream, rest: Vec::new() }).map_err(|error| format!("watch {path}: {error}"))
    }
}

/// An open watch.
pub(crate) struct Watch {
    stream: reqwest::Response,
    rest: Vec<u8>,
}

impl Watch {
    /// Returns the next event with `type` and `object`, or nothing when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return serde_json::from_slice(&line).ok();
            }
            let chunk = self.stream.chunk().await.ok().flatten()?;
            self.rest.extend_from_slice(&chunk);
        }
    }
}
