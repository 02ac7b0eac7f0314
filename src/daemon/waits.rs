//! Which apps wait for what, so that no wait begins after what it waits for has happened.
//!
//! A pass finds that it has to wait by what it read when it began. What it waits for may happen before it ends, when nobody has noted the
//! wait; so what happened since a pass began ends its waits too. Not here: what a pass waits for (`plan`), waking (`worker`).

use std::collections::{BTreeMap, BTreeSet};

use crate::model::AppName;
use crate::plan::WakeOn;

/// Apps and what they wait for.
#[derive(Default)]
pub(super) struct Waits {
    waiting: BTreeMap<WakeOn, BTreeSet<AppName>>,
    /// Beginnings of passes and events so far.
    moment: u64,
    began: BTreeMap<AppName, u64>,
    happened: BTreeMap<WakeOn, u64>,
}

impl Waits {
    /// Notes that a pass of an app begins.
    pub(super) fn begin(&mut self, app: &AppName) {
        self.moment += 1;
        self.began.insert(app.clone(), self.moment);
    }

    /// Notes that something has happened and returns the apps that waited for it.
    pub(super) fn happen(&mut self, event: WakeOn) -> BTreeSet<AppName> {
        let woken = self.waiting.remove(&event).unwrap_or_default();
        self.moment += 1;
        if !self.began.is_empty() {
            self.happened.insert(event, self.moment);
        }
        woken
    }

    /// Notes what an app waits for since its pass has ended, and nothing else; returns whether some of it happened during the pass.
    pub(super) fn end(&mut self, app: &AppName, events: &[WakeOn]) -> bool {
        self.waiting.retain(|_, waiting| {
            waiting.remove(app);
            !waiting.is_empty()
        });
        for event in events {
            self.waiting.entry(event.clone()).or_default().insert(app.clone());
        }
        let since = |began: u64, event| self.happened.get(event).is_some_and(|moment| *moment > began);
        let woken = self.began.remove(app).is_some_and(|began| events.iter().any(|event| since(began, event)));
        self.forget();
        woken
    }

    /// Notes that the pass of an app ended before it could tell what the app waits for: that is what it waited for before. What of it happened
    /// meanwhile has woken the app already.
    pub(super) fn keep(&mut self, app: &AppName) {
        self.began.remove(app);
        self.forget();
    }

    /// Forgets what happened before every pass that still runs, which is asked for no more.
    fn forget(&mut self) {
        let oldest = self.began.values().min();
        self.happened.retain(|_, moment| oldest.is_some_and(|began| *moment > *began));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ClusterName;

    fn app(name: &str) -> AppName {
        AppName::parse(name).unwrap()
    }

    fn ready() -> WakeOn {
        WakeOn::App(app("database"))
    }

    #[test]
    fn what_happens_after_a_pass_wakes_who_waits_for_it_once() {
        let mut waits = Waits::default();
        waits.begin(&app("blog"));
        assert!(!waits.end(&app("blog"), &[ready()]));
        assert!(waits.happen(WakeOn::Target(ClusterName::default())).is_empty());
        assert_eq!(waits.happen(ready()), BTreeSet::from([app("blog")]));
        assert!(waits.happen(ready()).is_empty());
    }

    #[test]
    fn what_happened_during_a_pass_ends_its_wait_and_what_happened_before_does_not() {
        let mut waits = Waits::default();
        waits.happen(ready());
        waits.begin(&app("blog"));
        assert!(!waits.end(&app("blog"), &[ready()]));
        waits.begin(&app("blog"));
        waits.happen(ready());
        assert!(waits.end(&app("blog"), &[WakeOn::Revision, ready()]));
    }

    #[test]
    fn nothing_is_kept_once_no_pass_runs_and_nobody_waits() {
        let mut waits = Waits::default();
        waits.happen(WakeOn::Target(ClusterName::default()));
        for name in ["blog", "shop"] {
            waits.begin(&app(name));
            waits.happen(ready());
        }
        waits.end(&app("blog"), &[WakeOn::Target(ClusterName::default())]);
        assert_eq!(waits.happened.len(), 1);
        assert!(!waits.end(&app("shop"), &[]));
        waits.happen(WakeOn::Target(ClusterName::default()));
        assert!(waits.happened.is_empty() && waits.began.is_empty() && waits.waiting.is_empty());
    }

    #[test]
    fn a_pass_that_ends_early_keeps_older_waits() {
        let mut waits = Waits::default();
        waits.begin(&app("blog"));
        waits.end(&app("blog"), &[ready()]);
        waits.begin(&app("blog"));
        waits.happen(WakeOn::Target(ClusterName::default()));
        waits.keep(&app("blog"));
        assert!(waits.began.is_empty() && waits.happened.is_empty());
        assert_eq!(waits.happen(ready()), BTreeSet::from([app("blog")]));
    }

    #[test]
    fn a_pass_that_waits_for_nothing_ends_older_waits() {
        let mut waits = Waits::default();
        waits.begin(&app("blog"));
        waits.end(&app("blog"), &[ready()]);
        waits.begin(&app("blog"));
        assert!(!waits.end(&app("blog"), &[]));
        assert!(waits.happen(ready()).is_empty());
    }
}
