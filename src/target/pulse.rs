//! Whether this process stood still: it was stopped, or the machine slept. What was seen before that may be long gone.
//!
//! Not here: what is made of it (`cluster` listens anew, the walk of `apply` drops its plan).

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time between two beats.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// A process that misses its beats for longer than this stood still; a busy machine delays them by less.
const LIMIT: Duration = Duration::from_secs(10);

/// Returns the time since the machine started. It goes on while the machine sleeps, which the clock of timers does not.
pub fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Notices that a process stood still, between one beat and the next.
#[derive(Debug)]
pub(super) struct Pulse {
    clock: fn() -> Duration,
    last: Mutex<Beat>,
}

#[derive(Clone, Copy, Debug)]
struct Beat {
    at: Duration,
    stops: u64,
}

impl Pulse {
    pub(super) fn begin(clock: fn() -> Duration) -> Self {
        Self { clock, last: Mutex::new(Beat { at: clock(), stops: 0 }) }
    }

    /// Notes that the process runs. Returns how often it stood still so far, and whether that was found just now.
    pub(super) fn beat(&self) -> (u64, bool) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock, so that no beat is earlier than the one before.
        let now = (self.clock)();
        let stood = now.saturating_sub(last.at) > LIMIT;
        *last = Beat { at: now, stops: last.stops + u64::from(stood) };
        (last.stops, stood)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    static SECONDS: AtomicU64 = AtomicU64::new(100);

    #[test]
    fn a_process_that_missed_its_beats_stood_still_once() {
        let pulse = Pulse::begin(|| Duration::from_secs(SECONDS.load(Ordering::SeqCst)));
        let beat = |seconds| {
            SECONDS.store(seconds, Ordering::SeqCst);
            pulse.beat()
        };
        let all = [101, 111, 122, 122, 90, 91, 200].map(beat);
        assert_eq!(all, [(0, false), (0, false), (1, true), (1, false), (1, false), (1, false), (2, true)]);
        assert_eq!(Pulse::begin(since_boot).beat(), (0, false));
    }
}
