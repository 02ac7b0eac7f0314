//! Pure. The app's namespace: derived if the package renders none, a stop for everything while it is being deleted, and freed when its
//! deletion does not end.
//!
//! Taking the last finalizer off a namespace that still holds something leaves that in the store for ever, out of everybody's reach. So it is
//! done only where every kind of every group was listed and nothing was found: a namespace that is being deleted takes no new content, so
//! what was true stays true. Not here: who may delete it (`remove`).

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::action::{Action, Blocked, Extras, Plan, Verb, WakeOn};
use super::hash;
use super::recreate::Recreate;
use super::snapshot::{DesiredObject, Ending, NamespaceState, Snapshot};
use super::yields::Yields;
use crate::base::Timestamp;
use crate::model::{Editors, Object, ObjectId, RecoveryMode, RecoverySettings};

/// Key for the hash of a derived Namespace: its whole content is its public name, so there is nothing to hide.
const PUBLIC_KEY: [u8; 32] = [0; 32];

/// Time until a namespace that cannot be freed yet is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// Contents that are named in a sentence.
const MAX_NAMED: usize = 3;

/// Returns the identity of a namespace.
pub fn id(namespace: &str) -> ObjectId {
    ObjectId::new("", "Namespace", "", namespace)
}

/// Returns the Namespace object of an app whose package renders none.
pub fn derived(namespace: &str) -> DesiredObject {
    let value = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let object = Object::from_value(value).unwrap_or_default();
    let hash = hash::desired_hash(&PUBLIC_KEY, &object);
    DesiredObject { object, hash, file: String::new(), line: 0 }
}

/// Returns when the cluster has had its time to end the deletion of a namespace by itself.
pub fn due(since: Timestamp, recovery: RecoverySettings) -> Timestamp {
    since.plus(recovery.after)
}

/// Returns the finalizers of a namespace that a person put there by hand: an editor holds them.
pub fn by_hand(namespace: &Object, editors: &Editors) -> Vec<String> {
    let entries = namespace.at(&["metadata", "managedFields"]).and_then(Value::as_array).into_iter().flatten();
    let held: Vec<&Map<String, Value>> = entries
        .filter(|entry| {
            let manager = entry.get("manager").and_then(Value::as_str).unwrap_or("");
            editors.include(manager)
        })
        .filter_map(|entry| entry.pointer("/fieldsV1/f:metadata/f:finalizers")?.as_object())
        .collect();
    let is_held =
        |name: &String| held.iter().any(|fields| fields.contains_key(&format!("v:{}", Value::from(name.as_str()))));
    finalizers(namespace).into_iter().filter(is_held).collect()
}

/// Returns the finalizers of an object.
pub fn finalizers(object: &Object) -> Vec<String> {
    let list = object.at(&["metadata", "finalizers"]).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Adds what frees the namespace, if nothing stands against it, and looks again later if it is not time yet.
pub(super) fn recover(snapshot: &Snapshot, plan: &mut Plan) {
    let NamespaceState::Terminating(ending) = &snapshot.namespace_state else { return };
    let due = due(ending.since, snapshot.policy.recovery);
    let at = if due > snapshot.now { due } else { snapshot.now.plus(LOOK_AGAIN) };
    plan.wake_at = Some(plan.wake_at.map_or(at, |known| known.min(at)));
    let is_empty = ending.rest.as_ref().is_some_and(Vec::is_empty);
    let is_free = ending.finalizers.iter().all(|name| ending.by_hand.contains(name));
    if snapshot.policy.recovery.mode == RecoveryMode::Never || !is_empty || !is_free {
        return;
    }
    plan.actions.push(Action {
        id: plan.actions.len(),
        verb: Verb::Free { finalizers: ending.by_hand.clone() },
        object: id(&snapshot.namespace),
        api_version: "v1".to_owned(),
        wave: i32::MAX,
        stage: 0,
        after: Vec::new(),
        reason: "it is empty, and its deletion does not end".to_owned(),
        uid: Some(ending.uid.clone()),
        hash: String::new(),
        source: String::new(),
        yields: Yields::default(),
        recreate: Recreate::Never("a namespace is never made anew"),
        extras: Extras::Leave,
    });
}

/// Returns what was found to hold a namespace; empty if nobody looked or nothing does.
fn held_by(ending: &Ending) -> String {
    let Some(rest) = &ending.rest else { return String::new() };
    if !rest.is_empty() {
        let named: Vec<&str> = rest.iter().take(MAX_NAMED).map(String::as_str).collect();
        let more = rest.len().saturating_sub(named.len());
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        return format!("it still holds {}{more}", named.join(", "));
    }
    let foreign: Vec<&str> =
        ending.finalizers.iter().filter(|name| !ending.by_hand.contains(name)).map(String::as_str).collect();
    if foreign.is_empty() {
        String::new()
    } else {
        format!("finalizer {}, whose controller has to remove it", foreign.join(", "))
    }
}

/// Returns why nothing can be written while the namespace is going.
///
/// A namespace that is being deleted takes no new content, and what is in it is lost; so the app starts anew under the
/// namespace's next incarnation.
pub(super) fn terminating(snapshot: &Snapshot) -> Option<(Blocked, WakeOn)> {
    let NamespaceState::Terminating(ending) = &snapshot.namespace_state else { return None };
    let because = [held_by(ending), ending.why.clone()].into_iter().filter(|part| !part.is_empty());
    let because = because.collect::<Vec<_>>().join("; ");
    let because = if because.is_empty() { String::new() } else { format!(": {because}") };
    let blocked = Blocked {
        object: Some(id(&snapshot.namespace)),
        reason: "NamespaceTerminating".into(),
        message: format!("namespace {} is being deleted{because}", snapshot.namespace),
        hint: String::new(),
    };
    Some((blocked, WakeOn::NamespaceGone(snapshot.namespace.clone())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::by_hand;
    use crate::model::{Editors, Object};

    #[test]
    fn a_finalizer_is_of_a_person_if_an_editor_holds_it() {
        let entry = |manager: &str, names: &[&str]| {
            let held: serde_json::Map<String, serde_json::Value> =
                names.iter().map(|name| (format!("v:{}", json!(name)), json!({}))).collect();
            json!({"manager": manager, "operation": "Update", "fieldsV1": {"f:metadata": {"f:finalizers": held}}})
        };
        let namespace = Object::from_value(json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {
                "name": "blog", "finalizers": ["a.b/c", "d.e/f", "g.h/i"],
                "managedFields": [entry("kubectl-edit", &["a.b/c"]), entry("operator", &["d.e/f"])],
            },
        }));
        let namespace = namespace.unwrap();
        assert_eq!(by_hand(&namespace, &Editors::default()), ["a.b/c"]);
        assert_eq!(by_hand(&namespace, &Editors::beside(["oper"])), ["a.b/c", "d.e/f"]);
    }
}
