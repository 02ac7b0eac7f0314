//! Pure. Tests of reading manifests.

use super::read_manifest;
use crate::model::PackageName;

fn findings(text: &str) -> Vec<String> {
    let name = PackageName::parse("blog").unwrap();
    let findings = match read_manifest("manifest.yaml", &name, text) {
        Ok(read) => read.diagnostics,
        Err(findings) => findings,
    };
    findings
        .iter()
        .map(|finding| finding.to_string() + if finding.hint.is_empty() { "" } else { "; " } + &finding.hint)
        .collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(findings(text), expected, "{text}");
}

#[test]
fn the_whole_manifest_is_read() {
    let text = "\
name: blog
is: journal
description: Words
version: 1.10
icon: https://example.org/i.svg
category: publishing
source: https://example.org/blog
namespace: words
requires:
  - stonedb
  - {name: quickcache, alias: cache, optional: true, versions: '>=7'}
dependencies: [mailpost, stonedb]
defaultConfig:
  b: 1
  a: \"{{ .cloud.domain }}\"
defaultSecrets:
  - token
  - {key: url, default: \"{{ .secrets.token }}\", length: 40, charset: hex}
requiredSecrets: [stonedb.password]
exports: {secrets: [token]}
render: {raw: ['*.sh'], skip: [tests/**]}
upgradePath: [{from: '>=1 <2', to: '1.10'}]
";
    let read = read_manifest("manifest.yaml", &PackageName::parse("blog").unwrap(), text).unwrap();
    let manifest = read.manifest;
    assert_eq!((manifest.is.as_str(), manifest.version.as_str()), ("journal", "1.10"));
    assert_eq!(manifest.namespace.as_deref(), Some("words"));
    let references: Vec<_> = manifest.requires.iter().map(|requirement| requirement.reference()).collect();
    assert_eq!(references, ["stonedb", "cache", "mailpost"]);
    assert_eq!(manifest.default_config.keys().collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(manifest.default_secrets[1].length, 40);
    assert_eq!(manifest.required_secrets[0].copy_key(), "stonedbPassword");
    assert_eq!(manifest.exported_secrets(), ["token"]);
    assert_eq!(manifest.render.raw, ["*.sh"]);
    assert_eq!(manifest.upgrade_path[0].to.as_deref(), Some("1.10"));
    assert_eq!(read.diagnostics.len(), 1, "only the deprecated dependencies are noted");
}

#[test]
fn a_version_keeps_the_text_of_its_author() {
    for (written, expected) in [("1.10", "1.10"), ("\"15.4\"", "15.4"), ("0755", "0755"), ("1e3", "1e3"), ("v2", "v2")]
    {
        let text = format!("version: {written}\n");
        let read = read_manifest("manifest.yaml", &PackageName::parse("blog").unwrap(), &text).unwrap();
        assert_eq!(read.manifest.version, expected);
    }
}

#[test]
fn a_key_set_twice_is_named_with_both_lines() {
    check(
        "version: '1'\ndefaultConfig:\n  a: 1\n  a: 2\n",
        &["manifest.yaml:4:3: L001: the key \"a\" is set twice, first on line 3; keep one of the two"],
    );
}

#[test]
fn an_unquoted_template_is_shown_with_its_quotes() {
    check(
        "version: '1'\ndefaultConfig:\n  tls: {{ .cloud.smtp.tls }}\n",
        &[
            "manifest.yaml:3: L002: a template that is a whole value needs quotes, or YAML reads its braces as a map; write tls: \"{{ .cloud.smtp.tls }}\"",
        ],
    );
    check(
        "version: '1'\ndefaultConfig:\n  - {{ index .cloud \"x\" }}\n",
        &[
            "manifest.yaml:3: L002: a template that is a whole value needs quotes, or YAML reads its braces as a map; write - '{{ index .cloud \"x\" }}'",
        ],
    );
}

#[test]
fn a_template_in_a_block_text_is_fine() {
    check("version: '1'\ndefaultConfig:\n  a: |\n    x: {{ .cloud.x }}\n  b: host.{{ .cloud.domain }}\n", &[]);
}

#[test]
fn a_field_of_the_wrong_type_is_named() {
    check(
        "version: '1'\nrequires: {name: db}\n",
        &["manifest.yaml:2:11: P002: requires: invalid type: map, expected a sequence"],
    );
    check(
        "version: '1'\ndefaultConfig: [a]\n",
        &["manifest.yaml:2: P002: defaultConfig is no map; write key: value lines below it"],
    );
}

#[test]
fn a_version_is_required_and_limited() {
    check("name: blog\n", &["manifest.yaml:1: P002: the manifest has no version; add a line such as version: 1.0.0"]);
    check(
        "version: a b\n",
        &[
            "manifest.yaml:1: P002: the version holds other characters or is too long; use letters, digits, dots, + and -, at most 64 characters",
        ],
    );
    check("", &["manifest.yaml:1: P002: the manifest is empty; add name and version"]);
    check("- a\n", &["manifest.yaml:1: P002: the manifest is no map of fields"]);
}

#[test]
fn unknown_fields_are_kept_and_noted() {
    check(
        "version: '1'\nmaintainers: [x]\n",
        &["manifest.yaml:2: P030: the field maintainers has no meaning here; it is kept as it is"],
    );
}

#[test]
fn the_directory_gives_the_name() {
    check(
        "name: journal\nversion: '1'\n",
        &["manifest.yaml:1: L006: the name differs from the directory blog, which counts"],
    );
}

#[test]
fn references_must_be_clear() {
    check(
        "version: '1'\nrequires:\n  - stonedb\n  - {name: other, alias: stonedb}\n",
        &["manifest.yaml:4: P050: two requirements are both called stonedb; give one of them an alias"],
    );
    check(
        "version: '1'\nrequires:\n  - {name: stonedb, alias: blog}\n",
        &["manifest.yaml:3: P051: the alias blog is the name of the package itself; choose another alias"],
    );
    check(
        "version: '1'\nrequires:\n  - {name: stonedb, versions: recent}\n",
        &["manifest.yaml:3: P002: the range in versions cannot be read; write it like >=15 <17"],
    );
}

#[test]
fn a_secret_of_an_app_that_is_not_required_is_refused() {
    check(
        "version: '1'\nrequiredSecrets: [db.password]\n",
        &[
            "manifest.yaml:2: P060: db.password names db, which the package does not require; add {name: db} to requires",
        ],
    );
    check(
        "version: '1'\nrequiredSecrets: [password]\n",
        &[
            "manifest.yaml:2: P002: \"password\" names no secret of a requirement; write <reference>.<key>, such as db.password",
        ],
    );
}

#[test]
fn secrets_are_checked() {
    check(
        "version: '1'\ndefaultSecrets:\n  - {key: a, length: 4}\n",
        &["manifest.yaml:3: P002: the secret a asks for 4 characters; ask for 8 to 1,024"],
    );
    check(
        "version: '1'\ndefaultSecrets: [a, a]\n",
        &["manifest.yaml:2: P002: the secret a is listed twice; remove one of the two"],
    );
    check(
        "version: '1'\ndefaultSecrets: [{key: a, default: same}]\n",
        &["manifest.yaml:2: L041: the secret a is the same for everybody, because its default is fixed"],
    );
}
