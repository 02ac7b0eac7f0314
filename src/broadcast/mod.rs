//! Tells the outside: events to the store, statuses to git notes and to a forge. Never delays or fails a pass.
//!
//! `tell` only writes rows and wakes a sender; the sender reads rows by what is unsent, so a hanging receiver loses nothing.
//!
//! Not here: what is true (`plan`, `pipeline`).

mod kubernetes;
pub mod message;
mod statuses;

use tokio::sync::watch;

pub use kubernetes::{Place, send_kubernetes_events};
pub use statuses::{Notes, send_statuses};

use crate::model::{Event, InstanceId};
use crate::store::{Store, StoredStatus};

/// Where events and statuses of one instance go.
#[derive(Clone, Debug)]
pub struct Bus {
    instance: InstanceId,
    store: Store,
    unsent: watch::Sender<u64>,
    new: watch::Sender<u64>,
    told: watch::Sender<u64>,
    operations: watch::Sender<u64>,
}

impl Bus {
    /// Returns the bus of an instance.
    pub fn new(instance: InstanceId, store: Store) -> Self {
        let [unsent, new, told, operations] = std::array::from_fn(|_| watch::Sender::new(0));
        Self { instance, store, unsent, new, told, operations }
    }

    /// Returns what changes when events were stored.
    pub fn told(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }

    /// Returns what changes when an operation began, went on or ended.
    pub fn operations(&self) -> watch::Receiver<u64> {
        self.operations.subscribe()
    }

    /// Tells that an operation began, went on or ended; its row says how.
    pub fn operation_changed(&self) {
        self.operations.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Returns what changes when a status waits to be sent.
    pub fn unsent(&self) -> watch::Receiver<u64> {
        self.unsent.subscribe()
    }

    /// Returns what changes when a status of a new commit waits to be sent, for which people wait.
    pub fn new_commits(&self) -> watch::Receiver<u64> {
        self.new.subscribe()
    }

    /// Stores events and wakes who reads them. A store that fails is logged here and fails no pass.
    pub async fn tell(&self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        if let Err(error) = self.store.add_events(&self.instance, &events).await {
            tracing::error!(instance = %self.instance, error = crate::base::chain(&error), "events were not stored");
        }
        self.told.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Wakes the sender of statuses, because what kept it from sending may be over.
    pub fn resend(&self) {
        self.unsent.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Stores a status and wakes the sender if it differs from the one before.
    pub async fn set_status(&self, status: StoredStatus) {
        if self.is_news(self.store.put_status(&self.instance, &status).await) {
            self.resend();
        }
    }

    /// The same of a commit that is new: whoever looks at it is told so at once, and before anything else of it.
    pub async fn announce(&self, status: StoredStatus) {
        if self.is_news(self.store.put_new_status(&self.instance, &status).await) {
            self.new.send_modify(|count| *count = count.wrapping_add(1));
            self.resend();
        }
    }

    fn is_news(&self, stored: Result<bool, crate::store::Error>) -> bool {
        stored.unwrap_or_else(|error| {
            tracing::error!(instance = %self.instance, error = crate::base::chain(&error), "a commit status was not stored");
            false
        })
    }
}

/// Waits for a change; returns whether there can be another.
async fn changed_or_never(news: &mut watch::Receiver<u64>) -> bool {
    news.changed().await.is_ok()
}
