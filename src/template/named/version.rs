//! Pure. Semantic versions and constraints on them, as loosely as gomplate reads both.
//!
//! Not here: versions of packages, which follow rules of their own (`package::version`).

use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;
use std::sync::LazyLock;

use regex::Regex;

use super::{Named, text_method};
use crate::template::failure::Failure;
use crate::template::functions::{Function, Parameter, fixed};
use crate::template::value::Value;

/// A version; `v1.2` reads as `1.2.0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::template) struct Version {
    numbers: [u64; 3],
    prerelease: String,
    metadata: String,
    original: String,
}

const SELF: &[Parameter] = &[Parameter::Any];
const AND_VERSION: &[Parameter] = &[Parameter::Any, Parameter::Version];

/// Methods of versions.
pub(super) const METHODS: &[Function] = &[
    text_method(),
    fixed("Original", &[], SELF, |values, _| Ok(Value::text(at(values, 0)?.original.as_str()))),
    fixed("Major", &[], SELF, |values, _| Ok(Value::Uint64(at(values, 0)?.numbers[0]))),
    fixed("Minor", &[], SELF, |values, _| Ok(Value::Uint64(at(values, 0)?.numbers[1]))),
    fixed("Patch", &[], SELF, |values, _| Ok(Value::Uint64(at(values, 0)?.numbers[2]))),
    fixed("Prerelease", &[], SELF, |values, _| Ok(Value::text(at(values, 0)?.prerelease.as_str()))),
    fixed("Metadata", &[], SELF, |values, _| Ok(Value::text(at(values, 0)?.metadata.as_str()))),
    fixed("Equal", &[], AND_VERSION, |values, _| Ok(Value::Bool(order(values)?.is_eq()))),
    fixed("LessThan", &[], AND_VERSION, |values, _| Ok(Value::Bool(order(values)?.is_lt()))),
    fixed("LessThanEqual", &[], AND_VERSION, |values, _| Ok(Value::Bool(order(values)?.is_le()))),
    fixed("GreaterThan", &[], AND_VERSION, |values, _| Ok(Value::Bool(order(values)?.is_gt()))),
    fixed("GreaterThanEqual", &[], AND_VERSION, |values, _| Ok(Value::Bool(order(values)?.is_ge()))),
    fixed("Compare", &[], AND_VERSION, |values, _| Ok(Value::Int(i64::from(order(values)? as i8)))),
];

fn at(values: &[Value], index: usize) -> Result<&Version, Failure> {
    match values.get(index) {
        Some(Value::Named(Named::Version(version))) => Ok(version),
        _ => Err(Failure::argument("wants a version")),
    }
}

