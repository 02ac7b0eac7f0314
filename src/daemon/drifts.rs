//! Since when the cluster says that an app differs, until a pass has looked at that.
//!
//! Not here: finding differences (`plan`), showing the times (`metrics`).

use std::collections::BTreeMap;
use std::time::Instant;

use crate::model::AppName;

/// Apps that may differ, and since when; as many as there are apps.
#[derive(Default)]
pub(super) struct Drifts(BTreeMap<AppName, Instant>);

impl Drifts {
    /// Notes that an app may differ since now, unless it is known to.
    pub(super) fn hear(&mut self, app: &AppName, now: Instant) {
        self.0.entry(app.clone()).or_insert(now);
    }

    /// Returns since when an app differs whose pass has ended that began then or later; that one looked at it.
    pub(super) fn end(&mut self, app: &AppName, began: Instant) -> Option<Instant> {
        let since = self.0.get(app).copied().filter(|since| *since <= began)?;
        self.0.remove(app);
        Some(since)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_first_word_of_a_difference_counts_and_only_a_later_pass_ends_it() {
        let app = AppName::parse("blog").unwrap();
        let mut drifts = Drifts::default();
        let first = Instant::now();
        let later = first + Duration::from_secs(1);
        assert_eq!(drifts.end(&app, later), None);
        drifts.hear(&app, later);
        assert_eq!(drifts.end(&app, first), None, "it began before");
        drifts.hear(&app, later + Duration::from_secs(1));
        assert_eq!(drifts.end(&app, later), Some(later));
        assert_eq!(drifts.end(&app, later), None);
    }
}
