//! Logs as they come: those of the pods that are there, and of pods and containers that begin while somebody looks.
//!
//! The pods are listed again and again, which finds also what no watch of ours shows. A log that cannot be opened is told once. It ends when
//! no pod of the app is left that may say more, or when nobody listens. Not here: which pods are of an app (`logs.rs`).

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use futures::stream::{self, BoxStream, SelectAll};
use futures::{Stream, StreamExt};
use serde_json::{Value, json};
use tokio::time::{Interval, MissedTickBehavior};

use super::{CONTAINERS_LIMIT, Opened, TAIL_LIMIT, Wanted, pods_of, requests, shown};
use crate::model::{AppName, Object, Secrets};
use crate::settings::SecretsFile;
use crate::target::{LogRequest, Target};

/// How often it is looked for pods that are new.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Looks without an open log and without a pod that may say more before it ends: a pod that is replaced is gone for a moment.
const IDLE_LOOKS: u32 = 3;
/// Containers and troubles that are remembered; what is beyond is told again at worst.
const REMEMBERED_LIMIT: usize = 10_000;

/// What is followed.
pub(super) struct Follow {
    pub(super) app: AppName,
    pub(super) namespace: String,
    pub(super) wanted: Wanted,
    pub(super) target: Arc<dyn Target>,
    pub(super) secrets: SecretsFile,
    /// How often it is looked for pods that are new.
    pub(super) every: Duration,
}

/// Passes lines on as they come, beginning with logs that are open and what is to be told about others.
pub(super) fn follow(
    follow: Follow,
    (pods, opened): (&[Object], Vec<Opened>),
    failed: Vec<String>,
    hidden: Arc<Secrets>,
) -> axum::response::Response {
    let lines = Follower::new(follow, (pods, opened), failed, hidden).lines();
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"))];
    let lines = lines.map(|line| Ok::<_, std::convert::Infallible>(format!("{line}\n")));
    (StatusCode::OK, kind, Body::from_stream(lines)).into_response()
}

struct Follower {
    follow: Follow,
    hidden: Arc<Secrets>,
    open: SelectAll<BoxStream<'static, (LogRequest, String)>>,
    /// The runs of containers whose logs were opened.
    begun: BTreeSet<String>,
    told: BTreeSet<String>,
    ready: VecDeque<Value>,
    tick: Interval,
    idle: u32,
}

impl Follower {
    fn new(
        follow: Follow,
        (pods, opened): (&[Object], Vec<Opened>),
        failed: Vec<String>,
        hidden: Arc<Secrets>,
    ) -> Self {
        let mut tick = tokio::time::interval(follow.every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick is at once, and the pods were just listed.
        tick.reset();
        let mut follower = Self {
            follow,
            hidden,
            open: SelectAll::new(),
            begun: BTreeSet::new(),
            told: BTreeSet::new(),
            ready: VecDeque::new(),
            tick,
            idle: 0,
        };
        for why in failed {
            follower.tell(why);
        }
        for (request, lines) in opened {
            let run = pods.iter().find(|pod| pod.name() == request.pod).map(|pod| run_of(pod, &request.container));
            follower.begun.extend(run);
            follower.begin((request, lines));
        }
        follower
    }

    fn lines(self) -> impl Stream<Item = Value> {
        stream::unfold(self, |mut follower| async move { follower.next().await.map(|line| (line, follower)) })
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            if self.idle >= IDLE_LOOKS {
                return None;
            }
            tokio::select! {
                Some((request, line)) = self.open.next(), if !self.open.is_empty() => {
                    return Some(shown(&request, &line, &self.hidden));
                }
                _ = self.tick.tick() => self.look().await,
            }
        }
    }

    fn begin(&mut self, (request, lines): Opened) {
        self.open.push(lines.map(move |line| (request.clone(), line)).boxed());
    }

    /// Says something that is no line of a log, once.
    fn tell(&mut self, why: String) {
        if self.told.len() < REMEMBERED_LIMIT && self.told.insert(why.clone()) {
            self.ready.push_back(json!({"failed": why}));
        }
    }

    /// Opens the logs of containers that began since the last look.
    async fn look(&mut self) {
        if let Ok(hidden) = self.follow.secrets.read() {
            self.hidden = hidden;
        }
        let Follow { app, namespace, wanted, target, .. } = &self.follow;
        let (target, wanted) = (Arc::clone(target), Wanted { tail: TAIL_LIMIT, since_seconds: None, ..wanted.clone() });
        let pods = match pods_of(app, namespace, target.as_ref()).await {
            Ok(pods) => pods,
            // It is tried again; that a server is away for a while ends no log.
            Err(refusal) => return self.tell(refusal.message),
        };
        let is_idle = self.open.is_empty() && !pods.iter().any(may_say_more);
        self.idle = if is_idle { self.idle.saturating_add(1) } else { 0 };
        for request in requests(&pods, &self.follow.namespace, &wanted) {
            let Some(pod) = pods.iter().find(|pod| pod.name() == request.pod) else { continue };
            let run = run_of(pod, &request.container);
            if self.begun.contains(&run) || !has_begun(pod, &request.container) {
                continue;
            }
            if self.open.len() >= CONTAINERS_LIMIT {
                self.tell("there are more containers than are followed; choose with --pod or --container".to_owned());
                break;
            }
            match target.log(&request).await {
                Ok(lines) => {
                    if self.begun.len() >= REMEMBERED_LIMIT {
                        self.begun.clear();
                    }
                    self.begun.insert(run);
                    self.begin((request, lines));
                }
                Err(refusal) => self.tell(refusal.message),
            }
        }
    }
}

