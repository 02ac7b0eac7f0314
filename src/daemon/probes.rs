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

/// How a look at a cluster ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// It answered.
    Answered,
    /// It did not.
    Failed,
}

/// The clusters that do not answer.
#[derive(Default)]
pub(super) struct Probes {
    silent: BTreeMap<ClusterName, Silence>,
    looks: JoinSet<(ClusterName, Look)>,
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

    /// Takes in the end of a look, and whether the cluster is silent by now; returns whether it answers.
    ///
    /// A cluster that answered a look may have fallen silent before anybody hears of the answer. The look says nothing of that silence, and
    /// the next one is due.
    pub(super) fn looked(
        &mut self,
        cluster: &ClusterName,
        (look, is_silent): (Look, bool),
        now: Duration,
        share: f64,
    ) -> bool {
        let is_back = look == Look::Answered && !is_silent;
        if is_back {
            self.end(cluster);
        } else {
            self.again(cluster, now, share);
        }
        is_back
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
            let look = if target.probe().await.is_ok() { Look::Answered } else { Look::Failed };
            (cluster, look)
        });
    }

    /// Waits until a look has ended and returns the cluster, and how it ended. Without looks it waits for ever.
    pub(super) async fn ended(&mut self) -> Option<(ClusterName, Look)> {
        match self.looks.join_next().await {
            Some(ended) => ended.ok(),
            None => std::future::pending().await,
        }
    }

    /// Arranges the next look at a cluster that still does not answer.
    fn again(&mut self, cluster: &ClusterName, now: Duration, share: f64) {
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
            assert!(!probes.looked(&home, (Look::Failed, true), at(now), 0.5));
            assert_eq!(probes.next(), Some(at(next)));
        }
        assert!(probes.begin(&edge, at(12), 0.5));
        assert_eq!((probes.next(), probes.due(at(13))), (Some(at(13)), vec![edge.clone()]));
        probes.end(&home);
        probes.end(&edge);
        assert_eq!(probes.next(), None);
    }

    /// What happens between a cluster and the worker that looks at it, in any order.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Step {
        FallsSilent,
        /// A call is answered that is no look.
        Answers,
        /// The worker hears that the first or the second was the case since it listened last.
        Heard,
        /// A look that nobody waited for, as with every change of the kubeconfig.
        Look,
        /// The time of the next look has come.
        Due,
        /// The oldest look under way is answered, or is not.
        Ends(Look),
        /// The worker takes in the oldest look that has ended.
        Ended,
    }

    const STEPS: [Step; 8] = [
        Step::FallsSilent,
        Step::Answers,
        Step::Heard,
        Step::Look,
        Step::Due,
        Step::Ends(Look::Answered),
        Step::Ends(Look::Failed),
        Step::Ended,
    ];

    /// A cluster and its worker.
    #[derive(Default)]
    struct Model {
        probes: Probes,
        now: Duration,
        is_silent: bool,
        is_news: bool,
        under_way: usize,
        ended: Vec<Look>,
    }

    impl Model {
        fn turn(&mut self, is_silent: bool) {
            self.is_news |= self.is_silent != is_silent;
            self.is_silent = is_silent;
        }

        fn step(&mut self, step: Step) {
            let home = ClusterName::default();
            match step {
                Step::FallsSilent => self.turn(true),
                Step::Answers => self.turn(false),
                Step::Heard => match (std::mem::take(&mut self.is_news), self.is_silent) {
                    (true, true) => {
                        self.probes.begin(&home, self.now, 0.5);
                    }
                    (true, false) => self.probes.end(&home),
                    (false, _) => {}
                },
                Step::Look => self.under_way += 1,
                Step::Due => {
                    self.now += Duration::from_secs(6);
                    self.under_way += self.probes.due(self.now).len();
                }
                Step::Ends(_) if self.under_way == 0 => {}
                Step::Ends(look) => {
                    self.under_way -= 1;
                    self.turn(look == Look::Failed);
                    self.ended.push(look);
                }
                Step::Ended if self.ended.is_empty() => {}
                Step::Ended => {
                    let look = self.ended.remove(0);
                    self.probes.looked(&home, (look, self.is_silent), self.now, 0.5);
                }
            }
        }

        /// Lets the worker take in all that there is.
        fn settle(&mut self) {
            self.step(Step::Heard);
            while !self.ended.is_empty() {
                self.step(Step::Ended);
            }
        }
    }

    #[test]
    fn a_silent_cluster_is_looked_at_again_in_whatever_order_its_worker_hears_of_it() {
        const LENGTH: u32 = 6;
        for number in 0..STEPS.len().pow(LENGTH) {
            let steps = (0..LENGTH).map(|place| STEPS[number / STEPS.len().pow(place) % STEPS.len()]);
            let steps: Vec<Step> = steps.collect();
            let mut model = Model::default();
            steps.iter().for_each(|step| model.step(*step));
            model.settle();
            assert!(
                !model.is_silent || model.under_way > 0 || model.probes.next().is_some(),
                "nobody looks: {steps:?}"
            );
        }
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
