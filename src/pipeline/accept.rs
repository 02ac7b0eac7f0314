//! A person accepts that an upstream went back or lost its packages: our ref of it moves to where the upstream is, and where it was is kept.
//!
//! Accepted is the commit that the person was shown, and what came on top of it since. Not here: finding it out (`upstream.rs`).

use std::path::Path;

use super::read::{settings, upstream_ref};
use super::upstream::{fetch, remember};
use super::{Error, Instance, Passed, cancel, counts, refuse};
use crate::base::chain;
use crate::git::{self, RefChange};
use crate::model::{CommitId, Operation, OperationOutcome, OperationState, RefusalText, Upstream};

/// What a person accepts.
pub(super) struct Accepted<'a> {
    /// The upstream.
    pub(super) name: &'a str,
    /// Where it is followed to.
    pub(super) from: &'a CommitId,
    /// Where it was seen.
    pub(super) to: &'a CommitId,
}

/// Carries out the request.
pub(super) async fn accept(
    instance: &Instance,
    operation: Operation,
    accepted: &Accepted<'_>,
    reach: (&Path, &[String]),
) -> Result<Passed, Error> {
    let settings = settings(instance).await?;
    let refusal = |because: String, remedy: String| RefusalText {
        code: 2,
        what: format!("accept where the directory {} is", accepted.name),
        because,
        remedy,
        diagnostics: Vec::new(),
    };
    let Some(directory) = settings.directories.iter().find(|directory| directory.name == accepted.name) else {
        let because = "no directory of that name is followed".to_owned();
        return refuse(instance, operation, &refusal(because, "wild directory list".to_owned())).await;
    };
    if let Some(cancelled) = cancel::seal(instance, &operation) {
        return refuse(instance, operation, &cancelled).await;
    }
    let looked = format!("wild directory fetch {}", accepted.name);
    let moved = match go(instance, directory, accepted, reach).await {
        Ok(Ok(moved)) => moved,
        Ok(Err(because)) => return refuse(instance, operation, &refusal(because, looked)).await,
        Err(error) => return refuse(instance, operation, &refusal(chain(&error), looked)).await,
    };
    remember(instance, directory, None).await?;
    let (outcome, message) = match moved {
        Some(message) => (OperationOutcome::Changed, message),
        None => (OperationOutcome::Unchanged, format!("{} is followed there already", accepted.name)),
    };
    let ended = Operation {
        state: OperationState::Succeeded,
        outcome: Some(outcome),
        message,
        ended: Some(instance.now()),
        ..operation
    };
    instance.store.update_operation(&instance.id, &ended).await?;
    counts::ended(instance, &ended);
    Ok(Passed::default())
}

/// Moves our ref of the upstream and returns what was done: nothing if it is there already, or why it cannot be.
async fn go(
    instance: &Instance,
    directory: &Upstream,
    accepted: &Accepted<'_>,
    reach: (&Path, &[String]),
) -> Result<Result<Option<String>, String>, git::Error> {
    let Accepted { name, from, to } = accepted;
    let repository = &instance.repository;
    let offered = fetch(instance, directory, reach).await?;
    let Some(old) = &offered.old else { return Ok(Err("it was never fetched".to_owned())) };
    if old != *from {
        // A process that was killed after it had moved the ref comes here again.
        let is_there = *old == **to || repository.is_ancestor(to, old).await?;
        return Ok(if is_there { Ok(None) } else { Err(format!("it is followed to {} by now", old.short())) });
    }
    if offered.new != **to && !repository.is_ancestor(to, &offered.new).await? {
        let (to, now) = (to.short(), offered.new.short());
        return Ok(Err(format!("it was seen at {to} and is at {now} by now, on another history")));
    }
    let kept = kept_ref(instance, directory, from);
    let keep = RefChange { name: kept.clone(), expected: None, new: Some((*from).clone()) };
    let change = RefChange {
        name: upstream_ref(instance, directory),
        expected: Some((*from).clone()),
        new: Some(offered.new.clone()),
    };
    repository.update_refs(&[keep, change]).await?;
    let message =
        format!("{name} is followed from {} to {}; {kept} keeps the former", from.short(), offered.new.short());
    Ok(Ok(Some(message)))
}

/// Returns the ref that keeps where an upstream was.
fn kept_ref(instance: &Instance, directory: &Upstream, old: &CommitId) -> String {
    let time: String = instance.now().to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let name = instance.tree.subdirectory().outward(&directory.name);
    format!("refs/wild/rewound/{name}/{time}-{}", old.short())
}
