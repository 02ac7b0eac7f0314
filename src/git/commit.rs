//! Writing commits: objects first, synced to disk, then the compare-and-swap of the ref.
//!
//! Not here: bringing a work tree to the new commit (`worktree.rs`).

use std::collections::BTreeMap;

use git2::{ObjectType, Oid};

use crate::base::{RepoPath, Timestamp};
use crate::model::{Author, CommitId, File, FileMode};

use super::error::{Error, git};
use super::objects::{Known, Objects, find_commit, find_tree};
use super::read::refused;
use super::refs::{RefChange, check_name, commit_id, oid, update_refs};
use super::repository::{Repository, sync};

/// Longest commit message in bytes.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// Mode of a regular file in a git tree.
const REGULAR: i32 = 0o100_644;
/// Mode of an executable file in a git tree.
const EXECUTABLE: i32 = 0o100_755;
/// Mode of a directory in a git tree.
const DIRECTORY: i32 = 0o040_000;

/// A commit to make and the ref that moves to it.
#[derive(Clone, Debug)]
pub struct NewCommit {
    /// Full name of the ref, such as `refs/heads/main`.
    pub reference: String,
    /// Where the ref must still be; nothing if it must not exist.
    pub expected: Option<CommitId>,
    /// The commit whose files are the start; nothing for an empty tree.
    pub base_tree: Option<CommitId>,
    /// Files written over it; nothing deletes a file, or all files below a directory.
    pub changes: BTreeMap<RepoPath, Option<File>>,
    /// Parents in order.
    pub parents: Vec<CommitId>,
    /// Who asked for it.
    pub author: Author,
    /// Who made it.
    pub committer: Author,
    /// The message; a final newline is added.
    pub message: String,
    /// When; whole seconds in UTC.
    pub time: Timestamp,
}

/// A commit without a ref: what [`NewCommit`] holds but for where it goes.
#[derive(Clone, Debug)]
pub struct CommitContent {
    /// The commit whose files are the start; nothing for an empty tree.
    pub base_tree: Option<CommitId>,
    /// Files written over it; nothing deletes a file, or all files below a directory.
    pub changes: BTreeMap<RepoPath, Option<File>>,
    /// Parents in order.
    pub parents: Vec<CommitId>,
    /// Who asked for it.
    pub author: Author,
    /// Who made it.
    pub committer: Author,
    /// The message; a final newline is added.
    pub message: String,
    /// When; whole seconds in UTC.
    pub time: Timestamp,
}

impl Repository {
    /// Makes a commit and moves its ref, unless somebody else moved it: then [`Error::Lost`] and nothing has changed.
    pub async fn commit(&self, new: NewCommit) -> Result<CommitId, Error> {
        check_name(&new.reference)?;
        let attempt = format!("commit to {} of {}", new.reference, self.path().display());
        let NewCommit { reference: name, expected, base_tree, changes, parents, author, committer, message, time } =
            new;
        let content = CommitContent { base_tree, changes, parents, author, committer, message, time };
        self.write(attempt, move |repository, known| {
            let commit = write_commit(repository, known, &content)?;
            let subject = content.message.lines().next().unwrap_or_default();
            let change = RefChange { name, expected, new: Some(commit.clone()) };
            update_refs(repository, &[change], &format!("wild: {subject}"))?;
            Ok(commit)
        })
        .await
    }

    /// Writes a commit that no ref names yet; [`Repository::update_refs`] moves refs to it.
    pub async fn write_commit(&self, content: CommitContent) -> Result<CommitId, Error> {
        let attempt = format!("write a commit to {}", self.path().display());
        self.write(attempt, move |repository, known| write_commit(repository, known, &content)).await
    }
}

