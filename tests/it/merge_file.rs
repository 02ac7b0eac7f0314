//! `wild merge-file` in place of `git merge-file`: its modes, beside git's on the same files.
//!
//! Not here: styles of markers (`live::merges`), the merge driver (`line::finish`).

use std::path::Path;
use std::process::Command;

use age::secrecy::ExposeSecret;
use rewild::yaml::sops::{DataKey, Sealer, Seed, SopsFile};

/// Texts of base, ours and theirs.
type Case = [&'static str; 3];

/// Files of which only the lines are known.
const LINES: [Case; 6] = [
    ["a\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n", "a\nb\nc\nd\nE\n"],
    ["a\nb\nc\n", "a\nmine\nc\n", "a\nyours\nc\n"],
    ["a\n", "a\nb\n", "a\nc\n"],
    ["", "b", "c"],
    ["a\nb\nc\nd\ne\nf\n", "a\nx\nc\nd\ny\nf\n", "a\nz\nc\nd\ne\nw"],
    ["a\nb\n", "b\n", "A\nb\n"],
];

/// Runs a program in a directory that holds the three files; returns what it prints and its code.
fn run(directory: &Path, program: &str, arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env("HOME", directory).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

fn write(directory: &Path, end: &str, texts: Case) -> [String; 3] {
    let names = ["base", "ours", "theirs"].map(|name| format!("{name}.{end}"));
    for (name, text) in names.iter().zip(texts) {
        std::fs::write(directory.join(name), text).unwrap();
    }
    names
}

fn wild(directory: &Path, end: &str, texts: Case, options: &[&str]) -> (String, Option<i32>) {
    let [base, ours, theirs] = write(directory, end, texts);
    let arguments = [&["merge-file", "--stdout", &base, &ours, &theirs], options].concat();
    run(directory, env!("CARGO_BIN_EXE_wild"), &arguments)
}

#[test]
fn lines_that_both_changed_come_as_git_leaves_them_in_every_mode() {
    let directory = tempfile::tempdir().unwrap();
    for texts in LINES {
        for mode in ["--ours", "--theirs", "--union"] {
            let [base, ours, theirs] = write(directory.path(), "txt", texts);
            let git = run(directory.path(), "git", &["merge-file", "-p", mode, &ours, &base, &theirs]);
            assert_eq!(wild(directory.path(), "txt", texts, &[mode]), git, "{mode} of {texts:?}");
        }
    }
}

#[test]
fn a_mode_settles_only_what_both_changed_in_a_file_with_structure() {
    let texts = ["a: 1\nb: 1\nc: [x]\n", "a: 2 # Mine.\nb: 1\nc: [x, y]\n", "a: 3\nb: 4\nc: [x]\n"];
    let directory = tempfile::tempdir().unwrap();
    for (mode, expected) in [
        ("--ours", "a: 2 # Mine.\nb: 4\nc: [x, y]\n"),
        ("--theirs", "a: 3\nb: 4\nc: [x, y]\n"),
        ("--union", "a: 2 # Mine.\na: 3\nb: 4\nc: [x, y]\n"),
    ] {
        assert_eq!(wild(directory.path(), "yaml", texts, &[mode]), (expected.to_owned(), Some(0)), "{mode}");
        let (told, code) = wild(directory.path(), "yaml", texts, &[mode, "-o", "json"]);
        let answer: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!((answer["merged"].as_str(), code), (Some(expected), Some(0)), "{mode}");
        assert_eq!(answer["conflicts"], serde_json::json!([]), "{mode}");
    }
}

#[test]
fn a_mode_writes_over_ours_as_a_driver_does() {
    let directory = tempfile::tempdir().unwrap();
    let [base, ours, theirs] = write(directory.path(), "txt", LINES[1]);
    let arguments = ["merge-file", "--theirs", &base, &ours, &theirs, "notes.txt", "7"];
    assert_eq!(run(directory.path(), env!("CARGO_BIN_EXE_wild"), &arguments), (String::new(), Some(0)));
    assert_eq!(std::fs::read_to_string(directory.path().join(ours)).unwrap(), "a\nyours\nc\n");
}

#[test]
fn two_modes_at_once_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let [base, ours, theirs] = write(directory.path(), "txt", LINES[1]);
    for other in [&["--union"][..], &["--take", "mine"]] {
        let arguments = [&["merge-file", "--ours", &base, &ours, &theirs], other].concat();
        let output =
            Command::new(env!("CARGO_BIN_EXE_wild")).args(arguments).current_dir(directory.path()).output().unwrap();
        assert!(!output.status.success());
        assert!(String::from_utf8(output.stderr).unwrap().contains("cannot be used with"));
    }
    assert_eq!(std::fs::read_to_string(directory.path().join(ours)).unwrap(), LINES[1][1]);
}

/// Encrypts a text for a recipient.
fn sealed(clear: &str, identity: &age::x25519::Identity) -> String {
    let blob = age::encrypt_and_armor(&identity.to_public(), &[7; 32]).unwrap();
    let blob: String = blob.lines().map(|line| format!("        {line}\n")).collect();
    let section = format!(
        "sops:\n  age:\n    - recipient: {}\n      enc: |\n{blob}  lastmodified: x\n  mac: x\n",
        identity.to_public()
    );
    let file = SopsFile::read(&format!("{clear}{section}")).unwrap();
    let (key, seed) = (DataKey::new(vec![7; 32]).unwrap(), Seed::new([1; 32]));
    file.written(&file.clear().unwrap(), "2020-01-01T00:00:00Z", Sealer { key: &key, seed: &seed }, |_| None).unwrap()
}

#[test]
fn an_encrypted_file_is_merged_by_its_values_and_says_nothing_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let identity = age::x25519::Identity::generate();
    let keys = directory.path().join("keys.txt");
    std::fs::write(&keys, identity.to_string().expose_secret()).unwrap();
    let texts =
        ["a: hunter2-a\nb: hunter2-b\n", "a: hunter2-mine\nb: hunter2-b\n", "a: hunter2-theirs\nb: hunter2-new\n"];
    let files = ["base.sops.yaml", "ours.sops.yaml", "theirs.sops.yaml"];
    let sides = texts.map(|text| sealed(text, &identity));
    let ours = || std::fs::read_to_string(directory.path().join("ours.sops.yaml")).unwrap();
    let merge = |keys: Option<&Path>, options: &[&str]| {
        for (name, side) in files.iter().zip(&sides) {
            std::fs::write(directory.path().join(name), side).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_wild"));
        command.arg("merge-file").args(files).args(options).current_dir(directory.path()).env("HOME", directory.path());
        command.envs(keys.map(|path| ("SOPS_AGE_KEY_FILE", path)));
        let output = command.output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!said.contains("hunter2") && !ours().contains("hunter2"), "{said}");
        (output.status.code(), said)
    };
    let (code, said) = merge(Some(&keys), &[]);
    let expected = "ours.sops.yaml: a: mine changed, upstream changed; yours stays\ntry: sops edit ours.sops.yaml, then git add ours.sops.yaml\n";
    assert_eq!((code, said.as_str()), (Some(1), expected));
    let line = |text: &str, key: &str| text.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert_eq!(line(&ours(), "a:"), line(&sides[1], "a:"));
    assert_eq!(line(&ours(), "b:"), line(&sides[2], "b:"));
    assert!(!ours().contains("<<<<<<<"));
    assert_eq!(merge(Some(&keys), &["--theirs"]), (Some(0), String::new()));
    assert_eq!(line(&ours(), "a:"), line(&sides[2], "a:"));
    let (code, said) = merge(Some(&keys), &["-o", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&said).unwrap();
    let conflict = &answer["conflicts"][0];
    let shown = ["kind", "path", "mine", "upstream"].map(|field| conflict[field].as_str().unwrap());
    assert_eq!((code, shown), (Some(1), ["value", "a", "redacted, changed", "redacted, changed"]));
    let (code, said) = merge(None, &[]);
    assert_eq!((code, ours()), (Some(1), sides[1].clone()));
    assert!(said.contains("no key of these was found; set SOPS_AGE_KEY_FILE"), "{said}");
    let (_, said) = merge(Some(Path::new("gone.txt")), &[]);
    assert!(said.contains("gone.txt is not there"), "{said}");
}