fn order(values: &[Value]) -> Result<Ordering, Failure> {
    Ok(at(values, 0)?.precedence(at(values, 1)?))
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(out, "{major}.{minor}.{patch}")?;
        if !self.prerelease.is_empty() {
            write!(out, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(out, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl Version {
    /// Reads a version.
    pub(in crate::template) fn parse(text: &str) -> Result<Rc<Self>, Failure> {
        let wrong = || Failure::call("the text is no version").hint("write one like 1.2.3");
        let (core, metadata) = match text.split_once('+') {
            Some((core, metadata)) => (core, Some(metadata)),
            None => (text, None),
        };
        let (core, prerelease) = match core.split_once('-') {
            Some((core, prerelease)) => (core, Some(prerelease)),
            None => (core, None),
        };
        let mut numbers = [0; 3];
        let parts: Vec<&str> = core.strip_prefix('v').unwrap_or(core).split('.').collect();
        if parts.len() > numbers.len() {
            return Err(wrong());
        }
        for (number, part) in numbers.iter_mut().zip(parts) {
            if !part.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(wrong());
            }
            *number = part.parse().map_err(|_| wrong())?;
        }
        let fits =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let padded = |part: &str| part.len() > 1 && part.starts_with('0') && is_numeric(part);
        let prerelease_fits = prerelease.is_none_or(|all| all.split('.').all(|part| fits(part) && !padded(part)));
        if !prerelease_fits || !metadata.is_none_or(|all| all.split('.').all(fits)) {
            return Err(wrong());
        }
        Ok(Rc::new(Self {
            numbers,
            prerelease: prerelease.unwrap_or("").to_owned(),
            metadata: metadata.unwrap_or("").to_owned(),
            original: text.to_owned(),
        }))
    }

    /// Orders two versions; metadata does not count.
    fn precedence(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.prerelease.as_str(), other.prerelease.as_str()) {
            ("", "") => Ordering::Equal,
            ("", _) => Ordering::Greater,
            (_, "") => Ordering::Less,
            (left, right) => prerelease_order(left, right),
        })
    }
}

fn is_numeric(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

fn prerelease_order(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => match (is_numeric(a), is_numeric(b)) {
                (true, true) => a.parse::<u64>().ok().cmp(&b.parse::<u64>().ok()),
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (false, false) => a.cmp(b),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// One condition of a constraint.
struct Condition {
    operator: String,
    version: Rc<Version>,
    /// How many numbers were written; the rest is any.
    written: usize,
}

const NUMBERS: &str = r"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?";
const OPERATORS: &str = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^";

/// A pattern of this file; one that does not compile matches nothing.
fn pattern(text: String) -> Option<Regex> {
    Regex::new(&text).ok()
}

static RANGE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(format!(r"\s*({NUMBERS})\s+-\s+({NUMBERS})\s*")));
static GROUP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(format!(r"^(\s*({OPERATORS})\s*({NUMBERS})\s*)((?:\s+|,\s*)({OPERATORS})\s*({NUMBERS})\s*)*$"))
});
static CONDITION: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(format!(r"({OPERATORS})\s*({NUMBERS})")));

/// Returns whether a version fulfils a constraint such as `>=1.2 <2 || ~3.1`.
pub(in crate::template) fn satisfies(constraint: &str, version: &str) -> Result<bool, Failure> {
    let alternatives = alternatives(constraint)?;
    let version = Version::parse(version)?;
    Ok(alternatives.iter().any(|group| {
        let prereleases = group.iter().any(|condition| !condition.version.prerelease.is_empty());
        group.iter().all(|condition| (version.prerelease.is_empty() || prereleases) && condition.holds(&version))
    }))
}

