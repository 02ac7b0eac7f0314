//! Pure. Files as values: what a git tree, a package or a compiled app holds.
//!
//! Not here: reading them from git (`git`) or from YAML (`yaml`).

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::base::RepoPath;

/// Mode of a regular file; nothing else is ever read from a repository (symlinks and submodules are refused).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FileMode {
    /// 100644.
    Regular,
    /// 100755.
    Executable,
}

/// One file: its bytes and mode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// The content; shared, because trees are copied along the line.
    pub bytes: Arc<[u8]>,
    /// The mode.
    pub mode: FileMode,
}

impl File {
    /// Returns a regular file with this text.
    pub fn text(text: &str) -> Self {
        Self { bytes: text.as_bytes().into(), mode: FileMode::Regular }
    }

    /// Returns the content as text, or nothing if it is not UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }
}

/// Files by path, in path order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileTree {
    files: BTreeMap<RepoPath, File>,
}

impl FileTree {
    /// Returns a tree without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a file.
    pub fn insert(&mut self, path: RepoPath, file: File) {
        self.files.insert(path, file);
    }

    /// Removes a file and returns it.
    pub fn remove(&mut self, path: &RepoPath) -> Option<File> {
        self.files.remove(path)
    }

    /// Returns the file at a path.
    pub fn get(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    /// Returns the text of the file at a path, if there is one and it is UTF-8.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.get(path).and_then(File::as_text)
    }

    /// Returns whether a path is there.
    pub fn contains(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Returns whether any file lies below a directory; the empty one is the top.
    pub fn holds_below(&self, directory: &str) -> bool {
        let first = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let mut behind = self.files.range::<str, _>((Bound::Included(first.as_str()), Bound::Unbounded));
        behind.next().is_some_and(|(path, _)| path.as_str().starts_with(&first))
    }

    /// Returns all files in path order.
    pub fn iter(&self) -> impl Iterator<Item = (&RepoPath, &File)> {
        self.files.iter()
    }

    /// Returns all paths in order.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.keys()
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the files below a directory with paths relative to it.
    pub fn below(&self, directory: &str) -> Self {
        let files = self.files.iter().filter_map(|(path, file)| Some((path.below(directory)?, file.clone()))).collect();
        Self { files }
    }

    /// Adds all files of another tree, which win over those already there.
    pub fn extend(&mut self, other: Self) {
        self.files.extend(other.files);
    }

    /// Removes every file at or below a directory.
    pub fn remove_below(&mut self, directory: &str) {
        self.files.retain(|path, _| !path.is_within(directory));
    }
}

impl FromIterator<(RepoPath, File)> for FileTree {
    fn from_iter<I: IntoIterator<Item = (RepoPath, File)>>(files: I) -> Self {
        Self { files: files.into_iter().collect() }
    }
}
