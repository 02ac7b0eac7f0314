//! Pure. Every spelling of a value, every form of a key, and what is none.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::{Finding, Leak, Location, Role, Search, judge};
use crate::model::{NoSecrets, SecretValue};

const PLAIN: &str = "Xk3vPq9wZt8m";
/// Quote, line break, backslash, a letter beyond ASCII, and what regular expressions and addresses take for signs.
const ODD: &str = "it's \"a\\b\"\n$^.*(ä)?&%/=+ end";
/// What a key looks like behind its mark.
const BODY: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";

fn search() -> Search {
    let values = [("apps.blog.token", PLAIN), ("apps.blog.odd", ODD), ("apps.blog.short", "gardene")];
    let values = values.map(|(path, value)| (path, SecretValue::new(value.to_owned())));
    Search::of(values.iter().map(|(path, value)| (*path, value)))
}

fn shown(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|Finding { line, leak }| format!("{line}: {leak}")).collect()
}

#[track_caller]
fn check(text: impl AsRef<[u8]>, expected: &[&str]) {
    let found = shown(&judge(text.as_ref(), Role::Other, &search(), &NoSecrets::default()));
    assert!(!found.concat().contains(PLAIN));
    assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(text.as_ref()));
}

const TOKEN: &str = "it holds the value of the secret apps.blog.token";
const ODD_ONE: &str = "it holds the value of the secret apps.blog.odd";

