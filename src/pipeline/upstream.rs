//! Upstreams of an instance: fetching them, and what they offer.
//!
//! Not here: when they are fetched (`daemon`), what an update does (`compile`).

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::read::{settings, upstream_ref};
use super::{Error, Instance};
use crate::base::chain;
use crate::git::{self, Allowed, Egress, FetchRef, Moved, Remote, RemoteUrl};
use crate::model::{CommitId, Diagnostic, FileTree, RefusalText, Upstream};
use crate::package::{self, Listing};

/// An upstream as people are shown it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryState {
    /// Name.
    pub name: String,
    /// Address, without credentials.
    pub url: String,
    /// Branch that is followed.
    pub branch: String,
    /// Commit that was fetched last; nothing before the first fetch.
    pub commit: Option<CommitId>,
    /// Packages it holds.
    pub packages: Vec<PackageState>,
    /// Why the last fetch failed; empty if it did not.
    pub error: String,
}

/// A package of an upstream as people are shown it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageState {
    /// Name.
    pub name: String,
    /// Version; empty if the package is broken.
    pub version: String,
    /// Description.
    pub description: String,
    /// First error, if the package is broken.
    pub broken: Option<Diagnostic>,
}

/// Returns the upstreams of an instance and what they held when they were fetched last.
pub async fn directories(instance: &Instance) -> Result<Vec<DirectoryState>, Error> {
    let settings = settings(instance).await?;
    let mut states = Vec::new();
    for directory in &settings.directories {
        let commit = instance.repository.read_ref(&upstream_ref(instance, directory)).await?;
        let listing = match &commit {
            Some(commit) => package::list(&instance.repository.read_tree(commit, &[]).await?, &directory.path),
            None => package::list(&FileTree::new(), &directory.path),
        };
        let error = instance.store.cursor(&instance.id, &error_cursor(directory)).await?.unwrap_or_default();
        states.push(state(directory, commit, &listing, error));
    }
    Ok(states)
}

fn state(directory: &Upstream, commit: Option<CommitId>, listing: &Listing, error: String) -> DirectoryState {
    let packages = listing
        .packages
        .iter()
        .map(|(name, listed)| match listed {
            Ok(listed) => PackageState {
                name: name.to_string(),
                version: listed.manifest.version.clone(),
                description: listed.manifest.description.clone(),
                broken: None,
            },
            Err(diagnostics) => PackageState {
                name: name.to_string(),
                version: String::new(),
                description: String::new(),
                broken: diagnostics.first().cloned(),
            },
        })
        .collect();
    let Upstream { name, url, branch, path: _ } = directory.clone();
    DirectoryState { name, url, branch, commit, packages, error }
}

/// Fetches every upstream and returns whether any moved. One that does not answer is remembered and stops no other.
pub async fn fetch_directories(
    instance: &Instance,
    scratch: &Path,
    allow: &[String],
) -> Result<Vec<(String, Result<Moved, git::Error>)>, Error> {
    let settings = settings(instance).await?;
    let mut results = Vec::new();
    for directory in &settings.directories {
        let fetched = fetch(instance, directory, scratch, allow).await;
        let error = fetched.as_ref().err().map(|error| chain(error)).unwrap_or_default();
        let error = match &fetched {
            Ok(Moved::Rewound) => "the upstream went back or rewrote its history".to_owned(),
            _ => error,
        };
        instance.store.put_cursor(&instance.id, &error_cursor(directory), &error).await?;
        results.push((directory.name.clone(), fetched));
    }
    Ok(results)
}

async fn fetch(
    instance: &Instance,
    directory: &Upstream,
    scratch: &Path,
    allow: &[String],
) -> Result<Moved, git::Error> {
    // An address that only this host may allow (plain http, a local path) must be written out in its settings.
    let local = allow.contains(&directory.url);
    let allowed = if local { Allowed::Local } else { Allowed::Network };
    let url = RemoteUrl::parse(&directory.url, allowed).map_err(|error| git::Error::Unusable {
        attempt: format!("fetch the directory {}", directory.name),
        reason: error.to_string(),
    })?;
    let egress = if local { Egress::Any } else { Egress::Public };
    let remote = Remote { url, credential: None, egress, scratch: scratch.to_owned() };
    let wanted = FetchRef { from: format!("refs/heads/{}", directory.branch), to: upstream_ref(instance, directory) };
    let fetched = git::fetch(&instance.repository, &remote, &[wanted]).await?;
    Ok(fetched.refs.first().map_or(Moved::Unchanged, |fetched| fetched.moved))
}

/// Fetches an upstream that is to be followed.
pub(super) async fn reach(
    instance: &Instance,
    (name, url, branch): (&str, &str, &str),
    scratch: &Path,
    allow: &[String],
) -> Result<(), RefusalText> {
    let text = str::to_owned;
    let directory = Upstream { name: text(name), url: text(url), branch: text(branch), path: String::new() };
    let Err(error) = fetch(instance, &directory, scratch, allow).await else { return Ok(()) };
    // Only the host's own settings may open an address that is not public or not encrypted.
    let closed = matches!(&error, git::Error::Unusable { .. }) || chain(&error).contains("egress/");
    let remedy =
        if closed { format!("egress: {{allow: [{url:?}]}} in daemon.yaml") } else { format!("git ls-remote {url}") };
    Err(RefusalText {
        code: 2,
        what: format!("add the directory {name}"),
        because: chain(&error),
        remedy,
        diagnostics: Vec::new(),
    })
}

fn error_cursor(directory: &Upstream) -> String {
    format!("directory.{}.error", directory.name)
}
