//! Pure. The way from one version of a package to another, where authors allow certain steps only.
//!
//! Not here: order and ranges of versions (`version.rs`), the update itself (`compile`).

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

use super::manifest::UpgradeStep;
use super::version::{compare_versions, satisfies};

/// A version and the steps that its manifest allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// The version.
    pub version: String,
    /// The steps; none means from any older version.
    pub path: Vec<UpgradeStep>,
}

impl Stop {
    /// Returns whether its own manifest allows a direct step to it.
    pub fn is_reached_from(&self, version: &str) -> bool {
        self.path.is_empty() || self.allows(version, &self.version)
    }

    fn allows(&self, from: &str, to: &str) -> bool {
        let mut steps = self.path.iter().filter(|step| step.to.as_deref().unwrap_or(&self.version) == to);
        steps.any(|step| satisfies(from, &step.from) == Some(true))
    }
}

/// Returns the shortest way from an installed version to the newest one, that one included, or nothing if there is none.
///
/// The manifest of a version allows steps to it, that of the newest one to any. Of ways of one length the one with the
/// smaller first step is taken.
pub fn upgrade_way(installed: &str, newest: &Stop, between: &[Stop]) -> Option<Vec<String>> {
    let mut stops: Vec<&Stop> = between.iter().filter(|stop| stop.version != newest.version).collect();
    stops.sort_by(|a, b| compare_versions(&a.version, &b.version).unwrap_or(Ordering::Equal));
    stops.push(newest);
    let is_step = |from: &str, to: &Stop| {
        compare_versions(from, &to.version) == Some(Ordering::Less)
            && (to.is_reached_from(from) || newest.allows(from, &to.version))
    };
    let mut reached_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut open = VecDeque::from([installed]);
    // Every version is opened once.
    while let Some(from) = open.pop_front() {
        for stop in &stops {
            let version = stop.version.as_str();
            if version != installed && !reached_from.contains_key(version) && is_step(from, stop) {
                reached_from.insert(version, from);
                open.push_back(version);
            }
        }
    }
    let mut way = vec![newest.version.clone()];
    let mut at = *reached_from.get(newest.version.as_str())?;
    while at != installed {
        way.push(at.to_owned());
        at = reached_from.get(at)?;
    }
    way.reverse();
    Some(way)
}

#[cfg(test)]
mod tests {
    use super::{Stop, upgrade_way};
    use crate::package::UpgradeStep;

    fn stop(text: &str) -> Stop {
        let (version, steps) = text.split_once(": ").unwrap_or((text, ""));
        let step = |text: &str| {
            let (from, to) = text.split_once(" to ").map_or((text, None), |(from, to)| (from, Some(to.to_owned())));
            UpgradeStep { from: from.to_owned(), to }
        };
        let path = steps.split("; ").filter(|text| !text.is_empty()).map(step).collect();
        Stop { version: version.to_owned(), path }
    }

    fn check(installed: &str, versions: &[&str], expected: Option<&[&str]>) {
        let stops: Vec<Stop> = versions.iter().map(|text| stop(text)).collect();
        let (newest, between) = stops.split_last().unwrap();
        let expected = expected.map(|way| way.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert_eq!(upgrade_way(installed, newest, between), expected, "{versions:?}");
    }

    #[test]
    fn without_a_word_every_step_is_allowed() {
        check("1.0", &["1.5", "2.0"], Some(&["2.0"]));
    }

    #[test]
    fn the_shortest_way_goes_by_versions_that_allow_it() {
        check("4.0", &["4.1: >=4.0 <4.1", "5.0: >=4.1 <5"], Some(&["4.1", "5.0"]));
        check("1", &["2", "3: >=2", "4: >=3", "5: >=2 <3; >=4"], Some(&["2", "5"]));
        check("1", &["2", "3", "4: >=2 <4"], Some(&["2", "4"]));
        check("1", &["10", "9", "11: >=9"], Some(&["9", "11"]));
    }

    #[test]
    fn the_newest_manifest_may_open_an_older_step() {
        check("1", &["2: >=1.5", "3: >=2 to 3; >=1 to 2"], Some(&["2", "3"]));
    }

    #[test]
    fn there_may_be_no_way() {
        check("1.0", &["2.0: >=1.5", "3.0: >=2"], None);
        check("2.0", &["1.0"], None);
        check("1.0", &["1.0"], None);
    }
}
