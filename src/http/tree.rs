//! The objects of an app with what controllers made of them, by owner reference.
//!
//! Not here: their health, which is what the last pass found (`apps.rs`).

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::answer::{Answered, app_name, json as answer};
use super::apps;
use super::problem::Problem;
use super::{Host, instance};
use crate::model::{AppName, AppState, Object, ObjectId};
use crate::plan::marks;

/// Levels of ownership that are followed; ends a circle of references.
const MAX_LEVELS: usize = 8;

/// `GET /apps/{app}/tree`: what lives in the app's namespace because of it, read now.
pub(super) async fn tree(State(daemon): Host, Path((name, app)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let app = app_name(&app)?;
    let state = apps::state(handle.instance(), &app).await?;
    let live = match handle.instance().targets().get(&state.cluster) {
        None => Vec::new(),
        Some(target) => target.contents(&state.namespace).await.map_err(|refusal| {
            Problem::new(502, format!("show the objects of {app}"), refusal.message, format!("wild app status {app}"))
        })?,
    };
    Ok(answer(&json!({"app": app, "namespace": state.namespace, "objects": branches(&app, &state, &live)})))
}

/// Returns the objects of the app, those that are not there among them, each with what it owns.
fn branches(app: &AppName, state: &AppState, live: &[Object]) -> Vec<Value> {
    let mut owned: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for object in live {
        let owners = object.at(&["metadata", "ownerReferences"]).and_then(Value::as_array).into_iter().flatten();
        for owner in owners.filter_map(|owner| owner.get("uid")?.as_str()) {
            owned.entry(owner).or_default().push(object);
        }
    }
    let is_ours = |object: &&Object| object.label(marks::APP) == Some(app.as_str());
    let roots: BTreeMap<ObjectId, &Object> = live.iter().filter(is_ours).map(|object| (object.id(), object)).collect();
    let known: BTreeMap<&ObjectId, _> = state.objects.iter().map(|known| (&known.object, known)).collect();
    let ids: BTreeSet<&ObjectId> = roots.keys().chain(known.keys().copied()).collect();
    ids.into_iter()
        .map(|id| {
            let (health, reason) =
                known.get(id).map_or(("unknown", ""), |known| (known.health.as_str(), known.reason.as_str()));
            let owns = roots.get(id).map(|object| below(object, &owned, MAX_LEVELS)).unwrap_or_default();
            json!({"object": id, "health": health, "reason": reason, "owns": owns})
        })
        .collect()
}

fn below(object: &Object, owned: &BTreeMap<&str, Vec<&Object>>, levels: usize) -> Vec<Value> {
    let uid = object.at(&["metadata", "uid"]).and_then(Value::as_str).unwrap_or("");
    let Some(children) = owned.get(uid).filter(|_| levels > 0) else { return Vec::new() };
    children.iter().map(|child| json!({"object": child.id(), "owns": below(child, owned, levels - 1)})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, name: &str, uid: &str, owner: &str, label: Option<&str>) -> Object {
        let labels = label.map_or(json!({}), |app| json!({"rewild.dev/app": app}));
        Object::from_value(json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {
            "name": name, "namespace": "blog", "uid": uid, "labels": labels, "ownerReferences": [{"uid": owner}]}}))
        .unwrap()
    }

    #[test]
    fn what_controllers_made_hangs_below_what_we_applied() {
        let app = AppName::parse("blog").unwrap();
        let mut state: AppState = serde_json::from_value(json!({
            "name": "blog", "package": "", "version": "", "available": "", "update": null, "namespace": "blog",
            "health": "healthy", "healthReason": "", "intent": "applied", "reason": "", "needsYou": "", "hint": "",
            "lifecycle": "deployed", "drift": [], "conflicts": 0, "commit": null, "applied": null, "objects": [],
            "observedAt": "2026-11-21T12:00:00Z",
        }))
        .unwrap_or_else(|error| panic!("{error}"));
        let web = object("Deployment", "web", "1", "", Some("blog"));
        state.objects.push(crate::model::ObjectState {
            object: web.id(),
            health: "healthy".into(),
            reason: String::new(),
        });
        let live = [
            web,
            object("ReplicaSet", "web-1", "2", "1", None),
            object("Pod", "web-1-a", "3", "2", None),
            object("Deployment", "other", "4", "", Some("shop")),
            object("Knot", "knot", "5", "5", Some("blog")),
        ];
        let found = branches(&app, &state, &live);
        let names = |path: &str| found.iter().filter_map(|it| it.pointer(path)).cloned().collect::<Vec<_>>();
        assert_eq!(names("/object/name"), ["web", "knot"]);
        assert_eq!(names("/owns/0/object/name"), ["web-1", "knot"]);
        assert_eq!(found[0].pointer("/owns/0/owns/0/object/name"), Some(&json!("web-1-a")));
        assert_eq!(names("/health"), ["healthy", "unknown"]);
    }
}
