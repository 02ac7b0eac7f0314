//! Locks that a killed process left behind: recovered in bare repositories and on our own refs, which only we write.
//!
//! Git keeps a lock file with nobody having it open while a person types a commit message, so in a work tree nothing
//! proves that another lock is dead; there it is named and left.
//!
//! Not here: taking locks (`refs.rs`, `worktree.rs`).

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::error::{Error, io};

/// Time between the two looks at a lock that might be dead. A living writer changes or removes its lock meanwhile.
const LOCK_LOOK: Duration = Duration::from_millis(500);
/// Age below which a lock is taken for alive. Ours live for milliseconds.
const LOCK_STALE_AFTER: Duration = Duration::from_secs(2);
/// Where dead locks go: inside `refs` git would take them for refs.
const STALE: &str = "stale-locks";

/// Whether a lock stood in the way for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Recovery {
    /// It is out of the way; try again.
    Cleared,
    /// It is somebody's; leave it.
    Held,
}

/// Looks at a lock twice and moves it aside if nobody can be behind it.
pub(super) fn recover(repository: &git2::Repository, lock: &Path) -> Result<Recovery, Error> {
    let refs = repository.commondir().join("refs");
    if !repository.is_bare() && !lock.starts_with(refs.join("wild")) && lock != refs.join("notes/wild.lock") {
        return Ok(Recovery::Held);
    }
    let Some(before) = look(lock)? else { return Ok(Recovery::Cleared) };
    if age(&before) < LOCK_STALE_AFTER {
        return Ok(Recovery::Held);
    }
    std::thread::sleep(LOCK_LOOK);
    match look(lock)? {
        None => Ok(Recovery::Cleared),
        Some(after) if same(&before, &after) => set_aside(repository, lock, &after),
        Some(_) => Ok(Recovery::Held),
    }
}

fn set_aside(repository: &git2::Repository, lock: &Path, found: &Metadata) -> Result<Recovery, Error> {
    let attempt = || format!("set the dead lock {} aside", lock.display());
    let directory = repository.commondir().join(STALE);
    std::fs::create_dir_all(&directory).map_err(io(attempt()))?;
    let name = lock.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let target = directory.join(format!("{name}-{}-{}", found.mtime(), found.ino()));
    match std::fs::rename(lock, &target) {
        Ok(()) => tracing::warn!(lock = %lock.display(), "a dead lock was set aside"),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(io(attempt())(error)),
    }
    Ok(Recovery::Cleared)
}

fn look(lock: &Path) -> Result<Option<Metadata>, Error> {
    match std::fs::symlink_metadata(lock) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io(format!("look at {}", lock.display()))(error)),
    }
}

fn age(found: &Metadata) -> Duration {
    let written = found.modified().unwrap_or_else(|_| SystemTime::now());
    SystemTime::now().duration_since(written).unwrap_or_default()
}

fn same(before: &Metadata, after: &Metadata) -> bool {
    let key = |found: &Metadata| (found.ino(), found.size(), found.mtime(), found.mtime_nsec());
    key(before) == key(after)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::Layout;
    use super::super::fixture::{Instance, change};
    use super::*;

    async fn locked(layout: Layout, name: &str, age: Duration) -> (Instance, PathBuf, Result<(), Error>) {
        let instance = Instance::with(layout).await;
        let head = instance.commit(&[("a", "1")], "first").await;
        instance.git(&["pack-refs", "--all"]);
        let lock = instance.repository.git_dir().join(name);
        std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
        let file = std::fs::File::create(&lock).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        let done = match name {
            "packed-refs.lock" => instance.repository.delete_ref("refs/heads/main", &head).await,
            _ => instance.repository.commit(change(Some(head), &[("a", "2")], "second")).await.map(drop),
        };
        (instance, lock, done)
    }

    #[tokio::test]
    async fn a_dead_lock_of_a_bare_repository_is_set_aside() {
        for name in ["refs/heads/main.lock", "packed-refs.lock"] {
            let (instance, lock, done) = locked(Layout::Bare, name, Duration::from_secs(60)).await;
            done.unwrap();
            assert!(!lock.exists());
            assert_eq!(std::fs::read_dir(instance.repository.git_dir().join(STALE)).unwrap().count(), 1);
            assert!(!instance.git(&["for-each-ref"]).contains("stale"));
        }
    }

    #[tokio::test]
    async fn a_young_lock_and_any_lock_of_a_person_stay() {
        let young = locked(Layout::Bare, "refs/heads/main.lock", Duration::ZERO).await;
        let of_a_person = locked(Layout::WorkTree, "refs/heads/main.lock", Duration::from_secs(60)).await;
        for (_instance, lock, done) in [young, of_a_person] {
            assert!(matches!(done, Err(Error::Locked { path }) if path == lock));
            assert!(lock.exists());
        }
    }
}
