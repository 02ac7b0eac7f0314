//! Pure. Which values of a file are encrypted: a rule over the keys on the way to them.
//!
//! Not here: rules over comments, which are refused by name (`file`).

use regex::{Regex, RegexBuilder};

/// The end of keys whose values stay readable where a file has no rule.
const DEFAULT_SUFFIX: &str = "_unencrypted";
/// Bytes that a compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;

/// The rule of a file.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// All values but those below keys with this end.
    AllBut(String),
    /// Only values below keys with this end.
    Only(String),
    /// All values but those below keys that match.
    AllButMatching(Regex),
    /// Only values below keys that match.
    OnlyMatching(Regex),
}

/// The fields of the section `sops` that may hold the rule.
pub(super) const FIELDS: [&str; 4] = ["unencrypted_suffix", "encrypted_suffix", "unencrypted_regex", "encrypted_regex"];

impl Rule {
    /// Makes the rule of the texts of the four fields; the error names a field that is at fault.
    pub(super) fn of(fields: [&str; 4]) -> Result<Self, &'static str> {
        let given = FIELDS.into_iter().zip(fields).filter(|(_, text)| !text.is_empty()).collect::<Vec<_>>();
        let [(field, text)] = given.as_slice() else {
            let second = given.get(1).map(|(field, _)| *field);
            return second.map_or(Ok(Self::AllBut(DEFAULT_SUFFIX.to_owned())), Err);
        };
        let pattern = || RegexBuilder::new(text).size_limit(MAX_PATTERN_BYTES).build().map_err(|_| *field);
        Ok(match *field {
            "unencrypted_suffix" => Self::AllBut((*text).to_owned()),
            "encrypted_suffix" => Self::Only((*text).to_owned()),
            "unencrypted_regex" => Self::AllButMatching(pattern()?),
            _ => Self::OnlyMatching(pattern()?),
        })
    }

    /// Returns whether a key decides, whatever stands below it.
    pub(super) fn decides(&self, key: &str) -> bool {
        match self {
            Self::AllBut(suffix) | Self::Only(suffix) => key.ends_with(suffix.as_str()),
            Self::AllButMatching(pattern) | Self::OnlyMatching(pattern) => pattern.is_match(key),
        }
    }

    /// Returns whether all values are encrypted but those below keys that decide; else only those are.
    pub(super) fn is_all_but(&self) -> bool {
        match self {
            Self::AllBut(_) | Self::AllButMatching(_) => true,
            Self::Only(_) | Self::OnlyMatching(_) => false,
        }
    }

    /// Returns whether two rules are the same.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::AllBut(one), Self::AllBut(two)) | (Self::Only(one), Self::Only(two)) => one == two,
            (Self::AllButMatching(one), Self::AllButMatching(two))
            | (Self::OnlyMatching(one), Self::OnlyMatching(two)) => one.as_str() == two.as_str(),
            (Self::AllBut(_) | Self::Only(_) | Self::AllButMatching(_) | Self::OnlyMatching(_), _) => false,
        }
    }
}
