//! What was asked of a cluster, counted: requests by method and answer, reads and tries by what they were for, streams that ended.
//!
//! Labels are words of ours and kinds, so their number is bounded. Not here: who shows it (`daemon::metrics`).

use std::sync::Mutex;
use std::time::Duration;

use super::{Inner, locked};
use crate::target::{Refusal, RefusalKind, TargetCounts};

/// Codes and words under which something is counted; more are not noted.
const MAX_SERIES: usize = 512;
/// Durations of requests that are kept until somebody asks; more are not noted. The loop asks with each turn.
const MAX_DURATIONS: usize = 4_096;

/// The counts of one cluster.
#[derive(Default)]
pub(super) struct Counts(Mutex<TargetCounts>);

impl Counts {
    /// Counts a request; one without an answer has the code 0.
    pub(super) fn request(&self, method: &http::Method, code: u16) {
        let mut counts = locked(&self.0);
        let key = (method.as_str().to_owned(), code);
        if counts.requests.len() < MAX_SERIES || counts.requests.contains_key(&key) {
            *counts.requests.entry(key).or_default() += 1;
        }
    }

    /// Notes how long a request took, its answer included.
    pub(super) fn took(&self, method: &http::Method, took: Duration) {
        let mut counts = locked(&self.0);
        if counts.durations.len() < MAX_DURATIONS {
            counts.durations.push((method.as_str().to_owned(), took));
        }
    }

    /// Returns what was counted so far.
    fn take(&self) -> TargetCounts {
        let mut counts = locked(&self.0);
        let durations = std::mem::take(&mut counts.durations);
        TargetCounts { durations, ..counts.clone() }
    }

    /// Counts a read.
    pub(super) fn read(&self, why: &'static str) {
        *locked(&self.0).reads.entry(why).or_default() += 1;
    }

    /// Counts a write that is only tried.
    pub(super) fn dry_run(&self, why: &'static str) {
        *locked(&self.0).dry_runs.entry(why).or_default() += 1;
    }

    /// Counts the end of a stream.
    pub(super) fn restart(&self, kind: &str, ended: Result<(), &Refusal>) {
        let why = match ended.map_err(|refusal| &refusal.kind) {
            Ok(()) => "closed",
            Err(RefusalKind::Timeout) => "silent",
            Err(RefusalKind::Unreachable | RefusalKind::Unauthorized) => "unreachable",
            Err(RefusalKind::Forbidden) => "forbidden",
            Err(_) => "refused",
        };
        let mut counts = locked(&self.0);
        let key = (kind.to_owned(), why);
        if counts.restarts.len() < MAX_SERIES || counts.restarts.contains_key(&key) {
            *counts.restarts.entry(key).or_default() += 1;
        }
    }

    /// Counts what a watch told that could not be read.
    pub(super) fn malformed(&self) {
        locked(&self.0).malformed += 1;
    }

    /// Counts objects of which only a list told that they are gone.
    pub(super) fn missed(&self, objects: usize) {
        locked(&self.0).missed += u64::try_from(objects).unwrap_or(u64::MAX);
    }
}

impl Inner {
    /// Returns what was counted so far, and how things stand now.
    pub(super) fn counted(&self) -> TargetCounts {
        let counts = self.counts.take();
        let (write_limit, writes) = self.writes.level();
        TargetCounts { write_limit, writes, watches: self.cache().freshness(), ..counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_ends_of_streams_are_counted_by_a_bounded_number_of_words() {
        let counts = Counts::default();
        for code in 0..2_000 {
            counts.request(&http::Method::GET, code);
        }
        counts.request(&http::Method::GET, 200);
        counts.restart("Secret", Ok(()));
        counts.restart("Secret", Err(&Refusal::new(RefusalKind::Timeout, "x")));
        counts.missed(2);
        for _ in 0..MAX_DURATIONS + 5 {
            counts.took(&http::Method::GET, Duration::from_millis(1));
        }
        assert_eq!((counts.take().durations.len(), counts.take().durations.len()), (MAX_DURATIONS, 0));
        let known = locked(&counts.0).clone();
        assert_eq!((known.requests.len(), known.requests[&("GET".to_owned(), 200)]), (MAX_SERIES, 2));
        assert_eq!(known.restarts.keys().map(|(_, why)| *why).collect::<Vec<_>>(), ["closed", "silent"]);
        assert_eq!(known.missed, 2);
    }
}
