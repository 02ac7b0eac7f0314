//! Tells the outside: events to the store, statuses to git notes and to a forge. Never delays or fails a pass.
//!
//! `tell` only writes rows and wakes a sender; the sender reads rows by what is unsent, so a hanging receiver loses nothing.
//!
//! Not here: what is true (`plan`, `pipeline`).

mod kubernetes;
pub mod message;
mod owed;
mod statuses;

use std::sync::Arc;

use tokio::sync::{Mutex, watch};

pub use kubernetes::{Place, send_kubernetes_events};
pub use statuses::{Notes, send_statuses};

use owed::{Of, Owed};

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
    /// Held while a row is written, so that an older one never follows a newer one.
    owed: Arc<Mutex<Owed>>,
}

impl Bus {
    /// Returns the bus of an instance.
    pub fn new(instance: InstanceId, store: Store) -> Self {
        let [unsent, new, told, operations] = std::array::from_fn(|_| watch::Sender::new(0));
        Self { instance, store, unsent, new, told, operations, owed: Arc::default() }
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

    /// Stores events and wakes who reads them. A store that fails is logged, fails no pass and is tried again.
    pub async fn tell(&self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let mut owed = self.owed.lock().await;
        owed.store_events(self.to(), events).await;
        self.told.send_modify(|count| *count = count.wrapping_add(1));
        if !owed.is_settled() {
            self.resend();
        }
    }

    /// Wakes the sender of statuses, because what kept it from sending may be over.
    pub fn resend(&self) {
        self.unsent.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Stores a status and wakes the sender if it differs from the one before.
    pub async fn set_status(&self, status: StoredStatus) {
        if self.owed.lock().await.store_status(self.to(), status, Of::Known).await {
            self.resend();
        }
    }

    /// The same of a commit that is new: whoever looks at it is told so at once, and before anything else of it.
    pub async fn announce(&self, status: StoredStatus) {
        if self.owed.lock().await.store_status(self.to(), status, Of::New).await {
            self.new.send_modify(|count| *count = count.wrapping_add(1));
            self.resend();
        }
    }

    /// Stores what an earlier call could not, and returns whether nothing of that is left.
    async fn settle(&self) -> bool {
        let mut owed = self.owed.lock().await;
        if owed.is_settled() {
            return true;
        }
        let is_settled = owed.settle(self.to()).await;
        self.told.send_modify(|count| *count = count.wrapping_add(1));
        is_settled
    }

    fn to(&self) -> (&Store, &InstanceId) {
        (&self.store, &self.instance)
    }
}

/// Waits for a change; returns whether there can be another.
async fn changed_or_never(news: &mut watch::Receiver<u64>) -> bool {
    news.changed().await.is_ok()
}
