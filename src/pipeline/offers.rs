//! What an upstream offers: every package is looked at on its own, so that one that breaks a rule hides no other.
//!
//! Not here: fetching an upstream (`upstream.rs`), reading the package of an app for a pass (`read.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Instance, lock};
use crate::git::{self, HostileTree, Outline, Repository};
use crate::model::{CommitId, Diagnostic, FileTree, PackageName, Upstream};
use crate::package::{self, MANIFESTS, MAX_PACKAGE_BYTES, Package};

/// Bytes that all packages of an upstream hold together, so that a look at it ends. The largest are left out first.
const MAX_OFFERED_BYTES: u64 = 256 * 1024 * 1024;
/// Rules of trees that are about size. Whatever else a tree may break is about what it holds.
const SIZES: [&str; 6] =
    ["tree/bytes", "tree/depth", "tree/entries", "tree/file-size", "tree/path-length", "tree/paths"];

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
    /// First error, if the package is broken: where and why.
    pub broken: Option<Diagnostic>,
}

impl PackageState {
    fn of(name: &PackageName, read: Result<Package, Diagnostic>) -> Self {
        let (version, description, broken) = match read {
            Ok(package) => (package.manifest.version, package.manifest.description, None),
            Err(finding) => (String::new(), String::new(), Some(finding)),
        };
        Self { name: name.to_string(), version, description, broken }
    }
}

/// What an upstream holds at a commit.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Offers {
    /// Packages by name, those that are broken among them.
    pub(super) packages: Vec<PackageState>,
    /// What cannot be looked into and may be no package at all. It is one where an app is made from it.
    pub(super) doubtful: Vec<PackageState>,
    /// Directories that hold packages which cannot be told apart, or none that can be named.
    pub(super) refused: Vec<Diagnostic>,
}

/// What upstreams held when they were looked at last, by name, with the commit and the directory of packages.
pub(super) type Memory = BTreeMap<String, (CommitId, String, Arc<Offers>)>;

/// Returns what an upstream holds at a commit; the last answer is remembered.
pub(super) async fn offers(
    instance: &Instance,
    directory: &Upstream,
    commit: &CommitId,
) -> Result<Arc<Offers>, git::Error> {
    let known = lock(&instance.offers).get(&directory.name).cloned();
    if let Some((at, path, offers)) = known
        && at == *commit
        && path == directory.path
    {
        return Ok(offers);
    }
    let found = look(&instance.repository, commit, &directory.path).await?;
    Ok(remember(instance, directory, commit, found))
}

/// Remembers what an upstream holds at a commit.
pub(super) fn remember(instance: &Instance, directory: &Upstream, commit: &CommitId, found: Offers) -> Arc<Offers> {
    let found = Arc::new(found);
    let remembered = (commit.clone(), directory.path.clone(), found.clone());
    lock(&instance.offers).insert(directory.name.clone(), remembered);
    found
}

/// Looks at every package of an upstream; `path` is the directory of packages from the settings, or empty.
pub(super) async fn look(repository: &Repository, commit: &CommitId, path: &str) -> Result<Offers, git::Error> {
    let containers = package::containers(path);
    let outline = repository.outline(commit, &containers, &MANIFESTS).await?;
    let found = package::candidates(&outline.files, path);
    let places: Vec<String> = found.values().flatten().cloned().collect();
    let measured = repository.measure(commit, &places).await?;
    let spared = too_large_together(&measured);
    let mut offers = Offers::default();
    for (name, directories) in &found {
        let Ok(package) = PackageName::parse(name) else {
            offers.refused.extend(directories.iter().map(|directory| package::unfit_name(directory, name)));
            continue;
        };
        let read = match directories.as_slice() {
            [place] if spared.contains(&place.as_str()) => Err(beyond(place)),
            [place] => read_one(repository, commit, (&package, place), measured.get(place)).await?,
            _ => Err(package::doubled(&package, directories)),
        };
        offers.packages.push(PackageState::of(&package, read));
    }
    offers.add_broken(&outline, &containers, &found);
    offers.packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(offers)
}

