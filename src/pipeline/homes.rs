//! Which repository an identity belongs to. It is remembered in the state directory and not believed of a file that whoever may push can
//! change: an identity is the key to a cluster, to secrets and to everything that an instance owns.
//!
//! A repository that was moved goes on working. Not here: the file (`settings`), pushes that would change an identity (`git::hook`).

use super::{Error, Opening, neighbours};
use crate::git::{NamedId, Repository};
use crate::model::{CommitId, InstanceId, SETTINGS_PATH, Subdirectory};
use crate::settings::{Home, StateDirectory};

/// Refuses an instance that is not the one that lived here, or whose identity is that of an instance which lives elsewhere; returns what to
/// remember of it.
pub(super) async fn check(
    opening: &Opening,
    (repository, head): (&Repository, &CommitId),
    id: &InstanceId,
    state: &StateDirectory,
) -> Result<Home, Error> {
    let own = Home::at(repository.path(), opening.subdirectory.clone(), head.clone());
    let homes = state.homes()?;
    // First whoever lived here: it is the one that is to get its identity back, whosever that was taken for.
    for (other, home) in homes.iter().filter(|(other, home)| other != id && home.is_place_of(&own)) {
        if has(repository, &home.commit).await && !lives_on(repository, &own, other).await? {
            let because = format!("its settings have the instanceId {id}, and the instance that lives here is {other}");
            return Err(neighbours::refused(opening, because, put_back(&own.subdirectory, other)));
        }
    }
    if let Some((_, home)) = homes.iter().find(|(other, _)| other == id) {
        check_moved(opening, &own, (id, home)).await?;
    }
    Ok(own)
}

/// Refuses an identity of which the instance still lives where it did.
async fn check_moved(opening: &Opening, own: &Home, (id, home): (&InstanceId, &Home)) -> Result<(), Error> {
    if home.is_place_of(own) {
        return Ok(());
    }
    let was = match home.subdirectory.is_top() {
        true => home.repository.display().to_string(),
        false => format!("{} of {}", home.subdirectory, home.repository.display()),
    };
    if is_lived_in(home).await {
        let because = format!("its settings have the instanceId {id}, which is that of the instance in {was}");
        let file = own.subdirectory.outward(SETTINGS_PATH);
        let remedy = format!("another instanceId in {file}, if it is a copy; work in {was}, if it is a clone");
        return Err(neighbours::refused(opening, because, remedy));
    }
    tracing::warn!(
        instance = %opening.name, id = %id, was, is = %own.repository.display(),
        "the instance was moved; it goes on where it is now"
    );
    Ok(())
}

/// Returns whether the instance whose home this was is still there.
async fn is_lived_in(home: &Home) -> bool {
    let Ok(repository) = Repository::open(&home.repository).await else { return false };
    if !has(&repository, &home.commit).await {
        return false;
    }
    let Some(branch) = repository.head_branch().await.ok().flatten() else { return true };
    let Some(head) = repository.head(&branch).await.ok().flatten() else { return true };
    !matches!(repository.tree_id(&head, &home.subdirectory.outward(SETTINGS_PATH)).await, Ok(None))
}

/// Returns whether an identity that was at home here is now at home elsewhere in this repository.
async fn lives_on(repository: &Repository, own: &Home, id: &InstanceId) -> Result<bool, Error> {
    let ids = repository.instance_ids(&own.commit).await?;
    let is_it = |written: &NamedId| matches!(written, NamedId::Id(found) if found == id.as_str());
    Ok(ids.iter().any(|(place, written)| *place != own.subdirectory && is_it(&written.id)))
}

/// Returns whether a repository has a commit; what cannot be told counts as there.
async fn has(repository: &Repository, commit: &CommitId) -> bool {
    !matches!(repository.commit_of(commit.as_str()).await, Ok(None))
}

fn put_back(place: &Subdirectory, id: &InstanceId) -> String {
    format!("put the line back in {}: instanceId: {id}", place.outward(SETTINGS_PATH))
}
