//! Upstreams of an instance: fetching them, what is judged before one is followed, and what people are shown of them.
//!
//! An upstream is followed only forward: one that went back, or that lost its packages, stays where it was until a person accepts that
//! (`accept.rs`). Not here: when they are fetched (`daemon`), what an update does (`compile`), reading packages (`offers.rs`).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::offers::{self, Offers, PackageState};
use super::overview::{Overview, overview};
use super::read::upstream_ref;
use super::vouched::{self, Vouched};
use super::{Error, Instance};
use crate::base::chain;
use crate::compile;
use crate::git::{self, Allowed, Egress, FetchRef, FetchedRef, Moved, RefChange, Remote, RemoteUrl, Scope};
use crate::model::{CommitId, Diagnostic, DirectoryTrouble, RefusalText, Upstream, UpstreamTrouble, Verify};

/// Packages from which on it says something that more than half of them are gone: two of three may be moved by one commit.
const MANY_PACKAGES: usize = 4;

/// Tries to follow an upstream that somebody else fetches at the same moment.
const FETCH_TRIES: usize = 3;

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
    /// What must be true of its commits.
    pub verify: Verify,
    /// Commit that is followed; nothing before the first fetch.
    pub commit: Option<CommitId>,
    /// Who answers for that commit; nothing where nobody has to, or does.
    pub vouched: Option<Vouched>,
    /// Packages it holds.
    pub packages: Vec<PackageState>,
    /// What lies where packages do and can be none.
    pub refused: Vec<Diagnostic>,
    /// What keeps it from being followed; nothing if it is.
    pub trouble: Option<DirectoryTrouble>,
    /// The same in one sentence; empty if it is followed.
    pub error: String,
}

impl DirectoryState {
    /// Returns what is wrong with it and nothing else; nothing if all is well.
    fn findings(self) -> Option<Self> {
        let mut found = self;
        found.packages.retain(|package| package.broken.is_some());
        (!found.packages.is_empty() || !found.refused.is_empty() || found.trouble.is_some()).then_some(found)
    }
}

/// Returns the upstreams of an instance and what they held when they were fetched last.
pub async fn directories(instance: &Instance) -> Result<Vec<DirectoryState>, Error> {
    let overview = overview(instance).await?;
    let settings = overview.settings()?;
    let mut states = Vec::new();
    for directory in &settings.directories {
        states.push(Box::pin(state(instance, &overview, directory)).await?);
    }
    Ok(states)
}

/// Returns what is wrong with upstreams: what keeps one from being followed, and the packages that are broken.
pub async fn directory_findings(instance: &Instance) -> Result<Vec<DirectoryState>, Error> {
    Ok(directories(instance).await?.into_iter().filter_map(DirectoryState::findings).collect())
}

async fn state(instance: &Instance, overview: &Overview, directory: &Upstream) -> Result<DirectoryState, Error> {
    let mut trouble = remembered(instance, directory).await?;
    let (commit, offers) = match held(instance, directory).await {
        Ok(held) => held,
        Err(error) => {
            let why = chain(&error);
            trouble.get_or_insert(DirectoryTrouble::new(
                UpstreamTrouble::Unreadable,
                &directory.name,
                (None, None),
                &why,
            ));
            (None, Arc::default())
        }
    };
    let made = made_from(overview, directory);
    let mut packages = offers.packages.clone();
    packages.extend(offers.doubtful.iter().filter(|package| made.contains(&package.name)).cloned());
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    let error = trouble.as_ref().map(|trouble| trouble.message.clone()).unwrap_or_default();
    let vouched = vouched::vouched(instance, directory).await?.filter(|it| Some(&it.commit) == commit.as_ref());
    let Upstream { name, url, branch, path: _, verify } = directory.clone();
    let refused = offers.refused.clone();
    Ok(DirectoryState { name, url, branch, verify, commit, vouched, packages, refused, trouble, error })
}

