//! Looks for secrets in clear in the objects of a repository: in files and their names, in messages, in what a push or a fetch brings, and
//! in the tree that is to be applied.
//!
//! What was judged is remembered by the id of the object, for as long as the same values are sought: nothing is read twice. A place whose
//! name is a secret itself is shown without it. Not here: what a secret looks like (`yaml::leak`), what becomes of a finding.

mod commits;
mod index;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use git2::Oid;
use serde::Deserialize;

use super::check_tree::{Refusal, hostile};
use super::checks::ObjectKind;
use super::checks::tree::{Entry, Kind, parse};
use super::error::Error;
use super::instances::Instances;
use super::objects::{Objects, oid_of};
use super::read::refused;
use super::refs::oid;
use super::repository::Repository;
use crate::base::limits::{MAX_FILE_BYTES, MAX_PATH_DEPTH};
use crate::model::{CommitId, MASK, NoSecrets, SETTINGS_PATH, Subdirectory};
use crate::yaml::leak::{Finding, Leak, Location, RULE, Role, Search, judge};
use crate::yaml::read_typed;

pub use commits::Brought;
pub(super) use commits::search_new;
pub use index::Staged;

/// Findings that are told of one tree, commit or push; more say nothing new.
pub(super) const MAX_LEAKS: usize = 50;
/// Size of a file that is searched, in bytes: the most that the limit of a push can be set to.
const MAX_SEARCHED_BYTES: u64 = 64 * 1024 * 1024;
/// Size of settings of an instance that are read for what is no secret, in bytes: as large as any file of it.
pub(super) const MAX_SETTINGS_BYTES: u64 = MAX_FILE_BYTES as u64;
/// Objects that are remembered: the files and directories of the largest instance, twice.
const MAX_REMEMBERED: usize = 1_000_000;

/// A secret in clear and its place in the repository.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Leaked {
    /// The file, or what else holds it, such as `the message of commit 1a2b3c4`.
    pub place: String,
    /// Line from 1, or 0 if the whole is meant.
    pub line: usize,
    /// What it is.
    pub leak: Leak,
    /// The commit that brings it, where commits were searched.
    pub commit: Option<CommitId>,
}

impl fmt::Display for Leaked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {RULE}: {}", self.place, self.leak),
            line => write!(f, "{}:{line}: {RULE}: {}", self.place, self.leak),
        }
    }
}

/// The values that are sought, what a person says is none, and what was judged by both.
#[derive(Debug)]
pub struct Scanner {
    search: Arc<Search>,
    known: NoSecrets,
    judged: Mutex<Judged>,
}

/// What was judged.
#[derive(Debug, Default)]
struct Judged {
    /// Files and directories that hold nothing.
    clean: HashSet<Oid>,
    /// What files hold.
    files: HashMap<(Oid, Role), Arc<[Finding]>>,
    /// What directories hold, by path below them.
    trees: HashMap<Oid, Arc<[Below]>>,
    /// Commits that bring nothing by themselves.
    commits: HashSet<Oid>,
    /// Objects that were read.
    read: u64,
}

/// A finding below a directory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Below {
    path: String,
    finding: Finding,
}

impl Below {
    /// Returns the finding as it is below a directory that holds this one.
    fn inside(self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{name}/{}", self.path) };
        Self { path, ..self }
    }
}

impl Scanner {
    /// Seeks values, and key material in any case.
    pub fn new(search: Search, known: NoSecrets) -> Self {
        Self { search: Arc::new(search), known, judged: Mutex::default() }
    }

    /// Returns what is sought.
    pub fn search(&self) -> &Search {
        &self.search
    }

    /// Returns what a person says is none.
    pub fn known(&self) -> &NoSecrets {
        &self.known
    }

    /// Leaves out what commits say in their settings is none. What was judged without that is not taken over.
    fn but(self: &Arc<Self>, more: &NoSecrets) -> Arc<Self> {
        let mut known = self.known.clone();
        known.extend(more);
        match known == self.known {
            true => self.clone(),
            false => Arc::new(Self { search: self.search.clone(), known, judged: Mutex::default() }),
        }
    }

    /// Judges the content of a file that is not in git yet.
    pub fn judge(&self, bytes: &[u8], role: Role) -> Vec<Finding> {
        let found = judge(bytes, role, &self.search, &self.known);
        if found.is_empty() {
            return found;
        }
        // Where the id cannot be told, nothing is excused.
        match Oid::hash_object(git2::ObjectType::Blob, bytes) {
            Ok(id) => self.excuse(id, found),
            Err(_) => found,
        }
    }

