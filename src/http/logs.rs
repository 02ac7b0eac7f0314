//! Logs of the pods of an app: all at once in order of time, or line by line as they come.
//!
//! A pod is of an app if an object of the app owns it, however many controllers stand between. Values of secrets are masked. Not here:
//! reading one log (`target`).

mod follow;

use std::collections::BTreeMap;

use axum::extract::{Path, Query, State};
use futures::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answered, app_name, json as answer};
use super::apps;
use super::problem::Problem;
use super::{Host, instance};
use crate::base::there_are;
use crate::model::{AppName, Object, ObjectId, Secrets};
use crate::pipeline;
use crate::plan::marks;
use crate::target::{LogLines, LogRequest, Refusal, Target};

/// Lines of each container unless somebody says otherwise.
const TAIL_DEFAULT: u32 = 100;
/// Most lines of each container.
const TAIL_LIMIT: u32 = 10_000;
/// Most containers that are read at once.
const CONTAINERS_LIMIT: usize = 50;
/// Most lines of one answer.
const LINES_LIMIT: usize = 50_000;
/// Levels of ownership that are followed; ends a circle of references.
const MAX_LEVELS: usize = 8;

/// What is wanted.
#[derive(Clone, Deserialize, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Wanted {
    tail: u32,
    since_seconds: Option<u64>,
    pod: Option<String>,
    container: Option<String>,
    previous: bool,
    follow: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { tail: TAIL_DEFAULT, since_seconds: None, pod: None, container: None, previous: false, follow: false }
    }
}

/// `GET /apps/{app}/logs`: `{pod, containers, logs: [{timestamp, message, pod, container}], failed}`; with `follow` one such line after another, or
/// `{failed}` for a log that cannot be opened.
pub(super) async fn logs(
    State(daemon): Host,
    Path((name, app)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let app = app_name(&app)?;
    let state = apps::state(handle.instance(), &app).await?;
    let what = || format!("read the logs of {app}");
    let target = apps::cluster_of(handle.instance(), &app, &what()).await?;
    let refused = |refusal: Refusal| Problem::new(502, what(), refusal.message, format!("wild app status {app}"));
    let pods = pods_of(&app, &state.namespace, target.as_ref()).await.map_err(refused)?;
    let mut requests = requests(&pods, &state.namespace, &wanted);
    if requests.is_empty() {
        let because = match (&wanted.pod, &wanted.container) {
            (None, None) => format!("{app} has no pods now"),
            _ => format!("no pod of {app} fits; {}", there_are(&names(&pods))),
        };
        return Err(Problem::new(404, what(), because, format!("wild app tree {app}")));
    }
    let secrets = handle.instance().secrets.read().map_err(pipeline::Error::from)?;
    let more = requests.split_off(requests.len().min(CONTAINERS_LIMIT)).len();
    let (opened, mut failed) = open(requests, target.as_ref()).await;
    if more > 0 {
        failed.push(format!("{more} more containers are not read; choose with --pod or --container"));
    }
    if let (true, Some(why)) = (opened.is_empty(), failed.first()) {
        return Err(Problem::new(502, what(), why.clone(), format!("wild app tree {app}")));
    }
    if !wanted.follow {
        return Ok(gather(opened, &secrets, failed).await);
    }
    let secrets_file = handle.instance().secrets.clone();
    let (namespace, every) = (state.namespace.clone(), follow::LOOK_EVERY);
    let followed = follow::Follow { app, namespace, wanted, target, secrets: secrets_file, every };
    Ok(follow::follow(followed, (&pods, opened), failed, secrets))
}

/// Returns the pods that belong to an app.
async fn pods_of(app: &AppName, namespace: &str, target: &dyn Target) -> Result<Vec<Object>, Refusal> {
    let mut known: BTreeMap<String, bool> = BTreeMap::new();
    let mut found = Vec::new();
    for pod in target.pods(namespace).await? {
        if is_of(app, &pod, target, &mut known).await? {
            found.push(pod);
        }
    }
    found.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(found)
}

/// Returns whether an object or one that owns it carries the mark of an app. Each owner is asked about once.
pub(super) async fn is_of(
    app: &AppName,
    pod: &Object,
    target: &dyn Target,
    known: &mut BTreeMap<String, bool>,
) -> Result<bool, Refusal> {
    let mut object = pod.clone();
    let mut passed = Vec::new();
    let mut is_ours = false;
    for _ in 0..MAX_LEVELS {
        if object.label(marks::APP) == Some(app.as_str()) {
            is_ours = true;
            break;
        }
        let Some((id, api_version, uid)) = owner(&object) else { break };
        if let Some(answer) = known.get(&uid) {
            is_ours = *answer;
            break;
        }
        passed.push(uid);
        match target.metadata(&id, &api_version).await? {
            Some(found) => object = found,
            None => break,
        }
    }
    known.extend(passed.into_iter().map(|uid| (uid, is_ours)));
    Ok(is_ours)
}

/// Returns the controller that owns an object.
fn owner(object: &Object) -> Option<(ObjectId, String, String)> {
    let owners = object.at(&["metadata", "ownerReferences"])?.as_array()?;
    let owner = owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true))).or(owners.first())?;
    let text = |key: &str| owner.get(key)?.as_str().map(str::to_owned);
    let api_version = text("apiVersion")?;
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Some((ObjectId::new(group, &text("kind")?, object.namespace(), &text("name")?), api_version.clone(), text("uid")?))
}

