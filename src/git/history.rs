//! Walking history: commits, logs, ancestors, merge bases, changed paths.
//!
//! Not here: what the trailers mean (`merge`, `pipeline`).

use git2::Oid;

use crate::base::{RepoPath, Timestamp};
use crate::model::{Author, CommitId};

use super::check_tree::{Refusal, hostile};
use super::checks::ObjectKind;
use super::error::Error;
use super::graph::Graph;
use super::objects::{Known, Objects, find_commit};
use super::read::refused;
use super::refs::{check_packed_refs, commit_id, oid};
use super::repository::Repository;
use super::tree_diff::differences;

/// Commits that one log looks at; a filter that matches nothing ends here.
const MAX_WALK: usize = 100_000;
/// Bytes of the messages that one log keeps: 10,000 commits, the longest log that is asked for, with 3 KiB each.
const MAX_LOG_BYTES: usize = 32 * 1024 * 1024;

/// Digits by which an id is known at least, as git has it.
const MIN_PREFIX: usize = 4;

/// A commit as git holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    /// Its id.
    pub id: CommitId,
    /// Its parents in order.
    pub parents: Vec<CommitId>,
    /// Who wrote it.
    pub author: Author,
    /// Who made it.
    pub committer: Author,
    /// When it was made.
    pub time: Timestamp,
    /// The whole message.
    pub message: String,
    /// The trailers at its end, in order.
    pub trailers: Vec<(String, String)>,
}

impl Commit {
    /// Returns the value of the first trailer with this key.
    pub fn trailer(&self, key: &str) -> Option<&str> {
        self.trailers.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
    }

    /// Returns the values of all trailers with this key.
    pub fn trailers<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.trailers.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(key));
        named.map(|(_, value)| value.as_str())
    }

    /// Returns the first line of the message.
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

/// Which parents a log follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    All,
    First,
}

impl Repository {
    /// Returns one commit.
    pub async fn read_commit(&self, id: &CommitId) -> Result<Commit, Error> {
        let (attempt, id) = (format!("read commit {id} of {}", self.path().display()), id.clone());
        self.read(attempt, move |repository, known| {
            read_commit(repository, &Objects::of(repository, known)?, oid(&id)?)
        })
        .await
    }

    /// Returns the one commit whose id begins with a text of hexadecimal digits, if there is one.
    pub async fn commit_of(&self, prefix: &str) -> Result<Option<CommitId>, Error> {
        let (attempt, prefix) = (format!("look for commit {prefix} of {}", self.path().display()), prefix.to_owned());
        self.read(attempt, move |repository, known| {
            let objects = Objects::of(repository, known)?;
            let is_commit = |id: &Oid| objects.header(*id).is_ok_and(|(_, kind)| kind == ObjectKind::Commit);
            Ok(objects.of_prefix(&prefix).filter(is_commit).map(commit_id))
        })
        .await
    }

    /// Returns the commit that a person names as git takes names: a branch, a tag, the beginning of an id.
    pub async fn commit_named(&self, name: &str) -> Result<Option<CommitId>, Error> {
        let (attempt, name) = (format!("look for {name} in {}", self.path().display()), name.to_owned());
        self.read(attempt, move |repository, known| {
            let objects = Objects::of(repository, known)?;
            let found = named(repository, &objects, &name)?.map(|id| objects.peel(id)).transpose();
            Ok(found.map_err(|refusal| refused(refusal, &name))?.flatten().map(commit_id))
        })
        .await
    }

    /// Returns the newest common ancestor of two commits, or nothing if they share no history.
    pub async fn merge_base(&self, a: &CommitId, b: &CommitId) -> Result<Option<CommitId>, Error> {
        let attempt = format!("find the merge base of {} and {}", a.short(), b.short());
        let (a, b) = (a.clone(), b.clone());
        self.read(attempt, move |repository, known| {
            let (one, other) = (oid(&a)?, oid(&b)?);
            let objects = Objects::of(repository, known)?;
            let base = Graph::of(repository, &objects)?.merge_base(one, other);
            Ok(base.map_err(|refusal| refused(refusal, b.as_str()))?.map(commit_id))
        })
        .await
    }

