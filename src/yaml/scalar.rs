//! Pure. What a plain scalar means: one text, two readings.
//!
//! kubectl and the API server read plain scalars by the rules of yaml.v2, gomplate and `kustomize build` by those of
//! yaml.v3. They agree on numbers and nulls; they differ on `yes`, `no`, `on`, `off`, `y`, `n` and on dates.
//!
//! Not here: quoting (`write.rs`), maps and lists (`build.rs`).

use serde_json::Number;

use super::Dialect;

/// What a plain scalar stands for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Reading {
    /// `~`, `null`, nothing at all.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number that JSON can hold.
    Number(Number),
    /// An infinity or not-a-number, which JSON cannot hold.
    NotFinite,
    /// A point in time, as RFC 3339 text.
    Time(String),
    /// Just the text.
    Text,
}

/// Returns what a plain scalar means in a dialect.
pub(super) fn read(text: &str, dialect: Dialect) -> Reading {
    let Some(first) = text.chars().next() else { return Reading::Null };
    match first {
        '~' | 'n' | 'N' | 't' | 'T' | 'f' | 'F' | 'y' | 'Y' | 'o' | 'O' => word(text, dialect),
        '.' => not_finite(text).or_else(|| float(text)).unwrap_or(Reading::Text),
        '+' | '-' | '0'..='9' => numeric(text, dialect),
        _ => Reading::Text,
    }
}

fn word(text: &str, dialect: Dialect) -> Reading {
    match text {
        "~" | "null" | "Null" | "NULL" => Reading::Null,
        "true" | "True" | "TRUE" => Reading::Bool(true),
        "false" | "False" | "FALSE" => Reading::Bool(false),
        _ => match (dialect, old_boolean(text)) {
            (Dialect::Kube, Some(flag)) => Reading::Bool(flag),
            (Dialect::Kube, None) | (Dialect::Gomplate, _) => Reading::Text,
        },
    }
}

/// Returns the boolean that YAML 1.1 saw in a word. yaml.v3 dropped them, yaml.v2 and so kubectl keep them.
pub(super) fn old_boolean(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

fn not_finite(text: &str) -> Option<Reading> {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let infinite = matches!(rest, ".inf" | ".Inf" | ".INF");
    let nan = matches!(text, ".nan" | ".NaN" | ".NAN");
    (infinite || nan).then_some(Reading::NotFinite)
}

fn numeric(text: &str, dialect: Dialect) -> Reading {
    if let Some(reading) = not_finite(text) {
        return reading;
    }
    if let Some(time) = time(text) {
        return match dialect {
            Dialect::Kube => Reading::Text,
            Dialect::Gomplate => Reading::Time(time),
        };
    }
    let plain = text.replace('_', "");
    integer(&plain).or_else(|| float(&plain)).unwrap_or(Reading::Text)
}

/// Reads an integer as Go's `ParseInt` with base 0 does: `0x`, `0o`, `0b` and a bare leading zero choose the base.
fn integer(plain: &str) -> Option<Reading> {
    let (negative, digits) = match plain.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, plain.strip_prefix('+').unwrap_or(plain)),
    };
    let (base, digits) = split_base(digits)?;
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(base)) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    let number = if negative {
        Number::from(0_i64.checked_sub_unsigned(magnitude)?)
    } else if plain.starts_with('+') {
        // The unsigned parser behind Go's fallback takes no sign, so a signed text beyond i64 becomes a float.
        Number::from(i64::try_from(magnitude).ok()?)
    } else {
        Number::from(magnitude)
    };
    Some(Reading::Number(number))
}

fn split_base(digits: &str) -> Option<(u32, &str)> {
    let Some(rest) = digits.strip_prefix('0') else { return Some((10, digits)) };
    if rest.is_empty() {
        return Some((10, digits));
    }
    for (mark, base) in [('x', 16), ('X', 16), ('o', 8), ('O', 8), ('b', 2), ('B', 2)] {
        if let Some(after) = rest.strip_prefix(mark) {
            return (!after.is_empty()).then_some((base, after));
        }
    }
    Some((8, rest))
}

fn float(plain: &str) -> Option<Reading> {
    if !has_float_shape(plain) {
        return None;
    }
    let value: f64 = plain.parse().ok()?;
    Number::from_f64(value).map(Reading::Number)
}

/// Returns whether a text has the form of a decimal number, in range or not: `1`, `1.`, `.5`, `-1.5e+3`.
pub(super) fn has_float_shape(plain: &str) -> bool {
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    mantissa_fits && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent))
}

/// Turns a number into what JSON readers written in Go make of it: a float without a fraction is an integer.
pub(super) fn as_json(number: Number) -> Number {
    match number.as_f64() {
        Some(value) if number.is_f64() && value.fract() == 0.0 => {
            let digits = format!("{value:.0}");
            let integer = digits.parse::<i64>().map(Number::from).or_else(|_| digits.parse::<u64>().map(Number::from));
            integer.unwrap_or(number)
        }
        Some(_) | None => number,
    }
}

/// Returns a date or time as RFC 3339 text, if yaml.v3 would see one here.
pub(super) fn time(text: &str) -> Option<String> {
    let (year, rest) = text.split_once('-')?;
    if year.len() != 4 || !year.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let year: u32 = year.parse().ok()?;
    let (month, rest) = short_number(rest)?;
    let (day, rest) = short_number(rest.strip_prefix('-')?)?;
    if !(1..=12).contains(&month) || !(1..=days(year, month)).contains(&day) {
        return None;
    }
    let (clock, zone) = match rest.chars().next() {
        None => ("00:00:00".to_owned(), "Z".to_owned()),
        Some('T' | 't') => {
            let (clock, rest) = clock(rest.strip_prefix(['T', 't'])?)?;
            (clock, zone(rest)?)
        }
        Some(' ') => {
            let (clock, rest) = clock(rest.strip_prefix(' ')?)?;
            rest.is_empty().then(|| (clock, "Z".to_owned()))?
        }
        Some(_) => return None,
    };
    Some(format!("{year:04}-{month:02}-{day:02}T{clock}{zone}"))
}

fn clock(text: &str) -> Option<(String, &str)> {
    let (hour, rest) = short_number(text)?;
    let (minute, rest) = short_number(rest.strip_prefix(':')?)?;
    let (second, rest) = short_number(rest.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (fraction, rest) = match rest.strip_prefix(['.', ',']) {
        Some(after) => {
            let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            let (digits, rest) = after.split_at_checked(end)?;
            if digits.is_empty() {
                return None;
            }
            let kept: String = digits.chars().take(9).collect();
            (kept.trim_end_matches('0').to_owned(), rest)
        }
        None => (String::new(), rest),
    };
    let dot = if fraction.is_empty() { "" } else { "." };
    Some((format!("{hour:02}:{minute:02}:{second:02}{dot}{fraction}"), rest))
}

fn zone(text: &str) -> Option<String> {
    if text == "Z" {
        return Some("Z".to_owned());
    }
    let (hours, minutes) = text.strip_prefix(['+', '-'])?.split_once(':')?;
    let two = |text: &str| (text.len() == 2).then(|| text.parse::<u8>().ok()).flatten();
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    if hours > 24 || minutes > 59 {
        return None;
    }
    Some(if hours == 0 && minutes == 0 { "Z".to_owned() } else { text.to_owned() })
}

/// Reads one or two digits.
fn short_number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()).min(2);
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

fn days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
