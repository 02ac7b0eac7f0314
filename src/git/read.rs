//! Reading files, directories and ids from a commit, always through the check of trees.
//!
//! Not here: files of a work tree (`worktree.rs`); what is committed is what counts.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use git2::{Odb, Oid};

use crate::base::RepoPath;
use crate::base::limits::MAX_FILE_BYTES;
use crate::model::{CommitId, File, FileMode, FileTree};

use super::check_tree::{
    Depth, Entry, HostileTree, Kind, MAX_READ_BYTES, MAX_TREE_PATHS, Refusal, TreeCheck, hostile, join, parse,
    read_tree_object, unfit_kind,
};
use super::error::{Error, git};
use super::refs::oid;
use super::repository::Repository;
use super::worktree::Blob;

/// Segments of a path that is looked up.
const MAX_LOOKUP: usize = crate::base::limits::MAX_PATH_DEPTH;
/// Entries from which on a directory is kept after it was looked into.
const LARGE_DIRECTORY: usize = 64;
/// Large directories that are kept: those of all apps and of all records, in a few commits.
const KEPT_DIRECTORIES: usize = 8;

/// An entry found by its path.
#[derive(Clone, Copy)]
struct Found {
    kind: Kind,
    id: Oid,
}

impl Repository {
    /// Reads the files at or below the given paths of a commit; no path means all. Paths that are not there are left out.
    ///
    /// Only what lies below the paths is checked: in an upstream a symlink breaks the package that holds it, no other.
    pub async fn read_tree(&self, commit: &CommitId, under: &[&str]) -> Result<FileTree, Error> {
        let attempt = format!("read commit {} of {}", commit.short(), self.path().display());
        let (commit, mut under) = (commit.clone(), under.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
        if under.is_empty() {
            under.push(String::new());
        }
        let work = move |repository: &_, directories: &_| read_tree(repository, directories, &commit, &under);
        let tree = self.read(attempt, work).await?;
        self.count_files(tree.len());
        Ok(tree)
    }

    /// Returns the id of the tree or file at a path of a commit: equal ids mean equal content, without reading it.
    pub async fn tree_id(&self, commit: &CommitId, path: &str) -> Result<Option<String>, Error> {
        let attempt = format!("read {path} of commit {}", commit.short());
        let (commit, path) = (commit.clone(), path.to_owned());
        self.read(attempt, move |repository, directories| {
            let found = with_odb(repository, &commit, |odb, root| directories.find(odb, root, &path))?;
            Ok(found.map(|found| found.id.to_string()))
        })
        .await
    }

    /// Returns the names in a directory of a commit, or none if it is not there.
    pub async fn list_directory(&self, commit: &CommitId, path: &str) -> Result<Vec<String>, Error> {
        Ok(self.list(commit, path, |_| true).await?.into_keys().collect())
    }

    /// Returns the directories in a directory of a commit with the id of each, or none if it is not there.
    pub async fn list_directories(&self, commit: &CommitId, path: &str) -> Result<BTreeMap<String, String>, Error> {
        self.list(commit, path, |kind| kind == Kind::Directory).await
    }

    /// Returns the files in a directory of a commit with the id of each, or none if it is not there.
    pub async fn list_files(&self, commit: &CommitId, path: &str) -> Result<BTreeMap<String, String>, Error> {
        self.list(commit, path, |kind| matches!(kind, Kind::Regular | Kind::Executable)).await
    }

    async fn list(
        &self,
        commit: &CommitId,
        path: &str,
        wanted: fn(Kind) -> bool,
    ) -> Result<BTreeMap<String, String>, Error> {
        let attempt = format!("list {path} of commit {}", commit.short());
        let (commit, path) = (commit.clone(), path.to_owned());
        self.read(attempt, move |repository, directories| {
            with_odb(repository, &commit, |odb, root| list(odb, directories.find(odb, root, &path)?, &path, wanted))
        })
        .await
    }
}

/// Reads the checked files at or below paths of a commit.
pub(super) fn read_tree(
    repository: &git2::Repository,
    directories: &Directories,
    commit: &CommitId,
    under: &[String],
) -> Result<FileTree, Error> {
    with_odb(repository, commit, |odb, root| {
        let mut check = TreeCheck::new(odb, Depth::Files(u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX)));
        let (mut files, mut bytes) = (0_u64, 0_u64);
        let mut places = Vec::new();
        for path in under {
            let Some(found) = directories.find(odb, root, path)? else { continue };
            let (more_files, more_bytes) = match found.kind {
                Kind::Directory => {
                    let extent = check.check(found.id, path)?;
                    (extent.files, extent.bytes)
                }
                Kind::Regular | Kind::Executable => (1, check.check_file(found.id, path)?),
                Kind::Symlink | Kind::Gitlink | Kind::Unknown => return Err(hostile(path, unfit_kind(found.kind))),
            };
            files = files.saturating_add(more_files);
            bytes = bytes.saturating_add(more_bytes);
            places.push((path, found));
        }
        if files > MAX_TREE_PATHS {
            return Err(hostile("", ("tree/paths", "it holds more than 500,000 files")));
        }
        if bytes > MAX_READ_BYTES {
            return Err(hostile("", ("tree/bytes", "its files hold more than 256 MiB together")));
        }
        let mut tree = FileTree::new();
        for (path, found) in places {
            collect(odb, found, path, &mut tree)?;
        }
        Ok(tree)
    })
}

