//! The files of one instance in commits of its repository: paths go in and come out as the instance has them, wherever it lives.
//!
//! Refs, history and commits themselves are the whole repository's. Not here: where an instance may live (`model::Subdirectory`), files of
//! upstreams, which have no instance.

use std::collections::BTreeMap;

use crate::base::RepoPath;
use crate::model::{CommitId, FileTree, Subdirectory};

use super::commit::NewCommit;
use super::error::Error;
use super::history::Commit;
use super::repository::Repository;

/// The files of one instance in commits of a repository.
#[derive(Clone, Debug)]
pub struct InstanceTree {
    repository: Repository,
    subdirectory: Subdirectory,
}

impl Repository {
    /// Returns the files of the instance that lives in a sub-directory.
    pub fn instance_at(&self, subdirectory: Subdirectory) -> InstanceTree {
        InstanceTree { repository: self.clone(), subdirectory }
    }
}

impl InstanceTree {
    /// Returns where in its repository the instance lives.
    pub fn subdirectory(&self) -> &Subdirectory {
        &self.subdirectory
    }

    /// Reads the files at or below the given paths of a commit; no path means all of the instance.
    pub async fn read_tree(&self, commit: &CommitId, under: &[&str]) -> Result<FileTree, Error> {
        if self.subdirectory.is_top() {
            return self.repository.read_tree(commit, under).await;
        }
        let everything = [""];
        let under = self.outward(if under.is_empty() { &everything } else { under });
        let under: Vec<&str> = under.iter().map(String::as_str).collect();
        Ok(self.repository.read_tree(commit, &under).await?.below(self.subdirectory.as_str()))
    }

    /// Returns the id of the tree or file at a path of a commit.
    pub async fn tree_id(&self, commit: &CommitId, path: &str) -> Result<Option<String>, Error> {
        self.repository.tree_id(commit, &self.subdirectory.outward(path)).await
    }

    /// Reads the files at or below a path of a commit if they hold so many bytes together at most; else returns how many they hold.
    pub async fn read_tree_up_to(
        &self,
        commit: &CommitId,
        under: &str,
        most: u64,
    ) -> Result<Result<FileTree, u64>, Error> {
        let read = self.repository.read_tree_up_to(commit, &self.subdirectory.outward(under), most).await?;
        Ok(read.map(|files| if self.subdirectory.is_top() { files } else { files.below(self.subdirectory.as_str()) }))
    }

    /// Returns the names in a directory of a commit, or none if it is not there.
    pub async fn list_directory(&self, commit: &CommitId, path: &str) -> Result<Vec<String>, Error> {
        self.repository.list_directory(commit, &self.subdirectory.outward(path)).await
    }

    /// Returns the directories in a directory of a commit with the id of each, or none if it is not there.
    pub async fn list_directories(&self, commit: &CommitId, path: &str) -> Result<BTreeMap<String, String>, Error> {
        self.repository.list_directories(commit, &self.subdirectory.outward(path)).await
    }

    /// Returns the files in a directory of a commit with the id of each, or none if it is not there.
    pub async fn list_files(&self, commit: &CommitId, path: &str) -> Result<BTreeMap<String, String>, Error> {
        self.repository.list_files(commit, &self.subdirectory.outward(path)).await
    }

