//! The work tree of a person: which edits are not committed, and the only checkout there is, a two-tree update that
//! refuses to touch an edit.
//!
//! Files are raw bytes of the object database: no filter, smudge command, end-of-line rule or attribute applies.
//!
//! Not here: waiting until a person commits (`pipeline` blocks on the paths that are named here).

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry, IndexTime, ObjectType, Oid};

use crate::base::RepoPath;
use crate::model::{CommitId, File, FileMode};

use super::beneath::{Beneath, OnDisk};
use super::check_tree::{Refusal, unfit_mode};
use super::checks::MAX_BLOB_BYTES;
use super::error::{Error, git, io};
use super::index_lock::IndexLock;
use super::objects::{Known, Objects};
use super::read::{list_files, refused};
use super::refs::{commit_id, head_branch, oid, read_ref};
use super::repository::{Repository, sync};
use super::tree_diff::{Difference, differences};

/// A file as a tree or index names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Blob {
    pub(super) id: Oid,
    /// The mode as git writes it, such as 0o100644.
    pub(super) mode: u32,
}

/// The parts of a work tree that are compared.
struct WorkTree<'a> {
    repository: &'a git2::Repository,
    files: Beneath,
    index: Index,
    /// Whether the executable bit on disk means something (`core.fileMode`).
    modes: bool,
}

impl Repository {
    /// Returns the paths at or below the given ones that carry edits which are not committed: in the index, in files,
    /// or as new files. A bare repository has none.
    pub async fn dirty_paths(&self, paths: &[RepoPath]) -> Result<Vec<RepoPath>, Error> {
        let attempt = format!("look for uncommitted edits in {}", self.path().display());
        let paths = paths.to_vec();
        self.run(attempt, move |repository, known| dirty_paths(repository, known, &paths)).await
    }

    /// Returns the lock of the index, if git or somebody else holds it.
    pub fn index_lock(&self) -> Option<PathBuf> {
        let lock = self.git_dir().join("index.lock");
        lock.exists().then_some(lock)
    }

    /// Brings index and files from one commit to another after the branch moved, or touches nothing and names the
    /// uncommitted edits in the way ([`Error::WorkTreeDirty`]).
    ///
    /// Does nothing unless HEAD is a branch whose head is `to`. May run again after it was cut off.
    pub async fn sync_worktree(&self, from: Option<&CommitId>, to: &CommitId) -> Result<(), Error> {
        let attempt = format!("bring the work tree {} to {}", self.path().display(), to.short());
        let (from, to) = (from.cloned(), to.clone());
        self.write(attempt, move |repository, known| sync_worktree(repository, known, from.as_ref(), &to)).await
    }
}

fn sync_worktree(
    repository: &git2::Repository,
    known: &Known,
    from: Option<&CommitId>,
    to: &CommitId,
) -> Result<(), Error> {
    let Some(root) = repository.workdir() else { return Ok(()) };
    let Some(branch) = head_branch(repository)? else { return Ok(()) };
    if read_ref(repository, known, &format!("refs/heads/{branch}"))?.map(commit_id).as_ref() != Some(to) {
        return Ok(());
    }
    let objects = Objects::of(repository, known)?;
    let changes = changes(&objects, from, to)?;
    let lock = IndexLock::take(repository.path())?;
    let tree = WorkTree::open(repository, root)?;
    let dirty = tree.dirty(&changes)?;
    if !dirty.is_empty() {
        return Err(Error::WorkTreeDirty { paths: dirty });
    }
    for change in changes.iter().filter(|change| change.new.is_none()) {
        tree.files.remove(&change.path)?;
    }
    for change in &changes {
        if let Some(new) = change.new
            && !tree.holds(&change.path, Some(new))?
        {
            tree.files.write(&change.path, &read_blob(&objects, &change.path, new)?)?;
        }
    }
    let entries = tree.entries(&changes)?;
    write_index(&lock, &changes, entries)
}

/// Puts a new index in the place of the old one. Entries of other paths, staged edits among them, stay.
fn write_index(lock: &IndexLock, changes: &[Difference], entries: Vec<IndexEntry>) -> Result<(), Error> {
    let old = lock.index();
    let attempt = || format!("write {}", old.display());
    let fresh = old.with_extension("wild");
    // A process that died here left its part, and the lock of its part, which would hold up every later one.
    for left in [fresh.with_extension("wild.lock"), fresh.clone()] {
        drop(std::fs::remove_file(left));
    }
    match std::fs::copy(old, &fresh) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(io(attempt())(error)),
    }
    let mut index = Index::open(&fresh).map_err(git(attempt()))?;
    for change in changes {
        let path = Path::new(change.path.as_str());
        if index.get_path(path, 0).is_some() {
            index.remove(path, 0).map_err(git(attempt()))?;
        }
    }
    for entry in entries {
        index.add(&entry).map_err(git(attempt()))?;
    }
    index.write().map_err(git(attempt()))?;

    sync(&fresh)?;
    std::fs::rename(&fresh, old).map_err(io(attempt()))
}

