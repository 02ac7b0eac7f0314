//! Pure. One small merge for each kind of input that came out wrong once: a base, two sides, and what must come out.

use super::super::conflict::ConflictKind;
use super::super::file::merge_file;
use super::super::rules::Rules;
use super::super::template::templates_in;
use super::super::tree::Three;
use crate::base::RepoPath;

use ConflictKind::*;

/// Merges three texts, once as they are and once with the result for ours.
fn check(path: &str, [base, ours, theirs]: [&str; 3], expected: &str, conflicts: &[ConflictKind]) {
    let path = RepoPath::parse(path).unwrap();
    let rules = Rules { templates: templates_in(&[base, ours, theirs]), ..Rules::default() };
    let texts = Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) };
    let merged = merge_file(&path, texts, &rules);
    let kinds: Vec<ConflictKind> = merged.conflicts.iter().map(|found| found.kind).collect();
    let said = (merged.text.as_deref(), kinds.as_slice(), merged.guard);
    assert_eq!(said, (Some(expected), conflicts, None), "{:?}", merged.conflicts);
}

fn clean(sides: [&str; 3], expected: &str) {
    check("apps/a/values.yaml", sides, expected, &[]);
}

#[test]
fn a_document_whose_kind_a_template_says_is_the_only_one_there() {
    let job = |kind: &str, tag: &str| {
        format!("apiVersion: v1\n{kind}metadata:\n  name: a\n  zone: b\nspec:\n  image: x\n  tag: {tag}\n")
    };
    let arms = "{{ if .b }}\nkind: One\n{{ else }}\nkind: Two\n{{ end }}\n";
    for kind in [arms, "kind: {{ .kind }}\n"] {
        let texts = [job("kind: Two\n", "1"), job(kind, "1"), job("kind: Two\n", "2")];
        clean(texts.each_ref().map(String::as_str), &job(kind, "2"));
    }
    let (plain, whole) =
        (job("kind: Two\n", "1"), format!("{{{{ if .b }}}}\n{}{{{{ end }}}}\n", job("kind: Two\n", "1")));
    clean([&plain, &whole, &job("kind: Two\n", "2")], &whole.replace("tag: 1", "tag: 2"));
}

#[test]
fn a_key_renamed_in_place_keeps_the_edits_of_the_other_side() {
    let map = |key: &str, value: u8| format!("a: 1\nw:\n  {key}:\n    x: {value}\n    y: 1\n    z: 1\n");
    clean([&map("old", 1), &map("new", 1), &map("old", 2)], &map("new", 2));
    clean([&map("old", 1), &map("old", 2), &map("new", 1)], &map("new", 2));
    let texts = [map("old", 1), map("new", 1), map("other", 1)];
    check("apps/a/values.yaml", texts.each_ref().map(String::as_str), &map("new", 1), &[RenameRename]);
    // A field of a known type is no other field under another name.
    let pod = |key: &str, port: u8| {
        format!(
            "kind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: a\n    {key}:\n      httpGet:\n        path: /\n        port: {port}\n"
        )
    };
    let texts = [pod("livenessProbe", 1), pod("readinessProbe", 1), pod("livenessProbe", 2)];
    check("apps/a/pod.yaml", texts.each_ref().map(String::as_str), &texts[1], &[DeleteEdit]);
}

#[test]
fn what_one_side_put_below_a_new_key_has_the_edits_of_the_other() {
    let web = |port: u8| format!("web:\n  port: {port}\n  host: a\n  tls: true\n");
    let below = |port: u8| format!("shop:\n  web:\n    port: {port}\n    host: a\n    tls: true\n");
    clean([&web(1), &below(1), &web(2)], &below(2));
    clean([&web(1), &web(2), &below(1)], &below(2));
}

#[test]
fn keys_that_stand_twice_on_all_sides_are_told_by_their_order() {
    clean(["a: [1]\nm: x\nm: y\n", "a: [1, 2]\nm: x\nm: y\n", "a: [1, 3]\nm: x\nm: y\n"], "a: [1, 2, 3]\nm: x\nm: y\n");
}

#[test]
fn the_last_keys_of_a_document_leave_an_empty_map() {
    clean(["a: 1\nb: 1\n", "b: 1\n", "a: 1\n"], "{}\n");
}

