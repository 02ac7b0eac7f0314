//! Pure. Order of package versions and the ranges that manifests write about them.
//!
//! A version is kept as the text of its author: `1.10` stays `1.10`. Comparison pads short versions (`15` is `15.0.0`),
//! drops a leading `v` and build metadata, and puts a prerelease below its release. Whole texts are never compared, so
//! `1.9.0` comes before `1.10.0`.
//!
//! Not here: which version is wanted (`compile`).

use std::cmp::Ordering;

/// Longest version that is read; longer ones do not fit a label.
pub const MAX_VERSION_CHARS: usize = 64;

/// Returns whether a text can be a version: letters, digits, `.`, `+` and `-`, at most 64 characters.
pub fn is_version(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_VERSION_CHARS
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-'))
}

/// Compares two versions, or returns nothing where no order exists: a bare name such as `latest` is only equal or different.
pub fn compare_versions(a: &str, b: &str) -> Option<Ordering> {
    let (a, b) = (Parsed::of(a), Parsed::of(b));
    if a == b {
        return Some(Ordering::Equal);
    }
    if a.is_name() || b.is_name() {
        return None;
    }
    let release = compare_parts(&a.release, &b.release, Missing::Zero);
    Some(release.then_with(|| match (a.prerelease.is_empty(), b.prerelease.is_empty()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => compare_parts(&a.prerelease, &b.prerelease, Missing::Smaller),
    }))
}

/// Returns whether a version lies in a range such as `>=15 <17`: all comparisons must hold; `,` separates like a space.
///
/// Nothing if the range cannot be read. A version without an order lies in no range but `=` itself.
pub fn satisfies(version: &str, range: &str) -> Option<bool> {
    let mut comparisons = range.split([' ', ',']).filter(|part| !part.is_empty()).peekable();
    comparisons.peek()?;
    let mut holds = true;
    for comparison in comparisons {
        let split = comparison.find(|c: char| c.is_ascii_alphanumeric())?;
        let (operator, wanted) = comparison.split_at(split);
        let order = compare_versions(version, wanted);
        holds &= match operator {
            // A bare word is more likely a mistake than a version.
            "" if Parsed::of(wanted).is_name() => return None,
            "" | "=" | "==" => order == Some(Ordering::Equal),
            "!=" => order != Some(Ordering::Equal),
            ">" => order == Some(Ordering::Greater),
            ">=" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            "<" => order == Some(Ordering::Less),
            "<=" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            _ => return None,
        };
    }
    Some(holds)
}

#[derive(PartialEq)]
struct Parsed<'a> {
    release: Vec<&'a str>,
    prerelease: Vec<&'a str>,
}

impl<'a> Parsed<'a> {
    fn of(text: &'a str) -> Self {
        let starts_with_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let text = text.strip_prefix(['v', 'V']).filter(|rest| starts_with_digit(rest)).unwrap_or(text);
        let text = text.split_once('+').map_or(text, |(version, _build)| version);
        let (release, prerelease) = match text.split_once('-') {
            Some((release, prerelease)) if starts_with_digit(release) => (release, prerelease),
            Some(_) | None => (text, ""),
        };
        let parts = |text: &'a str| text.split('.').filter(|part| !part.is_empty()).collect();
        Self { release: parts(release), prerelease: parts(prerelease) }
    }

    /// Whether there is no number to compare.
    fn is_name(&self) -> bool {
        !self.release.first().is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()))
    }
}

/// What a part that only the other side has is compared with.
#[derive(Clone, Copy)]
enum Missing {
    /// A missing release part is 0.
    Zero,
    /// A shorter prerelease comes first.
    Smaller,
}

fn compare_parts(a: &[&str], b: &[&str], missing: Missing) -> Ordering {
    for at in 0..a.len().max(b.len()) {
        let order = match (a.get(at), b.get(at), missing) {
            (None, None, _) => Ordering::Equal,
            (Some(_), None, Missing::Smaller) => Ordering::Greater,
            (None, Some(_), Missing::Smaller) => Ordering::Less,
            (a, b, _) => compare_part(a.unwrap_or(&"0"), b.unwrap_or(&"0")),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// Compares numbers of any length as numbers, a number below a text, texts by bytes.
fn compare_part(a: &str, b: &str) -> Ordering {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match (number(a), number(b)) {
        (true, true) => {
            let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        }
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::{compare_versions, is_version, satisfies};

    fn check(a: &str, b: &str, expected: Option<Ordering>) {
        assert_eq!(compare_versions(a, b), expected, "{a} against {b}");
        assert_eq!(compare_versions(b, a), expected.map(Ordering::reverse), "{b} against {a}");
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        check("1.9.0", "1.10.0", Some(Ordering::Less));
        check("1.10", "1.9", Some(Ordering::Greater));
        check("2024.1", "2023.12", Some(Ordering::Greater));
        check("1.2.3.4", "1.2.3.10", Some(Ordering::Less));
        check("99999999999999999999999", "100000000000000000000000", Some(Ordering::Less));
    }

    #[test]
    fn short_versions_are_padded() {
        check("15", "15.0.0", Some(Ordering::Equal));
        check("v1.2", "1.2.0", Some(Ordering::Equal));
        check("15", "15.4", Some(Ordering::Less));
        check("007", "7", Some(Ordering::Equal));
    }

    #[test]
    fn a_prerelease_comes_before_its_release_and_build_metadata_does_not_count() {
        check("2.0.0-rc.1", "2.0.0", Some(Ordering::Less));
        check("2.0.0-rc.2", "2.0.0-rc.10", Some(Ordering::Less));
        check("2.0.0-rc", "2.0.0-rc.1", Some(Ordering::Less));
        check("2.0.0-1", "2.0.0-beta", Some(Ordering::Less));
        check("1.0.0+one", "1.0.0+two", Some(Ordering::Equal));
    }

    #[test]
    fn letters_inside_a_number_are_compared_as_text() {
        check("1.2a", "1.2b", Some(Ordering::Less));
        check("1.2", "1.2a", Some(Ordering::Less));
    }

    #[test]
    fn a_bare_name_has_no_order() {
        check("latest", "1.0", None);
        check("stable", "edge", None);
        check("latest", "latest", Some(Ordering::Equal));
        check("version", "1.0", None);
    }

    #[test]
    fn a_range_holds_if_all_its_comparisons_hold() {
        for (version, range, expected) in [
            ("15.4", ">=15 <17", Some(true)),
            ("17", ">=15 <17", Some(false)),
            ("16.9", ">=15, <17", Some(true)),
            ("1.0", "1", Some(true)),
            ("1.1", "!=1.1", Some(false)),
            ("2", "<=1.9", Some(false)),
            ("2", ">1", Some(true)),
            ("latest", ">=1", Some(false)),
            ("latest", "=latest", Some(true)),
            ("1", "recent", None),
            ("1", "", None),
            ("1", "~1", None),
            ("1", ">=", None),
        ] {
            assert_eq!(satisfies(version, range), expected, "{version} in {range}");
        }
    }

    #[test]
    fn texts_that_would_break_a_trailer_or_label_are_no_versions() {
        for text in ["", "1 2", "1/2", "ä", "1\n2", &"1".repeat(65)] {
            assert!(!is_version(text), "{text:?}");
        }
        assert!(is_version("0.0.0+3f2a"));
    }
}