/// Returns where an upstream is and what it holds there.
async fn held(instance: &Instance, directory: &Upstream) -> Result<(Option<CommitId>, Arc<Offers>), Error> {
    let commit = vouched::followed(instance, directory).await?;
    let offers = match &commit {
        Some(commit) => offers::offers(instance, directory, commit).await?,
        None => Arc::default(),
    };
    Ok((commit, offers))
}

/// Returns the packages of an upstream that apps are made from.
fn made_from(overview: &Overview, directory: &Upstream) -> BTreeSet<String> {
    let records = overview.apps.keys().filter_map(|app| compile::record_of(&overview.files, app).ok().flatten());
    records.filter(|record| record.directory == directory.name).map(|record| record.package.to_string()).collect()
}

/// Fetches upstreams, all of them or the one of a name, and returns what keeps each from being followed. One that does not answer is
/// remembered and stops no other.
pub async fn fetch_directories(
    instance: &Instance,
    only: Option<&str>,
    (scratch, allow): (&Path, &[String]),
) -> Result<Vec<(String, Option<DirectoryTrouble>)>, Error> {
    let settings = super::settings(instance).await?;
    let mut results = Vec::new();
    for directory in settings.directories.iter().filter(|directory| only.is_none_or(|only| directory.name == only)) {
        let trouble = match Box::pin(follow(instance, directory, (scratch, allow))).await {
            Ok(trouble) => trouble,
            Err(error) => Some(unreached(instance, directory, (scratch, allow), &error).await?),
        };
        remember(instance, directory, trouble.as_ref()).await?;
        results.push((directory.name.clone(), trouble));
    }
    Ok(results)
}

/// Returns what to say of an upstream that could not be fetched: where its branch is gone that was there, that.
async fn unreached(
    instance: &Instance,
    directory: &Upstream,
    (scratch, allow): (&Path, &[String]),
    error: &Error,
) -> Result<DirectoryTrouble, Error> {
    let unreachable =
        || DirectoryTrouble::new(UpstreamTrouble::Unreachable, &directory.name, (None, None), &chain(error));
    let followed = instance.repository.read_ref(&upstream_ref(instance, directory)).await?;
    let (Error::Git(git::Error::Remote { .. }), Some(followed)) = (error, followed) else { return Ok(unreachable()) };
    let Ok(remote) = remote(directory, scratch, allow) else { return Ok(unreachable()) };
    match git::ls_remote(&remote).await {
        Ok(refs) if !refs.contains_key(&branch_ref(directory)) => {
            let why = format!("its branch {} is not there any more; what was taken of it stays", directory.branch);
            Ok(DirectoryTrouble::new(UpstreamTrouble::Vanished, &directory.name, (Some(followed), None), &why))
        }
        Ok(_) | Err(_) => Ok(unreachable()),
    }
}

/// Fetches an upstream and brings our ref of it forward, unless something speaks against that.
async fn follow(
    instance: &Instance,
    directory: &Upstream,
    reach: (&Path, &[String]),
) -> Result<Option<DirectoryTrouble>, Error> {
    // The schedule and a person may fetch at once: whoever comes second judges anew from where the first left it.
    for _ in 1..FETCH_TRIES {
        match try_follow(instance, directory, reach).await {
            Err(Error::Git(git::Error::Lost { .. })) => {}
            other => return other,
        }
    }
    try_follow(instance, directory, reach).await
}

async fn try_follow(
    instance: &Instance,
    directory: &Upstream,
    reach: (&Path, &[String]),
) -> Result<Option<DirectoryTrouble>, Error> {
    let offered = fetch(instance, directory, reach).await?;
    let vouched = match vouched::judge(instance, directory, &offered).await? {
        Ok(vouched) => vouched,
        Err(trouble) => return Ok(Some(trouble)),
    };
    if let Some(trouble) = judge(instance, directory, &offered).await? {
        return Ok(Some(trouble));
    }
    if offered.old.as_ref() != Some(&offered.new) {
        let change = RefChange { name: offered.name, expected: offered.old, new: Some(offered.new) };
        instance.repository.update_refs(&[change]).await?;
    }
    if let Some(vouched) = vouched {
        vouched::vouch(instance, directory, &vouched).await?;
    }
    Ok(None)
}

