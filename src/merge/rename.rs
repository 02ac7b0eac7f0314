//! Pure. Finds which file of one side is which file of another when its name changed.
//!
//! A file counts as renamed if it is gone under its old name and stands, equal or alike, under a name that base does
//! not have. git's own detection is of no use here: it misses short files of which two lines changed. Not here: merging
//! the files (`tree`).

use std::collections::{BTreeMap, BTreeSet};

use super::line_diff::lines;
use super::tree::{Three, text_of};
use crate::base::RepoPath;
use crate::model::{File, FileTree};

/// Share of equal lines, in percent, from which two files count as one.
const ALIKE_PERCENT: usize = 60;

/// One file as it is called on each side.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Trio {
    pub(super) base: Option<RepoPath>,
    pub(super) ours: Option<RepoPath>,
    pub(super) theirs: Option<RepoPath>,
}

/// Pairs the files of three trees, each file in exactly one trio, in path order. With more than some comparisons, files are
/// paired by their path alone.
pub(super) fn pair(sides: Three<&FileTree>, comparisons: usize) -> Vec<Trio> {
    let mut ours = renames(sides.base, sides.ours, comparisons);
    let mut theirs = renames(sides.base, sides.theirs, comparisons);
    // A target that the other side fills with another file of its own is no rename but two files.
    let free = |target: &RepoPath, other: &FileTree, of_other: Option<&RepoPath>| {
        !other.contains(target.as_str()) || of_other == Some(target)
    };
    let before = (ours.clone(), theirs.clone());
    ours.retain(|path, target| free(target, sides.theirs, before.1.get(path)));
    theirs.retain(|path, target| free(target, sides.ours, before.0.get(path)));
    let name = |path: &RepoPath, tree: &FileTree, renamed: &BTreeMap<RepoPath, RepoPath>| {
        if tree.contains(path.as_str()) { Some(path.clone()) } else { renamed.get(path).cloned() }
    };
    let mut trios: Vec<Trio> = sides
        .base
        .paths()
        .map(|path| Trio {
            base: Some(path.clone()),
            ours: name(path, sides.ours, &ours),
            theirs: name(path, sides.theirs, &theirs),
        })
        .collect();
    let taken = |renamed: &BTreeMap<RepoPath, RepoPath>| renamed.values().cloned().collect::<BTreeSet<_>>();
    let (our_targets, their_targets) = (taken(&ours), taken(&theirs));
    let added: BTreeSet<&RepoPath> =
        sides.ours.paths().chain(sides.theirs.paths()).filter(|path| !sides.base.contains(path.as_str())).collect();
    let of = |path: &RepoPath, tree: &FileTree, targets: &BTreeSet<RepoPath>| {
        (tree.contains(path.as_str()) && !targets.contains(path)).then(|| path.clone())
    };
    trios.extend(added.into_iter().filter_map(|path| {
        let trio = Trio {
            base: None,
            ours: of(path, sides.ours, &our_targets),
            theirs: of(path, sides.theirs, &their_targets),
        };
        (trio.ours.is_some() || trio.theirs.is_some()).then_some(trio)
    }));
    trios
}

/// Returns new names by old names.
fn renames(base: &FileTree, side: &FileTree, comparisons: usize) -> BTreeMap<RepoPath, RepoPath> {
    let gone: Vec<_> = base.iter().filter(|(path, _)| !side.contains(path.as_str())).collect();
    let come: Vec<_> = side.iter().filter(|(path, _)| !base.contains(path.as_str())).collect();
    let mut found = BTreeMap::new();
    if gone.is_empty() || come.is_empty() || gone.len().saturating_mul(come.len()) > comparisons {
        return found;
    }
    let mut scores: Vec<(usize, &RepoPath, &RepoPath)> = Vec::new();
    for (old, before) in &gone {
        for (new, after) in &come {
            let score = likeness(before, after);
            if score >= ALIKE_PERCENT && extension(old) == extension(new) {
                scores.push((score, *old, *new));
            }
        }
    }
    for (score, old, new) in &scores {
        let rival = scores.iter().any(|(other, rival_old, rival_new)| {
            (rival_old == old) != (rival_new == new) && other >= score && !is_same_name(*score, *other, old, new)
        });
        if !rival {
            found.insert((*old).clone(), (*new).clone());
        }
    }
    found
}

