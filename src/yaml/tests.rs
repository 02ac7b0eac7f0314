//! Pure. Tests of the loader and the writer.
//!
//! Not here: tests of edits (`edit.rs`).

use serde_json::{Value, json};

use super::{Dialect, load, load_objects, load_one, write, write_scalar};

/// Reads `x: <input>` in both dialects and compares; an expectation of the form `Y102` is an error id.
fn check_scalar(input: &str, kube: &str, gomplate: &str) {
    for (dialect, expected) in [(Dialect::Kube, kube), (Dialect::Gomplate, gomplate)] {
        let found = match load_one("f", &format!("x: {input}\n"), dialect) {
            Ok(Some(document)) => document.value["x"].to_string(),
            Ok(None) => "nothing".to_owned(),
            Err(findings) => findings[0].id.clone(),
        };
        assert_eq!(found, expected, "{input:?} in {dialect:?}");
    }
}

#[test]
fn smoke() {
    check_scalar("yes", "true", "\"yes\"");
    check_scalar("0755", "493", "493");
    check_scalar("2024-01-02", "\"2024-01-02\"", "\"2024-01-02T00:00:00Z\"");
    check_scalar("{{ .x }}", "Y104", "Y104");
    check_scalar("|\n  hi", "\"hi\\n\"", "\"hi\\n\"");
    let value: Value = json!({"a": {"b": ["x", {"c": "yes", "d": "a\nb\n"}], "e": {}, "f": [[1, 2]]}});
    let text = write(&value);
    assert_eq!(text, "a:\n  b:\n  - x\n  - c: \"yes\"\n    d: |\n      a\n      b\n  e: {}\n  f:\n  - - 1\n    - 2\n");
    assert_eq!(load("f", &text, Dialect::Kube).unwrap().documents[0].value, value);
    assert_eq!(write_scalar("no"), "\"no\"");
    let objects = load_objects(
        "f",
        "kind: A\nmetadata: {name: web}\n---\nkind: BList\nitems:\n- kind: B\n  metadata: {name: db}\n",
    )
    .unwrap();
    assert_eq!(objects[1].line, 6);
}
