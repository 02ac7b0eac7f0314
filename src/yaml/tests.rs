//! Pure. Tests of the loader and the writers, against what the real readers and printers said.
//!
//! Not here: tests of edits (`edit/tests.rs`).

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Dialect, load, load_objects, load_one, load_resources, write, write_scalar, write_sorted};
use crate::model::Diagnostic;

fn recorded(name: &str) -> Vec<Vec<Value>> {
    let text = fs::read_to_string(crate::base::fixtures("yaml").join(name)).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the first document as JSON, or the ids of the errors.
fn reading(text: &str, dialect: Dialect) -> Value {
    match load("f", text, dialect) {
        Ok(loaded) => loaded.documents.into_iter().next().map_or(Value::Null, |document| plain_numbers(document.value)),
        Err(findings) => Value::from(format!("!{}", findings[0].id)),
    }
}

fn as_json(value: f64) -> Value {
    Value::Number(super::scalar::as_json(serde_json::Number::from_f64(value).unwrap()))
}

/// Turns floats without a fraction into integers, as JSON cannot tell them apart.
fn plain_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.as_i64().is_none() => as_json(number.as_f64().unwrap()),
        Value::Array(items) => items.into_iter().map(plain_numbers).collect(),
        Value::Object(map) => map.into_iter().map(|(key, item)| (key, plain_numbers(item))).collect(),
        other => other,
    }
}