/// Returns whether a tie is decided by the file's name, which stayed while its directory changed.
fn is_same_name(score: usize, rival: usize, old: &RepoPath, new: &RepoPath) -> bool {
    score == rival && old.name() == new.name()
}

fn extension(path: &RepoPath) -> &str {
    path.name().rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Returns the share of equal lines of two files in percent, 100 only for equal bytes.
fn likeness(before: &File, after: &File) -> usize {
    if before.bytes == after.bytes {
        return if before.bytes.is_empty() { 0 } else { 100 };
    }
    let (Some(before), Some(after)) = (text_of(before), text_of(after)) else {
        return 0;
    };
    let (before, after) = (lines(before), lines(after));
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &before {
        *left.entry(line).or_default() += 1;
    }
    let mut shared = 0;
    for line in &after {
        if let Some(count) = left.get_mut(line).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    (shared * 200 / (before.len() + after.len()).max(1)).min(99)
}

#[cfg(test)]
mod tests {
    use super::super::tree::Three;
    use super::pair;
    use crate::base::RepoPath;
    use crate::model::{File, FileTree};

    const LONG: &str = "a\nb\nc\nd\ne\nf\ng\nh\n";
    const EDITED: &str = "a\nb\nc\nd\ne\nf\nG\nH\n";
    const OTHER: &str = "1\n2\n3\n4\n";

    fn tree(files: &[(&str, &str)]) -> FileTree {
        files.iter().map(|(path, text)| (RepoPath::parse(path).unwrap(), File::text(text))).collect()
    }

    fn check(base: &[(&str, &str)], ours: &[(&str, &str)], theirs: &[(&str, &str)], expected: &[&str]) {
        let (base, ours, theirs) = (tree(base), tree(ours), tree(theirs));
        let name = |path: Option<RepoPath>| path.map_or("-".to_owned(), |path| path.to_string());
        let found: Vec<String> = pair(Three { base: &base, ours: &ours, theirs: &theirs }, 100)
            .into_iter()
            .map(|trio| format!("{} {} {}", name(trio.base), name(trio.ours), name(trio.theirs)))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_renamed_upstream_is_followed_although_two_lines_changed() {
        check(&[("x.yaml", LONG)], &[("x.yaml", LONG)], &[("y.yaml", EDITED)], &["x.yaml x.yaml y.yaml"]);
    }

    #[test]
    fn a_file_of_other_lines_is_a_new_file() {
        check(&[("x.yaml", LONG)], &[("x.yaml", LONG)], &[("y.yaml", OTHER)], &["x.yaml x.yaml -", "- - y.yaml"]);
    }

    #[test]
    fn both_sides_may_rename_one_file() {
        check(&[("x.yaml", LONG)], &[("o.yaml", LONG)], &[("t.yaml", LONG)], &["x.yaml o.yaml t.yaml"]);
    }

    #[test]
    fn two_equal_candidates_pair_with_nobody() {
        let theirs = [("y.yaml", LONG), ("z.yaml", LONG)];
        check(&[("x.yaml", LONG)], &[("x.yaml", LONG)], &theirs, &["x.yaml x.yaml -", "- - y.yaml", "- - z.yaml"]);
    }

    #[test]
    fn a_moved_file_is_known_by_its_name_among_equals() {
        let theirs = [("d/x.yaml", LONG), ("z.yaml", LONG)];
        check(&[("x.yaml", LONG)], &[("x.yaml", LONG)], &theirs, &["x.yaml x.yaml d/x.yaml", "- - z.yaml"]);
    }

    #[test]
    fn a_name_that_the_other_side_uses_for_another_file_is_no_rename() {
        let ours = [("x.yaml", LONG), ("y.yaml", OTHER)];
        check(&[("x.yaml", LONG)], &ours, &[("y.yaml", LONG)], &["x.yaml x.yaml -", "- y.yaml y.yaml"]);
    }
}
