//! Keeps what others must not read from them: the umask of this process, and modes of files that are wider than they may be.
//!
//! No link is followed, and only the mode of what was looked at is changed. Not here: what is made of a mode
//! (`model::privacy`), telling it (`pipeline`), kubeconfigs (`target`, which reads them).

use std::fs::DirEntry;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::Error;
use crate::base::Timestamp;
use crate::model::{Narrowed, Privacy, is_copy_of, privacy};

/// What a new file must not have: anything for the group and for others.
const UMASK: u32 = 0o077;
/// What a directory of ours keeps.
const DIRECTORY_BITS: u32 = 0o700;
/// What a file of ours keeps.
const FILE_BITS: u32 = 0o600;
/// Entries of one directory that are looked at; an instance has a dozen.
const MAX_ENTRIES: usize = 1_000;

/// Lets every file that this process and its children make be its user's alone.
pub fn keep_private() {
    rustix::process::umask(Mode::from_raw_mode(UMASK));
}

/// Narrows a file or a directory of ours if others may do anything with it; nothing if it is not there.
///
/// It is named and not opened: whoever closes a file of the store gives up all locks that this process has on it.
pub fn narrow(path: &Path) -> Result<Option<Narrowed>, Error> {
    let io = |error: Errno| Error::Io { attempt: "look at the mode of", path: path.to_owned(), source: error.into() };
    let named = match rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
        Ok(named) => named,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let found = rustix::fs::fstat(&named).map_err(io)?;
    let bits = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => FILE_BITS,
        FileType::Directory => DIRECTORY_BITS,
        // What is behind a link is not ours to change; whoever reads the file says so.
        _ => return Ok(None),
    };
    let others = |why: String| Err(Error::Others { path: path.to_owned(), why });
    match privacy(found.st_uid, found.st_mode, rustix::process::geteuid().as_raw()) {
        Privacy::Private => Ok(None),
        // A volume that root made and mounted: what lies in it is private by itself.
        Privacy::Open if bits == DIRECTORY_BITS => Ok(None),
        Privacy::Wide => {
            let mode = Mode::from_raw_mode(found.st_mode & bits);
            rustix::fs::chmod(format!("/proc/self/fd/{}", named.as_raw_fd()), mode).map_err(io)?;
            Ok(Some(Narrowed::new(path.display().to_string(), found.st_mode)))
        }
        Privacy::Open => others("everybody may read it and it is root's".to_owned()),
        Privacy::Foreign => others(format!("it belongs to another user ({}), who may change it", found.st_uid)),
    }
}

/// Narrows a directory of ours and the files in it.
pub(super) fn narrow_directory(path: &Path) -> Result<Vec<Narrowed>, Error> {
    let mut narrowed: Vec<Narrowed> = narrow(path)?.into_iter().collect();
    for entry in entries(path)? {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            narrowed.extend(narrow(&entry.path())?);
        }
    }
    Ok(narrowed)
}

/// Narrows the files of a directory whose names begin with one: the file of that name, its logs, locks and copies.
pub(super) fn narrow_beside(directory: &Path, name: &str) -> Result<Vec<Narrowed>, Error> {
    let mut narrowed = Vec::new();
    for entry in entries(directory)? {
        let is_of_it = entry.file_name().to_str().is_some_and(|found| found.starts_with(name));
        if is_of_it && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            narrowed.extend(narrow(&entry.path())?);
        }
    }
    Ok(narrowed)
}

/// Narrows a secret file and what editors leave beside it.
pub fn narrow_with_copies(path: &Path) -> Result<Vec<Narrowed>, Error> {
    let mut narrowed: Vec<Narrowed> = narrow(path)?.into_iter().collect();
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(narrowed) };
    for entry in entries(path.parent().unwrap_or(Path::new(".")))? {
        let is_copy = entry.file_name().to_str().is_some_and(|found| is_copy_of(name, found));
        if is_copy && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            narrowed.extend(narrow(&entry.path())?);
        }
    }
    Ok(narrowed)
}

/// Returns when a file was written last; nothing if it is not there.
pub fn written(path: &str) -> Option<Timestamp> {
    let found = std::fs::symlink_metadata(PathBuf::from(path)).ok()?;
    Some(Timestamp(found.mtime().saturating_mul(1_000_000).saturating_add(found.mtime_nsec() / 1_000)))
}

fn entries(path: &Path) -> Result<Vec<DirEntry>, Error> {
    match std::fs::read_dir(path) {
        Ok(entries) => Ok(entries.take(MAX_ENTRIES).filter_map(Result::ok).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(Error::Io { attempt: "list", path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn make(path: &Path, mode: u32) {
        std::fs::write(path, "kept").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_secret_file_is_narrowed_with_what_editors_leave_beside_it_and_nothing_else_is() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let copies = [
            "secrets.yaml",
            "secrets.yaml~",
            ".secrets.yaml.swp",
            "#secrets.yaml#",
            "secrets.yaml.bak",
            "secrets.yaml.orig",
        ];
        for name in copies.into_iter().chain(["config.yaml", "secrets.yaml.d"]) {
            make(&at(name), 0o644);
        }
        let told = narrow_with_copies(&at("secrets.yaml")).unwrap();
        assert_eq!(told.len(), copies.len(), "{told:?}");
        assert!(copies.iter().all(|name| mode(&at(name)) == 0o600));
        assert_eq!((mode(&at("config.yaml")), mode(&at("secrets.yaml.d"))), (0o644, 0o644));
        assert!(narrow_with_copies(&at("secrets.yaml")).unwrap().is_empty());
        assert!(narrow_with_copies(&at("gone/secrets.yaml")).unwrap().is_empty());
    }

    #[test]
    fn what_is_behind_a_link_is_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real"), directory.path().join("secrets.yaml"));
        make(&real, 0o644);
        symlink(&real, &link).unwrap();
        assert_eq!(narrow(&link).unwrap(), None);
        assert_eq!(mode(&real), 0o644);
    }

    #[test]
    fn a_directory_of_ours_is_narrowed_with_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("instance");
        std::fs::create_dir(&state).unwrap();
        std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).unwrap();
        make(&state.join("kubeconfig"), 0o640);
        make(&state.join("hash.key"), 0o600);
        let told = narrow_directory(&state).unwrap();
        let modes: Vec<&str> = told.iter().map(|narrowed| narrowed.mode.as_str()).collect();
        assert_eq!(modes, ["0755", "0640"]);
        assert_eq!((mode(&state), mode(&state.join("kubeconfig"))), (0o700, 0o600));
    }
}
