//! Kinds and namespaces in which no object is left any more are taken out of the ApplySet parent.
//!
//! Costs nothing where nothing of an app went. What cannot be taken out now stays until something else goes. Not here: growing the parent
//! (`apply`), writing it (`target`).

use std::future::Future;
use std::pin::Pin;

use super::Instance;
use crate::model::{ClusterName, Spread};
use crate::plan::{Plan, Snapshot};
use crate::target::{Standing, Target};

/// Takes out what only this app had, before this pass or by what it was to apply, and has no longer.
pub(super) async fn after(
    instance: &Instance,
    (snapshot, plan): (&Snapshot, &Plan),
    before: Spread,
    target: &dyn Target,
) {
    if plan.actions.is_empty() && plan.forgotten.is_empty() {
        return;
    }
    let mut gone = before;
    plan.actions.iter().for_each(|action| gone.add(&action.object));
    match instance.store.inventory(&instance.id, &snapshot.app).await {
        Ok(left) => left.records().for_each(|record| gone.remove(&record.id)),
        Err(error) => return tracing::warn!(app = %snapshot.app, %error, "what is left of an app was not read"),
    }
    let standing = Left { instance, cluster: &snapshot.cluster };
    if gone.is_empty() || standing.holds(&gone).await {
        return;
    }
    if let Err(refusal) = target.shrink_apply_set(&gone, &standing).await {
        tracing::warn!(app = %snapshot.app, error = %refusal, "kinds or namespaces that are gone are still in the ApplySet");
    }
}

/// What all apps have on a cluster.
struct Left<'a> {
    instance: &'a Instance,
    cluster: &'a ClusterName,
}

impl Left<'_> {
    /// Returns whether other apps have objects in all of this.
    async fn holds(&self, gone: &Spread) -> bool {
        self.spread().await.is_none_or(|left| gone.is_within(&left))
    }
}

impl Standing for Left<'_> {
    fn spread(&self) -> Pin<Box<dyn Future<Output = Option<Spread>> + Send + '_>> {
        Box::pin(async { self.instance.store.spread(&self.instance.id, self.cluster).await.ok() })
    }
}
