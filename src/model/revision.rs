//! Pure. Commits and the branch they stand on.
//!
//! Not here: reading them (`git`).

use std::fmt;

/// Characters of a commit id that people are shown.
const SHORT_CHARS: usize = 7;

/// Id of a git commit: 40 lower-case hexadecimal characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CommitId(String);

/// A text that is no commit id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no commit id")]
pub struct CommitIdError(String);

impl CommitId {
    /// Parses 40 lower-case hexadecimal characters.
    pub fn parse(text: &str) -> Result<Self, CommitIdError> {
        let hex = text.len() == 40 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if hex { Ok(Self(text.to_owned())) } else { Err(CommitIdError(text.to_owned())) }
    }

    /// Returns the id with these bytes.
    pub fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns all 40 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first seven characters, for people.
    pub fn short(&self) -> &str {
        self.0.get(..SHORT_CHARS).unwrap_or(&self.0)
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<CommitId> for String {
    fn from(id: CommitId) -> Self {
        id.0
    }
}

impl TryFrom<String> for CommitId {
    type Error = CommitIdError;

    fn try_from(text: String) -> Result<Self, CommitIdError> {
        Self::parse(&text)
    }
}

/// A branch and the commit that was its head when it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Revision {
    /// Branch name without `refs/heads/`.
    pub branch: String,
    /// Its head.
    pub commit: CommitId,
}

/// A person or program named in a commit.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Author {
    /// Name.
    pub name: String,
    /// Address, possibly made up from the host.
    pub email: String,
}
