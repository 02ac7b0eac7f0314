//! Checks git trees before anything reads them: git itself accepts trees whose entries leave the repository, overwrite
//! its configuration, hide behind look-alike names or expand to billions of files.
//!
//! Every tree object is read once however often it occurs, so twelve objects that stand for 10^10 files cost twelve reads.
//!
//! Not here: names and entries on their own (`checks`), what becomes of a refusal (`read.rs`: an error; `hook::receive`: a refused push).

use std::collections::HashMap;

use git2::Oid;

use crate::base::RepoPath;
use crate::base::limits::{MAX_PATH_BYTES, MAX_PATH_DEPTH};

use super::checks::name::check_name;
use super::checks::tree::{Kind, check_entries, parse};
use super::checks::{ObjectKind, Rule};
use super::error::Error;
use super::objects::{Objects, oid_of};

pub use super::checks::MAX_TREE_ENTRIES;

/// Files of one commit: 10,000 apps of 50 files.
pub const MAX_TREE_PATHS: u64 = 500_000;
/// Bytes of the paths of these files together, 64 for each.
pub(super) const MAX_PATHS_BYTES: u64 = 32 * 1024 * 1024;
/// Bytes that one reading call takes into memory: the manifests and records of 10,000 apps with 9 KiB each, and three times the largest app.
pub(super) const MAX_READ_BYTES: u64 = 96 * 1024 * 1024;

/// A place in a tree that breaks a rule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{path:?} is refused ({rule}): {reason}")]
pub struct HostileTree {
    /// The path, unfit bytes replaced.
    pub path: String,
    /// The rule, such as `tree/symlink`.
    pub rule: &'static str,
    /// What the rule says.
    pub reason: &'static str,
}

/// Why a tree cannot be taken.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It breaks a rule.
    Hostile(HostileTree),
    /// It could not be read.
    Unreadable(git2::Error),
    /// What lies around it could not be read.
    Broken(Error),
}

/// How much of a tree is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Depth {
    /// Names and counts: for history that nobody reads files from.
    Names,
    /// Modes and sizes too, with this limit for one file in bytes.
    Files(u64),
}

/// What lies below a tree, saturating.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    /// Files.
    pub(super) files: u64,
    /// Their bytes together; 0 when only names are checked.
    pub(super) bytes: u64,
    /// The bytes of their paths below the tree together.
    pub(super) path_bytes: u64,
    /// Levels of directories below.
    height: usize,
    /// Length of the longest path below.
    longest: usize,
}

/// A walk over trees that remembers what it has seen.
pub(super) struct TreeCheck<'o, 'a> {
    objects: &'o Objects<'a>,
    depth: Depth,
    seen: HashMap<Oid, Extent>,
}

impl<'o, 'a> TreeCheck<'o, 'a> {
    /// Starts a walk.
    pub(super) fn new(objects: &'o Objects<'a>, depth: Depth) -> Self {
        Self { objects, depth, seen: HashMap::new() }
    }

    /// Checks the tree at a path of a commit, the empty path being its root, and returns what lies below it.
    pub(super) fn check(&mut self, tree: Oid, path: &str) -> Result<Extent, Refusal> {
        let above = path.split('/').filter(|part| !part.is_empty()).count();
        let below = self.walk(tree, path, above)?;
        let outside = below.files.saturating_mul(u64::try_from(path.len()).unwrap_or(u64::MAX));
        let extent = Extent { path_bytes: below.path_bytes.saturating_add(outside), ..below };
        if extent.files > MAX_TREE_PATHS {
            return Err(hostile(path, ("tree/paths", "it holds more than 500,000 files")));
        }
        if extent.path_bytes > MAX_PATHS_BYTES {
            return Err(hostile(path, ("tree/paths", "the paths in it take more than 32 MiB together")));
        }
        Ok(extent)
    }

    /// Checks the size of one file and returns it.
    pub(super) fn check_file(&self, id: Oid, path: &str) -> Result<u64, Refusal> {
        let Depth::Files(most) = self.depth else { return Ok(0) };
        let (size, kind) = self.objects.header(id)?;
        if kind != ObjectKind::Blob {
            return Err(hostile(path, ("tree/mode", "its mode says file, but the object is none")));
        }
        if size > most {
            return Err(hostile(path, ("tree/file-size", "the file is larger than allowed")));
        }
        Ok(size)
    }

