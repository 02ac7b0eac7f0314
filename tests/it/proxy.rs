//! A proxy before the cluster that answers in its place, loses answers, or closes what it should keep open.
//!
//! Not here: what must hold all the same (`line/weather.rs`).

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use serde_json::json;
use tokio::task::JoinHandle;

/// Largest body of a request.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// A code with this `Retry-After`, which may be empty, instead of an answer.
    Refuse(u16, &'static str),
    /// The request is carried out and its answer never ends.
    LoseAnswer,
    /// The request is not carried out and has no answer.
    Reset,
}

/// To which requests it goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum To {
    Writes,
    Watches,
    /// Everything about the kinds of an API group.
    Group(&'static str),
    All,
}

#[derive(Default)]
struct Weather {
    fault: Option<(To, Fault)>,
    left: usize,
    hits: usize,
}

struct Shared {
    cluster: String,
    client: reqwest::Client,
    weather: Mutex<Weather>,
}

/// The proxy; it ends with this.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    address: String,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    /// Starts a proxy before a cluster.
    pub(crate) async fn start(cluster: &str) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (client, weather) = (reqwest::Client::new(), Mutex::default());
        let shared = Arc::new(Shared { cluster: cluster.to_owned(), client, weather });
        let router = Router::new().fallback(pass).with_state(shared.clone());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { shared, address, task }
    }

    /// Returns its address.
    pub(crate) fn url(&self) -> &str {
        &self.address
    }

    /// Lets the next requests of a sort go wrong.
    pub(crate) fn spoil(&self, to: To, fault: Fault, times: usize) {
        *self.shared.weather.lock().unwrap() = Weather { fault: Some((to, fault)), left: times, hits: 0 };
    }

    /// Ends the bad weather.
    pub(crate) fn clear(&self) {
        self.shared.weather.lock().unwrap().left = 0;
    }

    /// Returns how many requests went wrong.
    pub(crate) fn hits(&self) -> usize {
        self.shared.weather.lock().unwrap().hits
    }
}

impl Shared {
    fn fault(&self, request: &Request) -> Option<Fault> {
        let mut weather = self.weather.lock().unwrap();
        let watches = request.uri().query().is_some_and(|query| query.contains("watch=1"));
        let (to, fault) = weather.fault?;
        let meant = match to {
            To::Writes => request.method() != Method::GET,
            To::Watches => watches,
            To::Group(group) => request.uri().path().starts_with(&format!("/apis/{group}/")),
            To::All => true,
        };
        if !meant || weather.left == 0 {
            return None;
        }
        weather.left -= 1;
        weather.hits += 1;
        Some(fault)
    }
}

async fn pass(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    match shared.fault(&request) {
        None => forward(&shared, request).await,
        Some(Fault::Refuse(code, after)) => refusal(code, after),
        Some(Fault::Reset) => broken(),
        Some(Fault::LoseAnswer) => {
            forward(&shared, request).await;
            broken()
        }
    }
}

async fn forward(shared: &Shared, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY).await.unwrap();
    let target = format!("{}{}", shared.cluster, parts.uri.path_and_query().map_or("/", |path| path.as_str()));
    let mut forwarded = shared.client.request(parts.method, target).body(body);
    for name in ["accept", "content-type"] {
        if let Some(value) = parts.headers.get(name) {
            forwarded = forwarded.header(name, value);
        }
    }
    let Ok(answer) = forwarded.send().await else { return broken() };
    let mut response = Response::builder().status(answer.status());
    if let Some(kind) = answer.headers().get("content-type") {
        response = response.header("content-type", kind);
    }
    response.body(Body::from_stream(answer.bytes_stream())).unwrap()
}

fn refusal(code: u16, after: &str) -> Response {
    let reason = if code == 410 { "Expired" } else { "InternalError" };
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": "the weather is bad"});
    let mut response = (StatusCode::from_u16(code).unwrap(), status.to_string()).into_response();
    if !after.is_empty() {
        response.headers_mut().insert("retry-after", after.parse().unwrap());
    }
    response
}

/// Returns an answer that breaks off.
fn broken() -> Response {
    let lost = stream::once(async { Err::<Bytes, _>(std::io::Error::other("lost")) });
    Response::new(Body::from_stream(lost.boxed()))
}
