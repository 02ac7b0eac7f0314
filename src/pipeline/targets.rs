//! The clusters of an instance by name, and the one that an app is on.
//!
//! Each has its own connection, limits and watches, so that one that hangs slows no other. Which cluster an app is to live on say the
//! settings; which one it is on says the inventory. Not here: how a cluster is reached (`target`), which of the two is looked at (`plan::stand`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::Timestamp;
use crate::model::{ClusterName, InstanceId, Inventory};
use crate::plan::{self, Nowhere, Presence, Stand};
use crate::target::{Access, Cluster, Plugin, Refusal, Target, TargetEvent};

/// The clusters of one instance.
#[derive(Default)]
pub struct Targets {
    /// What the kubeconfig calls the first one.
    first: String,
    all: BTreeMap<ClusterName, Arc<dyn Target>>,
}

impl Targets {
    /// Connects all clusters of an access lazily; none without.
    pub(super) async fn connect(
        (access, plugins): (Option<Access>, &BTreeMap<String, Plugin>),
        (id, control_namespace): (&InstanceId, &str),
        clock: fn() -> Timestamp,
    ) -> Result<Self, Refusal> {
        let Some(access) = access else { return Ok(Self::default()) };
        let (first, others) = access.contexts()?;
        let others = others.into_iter().filter_map(|name| {
            let cluster = ClusterName::parse(&name).ok()?;
            Some((cluster, Access::At(Box::new(access.clone()), name)))
        });
        let accesses: Vec<_> = std::iter::once((ClusterName::default(), access.clone())).chain(others).collect();
        let mut all: BTreeMap<ClusterName, Arc<dyn Target>> = BTreeMap::new();
        for (name, access) in accesses {
            let called = if name.is_first() { &first } else { name.as_str() };
            let access = match plugins.get(name.as_str()).or_else(|| plugins.get(called)) {
                Some(plugin) => Access::Signed(Box::new(access), plugin.clone()),
                None => access,
            };
            let cluster = Cluster::connect(&access, id, control_namespace, clock).await?;
            all.insert(name, Arc::new(cluster));
        }
        Ok(Self { first, all })
    }

    /// Returns all clusters in order of their names, the first one first.
    pub fn all(&self) -> impl Iterator<Item = (&ClusterName, &Arc<dyn Target>)> {
        self.all.iter()
    }

    /// Returns whether no cluster was added yet.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns one cluster.
    pub fn get(&self, name: &ClusterName) -> Option<&Arc<dyn Target>> {
        self.all.get(name)
    }

    /// Returns the cluster that settings mean by a context; nothing if nobody added it.
    pub fn named(&self, context: &str) -> Option<(&ClusterName, &Arc<dyn Target>)> {
        let text = if context == self.first { "" } else { context };
        self.all.get_key_value(&ClusterName::parse(text).ok()?)
    }

    /// Returns what the kubeconfig calls a cluster; empty if it says nothing.
    pub fn context<'a>(&'a self, name: &'a ClusterName) -> &'a str {
        if name.is_first() { &self.first } else { name.as_str() }
    }

    /// Waits for news of any cluster and returns all that came from one since the last call.
    pub async fn events(&self) -> (ClusterName, BTreeSet<TargetEvent>) {
        let waits = self.all.iter().map(|(name, target)| Box::pin(async { (name.clone(), target.events().await) }));
        let waits: Vec<_> = waits.collect();
        match waits.is_empty() {
            true => std::future::pending().await,
            false => futures::future::select_all(waits).await.0,
        }
    }

    /// Returns where an app is looked at that is to live on the cluster of a context and of which this is remembered, and the way there.
    pub(super) fn stand(
        &self,
        context: &str,
        inventory: Inventory,
        presence: Presence,
    ) -> Result<(Stand, Arc<dyn Target>), Nowhere> {
        let home = self.named(context).map(|(name, _)| name);
        let stand = plan::stand(self.all.keys(), (context, home), inventory, presence)?;
        match self.get(&stand.cluster) {
            Some(target) => Ok((stand, target.clone())),
            None => Err(Nowhere::Forgotten { cluster: stand.cluster }),
        }
    }
}
