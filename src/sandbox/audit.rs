//! The audit log: which requests were served, one JSON line each, in the form in which an API server logs its own.
//!
//! Format: events of `audit.k8s.io/v1`. Content type and accepted form, which a real log leaves out, are annotations; of the bodies only
//! the options of a deletion are logged, because any other may hold a secret.
//!
//! Not here: what a request means (`call.rs`).

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, USER_AGENT};
use serde_json::{Map, Value, json};

/// Most requests that are logged; further ones are served and not logged.
const MAX_EVENTS: usize = 100_000;

/// An open audit log.
pub(crate) struct Audit {
    log: Mutex<Log>,
}

struct Log {
    file: File,
    left: usize,
}

/// A request as it came.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: String,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
}

impl Audit {
    /// Begins a new log.
    pub(crate) fn create(path: &Path) -> std::io::Result<Self> {
        Ok(Self { log: Mutex::new(Log { file: File::create(path)?, left: MAX_EVENTS }) })
    }

    /// Logs a request with the code of its answer.
    pub(crate) fn write(&self, request: &Request<'_>, code: u16, now: &str) {
        let event = event(request, code, now);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left) = log.left.checked_sub(1) else { return };
        log.left = left;
        // One write for one line, so that a reader never sees half of one. A full disk costs the log, not the cluster.
        let _ = log.file.write_all(format!("{event}\n").as_bytes());
    }
}

fn event(request: &Request<'_>, code: u16, now: &str) -> Value {
    let header = |name| request.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    let mut event = json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata",
        "stage": "ResponseStarted", "requestURI": request.uri, "verb": verb(request.method),
        "userAgent": header(USER_AGENT), "responseStatus": {"code": code}, "stageTimestamp": now});
    let mut annotations = Map::new();
    for (key, name) in [("accept", ACCEPT), ("content-type", CONTENT_TYPE)] {
        if !header(name.clone()).is_empty() {
            annotations.insert(key.to_owned(), json!(header(name)));
        }
    }
    if let Value::Object(map) = &mut event {
        map.insert("annotations".to_owned(), Value::Object(annotations));
        if let (&Method::DELETE, Ok(options)) = (request.method, serde_json::from_slice::<Value>(request.body)) {
            map.insert("requestObject".to_owned(), options);
        }
    }
    event
}

fn verb(method: &Method) -> String {
    match *method {
        Method::POST => "create".to_owned(),
        Method::PUT => "update".to_owned(),
        _ => method.as_str().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use http::header::{CONTENT_TYPE, HeaderMap};
    use http::{HeaderValue, Method};

    use super::{Request, event};

    #[test]
    fn only_the_options_of_a_deletion_are_logged() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let said = |method: &Method| {
            let request = Request { method, uri: "/api/v1/x?y".into(), headers: &headers, body: b"{\"a\":1}" };
            event(&request, 200, "now")
        };
        assert_eq!(said(&Method::DELETE)["requestObject"]["a"], 1);
        assert!(said(&Method::POST).get("requestObject").is_none());
        assert_eq!(said(&Method::POST)["annotations"]["content-type"], "application/json");
        assert_eq!(said(&Method::PUT)["verb"], "update");
    }
}
