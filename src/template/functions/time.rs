//! Pure. Times and durations: `time.*`, as far as it needs neither clock nor host.
//!
//! Not here: their methods (`named`), and what asks the clock (`refused.rs`).

use super::conv::{to_int, to_text};
use super::{Function, Parameter, at, fixed, text_at};
use crate::template::failure::Failure;
use crate::template::named::{Named, Time, Zone, parse_duration, parse_time};
use crate::template::value::Value;

const ANY: &[Parameter] = &[Parameter::Any];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("Parse", &[], &[Parameter::Text, Parameter::Any], |values, budget| {
        let text = to_text(at(values, 1), budget)?;
        parse_time(text_at(values, 0), &text, Zone::Utc).map(|time| Value::Named(Named::Time(time)))
    }),
    fixed("ParseInLocation", &[], &[Parameter::Text, Parameter::Text, Parameter::Any], |values, budget| {
        let zone = Zone::named(text_at(values, 1))?;
        let text = to_text(at(values, 2), budget)?;
        parse_time(text_at(values, 0), &text, zone).map(|time| Value::Named(Named::Time(time)))
    }),
    fixed("ParseDuration", &[], ANY, |values, budget| {
        parse_duration(&to_text(at(values, 0), budget)?).map(|nanos| Value::Named(Named::Duration(nanos)))
    }),
    fixed("Unix", &[], ANY, |values, _| {
        let (seconds, nanos) = unix(at(values, 0))?;
        let seconds = seconds.wrapping_add(nanos.div_euclid(1_000_000_000));
        let nanos = u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap_or(0);
        Ok(Value::Named(Named::Time(Time::utc(seconds, nanos))))
    }),
    fixed("Nanosecond", &[], ANY, |values, _| duration(at(values, 0), 1)),
    fixed("Microsecond", &[], ANY, |values, _| duration(at(values, 0), 1000)),
    fixed("Millisecond", &[], ANY, |values, _| duration(at(values, 0), 1_000_000)),
    fixed("Second", &[], ANY, |values, _| duration(at(values, 0), 1_000_000_000)),
    fixed("Minute", &[], ANY, |values, _| duration(at(values, 0), 60_000_000_000)),
    fixed("Hour", &[], ANY, |values, _| duration(at(values, 0), 3_600_000_000_000)),
    layout("ANSIC", |_, _| Ok(Value::text("Mon Jan _2 15:04:05 2006"))),
    layout("UnixDate", |_, _| Ok(Value::text("Mon Jan _2 15:04:05 MST 2006"))),
    layout("RubyDate", |_, _| Ok(Value::text("Mon Jan 02 15:04:05 -0700 2006"))),
    layout("RFC822", |_, _| Ok(Value::text("02 Jan 06 15:04 MST"))),
    layout("RFC822Z", |_, _| Ok(Value::text("02 Jan 06 15:04 -0700"))),
    layout("RFC850", |_, _| Ok(Value::text("Monday, 02-Jan-06 15:04:05 MST"))),
    layout("RFC1123", |_, _| Ok(Value::text("Mon, 02 Jan 2006 15:04:05 MST"))),
    layout("RFC1123Z", |_, _| Ok(Value::text("Mon, 02 Jan 2006 15:04:05 -0700"))),
    layout("RFC3339", |_, _| Ok(Value::text("2006-01-02T15:04:05Z07:00"))),
    layout("RFC3339Nano", |_, _| Ok(Value::text("2006-01-02T15:04:05.999999999Z07:00"))),
    layout("Kitchen", |_, _| Ok(Value::text("3:04PM"))),
    layout("Stamp", |_, _| Ok(Value::text("Jan _2 15:04:05"))),
    layout("StampMilli", |_, _| Ok(Value::text("Jan _2 15:04:05.000"))),
    layout("StampMicro", |_, _| Ok(Value::text("Jan _2 15:04:05.000000"))),
    layout("StampNano", |_, _| Ok(Value::text("Jan _2 15:04:05.000000000"))),
];

/// Makes a constant, which is called like a function without arguments.
const fn layout(name: &'static str, body: super::Body) -> Function {
    fixed(name, &[], &[], body)
}

fn duration(value: &Value, unit: i64) -> Result<Value, Failure> {
    Ok(Value::Named(Named::Duration(to_int(value)?.wrapping_mul(unit))))
}

/// Returns seconds and nanoseconds of a number; a fraction must be written as a text.
fn unix(value: &Value) -> Result<(i64, i64), Failure> {
    let number =
        |text: &str| crate::template::number::parse_integer(text).ok_or_else(|| Failure::call("the text is no number"));
    match value {
        Value::Text(text) => match text.split_once('.') {
            None => Ok((number(text)?, 0)),
            Some((_, fraction)) if fraction.contains('.') => Err(Failure::call("the text is no number")),
            Some((whole, fraction)) => {
                let padded: String = fraction.chars().chain("000000000".chars()).take(9).collect();
                Ok((number(whole)?, number(&padded)?))
            }
        },
        Value::Int(seconds) => Ok((*seconds, 0)),
        Value::Uint64(seconds) => {
            i64::try_from(*seconds).map(|seconds| (seconds, 0)).map_err(|_| Failure::call("the number is too large"))
        }
        Value::Float(_) => Err(Failure::call("a number with a fraction is not exact").hint("write it as a text")),
        Value::Named(named) => unix(&Value::text(named.text())),
        // gomplate takes everything else for the begin of 1970.
        _ => Ok((0, 0)),
    }
}
