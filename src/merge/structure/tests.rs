//! Pure. Tests of single entries: a base, two sides, and the text that must come out.

use super::super::conflict::{ConflictKind, NoticeKind};
use super::super::file::{How, merge_file};
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
fn a_text_that_theirs_wrote_over_one_that_ours_moved_is_there() {
    check("w: [a, b, c]\n", "w: [b, a, c]\n", "w: [b, b, c]\n", "w: [b, b, c]\n");
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

/// Merges with a side that changed what ours made two things of; ours stays whole, and what theirs changed is a question.
fn check_two_of_one(base: &str, ours: &str, theirs: &str) {
    let path = RepoPath::parse("apps/a/all.yaml").unwrap();
    let texts = Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) };
    let merged = merge_file(&path, texts, &Rules::default());
    assert_eq!(merged.text.as_deref(), Some(ours));
    let kinds: Vec<ConflictKind> = merged.conflicts.iter().map(|conflict| conflict.kind).collect();
    assert_eq!(kinds, [ConflictKind::DeleteEdit]);
}

#[test]
fn two_objects_that_were_made_of_one_both_stay() {
    let object = |namespace: &str, value: &str| {
        format!("kind: ConfigMap\nmetadata:\n  name: x\n  namespace: {namespace}\ndata:\n  k: {value}\n")
    };
    let ours = format!("{}---\n{}", object("b", "1"), object("c", "1"));
    check_two_of_one(&object("a", "1"), &ours, &object("a", "2"));
}

#[test]
fn two_ports_that_share_a_name_both_stay() {
    let service =
        |ports: &str| format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: x\nspec:\n  ports:\n{ports}");
    let ours = service("  - port: 81\n    name: web\n  - port: 82\n    name: web\n");
    let base = service("  - port: 80\n    name: web\n    nodePort: 1\n");
    check_two_of_one(&base, &ours, &service("  - port: 80\n    name: web\n    nodePort: 2\n"));
}

#[test]
fn what_both_wrote_above_a_file_is_ours_and_that_is_said() {
    let path = RepoPath::parse("apps/a/values.yaml").unwrap();
    let merge = |base: Option<&str>, ours: &str, theirs: &str| {
        let texts = Three { base, ours: Some(ours), theirs: Some(theirs) };
        let merged = merge_file(&path, texts, &Rules::default());
        (merged.text.unwrap(), merged.notices.iter().map(|notice| notice.kind).collect::<Vec<_>>())
    };
    let said = vec![NoticeKind::CommentKept];
    let (text, notices) = merge(Some("# old\n\na: 1\n"), "# mine\n\na: 1\n", "# theirs\n\na: 2\n");
    assert_eq!((text.as_str(), notices), ("# mine\n\na: 2\n", said.clone()));
    let (text, notices) = merge(None, "# mine\n\na: 1\n", "# theirs\n\na: 1\nb: 2\n");
    assert_eq!((text.as_str(), notices), ("# mine\n\na: 1\nb: 2\n", said));
}

#[test]
fn two_edits_of_one_image_come_with_what_would_have_both() {
    let path = RepoPath::parse("apps/a/pod.yaml").unwrap();
    let check = |ours: &str, theirs: &str, expected: Option<&str>| {
        let [base, ours, theirs] = ["a.io/x:1", ours, theirs].map(|image| format!("web:\n  image: {image}\n"));
        let texts = Three { base: Some(base.as_str()), ours: Some(ours.as_str()), theirs: Some(theirs.as_str()) };
        let merged = merge_file(&path, texts, &Rules::default());
        assert_eq!((merged.conflicts.len(), merged.text.as_deref()), (1, Some(ours.as_str())));
        let suggestion = merged.conflicts[0].suggestion.clone().map(|it| (it.path, it.value));
        assert_eq!(suggestion, expected.map(|value| ("web.image".to_owned(), value.to_owned())));
    };
    check("mine.io/x:1", "a.io/x:2", Some("mine.io/x:2"));
    check("a.io/x:3", "b.io/x:1", Some("b.io/x:3"));
    check("a.io/x:3", "a.io/x:2", None);
    check("mine.io/x:3", "a.io/x:2", None);
}

