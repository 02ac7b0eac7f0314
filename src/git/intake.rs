//! Checks objects that came from outside, before a ref of ours leads to them: sizes, counts and the names in every tree.
//!
//! Not here: rules for branches (`hook::receive`), the way objects come in (`network`).

use std::path::Path;

use git2::{ObjectType, Odb, Oid};

use crate::base::limits::MAX_FILE_BYTES;

use super::check_tree::{Depth, HostileTree, Refusal, TreeCheck, check_tree_object};
use super::error::{Error, git};
use super::read::refused;

/// Objects that one fetch or push brings.
const MAX_PACK_OBJECTS: usize = 1_000_000;
/// Their size together, unpacked, in bytes.
const MAX_INFLATED_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Size of one file in history, in bytes.
const MAX_BLOB_BYTES: u64 = 10 * 1024 * 1024;

/// Opens the objects in a directory alone, without those that it borrows from elsewhere.
fn open(objects: &Path) -> Result<Odb<'static>, Error> {
    let attempt = || format!("open objects {}", objects.display());
    let odb = Odb::new().map_err(git(attempt()))?;
    odb.add_disk_alternate(&objects.display().to_string()).map_err(git(attempt()))?;
    Ok(odb)
}

/// Checks all objects that lie in a directory, and returns the first that breaks a rule.
pub(super) fn check_objects(objects: &Path) -> Result<Option<HostileTree>, Error> {
    let attempt = || format!("check the objects in {}", objects.display());
    let odb = open(objects)?;
    let mut ids: Vec<Oid> = Vec::new();
    let listed = odb.foreach(|id| {
        ids.push(*id);
        ids.len() <= MAX_PACK_OBJECTS
    });
    let refusal = |path: String, rule, reason| Ok(Some(HostileTree { path, rule, reason }));
    if ids.len() > MAX_PACK_OBJECTS {
        return refusal(String::new(), "pack/objects", "it brings more than 1,000,000 objects");
    }
    listed.map_err(git(attempt()))?;
    ids.sort();
    ids.dedup();
    let mut sum = 0_u64;
    for id in ids {
        let (size, kind) = odb.read_header(id).map_err(git(attempt()))?;
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        sum = sum.saturating_add(size);
        if kind == ObjectType::Blob && size > MAX_BLOB_BYTES {
            return refusal(format!("blob {id}"), "pack/blob-size", "a file is larger than 10 MiB");
        }
        if sum > MAX_INFLATED_BYTES {
            return refusal(String::new(), "pack/inflated", "its objects hold more than 2 GiB");
        }
        if kind == ObjectType::Tree {
            match check_tree_object(&odb, id) {
                Ok(()) => {}
                Err(Refusal::Hostile(place)) => return Ok(Some(place)),
                Err(Refusal::Unreadable(error)) => return Err(git(attempt())(error)),
            }
        }
    }
    Ok(None)
}

/// Checks names and counts of a whole commit.
pub(super) fn check_commit(repository: &git2::Repository, commit: Oid) -> Result<Option<HostileTree>, Error> {
    check_to(repository, commit, Depth::Names)
}

/// Checks names, counts, modes and sizes of a whole commit, by the limits of reading.
pub(super) fn check_files(repository: &git2::Repository, commit: Oid) -> Result<Option<HostileTree>, Error> {
    check_to(repository, commit, Depth::Files(u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX)))
}

fn check_to(repository: &git2::Repository, commit: Oid, depth: Depth) -> Result<Option<HostileTree>, Error> {
    let attempt = || format!("check commit {commit}");
    let tree = repository.find_commit(commit).map_err(git(attempt()))?.tree_id();
    let odb = repository.odb().map_err(git(attempt()))?;
    match TreeCheck::new(&odb, depth).check(tree, "") {
        Ok(_) => Ok(None),
        Err(Refusal::Hostile(place)) => Ok(Some(place)),
        Err(unreadable @ Refusal::Unreadable(_)) => Err(refused(unreadable, &commit.to_string())),
    }
}
