//! Pure. Tests of the tree over a document's bytes.

use super::{Control, Cst, Kind, Label, NodeId, Role, Source, split};

fn parse(text: &str) -> Cst {
    Cst::parse(Source { text, masked: text, controls: &[] }).unwrap_or_else(|broken| panic!("{broken:?} in {text:?}"))
}

/// Shows every entry with its lines and its gap.
fn shown(cst: &Cst, id: NodeId, out: &mut Vec<String>) {
    for child in &cst.node(id).children {
        let name = match &child.label {
            Label::Key(key) => key.clone(),
            Label::Item => "-".to_owned(),
            _ => format!("!{}", child.label.words().unwrap_or("")),
        };
        out.push(format!("{name}={}|{}", cst.slice(&child.own), cst.slice(&child.gap)));
        // A control line has no value of its own.
        if child.label.words().is_none() && matches!(cst.node(child.value).kind, Kind::Map | Kind::Seq) {
            shown(cst, child.value, out);
        }
    }
}

fn check(text: &str, expected: &[&str]) {
    let cst = parse(text);
    let mut found = Vec::new();
    if let Some(root) = cst.root() {
        shown(&cst, root, &mut found);
    }
    assert_eq!(found, expected, "{text}");
}

#[test]
fn entries_own_their_lines_and_the_comments_above() {
    check(
        "# head\n\n# a\na: 1 # x\n\n# free\n\nb:\n  c: 2\n# end\n",
        &["a=# a\na: 1 # x\n|\n# free\n\n", "b=b:\n  c: 2\n|# end\n", "c=  c: 2\n|"],
    );
}

#[test]
fn comments_indented_as_the_entries_stay_with_them() {
    check("a:\n  b: 1\n  # c: 2\nd: 3\n", &["a=a:\n  b: 1\n  # c: 2\n|", "b=  b: 1\n|  # c: 2\n", "d=d: 3\n|"]);
}

#[test]
fn control_lines_are_entries_over_all_their_lines() {
    let check = |text: &str, hidden: &str, expected: &[&str]| {
        let start = text.find(hidden).unwrap();
        let mask: String = hidden.chars().map(|c| if c == '\n' { '\n' } else { '#' }).collect();
        let control = Control {
            lines: start..start + hidden.len() + 1,
            words: "it".to_owned(),
            role: Role::Stands,
            column: None,
        };
        let masked = text.replace(hidden, &mask);
        let cst = Cst::parse(Source { text, masked: &masked, controls: &[control] }).unwrap();
        let mut found = Vec::new();
        shown(&cst, cst.root().unwrap(), &mut found);
        assert_eq!(found, expected, "{text}");
    };
    check(
        "a:\n  b: 1\n  {{ x\ny }}\nc: 2\n",
        "  {{ x\ny }}",
        &["a=a:\n  b: 1\n  {{ x\ny }}\n|", "b=  b: 1\n|", "!it=  {{ x\ny }}\n|", "c=c: 2\n|"],
    );
    check("a: 1\n{{/*\n# x */}}\nb: 2\n", "{{/*\n# x */}}", &["a=a: 1\n|", "!it={{/*\n# x */}}\n|", "b=b: 2\n|"]);
}

#[test]
fn a_kept_text_without_lines_ends_before_the_next_entry() {
    check("a:\n  b: >+\n  c: 1\nd: 2\n", &["a=a:\n  b: >+\n  c: 1\n|", "b=  b: >+\n|", "c=  c: 1\n|", "d=d: 2\n|"]);
}

#[test]
fn a_value_with_a_tag_that_ends_in_kept_text_ends_before_the_next_entry() {
    check("c: !d:\n  b: >+\n\nd: 1\n", &["c=c: !d:\n  b: >+\n\n|", "d=d: 1\n|"]);
}

#[test]
fn a_key_that_is_not_there_ends_before_the_next_item() {
    check("a:\n  - ? \n  - b\n", &["a=a:\n  - ? \n  - b\n|", "-=  - ? \n|", "-=  - b\n|"]);
}

#[test]
fn a_return_alone_ends_no_line_that_we_know() {
    let text = "a: 1\rb:\r\n  - 2";
    let broken = Cst::parse(Source { text, masked: text, controls: &[] }).unwrap_err();
    assert_eq!((broken.line, broken.column), (1, 1));
}

#[test]
fn a_document_whose_end_is_marked_is_not_taken_apart() {
    for text in ["a: 1\n...", "a: 1\n... # c\n", "a: |\n  x\n...\nb: 1\n"] {
        let broken = Cst::parse(Source { text, masked: text, controls: &[] }).unwrap_err();
        assert_eq!(broken.reason, "the end of a document is marked", "{text:?}");
    }
    check("...a: 1\n", &["...a=...a: 1\n|"]);
}

#[test]
fn a_tab_indents_no_entry() {
    for text in ["a: # c\n  \t\t- b\t\t-", "a:\n-\tb\n"] {
        let broken = Cst::parse(Source { text, masked: text, controls: &[] }).unwrap_err();
        assert_eq!((broken.line, broken.reason.as_str()), (2, "a tab cannot indent"), "{text:?}");
    }
    check("a: |\n  \tb\nc:\td\n", &["a=a: |\n  \tb\n|", "c=c:\td\n|"]);
}

