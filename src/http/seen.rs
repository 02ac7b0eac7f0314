//! Kubernetes Events about the objects of an app and about what controllers made of them, read now, without values of secrets.
//!
//! Not here: our own events (`apps.rs`), those that we write into the cluster (`broadcast`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::logs::is_of;
use crate::base::Timestamp;
use crate::model::{AppName, AppState, Object, ObjectId, Secrets};
use crate::target::{Refusal, Target};

/// Events that are shown, the newest.
const MAX_SHOWN: usize = 100;
/// Objects that are looked at, to tell whose they are.
const MAX_LOOKS: usize = 50;

/// Returns what the cluster told of an app, oldest first.
pub(super) async fn events(
    app: &AppName,
    state: &AppState,
    target: &dyn Target,
    secrets: &Secrets,
) -> Result<Vec<(Timestamp, Value)>, Refusal> {
    let own: BTreeSet<&ObjectId> = state.objects.iter().map(|it| &it.object).collect();
    let (mut whose, mut owners, mut looks) = (BTreeMap::new(), BTreeMap::new(), 0);
    let mut found = Vec::new();
    for event in target.told(&state.namespace).await? {
        let (Some((id, api_version)), Some(time)) = (regarding(&event), time(&event)) else { continue };
        let is_ours = match whose.get(&id) {
            Some(known) => *known,
            None if own.contains(&id) => true,
            None if looks >= MAX_LOOKS => is_called_so(&id, &own),
            None => {
                looks += 1;
                match target.metadata(&id, &api_version).await? {
                    Some(object) => is_of(app, &object, target, &mut owners).await?,
                    None => is_called_so(&id, &own),
                }
            }
        };
        if is_ours {
            found.push((time, document(&event, &id, time, secrets)));
        }
        whose.insert(id, is_ours);
    }
    found.sort_by_key(|(time, _)| *time);
    Ok(found.split_off(found.len().saturating_sub(MAX_SHOWN)))
}

/// Returns the object that an Event is about.
fn regarding(event: &Object) -> Option<(ObjectId, String)> {
    let text = |key: &str| event.at(&["regarding", key]).and_then(Value::as_str);
    let api_version = text("apiVersion").unwrap_or("v1");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let id = ObjectId::new(group, text("kind")?, text("namespace").unwrap_or_default(), text("name")?);
    Some((id, api_version.to_owned()))
}

/// Returns when an Event happened last.
fn time(event: &Object) -> Option<Timestamp> {
    let places: [&[&str]; 4] = [
        &["series", "lastObservedTime"],
        &["deprecatedLastTimestamp"],
        &["eventTime"],
        &["metadata", "creationTimestamp"],
    ];
    let text = places.iter().find_map(|place| event.at(place).and_then(Value::as_str));
    text.and_then(|text| Timestamp::parse(text).ok())
}

/// Returns whether an object that is gone was made for one of the app's, by the names that controllers give.
fn is_called_so(id: &ObjectId, own: &BTreeSet<&ObjectId>) -> bool {
    let is_made = |owner: &&ObjectId| {
        let rest = id.name.strip_prefix(owner.name.as_str());
        matches!(owner.group.as_str(), "apps" | "batch") && rest.is_some_and(|rest| rest.starts_with('-'))
    };
    own.iter().copied().any(|owner| owner.namespace == id.namespace && is_made(&owner))
}

fn document(event: &Object, id: &ObjectId, time: Timestamp, secrets: &Secrets) -> Value {
    let text = |path: &[&str]| event.at(path).and_then(Value::as_str).unwrap_or_default();
    let count = |path: &[&str]| event.at(path).and_then(Value::as_u64);
    let count = count(&["series", "count"]).or_else(|| count(&["deprecatedCount"])).unwrap_or(1);
    json!({
        "time": time,
        "kind": text(&["reason"]),
        "detail": format!("{}: {}", id.short(), secrets.mask(text(&["note"]))),
        "source": "kubernetes",
        "object": id,
        "type": text(&["type"]),
        "count": count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ObjectState, SecretValue};
    use crate::target::scripted::Scripted;

    #[tokio::test]
    async fn events_of_own_objects_and_of_what_was_made_for_them_are_told_in_order_without_secrets() {
        let app = AppName::parse("blog").unwrap();
        let object = |value: Value| Object::from_value(value).unwrap();
        let event = |kind: &str, name: &str, time: &str, note: &str| {
            let api_version = if kind == "Pod" { "v1" } else { "apps/v1" };
            object(json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": note}, "reason": "R",
                "type": "Warning", "note": note, "eventTime": time, "deprecatedCount": 3, "regarding":
                {"apiVersion": api_version, "kind": kind, "namespace": "blog", "name": name}}))
        };
        let pod = |name: &str, labels: Value| {
            object(json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": "blog", "labels": labels}}))
        };
        let (ours, theirs) = (pod("web-1", json!({"rewild.dev/app": "blog"})), pod("other-1", json!({})));
        let target = Scripted {
            told: vec![
                event("Pod", "web-1", "2026-11-21T12:00:03Z", "third: the-password"),
                event("Deployment", "web", "2026-11-21T12:00:01.5Z", "first"),
                event("Pod", "web-gone", "2026-11-21T12:00:02Z", "second"),
                event("Pod", "other-1", "2026-11-21T12:00:02Z", "of another"),
                event("Pod", "other-gone", "2026-11-21T12:00:02Z", "of another"),
                event("Pod", "web-1", "no time", "never"),
            ],
            objects: [(ours.id(), Ok(ours)), (theirs.id(), Ok(theirs))].into(),
            ..Scripted::default()
        };
        let mut state: AppState = serde_json::from_value(json!({
            "name": "blog", "package": "", "version": "", "available": "", "update": null, "namespace": "blog",
            "health": "healthy", "healthReason": "", "intent": "applied", "reason": "", "needsYou": "", "hint": "",
            "lifecycle": "deployed", "drift": [], "conflicts": 0, "commit": null, "applied": null, "objects": [],
            "observedAt": "2026-11-21T12:00:00Z",
        }))
        .unwrap();
        let web = ObjectId::new("apps", "Deployment", "blog", "web");
        state.objects = vec![ObjectState { object: web, health: "healthy".into(), reason: String::new() }];
        let mut secrets = Secrets::new();
        secrets.insert("apps.blog.password", SecretValue::new("the-password".into()));
        let found = events(&app, &state, &target, &secrets).await.unwrap();
        let told: Vec<&str> = found.iter().map(|(_, event)| event["detail"].as_str().unwrap()).collect();
        assert_eq!(told, ["Deployment/web: first", "Pod/web-gone: second", "Pod/web-1: third: (hidden)"]);
        assert_eq!((&found[0].1["count"], &found[0].1["kind"]), (&json!(3), &json!("R")));
    }
}
