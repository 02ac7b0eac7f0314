//! Compares two trees and returns the files that differ; what is equal is not read. Bounded, because a tree may stand for billions of files.
//!
//! Not here: what a difference means (`history.rs`, `worktree.rs`).

use std::collections::BTreeMap;

use git2::Oid;

use crate::base::RepoPath;
use crate::base::limits::MAX_PATH_DEPTH;

use super::check_tree::{HostileTree, MAX_PATHS_BYTES, MAX_TREE_PATHS, Refusal, check_path, hostile, join};
use super::checks::tree::{Entry, Kind, parse};
use super::objects::{Objects, oid_of};
use super::worktree::Blob;

/// A path that differs between two trees.
pub(super) struct Difference {
    pub(super) path: RepoPath,
    pub(super) old: Option<Blob>,
    pub(super) new: Option<Blob>,
}

/// Entries of one name on both sides.
type Pair = (Option<(Kind, Oid)>, Option<(Kind, Oid)>);

/// Returns the files that differ between two trees, in the order of their paths; `old` left out means the empty tree.
pub(super) fn differences(objects: &Objects<'_>, old: Option<Oid>, new: Oid) -> Result<Vec<Difference>, Refusal> {
    let mut walk = Walk { objects, found: Vec::new(), bytes: 0 };
    if old != Some(new) {
        walk.compare("", old, Some(new))?;
    }
    let mut found = walk.found;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

struct Walk<'w, 'a> {
    objects: &'w Objects<'a>,
    found: Vec<Difference>,
    bytes: usize,
}

impl Walk<'_, '_> {
    fn compare(&mut self, path: &str, old: Option<Oid>, new: Option<Oid>) -> Result<(), Refusal> {
        if path.split('/').count() > MAX_PATH_DEPTH {
            return Err(hostile(path, ("tree/depth", "it is nested deeper than 32 directories")));
        }
        let mut pairs: BTreeMap<Vec<u8>, Pair> = BTreeMap::new();
        self.entries(path, old, &mut pairs, |pair| &mut pair.0)?;
        self.entries(path, new, &mut pairs, |pair| &mut pair.1)?;

        for (name, (old, new)) in pairs.into_iter().filter(|(_, (old, new))| old != new) {
            let below = join(path, &name);
            let (old_tree, new_tree) = (old.and_then(tree), new.and_then(tree));
            let (old_file, new_file) = (old.and_then(file), new.and_then(file));
            if old_file.is_some() || new_file.is_some() {
                self.keep(&name, &below, old_file, new_file)?;
            }
            if old_tree.is_some() || new_tree.is_some() {
                self.compare(&below, old_tree, new_tree)?;
            }
        }
        Ok(())
    }

    fn entries(
        &self,
        path: &str,
        tree: Option<Oid>,
        pairs: &mut BTreeMap<Vec<u8>, Pair>,
        side: fn(&mut Pair) -> &mut Option<(Kind, Oid)>,
    ) -> Result<(), Refusal> {
        let Some(tree) = tree else { return Ok(()) };
        let object = self.objects.tree(tree, path)?;
        for Entry { kind, name, id } in parse(object.data()).map_err(|rule| hostile(path, rule))? {
            let place = side(pairs.entry(name.to_vec()).or_default());
            if place.replace((kind, oid_of(&id))).is_some() {
                return Err(hostile(&join(path, name), ("tree/duplicate", "two entries have this name")));
            }
        }
        Ok(())
    }

    fn keep(&mut self, name: &[u8], below: &str, old: Option<Blob>, new: Option<Blob>) -> Result<(), Refusal> {
        let invalid = std::str::from_utf8(name).is_err();
        let path = match check_path(below.as_bytes()) {
            Ok(path) if !invalid => path,
            Ok(_) => return Err(hostile(below, ("tree/name", "the name is not UTF-8"))),
            Err(place) => return Err(Refusal::Hostile(HostileTree { path: below.to_owned(), ..place })),
        };
        self.bytes = self.bytes.saturating_add(below.len());
        self.found.push(Difference { path, old, new });
        if u64::try_from(self.found.len()).unwrap_or(u64::MAX) > MAX_TREE_PATHS {
            return Err(hostile("", ("tree/paths", "more than 500,000 files differ")));
        }
        if u64::try_from(self.bytes).unwrap_or(u64::MAX) > MAX_PATHS_BYTES {
            return Err(hostile("", ("tree/paths", "the paths that differ take more than 32 MiB together")));
        }
        Ok(())
    }
}

fn tree((kind, id): (Kind, Oid)) -> Option<Oid> {
    (kind == Kind::Directory).then_some(id)
}

fn file((kind, id): (Kind, Oid)) -> Option<Blob> {
    (kind != Kind::Directory).then(|| Blob { id, mode: kind.mode() })
}
