//! Which app's pass begins when: a step function over wake-ups, ends of passes and the clock.
//!
//! A trigger sets a bit on an app; a hundred of them cost one pass. An app has at most one running pass, and a trigger for a running app
//! makes one more follow. Quiet times let a burst settle and are bounded, so that a steady stream cannot starve anybody. Where more passes
//! are due than may run, what a person waits for goes first, and whoever waits long enough rises. Failures of the system back off; a new
//! revision or a person's word ends the wait. Each cluster has passes of its own, so that one that hangs keeps no other waiting. Times are
//! durations since start, so that tests step them.
//!
//! Not here: running passes (`worker.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::model::{AppName, ClusterName, ErrorClass, Reason};

/// Passes of different apps of one cluster that run side by side. More than the writes that a target takes at once: a pass also reads, plans and waits for
/// the disk, and its stages come one after the other.
const RUNNING_LIMIT: usize = 64;
/// First wait after a failure of the system (seed S0).
const FIRST_BACKOFF: Duration = Duration::from_secs(5);
/// Longest wait after failures of the system (seed S0).
const BACKOFF_LIMIT: Duration = Duration::from_secs(600);

/// Longest wait that a target may ask for: it is asked again after that, whatever it said.
const ASKED_LIMIT: Duration = Duration::from_secs(30);

/// How long an app waits, from when it is due, until it goes before one of the next better class that has just become due.
const RISE: Duration = Duration::from_secs(10);

/// What waits, runs and backs off.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: BTreeMap<AppName, Waiting>,
    /// Those of the waiting of which no pass runs, by when they are due.
    sleeping: BTreeSet<(Duration, AppName)>,
    /// Those that are due, by cluster and in the order in which they begin.
    ready: BTreeMap<ClusterName, BTreeSet<(Duration, AppName)>>,
    /// The apps of which a pass runs, each with the cluster on whose account.
    running: BTreeMap<AppName, ClusterName>,
    /// How many of them run on the account of each cluster.
    taken: BTreeMap<ClusterName, usize>,
    /// The clusters of apps that are not on the first one.
    clusters: BTreeMap<AppName, ClusterName>,
    /// How long the app that began last had waited since it was due.
    waited: Duration,
    backoff: BTreeMap<AppName, Backoff>,
}

#[derive(Debug, Clone)]
struct Waiting {
    reasons: BTreeSet<Reason>,
    due: Duration,
    latest: Duration,
    /// When it is due, with its backoff; nothing while a pass of the app runs.
    place: Option<Place>,
}