    /// Returns whether `ancestor` is `commit` or in its history.
    pub async fn is_ancestor(&self, ancestor: &CommitId, commit: &CommitId) -> Result<bool, Error> {
        let attempt = format!("look for {} in the history of {}", ancestor.short(), commit.short());
        let (ancestor, commit) = (ancestor.clone(), commit.clone());
        self.read(attempt, move |repository, known| is_ancestor(repository, known, oid(&ancestor)?, oid(&commit)?))
            .await
    }

    /// Returns where the history of a commit ends in a shallow clone; nothing if all of it is there.
    pub async fn cut_off(&self, from: &CommitId) -> Result<Option<CommitId>, Error> {
        let attempt = format!("look for the end of the history of {}", from.short());
        if !self.read(attempt, |repository, _| Ok(repository.is_shallow())).await? {
            return Ok(None);
        }
        let log = self.first_parent_log(from, MAX_WALK, &[]).await?;
        Ok(log.last().map(|commit| commit.id.clone()))
    }

    /// Returns the newest commits first, over all parents. With a path only those where it differs from every parent.
    pub async fn log(&self, from: &CommitId, limit: usize, path: Option<&str>) -> Result<Vec<Commit>, Error> {
        self.walk(from, limit, path.as_slice(), Follow::All).await
    }

    /// Returns the newest commits of the branch itself first: of a merge only the first parent is followed. With paths
    /// only those where one of them differs from that parent.
    pub async fn first_parent_log(&self, from: &CommitId, limit: usize, paths: &[&str]) -> Result<Vec<Commit>, Error> {
        self.walk(from, limit, paths, Follow::First).await
    }

    /// Returns the paths that differ between two commits, in order; `from` left out means the empty tree.
    pub async fn diff_paths(&self, from: Option<&CommitId>, to: &CommitId) -> Result<Vec<RepoPath>, Error> {
        let attempt = format!("compare with commit {}", to.short());
        let (from, to) = (from.cloned(), to.clone());
        self.read(attempt, move |repository, known| diff_paths(&Objects::of(repository, known)?, from.as_ref(), &to))
            .await
    }

