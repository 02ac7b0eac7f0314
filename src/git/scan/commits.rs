//! Secrets that new commits bring: in every file of each commit that no commit before it has, in names, messages and notes of tags. One that
//! a later commit takes out again is in history all the same.
//!
//! Not here: the tree of one commit (`mod.rs`).

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use git2::Oid;

use super::super::check_tree::{Refusal, hostile, join};
use super::super::checks::tree::{Entry, Kind, parse};
use super::super::checks::{MAX_TAG_DEPTH, ObjectKind};
use super::super::error::Error;
use super::super::graph::Graph;
use super::super::instances::Instances;
use super::super::objects::{Objects, oid_of};
use super::super::read::refused;
use super::super::refs::{commit_id, oid};
use super::super::repository::Repository;
use super::{Leaked, MAX_LEAKS, Scanner, known_at};
use crate::base::limits::MAX_PATH_DEPTH;
use crate::model::{CommitId, NoSecrets, Subdirectory};
use crate::yaml::leak::{Finding, Location, Role};

/// New commits that are searched at a time.
const MAX_NEW_COMMITS: usize = 100_000;

/// What new commits bring.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Brought {
    /// The secrets in clear, by place.
    pub leaks: Vec<Leaked>,
    /// Whether there are more commits than are searched.
    pub is_cut: bool,
}

impl Repository {
    /// Returns the secrets that are in clear in the history of some commits and not in that of commits that are known.
    pub async fn new_leaks(
        &self,
        tips: &[CommitId],
        known: &[CommitId],
        scanner: Arc<Scanner>,
    ) -> Result<Brought, Error> {
        let attempt = format!("search new commits of {} for secrets", self.path().display());
        let oids = |commits: &[CommitId]| commits.iter().map(oid).collect::<Result<Vec<Oid>, Error>>();
        let (tips, heads) = (oids(tips)?, oids(known)?);
        self.read(attempt, move |repository, known| {
            search_new(repository, &Objects::of(repository, known)?, &tips, &heads, &scanner)
        })
        .await
    }
}

/// Searches the history of some commits or tags without that of known commits.
pub(in crate::git) fn search_new(
    repository: &git2::Repository,
    objects: &Objects<'_>,
    tips: &[Oid],
    known: &[Oid],
    scanner: &Arc<Scanner>,
) -> Result<Brought, Error> {
    let graph = Graph::of(repository, objects)?;
    let mut instances = Instances::new(objects);
    let mut said = NoSecrets::default();
    for tip in tips {
        let refuse = |refusal| refused(refusal, &tip.to_string());
        let Some(commit) = objects.peel(*tip).map_err(refuse)? else { continue };
        let root = objects.root(commit).map_err(refuse)?;
        let places = instances.find(root).map_err(refuse)?;
        said.extend(&known_at(objects, root, &places).map_err(refuse)?);
    }
    let scanner = &scanner.but(&said);
    let mut search = NewSearch { scanner, graph, objects, found: BTreeSet::new(), seen: HashSet::new(), spot: None };
    let (mut last, mut new, mut heads) = (BTreeSet::from([Subdirectory::top()]), Vec::new(), known.to_vec());
    for tip in tips {
        let refuse = |refusal| refused(refusal, &tip.to_string());
        let Some(commit) = search.tags(*tip).map_err(refuse)? else { continue };
        let tree = objects.root(commit).map_err(refuse)?;
        last.extend(instances.find(tree).map_err(refuse)?);
        new.extend(search.graph.beyond(commit, heads.iter().copied()).map_err(refuse)?);
        heads.push(commit);
    }
    let is_cut = new.len() > MAX_NEW_COMMITS;
    for id in new.into_iter().take(MAX_NEW_COMMITS) {
        if search.found.len() >= MAX_LEAKS {
            break;
        }
        if scanner.judged().commits.contains(&id) {
            continue;
        }
        let refuse = |refusal| refused(refusal, &id.to_string());
        let tree = objects.root(id).map_err(refuse)?;
        // Secrets may come before the settings that make a directory an instance.
        let mut places = last.clone();
        places.extend(instances.find(tree).map_err(refuse)?);
        search.commit(id, tree, places).map_err(refuse)?;
    }
    Ok(Brought { leaks: search.found.into_iter().take(MAX_LEAKS).collect(), is_cut })
}

/// A search through new commits.
struct NewSearch<'s, 'o, 'a> {
    scanner: &'s Scanner,
    graph: Graph<'o, 'a>,
    objects: &'o Objects<'a>,
    found: BTreeSet<Leaked>,
    /// Directories that were compared, each with those before it: one that occurs under many names is looked at once.
    seen: HashSet<(Oid, Vec<Oid>)>,
    spot: Option<Spot>,
}

/// The commit that is searched.
struct Spot {
    commit: CommitId,
    /// Where its instances live.
    places: BTreeSet<Subdirectory>,
}

