//! Deploys what a package gives onto an empty cluster of this process, and says what keeps it from running there.
//!
//! World: a port on loopback. The cluster lives for one test of a package. Not here: what a test says (`test.rs`), the
//! cluster itself (`sandbox`).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::base::chain;
use crate::health::{HealthState, assess};
use crate::model::Object;
use crate::sandbox::{self, Sandbox};
use crate::schema::{self, Scope};

/// Time for one request; the cluster is in this process.
const CALL_DEADLINE: Duration = Duration::from_secs(10);
/// Time for all workloads to become healthy; no image is pulled, so what takes longer never ends.
const READY_DEADLINE: Duration = Duration::from_secs(20);
/// Time between two looks at workloads.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Kinds that the cluster runs.
const RUN: [&str; 5] = ["Deployment", "StatefulSet", "DaemonSet", "Job", "PersistentVolumeClaim"];

/// How a deployment ended.
#[derive(Debug, Default)]
pub(super) struct Deployed {
    /// What the cluster refused, and what did not become healthy.
    pub(super) objections: Vec<String>,
    /// Objects of kinds that the cluster does not have.
    pub(super) left_out: Vec<String>,
}

/// Deploys objects in their order.
pub(super) async fn deploy(objects: &[Object]) -> Result<Deployed, String> {
    let sandbox = Sandbox::start(sandbox::Settings::default()).await.map_err(|error| chain(&error))?;
    // Any provider will do: nothing is encrypted on loopback, and a client is not made without one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().timeout(CALL_DEADLINE).no_proxy().build().map_err(|error| chain(&error))?;
    let cluster = Cluster { http, url: sandbox.url().to_owned() };
    let deployed = cluster.deploy(objects).await;
    sandbox.stop().await;
    deployed
}

struct Cluster {
    http: reqwest::Client,
    url: String,
}

impl Cluster {
    async fn deploy(&self, objects: &[Object]) -> Result<Deployed, String> {
        let mut deployed = Deployed::default();
        let own: BTreeSet<&str> = objects.iter().filter(|it| it.kind() == "Namespace").map(Object::name).collect();
        let named: BTreeSet<&str> = objects.iter().map(Object::namespace).filter(|it| !it.is_empty()).collect();
        for name in named.difference(&own) {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            self.apply(&format!("/api/v1/namespaces/{name}"), &namespace).await?;
        }
        let mut running = Vec::new();
        for object in objects {
            let name = object.id().short();
            let Some(path) = path(object) else {
                deployed.left_out.push(name);
                continue;
            };
            match self.apply(&path, &object.to_value()).await? {
                Some(refusal) => deployed.objections.push(format!("{name} is refused: {refusal}")),
                None if RUN.contains(&object.kind()) => running.push((name, path)),
                None => {}
            }
        }
        deployed.objections.extend(self.unhealthy(&running).await?);
        Ok(deployed)
    }

    /// Applies an object; returns why the cluster refuses it.
    async fn apply(&self, path: &str, object: &Value) -> Result<Option<String>, String> {
        let request = self
            .http
            .patch(format!("{}{path}?fieldManager=wild&force=true", self.url))
            .header("Content-Type", "application/apply-patch+yaml")
            .body(object.to_string());
        let answer = request.send().await.map_err(|error| chain(&error))?;
        if answer.status().is_success() {
            return Ok(None);
        }
        let status = answer.status().as_u16();
        let body: Value = answer.json().await.unwrap_or_default();
        let message = body.get("message").and_then(Value::as_str);
        Ok(Some(message.map_or_else(|| format!("status {status}"), str::to_owned)))
    }

    /// Waits for workloads and returns those that do not become healthy.
    async fn unhealthy(&self, running: &[(String, String)]) -> Result<Vec<String>, String> {
        let end = Instant::now() + READY_DEADLINE;
        let mut ticks = tokio::time::interval(LOOK_INTERVAL);
        loop {
            ticks.tick().await;
            let mut unhealthy = Vec::new();
            for (name, path) in running {
                let answer =
                    self.http.get(format!("{}{path}", self.url)).send().await.map_err(|error| chain(&error))?;
                let live: Value = answer.json().await.map_err(|error| chain(&error))?;
                let health = assess(&Object::from_value(live).unwrap_or_default(), &[]);
                if !matches!(health.state, HealthState::Healthy | HealthState::Suspended) {
                    unhealthy.push(format!("{name} is {}: {}", health.state.word(), health.reason));
                }
            }
            if unhealthy.is_empty() || Instant::now() >= end {
                return Ok(unhealthy);
            }
        }
    }
}

/// Returns the path of an object in the API, or nothing for kinds that Kubernetes itself does not have.
fn path(object: &Object) -> Option<String> {
    let kind = schema::kind(object.group(), object.kind())?;
    let root = match object.group() {
        "" => format!("/api/{}", object.version()),
        group => format!("/apis/{group}/{}", object.version()),
    };
    let namespace = if object.namespace().is_empty() { "default" } else { object.namespace() };
    let (plural, name) = (kind.plural, object.name());
    Some(match kind.scope {
        Scope::Namespaced => format!("{root}/namespaces/{namespace}/{plural}/{name}"),
        Scope::Cluster | Scope::Unknown => format!("{root}/{plural}/{name}"),
    })
}
