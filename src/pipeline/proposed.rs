//! The branches on which something waits for a person, an update or an adoption: which of them are ours.
//!
//! Whoever may push can make a branch of that name and write our name below its commits, so neither says that it is ours. What does is a ref
//! that nobody pushes: where we left the branch. A branch is believed that stands there, or on which people's commits stand. Not here: what
//! is committed (`commit.rs`, `review.rs`), which pushes are refused (`git::hook`).

use super::Instance;
use super::read::generated_ref;
use crate::base::chain;
use crate::git::{self, NewCommit, RefChange, RefObstacle};
use crate::model::{AppName, CommitId};

/// Start of the names of all such branches.
const BRANCHES: &str = "refs/heads/wild/";
/// Below this our refs say where we left them.
const MADE: &str = "refs/wild/made/";
/// Name of the cursor that says that where we left them is written down.
const WRITTEN_DOWN: &str = "branches.made";
/// Commits of a branch that are looked at for the first one.
const MAX_WALK: usize = 500;

/// Returns the ref that says where we left a branch.
fn made_ref(branch: &str) -> String {
    format!("{MADE}{}", branch.trim_start_matches(BRANCHES))
}

/// Returns the tip of a branch that is ours, or that people committed to on top of us; nothing if there is none or somebody else made it.
pub(super) async fn tip(instance: &Instance, branch: &str) -> Result<Option<CommitId>, git::Error> {
    let Some(tip) = standing(instance, branch).await? else { return Ok(None) };
    Ok(if is_ours(instance, branch, &tip).await? { Some(tip) } else { None })
}

/// Returns where a branch stands, whoever made it. Where something else is in its place there is none, and whoever would make one says why that
/// cannot be.
pub(super) async fn standing(instance: &Instance, branch: &str) -> Result<Option<CommitId>, git::Error> {
    match instance.repository.read_ref(branch).await {
        Err(_) if instance.repository.obstacle(branch).await?.is_some() => Ok(None),
        read => read,
    }
}

