//! Pure. Tests of which secrets an app wants and how they are made.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Entropy, SecretNeeds, generate, random};
use crate::model::{AppName, PackageName, Purpose, SecretValue, Secrets};
use crate::package::{Charset, read_manifest};

/// Counts up, so that every text is known.
struct Counting(u8);

impl Entropy for Counting {
    fn bytes(&mut self, buffer: &mut [u8]) {
        for byte in buffer {
            *byte = self.0;
            self.0 = self.0.wrapping_add(1);
        }
    }
}

/// Gives one byte for ever.
struct Stuck(u8);

impl Entropy for Stuck {
    fn bytes(&mut self, buffer: &mut [u8]) {
        buffer.fill(self.0);
    }
}

fn app(name: &str) -> AppName {
    AppName::parse(name).unwrap()
}

fn needs(fields: &str) -> SecretNeeds {
    let text = format!("version: '1'\nrequires:\n  - {{name: stonedb, alias: db}}\n{fields}");
    let read = read_manifest("manifest.yaml", &PackageName::parse("blog").unwrap(), &text).unwrap();
    let bindings = BTreeMap::from([("db".to_owned(), app("rows"))]);
    SecretNeeds::of(&app("blog"), &read.manifest, &bindings)
        .with_context(json!({"app": {"user": "u", "host": "h"}, "cloud": {"domain": "example.org"}}))
}

fn check(fields: &str, present: &[(&str, &str)], expected: &[&str]) {
    let mut secrets = Secrets::new();
    for (path, value) in present {
        secrets.insert(path, SecretValue::new((*value).to_owned()));
    }
    let found: Vec<String> = match generate(&needs(fields), &secrets, &mut Counting(0)) {
        Ok(made) => made.iter().map(|it| format!("{}={}", it.path, it.value.expose(Purpose::DefaultSecret))).collect(),
        Err(findings) => findings.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(found, expected);
}

#[test]
fn a_key_without_default_is_32_letters_and_digits() {
    check("defaultSecrets: [{key: password}]", &[], &["apps.blog.password=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"]);
    check("defaultSecrets: [{key: pin, charset: digits, length: 8}]", &[], &["apps.blog.pin=01234567"]);
    check("defaultSecrets: [token]", &[], &["apps.blog.token=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"]);
}

#[test]
fn a_value_that_is_there_stays_even_if_it_is_empty() {
    check("defaultSecrets: [{key: password}]", &[("apps.blog.password", "")], &[]);
}

#[test]
fn a_default_is_rendered_with_config_and_the_secrets_above_it() {
    check(
        "defaultSecrets:\n  - {key: pin, charset: digits, length: 8}\n  - {key: url, default: \"db://{{ .app.user }}:{{ .secrets.pin }}@{{ .app.host }}\\n\"}",
        &[],
        &["apps.blog.pin=01234567", "apps.blog.url=db://u:01234567@h"],
    );
}

#[test]
fn a_default_may_read_a_value_that_is_there() {
    check(
        "defaultSecrets:\n  - key: pin\n  - {key: url, default: \"x{{ .secrets.pin }}\"}",
        &[("apps.blog.pin", "1")],
        &["apps.blog.url=x1"],
    );
}

#[test]
fn a_secret_of_another_app_is_copied_in_camel_case_and_read_in_both_spellings() {
    check(
        "defaultSecrets: [{key: url, default: \"{{ .secrets.dbPassword }}{{ .secrets.db.password }}\"}]\nrequiredSecrets: [db.password]",
        &[("apps.rows.password", "p")],
        &["apps.blog.dbPassword=p", "apps.blog.url=pp"],
    );
}

#[test]
fn a_missing_source_is_named_with_its_owner() {
    check(
        "requiredSecrets: [db.password]",
        &[],
        &["manifest.yaml: P064: the secret apps.rows.password that blog reads has no value"],
    );
}

#[test]
fn a_default_that_cannot_be_rendered_tells_no_value() {
    check(
        "defaultSecrets:\n  - {key: url, default: \"{{ .secrets.none }}\"}",
        &[],
        &["manifest.yaml:5: T201: the default of the secret url cannot be rendered"],
    );
}

#[test]
fn what_is_missing_is_listed_without_making_it() {
    let needs = needs("defaultSecrets: [{key: password}]\nrequiredSecrets: [db.password]");
    assert_eq!(needs.missing(&Secrets::new()), ["apps.blog.password", "apps.blog.dbPassword"]);
}

#[test]
fn every_character_is_equally_likely() {
    // 256 is no multiple of 62: bytes from 248 on would favour the first eight characters.
    let text = random(Charset::Alnum, 248, &mut Counting(0)).unwrap();
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    text.chars().for_each(|character| *counts.entry(character).or_default() += 1);
    assert_eq!(counts.len(), 62);
    assert!(counts.values().all(|count| *count == 4));
    assert_eq!(random(Charset::Alnum, 32, &mut Stuck(255)), None);
    assert_eq!(random(Charset::Hex, 8, &mut Stuck(255)).as_deref(), Some("ffffffff"));
}

#[test]
fn a_secret_that_only_a_person_knows_is_not_made_up() {
    let secrets = "requiredSecrets: [apps.blog.password, apps.blog.databaseUrl]";
    check(secrets, &[], &["apps.blog.password=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"]);
    check(secrets, &[("apps.blog.password", "x")], &[]);
    assert_eq!(needs(secrets).missing(&Secrets::new()), ["apps.blog.password", "apps.blog.databaseUrl"]);
}