/// Writes the objects of a commit and syncs them.
pub(super) fn write_commit(
    repository: &git2::Repository,
    known: &Known,
    content: &CommitContent,
) -> Result<CommitId, Error> {
    let attempt = || format!("write a commit to {}", repository.path().display());
    check_message(&content.message)?;
    let objects = Objects::of(repository, known)?;
    let root = |commit: &CommitId| objects.root(oid(commit)?).map_err(|refusal| refused(refusal, commit.as_str()));
    let base = content.base_tree.as_ref().map(root).transpose()?;
    let changes = content.changes.iter().map(|(path, file)| (path.as_str(), file.as_ref())).collect();
    let tree = match write_tree(repository, &objects, base, changes)? {
        Some(tree) => tree,
        None => empty_tree(repository)?,
    };
    let tree = find_tree(repository, &objects, tree)?;
    let mut parents = Vec::new();
    for parent in &content.parents {
        parents.push(find_commit(repository, &objects, oid(parent)?)?);
    }
    let parents: Vec<&git2::Commit<'_>> = parents.iter().collect();
    let author = signature(&content.author, content.time)?;
    let committer = signature(&content.committer, content.time)?;
    let message = format!("{}\n", content.message.trim_end());
    let commit = repository.commit(None, &author, &committer, &message, &tree, &parents).map_err(git(attempt()))?;
    sync(&repository.commondir().join("objects"))?;
    Ok(commit_id(commit))
}

/// Returns the signature of a person at a time.
pub(super) fn signature(person: &Author, time: Timestamp) -> Result<git2::Signature<'static>, Error> {
    git2::Signature::new(&person.name, &person.email, &git2::Time::new(time.seconds(), 0))
        .map_err(git(format!("sign as {:?}", person.name)))
}

fn check_message(message: &str) -> Result<(), Error> {
    let reason = if message.len() > MAX_MESSAGE_BYTES {
        "it is longer than 64 KiB"
    } else if message.contains('\0') {
        "it holds a NUL byte"
    } else {
        return Ok(());
    };
    Err(Error::Unusable { attempt: "write a commit message".to_owned(), reason: reason.to_owned() })
}

/// Writes a tree with changes over a base and returns its id, or nothing if no file is left: git keeps no empty directory.
fn write_tree(
    repository: &git2::Repository,
    objects: &Objects<'_>,
    base: Option<Oid>,
    changes: BTreeMap<&str, Option<&File>>,
) -> Result<Option<Oid>, Error> {
    let attempt = || format!("write a tree to {}", repository.path().display());
    let base = base.map(|id| find_tree(repository, objects, id)).transpose()?;
    let mut builder = repository.treebuilder(base.as_ref()).map_err(git(attempt()))?;
    let mut directories: BTreeMap<&str, BTreeMap<&str, Option<&File>>> = BTreeMap::new();
    for (path, file) in changes {
        match (path.split_once('/'), file) {
            (Some((directory, rest)), _) => {
                directories.entry(directory).or_default().insert(rest, file);
            }
            (None, Some(file)) => {
                let blob = repository.blob(&file.bytes).map_err(git(format!("write {path}")))?;
                let mode = match file.mode {
                    FileMode::Regular => REGULAR,
                    FileMode::Executable => EXECUTABLE,
                };
                builder.insert(path, blob, mode).map_err(git(format!("write {path}")))?;
            }
            (None, None) => remove(&mut builder, path)?,
        }
    }
    for (name, changes) in directories {
        let entry = builder.get(name).map_err(git(attempt()))?;
        let below = entry.filter(|entry| entry.kind() == Some(ObjectType::Tree)).map(|entry| entry.id());
        if below.is_none() && changes.values().all(Option::is_none) {
            continue;
        }
        match write_tree(repository, objects, below, changes)? {
            Some(tree) => builder.insert(name, tree, DIRECTORY).map(drop).map_err(git(format!("write {name}")))?,
            None => remove(&mut builder, name)?,
        }
    }
    if builder.is_empty() {
        return Ok(None);
    }
    builder.write().map(Some).map_err(git(attempt()))
}

fn remove(builder: &mut git2::TreeBuilder<'_>, name: &str) -> Result<(), Error> {
    let attempt = || format!("remove {name}");
    if builder.get(name).map_err(git(attempt()))?.is_some() {
        builder.remove(name).map_err(git(attempt()))?;
    }
    Ok(())
}

fn empty_tree(repository: &git2::Repository) -> Result<Oid, Error> {
    let attempt = "write the empty tree";
    repository.treebuilder(None).and_then(|builder| builder.write()).map_err(git(attempt))
}

#[cfg(test)]
mod tests;