async fn is_ours(instance: &Instance, branch: &str, tip: &CommitId) -> Result<bool, git::Error> {
    let repository = &instance.repository;
    let Some(made) = repository.read_ref(&made_ref(branch)).await? else { return Ok(false) };
    if repository.is_ancestor(&made, tip).await? {
        return Ok(true);
    }
    // A process that died had written down where it was going to leave the branch, on top of where it was. What else lies below that, the
    // deployed branch and what was generated, was never on this branch.
    if !repository.read_commit(&made).await?.parents.contains(tip) {
        return Ok(false);
    }
    let generated = branch.rsplit('/').next().and_then(|name| AppName::parse(name).ok());
    let generated = generated.map(|app| generated_ref(instance, &app));
    for other in [Some(format!("refs/heads/{}", instance.branch)), generated].into_iter().flatten() {
        if let Some(other) = repository.read_ref(&other).await?
            && repository.is_ancestor(tip, &other).await?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What became of a commit to a branch.
pub(super) enum Proposed {
    /// The branch is there.
    Made,
    /// Somebody else made a branch of this name, which is left alone.
    Foreign,
    /// Something leaves no room for a branch of this name.
    Obstructed(RefObstacle),
}

/// Makes a commit and moves the branch to it. Where it is left is written down first.
pub(super) async fn propose(instance: &Instance, new: NewCommit) -> Result<Proposed, git::Error> {
    let NewCommit { reference: branch, expected, .. } = new.clone();
    let made = made_ref(&branch);
    for name in [&branch, &made] {
        if let Some(obstacle) = instance.repository.obstacle(name).await? {
            return Ok(Proposed::Obstructed(obstacle));
        }
    }
    let known = instance.repository.read_ref(&branch).await?;
    if let Some(known) = known.filter(|known| expected.as_ref() != Some(known))
        && !is_ours(instance, &branch, &known).await?
    {
        return Ok(Proposed::Foreign);
    }
    let before = instance.repository.read_ref(&made).await?;
    let commit = instance.tree.commit(NewCommit { reference: made, expected: before, ..new }).await?;
    instance.repository.update_refs(&[RefChange { name: branch, expected, new: Some(commit) }]).await?;
    Ok(Proposed::Made)
}

/// Takes a branch of ours away if it is still where it was seen.
pub(super) async fn drop_branch(instance: &Instance, branch: &str, seen: &CommitId) -> Result<(), git::Error> {
    instance.repository.delete_ref(branch, seen).await?;
    let made = made_ref(branch);
    match instance.repository.read_ref(&made).await? {
        Some(left) => instance.repository.delete_ref(&made, &left).await,
        None => Ok(()),
    }
}

/// Returns the branches below the name of ours that somebody else made, as `refs/heads/…`.
pub async fn foreign_branches(instance: &Instance) -> Result<Vec<String>, git::Error> {
    // One that is called as the directory of ours leaves no room for any.
    let above = BRANCHES.trim_end_matches('/');
    let is_above = instance.branch != "wild" && instance.repository.read_ref(above).await?.is_some();
    let mut foreign: Vec<String> = is_above.then(|| above.to_owned()).into_iter().collect();
    for (branch, tip) in instance.repository.list_refs(BRANCHES).await? {
        let is_deployed = branch.strip_prefix("refs/heads/") == Some(&instance.branch);
        if !is_deployed && !is_ours(instance, &branch, &tip).await? {
            foreign.push(branch);
        }
    }
    Ok(foreign)
}

/// Forgets where branches were that are gone: a process died between the two, or a person took one away.
async fn forget_gone(instance: &Instance) -> Result<(), git::Error> {
    let place = instance.tree.subdirectory();
    for (made, left) in instance.repository.list_refs(MADE).await? {
        let branch = format!("{BRANCHES}{}", made.trim_start_matches(MADE));
        let app = branch.rsplit('/').next().and_then(|name| AppName::parse(name).ok());
        let own = app.map(|app| [place.update_branch(&app), place.drift_branch(&app)]).unwrap_or_default();
        let is_own = own.iter().any(|own| branch.strip_prefix("refs/heads/") == Some(own));
        if is_own && instance.repository.read_ref(&branch).await?.is_none() {
            instance.repository.delete_ref(&made, &left).await?;
        }
    }
    Ok(())
}

/// Writes down, once, where the branches are that an earlier build left, or that came with a clone: those whose first commit is ours. For the
/// start, before anything is proposed.
pub(super) async fn write_down(instance: &Instance, head: &CommitId) -> Result<(), super::Error> {
    forget_gone(instance).await?;
    if instance.store.cursor(&instance.id, WRITTEN_DOWN).await?.is_some() {
        return Ok(());
    }
    let place = instance.tree.subdirectory();
    for (branch, tip) in instance.repository.list_refs(BRANCHES).await? {
        let name = branch.rsplit('/').next().and_then(|name| AppName::parse(name).ok());
        let own = name.map(|app| [place.update_branch(&app), place.drift_branch(&app)]).unwrap_or_default();
        let is_own = own.iter().any(|own| branch.strip_prefix("refs/heads/") == Some(own));
        let made = made_ref(&branch);
        if !is_own || instance.repository.read_ref(&made).await?.is_some() {
            continue;
        }
        match first_of_ours(instance, &tip, head).await {
            Ok(Some(first)) => {
                let change = RefChange { name: made, expected: None, new: Some(first) };
                instance.repository.update_refs(&[change]).await?;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(instance = %instance.name, branch, error = chain(&error), "a branch is not read")
            }
        }
    }
    Ok(instance.store.put_cursor(&instance.id, WRITTEN_DOWN, "1").await?)
}

/// Returns the commit with which a branch left the deployed one, if it says that we made it.
async fn first_of_ours(instance: &Instance, tip: &CommitId, head: &CommitId) -> Result<Option<CommitId>, git::Error> {
    let mut first = None;
    for commit in instance.repository.first_parent_log(tip, MAX_WALK, &[]).await? {
        if instance.repository.is_ancestor(&commit.id, head).await? {
            break;
        }
        first = Some(commit);
    }
    Ok(first.filter(|first| first.committer == instance.committer).map(|first| first.id))
}