#[test]
fn each_run_of_lines_of_a_text_is_a_question_of_its_own() {
    let text = |lines: [&str; 5]| format!("run: |\n  {}\nz: 1\n", lines.join("\n  "));
    let texts = [text(["a", "b", "c", "d", "e"]), text(["A", "b", "c", "d", "E"]), text(["x", "b", "C", "d", "y"])];
    let texts = texts.each_ref().map(String::as_str);
    check("apps/a/values.yaml", texts, &text(["A", "b", "C", "d", "E"]), &[Text, Text]);
}

#[test]
fn a_side_whose_lines_hold_both_edits_stands() {
    check("notes.txt", ["a\nb\n", "a\nb\nc\n", "a\nb\n\n"], "a\nb\nc\n", &[]);
    check("notes.txt", ["a\nb\nc\n", "a\nB\nc\n", "a\nB\nb2\nc\n"], "a\nB\nb2\nc\n", &[]);
    check("notes.txt", ["a\nb\nc\n", "a\nB\nc\n", "a\nX\nb2\nc\n"], "a\nB\nc\n", &[Text]);
}

#[test]
fn a_manifest_in_a_text_is_merged_as_one() {
    let file = |image: u8, tty: bool| {
        let tty = if tty { "        tty: true\n" } else { "" };
        format!(
            "files:\n- path: /a.yaml\n  content: |\n    apiVersion: v1\n    kind: Pod\n    metadata:\n      name: a\n    spec:\n      containers:\n      - name: a\n        image: x:{image}\n{tty}"
        )
    };
    clean([&file(1, false), &file(2, false), &file(1, true)], &file(2, true));
}

#[test]
fn what_others_read_as_yaml_is_read() {
    let list = |a: u8, b: u8, end: &str| format!("w:\n  a: {a}\n  b: {b}\n{end}");
    clean([&list(1, 1, "...\n"), &list(2, 1, "...\n"), &list(1, 2, "...\n")], &list(2, 2, "...\n"));
    let quoted = |a: u8, b: u8| format!("m:\n    x: '[\n  {{}}\n  ]'\n{}", list(a, b, ""));
    clean([&quoted(1, 1), &quoted(2, 1), &quoted(1, 2)], &quoted(2, 2));
    let texts = [list(1, 1, ""), list(2, 1, ""), list(1, 2, "")];
    for name in ["a.yaml.j2", "a.yaml.gotmpl", "a.yml.tpl"] {
        check(name, texts.each_ref().map(String::as_str), &list(2, 2, ""), &[]);
    }
    let patch = |target: &str| format!("- path: a.yaml\n  target:\n    kind: A\n    name: {target}\n");
    let patches =
        |targets: &[&str]| format!("patches:\n{}", targets.iter().map(|target| patch(target)).collect::<String>());
    let texts = [patches(&["x", "y"]), patches(&["x", "y", "o"]), patches(&["t", "x", "y"])];
    check("kustomization.yaml", texts.each_ref().map(String::as_str), &patches(&["t", "x", "y", "o"]), &[]);
}

#[test]
fn actions_in_texts_and_behind_colons_are_no_entries() {
    let file = |inner: &str, a: u8, b: u8| format!("s:\n  t: |\n    one\n{inner}w:\n  a: {a}\n  b: {b}\n");
    for inner in ["{{ include \"x\" . | indent 4 }}\n", "{{- if .x }}\n    two\n{{- end }}\n", "    {{ .x }}\n"] {
        clean([&file(inner, 1, 1), &file(inner, 2, 1), &file(inner, 1, 2)], &file(inner, 2, 2));
    }
    let value = "p:{{ if .x }} []{{ end }}\n{{ if .y }}\n- one\n{{ end }}\n";
    let file = |a: u8, b: u8| format!("{value}w:\n  a: {a}\n  b: {b}\n");
    clean([&file(1, 1), &file(2, 1), &file(1, 2)], &file(2, 2));
}