/// Where an app stands among those that wait.
#[derive(Debug, Clone)]
struct Place {
    cluster: ClusterName,
    due: Duration,
    /// The smallest begins first of those that are due.
    rank: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Backoff {
    wait: Duration,
    until: Duration,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Begin a pass of this app, for these reasons.
    Start(AppName, BTreeSet<Reason>),
    /// Nothing before this time.
    Sleep(Duration),
    /// Nothing until something happens.
    Idle,
}

/// Returns the quiet time before a pass and the longest that repeated triggers may put it off.
fn quiet(reason: Reason) -> (Duration, Duration) {
    let millis = |quiet, latest| (Duration::from_millis(quiet), Duration::from_millis(latest));
    match reason {
        Reason::Request | Reason::Retry | Reason::Scheduled | Reason::Audit | Reason::Upstream => millis(0, 0),
        Reason::Push => millis(0, 0),
        Reason::File => millis(2_000, 10_000),
        Reason::Released => millis(50, 250),
        Reason::Drift => millis(20, 100),
        Reason::Health => millis(50, 250),
    }
}

/// Returns the class of a reason, the first for what a person waits for, the last for what nobody does.
fn class(reason: Reason) -> u32 {
    match reason {
        Reason::Request => 1,
        Reason::Push | Reason::File | Reason::Released => 2,
        Reason::Drift | Reason::Health | Reason::Retry => 3,
        Reason::Scheduled | Reason::Audit | Reason::Upstream => 4,
    }
}

/// Returns whether a reason ends a backoff: the input changed, or a person asked.
fn resets(reason: Reason) -> bool {
    match reason {
        Reason::Request | Reason::Push | Reason::File | Reason::Upstream | Reason::Released => true,
        Reason::Drift | Reason::Health | Reason::Retry | Reason::Scheduled | Reason::Audit => false,
    }
}

impl Queue {
    /// Takes in a wake-up.
    pub(super) fn trigger(&mut self, now: Duration, app: AppName, reason: Reason) {
        if resets(reason) {
            self.backoff.remove(&app);
        }
        let (wait, latest) = quiet(reason);
        let due = now + wait;
        self.waiting
            .entry(app.clone())
            .and_modify(|waiting| {
                // An urgent reason brings the pass forward; one of the same kind puts it off, up to its bound.
                let later = due.min(waiting.latest);
                waiting.due = if waiting.reasons.contains(&reason) { later } else { waiting.due.min(due) };
                waiting.latest = waiting.latest.min(now + latest);
                waiting.due = waiting.due.min(waiting.latest);
                waiting.reasons.insert(reason);
            })
            .or_insert(Waiting { reasons: [reason].into(), due, latest: now + latest, place: None });
        self.place(&app);
    }

    /// Wakes an app at a time, unless it waits for an earlier one.
    pub(super) fn wake_at(&mut self, at: Duration, app: AppName, reason: Reason) {
        self.waiting
            .entry(app.clone())
            .and_modify(|waiting| {
                waiting.due = waiting.due.min(at);
                waiting.reasons.insert(reason);
            })
            .or_insert(Waiting { reasons: [reason].into(), due: at, latest: at, place: None });
        self.place(&app);
    }

    /// Puts a waiting app where it now belongs in the order.
    fn place(&mut self, app: &AppName) {
        let cluster = self.cluster(app);
        let Some(waiting) = self.waiting.get_mut(app) else { return };
        if let Some(place) = waiting.place.take() {
            self.sleeping.remove(&(place.due, app.clone()));
            if let Some(ready) = self.ready.get_mut(&place.cluster) {
                ready.remove(&(place.rank, app.clone()));
            }
        }
        if !self.running.contains_key(app) {
            let held = self.backoff.get(app).map_or(Duration::ZERO, |backoff| backoff.until);
            let due = waiting.due.max(held);
            let best = waiting.reasons.iter().map(|reason| class(*reason)).min().unwrap_or_default();
            waiting.place = Some(Place { cluster, due, rank: due + RISE * best });
            self.sleeping.insert((due, app.clone()));
        }
    }

    /// Returns what to do next. A started app runs until its end is told.
    pub(super) fn next(&mut self, now: Duration) -> Next {
        while self.sleeping.first().is_some_and(|(due, _)| *due <= now) {
            let Some((_, app)) = self.sleeping.pop_first() else { break };
            if let Some(place) = self.waiting.get(&app).and_then(|waiting| waiting.place.as_ref()) {
                self.ready.entry(place.cluster.clone()).or_default().insert((place.rank, app));
            }
        }
        let Some((cluster, app)) = self.first_ready() else {
            return self.sleeping.first().map_or(Next::Idle, |(due, _)| Next::Sleep(*due));
        };
        let waiting = self.waiting.remove(&app);
        let due = waiting.as_ref().and_then(|waiting| waiting.place.as_ref()).map_or(now, |place| place.due);
        self.waited = now.saturating_sub(due);
        *self.taken.entry(cluster.clone()).or_default() += 1;
        self.running.insert(app.clone(), cluster);
        Next::Start(app, waiting.map(|waiting| waiting.reasons).unwrap_or_default())
    }

