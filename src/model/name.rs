//! Pure. Names that were checked once when they came in.
//!
//! Not here: names of Kubernetes objects, which the API server checks.

use std::fmt;

use crate::base::limits::MAX_NAME_CHARS;

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {text:?} is refused: {reason}")]
pub struct NameError {
    what: &'static str,
    text: String,
    reason: &'static str,
}

/// Checks a lower-case label: letters, digits and inner hyphens, at most 53 characters.
fn check(what: &'static str, text: &str) -> Result<String, NameError> {
    let refuse = |reason| Err(NameError { what, text: text.to_owned(), reason });
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if !edge(text.chars().next()) || !edge(text.chars().next_back()) {
        return refuse("it must begin and end with a lower-case letter or digit");
    }
    if !text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        return refuse("only lower-case letters, digits and hyphens are allowed");
    }
    if text.len() > MAX_NAME_CHARS {
        return refuse("it is longer than 53 characters");
    }
    Ok(text.to_owned())
}

macro_rules! name {
    ($type:ident, $what:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $type(String);

        impl $type {
            /// Parses a name: lower-case letters, digits and inner hyphens, at most 53 characters.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                check($what, text).map(Self)
            }

            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0
            }
        }

        impl TryFrom<String> for $type {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(&text)
            }
        }

        impl std::borrow::Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(AppName, "app name", "Name of an app in an instance; also its directory below `apps/`.");
name!(PackageName, "package name", "Name of a package: its directory in the wild-directory.");
name!(InstanceName, "instance name", "Name of an instance as the daemon's settings give it.");
name!(InstanceId, "instance id", "Identity of an instance: made once, committed, the mark on every object it owns.");

#[cfg(test)]
mod tests {
    use super::AppName;

    #[test]
    fn names_that_kubernetes_or_a_path_would_misread_are_refused() {
        for text in ["", "..", "a/b", "-a", "a-", "Ghost", "ghost blog", "ä", &"a".repeat(54)] {
            assert!(AppName::parse(text).is_err(), "{text:?} was accepted");
        }
        assert_eq!(AppName::parse("postgres-blog").unwrap().as_str(), "postgres-blog");
    }
}
