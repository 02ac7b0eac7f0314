//! Work trees of people, edited by hand and by the real git program, before and after our update.
//!
//! Not here: links in the way of single files (`beneath.rs`).

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::super::Layout;
use super::super::fixture::{Instance, change, path_of};
use super::*;

async fn instance(files: &[(&str, &str)]) -> (Instance, CommitId) {
    let instance = Instance::with(Layout::WorkTree).await;
    let first = instance.commit(files, "first").await;
    instance.repository.sync_worktree(None, &first).await.unwrap();
    assert_eq!(instance.git(&["status", "--porcelain"]), "");
    (instance, first)
}

/// Commits changes, in which an empty text deletes, over a work tree that a person edited, and syncs.
async fn update(instance: &Instance, from: &CommitId, files: &[(&str, &str)]) -> Result<CommitId, Error> {
    let mut new = change(Some(from.clone()), files, "second");
    for (path, text) in files.iter().filter(|(_, text)| text.is_empty()) {
        assert!(text.is_empty());
        new.changes.insert(path_of(path), None);
    }
    let to = instance.repository.commit(new).await.unwrap();
    instance.repository.sync_worktree(Some(from), &to).await.map(|()| to)
}

/// Runs an edit by hand, then an update that changes `a` and adds `new/x`, and expects the paths named as in the way.
async fn refused(edit: impl Fn(&Path, &Instance), expected: &[&str]) {
    let (instance, first) = instance(&[("a", "1"), ("b", "1"), ("d/x", "1")]).await;
    edit(instance.repository.path(), &instance);
    let before = instance.git(&["status", "--porcelain"]);
    let Err(Error::WorkTreeDirty { paths }) = update(&instance, &first, &[("a", "2"), ("new/x", "2")]).await else {
        panic!("the update went through over {before:?}");
    };
    assert_eq!(paths.iter().map(RepoPath::as_str).collect::<Vec<_>>(), expected);
    assert!(!instance.repository.git_dir().join("index.lock").exists());
    instance.git(&["reset", "-q", "--soft", first.as_str()]);
    assert_eq!(instance.git(&["status", "--porcelain"]), before, "nothing was touched");
}

#[tokio::test]
async fn an_update_writes_deletes_and_sets_modes_and_git_sees_a_clean_tree() {
    let (instance, first) = instance(&[("a", "1"), ("d/e/x", "1"), ("d/y", "1"), ("f/g", "1"), ("h", "1")]).await;
    let root = instance.repository.path();
    let mut new = change(Some(first.clone()), &[("a", "2"), ("n/e/w", "3"), ("f", "file"), ("h/i", "deep")], "second");
    new.changes.insert(path_of("d/e/x"), None);
    let script = File { bytes: b"#!/bin/sh\n"[..].into(), mode: FileMode::Executable };
    new.changes.insert(path_of("run"), Some(script));
    let to = instance.repository.commit(new).await.unwrap();
    instance.repository.sync_worktree(Some(&first), &to).await.unwrap();
    assert_eq!(instance.git(&["status", "--porcelain"]), "");
    assert_eq!(fs::read_to_string(root.join("n/e/w")).unwrap(), "3");
    assert_eq!(fs::read_to_string(root.join("f")).unwrap(), "file");
    assert_eq!(fs::read_to_string(root.join("h/i")).unwrap(), "deep");
    assert!(!root.join("d/e").exists() && root.join("d/y").exists());
    assert_eq!(fs::metadata(root.join("run")).unwrap().permissions().mode() & 0o111, 0o111);
    assert_eq!(instance.git(&["fsck"]), "");
    instance.repository.sync_worktree(Some(&first), &to).await.unwrap();
    assert_eq!(instance.git(&["status", "--porcelain"]), "", "the second run changes nothing");
}

