//! Finds the generation that a branch stands on: the base of the next merge.
//!
//! The base is the newest generation in the branch's history, as `git merge-base` says, as long as the record among the
//! branch's files names the same one. Where it names another, history was bent and the pass repairs it first. A lost ref
//! of generations is found again in the branch's merge commits. Merges that a person made with git are found here too.
//! Not here: the repair (`compile::rejoin`), what is learned from merges (`compile`).

use super::read::generated_ref;
use super::{Error, Instance};
use crate::compile::{self, Bent, PastMerge};
use crate::git::{Commit, RefChange};
use crate::model::{AppName, CommitId, FileTree, Generation, GenerationRecord};

/// Generations that are compared with the record of a branch whose history was bent.
const MAX_CHAIN: usize = 1_000;
/// Commits of the branch that are searched for the generations of a lost ref.
const MAX_LOST_WALK: usize = 10_000;

/// Merges of an app that are learned from at once, the newest first.
const MAX_MERGES: usize = 200;

/// The generations that a compile starts from.
#[derive(Default)]
pub(super) struct Generations {
    /// The newest in the branch's history.
    pub(super) base: Option<Generation>,
    /// The newest of all.
    pub(super) tip: Option<Generation>,
    /// How history was bent, if it was.
    pub(super) bent: Option<Bent>,
    /// Where the history of a shallow clone ends that reaches no generation.
    pub(super) cut_off: Option<CommitId>,
}

/// Reads the generations of an app; `standing` is its record at the head.
pub(super) async fn generations(
    instance: &Instance,
    app: &AppName,
    head: &CommitId,
    standing: Option<&GenerationRecord>,
) -> Result<Generations, Error> {
    let repository = &instance.repository;
    let tip = match (repository.read_ref(&generated_ref(instance, app)).await?, standing) {
        (Some(tip), _) => tip,
        (None, None) => return Ok(Generations::default()),
        (None, Some(_)) => match recover(instance, app, head).await? {
            Some(tip) => tip,
            None => return lost(instance, app, head).await,
        },
    };
    let tip_files = instance.tree.read_tree(&tip, &[]).await?;
    let base = match repository.merge_base(head, &tip).await? {
        None => None,
        Some(commit) if commit == tip => Some(Generation { commit, files: tip_files.clone() }),
        Some(commit) => {
            let files = instance.tree.read_tree(&commit, &[]).await?;
            Some(Generation { commit, files })
        }
    };
    // What a shallow clone does not show is not lost.
    let cut_off = if base.is_none() { repository.cut_off(head).await? } else { None };
    let bent = match standing {
        Some(standing) if cut_off.is_none() && !is_of(base.as_ref(), app, standing) => {
            bent(instance, app, head, &tip, standing).await?
        }
        _ => None,
    };
    Ok(Generations { base, tip: Some(Generation { commit: tip, files: tip_files }), bent, cut_off })
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
        let files = instance.tree.read_tree(&link.id, &[&path]).await?;
        let record = compile::record_of(&files, app).ok().flatten();
        if !record.is_some_and(|record| compile::same_generation(&record, standing)) {
            continue;
        }
        if !repository.is_ancestor(&link.id, head).await? {
            // One that was lost and made again, whose join somebody was faster than, is joined as such.
            return Ok(Some(match link.trailer("Wild-Base") {
                Some(_) => Bent::Lost(config_then(instance, app, head).await?),
                None => Bent::Forgotten(link.id),
            }));
        }
        let files = instance.tree.read_tree(&link.id, &[]).await?;
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
        let change = RefChange { name: generated_ref(instance, app), expected: None, new: Some(second.clone()) };
        instance.repository.update_refs(&[change]).await?;
        tracing::warn!(%app, generation = %second, "the ref of its generations was lost and is found again in the branch's history");
        return Ok(Some(second.clone()));
    }
    Ok(None)
}

/// Returns what a lost generation is compiled from. In a shallow clone nothing is known to be lost.
async fn lost(instance: &Instance, app: &AppName, head: &CommitId) -> Result<Generations, Error> {
    let repository = &instance.repository;
    let cut_off = repository.cut_off(head).await?;
    if cut_off.is_some() {
        return Ok(Generations { cut_off, ..Generations::default() });
    }
    let bent = Some(Bent::Lost(config_then(instance, app, head).await?));
    Ok(Generations { bent, ..Generations::default() })
}