    /// Takes out the app that begins first of those whose cluster has room for one more pass.
    fn first_ready(&mut self) -> Option<(ClusterName, AppName)> {
        let has_room = |cluster: &ClusterName| self.taken.get(cluster).is_none_or(|taken| *taken < RUNNING_LIMIT);
        let open = self.ready.iter().filter(|(cluster, _)| has_room(cluster));
        let firsts = open.filter_map(|(cluster, ready)| Some((ready.first()?.0, cluster)));
        let cluster = firsts.min().map(|(_, cluster)| cluster.clone())?;
        let ready = self.ready.get_mut(&cluster)?;
        let (_, app) = ready.pop_first()?;
        if ready.is_empty() {
            self.ready.remove(&cluster);
        }
        Some((cluster, app))
    }

    /// Notes which cluster an app is on.
    pub(super) fn assign(&mut self, app: &AppName, cluster: &ClusterName) {
        if self.cluster(app) == *cluster {
            return;
        }
        match cluster.is_first() {
            true => _ = self.clusters.remove(app),
            false => _ = self.clusters.insert(app.clone(), cluster.clone()),
        }
        self.place(app);
    }

    /// Returns the cluster that an app is on.
    pub(super) fn cluster(&self, app: &AppName) -> ClusterName {
        self.clusters.get(app).cloned().unwrap_or_default()
    }

    /// Takes in the end of a pass. `jitter` is a share between 0 and 1 that spreads retries.
    pub(super) fn ended(&mut self, now: Duration, app: &AppName, failed: Option<ErrorClass>, jitter: f64) {
        let cluster = self.running.remove(app);
        if let Some(taken) = cluster.and_then(|cluster| self.taken.get_mut(&cluster)) {
            *taken = taken.saturating_sub(1);
        }
        match failed {
            Some(ErrorClass::System) => {
                let wait = self.backoff.get(app).map_or(FIRST_BACKOFF, |backoff| (backoff.wait * 2).min(BACKOFF_LIMIT));
                let spread = wait.mul_f64(0.8 + 0.4 * jitter.clamp(0.0, 1.0));
                self.backoff.insert(app.clone(), Backoff { wait, until: now + spread });
                self.wake_at(now + spread, app.clone(), Reason::Retry);
            }
            // A user error waits for its input to change and is not tried by the clock.
            Some(ErrorClass::User) | None => _ = self.backoff.remove(app),
        }
        self.place(app);
    }

    /// Lets an app that backs off wait at least as long as its target asked to be left alone, if it did.
    pub(super) fn hold(&mut self, now: Duration, app: &AppName, asked: Option<Duration>) {
        let (Some(backoff), Some(asked)) = (self.backoff.get_mut(app), asked) else { return };
        backoff.until = backoff.until.max(now + asked.min(ASKED_LIMIT));
        self.place(app);
    }

    /// Returns when the pass of an app begins that waits, if it is due by then.
    pub(super) fn due(&self, app: &AppName) -> Option<Duration> {
        self.waiting.get(app).map(|waiting| waiting.place.as_ref().map_or(waiting.due, |place| place.due))
    }

    /// Returns how long the app that began last had waited since it was due; the quiet time before is no waiting.
    pub(super) fn waited(&self) -> Duration {
        self.waited
    }

    /// Returns how many apps wait.
    pub(super) fn depth(&self) -> usize {
        self.waiting.len()
    }

