//! Pure. Tests of every limit and of every kind of bad input: nothing is lost, nothing hangs, and it is said.

use super::super::{FileMerge, Merged, merge, merge_file};
use super::{Limits, Rules};
use crate::base::RepoPath;
use crate::merge::{ConflictKind, How, NoticeKind, Three};
use crate::model::{File, FileTree};

const BASE: &str = "a: 1\nb: 2\nc: 3\nd: 4\n";
const OURS: &str = "a: 9\nb: 2\nc: 3\nd: 4\n";
const THEIRS: &str = "a: 1\nb: 2\nc: 3\nd: 8\n";
const BOTH: &str = "a: 9\nb: 2\nc: 3\nd: 8\n";

fn merge_with(limits: Limits, [base, ours, theirs]: [&str; 3]) -> FileMerge {
    let path = RepoPath::parse("apps/a/x.yaml").unwrap();
    let texts = Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) };
    merge_file(&path, texts, &Rules { limits, ..Rules::default() })
}

fn merge_texts(sides: [&str; 3]) -> FileMerge {
    merge_with(Limits::default(), sides)
}

fn tree(files: &[(&str, &[u8])]) -> FileTree {
    let path = |name: &str| RepoPath::parse(&format!("apps/a/{name}")).unwrap();
    files.iter().map(|(name, bytes)| (path(name), File { bytes: (*bytes).into(), ..File::text("") })).collect()
}

fn merge_trees(rules: &Rules, base: &[(&str, &[u8])], ours: &[(&str, &[u8])], theirs: &[(&str, &[u8])]) -> Merged {
    merge(Three { base: &tree(base), ours: &tree(ours), theirs: &tree(theirs) }, rules)
}

fn notices(merged: &FileMerge) -> Vec<NoticeKind> {
    merged.notices.iter().map(|notice| notice.kind).collect()
}

/// Expects a merge by lines with both edits and one notice.
fn check_lines(merged: &FileMerge, kind: NoticeKind, expected: &str) {
    assert_eq!((merged.how, merged.text.as_deref()), (How::Lines, Some(expected)));
    assert_eq!((notices(merged), merged.conflicts.len()), (vec![kind], 0));
}

#[test]
fn a_file_that_is_too_large_for_its_structure_is_merged_by_lines() {
    let limits = Limits { file_bytes: 10, ..Limits::default() };
    check_lines(&merge_with(limits, [BASE, OURS, THEIRS]), NoticeKind::Limit, BOTH);
}

#[test]
fn a_file_that_is_too_large_for_lines_is_equal_or_a_conflict() {
    let limits = Limits { text_bytes: 10, ..Limits::default() };
    let merged = merge_with(limits, [BASE, OURS, THEIRS]);
    assert_eq!((merged.conflicts[0].kind, merged.text.as_deref()), (ConflictKind::FileKind, Some(OURS)));
    assert!(merge_with(limits, [BASE, BASE, THEIRS]).conflicts.is_empty());
}

#[test]
fn among_too_many_files_nothing_that_moved_is_followed() {
    let object = |value: &str| format!("kind: ConfigMap\nmetadata: {{name: m}}\ndata: {{a: {value}, b: x}}\n");
    let (one, mine, other) = (object("1"), object("2"), "kind: ConfigMap\nmetadata: {name: n}\n");
    let moved = format!("{other}---\n{one}");
    let base: [(&str, &[u8]); 2] = [("m.yaml", one.as_bytes()), ("n.yaml", other.as_bytes())];
    let ours: [(&str, &[u8]); 2] = [("m.yaml", mine.as_bytes()), ("n.yaml", other.as_bytes())];
    let theirs: [(&str, &[u8]); 1] = [("n.yaml", moved.as_bytes())];
    assert!(merge_trees(&Rules::default(), &base, &ours, &theirs).conflicts.is_empty());
    let rules = Rules { limits: Limits { files: 1, ..Limits::default() }, ..Rules::default() };
    let merged = merge_trees(&rules, &base, &ours, &theirs);
    assert_eq!(merged.conflicts.iter().map(|it| it.kind).collect::<Vec<_>>(), [ConflictKind::EditDelete]);
    assert!(merged.notices.iter().any(|notice| notice.kind == NoticeKind::Limit));
}

#[test]
fn a_file_with_too_many_documents_is_merged_by_lines() {
    let limits = Limits { documents: 1, ..Limits::default() };
    let two = |text: &str| format!("{text}---\nx: 1\n");
    let merged = merge_with(limits, [&two(BASE), &two(OURS), &two(THEIRS)]);
    check_lines(&merged, NoticeKind::Limit, &two(BOTH));
}

#[test]
fn a_file_with_too_many_values_is_merged_by_lines() {
    let limits = Limits { nodes: 2, ..Limits::default() };
    check_lines(&merge_with(limits, [BASE, OURS, THEIRS]), NoticeKind::Limit, BOTH);
}

