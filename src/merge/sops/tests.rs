//! Pure. Situations of the merge of encrypted files.
//!
//! Not here: its laws over generated documents (`laws`).

use super::*;
use crate::merge::{How, MARKER_CHARS, MarkerLabels, MarkerStyle, Merged, Prefer, merge_file};
use crate::model::{File, FileTree, Take};

const ONE: &str = "age1one";
const TWO: &str = "age1two";
const THREE: &str = "age1three";
const WHEN: &str = "2026-11-22T22:00:00Z";
/// Every value that the tests encrypt begins like this.
const SECRET: &str = "hunter2";

fn path() -> RepoPath {
    RepoPath::parse("secrets.sops.yaml").unwrap()
}

fn key(byte: u8) -> DataKey {
    DataKey::new(vec![byte; 32]).unwrap()
}

fn section(recipients: &[&str], byte: u8) -> String {
    let item = |name: &&str| {
        format!(
            "        - recipient: {name}\n          enc: |\n            -----BEGIN AGE ENCRYPTED FILE-----\n            {name}/{byte}\n            -----END AGE ENCRYPTED FILE-----\n"
        )
    };
    let items: String = recipients.iter().map(item).collect();
    format!(
        "sops:\n    age:\n{items}    lastmodified: none\n    mac: none\n    unencrypted_suffix: _unencrypted\n    version: 3.13.3\n"
    )
}

/// Encrypts a text in clear. Equal values at equal places get equal ciphertexts, as where a file was edited and not made anew.
fn seal_for(clear: &str, recipients: &[&str], byte: u8) -> String {
    let file = SopsFile::read(&format!("{clear}{}", section(recipients, byte))).unwrap();
    let (key, seed) = (key(byte), Seed::new([byte; 32]));
    file.written(&file.clear().unwrap(), "2020-01-01T00:00:00Z", Sealer { key: &key, seed: &seed }, |_| None).unwrap()
}

fn seal(clear: &str) -> String {
    seal_for(clear, &[ONE], 1)
}

fn rules() -> Rules {
    let keys = SopsKeys {
        data_keys: vec![key(1), key(2), key(3)],
        seed: Seed::new([9; 32]),
        time: Timestamp::parse(WHEN).unwrap(),
    };
    Rules { sops: Some(keys), ..Rules::default() }
}

fn merge_with(base: &str, ours: &str, theirs: &str, rules: &Rules) -> FileMerge {
    let merged = merge_file(&path(), Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) }, rules);
    let labels = MarkerLabels { base: "base", ours: "mine", theirs: "upstream", size: MARKER_CHARS };
    assert_eq!(Some(merged.with_markers(MarkerStyle::Zdiff3, labels)), merged.text);
    assert!(!format!("{merged:?} {rules:?}").contains(SECRET), "{merged:#?}");
    merged
}

fn merge(base: &str, ours: &str, theirs: &str) -> FileMerge {
    merge_with(base, ours, theirs, &rules())
}

/// Returns what a file says, with the values in clear; its MAC holds.
fn clear(text: &str, byte: u8) -> String {
    let file = SopsFile::read(text).unwrap();
    let values = file.open(&key(byte)).unwrap();
    let shown = file.rewritten(|number, part| {
        let value = values.get(number).cloned().flatten()?;
        let sealed = !matches!(part.kind, PartKind::Value { is_sealed: false, .. });
        sealed.then(|| String::from_utf8(value.expose().to_vec()).unwrap())
    });
    shown.split("sops:\n").next().unwrap().to_owned()
}

fn said(merged: &FileMerge) -> Vec<String> {
    let one = |found: &Conflict| format!("{:?} {} {}", found.kind, found.key, found.changes().join(" "));
    merged.conflicts.iter().map(one).collect()
}

fn line<'a>(text: &'a str, key: &str) -> &'a str {
    text.lines().find(|line| line.trim_start().starts_with(key)).unwrap()
}

const BASE: &str = "apps:\n    blog:\n        password: hunter2-a\n        port: 8080\n    shop:\n        token: hunter2-b\n        hosts:\n            - hunter2-x\n            - hunter2-y\n";

