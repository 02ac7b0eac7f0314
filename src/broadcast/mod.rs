//! Tells the outside: events to the store and to streams, statuses to git notes and to a forge. Never delays or fails a pass.
//!
//! `tell` only writes rows and wakes a sender; the sender reads rows by what is unsent, so a hanging receiver loses nothing.
//!
//! Not here: what is true (`plan`, `pipeline`).

mod kubernetes;
pub mod message;
mod statuses;

use tokio::sync::{broadcast, watch};

pub use kubernetes::{Place, send_kubernetes_events};
pub use statuses::{Notes, send_statuses};

use crate::model::{Event, InstanceId};
use crate::store::{Store, StoredStatus};

/// Events a slow stream may lag behind before it is told to reload.
const STREAM_CAPACITY: usize = 1_000;

/// Where events and statuses of one instance go.
#[derive(Clone, Debug)]
pub struct Bus {
    instance: InstanceId,
    store: Store,
    events: broadcast::Sender<Event>,
    unsent: watch::Sender<u64>,
    told: watch::Sender<u64>,
}

impl Bus {
    /// Returns the bus of an instance.
    pub fn new(instance: InstanceId, store: Store) -> Self {
        let (unsent, told) = (watch::Sender::new(0), watch::Sender::new(0));
        Self { instance, store, events: broadcast::Sender::new(STREAM_CAPACITY), unsent, told }
    }

    /// Returns a stream of events from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Returns what changes when events were stored.
    pub fn told(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }

    /// Returns what changes when a status waits to be sent.
    pub fn unsent(&self) -> watch::Receiver<u64> {
        self.unsent.subscribe()
    }

    /// Stores events and hands them to all streams. A store that fails is logged here and fails no pass.
    pub async fn tell(&self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        if let Err(error) = self.store.add_events(&self.instance, &events).await {
            tracing::error!(instance = %self.instance, error = crate::base::chain(&error), "events were not stored");
        }
        self.told.send_modify(|count| *count = count.wrapping_add(1));
        for event in events {
            // No receiver is no error: nobody listens.
            let _ = self.events.send(event);
        }
    }

    /// Wakes the sender of statuses, because what kept it from sending may be over.
    pub fn resend(&self) {
        self.unsent.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Stores a status and wakes the sender if it differs from the one before.
    pub async fn set_status(&self, status: StoredStatus) {
        match self.store.put_status(&self.instance, &status).await {
            Ok(true) => self.resend(),
            Ok(false) => {}
            Err(error) => {
                tracing::error!(instance = %self.instance, error = crate::base::chain(&error), "a commit status was not stored");
            }
        }
    }
}

/// Waits for a change; returns whether there can be another.
async fn changed_or_never(news: &mut watch::Receiver<u64>) -> bool {
    news.changed().await.is_ok()
}
