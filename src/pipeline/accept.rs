//! A person accepts that an upstream went back, lost its packages or is not signed: our ref of it moves to where the upstream is, and where it was is kept.
//!
//! Accepted is the commit that the person was shown, and what came on top of it since; where commits must be signed, only what of that is.
//!
//! Not here: finding it out (`upstream.rs`, `vouched.rs`).

use std::path::Path;

use super::read::{settings, upstream_ref};
use super::upstream::{fetch, remember};
use super::{Error, Instance, Passed, cancel, counts, refuse, vouched};
use crate::base::chain;
use crate::git::{self, RefChange};
use crate::model::{CommitId, Operation, OperationOutcome, OperationState, RefusalText, Upstream, Verify};

/// What a person accepts.
pub(super) struct Accepted<'a> {
    /// The upstream.
    pub(super) name: &'a str,
    /// Where it is followed to; nothing if nothing of it was ever taken.
    pub(super) from: Option<&'a CommitId>,
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
    let moved = match go(instance, directory, accepted, (&operation, reach)).await {
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
    (operation, reach): (&Operation, (&Path, &[String])),
) -> Result<Result<Option<String>, String>, Error> {
    let Accepted { name, from, to } = accepted;
    let repository = &instance.repository;
    let offered = fetch(instance, directory, reach).await?;
    let old = offered.old.as_ref();
    // A process that was killed after it had moved the ref comes here again.
    let is_there = match old {
        Some(old) if Some(old) != *from => old == *to || repository.is_ancestor(to, old).await?,
        _ => false,
    };
    if old != *from && !is_there {
        let by_now = old.map_or("not followed".to_owned(), |old| format!("followed to {}", old.short()));
        return Ok(Err(format!("it is {by_now} by now")));
    }
    let new = old.filter(|_| is_there).unwrap_or(&offered.new);
    if new != *to && !repository.is_ancestor(to, new).await? {
        let (to, now) = (to.short(), new.short());
        return Ok(Err(format!("it was seen at {to} and is at {now} by now, on another history")));
    }
    let vouched = match directory.verify {
        Verify::None => None,
        Verify::Signed => match vouched::answer_for(instance, new, to, operation).await? {
            Ok(vouched) => Some(vouched),
            Err(because) => return Ok(Err(because)),
        },
    };
    let message = if old == Some(new) { None } else { Some(move_to(instance, directory, (name, *from), new).await?) };
    let Some(vouched) = vouched else { return Ok(Ok(message)) };
    let is_new = vouched::vouched(instance, directory).await?.as_ref() != Some(&vouched);
    vouched::vouch(instance, directory, &vouched).await?;
    let taken = is_new.then(|| format!("{} of {name} is taken from now on", new.short()));
    Ok(Ok(message.or(taken)))
}

/// Moves our ref of an upstream to a commit, keeps where it was, and returns what was done.
async fn move_to(
    instance: &Instance,
    directory: &Upstream,
    (name, from): (&str, Option<&CommitId>),
    new: &CommitId,
) -> Result<String, git::Error> {
    let reference = upstream_ref(instance, directory);
    let change = RefChange { name: reference, expected: from.cloned(), new: Some(new.clone()) };
    let Some(from) = from else {
        instance.repository.update_refs(&[change]).await?;
        return Ok(format!("{name} is followed to {}", new.short()));
    };
    let kept = kept_ref(instance, directory, from);
    let keep = RefChange { name: kept.clone(), expected: None, new: Some(from.clone()) };
    instance.repository.update_refs(&[keep, change]).await?;
    Ok(format!("{name} is followed from {} to {}; {kept} keeps the former", from.short(), new.short()))
}

/// Returns the ref that keeps where an upstream was.
fn kept_ref(instance: &Instance, directory: &Upstream, old: &CommitId) -> String {
    let time: String = instance.now().to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let name = instance.tree.subdirectory().outward(&directory.name);
    format!("refs/wild/rewound/{name}/{time}-{}", old.short())
}
