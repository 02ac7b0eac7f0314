//! Pure. Reads a time by one of Go's layouts.
//!
//! Not here: writing one (`layout.rs`).

use super::civil::{DAY, days_from_date, days_in};
use super::layout::{MONTHS, Part, WEEKDAYS, next_part};
use super::time::{Time, Zone};
use crate::template::failure::Failure;

/// What was read so far.
struct Read<'a> {
    rest: &'a str,
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: u32,
    afternoon: Option<bool>,
    utc: bool,
    offset: Option<i64>,
    zone_name: &'a str,
}

/// Reads a time; without a zone in the text it is told in this one.
pub(in crate::template) fn parse_time(layout: &str, text: &str, zone: Zone) -> Result<Time, Failure> {
    let wrong = || Failure::call("the text is no time of this layout");
    let mut read = Read {
        rest: text,
        year: 0,
        month: None,
        day: None,
        year_day: None,
        hour: 0,
        minute: 0,
        second: 0,
        nanos: 0,
        afternoon: None,
        utc: false,
        offset: None,
        zone_name: "",
    };
    let mut layout = layout;
    loop {
        let (before, part, after) = next_part(layout);
        read.rest = skip(read.rest, before).ok_or_else(wrong)?;
        let Some(part) = part else { break };
        layout = after;
        read.take(part, after).ok_or_else(wrong)?;
    }
    if !read.rest.is_empty() {
        return Err(wrong());
    }
    read.finish(zone).ok_or_else(wrong)
}

/// Skips the text of a layout; a space in it stands for any number of them.
fn skip<'a>(mut text: &'a str, mut expected: &str) -> Option<&'a str> {
    while let Some(c) = expected.chars().next() {
        if c == ' ' {
            if !text.is_empty() && !text.starts_with(' ') {
                return None;
            }
            expected = expected.trim_start_matches(' ');
            text = text.trim_start_matches(' ');
        } else {
            text = text.strip_prefix(c)?;
            expected = expected.strip_prefix(c)?;
        }
    }
    Some(text)
}

/// Whether a number must have all its digits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    Fixed,
    Free,
}

impl<'a> Read<'a> {
    fn number(&mut self, most: usize, width: Width) -> Option<i64> {
        let digits = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if digits == 0 || width == Width::Fixed && digits < most {
            return None;
        }
        let (number, rest) = self.rest.split_at_checked(digits)?;
        self.rest = rest;
        number.parse().ok()
    }

    fn within(&mut self, width: Width, range: std::ops::Range<i64>) -> Option<i64> {
        self.number(2, width).filter(|number| range.contains(number))
    }

    fn name(&mut self, names: &[&str], length: Option<usize>) -> Option<i64> {
        let found = names.iter().position(|name| {
            let name = length.and_then(|length| name.get(..length)).unwrap_or(name);
            self.rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        })?;
        let length = length.unwrap_or(names.get(found)?.len());
        self.rest = self.rest.get(length..)?;
        i64::try_from(found).ok()
    }

