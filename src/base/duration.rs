//! Pure. Durations as people write them: `90s`, `5m`, `2h`, `3d`, `1w`, and `0`.
//!
//! Not here: what they are for.

use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error};

/// Parses a duration; nothing if the text is none or overflows.
pub fn parse_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// Reads a duration of a settings file; its error says how one is written.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    parse_duration(&text).ok_or_else(|| D::Error::custom(format!("{text:?} is no duration such as 90s, 5m, 2h or 3d")))
}

/// Reads a duration that may be left out.
pub fn deserialize_some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    deserialize(from).map(Some)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse_duration;

    #[test]
    fn units_are_read_and_anything_else_is_not() {
        assert_eq!(parse_duration("90s"), Some(Duration::from_secs(90)));
        assert_eq!(parse_duration("3d"), Some(Duration::from_secs(259_200)));
        assert_eq!(parse_duration("0"), Some(Duration::ZERO));
        for text in ["", "5", "m", "-5m", "1.5h", "5 m", "18446744073709551615w"] {
            assert_eq!(parse_duration(text), None, "{text:?}");
        }
    }
}
