//! Files below one directory, opened one segment at a time without following a symbolic link, so that no name and no
//! link in a work tree leads anywhere else.
//!
//! Not here: which files are read or written (`worktree.rs`).

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::base::RepoPath;
use crate::base::limits::{MAX_FILE_BYTES, MAX_PATH_DEPTH};
use crate::model::{File, FileMode};

use super::error::{Error, io};

/// Name under which a file is written before it takes its place; no git tree of ours can hold it.
const TEMPORARY: &str = ".wild-write";
/// Files that one listing of a directory on disk returns.
const MAX_LISTED: usize = 100_000;

/// The root below which files are touched.
pub(super) struct Beneath {
    root: OwnedFd,
    path: PathBuf,
}

/// What is found at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum OnDisk {
    Missing,
    File {
        mode: FileMode,
        size: u64,
    },
    Directory,
    /// A symbolic link, device, pipe or socket.
    Other,
    /// A parent of the path is no directory.
    Under(RepoPath),
}

impl Beneath {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|error| io(format!("open {}", path.display()))(error.into()))?;
        Ok(Self { root, path: path.to_owned() })
    }

    /// Returns what is at a path, links not followed.
    pub(super) fn look(&self, path: &RepoPath) -> Result<OnDisk, Error> {
        let directory = match self.directory(path.parent().as_ref()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(OnDisk::Missing),
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(self.obstacle(path)),
            Err(error) => return Err(self.failed("look at", path)(error)),
        };
        let stat = match rustix::fs::statat(&directory, path.name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(OnDisk::Missing),
            Err(error) => return Err(self.failed("look at", path)(error)),
        };
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let mode = if stat.st_mode & 0o100 == 0 { FileMode::Regular } else { FileMode::Executable };
                OnDisk::File { mode, size: u64::try_from(stat.st_size).unwrap_or(0) }
            }
            FileType::Directory => OnDisk::Directory,
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => OnDisk::Other,
        })
    }

    /// Returns the bytes of a file, or nothing if it is larger than any file of a repository may be.
    pub(super) fn read(&self, path: &RepoPath) -> Result<Option<Vec<u8>>, Error> {
        let file = self.open_file(path)?;
        let most = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(io(format!("read {}", self.path.join(path.as_str()).display())))?;
        Ok((bytes.len() <= MAX_FILE_BYTES).then_some(bytes))
    }

    /// Returns size, times and identity of a file, as the index of git keeps them.
    pub(super) fn metadata(&self, path: &RepoPath) -> Result<std::fs::Metadata, Error> {
        self.open_file(path)?.metadata().map_err(io(format!("look at {path}")))
    }

    /// Writes a file in one step, with its parents. What was there before is replaced, a link is not followed.
    pub(super) fn write(&self, path: &RepoPath, file: &File) -> Result<(), Error> {
        let failed = || self.failed("write", path);
        let directory = self.create_directory(path.parent().as_ref()).map_err(failed())?;
        let bits = match file.mode {
            FileMode::Regular => 0o666,
            FileMode::Executable => 0o777,
        };
        match rustix::fs::unlinkat(&directory, TEMPORARY, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed()(error)),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let created = rustix::fs::openat(&directory, TEMPORARY, flags, Mode::from_raw_mode(bits)).map_err(failed())?;
        std::fs::File::from(created).write_all(&file.bytes).map_err(io(format!("write {path}")))?;
        rustix::fs::renameat(&directory, TEMPORARY, &directory, path.name()).map_err(failed())
    }

    /// Removes a file, then the directories that this leaves empty. A file that is gone already is fine.
    pub(super) fn remove(&self, path: &RepoPath) -> Result<(), Error> {
        let directory = match self.directory(path.parent().as_ref()) {
            Ok(directory) => directory,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(self.failed("remove", path)(error)),
        };
        match rustix::fs::unlinkat(&directory, path.name(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            // A directory took its place; the check before has found that it belongs there.
            Err(Errno::ISDIR) => return Ok(()),
            Err(error) => return Err(self.failed("remove", path)(error)),
        }
        let mut empty = path.parent();
        while let Some(path) = empty {
            let parent = self.directory(path.parent().as_ref()).map_err(self.failed("remove", &path))?;
            if rustix::fs::unlinkat(&parent, path.name(), AtFlags::REMOVEDIR).is_err() {
                break;
            }
            empty = path.parent();
        }
        Ok(())
    }

    /// Returns the files below a directory in order, links not followed, `.git` and names that no tree can hold left out.
    pub(super) fn files_below(&self, path: &RepoPath) -> Result<Vec<RepoPath>, Error> {
        let mut files = Vec::new();
        let mut open = vec![path.clone()];
        while let Some(directory) = open.pop() {
            let attempt = || self.failed("list", &directory);
            let descriptor = self.directory(Some(&directory)).map_err(attempt())?;
            for entry in Dir::read_from(&descriptor).map_err(attempt())? {
                let entry = entry.map_err(attempt())?;
                let Ok(name) = entry.file_name().to_str() else { continue };
                let Ok(below) = directory.join(name) else { continue };
                if self.look(&below)? == OnDisk::Directory {
                    open.push(below);
                } else {
                    files.push(below);
                }
            }
            if files.len() + open.len() > MAX_LISTED {
                let reason = "it holds more than 100,000 files".to_owned();
                return Err(Error::Unusable { attempt: format!("list {path}"), reason });
            }
        }
        files.sort();
        Ok(files)
    }

    fn open_file(&self, path: &RepoPath) -> Result<std::fs::File, Error> {
        let directory = self.directory(path.parent().as_ref()).map_err(self.failed("open", path))?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file =
            rustix::fs::openat(&directory, path.name(), flags, Mode::empty()).map_err(self.failed("open", path))?;
        Ok(file.into())
    }

    fn directory(&self, path: Option<&RepoPath>) -> rustix::io::Result<OwnedFd> {
        self.descend(path, |_, _| Err(Errno::NOENT))
    }

    fn create_directory(&self, path: Option<&RepoPath>) -> rustix::io::Result<OwnedFd> {
        self.descend(path, |parent, name| match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error),
        })
    }

    fn descend(
        &self,
        path: Option<&RepoPath>,
        missing: impl Fn(&OwnedFd, &str) -> rustix::io::Result<()>,
    ) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at = self.root.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        for name in path.map_or("", RepoPath::as_str).split('/').filter(|name| !name.is_empty()).take(MAX_PATH_DEPTH) {
            at = match rustix::fs::openat(&at, name, flags, Mode::empty()) {
                Err(Errno::NOENT) => {
                    missing(&at, name)?;
                    rustix::fs::openat(&at, name, flags, Mode::empty())?
                }
                other => other?,
            };
        }
        Ok(at)
    }

    /// Returns the first parent of a path that is no directory.
    fn obstacle(&self, path: &RepoPath) -> OnDisk {
        let mut parents = Vec::new();
        let mut parent = path.parent();
        while let Some(found) = parent {
            parent = found.parent();
            parents.push(found);
        }
        for parent in parents.into_iter().rev() {
            if self.directory(Some(&parent)).is_err() {
                return OnDisk::Under(parent);
            }
        }
        OnDisk::Missing
    }

    fn failed(&self, verb: &str, path: &RepoPath) -> impl FnOnce(Errno) -> Error + use<> {
        let attempt = format!("{verb} {}", self.path.join(path.as_str()).display());
        move |error| io(attempt)(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::path_of;

    #[test]
    fn a_link_is_never_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (root, outside) = (directory.path().join("root"), directory.path().join("outside"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("file"), "kept").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("link")).unwrap();
        std::os::unix::fs::symlink(outside.join("file"), root.join("leaf")).unwrap();
        let beneath = Beneath::open(&root).unwrap();
        assert_eq!(beneath.look(&path_of("link/file")).unwrap(), OnDisk::Under(path_of("link")));
        assert_eq!(beneath.look(&path_of("leaf")).unwrap(), OnDisk::Other);
        beneath.write(&path_of("link/file"), &File::text("lost")).unwrap_err();
        beneath.read(&path_of("leaf")).unwrap_err();
        beneath.remove(&path_of("link/file")).unwrap();
        beneath.write(&path_of("leaf"), &File::text("new")).unwrap();
        assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "kept");
        assert_eq!(std::fs::read_to_string(root.join("leaf")).unwrap(), "new");
    }

    #[test]
    fn directories_come_with_their_first_file_and_go_with_their_last() {
        let directory = tempfile::tempdir().unwrap();
        let beneath = Beneath::open(directory.path()).unwrap();
        beneath.write(&path_of("a/b/c"), &File::text("1")).unwrap();
        beneath.write(&path_of("a/d"), &File::text("2")).unwrap();
        assert_eq!(beneath.files_below(&path_of("a")).unwrap(), [path_of("a/b/c"), path_of("a/d")]);
        beneath.remove(&path_of("a/b/c")).unwrap();
        assert!(!directory.path().join("a/b").exists());
        beneath.remove(&path_of("a/d")).unwrap();
        assert!(!directory.path().join("a").exists());
        assert!(directory.path().exists());
    }
}
