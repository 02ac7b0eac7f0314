//! Pure. Rules of one entry and of the merge by lines beside the one by structure, row by row.
//!
//! Not here: whole situations (`tests`), limits (`rules`).

use crate::base::RepoPath;
use crate::merge::{ConflictKind, FileMerge, How, NoticeKind, Rules, Three, merge_file, merge_text};

fn merge(name: &str, [base, ours, theirs]: [&str; 3]) -> FileMerge {
    let path = RepoPath::parse(&format!("apps/inkpot/{name}")).unwrap();
    let merged =
        merge_file(&path, Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) }, &Rules::default());
    assert_eq!(merged.guard, None);
    merged
}

/// What a merge comes to: how it was made, conflicts by kind and place, notices, the text.
type Row<'a> = (How, &'a [(ConflictKind, &'a str)], &'a [NoticeKind], &'a str);

fn check(name: &str, sides: [&str; 3], expected: Row<'_>) {
    let merged = merge(name, sides);
    let conflicts: Vec<(ConflictKind, &str)> = merged.conflicts.iter().map(|it| (it.kind, it.key.as_str())).collect();
    let notices: Vec<NoticeKind> = merged.notices.iter().map(|it| it.kind).collect();
    let found: Row<'_> = (merged.how, &conflicts, &notices, merged.text.as_deref().unwrap_or_default());
    assert_eq!(found, expected, "{sides:?}");
}

/// Returns whether the lines of a case merge cleanly, and to what.
fn by_lines([base, ours, theirs]: [&str; 3]) -> Option<String> {
    let merged = merge_text(base, ours, theirs);
    merged.conflicts.is_empty().then_some(merged.text)
}

const FILE: &str = "values.yaml";

#[test]
fn where_both_merges_say_the_same_the_bytes_are_gits() {
    // By structure the new entry would stand before the blank line.
    let sides = ["a: 1\nb: 1\nc: 1\nd: 1\n", "a: 2\nb: 1\nc: 1\nd: 1\n", "a: 1\nb: 1\nc: 1\nd: 1\n\n\ne: 1\n"];
    let lines = by_lines(sides).unwrap();
    check(FILE, sides, (How::Structural, &[], &[], &lines));
}

#[test]
fn where_the_lines_say_something_else_structure_holds_and_that_is_said() {
    let list = |items: &str| format!("env:\n{items}other: 1\nmore: 1\n");
    let (a, b) = ("- name: a\n  value: one\n", "- name: b\n  value: two\n");
    let rest = "- name: x\n  value: 3\n- name: y\n  value: 4\n- name: z\n  value: 5\n";
    let base = list(&format!("{a}{b}{rest}"));
    // Ours moved an item; to lines, the edit of theirs belongs where it was.
    let ours = list(&format!("{a}{b}{rest}- name: new\n  value: same\n"));
    let theirs = list(&format!("- name: new\n  value: same\n{a}{b}{rest}"));
    let sides = [base.as_str(), &ours, &theirs];
    assert_eq!(by_lines(sides).unwrap().matches("name: new").count(), 2, "to lines these are two items");
    let merged = merge(FILE, sides);
    assert!(merged.conflicts.is_empty());
    assert_eq!(merged.text.unwrap().matches("name: new").count(), 1);
    assert_eq!(merged.notices.iter().map(|it| it.kind).collect::<Vec<_>>(), [NoticeKind::LineMergeDiffers]);
}

#[test]
fn where_only_the_lines_conflict_structure_holds() {
    let sides = ["a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 1\nb: 2\n"];
    assert_eq!(by_lines(sides), None);
    check(FILE, sides, (How::Structural, &[], &[], "a: 2\nb: 2\n"));
}

#[test]
fn where_only_structure_conflicts_sound_lines_hold_and_others_do_not() {
    // Both took the list apart in ways that cannot be aligned, and lines can.
    let sides = ["w: |\n  a\n  b\n  c\n  d\n", "w: |\n  A\n  b\n  c\n  d\n", "w: |\n  a\n  b\n  c\n  D\n"];
    let lines = by_lines(sides).unwrap();
    check(FILE, sides, (How::Structural, &[], &[], &lines));
    // Lines would have the key twice, with two values.
    let pad = "p: 1\nq: 1\nr: 1\ns: 1\n";
    let (base, ours, theirs) = (pad.to_owned(), format!("k: 1\n{pad}"), format!("{pad}k: 2\n"));
    let sides = [base.as_str(), &ours, &theirs];
    assert_eq!(by_lines(sides).unwrap().matches("k: ").count(), 2);
    check(FILE, sides, (How::Structural, &[(ConflictKind::BothAdded, "k")], &[], &ours));
}

/// Lines that give a value to another item than the one that it was written for.
#[test]
fn lines_that_move_a_value_into_another_item_are_not_sound() {
    let claim =
        |name: &str, size: &str| format!("  - metadata:\n      name: {name}\n    spec:\n      size: {size}Gi\n");
    let set = |claims: &[String]| {
        format!(
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: mill}}\nspec:\n  volumeClaimTemplates:\n{}",
            claims.concat()
        )
    };
    let metric = |name: &str, value: &str| {
        format!(
            "  - type: Resource\n    resource:\n      name: {name}\n      target: {{type: Utilization, averageUtilization: {value}}}\n"
        )
    };
    let scaler = |metrics: &[String]| {
        format!(
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: mill}}\nspec:\n  metrics:\n{}",
            metrics.concat()
        )
    };
    for (base, ours, theirs) in [
        (
            set(&[claim("oat", "5"), claim("rye", "5")]),
            set(&[claim("oat", "7"), claim("rye", "5")]),
            set(&[claim("bran", "5"), claim("oat", "9"), claim("rye", "5")]),
        ),
        (
            scaler(&[metric("cpu", "50"), metric("memory", "50")]),
            scaler(&[metric("cpu", "70"), metric("memory", "50")]),
            scaler(&[metric("disk", "50"), metric("cpu", "90"), metric("memory", "50")]),
        ),
    ] {
        for (ours, theirs) in [(&ours, &theirs), (&theirs, &ours)] {
            let merged = merge("mill.yaml", [&base, ours, theirs]);
            let kinds: Vec<ConflictKind> = merged.conflicts.iter().map(|it| it.kind).collect();
            assert_eq!(kinds, [ConflictKind::Value], "{}", merged.text.unwrap_or_default());
            let text = merged.text.unwrap();
            // What one side added has its own value, and what is open has ours.
            let kept = ours.lines().filter(|line| line.contains('7') || line.contains('9'));
            assert!(kept.into_iter().all(|line| text.contains(line)), "{text}");
        }
    }
}

