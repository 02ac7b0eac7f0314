//! Pure. The name of a cluster among those of an instance.
//!
//! Not here: how it is reached (`target`), which app lives on it (`Settings::context_of`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest name, as long as a name of an object may be. Clouds call contexts by their whole path.
const MAX_CLUSTER_CHARS: usize = 253;

/// Name of a cluster of an instance, as its kubeconfig calls the context; empty for the first one, whatever it is called.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ClusterName(String);

/// Why a text names no cluster.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is no name of a cluster: it has at most {MAX_CLUSTER_CHARS} printable characters and no blanks")]
pub struct ClusterNameError(String);

impl ClusterName {
    /// Parses a name; the empty one is that of the first cluster.
    pub fn parse(text: &str) -> Result<Self, ClusterNameError> {
        let is_short = text.len() <= MAX_CLUSTER_CHARS;
        match is_short && text.chars().all(|c| c.is_ascii_graphic()) {
            true => Ok(Self(text.to_owned())),
            false => Err(ClusterNameError(text.to_owned())),
        }
    }

    /// Returns the name as text, empty for the first cluster.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether it is the first cluster.
    pub fn is_first(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the cluster as sentences call it in an instance that may have no other: only another than the first one by its name.
    pub fn in_short(&self) -> String {
        if self.is_first() { "the cluster".to_owned() } else { self.to_string() }
    }
}

impl fmt::Display for ClusterName {
    /// Writes the cluster as sentences call it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_first() { f.write_str("the first cluster") } else { write!(f, "the cluster {}", self.0) }
    }
}

impl From<ClusterName> for String {
    fn from(name: ClusterName) -> Self {
        name.0
    }
}

impl TryFrom<String> for ClusterName {
    type Error = ClusterNameError;

    fn try_from(text: String) -> Result<Self, ClusterNameError> {
        Self::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::ClusterName;

    #[test]
    fn names_of_contexts_are_names_of_clusters_unless_a_line_or_a_table_would_break() {
        for text in ["", "home", "kubernetes-admin@kubernetes", "arn:aws:eks:eu-1:1:cluster/shop", "gke_a_b_c"] {
            assert_eq!(ClusterName::parse(text).map(String::from), Ok(text.to_owned()));
        }
        for text in ["two words", "a\nb", "\u{202e}", &"a".repeat(254)] {
            assert!(ClusterName::parse(text).is_err(), "{text:?} was accepted");
        }
    }
}