    /// Returns how many passes run.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    /// Makes every app of a cluster that waits due now: the cluster answers again.
    pub(super) fn release(&mut self, now: Duration, cluster: &ClusterName) {
        let (all, clusters) = (self.waiting.keys(), &self.clusters);
        let is_there = |app: &AppName| clusters.get(app).map_or(cluster.is_first(), |on| on == cluster);
        let apps: Vec<AppName> = all.filter(|app| is_there(app)).cloned().collect();
        self.backoff.retain(|app, _| !is_there(app));
        for app in apps {
            if let Some(waiting) = self.waiting.get_mut(&app) {
                waiting.due = waiting.due.min(now);
            }
            self.place(&app);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Next, Queue};
    use crate::model::{AppName, ClusterName, ErrorClass, Reason};

    fn app(name: &str) -> AppName {
        AppName::parse(name).unwrap()
    }

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_hundred_triggers_cost_one_pass() {
        let mut queue = Queue::default();
        for _ in 0..100 {
            queue.trigger(at(0), app("blog"), Reason::Push);
        }
        assert_eq!(queue.next(at(0)), Next::Start(app("blog"), [Reason::Push].into()));
        assert_eq!(queue.next(at(0)), Next::Idle);
    }

    #[test]
    fn a_trigger_during_a_pass_makes_one_more_follow() {
        let mut queue = Queue::default();
        queue.trigger(at(0), app("blog"), Reason::Push);
        queue.next(at(0));
        queue.trigger(at(1), app("blog"), Reason::Request);
        assert_eq!(queue.next(at(1)), Next::Idle);
        queue.ended(at(2), &app("blog"), None, 0.5);
        assert_eq!(queue.next(at(2)), Next::Start(app("blog"), [Reason::Request].into()));
        assert_eq!(queue.waited(), at(1), "it was due while the other pass ran");
    }

    #[test]
    fn a_stream_of_edits_is_not_put_off_for_ever() {
        let mut queue = Queue::default();
        for second in 0..12 {
            queue.trigger(at(second * 1_000), app("blog"), Reason::File);
        }
        assert_eq!(queue.next(at(9_999)), Next::Sleep(at(10_000)));
        assert!(matches!(queue.next(at(10_000)), Next::Start(..)));
    }

    #[test]
    fn a_request_overtakes_the_quiet_time_of_an_edit() {
        let mut queue = Queue::default();
        queue.trigger(at(0), app("blog"), Reason::File);
        queue.trigger(at(10), app("blog"), Reason::Request);
        assert!(matches!(queue.next(at(10)), Next::Start(..)));
    }

    #[test]
    fn a_target_that_asks_to_be_left_alone_is_for_a_while() {
        for (asked, begins) in [(1, 5), (20, 20), (3_600, 30)] {
            let mut queue = Queue::default();
            queue.trigger(at(0), app("blog"), Reason::Push);
            queue.next(at(0));
            queue.ended(at(0), &app("blog"), Some(ErrorClass::System), 0.5);
            queue.hold(at(0), &app("blog"), Some(Duration::from_secs(asked)));
            assert_eq!(queue.next(at(0)), Next::Sleep(Duration::from_secs(begins)));
            queue.trigger(at(1), app("blog"), Reason::Request);
            assert!(matches!(queue.next(at(1)), Next::Start(..)), "a person's word ends the wait");
        }
    }

    #[test]
    fn failures_of_the_system_back_off_and_a_push_ends_the_wait() {
        let mut queue = Queue::default();
        let mut now = at(0);
        for expected in [5, 10, 20] {
            queue.trigger(now, app("blog"), Reason::Retry);
            let Next::Start(..) = queue.next(now) else { unreachable!("the pass was due") };
            queue.ended(now, &app("blog"), Some(ErrorClass::System), 0.5);
            now += Duration::from_secs(expected);
            assert_eq!(queue.next(now - at(1)), Next::Sleep(now));
        }
        queue.trigger(now - at(1), app("blog"), Reason::Push);
        assert!(matches!(queue.next(now - at(1)), Next::Start(..)));
    }

    #[test]
    fn a_user_error_is_not_tried_again_by_the_clock() {
        let mut queue = Queue::default();
        queue.trigger(at(0), app("blog"), Reason::Push);
        queue.next(at(0));
        queue.ended(at(1), &app("blog"), Some(ErrorClass::User), 0.5);
        assert_eq!(queue.next(at(1_000_000)), Next::Idle);
    }

    #[test]
    fn passes_that_run_side_by_side_are_bounded() {
        let mut queue = Queue::default();
        for number in 0..70 {
            queue.trigger(at(0), app(&format!("app-{number}")), Reason::Push);
        }
        let started = (0..70).filter(|_| matches!(queue.next(at(0)), Next::Start(..))).count();
        assert_eq!((started, queue.running(), queue.depth()), (64, 64, 6));
    }

    #[test]
    fn a_cluster_that_hangs_keeps_no_other_waiting() {
        let mut queue = Queue::default();
        let edge = ClusterName::parse("edge").unwrap();
        for number in 0..70 {
            let name = app(&format!("app-{number}"));
            queue.assign(&name, &edge);
            queue.trigger(at(0), name, Reason::Request);
        }
        while !matches!(queue.next(at(0)), Next::Idle) {}
        assert_eq!((queue.running(), queue.depth()), (64, 6));
        queue.trigger(at(1), app("near"), Reason::Scheduled);
        assert_eq!(queue.next(at(1)), Next::Start(app("near"), [Reason::Scheduled].into()));
        assert_eq!(queue.next(at(1)), Next::Idle);
        // One that moves away while it waits takes the room of its new cluster.
        queue.assign(&app("app-9"), &ClusterName::default());
        assert_eq!(queue.next(at(1)), Next::Start(app("app-9"), [Reason::Request].into()));
        queue.ended(at(2), &app("app-1"), None, 0.5);
        assert!(matches!(queue.next(at(2)), Next::Start(..)));
        assert_eq!(queue.next(at(2)), Next::Idle);
    }

    #[test]
    fn apps_of_a_cluster_that_answers_again_are_due_and_no_others() {
        let mut queue = Queue::default();
        queue.assign(&app("far"), &ClusterName::parse("edge").unwrap());
        for name in ["near", "far"] {
            queue.trigger(at(0), app(name), Reason::Push);
            queue.next(at(0));
            queue.ended(at(0), &app(name), Some(ErrorClass::System), 0.5);
        }
        queue.release(at(1), &ClusterName::parse("edge").unwrap());
        assert_eq!(queue.next(at(1)), Next::Start(app("far"), [Reason::Retry].into()));
        assert_eq!(queue.next(at(1)), Next::Sleep(at(5_000)));
    }

    #[test]
    fn what_a_person_waits_for_goes_before_what_the_clock_wants() {
        let mut queue = Queue::default();
        for number in 0..70 {
            queue.trigger(at(0), app(&format!("app-{number}")), Reason::Scheduled);
        }
        while !matches!(queue.next(at(0)), Next::Idle) {}
        queue.trigger(at(1), app("pushed"), Reason::Push);
        queue.trigger(at(2), app("app-9"), Reason::Request);
        for (number, expected) in [(0, "app-9"), (1, "pushed"), (2, "app-67")] {
            queue.ended(at(3), &app(&format!("app-{number}")), None, 0.5);
            assert!(matches!(queue.next(at(3)), Next::Start(next, _) if next == app(expected)), "{expected}");
        }
    }

    #[test]
    fn whoever_waits_long_enough_rises() {
        let mut queue = Queue::default();
        for number in 0..64 {
            queue.trigger(at(0), app(&format!("app-{number}")), Reason::Push);
            queue.next(at(0));
        }
        queue.trigger(at(0), app("old"), Reason::Scheduled);
        queue.trigger(at(29_999), app("asked"), Reason::Request);
        queue.trigger(at(30_001), app("asked-later"), Reason::Request);
        for (number, expected) in [(0, "asked"), (1, "old"), (2, "asked-later")] {
            queue.ended(at(40_000), &app(&format!("app-{number}")), None, 0.5);
            assert!(matches!(queue.next(at(40_000)), Next::Start(next, _) if next == app(expected)), "{expected}");
        }
    }
}
