//! How many writes may be in flight at once: fewer as soon as the server is too busy or fails, slowly more again while it answers well.
//!
//! Not here: which writes wait longer than others, which nothing decides.

use std::sync::Mutex;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::locked;

/// Most writes in flight; more buys latency and hardly throughput on a two-core API server.
const WRITE_LIMIT: usize = 16;
/// Answers after which the limit is judged anew.
const WINDOW: usize = 32;

/// A number of places that shrinks and grows.
pub(super) struct Limit {
    places: Semaphore,
    state: Mutex<State>,
}

struct State {
    limit: usize,
    /// Places that are still out and are not to come back.
    owed: usize,
    answers: usize,
    halved: bool,
}

impl Default for Limit {
    fn default() -> Self {
        let state = State { limit: WRITE_LIMIT, owed: 0, answers: 0, halved: false };
        Self { places: Semaphore::new(WRITE_LIMIT), state: Mutex::new(state) }
    }
}

/// How the server took a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// It answered, whatever it said.
    Well,
    /// It was too busy, failed, or did not answer.
    Badly,
}

impl Limit {
    /// Waits for a place.
    pub(super) async fn place(&self) -> Option<Place<'_>> {
        Some(Place { limit: self, permit: Some(self.places.acquire().await.ok()?) })
    }

    /// Returns how many places there are and how many are taken.
    pub(super) fn level(&self) -> (usize, usize) {
        let state = locked(&self.state);
        (state.limit, (state.limit + state.owed).saturating_sub(self.places.available_permits()))
    }

    /// Takes in how a write was taken. A window halves the limit at most once.
    pub(super) fn note(&self, taken: Taken) {
        let mut state = locked(&self.state);
        if taken == Taken::Badly && !state.halved {
            let next = (state.limit / 2).max(1);
            state.owed += state.limit - next;
            state.limit = next;
            state.halved = true;
        }
        state.answers += 1;
        if state.answers < WINDOW {
            return;
        }
        if !state.halved && state.limit < WRITE_LIMIT {
            state.limit += 1;
            match state.owed.checked_sub(1) {
                Some(owed) => state.owed = owed,
                None => self.places.add_permits(1),
            }
        }
        (state.answers, state.halved) = (0, false);
    }
}

/// A place that is held while a write is in flight.
pub(super) struct Place<'a> {
    limit: &'a Limit,
    permit: Option<SemaphorePermit<'a>>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = locked(&self.limit.state);
        if let Some(owed) = state.owed.checked_sub(1) {
            state.owed = owed;
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many places can be held at once.
    fn places(limit: &Limit) -> usize {
        std::iter::from_fn(|| limit.places.try_acquire().ok()).collect::<Vec<_>>().len()
    }

    #[tokio::test]
    async fn a_busy_server_gets_half_at_once_and_more_again_step_by_step() {
        let limit = Limit::default();
        let held = limit.place().await;
        limit.note(Taken::Badly);
        limit.note(Taken::Badly);
        // Half is owed; the place that is held is the first to stay away.
        drop(held);
        for _ in 0..7 {
            drop(limit.place().await);
        }
        assert_eq!(places(&limit), 8);
        for _ in 2..WINDOW {
            limit.note(Taken::Well);
        }
        assert_eq!(places(&limit), 8, "a window with a failure does not grow");
        for _ in 0..2 * WINDOW {
            limit.note(Taken::Well);
        }
        assert_eq!(places(&limit), 10);
        for _ in 0..100 * WINDOW {
            limit.note(Taken::Well);
        }
        assert_eq!(places(&limit), WRITE_LIMIT);
    }

    #[tokio::test]
    async fn one_write_is_always_allowed() {
        let limit = Limit::default();
        for _ in 0..20 * WINDOW {
            limit.note(Taken::Badly);
        }
        for _ in 0..WRITE_LIMIT {
            drop(limit.place().await);
        }
        assert_eq!(places(&limit), 1);
    }
}
