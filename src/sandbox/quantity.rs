//! Quantities such as `1500m` or `2Gi` in the one form that the API server writes.
//!
//! Not here: which fields hold quantities (`schema`).

const NANO: i128 = 1_000_000_000;
const DECIMAL: [(&str, i128); 10] = [
    ("E", 1_000_000_000_000_000_000 * NANO),
    ("P", 1_000_000_000_000_000 * NANO),
    ("T", 1_000_000_000_000 * NANO),
    ("G", 1_000_000_000 * NANO),
    ("M", 1_000_000 * NANO),
    ("k", 1_000 * NANO),
    ("", NANO),
    ("m", NANO / 1_000),
    ("u", NANO / 1_000_000),
    ("n", 1),
];
const BINARY: [(&str, i128); 6] =
    [("Ei", 1 << 60), ("Pi", 1 << 50), ("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
/// Most digits of a quantity; more do not fit the arithmetic.
const MAX_DIGITS: usize = 18;

/// Returns the canonical text of a quantity, or nothing if the text is no quantity.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at_checked(end)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || whole.len() + fraction.len() > MAX_DIGITS {
        return None;
    }
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let divisor = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let sign = if negative { "-" } else { "" };
    if let Some((_, factor)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        let nano = digits.checked_mul(factor * NANO)?;
        let value = nano / divisor + i128::from(nano % divisor != 0);
        return Some(format!("{sign}{}", binary(value)));
    }
    if let Some((_, factor)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        let nano = digits.checked_mul(*factor)?;
        return Some(format!("{sign}{}", decimal(nano / divisor + i128::from(nano % divisor != 0), "")));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let nano = match u32::try_from(exponent) {
        Ok(up) => digits.checked_mul(NANO)?.checked_mul(10_i128.checked_pow(up)?)? / divisor,
        Err(_) => digits.checked_mul(NANO)? / divisor.checked_mul(10_i128.checked_pow(exponent.unsigned_abs())?)?,
    };
    Some(format!("{sign}{}", decimal(nano, "e")))
}

/// Returns whether one quantity is greater than another; texts that are no quantities are not.
pub(crate) fn greater(one: &str, other: &str) -> bool {
    let value = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
        let (number, suffix) = text.split_at_checked(end)?;
        let number: i128 = number.parse().ok()?;
        let decimal = DECIMAL.iter().map(|(name, factor)| (*name, *factor));
        let binary = BINARY.iter().map(|(name, factor)| (*name, factor * NANO));
        let (_, factor) = decimal.chain(binary).find(|(name, _)| *name == suffix)?;
        number.checked_mul(factor)
    };
    let canonical_value = |text: &str| canonical(text).and_then(|text| value(&text));
    canonical_value(one).zip(canonical_value(other)).is_some_and(|(one, other)| one > other)
}

/// Writes a value given in units of 10⁻⁹ with the largest suffix that leaves an integer.
fn decimal(nano: i128, style: &str) -> String {
    if nano == 0 {
        return "0".to_owned();
    }
    let Some(at) = DECIMAL.iter().position(|(_, factor)| nano % factor == 0) else { return nano.to_string() };
    let Some((suffix, factor)) = DECIMAL.get(at) else { return nano.to_string() };
    if style.is_empty() || suffix.is_empty() {
        return format!("{}{suffix}", nano / factor);
    }
    let exponent = 18 - 3 * i64::try_from(at).unwrap_or(0);
    format!("{}e{exponent}", nano / factor)
}

/// Writes a value given in units of 10⁻⁹ with the largest binary suffix that leaves an integer; small ones as decimals.
fn binary(nano: i128) -> String {
    if nano < 1024 * NANO {
        return decimal(nano, "");
    }
    let value = nano / NANO + i128::from(nano % NANO != 0);
    match BINARY.iter().find(|(_, factor)| value % factor == 0) {
        Some((suffix, factor)) => format!("{}{suffix}", value / factor),
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{canonical, greater};

    #[test]
    fn a_quantity_is_written_with_the_largest_suffix_that_leaves_an_integer() {
        check("1000m", "1");
        check("0.5", "500m");
        check("100m", "100m");
        check("1024Mi", "1Gi");
        check("1.5Gi", "1536Mi");
        check("1000Mi", "1000Mi");
        check("0.5Ki", "512");
        check("1500M", "1500M");
        check("1000M", "1G");
        check("0", "0");
        check("2e3", "2e3");
        check("-1000m", "-1");
        check("10", "10");
        check("1000", "1k");
        check("1024", "1024");
        check("0.1n", "1n");
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "x", "1x", "Mi", "1..2", "--1"] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }

    #[test]
    fn quantities_are_compared_by_value() {
        assert!(greater("1", "500m") && greater("1Gi", "1000M") && !greater("1000m", "1") && !greater("x", "1"));
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
    }
}
