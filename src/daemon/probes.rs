//! Looks whether clusters that stopped answering answer again: each on its own, so that one that hangs delays no other.
//!
//! Not here: what follows when one answers (`worker`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::model::ClusterName;
use crate::target::Target;

/// Waits between looks; the last one repeats.
const WAITS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(5)];

/// By how much a wait is longer or shorter than written at most, so that not all daemons of a cluster knock at once.
const JITTER: f64 = 0.2;

/// The clusters that do not answer.
#[derive(Default)]
pub(super) struct Probes {
    silent: BTreeMap<ClusterName, Silence>,
    looks: JoinSet<(ClusterName, bool)>,
}

/// How a cluster that does not answer is waited for.
struct Silence {
    /// Looks so far.
    tries: usize,
    /// When the next one is, as time since the worker began; nothing while one is under way.
    next: Option<Duration>,
}

impl Probes {
    /// Notes that a cluster stopped answering; returns whether that is news. The share, between 0 and 1, spreads the wait, here and below.
    pub(super) fn begin(&mut self, cluster: &ClusterName, now: Duration, share: f64) -> bool {
        let is_known = self.silent.contains_key(cluster);
        self.silent.entry(cluster.clone()).or_insert(Silence { tries: 1, next: Some(now + wait(0, share)) });
        !is_known
    }

    /// Notes that a cluster answers.
    pub(super) fn end(&mut self, cluster: &ClusterName) {
        self.silent.remove(cluster);
    }

    /// Returns when the next look is.
    pub(super) fn next(&self) -> Option<Duration> {
        self.silent.values().filter_map(|silence| silence.next).min()
    }

    /// Returns the clusters whose look is due; each is looked at from now on.
    pub(super) fn due(&mut self, now: Duration) -> Vec<ClusterName> {
        let mut due = Vec::new();
        for (cluster, silence) in &mut self.silent {
            if silence.next.is_some_and(|at| at <= now) {
                silence.next = None;
                due.push(cluster.clone());
            }
        }
        due
    }

    /// Looks at a cluster without waiting for it.
    pub(super) fn look(&mut self, cluster: ClusterName, target: Arc<dyn Target>) {
        self.looks.spawn(async move {
            let answers = target.probe().await.is_ok();
            (cluster, answers)
        });
    }

    /// Waits until a look has ended and returns the cluster if it answers. Without looks it waits for ever.
    pub(super) async fn ended(&mut self) -> Option<(ClusterName, bool)> {
        match self.looks.join_next().await {
            Some(ended) => ended.ok(),
            None => std::future::pending().await,
        }
    }

    /// Arranges the next look at a cluster that still does not answer.
    pub(super) fn again(&mut self, cluster: &ClusterName, now: Duration, share: f64) {
        if let Some(silence) = self.silent.get_mut(cluster) {
            silence.next = Some(now + wait(silence.tries, share));
            silence.tries += 1;
        }
    }
}

fn wait(tries: usize, share: f64) -> Duration {
    let wait = WAITS.get(tries).or(WAITS.last()).copied().unwrap_or_default();
    wait.mul_f64(1.0 + JITTER * (2.0 * share - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cluster_is_looked_at_by_its_own_clock_ever_less_often() {
        let (home, edge) = (ClusterName::default(), ClusterName::parse("edge").unwrap());
        let at = Duration::from_secs;
        let mut probes = Probes::default();
        assert!(probes.begin(&home, at(0), 0.5) && !probes.begin(&home, at(0), 0.5));
        for (now, next) in [(1, 3), (3, 7), (7, 12), (12, 17)] {
            assert_eq!(probes.next(), Some(at(now)));
            assert_eq!(probes.due(at(now)), std::slice::from_ref(&home));
            assert!(probes.due(at(now + 100)).is_empty(), "one look at a time");
            probes.again(&home, at(now), 0.5);
            assert_eq!(probes.next(), Some(at(next)));
        }
        assert!(probes.begin(&edge, at(12), 0.5));
        assert_eq!((probes.next(), probes.due(at(13))), (Some(at(13)), vec![edge.clone()]));
        probes.end(&home);
        probes.end(&edge);
        assert_eq!(probes.next(), None);
    }

    #[test]
    fn a_wait_is_a_fifth_longer_or_shorter() {
        let home = ClusterName::default();
        for (share, next) in [(0.0, 800), (0.5, 1_000), (1.0, 1_200)] {
            let mut probes = Probes::default();
            probes.begin(&home, Duration::ZERO, share);
            assert_eq!(probes.next(), Some(Duration::from_millis(next)));
        }
    }
}
