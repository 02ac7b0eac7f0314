//! Every call that reads, on objects that are too large to be read: their headers say half a GiB, and whoever inflates them fails otherwise.
//!
//! Not here: the limits (`checks`), the walks (`graph.rs`).

use std::sync::atomic::{AtomicU32, Ordering};

use super::super::fixture::{Instance, author, change, path_of, time};
use super::super::{Error, NOTES_REF};
use super::*;
use crate::model::{CommitId, Subdirectory};

/// What the headers say.
const SAID: usize = 512 * 1024 * 1024;

/// Writes a loose object whose header says more than there is, and returns its id.
fn lie(instance: &Instance, kind: &str) -> Oid {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let id = format!("{:040x}", NEXT.fetch_add(1, Ordering::Relaxed));
    let body = format!("{kind} {SAID}\0tree {}\n", "1".repeat(40));
    let length = u16::try_from(body.len()).unwrap();
    let mut stream = vec![0x78, 0x01, 0x01];
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(body.as_bytes());
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in body.bytes() {
        a = (a + u32::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    stream.extend(((b << 16) | a).to_be_bytes());
    let path = loose(instance, &id);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, stream).unwrap();
    Oid::from_str(&id).unwrap()
}

/// Returns where an object lies that is in no pack.
fn loose(instance: &Instance, id: &str) -> std::path::PathBuf {
    let (first, rest) = id.split_at(2);
    instance.repository.git_dir().join("objects").join(first).join(rest)
}

fn write(instance: &Instance, kind: ObjectType, bytes: &[u8]) -> Oid {
    let raw = super::super::repository::open(instance.repository.git_dir()).unwrap();
    raw.odb().unwrap().write(kind, bytes).unwrap()
}

fn commit_over(instance: &Instance, tree: Oid, parents: &[Oid]) -> CommitId {
    let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
    let text = format!("tree {tree}\n{parents}author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n");
    super::super::refs::commit_id(write(instance, ObjectType::Commit, text.as_bytes()))
}

fn tree_of(instance: &Instance, mode: &str, name: &str, id: Oid) -> Oid {
    let raw = [format!("{mode} {name}\0").as_bytes(), id.as_bytes()].concat();
    write(instance, ObjectType::Tree, &raw)
}

fn set_ref(instance: &Instance, name: &str, id: impl std::fmt::Display) {
    let path = instance.repository.git_dir().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("{id}\n")).unwrap();
}

fn rule<T: std::fmt::Debug>(call: &str, result: Result<T, Error>, expected: &str) {
    match result {
        Err(Error::Hostile { source, .. }) => assert_eq!(source.rule, expected, "{call}"),
        other => panic!("{call}: {other:?}"),
    }
}

/// Every call that leads over a commit or its tree ends with a rule.
async fn refused_by_all(instance: &Instance, bad: &CommitId, good: &CommitId, expected: &str, reads_trees_only: bool) {
    let repository = &instance.repository;
    rule("read_tree", repository.read_tree(bad, &["a"]).await, expected);
    rule("read_tree of all", repository.read_tree(bad, &[]).await, expected);
    rule("tree_id", repository.tree_id(bad, "a").await, expected);
    rule("list_directory", repository.list_directory(bad, "").await, expected);
    rule("list_directories", repository.list_directories(bad, "").await, expected);
    rule("list_files", repository.list_files(bad, "").await, expected);
    rule("instances", repository.instances(bad).await, expected);
    rule("diff_paths to", repository.diff_paths(Some(good), bad).await, expected);
    rule("diff_paths from", repository.diff_paths(Some(bad), good).await, expected);
    rule("diff_paths from nothing", repository.diff_paths(None, bad).await, expected);
    rule("log of a path", repository.log(bad, 9, Some("a")).await, expected);
    rule("first_parent_log of a path", repository.first_parent_log(bad, 9, &["a"]).await, expected);
    let at = repository.instance_at(Subdirectory::parse("a").unwrap());
    rule("is_alone", at.is_alone(bad).await, expected);
    let over = super::super::NewCommit {
        expected: None,
        parents: Vec::new(),
        reference: "refs/heads/other".to_owned(),
        ..change(Some(bad.clone()), &[("b", "1")], "over it")
    };
    rule("commit over it", repository.commit(over).await, expected);
    set_ref(instance, NOTES_REF, bad);
    let notes = if reads_trees_only { "notes/entries" } else { expected };
    rule("read_note", repository.read_note(good).await, notes);
    let note = repository.change_note(good, |_| "x".to_owned(), &author(), time()).await;
    rule("change_note", note, notes);
    std::fs::remove_file(repository.git_dir().join(NOTES_REF)).unwrap();
    if reads_trees_only {
        return;
    }
    rule("read_commit", repository.read_commit(bad).await, expected);
    rule("log", repository.log(bad, 9, None).await, expected);
    rule("first_parent_log", repository.first_parent_log(bad, 9, &[]).await, expected);
    rule("merge_base", repository.merge_base(good, bad).await, expected);
    rule("is_ancestor", repository.is_ancestor(good, bad).await, expected);
    rule("is_ancestor of it", repository.is_ancestor(bad, good).await, expected);
    let child = super::super::NewCommit {
        parents: vec![bad.clone()],
        expected: None,
        reference: "refs/heads/other".to_owned(),
        ..change(Some(good.clone()), &[("b", "1")], "after it")
    };
    rule("commit after it", repository.commit(child).await, expected);
}