/// Items at one place that have nothing in common are not one item.
#[test]
fn what_took_the_place_of_an_item_does_not_get_its_edits() {
    let steps = |items: &str| {
        format!("apiVersion: pit.example/v1\nkind: Pit\nmetadata: {{name: deep}}\nsteps:\n- {{dig: north}}\n{items}")
    };
    let base = steps("- fetch: main\n  depth: all\n");
    let edited = steps("- fetch: main\n  depth: one\n");
    let replaced = steps("- build: image\n  push: no\n");
    for (ours, theirs, kind) in
        [(&edited, &replaced, ConflictKind::EditDelete), (&replaced, &edited, ConflictKind::DeleteEdit)]
    {
        let merged = merge("pit.yaml", [&base, ours, theirs]);
        let kinds: Vec<ConflictKind> = merged.conflicts.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [kind], "{}", merged.text.unwrap_or_default());
    }
}

/// What both sides added is one item each, in whatever order, whatever else went and whichever the guesses take for what became of it.
#[test]
fn equal_additions_of_both_sides_pair_with_each_other_and_nothing_else() {
    let slot =
        |colour: &str, size: &str| format!("- colour: {colour}\n  size: {size}\n  shape: round\n  weight: heavy\n");
    let [red, blue, green] = [slot("red", "1"), slot("blue", "2"), slot("green", "3")];
    let [cyan, pink] = [slot("cyan", "7"), slot("pink", "8")];
    for (base, ours, theirs) in [
        // In another order on each side, with and without something that went.
        (vec![&red], vec![&red, &cyan, &pink], vec![&red, &pink, &cyan]),
        (vec![&red, &blue], vec![&red, &cyan, &pink], vec![&pink, &red, &blue, &cyan]),
        // Each side alone would take another one for what became of the one that went.
        (vec![&red, &blue], vec![&red, &cyan, &pink], vec![&red, &cyan, &green, &pink]),
        (vec![&blue], vec![&cyan, &pink], vec![&pink, &cyan]),
        (vec![&blue], vec![&cyan, &pink, &green], vec![&green, &pink]),
    ] {
        for (ours, theirs) in [(&ours, &theirs), (&theirs, &ours)] {
            let text =
                |items: &[&String]| format!("slots:\n{}", items.iter().map(|it| it.as_str()).collect::<String>());
            let sides = [text(&base), text(ours), text(theirs)];
            let merged = merge(FILE, sides.each_ref().map(String::as_str));
            let text = merged.text.unwrap();
            for item in [&cyan, &pink, &green] {
                let found = text.matches(item.as_str()).count();
                match [ours, theirs].into_iter().filter(|side| side.contains(&item)).count() {
                    // It may be what became of something that the other side took away, and that is asked.
                    1 => assert!(found == 1 || !merged.conflicts.is_empty(), "{sides:#?}\n{text}"),
                    sides_with => assert_eq!(found, sides_with / 2, "{sides:#?}\n{text}"),
                }
            }
            let colours = text.matches("colour: ").count();
            let known = [&red, &blue, &green, &cyan, &pink].into_iter().map(|it| text.matches(it.as_str()).count());
            assert_eq!(known.sum::<usize>(), colours, "an item that nobody wrote: {sides:#?}\n{text}");
        }
    }
}

