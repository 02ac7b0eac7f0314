//! Pure. Entries of a kustomization that name a file whose fate is open: they stay as they are in ours, because a
//! kustomization that names a missing file does not build, and one that does not name the file drops its objects in
//! silence.
//!
//! Not here: merging the kustomization itself (`tree`).

use std::collections::BTreeMap;

use super::rename::Trio;
use super::text::merge_text;
use crate::base::RepoPath;
use crate::model::{File, FileTree};

/// Names under which kustomize looks for its file.
pub(super) const KUSTOMIZATIONS: [&str; 2] = ["kustomization.yaml", "kustomization.yml"];

/// Entries that a merge must leave as ours has them, by kustomization.
#[derive(Debug, Default)]
pub(super) struct Withheld {
    names: BTreeMap<RepoPath, Vec<RepoPath>>,
}

/// Returns whether a file is a kustomization.
pub(super) fn is_kustomization(trio: &Trio) -> bool {
    [&trio.base, &trio.ours, &trio.theirs].into_iter().flatten().any(|path| KUSTOMIZATIONS.contains(&path.name()))
}

impl Withheld {
    /// Keeps the entries for a file that one side deleted and that is there all the same.
    pub(super) fn add(&mut self, file: &RepoPath) {
        for kustomization in kustomizations(file) {
            self.names.entry(kustomization).or_default().push(file.clone());
        }
    }

    /// Takes the entries out of base, so that ours appears to have added them and the merge keeps them.
    pub(super) fn without_entries(&self, kustomization: &RepoPath, base: File) -> File {
        let Some(names) = self.names.get(kustomization) else {
            return base;
        };
        let Some(text) = base.as_text() else {
            return base;
        };
        let kept = names.iter().fold(text.to_owned(), |text, name| without_entry(&text, kustomization, name));
        File { bytes: kept.as_bytes().into(), mode: base.mode }
    }
}

/// Adds the entry for a file that comes back, at the place where their kustomization has it.
pub(super) fn add_entry(files: &mut FileTree, theirs: &FileTree, path: &RepoPath) {
    for kustomization in kustomizations(path) {
        let (Some(current), Some(upstream)) = (files.text(kustomization.as_str()), theirs.text(kustomization.as_str()))
        else {
            continue;
        };
        let before = without_entry(upstream, &kustomization, path);
        let merged = merge_text(&before, current, upstream);
        if merged.conflicts.is_empty() {
            files.insert(kustomization, File::text(&merged.text));
        }
    }
}

/// Removes the entry for a file that goes.
pub(super) fn remove_entry(files: &mut FileTree, path: &RepoPath) {
    for kustomization in kustomizations(path) {
        if let Some(text) = files.text(kustomization.as_str()) {
            let text = without_entry(text, &kustomization, path);
            files.insert(kustomization, File::text(&text));
        }
    }
}

/// Writes the new name of a file into the entry for it.
pub(super) fn rename_entry(files: &mut FileTree, from: &RepoPath, to: &RepoPath) {
    for kustomization in kustomizations(from) {
        let Some(text) = files.text(kustomization.as_str()) else {
            continue;
        };
        let (old, new) = (relative(&kustomization, from), relative(&kustomization, to));
        let renamed: String = text
            .split_inclusive('\n')
            .map(|line| if names(line, old) { line.replacen(old, new, 1) } else { line.to_owned() })
            .collect();
        files.insert(kustomization, File::text(&renamed));
    }
}

/// Returns the kustomizations that may name a file: those of its directory and of every directory above it.
fn kustomizations(path: &RepoPath) -> Vec<RepoPath> {
    let mut found = Vec::new();
    let mut directory = path.parent();
    while let Some(current) = directory {
        found.extend(KUSTOMIZATIONS.iter().filter_map(|name| current.join(name).ok()));
        directory = current.parent();
    }
    found
}

/// Leaves out the list items that are just the name of a file.
fn without_entry(text: &str, kustomization: &RepoPath, path: &RepoPath) -> String {
    let name = relative(kustomization, path);
    text.split_inclusive('\n').filter(|line| !names(line, name)).collect()
}

/// Returns a path as a kustomization writes it.
fn relative<'a>(kustomization: &RepoPath, path: &'a RepoPath) -> &'a str {
    let rest = kustomization.parent().and_then(|directory| path.as_str().strip_prefix(directory.as_str()));
    rest.and_then(|rest| rest.strip_prefix('/')).unwrap_or(path.as_str())
}

/// Returns whether a line is a list item with just this name.
fn names(line: &str, name: &str) -> bool {
    let item = line.trim().strip_prefix("- ").map(|item| item.trim().trim_matches(['"', '\'']));
    item.is_some_and(|item| item.strip_prefix("./").unwrap_or(item) == name)
}
