//! Pure. The rules of merging a section, one case each.
//!
//! Not here: finding renamed keys (`config`).

use serde_json::{Map, Value, json};

use super::{ConfigMerged, merge_config};

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn merge(old: Value, section: Value, new: Value) -> ConfigMerged {
    merge_config(&map(old), &map(section), &map(new))
}

/// Expects edits as `key=value` or `-key`, then conflicts as `?key`.
fn check(old: Value, section: Value, new: Value, expected: &str) {
    let merged = merge(old, section, new);
    let mut found: Vec<String> = merged
        .edits
        .iter()
        .map(|edit| match &edit.value {
            Some(value) => format!("{}={value}", edit.path.join(".")),
            None => format!("-{}", edit.path.join(".")),
        })
        .collect();
    found.extend(merged.conflicts.iter().map(|conflict| format!("?{}", conflict.key)));
    assert_eq!(found.join(" "), expected);
}

#[test]
fn a_new_default_is_added() {
    check(json!({}), json!({}), json!({"port": 80}), "port=80");
    check(json!({"a": 1}), json!({"a": 1}), json!({"a": 1, "b": {"c": 2}}), r#"b={"c":2}"#);
}

#[test]
fn a_new_key_below_an_existing_map_is_added() {
    check(json!({"a": {"x": 1}}), json!({"a": {"x": 5}}), json!({"a": {"x": 1, "y": 2}}), "a.y=2");
}

#[test]
fn a_value_that_nobody_edited_follows_its_default() {
    check(json!({"image": "blog:1"}), json!({"image": "blog:1"}), json!({"image": "blog:2"}), r#"image="blog:2""#);
}

#[test]
fn an_edited_value_stays() {
    check(json!({"size": "1Gi"}), json!({"size": "9Gi"}), json!({"size": "2Gi"}), "");
    let merged = merge(json!({"size": "1Gi"}), json!({"size": "9Gi"}), json!({"size": "2Gi"}));
    let expected = "config key size keeps your value; its default moved: 1Gi → 2Gi";
    assert_eq!(merged.notices[0].to_string(), expected);
}

#[test]
fn a_default_that_went_takes_an_unedited_value_along() {
    check(json!({"a": 1, "b": 2}), json!({"a": 1, "b": 2}), json!({"a": 1}), "-b");
    check(json!({"a": {"x": 1}}), json!({"a": {"x": 1}}), json!({}), "-a");
}

#[test]
fn an_edited_value_whose_default_went_stays_with_a_notice() {
    check(json!({"theme": 1}), json!({"theme": 2}), json!({}), "");
    let merged = merge(json!({"theme": 1}), json!({"theme": 2}), json!({}));
    assert_eq!(merged.notices.len(), 1);
}

#[test]
fn an_edited_value_whose_key_was_renamed_is_a_conflict() {
    check(json!({"host": "h"}), json!({"host": "mine"}), json!({"hosts": "x"}), r#"hosts="x" ?host"#);
    check(json!({"storage": "1Gi"}), json!({"storage": "9Gi"}), json!({"size": "1Gi"}), r#"size="1Gi" ?storage"#);
}

#[test]
fn an_edited_value_whose_default_is_of_another_kind_now_is_a_conflict() {
    check(json!({"tls": true}), json!({"tls": false}), json!({"tls": {"mode": "on"}}), "?tls");
    check(json!({}), json!({"tls": false}), json!({"tls": ["a"]}), "?tls");
}

#[test]
fn a_key_that_a_person_added_stays() {
    check(json!({}), json!({"own": 1}), json!({}), "");
    check(json!({}), json!({"port": 80}), json!({"port": 80}), "");
    check(json!({}), json!({"port": 81}), json!({"port": 80}), "");
}

#[test]
fn a_key_that_a_person_removed_stays_away() {
    check(json!({"a": 1}), json!({}), json!({"a": 2}), "");
}

#[test]
fn a_second_merge_of_the_result_changes_nothing() {
    check(json!({"a": 2, "b": 3}), json!({"a": 2, "b": 9}), json!({"a": 2, "b": 3}), "");
}