    /// Reads one part.
    fn take(&mut self, part: Part, after: &str) -> Option<()> {
        match part {
            Part::Year => {
                let year = self.number(2, Width::Fixed)?;
                self.year = if year >= 69 { 1900 + year } else { 2000 + year };
            }
            Part::LongYear => self.year = self.number(4, Width::Fixed)?,
            Part::Month => self.month = Some(self.name(&MONTHS, Some(3))? + 1),
            Part::LongMonth => self.month = Some(self.name(&MONTHS, None)? + 1),
            Part::NumMonth => self.month = Some(self.within(Width::Free, 1..13)?),
            Part::ZeroMonth => self.month = Some(self.within(Width::Fixed, 1..13)?),
            Part::Weekday => drop(self.name(&WEEKDAYS, Some(3))?),
            Part::LongWeekday => drop(self.name(&WEEKDAYS, None)?),
            Part::Day => self.day = Some(self.number(2, Width::Free)?),
            Part::ZeroDay => self.day = Some(self.number(2, Width::Fixed)?),
            Part::UnderDay => {
                self.rest = self.rest.strip_prefix(' ').unwrap_or(self.rest);
                self.day = Some(self.number(2, Width::Free)?);
            }
            Part::ZeroYearDay => self.year_day = Some(self.number(3, Width::Fixed)?),
            Part::UnderYearDay => {
                for _ in 0..2 {
                    self.rest = self.rest.strip_prefix(' ').unwrap_or(self.rest);
                }
                self.year_day = Some(self.number(3, Width::Free)?);
            }
            Part::Hour => self.hour = self.within(Width::Free, 0..24)?,
            Part::Hour12 => self.hour = self.within(Width::Free, 0..13)?,
            Part::ZeroHour12 => self.hour = self.within(Width::Fixed, 0..13)?,
            Part::Minute => self.minute = self.within(Width::Free, 0..60)?,
            Part::ZeroMinute => self.minute = self.within(Width::Fixed, 0..60)?,
            Part::Second => self.second(Width::Free, after)?,
            Part::ZeroSecond => self.second(Width::Fixed, after)?,
            Part::Upper => self.half("AM", "PM")?,
            Part::Lower => self.half("am", "pm")?,
            Part::Abbreviation => self.abbreviation()?,
            Part::Offset(zulu, colon, numbers) => self.offset(zulu, colon, numbers)?,
            Part::Fraction(_, digits) => self.fraction(digits)?,
            Part::Trimmed(..) => {
                if self.starts_fraction() {
                    self.any_fraction()?;
                }
            }
        }
        Some(())
    }

    fn starts_fraction(&self) -> bool {
        let mut bytes = self.rest.bytes();
        matches!(bytes.next(), Some(b'.' | b',')) && bytes.next().is_some_and(|byte| byte.is_ascii_digit())
    }

    /// Reads seconds, with a fraction also where the layout has none.
    fn second(&mut self, width: Width, after: &str) -> Option<()> {
        self.second = self.within(width, 0..60)?;
        let follows = matches!(next_part(after).1, Some(Part::Fraction(..) | Part::Trimmed(..)));
        if self.starts_fraction() && !follows { self.any_fraction() } else { Some(()) }
    }

    fn any_fraction(&mut self) -> Option<()> {
        let digits = self.rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
        self.fraction(digits)
    }

    fn fraction(&mut self, digits: usize) -> Option<()> {
        let (text, rest) = self.rest.split_at_checked(digits + 1)?;
        let text = text.strip_prefix(['.', ','])?;
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let kept: String = text.chars().chain("000000000".chars()).take(9).collect();
        self.nanos = kept.parse().ok()?;
        self.rest = rest;
        Some(())
    }

    fn half(&mut self, morning: &str, afternoon: &str) -> Option<()> {
        let is_afternoon = self.rest.starts_with(afternoon);
        let rest = self.rest.strip_prefix(if is_afternoon { afternoon } else { morning })?;
        self.afternoon = Some(is_afternoon);
        self.rest = rest;
        Some(())
    }

    fn offset(&mut self, zulu: bool, colon: bool, numbers: u8) -> Option<()> {
        if zulu && let Some(rest) = self.rest.strip_prefix('Z') {
            self.utc = true;
            self.rest = rest;
            return Some(());
        }
        let negative = self.rest.starts_with('-');
        self.rest = self.rest.strip_prefix(['+', '-'])?;
        let mut total = 0;
        // Go takes 24 hours, 60 minutes and 60 seconds, because people write them.
        for (index, (most, unit)) in [(24, 3600), (60, 60), (60, 1)].into_iter().enumerate().take(usize::from(numbers))
        {
            if colon && index > 0 {
                self.rest = self.rest.strip_prefix(':')?;
            }
            total += self.within(Width::Fixed, 0..most + 1)? * unit;
        }
        self.offset = Some(if negative { -total } else { total });
        Some(())
    }