    fn walk(&mut self, tree: Oid, path: &str, above: usize) -> Result<Extent, Refusal> {
        if above > MAX_PATH_DEPTH {
            return Err(hostile(path, ("tree/depth", "it is nested deeper than 32 directories")));
        }
        let known = match self.seen.get(&tree) {
            Some(extent) => *extent,
            None => {
                let extent = self.measure(tree, path, above)?;
                self.seen.insert(tree, extent);
                extent
            }
        };
        if above + known.height > MAX_PATH_DEPTH {
            return Err(hostile(path, ("tree/depth", "it is nested deeper than 32 directories")));
        }
        if path.len() + known.longest > MAX_PATH_BYTES {
            return Err(hostile(path, ("tree/path-length", "a path in it is longer than 1,024 bytes")));
        }
        Ok(known)
    }

    fn measure(&mut self, tree: Oid, path: &str, above: usize) -> Result<Extent, Refusal> {
        let object = self.objects.tree(tree, path)?;
        let entries = parse(object.data()).map_err(|rule| hostile(path, rule))?;
        check_entries(&entries).map_err(|bad| hostile(&join(path, bad.name), bad.rule))?;
        let mut extent = Extent::default();
        for entry in &entries {
            let below = join(path, entry.name);
            let found = match entry.kind {
                Kind::Directory => self.walk(oid_of(&entry.id), &below, above + 1)?,
                Kind::Regular | Kind::Executable => {
                    Extent { files: 1, bytes: self.check_file(oid_of(&entry.id), &below)?, ..Extent::default() }
                }
                Kind::Symlink | Kind::Gitlink | Kind::Unknown => {
                    if let Depth::Files(_) = self.depth {
                        return Err(hostile(&below, entry.kind.unfit()));
                    }
                    Extent { files: 1, ..Extent::default() }
                }
            };
            let levels = usize::from(entry.kind == Kind::Directory);
            let segment = u64::try_from(entry.name.len() + 1).unwrap_or(u64::MAX);
            let names = found.files.saturating_mul(segment);
            extent.path_bytes = extent.path_bytes.saturating_add(found.path_bytes).saturating_add(names);
            extent.files = extent.files.saturating_add(found.files);
            extent.bytes = extent.bytes.saturating_add(found.bytes);
            extent.height = extent.height.max(found.height + levels);
            extent.longest = extent.longest.max(found.longest + entry.name.len() + 1);
        }
        Ok(extent)
    }
}

/// Checks the names in one tree object, not what lies below.
pub(super) fn check_tree_object(objects: &Objects<'_>, tree: Oid) -> Result<(), Refusal> {
    let object = objects.tree(tree, "")?;
    let entries = parse(object.data()).map_err(|rule| hostile("", rule))?;
    check_entries(&entries).map_err(|bad| hostile(&join("", bad.name), bad.rule))
}

/// Returns the path of an entry below a path.
pub(super) fn join(path: &str, name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    if path.is_empty() { name.into_owned() } else { format!("{path}/{name}") }
}

/// Checks the names of a whole path and returns it.
pub(super) fn check_path(path: &[u8]) -> Result<RepoPath, HostileTree> {
    let text = String::from_utf8_lossy(path);
    let refuse = |(rule, reason)| HostileTree { path: text.to_string(), rule, reason };
    for name in path.split(|byte| *byte == b'/') {
        check_name(name).map_err(refuse)?;
    }
    RepoPath::parse(&text).map_err(|error| refuse(("tree/name", error.reason)))
}

/// Returns the refusal of an entry whose mode, as git writes it, is none of a file.
pub(super) fn unfit_mode(path: &str, mode: u32) -> HostileTree {
    let (rule, reason) = Kind::of_mode(format!("{mode:o}").as_bytes()).unfit();
    HostileTree { path: path.to_owned(), rule, reason }
}

/// Returns the refusal of a path.
pub(super) fn hostile(path: &str, (rule, reason): Rule) -> Refusal {
    Refusal::Hostile(HostileTree { path: path.to_owned(), rule, reason })
}
