//! Pure. Files that SOPS encrypted, made here and read again, and what is refused.
//!
//! Not here: files of the real sops (`tests/live`).

use super::{ClearKind, DataKey, Fault, PartKind, Sealer, Seed, SopsFile, is_called_so, without_marks};

const TIME: &str = "2026-01-02T03:04:05Z";
const SECTION: &str = "sops:
    age:
        - recipient: age1one
          enc: |
            -----BEGIN AGE ENCRYPTED FILE-----
            YWdl
            -----END AGE ENCRYPTED FILE-----
    lastmodified: \"2020-01-01T00:00:00Z\"
    mac: none
    version: 3.13.3
";

fn key(byte: u8) -> DataKey {
    DataKey::new(vec![byte; 32]).unwrap()
}

/// Encrypts a text in clear, with what else the section `sops` holds.
fn seal(clear: &str, more: &str) -> String {
    let file = SopsFile::read(&format!("{clear}{SECTION}{more}")).unwrap();
    let (key, seed) = (key(7), Seed::new([3; 32]));
    file.written(&file.clear().unwrap(), TIME, Sealer { key: &key, seed: &seed }, |_| None).unwrap()
}

fn open(text: &str) -> Result<Vec<(String, ClearKind, String)>, Fault> {
    let file = SopsFile::read(text)?;
    let values = file.open(&key(7))?;
    let shown = |(part, value): (&super::Part, &Option<super::Clear>)| match (&part.kind, value) {
        (PartKind::Value { place, .. }, Some(value)) => {
            Some((place.clone(), value.kind(), String::from_utf8(value.expose().to_vec()).unwrap()))
        }
        _ => None,
    };
    Ok(file.parts().iter().zip(&values).filter_map(shown).collect())
}

const CLEAR: &str = "apps:
    blog:
        password: 'p4ss: word'
        port: 8080
        ratio: 1.50
        on: true
        none: null
        empty: \"\"
        text: |- # two lines
            first

            second
        folded: >
            third
        hosts:
            - one
            - {name: two, port: 2}
        shown_unencrypted: visible
";

