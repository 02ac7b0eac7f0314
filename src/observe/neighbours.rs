//! What lives beside the app's own objects in a namespace that may go with it.
//!
//! What the app's objects own goes with them, and what the system makes in every namespace is nobody's. Everything else would be lost with the
//! namespace, whoever owns it. Not here: listing a namespace (`target`), what follows (`plan`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::live::{Seen, seen};
use super::volumes;
use crate::model::{Object, ObjectId};
use crate::plan::{Snapshot, namespace};
use crate::target::{Refusal, RefusalKind, Target};

/// Owners outside of a namespace that are looked for; what more of them own counts as somebody else's.
const MAX_OWNERS: usize = 50;

/// Lists what lives beside the app's own objects in each of its namespaces that may go.
pub(super) async fn fill(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    let goes = |id: &ObjectId| {
        let is_there = snapshot.live.get(id).is_some_and(|live| !live.terminating);
        *id == namespace::id(&id.name) && is_there && volumes::may_go(snapshot, id)
    };
    let ids = snapshot.inventory.records().map(|record| &record.id).filter(|id| goes(id));
    let names: Vec<String> = ids.map(|id| id.name.clone()).collect();
    for name in names {
        let contents = match target.contents(&name).await {
            // That passes, and then it is seen whether anything is in it; who may not look never will.
            Err(refusal) if refusal.kind == RefusalKind::Unserved => {
                snapshot.unseen.insert(namespace::id(&name), refusal.message);
                continue;
            }
            answer => seen(answer)?,
        };
        let Seen::Answer(contents) = contents else { continue };
        let neighbours = others(snapshot, &contents, target).await?;
        snapshot.neighbours.insert(name, neighbours);
    }
    Ok(())
}

/// Returns what in a namespace would be lost although it is neither the app's nor the system's.
async fn others(snapshot: &Snapshot, contents: &[Object], target: &dyn Target) -> Result<Vec<String>, Refusal> {
    let mut going: BTreeSet<&str> = snapshot.inventory.records().map(|record| record.uid.as_str()).collect();
    going.remove("");
    let mut left: Vec<&Object> = contents.iter().filter(|object| !is_system(object)).collect();
    take_owned(snapshot, &mut left, &mut going);
    let there: BTreeSet<&str> = left.iter().map(|object| uid(object)).collect();
    let absent: BTreeMap<&str, (ObjectId, String)> = left
        .iter()
        .flat_map(|object| owners(object).map(|owner| (object.namespace(), owner)))
        .map(|(namespace, owner)| (text(owner, "uid"), reference(owner, namespace)))
        .filter(|(uid, _)| !there.contains(uid) && !going.contains(uid))
        .collect();
    for (uid, (id, api_version)) in absent.into_iter().take(MAX_OWNERS) {
        // What an owner leaves that is gone is on its way: the cluster collects it.
        if let Seen::Answer(found) = seen(target.metadata(&id, &api_version).await)?
            && found.is_none_or(|found| self::uid(&found) != uid)
        {
            going.insert(uid);
        }
    }
    take_owned(snapshot, &mut left, &mut going);
    Ok(left.into_iter().map(|object| object.id().short()).collect())
}

/// Takes out what is ours and what is owned by nothing but that, in as many generations as there are.
fn take_owned<'a>(snapshot: &Snapshot, left: &mut Vec<&'a Object>, going: &mut BTreeSet<&'a str>) {
    loop {
        let before = left.len();
        left.retain(|object| {
            let is_owned =
                owners(object).next().is_some() && owners(object).all(|owner| going.contains(text(owner, "uid")));
            let goes = is_ours(snapshot, object) || is_owned;
            if goes {
                going.insert(uid(object));
            }
            !goes
        });
        // Each round takes something out, so there are no more of them than objects.
        if left.len() == before {
            return;
        }
    }
}

fn is_ours(snapshot: &Snapshot, object: &Object) -> bool {
    object.label("rewild.dev/instance") == Some(snapshot.instance.as_str())
        && object.label("rewild.dev/app") == Some(snapshot.app.as_str())
}

/// Returns whether the system makes an object in every namespace.
fn is_system(object: &Object) -> bool {
    matches!(
        (object.kind(), object.name()),
        ("ServiceAccount", "default")
            | ("ConfigMap", "kube-root-ca.crt")
            | ("Event" | "Endpoints" | "EndpointSlice" | "Lease", _)
    )
}

fn owners(object: &Object) -> impl Iterator<Item = &Value> {
    object.at(&["metadata", "ownerReferences"]).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the object that a reference names, and the version to ask with. One outside of namespaces is found by its name alone.
fn reference(owner: &Value, namespace: &str) -> (ObjectId, String) {
    let api_version = text(owner, "apiVersion");
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    (ObjectId::new(group, text(owner, "kind"), namespace, text(owner, "name")), api_version.to_owned())
}

fn uid(object: &Object) -> &str {
    object.at(&["metadata", "uid"]).and_then(Value::as_str).unwrap_or("")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Inventory, Record};
    use crate::observe::live::tests::snapshot;
    use crate::target::scripted::Scripted;

    fn object(kind: &str, name: &str, owners: &[(&str, &str)]) -> Object {
        let owners: Vec<Value> = owners
            .iter()
            .map(|(kind, name)| json!({"apiVersion": "example.org/v1", "kind": kind, "name": name, "uid": format!("u-{name}")}))
            .collect();
        let metadata =
            json!({"name": name, "namespace": "blog", "uid": format!("u-{name}"), "ownerReferences": owners});
        Object::from_value(json!({"apiVersion": "v1", "kind": kind, "metadata": metadata})).unwrap()
    }

    #[tokio::test]
    async fn only_what_the_apps_own_objects_own_goes_with_them() {
        let web = ObjectId::new("apps", "Deployment", "blog", "web");
        let inventory = Inventory::new([Record { uid: "u-web".into(), ..Record::sample(web) }]);
        let operator = ObjectId::new("example.org", "Database", "blog", "db");
        let there = Object::from_value(json!({"kind": "Database", "metadata": {"name": "db", "uid": "u-db"}})).unwrap();
        let target = Scripted { objects: [(operator, Ok(there))].into(), ..Scripted::default() };
        let snapshot = snapshot(&Scripted::default(), inventory).await;
        let contents = [
            object("Pod", "web-1-a", &[("ReplicaSet", "web-1")]),
            object("ReplicaSet", "web-1", &[("Deployment", "web")]),
            object("Secret", "of-operator", &[("Database", "db")]),
            object("Secret", "of-both", &[("Deployment", "web"), ("Database", "db")]),
            object("Pod", "left-over", &[("ReplicaSet", "gone")]),
            object("Deployment", "theirs", &[]),
            object("ReplicaSet", "theirs-1", &[("Deployment", "theirs")]),
            object("ServiceAccount", "default", &[]),
        ];
        let found = others(&snapshot, &contents, &target).await.unwrap();
        assert_eq!(found, ["Secret/of-operator", "Secret/of-both", "Deployment/theirs", "ReplicaSet/theirs-1"]);
    }
}