#[tokio::test]
async fn no_call_inflates_a_commit_whose_header_says_half_a_gib() {
    let instance = Instance::bare().await;
    let good = instance.commit(&[("a", "1")], "first").await;
    let bad = super::super::refs::commit_id(lie(&instance, "commit"));
    refused_by_all(&instance, &bad, &good, "commit/size", false).await;
    // Its children are read, and nothing that goes on to it.
    let root = Oid::from_str(&instance.repository.tree_id(&good, "").await.unwrap().unwrap()).unwrap();
    let child = commit_over(&instance, root, &[Oid::from_str(bad.as_str()).unwrap()]);
    assert_eq!(instance.repository.read_tree(&child, &[]).await.unwrap().text("a"), Some("1"));
    assert_eq!(instance.repository.first_parent_log(&child, 1, &[]).await.unwrap().len(), 1);
    rule("log over it", instance.repository.first_parent_log(&child, 2, &[]).await, "commit/size");
    rule("merge_base over it", instance.repository.merge_base(&good, &child).await, "commit/size");
    rule("all parents", instance.repository.log(&child, 1, None).await, "commit/size");
}

#[tokio::test]
async fn no_call_inflates_a_tree_whose_header_says_half_a_gib() {
    let instance = Instance::bare().await;
    let good = instance.commit(&[("a", "1")], "first").await;
    let bad = commit_over(&instance, lie(&instance, "tree"), &[]);
    refused_by_all(&instance, &bad, &good, "tree/entries", true).await;
    // Deeper down it costs only what lies there.
    let below = tree_of(&instance, "40000", "ghost", lie(&instance, "tree"));
    let deep = commit_over(&instance, tree_of(&instance, "40000", "apps", below), &[]);
    assert!(instance.repository.read_tree(&deep, &["config.yaml"]).await.unwrap().is_empty());
    assert_eq!(instance.repository.list_directory(&deep, "apps").await.unwrap(), ["ghost"]);
    rule("read_tree", instance.repository.read_tree(&deep, &["apps"]).await, "tree/entries");
    rule("diff_paths", instance.repository.diff_paths(Some(&good), &deep).await, "tree/entries");
}

#[tokio::test]
async fn no_call_inflates_a_file_whose_header_says_half_a_gib() {
    let instance = Instance::bare().await;
    let good = instance.commit(&[("a", "1")], "first").await;
    let bad = commit_over(&instance, tree_of(&instance, "100644", "a", lie(&instance, "blob")), &[]);
    rule("read_tree", instance.repository.read_tree(&bad, &["a"]).await, "tree/file-size");
    rule("read_tree of all", instance.repository.read_tree(&bad, &[]).await, "tree/file-size");
    assert_eq!(instance.repository.diff_paths(Some(&good), &bad).await.unwrap(), [path_of("a")]);
    let note = commit_over(&instance, tree_of(&instance, "100644", good.as_str(), lie(&instance, "blob")), &[]);
    set_ref(&instance, NOTES_REF, &note);
    rule("read_note", instance.repository.read_note(&good).await, "tree/file-size");
}

