//! Refs: reading, listing and the compare-and-swap that every change of the repository ends with.
//!
//! Not here: the objects they point to (`commit.rs`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{ErrorCode, Oid, Transaction};

use crate::model::CommitId;

use super::check_tree::Refusal;
use super::checks::refs::{MAX_REFS, check_ref_name};
use super::error::{Error, git, io};
use super::locks::{Recovery, recover};
use super::objects::{Known, Objects};
use super::read::refused;
use super::repository::{Repository, sync};

/// Size of the file of packed refs in bytes: libgit2 takes it into memory whole, and 10,000 refs and what their tags lead to need less.
const MAX_PACKED_BYTES: u64 = 8 * 1024 * 1024;
/// Tries to lock a ref that another writer holds; git's own locks live for milliseconds.
const LOCK_TRIES: u32 = 3;
/// Wait between two tries.
const LOCK_WAIT: Duration = Duration::from_millis(50);

/// One ref to move, if it is still where the caller saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefChange {
    /// Full name, such as `refs/heads/main`.
    pub name: String,
    /// Where the ref is; nothing if it must not exist.
    pub expected: Option<CommitId>,
    /// Where it goes; nothing deletes it.
    pub new: Option<CommitId>,
}

/// What keeps a ref from being made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RefObstacle {
    /// Another ref, by its full name.
    Ref(String),
    /// A file or directory that is no ref.
    File(PathBuf),
}

impl Repository {
    /// Returns the head of a branch, or nothing if the branch has no commit.
    pub async fn head(&self, branch: &str) -> Result<Option<CommitId>, Error> {
        self.read_ref(&format!("refs/heads/{branch}")).await
    }

    /// Returns the branch that HEAD names, without `refs/heads/`, or nothing if HEAD names a commit itself.
    pub async fn head_branch(&self) -> Result<Option<String>, Error> {
        let attempt = format!("read HEAD of {}", self.path().display());
        self.read(attempt, |repository, _| head_branch(repository)).await
    }

    /// Returns the commit a ref points to, tags followed, or nothing if there is no such ref.
    pub async fn read_ref(&self, name: &str) -> Result<Option<CommitId>, Error> {
        check_name(name)?;
        let (attempt, name) = (format!("read {name} of {}", self.path().display()), name.to_owned());
        self.read(attempt, move |repository, known| Ok(read_ref(repository, known, &name)?.map(commit_id))).await
    }

    /// Returns all refs that start with a prefix and lead to a commit; an empty prefix means all.
    pub async fn list_refs(&self, prefix: &str) -> Result<BTreeMap<String, CommitId>, Error> {
        let (attempt, prefix) = (format!("list refs of {}", self.path().display()), prefix.to_owned());
        self.read(attempt, move |repository, known| list_refs(repository, known, &prefix)).await
    }

    /// Moves refs in the given order, all or none: every ref is locked and compared before the first one moves.
    ///
    /// A crash between two moves leaves the earlier ones done. Callers put generated refs before the branch.
    pub async fn update_refs(&self, changes: &[RefChange]) -> Result<(), Error> {
        let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
        let attempt = format!("move {} in {}", names.join(", "), self.path().display());
        let changes = changes.to_vec();
        self.write(attempt, move |repository, _| update_refs(repository, &changes, "wild")).await
    }

    /// Returns what keeps a ref from being made: a ref that is called as a directory above it or lies below it, or a file in its place.
    pub async fn obstacle(&self, name: &str) -> Result<Option<RefObstacle>, Error> {
        check_name(name)?;
        let (attempt, name) = (format!("look for {name} in {}", self.path().display()), name.to_owned());
        self.read(attempt, move |repository, known| obstacle(repository, known, &name)).await
    }

    /// Deletes a ref if it is still where the caller saw it.
    pub async fn delete_ref(&self, name: &str, expected: &CommitId) -> Result<(), Error> {
        self.update_refs(&[RefChange { name: name.to_owned(), expected: Some(expected.clone()), new: None }]).await
    }
}