fn alternatives(constraint: &str) -> Result<Vec<Vec<Condition>>, Failure> {
    let wrong = || Failure::call("the text is no constraint on versions").hint("write one like >=1.2 <2");
    let (Some(range), Some(group), Some(condition)) = (&*RANGE, &*GROUP, &*CONDITION) else { return Err(wrong()) };
    let mut text = constraint.to_owned();
    for found in range.captures_iter(constraint) {
        let (whole, low, high) = (found.get(0), found.get(1), found.get(11));
        if let (Some(whole), Some(low), Some(high)) = (whole, low, high) {
            text = text.replacen(whole.as_str(), &format!(">= {}, <= {} ", low.as_str(), high.as_str()), 1);
        }
    }
    let mut alternatives = Vec::new();
    for part in text.split("||") {
        if !group.is_match(part) {
            return Err(wrong());
        }
        let conditions = condition.captures_iter(part).map(|found| Condition::read(&found).ok_or_else(wrong));
        alternatives.push(conditions.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(alternatives)
}

impl Condition {
    fn read(found: &regex::Captures<'_>) -> Option<Self> {
        let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
        let numbers = [part(3), part(4).trim_start_matches('.'), part(5).trim_start_matches('.')];
        let open = |number: &&str| matches!(*number, "" | "x" | "X" | "*");
        let written = numbers.iter().position(open).unwrap_or(numbers.len());
        let padded: Vec<&str> =
            (0..3).map(|at| if at < written { numbers.get(at).copied().unwrap_or("0") } else { "0" }).collect();
        let version = Version::parse(&format!("{}{}", padded.join("."), part(6))).ok()?;
        Some(Self { operator: part(1).to_owned(), version, written })
    }

    fn holds(&self, version: &Version) -> bool {
        let order = version.precedence(&self.version);
        let same = |count: usize| version.numbers.iter().zip(&self.version.numbers).take(count).all(|(a, b)| a == b);
        let whole = self.written == 3;
        match self.operator.as_str() {
            "!=" if whole => order.is_ne(),
            "!=" => !self.is_alike(version),
            ">" if whole => order.is_gt(),
            ">" => self.is_above(version),
            "<" => order.is_lt(),
            ">=" | "=>" => order.is_ge(),
            "<=" | "=<" if whole => order.is_le(),
            "<=" | "=<" => self.is_not_above(version),
            "^" => order.is_ge() && self.is_compatible(version),
            "" | "=" if whole => order.is_eq(),
            // ~, ~> and an equality with open numbers.
            _ => {
                let any = self.version.numbers == [0, 0, 0] && (self.written == 3 || self.written == 0);
                order.is_ge() && (any || same(if self.written == 1 { 1 } else { 2 }))
            }
        }
    }

    /// Whether all written numbers are the same; a constraint without any counts as 0.0.0.
    fn is_alike(&self, version: &Version) -> bool {
        let [major, minor, patch] = version.numbers;
        let [own_major, own_minor, own_patch] = self.version.numbers;
        match self.written {
            0 => {
                [major, minor, patch] == [own_major, own_minor, own_patch]
                    && version.prerelease == self.version.prerelease
            }
            1 => major == own_major,
            _ => major == own_major && minor == own_minor && version.prerelease == self.version.prerelease,
        }
    }

    fn is_above(&self, version: &Version) -> bool {
        let [major, minor, _] = version.numbers;
        let [own_major, own_minor, _] = self.version.numbers;
        match self.written {
            0 => version.precedence(&self.version).is_gt(),
            1 => major > own_major,
            _ => major > own_major || major == own_major && minor > own_minor,
        }
    }

    fn is_not_above(&self, version: &Version) -> bool {
        let [major, minor, _] = version.numbers;
        let [own_major, own_minor, _] = self.version.numbers;
        major < own_major || major == own_major && (minor <= own_minor || self.written == 1)
    }

    fn is_compatible(&self, version: &Version) -> bool {
        let [major, minor, patch] = version.numbers;
        let [own_major, own_minor, own_patch] = self.version.numbers;
        if own_major > 0 || self.written == 1 {
            return major == own_major;
        }
        if major > 0 {
            return false;
        }
        if own_minor > 0 || self.written == 2 {
            return minor == own_minor;
        }
        minor == 0 && patch == own_patch
    }
}

#[cfg(test)]
mod tests {
    use super::{Version, satisfies};

    #[test]
    fn versions_are_read_loosely_and_ordered_strictly() {
        for (text, printed) in [("v1.2", "1.2.0"), ("1", "1.0.0"), ("01.2.3-a.1+b", "1.2.3-a.1+b")] {
            assert_eq!(Version::parse(text).unwrap().to_string(), printed);
        }
        for text in ["", "a", "1.2.3.4", "1..2", "1.2.3-01", "1.2.3-", "1.2.3+", "1.2.3-a..b"] {
            assert!(Version::parse(text).is_err(), "{text}");
        }
        let ordered = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-2b", "1.0.0", "1.0.1", "1.10.0"];
        for pair in [[0, 1], [1, 2], [4, 5], [5, 6]] {
            let [low, high] = pair.map(|at| Version::parse(ordered[at]).unwrap());
            assert!(low.precedence(&high).is_lt(), "{low} {high}");
        }
    }

    #[test]
    fn constraints_hold_or_not() {
        for (constraint, version, expected) in [
            (">=1.2 <2", "1.9.0", true),
            ("^0.2", "0.3.0", false),
            ("~1.2", "1.2.9", true),
            ("1.2 - 1.4", "1.4.9", true),
            ("*", "3.1.0", true),
            (">1", "1.9.0", false),
            (">1.0.0", "1.1.0-rc.1", false),
        ] {
            assert_eq!(satisfies(constraint, version), Ok(expected), "{constraint} {version}");
        }
        assert!(satisfies("x y", "1.0.0").is_err() && satisfies(">1", "x").is_err());
    }
}
