//! Pure. Quantities such as `1500m` or `2Gi` in the one form that the API server writes.
//!
//! Not here: which fields hold quantities (`table`).

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

/// How a quantity is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Binary,
    Decimal,
    Exponent,
}

/// Returns the canonical text of a quantity, or nothing if the text is no quantity.
pub fn canonical(text: &str) -> Option<String> {
    let (nano, form) = read(text)?;
    let sign = if nano < 0 { "-" } else { "" };
    let written = match form {
        Form::Binary => binary(nano.checked_abs()?),
        Form::Decimal => decimal(nano.checked_abs()?, ""),
        Form::Exponent => decimal(nano.checked_abs()?, "e"),
    };
    Some(format!("{sign}{written}"))
}

/// Returns how much a quantity is, in units of 10⁻⁹, or nothing if the text is no quantity. What is smaller counts as one of them, as
/// for the API server.
pub fn amount(text: &str) -> Option<i128> {
    read(text).map(|(nano, _)| nano)
}

fn read(text: &str) -> Option<(i128, Form)> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at_checked(end)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || whole.len() + fraction.len() > MAX_DIGITS {
        return None;
    }
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let divisor = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let binary = BINARY.iter().map(|(name, factor)| (*name, factor * NANO, Form::Binary));
    let decimal = DECIMAL.iter().map(|(name, factor)| (*name, *factor, Form::Decimal));
    if let Some((_, factor, form)) = binary.chain(decimal).find(|(name, ..)| *name == suffix) {
        let nano = digits.checked_mul(factor)?;
        return Some((sign * (nano / divisor + i128::from(nano % divisor != 0)), form));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let nano = match exponent >= 0 {
        true => digits.checked_mul(NANO)?.checked_mul(power)? / divisor,
        false => digits.checked_mul(NANO)? / divisor.checked_mul(power)?,
    };
    Some((sign * nano, Form::Exponent))
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
    use super::{amount, canonical};

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
    fn quantities_of_one_amount_are_equal_in_every_spelling() {
        for (one, other) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1Gi", "1024Mi"),
            ("2e3", "2k"),
            ("1500u", "1.5m"),
            ("-1000m", "-1"),
            ("1Pi", "1024Ti"),
        ] {
            assert_eq!(amount(one), amount(other), "{one} {other}");
            assert!(amount(one).is_some(), "{one}");
        }
        assert!(amount("1") > amount("500m") && amount("1Gi") > amount("1000M") && amount("-1") < amount("0"));
        assert_eq!(amount("x"), None);
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
    }
}
