//! History with merges, read by us and by the real git program.
//!
//! Not here: writing it (`commit.rs`).

use super::super::NewCommit;
use super::super::fixture::{Instance, change};
use super::*;

/// Makes `first` on main, a generation on a ref of its own, and a merge of both.
async fn merged() -> (Instance, CommitId, CommitId, CommitId) {
    let instance = Instance::bare().await;
    let first = instance.commit(&[("config.yaml", "a: 1\n")], "first").await;
    let mut new = change(None, &[("apps/ghost/x", "1")], "ghost 1.0.0\n\nWild-Package: ghost 1.0.0\nWild-Config: abc");
    new.reference = "refs/wild/generated/ghost".to_owned();
    let generated = instance.repository.commit(new).await.unwrap();
    let new = NewCommit {
        parents: vec![first.clone(), generated.clone()],
        ..change(Some(first.clone()), &[("apps/ghost/x", "1")], "feat(ghost): add 1.0.0")
    };
    let merge = instance.repository.commit(new).await.unwrap();
    (instance, first, generated, merge)
}

#[tokio::test]
async fn the_base_of_a_merge_is_found_as_git_finds_it() {
    let (instance, first, generated, merge) = merged().await;
    let repository = &instance.repository;
    assert_eq!(repository.merge_base(&first, &generated).await.unwrap(), None);
    assert_eq!(repository.merge_base(&merge, &generated).await.unwrap(), Some(generated.clone()));
    assert_eq!(instance.git(&["merge-base", merge.as_str(), generated.as_str()]), generated.as_str());
    assert!(repository.is_ancestor(&generated, &merge).await.unwrap());
    assert_eq!(repository.commit_of(merge.short()).await.unwrap(), Some(merge.clone()));
    for nothing in ["0000000", "main", ""] {
        assert_eq!(repository.commit_of(nothing).await.unwrap(), None, "{nothing}");
    }
    assert!(repository.is_ancestor(&merge, &merge).await.unwrap());
    assert!(!repository.is_ancestor(&merge, &generated).await.unwrap());
}

#[tokio::test]
async fn a_log_follows_all_parents_or_the_first() {
    let (instance, first, generated, merge) = merged().await;
    let ids = |log: Vec<Commit>| log.into_iter().map(|commit| commit.id).collect::<Vec<_>>();
    let repository = &instance.repository;
    let all = ids(repository.log(&merge, 10, None).await.unwrap());
    assert_eq!((all.len(), all.first()), (3, Some(&merge)));
    assert_eq!(ids(repository.first_parent_log(&merge, 10, &[]).await.unwrap()), [merge.clone(), first.clone()]);
    assert_eq!(ids(repository.log(&merge, 1, None).await.unwrap()), std::slice::from_ref(&merge));
    assert_eq!(ids(repository.log(&merge, 10, Some("apps/ghost")).await.unwrap()), [generated]);
    assert_eq!(
        ids(repository.first_parent_log(&merge, 10, &["apps/ghost"]).await.unwrap()),
        std::slice::from_ref(&merge)
    );
    assert_eq!(
        ids(repository.first_parent_log(&merge, 10, &["config.yaml"]).await.unwrap()),
        std::slice::from_ref(&first)
    );
    let both = ["config.yaml", "apps/ghost"];
    assert_eq!(ids(repository.first_parent_log(&merge, 10, &both).await.unwrap()), [merge.clone(), first]);
    assert!(repository.log(&merge, 10, Some("nowhere")).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_commit_that_breaks_a_rule_hides_no_other_from_a_log() {
    let (instance, first, ..) = merged().await;
    let raw = super::super::repository::open(instance.repository.git_dir()).unwrap();
    let objects = raw.odb().unwrap();
    let made = |tree: Oid, parent: &CommitId| {
        let text = format!("tree {tree}\nparent {parent}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n");
        super::super::refs::commit_id(objects.write(git2::ObjectType::Commit, text.as_bytes()).unwrap())
    };
    let entry = [b"100644 config.yaml\0".as_slice(), raw.blob(b"x").unwrap().as_bytes()].concat();
    let twice = objects.write(git2::ObjectType::Tree, &entry.repeat(2)).unwrap();
    let odd = made(twice, &first);
    let last = made(raw.find_commit(oid(&first).unwrap()).unwrap().tree_id(), &odd);
    let log = instance.repository.first_parent_log(&last, 10, &["config.yaml"]).await.unwrap();
    assert_eq!(log.into_iter().map(|commit| commit.id).collect::<Vec<_>>(), [last, odd.clone(), first]);
    assert!(instance.repository.first_parent_log(&odd, 10, &["config.yaml"]).await.is_err(), "at the tip it is told");
}

#[tokio::test]
async fn trailers_are_read_from_the_end_of_a_message() {
    let (instance, _, generated, merge) = merged().await;
    let commit = instance.repository.read_commit(&generated).await.unwrap();
    assert_eq!(commit.trailer("Wild-Package"), Some("ghost 1.0.0"));
    assert_eq!(commit.trailer("wild-config"), Some("abc"));
    assert_eq!(commit.trailer("Wild-Base"), None);
    assert_eq!(commit.subject(), "ghost 1.0.0");
    assert_eq!(commit.time, super::super::fixture::time());
    assert_eq!(instance.repository.read_commit(&merge).await.unwrap().parents.len(), 2);
}

#[tokio::test]
async fn changed_paths_are_listed_in_order() {
    let (instance, first, _, merge) = merged().await;
    let paths = async |from: Option<&CommitId>, to: &CommitId| {
        let paths = instance.repository.diff_paths(from, to).await.unwrap();
        paths.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(paths(Some(&first), &merge).await, ["apps/ghost/x"]);
    assert_eq!(paths(Some(&merge), &first).await, ["apps/ghost/x"]);
    assert_eq!(paths(None, &merge).await, ["apps/ghost/x", "config.yaml"]);
    assert!(paths(Some(&first), &first).await.is_empty());
}