/// Returns the tree of a commit.
pub(super) fn root_of(repository: &git2::Repository, commit: &CommitId) -> Result<Oid, Error> {
    let found = repository.find_commit(oid(commit)?).map_err(git(format!("read commit {commit}")))?;
    Ok(found.tree_id())
}

/// Returns the files at or below paths of a tree, of any mode, without reading them.
pub(super) fn list_files(
    repository: &git2::Repository,
    root: Oid,
    under: &[RepoPath],
) -> Result<BTreeMap<RepoPath, Blob>, Error> {
    let odb = repository.odb().map_err(git(format!("read tree {root}")))?;
    let mut files = BTreeMap::new();
    let directories = Directories::default();
    let mut check = TreeCheck::new(&odb, Depth::Names);
    let mut list = |path: &RepoPath| {
        let Some(found) = directories.find(&odb, root, path.as_str())? else { return Ok(()) };
        if found.kind == Kind::Directory {
            check.check(found.id, path.as_str())?;
        }
        list_below(&odb, found, path, &mut files)
    };
    for path in under {
        list(path).map_err(|refusal| refused(refusal, &format!("tree {root}")))?;
    }
    Ok(files)
}

fn list_below(
    odb: &Odb<'_>,
    found: Found,
    path: &RepoPath,
    files: &mut BTreeMap<RepoPath, Blob>,
) -> Result<(), Refusal> {
    let mode = match found.kind {
        Kind::Directory => {
            let object = read_tree_object(odb, found.id, path.as_str())?;
            for entry in parse(object.data()).map_err(|rule| hostile(path.as_str(), rule))? {
                let below = repo_path(&entry, path.as_str())?;
                list_below(odb, Found { kind: entry.kind, id: entry.id }, &below, files)?;
            }
            return Ok(());
        }
        Kind::Regular => 0o100_644,
        Kind::Executable => 0o100_755,
        Kind::Symlink => 0o120_000,
        Kind::Gitlink => 0o160_000,
        Kind::Unknown => 0,
    };
    files.insert(path.clone(), Blob { id: found.id, mode });
    Ok(())
}

/// Turns a refusal into an error that names the commit.
pub(super) fn refused(refusal: Refusal, commit: &str) -> Error {
    match refusal {
        Refusal::Hostile(source) => Error::Hostile { commit: commit.to_owned(), source },
        Refusal::Unreadable(source) => Error::Git { attempt: format!("read commit {commit}"), source },
    }
}