fn dirty_paths(repository: &git2::Repository, known: &Known, paths: &[RepoPath]) -> Result<Vec<RepoPath>, Error> {
    let Some(root) = repository.workdir() else { return Ok(Vec::new()) };
    let tree = WorkTree::open(repository, root)?;
    let (mut wanted, mut candidates) = (paths.to_vec(), BTreeSet::new());
    for path in paths {
        match tree.files.look(path)? {
            OnDisk::Missing => {}
            OnDisk::File { .. } | OnDisk::Other => drop(candidates.insert(path.clone())),
            OnDisk::Directory => candidates.extend(tree.untracked(path)?),
            // A committed file that is to become a directory is no edit; an edited or new one is.
            OnDisk::Under(parent) => wanted.push(parent),
        }
    }
    candidates.extend(wanted.iter().skip(paths.len()).cloned());
    let committed = match repository.head().ok().and_then(|head| head.target()) {
        Some(head) => {
            let objects = Objects::of(repository, known)?;
            let root = objects.root(head).map_err(|refusal| refused(refusal, "HEAD"))?;
            list_files(&objects, root, &wanted)?
        }
        None => BTreeMap::new(),
    };
    candidates.extend(committed.keys().cloned());
    for entry in tree.index.iter() {
        let path = std::str::from_utf8(&entry.path).ok().and_then(|text| RepoPath::parse(text).ok());
        candidates.extend(path.filter(|path| wanted.iter().any(|wanted| path.is_within(wanted.as_str()))));
    }
    let mut dirty = Vec::new();
    for path in candidates {
        let head = committed.get(&path).copied();
        if tree.staged(&path) != Staged::Is(head) || !tree.holds(&path, head)? {
            dirty.push(path);
        }
    }
    Ok(dirty)
}

/// Returns the files that differ between two commits, each path and mode checked.
fn changes(objects: &Objects<'_>, from: Option<&CommitId>, to: &CommitId) -> Result<Vec<Difference>, Error> {
    let refuse = |refusal: Refusal| refused(refusal, to.as_str());
    let root = |commit: &CommitId| objects.root(oid(commit)?).map_err(refuse);
    let changes = differences(objects, from.map(root).transpose()?, root(to)?).map_err(refuse)?;
    for Difference { path, old: _, new } in &changes {
        if let Some(blob) = new.filter(|blob| !matches!(blob.mode, 0o100_644 | 0o100_755)) {
            return Err(refuse(Refusal::Hostile(unfit_mode(path.as_str(), blob.mode))));
        }
    }
    Ok(changes)
}

fn read_blob(objects: &Objects<'_>, path: &RepoPath, blob: Blob) -> Result<File, Error> {
    let object = objects.blob(blob.id, MAX_BLOB_BYTES, path.as_str());
    let object = object.map_err(|refusal| refused(refusal, path.as_str()))?;
    let mode = if blob.mode == 0o100_755 { FileMode::Executable } else { FileMode::Regular };
    Ok(File { bytes: object.data().into(), mode })
}

/// What the index says of a path.
#[derive(PartialEq, Eq)]
enum Staged {
    Is(Option<Blob>),
    Conflicted,
}

impl<'a> WorkTree<'a> {
    fn open(repository: &'a git2::Repository, root: &Path) -> Result<Self, Error> {
        let attempt = || format!("read the index of {}", root.display());
        let mut index = repository.index().map_err(git(attempt()))?;
        index.read(true).map_err(git(attempt()))?;
        let modes = repository.config().and_then(|config| config.get_bool("core.filemode")).unwrap_or(true);
        Ok(Self { repository, files: Beneath::open(root)?, index, modes })
    }

    /// Returns the paths whose index entry or file is neither as before nor as after the changes.
    fn dirty(&self, changes: &[Difference]) -> Result<Vec<RepoPath>, Error> {
        let gone = |change: &&Difference| change.new.is_none();
        let deleted: BTreeSet<&RepoPath> = changes.iter().filter(gone).map(|change| &change.path).collect();
        let kept: Vec<&RepoPath> = changes.iter().filter(|change| !gone(change)).map(|change| &change.path).collect();
        let mut dirty = BTreeSet::new();
        for change in changes {
            let staged = self.staged(&change.path);
            let known = staged == Staged::Is(change.old) || staged == Staged::Is(change.new);
            if !known || !self.may_replace(change, &deleted, &kept, &mut dirty)? {
                dirty.insert(change.path.clone());
            }
        }
        Ok(dirty.into_iter().collect())
    }

