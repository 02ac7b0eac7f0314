//! The HTTP side: reads a request, asks the rest of the sandbox, writes the answer.
//!
//! Not here: what a request means (`call.rs`) and does (`read.rs`, `write.rs`, `delete.rs`, `watch.rs`).

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderMap, USER_AGENT};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use serde_json::Value;

use crate::sandbox::audit::{self, Audit};
use crate::sandbox::call::{Call, Place, Query, form, place};
use crate::sandbox::cluster::Cluster;
use crate::sandbox::failure::Failure;
use crate::sandbox::{delete, discovery, log as container_log, read, scale, watch, write};

/// Largest body of a request, as the API server's own limit.
const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// What a request is answered with.
pub(crate) enum Answer {
    Json(u16, Value),
    Text(u16, &'static str),
    Lines(String),
    Watch(Box<watch::Watch>),
}

/// Returns the routes: one handler, because the paths come from the table of kinds.
pub(crate) fn router(cluster: Arc<Cluster>, address: String, audit: Option<Arc<Audit>>) -> Router {
    Router::new().fallback(serve).with_state(Server { cluster, address: address.into(), audit })
}

#[derive(Clone)]
struct Server {
    cluster: Arc<Cluster>,
    address: Arc<str>,
    audit: Option<Arc<Audit>>,
}

async fn serve(State(server): State<Server>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let answer = match to_bytes(body, MAX_BODY_BYTES).await {
        Ok(body) => {
            let answer = answer(&server, &parts.method, (parts.uri.path(), parts.uri.query()), &parts.headers, &body)
                .unwrap_or_else(refused);
            log(&server, &parts, &body, &answer);
            answer
        }
        Err(_) => refused(Failure::too_large(MAX_BODY_BYTES)),
    };
    write_answer(answer)
}

fn refused(failure: Failure) -> Answer {
    Answer::Json(failure.code, failure.status())
}

fn log(server: &Server, parts: &Parts, body: &[u8], answer: &Answer) {
    let Some(audit) = &server.audit else { return };
    let code = match answer {
        Answer::Json(code, _) | Answer::Text(code, _) => *code,
        Answer::Watch(_) | Answer::Lines(_) => 200,
    };
    let request = audit::Request { method: &parts.method, uri: parts.uri.to_string(), headers: &parts.headers, body };
    audit.write(&request, code, &server.cluster.lock().now_text());
}

fn answer(
    server: &Server,
    method: &Method,
    target: (&str, Option<&str>),
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Answer, Failure> {
    let (path, query) = target;
    let (kind, namespace, name, subresource) = match place(path) {
        Place::Health => return Ok(Answer::Text(200, "ok")),
        Place::Version => return Ok(Answer::Json(200, discovery::version())),
        Place::CoreVersions => return Ok(Answer::Json(200, discovery::core_versions(&server.address))),
        Place::CoreKinds => return Ok(Answer::Json(200, discovery::kinds("", "v1"))),
        Place::Groups => return Ok(Answer::Json(200, discovery::groups())),
        Place::Group(name) => return Ok(Answer::Json(200, discovery::group(&name))),
        Place::Kinds(group, version) => return Ok(Answer::Json(200, discovery::kinds(&group, &version))),
        Place::UnknownKind => return Err(Failure::no_such_path()),
        Place::Nowhere => return Ok(Answer::Text(404, "404 page not found\n")),
        Place::Objects(kind, namespace, name, subresource) => (kind, namespace, name, subresource),
    };
    let header = |name: http::HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    let call = Call {
        kind,
        namespace,
        name,
        subresource,
        query: Query::parse(query.unwrap_or("")),
        form: form(header(ACCEPT)),
        user_agent: header(USER_AGENT).to_owned(),
        content_type: header(CONTENT_TYPE).split(';').next().unwrap_or("").trim().to_owned(),
    };
    dispatch(&server.cluster, method, &call, body)
}

fn dispatch(cluster: &Arc<Cluster>, method: &Method, call: &Call, body: &[u8]) -> Result<Answer, Failure> {
    let known = ["", "status", "finalize", "scale", "log"].contains(&call.subresource.as_str());
    let has = call.subresource.is_empty() || call.kind.subresources.contains(&call.subresource.as_str());
    if !known || !has {
        return Err(Failure::no_such_path());
    }
    if call.subresource == "scale" {
        return scale::answer(cluster, method, call, body);
    }
    if call.subresource == "log" {
        return if method == Method::GET {
            container_log::answer(&cluster.lock(), call)
        } else {
            Err(Failure::no_such_method())
        };
    }
    match (method, call.name.is_empty()) {
        (&Method::GET, true) if call.query.is_true("watch") => {
            watch::open(cluster, call).map(|watch| Answer::Watch(Box::new(watch)))
        }
        (&Method::GET, true) => read::list(&cluster.lock(), call).map(|list| Answer::Json(200, list)),
        (&Method::GET, false) => read::get(&cluster.lock(), call).map(|object| Answer::Json(200, object)),
        (&Method::POST, true) => cluster.change(|store| write::create(store, call, body)),
        (&Method::PUT, false) => cluster.change(|store| write::update(store, call, body)),
        (&Method::PATCH, false) if call.subresource != "finalize" => {
            cluster.change(|store| write::patch(store, call, body))
        }
        (&Method::DELETE, false) if call.subresource.is_empty() => {
            cluster.change(|store| delete::delete(store, call, body))
        }
        (&Method::DELETE, true) if call.kind.plural != "namespaces" => {
            cluster.change(|store| delete::delete_many(store, call, body))
        }
        _ => Err(Failure::no_such_method()),
    }
}

fn write_answer(answer: Answer) -> Response<Body> {
    let (code, sort, body) = match answer {
        Answer::Json(code, value) => (code, "application/json", Body::from(format!("{value}\n"))),
        Answer::Text(code, text) => (code, "text/plain; charset=utf-8", Body::from(text)),
        Answer::Lines(text) => (200, "text/plain", Body::from(text)),
        Answer::Watch(watch) => (200, "application/json", Body::from_stream(watch.into_stream())),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(sort));
    if code == 405 {
        response.headers_mut().insert(ALLOW, http::HeaderValue::from_static("GET"));
    }
    response
}
