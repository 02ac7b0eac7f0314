//! Tells in the cluster what became of apps: Events of `events.k8s.io/v1` about the app's Namespace, where the settings ask for them.
//!
//! Rows are read by a cursor that the store keeps, beside the passes: a receiver that hangs delays nobody. There is one series for each
//! namespace and reason, written once in five minutes at most; what cannot be written is logged once and left out.
//!
//! Not here: the requests (`target`), what is true (`plan`, `pipeline`).

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Bus, changed_or_never};
use crate::base::hash::Encoder;
use crate::base::{Timestamp, chain};
use crate::model::{AppName, AppState, ClusterName, Event, EventKind, InstanceId};
use crate::store::Error;
use crate::target::{Note, Reachability, Target};

/// The reason of an app whose namespace does not end, which is that of its Event as well.
const STUCK: &str = "NamespaceStuck";
/// Shortest time between two rounds.
const PAUSE: Duration = Duration::from_secs(1);
/// Shortest time between two writes of a series.
const SERIES_PAUSE: Duration = Duration::from_secs(5 * 60);
/// Series that are remembered; beyond that the one is forgotten that was written longest ago.
const SERIES_CAPACITY: usize = 1_000;
/// Rows that are read at once.
const BATCH: i64 = 100;
/// Longest text of an Event, in characters; the API takes 1,024 bytes.
const MAX_NOTE_CHARS: usize = 256;
/// Letters of a digest in the name of an Event.
const DIGEST_CHARS: usize = 10;
/// Name of the cursor: the position of the last row that was told.
const CURSOR: &str = "events.kubernetes";

/// What the sender needs of an instance. Implemented over the settings and clusters, which this module may not read.
pub trait Place: Send + Sync {
    /// Returns whether the settings want Events.
    fn is_wanted(&self) -> Pin<Box<dyn Future<Output = bool> + Send + '_>>;

    /// Returns a cluster.
    fn cluster(&self, name: &ClusterName) -> Option<Arc<dyn Target>>;

    /// Hides the values of secrets in a text; nothing if they could not be read.
    fn masked(&self, text: &str) -> Option<String>;
}

