//! A client of the API server that is no part of what is measured: sends, watches, counts.
//!
//! Not here: the client of the tests (`parts::api`), which sends one request after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use reqwest::{Certificate, Client, Identity, Method};
use serde_json::Value;

use crate::parts::ControlPlane;

/// Requests that the server has answered, by verb and resource.
pub(crate) type Requests = BTreeMap<(String, String), u64>;

/// A client of one API server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    base: String,
}

impl Api {
    /// Returns a client of a control plane, as its administrator.
    pub(crate) fn new(plane: &ControlPlane) -> Self {
        let kubeconfig: Value = serde_json::from_str(&std::fs::read_to_string(plane.kubeconfig()).unwrap()).unwrap();
        let user = &kubeconfig["users"][0]["user"];
        let read = |value: &Value| std::fs::read(Path::new(value.as_str().unwrap())).unwrap();
        let authority = read(&kubeconfig["clusters"][0]["cluster"]["certificate-authority"]);
        let identity = [read(&user["client-certificate"]), read(&user["client-key"])].concat();
        let builder = Client::builder()
            .no_proxy()
            .tls_certs_only([Certificate::from_pem(&authority).unwrap()])
            .identity(Identity::from_pem(&identity).unwrap());
        Self { client: builder.build().unwrap(), base: plane.address() }
    }

    /// Returns a client of a server that asks nobody who they are.
    pub(crate) fn at(base: &str) -> Self {
        Self { client: Client::builder().no_proxy().build().unwrap(), base: base.to_owned() }
    }

    /// Sends a request and returns the answer.
    pub(crate) async fn send(&self, method: Method, path: &str, kind: &str, body: String) -> Value {
        let request = self.client.request(method.clone(), format!("{}{path}", self.base));
        let answer = request.header("Content-Type", kind).body(body).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{method} {path}: {status}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Reads a path.
    pub(crate) async fn get(&self, path: &str) -> Value {
        self.send(Method::GET, path, "application/json", String::new()).await
    }

    /// Returns how many requests the server has answered so far.
    pub(crate) async fn requests(&self) -> Requests {
        let answer = self.client.get(format!("{}/metrics", self.base)).send().await.unwrap();
        let text = answer.text().await.unwrap();
        let mut requests = Requests::new();
        for line in text.lines().filter(|line| line.starts_with("apiserver_request_total{")) {
            let label = |name: &str| {
                let after = line.split_once(&format!("{name}=\""))?.1;
                after.split_once('"').map(|(value, _)| value.to_owned())
            };
            let number = line.rsplit(' ').next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0);
            let key = (label("verb").unwrap_or_default(), label("resource").unwrap_or_default());
            *requests.entry(key).or_default() += format!("{number:.0}").parse::<u64>().unwrap_or(0);
        }
        requests
    }

    /// Opens a watch of all objects of a kind; those that are there come first.
    pub(crate) async fn watch(&self, path: &str) -> Watch {
        let url = format!("{}{path}?watch=1&timeoutSeconds=3600", self.base);
        let stream = self.client.get(url).send().await.unwrap().error_for_status().unwrap();
        Watch { stream, rest: Vec::new(), read: 0 }
    }

    /// Returns when so many objects of a kind whose names begin with `app-` have been seen as they should be.
    pub(crate) async fn until_seen(&self, path: &str, wanted: usize, is_right: impl Fn(&Value) -> bool) {
        let mut watch = self.watch(path).await;
        let mut seen = BTreeSet::new();
        while seen.len() < wanted {
            let Some(object) = watch.next().await else {
                // A server that is behind ends its watches; what was missed comes first in the next one.
                watch = self.watch(path).await;
                continue;
            };
            let name = object["metadata"]["name"].as_str().unwrap_or("").to_owned();
            if name.starts_with("app-") && is_right(&object) {
                seen.insert(name);
            }
        }
    }
}

/// An open watch.
pub(crate) struct Watch {
    stream: reqwest::Response,
    rest: Vec<u8>,
    /// Bytes of the rest that were read.
    read: usize,
}

impl Watch {
    /// Returns the object of the next event, or nothing when the server has ended the watch.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let unread = &self.rest[self.read..];
            if let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let mut event: Value = serde_json::from_slice(&unread[..end]).unwrap();
                self.read += end + 1;
                return Some(event["object"].take());
            }
            self.rest.drain(..self.read);
            self.read = 0;
            self.rest.extend_from_slice(&self.stream.chunk().await.ok()??);
        }
    }
}

/// Returns what was asked of kinds of the apps between two counts, the controllers' own reads left out.
pub(crate) fn between(before: &Requests, after: &Requests) -> Requests {
    const KINDS: [&str; 5] = ["configmaps", "deployments", "namespaces", "serviceaccounts", "services"];
    let grown = after.iter().map(|(key, number)| (key.clone(), number - before.get(key).copied().unwrap_or(0)));
    grown.filter(|((_, kind), number)| *number > 0 && KINDS.contains(&kind.as_str())).collect()
}
