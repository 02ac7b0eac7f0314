//! Reads a kubeconfig and the files that it names: files of our own that nobody else may read, by no way that leads out of their directory.
//!
//! A mode that lets others read is narrowed and told; what belongs to another user, or is no plain file, is refused.
//!
//! Not here: which files may be named (`yaml::kubeconfig`), what is made of a mode (`model::privacy`).

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::base::TooLarge;
use crate::model::{Narrowed, Privacy, privacy};
use crate::yaml::kubeconfig::MAX_KUBECONFIG_BYTES;

/// The mode that a file of ours is narrowed to.
const PRIVATE_MODE: u32 = 0o600;
/// How often a file is opened that is being replaced meanwhile.
const TRIES: usize = 8;

/// The directory in which a kubeconfig lies, and out of which none of its files leads.
pub(super) struct Folder {
    path: PathBuf,
    descriptor: OwnedFd,
}

impl Folder {
    /// Opens the directory of a file.
    pub(super) fn of(file: &Path) -> Result<Self, String> {
        let file = std::path::absolute(file).map_err(|error| error.to_string())?;
        let path = file.parent().unwrap_or(Path::new("/")).to_owned();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(&path, flags, Mode::empty()).map_err(|error| error.to_string())?;
        Ok(Self { path, descriptor })
    }

    /// Returns the directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a file in it, given by its path in there or by its absolute one, and notes that others could read it, if they could.
    pub(super) fn read(&self, path: &Path, narrowed: &mut Vec<Narrowed>) -> Result<Vec<u8>, String> {
        let inside = match path.is_absolute() {
            true => path.strip_prefix(&self.path).map_err(|_| "it lies in another directory".to_owned())?,
            false => path,
        };
        let file = File::from(self.open(inside)?);
        let whole = self.path.join(inside);
        if let Some(mode) = narrow(&file)? {
            let found = Narrowed::new(whole.display().to_string(), mode);
            let Narrowed { path, mode } = &found;
            tracing::warn!(file = path, mode, "others could read this file until now: replace what is in it");
            narrowed.push(found);
        }
        bytes_of(file)
    }

    fn open(&self, inside: &Path) -> Result<OwnedFd, String> {
        // A pipe is opened without waiting for somebody who writes into it.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut tries = 0;
        let opened = loop {
            match rustix::fs::openat2(&self.descriptor, inside, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) if tries < TRIES => tries += 1,
                // Old kernels and some containers know no such call; then no link is followed at all.
                Err(Errno::NOSYS | Errno::PERM) => break self.open_plainly(inside, flags),
                opened => break opened,
            }
        };
        opened.map_err(|error| match error {
            Errno::XDEV | Errno::LOOP => "it is a link that leads out of its directory".to_owned(),
            error => error.to_string(),
        })
    }

    fn open_plainly(&self, inside: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let mut parts = inside.iter().peekable();
        let mut place = self.descriptor.try_clone().map_err(|_| Errno::MFILE)?;
        while let Some(part) = parts.next() {
            let flags = match parts.peek() {
                Some(_) => OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                None => flags,
            };
            place = rustix::fs::openat(&place, part, flags | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(place)
    }
}

/// Reads a file of ours that nobody else may read, and tells that others could, if they could.
pub fn read_private_file(path: &Path) -> Result<(Vec<u8>, Option<Narrowed>), String> {
    let folder = Folder::of(path)?;
    let mut narrowed = Vec::new();
    let bytes = folder.read(Path::new(path.file_name().unwrap_or_default()), &mut narrowed)?;
    Ok((bytes, narrowed.pop()))
}

/// Reads a kubeconfig, or a file that one names, wherever it is and whoever may read it: a plain file, up to a bound.
pub fn read_plain_file(path: &Path) -> Result<Vec<u8>, String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| error.to_string())?;
    bytes_of(File::from(opened))
}