#[test]
fn a_key_that_is_a_number_here_and_a_text_there_is_two_keys_and_said() {
    let path = RepoPath::parse("apps/a/service.yaml").unwrap();
    let service = |ports: &str| format!("kind: Service\nmetadata:\n  name: s\nspec:\n  ports:\n{ports}");
    let base = service("  - port: 80\n    name: web\n");
    let ours = service("  - port: 80\n    name: web\n  - port: 8080\n    name: x\n");
    let theirs = service("  - port: 80\n    name: web\n  - port: \"8080\"\n    name: y\n");
    let texts = Three { base: Some(base.as_str()), ours: Some(ours.as_str()), theirs: Some(theirs.as_str()) };
    let merged = merge_file(&path, texts, &Rules::default());
    assert_eq!(merged.notices.iter().map(|it| it.kind).collect::<Vec<_>>(), [NoticeKind::KeyTypeDiffers]);
    assert_eq!(merged.text, Some(format!("{ours}  - port: \"8080\"\n    name: y\n")));
}

#[test]
fn an_item_that_lacks_a_part_of_its_key_is_the_only_one_that_has_the_rest() {
    let route = |parent: &str| format!("kind: HTTPRoute\nspec:\n  parentRefs:\n{parent}");
    check(
        &route("  - name: front\n    weight: 1\n"),
        &route("  - name: front\n    weight: 2\n"),
        &route("  - name: front\n    sectionName: web\n    weight: 1\n"),
        &route("  - name: front\n    sectionName: web\n    weight: 2\n"),
    );
    // With a second one it is open which one is meant.
    check(
        &route("  - name: front\n"),
        &route("  - name: front\n"),
        &route("  - name: front\n    sectionName: web\n  - name: front\n    sectionName: api\n"),
        &route("  - name: front\n    sectionName: web\n  - name: front\n    sectionName: api\n"),
    );
}

#[test]
fn a_comment_says_how_a_list_is_merged() {
    let list = |word: &str, items: &str| format!("w: # wild: {word}\n{items}");
    let (base, ours) = ("- a\n- b\n", "- b\n- a\n- mine\n");
    check(
        &list("set", base),
        &list("set", ours),
        &list("set", "- a\n- b\n- c\n"),
        &list("set", "- b\n- c\n- a\n- mine\n"),
    );
    let keyed = |items: &[(&str, u8)]| {
        items.iter().map(|(id, value)| format!("- at: {id}\n  is: {value}\n")).collect::<String>()
    };
    check(
        &list("key=at", &keyed(&[("x", 1), ("y", 1)])),
        &list("key=at", &keyed(&[("y", 1), ("x", 2)])),
        &list("key=at", &keyed(&[("x", 1), ("y", 3)])),
        &list("key=at", &keyed(&[("y", 3), ("x", 2)])),
    );
}

#[test]
fn of_two_comments_about_a_list_ours_counts_and_that_is_said() {
    let path = RepoPath::parse("apps/a/values.yaml").unwrap();
    let list = |word: &str, items: &str| format!("w: # wild: {word}\n{items}");
    let (base, ours) = (list("set", "- a\n"), list("set", "- a\n- b\n"));
    let theirs = list("sequence", "- a\n- c\n");
    let texts = Three { base: Some(base.as_str()), ours: Some(ours.as_str()), theirs: Some(theirs.as_str()) };
    let merged = merge_file(&path, texts, &Rules::default());
    assert!(merged.notices.iter().any(|it| it.kind == NoticeKind::ListKeyDiffers), "{:?}", merged.notices);
}

#[test]
fn an_object_of_another_kind_is_another_object_however_alike() {
    let object = |kind: &str, value: &str| format!("kind: {kind}\nmetadata:\n  name: b\ndata:\n  k: {value}\n");
    let path = RepoPath::parse("apps/a/all.yaml").unwrap();
    let (base, ours, theirs) = (object("Note", "one"), object("ConfigMap", "one"), object("ConfigMap", "two"));
    let texts = Three { base: Some(&*base), ours: Some(&*ours), theirs: Some(&*theirs) };
    let merged = merge_file(&path, texts, &Rules::default());
    let kinds: Vec<ConflictKind> = merged.conflicts.iter().map(|conflict| conflict.kind).collect();
    assert_eq!((merged.guard, merged.text, kinds), (None, Some(ours.clone()), vec![ConflictKind::BothAdded]));
}

