//! Reads what was applied last of objects that change, so that a plan can tell beforehand what a server will say, and can put it back while
//! what is new waits.
//!
//! Reads nothing while nothing changes, and what cannot be read is only told later, by the server. Not here: comparing (`plan::recreate`).

use super::{Instance, Sight};
use crate::compile;
use crate::model::Secrets;
use crate::observe::{self, Past};
use crate::plan::{self, Snapshot};
use crate::target::Target;

/// Commits that are read for one plan: mostly all objects that change were brought by few.
const MAX_COMMITS: usize = 4;

/// Fills in what was applied of the objects that change.
pub(super) async fn fill(
    instance: &Instance,
    sight: &Sight,
    secrets: &Secrets,
    snapshot: &mut Snapshot,
    target: &dyn Target,
) {
    let app = &snapshot.app;
    let (own, record) = (format!("apps/{app}"), compile::record_path(app));
    let mut commits = plan::changed(snapshot);
    for (commit, strayed) in plan::strayed(snapshot) {
        commits.entry(commit).or_default().extend(strayed);
    }
    for (commit, brought) in commits.into_iter().take(MAX_COMMITS) {
        // A commit that is gone, or does not read, may not keep anything from being applied.
        let Ok(files) = instance.tree.read_tree(&commit, &[&own, &record]).await else { continue };
        let (settings, hash_key) = (&sight.settings, &instance.hash_key);
        let past = Past { files: &files, brought: &brought, settings, secrets, hash_key };
        let before = observe::before(snapshot, past, target).await;
        snapshot.before.extend(before);
    }
}
