//! Reading files, directories and ids from a commit, always through the check of trees.
//!
//! Not here: files of a work tree (`worktree.rs`); what is committed is what counts.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use git2::Oid;

use crate::base::RepoPath;
use crate::base::limits::MAX_FILE_BYTES;
use crate::model::{CommitId, File, FileMode, FileTree};

use super::check_tree::{
    Depth, HostileTree, MAX_PATHS_BYTES, MAX_READ_BYTES, MAX_TREE_PATHS, Refusal, TreeCheck, hostile, join,
};
use super::checks::tree::{Entry, Kind, parse};
use super::error::Error;
use super::objects::{Known, Objects, oid_of};
use super::refs::oid;
use super::repository::Repository;
use super::worktree::Blob;

/// Segments of a path that is looked up.
const MAX_LOOKUP: usize = crate::base::limits::MAX_PATH_DEPTH;
/// Entries from which on a directory is kept after it was looked into.
const LARGE_DIRECTORY: usize = 64;
/// Large directories that are kept: those of all apps and of all records, in a few commits.
const KEPT_DIRECTORIES: usize = 8;

/// Bytes of one file that are read.
const MOST: u64 = MAX_FILE_BYTES as u64;

/// An entry found by its path.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) id: Oid,
}

impl Found {
    fn of(entry: &Entry<'_>) -> Self {
        Self { kind: entry.kind, id: oid_of(&entry.id) }
    }
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
        let work = move |repository: &_, known: &_| read_tree(repository, known, &commit, &under);
        let tree = self.read(attempt, work).await?;
        self.count_files(tree.len());
        Ok(tree)
    }

    /// Returns the id of the tree or file at a path of a commit: equal ids mean equal content, without reading it.
    pub async fn tree_id(&self, commit: &CommitId, path: &str) -> Result<Option<String>, Error> {
        let attempt = format!("read {path} of commit {}", commit.short());
        let (commit, path) = (commit.clone(), path.to_owned());
        self.read(attempt, move |repository, known| {
            let found = with_objects(repository, known, &commit, |objects, root| objects.find(root, &path))?;
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

    /// Reads the files at or below a path of a commit if they hold so many bytes together at most; else returns how many they hold.
    pub async fn read_tree_up_to(
        &self,
        commit: &CommitId,
        under: &str,
        most: u64,
    ) -> Result<Result<FileTree, u64>, Error> {
        let attempt = format!("read {under} of commit {}", commit.short());
        let (commit, under) = (commit.clone(), [under.to_owned()]);
        let read = self.read(attempt, move |repository, known| {
            with_objects(repository, known, &commit, |objects, root| match checked(objects, root, &under)? {
                (_, bytes) if bytes > most => Ok(Err(bytes)),
                (places, _) => collected(objects, places).map(Ok),
            })
        });
        let read = read.await?;
        self.count_files(read.as_ref().map_or(0, FileTree::len));
        Ok(read)
    }

    async fn list(
        &self,
        commit: &CommitId,
        path: &str,
        wanted: fn(Kind) -> bool,
    ) -> Result<BTreeMap<String, String>, Error> {
        let attempt = format!("list {path} of commit {}", commit.short());
        let (commit, path) = (commit.clone(), path.to_owned());
        self.read(attempt, move |repository, known| {
            let list = |objects: &Objects<'_>, root| list(objects, objects.find(root, &path)?, &path, wanted);
            with_objects(repository, known, &commit, list)
        })
        .await
    }
}

/// Reads the checked files at or below paths of a commit.
pub(super) fn read_tree(
    repository: &git2::Repository,
    known: &Known,
    commit: &CommitId,
    under: &[String],
) -> Result<FileTree, Error> {
    with_objects(repository, known, commit, |objects, root| {
        let (places, _) = checked(objects, root, under)?;
        collected(objects, places)
    })
}

/// What lies at paths of a tree.
type Places<'a> = Vec<(&'a String, Found)>;

/// Returns what lies at paths of a tree, and how many bytes the files at or below them hold together, once all of it is checked.
fn checked<'a>(objects: &Objects<'_>, root: Oid, under: &'a [String]) -> Result<(Places<'a>, u64), Refusal> {
    let mut check = TreeCheck::new(objects, Depth::Files(MOST));
    let (mut files, mut bytes, mut path_bytes) = (0_u64, 0_u64, 0_u64);
    let mut places = Vec::new();
    for path in under {
        let Some(found) = objects.find(root, path)? else { continue };
        match found.kind {
            Kind::Directory => {
                let extent = check.check(found.id, path)?;
                files = files.saturating_add(extent.files);
                bytes = bytes.saturating_add(extent.bytes);
                path_bytes = path_bytes.saturating_add(extent.path_bytes);
            }
            Kind::Regular | Kind::Executable => {
                files = files.saturating_add(1);
                bytes = bytes.saturating_add(check.check_file(found.id, path)?);
            }
            Kind::Symlink | Kind::Gitlink | Kind::Unknown => return Err(hostile(path, found.kind.unfit())),
        }
        places.push((path, found));
    }
    if files > MAX_TREE_PATHS {
        return Err(hostile("", ("tree/paths", "it holds more than 500,000 files")));
    }
    if path_bytes > MAX_PATHS_BYTES {
        return Err(hostile("", ("tree/paths", "the paths in it take more than 32 MiB together")));
    }
    if bytes > MAX_READ_BYTES {
        return Err(hostile("", ("tree/bytes", "its files hold more than 96 MiB together")));
    }
    Ok((places, bytes))
}

