//! Commits as the real git program sees them, and races for a ref.
//!
//! Not here: work trees.

use super::super::fixture::{Instance, author, change, path_of, time};
use super::super::{CommitContent, Error, RefChange};
use super::*;

#[tokio::test]
async fn a_commit_is_what_git_reads() {
    let instance = Instance::bare().await;
    let first = instance.commit(&[("config.yaml", "a: 1\n"), ("apps/ghost/pvc.yaml", "kind: PVC\n")], "first").await;
    assert_eq!(instance.git(&["rev-parse", "main"]), first.as_str());
    assert_eq!(instance.git(&["ls-tree", "-r", "--name-only", "main"]), "apps/ghost/pvc.yaml\nconfig.yaml");
    assert_eq!(instance.git(&["show", "main:apps/ghost/pvc.yaml"]), "kind: PVC");
    assert_eq!(
        instance.git(&["log", "-1", "--format=%an <%ae> %cn %aI %s"]),
        "Ada <ada@home.example> Ada 2026-11-21T08:00:00+00:00 first"
    );
    assert_eq!(instance.git(&["fsck", "--strict"]), "");
}

#[tokio::test]
async fn the_same_commit_has_the_same_id_everywhere() {
    let (one, two) = (Instance::bare().await, Instance::bare().await);
    assert_eq!(one.commit(&[("a", "1")], "x").await, two.commit(&[("a", "1")], "x").await);
}

#[tokio::test]
async fn changes_write_delete_and_replace_files_by_directories() {
    let instance = Instance::bare().await;
    let first = instance.commit(&[("a", "1"), ("d/x", "2"), ("d/y/z", "3"), ("e/f", "4")], "first").await;
    let mut new = change(Some(first), &[("a/b", "5"), ("e", "6")], "second");
    new.changes.insert(path_of("d/y"), None);
    new.changes.insert(path_of("nowhere/at/all"), None);
    new.changes.insert(path_of("run"), Some(File { bytes: b"#!/bin/sh\n"[..].into(), mode: FileMode::Executable }));
    instance.repository.commit(new).await.unwrap();
    let listed = instance.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "main"]);
    assert_eq!(listed, "100644 a/b\n100644 d/x\n100644 e\n100755 run");
}

#[tokio::test]
async fn a_directory_that_loses_its_last_file_goes() {
    let instance = Instance::bare().await;
    let first = instance.commit(&[("apps/ghost/pvc.yaml", "a"), ("b", "c")], "first").await;
    let mut new = change(Some(first.clone()), &[], "second");
    new.changes.insert(path_of("apps/ghost/pvc.yaml"), None);
    let second = instance.repository.commit(new).await.unwrap();
    assert_eq!(instance.git(&["ls-tree", "--name-only", "main"]), "b");
    let mut new = change(Some(second), &[], "third");
    new.changes.insert(path_of("b"), None);
    instance.repository.commit(new).await.unwrap();
    assert_eq!(instance.git(&["ls-tree", "--name-only", "main"]), "");
}

