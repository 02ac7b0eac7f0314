//! Reading from repositories that the real git program, or a hostile hand, wrote.
//!
//! Not here: the rules for single names (`check_tree.rs`).

use super::super::Error;
use super::super::fixture::Instance;
use super::*;

/// Writes a raw object past every check and returns its id.
fn write(repository: &git2::Repository, kind: git2::ObjectType, bytes: &[u8]) -> Oid {
    repository.odb().unwrap().write(kind, bytes).unwrap()
}

fn raw_tree(entries: &[(&str, &str, Oid)]) -> Vec<u8> {
    let mut raw = Vec::new();
    for (mode, name, id) in entries {
        raw.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        raw.extend_from_slice(id.as_bytes());
    }
    raw
}

fn commit_tree(repository: &git2::Repository, tree: Oid) -> CommitId {
    let text = format!("tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n");
    super::super::refs::commit_id(write(repository, git2::ObjectType::Commit, text.as_bytes()))
}

/// Makes a commit with one entry at `apps/ghost/<name>` and returns the rule that refuses it.
async fn check(mode: &str, name: &str, expected: &str) {
    let instance = Instance::bare().await;
    let raw = super::super::repository::open(instance.repository.git_dir()).unwrap();
    let blob = write(&raw, git2::ObjectType::Blob, b"/etc/passwd");
    let empty = write(&raw, git2::ObjectType::Tree, b"");
    let entry = if mode == "40000" { empty } else { blob };
    let ghost = write(&raw, git2::ObjectType::Tree, &raw_tree(&[(mode, name, entry)]));
    let apps = write(&raw, git2::ObjectType::Tree, &raw_tree(&[("40000", "ghost", ghost)]));
    let root = write(&raw, git2::ObjectType::Tree, &raw_tree(&[("40000", "apps", apps), ("100644", "x", blob)]));
    let commit = commit_tree(&raw, root);
    let error = instance.repository.read_tree(&commit, &["apps/ghost"]).await.unwrap_err();
    let Error::Hostile { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.rule, expected, "{mode} {name}");
    assert_eq!(source.path, format!("apps/ghost/{name}"));
    assert!(instance.repository.read_tree(&commit, &["x"]).await.is_ok(), "other paths stay readable");
}

#[tokio::test]
async fn hostile_entries_are_refused_with_path_and_rule() {
    check("120000", "link", "tree/symlink").await;
    check("160000", "sub", "tree/gitlink").await;
    check("100644", ".gitmodules", "tree/gitlink").await;
    check("40000", ".git", "tree/dotgit").await;
    check("40000", ".GIT", "tree/dotgit").await;
    check("100644", "git~1", "tree/dotgit").await;
    check("40000", "..", "tree/parent").await;
    check("100644", "a/../../b", "tree/name").await;
    check("100664", "old", "tree/mode").await;
    check("40000", "file-as-directory.", "tree/name").await;
}

#[tokio::test]
async fn a_file_where_the_mode_says_directory_is_refused() {
    let instance = Instance::bare().await;
    let raw = super::super::repository::open(instance.repository.git_dir()).unwrap();
    let blob = write(&raw, git2::ObjectType::Blob, b"x");
    let root = write(&raw, git2::ObjectType::Tree, &raw_tree(&[("40000", "d", blob)]));
    let error = instance.repository.read_tree(&commit_tree(&raw, root), &[]).await.unwrap_err();
    assert!(matches!(&error, Error::Hostile { source, .. } if source.rule == "tree/mode"), "{error}");
}

#[tokio::test]
async fn twelve_objects_that_stand_for_billions_of_files_are_refused_by_count() {
    let instance = Instance::bare().await;
    let raw = super::super::repository::open(instance.repository.git_dir()).unwrap();
    let mut below = write(&raw, git2::ObjectType::Blob, b"x");
    for level in 0..11 {
        let mode = if level == 0 { "100644" } else { "40000" };
        let names: Vec<String> = (0..10).map(|number| format!("n{number}")).collect();
        let entries: Vec<_> = names.iter().map(|name| (mode, name.as_str(), below)).collect();
        below = write(&raw, git2::ObjectType::Tree, &raw_tree(&entries));
    }
    let error = instance.repository.read_tree(&commit_tree(&raw, below), &[]).await.unwrap_err();
    assert!(matches!(&error, Error::Hostile { source, .. } if source.rule == "tree/paths"), "{error}");
}