/// The same of items with a key, where both sides took something else away as well.
#[test]
fn what_both_sides_added_under_one_key_never_was_what_one_of_them_deleted() {
    let port = |name: &str, more: &str| format!("- name: {name}\n  a: 1\n  b: 2\n  c: 3\n  d: 4\n{more}");
    let [keep, gone, both, added] = ["keep", "gone", "both", "added"].map(|name| port(name, ""));
    let text = |items: &[&str]| format!("ports:\n{}", items.concat());
    let base = text(&[&both, &keep, &gone]);
    let edited = port("gone", "  e: 5\n");
    let (ours, theirs) = (text(&[&keep, &edited, &added]), text(&[&keep, &added]));
    let kept = text(&[&keep, &edited, &added]);
    check(
        FILE,
        [&base, &ours, &theirs],
        (How::Structural, &[(ConflictKind::EditDelete, "ports[name=gone]")], &[], &kept),
    );
    let none = text(&[&keep, &added]);
    check(
        FILE,
        [&base, &theirs, &ours],
        (How::Structural, &[(ConflictKind::DeleteEdit, "ports[name=gone]")], &[], &none),
    );
}

#[test]
fn where_both_merges_conflict_the_conflicts_are_those_of_structure() {
    let sides = ["a: 1\nb: 1\n", "a: 2\nb: 2\n", "a: 3\nb: 1\n"];
    assert_eq!(by_lines(sides), None);
    check(FILE, sides, (How::Structural, &[(ConflictKind::Value, "a")], &[], "a: 2\nb: 2\n"));
}

#[test]
fn what_has_no_structure_is_merged_by_lines_hunk_by_hunk() {
    let pad = "- x: [\nb: 1\nc: 1\nd: 1\n";
    let text = |a: &str, e: &str| format!("a: {a}\n{pad}e: {e}\n");
    let sides = [text("1", "1"), text("2", "1"), text("1", "2")];
    let sides = sides.each_ref().map(String::as_str);
    check(FILE, sides, (How::Lines, &[], &[NoticeKind::Unparsable], &text("2", "2")));
    let sides = [text("1", "1"), text("2", "2"), text("3", "3")];
    let sides = sides.each_ref().map(String::as_str);
    let two = [(ConflictKind::Text, ""), (ConflictKind::Text, "")];
    check(FILE, sides, (How::Lines, &two, &[NoticeKind::Unparsable], &text("2", "2")));
}

#[test]
fn lines_that_would_spoil_what_both_sides_can_read_are_one_conflict() {
    // Only base does not read, so there is nothing to compare by structure.
    let rest = "b: 1\nc: 1\nd: 1\ne: 1\nf: 1\n";
    let (base, ours, theirs) =
        (format!("z: 1\na: [\n{rest}"), format!("k: 1\nz: 1\na: []\n{rest}"), format!("z: 1\na: []\n{rest}k: 2\n"));
    let sides = [base.as_str(), &ours, &theirs];
    assert_eq!(by_lines(sides).unwrap().matches("k: ").count(), 2);
    check(FILE, sides, (How::Lines, &[(ConflictKind::Text, "")], &[], &ours));
}