fn collected(objects: &Objects<'_>, places: Places<'_>) -> Result<FileTree, Refusal> {
    let mut taken = Taken { objects, tree: FileTree::new(), blobs: HashMap::new() };
    for (path, found) in places {
        taken.collect(found, path)?;
    }
    Ok(taken.tree)
}

/// Returns the files at or below paths of a tree, of any mode, without reading them.
pub(super) fn list_files(
    objects: &Objects<'_>,
    root: Oid,
    under: &[RepoPath],
) -> Result<BTreeMap<RepoPath, Blob>, Error> {
    let mut files = BTreeMap::new();
    let mut check = TreeCheck::new(objects, Depth::Names);
    let mut list = |path: &RepoPath| {
        let Some(found) = objects.find(root, path.as_str())? else { return Ok(()) };
        if found.kind == Kind::Directory {
            check.check(found.id, path.as_str())?;
        }
        list_below(objects, found, path, &mut files)
    };
    for path in under {
        list(path).map_err(|refusal| refused(refusal, &format!("tree {root}")))?;
    }
    Ok(files)
}

fn list_below(
    objects: &Objects<'_>,
    found: Found,
    path: &RepoPath,
    files: &mut BTreeMap<RepoPath, Blob>,
) -> Result<(), Refusal> {
    if found.kind != Kind::Directory {
        files.insert(path.clone(), Blob { id: found.id, mode: found.kind.mode() });
        return Ok(());
    }
    let object = objects.tree(found.id, path.as_str())?;
    for entry in parse(object.data()).map_err(|rule| hostile(path.as_str(), rule))? {
        let below = repo_path(&entry, path.as_str())?;
        list_below(objects, Found::of(&entry), &below, files)?;
    }
    Ok(())
}

/// Turns a refusal into an error that names the commit.
pub(super) fn refused(refusal: Refusal, commit: &str) -> Error {
    match refusal {
        Refusal::Hostile(source) => Error::Hostile { commit: commit.to_owned(), source },
        Refusal::Unreadable(source) => Error::Git { attempt: format!("read commit {commit}"), source },
        Refusal::Broken(error) => error,
    }
}