impl Offers {
    /// Adds what could not be looked into.
    fn add_broken(&mut self, outline: &Outline, containers: &[String], found: &BTreeMap<String, Vec<String>>) {
        for (path, place) in &outline.broken {
            if containers.contains(path) && (path.is_empty() || package::is_for_packages(path)) {
                self.refused.push(unfit(place));
                continue;
            }
            let (container, name) = path.rsplit_once('/').unwrap_or(("", path));
            if found.contains_key(name) || name.starts_with(['.', '_']) {
                continue;
            }
            match PackageName::parse(name) {
                Ok(name) if package::is_for_packages(container) => {
                    self.packages.push(PackageState::of(&name, Err(unfit(place))));
                }
                Ok(name) => self.doubtful.push(PackageState::of(&name, Err(unfit(place)))),
                Err(_) if package::is_for_packages(container) => self.refused.push(package::unfit_name(path, name)),
                Err(_) => {}
            }
        }
    }
}

/// Reads one package that was measured.
async fn read_one(
    repository: &Repository,
    commit: &CommitId,
    (name, place): (&PackageName, &str),
    measured: Option<&Result<u64, HostileTree>>,
) -> Result<Result<Package, Diagnostic>, git::Error> {
    match measured {
        Some(Err(found)) => return Ok(Err(unfit(found))),
        Some(Ok(bytes)) if is_beyond_a_package(*bytes) => {
            let message = format!("the package has {bytes} bytes, at most {MAX_PACKAGE_BYTES} are read");
            return Ok(Err(Diagnostic::error("P012", place, 0, message)));
        }
        Some(Ok(_)) | None => {}
    }
    let files = match files_at(repository, commit, place).await? {
        Ok(files) => files,
        Err(finding) => return Ok(Err(finding)),
    };
    let first = |findings: Vec<Diagnostic>| {
        let unknown = || Diagnostic::error("P002", place, 0, "the package does not read");
        findings.into_iter().next().unwrap_or_else(unknown)
    };
    Ok(package::load_at(&files, name, place).map_err(first))
}

/// Reads the files below a place of an upstream, with their paths there, or returns what of them breaks a rule.
pub(super) async fn files_at(
    repository: &Repository,
    commit: &CommitId,
    place: &str,
) -> Result<Result<FileTree, Diagnostic>, git::Error> {
    match repository.read_tree(commit, &[place]).await {
        Ok(files) => Ok(Ok(files)),
        Err(error) => match error.hostile() {
            Some(found) => Ok(Err(unfit(found))),
            None => Err(error),
        },
    }
}

fn is_beyond_a_package(bytes: u64) -> bool {
    usize::try_from(bytes).is_ok_and(|bytes| bytes > MAX_PACKAGE_BYTES) || usize::try_from(bytes).is_err()
}

/// Returns the places that are left out because all together hold too much: the largest of those that could be read.
fn too_large_together(measured: &BTreeMap<String, Result<u64, HostileTree>>) -> Vec<&str> {
    let readable = measured.iter().filter_map(|(place, bytes)| Some((*bytes.as_ref().ok()?, place.as_str())));
    let mut readable: Vec<(u64, &str)> = readable.filter(|(bytes, _)| !is_beyond_a_package(*bytes)).collect();
    readable.sort();
    let mut sum = 0_u64;
    readable.retain(|(bytes, _)| {
        sum = sum.saturating_add(*bytes);
        sum > MAX_OFFERED_BYTES
    });
    readable.into_iter().map(|(_, place)| place).collect()
}

fn beyond(place: &str) -> Diagnostic {
    let message = "the packages of the directory hold more than 256 MiB together, and this is one of the largest";
    Diagnostic::error("P012", place, 0, message).with_hint("split the directory")
}

/// Returns what is wrong with a place in an upstream, as a finding about its package.
pub(super) fn unfit(place: &HostileTree) -> Diagnostic {
    let HostileTree { path, rule, reason } = place;
    let id = if SIZES.contains(rule) { "P012" } else { "P010" };
    Diagnostic::error(id, path, 0, format!("{reason} ({rule})")).with_hint("take it out of the directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_together_is_left_out_from_the_largest_on() {
        let mib = 1024 * 1024;
        let mut measured: BTreeMap<String, Result<u64, HostileTree>> =
            (0..9).map(|number| (format!("p{number}"), Ok(30 * mib))).collect();
        measured.insert("small".to_owned(), Ok(mib));
        measured.insert("huge".to_owned(), Ok(900 * mib));
        let link = HostileTree { path: "l/x".to_owned(), rule: "tree/symlink", reason: "no" };
        measured.insert("l".to_owned(), Err(link.clone()));
        assert_eq!(too_large_together(&measured), ["p8"]);
        assert_eq!((unfit(&link).id.as_str(), unfit(&link).file.as_str()), ("P010", "l/x"));
        assert_eq!(unfit(&HostileTree { rule: "tree/depth", ..link }).id, "P012");
    }
}