    fn abbreviation(&mut self) -> Option<()> {
        if let Some(rest) = self.rest.strip_prefix("UTC") {
            self.utc = true;
            self.rest = rest;
            return Some(());
        }
        let length = zone_length(self.rest)?;
        (self.zone_name, self.rest) = self.rest.split_at_checked(length)?;
        Some(())
    }

    fn finish(self, zone: Zone) -> Option<Time> {
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let days = self.days()?;
        let clock = days * DAY + hour * 3600 + self.minute * 60 + self.second;
        let nanos = self.nanos;
        if self.utc {
            return Some(Time::utc(clock, nanos));
        }
        if let Some(offset) = self.offset {
            let seconds = clock - offset;
            let (known, name) = zone.at(seconds);
            if known == offset && (self.zone_name.is_empty() || name == self.zone_name) {
                return Some(Time { seconds, nanos, zone });
            }
            return Some(Time { seconds, nanos, zone: Zone::Fixed(self.zone_name.into(), offset) });
        }
        if self.zone_name.is_empty() {
            return Some(Time::shown(clock, nanos, zone));
        }
        if let Some(offset) = offset_of_name(&zone, self.zone_name, clock) {
            return Some(Time { seconds: clock - offset, nanos, zone });
        }
        let hours = self.zone_name.strip_prefix("GMT").and_then(|hours| hours.parse::<i64>().ok()).unwrap_or(0);
        // The clock of a zone without rules counts as UTC, also where the name tells an offset.
        Some(Time { seconds: clock, nanos, zone: Zone::Fixed(self.zone_name.into(), hours * 3600) })
    }

    fn days(&self) -> Option<i64> {
        let year = self.year;
        let Some(year_day) = self.year_day else {
            let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
            return (1..=days_in(year, month)).contains(&day).then(|| days_from_date(year, month, day));
        };
        let length = days_from_date(year + 1, 1, 1) - days_from_date(year, 1, 1);
        if !(1..=length).contains(&year_day) {
            return None;
        }
        let days = days_from_date(year, 1, 1) + year_day - 1;
        let (_, month, day) = super::civil::date_from_days(days);
        let fits = self.month.is_none_or(|given| given == month) && self.day.is_none_or(|given| given == day);
        fits.then_some(days)
    }
}

/// Returns the offset that a name stands for in a zone near a clock time.
fn offset_of_name(zone: &Zone, name: &str, clock: i64) -> Option<i64> {
    let half_a_year = 183 * DAY;
    [0, half_a_year, -half_a_year].into_iter().find_map(|shift| {
        let (offset, found) = zone.at(clock + shift);
        (found == name).then_some(offset)
    })
}

/// Returns how many bytes at the begin of a text look like the name of a zone.
fn zone_length(text: &str) -> Option<usize> {
    if text.starts_with("ChST") || text.starts_with("MeST") {
        return Some(4);
    }
    if let Some(rest) = text.strip_prefix("GMT") {
        return Some(3 + signed_length(rest));
    }
    if text.starts_with(['+', '-']) {
        return Some(signed_length(text)).filter(|length| *length > 0);
    }
    let upper = text.bytes().take(6).take_while(u8::is_ascii_uppercase).count();
    match upper {
        3 => Some(3),
        4 if text.as_bytes().get(3) == Some(&b'T') || text.starts_with("WITA") => Some(4),
        5 if text.as_bytes().get(4) == Some(&b'T') => Some(5),
        _ => None,
    }
}

/// Returns the length of a sign with an hour behind it.
fn signed_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['+', '-']) else { return 0 };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let hour = rest.get(..digits).and_then(|digits| digits.parse::<u64>().ok());
    if hour.is_some_and(|hour| hour <= 23) { digits + 1 } else { 0 }
}
