//! Looks through the packs of a repository, each once: what a small object is unpacked from may be huge, and libgit2 does not say so.
//!
//! Not here: what is looked for (`checks::pack`), the objects (`objects.rs`).

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use git2::Oid;

use super::checks::pack::{HUGE_STEP, MAX_INDEX_OBJECTS, WINDOW_BYTES, huge_steps, parse_index};
use super::checks::{Id, Rule};
use super::error::{Error, io};

/// Largest index that is read, in bytes: an object takes at most 36 in it.
const MAX_INDEX_BYTES: u64 = 36 * MAX_INDEX_OBJECTS as u64 + 4_096;

/// The packs in one directory that were looked through.
#[derive(Default)]
pub(super) struct Packs {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// When the directory was changed last, and in which.
    stamp: Option<(PathBuf, i64, i64)>,
    /// By the path of its index, what is unpacked from something huge.
    huge: HashMap<PathBuf, BTreeSet<Id>>,
}

impl Packs {
    /// Returns the rule that an object breaks by what it is unpacked from. A pack that came since the last look is looked through first.
    pub(super) fn judge(&self, directory: &Path, id: Oid) -> Result<Option<Rule>, Error> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = match std::fs::metadata(directory) {
            Ok(found) => (directory.to_owned(), found.mtime(), found.mtime_nsec()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(format!("look at {}", directory.display()))(error)),
        };
        if seen.stamp.as_ref() != Some(&stamp) {
            let present = indexes(directory)?;
            seen.huge.retain(|index, _| present.contains(index));
            for index in present {
                if let Entry::Vacant(unseen) = seen.huge.entry(index) {
                    let huge = look_through(unseen.key())?;
                    unseen.insert(huge);
                }
            }
            seen.stamp = Some(stamp);
        }
        let is_huge = Id::try_from(id.as_bytes()).is_ok_and(|id| seen.huge.values().any(|ids| ids.contains(&id)));
        Ok(is_huge.then_some(HUGE_STEP))
    }
}

/// Returns the objects in the packs of a directory that are unpacked from something huge.
pub(super) fn judge_packs(directory: &Path) -> Result<BTreeSet<Id>, Error> {
    let mut huge = BTreeSet::new();
    for index in indexes(directory)? {
        huge.append(&mut look_through(&index)?);
    }
    Ok(huge)
}

/// Returns the indexes in a directory; none if it is not there.
fn indexes(directory: &Path) -> Result<BTreeSet<PathBuf>, Error> {
    let attempt = || format!("list the packs in {}", directory.display());
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(io(attempt())(error)),
    };
    let mut found = BTreeSet::new();
    for entry in entries {
        let path = entry.map_err(io(attempt()))?.path();
        if path.extension() == Some(OsStr::new("idx")) {
            found.insert(path);
        }
    }
    Ok(found)
}

/// Returns what in one pack is unpacked from something huge. A pack that went meanwhile holds nothing.
fn look_through(index: &Path) -> Result<BTreeSet<Id>, Error> {
    let attempt = || format!("look through {}", index.display());
    let (bytes, pack) = match read_index(index).and_then(|bytes| Ok((bytes, File::open(index.with_extension("pack"))?)))
    {
        Ok(both) => both,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(io(attempt())(error)),
    };
    let damaged = |(_, reason): Rule| Error::Unusable { attempt: attempt(), reason: reason.to_owned() };
    let places = parse_index(&bytes).map_err(damaged)?;
    drop(bytes);
    huge_steps(&places, |offset| read_window(&pack, offset)).map_err(io(attempt()))
}

fn read_index(index: &Path) -> std::io::Result<Vec<u8>> {
    if std::fs::metadata(index)?.len() > MAX_INDEX_BYTES {
        return Err(std::io::Error::other("the index is larger than that of 4,000,000 objects"));
    }
    std::fs::read(index)
}

fn read_window(pack: &File, offset: u64) -> std::io::Result<Vec<u8>> {
    let mut window = vec![0; WINDOW_BYTES];
    let mut filled = 0;
    while let Some(rest) = window.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match pack.read_at(rest, offset.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX)))? {
            0 => break,
            read => filled += read,
        }
    }
    window.truncate(filled);
    Ok(window)
}

#[cfg(test)]
mod tests;