pub(super) fn with_objects<T>(
    repository: &git2::Repository,
    known: &Known,
    commit: &CommitId,
    work: impl FnOnce(&Objects<'_>, Oid) -> Result<T, Refusal>,
) -> Result<T, Error> {
    let (objects, id) = (Objects::of(repository, known)?, oid(commit)?);
    objects.root(id).and_then(|root| work(&objects, root)).map_err(|refusal| refused(refusal, commit.as_str()))
}

/// Large directories that were looked into, by the id of their tree: that of all apps is on the way to every app, and a tree with an id never
/// changes.
#[derive(Default)]
pub(super) struct Directories {
    kept: Mutex<VecDeque<(Oid, Arc<Names>)>>,
}

/// What a directory holds, by name; nothing where two entries have one name.
type Names = HashMap<Vec<u8>, Option<Found>>;

impl Objects<'_> {
    /// Looks a path up below a tree; the empty path is the tree.
    pub(super) fn find(&self, root: Oid, path: &str) -> Result<Option<Found>, Refusal> {
        let mut at = Found { kind: Kind::Directory, id: root };
        for segment in path.split('/').filter(|segment| !segment.is_empty()).take(MAX_LOOKUP) {
            if at.kind != Kind::Directory {
                return Ok(None);
            }
            at = match self.names(at.id, path)?.get(segment.as_bytes()) {
                None => return Ok(None),
                Some(None) => return Err(hostile(path, ("tree/duplicate", "two entries have this name"))),
                Some(Some(found)) => *found,
            };
        }
        Ok(Some(at))
    }

    /// Looks a directory up; what stands in its place and is none is refused.
    pub(super) fn directory(&self, root: Oid, path: &str) -> Result<Option<Oid>, Refusal> {
        match self.find(root, path)? {
            Some(Found { kind: Kind::Directory, id }) => Ok(Some(id)),
            Some(Found { kind: kind @ (Kind::Symlink | Kind::Gitlink | Kind::Unknown), .. }) => {
                Err(hostile(path, kind.unfit()))
            }
            Some(Found { kind: Kind::Regular | Kind::Executable, .. }) | None => Ok(None),
        }
    }

    fn names(&self, tree: Oid, path: &str) -> Result<Arc<Names>, Refusal> {
        let directories = &self.known.directories;
        let known = directories.kept().iter().find(|(id, _)| *id == tree).map(|(_, names)| names.clone());
        if let Some(names) = known {
            return Ok(names);
        }
        let object = self.tree(tree, path)?;
        let entries = parse(object.data()).map_err(|rule| hostile(path, rule))?;
        let mut names = Names::with_capacity(entries.len());
        for entry in &entries {
            let found = Found::of(entry);
            names.entry(entry.name.to_vec()).and_modify(|known| *known = None).or_insert(Some(found));
        }
        let names = Arc::new(names);
        if entries.len() >= LARGE_DIRECTORY {
            let mut kept = directories.kept();
            kept.truncate(KEPT_DIRECTORIES - 1);
            kept.push_front((tree, names.clone()));
        }
        Ok(names)
    }
}

impl Directories {
    fn kept(&self) -> MutexGuard<'_, VecDeque<(Oid, Arc<Names>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn list(
    objects: &Objects<'_>,
    found: Option<Found>,
    path: &str,
    wanted: fn(Kind) -> bool,
) -> Result<BTreeMap<String, String>, Refusal> {
    let Some(found) = found.filter(|found| found.kind == Kind::Directory) else {
        return Ok(BTreeMap::new());
    };
    let object = objects.tree(found.id, path)?;
    let entries = parse(object.data()).map_err(|rule| hostile(path, rule))?;
    let mut ids = BTreeMap::new();
    for entry in entries.iter().filter(|entry| wanted(entry.kind)) {
        let name = repo_path(entry, path)?.name().to_owned();
        if ids.insert(name, oid_of(&entry.id).to_string()).is_some() {
            return Err(hostile(path, ("tree/duplicate", "two entries have one name")));
        }
    }
    Ok(ids)
}

/// Files as they are read. One that lies at many paths is read and held once.
struct Taken<'o, 'a> {
    objects: &'o Objects<'a>,
    tree: FileTree,
    blobs: HashMap<Oid, Arc<[u8]>>,
}

impl Taken<'_, '_> {
    /// Reads what the check has let through. The recursion is bounded, because the check has counted the levels.
    fn collect(&mut self, found: Found, path: &str) -> Result<(), Refusal> {
        let mode = match found.kind {
            Kind::Directory => {
                let object = self.objects.tree(found.id, path)?;
                for entry in parse(object.data()).map_err(|rule| hostile(path, rule))? {
                    let below = repo_path(&entry, path)?;
                    self.collect(Found::of(&entry), below.as_str())?;
                }
                return Ok(());
            }
            Kind::Regular => FileMode::Regular,
            Kind::Executable => FileMode::Executable,
            Kind::Symlink | Kind::Gitlink | Kind::Unknown => return Err(hostile(path, found.kind.unfit())),
        };
        let place = RepoPath::parse(path).map_err(|_| unfit_path(path))?;
        let bytes = match self.blobs.get(&found.id) {
            Some(bytes) => bytes.clone(),
            None => {
                let bytes: Arc<[u8]> = self.objects.blob(found.id, MOST, path)?.data().into();
                self.blobs.insert(found.id, bytes.clone());
                bytes
            }
        };
        self.tree.insert(place, File { bytes, mode });
        Ok(())
    }
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
