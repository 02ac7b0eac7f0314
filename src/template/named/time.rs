//! Pure. Points in time with a zone, and their methods.
//!
//! The host's zone is UTC here. Not here: Go's layouts (`layout.rs`, `reading.rs`).

use std::rc::Rc;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::civil::{DAY, date_from_days, days_from_date};
use super::layout::format_time;
use super::{DURATION, Named, duration_at, text_method, time_at};
use crate::template::failure::Failure;
use crate::template::functions::{Function, Parameter, fixed, integer_at, text_at};
use crate::template::value::Value;

/// Seconds from the year 1 to 1970.
const YEAR_ONE: i64 = 62_135_596_800;
const NANOS: i128 = 1_000_000_000;

/// A point in time.
#[derive(Clone)]
pub(in crate::template) struct Time {
    /// Seconds from 1970.
    pub(in crate::template) seconds: i64,
    /// Nanoseconds below a second.
    pub(in crate::template) nanos: u32,
    /// Where it is told.
    pub(in crate::template) zone: Zone,
}

/// Where a time is told.
#[derive(Clone)]
pub(in crate::template) enum Zone {
    /// UTC.
    Utc,
    /// Seconds east of UTC, with a name that may be empty.
    Fixed(Rc<str>, i64),
    /// A place with rules.
    Place(TimeZone),
}

/// A time taken apart for its zone.
pub(super) struct Parts {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) weekday: i64,
    pub(super) year_day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
}

impl Zone {
    /// Returns the zone of a name of the time zone database; only the bundled one is asked.
    pub(in crate::template) fn named(name: &str) -> Result<Self, Failure> {
        match name {
            "" | "UTC" => Ok(Self::Utc),
            "Local" => Err(Failure::new("T210", "the host's time zone is not available").hint("name the zone")),
            _ => TimeZoneDatabase::bundled()
                .get(name)
                .map(Self::Place)
                .map_err(|_| Failure::call("the time zone is not known").hint("write one like Europe/Vienna")),
        }
    }

    /// Returns the offset in seconds and the zone's name at a time.
    pub(super) fn at(&self, seconds: i64) -> (i64, String) {
        match self {
            Self::Utc => (0, "UTC".to_owned()),
            Self::Fixed(name, offset) => (*offset, name.to_string()),
            Self::Place(zone) => {
                let bounds = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
                let second = seconds.clamp(bounds.0, bounds.1);
                let at = jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
                let found = zone.to_offset_info(at);
                (i64::from(found.offset().seconds()), found.abbreviation().to_owned())
            }
        }
    }
}

impl Time {
    /// Returns a time in UTC.
    pub(in crate::template) fn utc(seconds: i64, nanos: u32) -> Self {
        Self { seconds, nanos, zone: Zone::Utc }
    }

    /// Returns the time that a clock in a zone shows, given in seconds as if the clock stood in UTC.
    pub(super) fn shown(clock: i64, nanos: u32, zone: Zone) -> Self {
        let guess = zone.at(clock).0;
        let offset = zone.at(clock.wrapping_sub(guess)).0;
        Self { seconds: clock.wrapping_sub(offset), nanos, zone }
    }

    /// Takes it apart.
    pub(super) fn parts(&self) -> Parts {
        let local = self.seconds.wrapping_add(self.zone.at(self.seconds).0);
        let (days, clock) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = date_from_days(days);
        Parts {
            year,
            month,
            day,
            weekday: (days + 4).rem_euclid(7),
            year_day: days - days_from_date(year, 1, 1) + 1,
            hour: clock / 3600,
            minute: clock / 60 % 60,
            second: clock % 60,
        }
    }

    /// Prints it as Go does.
    pub(in crate::template) fn to_text(&self) -> String {
        format_time(self, "2006-01-02 15:04:05.999999999 -0700 MST")
    }

