//! What was applied last of objects that change: built again from the commits that brought them.
//!
//! Whatever does not build, or builds otherwise today, is left out: only an object with the very hash of its record is what was applied.
//! Not here: reading commits (`pipeline`), what follows (`plan`).

use std::collections::{BTreeMap, BTreeSet};

use super::desired::{self, Source};
use super::{room, sources};
use crate::model::{FileTree, ObjectId, Secrets, Settings};
use crate::plan::{Desired, DesiredObject, Snapshot};
use crate::target::Target;

/// A commit that brought objects.
pub struct Past<'a> {
    /// `apps/<app>/**` of that commit and the record of the app, by repository path.
    pub files: &'a FileTree,
    /// The objects that it brought.
    pub brought: &'a BTreeSet<ObjectId>,
    /// Settings of the instance.
    pub settings: &'a Settings,
    /// Secret values.
    pub secrets: &'a Secrets,
    /// Key of the hashes on live objects.
    pub hash_key: &'a [u8; 32],
}

/// Returns the objects that a commit brought as they were applied, without values of Secrets.
pub async fn before(snapshot: &Snapshot, past: Past<'_>, target: &dyn Target) -> BTreeMap<ObjectId, DesiredObject> {
    let Past { files, brought, settings, secrets, hash_key } = past;
    let (app, control) = (&snapshot.app, settings.cluster.control_namespace.as_str());
    let source = Source { app, files, secrets, withheld: &[], hash_key, shared: &settings.tls.shared, control };
    let rendered = room::render_past(&source).await;
    let found = sources(&rendered.copies, target).await;
    let Desired::Objects(objects) = desired::build(&source, rendered, found).desired else { return BTreeMap::new() };
    let known = objects.into_iter().map(|desired| (desired.object.id(), desired));
    let applied = known.filter(|(id, desired)| {
        let record = snapshot.inventory.get(id).filter(|_| brought.contains(id));
        record.is_some_and(|record| record.hash == desired.hash)
    });
    applied.collect()
}
