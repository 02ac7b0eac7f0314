//! Notes on commits under one ref of ours: statuses, and anchors of the audit log.
//!
//! Not here: their text (`broadcast`).

use git2::ErrorCode;

use crate::base::Timestamp;
use crate::model::{Author, CommitId};

use super::commit::signature;
use super::error::{Error, git};
use super::refs::oid;
use super::repository::Repository;

/// The ref that holds our notes.
pub const NOTES_REF: &str = "refs/notes/wild";

impl Repository {
    /// Writes the note of a commit, in place of an earlier one.
    pub async fn add_note(&self, commit: &CommitId, text: &str, author: &Author, time: Timestamp) -> Result<(), Error> {
        let attempt = format!("write the note of commit {}", commit.short());
        let (commit, text, author) = (commit.clone(), text.to_owned(), author.clone());
        self.write(attempt.clone(), move |repository| {
            let by = signature(&author, time)?;
            repository.note(&by, &by, Some(NOTES_REF), oid(&commit)?, &text, true).map(drop).map_err(git(attempt))
        })
        .await
    }

    /// Returns the note of a commit, if it has one.
    pub async fn read_note(&self, commit: &CommitId) -> Result<Option<String>, Error> {
        let attempt = format!("read the note of commit {}", commit.short());
        let commit = commit.clone();
        self.read(attempt.clone(), move |repository, _| match repository.find_note(Some(NOTES_REF), oid(&commit)?) {
            Ok(note) => Ok(Some(String::from_utf8_lossy(note.message_bytes()).into_owned())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(git(attempt)(error)),
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Instance, author, time};

    #[tokio::test]
    async fn a_note_replaces_the_one_before_and_git_shows_it() {
        let instance = Instance::bare().await;
        let commit = instance.commit(&[("config.yaml", "a: 1\n")], "first").await;
        let repository = &instance.repository;
        assert_eq!(repository.read_note(&commit).await.unwrap(), None);
        repository.add_note(&commit, "deployed\n", &author(), time()).await.unwrap();
        repository.add_note(&commit, "healthy\n", &author(), time()).await.unwrap();
        assert_eq!(repository.read_note(&commit).await.unwrap().as_deref(), Some("healthy\n"));
        assert_eq!(instance.git(&["notes", "--ref=wild", "show", commit.as_str()]), "healthy");
    }
}
