//! Remotes: fetch, push and list, each by the git program in a throw-away repository of its own.
//!
//! The child never works in a repository of ours: it borrows our objects read-only, so neither its settings nor what it
//! is sent can touch us. What it fetched is checked, then linked into our objects; refs are moved by us.
//!
//! Not here: how the child is started (`child.rs`), which remotes there are (`settings`).

mod fetch;
mod push;
mod scratch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::{CommitId, SecretValue};

use super::address::Egress;
use super::checks::refs::{BadListing, parse_listing};
use super::child::{MAX_FETCH_MEMORY, MAX_LIST_MEMORY};
use super::error::Error;
use super::remote_url::RemoteUrl;

pub use fetch::{FetchRef, Fetched, FetchedRef, Moved, Scope, fetch, fetch_scanned};
pub use push::{PushRef, Pushed, PushedRef, push, push_deletion};
pub use scratch::clear_scratch;

pub(super) use scratch::Folder;
use scratch::{Bounds, Scratch};

/// Longest fetch or push.
const NETWORK_DEADLINE: Duration = Duration::from_secs(120);
/// Longest listing of a remote's refs.
const LIST_DEADLINE: Duration = Duration::from_secs(30);
/// What a fetch or push may take.
const TRANSFER: Bounds = Bounds { deadline: NETWORK_DEADLINE, memory: MAX_FETCH_MEMORY };
/// What a listing may take.
const LISTING: Bounds = Bounds { deadline: LIST_DEADLINE, memory: MAX_LIST_MEMORY };

/// A remote repository and how to reach it.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Its address.
    pub url: RemoteUrl,
    /// What opens it, if it is not open to all.
    pub credential: Option<Credential>,
    /// Which addresses its name may lead to.
    pub egress: Egress,
    /// A directory of ours for throw-away repositories, best on the file system of the instances.
    pub scratch: PathBuf,
}

/// What opens a remote, and for which addresses.
#[derive(Clone, Debug)]
pub struct Credential {
    /// It is sent to this address and those below it, to no other.
    pub origin: RemoteUrl,
    /// The credential itself.
    pub kind: CredentialKind,
}

/// A credential itself.
#[derive(Clone, Debug)]
pub enum CredentialKind {
    /// User name and token or password over https.
    Token {
        /// The user; forges take any name beside a token.
        user: String,
        /// The token.
        token: SecretValue,
    },
    /// A private key file over ssh.
    SshKey {
        /// The key, readable by us alone.
        key: PathBuf,
        /// The host keys that we trust.
        known_hosts: PathBuf,
    },
}

/// Returns the refs of a remote, `HEAD` among them, tags followed to their commits.
pub async fn ls_remote(remote: &Remote) -> Result<BTreeMap<String, CommitId>, Error> {
    let attempt = format!("list the refs of {}", remote.url);
    let scratch = Scratch::create(remote, None).await?;
    let args = vec!["ls-remote".to_owned(), "--quiet".to_owned(), "--".to_owned(), remote.url.as_str().to_owned()];
    let exit = scratch.run(remote, attempt.clone(), args, LISTING).await?;
    if !exit.success {
        return Err(Error::Remote { attempt, reason: exit.complaint() });
    }
    match parse_listing(&exit.stdout) {
        Ok(listed) => Ok(listed.into_iter().map(|listed| (listed.name, CommitId::from_bytes(listed.id))).collect()),
        Err(BadListing::Name { name, reason }) => Err(Error::RefName { name, reason }),
        Err(BadListing::Rule((_, reason))) => Err(Error::Remote { attempt, reason: reason.to_owned() }),
    }
}

#[cfg(test)]
mod tests;
