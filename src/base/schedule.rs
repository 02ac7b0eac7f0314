//! Pure. Fire times of the merge bot: five fields as crontab has them, in the time zone of the settings.
//!
//! The cron crate wants seconds first and counts weekdays from 1; both are translated here, in the one file that speaks chrono.
//! Not here: what happens at a fire time (`daemon`).

use std::str::FromStr;

use chrono::TimeZone;

use crate::base::Timestamp;

/// Fire times that are looked at for one that the time zone does not skip.
const MAX_TRIES: usize = 8;

/// A schedule in a time zone.
#[derive(Clone, Debug)]
pub struct Schedule {
    cron: cron::Schedule,
    zone: jiff::tz::TimeZone,
}

/// A schedule that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("schedule {line:?} in time zone {zone:?}: {reason}")]
pub struct ScheduleError {
    line: String,
    zone: String,
    reason: String,
}

impl Schedule {
    /// Parses five fields and the name of a time zone.
    pub fn parse(line: &str, zone: &str) -> Result<Self, ScheduleError> {
        let refuse = |reason: String| ScheduleError { line: line.to_owned(), zone: zone.to_owned(), reason };
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err(refuse("it wants five fields: minute, hour, day of month, month, day of week".to_owned()));
        };
        let text = format!("0 {minute} {hour} {day} {month} {}", weekdays(weekday));
        let cron = cron::Schedule::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        let zone = jiff::tz::TimeZone::get(zone).map_err(|_| refuse("the time zone is not known".to_owned()))?;
        let schedule = Self { cron, zone };
        if schedule.next(Timestamp(0)).is_none() {
            return Err(refuse("it never fires".to_owned()));
        }
        Ok(schedule)
    }

    /// Returns the first fire time after a time. A local time that a change of clocks skips does not fire.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let local = jiff::Timestamp::from_microsecond(after.0).ok()?.to_zoned(self.zone.clone()).datetime();
        let seconds = local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second();
        let wall = chrono::Utc.timestamp_opt(seconds, 0).single()?;
        self.cron.after(&wall).take(MAX_TRIES).find_map(|fire| {
            let wall =
                jiff::Timestamp::from_second(fire.timestamp()).ok()?.to_zoned(jiff::tz::TimeZone::UTC).datetime();
            let ambiguous = self.zone.to_ambiguous_zoned(wall);
            let fire = Timestamp(ambiguous.compatible().ok()?.timestamp().as_microsecond());
            (fire > after).then_some(fire)
        })
    }
}

/// Translates crontab's weekdays (0 and 7 are Sunday) into the crate's (1 is Sunday). Names stay.
fn weekdays(field: &str) -> String {
    let mut translated = String::new();
    let mut number = String::new();
    // A number after a slash is a step and no day.
    let mut step = false;
    for c in field.chars().chain(std::iter::once(',')) {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        if !number.is_empty() {
            let day = number.parse::<u32>().unwrap_or(u32::MAX);
            let shown = if step { day } else { day.checked_rem(7).map_or(day, |day| day + 1) };
            translated.push_str(&shown.to_string());
            number.clear();
        }
        step = c == '/';
        translated.push(c);
    }
    translated.pop();
    translated
}

#[cfg(test)]
mod tests {
    use super::Schedule;
    use crate::base::Timestamp;

    fn check(line: &str, zone: &str, after: &str, expected: &str) {
        let schedule = Schedule::parse(line, zone).unwrap();
        let next = schedule.next(Timestamp::parse(after).unwrap()).unwrap();
        assert_eq!(next.to_string(), expected, "{line} {zone}");
    }

    #[test]
    fn five_fields_fire_as_crontab_does() {
        check("17 4 * * *", "UTC", "2026-11-21T04:17:00Z", "2026-11-22T04:17:00Z");
        check("*/15 * * * *", "UTC", "2026-11-21T04:17:00Z", "2026-11-21T04:30:00Z");
        // 2026-11-22 is a Sunday.
        check("0 0 * * 0", "UTC", "2026-11-21T04:17:00Z", "2026-11-22T00:00:00Z");
        check("0 0 * * 7", "UTC", "2026-11-21T04:17:00Z", "2026-11-22T00:00:00Z");
        check("0 0 * * 1-5", "UTC", "2026-11-21T04:17:00Z", "2026-11-23T00:00:00Z");
    }

    #[test]
    fn the_time_zone_counts() {
        check("17 4 * * *", "Europe/Berlin", "2026-11-21T00:00:00Z", "2026-11-21T03:17:00Z");
        check("17 4 * * *", "Europe/Berlin", "2026-07-01T00:00:00Z", "2026-07-01T02:17:00Z");
    }

    #[test]
    fn what_cannot_fire_is_refused() {
        for (line, zone) in
            [("* * * *", "UTC"), ("61 * * * *", "UTC"), ("0 0 30 2 *", "UTC"), ("0 0 * * *", "Mars/Olympus")]
        {
            assert!(Schedule::parse(line, zone).is_err(), "{line} {zone}");
        }
    }
}
