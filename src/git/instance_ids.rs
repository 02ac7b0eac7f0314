//! Which identity each instance of a commit has, and whether a later commit leaves it so.
//!
//! An identity is the mark on every object of an instance and the name of its secrets and its kubeconfig outside the repository: whoever
//! changes it gives up what it owns, or takes what is another's. Not here: which repository an identity belongs to (`settings`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use git2::Index;
use serde::Deserialize;

use super::error::{Error, git};
use super::instances::instances;
use super::objects::{Known, Objects};
use super::read::{read_tree, refused};
use super::refs::{commit_id, oid, read_ref};
use super::repository::Repository;
use super::scan::MAX_SETTINGS_BYTES;
use crate::model::{CommitId, SETTINGS_PATH, Subdirectory};
use crate::yaml::{Dialect, load_one, read_typed};

/// The identities of all instances of a commit, by where they live.
pub type InstanceIds = BTreeMap<Subdirectory, WrittenId>;

/// What the settings of an instance say of its identity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenId {
    /// The identity.
    pub id: NamedId,
    /// The line that names it, or 0.
    pub line: usize,
}

/// An identity as settings name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamedId {
    /// They name this one.
    Id(String),
    /// They name none.
    Missing,
    /// They do not read, which is refused or told elsewhere.
    Unreadable,
}

/// An instance that would not be the one it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdFault {
    /// The file of its settings.
    pub file: String,
    /// The line that names the identity, or 0.
    pub line: usize,
    /// What is wrong.
    pub kind: IdFaultKind,
}

/// How an instance would not be the one it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IdFaultKind {
    /// It gets another identity.
    Changed {
        /// The one that it has.
        was: String,
        /// The one that it would have.
        now: String,
    },
    /// Its settings name none any more.
    Missing {
        /// The one that it has.
        was: String,
    },
    /// Its settings go while its files stay.
    Gone {
        /// The one that it has.
        was: String,
    },
    /// It is new and has the identity of another one.
    Doubled {
        /// The identity.
        id: String,
        /// Where the other one lives.
        other: Subdirectory,
    },
}

impl IdFault {
    /// Returns what to write where.
    pub fn remedy(&self) -> String {
        match &self.kind {
            IdFaultKind::Changed { was, .. } | IdFaultKind::Missing { was } | IdFaultKind::Gone { was } => {
                format!("put the line back in {}: instanceId: {was}", self.file)
            }
            IdFaultKind::Doubled { .. } => format!("write an instanceId of its own in {}", self.file),
        }
    }
}

impl fmt::Display for IdFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            IdFaultKind::Changed { was, now } => {
                write!(f, "instanceId would change from {was} to {now}, and an instance keeps the one it was made with")
            }
            IdFaultKind::Missing { was } => {
                write!(f, "instanceId {was} would be gone, and an instance keeps the one it was made with")
            }
            IdFaultKind::Gone { was } => write!(f, "the settings with instanceId {was} would be gone"),
            IdFaultKind::Doubled { id, other } if other.is_top() => {
                write!(f, "instanceId {id} is that of the instance at the top of the repository")
            }
            IdFaultKind::Doubled { id, other } => write!(f, "instanceId {id} is that of the instance in {other}"),
        }
    }
}

impl Repository {
    /// Returns the identities of all instances of a commit.
    pub async fn instance_ids(&self, commit: &CommitId) -> Result<InstanceIds, Error> {
        let attempt = format!("read the identities in commit {}", commit.short());
        let commit = commit.clone();
        self.read(attempt, move |repository, known| ids_of(repository, &Objects::of(repository, known)?, &commit)).await
    }

    /// Returns the instances that would not be the ones they were if a commit followed what had these identities.
    pub async fn id_faults(&self, before: InstanceIds, commit: &CommitId) -> Result<Vec<IdFault>, Error> {
        let attempt = format!("compare the identities in commit {}", commit.short());
        let commit = commit.clone();
        self.read(attempt, move |repository, known| {
            faults_of(repository, &Objects::of(repository, known)?, &before, &commit)
        })
        .await
    }

    /// Returns the instances that would not be the ones they were after the next commit of a work tree. Git may keep the index elsewhere for
    /// one commit.
    pub async fn staged_id_faults(&self, index: Option<PathBuf>) -> Result<Vec<IdFault>, Error> {
        let attempt = format!("compare the identities in the index of {}", self.path().display());
        self.run(attempt, move |repository, known| staged_faults(repository, known, index.as_deref())).await
    }
}

