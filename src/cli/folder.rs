//! Reads a folder into a tree of files, and writes one.
//!
//! World: the folder. Not here: what is done with the files.

use std::path::Path;

use super::error::CommandError;
use crate::base::RepoPath;
use crate::base::limits::MAX_FILE_BYTES;
use crate::model::{Diagnostic, File, FileMode, FileTree};

/// Most files that are read.
const MAX_FILES: usize = 10_000;
/// Deepest nesting of folders that is read.
const MAX_DEPTH: usize = 32;

/// Reads all files below a folder, and says what stands there that no repository of ours may hold.
pub(super) fn read_folder(root: &Path, what: &str) -> Result<(FileTree, Vec<Diagnostic>), CommandError> {
    let (mut files, mut refused) = (FileTree::new(), Vec::new());
    below_folder(root, "", MAX_DEPTH, (&mut files, &mut refused))
        .map_err(|error| CommandError::new(what, format!("{}: {error}", root.display()), "check the folder"))?;
    refused.sort_by(|one, other| one.file.cmp(&other.file));
    Ok((files, refused))
}

/// Writes files below a folder that is made for them; one that is there is refused.
pub(super) fn write_folder(root: &Path, files: &FileTree, what: &str) -> Result<(), CommandError> {
    let refuse = |error: std::io::Error| {
        CommandError::new(what, format!("{}: {error}", root.display()), "name a folder that is not there yet")
    };
    std::fs::create_dir(root).map_err(refuse)?;
    for (path, file) in files.iter() {
        let path = root.join(path.as_str());
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(refuse)?;
        }
        std::fs::write(path, &file.bytes).map_err(refuse)?;
    }
    Ok(())
}

fn below_folder(
    root: &Path,
    below: &str,
    depth: usize,
    (files, refused): (&mut FileTree, &mut Vec<Diagnostic>),
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name();
        let path = format!("{below}{}", name.to_string_lossy());
        let mut refuse = |rule: &str, why: &str| refused.push(Diagnostic::error(rule, &path, 0, why));
        let kind = entry.file_type()?;
        match RepoPath::parse(&path) {
            _ if name == ".git" => {}
            _ if name.to_str().is_none() => refuse("P010", "its name is no UTF-8"),
            Err(error) => refuse("P010", &error.to_string()),
            Ok(_) if kind.is_symlink() => refuse("P010", "a package holds no symbolic links"),
            Ok(_) if kind.is_dir() && depth == 0 => {
                refuse("P012", &format!("it is nested deeper than {MAX_DEPTH} folders"))
            }
            Ok(_) if kind.is_dir() => below_folder(root, &format!("{path}/"), depth - 1, (&mut *files, &mut *refused))?,
            Ok(_) if !kind.is_file() => refuse("P010", "it is no regular file"),
            Ok(_) if usize::try_from(entry.metadata()?.len()).ok().is_none_or(|bytes| bytes > MAX_FILE_BYTES) => {
                refuse("P012", &format!("it has more than {MAX_FILE_BYTES} bytes"));
            }
            Ok(_) if files.len() >= MAX_FILES => {
                refuse("P012", &format!("the folder holds more than {MAX_FILES} files"));
                return Ok(());
            }
            Ok(path) => {
                files.insert(path, File { bytes: std::fs::read(entry.path())?.into(), mode: FileMode::Regular });
            }
        }
    }
    Ok(())
}
