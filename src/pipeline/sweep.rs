//! Kinds and namespaces in which no object is left are taken out of the ApplySet parents.
//!
//! Costs nothing where the parents name what stands. Not here: when it is worth a look (`daemon`), growing the parent (`apply`), writing it
//! (`target`).

use std::future::Future;
use std::pin::Pin;

use futures::future::join_all;

use super::Instance;
use crate::apply::Applied;
use crate::base::chain;
use crate::model::{ClusterName, Effect, Spread};
use crate::plan::Plan;
use crate::target::Whereabouts;

/// Says that objects went with a pass, if some did.
pub(super) fn note(instance: &Instance, plan: &Plan, applied: &Applied) {
    let went = applied.outcomes.iter().any(|outcome| outcome.effect == Effect::Deleted);
    if went || !plan.forgotten.is_empty() {
        instance.went.notify_one();
    }
}

/// Waits until a pass let objects go.
pub async fn went(instance: &Instance) {
    instance.went.notified().await;
}

/// Takes out of the parents what nothing stands in. Returns whether each names only what is known now; a cluster that does not answer is not
/// asked.
pub async fn sweep(instance: &Instance) -> bool {
    let targets = instance.targets();
    let sweeps = targets.all().map(|(cluster, target)| async move {
        if target.reachability().is_silent() {
            return false;
        }
        let swept = target.shrink_apply_set(&Known { instance, cluster }).await;
        swept.unwrap_or_else(|error| {
            let (instance, what) = (&instance.name, "names of what is gone may still stand in the ApplySet");
            // That a cluster does not answer is told elsewhere.
            if error.is_unreachable() {
                tracing::debug!(%instance, %error, "{what}");
            } else {
                tracing::warn!(%instance, %error, "{what}");
            }
            false
        })
    });
    join_all(sweeps).await.into_iter().all(|swept| swept)
}

/// What all apps have on a cluster.
struct Known<'a> {
    instance: &'a Instance,
    cluster: &'a ClusterName,
}

impl Whereabouts for Known<'_> {
    fn spread(&self) -> Pin<Box<dyn Future<Output = Option<Spread>> + Send + '_>> {
        Box::pin(async {
            let spread = self.instance.store.spread(&self.instance.id, self.cluster).await;
            spread.inspect_err(|error| tracing::warn!(error = chain(error), "what stands was not read")).ok()
        })
    }
}
