//! Pure. Tests of single-key edits.
//!
//! Not here: tests of the loader (`yaml::tests`).

use serde_json::{Value, json};

use super::{insert_in_item, push, remove, replace, set, unset};

fn check_set(before: &str, path: &str, value: &Value, after: &str) {
    let path: Vec<&str> = path.split('.').collect();
    let found = set("f", before, &path, value).unwrap_or_else(|findings| findings[0].to_string());
    assert_eq!(found, after, "set {path:?} to {value} in:\n{before}");
}

fn check_unset(before: &str, path: &str, after: &str) {
    let path: Vec<&str> = path.split('.').collect();
    let found = unset("f", before, &path).unwrap_or_else(|findings| findings[0].to_string());
    assert_eq!(found, after, "unset {path:?} in:\n{before}");
}

fn check_item(before: &str, item: (&str, &str), after: &str) {
    let found = insert_in_item("f", before, &["requires"], item, ("installedAs", "db"))
        .unwrap_or_else(|findings| findings[0].to_string());
    assert_eq!(found, after, "bind {item:?} in:\n{before}");
}

fn check_push(before: &str, path: &str, item: &Value, after: &str) {
    let path: Vec<&str> = path.split('.').collect();
    let found = push("f", before, &path, item).unwrap_or_else(|findings| findings[0].to_string());
    assert_eq!(found, after, "push {item} to {path:?} in:\n{before}");
}

#[test]
fn an_item_goes_last_in_its_list() {
    check_push("a: [x] # c\n", "a", &json!("z"), "a: [x, z] # c\n");
    check_push("a:\n- x # c\nb: 1\n", "a", &json!("z"), "a:\n- x # c\n- z\nb: 1\n");
    check_push("a:\n  - x\n\nb: 1\n", "a", &json!("z"), "a:\n  - x\n  - z\n\nb: 1\n");
    check_push(
        "a:\n  - k: 1\n    l: [2]\n",
        "a",
        &json!({"k": 3, "p": ["/q"]}),
        "a:\n  - k: 1\n    l: [2]\n  - k: 3\n    p:\n    - /q\n",
    );
    check_push("a: {}\n", "a.b", &json!("z"), "a:\n  b:\n  - z\n");
    check_push("", "a", &json!("z"), "a:\n- z\n");
    check_push("a: []\n", "a", &json!("z"), "a:\n- z\n");
    check_push("a: 1\n", "a", &json!("z"), "f:1: Y130: add to a: it is no list");
}

#[test]
fn a_value_is_replaced_where_it_stands() {
    check_set("a: 1 # c\nb: 2\n", "a", &json!(5), "a: 5 # c\nb: 2\n");
    check_set("a:   1\n", "a", &json!("x"), "a:   x\n");
    check_set("a: \"1\"\n", "a", &json!("no"), "a: \"no\"\n");
    check_set("a: 'it''s' # c\n", "a", &json!("it's not"), "a: 'it''s not' # c\n");
    check_set("a: 1\n", "a", &json!("no"), "a: \"no\"\n");
    check_set("a: yes\n", "a", &json!(true), "a: true\n");
    check_set(
        "a:\n  b: 1\n  # c\n  d: 2 # e\nf: 3\n",
        "a.d",
        &json!([1]),
        "a:\n  b: 1\n  # c\n  d: # e\n  - 1\nf: 3\n",
    );
    check_set("a:\nb: 1\n", "a", &json!("x"), "a: x\nb: 1\n");
    check_set("a: # c\nb: 1\n", "a", &json!("x"), "a: x # c\nb: 1\n");
    check_set("a: ~\n", "a", &json!({"b": 1}), "a:\n  b: 1\n");
    check_set("a: {b: 1, c: 2} # d\n", "a.b", &json!("x, y"), "a: {b: \"x, y\", c: 2} # d\n");
    check_set("a: [1, 2]\n", "a", &json!([3]), "a: [3]\n");
    check_set("a:\n- 1\n- 2\nb: 3\n", "a", &json!([3]), "a:\n- 3\nb: 3\n");
    check_set("a: # c\n  x: 1\n  y: 2\nb: 3\n", "a", &json!(7), "a: 7 # c\nb: 3\n");
    check_set("a: |\n  x\n  y\n\nb: 3\n", "a", &json!("z"), "a: z\n\nb: 3\n");
    check_set("a: x # c\nb: 3\n", "a", &json!("y\nz\n"), "a: | # c\n  y\n  z\nb: 3\n");
    check_set("a: x\n  more\nb: 3\n", "a", &json!("w"), "a: w\nb: 3\n");
    check_set("a: 1\r\nb: 2\r\n", "a", &json!({"c": 1}), "a:\r\n  c: 1\r\nb: 2\r\n");
    check_set("a: 1", "a", &json!(2), "a: 2");
    check_set("a: &x 1\nb: 2\n", "a", &json!(2), "a: &x 2\nb: 2\n");
    check_set("a: !!str 1\n", "a", &json!(2), "a: 2\n");
    check_set("a: 1\n", "a", &json!(1), "a: 1\n");
    check_set("\u{feff}a: 1\n", "a", &json!(2), "\u{feff}a: 2\n");
    check_set("\"a b\": 1\n", "a b", &json!(2), "\"a b\": 2\n");
    check_set("- 1\n", "a", &json!(1), "f:1: Y130: edit the file: it holds no map");
}

