//! Commits that people make, written straight into a repository.
//!
//! Not here: the git program in the hands of a person (`machine.rs`).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rewild::base::{RepoPath, Timestamp};
use rewild::git::{Error, NewCommit, Repository};
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

/// How far each clock that tests step is ahead, in microseconds. A clock is a plain function, so each test has its own by number.
static AHEAD: [AtomicI64; 5] = [const { AtomicI64::new(0) }; 5];

/// The real clock as far ahead as one test has stepped it.
pub(crate) fn stepped_clock<const CLOCK: usize>() -> Timestamp {
    Timestamp(clock().0 + AHEAD[CLOCK].load(Ordering::SeqCst))
}

/// Steps that clock.
pub(crate) fn step<const CLOCK: usize>(by: Duration) {
    AHEAD[CLOCK].fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
}

fn person() -> Author {
    Author { name: "alice".into(), email: "alice@example.org".into() }
}

/// Commits files over the head of a branch. They are of nobody else: whoever was faster is overwritten by their texts.
pub(crate) async fn commit(
    repository: &Repository,
    branch: &str,
    message: &str,
    changes: &[(&str, Option<&str>)],
) -> CommitId {
    loop {
        let head = repository.head(branch).await.unwrap();
        match commit_over(repository, branch, (head, message), changes).await {
            // Somebody else was faster, as with a push.
            Err(Error::Lost { .. }) => {}
            done => return done.unwrap(),
        }
    }
}

/// Commits a change of a file that others write too: what it holds at the head stays but for the change.
pub(crate) async fn change(
    repository: &Repository,
    branch: &str,
    (message, path): (&str, &str),
    change: impl Fn(&str) -> String,
) -> CommitId {
    loop {
        let head = repository.head(branch).await.unwrap().unwrap();
        let files = repository.read_tree(&head, &[path]).await.unwrap();
        let text = change(files.text(path).unwrap());
        match commit_over(repository, branch, (Some(head), message), &[(path, Some(&text))]).await {
            Err(Error::Lost { .. }) => {}
            done => return done.unwrap(),
        }
    }
}

async fn commit_over(
    repository: &Repository,
    branch: &str,
    (head, message): (Option<CommitId>, &str),
    changes: &[(&str, Option<&str>)],
) -> Result<CommitId, Error> {
    let changes = changes.iter().map(|(path, text)| (RepoPath::parse(path).unwrap(), text.map(File::text)));
    let new = NewCommit {
        reference: format!("refs/heads/{branch}"),
        expected: head.clone(),
        base_tree: head.clone(),
        changes: changes.collect(),
        parents: head.into_iter().collect(),
        author: person(),
        committer: person(),
        message: message.into(),
        time: clock(),
    };
    repository.commit(new).await
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
