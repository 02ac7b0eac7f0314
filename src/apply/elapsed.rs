//! How old the look at a target is on which a plan rests. A clock tells that which goes on while the machine sleeps or the process is stopped.
//!
//! Not here: what is not sent any more when it is too old (the walk, in `mod.rs`).

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// From which age on a plan ends nothing that cannot be brought back: what it saw may be another thing by now.
const LIMIT: Duration = Duration::from_secs(30);

/// Age of a plan, from before its look at the target.
#[derive(Clone, Copy, Debug)]
pub struct Age {
    begun: Duration,
    clock: fn() -> Duration,
}

impl Age {
    /// Begins now.
    pub fn begin() -> Self {
        Self::by(since_boot)
    }

    /// Begins now, by a clock that returns the time since some moment before.
    pub fn by(clock: fn() -> Duration) -> Self {
        Self { begun: clock(), clock }
    }

    /// Returns whether the look is too long ago for a deletion.
    pub fn is_over(&self) -> bool {
        (self.clock)().saturating_sub(self.begun) > LIMIT
    }
}

fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    static SECONDS: AtomicU64 = AtomicU64::new(100);

    #[test]
    fn a_look_is_too_old_after_half_a_minute_by_the_clock_that_it_is_given() {
        let age = Age::by(|| Duration::from_secs(SECONDS.load(Ordering::SeqCst)));
        let is_over = |seconds| {
            SECONDS.store(seconds, Ordering::SeqCst);
            age.is_over()
        };
        assert_eq!([100, 130, 131, 90].map(is_over), [false, false, true, false]);
        assert!(!Age::begin().is_over());
    }
}
