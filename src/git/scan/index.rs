//! Secrets that a commit would bring which a person is about to make: files of the index that the head has not.
//!
//! Not here: commits that are made (`commits`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{Index, IndexEntry, Oid};

use super::super::error::{Error, git};
use super::super::objects::{Known, Objects};
use super::super::read::refused;
use super::super::refs::read_ref;
use super::super::repository::Repository;
use super::{Leaked, MAX_LEAKS, MAX_SETTINGS_BYTES, Scanner, known_by};
use crate::model::{NoSecrets, SETTINGS_PATH};
use crate::yaml::leak::{Finding, Location, Role};
use crate::yaml::sops;

/// What the next commit would bring.
#[derive(Clone, Debug, Default)]
pub struct Staged {
    /// The secrets in clear.
    pub leaks: Vec<Leaked>,
    /// Path and text of files that say of themselves that they are encrypted; whoever has the key can tell more.
    pub sealed: Vec<(String, String)>,
}

/// Bits of the mode of an entry that say what it is.
const KIND_BITS: u32 = 0o170_000;
/// Those bits of a submodule, which is no object of this repository.
const GITLINK: u32 = 0o160_000;

impl Repository {
    /// Searches what the next commit of a work tree would bring. Git may keep the index elsewhere for one commit.
    pub async fn staged_leaks(&self, index: Option<PathBuf>, scanner: Arc<Scanner>) -> Result<Staged, Error> {
        let attempt = format!("search the index of {} for secrets", self.path().display());
        self.run(attempt, move |repository, known| staged(repository, known, index.as_deref(), &scanner)).await
    }

    /// Returns what a text holds in clear that becomes part of history, such as a message.
    pub fn leaks_in_text(scanner: &Scanner, place: &str, text: &[u8]) -> Vec<Leaked> {
        let leaked = |Finding { line, leak }| Leaked { place: place.to_owned(), line, leak, commit: None };
        scanner.text(text).into_iter().map(leaked).collect()
    }
}

fn staged(
    repository: &git2::Repository,
    known: &Known,
    index: Option<&Path>,
    scanner: &Arc<Scanner>,
) -> Result<Staged, Error> {
    let attempt = || "search the index for secrets".to_owned();
    let index = match index {
        Some(path) => Index::open(path),
        None => repository.index(),
    };
    let index = index.map_err(git(attempt()))?;
    let objects = Objects::of(repository, known)?;
    let refuse = |refusal| refused(refusal, "to come");
    let head = read_ref(repository, known, "HEAD").ok().flatten();
    let head = head.map(|commit| objects.root(commit)).transpose().map_err(refuse)?;
    let entries: Vec<IndexEntry> = index.iter().collect();
    let text = |entry: &IndexEntry| String::from_utf8_lossy(&entry.path).into_owned();
    let of_settings = |entry: &IndexEntry| text(entry).strip_suffix(SETTINGS_PATH).map(str::to_owned);
    let mut said = NoSecrets::default();
    for entry in entries.iter().filter(|entry| of_settings(entry).is_some()) {
        if let Ok(settings) = objects.blob(entry.id, MAX_SETTINGS_BYTES, SETTINGS_PATH) {
            said.extend(&known_by(&String::from_utf8_lossy(settings.data())));
        }
    }
    let scanner = &scanner.but(&said);
    let mut places: BTreeSet<String> = entries.iter().filter_map(of_settings).collect();
    places.insert(String::new());
    let (mut found, mut staged) = (BTreeSet::new(), Staged::default());
    for entry in entries.iter().filter(|entry| entry.mode & KIND_BITS != GITLINK) {
        let path = text(entry);
        let old = head.map(|tree| objects.find(tree, &path)).transpose().map_err(refuse)?.flatten();
        if old.is_some_and(|old| old.id == entry.id) {
            continue;
        }
        let (above, name) = path.rsplit_once('/').map_or(("", path.as_str()), |(above, name)| (above, name));
        let above = if above.is_empty() { String::new() } else { format!("{above}/") };
        let directory = if places.contains(&above) { Location::Instance } else { Location::Other };
        let of_path = if old.is_some() { Vec::new() } else { scanner.name(entry.path.as_slice()).0 };
        let shown: Vec<String> = path.split('/').map(|part| scanner.name(part.as_bytes()).1).collect();
        let of_file = scanner.file(&objects, entry.id, Role::of(name, directory)).map_err(refuse)?;
        if let Some(text) = sealed(&objects, entry.id) {
            staged.sealed.push((path.clone(), text));
        }
        let leaked =
            |finding: Finding| Leaked { place: shown.join("/"), line: finding.line, leak: finding.leak, commit: None };
        found.extend(of_path.into_iter().chain(of_file.iter().cloned()).map(leaked));
    }
    staged.leaks = found.into_iter().take(MAX_LEAKS).collect();
    Ok(staged)
}

/// Returns the text of a file that says of itself that it is encrypted.
fn sealed(objects: &Objects<'_>, id: Oid) -> Option<String> {
    let object = objects.blob(id, MAX_SETTINGS_BYTES, "").ok()?;
    let text = std::str::from_utf8(object.data()).ok().filter(|text| sops::claims(text))?;
    Some(text.to_owned())
}