fn obstacle(repository: &git2::Repository, known: &Known, name: &str) -> Result<Option<RefObstacle>, Error> {
    let attempt = || format!("look for {name} in {}", repository.path().display());
    let path = |name: &str| repository.commondir().join(name);
    let above = name.match_indices('/').filter_map(|(at, _)| name.get(..at)).filter(|above| *above != "refs");
    for above in above {
        // Not `read_ref`: what leads nowhere stands in the way as well.
        match repository.find_reference(above) {
            Ok(_) => return Ok(Some(RefObstacle::Ref(above.to_owned()))),
            Err(_) if path(above).is_file() => return Ok(Some(RefObstacle::File(path(above)))),
            Err(_) => {}
        }
    }
    if let Some((below, _)) = list_refs(repository, known, &format!("{name}/"))?.pop_first() {
        return Ok(Some(RefObstacle::Ref(below)));
    }
    let own = path(name);
    if own.is_dir() {
        let left = first_file(&own).map_err(io(attempt()))?;
        return Ok(left.map(RefObstacle::File));
    }
    Ok((own.is_file() && repository.find_reference(name).is_err()).then_some(RefObstacle::File(own)))
}

/// Returns a file below a directory in which refs lie; empty directories are cleared away by git.
fn first_file(directory: &Path) -> std::io::Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(directory)?.flatten() {
        match entry.file_type()?.is_dir() {
            true => {
                if let Some(found) = first_file(&entry.path())? {
                    return Ok(Some(found));
                }
            }
            false => return Ok(Some(entry.path())),
        }
    }
    Ok(None)
}

/// Checks the name of a ref: full, valid for git, short enough, no part that could pass for an option.
pub(super) fn check_name(name: &str) -> Result<(), Error> {
    let refuse = |reason| Error::RefName { name: name.to_owned(), reason };
    check_ref_name(name).map_err(refuse)?;
    if git2::Reference::is_valid_name(name) { Ok(()) } else { Err(refuse("git does not allow it")) }
}

/// Returns our form of an object id.
pub(super) fn commit_id(id: Oid) -> CommitId {
    let mut bytes = [0; 20];
    for (to, from) in bytes.iter_mut().zip(id.as_bytes()) {
        *to = *from;
    }
    CommitId::from_bytes(bytes)
}

/// Returns libgit2's form of a commit id.
pub(super) fn oid(id: &CommitId) -> Result<Oid, Error> {
    Oid::from_str(id.as_str()).map_err(git(format!("read commit id {id}")))
}

pub(super) fn head_branch(repository: &git2::Repository) -> Result<Option<String>, Error> {
    let attempt = || format!("read HEAD of {}", repository.path().display());
    check_packed_refs(repository)?;
    let head = repository.find_reference("HEAD").map_err(git(attempt()))?;
    let target = head.symbolic_target().map_err(git(attempt()))?;
    Ok(target.and_then(|name| name.strip_prefix("refs/heads/")).map(str::to_owned))
}

pub(super) fn read_ref(repository: &git2::Repository, known: &Known, name: &str) -> Result<Option<Oid>, Error> {
    let attempt = || format!("read {name} of {}", repository.path().display());
    check_packed_refs(repository)?;
    let target = match repository.find_reference(name) {
        Ok(reference) => reference.resolve().map_err(git(attempt()))?.target(),
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(git(attempt())(error)),
    };
    let commit = match target {
        Some(target) => Objects::of(repository, known)?.peel(target).map_err(|refusal| refused(refusal, name))?,
        None => None,
    };
    let none = || Error::Unusable { attempt: attempt(), reason: "it does not lead to a commit".to_owned() };
    commit.map(Some).ok_or_else(none)
}

pub(super) fn list_refs(
    repository: &git2::Repository,
    known: &Known,
    prefix: &str,
) -> Result<BTreeMap<String, CommitId>, Error> {
    let attempt = || format!("list refs of {}", repository.path().display());
    check_packed_refs(repository)?;
    let objects = Objects::of(repository, known)?;
    let mut refs = BTreeMap::new();
    // Only the files below the prefix are looked at: there is a ref for every app.
    let found = match prefix {
        "" => repository.references(),
        prefix => repository.references_glob(&format!("{prefix}*")),
    };
    for (count, reference) in found.map_err(git(attempt()))?.enumerate() {
        if count >= MAX_REFS {
            return Err(Error::Unusable { attempt: attempt(), reason: "there are more than 10,000".to_owned() });
        }
        let reference = reference.map_err(git(attempt()))?;
        let Ok(name) = reference.name() else { continue };
        if !name.starts_with(prefix) {
            continue;
        }
        let Some(target) = reference.resolve().ok().and_then(|reference| reference.target()) else { continue };
        match objects.peel(target) {
            Ok(Some(commit)) => drop(refs.insert(name.to_owned(), commit_id(commit))),
            // What leads to no commit, or over a tag that nobody reads, is no ref of a commit.
            Ok(None) | Err(Refusal::Hostile(_) | Refusal::Unreadable(_)) => {}
            Err(Refusal::Broken(error)) => return Err(error),
        }
    }
    Ok(refs)
}