/// Returns the containers to read, those that ran before the others first.
fn requests(pods: &[Object], namespace: &str, wanted: &Wanted) -> Vec<LogRequest> {
    let fits = |asked: &Option<String>, name: &str| asked.as_ref().is_none_or(|asked| asked == name);
    let mut requests = Vec::new();
    for pod in pods.iter().filter(|pod| fits(&wanted.pod, pod.name())) {
        let containers = ["initContainers", "containers"]
            .iter()
            .filter_map(|key| pod.at(&["spec", key])?.as_array())
            .flatten()
            .filter_map(|container| container.get("name")?.as_str())
            .filter(|name| fits(&wanted.container, name));
        requests.extend(containers.map(|container| LogRequest {
            namespace: namespace.to_owned(),
            pod: pod.name().to_owned(),
            container: container.to_owned(),
            tail: wanted.tail.min(TAIL_LIMIT),
            since_seconds: wanted.since_seconds,
            previous: wanted.previous,
            follow: wanted.follow,
        }));
    }
    requests
}

fn names(pods: &[Object]) -> Vec<&str> {
    pods.iter().map(Object::name).collect()
}

/// A log that is open.
type Opened = (LogRequest, LogLines);

/// Opens logs; one that cannot be read, such as that of a container that has not begun, keeps none of the others back.
async fn open(requests: Vec<LogRequest>, target: &dyn Target) -> (Vec<Opened>, Vec<String>) {
    let (mut opened, mut failed) = (Vec::new(), Vec::new());
    for request in requests {
        match target.log(&request).await {
            Ok(lines) => opened.push((request, lines)),
            Err(refusal) => failed.push(refusal.message),
        }
    }
    (opened, failed)
}

/// Returns a line as it is shown: the time stands in front of it.
fn shown(request: &LogRequest, line: &str, secrets: &Secrets) -> Value {
    let (timestamp, message) = line.split_once(' ').unwrap_or((line, ""));
    json!({"timestamp": timestamp, "message": secrets.mask(message), "pod": request.pod, "container": request.container})
}

