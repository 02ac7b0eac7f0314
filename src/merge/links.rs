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
    /// Files of theirs that are not there until somebody decides.
    gone: BTreeMap<RepoPath, Vec<RepoPath>>,
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

    /// Leaves out theirs' entries for a file that ours deleted and that is not there until somebody decides.
    pub(super) fn leave_out(&mut self, file: &RepoPath) {
        for kustomization in kustomizations(file) {
            self.gone.entry(kustomization).or_default().push(file.clone());
        }
    }

    /// Takes the entries for files that are not there out of theirs.
    pub(super) fn without_gone(&self, kustomization: &RepoPath, theirs: File) -> File {
        without_all(self.gone.get(kustomization), kustomization, theirs)
    }

    /// Takes the entries out of base, so that ours appears to have added them and the merge keeps them.
    pub(super) fn without_entries(&self, kustomization: &RepoPath, base: File) -> File {
        without_all(self.names.get(kustomization), kustomization, base)
    }
}

fn without_all(names: Option<&Vec<RepoPath>>, kustomization: &RepoPath, file: File) -> File {
    let (Some(names), Some(text)) = (names, file.as_text()) else { return file };
    let kept = names.iter().fold(text.to_owned(), |text, name| without_entry(&text, kustomization, name));
    File { bytes: kept.as_bytes().into(), mode: file.mode }
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
        let renamed: String = text.split_inclusive('\n').map(|line| with_entry(line, old, Some(new))).collect();
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
    found.extend(KUSTOMIZATIONS.iter().filter_map(|name| RepoPath::parse(name).ok()));
    found
}

/// Leaves out the list items that are just the name of a file.
fn without_entry(text: &str, kustomization: &RepoPath, path: &RepoPath) -> String {
    let name = relative(kustomization, path);
    text.split_inclusive('\n').map(|line| with_entry(line, name, None)).collect()
}

/// Returns a line in which the list item for a file has another name or is left out; the item has the line for itself or stands in a list
/// that begins and ends on it.
fn with_entry(line: &str, old: &str, new: Option<&str>) -> String {
    if names(line, old) {
        return new.map(|new| line.replacen(old, new, 1)).unwrap_or_default();
    }
    let flow = line.split_once(": [").and_then(|(key, rest)| Some((key, rest.rsplit_once(']')?)));
    let Some((key, (items, end))) = flow.filter(|(_, (items, _))| items.split(',').any(|item| is_called(item, old)))
    else {
        return line.to_owned();
    };
    let item = |item: &str| match (is_called(item, old), new) {
        (true, Some(new)) => Some(item.replacen(old, new, 1)),
        (true, None) => None,
        (false, _) => Some(item.to_owned()),
    };
    let items: Vec<String> = items.split(',').filter_map(item).collect();
    format!("{key}: [{}]{end}", items.join(",").trim_start())
}

/// Returns a path as a kustomization writes it.
fn relative<'a>(kustomization: &RepoPath, path: &'a RepoPath) -> &'a str {
    let Some(directory) = kustomization.parent() else { return path.as_str() };
    let rest = Some(directory).and_then(|directory| path.as_str().strip_prefix(directory.as_str()));
    rest.and_then(|rest| rest.strip_prefix('/')).unwrap_or(path.as_str())
}

/// Returns whether a line is a list item with just this name.
fn names(line: &str, name: &str) -> bool {
    line.trim().strip_prefix("- ").is_some_and(|item| is_called(item, name))
}

fn is_called(item: &str, name: &str) -> bool {
    let item = item.trim().trim_matches(['"', '\'']);
    item.strip_prefix("./").unwrap_or(item) == name
}

#[cfg(test)]
mod tests {
    use super::with_entry;

    fn check(line: &str, renamed: &str, without: &str) {
        assert_eq!(with_entry(line, "a.yaml", Some("b.yaml")), renamed);
        assert_eq!(with_entry(line, "a.yaml", None), without);
    }

    #[test]
    fn an_entry_is_found_in_a_line_of_its_own_and_in_a_list_on_one_line() {
        check("- a.yaml\n", "- b.yaml\n", "");
        check("  - \"./a.yaml\"\n", "  - \"./b.yaml\"\n", "");
        check("resources: [a.yaml]\n", "resources: [b.yaml]\n", "resources: []\n");
        check(
            "resources: [a.yaml, x.yaml] # all\n",
            "resources: [b.yaml, x.yaml] # all\n",
            "resources: [x.yaml] # all\n",
        );
        check("resources: [x.yaml, './a.yaml']\n", "resources: [x.yaml, './b.yaml']\n", "resources: [x.yaml]\n");
        for other in ["resources: [aa.yaml, x/a.yaml]\n", "- aa.yaml\n", "name: a.yaml\n", "resources: [\n"] {
            check(other, other, other);
        }
    }
}
