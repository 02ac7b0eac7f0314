//! Files of a work tree that are behind its branch, because something ended between the two moves: where they stand is remembered before
//! the branch moves and forgotten once they have followed.
//!
//! Not here: the only checkout (`git`).

use super::{Error, Instance};
use crate::base::chain;
use crate::model::CommitId;

/// Name of the cursor that holds the commit at which the files stand; empty if they are where the branch is.
const BEHIND: &str = "files.behind";

/// Remembers where the files stand, before the branch moves on.
pub(super) async fn hold(instance: &Instance, at: &CommitId) -> Result<(), Error> {
    if instance.repository.is_bare() {
        return Ok(());
    }
    Ok(instance.store.put_cursor(&instance.id, BEHIND, at.as_str()).await?)
}

/// Brings the files to the branch.
async fn follow(instance: &Instance) -> Result<(), Error> {
    let repository = &instance.repository;
    if repository.is_bare() {
        return Ok(());
    }
    let known = instance.store.cursor(&instance.id, BEHIND).await?.unwrap_or_default();
    let Ok(from) = CommitId::parse(&known) else { return Ok(()) };
    if let Some(head) = repository.head(&instance.branch).await?
        && head != from
    {
        repository.sync_worktree(Some(&from), &head).await?;
    }
    Ok(instance.store.put_cursor(&instance.id, BEHIND, "").await?)
}

/// Brings the files to the branch if an earlier pass did not.
pub(super) async fn catch_up(instance: &Instance) {
    if !instance.repository.is_bare() {
        let _turn = instance.repository.turn().await;
        follow_or_tell(instance).await;
    }
}

/// Brings the files to the branch; what is in the way is told, and nothing waits for it.
pub(super) async fn follow_or_tell(instance: &Instance) {
    if let Err(error) = follow(instance).await {
        tracing::warn!(instance = %instance.name, error = chain(&error), "the files of the work tree are behind the branch");
    }
}