#[test]
fn a_file_that_is_nested_too_deep_is_merged_by_lines() {
    let deep = format!("deep: {}{}\n", "[".repeat(300), "]".repeat(300));
    let merged = merge_texts([BASE, OURS, THEIRS].map(|side| format!("{side}{deep}")).each_ref().map(String::as_str));
    check_lines(&merged, NoticeKind::Unparsable, &format!("{BOTH}{deep}"));
}

#[test]
fn lists_that_are_too_long_to_align_lose_nothing() {
    let limits = Limits { alignment_cells: 0, ..Limits::default() };
    let list = |items: &[&str]| format!("w:\n{}", items.iter().map(|item| format!("- {item}\n")).collect::<String>());
    let base = list(&["a", "b", "c", "d", "e"]);
    let merged = merge_with(limits, [&base, &list(&["a", "x", "c", "d", "e"]), &list(&["a", "b", "c", "y", "e"])]);
    assert!(merged.conflicts.is_empty());
    assert_eq!(merged.text, Some(list(&["a", "x", "c", "y", "e"])));
}

#[test]
fn documents_beyond_the_comparisons_are_not_paired() {
    let object = |name: &str, value: &str| {
        format!("kind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: one, b: two, c: three, d: {value}}}\n")
    };
    let sides = [object("m", "1"), object("m", "2"), object("n", "1")];
    let sides = sides.each_ref().map(String::as_str);
    assert!(merge_texts(sides).conflicts.is_empty());
    let merged = merge_with(Limits { comparisons: 0, ..Limits::default() }, sides);
    assert_eq!(merged.conflicts.iter().map(|it| it.kind).collect::<Vec<_>>(), [ConflictKind::EditDelete]);
}

#[test]
fn an_alias_bomb_is_never_blown_up() {
    let mut bomb = String::from("a0: &a0 [x, x]\n");
    for level in 1..40 {
        bomb.push_str(&format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1));
    }
    let sides = [BASE, OURS, THEIRS].map(|side| format!("kind: Bomb\nmetadata: {{name: b}}\n{side}{bomb}"));
    let [base, ours, theirs] = sides.each_ref().map(|side| side.as_bytes());
    let merged = merge_trees(&Rules::default(), &[("x.yaml", base)], &[("x.yaml", ours)], &[("x.yaml", theirs)]);
    assert!(merged.conflicts.is_empty());
    assert!(merged.files.text("apps/a/x.yaml").unwrap().contains(BOTH));
}

#[test]
fn a_file_with_too_many_conflicts_is_one() {
    let ours = "a: 9\nb: 2\nc: 3\nd: 9\n";
    let theirs = "a: 8\nb: 2\nc: 3\nd: 8\n";
    assert_eq!(merge_texts([BASE, ours, theirs]).conflicts.len(), 2);
    let merged = merge_with(Limits { conflicts: 1, ..Limits::default() }, [BASE, ours, theirs]);
    assert_eq!(merged.conflicts.iter().map(|it| it.kind).collect::<Vec<_>>(), [ConflictKind::Text]);
    assert_eq!(merged.text.as_deref(), Some(ours));
}

#[test]
fn without_fuel_the_rest_is_merged_by_lines() {
    let limits = Limits { fuel: 3, ..Limits::default() };
    check_lines(&merge_with(limits, [BASE, OURS, THEIRS]), NoticeKind::Limit, BOTH);
    let (first, second) = (merge_texts([BASE, OURS, THEIRS]), merge_texts([BASE, OURS, THEIRS]));
    assert!(first.fuel < Limits::default().fuel);
    assert_eq!(first.fuel, second.fuel);
}

#[test]
fn a_side_that_is_no_yaml_is_named_with_its_line() {
    let at_top = |text: &str, value: &str| format!("e: {value}\n{text}");
    let merged = merge_texts([&at_top(BASE, "5"), &at_top(OURS, "[5"), &at_top(THEIRS, "5")]);
    check_lines(&merged, NoticeKind::Unparsable, &at_top(BOTH, "[5"));
    assert!(merged.notices[0].detail.starts_with("yours, line "), "{}", merged.notices[0].detail);
    let merged = merge_texts([&at_top(BASE, "5"), &at_top(BASE, "6"), &at_top(THEIRS, "[5")]);
    assert!(merged.notices[0].detail.starts_with("upstream, line "), "{}", merged.notices[0].detail);
}

#[test]
fn conflict_markers_in_ours_are_one_conflict_and_other_files_go_on() {
    let marked = "<<<<<<< a\nx: 1\n=======\nx: 2\n>>>>>>> b\n";
    let base: [(&str, &[u8]); 2] = [("m.yaml", b"x: 1\n"), ("n.yaml", BASE.as_bytes())];
    let ours: [(&str, &[u8]); 2] = [("m.yaml", marked.as_bytes()), ("n.yaml", OURS.as_bytes())];
    let theirs: [(&str, &[u8]); 2] = [("m.yaml", b"x: 3\n"), ("n.yaml", THEIRS.as_bytes())];
    let merged = merge_trees(&Rules::default(), &base, &ours, &theirs);
    assert_eq!(
        merged.conflicts.iter().map(|it| (it.kind, it.path.name())).collect::<Vec<_>>(),
        [(ConflictKind::Text, "m.yaml")]
    );
    assert_eq!((merged.files.text("apps/a/m.yaml"), merged.files.text("apps/a/n.yaml")), (Some(marked), Some(BOTH)));
}

