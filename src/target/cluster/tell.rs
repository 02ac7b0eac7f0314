//! Events in the cluster: made by their first write, a series by the next ones.
//!
//! They are about the Namespace, which lies in none, so the API wants them in `default`. Nothing is concluded from what becomes of them, and
//! they take no turn of an object's write. Not here: what is said and how often (`broadcast`).

use http::Method;
use serde_json::{Value, json};

use super::Inner;
use super::call::{Call, Form, GET_DEADLINE};
use crate::base::Timestamp;
use crate::model::{Object, ObjectId};
use crate::target::address::segment;
use crate::target::{Note, Quoting, Refusal, RefusalKind};

/// Where Events about Namespaces lie.
const PATH: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
/// What stands in the way of an Event is tried to be overcome so often.
const ROUNDS: usize = 2;
/// Events of a namespace that are listed.
const EVENTS_LIMIT: usize = 500;

impl Inner {
    /// Writes an Event or counts it up.
    pub(super) async fn tell(&self, note: &Note) -> Result<(), Refusal> {
        let mut count = note.count;
        let mut answer = Ok(());
        for _ in 0..ROUNDS {
            answer = match count {
                0 | 1 => self.make_event(note).await,
                _ => self.count_event(note, count).await,
            };
            count = match &answer {
                // An earlier process made it.
                Err(refusal) if refusal.kind == RefusalKind::Changed => {
                    self.counted_event(note).await?.saturating_add(1)
                }
                // The cluster forgets Events after a while.
                Err(refusal) if refusal.kind == RefusalKind::NotFound && count > 1 => 1,
                _ => break,
            };
        }
        answer
    }

    /// Lists the Events in a namespace.
    pub(super) async fn told(&self, namespace: &str) -> Result<Vec<Object>, Refusal> {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events?limit={EVENTS_LIMIT}", segment(namespace));
        let (_, list) = self.call(Call::get(format!("list Events in {namespace}"), path, GET_DEADLINE)).await?;
        let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
        Ok(items.filter_map(|item| Object::from_value(item.clone())).collect())
    }

    async fn make_event(&self, note: &Note) -> Result<(), Refusal> {
        let Note { name, instance, namespace, reason, is_warning, text, last, .. } = note;
        let mut regarding = json!({"apiVersion": "v1", "kind": "Namespace", "name": namespace});
        let live = self.cache().live(&ObjectId::new("", "Namespace", "", namespace));
        if let (Some(live), Some(fields)) = (live, regarding.as_object_mut()) {
            fields.insert("uid".to_owned(), Value::from(live.uid));
        }
        let labels = json!({"app.kubernetes.io/managed-by": "wild"});
        let body = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "eventTime": precise(*last),
            "reportingController": "wild",
            "reportingInstance": format!("wild-{instance}"),
            "action": action(reason),
            "reason": reason,
            "type": if *is_warning { "Warning" } else { "Normal" },
            "note": text,
            "regarding": regarding,
        });
        let path = format!("{PATH}?fieldManager=wild");
        self.send_event(note, (Method::POST, path), Some((&body, "application/json"))).await.map(|_| ())
    }

    async fn count_event(&self, note: &Note, count: u32) -> Result<(), Refusal> {
        let body = json!({"series": {"count": count, "lastObservedTime": precise(note.last)}});
        let path = format!("{PATH}/{}?fieldManager=wild", note.name);
        let body = Some((&body, "application/merge-patch+json"));
        self.send_event(note, (Method::PATCH, path), body).await.map(|_| ())
    }

    /// Returns how often an Event that is there was seen.
    async fn counted_event(&self, note: &Note) -> Result<u32, Refusal> {
        let path = format!("{PATH}/{}", note.name);
        let event = self.send_event(note, (Method::GET, path), None).await?;
        let count = event.pointer("/series/count").and_then(Value::as_u64).unwrap_or(1);
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    async fn send_event(
        &self,
        note: &Note,
        (method, path): (Method, String),
        body: Option<(&Value, &'static str)>,
    ) -> Result<Value, Refusal> {
        let call = Call {
            attempt: format!("write the Event {} about namespace {}", note.reason, note.namespace),
            method,
            path,
            body,
            user: None,
            form: Form::Full,
            quoting: Quoting::Allowed,
            deadline: GET_DEADLINE,
        };
        self.aside(call).await.map(|(_, value)| value)
    }
}

/// Returns what was done that has a reason.
fn action(reason: &str) -> &'static str {
    match reason {
        "DriftDetected" | "DriftCorrected" => "Compare",
        "NamespaceStuck" => "Delete",
        _ => "Deploy",
    }
}

/// Returns a time with all six digits, which the API insists on.
fn precise(time: Timestamp) -> String {
    let text = time.to_string();
    let (seconds, rest) = text.trim_end_matches('Z').split_once('.').unwrap_or((text.trim_end_matches('Z'), ""));
    format!("{seconds}.{rest:0<6}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_six_digits() {
        for (micros, expected) in [
            (1_763_726_400_000_000, "2025-11-21T12:00:00.000000Z"),
            (1_763_726_400_120_000, "2025-11-21T12:00:00.120000Z"),
            (1_763_726_400_000_001, "2025-11-21T12:00:00.000001Z"),
        ] {
            assert_eq!(precise(Timestamp(micros)), expected);
        }
    }
}