/// Returns the instances that would not be the ones they were if what is in the index became a commit over the head.
fn staged_faults(repository: &git2::Repository, known: &Known, index: Option<&Path>) -> Result<Vec<IdFault>, Error> {
    // Where no commit is staged none takes anything away.
    if index.is_none() && repository.is_bare() {
        return Ok(Vec::new());
    }
    let index = match index {
        Some(path) => Index::open(path),
        None => repository.index(),
    };
    let index = index.map_err(git("compare the identities in the index".to_owned()))?;
    let Some(head) = read_ref(repository, known, "HEAD").ok().flatten() else { return Ok(Vec::new()) };
    let objects = Objects::of(repository, known)?;
    let before = ids_of(repository, &objects, &commit_id(head))?;
    let (mut after, mut left) = (InstanceIds::new(), Vec::new());
    for entry in index.iter() {
        let Ok(path) = std::str::from_utf8(&entry.path) else { continue };
        let beside = |place: &&Subdirectory| {
            path == place.outward("config.yaml") || path.starts_with(&format!("{}/", place.outward("apps")))
        };
        left.extend(before.keys().find(beside).cloned());
        let above = path.strip_suffix(SETTINGS_PATH).filter(|above| above.is_empty() || above.ends_with('/'));
        let Some(place) = above.and_then(|above| Subdirectory::parse(above).ok()) else { continue };
        let blob = objects.blob(entry.id, MAX_SETTINGS_BYTES, path);
        let written = blob.map(|blob| written_id(&String::from_utf8_lossy(blob.data())));
        after.insert(place, written.unwrap_or(UNREADABLE));
    }
    Ok(compare(&before, &after, &left))
}

/// Returns the identities of all instances of a commit.
pub(super) fn ids_of(
    repository: &git2::Repository,
    objects: &Objects<'_>,
    commit: &CommitId,
) -> Result<InstanceIds, Error> {
    let places = instances(objects, commit)?;
    if places.is_empty() {
        return Ok(InstanceIds::new());
    }
    let paths: Vec<String> = places.iter().map(|place| place.outward(SETTINGS_PATH)).collect();
    let files = read_tree(repository, objects.known, commit, &paths)?;
    let written = |path: &String| files.text(path).map_or(UNREADABLE, written_id);
    Ok(places.iter().cloned().zip(paths.iter().map(written)).collect())
}

/// Returns the instances that would not be the ones they were if a commit followed what had these identities.
pub(super) fn faults_of(
    repository: &git2::Repository,
    objects: &Objects<'_>,
    before: &InstanceIds,
    commit: &CommitId,
) -> Result<Vec<IdFault>, Error> {
    let after = ids_of(repository, objects, commit)?;
    let root = objects.root(oid(commit)?).map_err(|refusal| refused(refusal, commit.as_str()))?;
    let mut left = Vec::new();
    for place in before.keys().filter(|place| !after.contains_key(*place)) {
        for path in ["apps", "config.yaml"] {
            let found =
                objects.find(root, &place.outward(path)).map_err(|refusal| refused(refusal, commit.as_str()))?;
            if found.is_some() {
                left.push(place.clone());
                break;
            }
        }
    }
    Ok(compare(before, &after, &left))
}

/// Settings that do not read.
const UNREADABLE: WrittenId = WrittenId { id: NamedId::Unreadable, line: 0 };

/// The one key that is read here, so that other mistakes in the file do not hide it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OnlyId {
    #[serde(default)]
    instance_id: Option<String>,
}

/// Returns what settings say of the identity.
pub fn written_id(text: &str) -> WrittenId {
    let Ok(read) = read_typed::<OnlyId>(SETTINGS_PATH, text) else { return UNREADABLE };
    let document = load_one(SETTINGS_PATH, text, Dialect::Gomplate).ok().flatten();
    let line = document.and_then(|document| document.line_of(&["instanceId"])).unwrap_or(0);
    WrittenId { id: read.instance_id.map_or(NamedId::Missing, NamedId::Id), line }
}