fn with_odb<T>(
    repository: &git2::Repository,
    commit: &CommitId,
    work: impl FnOnce(&Odb<'_>, Oid) -> Result<T, Refusal>,
) -> Result<T, Error> {
    let root = root_of(repository, commit)?;
    let odb = repository.odb().map_err(git(format!("read commit {commit}")))?;
    work(&odb, root).map_err(|refusal| refused(refusal, commit.as_str()))
}

/// Large directories that were looked into, by the id of their tree: that of all apps is on the way to every app, and a tree with an id never
/// changes.
#[derive(Default)]
pub(super) struct Directories {
    kept: Mutex<VecDeque<(Oid, Arc<Names>)>>,
}

/// What a directory holds, by name; nothing where two entries have one name.
type Names = HashMap<Vec<u8>, Option<Found>>;

impl Directories {
    /// Looks a path up; the empty path is the root.
    fn find(&self, odb: &Odb<'_>, root: Oid, path: &str) -> Result<Option<Found>, Refusal> {
        let mut at = Found { kind: Kind::Directory, id: root };
        for segment in path.split('/').filter(|segment| !segment.is_empty()).take(MAX_LOOKUP) {
            if at.kind != Kind::Directory {
                return Ok(None);
            }
            at = match self.names(odb, at.id, path)?.get(segment.as_bytes()) {
                None => return Ok(None),
                Some(None) => return Err(hostile(path, ("tree/duplicate", "two entries have this name"))),
                Some(Some(found)) => *found,
            };
        }
        Ok(Some(at))
    }

    fn names(&self, odb: &Odb<'_>, tree: Oid, path: &str) -> Result<Arc<Names>, Refusal> {
        let known = self.kept().iter().find(|(id, _)| *id == tree).map(|(_, names)| names.clone());
        if let Some(names) = known {
            return Ok(names);
        }
        let object = read_tree_object(odb, tree, path)?;
        let entries = parse(object.data()).map_err(|rule| hostile(path, rule))?;
        let mut names = Names::with_capacity(entries.len());
        for entry in &entries {
            let found = Found { kind: entry.kind, id: entry.id };
            names.entry(entry.name.to_vec()).and_modify(|known| *known = None).or_insert(Some(found));
        }
        let names = Arc::new(names);
        if entries.len() >= LARGE_DIRECTORY {
            let mut kept = self.kept();
            kept.truncate(KEPT_DIRECTORIES - 1);
            kept.push_front((tree, names.clone()));
        }
        Ok(names)
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(Oid, Arc<Names>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn list(
    odb: &Odb<'_>,
    found: Option<Found>,
    path: &str,
    wanted: fn(Kind) -> bool,
) -> Result<BTreeMap<String, String>, Refusal> {
    let Some(found) = found.filter(|found| found.kind == Kind::Directory) else {
        return Ok(BTreeMap::new());
    };
    let object = read_tree_object(odb, found.id, path)?;
    let entries = parse(object.data()).map_err(|rule| hostile(path, rule))?;
    let mut ids = BTreeMap::new();
    for entry in entries.iter().filter(|entry| wanted(entry.kind)) {
        let name = repo_path(entry, path)?.name().to_owned();
        if ids.insert(name, entry.id.to_string()).is_some() {
            return Err(hostile(path, ("tree/duplicate", "two entries have one name")));
        }
    }
    Ok(ids)
}

/// Reads what the check has let through. The recursion is bounded, because the check has counted the levels.
fn collect(odb: &Odb<'_>, found: Found, path: &str, tree: &mut FileTree) -> Result<(), Refusal> {
    let mode = match found.kind {
        Kind::Directory => {
            let object = read_tree_object(odb, found.id, path)?;
            for entry in parse(object.data()).map_err(|rule| hostile(path, rule))? {
                let below = repo_path(&entry, path)?;
                collect(odb, Found { kind: entry.kind, id: entry.id }, below.as_str(), tree)?;
            }
            return Ok(());
        }
        Kind::Regular => FileMode::Regular,
        Kind::Executable => FileMode::Executable,
        Kind::Symlink | Kind::Gitlink | Kind::Unknown => return Err(hostile(path, unfit_kind(found.kind))),
    };
    let place = RepoPath::parse(path).map_err(|_| unfit_path(path))?;
    let object = odb.read(found.id).map_err(Refusal::Unreadable)?;
    tree.insert(place, File { bytes: object.data().into(), mode });
    Ok(())
}

fn repo_path(entry: &Entry<'_>, path: &str) -> Result<RepoPath, Refusal> {
    let below = join(path, entry.name);
    RepoPath::parse(&below).map_err(|_| unfit_path(&below))
}

fn unfit_path(path: &str) -> Refusal {
    Refusal::Hostile(HostileTree { path: path.to_owned(), rule: "tree/name", reason: "it is no repository path" })
}

#[cfg(test)]
mod tests;
