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
use super::error::Error;
use super::refs::check_name;
use super::remote_url::RemoteUrl;

pub use fetch::{FetchRef, Fetched, FetchedRef, Moved, fetch};
pub use push::{PushRef, Pushed, PushedRef, push, push_deletion};
pub use scratch::clear_scratch;

use scratch::Scratch;

/// Longest fetch or push.
const NETWORK_DEADLINE: Duration = Duration::from_secs(120);
/// Longest listing of a remote's refs.
const LIST_DEADLINE: Duration = Duration::from_secs(30);
/// Refs of a remote that are read.
const MAX_REMOTE_REFS: usize = 10_000;

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
    let exit = scratch.run(remote, attempt.clone(), args, LIST_DEADLINE).await?;
    if !exit.success {
        return Err(Error::Remote { attempt, reason: exit.complaint() });
    }
    let mut refs = BTreeMap::new();
    for line in exit.stdout.lines().take(MAX_REMOTE_REFS.saturating_mul(2)) {
        let Some((id, name)) = line.split_once('\t') else { continue };
        let Ok(id) = CommitId::parse(id) else { continue };
        // The commit of a tag comes after the tag itself, under its name with a mark, and takes its place.
        let name = name.strip_suffix("^{}").unwrap_or(name);
        if name != "HEAD" {
            check_name(name)?;
        }
        refs.insert(name.to_owned(), id);
    }
    Ok(refs)
}

#[cfg(test)]
mod tests;