#[test]
fn each_side_changes_a_value_and_both_changes_are_there() {
    let (base, ours) = (seal(BASE), seal(&BASE.replace("hunter2-a", "hunter2-mine")));
    let theirs =
        seal(&BASE.replace("hunter2-b", "hunter2-theirs").replace("hunter2-y", "hunter2-y\n            - hunter2-z"));
    let merged = merge(&base, &ours, &theirs);
    assert_eq!((said(&merged), merged.how), (vec![], How::Structural));
    let text = merged.text.unwrap();
    let expected = BASE.replace("hunter2-a", "hunter2-mine").replace("hunter2-b", "hunter2-theirs");
    assert_eq!(clear(&text, 1), expected.replace("hunter2-y", "hunter2-y\n            - hunter2-z"));
    for (key, from) in [("password:", &ours), ("port:", &ours), ("token:", &theirs), ("hosts:", &ours)] {
        assert_eq!(line(&text, key), line(from, key));
    }
    assert_eq!(line(&text, "lastmodified:"), format!("    lastmodified: \"{WHEN}\""));
    assert_ne!(line(&text, "mac:"), line(&ours, "mac:"));
    assert_eq!(merge(&base, &text, &theirs).text.as_ref(), Some(&text));
}

#[test]
fn two_changes_of_one_value_are_a_conflict_that_says_nothing_of_it() {
    let (base, ours) = (seal(BASE), seal(&BASE.replace("hunter2-a", "hunter2-mine")));
    let theirs = seal(&BASE.replace("hunter2-a", "hunter2-theirs").replace("8080", "9090"));
    let merged = merge(&base, &ours, &theirs);
    assert_eq!(said(&merged), ["Value apps.blog.password changed changed"]);
    assert!(merged.conflicts[0].is_redacted());
    assert_eq!(merged.conflicts[0].line, 3);
    let expected = BASE.replace("hunter2-a", "hunter2-mine").replace("8080", "9090");
    assert_eq!(clear(merged.text.as_ref().unwrap(), 1), expected);
    // A decision is found again by the three ciphertexts, and another value is another question.
    let decided = BTreeMap::from([(merged.conflicts[0].id.clone(), Take::Upstream)]);
    let again = merge_with(&base, &ours, &theirs, &Rules { decided: decided.clone(), ..rules() });
    assert_eq!(clear(&again.text.unwrap(), 1), expected.replace("hunter2-mine", "hunter2-theirs"));
    let other = seal(&BASE.replace("hunter2-a", "hunter2-other").replace("8080", "9090"));
    assert_eq!(merge_with(&base, &ours, &other, &Rules { decided, ..rules() }).conflicts.len(), 1);
    for (prefer, mine) in [(Prefer::Ours, "hunter2-mine"), (Prefer::Theirs, "hunter2-theirs")] {
        let merged = merge_with(&base, &ours, &theirs, &Rules { prefer, ..rules() });
        assert_eq!(clear(&merged.text.unwrap(), 1), expected.replace("hunter2-mine", mine));
    }
}

#[test]
fn one_value_of_another_type_is_another_value_and_equal_changes_are_none() {
    let base = seal("a: hunter2\nb: 1\nc: 1\n");
    let (ours, theirs) = (seal("a: hunter2-x\nb: \"2\"\nc: 2\n"), seal("a: hunter2-x\nb: 2\nc: 2\n"));
    assert_eq!(said(&merge(&base, &ours, &theirs)), ["Value b changed changed"]);
}

#[test]
fn what_one_side_deletes_and_the_other_changes_is_a_conflict() {
    let without = |text: &str| text.replace("        token: hunter2-b\n", "");
    let changed = seal(&BASE.replace("hunter2-b", "hunter2-new"));
    let merged = merge(&seal(BASE), &changed, &seal(&without(BASE)));
    assert_eq!(said(&merged), ["EditDelete apps.shop.token changed removed"]);
    assert_eq!(merged.text.as_ref(), Some(&changed));
    let merged = merge(&seal(BASE), &seal(&without(BASE)), &changed);
    assert_eq!(said(&merged), ["DeleteEdit apps.shop.token removed changed"]);
    let merged = merge(&seal("a: 1\n"), &seal("a: 1\nb: hunter2\n"), &seal("a: 1\nb: hunter22\n"));
    assert_eq!(said(&merged), ["BothAdded b added added"]);
}

#[test]
fn without_a_key_the_file_is_one_conflict_and_nothing_of_it_changes() {
    let (base, ours) = (seal(BASE), seal(&BASE.replace("hunter2-a", "hunter2-mine")));
    let theirs = seal(&BASE.replace("hunter2-b", "hunter2-theirs"));
    let merged = merge_with(&base, &ours, &theirs, &Rules::default());
    assert_eq!(said(&merged), ["FileKind  changed changed"]);
    assert_eq!(merged.text.as_ref(), Some(&ours));
    let why = &merged.conflicts[0].why;
    let expected = "your file is encrypted for age1one, and no key of these was found; set SOPS_AGE_KEY_FILE to the file that holds one, and merge again";
    assert_eq!(why, expected);
    // What one side alone changed needs no key.
    assert_eq!(merge_with(&base, &base, &theirs, &Rules::default()).text, Some(theirs.clone()));
    let taken = merge_with(&base, &ours, &theirs, &Rules { prefer: Prefer::Theirs, ..Rules::default() });
    assert_eq!((taken.text, taken.conflicts), (Some(theirs), vec![]));
}

