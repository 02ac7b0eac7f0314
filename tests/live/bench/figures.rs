//! What is printed: samples with their count, median and spread, and ratios of medians.
//!
//! Not here: measuring.

use std::time::Duration;

/// Times of one thing in one run.
#[derive(Default)]
pub(crate) struct Samples {
    sorted: Vec<Duration>,
}

impl Samples {
    /// Adds a time.
    pub(crate) fn add(&mut self, time: Duration) {
        let at = self.sorted.partition_point(|known| *known <= time);
        self.sorted.insert(at, time);
    }

    /// Returns the time that a share of all do not exceed.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let last = self.sorted.len().saturating_sub(1);
        let places = (0..=last).filter(|place| (*place as f64) < share * (last as f64)).count();
        self.sorted.get(places).copied().unwrap_or_default()
    }

    /// Returns the middle one.
    pub(crate) fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// Prints a line: count, median, ninety-ninth of a hundred, smallest and largest.
    pub(crate) fn print(&self, what: &str) {
        let [median, slow] = [0.5, 0.99].map(|share| text(self.quantile(share)));
        let [first, last] =
            [self.sorted.first(), self.sorted.last()].map(|time| text(time.copied().unwrap_or_default()));
        println!("{what:<52} n {:>4}  median {median}  p99 {slow}  {first}..{last}", self.sorted.len());
    }
}

/// Prints how many times longer one thing takes than another.
pub(crate) fn ratio(what: &str, ours: Duration, other: Duration) {
    println!("{what:<52} {:.2}", ours.as_secs_f64() / other.as_secs_f64());
}

/// Prints a number of something.
pub(crate) fn count(what: &str, number: impl std::fmt::Display) {
    println!("{what:<52} {number}");
}

/// Returns a time as people read it.
fn text(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 1.0 => format!("{:>7.1} ms", seconds * 1_000.0),
        seconds => format!("{seconds:>7.2} s "),
    }
}
