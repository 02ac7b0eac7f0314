//! Runs a script against an API server and writes down the answers.
//!
//! Not here: what is hidden in the answers because it varies (`normal.rs`).

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt};
use http::Request;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::scripts_api::normal::{Answer, normal};
use crate::scripts_api::script::{self, Act, Script, Wish};

/// How long a step waits for what must come.
const STEP_DEADLINE: Duration = Duration::from_secs(20);
/// Largest answer.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

type Frames = Pin<Box<dyn Stream<Item = Result<axum::body::Bytes, axum::Error>> + Send>>;

struct Watch {
    frames: Frames,
    rest: Vec<u8>,
}

/// Plays one script.
pub(crate) struct Player {
    client: kube::Client,
    namespace: String,
    watches: BTreeMap<String, Watch>,
    /// Identity and version of the objects seen last, by name.
    known: BTreeMap<String, (String, String)>,
}

impl Player {
    /// Returns a player with a namespace of its own.
    pub(crate) fn new(client: kube::Client, name: &str) -> Self {
        let letters = "abcdefghijklmnopqrstuvwxyz".as_bytes();
        let suffix: String =
            std::iter::repeat_with(|| char::from(letters[rand::random_range(0..letters.len())])).take(6).collect();
        let short: String = name.chars().take(40).collect();
        let namespace = format!("{}-{suffix}", short.trim_end_matches('-'));
        Self { client, namespace, watches: BTreeMap::new(), known: BTreeMap::new() }
    }

    /// Plays a script and returns the answers as text.
    pub(crate) async fn play(mut self, script: &Script) -> String {
        let mut answers = Vec::new();
        for step in &script.steps {
            let answer = match &step.act {
                Act::Request(request) => self.request(request).await,
                Act::Watch { name, path, accept } => self.watch(name, path, accept.as_deref()).await,
                Act::Events { name, count } => self.events(name, *count).await,
                Act::Until { path, wish } => self.until(path, wish).await,
            };
            if !step.quiet {
                answers.push(Answer { line: step.line.clone(), text: answer.0, values: answer.1 });
            }
        }
        if script.steps.iter().any(|step| step.line.contains("$ns") || step.line == "POST /api/v1/namespaces") {
            // The namespace is of no use any more; on a real server it would stay.
            let path = format!("/api/v1/namespaces/{}", self.namespace);
            self.send("DELETE", &path, (&[], "")).await;
        }
        normal(&self.namespace, answers)
    }

    fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, (uid, version)) in &self.known {
            text = text.replace(&format!("${name}.uid"), uid).replace(&format!("${name}.rv"), version);
        }
        text.replace("$ns", &self.namespace)
    }

    fn learn(&mut self, value: &Value) {
        let text = |key: &str| value["metadata"][key].as_str().map(str::to_owned);
        if let (Some(name), Some(uid)) = (text("name"), text("uid")) {
            let name = name.replace(&self.namespace, "ns-own");
            self.known.insert(name, (uid, text("resourceVersion").unwrap_or_default()));
        }
    }

    async fn send(&self, method: &str, path: &str, what: (&[(String, String)], &str)) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(self.fill(path));
        let has = |name: &str| what.0.iter().any(|(key, _)| key == name);
        if !has("user-agent") {
            request = request.header("user-agent", "script/1");
        }
        if !has("content-type") && !what.1.is_empty() {
            request = request.header("content-type", "application/json");
        }
        for (key, value) in what.0 {
            request = request.header(key, value);
        }
        let request = request.body(Body::from(self.fill(what.1).into_bytes())).unwrap();
        let Ok(response) = timeout(STEP_DEADLINE, self.client.send(request)).await else {
            return (0, "no answer in time".to_owned());
        };
        let response = response.unwrap();
        let code = response.status().as_u16();
        let body = axum::body::to_bytes(axum::body::Body::new(response.into_body()), MAX_ANSWER_BYTES).await.unwrap();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn request(&mut self, request: &script::Request) -> (String, Vec<Value>) {
        let script::Request { method, path, headers, body, without } = request;
        let (code, body) = self.send(method, path, (headers, body)).await;
        match serde_json::from_str::<Value>(&body) {
            Ok(mut value) => {
                leave_out(&mut value, without);
                self.learn(&value);
                (code.to_string(), vec![value])
            }
            // A watch that ended by itself: one frame a line.
            Err(_) if body.starts_with("{\"type\"") => {
                let frames = body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                (code.to_string(), frames)
            }
            Err(_) => (format!("{code} {}", body.trim()), Vec::new()),
        }
    }

    async fn open(&self, path: &str, accept: Option<&str>) -> (u16, Watch) {
        let mut request = Request::builder().uri(self.fill(path)).header("user-agent", "script/1");
        if let Some(accept) = accept {
            request = request.header("accept", accept);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = timeout(STEP_DEADLINE, self.client.send(request)).await.expect("an answer in time").unwrap();
        let code = response.status().as_u16();
        let frames = axum::body::Body::new(response.into_body()).into_data_stream();
        (code, Watch { frames: Box::pin(frames), rest: Vec::new() })
    }

    async fn watch(&mut self, name: &str, path: &str, accept: Option<&str>) -> (String, Vec<Value>) {
        let (code, watch) = self.open(path, accept).await;
        self.watches.insert(name.to_owned(), watch);
        (code.to_string(), Vec::new())
    }

    async fn events(&mut self, name: &str, count: usize) -> (String, Vec<Value>) {
        let watch = self.watches.get_mut(name).expect("a watch of that name");
        let mut events = Vec::new();
        while events.len() < count {
            let waited = timeout(STEP_DEADLINE, watch.next()).await;
            let Ok(Some(event)) = waited else {
                return (format!("only {} events", events.len()), events);
            };
            let initial_end = !event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"].is_null();
            if event["type"] != "BOOKMARK" || initial_end {
                events.push(event);
            }
        }
        (String::new(), events)
    }

    async fn until(&mut self, path: &str, wish: &Wish) -> (String, Vec<Value>) {
        let (folder, name) = path.rsplit_once('/').unwrap();
        let watch_path = format!("{folder}?watch=true&fieldSelector=metadata.name%3D{name}&timeoutSeconds=60");
        // The watch begins with the object as it is, if it is there at all.
        let (code, body) = self.send("GET", path, (&[], "")).await;
        let mut last: Value = serde_json::from_str(&body).unwrap();
        let there = code == 200;
        if !there && matches!(wish, Wish::Gone) {
            return ("gone".to_owned(), Vec::new());
        }
        let watch_path = match (there, last["metadata"]["resourceVersion"].as_str()) {
            (true, Some(version)) => format!("{watch_path}&resourceVersion={version}"),
            _ => watch_path,
        };
        let (_, mut watch) = self.open(&watch_path, None).await;
        loop {
            if there_is(&last, wish) {
                self.learn(&last);
                return ("200".to_owned(), vec![last]);
            }
            let waited = timeout(STEP_DEADLINE, watch.next()).await;
            let Ok(Some(event)) = waited else { return ("waited in vain for it, last seen".to_owned(), vec![last]) };
            if event["type"] == "DELETED" && matches!(wish, Wish::Gone) {
                return ("gone".to_owned(), Vec::new());
            }
            last = event["object"].clone();
        }
    }
}

/// Removes entries by name from every list of an answer.
fn leave_out(value: &mut Value, names: &[String]) {
    let named = |item: &Value| {
        ["name", "groupVersion"]
            .iter()
            .filter_map(|key| item[key].as_str())
            .any(|name| names.iter().any(|it| it == name))
    };
    match value {
        Value::Object(map) => map.values_mut().for_each(|value| leave_out(value, names)),
        Value::Array(items) => {
            items.retain(|item| !named(item));
            items.iter_mut().for_each(|item| leave_out(item, names));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn there_is(object: &Value, wish: &Wish) -> bool {
    match wish {
        Wish::Gone => false,
        Wish::Values(values) => values.iter().all(|(pointer, expected)| match object.pointer(pointer) {
            Some(Value::String(text)) => text == expected,
            Some(value) => serde_json::from_str(expected).is_ok_and(|expected: Value| expected == *value),
            None => expected == "-",
        }),
    }
}

impl Watch {
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap_or_else(|_| json!(String::from_utf8_lossy(&line))));
            }
            self.rest.extend(self.frames.next().await?.ok()?);
        }
    }
}