    /// Returns whether a commit holds files of this instance and nothing beside its sub-directory.
    pub async fn is_alone(&self, commit: &CommitId) -> Result<bool, Error> {
        let path = self.subdirectory.as_str();
        let names = path.split('/').filter(|name| !name.is_empty());
        for (above, only) in self.subdirectory.above().iter().zip(names) {
            if self.repository.list_directory(commit, above.as_str()).await? != [only] {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the newest commits of a branch first that changed one of the paths; of a merge only the first parent is followed.
    pub async fn first_parent_log(&self, from: &CommitId, limit: usize, paths: &[&str]) -> Result<Vec<Commit>, Error> {
        let paths = self.outward(paths);
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        self.repository.first_parent_log(from, limit, &paths).await
    }

    /// Makes a commit whose changes are to files of the instance, and moves its ref.
    pub async fn commit(&self, new: NewCommit) -> Result<CommitId, Error> {
        if self.subdirectory.is_top() {
            return self.repository.commit(new).await;
        }
        let mut changes = BTreeMap::new();
        for (path, file) in new.changes {
            changes.insert(self.in_repository(&path)?, file);
        }
        self.repository.commit(NewCommit { changes, ..new }).await
    }

    /// Returns the paths, as the repository has them, at or below the given ones that carry edits which are not committed.
    pub async fn dirty_paths(&self, paths: &[RepoPath]) -> Result<Vec<RepoPath>, Error> {
        let paths: Result<Vec<RepoPath>, Error> = paths.iter().map(|path| self.in_repository(path)).collect();
        self.repository.dirty_paths(&paths?).await
    }

    fn outward(&self, paths: &[&str]) -> Vec<String> {
        paths.iter().map(|path| self.subdirectory.outward(path)).collect()
    }

    fn in_repository(&self, path: &RepoPath) -> Result<RepoPath, Error> {
        RepoPath::parse(&self.subdirectory.outward(path.as_str())).map_err(|error| Error::Unusable {
            attempt: format!("write {path} below {}", self.subdirectory),
            reason: error.reason.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Layout;
    use super::super::fixture::{Instance, change, path_of};
    use super::*;
    use crate::model::File;

    fn tree(instance: &Instance, place: &str) -> InstanceTree {
        instance.repository.instance_at(Subdirectory::parse(place).unwrap())
    }

    fn paths(files: &FileTree) -> Vec<&str> {
        files.paths().map(RepoPath::as_str).collect()
    }

    #[tokio::test]
    async fn two_instances_read_their_own_files_under_the_same_paths() {
        let instance = Instance::bare().await;
        let files = [("README", "r"), ("c/a/apps/web/x", "of a"), ("c/b/apps/web/x", "of b"), ("c/b/config.yaml", "b")];
        let head = instance.commit(&files, "first").await;
        let (a, b) = (tree(&instance, "c/a"), tree(&instance, "c/b"));
        assert_eq!(a.read_tree(&head, &["apps"]).await.unwrap().text("apps/web/x"), Some("of a"));
        assert_eq!(b.read_tree(&head, &["apps"]).await.unwrap().text("apps/web/x"), Some("of b"));
        assert_eq!(paths(&a.read_tree(&head, &[]).await.unwrap()), ["apps/web/x"]);
        assert_eq!(paths(&b.read_tree(&head, &["config.yaml"]).await.unwrap()), ["config.yaml"]);
        assert_eq!(b.list_directory(&head, "").await.unwrap(), ["apps", "config.yaml"]);
        assert_eq!(a.list_directories(&head, "apps").await.unwrap().into_keys().collect::<Vec<_>>(), ["web"]);
        assert_eq!(b.list_files(&head, "").await.unwrap().into_keys().collect::<Vec<_>>(), ["config.yaml"]);
        assert_ne!(a.tree_id(&head, "apps").await.unwrap(), b.tree_id(&head, "apps").await.unwrap());
        assert!(tree(&instance, "c/none").read_tree(&head, &[]).await.unwrap().is_empty());
        assert_eq!(
            b.read_tree_up_to(&head, "apps", 4).await.unwrap(),
            b.read_tree(&head, &["apps"]).await.map_err(|_| 0)
        );
        assert_eq!(b.read_tree_up_to(&head, "apps", 3).await.unwrap(), Err(4));
        assert_eq!(tree(&instance, "").read_tree(&head, &[]).await.unwrap().len(), 4);
    }

    #[tokio::test]
    async fn a_commit_touches_the_own_sub_directory_and_its_log_tells_of_no_other() {
        let instance = Instance::bare().await;
        let first = instance.commit(&[("a/config.yaml", "1"), ("b/config.yaml", "1")], "first").await;
        let (a, b) = (tree(&instance, "a"), tree(&instance, "b"));
        let second = a.commit(change(Some(first.clone()), &[("config.yaml", "2")], "of a")).await.unwrap();
        assert_eq!(instance.git(&["show", "--format=", "--name-only", second.as_str()]), "a/config.yaml");
        let lost = b.commit(change(Some(first.clone()), &[("config.yaml", "2")], "of b")).await;
        assert!(matches!(lost, Err(Error::Lost { .. })), "{lost:?}");
        let third = b.commit(change(Some(second.clone()), &[("config.yaml", "3")], "of b")).await.unwrap();
        let subjects = async |tree: &InstanceTree| -> Vec<String> {
            let log = tree.first_parent_log(&third, 9, &["config.yaml"]).await.unwrap();
            log.iter().map(|commit| commit.subject().to_owned()).collect()
        };
        assert_eq!(subjects(&a).await, ["of a", "first"]);
        assert_eq!(subjects(&b).await, ["of b", "first"]);
        assert_eq!(a.read_tree(&third, &[]).await.unwrap().text("config.yaml"), Some("2"));
    }

    #[tokio::test]
    async fn a_commit_is_alone_that_holds_nothing_beside_the_sub_directory() {
        let instance = Instance::bare().await;
        let mut head = None;
        for (files, alone) in [
            (&[("c/a/apps/x", "1")][..], true),
            (&[("c/a/apps/x", "1"), ("c/b/apps/x", "1")], false),
            (&[("c/a/apps/x", "1"), ("note", "1")], false),
            (&[("c/ab/apps/x", "1")], false),
        ] {
            let mut new = change(head.clone(), files, "next");
            new.base_tree = None;
            let commit = instance.repository.commit(new).await.unwrap();
            assert_eq!(tree(&instance, "c/a").is_alone(&commit).await.unwrap(), alone, "{files:?}");
            assert!(tree(&instance, "").is_alone(&commit).await.unwrap());
            head = Some(commit);
        }
    }

    #[tokio::test]
    async fn an_edit_that_is_not_committed_is_named_as_the_repository_has_it() {
        let instance = Instance::with(Layout::WorkTree).await;
        let head = instance.commit(&[("a/config.yaml", "1"), ("config.yaml", "1")], "first").await;
        instance.repository.sync_worktree(None, &head).await.unwrap();
        let root = instance.repository.work_tree().unwrap().to_owned();
        let a = tree(&instance, "a");
        std::fs::write(root.join("config.yaml"), "edited").unwrap();
        assert!(a.dirty_paths(&[path_of("config.yaml")]).await.unwrap().is_empty());
        std::fs::write(root.join("a/config.yaml"), "edited").unwrap();
        assert_eq!(a.dirty_paths(&[path_of("config.yaml")]).await.unwrap(), [path_of("a/config.yaml")]);
        let mut new = change(Some(head), &[], "deep");
        new.changes.insert(path_of("d/".repeat(31).trim_end_matches('/')), Some(File::text("x")));
        assert!(a.commit(new.clone()).await.is_ok());
        new.changes.insert(path_of("d/".repeat(32).trim_end_matches('/')), Some(File::text("x")));
        assert!(matches!(a.commit(new).await, Err(Error::Unusable { .. })));
    }
}
