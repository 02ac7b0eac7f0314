//! Pure. Which of its clusters an app is looked at on. Which one it is to live on say the settings; which one it is on says the inventory. Where
//! the two differ the app moves: first it goes from where it is, with a person's consent, then it comes to where it is to be.
//!
//! Not here: the clusters (`pipeline::Targets`), the consent (`budget`).

use super::snapshot::Presence;
use crate::model::{AppName, ClusterName, Inventory};

/// Where an app is looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stand {
    /// The cluster.
    pub cluster: ClusterName,
    /// What is remembered of the app there.
    pub inventory: Inventory,
    /// Whether the app is there, and if not, why.
    pub presence: Presence,
}

/// Why an app is not looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Nowhere {
    /// The instance has no cluster yet.
    NoCluster,
    /// The settings name a cluster that nobody added.
    Unknown {
        /// What they call it.
        context: String,
    },
    /// Objects of the app are on a cluster that is not known any more.
    Forgotten {
        /// The cluster.
        cluster: ClusterName,
    },
    /// Its cluster is not connected because of what the kubeconfig says of it.
    Refused {
        /// The cluster.
        cluster: ClusterName,
        /// Which file and field, and what is wrong with it.
        why: String,
    },
}

/// Returns where an app is looked at of which this is remembered. The settings call the cluster that it is to live on by a context; `home` is the
/// cluster behind that, if there is one among those that are known.
pub fn stand<'a>(
    mut known: impl Iterator<Item = &'a ClusterName>,
    (context, home): (&str, Option<&ClusterName>),
    inventory: Inventory,
    presence: Presence,
) -> Result<Stand, Nowhere> {
    let nobody = || Nowhere::Unknown { context: context.to_owned() };
    let mut parts = inventory.by_cluster();
    let away = parts.keys().find(|cluster| Some(*cluster) != home).cloned();
    let Some(cluster) = away else {
        let is_alone = known.next().is_none();
        let home = home.ok_or_else(|| if is_alone { Nowhere::NoCluster } else { nobody() })?;
        return Ok(Stand { cluster: home.clone(), inventory: parts.remove(home).unwrap_or_default(), presence });
    };
    if !known.any(|name| *name == cluster) {
        return Err(Nowhere::Forgotten { cluster });
    }
    let moves = presence == Presence::Kept;
    if moves && home.is_none() {
        // Nothing goes from one cluster before it is sure that there is the other.
        return Err(nobody());
    }
    let inventory = parts.remove(&cluster).unwrap_or_default();
    Ok(Stand { cluster, inventory, presence: if moves { Presence::Moves } else { presence } })
}

impl Nowhere {
    /// Returns code, reason and remedy as an app's state shows them.
    pub fn told(&self, app: &AppName) -> (&'static str, String, String) {
        let add = |context: &str| match context {
            "" => "wild cluster add".to_owned(),
            context => format!("wild cluster add --context {context}"),
        };
        match self {
            Self::NoCluster => ("", "no cluster is known yet".to_owned(), add("")),
            Self::Unknown { context } => {
                let why = format!("{app} is to live on the cluster {context}, which nobody added");
                ("ClusterUnknown", why, add(context))
            }
            Self::Forgotten { cluster } => {
                let why = format!("objects of {app} are on {cluster}, which is not known any more");
                ("ClusterUnknown", why, add(cluster.as_str()))
            }
            Self::Refused { cluster, why } => {
                ("ClusterRefused", format!("{cluster} is not connected: {why}"), "wild cluster list".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ObjectId, Record};

    fn on(clusters: &[&str]) -> Inventory {
        let record = |cluster: &&str| Record {
            cluster: ClusterName::parse(cluster).unwrap(),
            ..Record::sample(ObjectId::new("", "ConfigMap", "blog", cluster))
        };
        Inventory::new(clusters.iter().map(record))
    }

    #[test]
    fn an_app_is_looked_at_where_it_is_before_where_it_is_to_be() {
        let all = ["", "edge"].map(|name| ClusterName::parse(name).unwrap());
        let check = |context: &str, holds: &[&str], presence, expected: &str| {
            let home = all.iter().find(|name| name.as_str() == context);
            let found = match stand(all.iter(), (context, home), on(holds), presence) {
                Ok(Stand { cluster, inventory, presence }) => format!("{cluster}: {} {presence:?}", inventory.len()),
                Err(nowhere) => nowhere.told(&AppName::parse("blog").unwrap()).1,
            };
            assert_eq!(found, expected, "{context} {holds:?}");
        };
        check("", &[], Presence::Kept, "the first cluster: 0 Kept");
        check("", &[""], Presence::Kept, "the first cluster: 1 Kept");
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
        assert!(matches!(stand([].into_iter(), ("", None), on(&[]), Presence::Kept), Err(Nowhere::NoCluster)));
    }
}