#[test]
fn a_side_that_cannot_be_read_is_named_with_what_to_do() {
    let (base, ours, theirs) =
        (seal(BASE), seal(&BASE.replace("8080", "1")), seal(&BASE.replace("hunter2-a", "hunter2-c")));
    let port = line(&theirs, "port:");
    for (side, expected) in [
        (theirs.replace(port, "        port: hunter2"), "upstream's file does not decrypt at apps.blog.port"),
        (theirs.replace(&format!("{port}\n"), ""), "upstream's file does not have the values that its MAC"),
        (format!("{BASE}#\n"), "upstream's file is not encrypted by SOPS; encrypt it with sops encrypt -i"),
        (theirs.replace("        port", "\tport"), "upstream's file is no valid YAML at line 3"),
        (theirs.replace("    age:", "    pgp:"), "upstream's file is encrypted for pgp and for no age recipient"),
        (seal_for(BASE, &[TWO], 7), "upstream's file is encrypted for age1two, and no key"),
        (theirs.replace("_unencrypted", "_clear"), "the sides encrypt by different rules; take over with sops edit"),
    ] {
        let merged = merge(&base, &ours, &side);
        assert_eq!((said(&merged).len(), merged.text.as_ref()), (1, Some(&ours)), "{expected}");
        assert_eq!(merged.conflicts[0].kind, ConflictKind::FileKind);
        assert!(merged.conflicts[0].why.contains(expected), "{}", merged.conflicts[0].why);
    }
}

#[test]
fn recipients_are_merged_one_by_one() {
    let base = seal_for(BASE, &[ONE, TWO], 1);
    let ours = seal_for(&BASE.replace("8080", "1"), &[ONE, TWO, "age1mine"], 1);
    let theirs = seal_for(&BASE.replace("hunter2-a", "hunter2-c"), &[ONE, THREE], 1);
    let merged = merge(&base, &ours, &theirs);
    assert_eq!(said(&merged), [""; 0]);
    let text = merged.text.unwrap();
    let file = SopsFile::read(&text).unwrap();
    let names: Vec<&str> = file.recipients().iter().map(|recipient| recipient.name.as_str()).collect();
    assert_eq!(names, [ONE, "age1mine", THREE]);
    for recipient in file.recipients() {
        assert!(recipient.blob.contains(&format!("\n{}/1\n", recipient.name)), "{}", recipient.blob);
    }
    assert_eq!(clear(&text, 1), BASE.replace("8080", "1").replace("hunter2-a", "hunter2-c"));
}

#[test]
fn a_new_data_key_of_one_side_is_that_of_the_result() {
    let base = seal_for(BASE, &[ONE, TWO], 1);
    let ours = seal_for(&BASE.replace("8080", "1"), &[ONE, TWO], 1);
    let theirs = seal_for(&BASE.replace("hunter2-a", "hunter2-c"), &[ONE], 2);
    let expected = BASE.replace("8080", "1").replace("hunter2-a", "hunter2-c");
    for (ours, theirs) in [(&ours, &theirs), (&theirs, &ours)] {
        let merged = merge(&base, ours, theirs);
        assert_eq!(said(&merged), [""; 0]);
        let text = merged.text.unwrap();
        assert_eq!(clear(&text, 2), expected);
        let file = SopsFile::read(&text).unwrap();
        assert_eq!(file.recipients().len(), 1);
        assert!(file.recipients()[0].blob.contains("age1one/2"));
    }
    // Only the key is new: the result is theirs, byte for byte.
    let rotated = seal_for(&BASE.replace("8080", "1"), &[ONE], 2);
    assert_eq!(merge(&base, &ours, &rotated).text, Some(rotated));
}

#[test]
fn data_keys_that_nobody_can_choose_between_are_a_conflict() {
    let base = seal_for(BASE, &[ONE], 1);
    let (ours, theirs) = (BASE.replace("8080", "1"), BASE.replace("hunter2-a", "hunter2-c"));
    for (mine, rest, expected) in [
        (
            seal_for(&ours, &[ONE, TWO], 1),
            seal_for(&theirs, &[ONE], 2),
            "upstream changed the data key, and you changed",
        ),
        (
            seal_for(&ours, &[ONE], 2),
            seal_for(&theirs, &[ONE, TWO], 1),
            "you changed the data key, and upstream changed",
        ),
        (seal_for(&ours, &[ONE], 2), seal_for(&theirs, &[ONE], 3), "both sides changed the data key"),
    ] {
        let merged = merge(&base, &mine, &rest);
        assert_eq!((said(&merged).len(), merged.text.as_ref()), (1, Some(&mine)));
        assert!(merged.conflicts[0].why.contains(expected), "{}", merged.conflicts[0].why);
    }
}

