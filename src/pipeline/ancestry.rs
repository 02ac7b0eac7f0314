//! Finds the generation that a branch stands on: the base of the next merge.
//!
//! The base is the newest generation in the branch's history, as `git merge-base` says, as long as the record among the
//! branch's files names the same one. Where it names another, history was bent and the pass repairs it first. A lost ref
//! of generations is found again in the branch's merge commits. Not here: the repair (`compile::rejoin`).

use super::read::generated_ref;
use super::{Error, Instance};
use crate::compile::{self, Bent};
use crate::git::{Commit, RefChange};
use crate::model::{AppName, CommitId, Generation, GenerationRecord};

/// Generations that are compared with the record of a branch whose history was bent.
const MAX_CHAIN: usize = 1_000;
/// Commits of the branch that are searched for the generations of a lost ref.
const MAX_LOST_WALK: usize = 10_000;

/// The generations that a compile starts from.
#[derive(Default)]
pub(super) struct Generations {
    /// The newest in the branch's history.
    pub(super) base: Option<Generation>,
    /// The newest of all.
    pub(super) tip: Option<Generation>,
    /// How history was bent, if it was.
    pub(super) bent: Option<Bent>,
}

/// Reads the generations of an app; `standing` is its record at the head.
pub(super) async fn generations(
    instance: &Instance,
    app: &AppName,
    head: &CommitId,
    standing: Option<&GenerationRecord>,
) -> Result<Generations, Error> {
    let repository = &instance.repository;
    let tip = match (repository.read_ref(&generated_ref(app)).await?, standing) {
        (Some(tip), _) => tip,
        (None, None) => return Ok(Generations::default()),
        (None, Some(_)) => match recover(instance, app, head).await? {
            Some(tip) => tip,
            None => return Ok(Generations::default()),
        },
    };
    let tip_files = repository.read_tree(&tip, &[]).await?;
    let base = match repository.merge_base(head, &tip).await? {
        None => None,
        Some(commit) if commit == tip => Some(Generation { commit, files: tip_files.clone() }),
        Some(commit) => {
            let files = repository.read_tree(&commit, &[]).await?;
            Some(Generation { commit, files })
        }
    };
    let bent = match standing {
        Some(standing) if !is_of(base.as_ref(), app, standing) => bent(instance, app, head, &tip, standing).await?,
        _ => None,
    };
    Ok(Generations { base, tip: Some(Generation { commit: tip, files: tip_files }), bent })
}

fn is_of(generation: Option<&Generation>, app: &AppName, standing: &GenerationRecord) -> bool {
    let record = generation.and_then(|generation| compile::record_of(&generation.files, app).ok().flatten());
    record.is_some_and(|record| compile::same_generation(&record, standing))
}

/// Looks through the chain for the generation that the record describes. None: the record was edited or damaged, and
/// what git says holds.
async fn bent(
    instance: &Instance,
    app: &AppName,
    head: &CommitId,
    tip: &CommitId,
    standing: &GenerationRecord,
) -> Result<Option<Bent>, Error> {
    let repository = &instance.repository;
    let path = compile::record_path(app);
    for link in repository.first_parent_log(tip, MAX_CHAIN, &[]).await? {
        let files = repository.read_tree(&link.id, &[&path]).await?;
        let record = compile::record_of(&files, app).ok().flatten();
        if !record.is_some_and(|record| compile::same_generation(&record, standing)) {
            continue;
        }
        if !repository.is_ancestor(&link.id, head).await? {
            return Ok(Some(Bent::Forgotten(link.id)));
        }
        let files = repository.read_tree(&link.id, &[]).await?;
        return Ok(Some(Bent::Undone(Generation { commit: link.id, files })));
    }
    Ok(None)
}

/// Finds a lost ref again: the newest second parent of the branch's merges that holds this app and nothing else. The ref is set to it.
async fn recover(instance: &Instance, app: &AppName, head: &CommitId) -> Result<Option<CommitId>, Error> {
    for commit in instance.repository.first_parent_log(head, MAX_LOST_WALK, &[]).await? {
        let Some(second) = second_parent(&commit) else { continue };
        if !holds_only(instance, app, second).await? {
            continue;
        }
        let change = RefChange { name: generated_ref(app), expected: None, new: Some(second.clone()) };
        instance.repository.update_refs(&[change]).await?;
        tracing::warn!(%app, generation = %second, "the ref of its generations was lost and is found again in the branch's history");
        return Ok(Some(second.clone()));
    }
    Ok(None)
}

fn second_parent(commit: &Commit) -> Option<&CommitId> {
    commit.parents.get(1)
}

/// Returns whether a commit is a generation of the app: its files and its record, nothing else.
async fn holds_only(instance: &Instance, app: &AppName, commit: &CommitId) -> Result<bool, Error> {
    let repository = &instance.repository;
    let record = format!("{app}.yaml");
    for (directory, only) in [("", "apps"), ("apps", app.as_str()), (".wild/generated", record.as_str())] {
        let entries = repository.list_directory(commit, directory).await?;
        if !entries.iter().all(|entry| entry == only || (directory.is_empty() && entry == ".wild"))
            || entries.is_empty()
        {
            return Ok(false);
        }
    }
    Ok(repository.list_directory(commit, ".wild").await? == ["generated"])
}
