//! Writes a file so that a crash leaves the old content or the new one, readable by nobody else.
//!
//! Not here: what the files mean.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use super::{Error, io};

/// Mode of every file of ours: only the owner reads and writes.
const PRIVATE_FILE_MODE: u32 = 0o600;
/// Mode of every directory of ours.
const PRIVATE_DIRECTORY_MODE: u32 = 0o700;

/// Replaces a file: temporary name, mode at creation, write, sync, rename, sync of the directory.
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), Error> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let temporary = path.with_extension("tmp");
    // A left-over of a crash would keep its old mode, so it goes first.
    match fs::remove_file(&temporary) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::Io { attempt: "remove the left-over", path: temporary, source });
        }
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(PRIVATE_FILE_MODE)
        .open(&temporary)
        .map_err(io("create", &temporary))?;
    file.write_all(content).map_err(io("write", &temporary))?;
    file.sync_all().map_err(io("sync", &temporary))?;
    fs::rename(&temporary, path).map_err(io("rename onto", path))?;
    sync_directory(directory)
}

/// Makes a directory and its parents, readable by nobody else.
pub(super) fn make_directory(path: &Path) -> Result<(), Error> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_DIRECTORY_MODE)
        .create(path)
        .map_err(io("create directory", path))
}

/// Returns the content of a file, or nothing if it is not there.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io { attempt: "read", path: path.to_owned(), source }),
    }
}

fn sync_directory(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(io("sync directory", path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::write_private;

    #[test]
    fn a_file_is_private_from_its_first_byte_and_replaced_as_a_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secrets.yaml");
        std::fs::write(directory.path().join("secrets.tmp"), "left over").unwrap();
        write_private(&path, b"one").unwrap();
        write_private(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