    /// Leaves out what a person says is no secret in a file with this content.
    fn excuse(&self, id: Oid, mut found: Vec<Finding>) -> Vec<Finding> {
        if self.known.files.contains(&id.to_string()) {
            found.retain(|finding| !finding.leak.is_of_file());
        }
        found
    }

    /// Returns how many files were read so far.
    pub fn files_read(&self) -> u64 {
        self.judged().read
    }

    /// Whoever panicked with it in hand wrote whole entries.
    fn judged(&self) -> MutexGuard<'_, Judged> {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        if judged.clean.len() + judged.files.len() + judged.trees.len() + judged.commits.len() > MAX_REMEMBERED {
            *judged = Judged { read: judged.read, ..Judged::default() };
        }
        judged
    }

    /// Judges a text that is no file.
    fn text(&self, bytes: &[u8]) -> Vec<Finding> {
        judge(bytes, Role::Page, &self.search, &self.known)
    }

    /// Judges a file.
    fn file(&self, objects: &Objects<'_>, id: Oid, role: Role) -> Result<Arc<[Finding]>, Refusal> {
        // A file that must be encrypted is judged for that, whatever else it was clean as.
        let is_plain = matches!(role, Role::Other | Role::Page);
        {
            let judged = self.judged();
            if is_plain && judged.clean.contains(&id) {
                return Ok(Arc::default());
            }
            if let Some(known) = judged.files.get(&(id, role)) {
                return Ok(known.clone());
            }
        }
        let (size, kind) = objects.header(id)?;
        let found = if kind != ObjectKind::Blob {
            Vec::new()
        } else if size > MAX_SEARCHED_BYTES {
            vec![Finding { line: 0, leak: Leak::Unsearched }]
        } else {
            judge(objects.blob(id, MAX_SEARCHED_BYTES, "")?.data(), role, &self.search, &self.known)
        };
        let found: Arc<[Finding]> = self.excuse(id, found).into();
        let mut judged = self.judged();
        judged.read += 1;
        if role == Role::Other && found.is_empty() {
            judged.clean.insert(id);
        } else {
            judged.files.insert((id, role), found.clone());
        }
        Ok(found)
    }

    /// Judges a name and returns it as it may be shown.
    fn name(&self, name: &[u8]) -> (Vec<Finding>, String) {
        let found: Vec<Finding> = self.text(name).into_iter().map(|found| Finding { line: 0, ..found }).collect();
        let shown = if found.is_empty() { String::from_utf8_lossy(name).into_owned() } else { MASK.to_owned() };
        (found, shown)
    }

    /// Judges everything below a directory, as files of no instance's own.
    fn tree(&self, objects: &Objects<'_>, id: Oid, depth: usize) -> Result<Arc<[Below]>, Refusal> {
        {
            let judged = self.judged();
            if judged.clean.contains(&id) {
                return Ok(Arc::default());
            }
            if let Some(known) = judged.trees.get(&id) {
                return Ok(known.clone());
            }
        }
        if depth > MAX_PATH_DEPTH {
            return Err(hostile("", ("tree/depth", "it is nested deeper than 32 directories")));
        }
        let object = objects.tree(id, "")?;
        let (mut below, mut is_sure) = (BTreeSet::new(), true);
        for entry in parse(object.data()).map_err(|rule| hostile("", rule))? {
            let (of_name, shown) = self.name(entry.name);
            below.extend(of_name.into_iter().map(|finding| Below { path: shown.clone(), finding }));
            match self.entry(objects, &entry, depth) {
                Ok(found) => below.extend(found.into_iter().map(|found| found.inside(&shown))),
                // What cannot be read breaks the app that it lies in, and no other.
                Err(_) => {
                    is_sure = false;
                    below.insert(Below { path: shown, finding: Finding { line: 0, leak: Leak::Unsearched } });
                }
            }
        }
        let below: Arc<[Below]> = below.into_iter().take(MAX_LEAKS).collect();
        let mut judged = self.judged();
        if below.is_empty() {
            judged.clean.insert(id);
        } else if is_sure {
            judged.trees.insert(id, below.clone());
        }
        Ok(below)
    }

    /// Judges what an entry of a directory leads to.
    fn entry(&self, objects: &Objects<'_>, entry: &Entry<'_>, depth: usize) -> Result<Vec<Below>, Refusal> {
        match entry.kind {
            Kind::Directory => Ok(self.tree(objects, oid_of(&entry.id), depth + 1)?.to_vec()),
            Kind::Regular | Kind::Executable | Kind::Symlink => {
                let role = Role::of(&String::from_utf8_lossy(entry.name), Location::Other);
                let found = self.file(objects, oid_of(&entry.id), role)?;
                Ok(found.iter().map(|finding| Below { path: String::new(), finding: finding.clone() }).collect())
            }
            Kind::Gitlink | Kind::Unknown => Ok(Vec::new()),
        }
    }

    /// Judges the files of secrets in a directory in which an instance lives, or is about to.
    fn secrets_files(&self, objects: &Objects<'_>, root: Oid, place: &Subdirectory) -> Result<Vec<Below>, Refusal> {
        let mut tree = root;
        for name in place.as_str().split('/').filter(|name| !name.is_empty()) {
            let object = objects.tree(tree, place.as_str())?;
            let entries = parse(object.data()).map_err(|rule| hostile(place.as_str(), rule))?;
            let below = entries.iter().find(|entry| entry.name == name.as_bytes() && entry.kind == Kind::Directory);
            let Some(below) = below else { return Ok(Vec::new()) };
            tree = oid_of(&below.id);
        }
        let object = objects.tree(tree, place.as_str())?;
        let mut found = Vec::new();
        for entry in parse(object.data()).map_err(|rule| hostile(place.as_str(), rule))? {
            let name = String::from_utf8_lossy(entry.name);
            let is_file = matches!(entry.kind, Kind::Regular | Kind::Executable | Kind::Symlink);
            if !is_file || Role::of(&name, Location::Instance) != Role::Secrets {
                continue;
            }
            let of_file = self.file(objects, oid_of(&entry.id), Role::Secrets)?;
            let below = |finding: &Finding| Below { path: place.outward(&name), finding: finding.clone() };
            found.extend(of_file.iter().filter(|finding| finding.leak == Leak::SecretsFile).map(below));
        }
        Ok(found)
    }

    /// Judges the whole tree of a commit for the instance that lives in one directory of it.
    fn commit(&self, objects: &Objects<'_>, id: &CommitId, own: &Subdirectory) -> Result<Vec<Leaked>, Error> {
        let refuse = |refusal| refused(refusal, id.as_str());
        let root = objects.root(oid(id)?).map_err(refuse)?;
        let mut found: BTreeSet<Below> = self.tree(objects, root, 0).map_err(refuse)?.iter().cloned().collect();
        if !found.is_empty() {
            let places = Instances::new(objects).find(root).map_err(refuse)?;
            // Keys in the files of another instance are that one's to take out.
            let is_others = |below: &Below| {
                let holds = |place: &Subdirectory| below.path.starts_with(&format!("{place}/"));
                places.iter().any(|place| place != own && !place.is_top() && holds(place))
            };
            found.retain(|below| matches!(below.finding.leak, Leak::Value(_)) || !is_others(below));
        }
        for place in BTreeSet::from([own.clone(), Subdirectory::top()]) {
            found.extend(self.secrets_files(objects, root, &place).map_err(refuse)?);
        }
        let leaked = |below: Below| Leaked {
            place: below.path,
            line: below.finding.line,
            leak: below.finding.leak,
            commit: None,
        };
        Ok(found.into_iter().map(leaked).take(MAX_LEAKS).collect())
    }
}

