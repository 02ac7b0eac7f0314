//! Pure. Paths inside a repository: relative, UTF-8, with `/`, checked once when they are made.
//!
//! Not here: paths of the host (`git`, `settings`). `std::path` does not occur in pure modules.

use std::fmt;

use super::limits::{MAX_PATH_BYTES, MAX_PATH_DEPTH};
use super::shown::is_deceptive;

/// A checked path inside a repository, such as `apps/ghost/deployment.yaml`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(String);

/// Why a text is no repository path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("path {path:?} is refused: {reason}")]
pub struct PathError {
    /// The text as it came.
    pub path: String,
    /// The rule it breaks.
    pub reason: &'static str,
}

impl RepoPath {
    /// Parses a path: relative, no empty, `.`, `..` or `.git` segment, no control bytes, no backslash, within the limits.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let refuse = |reason| Err(PathError { path: text.to_owned(), reason });
        if text.is_empty() {
            return refuse("it is empty");
        }
        if text.len() > MAX_PATH_BYTES {
            return refuse("it is longer than 1,024 bytes");
        }
        if text.chars().any(|c| c.is_control() || c == '\\') {
            return refuse("it holds a control character or a backslash");
        }
        if text.chars().any(is_deceptive) {
            return refuse("it holds a character that is not seen or that turns the others round");
        }
        if text.split('/').count() > MAX_PATH_DEPTH {
            return refuse("it is nested deeper than 32 directories");
        }
        for segment in text.split('/') {
            match segment {
                "" => return refuse("it is absolute or holds an empty segment"),
                "." | ".." => return refuse("it holds a . or .. segment"),
                _ if segment.eq_ignore_ascii_case(".git") => return refuse("it holds a .git segment"),
                _ => {}
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns this path with further segments, checked by the same rules.
    pub fn join(&self, rest: &str) -> Result<Self, PathError> {
        Self::parse(&format!("{}/{rest}", self.0))
    }

    /// Returns the last segment.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns all but the last segment, or nothing at the top.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.to_owned()))
    }

    /// Returns what follows `directory/`, or nothing if the path does not lie below it.
    pub fn below(&self, directory: &str) -> Option<Self> {
        let rest = self.0.strip_prefix(directory)?.strip_prefix('/')?;
        (!rest.is_empty()).then(|| Self(rest.to_owned()))
    }

    /// Returns whether the path is `directory` or lies below it.
    pub fn is_within(&self, directory: &str) -> bool {
        self.0 == directory || self.below(directory).is_some()
    }

    /// Returns whether the name ends as YAML files do.
    pub fn is_yaml(&self) -> bool {
        self.0.ends_with(".yaml") || self.0.ends_with(".yml")
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::borrow::Borrow<str> for RepoPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::RepoPath;

    #[test]
    fn paths_that_leave_the_repository_are_refused() {
        for text in [
            "",
            "/etc/passwd",
            "a//b",
            "../x",
            "a/../b",
            ".",
            "a/.git/config",
            "a/.GIT",
            "a\\b",
            "a\nb",
            "a/",
            "a\u{202e}b",
            "a\u{200b}",
        ] {
            assert!(RepoPath::parse(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn below_wants_a_whole_segment() {
        let path = RepoPath::parse("apps/ghost/pvc.yaml").unwrap();
        assert_eq!(path.below("apps/ghost").unwrap().as_str(), "pvc.yaml");
        assert!(path.below("apps/gho").is_none());
        assert_eq!(path.parent().unwrap().as_str(), "apps/ghost");
        assert_eq!(path.name(), "pvc.yaml");
    }
}
