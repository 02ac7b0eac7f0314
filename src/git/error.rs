//! What can go wrong with a repository, as one enum.
//!
//! Not here: refusals of a push, which are data (`hook::receive`).

use std::path::PathBuf;
use std::time::Duration;

use crate::base::RepoPath;
use crate::model::{CommitId, ErrorClass};

use super::check_tree::HostileTree;
use super::scan::Leaked;

/// Why a call of this module failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// libgit2 refused.
    #[error("{attempt}")]
    Git {
        /// What was attempted on what.
        attempt: String,
        /// What libgit2 says.
        source: git2::Error,
    },
    /// A file of the repository could not be read or written.
    #[error("{attempt}")]
    Io {
        /// What was attempted on what.
        attempt: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A tree breaks a rule that keeps readers of trees safe.
    #[error("read commit {commit}")]
    Hostile {
        /// The commit, or the tree if no commit is known.
        commit: String,
        /// The place and the rule.
        source: HostileTree,
    },
    /// What a remote brings holds a secret in clear; nothing of it was taken.
    #[error("{attempt}: {}", leaks.first().map(ToString::to_string).unwrap_or_default())]
    Leaking {
        /// What was attempted on what.
        attempt: String,
        /// The secrets, never their values.
        leaks: Vec<Leaked>,
    },
    /// The ref was not where the caller saw it: somebody else was faster. Read again and start over.
    #[error("move {reference}: it was expected at {} and is at {}", place(expected), place(found))]
    Lost {
        /// Full name of the ref.
        reference: String,
        /// Where the caller saw it; nothing if it should not exist.
        expected: Option<CommitId>,
        /// Where it is.
        found: Option<CommitId>,
    },
    /// Another program holds the lock, or may; one that lives is never taken away.
    #[error("lock {}: {why}; if nobody works in the repository: rm {}", path.display(), path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Why it is taken for alive.
        why: String,
    },
    /// Uncommitted edits of a person touch the same paths.
    #[error("update the work tree: uncommitted edits in {}", list(paths))]
    WorkTreeDirty {
        /// The edited paths, in order.
        paths: Vec<RepoPath>,
    },
    /// A ref name that git or we refuse.
    #[error("ref name {name:?} is refused: {reason}")]
    RefName {
        /// The name.
        name: String,
        /// The rule it breaks.
        reason: &'static str,
    },
    /// A commit id or path that git holds but that is none by our rules.
    #[error("{attempt}: {reason}")]
    Unusable {
        /// What was attempted on what.
        attempt: String,
        /// Why the thing found cannot be used.
        reason: String,
    },
    /// A remote, or the git program that spoke to it, refused.
    #[error("{attempt}: {reason}")]
    Remote {
        /// What was attempted on what.
        attempt: String,
        /// What git says, cut short.
        reason: String,
    },
    /// The call took longer than its deadline.
    #[error("{attempt}: no answer within {} s", deadline.as_secs())]
    Deadline {
        /// What was attempted on what.
        attempt: String,
        /// The deadline.
        deadline: Duration,
    },
    /// The call broke off by a defect of ours.
    #[error("{attempt}: the call broke off")]
    Broken {
        /// What was attempted on what.
        attempt: String,
    },
}

impl Error {
    /// Returns the place in a tree that breaks a rule, if that is what went wrong.
    pub fn hostile(&self) -> Option<&HostileTree> {
        match self {
            Self::Hostile { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Returns who has to act: the one whose repository, URL or tree it is, or the system, which tries again.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Hostile { .. }
            | Self::Leaking { .. }
            | Self::WorkTreeDirty { .. }
            | Self::RefName { .. }
            | Self::Unusable { .. } => ErrorClass::User,
            Self::Git { .. }
            | Self::Io { .. }
            | Self::Lost { .. }
            | Self::Locked { .. }
            | Self::Remote { .. }
            | Self::Deadline { .. }
            | Self::Broken { .. } => ErrorClass::System,
        }
    }
}

/// Returns a function that adds what was attempted to an error of libgit2.
pub(super) fn git(attempt: impl Into<String>) -> impl FnOnce(git2::Error) -> Error {
    |source| Error::Git { attempt: attempt.into(), source }
}

/// Returns a function that adds what was attempted to an error of the system.
pub(super) fn io(attempt: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
    |source| Error::Io { attempt: attempt.into(), source }
}

fn place(commit: &Option<CommitId>) -> &str {
    commit.as_ref().map_or("no commit", CommitId::short)
}

fn list(paths: &[RepoPath]) -> String {
    paths.iter().map(RepoPath::as_str).collect::<Vec<_>>().join(", ")
}