#[test]
fn a_deletion_counts_more_than_a_comment_or_another_style() {
    let said = [NoticeKind::DeletedDespiteComment];
    check(FILE, ["a: 1\nb: 1\n", "a: 1\n", "a: 1\nb: 1 # why\n"], (How::Structural, &[], &said, "a: 1\n"));
    check(FILE, ["a: 1\nb: 1\n", "a: 1\nb: 1 # why\n", "a: 1\n"], (How::Structural, &[], &said, "a: 1\n"));
    let merged = merge(FILE, ["a: 1\nb: x\n", "a: 1\n", "a: 1\nb: \"x\"\n"]);
    assert_eq!((merged.conflicts.len(), merged.text.as_deref()), (0, Some("a: 1\n")));
}

#[test]
fn the_header_of_a_block_text_is_a_value_of_its_own() {
    let text = |header: &str, line: &str| format!("w: {header}\n  {line}\n  b\nx: 1\n");
    let (base, ours, theirs) = (text("|", "a"), text("|-", "a"), text("|", "A"));
    let merged = merge(FILE, [&base, &ours, &theirs]);
    assert_eq!((merged.conflicts.len(), merged.text), (0, Some(text("|-", "A"))));
}

#[test]
fn one_value_that_both_changed_is_one_conflict_whatever_it_is_made_of() {
    for [base, ours, theirs] in [
        ["reg.example/a:1", "mine.example/a:1", "reg.example/a:2"],
        ["500m", "2", "1000m"],
        ["https://a.example/x?ref=1", "https://b.example/x?ref=1", "https://a.example/x?ref=2"],
    ] {
        let text = |value: &str| format!("web:\n  at: {value}\n");
        let sides = [base, ours, theirs].map(text);
        let sides = sides.each_ref().map(String::as_str);
        check(FILE, sides, (How::Structural, &[(ConflictKind::Value, "web.at")], &[], sides[1]));
    }
}

#[test]
fn tabs_as_indentation_are_merged_by_lines() {
    let text = |a: &str, e: &str| format!("a: {a}\nm:\n\tx: 1\nc: 1\nd: 1\ne: {e}\n");
    let sides = [text("1", "1"), text("2", "1"), text("1", "2")];
    let sides = sides.each_ref().map(String::as_str);
    check(FILE, sides, (How::Lines, &[], &[NoticeKind::Unparsable], &text("2", "2")));
}

#[test]
fn a_map_whose_key_is_still_doubled_after_the_lines_is_a_conflict() {
    let text = |x: &str, y: &str| format!("m:\n  x: {x}\n  x: 2\n  y: {y}\nz: 1\n");
    let sides = [text("1", "1"), text("3", "1"), text("4", "1")];
    let merged = merge(FILE, sides.each_ref().map(String::as_str));
    assert_eq!(merged.text.as_deref(), Some(sides[1].as_str()));
    assert_eq!(merged.conflicts.len(), 1, "{:?}", merged.conflicts);
}

#[test]
fn an_object_that_both_add_is_one_wherever_it_stands() {
    let [a, b] = ["a", "b"].map(|name| format!("kind: {name}\nmetadata: {{name: x}}\nmetadata: {{name: x}}\n"));
    let both = format!("{a}---\n{b}");
    check(FILE, ["", &both, &b], (How::Structural, &[], &[], &both));
}

#[test]
fn an_item_in_braces_over_several_lines_moves_to_another_column() {
    let sides = ["a: x\n", "a:\n  - b\n", "a:\n- {c: d, e\n  f: g}\n"];
    check(FILE, sides, (How::Structural, &[], &[], "a:\n  - b\n  - {c: d, e\n    f: g}\n"));
}

#[test]
fn two_halves_make_no_object_that_neither_side_has() {
    let [kind, name] = ["apiVersion: v1\nkind: ConfigMap\n", "metadata:\n  name: larder\ndata:\n  a: one\n"];
    check(FILE, ["", kind, name], (How::Structural, &[(ConflictKind::BothAdded, "")], &[], kind));
    let both =
        ["data:\n  a: one\n", "data:\n  a: one\nkind: ConfigMap\n", "data:\n  a: one\nmetadata:\n  name: larder\n"];
    check(FILE, both, (How::Structural, &[(ConflictKind::Value, "")], &[], both[1]));
}

