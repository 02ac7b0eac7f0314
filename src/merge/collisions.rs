//! Pure. Files of two sides that cannot stand beside each other: one path that is a file here and a directory there, and two
//! paths that are one on systems which do not tell letter cases apart.
//!
//! Not here: files whose content collides (`file`).

use super::conflict::{Conflict, ConflictKind, Texts};
use super::tree::{Merged, Three};
use crate::base::RepoPath;
use crate::model::FileTree;

/// Takes files of theirs out of a merge that cannot stand beside files of ours, and makes conflicts of them.
pub(super) fn settle(sides: Three<&FileTree>, merged: &mut Merged) {
    let is_new = |path: &&RepoPath| !sides.ours.contains(path.as_str()) && !sides.base.contains(path.as_str());
    let come: Vec<RepoPath> = merged.files.paths().filter(is_new).cloned().collect();
    for path in come {
        let rivals = rivals(&merged.files, &path);
        let Some(rival) = rivals.iter().find(|rival| sides.ours.contains(rival.as_str())) else { continue };
        // A side that holds both says so itself.
        if sides.theirs.contains(rival.as_str()) {
            continue;
        }
        merged.files.remove(&path);
        let why = format!("{path} of upstream cannot stand beside your {rival}");
        merged.conflicts.push(Conflict::new(ConflictKind::FileKind, &path, Texts::default(), why));
    }
}

/// Returns the files that cannot stand beside a path.
pub(super) fn rivals(files: &FileTree, path: &RepoPath) -> Vec<RepoPath> {
    let folded = path.as_str().to_lowercase();
    let is_rival = |other: &&RepoPath| {
        let own = other.as_str().to_lowercase();
        *other != path && (own == folded || is_below(&own, &folded) || is_below(&folded, &own))
    };
    files.paths().filter(is_rival).cloned().collect()
}

/// Returns whether a path lies in a directory.
fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::base::RepoPath;
    use crate::merge::{Rules, Three, merge, resolve};
    use crate::model::{File, FileTree, Take};

    fn tree(files: &[&str]) -> FileTree {
        let path = |name: &str| RepoPath::parse(&format!("apps/a/{name}")).unwrap();
        files.iter().map(|name| (path(name), File::text(&format!("of {name}\n")))).collect()
    }

    /// Expects the files of a merge, what is to be decided, and the files after upstream was taken.
    fn check(sides: [&[&str]; 3], files: &[&str], open: &[&str], taken: &[&str]) {
        let [base, ours, theirs] = sides.map(tree);
        let sides = Three { base: &base, ours: &ours, theirs: &theirs };
        let merged = merge(sides, &Rules::default());
        assert_eq!(merged.files, tree(files));
        let found: Vec<String> =
            merged.conflicts.iter().map(|it| format!("{:?} {}", it.kind, it.path.below("apps/a").unwrap())).collect();
        assert_eq!(found, open);
        let decisions: BTreeMap<String, Take> =
            merged.conflicts.iter().map(|it| (it.id.clone(), Take::Upstream)).collect();
        assert_eq!(
            resolve(&merged.files, &merged.conflicts, &decisions, (sides, &Rules::default())).unwrap().files,
            tree(taken)
        );
    }

    #[test]
    fn a_file_and_a_directory_of_one_name_are_a_conflict() {
        check([&[], &["x"], &["x/y"]], &["x"], &["FileKind x/y"], &["x/y"]);
        check([&[], &["x/y"], &["x"]], &["x/y"], &["FileKind x"], &["x"]);
        check([&["x"], &["x"], &["x/y"]], &["x/y"], &[], &["x/y"]);
    }

    #[test]
    fn two_paths_that_differ_in_letter_case_alone_are_a_conflict() {
        check([&[], &["Notes.txt"], &["notes.txt"]], &["Notes.txt"], &["FileKind notes.txt"], &["notes.txt"]);
        check([&["a"], &["a", "X/y"], &["a", "x/z"]], &["a", "X/y", "x/z"], &[], &["a", "X/y", "x/z"]);
    }

    #[test]
    fn a_side_that_holds_both_keeps_both() {
        check([&["a"], &["a", "N"], &["a", "N", "n"]], &["a", "N", "n"], &[], &["a", "N", "n"]);
    }
}