/// Reads config.yaml as of the commit that changed the record of an app last.
async fn config_then(instance: &Instance, app: &AppName, head: &CommitId) -> Result<FileTree, Error> {
    let log = instance.tree.first_parent_log(head, 1, &[&compile::record_path(app)]).await?;
    let then = log.first().map_or(head, |commit| &commit.id);
    Ok(instance.tree.read_tree(then, &["config.yaml"]).await?)
}

fn second_parent(commit: &Commit) -> Option<&CommitId> {
    commit.parents.get(1)
}

/// Returns whether a commit is a generation of the app: its files and its record, nothing else.
async fn holds_only(instance: &Instance, app: &AppName, commit: &CommitId) -> Result<bool, Error> {
    let tree = &instance.tree;
    let record = format!("{app}.yaml");
    if !tree.is_alone(commit).await? {
        return Ok(false);
    }
    for (directory, only) in [("", "apps"), ("apps", app.as_str()), (".wild/generated", record.as_str())] {
        let entries = tree.list_directory(commit, directory).await?;
        if !entries.iter().all(|entry| entry == only || (directory.is_empty() && entry == ".wild"))
            || entries.is_empty()
        {
            return Ok(false);
        }
    }
    Ok(tree.list_directory(commit, ".wild").await? == ["generated"])
}

/// Returns the name of the cursor that says which merge by hand was taken in last.
fn cursor(app: &AppName) -> String {
    format!("merged.{app}")
}

/// Returns the merge that brought the newest generation onto the branch, if a person made it and it was not taken in yet: with
/// a second parent, or squashed.
pub(super) async fn by_hand(
    instance: &Instance,
    app: &AppName,
    head: &CommitId,
    base: &Generation,
) -> Result<Option<PastMerge>, Error> {
    let repository = &instance.repository;
    if repository.read_commit(&base.commit).await?.parents.is_empty() {
        return Ok(None);
    }
    let record = compile::record_path(app);
    let log = instance.tree.first_parent_log(head, 1, &[&record]).await?;
    let Some(merge) = log.into_iter().find(|commit| commit.committer != instance.committer) else { return Ok(None) };
    if instance.store.cursor(&instance.id, &cursor(app)).await?.as_deref() == Some(merge.id.as_str()) {
        return Ok(None);
    }
    past(instance, app, &merge, &base.commit).await
}

/// Remembers that a merge by hand was taken in.
pub(super) async fn taken_in(instance: &Instance, app: &AppName, merge: &PastMerge) -> Result<(), Error> {
    Ok(instance.store.put_cursor(&instance.id, &cursor(app), merge.commit.as_str()).await?)
}

/// Returns the merges of an app's generations into the branch, newest first.
pub(super) async fn merges(
    instance: &Instance,
    app: &AppName,
    head: &CommitId,
    tip: &CommitId,
) -> Result<Vec<PastMerge>, Error> {
    let record = compile::record_path(app);
    let mut found = Vec::new();
    for commit in instance.tree.first_parent_log(head, MAX_CHAIN, &[&record]).await? {
        let Some(generation) = second_parent(&commit) else { continue };
        if instance.repository.is_ancestor(generation, tip).await? {
            found.extend(past(instance, app, &commit, generation).await?);
        }
        if found.len() >= MAX_MERGES {
            break;
        }
    }
    Ok(found)
}

/// Reads the four sides of a merge; nothing if it brought no generation that was not there before.
async fn past(
    instance: &Instance,
    app: &AppName,
    merge: &Commit,
    generation: &CommitId,
) -> Result<Option<PastMerge>, Error> {
    let repository = &instance.repository;
    let Some(before) = merge.parents.first() else { return Ok(None) };
    let Some(base) = repository.merge_base(before, generation).await?.filter(|base| base != generation) else {
        return Ok(None);
    };
    let (own, record) = (format!("apps/{app}"), compile::record_path(app));
    let read = async |commit: &CommitId| -> Result<FileTree, Error> {
        Ok(instance.tree.read_tree(commit, &["config.yaml", &record, &own]).await?)
    };
    Ok(Some(PastMerge {
        commit: merge.id.clone(),
        who: format!("{} <{}>", merge.author.name, merge.author.email),
        when: merge.time,
        base: read(&base).await?,
        ours: read(before).await?,
        theirs: read(generation).await?,
        files: read(&merge.id).await?,
    }))
}
