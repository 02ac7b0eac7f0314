//! Notes on commits under one ref of ours: statuses, and anchors of the audit log.
//!
//! Not here: their text (`broadcast`).

use git2::{ErrorCode, Oid};

use crate::base::Timestamp;
use crate::model::{Author, CommitId};

use super::commit::signature;
use super::error::{Error, git};
use super::locks::{Recovery, recover};
use super::refs::oid;
use super::repository::Repository;

/// The ref that holds our notes.
pub const NOTES_REF: &str = "refs/notes/wild";

impl Repository {
    /// Writes the note of a commit made from an earlier one, which is empty if there is none.
    pub async fn change_note(
        &self,
        commit: &CommitId,
        change: impl FnOnce(&str) -> String + Send + 'static,
        author: &Author,
        time: Timestamp,
    ) -> Result<(), Error> {
        let attempt = format!("write the note of commit {}", commit.short());
        let (commit, author) = (commit.clone(), author.clone());
        self.write(attempt.clone(), move |repository| {
            let (by, id) = (signature(&author, time)?, oid(&commit)?);
            let text = change(&read_note(repository, id).map_err(git(attempt.clone()))?.unwrap_or_default());
            let write = || repository.note(&by, &by, Some(NOTES_REF), id, &text, true).map(drop);
            match write() {
                Err(error) if error.code() == ErrorCode::Locked => {
                    let path = repository.commondir().join(format!("{NOTES_REF}.lock"));
                    match recover(repository, &path)? {
                        Recovery::Cleared => write().map_err(git(attempt)),
                        Recovery::Held => Err(Error::Locked { path }),
                    }
                }
                other => other.map_err(git(attempt)),
            }
        })
        .await
    }

    /// Returns the note of a commit, if it has one.
    pub async fn read_note(&self, commit: &CommitId) -> Result<Option<String>, Error> {
        let attempt = format!("read the note of commit {}", commit.short());
        let commit = commit.clone();
        self.read(attempt.clone(), move |repository, _| read_note(repository, oid(&commit)?).map_err(git(attempt)))
            .await
    }
}

fn read_note(repository: &git2::Repository, id: Oid) -> Result<Option<String>, git2::Error> {
    match repository.find_note(Some(NOTES_REF), id) {
        Ok(note) => Ok(Some(String::from_utf8_lossy(note.message_bytes()).into_owned())),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::super::fixture::{Instance, author, time};
    use super::super::{Error, Layout};

    #[tokio::test]
    async fn a_note_replaces_the_one_before_and_git_shows_it() {
        let instance = Instance::bare().await;
        let commit = instance.commit(&[("config.yaml", "a: 1\n")], "first").await;
        let repository = &instance.repository;
        assert_eq!(repository.read_note(&commit).await.unwrap(), None);
        repository.change_note(&commit, |before| format!("{before}deployed\n"), &author(), time()).await.unwrap();
        let change = |before: &str| before.replace("deployed", "healthy");
        repository.change_note(&commit, change, &author(), time()).await.unwrap();
        assert_eq!(repository.read_note(&commit).await.unwrap().as_deref(), Some("healthy\n"));
        assert_eq!(instance.git(&["notes", "--ref=wild", "show", commit.as_str()]), "healthy");
    }

    #[tokio::test]
    async fn a_dead_lock_of_the_notes_is_recovered_and_a_young_one_is_named() {
        for layout in [Layout::Bare, Layout::WorkTree] {
            let instance = Instance::with(layout).await;
            let commit = instance.commit(&[("config.yaml", "a: 1\n")], "first").await;
            let lock = instance.repository.git_dir().join("refs/notes/wild.lock");
            std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
            let file = std::fs::File::create(&lock).unwrap();
            let write =
                async || instance.repository.change_note(&commit, |_| "deployed\n".to_owned(), &author(), time()).await;
            assert!(matches!(write().await, Err(Error::Locked { path }) if path == lock));
            file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
            write().await.unwrap();
            assert!(!lock.exists());
        }
    }
}