#[tokio::test]
async fn a_lost_race_changes_nothing_and_says_where_the_ref_is() {
    let instance = Instance::bare().await;
    let first = instance.commit(&[("a", "1")], "first").await;
    let second = instance.commit(&[("a", "2")], "second").await;
    let lost = instance.repository.commit(change(Some(first.clone()), &[("a", "3")], "late")).await.unwrap_err();
    assert!(matches!(&lost, Error::Lost { reference, expected: Some(expected), found: Some(found) }
        if reference == "refs/heads/main" && *expected == first && *found == second));
    assert!(lost.to_string().starts_with("move refs/heads/main: it was expected at "), "{lost}");
    let lost = instance.repository.commit(change(None, &[("a", "3")], "new")).await.unwrap_err();
    assert!(matches!(lost, Error::Lost { expected: None, .. }), "{lost}");
    assert_eq!(instance.repository.head("main").await.unwrap(), Some(second));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_writers_that_saw_the_same_head_exactly_one_wins() {
    let instance = Instance::bare().await;
    let first = instance.commit(&[("a", "1")], "first").await;
    for head in [Some(first), None] {
        let reference = if head.is_some() { "refs/heads/main" } else { "refs/wild/generated/ghost" };
        let mut writers = Vec::new();
        for number in 0..12 {
            // Each writer has a handle of its own, as another process would: only the ref decides.
            let repository = Repository::open(instance.repository.path()).await.unwrap();
            let mut new = change(head.clone(), &[("a", &format!("writer {number}"))], "race");
            new.reference = reference.to_owned();
            writers.push(tokio::spawn(async move { repository.commit(new).await }));
        }
        let mut winners = Vec::new();
        for writer in writers {
            match writer.await.unwrap() {
                Ok(commit) => winners.push(commit),
                Err(Error::Lost { .. } | Error::Locked { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(winners.len(), 1);
        assert_eq!(instance.repository.read_ref(reference).await.unwrap().as_ref(), winners.first());
    }
}

#[tokio::test]
async fn refs_move_together_or_not_at_all() {
    let instance = Instance::bare().await;
    let first = instance.commit(&[("a", "1")], "first").await;
    let content = CommitContent {
        base_tree: None,
        changes: [(path_of("apps/ghost/x"), Some(File::text("y")))].into(),
        parents: Vec::new(),
        author: author(),
        committer: author(),
        message: "generated\n\nWild-Package: ghost 1.0.0\n".to_owned(),
        time: time(),
    };
    let generated = instance.repository.write_commit(content).await.unwrap();
    let moved = |expected: Option<CommitId>| {
        vec![
            RefChange { name: "refs/wild/generated/ghost".to_owned(), expected: None, new: Some(generated.clone()) },
            RefChange { name: "refs/heads/main".to_owned(), expected, new: Some(generated.clone()) },
        ]
    };
    instance.repository.update_refs(&moved(None)).await.unwrap_err();
    assert_eq!(instance.repository.list_refs("").await.unwrap().len(), 1);
    instance.repository.update_refs(&moved(Some(first))).await.unwrap();
    assert_eq!(instance.repository.list_refs("refs/wild/").await.unwrap().len(), 1);
    instance.repository.delete_ref("refs/wild/generated/ghost", &generated).await.unwrap();
    assert_eq!(instance.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[tokio::test]
async fn a_lock_of_another_program_is_named_and_left_alone() {
    let instance = Instance::bare().await;
    let head = instance.commit(&[("a", "1")], "first").await;
    let lock = instance.repository.git_dir().join("refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    let locked = instance.repository.commit(change(Some(head), &[("a", "2")], "second")).await.unwrap_err();
    assert!(matches!(&locked, Error::Locked { path, .. } if path.ends_with("refs/heads/main.lock")), "{locked}");
    assert!(lock.exists());
}

#[tokio::test]
async fn packed_refs_are_compared_too() {
    let instance = Instance::bare().await;
    let first = instance.commit(&[("a", "1")], "first").await;
    instance.git(&["pack-refs", "--all"]);
    instance.repository.commit(change(None, &[("a", "2")], "new")).await.unwrap_err();
    let second = instance.commit(&[("a", "2")], "second").await;
    assert_eq!(instance.repository.read_ref("refs/heads/main").await.unwrap(), Some(second.clone()));
    instance.git(&["pack-refs", "--all"]);
    instance.repository.delete_ref("refs/heads/main", &first).await.unwrap_err();
    instance.repository.delete_ref("refs/heads/main", &second).await.unwrap();
    assert_eq!(instance.repository.head("main").await.unwrap(), None);
}

#[tokio::test]
async fn ref_names_that_could_do_harm_are_refused() {
    let instance = Instance::bare().await;
    for name in ["main", "refs/heads/../../config", "refs/heads/-x", "refs/heads/a b", "refs/heads/x.lock", "HEAD"] {
        let error = instance.repository.read_ref(name).await.unwrap_err();
        assert!(matches!(error, Error::RefName { .. }), "{name}: {error}");
    }
    let long = format!("refs/heads/{}", "x".repeat(250));
    instance.repository.read_ref(&long).await.unwrap_err();
}

#[tokio::test]
async fn two_programs_with_one_identity_are_told_from_people() {
    let instance = Instance::bare().await;
    let mut new = change(None, &[("a", "1")], "by hand");
    new.committer = Author { name: "wild".to_owned(), email: "wild@host".to_owned() };
    let commit = instance.repository.commit(new).await.unwrap();
    let read = instance.repository.read_commit(&commit).await.unwrap();
    assert_eq!((read.author.name.as_str(), read.committer.name.as_str()), ("Ada", "wild"));
}