#[test]
fn comments_of_both_sides_stay_with_what_they_are_about() {
    clean(["w:\n- a\n- b\n- c\n", "w:\n- a\n# - b\n- c\n", "w:\n- a\nx: 1\n"], "w:\n- a\n# - b\nx: 1\n");
    clean(
        ["w:\n- a\n- b\n", "w:\n- a\n# one\n- n\n- b\n", "w:\n- a\n# one\n# two\n- n\n- b\n"],
        "w:\n- a\n# one\n# two\n- n\n- b\n",
    );
    let block = "# about\n{{ if .x }}\nc: 1\n{{ end }}\n";
    clean(
        [&format!("a: 1\nb: 1\n\n{block}"), &format!("a: 1\n\n{block}"), &format!("a: 1\nn: 1\n\n{block}")],
        &format!("a: 1\nn: 1\n\n{block}"),
    );
}

#[test]
fn commands_at_one_place_are_a_question() {
    for list in ["script", "run", "steps", "commands"] {
        let file = |command: &str| format!("j:\n  {list}:\n  - one\n{command}");
        let texts = [file(""), file("  - mine\n"), file("  - yours\n")];
        check("ci.yaml", texts.each_ref().map(String::as_str), &texts[1], &[Order]);
    }
}

#[test]
fn an_item_that_came_in_the_place_of_another_belongs_to_its_question() {
    let texts = ["w:\n- a: 1\n- b: 1\n", "w:\n- a: 1\n- b: 1\n  c: 1\n", "w:\n- a: 1\n- d: 9\n"];
    check("apps/a/values.yaml", texts, texts[1], &[EditDelete]);
    let texts = ["w:\n- a: 1\n- b: 1\n", "w:\n- a: 1\n- d: 9\n", "w:\n- a: 1\n- b: 1\n  c: 1\n"];
    check("apps/a/values.yaml", texts, texts[1], &[DeleteEdit]);
}

#[test]
fn a_move_past_what_the_other_side_took_away_is_a_move() {
    check("a.yaml", ["w: [a, c, b]\n", "w: [a, b, c]\n", "w: [n, b, a]\n"], "w: [a, n, b]\n", &[Order]);
}

#[test]
fn a_url_with_a_commit_is_the_same_one_with_another() {
    let url = |commit: &str| format!("resources:\n- https://a.test/b/{commit}/c.yaml\n- d.yaml\n");
    let texts = [url("0f3c9e1a"), "resources:\n- d.yaml\n".to_owned(), url("77ab20cd")];
    check("kustomization.yaml", texts.each_ref().map(String::as_str), &texts[1], &[DeleteEdit]);
}

#[test]
fn what_goes_into_a_block_or_out_of_one_loses_no_edit_of_the_other_side() {
    let block = |inner: &str| format!("{{{{ if .A }}}}\n{inner}{{{{ end }}}}\n");
    let (a, x) = ("a: 1\n", "x: 1\n");
    // Into a block that is there, against a deletion.
    let base = format!("{a}{}c: 1\n", block(x));
    let (moved, gone) = (format!("{}c: 1\n", block(&format!("{a}{x}"))), format!("{}c: 1\n", block(x)));
    check("apps/a/values.yaml", [&base, &moved, &gone], &moved, &[TemplateBlock]);
    check("apps/a/values.yaml", [&base, &gone, &moved], &gone, &[TemplateBlock]);
    // From one arm to the other.
    let arms = |one: &str, other: &str| block(&format!("q: 1\n{one}{{{{ else }}}}\ny: 1\n{other}"));
    let (base, moved, gone) = (arms(x, ""), arms("", x), arms("", ""));
    check("apps/a/values.yaml", [&base, &moved, &gone], &moved, &[TemplateBlock]);
    // Around all of it, with something added: inside or outside is a question.
    let all = format!("{a}{x}");
    let texts = [all.clone(), block(&all), format!("{all}n: 1\n")];
    check("apps/a/values.yaml", texts.each_ref().map(String::as_str), &texts[1], &[Text]);
}

