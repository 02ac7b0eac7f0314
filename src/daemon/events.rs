//! What the sender of Kubernetes Events needs of an instance.
//!
//! Not here: what is told (`broadcast`).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::broadcast::Place;
use crate::model::ClusterName;
use crate::pipeline::{self, Instance};
use crate::target::Target;

/// An instance and its clusters.
pub(super) struct Clusters {
    instance: Arc<Instance>,
}

impl Clusters {
    /// Returns those of an instance.
    pub(super) fn new(instance: Arc<Instance>) -> Self {
        Self { instance }
    }
}

impl Place for Clusters {
    fn is_wanted(&self) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        // Settings that do not read ask for nothing.
        Box::pin(async { pipeline::settings(&self.instance).await.is_ok_and(|settings| settings.kubernetes_events) })
    }

    fn cluster(&self, name: &ClusterName) -> Option<Arc<dyn Target>> {
        self.instance.targets().get(name).cloned()
    }

    fn masked(&self, text: &str) -> Option<String> {
        self.instance.secrets.read().ok().map(|secrets| secrets.mask(text))
    }
}