#[test]
fn encrypted_comments_come_along_and_stay_encrypted() {
    let with_comment = |text: &str, byte: u8| {
        let (key, seed) = (key(byte), Seed::new([5; 32]));
        let comment = Sealer { key: &key, seed: &seed }.seal_comment("apps:", " hunter2 is here").unwrap();
        text.replacen("    shop:", &format!("    #{comment}\n    shop:"), 1)
    };
    let base = seal(BASE);
    let ours = seal(&BASE.replace("8080", "1"));
    let theirs = with_comment(&seal(&BASE.replace("hunter2-b", "hunter2-c")), 1);
    let merged = merge(&base, &ours, &theirs);
    assert_eq!(said(&merged), [""; 0]);
    let text = merged.text.unwrap();
    assert_eq!(line(&text, "#"), line(&theirs, "#"));
    assert!(clear(&text, 1).contains("    # hunter2 is here\n    shop:\n"));
    let rotated = with_comment(&seal_for(&BASE.replace("hunter2-b", "hunter2-c"), &[ONE], 2), 2);
    let ours = with_comment(&ours, 1);
    let text = merge(&with_comment(&base, 1), &ours, &rotated).text.unwrap();
    // A comment of ours alone is encrypted anew, bound to the same map: sops would not find it at another one.
    let moved = merge(&seal(BASE), &ours, &seal_for(BASE, &[ONE], 2)).text.unwrap();
    let file = SopsFile::read(&moved).unwrap();
    let comment = file.parts().iter().find(|part| matches!(part.kind, PartKind::Comment { .. })).unwrap();
    assert_eq!(file.comment_place(comment, &key(2)), Some("apps:"));
    assert!(clear(&text, 2).contains("    # hunter2 is here\n    shop:\n"), "{text}");
}

#[test]
fn two_files_that_were_added_are_merged_under_one_data_key() {
    let (ours, theirs) = (seal("a: hunter2\nb: 1\n"), seal("a: hunter2\nc: 2\n"));
    let merged = merge_file(&path(), Three { base: None, ours: Some(&ours), theirs: Some(&theirs) }, &rules());
    assert!(!format!("{merged:?}").contains(SECRET));
    assert!(SopsFile::read(merged.text.as_ref().unwrap()).unwrap().open(&key(1)).is_ok());
    let other = seal_for("a: hunter2\nc: 2\n", &[ONE], 2);
    let merged = merge_file(&path(), Three { base: None, ours: Some(&ours), theirs: Some(&other) }, &rules());
    assert_eq!((merged.conflicts.len(), merged.text), (1, Some(ours.clone())));
    let gone = merge_file(&path(), Three { base: Some(&ours), ours: None, theirs: Some(&other) }, &rules());
    assert_eq!((gone.conflicts[0].kind, gone.text), (ConflictKind::DeleteEdit, None));
}

#[test]
fn in_a_tree_an_encrypted_file_is_known_by_what_stands_in_it() {
    let tree = |text: &str| -> FileTree {
        let path = RepoPath::parse("apps/blog/secret.yaml").unwrap();
        [(path, File::text(text))].into_iter().collect()
    };
    let secret = |password: &str, user: &str| {
        seal(&format!("apiVersion_unencrypted: v1\nkind: Secret\ndata:\n    password: {password}\n    user: {user}\n"))
    };
    let (base, ours) = (tree(&secret("hunter2-a", "u")), tree(&secret("hunter2-b", "u")));
    let theirs = tree(&secret("hunter2-a", "w"));
    let run =
        |rules: &Rules| -> Merged { crate::merge::merge(Three { base: &base, ours: &ours, theirs: &theirs }, rules) };
    let merged = run(&Rules::default());
    assert_eq!((merged.conflicts.len(), &merged.files), (1, &ours));
    let merged = run(&rules());
    assert_eq!(merged.conflicts, vec![]);
    let text = merged.files.get("apps/blog/secret.yaml").and_then(|file| file.as_text()).unwrap().to_owned();
    assert!(clear(&text, 1).contains("password: hunter2-b\n    user: w\n"), "{}", clear(&text, 1));
}