/// A directory under the path that it has and the one that is shown.
struct Paths {
    path: String,
    shown: String,
    depth: usize,
}

impl NewSearch<'_, '_, '_> {
    fn note(&mut self, place: &str, findings: impl IntoIterator<Item = Finding>) {
        let commit = self.spot.as_ref().map(|spot| spot.commit.clone());
        let leaked =
            |Finding { line, leak }: Finding| Leaked { place: place.to_owned(), line, leak, commit: commit.clone() };
        self.found.extend(findings.into_iter().map(leaked));
    }

    /// Searches the tags on the way to a commit, and returns that commit.
    fn tags(&mut self, id: Oid) -> Result<Option<Oid>, Refusal> {
        let mut at = id;
        for _ in 0..=MAX_TAG_DEPTH {
            match self.objects.header(at)?.1 {
                ObjectKind::Commit => return Ok(Some(at)),
                ObjectKind::Tree | ObjectKind::Blob => return Ok(None),
                ObjectKind::Tag => {}
            }
            let tag = self.objects.whole_tag(at)?;
            self.note(&format!("the tag {}", commit_id(at).short()), self.scanner.text(tag.data()));
            at = self.objects.tagged(at)?;
        }
        Ok(None)
    }

    fn commit(&mut self, id: Oid, tree: Oid, places: BTreeSet<Subdirectory>) -> Result<(), Refusal> {
        let before = self.found.len();
        let name = commit_id(id);
        let message = format!("the message of commit {}", name.short());
        self.spot = Some(Spot { commit: name, places });
        let raw = self.objects.whole_commit(id)?;
        self.note(&message, self.scanner.text(raw.data()));
        let parents = self.graph.parents(id)?;
        let parents = parents.into_iter().map(|parent| self.objects.root(parent)).collect::<Result<Vec<_>, _>>()?;
        self.tree(tree, &parents, &Paths { path: String::new(), shown: String::new(), depth: 0 })?;
        if self.found.len() == before {
            self.scanner.judged().commits.insert(id);
        }
        Ok(())
    }

    /// Searches what a directory holds that none of those before it does.
    fn tree(&mut self, id: Oid, before: &[Oid], at: &Paths) -> Result<(), Refusal> {
        if before.contains(&id) || self.found.len() >= MAX_LEAKS {
            return Ok(());
        }
        if at.depth > MAX_PATH_DEPTH {
            return Err(hostile(&at.shown, ("tree/depth", "it is nested deeper than 32 directories")));
        }
        // Where an instance lives at or below this path, what its files are depends on the path.
        let places = self.spot.as_ref().map(|spot| &spot.places);
        let is_near = |place: &Subdirectory| {
            place.as_str() == at.path || at.path.is_empty() || place.as_str().starts_with(&format!("{}/", at.path))
        };
        let is_near_one = places.is_some_and(|places| places.iter().any(is_near));
        let is_instance = places.is_some_and(|places| places.iter().any(|place| place.as_str() == at.path));
        if !is_near_one && !self.seen.insert((id, before.to_vec())) {
            return Ok(());
        }
        let directory = if is_instance { Location::Instance } else { Location::Other };
        let (objects, scanner) = (self.objects, self.scanner);
        let trees = before.iter().map(|id| objects.tree(*id, &at.shown)).collect::<Result<Vec<_>, _>>()?;
        let entries_of = |raw| parse(raw).map_err(|rule| hostile(&at.shown, rule));
        let olds = trees.iter().map(|object| entries_of(object.data())).collect::<Result<Vec<_>, _>>()?;
        let object = objects.tree(id, &at.shown)?;
        for entry in entries_of(object.data())? {
            let same: Vec<&Entry<'_>> =
                olds.iter().filter_map(|old| old.iter().find(|old| old.name == entry.name)).collect();
            if same.iter().any(|old| old.id == entry.id && old.kind == entry.kind) {
                continue;
            }
            let (of_name, shown) = scanner.name(entry.name);
            let shown = join(&at.shown, shown.as_bytes());
            if same.is_empty() {
                self.note(&shown, of_name);
            }
            match entry.kind {
                Kind::Directory => {
                    let old = same
                        .iter()
                        .filter(|old| old.kind == Kind::Directory)
                        .map(|old| oid_of(&old.id))
                        .collect::<Vec<_>>();
                    let path = join(&at.path, entry.name);
                    self.tree(oid_of(&entry.id), &old, &Paths { path, shown, depth: at.depth + 1 })?;
                }
                Kind::Regular | Kind::Executable | Kind::Symlink => {
                    let role = Role::of(&String::from_utf8_lossy(entry.name), directory);
                    let found = scanner.file(objects, oid_of(&entry.id), role)?;
                    self.note(&shown, found.iter().cloned());
                }
                Kind::Gitlink | Kind::Unknown => {}
            }
        }
        Ok(())
    }
}
