//! The clusters of an instance by name, and the one that an app is on.
//!
//! Each has its own connection, limits and watches, so that one that hangs slows no other. Which cluster an app is to live on say the
//! settings; which one it is on says the inventory. Not here: how a cluster is reached (`target`), which of the two is looked at (`plan::stand`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use crate::base::Timestamp;
use crate::model::{ClusterName, InstanceId, Inventory};
use crate::plan::{self, Nowhere, Presence, Stand};
use crate::target::{Access, Cluster, Plugin, Refusal, Target, TargetEvent};

/// The clusters of one instance as they are at a time.
#[derive(Default)]
pub struct Targets {
    /// What the kubeconfig calls the first one.
    first: String,
    all: BTreeMap<ClusterName, Arc<dyn Target>>,
}

/// The clusters of one instance, and how they are found again when the kubeconfig has changed.
pub(super) struct Clusters {
    reach: Reach,
    instance: InstanceId,
    control_namespace: String,
    clock: fn() -> Timestamp,
    present: RwLock<Arc<Targets>>,
}

/// How the clusters of an instance are reached.
pub(super) struct Reach {
    /// By what.
    pub(super) access: Access,
    /// Whether there may be nothing there: the copy that `wild cluster add` makes.
    pub(super) absence: Absence,
    /// The programs that sign in, by what the kubeconfig calls a cluster; empty for the first one.
    pub(super) plugins: BTreeMap<String, Plugin>,
}

/// What it means that there is no kubeconfig.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Absence {
    /// No cluster was added yet.
    NoCluster,
    /// Somebody named a file that is not there.
    Trouble,
}

impl Clusters {
    /// Connects all clusters lazily.
    pub(super) async fn connect(
        reach: Reach,
        (instance, control_namespace): (&InstanceId, &str),
        clock: fn() -> Timestamp,
    ) -> Result<Self, Refusal> {
        let (instance, control_namespace) = (instance.clone(), control_namespace.to_owned());
        let clusters = Self { reach, instance, control_namespace, clock, present: RwLock::default() };
        clusters.follow().await?;
        Ok(clusters)
    }

    /// Returns the clusters as they are now.
    pub(super) fn present(&self) -> Arc<Targets> {
        self.present.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the file in which clusters come and go.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.reach.access.file()
    }

    /// Takes in what the kubeconfig says now and returns the clusters that came, went or are others under their name. One that stays is not
    /// touched, and what does not read changes nothing.
    pub(super) async fn follow(&self) -> Result<BTreeSet<ClusterName>, Refusal> {
        let before = self.present();
        let is_absent = self.file().is_some_and(|path| !path.exists()) && self.reach.absence == Absence::NoCluster;
        let contexts = if is_absent { None } else { self.reach.access.contexts()? };
        let mut after = Targets::default();
        let mut changed: BTreeSet<ClusterName> = before.all.keys().cloned().collect();
        if let Some((first, others)) = contexts {
            let others = others.into_iter().filter_map(|name| Some((ClusterName::parse(&name).ok()?, name)));
            for (name, context) in std::iter::once((ClusterName::default(), first.clone())).chain(others) {
                let known = before.all.get(&name).filter(|_| !name.is_first() || before.first == first);
                let target = match known {
                    Some(target) => {
                        changed.remove(&name);
                        target.clone()
                    }
                    None => {
                        changed.insert(name.clone());
                        self.reach(&name, context).await?
                    }
                };
                after.all.insert(name, target);
            }
            after.first = first;
        }
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(after);
        Ok(changed)
    }

    /// Connects the cluster of a context.
    async fn reach(&self, name: &ClusterName, context: String) -> Result<Arc<dyn Target>, Refusal> {
        let Reach { access, plugins, .. } = &self.reach;
        let plugin = plugins.get(name.as_str()).or_else(|| plugins.get(&context));
        // By its name also the first one: where another becomes the first, this connection stays what it is.
        let access = if context.is_empty() { access.clone() } else { Access::At(Box::new(access.clone()), context) };
        let access = match plugin {
            Some(plugin) => Access::Signed(Box::new(access), plugin.clone()),
            None => access,
        };
        let cluster = Cluster::connect(&access, &self.instance, &self.control_namespace, self.clock).await?;
        Ok(Arc::new(cluster))
    }
}

impl Targets {
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
