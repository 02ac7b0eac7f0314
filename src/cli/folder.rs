//! Reads a folder into a tree of files, and writes one.
//!
//! World: the folder. Not here: what is done with the files.

use std::path::Path;

use super::error::CommandError;
use crate::base::RepoPath;
use crate::base::limits::MAX_FILE_BYTES;
use crate::model::{File, FileMode, FileTree};

/// Most files that are read.
const MAX_FILES: usize = 10_000;
/// Deepest nesting of folders that is read.
const MAX_DEPTH: usize = 32;

/// Reads all files below a folder.
pub(super) fn read_folder(root: &Path, what: &str) -> Result<FileTree, CommandError> {
    let mut files = FileTree::new();
    below_folder(root, "", MAX_DEPTH, &mut files)
        .map_err(|error| CommandError::new(what, format!("{}: {error}", root.display()), "check the folder"))?;
    Ok(files)
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

/// Reads the files below a folder; links and what git would not store are left out.
fn below_folder(root: &Path, below: &str, depth: usize, files: &mut FileTree) -> std::io::Result<()> {
    let refuse = |text: &str| Err(std::io::Error::other(text.to_owned()));
    if depth == 0 {
        return refuse("it is nested too deeply");
    }
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| *name != ".git") else { continue };
        let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            below_folder(root, &path, depth - 1, files)?;
        } else if kind.is_file() {
            let fits = usize::try_from(entry.metadata()?.len()).is_ok_and(|bytes| bytes <= MAX_FILE_BYTES);
            if !fits || files.len() >= MAX_FILES {
                return refuse("it holds too much");
            }
            let path = RepoPath::parse(&path).map_err(std::io::Error::other)?;
            files.insert(path, File { bytes: std::fs::read(entry.path())?.into(), mode: FileMode::Regular });
        }
    }
    Ok(())
}
