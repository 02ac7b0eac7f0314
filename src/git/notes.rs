//! Notes on commits under one ref of ours: statuses, and anchors of the audit log.
//!
//! Not here: their text (`broadcast`).

use git2::{ErrorCode, Oid};

use crate::base::Timestamp;
use crate::model::{Author, CommitId};

use super::check_tree::Refusal;
use super::checks::tree::{Kind, find_entry};
use super::commit::signature;
use super::error::{Error, git};
use super::locks::{Recovery, recover};
use super::objects::{Objects, oid_of};
use super::read::refused;
use super::refs::{check_packed_refs, oid};
use super::repository::Repository;

/// The ref that holds our notes.
pub const NOTES_REF: &str = "refs/notes/wild";
/// Size of one note in bytes: the statuses of every app at a commit.
const MAX_NOTE_BYTES: u64 = 4 * 1024 * 1024;
/// Digits of a commit that name a directory of notes.
const FAN_OUT: usize = 2;

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
        self.write(attempt.clone(), move |repository, known| {
            let (by, id) = (signature(&author, time)?, oid(&commit)?);
            let text = change(&read_note(&Objects::of(repository, known)?, repository, id)?.unwrap_or_default());
            let write = || repository.note(&by, &by, Some(NOTES_REF), id, &text, true).map(drop);
            match write() {
                Err(error) if error.code() == ErrorCode::Locked => {
                    let path = repository.commondir().join(format!("{NOTES_REF}.lock"));
                    match recover(repository, &path)? {
                        Recovery::Cleared => write().map_err(git(attempt)),
                        Recovery::Held(why) => Err(Error::Locked { path, why }),
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
        self.read(attempt, move |repository, known| {
            read_note(&Objects::of(repository, known)?, repository, oid(&commit)?)
        })
        .await
    }
}

/// Reads the note of a commit. Notes are kept in directories named after the first digits of the commit, or in none; only the trees on the way are
/// read, each once its size was judged, and whoever writes a note afterwards reads no others.
fn read_note(objects: &Objects<'_>, repository: &git2::Repository, id: Oid) -> Result<Option<String>, Error> {
    let refuse = |refusal: Refusal| refused(refusal, NOTES_REF);
    check_packed_refs(repository)?;
    let attempt = || format!("read the notes of {}", repository.path().display());
    let notes = match repository.refname_to_id(NOTES_REF) {
        Ok(notes) => notes,
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(git(attempt())(error)),
    };
    let digits = id.to_string();
    let (mut rest, mut tree) = (digits.as_str(), objects.root(notes).map_err(refuse)?);
    while let Some((directory, below)) = rest.split_at_checked(FAN_OUT) {
        let object = objects.notes(tree).map_err(refuse)?;
        if let Some(found) = find_entry(object.data(), rest.as_bytes()) {
            let note = objects.blob(oid_of(&found.id), MAX_NOTE_BYTES, rest).map_err(refuse)?;
            return Ok(Some(String::from_utf8_lossy(note.data()).into_owned()));
        }
        match find_entry(object.data(), directory.as_bytes()) {
            Some(found) if found.kind == Kind::Directory => tree = oid_of(&found.id),
            Some(_) | None => return Ok(None),
        }
        rest = below;
    }
    Ok(None)
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
            assert!(matches!(write().await, Err(Error::Locked { path, .. }) if path == lock));
            file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
            // Nobody has it open.
            drop(file);
            write().await.unwrap();
            assert!(!lock.exists());
        }
    }
}
