//! What an earlier pass did of a request before it failed or its process died: a request is carried out once all the same.
//!
//! The commit of a request names its operation, so git itself tells whether it was made. Not here: which operations are open (`store`),
//! files that are behind the branch (`files.rs`).

use super::read::{Read, conflicts, generated_ref, update_ref};
use super::{Committed, Error, Instance, proposed, undo};
use crate::compile::{Authors, Proposal};
use crate::git::Commit;
use crate::model::{AppName, CommitId, Operation, Request};

/// Commits that are searched for that of a request of this very process: others land meanwhile.
const MAX_REPEAT_WALK: usize = 50;
/// Commits that are searched for that of a request of an earlier process: people push while nothing runs.
const MAX_RESUME_WALK: usize = 1_000;

/// Returns what was committed for an operation already, as the commit step would have, once the rest of that step is done.
pub(super) async fn resume(
    instance: &Instance,
    app: &AppName,
    read: &Read,
    operation: Option<&Operation>,
) -> Result<Option<(Proposal, Committed)>, Error> {
    let Some(operation) = operation else { return Ok(None) };
    let mut proposal = Proposal::nothing(app);
    if let Some(made) = find(instance, &read.head, operation).await? {
        finish(instance, app, read, operation, &made).await?;
        proposal.summary = vec![made.subject().to_owned()];
        let before = made.parents.first().unwrap_or(&read.head).clone();
        return Ok(Some((proposal, Committed { before, made: Some(made.id), ..Committed::unchanged(read) })));
    }
    let Some(update) = &read.sources.update else { return Ok(None) };
    let tip = instance.repository.read_commit(&update.tip).await?;
    if !is_of(&tip, operation) {
        return Ok(None);
    }
    proposal.summary = vec![tip.subject().to_owned()];
    proposal.conflicts = conflicts(instance, app).await?;
    let count = proposal.conflicts.len();
    Ok(Some((proposal, Committed { conflicts: count, ..Committed::unchanged(read) })))
}

/// Returns the commit on the deployed branch that was made for an operation.
pub(super) async fn find(instance: &Instance, head: &CommitId, operation: &Operation) -> Result<Option<Commit>, Error> {
    let limit = if instance.open_before.contains(&operation.id) { MAX_RESUME_WALK } else { MAX_REPEAT_WALK };
    let log = instance.repository.log(head, limit, None).await?;
    Ok(log.into_iter().find(|commit| is_of(commit, operation)))
}

fn is_of(commit: &Commit, operation: &Operation) -> bool {
    commit.trailer("Wild-Operation") == Some(operation.id.0.as_str())
}

/// Does what follows a commit: values and the waiting update of an app that no longer needs them go. An update that somebody committed to
/// afterwards stays.
async fn finish(
    instance: &Instance,
    app: &AppName,
    read: &Read,
    operation: &Operation,
    made: &Commit,
) -> Result<(), Error> {
    if let Some(Request::Delete { data, .. }) = &operation.request {
        undo::part_with_secrets(instance, app, *data)?;
    }
    if let (Some(Request::Eject { .. }), Some(tip)) = (&operation.request, &read.sources.tip) {
        instance.repository.delete_ref(&generated_ref(instance, app), &tip.commit).await?;
    }
    let Some(update) = &read.sources.update else { return Ok(()) };
    let replaced = match &operation.request {
        Some(Request::Delete { .. } | Request::Resolve { .. }) => true,
        Some(Request::Update { .. } | Request::Rollback { .. } | Request::Eject { .. }) => {
            update.authors == Authors::OnlyUs
        }
        _ => false,
    };
    if replaced && instance.repository.read_commit(&update.tip).await?.time <= made.time {
        proposed::drop_branch(instance, &update_ref(instance, app), &update.tip).await?;
    }
    Ok(())
}
