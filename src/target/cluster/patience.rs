//! How long a cluster is waited for.
//!
//! Not here: how long each sort of request may take (`call`).

use std::time::Duration;

use crate::target::pulse::since_boot;

/// How long a stream is kept before the server closes it; shorter than the five minutes after which proxies do.
const STREAM: Duration = Duration::from_secs(290);
/// How long nothing, not even a bookmark, may arrive until a stream counts as dead. The server sends a bookmark each minute.
const IDLE_DEADLINE: Duration = Duration::from_secs(150);
/// How long without event or bookmark until a watch counts as stale. The server sends a bookmark each minute.
pub(super) const FRESH_LIMIT: Duration = Duration::from_secs(180);
/// How long nothing may arrive on a watch until the server is asked whether it answers: a little longer than bookmarks take.
const QUIET: Duration = Duration::from_secs(70);
/// After how long a kind is listed anew: the longest that an event which never came stays unseen.
const RELIST: Duration = Duration::from_secs(60 * 60);
/// Objects of one page of a list.
const PAGE_SIZE: usize = 500;
/// After how long the watch of a kind is closed that no app has or wants objects of any more.
const UNUSED: Duration = Duration::from_secs(60);

/// How long a cluster is waited for. The default is the product's; tests of what follows when a wait is over take shorter ones.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// By how much the deadline of every request is divided.
    pub haste: u32,
    /// How long a watch is kept before the server closes it.
    pub stream: Duration,
    /// How long nothing may arrive on a watch until the server is asked whether it answers.
    pub quiet: Duration,
    /// How long nothing may arrive on a watch until it counts as dead.
    pub idle: Duration,
    /// How long nothing may arrive on a watch until what it told last is doubted.
    pub fresh: Duration,
    /// Objects of one page of a list.
    pub page: usize,
    /// After how long a kind is listed anew, one fifth more or less.
    pub relist: Duration,
    /// After how long the watch of a kind is closed that no app needs any more.
    pub unused: Duration,
    /// Tells whether this process stood still: the time since some moment, which goes on while the machine sleeps.
    pub clock: fn() -> Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            haste: 1,
            stream: STREAM,
            quiet: QUIET,
            idle: IDLE_DEADLINE,
            fresh: FRESH_LIMIT,
            page: PAGE_SIZE,
            relist: RELIST,
            unused: UNUSED,
            clock: since_boot,
        }
    }
}

impl Patience {
    /// Returns after how long a kind is listed anew: always the same for one kind, so that not all are at the same moment.
    pub(super) fn relist_of(&self, kind: &str) -> Duration {
        self.relist / 100 * percent_of(kind)
    }
}

/// Returns between 80 and 120 for a kind, always the same, so that what is done for every kind is not done for all at once.
pub(super) fn percent_of(kind: &str) -> u32 {
    let sum: u32 = kind.bytes().map(u32::from).sum();
    80 + sum % 41
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_anew_within_a_fifth_of_an_hour_around_it() {
        let minutes = |kind| Patience::default().relist_of(kind).as_secs() / 60;
        let all = ["ConfigMap", "Secret", "Deployment", "Service", "Job"].map(minutes);
        assert!(all.iter().all(|minutes| (48..=72).contains(minutes)), "{all:?}");
        assert_ne!(all[0], all[1]);
    }
}
