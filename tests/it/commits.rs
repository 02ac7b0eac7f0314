//! Commits that people make, written straight into a repository.
//!
//! Not here: the git program in the hands of a person (`machine.rs`).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rewild::base::{RepoPath, Timestamp};
use rewild::git::{NewCommit, Repository};
use rewild::model::{Author, CommitId, File, FileTree};

/// The real clock, because the sandbox writes real times.
pub(crate) fn clock() -> Timestamp {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp(i64::try_from(now.as_micros()).unwrap())
}

/// A clock that runs a hundred times slower, for what fades while a slow machine works.
pub(crate) fn slow_clock() -> Timestamp {
    static START: OnceLock<Timestamp> = OnceLock::new();
    let start = START.get_or_init(clock);
    Timestamp(start.0 + (clock().0 - start.0) / 100)
}

/// How far the clock that tests step is ahead, in microseconds.
static AHEAD: AtomicI64 = AtomicI64::new(0);

/// The real clock as far ahead as one test has stepped it.
pub(crate) fn stepped_clock() -> Timestamp {
    Timestamp(clock().0 + AHEAD.load(Ordering::SeqCst))
}

/// Steps that clock.
pub(crate) fn step(by: Duration) {
    AHEAD.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
}

fn person() -> Author {
    Author { name: "alice".into(), email: "alice@example.org".into() }
}

/// Commits files over the head of a branch.
pub(crate) async fn commit(
    repository: &Repository,
    branch: &str,
    message: &str,
    changes: &[(&str, Option<&str>)],
) -> CommitId {
    let head = repository.head(branch).await.unwrap();
    let changes = changes.iter().map(|(path, text)| (RepoPath::parse(path).unwrap(), text.map(File::text))).collect();
    let new = NewCommit {
        reference: format!("refs/heads/{branch}"),
        expected: head.clone(),
        base_tree: head.clone(),
        changes,
        parents: head.into_iter().collect(),
        author: person(),
        committer: person(),
        message: message.into(),
        time: clock(),
    };
    repository.commit(new).await.unwrap()
}

/// Commits a whole tree over the head of `main`.
pub(crate) async fn commit_tree(repository: &Repository, message: &str, files: &FileTree) {
    let head = repository.head("main").await.unwrap();
    let new = NewCommit {
        reference: "refs/heads/main".into(),
        expected: head.clone(),
        base_tree: None,
        changes: files.iter().map(|(path, file)| (path.clone(), Some(file.clone()))).collect(),
        parents: head.into_iter().collect(),
        author: person(),
        committer: person(),
        message: message.into(),
        time: clock(),
    };
    repository.commit(new).await.unwrap();
}
