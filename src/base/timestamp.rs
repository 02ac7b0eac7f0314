//! Pure. A point in time as a value; nobody here reads a clock.
//!
//! Not here: schedules and time zones (`schedule`).

use std::fmt;
use std::time::Duration;

/// Microseconds since 1970 in UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp(pub i64);

/// A text that is no RFC 3339 time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no RFC 3339 time")]
pub struct TimestampError(String);

impl Timestamp {
    /// Returns the time a duration later, or the last representable one.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Returns how long after `earlier` this time is, or zero.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Returns whether what is done every so often, and at this time the next, is due now. After the clock was set back it is at once.
    pub fn is_due(self, every: Duration, now: Self) -> bool {
        self <= now || self > now.plus(every)
    }

    /// Parses an RFC 3339 time.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        text.parse::<jiff::Timestamp>()
            .map(|time| Self(time.as_microsecond()))
            .map_err(|_| TimestampError(text.to_owned()))
    }

    /// Parses a time as OpenSSH writes it: `YYYYMMDD`, `YYYYMMDDHHMM` or `YYYYMMDDHHMMSS`, of this machine's time zone unless `Z` follows.
    pub fn parse_compact(text: &str) -> Option<Self> {
        let (digits, zone) = match text.strip_suffix(['Z', 'z']) {
            Some(digits) => (digits, jiff::tz::TimeZone::UTC),
            None => (text, jiff::tz::TimeZone::system()),
        };
        let form = match digits.len() {
            _ if !digits.bytes().all(|byte| byte.is_ascii_digit()) => return None,
            8 | 12 | 14 => format!("{digits:0<14}"),
            _ => return None,
        };
        let local = jiff::civil::DateTime::strptime("%Y%m%d%H%M%S", form).ok()?;
        Some(Self(local.to_zoned(zone).ok()?.timestamp().as_microsecond()))
    }

    /// Returns whole seconds since 1970, as git writes times.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(time) => write!(f, "{time}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = TimestampError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Timestamp;

    #[test]
    fn a_time_of_openssh_is_read_to_the_second() {
        let parse = |text: &str| Timestamp::parse_compact(text).map(|time| time.to_string());
        for (text, time) in [
            ("20261126Z", Some("2026-11-26T00:00:00Z")),
            ("202611261504Z", Some("2026-11-26T15:04:00Z")),
            ("20261126150405z", Some("2026-11-26T15:04:05Z")),
            ("2026112615Z", None),
            ("20261326Z", None),
            ("2026-11-26", None),
            ("", None),
            ("٢٠٢٦١١٢٦Z", None),
        ] {
            assert_eq!(parse(text).as_deref(), time, "{text}");
        }
        assert!(parse("20261126").is_some());
    }

    #[test]
    fn a_time_survives_its_text() {
        let time = Timestamp(1_763_712_000_123_456);
        assert_eq!(Timestamp::parse(&time.to_string()), Ok(time));
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn what_is_done_each_hour_is_due_in_time_and_when_the_clock_was_set_back() {
        let (hour, next) = (Duration::from_secs(3600), Timestamp(0).plus(Duration::from_secs(90_000)));
        for (seconds, is_due) in
            [(86_400, false), (89_999, false), (90_000, true), (180_000, true), (86_399, true), (0, true)]
        {
            assert_eq!(next.is_due(hour, Timestamp(0).plus(Duration::from_secs(seconds))), is_due, "{seconds}");
        }
    }
}