    async fn walk(&self, from: &CommitId, limit: usize, paths: &[&str], follow: Follow) -> Result<Vec<Commit>, Error> {
        let attempt = format!("read the history of {} in {}", from.short(), self.path().display());
        let (from, paths) = (from.clone(), paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
        self.read(attempt, move |repository, known| {
            walk(repository, known, oid(&from)?, &Wanted { limit, paths, follow })
        })
        .await
    }
}

/// Returns the object that a name stands for: a ref, with or without what stands before its short name, or the beginning of an id.
fn named(repository: &git2::Repository, objects: &Objects<'_>, name: &str) -> Result<Option<Oid>, Error> {
    check_packed_refs(repository)?;
    for before in ["", "refs/", "refs/heads/", "refs/tags/", "refs/remotes/"] {
        let full = format!("{before}{name}");
        if git2::Reference::is_valid_name(&full)
            && let Ok(id) = repository.refname_to_id(&full)
        {
            return Ok(Some(id));
        }
    }
    let is_id = name.len() >= MIN_PREFIX && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    Ok(is_id.then(|| objects.of_prefix(name)).flatten())
}

pub(super) fn is_ancestor(
    repository: &git2::Repository,
    known: &Known,
    ancestor: Oid,
    commit: Oid,
) -> Result<bool, Error> {
    if ancestor == commit {
        return Ok(true);
    }
    let objects = Objects::of(repository, known)?;
    let found = Graph::of(repository, &objects)?.is_ancestor(ancestor, commit);
    found.map_err(|refusal| refused(refusal, &commit.to_string()))
}

fn read_commit(repository: &git2::Repository, objects: &Objects<'_>, id: Oid) -> Result<Commit, Error> {
    let commit = find_commit(repository, objects, id)?;
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let trailers = match git2::message_trailers_strs(&message) {
        Ok(trailers) => trailers.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        Err(_) => Vec::new(),
    };
    Ok(Commit {
        id: commit_id(id),
        parents: commit.parent_ids().map(commit_id).collect(),
        author: person(&commit.author()),
        committer: person(&commit.committer()),
        time: Timestamp(commit.time().seconds().saturating_mul(1_000_000)),
        message,
        trailers,
    })
}

fn person(signature: &git2::Signature<'_>) -> Author {
    Author {
        name: String::from_utf8_lossy(signature.name_bytes()).into_owned(),
        email: String::from_utf8_lossy(signature.email_bytes()).into_owned(),
    }
}

/// Which commits of a history are wanted.
struct Wanted {
    limit: usize,
    paths: Vec<String>,
    follow: Follow,
}

fn walk(repository: &git2::Repository, known: &Known, from: Oid, wanted: &Wanted) -> Result<Vec<Commit>, Error> {
    let objects = Objects::of(repository, known)?;
    let graph = Graph::of(repository, &objects)?;
    let refuse = |refusal: Refusal| refused(refusal, &from.to_string());
    let order = match wanted.follow {
        Follow::All => graph.in_order(from, MAX_WALK).map_err(refuse)?,
        Follow::First => vec![from],
    };

    let (mut commits, mut bytes) = (Vec::new(), 0_usize);
    let (mut left, mut next) = (order.into_iter(), None);
    for _ in 0..MAX_WALK {
        let Some(id) = next.take().or_else(|| left.next()).filter(|_| commits.len() < wanted.limit) else { break };
        if wanted.follow == Follow::First {
            next = graph.parents(id).map_err(refuse)?.first().copied();
        }
        if !changes(&objects, &graph, (id, from), wanted).map_err(refuse)? {
            continue;
        }
        let commit = read_commit(repository, &objects, id)?;
        bytes = bytes.saturating_add(commit.message.len());
        if bytes > MAX_LOG_BYTES {
            let rule = ("commit/messages", "the messages of the last commits hold more than 32 MiB together");
            return Err(refuse(hostile("", rule)));
        }
        commits.push(commit);
    }
    Ok(commits)
}

/// Returns whether a commit holds one of the paths in another form than each of the parents that are followed; without paths it always does.
fn changes(
    objects: &Objects<'_>,
    graph: &Graph<'_, '_>,
    (id, tip): (Oid, Oid),
    wanted: &Wanted,
) -> Result<bool, Refusal> {
    if wanted.paths.is_empty() {
        return Ok(true);
    }
    let mut parents = graph.parents(id)?;
    if wanted.follow == Follow::First {
        parents.truncate(1);
    }
    let entry = |commit: Oid, path: &str| match objects.root(commit).and_then(|root| objects.find(root, path)) {
        Ok(found) => Ok(found.map(|found| found.id)),
        // What breaks a rule below the tip is as good as not there; whoever reads that commit is told of it.
        Err(Refusal::Hostile(_)) if commit != tip => Ok(None),
        Err(refusal) => Err(refusal),
    };
    for path in &wanted.paths {
        let here = entry(id, path)?;
        let mut differs = !parents.is_empty() || here.is_some();
        for parent in &parents {
            differs = differs && entry(*parent, path)? != here;
        }
        if differs {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn diff_paths(
    objects: &Objects<'_>,
    from: Option<&CommitId>,
    to: &CommitId,
) -> Result<Vec<RepoPath>, Error> {
    let refuse = |refusal: Refusal| refused(refusal, to.as_str());
    let root = |commit: &CommitId| objects.root(oid(commit)?).map_err(refuse);
    let found = differences(objects, from.map(root).transpose()?, root(to)?).map_err(refuse)?;
    Ok(found.into_iter().map(|difference| difference.path).collect())
}

#[cfg(test)]
mod tests;
