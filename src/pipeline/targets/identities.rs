//! By what the clusters of an instance are known again. It is remembered before the first write to a cluster, and replaced only by a person's word.
//!
//! What vanishes from the kubeconfig stays remembered: a file that loses a cluster and has another under its name later leads elsewhere all the
//! same. Not here: asking a cluster which one it is (`target`), what is the same cluster (`model`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::Error;
use crate::base::Timestamp;
use crate::model::{ClusterIdentity, ClusterName, InstanceId};
use crate::store::Store;

/// Name of the cursor that holds them.
const KNOWN: &str = "clusters";

/// A cluster as it is remembered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownCluster {
    /// By what it is known again.
    pub identity: ClusterIdentity,
    /// Since when.
    pub since: Timestamp,
    /// Who accepted it; empty if it was the first that was found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The one before it, if somebody accepted another one in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ClusterIdentity>,
}

/// The clusters of an instance as they are remembered.
pub(in crate::pipeline) struct Identities {
    store: Store,
    instance: InstanceId,
    known: Mutex<BTreeMap<ClusterName, KnownCluster>>,
}

impl Identities {
    /// Reads what is remembered. What does not read back stops the start: nobody is to be taken for known by accident.
    pub(in crate::pipeline) async fn read(store: &Store, instance: &InstanceId) -> Result<Self, Error> {
        let text = store.cursor(instance, KNOWN).await?.unwrap_or_else(|| "{}".to_owned());
        let known = serde_json::from_str(&text)
            .map_err(|source| Error::Store(crate::store::Error::Row { table: "cursors", source: Box::new(source) }))?;
        Ok(Self { store: store.clone(), instance: instance.clone(), known: Mutex::new(known) })
    }

    /// Returns what is remembered of a cluster.
    pub(super) async fn get(&self, cluster: &ClusterName) -> Option<KnownCluster> {
        self.known.lock().await.get(cluster).cloned()
    }

    /// Remembers a cluster as its target knows it, unless that is remembered already, or somebody accepted another one meanwhile.
    pub(super) async fn note(
        &self,
        cluster: &ClusterName,
        identity: &ClusterIdentity,
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut known = self.known.lock().await;
        let entry = match known.get(cluster) {
            Some(there) if there.identity == *identity => return Ok(()),
            Some(there) if is_another(&there.identity, identity) => return Ok(()),
            // Its server moved or others vouch for it: it is the same cluster, known since then.
            Some(there) => KnownCluster { identity: identity.clone(), ..there.clone() },
            None => KnownCluster { identity: identity.clone(), since: now, by: String::new(), before: None },
        };
        let next = known.iter().map(|(name, entry)| (name.clone(), entry.clone()));
        let next = next.chain([(cluster.clone(), entry)]).collect();
        self.put(&mut known, next).await
    }

    /// Remembers another cluster in the place of one, because a person said so.
    pub(super) async fn accept(
        &self,
        cluster: &ClusterName,
        identity: &ClusterIdentity,
        (by, now): (&str, Timestamp),
    ) -> Result<(), Error> {
        let mut known = self.known.lock().await;
        let before = known.get(cluster).map(|known| known.identity.clone());
        let entry = KnownCluster { identity: identity.clone(), since: now, by: by.to_owned(), before };
        let mut next = known.clone();
        next.insert(cluster.clone(), entry);
        self.put(&mut known, next).await
    }

    /// Forgets a cluster, because a person removed it.
    pub(super) async fn forget(&self, cluster: &ClusterName) -> Result<(), Error> {
        let mut known = self.known.lock().await;
        let mut next = known.clone();
        if next.remove(cluster).is_none() {
            return Ok(());
        }
        self.put(&mut known, next).await
    }

    /// Stores what is known from now on. It counts once it is stored.
    async fn put(
        &self,
        known: &mut BTreeMap<ClusterName, KnownCluster>,
        next: BTreeMap<ClusterName, KnownCluster>,
    ) -> Result<(), Error> {
        let text = serde_json::to_string(&next).unwrap_or_default();
        self.store.put_cursor(&self.instance, KNOWN, &text).await?;
        *known = next;
        Ok(())
    }
}

/// Returns whether one that a target took for its own is not what is remembered any more, however far that moved.
fn is_another(remembered: &ClusterIdentity, own: &ClusterIdentity) -> bool {
    match (&remembered.uid, &own.uid) {
        (Some(one), Some(other)) => one != other,
        _ => (&remembered.server, &remembered.authority) != (&own.server, &own.authority),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(uid: &str) -> ClusterIdentity {
        ClusterIdentity { server: "https://a".into(), authority: String::new(), uid: Some(uid.into()) }
    }

    #[tokio::test]
    async fn what_is_known_outlives_the_process_and_only_a_person_replaces_it() {
        let (store, id) = (Store::in_memory().await.unwrap(), InstanceId::parse("k3f7q2m5xd").unwrap());
        let (home, edge) = (ClusterName::default(), ClusterName::parse("edge").unwrap());
        let identities = Identities::read(&store, &id).await.unwrap();
        identities.note(&home, &identity("u"), Timestamp(1)).await.unwrap();
        identities.note(&edge, &identity("v"), Timestamp(2)).await.unwrap();
        let moved = ClusterIdentity { server: "https://b".into(), ..identity("u") };
        identities.note(&home, &moved, Timestamp(3)).await.unwrap();
        let again = Identities::read(&store, &id).await.unwrap();
        let since = |known: Option<KnownCluster>| known.map(|known| (known.identity, known.since.0, known.by));
        assert_eq!(since(again.get(&home).await), Some((moved.clone(), 1, String::new())));
        again.accept(&home, &identity("w"), ("alice", Timestamp(4))).await.unwrap();
        // A pass that began before still knows the old one.
        again.note(&home, &moved, Timestamp(5)).await.unwrap();
        assert_eq!(again.get(&home).await.unwrap().identity, identity("w"));
        again.forget(&edge).await.unwrap();
        let last = Identities::read(&store, &id).await.unwrap();
        assert_eq!(last.get(&home).await.unwrap().before, Some(moved));
        assert_eq!(since(last.get(&home).await), Some((identity("w"), 4, "alice".into())));
        assert_eq!(last.get(&edge).await, None);
    }

    #[tokio::test]
    async fn what_does_not_read_back_is_not_taken_for_nothing() {
        let (store, id) = (Store::in_memory().await.unwrap(), InstanceId::parse("k3f7q2m5xd").unwrap());
        store.put_cursor(&id, KNOWN, "{").await.unwrap();
        assert!(Identities::read(&store, &id).await.is_err());
    }
}