/// Checks the size of the file of packed refs before libgit2 reads it.
pub(super) fn check_packed_refs(repository: &git2::Repository) -> Result<(), Error> {
    let path = repository.commondir().join("packed-refs");
    let attempt = || format!("read {}", path.display());
    match std::fs::metadata(&path) {
        Ok(found) if found.len() > MAX_PACKED_BYTES => {
            let reason =
                "it is larger than 8 MiB, so it holds more than 10,000 refs; delete those that nobody needs".to_owned();
            Err(Error::Unusable { attempt: attempt(), reason })
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(attempt())(error)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Locks all refs, compares all, then moves them in order, each synced before the next.
pub(super) fn update_refs(repository: &git2::Repository, changes: &[RefChange], message: &str) -> Result<(), Error> {
    let mut locked = Vec::new();
    for change in changes {
        locked.push((lock(repository, &change.name)?, change));
    }
    for change in changes {
        let found = find_target(repository, &change.name)?;
        if found.map(commit_id) != change.expected {
            return Err(Error::Lost {
                reference: change.name.clone(),
                expected: change.expected.clone(),
                found: found.map(commit_id),
            });
        }
    }
    if changes.iter().any(|change| change.new.is_none()) {
        await_packed_refs(repository)?;
    }
    for (transaction, change) in locked {
        move_ref(transaction, change, message)?;
        sync_ref(repository, &change.name)?;
    }
    Ok(())
}

/// Takes the lock of a ref. The comparison happens under it: libgit2's own check for a new ref happens before it locks,
/// so two writers could both create the same ref and one would be lost.
fn lock<'a>(repository: &'a git2::Repository, name: &str) -> Result<Transaction<'a>, Error> {
    check_name(name)?;
    let attempt = || format!("lock {name} of {}", repository.path().display());
    let mut transaction = repository.transaction().map_err(git(attempt()))?;
    for tried in 1..=LOCK_TRIES {
        match transaction.lock_ref(name) {
            Ok(()) => return Ok(transaction),
            Err(error) if error.code() != ErrorCode::Locked => return Err(git(attempt())(error)),
            Err(_) if tried < LOCK_TRIES => std::thread::sleep(LOCK_WAIT),
            Err(_) => {}
        }
    }
    let path = repository.commondir().join(format!("{name}.lock"));
    match recover(repository, &path)? {
        Recovery::Cleared => transaction.lock_ref(name).map(|()| transaction).map_err(git(attempt())),
        Recovery::Held(why) => Err(Error::Locked { path, why }),
    }
}

/// Waits until nobody rewrites the packed refs: a deletion does, and finding them locked half-way would be too late.
fn await_packed_refs(repository: &git2::Repository) -> Result<(), Error> {
    let path = repository.commondir().join("packed-refs.lock");
    for _ in 0..LOCK_TRIES {
        if !path.exists() {
            return Ok(());
        }
        std::thread::sleep(LOCK_WAIT);
    }
    match recover(repository, &path)? {
        Recovery::Cleared => Ok(()),
        Recovery::Held(why) => Err(Error::Locked { path, why }),
    }
}

/// Returns the object a ref names directly, tags not followed.
fn find_target(repository: &git2::Repository, name: &str) -> Result<Option<Oid>, Error> {
    check_packed_refs(repository)?;
    match repository.refname_to_id(name) {
        Ok(id) => Ok(Some(id)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(git(format!("read {name} of {}", repository.path().display()))(error)),
    }
}

fn move_ref(mut transaction: Transaction<'_>, change: &RefChange, message: &str) -> Result<(), Error> {
    let attempt = || format!("move {}", change.name);
    let signature = git2::Signature::now("wild", "wild@localhost").map_err(git(attempt()))?;
    match &change.new {
        Some(new) => transaction.set_target(&change.name, oid(new)?, Some(&signature), message),
        None if change.expected.is_some() => transaction.remove(&change.name),
        None => Ok(()),
    }
    .map_err(git(attempt()))?;
    transaction.commit().map_err(git(attempt()))
}

/// Syncs the directories above a ref: libgit2 syncs the nearest one only, and each may be new.
fn sync_ref(repository: &git2::Repository, name: &str) -> Result<(), Error> {
    let mut directory = Path::new(name).parent();
    while let Some(path) = directory.filter(|path| !path.as_os_str().is_empty()) {
        let path_on_disk = repository.commondir().join(path);
        if path_on_disk.is_dir() {
            sync(&path_on_disk)?;
        }
        directory = path.parent();
    }
    Ok(())
}
