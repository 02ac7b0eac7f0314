//! Pure. Merges of small trees, one rule each.
//!
//! Not here: lines (`text`), decisions (`resolve`).

use super::{Merged, Three};
use crate::base::RepoPath;
use crate::merge::Rules;
use crate::model::{File, FileMode, FileTree};

type Files<'a> = &'a [(&'a str, &'a str)];

const LONG: &str = "a\nb\nc\nd\ne\nf\ng\nh\n";

fn tree(files: Files<'_>) -> FileTree {
    let path = |path: &str| RepoPath::parse(&format!("apps/photobox/{path}")).unwrap();
    files.iter().map(|(name, text)| (path(name), File::text(text))).collect()
}

fn merge(base: Files<'_>, ours: Files<'_>, theirs: Files<'_>) -> Merged {
    super::merge(Three { base: &tree(base), ours: &tree(ours), theirs: &tree(theirs) }, &Rules::default())
}

/// Expects files and, as `kind file:line`, conflicts.
fn check(base: Files<'_>, ours: Files<'_>, theirs: Files<'_>, files: Files<'_>, conflicts: &[&str]) {
    let merged = merge(base, ours, theirs);
    assert_eq!(merged.files, tree(files), "the files differ");
    let found: Vec<String> = merged
        .conflicts
        .iter()
        .map(|conflict| {
            format!("{:?} {}:{}", conflict.kind, conflict.path.below("apps/photobox").unwrap(), conflict.line)
        })
        .collect();
    assert_eq!(found, conflicts);
}

#[test]
fn what_one_side_changed_is_taken() {
    check(&[("x", "1\n")], &[("x", "2\n")], &[("x", "1\n")], &[("x", "2\n")], &[]);
    check(&[("x", "1\n")], &[("x", "1\n")], &[("x", "2\n")], &[("x", "2\n")], &[]);
    check(&[("x", "1\n")], &[], &[("x", "1\n")], &[], &[]);
    check(&[("x", "1\n")], &[("x", "1\n")], &[], &[], &[]);
    check(&[], &[("x", "1\n")], &[("y", "2\n")], &[("x", "1\n"), ("y", "2\n")], &[]);
}

#[test]
fn lines_apart_from_each_other_merge() {
    let ours = LONG.replace("a\n", "A\n");
    let theirs = LONG.replace("h\n", "H\n");
    let both = ours.replace("h\n", "H\n");
    check(&[("x", LONG)], &[("x", &ours)], &[("x", &theirs)], &[("x", &both)], &[]);
}

#[test]
fn a_line_that_both_changed_keeps_ours_and_everything_else_merges() {
    let ours = LONG.replace("a\n", "mine\n");
    let theirs = LONG.replace("a\n", "upstream\n").replace("h\n", "H\n");
    let kept = ours.replace("h\n", "H\n");
    check(&[("x", LONG)], &[("x", &ours)], &[("x", &theirs)], &[("x", &kept)], &["Text x:1"]);
}

#[test]
fn no_conflict_marker_is_ever_written() {
    let merged = merge(&[("x", "a\n")], &[("x", "b\n")], &[("x", "c\n")]);
    assert_eq!(merged.files.text("apps/photobox/x"), Some("b\n"));
    let conflict = &merged.conflicts[0];
    assert_eq!(
        (conflict.base.as_deref(), conflict.mine.as_deref(), conflict.upstream.as_deref()),
        (Some("a\n"), Some("b\n"), Some("c\n"))
    );
}

#[test]
fn a_file_deleted_on_one_side_and_changed_on_the_other_is_a_conflict() {
    check(&[("x", "1\n")], &[("x", "2\n")], &[], &[("x", "2\n")], &["EditDelete x:0"]);
    check(&[("x", "1\n")], &[], &[("x", "2\n")], &[], &["DeleteEdit x:0"]);
}

#[test]
fn a_file_that_both_added_conflicts_where_it_differs() {
    check(&[], &[("x", "1\n")], &[("x", "1\n")], &[("x", "1\n")], &[]);
    check(&[], &[("x", "1\n")], &[("x", "2\n")], &[("x", "1\n")], &["BothAdded x:1"]);
}

#[test]
fn a_file_renamed_upstream_carries_our_edits() {
    let ours = LONG.replace("a\n", "A\n");
    let theirs = LONG.replace("h\n", "H\n");
    let both = ours.replace("h\n", "H\n");
    check(&[("server.yaml", LONG)], &[("server.yaml", &ours)], &[("web.yaml", &theirs)], &[("web.yaml", &both)], &[]);
}

