//! Pure. The name of a cluster among those of an instance, and by what it is known again.
//!
//! Not here: how it is reached (`target`), which app lives on it (`Settings::context_of`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest name, as long as a name of an object may be. Clouds call contexts by their whole path.
const MAX_CLUSTER_CHARS: usize = 253;

/// How the address of a server begins that is spoken to without encryption, which is done on this machine only.
const PLAIN: &str = "http://";
/// Hexadecimal digits of a digest that a sentence shows.
const SHORT_DIGEST: usize = 16;

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

/// By what a cluster is known again, wherever its kubeconfig leads.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterIdentity {
    /// Where its server is.
    pub server: String,
    /// The sha256 of the certificates that vouch for the server; empty where those of the system do, or nobody.
    pub authority: String,
    /// The uid of its namespace `kube-system`; nothing where we may not read that, or did not ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// Whether a cluster is the one that was known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Likeness {
    /// It is; this is known of it from now on.
    Same(ClusterIdentity),
    /// It is, and others vouch for its server than before; this is known of it from now on.
    Rotated(ClusterIdentity),
    /// It is another one, or nothing shows that it is not.
    Elsewhere,
}

impl ClusterIdentity {
    /// Compares what is known of a cluster with what is found there now. The namespace that every cluster makes once shows which one it is,
    /// whoever vouches for it; where it may not be read, only the same server with the same authority is taken for the same.
    pub fn compare(&self, found: &Self) -> Likeness {
        let is_there = self.server == found.server && self.authority == found.authority;
        match (&self.uid, &found.uid) {
            _ if !self.is_believed(&found.server, &found.authority) => Likeness::Elsewhere,
            (Some(known), Some(uid)) if known != uid => Likeness::Elsewhere,
            (Some(_), Some(_)) if self.authority == found.authority => Likeness::Same(found.clone()),
            (Some(_), Some(_)) => Likeness::Rotated(found.clone()),
            _ if !is_there => Likeness::Elsewhere,
            (known, uid) => Likeness::Same(Self { uid: uid.clone().or_else(|| known.clone()), ..found.clone() }),
        }
    }

    /// Returns whether a server is believed what it says of itself, and so whether it is asked and shown what signs in: the one that is known,
    /// another one for which the same authority of its own vouches, or one on this machine in the place of another one there. The uid is no
    /// secret, and the authorities of the system vouch for everybody.
    pub fn is_believed(&self, server: &str, authority: &str) -> bool {
        let is_vouched_for = self.authority == authority && !authority.is_empty();
        let are_here = [self.server.as_str(), server].iter().all(|server| server.starts_with(PLAIN));
        self.server == server || is_vouched_for || are_here
    }
}

impl fmt::Display for ClusterIdentity {
    /// Writes it as sentences say it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = match self.authority.get(..SHORT_DIGEST) {
            Some(digest) => format!("authority {digest}"),
            None => "no authority of its own".to_owned(),
        };
        let uid = self.uid.as_deref().unwrap_or("not known");
        write!(f, "{} (kube-system {uid}, {authority})", self.server)
    }
}

#[cfg(test)]
mod tests {
    use super::{ClusterIdentity, ClusterName, Likeness};

    #[test]
    fn a_cluster_is_known_again_by_its_first_namespace_or_by_server_and_authority() {
        let of = |text: &str| {
            let [server, authority, uid] = text.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let some = |text: &str| Some(text.to_owned()).filter(|text| text != "-");
            ClusterIdentity {
                server: server.to_owned(),
                authority: some(authority).unwrap_or_default(),
                uid: some(uid),
            }
        };
        let check = |known: &str, found: &str, expected: &str| {
            let likeness = match of(known).compare(&of(found)) {
                Likeness::Same(after) => format!("same {}", after.uid.as_deref().unwrap_or("-")),
                Likeness::Rotated(after) => format!("rotated {}", after.authority),
                Likeness::Elsewhere => "elsewhere".to_owned(),
            };
            assert_eq!(likeness, expected, "{known} -> {found}");
        };
        check("a ca u", "a ca u", "same u");
        check("a ca u", "b ca u", "same u");
        check("a ca u", "a cb u", "rotated cb");
        // The uid is no secret: a server that says it must be vouched for, or be where it was.
        check("a ca u", "b cb u", "elsewhere");
        check("http://127.0.0.1:1 - u", "http://127.0.0.1:2 - u", "same u");
        check("http://127.0.0.1:1 - u", "https://b - u", "elsewhere");
        check("https://a - u", "https://b - u", "elsewhere");
        check("https://a - u", "https://a - u", "same u");
        check("https://a - u", "https://a ca u", "rotated ca");
        check("a ca u", "a - u", "rotated ");
        // Restored or made anew.
        check("a ca u", "a ca v", "elsewhere");
        check("a ca u", "b cb v", "elsewhere");
        // Where the namespace may not be read, both must be as they were.
        check("a ca -", "a ca -", "same -");
        check("a ca -", "b ca -", "elsewhere");
        check("a ca -", "a cb -", "elsewhere");
        check("a ca u", "a ca -", "same u");
        check("a ca u", "b ca -", "elsewhere");
        check("a ca u", "a cb -", "elsewhere");
        check("a ca -", "a ca u", "same u");
        check("a ca -", "a cb u", "elsewhere");
        check("a ca -", "b ca u", "elsewhere");
    }

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
