//! Pure. When a Keycloak that does not answer, or a realm that is not there, is looked for again.
//!
//! Not here: the clock that wakes the app (`daemon`).

use std::time::Duration;

use crate::base::Timestamp;
use crate::model::CommitId;

/// The first wait (seed S0).
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest wait.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// After so many waits the longest is reached; 1.5 to this power is above 60.
const MAX_STEPS: u32 = 11;
/// Time between looks at objects that are as wanted (seed S0).
pub const DRIFT_LOOK: Duration = Duration::from_secs(300);

/// What an app waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waited {
    /// How often it was looked for in vain, from 1.
    pub tries: u32,
    /// When it is looked for again.
    pub until: Timestamp,
    /// The commit that was to be applied.
    pub commit: CommitId,
    /// What the server's failure was; empty where it answered and a realm was not there.
    pub silence: String,
}

/// Returns how long to wait after so many vain tries, counted from 1: 1 s, then half as much again each time, up to 60 s.
pub fn pause(tries: u32) -> Duration {
    let steps = tries.saturating_sub(1).min(MAX_STEPS);
    // Three halves to the power of the steps, in milliseconds and without fractions of them lost on the way.
    let millis = u64::try_from(FIRST_PAUSE.as_millis()).unwrap_or(u64::MAX);
    let scaled = millis.saturating_mul(3_u64.saturating_pow(steps)) / 2_u64.saturating_pow(steps);
    Duration::from_millis(scaled).min(MAX_PAUSE)
}

impl Waited {
    /// Returns the wait after a vain look: a longer one if it was due, the same one if something else woke the app before.
    pub fn next(before: Option<&Self>, commit: &CommitId, now: Timestamp) -> Self {
        let tries = match before {
            Some(before) if before.commit == *commit && now < before.until => return before.clone(),
            Some(before) if before.commit == *commit => before.tries.saturating_add(1),
            Some(_) | None => 1,
        };
        Self { tries, until: now.plus(pause(tries)), commit: commit.clone(), silence: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_by_half_up_to_a_minute() {
        let pauses: Vec<u128> = (1..=14).map(|tries| pause(tries).as_millis()).collect();
        let expected = [1000, 1500, 2250, 3375, 5062, 7593, 11390, 17085, 25628, 38443, 57665, 60000, 60000, 60000];
        assert_eq!(pauses, expected);
        assert_eq!((pause(0), pause(u32::MAX)), (FIRST_PAUSE, MAX_PAUSE));
    }

    #[test]
    fn what_wakes_an_app_before_its_time_makes_its_wait_no_longer_and_a_new_commit_begins_anew() {
        let commit = |letter: &str| CommitId::parse(&letter.repeat(40)).unwrap();
        let at = |seconds: i64| Timestamp(seconds * 1_000_000);
        let first = Waited::next(None, &commit("a"), at(10));
        assert_eq!((first.tries, first.until), (1, at(11)));
        assert_eq!(Waited::next(Some(&first), &commit("a"), at(10)), first);
        let second = Waited::next(Some(&first), &commit("a"), at(11));
        assert_eq!((second.tries, second.until), (2, Timestamp(12_500_000)));
        assert_eq!(Waited::next(Some(&second), &commit("b"), at(11)).tries, 1);
    }
}