/// Returns what tells one run of a container from the next.
fn run_of(pod: &Object, container: &str) -> String {
    let uid = pod.at(&["metadata", "uid"]).and_then(Value::as_str).unwrap_or("");
    let restarts = status_of(pod, container).and_then(|status| status.get("restartCount")?.as_u64()).unwrap_or(0);
    format!("{uid} {} {container} {restarts}", pod.name())
}

/// Returns whether a container has something to say: one that waits has not, and a pod that says nothing of it is asked.
fn has_begun(pod: &Object, container: &str) -> bool {
    status_of(pod, container).and_then(|status| status.pointer("/state/waiting")).is_none()
}

fn status_of<'a>(pod: &'a Object, container: &str) -> Option<&'a Value> {
    let lists = ["containerStatuses", "initContainerStatuses"];
    let statuses = lists.iter().filter_map(|key| pod.at(&["status", key])?.as_array()).flatten();
    statuses.into_iter().find(|status| status.get("name").and_then(Value::as_str) == Some(container))
}

/// Returns whether a container of a pod has still to begin, or to begin again. One that runs and whose log has ended says no more.
fn may_say_more(pod: &Object) -> bool {
    let lists = ["containerStatuses", "initContainerStatuses"];
    let mut statuses = lists.iter().filter_map(|key| pod.at(&["status", key])?.as_array()).flatten();
    let is_new = !matches!(
        pod.at(&["status", "phase"]).and_then(Value::as_str),
        Some("Running" | "Succeeded" | "Failed" | "Unknown")
    );
    is_new || statuses.any(|status| status.pointer("/state/waiting").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::logs::open;
    use crate::target::scripted::Scripted;

    fn pod(name: &str, restarts: u64, state: &str, phase: &str) -> Object {
        let status = json!({"phase": phase, "containerStatuses": [{"name": "web", "restartCount": restarts, "state": {state: {}}}]});
        Object::from_value(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "blog", "uid": name, "labels": {"rewild.dev/app": "blog"}},
            "spec": {"containers": [{"name": "web"}]}, "status": status}))
        .unwrap()
    }

    /// Follows pods that are listed so, one list after the other, and returns what is said, sorted.
    async fn said(lists: Vec<Vec<Object>>) -> Vec<String> {
        let log = |name: &str| (format!("{name}/web"), vec![format!("1 from {name}")]);
        let target = Scripted {
            logs: [log("a"), log("b")].into(),
            no_log: vec!["c/web".to_owned()],
            lists: std::sync::Mutex::new(lists.into()),
            ..Scripted::default()
        };
        let directory = tempfile::tempdir().unwrap();
        let app = AppName::parse("blog").unwrap();
        let wanted = Wanted { follow: true, ..Wanted::default() };
        let pods = pods_of(&app, "blog", &target).await.unwrap();
        let (opened, failed) = open(requests(&pods, "blog", &wanted), &target).await;
        let follow = Follow {
            app,
            namespace: "blog".to_owned(),
            wanted,
            target: Arc::new(target),
            secrets: SecretsFile::new(directory.path().join("secrets.yaml")),
            every: Duration::from_millis(1),
        };
        let lines = Follower::new(follow, (&pods, opened), failed, Arc::default()).lines();
        let text = |line: &Value, key: &str| line[key].as_str().unwrap_or("").to_owned();
        let lines = lines.map(|line| text(&line, "failed") + &text(&line, "message"));
        let mut said: Vec<String> = lines.collect().await;
        said.sort();
        said
    }

    #[tokio::test]
    async fn pods_that_appear_are_followed_and_each_run_of_a_container_is_read_once() {
        let a = |restarts| pod("a", restarts, "running", "Running");
        let b = |state| pod("b", 0, state, "Running");
        let lists =
            vec![vec![a(0)], vec![a(0), b("waiting")], vec![a(0), b("running")], vec![a(1), b("running")], vec![]];
        assert_eq!(said(lists).await, ["from a", "from a", "from b"]);
    }

    #[tokio::test]
    async fn a_log_that_cannot_be_opened_is_told_once() {
        let pods = || vec![pod("a", 0, "running", "Running"), pod("c", 0, "running", "Running")];
        assert_eq!(said(vec![pods(), pods(), pods(), vec![]]).await, ["from a", "no log of c/web"]);
    }
}