#[test]
fn what_one_side_gave_another_key_or_place_is_not_deleted_in_silence() {
    let web = "web:\n  i: x\n  p: 80\n";
    let below = |key: &str| format!("{key}:\n  web:\n    i: x\n    p: 80\nz: 1\n");
    let (base, gone) = (format!("{web}z: 1\n"), "z: 1\n");
    let renamed = base.replace("web", "site");
    check("apps/a/values.yaml", [&base, &renamed, gone], &renamed, &[EditDelete]);
    check("apps/a/values.yaml", [&base, gone, &renamed], gone, &[DeleteEdit]);
    check("apps/a/values.yaml", [&base, &below("shop"), gone], &below("shop"), &[EditDelete]);
    check("apps/a/values.yaml", [&base, gone, &below("shop")], gone, &[DeleteEdit]);
    check("apps/a/values.yaml", [&base, &below("shop"), &below("store")], &below("shop"), &[RenameRename]);
}

#[test]
fn an_item_that_both_renamed_has_the_edits_of_both() {
    let list = |name: &str, rest: &str| format!("l:\n- name: {name}\n  image: y\n  port: 2\n{rest}z: 1\n");
    let texts = [list("b", "  x: 3\n"), list("q", ""), list("q", "  x: 3\n")];
    clean(texts.each_ref().map(String::as_str), &list("q", ""));
}

#[test]
fn documents_without_a_kind_are_known_by_what_they_hold() {
    let (first, second) = ("a: 1\nb: 2\nc: 3\n", "---\na: 5\nb: 6\nc: 7\n");
    let (base, ours) = (format!("{first}{second}"), format!("{}{second}", first.replace("b: 2", "b: 22")));
    check("apps/a/values.yaml", [&base, &ours, "a: 5\nb: 6\nc: 7\n"], &ours, &[EditDelete]);
}

#[test]
fn lines_never_tear_the_blocks_of_a_template() {
    let define = |inner: &str| format!("{{{{ define \"a\" }}}}\n{inner}{{{{ end }}}}\n");
    let texts = [
        define("x\n"),
        define("{{ if .b }}\nx\n{{ end }}\n"),
        format!("{{{{ if .c }}}}\n{}{{{{ end }}}}\n", define("x\n")),
    ];
    check("parts.tpl", texts.each_ref().map(String::as_str), &texts[1], &[Text]);
}

#[test]
fn a_key_that_each_side_wrote_once_more_is_there_too_often() {
    let map = |first: &str, last: &str| format!("m:\n  x: 1\n{first}  y: 1\n  z: 1\n{last}n: 1\n");
    let texts = [map("", ""), map("  x: 2\n", ""), map("", "  x: 3\n")];
    check("apps/a/values.yaml", texts.each_ref().map(String::as_str), &texts[1], &[DuplicateKey]);
}

#[test]
fn a_block_put_around_another_one_is_not_that_one() {
    let block = |word: &str, inner: &str| format!("{{{{ if .{word} }}}}\n{inner}{{{{ end }}}}\n");
    let x = block("A", "x: 1\n");
    let base = format!("{x}b: 1\n");
    let wrapped = format!("{}b: 1\n", block("X", &x));
    // An addition in the inner block, and another arm of it.
    for inner in ["x: 1\nn: 1\n", "x: 1\n{{ else }}\ny: 1\n"] {
        let inner = block("A", inner);
        let (edited, both) = (format!("{inner}b: 1\n"), format!("{}b: 1\n", block("X", &inner)));
        clean([&base, &wrapped, &edited], &both);
        clean([&base, &edited, &wrapped], &both);
    }
    // It was deleted on the other side, or an entry moved into it.
    let around = format!("{}c: 1\n", block("X", &format!("a: 1\n{x}")));
    let base = format!("a: 1\n{x}c: 1\n");
    check("apps/a/values.yaml", [&base, "a: 1\nc: 1\n", &around], "a: 1\nc: 1\n", &[TemplateBlock]);
    let moved = format!("{}c: 1\n", block("A", "a: 1\nx: 1\n"));
    check("apps/a/values.yaml", [&base, &moved, &around], &moved, &[Text]);
    // The outer one went, and something came into it.
    let base = format!("{}b: 1\n", block("X", &x));
    let (ours, theirs) = (format!("{x}b: 1\n"), format!("{}b: 1\n", block("X", &format!("{x}n: 1\n"))));
    check("apps/a/values.yaml", [&base, &ours, &theirs], &ours, &[Text]);
}