    /// Returns whether moment and zone are the same.
    pub(super) fn is_identical(&self, other: &Self) -> bool {
        let zones = match (&self.zone, &other.zone) {
            (Zone::Utc, Zone::Utc) => true,
            (Zone::Fixed(a, _), Zone::Fixed(b, _)) => Rc::ptr_eq(a, b),
            (Zone::Place(a), Zone::Place(b)) => a == b,
            (Zone::Utc | Zone::Fixed(..) | Zone::Place(_), _) => false,
        };
        zones && self.seconds == other.seconds && self.nanos == other.nanos
    }

    /// Returns it as RFC 3339 text, as JSON and YAML hold it.
    pub(in crate::template) fn to_data(&self) -> String {
        format_time(self, "2006-01-02T15:04:05.999999999Z07:00")
    }

    /// Returns the name of its zone, which is the kind of a time that TOML holds without one.
    pub(in crate::template) fn kind(&self) -> String {
        self.zone.at(self.seconds).1
    }

    fn all_nanos(&self) -> i128 {
        i128::from(self.seconds) * NANOS + i128::from(self.nanos)
    }

    fn with_nanos(&self, nanos: i128) -> Self {
        let seconds = i64::try_from(nanos.div_euclid(NANOS)).unwrap_or(i64::MAX);
        Self { seconds, nanos: u32::try_from(nanos.rem_euclid(NANOS)).unwrap_or(0), zone: self.zone.clone() }
    }

    /// Returns how far it lies behind the last multiple of a duration since the year 1.
    fn behind(&self, unit: i64) -> i128 {
        (self.all_nanos() + i128::from(YEAR_ONE) * NANOS).rem_euclid(i128::from(unit))
    }
}

/// Returns the name of a month.
pub(super) fn month_name(month: i64) -> String {
    let name = usize::try_from(month - 1).ok().and_then(|index| super::layout::MONTHS.get(index));
    name.map_or_else(|| format!("%!Month({month})"), |name| (*name).to_owned())
}

/// Returns the name of a day of the week.
pub(super) fn weekday_name(day: i64) -> String {
    let name = usize::try_from(day).ok().and_then(|index| super::layout::WEEKDAYS.get(index));
    name.map_or_else(|| format!("%!Weekday({day})"), |name| (*name).to_owned())
}

const SELF: &[Parameter] = &[Parameter::Any];
const AND_TIME: &[Parameter] = &[Parameter::Any, Parameter::Time];
const AND_DURATION: &[Parameter] = &[Parameter::Any, DURATION];
const AND_DATE: &[Parameter] = &[Parameter::Any, Parameter::Integer, Parameter::Integer, Parameter::Integer];

fn of(time: Time) -> Value {
    Value::Named(Named::Time(time))
}