#[test]
fn a_new_key_goes_last_in_its_map() {
    check_set("a: 1\n", "b", &json!(2), "a: 1\nb: 2\n");
    check_set("a: 1", "b", &json!(2), "a: 1\nb: 2");
    check_set(
        "a:\n    x: 1 # c\n\n# about b\nb: 2\n",
        "a.w",
        &json!("z"),
        "a:\n    x: 1 # c\n    w: z\n\n# about b\nb: 2\n",
    );
    check_set("a:\n  b:\n    c:\n", "a.b.d", &json!(1), "a:\n  b:\n    c:\n    d: 1\n");
    check_set("a:\n- x\n", "b.c", &json!([1]), "a:\n- x\nb:\n  c:\n  - 1\n");
    check_set("a: {}\n", "a.b.c", &json!(1), "a:\n  b:\n    c: 1\n");
    check_set("a: {} # c\n", "a.b", &json!(1), "a: # c\n  b: 1\n");
    check_set("a: {b: 1}\n", "a.c", &json!({"d": "e"}), "a: {b: 1, c: {d: e}}\n");
    check_set("a: {b: {}}\n", "a.b.c", &json!(1), "a: {b: {c: 1}}\n");
    check_set("apps:\n", "apps.ghost.domain", &json!("x.y"), "apps:\n  ghost:\n    domain: x.y\n");
    check_set("", "a.b", &json!(1), "a:\n  b: 1\n");
    check_set("# only\n", "a", &json!(1), "# only\na: 1\n");
    check_set("---\n", "a", &json!(1), "---\na: 1\n");
    check_set("{}\n", "a", &json!(1), "a: 1\n");
    check_set("a: |+\n  x\n\nb: 1\n", "c", &json!(1), "a: |+\n  x\n\nb: 1\nc: 1\n");
    check_set("p:\n  a: |+\n    x\n\nb: 1\n", "p.c", &json!(1), "p:\n  a: |+\n    x\n\n  c: 1\nb: 1\n");
    check_set("p:\n  a: |\n    x\n\nb: 1\n", "p.c", &json!(1), "p:\n  a: |\n    x\n  c: 1\n\nb: 1\n");
    check_set("a: 1\n", "a.b", &json!(1), "f:1: Y130: set a.b: a is no map");
}

#[test]
fn an_edit_that_would_change_something_else_is_refused() {
    let refused = |path: &str| format!("f: Y132: set {path}: the way the file is written does not allow a safe edit");
    check_set("a: &x {b: 1}\nc: *x\n", "a.b", &json!(2), &refused("a.b"));
    check_set("a: &x {b: 1}\nc: *x\n", "c.b", &json!(2), &refused("c.b"));
    check_set("? a\n: 1\n", "a", &json!(2), &refused("a"));
    check_set("a: |\n  hi", "b", &json!(2), &refused("b"));
}

