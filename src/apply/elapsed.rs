//! How old the look at a target is on which a plan rests. A clock tells that which goes on while the machine sleeps or the process is stopped.
//!
//! Not here: what is not sent any more when it is too old (the walk, in `mod.rs`).

use std::time::Duration;

use crate::target::{Target, since_boot};

/// From which age on a plan ends nothing that cannot be brought back: what it saw may be another thing by now.
const LIMIT: Duration = Duration::from_secs(30);

/// Age of a plan, from before its look at the target.
#[derive(Clone, Copy, Debug)]
pub struct Age {
    begun: Duration,
    clock: fn() -> Duration,
    stops: u64,
}

impl Age {
    /// Begins now, before the target is looked at.
    pub fn begin(target: &dyn Target) -> Self {
        Self::by(since_boot, target)
    }

    /// Begins now, by a clock that returns the time since some moment before.
    pub fn by(clock: fn() -> Duration, target: &dyn Target) -> Self {
        Self { begun: clock(), clock, stops: target.stops() }
    }

    /// Returns whether this process stood still since, so that the plan is worth nothing any more.
    pub fn is_lost(&self, target: &dyn Target) -> bool {
        target.stops() != self.stops
    }

    /// Returns whether the look is too long ago for a deletion.
    pub fn is_over(&self) -> bool {
        (self.clock)().saturating_sub(self.begun) > LIMIT
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::target::scripted::Scripted;

    static SECONDS: AtomicU64 = AtomicU64::new(100);

    #[test]
    fn a_look_is_too_old_after_half_a_minute_by_the_clock_that_it_is_given() {
        let target = Scripted::default();
        let age = Age::by(|| Duration::from_secs(SECONDS.load(Ordering::SeqCst)), &target);
        let is_over = |seconds| {
            SECONDS.store(seconds, Ordering::SeqCst);
            age.is_over()
        };
        assert_eq!([100, 130, 131, 90].map(is_over), [false, false, true, false]);
        assert!(!Age::begin(&target).is_over());
    }
}