#[test]
fn what_was_encrypted_is_read_with_its_types_and_in_its_order() {
    let text = seal(CLEAR, "");
    assert!(!text.contains("p4ss") && !text.contains("8080") && text.contains("visible"), "{text}");
    assert_eq!(text.matches("ENC[AES256_GCM,").count(), 10, "{text}");
    assert!(text.contains("none: null\n") && text.contains("empty: \"\"\n"), "{text}");
    let found = open(&text).unwrap();
    let found: Vec<(&str, ClearKind, &str)> = found.iter().map(|(a, b, c)| (a.as_str(), *b, c.as_str())).collect();
    let expected = [
        ("apps:blog:password:", ClearKind::Text, "p4ss: word"),
        ("apps:blog:port:", ClearKind::Integer, "8080"),
        ("apps:blog:ratio:", ClearKind::Float, "1.5"),
        ("apps:blog:on:", ClearKind::Boolean, "True"),
        ("apps:blog:empty:", ClearKind::Text, ""),
        ("apps:blog:text:", ClearKind::Text, "first\n\nsecond"),
        ("apps:blog:folded:", ClearKind::Text, "third\n"),
        ("apps:blog:hosts:", ClearKind::Text, "one"),
        ("apps:blog:hosts:name:", ClearKind::Text, "two"),
        ("apps:blog:hosts:port:", ClearKind::Integer, "2"),
        ("apps:blog:shown_unencrypted:", ClearKind::Text, "visible"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_rule_says_which_values_are_encrypted() {
    let clear = "a:\n  data: one\n  other: two\nb_x: three\n";
    for (rule, encrypted) in [
        ("    unencrypted_suffix: _x\n", 2),
        ("    encrypted_suffix: _x\n", 1),
        ("    encrypted_regex: ^(data|stringData)$\n", 1),
        ("    unencrypted_regex: ^data$\n", 2),
        ("    encrypted_regex: ^data$\n    mac_only_encrypted: true\n", 1),
    ] {
        let text = seal(clear, rule);
        assert_eq!(text.matches("ENC[").count(), encrypted + 1, "{text}");
        assert_eq!(open(&text).unwrap().len(), 3, "{text}");
    }
    let two = format!("{clear}{SECTION}    encrypted_suffix: a\n    encrypted_regex: b\n");
    assert_eq!(SopsFile::read(&two).unwrap_err(), Fault::Section("encrypted_regex"));
}

#[test]
fn no_value_is_given_before_the_mac_holds() {
    let text = seal("a: one\nb: two\nc_unencrypted: three\n", "");
    let lines: Vec<&str> = text.lines().collect();
    let swapped =
        format!("{}\n{}\n{}", lines[0].replacen('a', "b", 1), lines[1].replacen('b', "a", 1), &lines[2..].join("\n"));
    assert_eq!(open(&swapped).unwrap_err(), Fault::Value("b".to_owned()));
    let gone = text.replacen(&format!("{}\n", lines[1]), "", 1);
    assert_eq!(open(&gone).unwrap_err(), Fault::Mac);
    assert_eq!(open(&text.replace("three", "four")).unwrap_err(), Fault::Mac);
    assert_eq!(open(&text.replace(TIME, "2026-01-02T03:04:06Z")).unwrap_err(), Fault::Mac);
    let foreign = SopsFile::read(&text).unwrap();
    assert_eq!(foreign.key_among(&[key(8)]).unwrap_err(), Fault::NoKey(vec!["age1one".to_owned()]));
    assert!(foreign.key_among(&[key(8), key(7)]).unwrap().is(&key(7)));
    // A MAC over encrypted values alone is another one, and does not see what stands in clear.
    let only = seal("a: one\nc_unencrypted: three\n", "    mac_only_encrypted: true\n");
    assert!(open(&only.replace("three", "four")).is_ok());
    assert_eq!(open(&only.replace("only_encrypted: true", "only_encrypted: false")).unwrap_err(), Fault::Mac);
}

#[test]
fn encrypted_comments_are_found_where_they_stand() {
    let file = SopsFile::read(&format!("a:\n    b: 1\n{SECTION}")).unwrap();
    let (key, seed) = (key(7), Seed::new([3; 32]));
    let sealer = Sealer { key: &key, seed: &seed };
    let text = file.written(&file.clear().unwrap(), TIME, sealer, |_| None).unwrap();
    let comment = sealer.seal_comment("a:", " hidden").unwrap();
    let text = text.replacen("    b:", &format!("    #{comment}\n    b:"), 1).replacen("a:\n", "a: # plain\n", 1);
    let file = SopsFile::read(&text).unwrap();
    let values = file.open(&key).unwrap();
    let found = file.parts().iter().zip(&values).find(|(part, _)| matches!(part.kind, PartKind::Comment { .. }));
    let (part, value) = found.unwrap();
    assert_eq!(file.raw(part), comment);
    assert_eq!(value.as_ref().unwrap().expose(), b" hidden");
}

#[test]
fn what_sops_does_not_write_is_refused_by_name() {
    let with = |text: &str| SopsFile::read(&format!("{text}{SECTION}")).unwrap_err().to_string();
    for (text, expected) in [
        ("a: &x 1\nb: *x\n", "holds an alias at line 2, which SOPS does not write"),
        ("a: !!str 1\n", "holds a tag at line 1, which SOPS does not write"),
        ("1: a\n", "holds a key that is no text at line 1, which SOPS does not write"),
        ("a: 1\na: 2\n", "holds a key twice at line 2, which SOPS does not write"),
        ("a: 1\r\n", "holds a carriage return or a byte-order mark at line 1, which SOPS does not write"),
        ("a: [\n", "is no valid YAML at line 3"),
    ] {
        assert_eq!(with(text), expected);
    }
    assert_eq!(SopsFile::read("a: 1\n").unwrap_err(), Fault::NotSops);
    assert_eq!(SopsFile::read("").unwrap_err(), Fault::NotSops);
    let pgp = "a: 1\nsops:\n    pgp:\n        - fp: X\n    lastmodified: x\n    mac: x\n";
    assert_eq!(SopsFile::read(pgp).unwrap_err(), Fault::OtherKeys(vec!["pgp"]));
    let rule = format!("a: 1\n{SECTION}    encrypted_regex: '('\n");
    assert_eq!(SopsFile::read(&rule).unwrap_err(), Fault::Section("encrypted_regex"));
    let clear = SopsFile::read(&format!("a: hunter2\n{SECTION}")).unwrap();
    let fault = clear.open(&key(7)).unwrap_err();
    assert_eq!(format!("{fault} {fault:?}"), "does not decrypt at a: it was edited without sops Value(\"a\")");
}

#[test]
fn nothing_shows_a_value_or_a_key() {
    let file = SopsFile::read(&seal("a: hunter2\n", "")).unwrap();
    let shown = format!("{file:?} {:?} {:?} {:?}", file.open(&key(7)), key(7), Seed::new([1; 32]));
    assert!(!shown.contains("hunter2") && !shown.contains("7, 7") && !shown.contains("1, 1"), "{shown}");
}

#[test]
fn names_of_files_and_marks() {
    assert!(is_called_so("secrets.sops.yaml") && is_called_so("a.sops.yml"));
    assert!(!is_called_so(".sops.yaml") && !is_called_so("secrets.yaml") && !is_called_so("sops.yaml"));
    assert_eq!(without_marks("a sealed-0123456789abcdef b sealed-x", "(hidden)"), "a (hidden) b sealed-x");
}
