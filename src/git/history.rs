//! Walking history: commits, logs, ancestors, merge bases, changed paths.
//!
//! Not here: what the trailers mean (`merge`, `pipeline`).

use git2::{ErrorCode, Oid, Sort};

use crate::base::{RepoPath, Timestamp};
use crate::model::{Author, CommitId};

use super::check_tree::HostileTree;
use super::error::{Error, git};
use super::read::root_of;
use super::refs::{commit_id, oid};
use super::repository::Repository;

/// Commits that one log looks at; a filter that matches nothing ends here.
const MAX_WALK: usize = 100_000;

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
        self.read(attempt, move |repository, _| read_commit(repository, oid(&id)?)).await
    }

    /// Returns the one commit whose id begins with a text of hexadecimal digits, if there is one.
    pub async fn commit_of(&self, prefix: &str) -> Result<Option<CommitId>, Error> {
        let (attempt, prefix) = (format!("look for commit {prefix} of {}", self.path().display()), prefix.to_owned());
        self.read(attempt, move |repository, _| {
            Ok(repository.find_commit_by_prefix(&prefix).ok().map(|commit| commit_id(commit.id())))
        })
        .await
    }

    /// Returns the newest common ancestor of two commits, or nothing if they share no history.
    pub async fn merge_base(&self, a: &CommitId, b: &CommitId) -> Result<Option<CommitId>, Error> {
        let attempt = format!("find the merge base of {} and {}", a.short(), b.short());
        let (a, b) = (a.clone(), b.clone());
        self.read(attempt.clone(), move |repository, _| match repository.merge_base(oid(&a)?, oid(&b)?) {
            Ok(base) => Ok(Some(commit_id(base))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(git(attempt)(error)),
        })
        .await
    }

    /// Returns whether `ancestor` is `commit` or in its history.
    pub async fn is_ancestor(&self, ancestor: &CommitId, commit: &CommitId) -> Result<bool, Error> {
        let attempt = format!("look for {} in the history of {}", ancestor.short(), commit.short());
        let (ancestor, commit) = (ancestor.clone(), commit.clone());
        self.read(attempt, move |repository, _| is_ancestor(repository, oid(&ancestor)?, oid(&commit)?)).await
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
        self.read(attempt, move |repository, _| diff_paths(repository, from.as_ref(), &to)).await
    }

    async fn walk(&self, from: &CommitId, limit: usize, paths: &[&str], follow: Follow) -> Result<Vec<Commit>, Error> {
        let attempt = format!("read the history of {} in {}", from.short(), self.path().display());
        let (from, paths) = (from.clone(), paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
        self.read(attempt, move |repository, _| walk(repository, oid(&from)?, limit, &paths, follow)).await
    }
}

pub(super) fn is_ancestor(repository: &git2::Repository, ancestor: Oid, commit: Oid) -> Result<bool, Error> {
    if ancestor == commit {
        return Ok(true);
    }
    repository
        .graph_descendant_of(commit, ancestor)
        .map_err(git(format!("look for {ancestor} in the history of {commit}")))
}

fn read_commit(repository: &git2::Repository, id: Oid) -> Result<Commit, Error> {
    let commit = repository.find_commit(id).map_err(git(format!("read commit {id}")))?;
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

fn walk(
    repository: &git2::Repository,
    from: Oid,
    limit: usize,
    paths: &[String],
    follow: Follow,
) -> Result<Vec<Commit>, Error> {
    let attempt = || format!("read the history of {from}");
    let mut walk = repository.revwalk().map_err(git(attempt()))?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME).map_err(git(attempt()))?;
    if follow == Follow::First {
        walk.simplify_first_parent().map_err(git(attempt()))?;
    }
    walk.push(from).map_err(git(attempt()))?;
    let mut commits = Vec::new();
    for id in walk.take(MAX_WALK) {
        if commits.len() >= limit {
            break;
        }
        let id = id.map_err(git(attempt()))?;
        let mut wanted = paths.is_empty();
        for path in paths {
            wanted = wanted || changes(repository, id, path, follow)?;
        }
        if wanted {
            commits.push(read_commit(repository, id)?);
        }
    }
    Ok(commits)
}

/// Returns whether a commit holds a path in another form than each of the parents that are followed.
fn changes(repository: &git2::Repository, id: Oid, path: &str, follow: Follow) -> Result<bool, Error> {
    let attempt = || format!("read {path} of commit {id}");
    let commit = repository.find_commit(id).map_err(git(attempt()))?;
    let here = entry_id(&commit, path).map_err(git(attempt()))?;
    let parents = if follow == Follow::First { 1 } else { usize::MAX };
    let mut alone = true;
    for parent in commit.parents().take(parents) {
        alone = false;
        if entry_id(&parent, path).map_err(git(attempt()))? == here {
            return Ok(false);
        }
    }
    Ok(!alone || here.is_some())
}

fn entry_id(commit: &git2::Commit<'_>, path: &str) -> Result<Option<Oid>, git2::Error> {
    match commit.tree()?.get_path(path.as_ref()) {
        Ok(entry) => Ok(Some(entry.id())),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn diff_paths(
    repository: &git2::Repository,
    from: Option<&CommitId>,
    to: &CommitId,
) -> Result<Vec<RepoPath>, Error> {
    let attempt = || format!("compare with commit {to}");
    let tree =
        |commit: &CommitId| root_of(repository, commit).and_then(|id| repository.find_tree(id).map_err(git(attempt())));
    let (old, new) = (from.map(tree).transpose()?, tree(to)?);
    let diff = repository.diff_tree_to_tree(old.as_ref(), Some(&new), None).map_err(git(attempt()))?;
    let mut paths = Vec::new();
    for delta in diff.deltas() {
        let bytes = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes()).unwrap_or_default();
        let text = String::from_utf8_lossy(bytes);
        let path = RepoPath::parse(&text).map_err(|error| Error::Hostile {
            commit: to.to_string(),
            source: HostileTree { path: text.to_string(), rule: "tree/name", reason: error.reason },
        })?;
        paths.push(path);
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

#[cfg(test)]
mod tests;
