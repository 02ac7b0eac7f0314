//! Forges: commit statuses on Gitea. Further forges come behind the same trait.
//!
//! The HTTP client follows no redirect, takes no proxy from the environment and ends every call at a deadline.
//!
//! Not here: which status is true (`broadcast`), when it is sent again (`broadcast::statuses`).

mod gitea;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

pub use gitea::Gitea;

use crate::model::CommitId;

/// How long one call to a forge may take, body included.
pub const FORGE_DEADLINE: Duration = Duration::from_secs(15);
/// Longest description of a status; GitHub cuts at 140 characters, so we do first, at a word.
pub const MAX_DESCRIPTION_CHARS: usize = 140;

/// What a status says, in our words; each forge translates them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatusState {
    /// Not known yet, or waiting for something.
    Pending,
    /// As wanted.
    Success,
    /// Worth a look, harmless.
    Warning,
    /// Not as wanted.
    Failure,
    /// We could not find out.
    Error,
}

impl StatusState {
    /// Parses the word that the store keeps.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "pending" => Some(Self::Pending),
            "success" => Some(Self::Success),
            "warning" => Some(Self::Warning),
            "failure" => Some(Self::Failure),
            "error" => Some(Self::Error),
            _ => None,
        }
    }

    /// Returns the word that the store keeps.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Warning => "warning",
            Self::Failure => "failure",
            Self::Error => "error",
        }
    }
}

/// A status to show on a commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommitStatus {
    /// The commit.
    pub commit: CommitId,
    /// Which of our statuses on it.
    pub context: String,
    /// What it says.
    pub state: StatusState,
    /// One sentence.
    pub description: String,
    /// Page with the details; empty if people cannot reach one.
    pub target_url: String,
}

/// Why a forge did not take a status.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address of the remote names no repository.
    #[error("{url:?} names no repository of a forge")]
    Url {
        /// The address, without credentials.
        url: String,
    },
    /// The forge could not be reached.
    #[error("{attempt} at {forge}")]
    Unreachable {
        /// What was attempted.
        attempt: &'static str,
        /// Scheme, host and port.
        forge: String,
        /// What the client said.
        source: reqwest::Error,
    },
    /// The forge refused.
    #[error("{attempt} at {forge}: it answered {status}: {message}")]
    Refused {
        /// What was attempted.
        attempt: &'static str,
        /// Scheme, host and port.
        forge: String,
        /// HTTP status.
        status: u16,
        /// First line of the answer, cut short.
        message: String,
    },
}

impl Error {
    /// Returns whether the input must change before a retry makes sense: a wrong token, a wrong repository, an unknown commit.
    pub fn is_user(&self) -> bool {
        match self {
            Self::Url { .. } => true,
            Self::Unreachable { .. } => false,
            Self::Refused { status, .. } => (400..500).contains(status) && *status != 429,
        }
    }
}

/// A boxed future, so that forges can be told apart at run time.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A forge that shows commit statuses.
pub trait Forge: Send + Sync {
    /// Shows a status on a commit.
    fn post_status<'a>(&'a self, status: &'a CommitStatus) -> Answer<'a, ()>;
}

/// Returns a client with our rules: no redirect, no proxy, a deadline on every call.
fn client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(FORGE_DEADLINE)
        .timeout(FORGE_DEADLINE)
        .user_agent(concat!("wild/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Returns a description cut at a word to what every forge shows.
pub fn cut(description: &str) -> String {
    if description.chars().count() <= MAX_DESCRIPTION_CHARS {
        return description.to_owned();
    }
    let kept: String = description.chars().take(MAX_DESCRIPTION_CHARS - 1).collect();
    let whole = kept.rsplit_once(' ').map_or(kept.as_str(), |(words, _)| words);
    format!("{}…", whole.trim_end())
}

#[cfg(test)]
mod tests {
    use super::{MAX_DESCRIPTION_CHARS, cut};

    #[test]
    fn a_long_sentence_is_cut_at_a_word() {
        let long = "apply failed ".repeat(20);
        let short = cut(&long);
        assert!(
            short.chars().count() <= MAX_DESCRIPTION_CHARS && short.ends_with("failed…") | short.ends_with("apply…"),
            "{short}"
        );
        assert_eq!(cut("all healthy"), "all healthy");
    }
}
