//! What an instance shares with others of this process: a repository may hold several, each in a sub-directory of its own, on one branch and
//! with one remote. Where two would write the same files and refs the second is refused.
//!
//! Not here: paths and refs of an instance (`model::Subdirectory`).

use super::{Error, Instance, Opening};
use crate::git::Repository;
use crate::model::{CommitId, InstanceId, RefusalText, SETTINGS_PATH};

/// Opens the repository of an instance; one that another instance of this process lives in is that one's, so that both commit in turn.
pub(super) async fn repository(opening: &Opening) -> Result<Repository, Error> {
    let repository = Repository::open(&opening.path).await?;
    let mut shared = None;
    for other in opening.beside.iter().filter(|other| other.repository.git_dir() == repository.git_dir()) {
        agree(opening, other)?;
        shared = Some(other.repository.clone());
    }
    Ok(shared.unwrap_or(repository))
}

/// Refuses an instance that cannot live beside another one in their repository.
fn agree(opening: &Opening, other: &Instance) -> Result<(), Error> {
    let (own, theirs) = (&opening.subdirectory, other.tree.subdirectory());
    let (because, remedy) = if own == theirs {
        let lives = if own.is_top() { "at the top of".to_owned() } else { format!("in {own} of") };
        (format!("the instance {} lives {lives} the same repository", other.name), another_place())
    } else if own.holds(theirs) || theirs.holds(own) {
        let place = if theirs.is_top() { "at the top of the repository".to_owned() } else { format!("in {theirs}") };
        (format!("the instance {} lives {place}, and one cannot lie inside another", other.name), another_place())
    } else if opening.branch != other.branch {
        let because = format!("the instance {} of the same repository has the branch {}", other.name, other.branch);
        (because, format!("branch: {} in daemon.yaml", other.branch))
    } else if opening.remote.as_ref().map(|remote| &remote.url) != other.remote.as_ref().map(|remote| &remote.url) {
        let remote = other.remote.as_ref().map_or_else(|| "none".to_owned(), |remote| remote.url.to_string());
        let because = format!("the remote of the instance {} of the same repository is {remote}", other.name);
        (because, "the same remote for both in daemon.yaml".to_owned())
    } else {
        return Ok(());
    };
    Err(refused(opening, because, remedy))
}

/// Refuses an instance whose directory lies inside that of another one, or holds none.
pub(super) async fn check_place(opening: &Opening, repository: &Repository, head: &CommitId) -> Result<(), Error> {
    let place = &opening.subdirectory;
    for above in place.above() {
        if repository.tree_id(head, &above.outward(SETTINGS_PATH)).await?.is_some() {
            let because = format!("{above} of the repository holds an instance, and one cannot lie inside another");
            return Err(refused(opening, because, another_place()));
        }
    }
    if !place.is_top() && repository.tree_id(head, &place.outward(SETTINGS_PATH)).await?.is_none() {
        let because = format!("its branch {} holds no {}", opening.branch, place.outward(SETTINGS_PATH));
        let remedy = format!("wild init {} --subdirectory {place}", opening.path.display());
        return Err(refused(opening, because, remedy));
    }
    Ok(())
}

/// Refuses an instance with the identity of another one: its objects in the cluster would be taken for the other's.
pub(super) fn check_identity(opening: &Opening, id: &InstanceId) -> Result<(), Error> {
    let Some(other) = opening.beside.iter().find(|other| other.id == *id) else { return Ok(()) };
    let because = format!("it has the instanceId {id}, which is that of the instance {}", other.name);
    let file = opening.subdirectory.outward(SETTINGS_PATH);
    Err(refused(opening, because, format!("another instanceId in {file}, if it is a copy")))
}

fn another_place() -> String {
    "wild init PATH --subdirectory DIR".to_owned()
}

pub(super) fn refused(opening: &Opening, because: String, remedy: String) -> Error {
    let what = match opening.subdirectory.is_top() {
        true => format!("open the instance {}", opening.name),
        false => format!("open the instance {} in {}", opening.name, opening.subdirectory),
    };
    Error::Refused(Box::new(RefusalText { code: 2, what, because, remedy, diagnostics: Vec::new() }))
}
