//! The branch on which values of the cluster that were adopted wait to be reviewed.
//!
//! It holds what we commit to it and nothing else: made anew it takes its old tip along, so that nothing is ever force-pushed, and once a
//! person committed to it, it is theirs until they merge or delete it. Not here: what is adopted (`compile`).

use super::Instance;
use super::commit::{self, author, message};
use super::proposed::{self, Proposed};
use super::read::Read;
use crate::base::chain;
use crate::compile::{self, TreeEdit};
use crate::git::{self, NewCommit};
use crate::model::{AppName, CommitId, Operation, RefusalText};

/// Commits of the branch that are looked at for those of people.
const MAX_WALK: usize = 100;

fn reference(instance: &Instance, app: &AppName) -> String {
    format!("refs/heads/{}", instance.tree.subdirectory().drift_branch(app))
}

/// Returns what a person does next.
pub(super) fn told(instance: &Instance, app: &AppName) -> String {
    let branch = instance.tree.subdirectory().drift_branch(app);
    format!("committed on {branch} for review; to have it: git merge {branch}")
}

/// Commits an adoption to the branch.
pub(super) async fn propose(
    instance: &Instance,
    app: &AppName,
    (read, edit): (&Read, &TreeEdit),
    operation: Option<&Operation>,
) -> Result<(), commit::Error> {
    let reference = reference(instance, app);
    let old = proposed::tip(instance, &reference).await?;
    if let Some(old) = &old
        && !is_ours(instance, old, &read.head).await?
    {
        let branch = instance.tree.subdirectory().drift_branch(app);
        return Err(commit::Error::Refused(RefusalText {
            code: 6,
            what: format!("adopt drift of {app} for review"),
            because: format!("{branch} holds commits of people, which are not written over"),
            remedy: format!("git merge {branch}"),
            diagnostics: Vec::new(),
        }));
    }
    if let Some(old) = &old
        && instance.repository.read_commit(old).await?.parents.first() == Some(&read.head)
        && holds(instance, old, app, (read, edit)).await?
    {
        return Ok(());
    }
    let commit = NewCommit {
        reference,
        expected: old.clone(),
        base_tree: Some(read.head.clone()),
        changes: edit.changes.clone(),
        parents: [read.head.clone()].into_iter().chain(old).collect(),
        author: author(instance, operation),
        committer: instance.committer.clone(),
        message: message(instance, edit, operation, (None, None)),
        time: instance.now(),
    };
    match proposed::propose(instance, commit).await? {
        Proposed::Made => Ok(()),
        Proposed::Foreign => {
            let branch = instance.tree.subdirectory().drift_branch(app);
            Err(commit::foreign(&branch, &format!("adopt drift of {app} for review")))
        }
        Proposed::Obstructed(obstacle) => {
            let branch = instance.tree.subdirectory().drift_branch(app);
            Err(commit::obstructed(&branch, &obstacle, &format!("adopt drift of {app} for review")))
        }
    }
}

/// Returns whether a commit made of the head's files what an edit makes of them.
async fn holds(
    instance: &Instance,
    commit: &CommitId,
    app: &AppName,
    (read, edit): (&Read, &TreeEdit),
) -> Result<bool, git::Error> {
    let changed = edit.changes.keys().map(|path| path.as_str());
    let (record, own) = (compile::record_path(app), format!("apps/{}", app));
    let paths: Vec<&str> = changed.chain(["config.yaml", record.as_str(), own.as_str()]).collect();
    let mut wanted = instance.tree.read_tree(&read.head, &paths).await?;
    for (path, file) in &edit.changes {
        match file {
            Some(file) => wanted.insert(path.clone(), file.clone()),
            None => _ = wanted.remove(path),
        }
    }
    Ok(instance.tree.read_tree(commit, &paths).await? == wanted)
}

/// Returns whether nobody else committed to the branch since it left the deployed one.
async fn is_ours(instance: &Instance, tip: &CommitId, head: &CommitId) -> Result<bool, git::Error> {
    for commit in instance.repository.first_parent_log(tip, MAX_WALK, &[]).await? {
        if instance.repository.is_ancestor(&commit.id, head).await? {
            return Ok(true);
        }
        if commit.committer != instance.committer {
            return Ok(false);
        }
    }
    Ok(false)
}

/// Takes away the branches that a head has merged; the remote's follow with the next look at it. One that stays for now goes with the next head.
pub(super) async fn end(instance: &Instance, head: &CommitId) {
    if let Err(error) = try_end(instance, head).await {
        tracing::warn!(instance = %instance.name, error = chain(&error), "branches that were merged stay for now");
    }
}

async fn try_end(instance: &Instance, head: &CommitId) -> Result<(), git::Error> {
    let all = format!("refs/heads/{}", instance.tree.subdirectory().drift_branches());
    for (name, tip) in instance.repository.list_refs(&all).await? {
        // Instances in directories below have theirs there.
        let is_own = name.strip_prefix(&all).is_some_and(|app| !app.contains('/'));
        if is_own
            && instance.repository.is_ancestor(&tip, head).await?
            && proposed::tip(instance, &name).await?.is_some()
        {
            proposed::drop_branch(instance, &name, &tip).await?;
        }
    }
    Ok(())
}