/// The part of an instance's settings that says what is no secret.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfSettings {
    #[serde(default)]
    no_secrets: NoSecrets,
}

/// Returns what settings say is no secret; what does not read says nothing.
fn known_by(settings: &str) -> NoSecrets {
    read_typed::<OfSettings>(SETTINGS_PATH, settings).map(|settings| settings.no_secrets).unwrap_or_default()
}

/// Returns what the settings of the instances in a tree say is no secret.
fn known_at(objects: &Objects<'_>, root: Oid, places: &[Subdirectory]) -> Result<NoSecrets, Refusal> {
    let mut known = NoSecrets::default();
    for path in places.iter().map(|place| place.outward(SETTINGS_PATH)) {
        let Some(entry) = objects.find(root, &path)? else { continue };
        let Ok(settings) = objects.blob(entry.id, MAX_SETTINGS_BYTES, &path) else { continue };
        known.extend(&known_by(&String::from_utf8_lossy(settings.data())));
    }
    Ok(known)
}

impl Repository {
    /// Returns the secrets that the tree of a commit holds in clear, as far as they concern the instance in a directory of it.
    pub async fn leaks_at(
        &self,
        commit: &CommitId,
        own: &Subdirectory,
        scanner: Arc<Scanner>,
    ) -> Result<Vec<Leaked>, Error> {
        let attempt = format!("search commit {} of {} for secrets", commit.short(), self.path().display());
        let (commit, own) = (commit.clone(), own.clone());
        self.read(attempt, move |repository, known| scanner.commit(&Objects::of(repository, known)?, &commit, &own))
            .await
    }
}

#[cfg(test)]
mod tests;