#[test]
fn documents_are_read_as_the_real_readers_do() {
    let differences = recorded("differences.jsonl");
    let mut failures = Vec::new();
    let cases = recorded("readings.jsonl");
    println!("{} documents, {} of them are read otherwise and listed", cases.len(), differences.len());
    assert!(cases.len() >= 2_900 && differences.len() <= 11, "{} documents", cases.len());
    for case in cases {
        let input = case[0].as_str().unwrap();
        let difference = differences.iter().find(|difference| difference[0] == input);
        assert!(difference.is_none_or(|difference| difference[1..3] != case[1..3]), "{input:?} is equal now");
        for (column, dialect) in [(1, Dialect::Kube), (2, Dialect::Gomplate)] {
            let found = reading(input, dialect);
            let expected = plain_numbers(difference.map_or(&case[column], |difference| &difference[column]).clone());
            // What kubectl reads now so and now otherwise is refused here.
            let both_refuse = (expected == "!error" || expected == "!either")
                && found.as_str().is_some_and(|text| text.starts_with("!Y"));
            if found != expected && !both_refuse {
                failures.push(format!("{input:?} in {dialect:?}: {found}, recorded {expected}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn values_are_printed_as_kustomize_prints_them() {
    let mut failures = Vec::new();
    for case in recorded("printed.jsonl") {
        let found = write_sorted(&case[0]);
        if case[1] != found {
            failures.push(format!("{}:\n{found:?}, recorded\n{:?}", case[0], case[1].as_str().unwrap()));
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn what_differs_between_kubectl_and_kustomize_is_reported() {
    check_findings(
        "kind: A\nx: [on, 'on', true]\n",
        "f:2:5: Y101: on is a text for kustomize and the boolean true for kubectl",
    );
    check_findings("x: 2024-01-02\n", "f:1:4: Y110: 2024-01-02 is a point in time here and a text for kubectl");
    check_findings("x: .inf\n", "f:1:4: Y102: .inf is a number that no Kubernetes object can hold");
    check_findings("a:\n  1: x\n", "f:2:3: Y103: the key \"1\" is no text");
    check_findings(
        "a:\n  k: &m {x: 1}\n  l:\n    x: 2\n    <<: *m\n",
        "f:5:5: Y105: << also sets \"x\", and tools disagree on which value counts",
    );
}

/// Reads as kustomize reads resources and compares the findings, one per line.
fn check_findings(input: &str, expected: &str) {
    let findings = load_resources("f", input).map_or_else(|findings| findings, |loaded| loaded.diagnostics);
    let found: Vec<String> = findings.iter().map(Diagnostic::to_string).collect();
    assert_eq!(found.join("\n"), expected, "{input}");
}

#[test]
fn a_finding_names_its_place_in_plain_words() {
    check_error("a: 1\nb: 2\na: 3\n", "f:3:1: Y106: the key \"a\" is set twice, first on line 1");
    check_error("a: b: c\n", "f:1:5: Y100: this is no valid YAML: mapping values are not allowed in this context");
    check_error("é: ü\nx: {{ .x }}\n", "f:2:5: Y104: a map or list cannot be a key");
    check_error("x: &a [*a]\n", "f:1:8: Y109: the alias stands inside the node that it repeats");
    check_error("a: 1\n---\nb: 2\n", "f:3: Y108: the file holds a second document where one is wanted");
    check_error("x:\n  <<: 1\n", "f:2:3: Y111: << wants a map or a list of maps");
    check_error("x: !secret 1\n", "f:1:12: Y107: a tag is refused here");
}

fn check_error(input: &str, expected: &str) {
    let findings = load_one("f", input, Dialect::Gomplate).unwrap_err();
    assert_eq!(findings[0].to_string(), expected, "{input}");
}

#[test]
fn kubectl_takes_the_last_of_two_keys_and_we_say_so() {
    let loaded = load("f", "a: 1\na: 2\n", Dialect::Kube).unwrap();
    assert_eq!(loaded.documents[0].value, json!({"a": 2}));
    assert_eq!(loaded.diagnostics[0].to_string(), "f:2:1: Y106: the key \"a\" is set twice, first on line 1");
}

#[test]
fn hostile_input_is_refused_before_it_is_built() {
    let bomb = (1..=9).fold("a0: &a0 x\n".to_owned(), |text, level| {
        let before = level - 1;
        text + &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{before}"); 9].join(", "))
    });
    check_limit(&bomb, "more than 500,000 nodes");
    check_limit(&"[".repeat(100_000), "nested deeper than 128 levels");
    check_limit(&"- ".repeat(10_000), "nested deeper than 128 levels");
    check_limit(&"---\nx\n".repeat(1_001), "more than 1,000 documents");
    check_limit(&format!("x: {}", "a".repeat(1024 * 1024 + 1)), "one text is longer than 1 MiB");
    check_limit(&format!("x: {{y: {}}}\n", "a".repeat(1024 * 1024 + 1)), "one text is longer than 1 MiB");
    check_limit(&" ".repeat(4 * 1024 * 1024 + 1), "bytes, at most 4194304 are read");
}

fn check_limit(input: &str, expected: &str) {
    let findings = load("f", input, Dialect::Kube).unwrap_err();
    assert_eq!(findings[0].id, "Y120", "{}", findings[0]);
    assert!(findings[0].message.contains(expected), "{}", findings[0]);
}

#[test]
fn every_part_of_a_document_has_its_line() {
    let document = load_one("f", "# c\na: 1\nb:\n  - x\n  - y:\n      z: 1\n", Dialect::Kube).unwrap().unwrap();
    assert_eq!(document.line, 2);
    for (path, line) in [("a", 2), ("b", 3), ("b.0", 4), ("b.1", 5), ("b.1.true.z", 6)] {
        assert_eq!(document.line_of(&path.split('.').collect::<Vec<_>>()), Some(line), "{path}");
    }
    assert_eq!(document.line_of(&["c"]), None);
}

#[test]
fn lists_of_objects_are_expanded_behind_the_last_document() {
    let text = "kind: AList\nitems:\n- kind: A\n  metadata: {name: one}\n---\nkind: B\nmetadata:\n  name: two\n---\n";
    let objects = load_objects("f", text).unwrap();
    let found: Vec<_> = objects.iter().map(|loaded| (loaded.object.id().short(), loaded.line)).collect();
    assert_eq!(found, [("B/two".to_owned(), 6), ("A/one".to_owned(), 3)]);
}

#[test]
fn an_object_needs_kind_and_name_and_no_empty_items() {
    for (input, expected) in [
        ("a: 1\n", "f:1: Y113: the object has no kind"),
        ("kind: A\nmetadata: {}\n", "f:1: Y113: the A has no metadata.name"),
        ("kind: A\nmetadata: {name: no}\n", "f:1: Y113: the metadata.name of the A is no text: put quotes around it"),
        ("- a\n", "f:1: Y114: a Kubernetes object is a map with kind and metadata.name"),
        ("kind: A\nmetadata: {name: web}\nspec:\n  args:\n  - x\n  -\n", "f:6: Y112: empty item at spec.args.1"),
    ] {
        assert_eq!(load_objects("f", input).unwrap_err()[0].to_string(), expected);
    }
}

#[test]
fn a_scalar_is_bare_only_if_every_reader_sees_the_same_text() {
    for text in ["a", "a b", "1.2.3", "10.0.0.1", "v1", "http://x:80/a", "a#b", "it's", "5m", "1Gi", "é", "😀", "*"]
    {
        check_reads_back(text);
    }
    for bare in ["a b", "1.2.3", "http://x:80/a", "a#b", "it's", "100m", "a=b", "foo, bar", "x@y.z"] {
        assert_eq!(write_scalar(bare), bare);
    }
    let quoted = "yes on y no off n Y N TRUE null ~ 0755 0o7 0b1 0x1f 1_000 _ 1e3 1e400 12:30:45 190:20:30 8080:80 2024-01-02 \
                  2024-1-2T03:04:05Z .5 .inf .nan = << - -a ? : , [a ]a {a }a #a &a *a !a |a >a 'a \"a %a @a `a a: -1 +1 08 1.";
    for text in
        quoted.split_whitespace().filter(|text| *text != "_").chain(["", " a", "a ", "a: b", "a #b", "{{ .x }}"])
    {
        assert!(write_scalar(text).starts_with(['"', '\'']), "{text:?} is written bare");
        check_reads_back(text);
    }
    assert_eq!(write_scalar("say \"hi\""), "say \"hi\"");
    assert_eq!(write_scalar("\"hi\""), "'\"hi\"'");
    assert_eq!(write_scalar("-\\"), "'-\\'");
    assert_eq!(write_scalar("a\nb"), "\"a\\nb\"");
}

fn check_reads_back(text: &str) {
    for dialect in [Dialect::Kube, Dialect::Gomplate] {
        let document = load_one("f", &format!("k: {}\n", write_scalar(text)), dialect).unwrap().unwrap();
        assert_eq!(document.value, json!({"k": text}), "{dialect:?}");
    }
}

#[test]
fn values_are_written_as_people_write_them() {
    let value = json!({"b": {"a": ["x", {"c": "yes", "d": "a\nb\n"}], "e": {}, "f": [[1, 2], []]}, "a": null});
    let text = "b:\n  a:\n  - x\n  - c: \"yes\"\n    d: |\n      a\n      b\n  e: {}\n  f:\n  - - 1\n    - 2\n  - []\na: null\n";
    assert_eq!(write(&value), text);
}

mod laws {
    use super::*;

    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z0-9 :#'\"\\-\\[\\]{},&*!|>%@`\\\\\n\t.?=<_]{0,12}",
            "\\PC{0,6}",
            any::<String>(),
            "[0-9+\\-._:eExobTZ]{1,8}",
            Just("yes\n no\n\n".to_owned()),
        ]
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9f64).prop_map(Value::from),
            texts().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((texts(), inner), 0..4).prop_map(|pairs| pairs.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read_back(value in values()) {
            // Go's emitter writes a key << bare, which no reader takes for a text; our own writer quotes it.
            let printed = write_sorted(&value);
            let printed = if printed.contains("<<") { write(&value) } else { printed };
            for text in [write(&value), printed] {
                for dialect in [Dialect::Kube, Dialect::Gomplate] {
                    prop_assert_eq!(reading(&text, dialect), plain_numbers(value.clone()), "{:?}", text);
                }
            }
        }

        #[test]
        fn no_input_panics(text in "[a-c0-9 :#'\"\\-\\[\\]{},&*!|>%@\\\\\n\t.?<~]{0,60}") {
            let _ = load("f", &text, Dialect::Kube);
            let _ = load_resources("f", &text);
            let _ = super::super::edit::set("f", &text, &["a", "b"], &json!("x"));
            let _ = super::super::edit::unset("f", &text, &["a"]);
        }

        #[test]
        fn an_edit_is_read_back_as_meant(before in values(), key in texts(), value in values()) {
            let mut map = serde_json::Map::new();
            map.insert("k".to_owned(), before);
            map.insert("l".to_owned(), json!(["x", {"y": 1}]));
            let text = write(&Value::Object(map));
            for path in [vec![key.as_str()], vec!["k"], vec!["n", key.as_str()]] {
                let edited = super::super::edit::set("f", &text, &path, &value);
                prop_assert!(edited.is_ok(), "{:?} in {:?}: {:?}", path, text, edited);
            }
        }
    }
}
