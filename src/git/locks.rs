//! Locks that a killed process left behind: recovered in bare repositories and on our own refs, which only we write.
//!
//! Git keeps a lock file with nobody having it open while a person types a commit message, so in a work tree nothing
//! proves that another lock is dead; there it is named and left. Elsewhere a lock is dead if it is an ordinary file, did not
//! change between two looks, and no living process can be behind it.
//!
//! Not here: taking locks (`refs.rs`, `worktree.rs`), who is behind one (`holders.rs`).

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::error::{Error, io};
use super::holders::holder;

/// Time between the two looks at a lock that might be dead. A living writer changes or removes its lock meanwhile.
const LOCK_LOOK: Duration = Duration::from_millis(500);
/// Age below which a lock is taken for alive. Ours live for milliseconds.
const LOCK_STALE_AFTER: Duration = Duration::from_secs(2);
/// Where dead locks go: inside `refs` git would take them for refs.
const STALE: &str = "stale-locks";

/// Whether a lock stood in the way for good.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Recovery {
    /// It is out of the way; try again.
    Cleared,
    /// It is or may be somebody's, for this reason; leave it.
    Held(String),
}

/// Looks at a lock twice and moves it aside if nobody can be behind it.
pub(super) fn recover(repository: &git2::Repository, lock: &Path) -> Result<Recovery, Error> {
    let held = |why: &str| Ok(Recovery::Held(why.to_owned()));
    let refs = repository.commondir().join("refs");
    if !repository.is_bare() && !lock.starts_with(refs.join("wild")) && lock != refs.join("notes/wild.lock") {
        return held("another program holds the lock, and in a work tree nothing tells whether it lives");
    }
    let Some(before) = look(lock)? else { return Ok(Recovery::Cleared) };
    if !before.is_file() {
        return held("it is no ordinary file, so no git made it");
    }
    if age(&before) < LOCK_STALE_AFTER {
        return held("it was taken a moment ago");
    }
    std::thread::sleep(LOCK_LOOK);
    match look(lock)? {
        None => Ok(Recovery::Cleared),
        Some(after) if same(&before, &after) => end(repository, lock, &after),
        Some(_) => held("it changed a moment ago"),
    }
}

/// Moves a lock aside that did not change, unless somebody may be behind it.
fn end(repository: &git2::Repository, lock: &Path, found: &Metadata) -> Result<Recovery, Error> {
    let places: Vec<&Path> = [repository.commondir()].into_iter().chain(repository.workdir()).collect();
    match holder(found, &places) {
        Some(holder) => {
            tracing::warn!(lock = %lock.display(), %holder, "a lock is waited for");
            Ok(Recovery::Held(holder.to_string()))
        }
        None => set_aside(repository, lock, found),
    }
}

fn set_aside(repository: &git2::Repository, lock: &Path, found: &Metadata) -> Result<Recovery, Error> {
    let attempt = || format!("set the dead lock {} aside", lock.display());
    let directory = repository.commondir().join(STALE);
    std::fs::create_dir_all(&directory).map_err(io(attempt()))?;
    let name = lock.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let target = directory.join(format!("{name}-{}-{}", found.mtime(), found.ino()));
    match std::fs::rename(lock, &target) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Recovery::Cleared),
        Err(error) => return Err(io(attempt())(error)),
    }
    // Whoever was behind the dead one may have ended it, and another have taken the name, since the last look.
    if look(&target)?.is_some_and(|moved| moved.ino() == found.ino() && moved.dev() == found.dev()) {
        tracing::warn!(lock = %lock.display(), "a dead lock was set aside");
        return Ok(Recovery::Cleared);
    }
    std::fs::hard_link(&target, lock).and_then(|()| std::fs::remove_file(&target)).map_err(io(attempt()))?;
    Ok(Recovery::Held("another program has just taken it".to_owned()))
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
    let key = |found: &Metadata| {
        let changed = (found.ctime(), found.ctime_nsec());
        (found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec(), changed)
    };
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
        // Nobody has it open.
        drop(file);
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
            assert!(matches!(done, Err(Error::Locked { path, .. }) if path == lock));
            assert!(lock.exists());
        }
    }

    #[tokio::test]
    async fn what_is_no_file_that_git_makes_stays() {
        let instance = Instance::bare().await;
        let head = instance.commit(&[("a", "1")], "first").await;
        let lock = instance.repository.git_dir().join("refs/heads/main.lock");
        let refused = async || {
            let next = instance.repository.commit(change(Some(head.clone()), &[("a", "2")], "second")).await;
            let why = next.unwrap_err().to_string();
            assert!(why.contains("no ordinary file"), "{why}");
        };
        std::fs::create_dir(&lock).unwrap();
        std::fs::write(lock.join("kept"), "x").unwrap();
        refused().await;
        assert!(lock.join("kept").exists());
        std::fs::remove_dir_all(&lock).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &lock).unwrap();
        refused().await;
        assert!(lock.is_symlink());
    }

    #[test]
    fn a_lock_that_was_made_anew_is_not_the_one_before() {
        let directory = tempfile::tempdir().unwrap();
        let (lock, other) = (directory.path().join("x.lock"), directory.path().join("other"));
        std::fs::write(&lock, "").unwrap();
        let before = look(&lock).unwrap().unwrap();
        assert!(same(&before, &look(&lock).unwrap().unwrap()));
        std::fs::hard_link(&lock, &other).unwrap();
        assert!(!same(&before, &look(&lock).unwrap().unwrap()), "somebody has just linked it");
        std::fs::remove_file(&lock).unwrap();
        std::fs::write(&lock, "").unwrap();
        let file = std::fs::File::options().write(true).open(&lock).unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
        assert!(!same(&before, &look(&lock).unwrap().unwrap()), "its time is that of the one before");
    }

    #[tokio::test]
    async fn a_lock_that_took_the_name_of_a_dead_one_is_put_back() {
        let instance = Instance::bare().await;
        let raw = super::super::repository::open(instance.repository.git_dir()).unwrap();
        let lock = instance.repository.git_dir().join("refs/heads/main.lock");
        std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
        let dead = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&lock, "alive").unwrap();
        let found = look(dead.path()).unwrap().unwrap();
        let recovery = set_aside(&raw, &lock, &found).unwrap();
        assert_eq!(recovery, Recovery::Held("another program has just taken it".to_owned()));
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), "alive");
        assert_eq!(std::fs::read_dir(raw.commondir().join(STALE)).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_clock_that_jumped_makes_no_lock_old_enough() {
        let instance = Instance::bare().await;
        let head = instance.commit(&[("a", "1")], "first").await;
        let lock = instance.repository.git_dir().join("refs/heads/main.lock");
        let file = std::fs::File::create(&lock).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(86_400)).unwrap();
        let next = instance.repository.commit(change(Some(head), &[("a", "2")], "second")).await;
        assert!(matches!(next, Err(Error::Locked { .. })) && lock.exists());
    }
}
