//! What an undone deletion brings back beside the files: secret values that were set aside, and volumes that are held; and a plain word about
//! what stays lost.
//!
//! Not here: which request undoes which (`http::undo`), how a claim comes back (`plan::volume`).

use std::collections::BTreeSet;

use super::realms::is_of_realm;
use super::{Error, Instance};
use crate::kustomize;
use crate::model::{
    AppName, Archived, CommitId, DataFate, HeldVolume, HoldStage, ObjectId, Operation, OperationId, Request,
};
use crate::plan::archive;
use crate::plan::volume::{claim_of, is_claim};

/// Commits that changed an app and are searched for one that holds what was deleted.
const MAX_WALK: usize = 50;
/// Objects that are named in a sentence.
const MAX_NAMED: usize = 5;

/// What is taken back.
pub(super) struct Undone {
    operation: Operation,
    /// Whether values of secrets were set aside and are back.
    has_secrets: bool,
}

/// Parts with the secret values of an app that was deleted. What is to stay or may come back needs them: a database that was filled under one
/// password opens under no other.
pub(super) fn part_with_secrets(instance: &Instance, app: &AppName, data: DataFate) -> Result<(), Error> {
    match data {
        DataFate::Keep | DataFate::Delete => instance.secrets.set_aside(app.as_str(), instance.now())?,
        DataFate::DeleteNow => instance.secrets.forget(app.as_str())?,
    }
    Ok(())
}

/// Puts secret values back before the app is compiled, which makes anew what is absent; returns what is taken back.
pub(super) async fn prepare(instance: &Instance, operation: Option<&Operation>) -> Result<Option<Undone>, Error> {
    let Some((app, undone)) = operation.and_then(undoes) else { return Ok(None) };
    let Some(operation) = instance.store.operation(&instance.id, undone).await? else { return Ok(None) };
    let is_delete = matches!(operation.request, Some(Request::Delete { .. }));
    let has_secrets = is_delete && instance.secrets.bring_back(app.as_str())?;
    Ok(Some(Undone { operation, has_secrets }))
}

fn undoes(operation: &Operation) -> Option<(&AppName, &OperationId)> {
    match &operation.request {
        Some(Request::Rollback { app, undoes: Some(undone), .. }) => Some((app, undone)),
        _ => None,
    }
}

/// Marks the volumes that an operation gave up as coming back. Done before the cluster is looked at, by the pass that made the commit, so
/// that no claim is made anew and empty meanwhile; a second time it changes nothing.
pub(super) async fn call_back(instance: &Instance, app: &AppName, operation: Option<&Operation>) -> Result<(), Error> {
    let Some((_, undone)) = operation.and_then(undoes) else { return Ok(()) };
    let Some(undone) = instance.store.operation(&instance.id, undone).await? else { return Ok(()) };
    let mut held = held_since(instance, app, &undone).await?;
    held.retain(|volume| volume.stage == HoldStage::Held);
    for volume in &mut held {
        volume.stage = HoldStage::Returning;
    }
    instance.store.hold_volumes(&instance.id, app, &held).await?;
    Ok(())
}

/// Returns the volumes that are held since an operation: of each claim the newest, if it was deleted more than once since.
async fn held_since(instance: &Instance, app: &AppName, undone: &Operation) -> Result<Vec<HeldVolume>, Error> {
    let mut held = instance.store.held_volumes(&instance.id, app).await?;
    // A claim that was deleted since tells it whatever became of the clock; one that still stands was never archived.
    let archived = instance.store.archived(&instance.id, app, Some(&undone.id)).await?;
    let is_gone = |volume: &HeldVolume| archived.iter().any(|it| it.object == claim_of(volume));
    held.retain(|volume| volume.since >= undone.started || is_gone(volume));
    held.sort_by_key(|volume| std::cmp::Reverse(volume.since));
    let mut claims = BTreeSet::new();
    held.retain(|volume| claims.insert(claim_of(volume)));
    Ok(held)
}

