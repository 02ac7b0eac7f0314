//! Pure. Go's layouts of times: their parts, and how a time is written by them.
//!
//! Not here: reading a time by a layout (`reading.rs`).

use super::time::Time;

/// Names of the months.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Names of the days of the week.
pub(super) const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A part of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    Upper,
    Lower,
    Abbreviation,
    /// An offset: whether `Z` stands for UTC, whether colons stand in it, and how many of its numbers are written.
    Offset(bool, bool, u8),
    /// A fraction of a second with so many digits behind this sign; zeros at its end stay.
    Fraction(char, usize),
    /// The same without zeros at its end.
    Trimmed(char, usize),
}

/// The parts that are known by how they begin, the longer ones first.
const PARTS: [(&str, Part); 38] = [
    ("January", Part::LongMonth),
    ("Jan", Part::Month),
    ("Monday", Part::LongWeekday),
    ("Mon", Part::Weekday),
    ("MST", Part::Abbreviation),
    ("01", Part::ZeroMonth),
    ("02", Part::ZeroDay),
    ("03", Part::ZeroHour12),
    ("04", Part::ZeroMinute),
    ("05", Part::ZeroSecond),
    ("06", Part::Year),
    ("002", Part::ZeroYearDay),
    ("15", Part::Hour),
    ("1", Part::NumMonth),
    ("2006", Part::LongYear),
    ("2", Part::Day),
    ("__2", Part::UnderYearDay),
    ("_2", Part::UnderDay),
    ("3", Part::Hour12),
    ("4", Part::Minute),
    ("5", Part::Second),
    ("PM", Part::Upper),
    ("pm", Part::Lower),
    ("-07:00:00", Part::Offset(false, true, 3)),
    ("-070000", Part::Offset(false, false, 3)),
    ("-07:00", Part::Offset(false, true, 2)),
    ("-0700", Part::Offset(false, false, 2)),
    ("-07", Part::Offset(false, false, 1)),
    ("Z07:00:00", Part::Offset(true, true, 3)),
    ("Z070000", Part::Offset(true, false, 3)),
    ("Z07:00", Part::Offset(true, true, 2)),
    ("Z0700", Part::Offset(true, false, 2)),
    ("Z07", Part::Offset(true, false, 1)),
    // Fractions are found by their digits.
    (".0", Part::Fraction('.', 0)),
    (",0", Part::Fraction(',', 0)),
    (".9", Part::Trimmed('.', 0)),
    (",9", Part::Trimmed(',', 0)),
    ("\0", Part::Year),
];

/// Splits a layout at its first part: the text before it, the part, and the rest.
pub(super) fn next_part(layout: &str) -> (&str, Option<Part>, &str) {
    for (at, _) in layout.char_indices() {
        let rest = layout.get(at..).unwrap_or("");
        if rest.starts_with("_2006") {
            // The line stays a text.
            let before = layout.get(..=at).unwrap_or("");
            return (before, Some(Part::LongYear), rest.get(5..).unwrap_or(""));
        }
        if let Some((part, length)) = part_at(rest) {
            return (layout.get(..at).unwrap_or(""), Some(part), rest.get(length..).unwrap_or(""));
        }
    }
    (layout, None, "")
}

fn part_at(rest: &str) -> Option<(Part, usize)> {
    let (name, part) = PARTS.iter().find(|(name, part)| {
        let after = rest.strip_prefix(name);
        let lower = |after: &str| after.starts_with(|c: char| c.is_ascii_lowercase());
        match part {
            Part::Month | Part::Weekday => after.is_some_and(|after| !lower(after)),
            _ => after.is_some(),
        }
    })?;
    let (Part::Fraction(mark, _) | Part::Trimmed(mark, _)) = *part else { return Some((*part, name.len())) };
    let digit = name.chars().nth(1)?;
    let digits = rest.chars().skip(1).take_while(|c| *c == digit).count();
    if rest.chars().nth(digits + 1).is_some_and(|c| c.is_ascii_digit()) {
        return None;
    }
    let part = if digit == '0' { Part::Fraction(mark, digits) } else { Part::Trimmed(mark, digits) };
    Some((part, digits + 1))
}

