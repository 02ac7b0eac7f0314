//! Pure. Tests of which secrets an app wants and how they are made.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Entropy, SecretNeeds, Settlement, generate, random, settle};
use crate::model::{AppName, PackageName, Purpose, SecretOrigin, SecretOrigins, SecretValue, Secrets};
use crate::package::{Charset, Consents, read_manifest};

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

/// Returns needs of an app that may read everything it asks for.
fn needs(fields: &str) -> SecretNeeds {
    asking(fields).judged(&consents(&["rows.password", "rows.user"]))
}

fn consents(granted: &[&str]) -> Consents {
    let granted: Vec<String> = granted.iter().map(|grant| (*grant).to_owned()).collect();
    Consents::new(&granted, BTreeMap::new(), &SecretOrigins::default())
}

fn asking(fields: &str) -> SecretNeeds {
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

/// Renders a default that is written like this beside a copy of `db.password`, a granted one of `db.user` and a secret of the app itself; returns
/// which of the owner's values are said to be in it.
fn within(default: &str, granted: &[&str]) -> String {
    let fields = format!(
        "requiredSecrets: [db.password, db.user]\ndefaultSecrets:\n- own\n- {{key: first, default: 'x{{{{ .secrets.dbPassword }}}}'}}\n- key: made\n  default: '{default}'"
    );
    let mut secrets = Secrets::new();
    for (path, value) in [("apps.rows.password", "p4ss"), ("apps.rows.user", "us3r"), ("apps.blog.own", "0wn")] {
        secrets.insert(path, SecretValue::new(value.to_owned()));
    }
    let needs = asking(&fields).judged(&consents(granted));
    let made = generate(&needs, &secrets, &mut Counting(0)).unwrap();
    let found = made.iter().find(|secret| secret.path == "apps.blog.made");
    match found.map(|secret| (&secret.origin, secret.value.expose(Purpose::DefaultSecret))) {
        None => "not made".to_owned(),
        Some((SecretOrigin::Own, text)) => {
            assert!(!text.contains("p4ss") && !text.contains("us3r"), "{default}: {text}");
            "own".to_owned()
        }
        Some((origin, _)) => origin.paths().join(" "),
    }
}

/// Ways of a default to read the copied password.
const READING: &[&str] = &[
    "{{ .secrets.dbPassword }}",
    "{{ .secrets.db.password }}",
    "{{ $.secrets.dbPassword }}",
    "{{ index .secrets \"dbPassword\" }}",
    "{{ index .secrets \"db\" \"password\" }}",
    "{{ with .secrets }}{{ .dbPassword }}{{ end }}",
    "{{ with .secrets.db }}{{ .password }}{{ end }}",
    "{{ range $key, $value := .secrets }}{{ $key }}{{ if ne $key \"db\" }}{{ $value }}{{ end }}{{ end }}",
    "{{ range .secrets.db }}{{ . }}{{ end }}",
    "{{ $all := .secrets }}{{ $all.dbPassword }}",
    "{{ .secrets | toJSON }}",
    "{{ . | toJSON }}",
    "{{ (coll.Merge .secrets .app).dbPassword }}",
    "{{ coll.Values .secrets.db | toJSON }}",
    "{{ .secrets.dbPassword | base64.Encode }}",
    "{{ .secrets.dbPassword | strings.ToUpper }}",
    "{{ if eq .secrets.dbPassword \"a\" }}a{{ else }}b{{ end }}",
    "{{ len .secrets.dbPassword }}",
    "{{ define \"t\" }}{{ .secrets.dbPassword }}{{ end }}{{ template \"t\" . }}",
    "{{ define \"t\" }}{{ .dbPassword }}{{ end }}{{ template \"t\" .secrets }}",
    "{{ printf \"%s\" .secrets.dbPassword }}",
    "{{ tmpl.Inline \"{{ .secrets.dbPassword }}\" . }}",
    "{{ .secrets.first }}",
];

#[test]
fn whatever_way_a_default_reads_a_copy_it_says_so_and_is_not_made_without_the_word() {
    for default in READING {
        let found = within(default, &["rows.password", "rows.user"]);
        assert!(found.contains("apps.rows.password"), "{default}: {found}");
        assert_eq!(within(default, &["rows.user"]), "not made", "{default}");
        assert_eq!(within(default, &[]), "not made", "{default}");
    }
}

#[test]
fn a_default_that_reads_no_copy_is_the_apps_own_and_made_without_any_word() {
    for default in [
        "{{ .secrets.own }}",
        "{{ .app.user }}",
        "{{ index .secrets \"own\" }}",
        "x",
        "{{ with .secrets.own }}{{ . }}{{ end }}",
    ] {
        assert_eq!(within(default, &["rows.password", "rows.user"]), "own", "{default}");
        assert_eq!(within(default, &[]), "own", "{default}");
    }
    assert_eq!(within("{{ .secrets.dbUser }}", &["rows.user"]), "apps.rows.user");
}

/// The secrets of a blog beside those of its owner, as versions and words come and go.
struct Story {
    secrets: Secrets,
    entropy: Counting,
}

impl Story {
    fn new() -> Self {
        let mut secrets = Secrets::new();
        for (path, value) in
            [("apps.rows.password", "p4ss"), ("apps.rows.user", "us3r"), ("apps.vault.password", "v4ult")]
        {
            secrets.insert(path, SecretValue::new(value.to_owned()));
        }
        Self { secrets, entropy: Counting(0) }
    }

    /// Settles for a version that says this with these grants; returns the values of the blog.
    fn settle(&mut self, needs: SecretNeeds, granted: &[&str]) -> Vec<String> {
        let granted: Vec<String> = granted.iter().map(|grant| (*grant).to_owned()).collect();
        let needs = needs.judged(&Consents::new(&granted, BTreeMap::new(), self.secrets.origins()));
        let Settlement { withdraw, add } = settle(&needs, &self.secrets, &mut self.entropy);
        withdraw.iter().for_each(|path| self.secrets.remove(path));
        for secret in add {
            assert!(!self.secrets.contains(&secret.path), "{} is there", secret.path);
            self.secrets.insert(&secret.path, secret.value);
            if secret.origin != SecretOrigin::Own {
                self.secrets.note_origin(&secret.path, secret.origin);
            }
        }
        let Settlement { withdraw, add } = settle(&needs, &self.secrets, &mut self.entropy);
        assert!(withdraw.is_empty() && add.is_empty(), "a second time there is nothing to do");
        let text = |value: &SecretValue| value.expose(Purpose::DefaultSecret).to_owned();
        self.secrets.of_app("blog").map(|(key, value)| format!("{key}={}", text(value))).collect()
    }
}

const V1: &str = "defaultSecrets: []";
const V2: &str = "requiredSecrets: [db.password]";
const V3: &str = "requiredSecrets: [db.password, db.user]\ndefaultSecrets:\n- {key: url, default: '{{ .secrets.db.user }}:{{ .secrets.dbPassword }}'}\n- {key: name, default: 'n-{{ .secrets.dbUser }}'}";

#[test]
fn values_follow_the_word_over_versions_and_back() {
    let mut story = Story::new();
    assert_eq!(story.settle(asking(V1), &[]), [""; 0]);
    assert_eq!(story.settle(asking(V2), &[]), [""; 0]);
    assert_eq!(story.settle(asking(V3), &[]), [""; 0]);
    assert_eq!(story.settle(asking(V3), &["rows.user"]), ["dbUser=us3r", "name=n-us3r"]);
    let all = ["dbPassword=p4ss", "dbUser=us3r", "name=n-us3r", "url=us3r:p4ss"];
    assert_eq!(story.settle(asking(V3), &["rows.user", "rows.password"]), all);
    // Taken back, and given again.
    assert_eq!(story.settle(asking(V3), &["rows.user"]), ["dbUser=us3r", "name=n-us3r"]);
    assert_eq!(story.settle(asking(V3), &["rows.user", "rows.password"]), all);
    // Back to versions that ask for less, whatever is granted.
    assert_eq!(story.settle(asking(V2), &["rows.user", "rows.password"]), ["dbPassword=p4ss"]);
    assert_eq!(story.settle(asking(V1), &["rows.user", "rows.password"]), [""; 0]);
}

#[test]
fn a_word_for_one_owner_is_none_for_another_that_the_app_is_bound_to_by_now() {
    let bound = |app_name: &str| {
        let text = format!("version: '1'\nrequires:\n  - {{name: stonedb, alias: db}}\n{V3}");
        let read = read_manifest("manifest.yaml", &PackageName::parse("blog").unwrap(), &text).unwrap();
        SecretNeeds::of(&app("blog"), &read.manifest, &BTreeMap::from([("db".to_owned(), app(app_name))]))
    };
    let mut story = Story::new();
    story.secrets.insert("apps.vault.user", SecretValue::new("root".to_owned()));
    let of_rows = ["rows.user", "rows.password"];
    assert_eq!(story.settle(bound("rows"), &of_rows).len(), 4);
    assert_eq!(story.settle(bound("vault"), &of_rows), [""; 0]);
    let both = ["rows.user", "rows.password", "vault.user", "vault.password"];
    assert_eq!(
        story.settle(bound("vault"), &both),
        ["dbPassword=v4ult", "dbUser=root", "name=n-root", "url=root:v4ult"]
    );
    assert_eq!(story.settle(bound("rows"), &both).len(), 4);
    assert_eq!(story.settle(bound("rows"), &["vault.user", "vault.password"]), [""; 0]);
}

#[test]
fn a_value_at_third_hand_goes_with_the_word_for_its_first_owner() {
    let mut story = Story::new();
    // The rows' password is that of the vault by now.
    story.secrets.note_origin("apps.rows.password", SecretOrigin::Copy("apps.vault.password".to_owned()));
    assert_eq!(story.settle(asking(V2), &["rows.password"]), [""; 0]);
    assert_eq!(story.settle(asking(V2), &["vault.password"]), [""; 0]);
    assert_eq!(story.settle(asking(V2), &["rows.password", "vault.password"]), ["dbPassword=p4ss"]);
    story.secrets.note_origin("apps.rows.password", SecretOrigin::Copy("apps.rows.user".to_owned()));
    assert_eq!(story.settle(asking(V2), &["rows.password", "vault.password"]), [""; 0]);
}

#[test]
fn an_own_secret_that_takes_the_name_of_a_copy_never_gets_its_value() {
    for fields in ["defaultSecrets: [dbPassword]", "defaultSecrets: [dbPassword]\nrequiredSecrets: [db.password]"] {
        let mut story = Story::new();
        assert_eq!(story.settle(asking(V2), &["rows.password"]), ["dbPassword=p4ss"]);
        let found = story.settle(asking(fields), &["rows.password"]);
        assert!(found.len() == 1 && !found[0].contains("p4ss"), "{found:?}");
    }
}

#[test]
fn what_a_person_gave_in_place_of_a_copy_needs_no_word_and_stays() {
    let mut story = Story::new();
    story.secrets.insert("apps.blog.dbPassword", SecretValue::new("mine".to_owned()));
    let needs =
        asking("requiredSecrets: [db.password]\ndefaultSecrets: [{key: url, default: 'x{{ .secrets.dbPassword }}'}]");
    assert!(needs.withheld(&story.secrets).is_empty());
    assert_eq!(story.settle(needs, &[]), ["dbPassword=mine"]);
}

#[test]
fn secrets_that_were_lost_are_not_made_up_while_others_are_settled() {
    let mut story = Story::new();
    let fields = "requiredSecrets: [db.password]\ndefaultSecrets: [seed, {key: url, default: '{{ .secrets.seed }}{{ .secrets.dbPassword }}'}]";
    assert_eq!(story.settle(asking(fields), &["rows.password"]), ["dbPassword=p4ss"]);
}