/// Reads logs to their ends and puts their lines in order of time.
async fn gather(opened: Vec<Opened>, secrets: &Secrets, mut failed: Vec<String>) -> axum::response::Response {
    let pod = opened.first().map(|(request, _)| request.pod.clone()).unwrap_or_default();
    let containers: Vec<Value> =
        opened.iter().map(|(request, _)| json!({"pod": request.pod, "container": request.container})).collect();
    let mut lines: Vec<Value> = Vec::new();
    let mut dropped: usize = 0;
    for (request, mut log) in opened {
        // What is not shown is read as well, so that it can be said how much that is; each log has a bound of its own.
        while let Some(line) = log.next().await {
            match lines.len() < LINES_LIMIT {
                true => lines.push(shown(&request, &line, secrets)),
                false => dropped = dropped.saturating_add(1),
            }
        }
    }
    if dropped > 0 {
        failed.push(format!(
            "{dropped} lines beyond the first {LINES_LIMIT} are not shown; choose with --pod, --container, --since or --tail"
        ));
    }
    let time = |line: &Value| line.get("timestamp").and_then(Value::as_str).map(str::to_owned);
    lines.sort_by_cached_key(time);
    answer(&json!({"pod": pod, "containers": containers, "logs": lines, "failed": failed}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SecretValue;
    use crate::target::scripted::Scripted;

    fn object(kind: &str, name: &str, owner: &str, app: Option<&str>) -> Object {
        let labels = app.map_or(json!({}), |app| json!({"rewild.dev/app": app}));
        let owners: Vec<Value> = owner
            .split_once('/')
            .map(|(kind, name)| json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": owner, "controller": true}))
            .into_iter()
            .collect();
        let containers = json!([{"name": "web"}, {"name": "side"}]);
        Object::from_value(json!({"apiVersion": "apps/v1", "kind": kind,
            "metadata": {"name": name, "namespace": "blog", "labels": labels, "ownerReferences": owners},
            "spec": {"initContainers": [{"name": "setup"}], "containers": containers}}))
        .unwrap()
    }

    fn target() -> Scripted {
        let owners = [
            object("Deployment", "web", "", Some("blog")),
            object("ReplicaSet", "web-1", "Deployment/web", None),
            object("StatefulSet", "other", "", Some("shop")),
            object("Knot", "knot", "Knot/knot", None),
        ];
        Scripted {
            pods: vec![
                object("Pod", "web-1-b", "ReplicaSet/web-1", None),
                object("Pod", "web-1-a", "ReplicaSet/web-1", None),
                object("Pod", "other-0", "StatefulSet/other", None),
                object("Pod", "knot-0", "Knot/knot", None),
                object("Pod", "stray", "", None),
            ],
            objects: owners.into_iter().map(|owner| (owner.id(), Ok(owner))).collect(),
            logs: [("web-1-a/web", ["2 b the-password", "4 d"]), ("web-1-b/web", ["1 a", "3 c"])]
                .map(|(key, lines)| (key.to_owned(), lines.map(str::to_owned).to_vec()))
                .into(),
            ..Scripted::default()
        }
    }

    #[tokio::test]
    async fn a_pod_is_of_the_app_that_owns_it_however_far() {
        let app = AppName::parse("blog").unwrap();
        let pods = pods_of(&app, "blog", &target()).await.unwrap();
        assert_eq!(names(&pods), ["web-1-a", "web-1-b"]);
        let read = |wanted: Wanted| {
            let requests = requests(&pods, "blog", &wanted);
            requests.into_iter().map(|it| format!("{}/{} {}", it.pod, it.container, it.tail)).collect::<Vec<_>>()
        };
        assert_eq!(read(Wanted::default()).len(), 6);
        let one = Wanted { pod: Some("web-1-b".into()), tail: 90_000, ..Wanted::default() };
        assert_eq!(read(one), ["web-1-b/setup 10000", "web-1-b/web 10000", "web-1-b/side 10000"]);
        let side = Wanted { container: Some("side".into()), ..Wanted::default() };
        assert_eq!(read(side), ["web-1-a/side 100", "web-1-b/side 100"]);
    }

    #[tokio::test]
    async fn lines_of_all_pods_stand_in_order_of_time_without_secrets() {
        let mut secrets = Secrets::new();
        secrets.insert("apps.blog.password", SecretValue::new("the-password".into()));
        secrets.insert("apps.blog.port", SecretValue::new("a".into()));
        let app = AppName::parse("blog").unwrap();
        let target = target();
        let pods = pods_of(&app, "blog", &target).await.unwrap();
        let (opened, failed) = open(requests(&pods, "blog", &Wanted::default()), &target).await;
        assert_eq!((opened.len(), failed.len()), (6, 0));
        let body = gather(opened, &secrets, failed).await.into_body();
        let body: Value = serde_json::from_slice(&axum::body::to_bytes(body, 10_000).await.unwrap()).unwrap();
        let messages: Vec<&str> =
            body["logs"].as_array().unwrap().iter().map(|line| line["message"].as_str().unwrap()).collect();
        assert_eq!(messages, ["a", "b (hidden)", "c", "d"]);
        assert_eq!((&body["pod"], &body["logs"][1]["container"]), (&json!("web-1-a"), &json!("web")));
        assert_eq!(body["failed"], json!([]));
    }

    #[tokio::test]
    async fn lines_beyond_the_limit_are_counted() {
        let request = LogRequest {
            namespace: "blog".into(),
            pod: "a".into(),
            container: "web".into(),
            tail: TAIL_LIMIT,
            since_seconds: None,
            previous: false,
            follow: false,
        };
        let lines = (0..LINES_LIMIT + 2).map(|line| format!("{line:06} x"));
        let opened = vec![(request, futures::stream::iter(lines).boxed())];
        let body = gather(opened, &Secrets::new(), Vec::new()).await.into_body();
        let body: Value = serde_json::from_slice(&axum::body::to_bytes(body, 100_000_000).await.unwrap()).unwrap();
        assert_eq!(body["logs"].as_array().unwrap().len(), LINES_LIMIT);
        let said = body["failed"][0].as_str().unwrap();
        assert!(said.starts_with("2 lines beyond the first 50000 are not shown"), "{said}");
    }
}
