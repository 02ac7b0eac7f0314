//! Upstreams that must be signed: nothing is taken of a commit before somebody who may has signed it, or a person has accepted it.
//!
//! Which commit that is is remembered beside our ref of the upstream, so a ref alone, wherever it came from, leads to nothing. Not here: the
//! signature itself (`git`), what else speaks against following an upstream (`upstream.rs`).

use serde::{Deserialize, Serialize};

use super::read::upstream_ref;
use super::{Error, Instance};
use crate::git::{FetchedRef, Moved};
use crate::model::{CommitId, DirectoryTrouble, Operation, Upstream, UpstreamTrouble, Verify};

/// A commit of an upstream that somebody answers for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Vouched {
    /// The commit.
    pub commit: CommitId,
    /// Who answers for it.
    #[serde(flatten)]
    pub by: Voucher,
}

/// Who answers for a commit of an upstream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Voucher {
    /// Who signed it.
    Signer(String),
    /// Who accepted it although nobody did.
    Accepted(String),
}

/// Returns the commit of an upstream that packages are taken from; nothing before the first fetch, and where nobody answers for it who must.
pub(super) async fn followed(instance: &Instance, directory: &Upstream) -> Result<Option<CommitId>, Error> {
    let commit = instance.repository.read_ref(&upstream_ref(instance, directory)).await?;
    match directory.verify {
        Verify::None => Ok(commit),
        Verify::Signed => {
            let vouched = vouched(instance, directory).await?.map(|vouched| vouched.commit);
            Ok(commit.filter(|commit| vouched.as_ref() == Some(commit)))
        }
    }
}

/// Returns for which commit of an upstream somebody answers.
pub(super) async fn vouched(instance: &Instance, directory: &Upstream) -> Result<Option<Vouched>, Error> {
    if directory.verify == Verify::None {
        return Ok(None);
    }
    let stored = instance.store.cursor(&instance.id, &cursor(directory)).await?.unwrap_or_default();
    Ok(serde_json::from_str(&stored).ok())
}

/// Returns who answers for what an upstream offers, or what speaks against it. Where nothing must be signed, nobody has to.
pub(super) async fn judge(
    instance: &Instance,
    directory: &Upstream,
    offered: &FetchedRef,
) -> Result<Result<Option<Vouched>, DirectoryTrouble>, Error> {
    if directory.verify == Verify::None {
        return Ok(Ok(None));
    }
    let known = vouched(instance, directory).await?.filter(|known| known.commit == offered.new);
    if let Some(Vouched { by: Voucher::Accepted(_), .. }) = &known {
        return Ok(Ok(known));
    }
    let taken = known.is_none().then(|| instance.now());
    let why = match instance.repository.signer(&offered.new, &instance.signers, taken).await? {
        Ok(name) => {
            return Ok(Ok(Some(Vouched { commit: offered.new.clone(), by: Voucher::Signer(name) })));
        }
        Err(why) => why,
    };
    if known.is_some() {
        // Whoever signed it may not do so any more.
        instance.store.put_cursor(&instance.id, &cursor(directory), "").await?;
    }
    let rewound = if offered.moved == Moved::Rewound { ", and it went back or rewrote its history" } else { "" };
    let why = format!("{why}{rewound}; nothing is taken from it until it is signed or a person accepts it");
    let both = (offered.old.clone(), Some(offered.new.clone()));
    Ok(Err(DirectoryTrouble::new(UpstreamTrouble::Unsigned, &directory.name, both, &why)))
}

/// Remembers who answers for the commit that our ref leads to.
pub(super) async fn vouch(instance: &Instance, directory: &Upstream, vouched: &Vouched) -> Result<(), Error> {
    let stored = serde_json::to_string(vouched).unwrap_or_default();
    Ok(instance.store.put_cursor(&instance.id, &cursor(directory), &stored).await?)
}

/// Returns who answers for a commit that a person accepts: who signed it, or that person for the one that was shown, and for no later one.
pub(super) async fn answer_for(
    instance: &Instance,
    commit: &CommitId,
    shown: &CommitId,
    operation: &Operation,
) -> Result<Result<Vouched, String>, Error> {
    let by = match instance.repository.signer(commit, &instance.signers, Some(instance.now())).await? {
        Ok(name) => Voucher::Signer(name),
        Err(_) if commit == shown => Voucher::Accepted(operation.actor.clone()),
        Err(why) => {
            let (commit, shown) = (commit.short(), shown.short());
            return Ok(Err(format!("{shown} was shown, it is at {commit} by now, and of that {why}")));
        }
    };
    Ok(Ok(Vouched { commit: commit.clone(), by }))
}

fn cursor(directory: &Upstream) -> String {
    format!("directory.{}.vouched", directory.name)
}
