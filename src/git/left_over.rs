//! Files that a process of ours left half-written when it was killed: objects and packs that never got their name.
//!
//! Only in bare repositories, which only we write; git's own garbage collection does not know these names. Not here: locks
//! (`locks.rs`), throw-away repositories (`network`).

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::error::{Error, io};
use super::holders::is_open;
use super::lane;
use super::repository::Repository;

/// Start of the name that libgit2 gives an object while it writes it.
const OBJECT: &str = "tmp_object_git2_";
/// End of the name under which a pack is copied.
const PACK: &str = "part";

/// Who else may write to a repository at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writers {
    /// Nobody.
    None,
    /// Processes that serve other instances of it.
    Others,
}

impl Repository {
    /// Removes what an earlier process left half-written. For the start: while nothing else writes every such file is left over, in a
    /// repository that other processes may write to only an old one.
    pub async fn clear_left_over(&self, writers: Writers) -> Result<(), Error> {
        let age = match writers {
            Writers::None => Duration::ZERO,
            Writers::Others => lane::GIT_LOCAL_DEADLINE,
        };
        if !self.is_bare() {
            return Ok(());
        }
        let attempt = format!("remove what was left half-written in {}", self.path().display());
        self.write(attempt.clone(), move |repository, _| {
            let objects = repository.commondir().join("objects");
            clear(&objects, age, |name| name.to_string_lossy().starts_with(OBJECT), &attempt)?;
            clear(&objects.join("pack"), age, |name| Path::new(name).extension() == Some(OsStr::new(PACK)), &attempt)
        })
        .await
    }
}

/// Returns whether a living process may be writing a file.
fn is_written(file: &Path) -> bool {
    std::fs::symlink_metadata(file).is_ok_and(|found| is_open(&found, &[file]))
}

fn clear(folder: &Path, age: Duration, is_left_over: impl Fn(&OsStr) -> bool, attempt: &str) -> Result<(), Error> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(io(attempt))?,
    };
    for entry in entries {
        let entry = entry.map_err(io(attempt))?;
        let written = entry.metadata().and_then(|found| found.modified()).unwrap_or_else(|_| SystemTime::now());
        let is_old = SystemTime::now().duration_since(written).unwrap_or_default() >= age;
        if is_old && is_left_over(&entry.file_name()) && !is_written(&entry.path()) {
            tracing::warn!(file = %entry.path().display(), "what a dead process left half-written is removed");
            std::fs::remove_file(entry.path()).map_err(io(attempt))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Layout;
    use super::super::fixture::Instance;
    use super::*;

    #[tokio::test]
    async fn what_was_half_written_goes_from_a_bare_repository_and_nothing_else() {
        for (layout, left) in [(Layout::Bare, false), (Layout::WorkTree, true)] {
            let instance = Instance::with(layout).await;
            let commit = instance.commit(&[("a", "1")], "first").await;
            let objects = instance.repository.git_dir().join("objects");
            std::fs::create_dir_all(objects.join("pack")).unwrap();
            let files = [objects.join("tmp_object_git2_5f"), objects.join("pack/pack-5f.part")];
            files.iter().for_each(|file| std::fs::write(file, "half").unwrap());
            instance.repository.clear_left_over(Writers::Others).await.unwrap();
            assert!(files.iter().all(|file| file.exists()), "somebody may be writing them");
            let open = std::fs::File::open(&files[0]).unwrap();
            instance.repository.clear_left_over(Writers::None).await.unwrap();
            assert!(files[0].exists() && files[1].exists() == left, "a living process has it open");
            drop(open);
            instance.repository.clear_left_over(Writers::None).await.unwrap();
            assert!(files.iter().all(|file| file.exists() == left));
            assert_eq!(instance.git(&["rev-parse", "main"]), commit.as_str());
            instance.git(&["fsck", "--strict"]);
        }
    }
}