    /// Returns whether what lies at the path of a change is nobody's edit. Files in the way are added to `dirty`.
    fn may_replace(
        &self,
        change: &Difference,
        deleted: &BTreeSet<&RepoPath>,
        kept: &[&RepoPath],
        dirty: &mut BTreeSet<RepoPath>,
    ) -> Result<bool, Error> {
        match self.files.look(&change.path)? {
            OnDisk::Directory if change.new.is_some() && change.old.is_none() => {
                for below in self.files.files_below(&change.path)? {
                    if !deleted.contains(&below) {
                        dirty.insert(below);
                    }
                }
                Ok(true)
            }
            // An update that was cut off has made the directory already.
            OnDisk::Directory if change.new.is_none() => {
                Ok(kept.iter().any(|path| path.is_within(change.path.as_str())))
            }
            OnDisk::Under(parent) => Ok(change.new.is_none() || deleted.contains(&parent)),
            OnDisk::Missing | OnDisk::File { .. } | OnDisk::Directory | OnDisk::Other => {
                Ok(self.holds(&change.path, change.old)? || self.holds(&change.path, change.new)?)
            }
        }
    }

    /// Returns whether the file on disk is this one, byte for byte.
    fn holds(&self, path: &RepoPath, blob: Option<Blob>) -> Result<bool, Error> {
        let (found, blob) = match (self.files.look(path)?, blob) {
            (OnDisk::Missing | OnDisk::Under(_), blob) => return Ok(blob.is_none()),
            (OnDisk::File { mode, size }, Some(blob)) => ((mode, size), blob),
            (OnDisk::File { .. } | OnDisk::Directory | OnDisk::Other, _) => return Ok(false),
        };
        let mode = match found.0 {
            FileMode::Regular => 0o100_644,
            FileMode::Executable => 0o100_755,
        };
        if self.modes && mode != blob.mode {
            return Ok(false);
        }
        let attempt = || format!("read blob {}", blob.id);
        let (size, _) = self.repository.odb().and_then(|odb| odb.read_header(blob.id)).map_err(git(attempt()))?;
        if u64::try_from(size).ok() != Some(found.1) {
            return Ok(false);
        }
        let Some(bytes) = self.files.read(path)? else { return Ok(false) };
        Ok(Oid::hash_object(ObjectType::Blob, &bytes).map_err(git(attempt()))? == blob.id)
    }

    fn staged(&self, path: &RepoPath) -> Staged {
        let at = Path::new(path.as_str());
        if (1..=3).any(|stage| self.index.get_path(at, stage).is_some()) {
            return Staged::Conflicted;
        }
        Staged::Is(self.index.get_path(at, 0).map(|entry| Blob { id: entry.id, mode: entry.mode }))
    }

    /// Returns the files below a directory on disk that git does not ignore.
    fn untracked(&self, path: &RepoPath) -> Result<Vec<RepoPath>, Error> {
        let mut files = self.files.files_below(path)?;
        files.retain(|file| !self.repository.is_path_ignored(file.as_str()).unwrap_or(false));
        Ok(files)
    }

    /// Returns the index entries of the files that changes wrote.
    fn entries(&self, changes: &[Difference]) -> Result<Vec<IndexEntry>, Error> {
        let mut entries = Vec::new();
        for change in changes {
            let Some(new) = change.new else { continue };
            let found = self.files.metadata(&change.path)?;
            entries.push(IndexEntry {
                ctime: IndexTime::new(seconds(found.ctime()), nanoseconds(found.ctime_nsec())),
                mtime: IndexTime::new(seconds(found.mtime()), nanoseconds(found.mtime_nsec())),
                dev: low_bits(found.dev()),
                ino: low_bits(found.ino()),
                mode: new.mode,
                uid: found.uid(),
                gid: found.gid(),
                file_size: low_bits(found.size()),
                id: new.id,
                flags: 0,
                flags_extended: 0,
                path: change.path.as_str().as_bytes().to_vec(),
            });
        }
        Ok(entries)
    }
}

fn seconds(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(0)
}

fn nanoseconds(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// The index keeps the low 32 bits of sizes and numbers.
fn low_bits(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
