//! Which packages bring kinds that the cluster does not know: whoever waits for one is told what to add.
//!
//! Not here: finding it in a tree (`package::package_defining`).

use std::collections::BTreeMap;

use super::offers::files_at;
use super::{Instance, lock, vouched};
use crate::git::{self, Repository};
use crate::model::{CommitId, PackageName, Settings};
use crate::package;
use crate::plan::{Freshness, Snapshot};

/// Answers that are remembered; all are forgotten beyond that.
const MEMORY_LIMIT: usize = 256;

/// What was found before, by commit of an upstream, group and kind.
pub(super) type Shippers = BTreeMap<(CommitId, String, String), Option<PackageName>>;

/// Fills in who brings the kinds that the cluster does not know. An upstream that does not read is passed over: this is advice.
pub(super) async fn fill(instance: &Instance, settings: &Settings, snapshot: &mut Snapshot) {
    let unknown = snapshot.freshness.iter().filter(|(_, freshness)| **freshness == Freshness::UnknownKind);
    for (group, kind) in unknown.map(|(kind, _)| kind.clone()).collect::<Vec<_>>() {
        for directory in &settings.directories {
            let Ok(Some(commit)) = vouched::followed(instance, directory).await else { continue };
            let key = (commit, group.clone(), kind.clone());
            let known = lock(&instance.shippers).get(&key).cloned();
            let found = match known {
                Some(found) => found,
                None => {
                    let Ok(found) = search(&instance.repository, &key, &directory.path).await else { continue };
                    let mut memory = lock(&instance.shippers);
                    if memory.len() >= MEMORY_LIMIT {
                        memory.clear();
                    }
                    memory.insert(key, found.clone());
                    found
                }
            };
            if let Some(package) = found {
                snapshot.shippers.insert((group.clone(), kind.clone()), package);
                break;
            }
        }
    }
}

/// Looks through the packages of an upstream one by one. One that breaks a rule brings nothing.
async fn search(
    repository: &Repository,
    (commit, group, kind): &(CommitId, String, String),
    path: &str,
) -> Result<Option<PackageName>, git::Error> {
    let outline = repository.outline(commit, &package::containers(path), &package::MANIFESTS).await?;
    for place in package::candidates(&outline.files, path).into_values().flatten() {
        let Ok(files) = files_at(repository, commit, &place).await? else { continue };
        if let Some(found) = package::package_defining(&files, path, group, kind) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
