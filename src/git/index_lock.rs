//! The lock of an index: held against git while files of a work tree change, and known as ours if we die with it.
//!
//! The file that git calls `index.lock` says that it is ours, and is held by an flock for as long as we live. One that says so and that
//! nobody holds was left by a process that died, so it is taken over. A lock that says anything else is git's or a person's, and stays:
//! git closes it while a person types a commit message.
//!
//! Not here: locks of refs (`locks.rs`), what is written under the lock (`worktree.rs`).

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::{Error, io};

/// What a lock of ours says, also to a person who finds it.
const MARK: &str = "Held by wild while it brings files to the branch. It goes by itself when wild runs again.\n";

/// A lock that is held, until it is dropped.
pub(super) struct IndexLock {
    index: PathBuf,
    lock: PathBuf,
    /// Carries the flock.
    _held: File,
}

impl IndexLock {
    /// Takes the lock of the index in a git directory, also one that a process of ours died with.
    pub(super) fn take(git_dir: &Path) -> Result<Self, Error> {
        let (index, lock) = (git_dir.join("index"), git_dir.join("index.lock"));
        let attempt = || format!("lock {}", index.display());
        let held = make(git_dir).map_err(io(attempt()))?;

        // The lock appears whole, so that none of ours is ever seen without what it says.
        let fresh = fresh(git_dir);
        let mut taken = std::fs::hard_link(&fresh, &lock);
        if taken.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) && remove_if_dead(&lock) {
            taken = std::fs::hard_link(&fresh, &lock);
        }
        drop(std::fs::remove_file(&fresh));

        match taken {
            Ok(()) => Ok(Self { index, lock, _held: held }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(Error::Locked { path: lock, why: "another program holds the lock".to_owned() })
            }
            Err(error) => Err(io(attempt())(error)),
        }
    }

    /// Returns where the index lies.
    pub(super) fn index(&self) -> &Path {
        &self.index
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; git will name the lock to the person.
        drop(std::fs::remove_file(&self.lock));
    }
}

/// Returns where a lock is made before it has its name. Only one writer of a repository is at work at a time.
fn fresh(git_dir: &Path) -> PathBuf {
    git_dir.join("index.lock.wild")
}

fn make(git_dir: &Path) -> std::io::Result<File> {
    let path = fresh(git_dir);
    drop(std::fs::remove_file(&path));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    file.try_lock().map_err(std::io::Error::from)?;
    file.write_all(MARK.as_bytes())?;
    Ok(file)
}

/// Removes a lock of ours whose holder is dead; false if it is anybody else's, or held.
fn remove_if_dead(lock: &Path) -> bool {
    let Ok(file) = File::open(lock) else { return false };
    let limit = u64::try_from(MARK.len()).unwrap_or(u64::MAX).saturating_add(1);
    let mut text = Vec::new();
    let is_ours = (&file).take(limit).read_to_end(&mut text).is_ok() && text == MARK.as_bytes();
    if !is_ours || file.try_lock().is_err() {
        return false;
    }

    // Another process of ours may have removed this one and made its own meanwhile.
    let Ok((found, there)) = file.metadata().and_then(|found| Ok((found, std::fs::symlink_metadata(lock)?))) else {
        return false;
    };
    let is_there = (found.dev(), found.ino()) == (there.dev(), there.ino());
    let is_removed = is_there && std::fs::remove_file(lock).is_ok();
    if is_removed {
        tracing::warn!(lock = %lock.display(), "a lock that wild died with was removed");
    }
    is_removed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: Option<&str>) -> (tempfile::TempDir, Result<IndexLock, Error>) {
        let directory = tempfile::tempdir().unwrap();
        if let Some(text) = text {
            std::fs::write(directory.path().join("index.lock"), text).unwrap();
        }
        let taken = IndexLock::take(directory.path());
        (directory, taken)
    }

    #[test]
    fn a_lock_is_held_until_it_is_dropped_and_leaves_nothing() {
        let (directory, first) = taken(None);
        assert!(
            matches!(IndexLock::take(directory.path()), Err(Error::Locked { .. })),
            "it is held, although it says ours"
        );
        drop(first.unwrap());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_lock_of_ours_whose_holder_died_is_taken_over() {
        let (directory, taken) = taken(Some(MARK));
        drop(taken.unwrap());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn any_other_lock_stays_whatever_it_says() {
        for text in ["", "DIRC", "Held by", &format!("{MARK}\n"), MARK.trim_end()] {
            let (directory, taken) = taken(Some(text));
            assert!(matches!(taken, Err(Error::Locked { .. })), "{text:?}");
            assert_eq!(std::fs::read_to_string(directory.path().join("index.lock")).unwrap(), text);
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "{text:?}");
        }
    }

    #[test]
    fn a_directory_or_a_link_in_the_place_of_a_lock_stays() {
        let directory = tempfile::tempdir().unwrap();
        let lock = directory.path().join("index.lock");
        std::fs::create_dir(&lock).unwrap();
        assert!(matches!(IndexLock::take(directory.path()), Err(Error::Locked { .. })));
        std::fs::remove_dir(&lock).unwrap();

        let other = directory.path().join("other");
        std::fs::write(&other, MARK).unwrap();
        std::os::unix::fs::symlink(&other, &lock).unwrap();
        assert!(matches!(IndexLock::take(directory.path()), Err(Error::Locked { .. })));
        assert!(other.exists() && lock.is_symlink());
    }
}