/// Escapes every character of a text as JSON may.
fn unicode(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn percent(text: &str, keep: fn(u8) -> bool) -> String {
    let encode = |byte: u8| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

#[test]
fn a_value_is_found_however_it_is_written() {
    for (value, told) in [(PLAIN, TOKEN), (ODD, ODD_ONE)] {
        let json = serde_json::to_string(&serde_json::json!({ "a": value })).unwrap();
        let indented = value.replace('\n', "\n    ");
        let forms = [
            value.to_owned(),
            format!("a long line before {value}; and more"),
            format!("url: https://me:{}@host/", percent(value, |byte| byte.is_ascii_alphanumeric())),
            format!("url: https://me:{}@host/", percent(value, |_| false)),
            format!("url: {}", percent(value, |_| false).to_ascii_lowercase()),
            json.clone(),
            serde_json::to_string(&json).unwrap(),
            format!("{{\"a\": \"{}\"}}", unicode(value)),
            format!("a: |\n    {indented}\n"),
            value.encode_utf16().flat_map(u16::to_le_bytes).map(char::from).collect(),
        ];
        for form in forms {
            let found = judge(form.as_bytes(), Role::Other, &search(), &NoSecrets::default());
            // In wide characters of Latin-1 only ASCII survives this way of making them.
            if !form.contains('\0') || value.is_ascii() {
                assert!(shown(&found).iter().any(|it| it.ends_with(told)), "{form:?}: {found:?}");
            }
        }
    }
}

#[test]
fn base64_is_found_at_every_alignment_and_wrapped() {
    for value in [PLAIN, ODD] {
        for before in ["", "u", "us", "user:", "user", "{\"auths\":{\"x\":{\"password\":\""] {
            for after in ["", "x", "xy", "\"}}}"] {
                let whole = format!("{before}{value}{after}");
                let encoded = STANDARD.encode(&whole);
                let wrapped: Vec<&str> =
                    encoded.as_bytes().chunks(7).map(|it| std::str::from_utf8(it).unwrap()).collect();
                let forms = [
                    format!("k: {encoded}\n"),
                    format!("k: {}\n", URL_SAFE.encode(&whole)),
                    format!("k:\n  {}\n", wrapped.join("\n  ")),
                ];
                for form in forms {
                    let found = judge(form.as_bytes(), Role::Other, &search(), &NoSecrets::default());
                    assert_eq!(found.len(), 1, "{before:?} {after:?} {form:?}");
                }
            }
        }
    }
}

#[test]
fn the_line_is_that_of_the_file_in_every_spelling() {
    check(format!("a: 1\nb: {PLAIN}\nc: {PLAIN}\n"), &[&format!("2: {TOKEN}")]);
    check(format!("a: \"x\\ny\"\nb: \"{}\"\n", unicode(PLAIN)), &[&format!("2: {TOKEN}")]);
    check(format!("a: 1%\n\nb: {}\n", percent(PLAIN, |_| false)), &[&format!("3: {TOKEN}")]);
    check(format!("1\n2\n  {}\n", STANDARD.encode(PLAIN)), &[&format!("3: {TOKEN}")]);
    check(b"\x00\xff\n\x00Xk3vPq9wZt8m\x01", &[&format!("2: {TOKEN}")]);
}

#[test]
fn what_is_short_or_like_a_value_is_none() {
    check("gardene\nZ2FyZGVuZQ==\n", &[]);
    check("xk3vpq9wzt8m Xk3vPq9wZt8 k3vPq9wZt8m\n", &[]);
    check("Xk3v Pq9w Zt8m\nXk3vPq9w\\Zt8m\n%58k3%\n\\u12\n", &[]);
    check("", &[]);
}

#[test]
fn keys_are_found_by_their_form_and_pages_about_them_are_not() {
    for name in ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "] {
        let block = format!("-----BEGIN {name}PRIVATE KEY-----\n{BODY}-----END {name}PRIVATE KEY-----\n");
        check(&block, &["1: it holds a private key"]);
        check(format!("data:\n  key: |\n    {}", block.replace('\n', "\n    ")), &["3: it holds a private key"]);
        check(serde_json::json!({ "key": block }).to_string(), &["1: it holds a private key"]);
        for before in ["", "x", "xy"] {
            check(
                format!("a: 1\nkey: {}\n", STANDARD.encode(format!("{before}{block}"))),
                &["2: it holds a private key"],
            );
        }
    }
    let pgp = format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{BODY}");
    check(pgp, &["1: it holds a private key"]);
    check(format!("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{BODY}"), &["1: it holds a private key"]);
    check(
        format!("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{}\n", "A".repeat(44)),
        &["1: it holds a private key"],
    );
    check("-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n", &[]);
    check(format!("-----BEGIN CERTIFICATE-----\n{BODY}"), &[]);
    check("paste the text from -----BEGIN RSA PRIVATE KEY----- on\n", &[]);
    let age = format!("# age\nAGE-SECRET-KEY-1{}\n", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".repeat(2));
    check(age, &["2: it holds a secret key of age"]);
    check("AGE-SECRET-KEY-1...\n", &[]);
    check("t: wild_k3f7q2m5_Ab3dEf6hIj9lMn2pQr5t\n", &["1: it holds a token of wild"]);
    check("wild_operation_duration_seconds_bucket_total wild_x_aaaaaaaaaaaaaaaaaaaaaaaa\n", &[]);
}

#[test]
fn a_kubeconfig_is_judged_by_what_it_signs_in_with() {
    let config =
        |user: &str| format!("kind: Config\nclusters: []\ncontexts: []\nusers:\n- name: me\n  user:\n    {user}\n");
    let told = ["7: it holds the credential of a kubeconfig"];
    check(config("token: eyJhbGciOiJSUzI1NiJ9.e30.x"), &told);
    check(config("password: hunter2hunter2"), &told);
    check(config(&format!("client-key-data: {}", "A".repeat(64))), &told);
    let key = STANDARD.encode(format!("-----BEGIN EC PRIVATE KEY-----\n{BODY}-----END EC PRIVATE KEY-----\n"));
    check(config(&format!("client-key-data: {key}")), &["7: it holds a private key", told[0]]);
    check(config("exec: {command: gke-gcloud-auth-plugin}"), &[]);
    check(config("token: ${TOKEN}"), &[]);
    check(config("client-key: /home/me/key"), &[]);
}

#[test]
fn a_kubeconfig_hides_its_credential_behind_no_notation_of_yaml_and_says_when_it_was_taken_out() {
    let config =
        |user: &str| format!("kind: Config\nclusters: []\ncontexts: []\nusers:\n- name: me\n  user:\n    {user}\n");
    let told = "it holds the credential of a kubeconfig";
    let key = "A".repeat(64);
    for user in [
        "token: >-\n      abcdefgh12",
        "token: |\n      abcdefgh12\n",
        "token: |2- # mine\n      abcdefgh12",
        "token:\n      abcdefgh12",
        "token:\n    # mine\n      'abcdefgh12'",
        "token: &a abcdefgh12",
        "token: &a\n      abcdefgh12",
        "token: !!str abcdefgh12",
        "token: !!str &a >-\n      abcdefgh12",
        "token: ! 'abcdefgh12'",
        "token : abcdefgh12",
        "'token': abcdefgh12",
        "\"token\": \"abcdefgh12\"",
        "\"tok\\u0065n\": \"abcdefgh12\"",
        "? token\n    : abcdefgh12",
        "token: *a",
        "token: \"!abcdefgh12\"",
        "password: >-\n      hunter2hunter2",
        "password: !!str hunter2hunter2",
        "password: password",
        "password: changeme",
        "password: my-secret-password",
        "token: your-5ecret-here",
        "token: REDACTED-no-not-that1",
        &format!("client-key-data: !!binary {key}"),
        &format!("client-key-data: &k >-\n      {key}"),
    ] {
        let found = shown(&judge(config(user).as_bytes(), Role::Other, &search(), &NoSecrets::default()));
        assert!(found.len() == 1 && found[0].ends_with(told), "{user}: {found:?}");
    }
    for user in [
        "token: REDACTED",
        "token: 'REDACTED'",
        "token: >-\n      REDACTED",
        "client-key-data: DATA+OMITTED\n    token: REDACTED",
        "password: DATA+OMITTED",
        "token: YOUR-TOKEN-HERE",
        "token: \"your_bearer_token_here\"",
        "token: <your-token-here>",
        "token: replace-me",
        "token: change-me-here",
        "token: xxxxxxxxxxxxxxxx",
        "token: '****************'",
        "token: $TOKEN_OF_HOME",
        "token:\n    username: somebodyelse",
        "token:\n- name: somebodyelse",
        "tokenFile: /run/secrets/tokens/home",
    ] {
        check(config(user), &[]);
    }
}

#[test]
fn the_mark_of_a_key_is_none_without_a_body_behind_it() {
    let mark = "-----BEGIN RSA PRIVATE KEY-----";
    for text in [
        format!("if grep -q -- '{mark}' /etc/ssl/private/server/key; then echo found; fi\n"),
        format!("A file that begins with {mark} is a key, see https://example.org/docs/HowTo2/keys/and/more/of/it\n"),
        format!("if line == \"{mark}\" {{ return readTheWholeKeyOfTheServer(1) }}\n"),
        format!("{mark}\n...\n-----END RSA PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\n{BODY}{BODY}"),
        format!("sed -n '/{mark}/,$p' /var/lib/rancher/k3s/server/tls/client-ca.key\nsha256 {}\n", "0a1b".repeat(16)),
        format!("# {mark}\n# <the key of the server comes here, as it is written by openssl>\n"),
        format!("KEY='{mark}'\n--from-file=/home/alice/.ssh/id_rsa\n"),
        format!("key: {mark} REDACTED\n"),
    ] {
        check(&text, &[]);
    }
    let line = BODY.lines().collect::<String>();
    for text in [
        format!("{mark}\n{BODY}"),
        format!("{mark} {line} -----END RSA PRIVATE KEY-----"),
        format!("key = b\"{mark}\\n\" \\\n  b\"{line}\\n\"\n"),
        format!("String key = \"{mark}\\n\" +\n  \"{line}\";\n"),
        format!("echo '{mark}' > k\necho '{line}' >> k\n"),
        format!("{mark}\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,0A1B2C\r\n\r\n{BODY}"),
        format!("# {mark}\n# {}\n", BODY.lines().next().unwrap()),
        format!(
            "{mark}\n{}",
            line.as_bytes().chunks(10).map(|it| String::from_utf8_lossy(it) + "\n").collect::<String>()
        ),
        format!("a: >-\n  {mark}\n  {line}\n"),
    ] {
        let found = shown(&judge(text.as_bytes(), Role::Other, &search(), &NoSecrets::default()));
        assert!(found.len() == 1 && found[0].ends_with("it holds a private key"), "{text}: {found:?}");
    }
}

#[test]
fn a_token_is_drawn_by_lot_and_a_name_is_made_by_people() {
    for name in [
        "wild_http_requestsTotal1234567890123",
        "wild_http_requestsTotalByInstanceAndRoute2",
        "wild_app_info20261126abcdefghijkl",
        "wild_x_aaaaaaaaaaaaaaaaaaaaaaaa1",
    ] {
        check(format!("token: {name}\n"), &[]);
    }
    for token in [
        "wild_k3f7q2m5_Ab3dEf6hIj9lMn2pQr5t",
        "wild_a_0c4f19b7e2d83a5610ffb2c9",
        "wild_k3f7_mfrggzdfmztwq2lknnwg23tpobyxe43u",
    ] {
        check(format!("token: {token}\n"), &["1: it holds a token of wild"]);
    }
}

#[test]
fn files_of_secrets_are_told_by_their_names() {
    for name in [
        "secrets.yaml",
        "Secrets.YAML",
        "secrets.yml",
        "secrets.sops.yaml",
        "secrets.yaml.bak",
        "secrets.yaml~",
        ".secrets.yaml.swp",
        "#secrets.yaml#",
        "secrets.yaml.orig.bak",
    ] {
        assert_eq!(Role::of(name, Location::Instance), Role::Secrets, "{name}");
    }
    for name in ["my-secrets.yaml", "package.json", ".sops.yaml", "config.yaml"] {
        assert_eq!(Role::of(name, Location::Instance), Role::Other, "{name}");
    }
    for name in ["secrets.yaml.example", "secrets", "README.md", "seal.py"] {
        assert_eq!(Role::of(name, Location::Instance), Role::Page, "{name}");
    }
    assert_eq!(Role::of("secrets.yaml", Location::Other), Role::Other);
    assert_eq!([Role::of("db.sops.yaml", Location::Other), Role::of("a.sops.json~", Location::Other)], [Role::Sops; 2]);
    let told = |text: &str| {
        judge(text.as_bytes(), Role::Secrets, &Search::nothing(), &NoSecrets::default())
            .iter()
            .any(|it| it.leak == Leak::SecretsFile)
    };
    assert!(told("apps: {}\n") && told("") && told("a: [\n") && told("\u{0}"));
}

const SEALED: &str = "ENC[AES256_GCM,data:aGVsbG8=,iv:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,tag:AAAAAAAAAAAAAAAAAAAAAA==,type:str]";

fn sops(values: &str, rule: &str) -> String {
    format!(
        "{values}sops:\n  age:\n  - recipient: age1x\n    enc: x\n  lastmodified: '2026-01-01T00:00:00Z'\n  mac: {SEALED}\n  version: 3.9.0\n{rule}"
    )
}

#[test]
fn a_section_sops_proves_nothing() {
    let claim =
        |text: &str, role: Role| shown(&judge(text.as_bytes(), role, &Search::nothing(), &NoSecrets::default()));
    let sealed = |rule: &str| sops(&format!("a: {SEALED}\nb: [{{c: '{SEALED}'}}, '']\nd: null\n"), rule);
    for role in [Role::Secrets, Role::Sops, Role::Other, Role::Page] {
        assert!(claim(&sealed(""), role).is_empty());
        assert!(
            claim(&sealed("").replace("age:\n  - recipient: age1x\n    enc: x", "kms:\n  - arn: x"), role).is_empty()
        );
    }
    let lies = [
        (sops(&format!("a: {SEALED}\nb: hunter2\n"), ""), "holds a value in clear at b"),
        (sops("a: {b: [x, {c: 5}]}\n", ""), "holds a value in clear at a.b"),
        (sops("a: ENC[AES256_GCM,hunter2]\n", ""), "holds a value in clear at a"),
        (sops("a: ENC[x]\n", ""), "holds a value in clear at a"),
        (sealed("").replace(&format!("mac: {SEALED}"), "mac: x"), "has no sops.mac as SOPS writes it"),
        (sealed("").replace("age:\n  - recipient: age1x\n    enc: x", "age: []"), "has no sops.age as SOPS writes it"),
        (sealed("").replace("a: ENC", "a: [\n  b: ENC"), "is no valid YAML at line 1"),
    ];
    for (text, fault) in lies {
        assert_eq!(claim(&text, Role::Secrets), ["0: it holds secret values in clear"], "{text}");
        for role in [Role::Sops, Role::Other] {
            let found = claim(&text, role);
            let is_told = found.len() == 1 && found[0].starts_with("0: it claims to be encrypted by SOPS and ");
            assert!(is_told && (found[0].ends_with(fault) || fault.starts_with("is no valid")), "{found:?} {text}");
        }
    }
    // What a rule leaves readable is a person's choice, but not in the file of secrets.
    for (values, rule) in [
        ("name_unencrypted: x\n", ""),
        ("kind: Secret\n", "  encrypted_regex: ^data$\n"),
        ("a: x\n", "  unencrypted_regex: .*\n"),
    ] {
        let text = sops(&format!("{values}data: {SEALED}\n"), rule)
            .replace(if rule.contains(".*") { SEALED } else { "\0" }, SEALED);
        assert!(claim(&text, Role::Other).is_empty(), "{text}");
        assert_eq!(claim(&text, Role::Secrets).len(), 1);
    }
    assert_eq!(claim("a: b\n", Role::Sops), ["0: it claims to be encrypted by SOPS and is not encrypted by SOPS"]);
    let json = format!(
        "{{\"a\": \"{SEALED}\", \"sops\": {{\"pgp\": [{{}}], \"mac\": \"{SEALED}\", \"lastmodified\": \"x\"}}}}"
    );
    assert!(claim(&json, Role::Other).is_empty());
    assert_eq!(claim(&json.replacen(SEALED, "hunter2", 1), Role::Other).len(), 1);
}

#[test]
fn words_about_encrypted_files_claim_nothing() {
    let claim =
        |text: &str, role: Role| shown(&judge(text.as_bytes(), role, &Search::nothing(), &NoSecrets::default()));
    let sample = "a: ENC[x]\nsops:\n  mac: ENC[y]\n  lastmodified: x\n";
    for text in [
        format!("# How to\n\nA file then looks like this:\n\n```yaml\n{sample}```\n"),
        "import json\nif \"sops\" in file: print(file[\"sops\"][\"mac\"], [file[\"lastmodified\"]\n".to_owned(),
    ] {
        assert!(claim(&text, Role::Page).is_empty(), "{text}");
    }
    let inside = "data:\n  x: '{\"sops\": {\"mac\": 1, \"lastmodified\": 2}}'\n";
    assert!(claim(inside, Role::Other).is_empty());
    // A file that is read as one and is not encrypted lies, whatever it is called.
    for role in [Role::Other, Role::Page] {
        assert_eq!(claim(sample, role).len(), 1);
    }
}

#[test]
fn other_values_are_another_search() {
    let of = |value: &str| {
        let value = SecretValue::new(value.to_owned());
        *Search::of([("a", &value)].into_iter()).digest()
    };
    assert!(of("Xk3vPq9w") == of("Xk3vPq9w") && of("Xk3vPq9w") != of("Xk3vPq9v") && Search::nothing().is_empty());
    assert!(!format!("{:?}", search()).contains(PLAIN));
}