/// Returns what is told about an undone deletion: what comes back beside the files, and what does not.
pub(super) async fn told(
    instance: &Instance,
    app: &AppName,
    head: &CommitId,
    undone: Undone,
) -> Result<Vec<String>, Error> {
    let Undone { operation, has_secrets } = undone;
    let archived = instance.store.archived(&instance.id, app, Some(&operation.id)).await?;
    let held = held_since(instance, app, &operation).await?;
    let mut told = Vec::new();
    for volume in &held {
        let size = Some(volume.size()).filter(|size| !size.is_empty()).map(|size| format!(", {size}"));
        let claim = claim_of(volume).short();
        told.push(format!("{claim} comes back with its data (volume {}{})", volume.name, size.unwrap_or_default()));
    }
    let comes_back = |id: &ObjectId| held.iter().any(|volume| claim_of(volume) == *id);
    let (claims, others): (Vec<&Archived>, Vec<&Archived>) = archived.iter().partition(|it| is_claim(&it.object));
    for claim in claims.iter().filter(|it| !comes_back(&it.object)) {
        told.push(format!("{} comes back empty: its volume was not held, or is gone", claim.object.short()));
    }
    let is_delete = matches!(operation.request, Some(Request::Delete { .. }));
    if is_delete && has_secrets {
        told.push("its secret values are those of then".to_owned());
    } else if is_delete && others.iter().any(|it| archive::is_sealed(&it.object)) {
        told.push("its secret values are made anew, unless secrets.yaml holds them".to_owned());
    }
    let wanted = wanted_at(instance, app, head).await?.unwrap_or_default();
    let lost: Vec<&ObjectId> = others.iter().map(|it| &it.object).filter(|id| is_lost(id, &wanted)).collect();
    if let Some((first, rest)) = lost.split_first() {
        let named = rest.iter().take(MAX_NAMED - 1).fold(first.short(), |text, id| format!("{text}, {}", id.short()));
        let more = lost.len().saturating_sub(MAX_NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let id = &operation.id;
        told.push(format!("git does not hold {named}{more}, so that does not come back: wild operation archive {id}"));
    }
    Ok(told)
}

/// Returns whether an object stays away. Namespaces and Secrets of values are derived, and a Job of a hook has had its time.
fn is_lost(id: &ObjectId, wanted: &BTreeSet<ObjectId>) -> bool {
    let is_derived = archive::is_sealed(id) || (id.group.is_empty() && id.kind == "Namespace") || id.kind == "Job";
    !is_derived && !wanted.iter().any(|one| is_same(one, id))
}

/// Returns whether two identities mean one object, also where one does not name the namespace that the app has anyway.
fn is_same(one: &ObjectId, other: &ObjectId) -> bool {
    (&one.group, &one.kind, &one.name) == (&other.group, &other.kind, &other.name)
        && (one.namespace == other.namespace || one.namespace.is_empty())
}

/// Returns the objects that an app wants in a commit; nothing if that cannot be built.
async fn wanted_at(instance: &Instance, app: &AppName, commit: &CommitId) -> Result<Option<BTreeSet<ObjectId>>, Error> {
    let own = format!("apps/{app}");
    let files = instance.tree.read_tree(commit, &[&own]).await?;
    Ok(kustomize::build(&files, &own).ok().map(|built| built.objects.iter().map(|it| it.object.id()).collect()))
}

/// What an operation took from the cluster that nobody asked to be deleted by name.
pub enum Pruned {
    /// Nothing.
    Nothing,
    /// These objects, and the newest commit before it at which all of them were wanted.
    Since(CommitId),
    /// These objects, which no commit near it wants.
    Unknown(Vec<ObjectId>),
}

/// Returns what an operation pruned, and the commit that wants it.
pub async fn pruned(instance: &Instance, app: &AppName, operation: &Operation) -> Result<Pruned, Error> {
    let archived = instance.store.archived(&instance.id, app, Some(&operation.id)).await?;
    let own = archived.into_iter().filter(|it| it.operation == operation.id).map(|it| it.object);
    // A Job of a hook goes when it has run, and what was made anew is there; objects of a Keycloak come back with their files.
    let gone: BTreeSet<ObjectId> = own.filter(|id| id.kind != "Job" && !is_of_realm(id)).collect();
    let inventory = instance.store.inventory(&instance.id, app).await?;
    let gone: Vec<ObjectId> = gone.into_iter().filter(|id| inventory.get(id).is_none()).collect();
    let (false, Some(commit)) = (gone.is_empty(), &operation.commit) else { return Ok(Pruned::Nothing) };
    let changes = instance.tree.first_parent_log(commit, MAX_WALK, &[&format!("apps/{app}")]).await?;
    for before in changes.into_iter().filter_map(|change| change.parents.into_iter().next()) {
        let wanted = wanted_at(instance, app, &before).await?.unwrap_or_default();
        if gone.iter().all(|id| wanted.iter().any(|one| is_same(one, id))) {
            return Ok(Pruned::Since(before));
        }
    }
    Ok(Pruned::Unknown(gone))
}
