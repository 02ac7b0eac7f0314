//! How many writes may be in flight at once: fewer as soon as the server is too busy or slow, slowly more again while it answers well.
//!
//! Not here: which writes wait longer than others, which nothing decides.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::locked;

/// Writes in flight to begin with.
const FIRST_LIMIT: usize = 8;
/// Most writes in flight; more buys latency and hardly throughput on a two-core API server.
const WRITE_LIMIT: usize = 16;
/// Answers after which the limit is judged anew.
const WINDOW: usize = 32;
/// Time after which it is judged anew whatever came.
const WINDOW_TIME: Duration = Duration::from_secs(1);
/// What nineteen of twenty answers take less than, on a server that is too slow for what it gets.
const SLOW: Duration = Duration::from_secs(2);
/// How much longer than in the best of the last windows they may take where more is asked of the server.
const MAX_GROWTH: u32 = 2;
/// How long the best window counts: as long at least, and up to twice as long.
const BEST_TIME: Duration = Duration::from_secs(60);

/// A number of places that shrinks and grows.
pub(super) struct Limit {
    places: Semaphore,
    state: Mutex<State>,
}

struct State {
    limit: usize,
    /// Places that are still out and are not to come back.
    owed: usize,
    window: Window,
    best: Best,
}

/// The answers since the limit was judged last.
#[derive(Default)]
struct Window {
    begun: Option<Instant>,
    times: Vec<Duration>,
    halved: bool,
}

impl Window {
    /// Returns what nineteen of twenty answers took less than.
    fn most(&mut self) -> Duration {
        self.times.sort_unstable();
        let place = (self.times.len() * 19).div_ceil(20).saturating_sub(1);
        self.times.get(place).copied().unwrap_or_default()
    }
}

/// The best full window of the last time.
#[derive(Default)]
struct Best {
    since: Option<Instant>,
    now: Option<Duration>,
    before: Option<Duration>,
}

impl Best {
    /// Takes in a window; returns the best one, which may be this.
    fn of(&mut self, time: Duration, now: Instant) -> Duration {
        let age = self.since.map_or(Duration::MAX, |since| now.saturating_duration_since(since));
        if age >= BEST_TIME {
            self.before = self.now.take().filter(|_| age < 2 * BEST_TIME);
            self.since = Some(now);
        }
        let best = self.now.map_or(time, |best| best.min(time));
        self.now = Some(best);
        self.before.map_or(best, |before| before.min(best))
    }
}

impl Default for Limit {
    fn default() -> Self {
        let state = State { limit: FIRST_LIMIT, owed: 0, window: Window::default(), best: Best::default() };
        Self { places: Semaphore::new(FIRST_LIMIT), state: Mutex::new(state) }
    }
}

/// How the server took a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// It answered, whatever it said.
    Well,
    /// It was too busy or did not answer.
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

    /// Takes in how a write was taken and how long that took. A window halves the limit at most once.
    pub(super) fn note(&self, taken: Taken, took: Duration, now: Instant) {
        let mut state = locked(&self.state);
        let begun = *state.window.begun.get_or_insert(now);
        state.window.times.push(took);
        if taken == Taken::Badly {
            state.halve();
        }
        let is_full = state.window.times.len() >= WINDOW;
        if !is_full && now.saturating_duration_since(begun) < WINDOW_TIME {
            return;
        }
        let most = state.window.most();
        if most > SLOW {
            state.halve();
        } else if is_full && !state.window.halved {
            let best = state.best.of(most, now);
            if most <= best * MAX_GROWTH && state.limit < WRITE_LIMIT {
                state.limit += 1;
                match state.owed.checked_sub(1) {
                    Some(owed) => state.owed = owed,
                    None => self.places.add_permits(1),
                }
            }
        }
        state.window = Window::default();
    }
}

impl State {
    fn halve(&mut self) {
        if self.window.halved {
            return;
        }
        let next = (self.limit / 2).max(1);
        self.owed += self.limit - next;
        self.limit = next;
        self.window.halved = true;
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

    /// Notes so many answers that took as long as this.
    fn answers(limit: &Limit, count: usize, taken: Taken, millis: u64, now: Instant) {
        for _ in 0..count {
            limit.note(taken, Duration::from_millis(millis), now);
        }
    }

    #[tokio::test]
    async fn a_busy_server_gets_half_at_once_and_more_again_step_by_step() {
        let (limit, now) = (Limit::default(), Instant::now());
        answers(&limit, 100 * WINDOW, Taken::Well, 20, now);
        assert_eq!(places(&limit), WRITE_LIMIT);
        let held = limit.place().await;
        answers(&limit, 2, Taken::Badly, 20, now);
        // Half is owed; the place that is held is the first to stay away.
        drop(held);
        for _ in 0..7 {
            drop(limit.place().await);
        }
        assert_eq!(places(&limit), 8);
        answers(&limit, WINDOW - 2, Taken::Well, 20, now);
        assert_eq!(places(&limit), 8, "a window with a failure does not grow");
        answers(&limit, 2 * WINDOW, Taken::Well, 20, now);
        assert_eq!(places(&limit), 10);
    }

    #[tokio::test]
    async fn a_server_that_gets_slow_is_not_asked_for_more_and_a_very_slow_one_for_less() {
        let (limit, now) = (Limit::default(), Instant::now());
        answers(&limit, WINDOW, Taken::Well, 20, now);
        assert_eq!(limit.level().0, FIRST_LIMIT + 1);
        answers(&limit, 5 * WINDOW, Taken::Well, 41, now);
        assert_eq!(limit.level().0, FIRST_LIMIT + 1, "twice as long as in the best window");
        // One of twenty may be slow.
        answers(&limit, 1, Taken::Well, 5_000, now);
        answers(&limit, WINDOW - 1, Taken::Well, 40, now);
        assert_eq!(limit.level().0, FIRST_LIMIT + 2);
        // The best time counts no longer than that.
        let later = now + 2 * BEST_TIME;
        answers(&limit, WINDOW, Taken::Well, 41, later);
        assert_eq!(limit.level().0, FIRST_LIMIT + 3);
        // Few answers are judged when a second is over.
        answers(&limit, 1, Taken::Well, 2_001, later);
        assert_eq!(limit.level().0, FIRST_LIMIT + 3);
        answers(&limit, 1, Taken::Well, 2_001, later + WINDOW_TIME);
        assert_eq!(limit.level().0, (FIRST_LIMIT + 3) / 2);
    }

    #[tokio::test]
    async fn one_write_is_always_allowed() {
        let (limit, now) = (Limit::default(), Instant::now());
        answers(&limit, 20 * WINDOW, Taken::Badly, 20, now);
        for _ in 0..WRITE_LIMIT {
            drop(limit.place().await);
        }
        assert_eq!(places(&limit), 1);
    }
}