#[tokio::test]
async fn edits_elsewhere_are_kept_staged_or_not() {
    let (instance, first) = instance(&[("a", "1"), ("b", "1"), ("c", "1"), ("e", "1")]).await;
    let root = instance.repository.path();
    fs::write(root.join("b"), "mine").unwrap();
    fs::write(root.join("c"), "staged").unwrap();
    instance.git(&["add", "c"]);
    instance.git(&["rm", "-q", "e"]);
    fs::write(root.join("untracked"), "new").unwrap();
    update(&instance, &first, &[("a", "2"), ("n", "3")]).await.unwrap();
    assert_eq!(instance.git(&["status", "--porcelain"]), " M b\nM  c\nD  e\n?? untracked");
    assert_eq!(fs::read_to_string(root.join("b")).unwrap(), "mine");
}

#[tokio::test]
async fn an_edit_in_the_way_stops_the_whole_update() {
    refused(|root, _| fs::write(root.join("a"), "mine").unwrap(), &["a"]).await;
    refused(|root, _| fs::remove_file(root.join("a")).unwrap(), &["a"]).await;
    refused(|_, instance| drop(instance.git(&["rm", "-q", "--cached", "a"])), &["a"]).await;
    let staged = |root: &Path, instance: &Instance| {
        fs::write(root.join("a"), "mine").unwrap();
        instance.git(&["add", "a"]);
        fs::write(root.join("a"), "1").unwrap();
    };
    refused(staged, &["a"]).await;
    let executable = |root: &Path, _: &Instance| {
        fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
    };
    refused(executable, &["a"]).await;
}

#[tokio::test]
async fn files_directories_and_links_in_the_way_stop_the_whole_update() {
    refused(|root, _| fs::write(root.join("new"), "untracked").unwrap(), &["new/x"]).await;
    let untracked = |root: &Path, _: &Instance| {
        fs::create_dir(root.join("new")).unwrap();
        fs::write(root.join("new/x"), "untracked").unwrap();
    };
    refused(untracked, &["new/x"]).await;
    refused(|root, _| std::os::unix::fs::symlink("/tmp", root.join("new")).unwrap(), &["new/x"]).await;
    let linked = |root: &Path, _: &Instance| {
        fs::remove_file(root.join("a")).unwrap();
        std::os::unix::fs::symlink("b", root.join("a")).unwrap();
    };
    refused(linked, &["a"]).await;
    let directory = |root: &Path, _: &Instance| {
        fs::remove_file(root.join("a")).unwrap();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/mine"), "1").unwrap();
    };
    refused(directory, &["a"]).await;
}

#[tokio::test]
async fn a_directory_with_a_new_file_does_not_become_a_file() {
    let (instance, first) = instance(&[("d/x", "1")]).await;
    fs::write(instance.repository.path().join("d/mine"), "1").unwrap();
    let error = update(&instance, &first, &[("d", "file")]).await.unwrap_err();
    assert!(matches!(&error, Error::WorkTreeDirty { paths } if *paths == [path_of("d/mine")]), "{error}");
    assert_eq!(error.to_string(), "update the work tree: uncommitted edits in d/mine");
}