#[tokio::test]
async fn tags_are_followed_over_a_few_others_and_never_inflated_when_they_are_huge() {
    let instance = Instance::bare().await;
    let good = instance.commit(&[("a", "1")], "first").await;
    set_ref(&instance, "refs/tags/huge", lie(&instance, "tag"));
    rule("read_ref", instance.repository.read_ref("refs/tags/huge").await, "tag/size");
    let (mut target, mut kind) = (good.to_string(), "commit");
    for number in 1..=MAX_TAG_DEPTH + 1 {
        let text = format!("object {target}\ntype {kind}\ntag t{number}\ntagger A <a@b> 1 +0000\n\nx\n");
        target = write(&instance, ObjectType::Tag, text.as_bytes()).to_string();
        kind = "tag";
        set_ref(&instance, &format!("refs/tags/t{number}"), &target);
    }
    let deepest = instance.repository.read_ref(&format!("refs/tags/t{MAX_TAG_DEPTH}")).await.unwrap();
    assert_eq!(deepest, Some(good));
    let deeper = instance.repository.read_ref(&format!("refs/tags/t{}", MAX_TAG_DEPTH + 1)).await;
    rule("read_ref", deeper, "tag/depth");
    let listed = instance.repository.list_refs("refs/tags/").await.unwrap();
    assert_eq!(listed.len(), MAX_TAG_DEPTH, "one that nobody reads hides no other: {listed:?}");
}

#[tokio::test]
async fn a_commit_with_very_many_parents_is_refused_and_one_with_many_is_not() {
    let instance = Instance::bare().await;
    let good = instance.commit(&[("a", "1")], "first").await;
    let (root, parent) =
        (instance.repository.tree_id(&good, "").await.unwrap().unwrap(), Oid::from_str(good.as_str()).unwrap());
    let root = Oid::from_str(&root).unwrap();
    let wide = commit_over(&instance, root, &[parent; 100]);
    assert!(instance.repository.is_ancestor(&good, &wide).await.unwrap());
    let wider = commit_over(&instance, root, &[parent; 101]);
    rule("is_ancestor", instance.repository.is_ancestor(&good, &wider).await, "commit/parents");
    rule("read_commit", instance.repository.read_commit(&wider).await, "commit/parents");
}

#[tokio::test]
async fn a_log_keeps_a_bounded_number_of_bytes_of_messages() {
    let instance = Instance::bare().await;
    let good = instance.commit(&[("a", "1")], "first").await;
    let root = instance.repository.tree_id(&good, "").await.unwrap().unwrap();
    let mut tip = good.to_string();
    let message = "m".repeat(250 * 1024);
    for _ in 0..135 {
        let text =
            format!("tree {root}\nparent {tip}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n{message}\n");
        tip = write(&instance, ObjectType::Commit, text.as_bytes()).to_string();
    }
    let tip = CommitId::parse(&tip).unwrap();
    assert_eq!(instance.repository.first_parent_log(&tip, 100, &[]).await.unwrap().len(), 100);
    rule("log", instance.repository.first_parent_log(&tip, 1_000, &[]).await, "commit/messages");
    // Whoever wants commits that changed a path reads no message of others.
    assert_eq!(instance.repository.first_parent_log(&tip, 1_000, &["a"]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn packed_refs_of_many_megabytes_are_not_read() {
    let instance = Instance::bare().await;
    let good = instance.commit(&[("a", "1")], "first").await;
    let lines: String = (0..150_000).map(|number| format!("{good} refs/heads/b{number:06}\n")).collect();
    std::fs::write(instance.repository.git_dir().join("packed-refs"), format!("{lines}\n")).unwrap();
    let repository = &instance.repository;
    for error in [
        repository.read_ref("refs/heads/b000001").await.unwrap_err(),
        repository.list_refs("").await.unwrap_err(),
        repository.head("main").await.unwrap_err(),
        repository.read_note(&good).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("larger than 8 MiB"), "{error}");
    }
    let few: String = lines.lines().take(10_001).map(|line| format!("{line}\n")).collect();
    std::fs::write(repository.git_dir().join("packed-refs"), few).unwrap();
    let error = repository.list_refs("").await.unwrap_err();
    assert!(error.to_string().contains("more than 10,000"), "{error}");
    assert!(repository.read_ref("refs/heads/b000001").await.unwrap().is_some());
}

#[tokio::test]
async fn a_commit_is_read_once_however_often_it_is_asked_for() {
    let instance = Instance::bare().await;
    let first = instance.commit(&[("a", "1")], "first").await;
    let second = instance.commit(&[("a", "2")], "second").await;
    assert!(instance.repository.is_ancestor(&first, &second).await.unwrap());
    std::fs::remove_file(loose(&instance, first.as_str())).unwrap();
    assert!(instance.repository.is_ancestor(&first, &second).await.unwrap(), "it is not read again");
    assert_eq!(instance.repository.merge_base(&first, &second).await.unwrap(), Some(first));
}
