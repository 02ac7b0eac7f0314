//! What the server, its watches and the controllers share.
//!
//! Not here: what they do with it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::sandbox::store::Store;

/// The cluster behind one lock, and the signal that it changed.
pub(crate) struct Cluster {
    store: Mutex<Store>,
    changed: watch::Sender<u64>,
    pub(crate) stop: CancellationToken,
}

impl Cluster {
    pub(crate) fn new(store: Store) -> Self {
        let (changed, _) = watch::channel(store.version());
        Self { store: Mutex::new(store), changed, stop: CancellationToken::new() }
    }

    /// Returns the cluster for reading.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Store> {
        // A request that panicked left no half of a change: an object is replaced in one step.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the cluster and wakes whoever waits for changes.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Store) -> T) -> T {
        let mut store = self.lock();
        let result = change(&mut store);
        let version = store.version();
        drop(store);
        self.changed.send_if_modified(|seen| {
            let newer = *seen != version;
            *seen = version;
            newer
        });
        result
    }

    /// Wakes whoever waits for changes although the version is the same.
    pub(crate) fn wake(&self) {
        self.changed.send_modify(|_| ());
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}
