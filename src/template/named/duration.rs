//! Pure. Durations: how Go reads and prints them, and their methods.
//!
//! Not here: points in time (`time.rs`).

use super::{Named, duration_at, text_method};
use crate::template::failure::Failure;
use crate::template::functions::{Function, Parameter, fixed};
use crate::template::number::from_signed;
use crate::template::value::Value;

/// The parameter of functions that take a duration: constants count nanoseconds.
pub(in crate::template) const DURATION: Parameter = Parameter::Duration;

const SECOND: i64 = 1_000_000_000;
const SELF: &[Parameter] = &[Parameter::Any];
const TWO: &[Parameter] = &[Parameter::Any, DURATION];

/// Methods of durations.
pub(super) const METHODS: &[Function] = &[
    text_method(),
    fixed("Hours", &[], SELF, |values, _| Ok(Value::Float(parts(duration_at(values, 0), 3600 * SECOND)))),
    fixed("Minutes", &[], SELF, |values, _| Ok(Value::Float(parts(duration_at(values, 0), 60 * SECOND)))),
    fixed("Seconds", &[], SELF, |values, _| Ok(Value::Float(parts(duration_at(values, 0), SECOND)))),
    fixed("Milliseconds", &[], SELF, |values, _| Ok(Value::Int64(duration_at(values, 0) / 1_000_000))),
    fixed("Microseconds", &[], SELF, |values, _| Ok(Value::Int64(duration_at(values, 0) / 1000))),
    fixed("Nanoseconds", &[], SELF, |values, _| Ok(Value::Int64(duration_at(values, 0)))),
    fixed("Abs", &[], SELF, |values, _| Ok(of(duration_at(values, 0).saturating_abs()))),
    fixed("Truncate", &[], TWO, |values, _| {
        let (nanos, unit) = (duration_at(values, 0), duration_at(values, 1));
        Ok(of(if unit <= 0 { nanos } else { nanos - nanos.wrapping_rem(unit) }))
    }),
    fixed("Round", &[], TWO, |values, _| Ok(of(round(duration_at(values, 0), duration_at(values, 1))))),
];

fn of(nanos: i64) -> Value {
    Value::Named(Named::Duration(nanos))
}

/// Returns how many units there are, as Go adds whole and broken ones.
fn parts(nanos: i64, unit: i64) -> f64 {
    from_signed(nanos / unit) + from_signed(nanos % unit) / from_signed(unit)
}

fn round(nanos: i64, unit: i64) -> i64 {
    if unit <= 0 {
        return nanos;
    }
    let rest = nanos.wrapping_rem(unit);
    let up = rest.unsigned_abs() >= unit.unsigned_abs() - rest.unsigned_abs();
    match (up, nanos < 0) {
        (false, _) => nanos - rest,
        (true, false) => (nanos - rest).saturating_add(unit),
        (true, true) => (nanos - rest).saturating_sub(unit),
    }
}

/// Prints a duration: `1h15m30.918s`, and below a second in its own unit.
pub(in crate::template) fn format_duration(nanos: i64) -> String {
    let size = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    let body = match size {
        0 => "0s".to_owned(),
        1..1000 => format!("{size}ns"),
        1000..1_000_000 => format!("{}µs", decimal(size, 1000, 3)),
        1_000_000..1_000_000_000 => format!("{}ms", decimal(size, 1_000_000, 6)),
        _ => {
            let seconds = decimal(size % 60_000_000_000, 1_000_000_000, 9);
            let minutes = size / 60_000_000_000;
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    };
    format!("{sign}{body}")
}

fn decimal(size: u64, unit: u64, digits: usize) -> String {
    let rest = format!("{:0digits$}", size % unit);
    let rest = rest.trim_end_matches('0');
    if rest.is_empty() { (size / unit).to_string() } else { format!("{}.{rest}", size / unit) }
}

/// Reads a duration such as `-1.5h` or `2h45m`.
pub(in crate::template) fn parse_duration(text: &str) -> Result<i64, Failure> {
    let wrong = || Failure::call("the text is no duration").hint("write one like 1h30m or 1.5s");
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (nanos, after) = element(rest).ok_or_else(wrong)?;
        rest = after;
        total = total.checked_add(nanos).filter(|total| *total <= 1 << 63).ok_or_else(wrong)?;
    }
    let total = i128::from(total) * if negative { -1 } else { 1 };
    i64::try_from(total).map_err(|_| wrong())
}

/// Reads a number with its unit.
fn element(text: &str) -> Option<(u64, &str)> {
    let end = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = text.split_at_checked(end(text))?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at_checked(end(rest))?,
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let stop = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(stop)?;
    let unit: u64 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let nanos = whole.checked_mul(unit).filter(|nanos| *nanos <= 1 << 63)?;
    // Eighteen digits are more than a nanosecond can show.
    let kept: String = fraction.chars().take(18).collect();
    let scale = 10_u128.pow(u32::try_from(kept.len()).ok()?);
    let part = kept.parse::<u128>().unwrap_or(0) * u128::from(unit) / scale;
    Some((nanos.checked_add(u64::try_from(part).ok()?)?, rest))
}

#[cfg(test)]
mod tests {
    use super::{format_duration, parse_duration};

    #[test]
    fn durations_read_back_as_they_print() {
        for (text, printed) in [
            ("1h30m", "1h30m0s"),
            ("1.5s", "1.5s"),
            ("-2m", "-2m0s"),
            ("1500us", "1.5ms"),
            ("0", "0s"),
            (".5s", "500ms"),
        ] {
            assert_eq!(format_duration(parse_duration(text).unwrap()), printed, "{text}");
        }
        for text in ["", "1", "x", "1d", "-", "s", "9223372036854775808ns", "1..s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert_eq!(parse_duration("-9223372036854775808ns").unwrap(), i64::MIN);
    }
}
