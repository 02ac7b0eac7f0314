//! The last lines of what hooks said that ended badly: a person who reads that a hook failed wants to know why.
//!
//! What cannot be read, such as the log of a pod that is gone, is left out: that a hook failed is known without it. Not here: all logs of an
//! app (`http::logs`).

use futures::StreamExt;
use serde_json::Value;

use crate::model::{Object, Secrets};
use crate::plan::{Snapshot, hook};
use crate::target::{LogRequest, Target};

/// Lines that are kept of a hook.
const LINES: usize = 20;
/// Longest line; the rest is cut off.
const MAX_CHARS: usize = 500;
/// Hooks that are asked.
const MAX_HOOKS: usize = 3;
/// Containers of a pod that are asked.
const MAX_CONTAINERS: usize = 5;

/// Reads what failed hooks said.
pub(super) async fn fill(snapshot: &mut Snapshot, secrets: &Secrets, target: &dyn Target) {
    let failed = hook::failures(snapshot);
    if failed.is_empty() {
        return;
    }
    let Ok(pods) = target.pods(&snapshot.namespace).await else { return };
    for (id, uid) in failed.into_iter().take(MAX_HOOKS) {
        let own = pods.iter().filter(|pod| is_of(pod, &uid));
        // A Job that tries again has a pod for each try; the last one tells.
        let Some(pod) = own.max_by_key(|pod| text(pod, &["metadata", "creationTimestamp"]).to_owned()) else {
            continue;
        };
        let lines = lines(pod, secrets, target).await;
        if !lines.is_empty() {
            snapshot.said.insert(id, lines);
        }
    }
}

fn is_of(pod: &Object, uid: &str) -> bool {
    let owners = pod.at(&["metadata", "ownerReferences"]).and_then(Value::as_array);
    owners.into_iter().flatten().any(|owner| owner.get("uid").and_then(Value::as_str) == Some(uid))
}

/// Returns the last lines of a pod, in order of time if several of its containers failed.
async fn lines(pod: &Object, secrets: &Secrets, target: &dyn Target) -> Vec<String> {
    let mut lines = Vec::new();
    for container in containers(pod).into_iter().take(MAX_CONTAINERS) {
        let request = LogRequest {
            namespace: pod.namespace().to_owned(),
            pod: pod.name().to_owned(),
            container,
            tail: u32::try_from(LINES).unwrap_or(u32::MAX),
            since_seconds: None,
            previous: false,
            follow: false,
        };
        if let Ok(log) = target.log(&request).await {
            lines.extend(log.take(LINES).collect::<Vec<String>>().await);
        }
    }
    lines.sort_by(|a, b| time(a).cmp(time(b)));
    let first = lines.len().saturating_sub(LINES);
    lines.drain(..first);
    lines.iter().map(|line| secrets.mask(said(line)).chars().take(MAX_CHARS).collect()).collect()
}

/// Returns the containers that failed, or all where none says so.
fn containers(pod: &Object) -> Vec<String> {
    let named = |items: &[&str], key: &str| -> Vec<Value> {
        let lists = items.iter().filter_map(|item| pod.at(&[key, item])?.as_array());
        lists.flatten().cloned().collect()
    };
    let name = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
    let is_failed = |status: &&Value| {
        status.pointer("/state/terminated/exitCode").and_then(Value::as_i64).is_some_and(|code| code != 0)
    };
    let statuses = named(&["initContainerStatuses", "containerStatuses"], "status");
    let failed: Vec<String> = statuses.iter().filter(is_failed).filter_map(name).collect();
    if !failed.is_empty() {
        return failed;
    }
    named(&["initContainers", "containers"], "spec").iter().filter_map(name).collect()
}

fn time(line: &str) -> &str {
    line.split_once(' ').map_or(line, |(time, _)| time)
}

fn said(line: &str) -> &str {
    line.split_once(' ').map_or("", |(_, said)| said)
}

fn text<'a>(object: &'a Object, path: &[&str]) -> &'a str {
    object.at(path).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::SecretValue;
    use crate::target::scripted::Scripted;

    fn pod(name: &str, exit: i64) -> Object {
        Object::from_value(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "blog", "ownerReferences": [{"uid": "job-1"}]},
            "spec": {"containers": [{"name": "run"}, {"name": "side"}]},
            "status": {"containerStatuses": [
                {"name": "run", "state": {"terminated": {"exitCode": exit}}},
                {"name": "side", "state": {"terminated": {"exitCode": 0}}}]}}))
        .unwrap()
    }

    #[tokio::test]
    async fn the_last_lines_of_the_container_that_failed_are_read_without_secrets() {
        let mut secrets = Secrets::new();
        secrets.insert("apps.blog.password", SecretValue::new("the-password".into()));
        let log: Vec<String> =
            (0..30).map(|line| format!("2026-11-22T10:00:{line:02}Z line {line} the-password")).collect();
        let side = vec!["2026-11-22T11:00:00Z all is well".to_owned()];
        let target = Scripted { logs: [("a/run".into(), log), ("a/side".into(), side)].into(), ..Scripted::default() };
        let said = lines(&pod("a", 1), &secrets, &target).await;
        assert_eq!((said.len(), said[19].as_str()), (20, "line 19 (hidden)"));
        let both = lines(&pod("a", 0), &secrets, &target).await;
        assert_eq!((both.len(), both[19].as_str()), (20, "all is well"));
        assert!(is_of(&pod("a", 1), "job-1") && !is_of(&pod("a", 1), "job-2"));
    }
}
