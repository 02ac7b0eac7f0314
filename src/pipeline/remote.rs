//! Keeps the instance repository and its remote equal: what people push there comes in, what we commit goes out.
//!
//! The remote is the arbiter. A commit of ours that it rejects because somebody was faster is taken back before anybody was told of it, and
//! the pass begins again from the new head. Not here: when it is polled (`daemon`), the calls (`git`).

use super::read::head;
use super::{Error, Instance};
use crate::git::{self, FetchRef, Moved, PushRef, Pushed, RefChange};
use crate::model::{CommitId, EventKind};

/// Name of the cursor that says why the remote cannot be followed; empty if it can.
pub(super) const TROUBLE: &str = "remote.trouble";

/// What a push of a new head came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Published {
    /// The remote has it, or there is no remote, or it cannot be reached now and gets it later.
    Kept,
    /// The remote moved meanwhile: our branch was taken back to where the remote is.
    TakenBack,
}

/// Fetches the deployed branch and brings ours forward, or pushes ours; returns whether our branch moved.
pub async fn sync_remote(instance: &Instance) -> Result<bool, Error> {
    let Some(remote) = &instance.remote else { return Ok(false) };
    let branch = format!("refs/heads/{}", instance.branch);
    let tracked = format!("refs/wild/remote/{}", instance.branch);
    let _turn = instance.commits.lock().await;
    let wanted = FetchRef { from: branch.clone(), to: tracked };
    let fetched = match git::fetch(&instance.repository, remote, &[wanted]).await {
        Ok(fetched) => fetched,
        Err(error) => {
            trouble(instance, &crate::base::chain(&error)).await?;
            return Err(error.into());
        }
    };
    let Some(there) = fetched.refs.first() else { return Ok(false) };
    if there.moved == Moved::Rewound {
        trouble(instance, &format!("the remote went back or rewrote its history, to {}", there.new.short())).await?;
        return Ok(false);
    }
    let here = head(instance).await?;
    if here == there.new {
        trouble(instance, "").await?;
        return Ok(false);
    }
    if instance.repository.is_ancestor(&here, &there.new).await? {
        forward(instance, &here, &there.new).await?;
        trouble(instance, "").await?;
        return Ok(true);
    }
    if instance.repository.is_ancestor(&there.new, &here).await? {
        push_all(instance, &here).await?;
        trouble(instance, "").await?;
        return Ok(false);
    }
    trouble(
        instance,
        &format!("the remote is at {} and we are at {}, on different histories", there.new.short(), here.short()),
    )
    .await?;
    Ok(false)
}

/// Pushes a commit that was just made. The caller holds the lane of commits.
pub(super) async fn publish(instance: &Instance, before: &CommitId, made: &CommitId) -> Result<Published, git::Error> {
    if instance.remote.is_none() {
        return Ok(Published::Kept);
    }
    match push_all(instance, made).await {
        Ok(true) => Ok(Published::Kept),
        Ok(false) => {
            let reference = format!("refs/heads/{}", instance.branch);
            let back = RefChange { name: reference, expected: Some(made.clone()), new: Some(before.clone()) };
            instance.repository.update_refs(&[back]).await?;
            Ok(Published::TakenBack)
        }
        Err(error) => {
            tracing::warn!(instance = %instance.name, error = crate::base::chain(&error), "a commit was not pushed and will be later");
            Ok(Published::Kept)
        }
    }
}

/// Pushes what changed beside the deployed branch. What the remote does not take now it gets with the next commit or poll.
pub(super) async fn publish_branches(instance: &Instance, head: &CommitId) {
    if let Err(error) = push_all(instance, head).await {
        tracing::warn!(instance = %instance.name, error = crate::base::chain(&error), "a branch was not pushed and will be later");
    }
}

/// Pushes the deployed branch, update branches, generations and notes; returns whether the deployed branch was taken.
async fn push_all(instance: &Instance, head: &CommitId) -> Result<bool, git::Error> {
    let Some(remote) = &instance.remote else { return Ok(true) };
    let branch = format!("refs/heads/{}", instance.branch);
    let mut refs = vec![PushRef { commit: head.clone(), to: branch.clone() }];
    for prefix in ["refs/heads/wild/", "refs/wild/generated/", "refs/notes/wild"] {
        let found = instance.repository.list_refs(prefix).await?;
        refs.extend(found.into_iter().map(|(name, commit)| PushRef { commit, to: name }));
    }
    let pushed = git::push(&instance.repository, remote, &refs).await?;
    for other in pushed.iter().filter(|pushed| pushed.name != branch) {
        if let Pushed::Rejected { reason } = &other.result {
            // A forge that refuses our refs costs nothing: every merged generation is reachable from the branch.
            tracing::debug!(instance = %instance.name, reference = other.name, reason, "the remote did not take a ref");
        }
    }
    Ok(pushed
        .iter()
        .filter(|pushed| pushed.name == branch)
        .all(|pushed| !matches!(pushed.result, Pushed::Rejected { .. })))
}

async fn forward(instance: &Instance, here: &CommitId, there: &CommitId) -> Result<(), Error> {
    let reference = format!("refs/heads/{}", instance.branch);
    let change = RefChange { name: reference, expected: Some(here.clone()), new: Some(there.clone()) };
    instance.repository.update_refs(&[change]).await?;
    instance.repository.sync_worktree(Some(here), there).await?;
    Ok(())
}

/// Remembers why the remote cannot be followed, and tells it once.
async fn trouble(instance: &Instance, why: &str) -> Result<(), Error> {
    let known = instance.store.cursor(&instance.id, TROUBLE).await?.unwrap_or_default();
    if known == why {
        return Ok(());
    }
    instance.store.put_cursor(&instance.id, TROUBLE, why).await?;
    if !why.is_empty() {
        let event = crate::model::Event {
            time: instance.now(),
            app: None,
            operation: None,
            commit: None,
            kind: EventKind::Blocked,
            detail: why.to_owned(),
        };
        instance.bus.tell(event).await;
    }
    Ok(())
}
