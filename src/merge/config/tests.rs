//! Pure. The rules of merging a section, one case each.
//!
//! Not here: finding renamed keys (`config`).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::conflict::ConflictKind;
use super::{ConfigMerged, kept_keys, merge_config};

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn merge(old: Value, section: Value, new: Value) -> ConfigMerged {
    merge_config(&map(old), &map(section), &map(new), &BTreeSet::new())
}

/// Expects edits as `key=value` or `-key`, then conflicts as `?key`.
fn check(old: Value, section: Value, new: Value, expected: &str) {
    check_edits(&merge(old, section, new), expected);
}

fn check_edits(merged: &ConfigMerged, expected: &str) {
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

#[test]
fn items_of_an_edited_list_follow_upstream_where_nobody_edited_them() {
    check(
        json!({"tags": ["a", "b"]}),
        json!({"tags": ["a", "b", "mine"]}),
        json!({"tags": ["a", "b", "c"]}),
        r#"tags=["a","b","mine","c"]"#,
    );
    let hosts =
        |port: u16, own: &str| json!({"web": {"hosts": [{"host": "a", "port": port}, {"host": own, "port": 1}]}});
    check(
        hosts(80, "b"),
        hosts(80, "mine"),
        hosts(81, "b"),
        r#"web.hosts=[{"host":"a","port":81},{"host":"mine","port":1}]"#,
    );
}

#[test]
fn items_of_a_list_that_both_sides_changed_stay_as_they_are() {
    let env = |value: &str| json!({"env": [{"name": "A", "value": value}]});
    check(env("1"), env("mine"), env("2"), "");
}

#[test]
fn a_renamed_key_comes_with_the_edit_that_would_do() {
    let merged = merge(json!({"web": {"host": "h"}}), json!({"web": {"host": "mine"}}), json!({"web": {"hosts": "x"}}));
    assert_eq!(merged.conflicts[0].kind, ConflictKind::Config);
    let suggestion = merged.conflicts[0].suggestion.clone().unwrap();
    assert_eq!((suggestion.path.as_str(), suggestion.value.as_str()), ("web.hosts", "mine"));
}

/// Merges `old` unedited but with some keys marked, and new defaults.
fn check_kept(text: &str, new: Value, expected: &str) {
    let text = format!("apps:\n  blog:\n{text}");
    let kept = kept_keys(&text, &["apps", "blog"]);
    let value = crate::yaml::load_one("config.yaml", &text, crate::yaml::Dialect::Gomplate).unwrap().unwrap().value;
    let section = map(value["apps"]["blog"].clone());
    check_edits(&merge_config(&section, &section, &map(new), &kept), expected);
}

#[test]
fn a_key_that_a_comment_keeps_counts_as_edited() {
    check_kept("    image: a:1\n", json!({"image": "a:2"}), r#"image="a:2""#);
    check_kept("    image: a:1 # wild: keep\n", json!({"image": "a:2"}), "");
    check_kept("    # wild: keep\n    image: a:1\n    port: 1\n", json!({"image": "a:2", "port": 2}), "port=2");
    check_kept("    image: a:1 # wild: keep\n", json!({}), "");
    check_kept("    web: # wild: keep\n      port: 1\n", json!({"web": {"port": 2}}), "");
    check_kept("    web:\n      port: 1 # wild: keep\n      host: a\n", json!({}), "-web.host");
    check_kept("    tls: true # wild: keep\n", json!({"tls": {"mode": "on"}}), "?tls");
    check_kept("    tags: [a] # wild: keep\n", json!({"tags": ["a", "b"]}), "");
}

#[test]
fn every_recorded_row_comes_out_as_recorded() {
    let text = include_str!("../../../fixtures/merge/config.yaml");
    let rows = crate::yaml::load_one("config.yaml", text, crate::yaml::Dialect::Gomplate).unwrap().unwrap().value;
    for row in rows.as_array().unwrap() {
        let merged = merge(row["old"].clone(), row["mine"].clone(), row["new"].clone());
        let list = |key: &str| row[key].as_array().cloned().unwrap_or_default();
        let set: Map<String, Value> =
            merged.edits.iter().filter_map(|edit| Some((edit.path.join("."), edit.value.clone()?))).collect();
        assert_eq!(set, row["set"].as_object().cloned().unwrap_or_default(), "{row}");
        let gone = merged.edits.iter().filter(|edit| edit.value.is_none()).map(|edit| json!(edit.path.join(".")));
        assert_eq!(gone.collect::<Vec<_>>(), list("removed"), "{row}");
        assert_eq!(merged.conflicts.iter().map(|it| json!(it.key)).collect::<Vec<_>>(), list("open"), "{row}");
        assert_eq!(
            merged.notices.iter().map(|it| json!(format!("{:?}", it.kind))).collect::<Vec<_>>(),
            list("says"),
            "{row}"
        );
    }
}