#[test]
fn a_conflict_in_a_renamed_file_stands_at_the_new_name() {
    let ours = LONG.replace("a\n", "mine\n");
    let theirs = LONG.replace("a\n", "upstream\n");
    let (base, ours, theirs) = ([("server.yaml", LONG)], [("server.yaml", &*ours)], [("web.yaml", &*theirs)]);
    check(&base, &ours, &theirs, &[("web.yaml", ours[0].1)], &["Text web.yaml:1"]);
}

#[test]
fn a_file_renamed_by_both_to_other_names_keeps_our_name_and_both_edits() {
    let ours = LONG.replace("a\n", "A\n");
    let theirs = LONG.replace("h\n", "H\n");
    let both = ours.replace("h\n", "H\n");
    let sides = ([("x.yaml", LONG)], [("o.yaml", &*ours)], [("t.yaml", &*theirs)]);
    check(&sides.0, &sides.1, &sides.2, &[("o.yaml", &both)], &["RenameRename o.yaml:0"]);
}

#[test]
fn a_file_that_is_no_text_and_differs_everywhere_is_a_conflict() {
    check(&[("x", "a\0\n")], &[("x", "b\0\n")], &[("x", "c\0\n")], &[("x", "b\0\n")], &["FileKind x:0"]);
}

#[test]
fn the_view_of_the_package_is_always_theirs() {
    let merged = merge(
        &[(".package/x", "1\n"), (".package/y", "1\n")],
        &[(".package/x", "edited\n"), (".package/y", "1\n")],
        &[(".package/x", "1\n"), (".package/z", "2\n")],
    );
    assert_eq!(merged.files, tree(&[(".package/x", "1\n"), (".package/z", "2\n")]));
    assert_eq!(merged.conflicts, []);
    let expected = "apps/photobox/.package/x was edited; it only shows the package and was put back";
    assert_eq!(merged.notices[0].to_string(), expected);
}

#[test]
fn a_mode_that_one_side_changed_is_taken_and_the_lines_of_the_other() {
    let run = |text: &str| File { mode: FileMode::Executable, ..File::text(text) };
    let one = |file: File| FileTree::from_iter([(RepoPath::parse("apps/photobox/run.sh").unwrap(), file)]);
    let merged = super::merge(
        Three { base: &one(File::text("a\n")), ours: &one(run("a\n")), theirs: &one(File::text("b\n")) },
        &Rules::default(),
    );
    assert_eq!(merged.files, one(run("b\n")));
}

#[test]
fn the_entry_of_a_file_whose_deletion_is_open_stays() {
    let with = "resources:\n- a.yaml\n- job.yaml\n- z.yaml\n";
    let without = "resources:\n- a.yaml\n- z.yaml\n- new.yaml\n";
    check(
        &[("kustomization.yaml", with), ("job.yaml", "1\n")],
        &[("kustomization.yaml", with), ("job.yaml", "2\n")],
        &[("kustomization.yaml", without), ("new.yaml", "x\n")],
        &[
            ("kustomization.yaml", "resources:\n- a.yaml\n- job.yaml\n- z.yaml\n- new.yaml\n"),
            ("job.yaml", "2\n"),
            ("new.yaml", "x\n"),
        ],
        &["EditDelete job.yaml:0"],
    );
}

#[test]
fn equal_conflicts_have_ids_of_their_own_that_do_not_hang_on_the_line() {
    let text = |x: &str| format!("{x}\nb\nc\nd\ne\nf\n{x}\n");
    let first = merge(&[("x", &text("1"))], &[("x", &text("2"))], &[("x", &text("3"))]).conflicts;
    let moved = |x: &str| format!("top\n{}", text(x));
    let second = merge(&[("x", &moved("1"))], &[("x", &moved("2"))], &[("x", &moved("3"))]).conflicts;
    assert_eq!(first.len(), 2);
    assert_ne!(first[0].id, first[1].id);
    let ids = |conflicts: &[super::Conflict]| conflicts.iter().map(|conflict| conflict.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&first), ids(&second));
}

#[test]
fn an_object_that_stands_twice_on_a_side_was_moved_by_nobody() {
    const WEB: &str = "kind: Service\nmetadata:\n  name: web\n";
    let (base, theirs) = ([("a.yaml", WEB)], [("a.yaml", WEB), ("b.yaml", WEB)]);
    check(&base, &[], &theirs, &[("b.yaml", WEB)], &[]);
    check(&base, &[("b.yaml", WEB)], &theirs, &[("b.yaml", WEB)], &[]);
    check(&base, &theirs, &[("c.yaml", WEB)], &[("b.yaml", WEB), ("c.yaml", WEB)], &[]);
}