#[tokio::test]
async fn a_tree_nested_too_deep_is_refused() {
    let instance = Instance::bare().await;
    let raw = super::super::repository::open(instance.repository.git_dir()).unwrap();
    let mut below = write(&raw, git2::ObjectType::Blob, b"x");
    for level in 0..40 {
        let mode = if level == 0 { "100644" } else { "40000" };
        below = write(&raw, git2::ObjectType::Tree, &raw_tree(&[(mode, "d", below)]));
    }
    let error = instance.repository.read_tree(&commit_tree(&raw, below), &[]).await.unwrap_err();
    assert!(matches!(&error, Error::Hostile { source, .. } if source.rule == "tree/depth"), "{error}");
}

#[tokio::test]
async fn a_file_over_the_limit_is_refused_before_it_is_read() {
    let instance = Instance::bare().await;
    let large = "x".repeat(MAX_FILE_BYTES + 1);
    let commit = instance.commit(&[("apps/a/large", &large), ("apps/b/small", "y")], "large").await;
    let error = instance.repository.read_tree(&commit, &["apps/a"]).await.unwrap_err();
    assert!(matches!(&error, Error::Hostile { source, .. } if source.rule == "tree/file-size"), "{error}");
    assert_eq!(instance.repository.read_tree(&commit, &["apps/b"]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn only_what_lies_below_the_paths_is_read() {
    let instance = Instance::bare().await;
    let files = [("apps/ghost/pvc.yaml", "a"), ("apps/ghostly/x", "b"), ("apps/immich/y", "c"), ("config.yaml", "d")];
    let commit = instance.commit(&files, "first").await;
    let paths = async |under: &[&str]| {
        let tree = instance.repository.read_tree(&commit, under).await.unwrap();
        tree.paths().map(|path| path.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&["apps/ghost"]).await, ["apps/ghost/pvc.yaml"]);
    assert_eq!(paths(&["config.yaml", "apps/immich", "gone", "config.yaml/x"]).await, ["apps/immich/y", "config.yaml"]);
    assert_eq!(paths(&[]).await.len(), 4);
    let names = |ids: BTreeMap<String, String>| ids.into_keys().collect::<Vec<_>>();
    let directories = async |path| names(instance.repository.list_directories(&commit, path).await.unwrap());
    assert_eq!(directories("").await, ["apps"]);
    assert_eq!(directories("apps").await, ["ghost", "ghostly", "immich"]);
    assert!(directories("none").await.is_empty());
    assert_eq!(names(instance.repository.list_files(&commit, "").await.unwrap()), ["config.yaml"]);
}

#[tokio::test]
async fn an_id_changes_with_the_content_below_it_and_nothing_else() {
    let instance = Instance::bare().await;
    let first = instance.commit(&[("apps/a/x", "1"), ("apps/b/x", "1")], "first").await;
    let second = instance.commit(&[("apps/a/x", "2")], "second").await;
    let id = async |commit: &CommitId, path: &str| instance.repository.tree_id(commit, path).await.unwrap();
    assert_ne!(id(&first, "apps/a").await, id(&second, "apps/a").await);
    assert_eq!(id(&first, "apps/b").await, id(&second, "apps/b").await);
    assert_eq!(id(&first, "apps/c").await, None);
    let listed = instance.repository.list_directories(&second, "apps").await.unwrap();
    assert_eq!(listed.get("a").cloned(), id(&second, "apps/a").await);
    assert_eq!(id(&first, "").await.unwrap(), instance.git(&["rev-parse", &format!("{first}^{{tree}}")]));
}

#[tokio::test]
async fn a_large_directory_that_was_looked_into_does_not_hide_the_next_one() {
    let instance = Instance::bare().await;
    let names: Vec<String> = (0..200).map(|app| format!("apps/app-{app}/x")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|path| (path.as_str(), "1")).collect();
    let first = instance.commit(&files, "first").await;
    let second = instance.commit(&[("apps/app-7/x", "2"), ("apps/new/x", "3")], "second").await;
    let text = async |commit: &CommitId, app: &str| {
        let tree = instance.repository.read_tree(commit, &[app]).await.unwrap();
        tree.text(&format!("{app}/x")).unwrap_or("none").to_owned()
    };
    for _ in 0..2 {
        assert_eq!(text(&first, "apps/app-7").await, "1");
        assert_eq!(text(&second, "apps/app-7").await, "2");
        assert_eq!(text(&first, "apps/new").await, "none");
        assert_eq!(text(&second, "apps/new").await, "3");
    }
}

#[tokio::test]
async fn a_missing_commit_is_an_error_that_names_it() {
    let instance = Instance::bare().await;
    let error = instance.repository.read_tree(&CommitId::from_bytes([1; 20]), &[]).await.unwrap_err();
    assert!(error.to_string().contains("0101010101"), "{error}");
}
