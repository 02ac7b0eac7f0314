//! Pure. Numbers as Go reads and writes them.
//!
//! Not here: verbs, widths and signs (`print.rs`).

/// Reads an integer the way Go reads its own literals: a prefix chooses the base, a leading zero means octal.
pub(super) fn parse_integer(text: &str) -> Option<i64> {
    let (negative, magnitude) = parse_magnitude(text, 0)?;
    signed(negative, magnitude)
}

/// Reads an integer in a base from 2 to 36; base 0 as `parse_integer`.
pub(super) fn parse_integer_in(text: &str, base: u32) -> Option<i64> {
    let (negative, magnitude) = parse_magnitude(text, base)?;
    signed(negative, magnitude)
}

/// Reads an integer without sign in a base from 2 to 36; base 0 as `parse_integer`.
pub(super) fn parse_unsigned_in(text: &str, base: u32) -> Option<u64> {
    if text.starts_with(['+', '-']) { None } else { Some(parse_magnitude(text, base)?.1) }
}

fn signed(negative: bool, magnitude: u64) -> Option<i64> {
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Returns the sign and magnitude of an integer.
fn parse_magnitude(text: &str, base: u32) -> Option<(bool, u64)> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, rest) = match base {
        0 => prefix(digits),
        2..=36 => (base, digits),
        _ => return None,
    };
    let underscores = rest.contains('_');
    if underscores && (base != 0 || !underscores_fit(digits)) {
        return None;
    }
    let plain: String = rest.chars().filter(|c| *c != '_').collect();
    if !plain.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    Some((negative, u64::from_str_radix(&plain, radix).ok()?))
}

/// Returns the base that a prefix chooses and the digits after it.
fn prefix(digits: &str) -> (u32, &str) {
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)] {
        if let Some(rest) = digits.strip_prefix(prefix) {
            return (radix, rest);
        }
    }
    match digits.strip_prefix('0') {
        Some(rest) if !rest.is_empty() => (8, rest),
        _ => (10, digits),
    }
}

/// Returns whether each underscore stands between two digits or between a base prefix and a digit.
fn underscores_fit(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = text.to_ascii_lowercase();
    let (hexadecimal, body) = match ["0x", "0o", "0b"].iter().find_map(|prefix| lower.strip_prefix(prefix)) {
        Some(body) => (lower.starts_with("0x"), format!("0{body}")),
        None => (false, lower.clone()),
    };
    let digit = |c: char| c.is_ascii_digit() || hexadecimal && c.is_ascii_hexdigit();
    let mut previous = '-';
    for c in body.chars() {
        if c == '_' && !digit(previous) || previous == '_' && !digit(c) {
            return false;
        }
        previous = c;
    }
    previous != '_'
}

/// Reads a float: decimal or hexadecimal, with exponent, underscores between digits, and the names of infinity and no number.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_ascii_lowercase();
    let signed = |value: f64| if text.starts_with('-') { -value } else { value };
    match lower.as_str() {
        "inf" | "infinity" => return Some(signed(f64::INFINITY)),
        "nan" if text.len() == unsigned.len() => return Some(f64::NAN),
        _ => {}
    }
    if unsigned.contains('_') && !underscores_fit(text) {
        return None;
    }
    let plain: String = lower.chars().filter(|c| *c != '_').collect();
    if let Some(digits) = plain.strip_prefix("0x") {
        return Some(signed(parse_hexadecimal_float(digits)?));
    }
    if !plain.chars().all(|c| matches!(c, '0'..='9' | '.' | 'e' | '+' | '-')) {
        return None;
    }
    let value: f64 = plain.parse().ok()?;
    value.is_finite().then(|| signed(value))
}

/// Reads what follows `0x` in a float, exact as long as the mantissa has at most 53 bits.
fn parse_hexadecimal_float(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let joined = format!("{whole}{fraction}");
    if joined.is_empty() || joined.len() > 13 {
        return None;
    }
    let integer = u64::from_str_radix(&joined, 16).ok()?;
    let scale = i32::try_from(fraction.len()).ok()?.checked_mul(-4)?;
    let power = exponent.parse::<i32>().ok()?.checked_add(scale)?;
    let value = from_unsigned(integer) * 2_f64.powi(power);
    value.is_finite().then_some(value)
}

/// Returns an integer as the nearest float.
#[expect(clippy::cast_precision_loss, reason = "Go rounds to the nearest float as well")]
pub(super) fn from_unsigned(value: u64) -> f64 {
    value as f64
}

/// Returns an integer as the nearest float.
#[expect(clippy::cast_precision_loss, reason = "Go rounds to the nearest float as well")]
pub(super) fn from_signed(value: i64) -> f64 {
    value as f64
}

/// Returns a float without its fraction. Out of range Go gives the smallest integer on the usual processors.
pub(super) fn truncate(value: f64) -> i64 {
    const END: f64 = 9_223_372_036_854_775_808.0;
    if (-END..END).contains(&value) {
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked and the fraction is to go")]
        let whole = value as i64;
        whole
    } else {
        i64::MIN
    }
}

/// Returns a float as an integer if nothing is lost.
pub(super) fn exact(value: f64) -> Option<i64> {
    let whole = truncate(value);
    #[expect(clippy::float_cmp, reason = "equal or not is the question")]
    let same = from_signed(whole) == value && value.abs() < 9_223_372_036_854_775_808.0;
    same.then_some(whole)
}