#[test]
fn a_key_goes_with_its_line_and_comments_stay() {
    check_unset("a: 1\nb: 2 # c\n# d\ne: 3\n", "b", "a: 1\n# d\ne: 3\n");
    check_unset("a:\n  b: 1\nc: 2\n", "a.b", "a: {}\nc: 2\n");
    check_unset("a:\n  b:\n    x: 1\n    y: 2\n  c: 3\n", "a.b", "a:\n  c: 3\n");
    check_unset("a: 1\n", "a", "");
    check_unset("a: 1\n", "b", "a: 1\n");
    check_unset("a: {b: 1, c: 2}\n", "a.b", "a: {c: 2}\n");
    check_unset("a: {b: 1, c: 2}\n", "a.c", "a: {b: 1}\n");
    check_unset("a: {b: 1}\n", "a.b", "a: {}\n");
    check_unset("a: 1\nb: |\n  x\n\nc: 1\n", "b", "a: 1\n\nc: 1\n");
    check_unset("a: 1\r\nb: 2\r\n", "a", "b: 2\r\n");
    check_unset("a: 1\nb: 2", "b", "a: 1\n");
}

#[test]
fn a_requirement_gets_its_binding() {
    check_item(
        "requires:\n- name: postgres # c\n- name: redis\n",
        ("name", "postgres"),
        "requires:\n- name: postgres # c\n  installedAs: db\n- name: redis\n",
    );
    check_item(
        "requires:\n  - postgres # c\n  - redis\n",
        ("name", "redis"),
        "requires:\n  - postgres # c\n  - name: redis\n    installedAs: db\n",
    );
    check_item(
        "requires:\n  - name: postgres\n    alias: main\n    installedAs: old # c\n",
        ("alias", "main"),
        "requires:\n  - name: postgres\n    alias: main\n    installedAs: db # c\n",
    );
    check_item("requires: [a, b]\n", ("name", "a"), "requires: [{name: a, installedAs: db}, b]\n");
    check_item("requires: [{name: a}]\n", ("name", "a"), "requires: [{name: a, installedAs: db}]\n");
    check_item("requires: [a]\n", ("name", "z"), "f:1: Y131: set installedAs of z: no item of requires has name z");
}

fn check_replace(before: &str, path: &str, value: &Value, after: &str) {
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    let found = replace("f", before, &path, value).unwrap_or_else(|findings| findings[0].to_string());
    assert_eq!(found, after, "replace {path:?} by {value} in:\n{before}");
}

#[test]
fn a_value_below_list_items_is_replaced_and_nothing_is_made_on_the_way() {
    check_replace("a:\n- k: 1 # c\n  l: x\n- k: 2\n", "a.1.k", &json!(3), "a:\n- k: 1 # c\n  l: x\n- k: 3\n");
    check_replace("a: [{k: 'x'}, {k: y}]\n", "a.0.k", &json!("z"), "a: [{k: z}, {k: y}]\n");
    check_replace("---\na:\n- b:\n  - c: 1\n", "a.0.b.0.c", &json!("t"), "---\na:\n- b:\n  - c: t\n");
    check_replace("a: {}\n", "a.b", &json!(1), "f: Y130: replace a.b: nothing stands there");
    check_replace("a: [1]\n", "a.1", &json!(1), "f: Y130: replace a.1: nothing stands there");
}

#[test]
fn a_key_below_list_items_is_removed() {
    let check = |before: &str, path: &str, after: &str| {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        let found = remove("f", before, &path).unwrap_or_else(|findings| findings[0].to_string());
        assert_eq!(found, after, "remove {path:?} in:\n{before}");
    };
    check("a:\n- k: 1\n  l: x\n- k: 2\n", "a.0.k", "a:\n- l: x\n- k: 2\n");
    check("a:\n- k: 1\n  l: x\n", "a.0.l", "a:\n- k: 1\n");
    check("a: [{k: 1, l: 2}]\n", "a.0.l", "a: [{k: 1}]\n");
    check("a: {}\n", "a.b", "f: Y130: remove a.b: nothing stands there");
}