/// Sends until told to stop.
pub async fn send_kubernetes_events(bus: Bus, place: Box<dyn Place>, stop: CancellationToken) {
    let mut told = bus.told();
    let mut sender = Sender::default();
    loop {
        told.mark_unchanged();
        match sender.send_new(&bus, place.as_ref(), &stop).await {
            Ok(()) => {}
            Err(error) => tracing::error!(error = chain(&error), "what is to be told in the cluster was not read"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changed_or_never(&mut told) => if !changed { return },
        }
    }
}

/// What the sender remembers.
#[derive(Default)]
struct Sender {
    series: Series,
    is_failing: bool,
    /// Position of the newest row while the settings did not ask for Events.
    unasked: Option<i64>,
}

impl Sender {
    /// Tells what was told elsewhere since the last time; nothing of what came long before the settings asked for it.
    async fn send_new(&mut self, bus: &Bus, place: &dyn Place, stop: &CancellationToken) -> Result<(), Error> {
        let cursor = bus.store.cursor(&bus.instance, CURSOR).await?.unwrap_or_default();
        if !place.is_wanted().await {
            self.unasked = Some(bus.store.last_event().await?);
            if !cursor.is_empty() {
                bus.store.put_cursor(&bus.instance, CURSOR, "").await?;
            }
            return Ok(());
        }
        let mut position = match (cursor.parse::<i64>(), self.unasked) {
            (Ok(position), _) | (Err(_), Some(position)) => position,
            (Err(_), None) => bus.store.last_event().await?,
        };
        loop {
            let rows = bus.store.events_after(&bus.instance, position, BATCH).await?;
            let is_last = i64::try_from(rows.len()).unwrap_or(BATCH) < BATCH;
            let newest = rows.last().map(|(at, _)| *at);
            for (at, event) in rows {
                let sent = tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    sent = send(bus, place, &mut self.series, &event) => sent?,
                };
                position = at;
                // What was told is not told again by the next process.
                if !matches!(sent, Sent::Nothing) || newest == Some(at) {
                    bus.store.put_cursor(&bus.instance, CURSOR, &position.to_string()).await?;
                }
                self.note(bus, sent);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Logs what could not be told, unless that is so for a while.
    fn note(&mut self, bus: &Bus, sent: Sent) {
        match sent {
            Sent::Nothing => {}
            Sent::Done => self.is_failing = false,
            Sent::Failed(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::warn!(instance = %bus.instance, error, "an Event was not written in the cluster; further ones are left out in silence");
                }
            }
        }
    }
}

/// What came of an event.
enum Sent {
    /// The cluster is not told of such, or not so often.
    Nothing,
    Done,
    Failed(String),
}

/// Tells one event, if the cluster is told of such.
async fn send(bus: &Bus, place: &dyn Place, series: &mut Series, event: &Event) -> Result<Sent, Error> {
    let Some(app) = &event.app else { return Ok(Sent::Nothing) };
    let Some(state) = bus.store.app_state(&bus.instance, app).await? else { return Ok(Sent::Nothing) };
    let Some(said) = series.said(event, app, &state) else { return Ok(Sent::Nothing) };
    // A cluster that does not answer is known not to, and is not asked for this.
    let answers = |target: &Arc<dyn Target>| target.reachability() == Reachability::Reachable;
    let Some(target) = place.cluster(&state.cluster).filter(answers) else { return Ok(Sent::Nothing) };
    let Some(text) = place.masked(&said.text) else { return Ok(Sent::Nothing) };
    let said = Said { text: text.chars().take(MAX_NOTE_CHARS).collect(), ..said };
    let Some(note) = series.next(&bus.instance, &state, (said, event.time)) else { return Ok(Sent::Nothing) };
    Ok(match target.tell(&note).await {
        Ok(()) => Sent::Done,
        Err(refusal) => Sent::Failed(refusal.message),
    })
}

/// What is said of an app.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Said {
    reason: &'static str,
    is_warning: bool,
    text: String,
}

/// What was said, so that it is not said too often.
#[derive(Default)]
struct Series {
    /// By cluster, namespace and reason.
    written: BTreeMap<(ClusterName, String, &'static str), Written>,
    /// Apps of which a revision is applied that was not seen well yet.
    applied: BTreeSet<AppName>,
}

struct Written {
    name: String,
    last: Timestamp,
    count: u32,
}

impl Series {
    /// Returns what an event is for people who look at the cluster.
    fn said(&mut self, event: &Event, app: &AppName, state: &AppState) -> Option<Said> {
        let said = |reason, is_warning, text: &str| Some(Said { reason, is_warning, text: format!("{app}: {text}") });
        match event.kind {
            EventKind::Applied => {
                self.applied.insert(app.clone());
                let is_back = event.operation.as_ref().is_some_and(|id| id.0.starts_with("op_rollback_"));
                if is_back { said("RolledBack", false, "an earlier revision is applied again") } else { None }
            }
            EventKind::Healthy if self.applied.remove(app) => {
                said("DeploySucceeded", false, "every object is applied and healthy")
            }
            EventKind::Unhealthy if self.applied.remove(app) => said("DeployFailed", true, &event.detail),
            EventKind::Failed => said("DeployFailed", true, &event.detail),
            EventKind::DriftDetected => said("DriftDetected", true, &format!("not as in git: {}", event.detail)),
            EventKind::DriftCorrected => said("DriftCorrected", false, "the cluster is as git says again"),
            EventKind::Blocked if state.reason == STUCK => said(STUCK, true, &event.detail),
            EventKind::Healthy
            | EventKind::Unhealthy
            | EventKind::Blocked
            | EventKind::RevisionSeen
            | EventKind::Committed
            | EventKind::UpdateConflict
            | EventKind::UpdateAvailable
            | EventKind::Applying
            | EventKind::Superseded
            | EventKind::AuditMismatch
            | EventKind::Deleted
            | EventKind::Target => None,
        }
    }

    /// Returns what to write now; nothing if the series was written lately.
    fn next(&mut self, instance: &InstanceId, state: &AppState, (said, time): (Said, Timestamp)) -> Option<Note> {
        let Said { reason, is_warning, text } = said;
        let key = (state.cluster.clone(), state.namespace.clone(), reason);
        let mut digest = Encoder::new();
        digest.text(instance.as_str()).text(&state.namespace).text(reason).text(&text);
        let digest: String = digest.digest().to_hex().chars().take(DIGEST_CHARS).collect();
        let name = format!("{}.wild-{}-{digest}", state.namespace, reason.to_lowercase());
        let count = match self.written.get_mut(&key) {
            Some(written) if time.since(written.last) < SERIES_PAUSE => {
                written.count = written.count.saturating_add(1);
                return None;
            }
            Some(written) if written.name == name => written.count.saturating_add(1),
            // The text of an Event cannot be changed, so another one begins.
            Some(_) | None => 1,
        };
        if self.written.len() >= SERIES_CAPACITY && !self.written.contains_key(&key) {
            let oldest = self.written.iter().min_by_key(|(_, written)| written.last).map(|(key, _)| key.clone());
            oldest.map(|key| self.written.remove(&key));
        }
        self.written.insert(key, Written { name: name.clone(), last: time, count });
        let (instance, namespace) = (instance.clone(), state.namespace.clone());
        Some(Note { name, instance, namespace, reason, is_warning, text, last: time, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::OperationId;

    fn state(reason: &str) -> AppState {
        let state = serde_json::json!({
            "name": "blog", "package": "", "version": "", "available": "", "update": null, "namespace": "notes", "health": "healthy",
            "healthReason": "", "intent": "applied", "reason": reason, "needsYou": "", "hint": "", "lifecycle": "deployed", "drift": [],
            "conflicts": 0, "commit": null, "applied": null, "objects": [], "observedAt": Timestamp(0),
        });
        serde_json::from_value(state).unwrap()
    }

    fn event(kind: EventKind, operation: &str) -> Event {
        let operation = Some(OperationId(operation.to_owned()));
        Event { time: Timestamp(0), app: None, operation, commit: None, kind, detail: "held: no room".to_owned() }
    }

    #[test]
    fn a_deployment_has_succeeded_when_what_was_applied_is_well() {
        let (app, mut series) = (AppName::parse("blog").unwrap(), Series::default());
        let mut said = |kind, operation: &str, reason: &str| {
            series.said(&event(kind, operation), &app, &state(reason)).map(|said| (said.reason, said.text))
        };
        assert_eq!(said(EventKind::Healthy, "op_1", ""), None, "it is well again, which nobody deployed");
        assert_eq!(said(EventKind::Applied, "op_1", ""), None);
        let done = said(EventKind::Healthy, "op_1", "");
        assert_eq!(done, Some(("DeploySucceeded", "blog: every object is applied and healthy".to_owned())));
        let back = said(EventKind::Applied, "op_rollback_app_blog_1", "");
        assert_eq!(back.map(|(reason, _)| reason), Some("RolledBack"));
        let failed = said(EventKind::Unhealthy, "op_1", "");
        assert_eq!(failed, Some(("DeployFailed", "blog: held: no room".to_owned())));
        assert_eq!(said(EventKind::Unhealthy, "op_1", ""), None, "it was deployed well before");
        assert_eq!(said(EventKind::Blocked, "op_1", "Suspended"), None);
        assert_eq!(said(EventKind::Blocked, "op_1", "NamespaceTerminating"), None, "it has its time to go");
        let stuck = said(EventKind::Blocked, "op_1", "NamespaceStuck");
        assert_eq!(stuck.map(|(reason, _)| reason), Some("NamespaceStuck"));
    }

    #[test]
    fn a_series_is_written_once_in_five_minutes_and_counts_what_came_meanwhile() {
        let (id, mut series) = (InstanceId::parse("k3f7q2m5xd").unwrap(), Series::default());
        let mut next = |minute: i64, text: &str| {
            let said = Said { reason: "DeployFailed", is_warning: true, text: text.to_owned() };
            let note = series.next(&id, &state(""), (said, Timestamp(minute * 60_000_000)));
            note.map(|note| (note.name, note.count))
        };
        let (name, count) = next(10, "no room").unwrap();
        assert_eq!(count, 1);
        assert_eq!((next(11, "no room"), next(12, "no room")), (None, None));
        assert_eq!(next(15, "no room"), Some((name.clone(), 4)));
        // Another text begins another one, in its turn.
        assert_eq!(next(16, "no rights"), None);
        let (other, count) = next(20, "no rights").unwrap();
        assert_eq!((count, other == name), (1, false));
    }

    #[test]
    fn what_is_remembered_of_series_is_bounded() {
        let (id, mut series) = (InstanceId::parse("k3f7q2m5xd").unwrap(), Series::default());
        for number in 0..SERIES_CAPACITY + 10 {
            let state = AppState { namespace: format!("n{number}"), ..state("") };
            let said = Said { reason: "DeployFailed", is_warning: true, text: String::new() };
            let time = Timestamp(i64::try_from(number).unwrap());
            assert!(series.next(&id, &state, (said, time)).is_some());
        }
        assert_eq!(series.written.len(), SERIES_CAPACITY);
        assert!(series.written.keys().all(|(_, namespace, _)| namespace != "n0"));
    }
}
