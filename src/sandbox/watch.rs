//! Watches: the changes of a kind as they happen, one JSON object a line.
//!
//! Not here: which changes are still known (`store.rs`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, Stream};
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::sandbox::call::{Call, Form};
use crate::sandbox::cluster::Cluster;
use crate::sandbox::failure::{Cause, Failure};
use crate::sandbox::read::shown;
use crate::sandbox::rules::TEMPLATE_COUNT;
use crate::sandbox::selector::Selector;
use crate::sandbox::store::{Change, Event, Sort, Store};
use crate::schema::Kind;

/// How long a watch lives that does not say.
const WATCH_LIFE: Duration = Duration::from_secs(1_800);
/// How often a watch that takes bookmarks hears how far it is.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
/// A last bookmark comes this long before the end, so that the next watch starts close to where this one ended.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// One open watch.
pub(crate) struct Watch {
    kind: &'static Kind,
    namespace: String,
    selector: Selector,
    form: Form,
    bookmarks: bool,
    /// All changes up to this version were looked at.
    seen: u64,
    frames: VecDeque<String>,
    ended: bool,
    end: Instant,
    next_bookmark: Instant,
    cluster: Arc<Cluster>,
    changed: Receiver<u64>,
    stop: CancellationToken,
}

/// Opens a watch.
pub(crate) fn open(cluster: &Arc<Cluster>, call: &Call) -> Result<Watch, Failure> {
    let query = &call.query;
    let selector = Selector::parse(query.text("labelSelector"), query.text("fieldSelector"), call.kind)?;
    let bookmarks = query.is_true("allowWatchBookmarks");
    let initial = query.is_true("sendInitialEvents");
    check_options(call, initial)?;
    let life = query.number("timeoutSeconds")?.map_or(WATCH_LIFE, Duration::from_secs);
    let from = query.number("resourceVersion")?.filter(|version| *version > 0);
    let now = Instant::now();
    let store = cluster.lock();
    let mut watch = Watch {
        kind: call.kind,
        namespace: call.namespace.clone(),
        selector,
        form: call.form,
        bookmarks,
        seen: from.unwrap_or(store.version()),
        frames: VecDeque::new(),
        ended: false,
        end: now + life,
        // A watch shorter than that needs no bookmark before its end.
        next_bookmark: now + if life > LAST_BOOKMARK { BOOKMARK_PERIOD.min(life - LAST_BOOKMARK) } else { WATCH_LIFE },
        cluster: Arc::clone(cluster),
        changed: cluster.changes(),
        stop: cluster.stop.clone(),
    };
    // Without a version a watch begins with what there is; with one only if it asks for that.
    if initial || (from.is_none() && !query.is_set("sendInitialEvents")) {
        watch.seen = store.version();
        watch.send_present(&store);
        if initial && bookmarks {
            watch.send_bookmark(&[("k8s.io/initial-events-end", "true")]);
        }
    }
    drop(store);
    Ok(watch)
}

fn check_options(call: &Call, initial: bool) -> Result<(), Failure> {
    let query = &call.query;
    let refuse =
        |why: &str| Err(Failure::invalid_options("ListOptions", &Cause::forbidden("resourceVersionMatch", why)));
    match (query.is_set("sendInitialEvents"), query.text("resourceVersionMatch")) {
        (true, "NotOlderThan") => Ok(()),
        (true, _) => refuse("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        (false, "") => Ok(()),
        (false, _) if initial => Ok(()),
        (false, _) => refuse("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"),
    }
}

impl Watch {
    /// Returns the frames as they come, until the watch's time is over.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<String, std::convert::Infallible>> {
        stream::unfold(self, |mut watch| async move { watch.next().await.map(|frame| (Ok(frame), watch)) })
    }

    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            self.changed.mark_unchanged();
            let cluster = Arc::clone(&self.cluster);
            self.take_changes(&cluster.lock());
            if !self.frames.is_empty() || self.ended {
                continue;
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                changed = self.changed.changed() => changed.ok()?,
                () = sleep_until(self.end) => return None,
                () = sleep_until(self.next_bookmark), if self.bookmarks => self.bookmark_in_time(),
            }
        }
    }

    fn bookmark_in_time(&mut self) {
        let before_end = self.end.checked_sub(LAST_BOOKMARK).unwrap_or(self.end);
        let next = self.next_bookmark + BOOKMARK_PERIOD;
        self.next_bookmark = match (next < before_end, self.next_bookmark < before_end) {
            (true, _) => next,
            (false, true) => before_end,
            (false, false) => self.end + BOOKMARK_PERIOD,
        };
        self.send_bookmark(&[]);
    }

    fn take_changes(&mut self, store: &Store) {
        match store.changes(Sort::of(self.kind), self.seen) {
            Some(changes) => {
                changes.iter().for_each(|change| self.send_change(change));
                self.seen = self.seen.max(store.version());
            }
            None => {
                let failure =
                    Failure::expired(format!("too old resource version: {} ({})", self.seen, store.version()));
                self.send("ERROR", &failure.status());
                self.ended = true;
            }
        }
    }

    fn send_present(&mut self, store: &Store) {
        let namespace = self.namespace.clone();
        let objects: Vec<Arc<Value>> =
            store.list(Sort::of(self.kind), &namespace).map(|(_, object)| Arc::clone(object)).collect();
        for object in objects.iter().filter(|object| self.selector.matches(object)).collect::<Vec<_>>() {
            self.send("ADDED", &shown(object, self.form));
        }
    }

    /// An object that leaves the selector is gone for this watch, and one that enters it is new.
    fn send_change(&mut self, event: &Event) {
        if !self.namespace.is_empty() && event.key.namespace != self.namespace {
            return;
        }
        let before = event.before.as_ref().is_some_and(|object| self.selector.matches(object));
        let after = event.change != Change::Deleted && self.selector.matches(&event.object);
        match (before, after) {
            (false, false) => {}
            (false, true) => self.send("ADDED", &shown(&event.object, self.form)),
            (true, true) => self.send("MODIFIED", &shown(&event.object, self.form)),
            (true, false) => {
                let mut object = match (event.change, &event.before) {
                    (Change::Modified, Some(before)) => (**before).clone(),
                    (Change::Added | Change::Modified | Change::Deleted, _) => (*event.object).clone(),
                };
                super::store::metadata_mut(&mut object)
                    .insert("resourceVersion".to_owned(), json!(event.version.to_string()));
                self.send("DELETED", &shown(&object, self.form));
            }
        }
    }

    fn send_bookmark(&mut self, annotations: &[(&str, &str)]) {
        let mut metadata = json!({"resourceVersion": self.seen.to_string()});
        if !annotations.is_empty() {
            let map = super::store::child_mut(&mut metadata, "annotations");
            map.extend(annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
        }
        // A bookmark of whole objects is an object without content.
        let mut object = super::canon::blank(self.kind);
        if let Value::Object(map) = &mut object {
            map.insert("metadata".to_owned(), metadata);
        }
        if self.kind.kind == "DaemonSet" {
            super::store::metadata_child_mut(&mut object, "annotations").insert(TEMPLATE_COUNT.to_owned(), json!("0"));
        }
        if matches!(self.kind.kind, "Deployment" | "StatefulSet" | "ReplicaSet") {
            super::store::child_mut(&mut object, "spec").insert("replicas".to_owned(), json!(0));
        }
        self.send("BOOKMARK", &shown(&object, self.form));
    }

    fn send(&mut self, sort: &str, object: &Value) {
        self.frames.push_back(format!("{}\n", json!({"type": sort, "object": object})));
    }
}