#[test]
fn an_object_that_both_sides_leave_without_a_name_or_kind_stands_as_each_has_it() {
    let rest = "data:\n  a: one\n  b: two\n  c: three\n  d: four\n";
    let [base, ours, theirs] =
        ["kind: ConfigMap\nmetadata:\n  name: a\n", "kind: ConfigMap\n", "metadata:\n  name: a\n"];
    let [base, ours, theirs] = [base, ours, theirs].map(|head| format!("{head}{rest}"));
    let both = format!("{ours}---\n{theirs}");
    check(FILE, [&base, &ours, &theirs], (How::Structural, &[], &[], &both));
}

#[test]
fn an_object_that_lost_its_name_is_another_document() {
    let [a, b] = ["a", "b"].map(|name| format!("kind: K\nmetadata:\n  name: {name}\ndata:\n  mode: slow\n  size: 1\n"));
    let bare = "kind: K\ndata:\n  mode: slow\n  size: 1\n";
    let sides = [format!("{a}---\n{b}"), format!("{b}---\n{}", a.replace("slow", "fast")), format!("{bare}---\n{b}")];
    let merged = format!("{bare}---\n{b}---\n{}", a.replace("slow", "fast"));
    let found: Row<'_> = (How::Structural, &[(ConflictKind::EditDelete, "")], &[], &merged);
    check(FILE, sides.each_ref().map(String::as_str), found);
}

#[test]
fn a_comment_on_one_side_of_what_both_added_stays() {
    let text = |comment: &str, behind: &str| format!("a: 1\n{comment}b:{behind}\n  c: 1\nd: 1\n");
    let is =
        |ours: &str, theirs: &str, merged: &str| check(FILE, ["", ours, theirs], (How::Structural, &[], &[], merged));
    let (plain, above, behind) = (text("", ""), text("# why\n", ""), text("", " # why"));
    is(&behind, &plain, &behind);
    for more in [&above, &plain.replace("d:", "# why\n\nd:")] {
        is(more, &plain, more);
        is(&plain, more, more);
    }
    let sides = ["", above.as_str(), &above.replace("why", "how")];
    check(FILE, sides, (How::Structural, &[], &[NoticeKind::CommentKept], &above));
}

#[test]
fn a_comment_behind_the_last_entry_that_both_added_stays_once() {
    let [ours, theirs] = ["data:\n  a: 1\n  b: 2\n", "data:\n  a: 1\n  # more\nk: 1\n"];
    let merged = "data:\n  a: 1\n  # more\n  b: 2\nk: 1\n";
    check(FILE, ["", ours, theirs], (How::Structural, &[], &[], merged));
    check(FILE, ["", merged, theirs], (How::Structural, &[], &[], merged));
}

#[test]
fn a_key_that_begins_like_a_separator_is_none() {
    let [ours, theirs] = ["kind: K\nmetadata: {name: a}\n", "---d: 1\n"];
    check(FILE, ["", ours, theirs], (How::Structural, &[], &[], &format!("{ours}---\n{theirs}")));
}

#[test]
fn blanks_at_the_end_of_a_block_text_belong_to_it() {
    let [base, ours, theirs] = ["a: x\n", "a: |\n on:\n", "a: |\n on: two\n  \n"];
    check(FILE, [base, ours, theirs], (How::Structural, &[(ConflictKind::Value, "a")], &[], ours));
    check(FILE, [base, base, theirs], (How::Trivial, &[], &[], theirs));
    let text = |key: &str, end: &str| format!("a: |\n on: two\n  {end}{key}");
    let [base, ours, theirs] = [text("", ""), text("\nb: 1\n", ""), text("", "\n")];
    check(FILE, [&base, &ours, &theirs], (How::Structural, &[], &[], &text("\nb: 1\n", "")));
}

#[test]
fn what_stands_behind_an_entry_that_goes_is_no_part_of_the_text_before_it() {
    let [base, ours, theirs] = ["a: x\nb: 1\n  \n", "a: |\n two\nb: 1\n  \n", "a: x\n"];
    check(FILE, [base, ours, theirs], (How::Structural, &[], &[], "a: |\n two\n\n"));
    let [base, ours] = [base, ours].map(|text| text.replace("  \n", "  # why\n"));
    check(FILE, [&base, &ours, theirs], (How::Structural, &[], &[], "a: |\n two\n# why\n"));
    // Nor where the text comes to stand before it.
    let [base, ours, theirs] = ["a: x\n  \nb: 1\n", "a: x\n  \nb: 2\n", "a: |\n two\nb: 1\n"];
    check(FILE, [base, ours, theirs], (How::Structural, &[], &[], "a: |\n two\nb: 2\n"));
}
