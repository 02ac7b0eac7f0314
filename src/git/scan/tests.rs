//! Searches in real repositories: what is found, what is read, and what is not read again.

use std::collections::BTreeSet;

use super::super::fixture::{Instance, change, path_of};
use super::*;
use crate::model::SecretValue;

const VALUE: &str = "Xk3vPq9wZt8m";
const SETTINGS: &str = "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: k3f7q2m5xd\n";

fn scanner(value: &str) -> Arc<Scanner> {
    let value = SecretValue::new(value.to_owned());
    Arc::new(Scanner::new(Search::of([("apps.blog.token", &value)].into_iter()), NoSecrets::default()))
}

fn shown(leaks: &[Leaked]) -> Vec<String> {
    let all: Vec<String> = leaks.iter().map(ToString::to_string).collect();
    assert!(!all.concat().contains(VALUE), "{all:?}");
    all
}

async fn at(instance: &Instance, commit: &CommitId, place: &str, scanner: &Arc<Scanner>) -> Vec<String> {
    let place = Subdirectory::parse(place).unwrap();
    shown(&instance.repository.leaks_at(commit, &place, scanner.clone()).await.unwrap())
}

async fn new(instance: &Instance, tip: &CommitId, known: &[CommitId]) -> Vec<String> {
    let brought = instance.repository.new_leaks(std::slice::from_ref(tip), known, scanner(VALUE)).await.unwrap();
    assert!(!brought.is_cut);
    shown(&brought.leaks)
}

#[tokio::test]
async fn a_file_is_read_once_however_often_its_tree_is_searched() {
    let instance = Instance::bare().await;
    let sought = scanner(VALUE);
    let first = instance.commit(&[("apps/a/x", "1"), ("apps/b/x", "2"), ("c", VALUE)], "first").await;
    for _ in 0..3 {
        assert_eq!(at(&instance, &first, "", &sought).await.len(), 1);
    }
    assert_eq!(sought.files_read(), 3);
    let second = instance.commit(&[("apps/a/y", "3"), ("d/x", "1")], "second").await;
    assert_eq!(at(&instance, &second, "", &sought).await.len(), 1);
    assert_eq!(sought.files_read(), 4, "one file is new, and one is known under another name");
    let others = scanner("another value");
    assert!(at(&instance, &second, "", &others).await.is_empty());
    assert_eq!(others.files_read(), 4);
}

#[tokio::test]
async fn a_tree_is_judged_by_files_names_and_where_instances_live() {
    let instance = Instance::bare().await;
    let key = format!("-----BEGIN EC PRIVATE KEY-----\n{}\n", "MHcC".repeat(12));
    let files = [
        ("c/home/.wild/config.yaml", SETTINGS),
        ("c/lab/.wild/config.yaml", SETTINGS),
        ("c/home/secrets.yaml", "a: b\n"),
        ("c/home/apps/x/secrets.yaml", "kind: ExternalSecret\n"),
        ("c/lab/secrets.yaml~", "a: b\n"),
        ("c/lab/key", key.as_str()),
        ("c/lab/note", VALUE),
        ("README", "Xk3vPq9wZt8m\n"),
        ("Xk3vPq9wZt8m/x", "1"),
    ];
    let head = instance.commit(&files, "first").await;
    let value = "it holds the value of the secret apps.blog.token";
    let expected = [
        format!("(hidden): secret/plaintext: {value}"),
        format!("README:1: secret/plaintext: {value}"),
        "c/home/secrets.yaml: secret/plaintext: it holds secret values in clear".to_owned(),
        format!("c/lab/note:1: secret/plaintext: {value}"),
    ];
    assert_eq!(at(&instance, &head, "c/home", &scanner(VALUE)).await, expected);
    let lab = at(&instance, &head, "c/lab", &scanner("no such value")).await;
    assert_eq!(
        lab,
        [
            "c/lab/key:1: secret/plaintext: it holds a private key",
            "c/lab/secrets.yaml~: secret/plaintext: it holds secret values in clear"
        ]
    );
}

#[tokio::test]
async fn new_commits_are_searched_in_every_file_name_and_message() {
    let instance = Instance::bare().await;
    let first = instance.commit(&[("a", "1"), ("old", VALUE)], "first").await;
    assert!(new(&instance, &first, std::slice::from_ref(&first)).await.is_empty());
    let second = instance.commit(&[("deep/down/b", &format!("x\ny {VALUE}\n"))], "second").await;
    let mut gone = change(Some(second.clone()), &[("a", "2")], "take it out");
    gone.changes.insert(path_of("deep/down/b"), None);
    let third = instance.repository.commit(gone).await.unwrap();
    let told = "deep/down/b:2: secret/plaintext: it holds the value of the secret apps.blog.token";
    assert_eq!(new(&instance, &third, std::slice::from_ref(&first)).await, [told]);
    assert!(new(&instance, &third, std::slice::from_ref(&second)).await.is_empty());
    let fourth = instance.commit(&[(&format!("dir-{VALUE}/file"), "1")], &format!("add\n\nwith {VALUE}")).await;
    let found = new(&instance, &fourth, std::slice::from_ref(&third)).await;
    let message = format!("the message of commit {}:", fourth.short());
    assert!(found.len() == 2 && found[0].starts_with("(hidden): ") && found[1].starts_with(&message), "{found:?}");
    let moved = instance.commit(&[("elsewhere", VALUE)], "what was there before, under another name").await;
    assert_eq!(new(&instance, &moved, std::slice::from_ref(&fourth)).await.len(), 1);
}