/// Brings the objects of an upstream here and returns where its branch is. No ref moves.
pub(super) async fn fetch(
    instance: &Instance,
    directory: &Upstream,
    (scratch, allow): (&Path, &[String]),
) -> Result<FetchedRef, git::Error> {
    let remote = remote(directory, scratch, allow)?;
    let wanted = FetchRef { from: branch_ref(directory), to: upstream_ref(instance, directory) };
    let fetched = git::fetch(&instance.repository, &remote, &[wanted], Scope::Parts).await?;
    fetched.refs.into_iter().next().ok_or_else(|| unusable(directory, "git fetched nothing".to_owned()))
}

/// Returns how an upstream is reached. An address that only this host may allow (plain http, a local path) must be written out in its settings.
fn remote(directory: &Upstream, scratch: &Path, allow: &[String]) -> Result<Remote, git::Error> {
    let local = allow.contains(&directory.url);
    let allowed = if local { Allowed::Local } else { Allowed::Network };
    let url = RemoteUrl::parse(&directory.url, allowed).map_err(|error| unusable(directory, error.to_string()))?;
    let egress = if local { Egress::Any } else { Egress::Public };
    Ok(Remote { url, credential: None, egress, scratch: scratch.to_owned() })
}

fn unusable(directory: &Upstream, reason: String) -> git::Error {
    git::Error::Unusable { attempt: format!("fetch the directory {}", directory.name), reason }
}

fn branch_ref(directory: &Upstream) -> String {
    format!("refs/heads/{}", directory.branch)
}

/// Returns what speaks against following an upstream to where it is now.
pub(super) async fn judge(
    instance: &Instance,
    directory: &Upstream,
    offered: &FetchedRef,
) -> Result<Option<DirectoryTrouble>, git::Error> {
    let both = (offered.old.clone(), Some(offered.new.clone()));
    let found = |kind, why: &str| Ok(Some(DirectoryTrouble::new(kind, &directory.name, both.clone(), why)));
    let Some(old) = offered.old.as_ref().filter(|_| offered.moved != Moved::Unchanged) else { return Ok(None) };
    if offered.moved == Moved::Rewound {
        let why = "it went back or rewrote its history, and nothing is taken from it until a person accepts that";
        return found(UpstreamTrouble::Rewound, why);
    }
    let before = offers::offers(instance, directory, old).await?;
    let after = offers::look(&instance.repository, &offered.new, &directory.path).await?;
    if let Some(why) = emptied(&before, &after) {
        return found(UpstreamTrouble::Emptied, &why);
    }
    offers::remember(instance, directory, &offered.new, after);
    Ok(None)
}

/// Returns what is left of the packages of an upstream, if that is none or less than half. A package that is broken is not gone.
fn emptied(before: &Offers, after: &Offers) -> Option<String> {
    let there: BTreeSet<&str> =
        after.packages.iter().chain(&after.doubtful).map(|package| package.name.as_str()).collect();
    let all = before.packages.len();
    let left = before.packages.iter().filter(|package| there.contains(package.name.as_str())).count();
    let said = match (left, all) {
        (_, 0) => return None,
        (0, 1) => "its only package is gone".to_owned(),
        (0, all) => format!("none of its {all} packages is left"),
        (left, all) if all >= MANY_PACKAGES && left.saturating_mul(2) < all => {
            format!("{left} of its {all} packages are left")
        }
        _ => return None,
    };
    Some(format!("{said}; it is not followed there until a person accepts that, and no app is touched"))
}

