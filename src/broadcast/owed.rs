//! Statuses and events that the store did not take, such as on a full disk: kept in memory and stored later, so that nothing older stays
//! said for good.
//!
//! Not here: when that is tried again (`statuses.rs`).

use std::collections::{BTreeMap, VecDeque};

use crate::base::chain;
use crate::model::{CommitId, Event, InstanceId};
use crate::store::{Store, StoredStatus};

/// Statuses that are kept, of one instance: more than a disk that is full for long lets come about, as apps wait longer and longer.
const MAX_STATUSES: usize = 10_000;
/// Events that are kept, of one instance; older ones go first, because they are history and the newest tell what holds.
const MAX_EVENTS: usize = 10_000;

/// Which commit a status is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    /// One of which something was said before.
    Known,
    /// A new one, which is told whatever is stored of the commit before that is.
    New,
}

/// What is owed to the store.
#[derive(Debug, Default)]
pub(super) struct Owed {
    /// The newest status by commit and context.
    statuses: BTreeMap<(CommitId, String), (StoredStatus, Of)>,
    events: VecDeque<Event>,
}

impl Owed {
    /// Stores a status; one that is not taken is owed. Returns whether it is news for who sends them.
    pub(super) async fn store_status(
        &mut self,
        (store, instance): (&Store, &InstanceId),
        status: StoredStatus,
        of: Of,
    ) -> bool {
        let key = (status.commit.clone(), status.context.clone());
        let of = if self.statuses.get(&key).is_some_and(|(_, of)| *of == Of::New) { Of::New } else { of };
        let stored = match of {
            Of::New => store.put_new_status(instance, &status).await,
            Of::Known => store.put_status(instance, &status).await,
        };
        match stored {
            Ok(is_news) => {
                self.statuses.remove(&key);
                is_news
            }
            Err(error) => {
                tracing::error!(%instance, error = chain(&error), "a commit status was not stored and will be later");
                self.statuses.insert(key, (status, of));
                while self.statuses.len() > MAX_STATUSES {
                    self.statuses.pop_first();
                }
                // Who sends them stores it first.
                true
            }
        }
    }

    /// Stores events behind those that are owed; what is not taken is owed.
    pub(super) async fn store_events(&mut self, (store, instance): (&Store, &InstanceId), events: Vec<Event>) {
        self.events.extend(events);
        if self.events.is_empty() {
            return;
        }
        match store.add_events(instance, self.events.make_contiguous()).await {
            Ok(()) => self.events.clear(),
            Err(error) => {
                tracing::error!(%instance, error = chain(&error), "events were not stored and will be later");
                let over = self.events.len().saturating_sub(MAX_EVENTS);
                self.events.drain(..over);
            }
        }
    }

    /// Returns whether nothing is owed.
    pub(super) fn is_settled(&self) -> bool {
        self.statuses.is_empty() && self.events.is_empty()
    }

    /// Stores all that is owed, and returns whether nothing is any more.
    pub(super) async fn settle(&mut self, to: (&Store, &InstanceId)) -> bool {
        for (status, of) in std::mem::take(&mut self.statuses).into_values() {
            self.store_status(to, status, of).await;
        }
        self.store_events(to, Vec::new()).await;
        self.is_settled()
    }
}
