//! Pure. Claims of an app that no pod of it is going to use.
//!
//! Not here: whether their storage class waits for a pod (`observe`), the health that follows (`wellness`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::references;
use super::snapshot::{Desired, Snapshot};
use super::volume::is_claim;
use crate::health::HealthState;
use crate::model::{Object, ObjectId};

/// Returns the claims without a volume that nothing uses which the app wants to run.
pub fn unused_claims(snapshot: &Snapshot) -> BTreeSet<ObjectId> {
    let waits = |id: &ObjectId| {
        let health = snapshot.live.get(id).and_then(|live| live.health.as_ref());
        health.is_some_and(|health| health.state == HealthState::Progressing)
    };
    let mut claims: BTreeSet<ObjectId> = snapshot.live.keys().filter(|id| is_claim(id) && waits(id)).cloned().collect();
    let Desired::Objects(objects) = &snapshot.desired else { return BTreeSet::new() };
    if claims.is_empty() {
        return claims;
    }
    for used in objects.iter().filter(|it| runs(&it.object)) {
        let needs = references::needs(&used.object);
        claims.retain(|claim| !needs.contains(claim));
    }
    claims
}

/// Returns whether an object has pods as long as it is there. Those of a CronJob come and go.
fn runs(object: &Object) -> bool {
    let is_still = match object.kind() {
        "CronJob" => true,
        "Job" => object.at(&["spec", "suspend"]) == Some(&Value::Bool(true)),
        _ => object.at(&["spec", "replicas"]).and_then(Value::as_i64) == Some(0),
    };
    !is_still
}