#[test]
fn what_was_renamed_here_and_changed_much_there_is_found_again_beside_the_result() {
    let list = |name: &str, value: u8| {
        let fields: String = ["p", "q", "r", "s"].iter().map(|key| format!("  {key}: {value}\n")).collect();
        format!("w:\n- name: {name}\n{fields}  t: 1\n")
    };
    check(&list("a", 1), &list("b", 1), &list("a", 2), &list("b", 2));
    let object = |name: &str, value: u8| {
        let fields: String = ["p", "q", "r", "s", "t"].iter().map(|key| format!("  {key}: \"{value}\"\n")).collect();
        format!("kind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n{fields}")
    };
    check(&object("a", 1), &object("b", 1), &object("a", 2), &object("b", 2));
}

#[test]
fn what_both_sides_call_by_one_new_name_is_what_both_lost() {
    let object = |name: &str, mode: &str| {
        format!("kind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  mode: {mode}\n  limit: \"10\"\n")
    };
    let both = |one: String, other: String| format!("{one}---\n{other}");
    let base = both(object("a", "slow"), object("b", "slow"));
    // Ours swapped them and renamed a, theirs changed a and renamed b. Before theirs is merged again, both have lost b only.
    let ours = both(object("b", "slow"), object("c", "slow"));
    let theirs = both(object("a", "fast"), object("d", "slow"));
    let merged = both(object("d", "slow"), object("c", "fast"));
    check(&base, &ours, &theirs, &merged);
    check(&base, &merged, &theirs, &merged);
    check(&base, &theirs, &merged, &merged);
    // One side made another of it and kept it, so the new one is the other side's too.
    let base = object("a", "slow");
    let theirs = both(object("a", "slow"), object("b", "slow"));
    check(&base, &object("b", "slow"), &theirs, &object("b", "slow"));
}

#[test]
fn a_block_that_ends_behind_a_value_makes_its_document_lines() {
    let path = RepoPath::parse("apps/a/values.yaml").unwrap();
    let rules = Rules { templates: Some(("{{".to_owned(), "}}".to_owned())), ..Rules::default() };
    let text = |a: u8, end: &str, x: u8, y: u8| {
        format!("a: {a}\nk: 0\n{{{{ if .x }}}}\nb: 2{end}\nc: 3\n---\nx: {x}\ny: {y}\n")
    };
    let (alone, behind) = ("\n{{ end }}", " {{ end }}");
    let (base, ours, theirs) = (text(1, alone, 1, 1), text(9, alone, 2, 1), text(1, behind, 1, 2));
    let texts = Three { base: Some(&*base), ours: Some(&*ours), theirs: Some(&*theirs) };
    let merged = merge_file(&path, texts, &rules);
    assert!(merged.conflicts.is_empty() && merged.guard.is_none(), "{:?} {:?}", merged.conflicts, merged.guard);
    // The document beside it is merged by its entries.
    assert_eq!((merged.text, merged.how), (Some(text(9, behind, 2, 2)), How::Structural));
}

#[test]
fn a_key_that_brackets_would_break_is_put_there_in_quotes() {
    check("w: {c: 1}\n", "w: {c: 1, b: 1}\n", "w:\n  c: 1\n  x, y: 2\n", "w: {c: 1, b: 1, \"x, y\": 2}\n");
}

#[test]
fn a_pair_without_braces_is_no_item_in_lines() {
    let path = RepoPath::parse("apps/a/values.yaml").unwrap();
    let texts = Three {
        base: Some("w:\n- a\nx: 1\n"),
        ours: Some("w:\n- a\n- b\nx: 1\n"),
        theirs: Some("w: [a, s: 1]\nx: 2\n"),
    };
    let merged = merge_file(&path, texts, &Rules::default());
    assert_eq!((merged.guard, merged.how), (None, How::Structural));
    assert_eq!(merged.text.as_deref(), Some("w:\n- a\n- b\nx: 2\n"));
    assert_eq!(merged.conflicts.len(), 1);
}