#[tokio::test]
async fn a_merge_brings_what_neither_side_has() {
    let instance = Instance::bare().await;
    let base = instance.commit(&[("a", "1")], "base").await;
    let mut side = change(Some(base), &[("b", "1")], "side");
    (side.reference, side.expected) = ("refs/heads/side".to_owned(), None);
    let side = instance.repository.commit(side).await.unwrap();
    let main = instance.commit(&[("c", "1")], "main").await;
    let mut merge = change(Some(main.clone()), &[("b", "1"), ("d", VALUE)], "merge");
    merge.parents.push(side.clone());
    let merged = instance.repository.commit(merge).await.unwrap();
    let told = "d:1: secret/plaintext: it holds the value of the secret apps.blog.token";
    assert_eq!(new(&instance, &merged, &[main, side]).await, [told]);
}

#[tokio::test]
async fn one_tree_under_very_many_names_is_searched_once() {
    let instance = Instance::bare().await;
    let root = instance.repository.path().to_owned();
    let git = |args: &[&str], input: &str| {
        use std::io::Write;
        let mut child = std::process::Command::new("git")
            .args(args)
            .current_dir(&root)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
    };
    let blob = git(&["hash-object", "-w", "--stdin"], VALUE);
    let mut tree = git(&["mktree"], &format!("100644 blob {blob}\tx\n"));
    for _ in 0..10 {
        let lines: String = (0..10).map(|number| format!("040000 tree {tree}\td{number}\n")).collect();
        tree = git(&["mktree"], &lines);
    }
    let commit = git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", "bomb", &tree], "");
    let commit = CommitId::parse(&commit).unwrap();
    let sought = scanner(VALUE);
    assert_eq!(at(&instance, &commit, "", &sought).await.len(), MAX_LEAKS);
    assert_eq!(sought.files_read(), 1);
    assert!(!new(&instance, &commit, &[]).await.is_empty());
}

#[tokio::test]
async fn what_is_staged_is_searched_before_it_is_committed() {
    let instance = Instance::with(crate::git::Layout::WorkTree).await;
    let head = instance.commit(&[(".wild/config.yaml", SETTINGS), ("a", "1"), ("old", VALUE)], "first").await;
    instance.repository.sync_worktree(None, &head).await.unwrap();
    let root = instance.repository.work_tree().unwrap().to_owned();
    let staged = async || shown(&instance.repository.staged_leaks(None, scanner(VALUE)).await.unwrap().leaks);
    assert!(staged().await.is_empty(), "what is in the head already is no part of the next commit");
    std::fs::write(root.join("a"), format!("1\n{VALUE}\n")).unwrap();
    assert!(staged().await.is_empty(), "what is not staged is none either");
    std::fs::write(root.join("secrets.yaml"), "x: y\n").unwrap();
    instance.git(&["add", "-A", "-f"]);
    let told: BTreeSet<String> = staged().await.into_iter().collect();
    let expected = [
        "a:2: secret/plaintext: it holds the value of the secret apps.blog.token",
        "secrets.yaml: secret/plaintext: it holds secret values in clear",
    ];
    assert_eq!(told, expected.map(str::to_owned).into());
}

/// Settings in which a person says what is no secret.
fn saying(entry: &str) -> String {
    format!("{SETTINGS}noSecrets:\n- {{{entry}, why: a sample}}\n")
}

/// The id of a file, as `git hash-object` says it.
fn file_id(text: &str) -> String {
    Oid::hash_object(git2::ObjectType::Blob, text.as_bytes()).unwrap().to_string()
}

#[tokio::test]
async fn what_a_person_says_is_no_secret_is_none_and_nothing_else() {
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
    let other = key.replace("MIIE", "MIIF");
    let both = format!("{key}{VALUE}\n");
    let of_file = |text: &str| saying(&format!("file: {}", file_id(text)));
    let of_value = saying("value: apps.blog.token");
    let told_key = "docs/x:1: secret/plaintext: it holds a private key";
    let told_value =
        |line| format!("docs/x:{line}: secret/plaintext: it holds the value of the secret apps.blog.token");
    for (settings, text, told) in [
        (of_file(key), key, vec![]),
        (of_file(key), other.as_str(), vec![told_key.to_owned()]),
        (of_file(&both), &both, vec![told_value(3)]),
        (of_value.clone(), VALUE, vec![]),
        (of_value, &both, vec![told_key.to_owned()]),
        (saying("value: apps.blog.other"), VALUE, vec![told_value(1)]),
        (SETTINGS.to_owned(), key, vec![told_key.to_owned()]),
        ("noSecrets: nonsense".to_owned(), key, vec![told_key.to_owned()]),
    ] {
        // In a commit before the one that says so as well, and in the index of the next one.
        let instance = Instance::with(crate::git::Layout::WorkTree).await;
        let head = instance.commit(&[("docs/x", text)], "first").await;
        let head = instance.commit(&[(".wild/config.yaml", settings.as_str())], &format!("after {head}")).await;
        assert_eq!(new(&instance, &head, &[]).await, told, "{settings}\n{text}");
        let sought = scanner(VALUE).but(&known_by(&settings));
        assert_eq!(at(&instance, &head, "", &sought).await, told, "{settings}\n{text}");
        instance.git(&["read-tree", head.as_str()]);
        instance.git(&["update-ref", "-d", "refs/heads/main"]);
        let staged = instance.repository.staged_leaks(None, scanner(VALUE)).await.unwrap();
        assert_eq!(shown(&staged.leaks), told, "{settings}\n{text}");
    }
    // A file that must be encrypted has no exception.
    let instance = Instance::bare().await;
    let clear = "apps: {}\n";
    let files = [(".wild/config.yaml", of_file(clear)), ("secrets.yaml", clear.to_owned())];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    let head = instance.commit(&files, "first").await;
    assert_eq!(new(&instance, &head, &[]).await, ["secrets.yaml: secret/plaintext: it holds secret values in clear"]);
}
