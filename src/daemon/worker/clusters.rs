//! What a worker does when its clusters come and go, answer or not, or when the files change by which they are reached.
//!
//! Not here: when that is (`worker.rs`), when a cluster that does not answer is looked at again (`probes.rs`).

use super::super::probes::Look;
use super::{Worker, jitter};
use crate::base::chain;
use crate::model::{ClusterName, Reason};
use crate::plan::WakeOn;

impl Worker {
    /// Takes in clusters that were added and lets go of those that were removed.
    pub(super) async fn follow_clusters(&mut self) {
        let instance = self.shared.instance.clone();
        match instance.follow_clusters().await {
            Ok(changed) if changed.is_empty() => {}
            Ok(changed) => {
                for cluster in &changed {
                    self.probes.end(cluster);
                    self.shared.metrics.forget_target(&instance, cluster);
                }
                tracing::info!(instance = %instance.name, clusters = changed.len(), "clusters came or went");
                let apps = self.known.iter().flat_map(|known| known.apps.keys().cloned()).collect();
                self.assign(&apps);
                self.wake_all(Reason::File);
            }
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(instance = %instance.name, error, "the kubeconfig does not read; the clusters stay as they are");
            }
        }
        self.shared.narrow().await;
        // Where those lead that stayed is not known before they are asked.
        for (cluster, target) in instance.targets().all() {
            self.probes.look(cluster.clone(), target.clone());
        }
    }

    /// Takes in the end of a look at a cluster.
    pub(super) fn looked(&mut self, cluster: &ClusterName, look: Look) {
        let is_silent = self.is_silent(cluster);
        if self.probes.looked(cluster, (look, is_silent), self.now(), jitter()) {
            self.released(cluster);
        }
    }

    /// Returns whether a cluster does not answer; one that is gone is not waited for.
    pub(super) fn is_silent(&self, cluster: &ClusterName) -> bool {
        self.shared.instance.targets().get(cluster).is_some_and(|target| target.reachability().is_silent())
    }

    /// Wakes the apps of all clusters, one of which somebody accepted. A pass that began before and fails afterwards was told of the old one.
    pub(super) fn release_clusters(&mut self) {
        let targets = self.shared.instance.targets();
        targets.all().for_each(|(cluster, _)| self.released(cluster));
    }

    /// Wakes the apps of a cluster that answers again.
    pub(super) fn released(&mut self, cluster: &ClusterName) {
        self.probes.end(cluster);
        self.queue.release(self.now(), cluster);
        for app in self.waits.happen(WakeOn::Target(cluster.clone())) {
            self.trigger(app, Reason::Released);
        }
    }
}