#[test]
fn a_document_with_a_tag_before_a_key_is_merged_by_lines() {
    let base = "a: 1\np:\n- x\nq: 1\nr: 1\n";
    check(
        base,
        "a: 1\np:\n!!str b c:\n  n:\nq: 1\nr: 1\n",
        &base.replace("r: 1", "r: 2"),
        "a: 1\np:\n!!str b c:\n  n:\nq: 1\nr: 2\n",
    );
    let path = RepoPath::parse("apps/a/values.yaml").unwrap();
    let texts =
        Three { base: Some("a: 1\np:\n- x\n"), ours: Some("a: 1\np:\n!!str b c:\n  n:\n"), theirs: Some("a: 1\np:\n") };
    assert_eq!(merge_file(&path, texts, &Rules::default()).guard, None);
}

#[test]
fn braces_of_two_sides_make_no_action() {
    let path = RepoPath::parse("apps/a/values.yaml").unwrap();
    let rules = Rules { templates: Some(("{{".to_owned(), "}}".to_owned())), ..Rules::default() };
    let how = |ours: &str, theirs: &str| {
        let texts = Three { base: Some("a: 1\nk: 0\nl: 0\nb: 2\n"), ours: Some(ours), theirs: Some(theirs) };
        let merged = merge_file(&path, texts, &rules);
        (merged.guard, merged.how)
    };
    let open = "a: \"{{ x\"\nk: 0\nl: 0\nb: 2\n";
    assert_eq!(how(open, "a: 1\nk: 0\nl: 0\nb: \"x }}\"\n"), (None, How::Lines));
    assert_eq!(how(open, "a: 1\nk: 0\nl: 0\nb: 3\n"), (None, How::Structural));
}

#[test]
fn of_comments_that_both_sides_changed_ours_stay_and_that_is_said() {
    let path = RepoPath::parse("apps/a/values.yaml").unwrap();
    for (base, ours, theirs, expected) in [
        ("# a\nk: 1\n", "# b\nk: 1\n", "# c\nk: 2\n", "# b\nk: 2\n"),
        ("w: # a\n- x\n", "w: # b\n- x\n", "w: # c\n- x\n- y\n", "w: # b\n- x\n- y\n"),
        ("k: 1\n# a\n", "k: 1\n# b\n", "k: 2\n# c\n", "k: 2\n# b\n"),
    ] {
        let texts = Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) };
        let merged = merge_file(&path, texts, &Rules::default());
        let said: Vec<NoticeKind> = merged.notices.iter().map(|notice| notice.kind).collect();
        assert_eq!((merged.text.as_deref(), said), (Some(expected), vec![NoticeKind::CommentKept]), "{ours}");
    }
}

#[test]
fn a_value_is_written_as_its_place_wants_it() {
    // Lines into brackets, a text with an empty line, a key that loses its value.
    check("x: {k: 1}\n", "x: {k: 1, l: 2}\n", "x:\n  k:\n    m: 1\n", "x: {k: {m: 1}, l: 2}\n");
    check("t: |\n  a\n\n  b\n", "t: |\n  x\n\n  b\n", "t: |\n  a\n\n  y\n", "t: |\n  x\n\n  y\n");
    check("k: 1\nj: 1\n", "k: 1\nj: 2\n", "k:\nj: 1\n", "k:\nj: 2\n");
}

#[test]
fn objects_that_every_side_has_twice_are_merged_in_their_order() {
    let object = |mode: u8| format!("kind: ConfigMap\nmetadata:\n  name: a\ndata:\n  mode: \"{mode}\"\n");
    let text = |one: u8, other: u8| format!("{}---\n{}", object(one), object(other));
    check(&text(1, 2), &text(3, 2), &text(1, 4), &text(3, 4));
}

#[test]
fn an_anchor_that_is_defined_twice_makes_its_file_lines() {
    let path = RepoPath::parse("apps/a/values.yaml").unwrap();
    let text = |x: u8, y: u8| format!("x: &a {x}\nm: 0\nn: 0\no: 0\ny: &a {y}\n");
    let (base, ours, theirs) = (text(1, 1), text(2, 1), text(1, 2));
    let texts = Three { base: Some(&*base), ours: Some(&*ours), theirs: Some(&*theirs) };
    let merged = merge_file(&path, texts, &Rules::default());
    assert_eq!((merged.how, merged.text), (How::Lines, Some(text(2, 2))));
}