#[test]
fn items_stand_at_or_below_their_key() {
    check(
        "a:\n- x\n- k: 1\n  l: 2\n",
        &["a=a:\n- x\n- k: 1\n  l: 2\n|", "-=- x\n|", "-=- k: 1\n  l: 2\n|", "k=k: 1\n|", "l=  l: 2\n|"],
    );
    check(
        "a:\n  - - 1\n    - 2\n",
        &["a=a:\n  - - 1\n    - 2\n|", "-=  - - 1\n    - 2\n|", "-=- 1\n|", "-=    - 2\n|"],
    );
}

#[test]
fn block_texts_end_with_their_last_line_unless_they_keep_more() {
    check("a: |\n  x\n  # no comment\n\n# c\nb: 1\n", &["a=a: |\n  x\n  # no comment\n|\n", "b=# c\nb: 1\n|"]);
    check("a: |+\n  x\n\nb: 1\n", &["a=a: |+\n  x\n\n|", "b=b: 1\n|"]);
    check("a: |\n  x\n    \n\nb: 1\n", &["a=a: |\n  x\n    \n\n|", "b=b: 1\n|"]);
    check("a: |\n  x\n    ", &["a=a: |\n  x\n    |"]);
    check("a: |\n  x\n  \nb: 1\n", &["a=a: |\n  x\n|  \n", "b=b: 1\n|"]);
}

#[test]
fn flow_entries_are_known_by_their_bytes() {
    check("a: [1, 'x' , {b: 2}] # c\n", &["a=a: [1, 'x' , {b: 2}] # c\n|", "-=1|", "-='x'|", "-={b: 2}|", "b=b: 2|"]);
    check("{\n  \"a\": 1,\n  \"b\": []\n}\n", &["a=\"a\": 1|", "b=\"b\": []|"]);
}

#[test]
fn absent_values_stand_behind_their_colon() {
    check("a:\nb: # c\n  d:\n", &["a=a:\n|", "b=b: # c\n  d:\n|", "d=  d:\n|"]);
    let cst = parse("a:\nb: 1\n");
    assert_eq!(cst.at(&["a"]).unwrap().span, 2..2);
}

#[test]
fn tags_and_anchors_belong_to_their_value() {
    let cst = parse("a: &x !!str 5 # c\nb: *x\n");
    assert_eq!(cst.slice(&cst.at(&["a"]).unwrap().span), "&x !!str 5");
    assert_eq!(cst.at(&["a"]).unwrap().anchor.as_deref(), Some("x"));
    assert_eq!(cst.at(&["b"]).unwrap().text, "x");
}

#[test]
fn the_hash_of_what_brackets_hold_knows_no_column() {
    let hash = |text: &str| parse(text).at(&["a"]).unwrap().hash;
    assert_eq!(hash("a: {b\n  c: 1}\n"), hash("a: {b\n    c: 1}\n"));
    assert_ne!(hash("a: {b\n  c: 1}\n"), hash("a: {b\n  d: 1}\n"));
    assert_ne!(hash("a:\n  ? |\n    b\n  : 1\n"), hash("a:\n  ? |\n   b\n  : 1\n"));
}

#[test]
fn the_hash_knows_types_and_texts_but_no_style() {
    let hash = |text: &str| parse(text).at(&["a"]).unwrap().hash;
    assert_eq!(hash("a: 'x'\n"), hash("a: x # c\n"));
    assert_eq!(hash("a: {x: 1, y: 2}\n"), hash("a:\n  y: 2\n  x: 1\n"));
    assert_ne!(hash("a: 8080\n"), hash("a: \"8080\"\n"));
    assert_ne!(hash("a: 1.1\n"), hash("a: 1.10\n"));
    assert_ne!(hash("a: [1, 2]\n"), hash("a: [2, 1]\n"));
    assert_eq!(hash("a:\n"), hash("a: null\n"));
}

#[test]
fn keys_that_are_no_simple_texts_make_their_map_one_value() {
    assert_eq!(parse("a:\n  ? [x]\n  : 1\n").at(&["a"]).unwrap().kind, Kind::Opaque);
}

#[test]
fn a_pair_without_braces_ends_with_its_value() {
    let hash = |text: &str| parse(text).at(&["a"]).unwrap().hash;
    assert_eq!(hash("a: [x, k:]\n"), hash("a: [x, k: ]\n"));
    assert_eq!(hash("a: [k: v, x]\n"), hash("a: [k: v # c\n  , x]\n"));
}

#[test]
fn a_document_of_comments_has_no_root() {
    assert_eq!(parse("# nothing\n---\n").root(), None);
    assert_eq!(split("# nothing\n---\n").len(), 2);
}
#[test]
fn a_map_with_keys_that_are_no_simple_texts_ends_with_its_last_mark_or_value() {
    let check = |text: &str, expected: &str| {
        let cst = parse(text);
        let node = cst.at(&["a"]).unwrap();
        assert_eq!((node.kind, cst.slice(&node.span)), (Kind::Opaque, expected), "{text:?}");
    };
    check("a:\n ?\n\nb: 1\n", "?");
    check("a:\n ?  \n", "?");
    check("a:\n ?\n# x\nb: 1\n", "?");
    check("a:\n ? c: \n\nb: 1\n", "? c:");
    check("a:\n ? [c]\n # x\n :\n\nb: 1\n", "? [c]\n # x\n :");
    check("a:\n ? x\n : |\n  x\n\nb: 1\n", "? x\n : |\n  x");
}
