//! Pure. Tests of single entries: a base, two sides, and the text that must come out.

use super::super::file::merge_file;
use super::super::rules::Rules;
use super::super::tree::Three;
use crate::base::RepoPath;

/// Merges three files; nothing may be left to decide, and a second merge of the result must bring nothing.
fn check(base: &str, ours: &str, theirs: &str, expected: &str) {
    let path = RepoPath::parse("apps/a/values.yaml").unwrap();
    let merge = |ours: &str| {
        let merged =
            merge_file(&path, Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) }, &Rules::default());
        assert!(merged.conflicts.is_empty() && merged.guard.is_none(), "{:?} {:?}", merged.conflicts, merged.guard);
        merged.text.unwrap()
    };
    assert_eq!(merge(ours), expected);
    assert_eq!(merge(expected), expected, "the second merge");
}

#[test]
fn a_comment_of_ours_stays_above_a_list_that_theirs_fills() {
    check("a: 1\nw: []\n", "a: 1\n# why\nw: []\n", "a: 1\nw:\n- x\n", "a: 1\n# why\nw:\n- x\n");
}

#[test]
fn a_comment_of_theirs_comes_above_a_list_that_ours_emptied() {
    check("w:\n- x\n", "w: []\n", "# why\nw:\n- x\n- y\n", "# why\nw:\n- y\n");
}

#[test]
fn texts_that_occur_twice_are_told_apart_by_their_places() {
    check("w: [one, two]\n", "w: [other, two]\n", "w: [one, one]\n", "w: [other, one]\n");
}

#[test]
fn of_equal_texts_both_sides_lose_the_same_one() {
    check("w:\n- a\n- b\n- b\n", "w:\n- n\n- a\n- b\n- b\n", "w: [a, b]\n", "w:\n- n\n- a\n- b\n");
}

#[test]
fn a_merge_that_brings_nothing_leaves_the_style_of_ours() {
    check("w:\n- a\nx: 1\n", "# why\nw:\n- a\nx: 2\n", "w:\n  - a\nx: 2\n", "# why\nw:\n- a\nx: 2\n");
}

#[test]
fn of_equal_texts_the_last_ones_go_whoever_moved_the_rest() {
    check("w: [x, t, x]\n", "w: [x, x, t]\n", "w: [t, x]\n", "w: [t, x]\n");
}
