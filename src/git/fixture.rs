//! Repositories for tests: in private directories, with fixed times and people, beside the real git program.
//!
//! Not here: anything that a release contains.

use std::path::Path;
use std::process::Command;

use crate::base::{RepoPath, Timestamp};
use crate::model::{Author, CommitId, File};

use super::{Layout, NewCommit, Repository};

/// A repository in a directory that vanishes with it.
pub(super) struct Instance {
    _directory: tempfile::TempDir,
    pub(super) repository: Repository,
}

impl Instance {
    pub(super) async fn bare() -> Self {
        Self::with(Layout::Bare).await
    }

    pub(super) async fn with(layout: Layout) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let repository = Repository::init(&directory.path().join("home"), layout, "main").await.unwrap();
        Self { _directory: directory, repository }
    }

    /// Commits files over the head of main.
    pub(super) async fn commit(&self, files: &[(&str, &str)], message: &str) -> CommitId {
        let head = self.repository.head("main").await.unwrap();
        self.repository.commit(change(head, files, message)).await.unwrap()
    }

    /// Runs git in the repository and returns what it prints.
    pub(super) fn git(&self, args: &[&str]) -> String {
        run_git(self.repository.path(), args)
    }
}

/// A commit on main: files with text are written, files without are deleted.
pub(super) fn change(head: Option<CommitId>, files: &[(&str, &str)], message: &str) -> NewCommit {
    NewCommit {
        reference: "refs/heads/main".to_owned(),
        expected: head.clone(),
        base_tree: head.clone(),
        changes: files.iter().map(|(path, text)| (path_of(path), Some(File::text(text)))).collect(),
        parents: head.into_iter().collect(),
        author: author(),
        committer: author(),
        message: message.to_owned(),
        time: time(),
    }
}

pub(super) fn path_of(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

pub(super) fn author() -> Author {
    Author { name: "Ada".to_owned(), email: "ada@home.example".to_owned() }
}

pub(super) fn time() -> Timestamp {
    Timestamp::parse("2026-11-21T08:00:00Z").unwrap()
}

/// Runs git with nothing of the user's environment and returns what it prints, trimmed.
pub(super) fn run_git(directory: &Path, args: &[&str]) -> String {
    let (ok, text) = try_git(directory, args);
    assert!(ok, "git {args:?}: {text}");
    text
}

/// Runs git and returns whether it succeeded with all that it printed.
pub(super) fn try_git(directory: &Path, args: &[&str]) -> (bool, String) {
    let output = Command::new("git")
        .args(args)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", directory)
        .envs([("LC_ALL", "C"), ("TZ", "UTC"), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")])
        .envs([("GIT_AUTHOR_NAME", "Bob"), ("GIT_AUTHOR_EMAIL", "bob@home.example")])
        .envs([("GIT_COMMITTER_NAME", "Bob"), ("GIT_COMMITTER_EMAIL", "bob@home.example")])
        .envs([("GIT_AUTHOR_DATE", "2026-11-21T09:00:00Z"), ("GIT_COMMITTER_DATE", "2026-11-21T09:00:00Z")])
        .output()
        .unwrap();
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        text.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    (output.status.success(), text.trim_end().to_owned())
}