/// Methods of times.
pub(super) const METHODS: &[Function] = &[
    text_method(),
    fixed("Format", &[], &[Parameter::Any, Parameter::Text], |values, _| {
        Ok(Value::text(format_time(time_at(values, 0)?, text_at(values, 1))))
    }),
    fixed("Year", &[], SELF, |values, _| Ok(Value::Int(time_at(values, 0)?.parts().year))),
    fixed("Month", &[], SELF, |values, _| Ok(Value::Named(Named::Month(time_at(values, 0)?.parts().month)))),
    fixed("Day", &[], SELF, |values, _| Ok(Value::Int(time_at(values, 0)?.parts().day))),
    fixed("Weekday", &[], SELF, |values, _| Ok(Value::Named(Named::Weekday(time_at(values, 0)?.parts().weekday)))),
    fixed("YearDay", &[], SELF, |values, _| Ok(Value::Int(time_at(values, 0)?.parts().year_day))),
    fixed("Hour", &[], SELF, |values, _| Ok(Value::Int(time_at(values, 0)?.parts().hour))),
    fixed("Minute", &[], SELF, |values, _| Ok(Value::Int(time_at(values, 0)?.parts().minute))),
    fixed("Second", &[], SELF, |values, _| Ok(Value::Int(time_at(values, 0)?.parts().second))),
    fixed("Nanosecond", &[], SELF, |values, _| Ok(Value::Int(i64::from(time_at(values, 0)?.nanos)))),
    fixed("Unix", &[], SELF, |values, _| Ok(Value::Int64(time_at(values, 0)?.seconds))),
    fixed("UnixMilli", &[], SELF, |values, _| Ok(since_1970(time_at(values, 0)?, 1_000_000))),
    fixed("UnixMicro", &[], SELF, |values, _| Ok(since_1970(time_at(values, 0)?, 1000))),
    fixed("UnixNano", &[], SELF, |values, _| Ok(since_1970(time_at(values, 0)?, 1))),
    fixed("UTC", &[], SELF, |values, _| Ok(of(Time { zone: Zone::Utc, ..time_at(values, 0)?.clone() }))),
    fixed("IsZero", &[], SELF, |values, _| {
        let time = time_at(values, 0)?;
        Ok(Value::Bool(time.seconds == -YEAR_ONE && time.nanos == 0))
    }),
    fixed("Equal", &[], AND_TIME, |values, _| {
        Ok(Value::Bool(time_at(values, 0)?.all_nanos() == time_at(values, 1)?.all_nanos()))
    }),
    fixed("Before", &[], AND_TIME, |values, _| {
        Ok(Value::Bool(time_at(values, 0)?.all_nanos() < time_at(values, 1)?.all_nanos()))
    }),
    fixed("After", &[], AND_TIME, |values, _| {
        Ok(Value::Bool(time_at(values, 0)?.all_nanos() > time_at(values, 1)?.all_nanos()))
    }),
    fixed("Compare", &[], AND_TIME, |values, _| {
        let order = time_at(values, 0)?.all_nanos().cmp(&time_at(values, 1)?.all_nanos());
        Ok(Value::Int(i64::from(order as i8)))
    }),
    fixed("Sub", &[], AND_TIME, |values, _| {
        let nanos = time_at(values, 0)?.all_nanos() - time_at(values, 1)?.all_nanos();
        let held = i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX });
        Ok(Value::Named(Named::Duration(held)))
    }),
    fixed("Add", &[], AND_DURATION, |values, _| {
        let time = time_at(values, 0)?;
        Ok(of(time.with_nanos(time.all_nanos() + i128::from(duration_at(values, 1)))))
    }),
    fixed("AddDate", &[], AND_DATE, add_date),
    fixed("Truncate", &[], AND_DURATION, |values, _| {
        let (time, unit) = (time_at(values, 0)?, duration_at(values, 1));
        Ok(of(if unit <= 0 { time.clone() } else { time.with_nanos(time.all_nanos() - time.behind(unit)) }))
    }),
    fixed("Round", &[], AND_DURATION, |values, _| {
        let (time, unit) = (time_at(values, 0)?, duration_at(values, 1));
        if unit <= 0 {
            return Ok(of(time.clone()));
        }
        let behind = time.behind(unit);
        let ahead = if behind * 2 < i128::from(unit) { 0 } else { i128::from(unit) };
        Ok(of(time.with_nanos(time.all_nanos() - behind + ahead)))
    }),
];

fn since_1970(time: &Time, unit: i128) -> Value {
    let count = time.all_nanos().div_euclid(unit);
    Value::Int64(i64::try_from(count).unwrap_or(if count < 0 { i64::MIN } else { i64::MAX }))
}

fn add_date(values: &[Value], _: &mut crate::template::limits::Budget) -> Result<Value, Failure> {
    let time = time_at(values, 0)?;
    let parts = time.parts();
    let days = days_from_date(
        parts.year.wrapping_add(integer_at(values, 1)),
        parts.month.wrapping_add(integer_at(values, 2)),
        parts.day.wrapping_add(integer_at(values, 3)),
    );
    let clock = parts.hour * 3600 + parts.minute * 60 + parts.second;
    Ok(of(Time::shown(days.wrapping_mul(DAY).wrapping_add(clock), time.nanos, time.zone.clone())))
}
