//! When an app that is not as wanted is looked at next, and what would wake it before: for people who ask.
//!
//! Nothing is decided by it. Not here: who is woken (`waits.rs`, `queue.rs`).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::base::Timestamp;
use crate::model::{AppName, AppState};
use crate::pipeline::Passed;
use crate::plan::WakeOn;

/// What an app waits for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outlook {
    /// When it is looked at next by the clock; nothing if only events wake it.
    pub next: Option<Timestamp>,
    /// What would wake it before.
    pub wake_on: Vec<WakeOn>,
}

/// The apps that are not as wanted, each with what it waits for.
#[derive(Default)]
pub(super) struct Outlooks {
    known: Mutex<BTreeMap<AppName, Outlook>>,
}

impl Outlooks {
    /// Takes in the end of a pass, which may have ended early and found nothing, and when the next one is due.
    pub(super) fn note(&self, app: &AppName, passed: Option<&Passed>, next: Option<Timestamp>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_well =
            |state: &AppState| state.intent == "applied" && matches!(state.health.as_str(), "healthy" | "stopped");
        match passed {
            Some(Passed { judged: true, state: None, .. }) => _ = known.remove(app),
            Some(Passed { judged: true, state: Some(state), .. }) if is_well(state) => _ = known.remove(app),
            Some(Passed { judged: true, wake_on, .. }) => {
                known.insert(app.clone(), Outlook { next, wake_on: wake_on.clone() });
            }
            Some(Passed { failed: None, .. }) => {
                if let Some(outlook) = known.get_mut(app) {
                    outlook.next = next;
                }
            }
            Some(_) | None => known.entry(app.clone()).or_default().next = next,
        }
    }

    /// Returns what an app waits for; nothing if it is as wanted or was not looked at yet.
    pub(super) fn get(&self, app: &AppName) -> Option<Outlook> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(app).cloned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::ErrorClass;

    #[test]
    fn only_of_an_app_that_is_not_as_wanted_it_is_known_what_it_waits_for() {
        let (outlooks, blog) = (Outlooks::default(), AppName::parse("blog").unwrap());
        let state = |intent: &str, health: &str| -> AppState {
            serde_json::from_value(json!({
                "name": "blog", "package": "", "version": "", "available": "", "update": null, "namespace": "blog",
                "health": health, "healthReason": "", "intent": intent, "reason": "", "needsYou": "", "hint": "",
                "lifecycle": "", "drift": [], "conflicts": 0, "commit": null, "applied": null, "objects": [],
                "observedAt": "2026-11-21T12:00:00Z",
            }))
            .unwrap()
        };
        let at = |seconds: i64| Some(Timestamp(seconds * 1_000_000));
        let waits = Passed {
            judged: true,
            state: Some(state("blocked", "healthy")),
            wake_on: vec![WakeOn::Health],
            ..Passed::default()
        };
        outlooks.note(&blog, Some(&waits), at(5));
        assert_eq!(outlooks.get(&blog), Some(Outlook { next: at(5), wake_on: vec![WakeOn::Health] }));
        // One that ended early found nothing else to wait for.
        outlooks.note(&blog, Some(&Passed::default()), at(6));
        assert_eq!(outlooks.get(&blog), Some(Outlook { next: at(6), wake_on: vec![WakeOn::Health] }));
        let well = Passed { judged: true, state: Some(state("applied", "healthy")), ..Passed::default() };
        outlooks.note(&blog, Some(&well), at(7));
        assert_eq!(outlooks.get(&blog), None);
        outlooks.note(&blog, Some(&Passed::default()), at(8));
        assert_eq!(outlooks.get(&blog), None);
        outlooks.note(&blog, Some(&Passed { failed: Some(ErrorClass::System), ..Passed::default() }), at(9));
        assert_eq!(outlooks.get(&blog), Some(Outlook { next: at(9), wake_on: Vec::new() }));
        outlooks.note(&blog, Some(&Passed { judged: true, ..Passed::default() }), None);
        assert_eq!(outlooks.get(&blog), None);
        outlooks.note(&blog, None, at(10));
        assert_eq!(outlooks.get(&blog).and_then(|it| it.next), at(10));
    }
}
