//! The clusters of an instance by name, and the one that an app is on.
//!
//! Each has its own connection, limits and watches, so that one that hangs slows no other. Which cluster an app is to live on say the
//! settings; which one it is on says the inventory. Where the two differ the app moves: first it goes from where it is, with a person's
//! consent, then it comes to where it is to be. Not here: how a cluster is reached (`target`), what moving means (`plan`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::Timestamp;
use crate::model::{AppName, ClusterName, InstanceId, Inventory};
use crate::plan::Presence;
use crate::target::{Access, Cluster, Refusal, Target, TargetEvent};

/// The clusters of one instance.
#[derive(Default)]
pub struct Targets {
    /// What the kubeconfig calls the first one.
    first: String,
    all: BTreeMap<ClusterName, Arc<dyn Target>>,
}

/// Where an app is looked at.
pub(super) struct Stand<'a> {
    /// The cluster.
    pub(super) cluster: ClusterName,
    /// The way to it.
    pub(super) target: &'a Arc<dyn Target>,
    /// What is remembered of the app there.
    pub(super) inventory: Inventory,
    /// Whether the app is there, and if not, why.
    pub(super) presence: Presence,
}

/// Why an app is not looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Nowhere {
    /// The instance has no cluster yet.
    NoCluster,
    /// The settings, or the inventory, name a cluster that nobody added.
    Unknown {
        /// Its name.
        name: String,
        /// Whether objects of the app are there.
        holds: bool,
    },
}

impl Targets {
    /// Connects all clusters of an access lazily; none without.
    pub(super) async fn connect(
        access: Option<Access>,
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

    /// Returns where an app is looked at that is to live on the cluster of a context and of which this is remembered.
    pub(super) fn stand(&self, context: &str, inventory: Inventory, presence: Presence) -> Result<Stand<'_>, Nowhere> {
        let home = self.named(context);
        let mut parts = inventory.by_cluster();
        let away = parts.keys().find(|cluster| Some(*cluster) != home.map(|(name, _)| name)).cloned();
        let Some(cluster) = away else {
            let unknown = || Nowhere::Unknown { name: context.to_owned(), holds: false };
            let (name, target) = home.ok_or_else(|| if self.is_empty() { Nowhere::NoCluster } else { unknown() })?;
            let inventory = parts.remove(name).unwrap_or_default();
            return Ok(Stand { cluster: name.clone(), target, inventory, presence });
        };
        let unknown = |name: &str, holds| Nowhere::Unknown { name: name.to_owned(), holds };
        let target = self.get(&cluster).ok_or_else(|| unknown(self.context(&cluster), true))?;
        let moves = presence == Presence::Kept;
        if moves && home.is_none() {
            // Nothing goes from one cluster before it is sure that there is the other.
            return Err(unknown(context, false));
        }
        let inventory = parts.remove(&cluster).unwrap_or_default();
        Ok(Stand { cluster, target, inventory, presence: if moves { Presence::Moves } else { presence } })
    }
}

impl Nowhere {
    /// Returns code, reason and remedy as an app's state shows them.
    pub(super) fn told(&self, app: &AppName) -> (&'static str, String, String) {
        match self {
            Self::NoCluster => ("", "no cluster is known yet".to_owned(), "wild cluster add".to_owned()),
            Self::Unknown { name, holds: false } => {
                let why = format!("{app} is to live on the cluster {name}, which nobody added");
                ("ClusterUnknown", why, format!("wild cluster add --context {name}"))
            }
            Self::Unknown { name, holds: true } => {
                let why = format!("objects of {app} are on the cluster {name}, which is not known any more");
                ("ClusterUnknown", why, format!("wild cluster add --context {name}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ObjectId, Record, RecordState};
    use crate::target::scripted::Scripted;

    fn targets() -> Targets {
        let all = ["", "edge"].map(|name| (ClusterName::parse(name).unwrap(), Arc::new(Scripted::default()) as _));
        Targets { first: "home".to_owned(), all: all.into() }
    }

    fn on(clusters: &[&str]) -> Inventory {
        let record = |cluster: &&str| Record {
            id: ObjectId::new("", "ConfigMap", "blog", cluster),
            cluster: ClusterName::parse(cluster).unwrap(),
            api_version: "v1".into(),
            state: RecordState::Applied,
            uid: "u".into(),
            hash: String::new(),
            fields: String::new(),
            time: String::new(),
            generation: 0,
            created: true,
            commit: None,
            audited: String::new(),
        };
        Inventory::new(clusters.iter().map(record))
    }

    #[test]
    fn an_app_is_looked_at_where_it_is_before_where_it_is_to_be() {
        let check = |context: &str, holds: &[&str], presence, expected: &str| {
            let found = match targets().stand(context, on(holds), presence) {
                Ok(Stand { cluster, target: _, inventory, presence }) => {
                    format!("{cluster}: {} {presence:?}", inventory.len())
                }
                Err(nowhere) => nowhere.told(&AppName::parse("blog").unwrap()).1,
            };
            assert_eq!(found, expected, "{context} {holds:?}");
        };
        check("", &[], Presence::Kept, "the first cluster: 0 Kept");
        check("home", &[""], Presence::Kept, "the first cluster: 1 Kept");
        check("edge", &["edge"], Presence::Kept, "the cluster edge: 1 Kept");
        check("edge", &[""], Presence::Kept, "the first cluster: 1 Moves");
        check("", &["", "edge"], Presence::Kept, "the cluster edge: 1 Moves");
        check("", &["edge"], Presence::RemovedWithData, "the cluster edge: 1 RemovedWithData");
        check("", &["edge"], Presence::Vanished, "the cluster edge: 1 Vanished");
        // Nothing goes before it is sure that there is somewhere to go, and nothing is forgotten with its cluster.
        let nobody = "blog is to live on the cluster lab, which nobody added";
        check("lab", &[], Presence::Kept, nobody);
        check("lab", &[""], Presence::Kept, nobody);
        check("lab", &["edge"], Presence::RemovedKeepingData, "the cluster edge: 1 RemovedKeepingData");
        let gone = "objects of blog are on the cluster attic, which is not known any more";
        check("", &["attic"], Presence::Kept, gone);
        check("", &["attic"], Presence::RemovedWithData, gone);
        assert!(matches!(Targets::default().stand("", on(&[]), Presence::Kept), Err(Nowhere::NoCluster)));
    }
}