#[tokio::test]
async fn what_is_as_the_new_commit_already_is_no_edit() {
    let (instance, first) = instance(&[("a", "1"), ("gone", "1")]).await;
    fs::write(instance.repository.path().join("a"), "2").unwrap();
    fs::remove_file(instance.repository.path().join("gone")).unwrap();
    update(&instance, &first, &[("a", "2"), ("gone", "")]).await.unwrap();
    assert_eq!(instance.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn attributes_of_the_repository_change_no_byte() {
    let attributes = "* text eol=crlf ident filter=evil\n";
    let (instance, first) = instance(&[(".gitattributes", attributes), ("a", "1\n")]).await;
    update(&instance, &first, &[("a", "$Id$\n2\n")]).await.unwrap();
    assert_eq!(fs::read(instance.repository.path().join("a")).unwrap(), b"$Id$\n2\n");
}

#[tokio::test]
async fn nothing_happens_unless_head_is_the_branch_at_that_commit() {
    let (instance, first) = instance(&[("a", "1")]).await;
    let second = instance.commit(&[("a", "2")], "second").await;
    instance.repository.sync_worktree(None, &first).await.unwrap();
    instance.git(&["checkout", "-q", "-f", "--detach", first.as_str()]);
    instance.repository.sync_worktree(Some(&first), &second).await.unwrap();
    assert_eq!(fs::read_to_string(instance.repository.path().join("a")).unwrap(), "1");
    let bare = Instance::bare().await;
    let commit = bare.commit(&[("a", "1")], "first").await;
    bare.repository.sync_worktree(None, &commit).await.unwrap();
    assert!(bare.repository.dirty_paths(&[path_of("a")]).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_held_index_lock_is_named_and_left_alone() {
    let (instance, first) = instance(&[("a", "1")]).await;
    let lock = instance.repository.git_dir().join("index.lock");
    fs::write(&lock, "").unwrap();
    let error = update(&instance, &first, &[("a", "2")]).await.unwrap_err();
    assert!(matches!(&error, Error::Locked { path, .. } if *path == lock), "{error}");
    assert!(lock.exists());
}

#[tokio::test]
async fn what_an_update_that_died_left_is_cleared_and_the_next_one_is_whole() {
    let (instance, first) = instance(&[("a", "1")]).await;
    let parts = ["index.wild", "index.wild.lock", "index.lock.wild"];
    for part in parts {
        fs::write(instance.repository.git_dir().join(part), "half").unwrap();
    }
    update(&instance, &first, &[("a", "2")]).await.unwrap();
    assert_eq!(instance.git(&["status", "--porcelain"]), "");
    for part in parts {
        assert!(!instance.repository.git_dir().join(part).exists(), "{part}");
    }
}

#[tokio::test]
async fn a_link_in_a_commit_is_never_checked_out() {
    let (instance, first) = instance(&[("a", "1")]).await;
    std::os::unix::fs::symlink("/etc/passwd", instance.repository.path().join("link")).unwrap();
    instance.git(&["add", "link"]);
    instance.git(&["commit", "-q", "-m", "link"]);
    let second = instance.repository.head("main").await.unwrap().unwrap();
    let error = instance.repository.sync_worktree(Some(&first), &second).await.unwrap_err();
    assert!(matches!(&error, Error::Hostile { source, .. } if source.rule == "tree/symlink"), "{error}");
}

#[tokio::test]
async fn uncommitted_edits_are_found_at_and_below_paths() {
    let files =
        [("apps/a/x", "1"), ("apps/a/y", "1"), ("apps/b/x", "1"), ("config.yaml", "1"), (".gitignore", "*.swp\n")];
    let (instance, _) = instance(&files).await;
    let root = instance.repository.path();
    let dirty = async |paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(|path| path_of(path)).collect();
        let dirty = instance.repository.dirty_paths(&paths).await.unwrap();
        dirty.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(dirty(&["apps/a", "apps/b", "config.yaml", "apps/new"]).await, "");
    fs::write(root.join("apps/a/x"), "2").unwrap();
    fs::remove_file(root.join("apps/a/y")).unwrap();
    fs::write(root.join("apps/a/new"), "3").unwrap();
    fs::write(root.join("apps/a/.x.swp"), "3").unwrap();
    fs::write(root.join("apps/b/x"), "2").unwrap();
    instance.git(&["add", "apps/b/x"]);
    fs::write(root.join("apps/b/x"), "1").unwrap();
    assert_eq!(dirty(&["apps/a"]).await, "apps/a/new apps/a/x apps/a/y");
    assert_eq!(dirty(&["apps/b/x", "config.yaml"]).await, "apps/b/x");
    assert_eq!(dirty(&["config.yaml/below", "apps/a/x/y"]).await, "apps/a/x");
}