/// How the digits of a float are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// `1.5e+06`
    Exponent,
    /// `1500000`
    Plain,
    /// The shorter of both by Go's rule.
    General,
}

/// Writes a float; without precision with the fewest digits that read back as the same number.
pub(super) fn format_float(value: f64, layout: Layout, precision: Option<usize>) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    match (layout, precision) {
        (Layout::Plain, Some(precision)) => format!("{value:.precision$}"),
        (Layout::Plain, None) => plain(value),
        (Layout::Exponent, Some(precision)) => two_digit_exponent(&format!("{value:.precision$e}")),
        (Layout::Exponent, None) => two_digit_exponent(&shortest(value)),
        (Layout::General, precision) => general(value, precision),
    }
}

/// Writes a float with an exponent below 1e-4 and from 1e21, or from the precision on; six digits count as the shortest.
fn general(value: f64, precision: Option<usize>) -> String {
    let digits = precision.map(|precision| precision.max(1));
    let exponential = match digits {
        Some(digits) => format!("{value:.*e}", digits - 1),
        None => shortest(value),
    };
    let (mantissa, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    let shown = i64::try_from(mantissa.chars().filter(char::is_ascii_digit).count()).unwrap_or(i64::MAX);
    let limit = match digits {
        None => GENERAL_EXPONENT,
        Some(digits) => {
            let digits = i64::try_from(digits).unwrap_or(i64::MAX);
            if digits > shown && shown > exponent { shown.max(exponent + 1) } else { digits }
        }
    };
    if exponent < -4 || exponent >= limit {
        return two_digit_exponent(&format!("{mantissa}e{exponent}"));
    }
    let fraction = usize::try_from((shown - 1 - exponent).max(0)).unwrap_or(0);
    if digits.is_none() { plain(value) } else { format!("{value:.fraction$}") }
}

/// Writes a float with an exponent and the fewest digits that read back as the same number.
///
/// Of two such texts at the same distance Go takes the even one.
pub(super) fn shortest(value: f64) -> String {
    let text = format!("{value:e}");
    let digits = text.split('e').next().unwrap_or("").chars().filter(char::is_ascii_digit).count();
    let even = format!("{value:.*e}", digits.saturating_sub(1));
    let same = even.parse() == Ok(value);
    if same { even } else { text }
}

/// Writes the fewest digits without exponent; what they leave open before the point becomes zeros.
fn plain(value: f64) -> String {
    let text = shortest(value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |mantissa| ("-", mantissa));
    let digits = mantissa.replace('.', "");
    let exponent: i64 = exponent.parse().unwrap_or(0);
    match usize::try_from(exponent) {
        Ok(exponent) if digits.len() > exponent + 1 => {
            let (whole, fraction) = digits.split_at_checked(exponent + 1).unwrap_or((&digits, ""));
            format!("{sign}{whole}.{fraction}")
        }
        Ok(exponent) => format!("{sign}{digits:0<width$}", width = exponent + 1),
        Err(_) => {
            let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
            format!("{sign}0.{}{digits}", "0".repeat(zeros))
        }
    }
}

/// The exponent from which a float without precision is written with one.
const GENERAL_EXPONENT: i64 = 6;

/// Gives the exponent a sign and at least two digits.
fn two_digit_exponent(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    match exponent.strip_prefix('-') {
        Some(digits) => format!("{mantissa}e-{digits:0>2}"),
        None => format!("{mantissa}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, exact, format_float, parse_float, parse_integer, truncate};

    #[test]
    fn integers_are_read_like_literals() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("+7", Some(7)),
            ("0755", Some(493)),
            ("0o17", Some(15)),
            ("0b11", Some(3)),
            ("0xFF", Some(255)),
            ("1_000", Some(1000)),
            ("0x_f", Some(15)),
            ("1__0", None),
            ("_1", None),
            ("1_", None),
            ("08", None),
            ("", None),
            ("-", None),
            ("1e3", None),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
        ] {
            assert_eq!(parse_integer(text), expected, "{text:?}");
        }
    }

    #[test]
    fn floats_are_read_like_literals() {
        for (text, expected) in [
            ("1.5", Some(1.5)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("-1e3", Some(-1000.0)),
            ("0x1p4", Some(16.0)),
            ("0x1.8p1", Some(3.0)),
            ("1_0.5", Some(10.5)),
            ("Inf", Some(f64::INFINITY)),
            ("-inf", Some(f64::NEG_INFINITY)),
            ("1e400", None),
            ("abc", None),
            ("", None),
            ("1_.5", None),
        ] {
            assert_eq!(parse_float(text), expected, "{text:?}");
        }
    }

    #[test]
    fn floats_are_written_with_the_fewest_digits() {
        for (value, expected) in [
            (1.0, "1"),
            (0.1, "0.1"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e21, "1e+21"),
            (-2.5, "-2.5"),
            (123_456.75, "123456.75"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(format_float(value, Layout::General, None), expected);
        }
    }

    #[test]
    fn conversions_keep_to_the_range() {
        assert_eq!(truncate(-2.9), -2);
        assert_eq!(truncate(1e300), i64::MIN);
        assert_eq!(exact(2.0), Some(2));
        assert_eq!(exact(2.5), None);
        assert_eq!(exact(1e19), None);
    }
}