/// Compares identities before and after; `left` are places whose settings are gone and whose files are not.
pub(super) fn compare(before: &InstanceIds, after: &InstanceIds, left: &[Subdirectory]) -> Vec<IdFault> {
    let has = |id: &str, written: &WrittenId| matches!(&written.id, NamedId::Id(found) if found == id);
    let mut faults = Vec::new();
    for (place, written) in before {
        let NamedId::Id(was) = &written.id else { continue };
        let was = was.clone();
        let moved = after.iter().any(|(other, written)| other != place && has(&was, written));
        let (line, kind) = match after.get(place) {
            Some(WrittenId { id: NamedId::Id(now), .. }) if *now == was => continue,
            Some(WrittenId { id: NamedId::Unreadable, .. }) => continue,
            Some(WrittenId { id: NamedId::Id(now), line }) => (*line, IdFaultKind::Changed { was, now: now.clone() }),
            Some(WrittenId { id: NamedId::Missing, line }) => (*line, IdFaultKind::Missing { was }),
            None if !moved && (place.is_top() || left.contains(place)) => (0, IdFaultKind::Gone { was }),
            None => continue,
        };
        faults.push(IdFault { file: place.outward(SETTINGS_PATH), line, kind });
    }
    for (place, written) in after {
        let NamedId::Id(id) = &written.id else { continue };
        if before.get(place).is_some() {
            continue;
        }
        if let Some((other, _)) = after.iter().find(|(other, written)| *other != place && has(id, written)) {
            let kind = IdFaultKind::Doubled { id: id.clone(), other: other.clone() };
            faults.push(IdFault { file: place.outward(SETTINGS_PATH), line: written.line, kind });
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(written: &[(&str, &str)]) -> InstanceIds {
        let of = |(place, text): &(&str, &str)| (Subdirectory::parse(place).unwrap(), written_id(text));
        written.iter().map(of).collect()
    }

    fn check(before: &[(&str, &str)], after: &[(&str, &str)], left: &[&str], expected: &[&str]) {
        let left: Vec<Subdirectory> = left.iter().map(|place| Subdirectory::parse(place).unwrap()).collect();
        let faults = compare(&ids(before), &ids(after), &left);
        let shown: Vec<String> =
            faults.iter().map(|fault| format!("{}:{}: {fault}; {}", fault.file, fault.line, fault.remedy())).collect();
        assert_eq!(shown, expected, "{before:?} -> {after:?}");
    }

    #[test]
    fn an_instance_keeps_the_identity_it_was_made_with() {
        let (one, other) = ("a: 1\ninstanceId: one\n", "instanceId: other\n");
        let keeps = "and an instance keeps the one it was made with; put the line back in";
        check(&[("", one)], &[("", one)], &[], &[]);
        check(&[("", one)], &[("", "instanceId: 'one' # the same\n")], &[], &[]);
        let changed = format!(
            ".wild/config.yaml:1: instanceId would change from one to other, {keeps} .wild/config.yaml: instanceId: one"
        );
        check(&[("", one)], &[("", other)], &[], &[&changed]);
        let spelled = changed.replace("other", "0755");
        check(&[("", one)], &[("", "instanceId: 0755\n")], &[], &[&spelled]);
        let none =
            format!(".wild/config.yaml:0: instanceId one would be gone, {keeps} .wild/config.yaml: instanceId: one");
        for text in ["a: 1\n", "instanceid: one\n", "# instanceId: one\n"] {
            check(&[("", one)], &[("", text)], &[], &[&none]);
        }
        // A file that does not read is refused by its own rule, and the next one is compared with what the instance knows of itself.
        check(&[("", one)], &[("", "a: [\n")], &[], &[]);
    }

    #[test]
    fn settings_go_only_with_all_that_they_are_of() {
        let one = "instanceId: one\n";
        let gone = |file: &str| {
            format!(
                "{file}:0: the settings with instanceId one would be gone; put the line back in {file}: instanceId: one"
            )
        };
        check(&[("", one)], &[], &[], &[&gone(".wild/config.yaml")]);
        check(&[("c/home", one)], &[], &["c/home"], &[&gone("c/home/.wild/config.yaml")]);
        check(&[("c/home", one)], &[], &[], &[]);
        check(&[("c/home", one)], &[("c/house", one)], &[], &[]);
        check(&[("", one)], &[("c/home", one)], &[], &[]);
    }

    #[test]
    fn no_two_instances_of_a_repository_have_one_identity() {
        let (one, other) = ("instanceId: one\n", "instanceId: other\n");
        let doubled = "lab/.wild/config.yaml:1: instanceId one is that of the instance in home; write an instanceId of its own in \
             lab/.wild/config.yaml";
        check(&[("home", one)], &[("home", one), ("lab", one)], &[], &[doubled]);
        check(&[("home", one)], &[("home", one), ("lab", other)], &[], &[]);
        let swapped: Vec<String> = [("home", "one", "other"), ("lab", "other", "one")]
            .iter()
            .map(|(place, was, now)| {
                format!(
                    "{place}/.wild/config.yaml:1: instanceId would change from {was} to {now}, and an instance keeps the \
                     one it was made with; put the line back in {place}/.wild/config.yaml: instanceId: {was}"
                )
            })
            .collect();
        let swapped: Vec<&str> = swapped.iter().map(String::as_str).collect();
        check(&[("home", one), ("lab", other)], &[("home", other), ("lab", one)], &[], &swapped);
    }
}
