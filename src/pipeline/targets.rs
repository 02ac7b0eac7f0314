//! The clusters of an instance by name, and the one that an app is on.
//!
//! Each has its own connection, limits and watches, so that one that hangs slows no other. Which cluster an app is to live on say the
//! settings; which one it is on says the inventory. Not here: how a cluster is reached (`target`), which of the two is looked at (`plan::stand`).

mod identities;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

pub(super) use self::identities::Identities;
pub use self::identities::KnownCluster;
use super::Error;
use crate::base::Timestamp;
use crate::model::{ClusterIdentity, ClusterName, InstanceId, Inventory, Narrowed, RefusalText};
use crate::plan::{self, Nowhere, Presence, Stand};
use crate::target::{Access, Cluster, Plugin, Refusal, Target, TargetEvent};

/// The clusters of one instance as they are at a time.
#[derive(Default)]
pub struct Targets {
    /// What the kubeconfig calls the first one.
    first: String,
    all: BTreeMap<ClusterName, Arc<dyn Target>>,
    /// Those that are not connected because of what the kubeconfig says of them.
    refused: BTreeMap<ClusterName, String>,
}

/// The clusters of one instance, and how they are found again when the kubeconfig has changed.
pub(super) struct Clusters {
    reach: Reach,
    instance: InstanceId,
    control_namespace: String,
    clock: fn() -> Timestamp,
    identities: Identities,
    /// Files that others could read when it was looked which clusters there are, until somebody takes that over.
    narrowed: Mutex<Vec<Narrowed>>,
    present: RwLock<Arc<Targets>>,
    /// Held by whoever changes which clusters there are.
    turn: tokio::sync::Mutex<()>,
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
        identities: Identities,
        (instance, control_namespace): (&InstanceId, &str),
        clock: fn() -> Timestamp,
    ) -> Result<Self, Error> {
        let (instance, control_namespace) = (instance.clone(), control_namespace.to_owned());
        let clusters = Self {
            reach,
            instance,
            control_namespace,
            clock,
            identities,
            narrowed: Mutex::default(),
            present: RwLock::default(),
            turn: tokio::sync::Mutex::default(),
        };
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
    /// touched, what does not read changes nothing, and one that is refused takes no other with it.
    pub(super) async fn follow(&self) -> Result<BTreeSet<ClusterName>, Error> {
        let _turn = self.turn.lock().await;
        let before = self.present();
        for (name, target) in before.all() {
            self.remember(name, target.as_ref()).await?;
            target.look_soon();
        }
        let is_absent = self.file().is_some_and(|path| path.symlink_metadata().is_err());
        let is_absent = is_absent && self.reach.absence == Absence::NoCluster;
        let contexts = if is_absent { None } else { self.contexts().map_err(unusable)? };
        let mut after = Targets::default();
        let mut changed: BTreeSet<ClusterName> = before.all.keys().cloned().collect();
        if let Some((first, others)) = contexts {
            let others = others.into_iter().filter_map(|name| Some((ClusterName::parse(&name).ok()?, name)));
            for (name, context) in std::iter::once((ClusterName::default(), first.clone())).chain(others) {
                let known = before.all.get(&name).filter(|_| !name.is_first() || before.first == first);
                if let Some(target) = known {
                    changed.remove(&name);
                    after.all.insert(name, target.clone());
                    continue;
                }
                match self.reach(&name, context).await {
                    Ok(target) => _ = after.all.insert(name.clone(), target),
                    Err(refusal) => {
                        tracing::warn!(cluster = %name, error = %refusal, "a cluster of the kubeconfig is refused");
                        after.refused.insert(name.clone(), refusal.message);
                    }
                }
                if after.refused.get(&name) != before.refused.get(&name) || after.all.contains_key(&name) {
                    changed.insert(name);
                }
            }
            after.first = first;
        }
        changed.extend(before.refused.keys().filter(|name| !after.refused.contains_key(*name)).cloned());
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(after);
        Ok(changed)
    }

    /// Reads which clusters there are, and keeps that others could read that.
    fn contexts(&self) -> Result<Option<(String, Vec<String>)>, Refusal> {
        let mut narrowed = self.narrowed.lock().unwrap_or_else(PoisonError::into_inner);
        self.reach.access.contexts(&mut narrowed)
    }

    /// Returns the files that others could read and that were not asked for yet.
    pub(super) fn take_narrowed(&self) -> Vec<Narrowed> {
        std::mem::take(&mut *self.narrowed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers by what a cluster is known again, if it was asked which one it is.
    pub(super) async fn remember(&self, name: &ClusterName, target: &dyn Target) -> Result<(), Error> {
        let report = target.access_report();
        match report.known {
            Some(known) => self.identities.note(name, &known, (self.clock)()).await,
            None => Ok(()),
        }
    }

    /// Returns what is remembered of a cluster.
    pub(super) async fn known(&self, name: &ClusterName) -> Option<KnownCluster> {
        self.identities.get(name).await
    }

    /// Takes the cluster that the kubeconfig leads to for the one that is meant, because a person says so who saw this of it.
    pub(super) async fn accept(&self, name: &ClusterName, seen: &ClusterIdentity, by: &str) -> Result<(), Error> {
        let _turn = self.turn.lock().await;
        let present = self.present();
        let target = present.get(name).ok_or_else(|| refused(name, "there is no such cluster", "wild cluster list"))?;
        let report = target.access_report();
        if report.found.as_ref() != Some(seen) {
            return Err(refused(name, "it leads to another one by now", "wild cluster list"));
        }
        if !report.is_elsewhere {
            return Ok(());
        }
        self.identities.accept(name, seen, (by, (self.clock)())).await?;
        tracing::info!(cluster = %name, now = %seen, by, "another cluster is accepted");
        // What is known of the objects of the one is nothing about those of the other.
        let context = present.context(name).to_owned();
        let target = self.reach(name, context).await.map_err(unusable)?;
        let Targets { first, mut all, refused } =
            Targets { first: present.first.clone(), all: present.all.clone(), refused: present.refused.clone() };
        all.insert(name.clone(), target);
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Targets { first, all, refused });
        Ok(())
    }

    /// Forgets by what a cluster is known again, because a person removes it.
    pub(super) async fn forget(&self, name: &ClusterName) -> Result<(), Error> {
        let _turn = self.turn.lock().await;
        self.identities.forget(name).await
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
        let known = self.identities.get(name).await.map(|known| known.identity);
        let instance = (&self.instance, self.control_namespace.as_str());
        let cluster = Box::pin(Cluster::connect_known(&access, known, instance, self.clock)).await?;
        Ok(Arc::new(cluster))
    }
}

fn unusable(refusal: Refusal) -> Error {
    let what = "read which clusters there are".to_owned();
    let (because, remedy) = (refusal.message, "wild cluster add".to_owned());
    Error::Refused(Box::new(RefusalText { code: 2, what, because, remedy, diagnostics: Vec::new() }))
}

fn refused(name: &ClusterName, because: &str, remedy: &str) -> Error {
    let (what, because) = (format!("accept {}", name.in_short()), because.to_owned());
    let remedy = remedy.to_owned();
    Error::Refused(Box::new(RefusalText { code: 6, what, because, remedy, diagnostics: Vec::new() }))
}

impl Targets {
    /// Returns all clusters in order of their names, the first one first.
    pub fn all(&self) -> impl Iterator<Item = (&ClusterName, &Arc<dyn Target>)> {
        self.all.iter()
    }

    /// Returns whether no cluster was added yet.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.refused.is_empty()
    }

    /// Returns the clusters that are not connected because of what the kubeconfig says of them, each with why.
    pub fn refused(&self) -> impl Iterator<Item = (&ClusterName, &str)> {
        self.refused.iter().map(|(name, why)| (name, why.as_str()))
    }

    /// Returns the name of the cluster that people call so: by its context, or not at all if it is the first one.
    pub fn called(&self, text: &str) -> Option<ClusterName> {
        let name = if text == self.first { ClusterName::default() } else { ClusterName::parse(text).ok()? };
        (self.all.contains_key(&name) || self.refused.contains_key(&name)).then_some(name)
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
        let found = plan::stand(self.all.keys(), (context, home), inventory, presence);
        let stand = found.map_err(|nowhere| self.instead(context, nowhere))?;
        match self.get(&stand.cluster) {
            Some(target) => Ok((stand, target.clone())),
            None => Err(Nowhere::Forgotten { cluster: stand.cluster }),
        }
    }

    /// Returns why an app is looked at nowhere, where that is because its cluster is refused.
    fn instead(&self, context: &str, nowhere: Nowhere) -> Nowhere {
        let name = match &nowhere {
            Nowhere::Forgotten { cluster } => cluster.clone(),
            Nowhere::NoCluster | Nowhere::Unknown { .. } | Nowhere::Refused { .. } if context == self.first => {
                ClusterName::default()
            }
            Nowhere::NoCluster | Nowhere::Unknown { .. } | Nowhere::Refused { .. } => {
                ClusterName::parse(context).unwrap_or_default()
            }
        };
        match self.refused.get(&name) {
            Some(why) => Nowhere::Refused { cluster: name, why: why.clone() },
            None => nowhere,
        }
    }
}