/// Fetches an upstream that is to be followed.
pub(super) async fn reach(
    instance: &Instance,
    directory: &Upstream,
    reach: (&Path, &[String]),
) -> Result<(), RefusalText> {
    let url = &directory.url;
    let (because, remedy) = match Box::pin(follow(instance, directory, reach)).await {
        Ok(Some(trouble)) if trouble.kind == UpstreamTrouble::Unsigned => {
            (trouble.message, "allowedSigners in daemon.yaml, which says who may sign".to_owned())
        }
        Ok(_) => return Ok(()),
        Err(error) => {
            // Only the host's own settings may open an address that is not public or not encrypted.
            let closed = matches!(&error, Error::Git(git::Error::Unusable { .. })) || chain(&error).contains("egress/");
            let allow = || format!("egress: {{allow: [{url:?}]}} in daemon.yaml");
            (chain(&error), if closed { allow() } else { format!("git ls-remote {url}") })
        }
    };
    Err(RefusalText {
        code: 2,
        what: format!("add the directory {}", directory.name),
        because,
        remedy,
        diagnostics: Vec::new(),
    })
}

/// Returns what was found when an upstream was fetched last.
pub(super) async fn remembered(instance: &Instance, directory: &Upstream) -> Result<Option<DirectoryTrouble>, Error> {
    let stored = instance.store.cursor(&instance.id, &trouble_cursor(directory)).await?.unwrap_or_default();
    if let Ok(trouble) = serde_json::from_str(&stored) {
        return Ok(Some(trouble));
    }
    // An earlier build kept the sentence alone.
    let error = instance.store.cursor(&instance.id, &error_cursor(directory)).await?.unwrap_or_default();
    let kind = UpstreamTrouble::Unreachable;
    Ok((!error.is_empty()).then(|| DirectoryTrouble::new(kind, &directory.name, (None, None), &error)))
}

/// Remembers what was found about an upstream.
pub(super) async fn remember(
    instance: &Instance,
    directory: &Upstream,
    trouble: Option<&DirectoryTrouble>,
) -> Result<(), Error> {
    let stored = trouble.map(|trouble| serde_json::to_string(trouble).unwrap_or_default()).unwrap_or_default();
    let error = trouble.map(|trouble| trouble.message.as_str()).unwrap_or_default();
    instance.store.put_cursor(&instance.id, &trouble_cursor(directory), &stored).await?;
    Ok(instance.store.put_cursor(&instance.id, &error_cursor(directory), error).await?)
}

fn trouble_cursor(directory: &Upstream) -> String {
    format!("directory.{}.trouble", directory.name)
}

fn error_cursor(directory: &Upstream) -> String {
    format!("directory.{}.error", directory.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(names: &[&str]) -> Offers {
        let package = |name: &&str| PackageState {
            name: (*name).to_owned(),
            version: "1".to_owned(),
            description: String::new(),
            broken: None,
        };
        Offers { packages: names.iter().map(package).collect(), ..Offers::default() }
    }

    #[test]
    fn an_upstream_is_emptied_that_holds_none_or_less_than_half_of_its_packages() {
        let told = |before: &[&str], after: &[&str]| emptied(&holding(before), &holding(after));
        assert!(told(&["a"], &[]).is_some_and(|why| why.starts_with("its only package is gone")));
        assert!(told(&["a", "b"], &["c"]).is_some_and(|why| why.starts_with("none of its 2 packages is left")));
        assert!(told(&["a", "b", "c", "d", "e"], &["a", "b"]).is_some_and(|why| why.starts_with("2 of its 5")));
        for (before, after) in [
            (&["a", "b", "c", "d"][..], &["a", "b"][..]),
            (&["a", "b", "c"], &["a"]),
            (&[], &[]),
            (&["a"], &["a", "b"]),
        ] {
            assert_eq!(told(before, after), None, "{before:?} {after:?}");
        }
        let broken = Offers { doubtful: holding(&["a", "b"]).packages, ..Offers::default() };
        assert_eq!(emptied(&holding(&["a", "b"]), &broken), None, "they are broken and not gone");
    }
}
