//! Jobs: pods until enough of them succeeded.
//!
//! Not here: when a pod succeeds (`pod.rs`).

use serde_json::{Map, Value, json};

use crate::sandbox::controllers::replica_set::{PODS, is_active, is_ready, pod_of};
use crate::sandbox::controllers::{controlled, create, is_deleting, number, set_condition, set_status, text};
use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store};
use crate::schema::kind;

const JOBS: Sort = Sort { group: "batch", plural: "jobs" };

/// Brings one Job a step further.
pub(super) fn reconcile(store: &mut Store, key: &Key) -> Result<(), Failure> {
    let (Some(own), Some(pod_kind)) = (kind("batch", "Job"), kind("", "Pod")) else { return Ok(()) };
    let Some(live) = store.get(JOBS, key).cloned() else { return Ok(()) };
    let finished = live.pointer("/status/completionTime").is_some();
    if is_deleting(&live) || finished {
        return Ok(());
    }
    let suspended = live.pointer("/spec/suspend") == Some(&json!(true));
    let pods = controlled(store, &live, PODS);
    let count = |phase: &str| pods.values().filter(|pod| text(pod, "/status/phase") == phase).count();
    let (succeeded, failed) = (to_number(count("Succeeded")), to_number(count("Failed")));
    let active = to_number(pods.values().filter(|pod| is_active(pod)).count());
    let ready = to_number(pods.values().filter(|pod| is_active(pod) && is_ready(pod)).count());
    // Without a number the first success is enough.
    let wanted = live.pointer("/spec/completions").and_then(Value::as_i64).unwrap_or(1);
    let missing = (wanted - succeeded).min(number(&live, "/spec/parallelism")) - active;
    if !suspended {
        for _ in 0..missing.max(0) {
            create(store, pod_kind, pod_of(&live, own, &json!({"generateName": format!("{}-", key.name)})))?;
        }
    }
    let now = store.now_text();
    let running = if suspended { 0 } else { active + missing.max(0) };
    set_status(store, own, key, |status| {
        set_numbers(status, [("active", running), ("succeeded", succeeded), ("failed", failed), ("ready", ready)]);
        status.insert("terminating".to_owned(), json!(0));
        status.insert("uncountedTerminatedPods".to_owned(), json!({}));
        if suspended {
            put_condition(status, "Suspended", ("JobSuspended", "Job suspended"), &now);
            return;
        }
        status.entry("startTime").or_insert_with(|| json!(now));
        if succeeded >= wanted {
            let why = ("CompletionsReached", "Reached expected number of succeeded pods");
            put_condition(status, "SuccessCriteriaMet", why, &now);
            put_condition(status, "Complete", why, &now);
            status.insert("completionTime".to_owned(), json!(now));
        }
    })
}

fn to_number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn set_numbers(status: &mut Map<String, Value>, numbers: [(&str, i64); 4]) {
    for (key, value) in numbers {
        status.insert(key.to_owned(), json!(value));
    }
}

fn put_condition(status: &mut Map<String, Value>, sort: &str, why: (&str, &str), now: &str) {
    let condition = json!({"type": sort, "status": "True", "lastProbeTime": now, "reason": why.0, "message": why.1});
    set_condition(status, super::map(condition), now);
}
