//! Who reads secrets of other apps, and what those say of them at a commit: a reader depends on its owners' manifests as on its own.
//!
//! Not here: whether a key may be had (`grants.rs`), new values, of which secrets.yaml tells.

use std::collections::{BTreeMap, BTreeSet};

use super::overview::Overview;
use crate::compile::{self, Exports};
use crate::model::{AppName, FileTree};
use crate::observe;
use crate::package::MANIFEST;

/// What the owners of the secrets that an app reads say of them, by owner.
pub(super) type Owners = BTreeMap<AppName, Exports>;

/// Returns what the owners of an app's secrets say at a commit; an app whose manifest does not read has none.
pub(super) fn owners(files: &FileTree, app: &AppName, overview: &Overview) -> Owners {
    let needs = observe::secret_needs(files, app).ok().flatten();
    let copies = needs.into_iter().flat_map(|needs| needs.copies);
    copies.map(|copy| (copy.from_app.clone(), compile::exports_of(&overview.files, &copy.from_app))).collect()
}

/// Returns whether owners still say what they said.
pub(super) fn are_as_found(owners: &Owners, overview: &Overview) -> bool {
    owners.iter().all(|(owner, exports)| compile::exports_of(&overview.files, owner) == *exports)
}

/// Returns the apps beside those that changed which read secrets of one of these that says something else of them than before, or came or went.
pub(super) fn concerned(before: &Overview, after: &Overview, changed: &BTreeSet<AppName>) -> BTreeSet<AppName> {
    let is_other = |app: &&AppName| {
        let path = format!("apps/{app}/{MANIFEST}");
        before.files.get(&path) != after.files.get(&path)
            && compile::exports_of(&before.files, app) != compile::exports_of(&after.files, app)
    };
    let others: BTreeSet<&AppName> = changed.iter().filter(is_other).collect();
    let reads = |app: &&AppName| {
        let text = after.files.text(&format!("apps/{app}/{MANIFEST}")).unwrap_or_default();
        // Most apps read of nobody here, which is seen without reading the manifest.
        others.iter().any(|owner| text.contains(owner.as_str()))
            && owners(&after.files, app, after).keys().any(|owner| others.contains(owner))
    };
    after.apps.keys().filter(|app| !changed.contains(*app)).filter(reads).cloned().collect()
}
