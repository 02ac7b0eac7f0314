//! Events and operations as they come, as server-sent events.
//!
//! A stream reads rows behind the last one that it sent, so a slow reader loses nothing, holds nothing up and keeps nothing in memory; who
//! comes back with `Last-Event-ID` goes on there. Not here: what happens (`pipeline`), logs of pods (`logs`).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio_util::sync::CancellationToken;

use super::answer::{Answered, app_name, value};
use super::operations;
use super::problem::Problem;
use super::{Host, instance};
use crate::daemon::Handle;
use crate::model::{AppName, OperationId, OperationState};

/// Streams that are open at once in this process.
const STREAM_LIMIT: usize = 512;
/// Events that are read at once.
const BATCH: i64 = 100;
/// How long a reader waits before it comes back.
const RETRY: Duration = Duration::from_secs(5);
/// How often a stream with nothing to say shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(30);

static STREAMS: Semaphore = Semaphore::const_new(STREAM_LIMIT);

/// Query of a stream of events.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Which {
    #[serde(default)]
    app: Option<String>,
    #[serde(default)]
    last_event_id: Option<String>,
}

/// `GET /events`: `connected`, then every event of the instance, or of one app, under its kind; `reset` where what came since the named
/// one is no longer kept.
pub(super) async fn events(
    State(daemon): Host,
    Path(name): Path<String>,
    Query(which): Query<Which>,
    headers: HeaderMap,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let app = which.app.as_deref().map(app_name).transpose()?;
    let named = headers.get("last-event-id").and_then(|text| text.to_str().ok()).map(str::to_owned);
    let last = named.or(which.last_event_id).map(|text| position(&text)).transpose()?;
    let (place, news) = (place()?, handle.instance().bus.told());
    let store = &handle.instance().store;
    let newest = store.last_event().await?;
    let (position, first) = match last {
        None => (newest, "connected"),
        Some(last) if store.keeps_events_after(&handle.instance().id, last).await? => (last, "connected"),
        Some(_) => (newest, "reset"),
    };
    let first = frame(first, Some(position), &json!({"instance": name}));
    let (ready, stop) = (VecDeque::from([first]), daemon.stopping());
    Ok(answer(follow(Events { handle, app, position, news, ready, stop, _place: place })))
}

/// `GET /operations/{id}/stream`: the operation whenever it has changed; `complete` is the last.
pub(super) async fn operation(State(daemon): Host, Path((name, id)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let (place, news) = (place()?, handle.instance().bus.operations());
    let id = OperationId(id);
    operations::stored(handle.instance(), &id).await?;
    let stop = daemon.stopping();
    Ok(answer(watch_operation(Watched { handle, name, id, news, told: Value::Null, stop, done: false, _place: place })))
}

fn answer(frames: impl Stream<Item = Result<Frame, Infallible>> + Send + 'static) -> Response {
    let alive = KeepAlive::new().interval(HEARTBEAT).event(Frame::default().event("heartbeat").data("{}"));
    // A proxy that gathers what it passes on would hold back what just happened.
    let direct = [("x-accel-buffering", HeaderValue::from_static("no"))];
    (direct, Sse::new(frames).keep_alive(alive)).into_response()
}

fn place() -> Result<SemaphorePermit<'static>, Problem> {
    STREAMS.try_acquire().map_err(|_| {
        let because = format!("{STREAM_LIMIT} streams are open already");
        Problem::new(503, "open a stream", because, "close one, or ask again without a stream: wild status")
    })
}

fn position(text: &str) -> Result<i64, Problem> {
    text.trim().parse().map_err(|_| {
        let because = format!("Last-Event-ID is {text:?}, which is no number");
        Problem::new(400, "open a stream", because, "leave it out to begin with what happens from now on")
    })
}

fn frame(kind: &str, position: Option<i64>, data: &Value) -> Frame {
    let frame = Frame::default().event(kind).retry(RETRY).data(data.to_string());
    match position {
        Some(position) => frame.id(position.to_string()),
        None => frame,
    }
}

/// A stream of events.
struct Events {
    handle: Handle,
    app: Option<AppName>,
    /// Position of the newest event that was read.
    position: i64,
    /// Changes when events were stored.
    news: watch::Receiver<u64>,
    ready: VecDeque<Frame>,
    stop: CancellationToken,
    _place: SemaphorePermit<'static>,
}

fn follow(events: Events) -> impl Stream<Item = Result<Frame, Infallible>> + Send {
    stream::unfold(events, |mut events| async move {
        loop {
            if let Some(frame) = events.ready.pop_front() {
                return Some((Ok(frame), events));
            }
            // Marked as seen before the rows are read: what comes meanwhile is news again.
            events.news.mark_unchanged();
            if !events.read().await? {
                tokio::select! {
                    changed = events.news.changed() => changed.ok()?,
                    () = events.stop.cancelled() => return None,
                }
            }
        }
    })
}

impl Events {
    /// Reads what came since the last look. Returns whether anything did; nothing if the store fails, which ends the stream.
    async fn read(&mut self) -> Option<bool> {
        let instance = self.handle.instance();
        let rows = match instance.store.events_after(&instance.id, self.position, BATCH).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(instance = %instance.id, error = crate::base::chain(&error), "a stream of events ended");
                return None;
            }
        };
        for (position, event) in &rows {
            self.position = *position;
            if self.app.is_some() && event.app != self.app {
                continue;
            }
            let data = serde_json::to_value(event).ok()?;
            let kind = data.get("kind").and_then(Value::as_str).unwrap_or("event").to_owned();
            self.ready.push_back(frame(&kind, Some(*position), &data));
        }
        Some(!rows.is_empty())
    }
}

/// A stream about one operation.
struct Watched {
    handle: Handle,
    name: String,
    id: OperationId,
    /// Changes when an operation went on.
    news: watch::Receiver<u64>,
    told: Value,
    stop: CancellationToken,
    done: bool,
    _place: SemaphorePermit<'static>,
}

fn watch_operation(watched: Watched) -> impl Stream<Item = Result<Frame, Infallible>> + Send {
    stream::unfold(watched, |mut watched| async move {
        loop {
            if watched.done {
                return None;
            }
            watched.news.mark_unchanged();
            let (document, ended) = watched.read().await?;
            if document != watched.told {
                watched.done = ended;
                let kind = if ended { "complete" } else { "operation" };
                let frame = frame(kind, None, &document);
                watched.told = document;
                return Some((Ok(frame), watched));
            }
            tokio::select! {
                changed = watched.news.changed() => changed.ok()?,
                () = watched.stop.cancelled() => return None,
            }
        }
    })
}

impl Watched {
    /// Returns the operation as its route shows it, and whether it has ended; nothing if it cannot be read, which ends the stream.
    async fn read(&self) -> Option<(Value, bool)> {
        let instance = self.handle.instance();
        let operation = operations::stored(instance, &self.id).await.ok()?;
        let ended = !matches!(operation.state, OperationState::Waiting | OperationState::Running);
        let mut document = operations::document(&self.name, &operation).ok()?;
        let outcomes = instance.store.outcomes(&self.id).await.ok()?;
        document.as_object_mut()?.insert("outcomes".to_owned(), value(&outcomes).ok()?);
        Some((document, ended))
    }
}
