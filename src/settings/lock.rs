//! The instance lock: an flock tied to the life of the process, so a dead holder never blocks anybody.
//!
//! Not here: the database's own locks, git's locks.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{Error, io};
use crate::base::Timestamp;

/// Longest text of a holder that is shown, in bytes.
const HOLDER_LIMIT: u64 = 200;

/// Proof that this process alone works on an instance. Dropping it frees the instance.
#[derive(Debug)]
pub struct InstanceLock {
    file: File,
}

impl Drop for InstanceLock {
    fn drop(&mut self) {
        // A child that was forked and does not run its program yet has the file open as well, and closing it here would leave the lock there.
        let _ = self.file.unlock();
    }
}

impl InstanceLock {
    /// Takes the lock, or says who holds it. Never waits.
    pub fn take(path: &Path, now: Timestamp) -> Result<Self, Error> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(io("open the lock", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let read = Read::by_ref(&mut file).take(HOLDER_LIMIT).read_to_string(&mut holder);
                let holder = if read.is_ok() && !holder.is_empty() {
                    holder.trim().to_owned()
                } else {
                    "another process".to_owned()
                };
                return Err(Error::Locked { path: path.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => {
                return Err(Error::Io { attempt: "lock", path: path.to_owned(), source });
            }
        }
        // The content is for people only; the lock itself is the flock.
        let holder = format!("pid {} since {now}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(holder.as_bytes()))
            .map_err(io("write the lock", path))?;
        Ok(Self { file })
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, InstanceLock};
    use crate::base::Timestamp;

    #[test]
    fn a_second_holder_is_told_who_the_first_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let first = InstanceLock::take(&path, Timestamp(0)).unwrap();
        let Err(Error::Locked { holder, .. }) = InstanceLock::take(&path, Timestamp(1)) else {
            unreachable!("the lock was taken twice")
        };
        assert!(holder.starts_with("pid ") && holder.ends_with("since 1970-01-01T00:00:00Z"), "{holder}");
        drop(first);
        InstanceLock::take(&path, Timestamp(2)).unwrap();
    }

    #[test]
    fn it_is_free_although_a_child_has_not_closed_its_file_yet() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let first = InstanceLock::take(&path, Timestamp(0)).unwrap();
        let of_child = first.file.try_clone().unwrap();
        drop(first);
        InstanceLock::take(&path, Timestamp(1)).unwrap();
        drop(of_child);
    }
}