#[test]
fn a_doubled_key_stays_where_nobody_touches_its_map() {
    let double = "m:\n  x: 1\n  x: 2\n";
    let sides = [BASE, OURS, THEIRS].map(|side| format!("{double}{side}"));
    let merged = merge_texts(sides.each_ref().map(String::as_str));
    assert_eq!((merged.text, merged.conflicts.len()), (Some(format!("{double}{BOTH}")), 0));
}

#[test]
fn a_tag_belongs_to_its_value() {
    let merged = merge_texts(["a: !x 1\nb: 2\n", "a: !y 1\nb: 2\n", "a: !z 1\nb: 3\n"]);
    assert_eq!((merged.text.as_deref(), merged.conflicts.len()), (Some("a: !y 1\nb: 3\n"), 1));
    let merged = merge_texts(["a: !x 1\nb: 2\n", "a: !x 1\nb: 3\n", "a: !y 1\nb: 2\n"]);
    assert_eq!((merged.text.as_deref(), merged.conflicts.len()), (Some("a: !y 1\nb: 3\n"), 0));
}

#[test]
fn keys_that_are_no_texts_are_kept() {
    for key in ["1", "null", "true", "? [x, y]\n"] {
        let sides = [BASE, OURS, THEIRS].map(|side| format!("{side}m:\n  {key}: 1\n"));
        let merged = merge_texts(sides.each_ref().map(String::as_str));
        assert_eq!((merged.text, merged.conflicts.len()), (Some(format!("{BOTH}m:\n  {key}: 1\n")), 0), "{key}");
    }
}

#[test]
fn a_file_in_another_encoding_is_equal_or_a_conflict() {
    for [base, ours, theirs] in
        [[&b"a\xe9\n"[..], b"b\xe9\n", b"c\xe9\n"], [b"\xff\xfea\0", b"\xff\xfeb\0", b"\xff\xfec\0"]]
    {
        let merged = merge_trees(&Rules::default(), &[("x.yaml", base)], &[("x.yaml", ours)], &[("x.yaml", theirs)]);
        assert_eq!(merged.conflicts.iter().map(|it| it.kind).collect::<Vec<_>>(), [ConflictKind::FileKind]);
        assert_eq!(merged.files, tree(&[("x.yaml", ours)]));
        let merged = merge_trees(&Rules::default(), &[("x.yaml", base)], &[("x.yaml", base)], &[("x.yaml", theirs)]);
        assert_eq!((merged.conflicts.len(), merged.files), (0, tree(&[("x.yaml", theirs)])));
    }
}

#[test]
fn files_without_content_are_merged_as_text() {
    for [base, ours, theirs, expected] in [
        ["", "# mine\n", "", "# mine\n"],
        ["# a\n\n# b\n", "# mine\n\n# b\n", "# a\n\n# theirs\n", "# mine\n\n# theirs\n"],
        ["---\n", "---\n# mine\n", "---\n", "---\n# mine\n"],
    ] {
        let merged = merge_texts([base, ours, theirs]);
        assert_eq!((merged.text.as_deref(), merged.conflicts.len()), (Some(expected), 0), "{ours:?}");
    }
}

#[test]
fn marks_and_line_ends_are_as_ours_has_them() {
    let returns = |text: &str| text.replace('\n', "\r\n");
    let marked = |text: &str| format!("\u{feff}{text}");
    let cut = |text: &str| text.trim_end().to_owned();
    for form in [&returns as &dyn Fn(&str) -> String, &marked, &cut] {
        let merged = merge_texts([BASE, &form(OURS), THEIRS]);
        assert_eq!((merged.text, merged.conflicts.len()), (Some(form(BOTH)), 0));
    }
    let mixed = OURS.replacen('\n', "\r\n", 1);
    let merged = merge_texts([BASE, &mixed, THEIRS]);
    assert_eq!(merged.text, Some(BOTH.replacen('\n', "\r\n", 1)));
}

#[test]
fn empty_sides_are_ordinary_ones() {
    let file: [(&str, &[u8]); 1] = [("x.yaml", b"a: 1\n")];
    assert_eq!(merge_trees(&Rules::default(), &[], &file, &[]).files, tree(&file));
    assert_eq!(merge_trees(&Rules::default(), &file, &[], &file).files, tree(&[]));
    let merged = merge_trees(&Rules::default(), &file, &[], &[("x.yaml", b"a: 2\n")]);
    assert_eq!(merged.conflicts.iter().map(|it| it.kind).collect::<Vec<_>>(), [ConflictKind::DeleteEdit]);
}
