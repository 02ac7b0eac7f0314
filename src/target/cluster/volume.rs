//! Tells volumes to outlive their claims, offers them to new ones, and makes claims again.
//!
//! Every change is of the version that was read, and what is so already is not written. Not here: when (`plan::volume`).

use http::Method;
use serde_json::{Value, json};

use super::Inner;
use super::call::{Call, Form};
use crate::model::{Object, ObjectId, RECLAIM_POLICY};
use crate::target::{Kind, Refusal, RefusalKind, VolumeChange, VolumeRequest};

/// Manager of claims that are made again: whoever wants one takes it over as a thing that we gave up on purpose.
const RELEASED: &str = "wild-released";

impl Inner {
    /// Changes a volume.
    pub(super) async fn change_volume(&self, request: &VolumeRequest) -> Result<(), Refusal> {
        let VolumeRequest { name, uid, change } = request;
        let id = ObjectId::new("", "PersistentVolume", "", name);
        let live = self.read(&id, "v1", Form::Full).await?;
        let live = live.filter(|live| text(live, &["metadata", "uid"]) == uid);
        let Some(live) = live else {
            return match change {
                VolumeChange::Policy(_) => Ok(()),
                VolumeChange::Retain | VolumeChange::Offer { .. } => {
                    Err(Refusal::new(RefusalKind::Changed, format!("change volume {name}: it is gone")))
                }
            };
        };
        let Some(spec) = difference(&live, change)? else { return Ok(()) };
        let version = text(&live, &["metadata", "resourceVersion"]);
        let note = match change {
            VolumeChange::Retain => Value::from(text(&live, &["spec", "persistentVolumeReclaimPolicy"])),
            VolumeChange::Policy(_) => Value::Null,
            VolumeChange::Offer { .. } => live.annotation(RECLAIM_POLICY).map_or(Value::Null, Value::from),
        };
        let metadata = json!({"uid": uid, "resourceVersion": version, "annotations": {RECLAIM_POLICY: note}});
        let body = json!({"metadata": metadata, "spec": spec});
        let path = self.object_path(&Kind::of(&id, "v1"), "", name).await?;
        let _place = self.writes.place().await;
        let request = (Method::PATCH, format!("{path}?fieldManager={RELEASED}"));
        let body = (&body, "application/merge-patch+json");
        self.insist(Call::write((format!("change volume {name}"), &id), request, body)).await.map(|_| ())
    }

    /// Makes a claim again. One that is there on the same volume is that claim.
    pub(super) async fn bring_back(&self, claim: &Object) -> Result<(), Refusal> {
        let id = claim.id();
        let wanted = text(claim, &["spec", "volumeName"]);
        if let Some(live) = self.read(&id, "v1", Form::Full).await? {
            if text(&live, &["spec", "volumeName"]) == wanted {
                return Ok(());
            }
            let message = format!("bring {id} back: one of this name is there with another volume");
            return Err(Refusal::new(RefusalKind::Changed, message));
        }
        let path = self.collection_path(&Kind::of(&id, "v1"), &id.namespace).await?;
        let body = claim.to_value();
        let _place = self.writes.place().await;
        let request = (Method::POST, format!("{path}?fieldManager={RELEASED}"));
        let call = Call::write((format!("bring {id} back"), &id), request, (&body, "application/json"));
        self.insist(call).await.map(|_| ())
    }
}

/// Returns what has to be written of a volume; nothing if it is so already.
fn difference(live: &Object, change: &VolumeChange) -> Result<Option<Value>, Refusal> {
    let policy = |wanted: &str| {
        let is_so = text(live, &["spec", "persistentVolumeReclaimPolicy"]) == wanted;
        (!is_so).then(|| json!({"persistentVolumeReclaimPolicy": wanted}))
    };
    match change {
        VolumeChange::Retain => Ok(policy("Retain")),
        VolumeChange::Policy(wanted) => Ok(policy(wanted)),
        VolumeChange::Offer { namespace, claim } => {
            let of = |key: &str| text(live, &["spec", "claimRef", key]);
            if (of("namespace"), of("name")) != (namespace.as_str(), claim.as_str()) {
                let (name, other) = (live.name(), format!("{}/{}", of("namespace"), of("name")));
                let message = format!("offer volume {name} to claim {claim}: it is for claim {other}");
                return Err(Refusal::new(RefusalKind::Changed, message));
            }
            // A volume that is bound has its claim, and one without a uid waits for it.
            let is_so = of("uid").is_empty() || text(live, &["status", "phase"]) == "Bound";
            Ok((!is_so).then(|| json!({"claimRef": {"uid": null, "resourceVersion": null}})))
        }
    }
}

fn text<'a>(object: &'a Object, path: &[&str]) -> &'a str {
    object.at(path).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(policy: &str, claim: Value, phase: &str, change: VolumeChange, expected: Option<Value>) {
        let live = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"},
            "spec": {"persistentVolumeReclaimPolicy": policy, "claimRef": claim}, "status": {"phase": phase}});
        let found = difference(&Object::from_value(live).unwrap(), &change);
        assert_eq!(found.map_err(|refusal| refusal.kind).ok().flatten(), expected, "{change:?}");
    }

    #[test]
    fn only_what_is_not_so_yet_is_written() {
        let claim = || json!({"namespace": "blog", "name": "data", "uid": "u"});
        let offer = |claim: &str| VolumeChange::Offer { namespace: "blog".into(), claim: claim.into() };
        let retain = json!({"persistentVolumeReclaimPolicy": "Retain"});
        check("Delete", claim(), "Bound", VolumeChange::Retain, Some(retain));
        check("Retain", claim(), "Bound", VolumeChange::Retain, None);
        let delete = json!({"persistentVolumeReclaimPolicy": "Delete"});
        check("Retain", claim(), "Released", VolumeChange::Policy("Delete".into()), Some(delete));
        let free = json!({"claimRef": {"uid": null, "resourceVersion": null}});
        check("Retain", claim(), "Released", offer("data"), Some(free));
        check("Retain", claim(), "Bound", offer("data"), None);
        check("Retain", json!({"namespace": "blog", "name": "data"}), "Available", offer("data"), None);
        check("Retain", claim(), "Released", offer("other"), None);
    }
}