/// Writes a time by a layout.
pub(super) fn format_time(time: &Time, layout: &str) -> String {
    let parts = time.parts();
    let (offset, name) = time.zone.at(time.seconds);
    let mut out = String::new();
    let mut rest = layout;
    while !rest.is_empty() {
        let (before, part, after) = next_part(rest);
        out.push_str(before);
        rest = after;
        let Some(part) = part else { break };
        let hour12 = if parts.hour % 12 == 0 { 12 } else { parts.hour % 12 };
        out.push_str(&match part {
            Part::LongMonth => super::time::month_name(parts.month),
            Part::Month => super::time::month_name(parts.month).chars().take(3).collect(),
            Part::NumMonth => parts.month.to_string(),
            Part::ZeroMonth => format!("{:02}", parts.month),
            Part::LongWeekday => super::time::weekday_name(parts.weekday),
            Part::Weekday => super::time::weekday_name(parts.weekday).chars().take(3).collect(),
            Part::Day => parts.day.to_string(),
            Part::UnderDay => format!("{:2}", parts.day),
            Part::ZeroDay => format!("{:02}", parts.day),
            Part::UnderYearDay => format!("{:3}", parts.year_day),
            Part::ZeroYearDay => format!("{:03}", parts.year_day),
            Part::Hour => format!("{:02}", parts.hour),
            Part::Hour12 => hour12.to_string(),
            Part::ZeroHour12 => format!("{hour12:02}"),
            Part::Minute => parts.minute.to_string(),
            Part::ZeroMinute => format!("{:02}", parts.minute),
            Part::Second => parts.second.to_string(),
            Part::ZeroSecond => format!("{:02}", parts.second),
            Part::LongYear if parts.year < 0 => format!("-{:04}", -parts.year),
            Part::LongYear => format!("{:04}", parts.year),
            Part::Year => format!("{:02}", parts.year.max(0) % 100),
            Part::Upper => if parts.hour >= 12 { "PM" } else { "AM" }.to_owned(),
            Part::Lower => if parts.hour >= 12 { "pm" } else { "am" }.to_owned(),
            Part::Abbreviation if name.is_empty() => offset_text(offset, false, 2),
            Part::Abbreviation => name.clone(),
            Part::Offset(true, _, _) if offset == 0 => "Z".to_owned(),
            Part::Offset(_, colon, numbers) => offset_text(offset, colon, numbers),
            Part::Fraction(mark, digits) => fraction(time.nanos, mark, digits),
            Part::Trimmed(mark, digits) => {
                let text = fraction(time.nanos, mark, digits);
                text.trim_end_matches('0').trim_end_matches(mark).to_owned()
            }
        });
    }
    out
}

fn fraction(nanos: u32, mark: char, digits: usize) -> String {
    let all = format!("{nanos:09}");
    format!("{mark}{}", all.chars().take(digits).collect::<String>())
}

fn offset_text(offset: i64, colon: bool, numbers: u8) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let size = offset.abs();
    let colon = if colon { ":" } else { "" };
    let mut text = format!("{sign}{:02}", size / 3600);
    if numbers > 1 {
        text.push_str(&format!("{colon}{:02}", size / 60 % 60));
    }
    if numbers > 2 {
        text.push_str(&format!("{colon}{:02}", size % 60));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Part, format_time, next_part};
    use crate::template::named::{Time, Zone};

    #[test]
    fn layouts_split_into_parts() {
        assert_eq!(next_part("on January 2"), ("on ", Some(Part::LongMonth), " 2"));
        assert_eq!(next_part("Janu"), ("Janu", None, ""));
        assert_eq!(next_part("_2006"), ("_", Some(Part::LongYear), ""));
        assert_eq!(next_part(".000x"), ("", Some(Part::Fraction('.', 3)), "x"));
    }

    #[test]
    fn a_time_is_written_by_a_layout() {
        let time = Time { zone: Zone::Fixed("".into(), 5400), ..Time::utc(1_704_164_645, 120_000_000) };
        assert_eq!(
            format_time(&time, "Mon Jan _2 15:04:05.999 2006 -07:00 PM 002"),
            "Tue Jan  2 04:34:05.12 2024 +01:30 AM 002"
        );
        assert_eq!(time.to_text(), "2024-01-02 04:34:05.12 +0130 +0130");
    }
}