/// Takes the right to read a file from all others, and returns the mode that it had if they had any.
fn narrow(file: &File) -> Result<Option<u32>, String> {
    let found = rustix::fs::fstat(file).map_err(|error| error.to_string())?;
    let user = rustix::process::geteuid().as_raw();
    match privacy(found.st_uid, found.st_mode, user) {
        Privacy::Private => Ok(None),
        Privacy::Wide => {
            let mode = Mode::from_raw_mode(found.st_mode & PRIVATE_MODE);
            rustix::fs::fchmod(file, mode)
                .map_err(|error| format!("others may read it, and its mode stays: {error}"))?;
            Ok(Some(found.st_mode))
        }
        Privacy::Open => Err("everybody may read it and it belongs to root: chmod o= on it".to_owned()),
        Privacy::Foreign => Err(format!("it belongs to another user ({}), who may change it", found.st_uid)),
    }
}

fn bytes_of(file: File) -> Result<Vec<u8>, String> {
    let found = rustix::fs::fstat(&file).map_err(|error| error.to_string())?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err("it is no plain file".to_owned());
    }
    let limit = u64::try_from(MAX_KUBECONFIG_BYTES).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() > MAX_KUBECONFIG_BYTES {
        true => Err(TooLarge(MAX_KUBECONFIG_BYTES).to_string()),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_others_may_read_is_narrowed_and_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kubeconfig");
        for wide in [0o644, 0o640, 0o606, 0o666, 0o777] {
            std::fs::write(&path, "kept").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(wide)).unwrap();
            let content = read_private_file(&path).unwrap();
            assert_eq!(content.0, b"kept");
            let told = Narrowed { path: path.display().to_string(), mode: format!("{wide:04o}") };
            assert_eq!((content.1, mode(&path)), (Some(told), 0o600));
        }
        assert_eq!(read_private_file(&path).unwrap().1, None);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(read_private_file(&path).unwrap().1, None);
        assert_eq!(mode(&path), 0o400);
    }

    #[test]
    fn no_way_leads_out_of_the_directory() {
        let (outside, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = outside.path().join("secret");
        std::fs::write(&secret, "elsewhere").unwrap();
        let (root, file) = (directory.path(), directory.path().join("kubeconfig"));
        std::fs::create_dir(root.join("data")).unwrap();
        std::fs::write(root.join("data/inside"), "inside").unwrap();
        symlink(&secret, root.join("absolute")).unwrap();
        symlink(format!("../{}/secret", outside.path().file_name().unwrap().display()), root.join("relative")).unwrap();
        symlink(outside.path(), root.join("folder")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("data/inside", root.join("kubeconfig")).unwrap();
        symlink("data", root.join("current")).unwrap();
        let folder = Folder::of(&file).unwrap();
        let read =
            |path: &str| folder.read(Path::new(path), &mut Vec::new()).map(|bytes| String::from_utf8(bytes).unwrap());
        for path in ["absolute", "relative", "folder/secret", "loop", "../secret", "gone", "data", "/dev/null"] {
            assert!(read(path).is_err(), "{path}");
        }
        assert!(folder.read(&secret, &mut Vec::new()).is_err());
        // As secrets are put into containers.
        for path in ["kubeconfig", "current/inside", "data/inside"] {
            assert_eq!(read(path).as_deref(), Ok("inside"), "{path}");
        }
        assert_eq!(folder.open_plainly(Path::new("data/inside"), OFlags::RDONLY).err(), None);
        for path in ["kubeconfig", "current/inside", "folder/secret"] {
            assert!(folder.open_plainly(Path::new(path), OFlags::RDONLY).is_err(), "{path}");
        }
        assert_eq!(mode(&secret) & 0o700, 0o600, "it is not touched");
    }

    #[test]
    fn what_is_no_plain_file_or_has_no_end_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert_eq!(read_private_file(&pipe).err().as_deref(), Some("it is no plain file"));
        assert_eq!(read_plain_file(&pipe).err().as_deref(), Some("it is no plain file"));
        assert_eq!(read_plain_file(Path::new("/dev/zero")).err().as_deref(), Some("it is no plain file"));
        let large = directory.path().join("large");
        File::create(&large).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read_plain_file(&large).err().as_deref(), Some("it is larger than 4 MiB"));
    }
}
