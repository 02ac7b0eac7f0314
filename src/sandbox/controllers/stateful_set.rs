//! StatefulSets: pods with numbers and claims of their own, made one after the other.
//!
//! Not here: the binding of claims (`volume.rs`).

use serde_json::{Map, Value, json};

use crate::sandbox::controllers::replica_set::{PODS, Pods, is_active, is_ready, pod_of};
use crate::sandbox::controllers::{
    change, controlled, create, is_deleting, number, owner_reference, owners, set_status, template_hash, text,
};
use crate::sandbox::delete::{Wish, delete_object};
use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store, child_mut, metadata_child_mut, metadata_mut};
use crate::sandbox::write::metadata_text;
use crate::schema::{Kind, kind};

const SETS: Sort = Sort { group: "apps", plural: "statefulsets" };
const CLAIMS: Sort = Sort { group: "", plural: "persistentvolumeclaims" };
const REVISIONS: Sort = Sort { group: "apps", plural: "controllerrevisions" };
const REVISION_LABEL: &str = "controller-revision-hash";

/// Brings one StatefulSet a step further.
pub(super) fn reconcile(store: &mut Store, key: &Key) -> Result<(), Failure> {
    let (Some(own), Some(pod)) = (kind("apps", "StatefulSet"), kind("", "Pod")) else { return Ok(()) };
    let Some(live) = store.get(SETS, key).cloned() else { return Ok(()) };
    if is_deleting(&live) {
        return Ok(());
    }
    adopt(store, own, &live)?;
    let revision = record_revision(store, own, &live)?;
    let pods = controlled(store, &live, PODS);
    step(store, (own, pod), &live, (&pods, &revision))?;
    let pods = controlled(store, &live, PODS);
    set_status(store, own, key, |status| set_numbers(status, &live, &pods, &revision))
}

/// Takes over pods and revisions with the labels of the set that another set of its name has left behind.
fn adopt(store: &mut Store, own: &'static Kind, live: &Value) -> Result<(), Failure> {
    let wanted = live.pointer("/spec/selector/matchLabels").and_then(Value::as_object).cloned().unwrap_or_default();
    let prefix = format!("{}-", metadata_text(live, "name"));
    for (sort, name) in [(PODS, "Pod"), (REVISIONS, "ControllerRevision")] {
        let Some(found) = kind(sort.group, name) else { continue };
        let is_orphan = |key: &Key, object: &Value| {
            let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
            let fits = wanted.iter().all(|(name, value)| labels.and_then(|labels| labels.get(name)) == Some(value));
            key.name.starts_with(&prefix) && fits && owners(object).next().is_none() && !is_deleting(object)
        };
        let all = store.list(sort, metadata_text(live, "namespace"));
        let orphans: Vec<Key> =
            all.filter(|(key, object)| is_orphan(key, object)).map(|(key, _)| key.clone()).collect();
        for key in orphans {
            let references = owner_reference(live, own);
            change(store, (found, ""), &key, |object| {
                metadata_mut(object).insert("ownerReferences".to_owned(), references);
            })?;
        }
    }
    Ok(())
}

/// Keeps the template of a workload under the name of its revision and returns that name.
pub(super) fn record_revision(store: &mut Store, kind: &'static Kind, live: &Value) -> Result<String, Failure> {
    let template = live.pointer("/spec/template").cloned().unwrap_or(Value::Null);
    let hash = template_hash(&template);
    let name = format!("{}-{hash}", metadata_text(live, "name"));
    let namespace = metadata_text(live, "namespace");
    let known = store.get(REVISIONS, &Key::new(namespace, &name)).is_some();
    if let (false, Some(revision_kind)) = (known, crate::schema::kind("apps", "ControllerRevision")) {
        let number = controlled(store, live, REVISIONS).len() + 1;
        let mut labels = live.pointer("/spec/template/metadata/labels").cloned().unwrap_or_else(|| json!({}));
        if let Value::Object(labels) = &mut labels {
            labels.insert(REVISION_LABEL.to_owned(), json!(hash));
        }
        let metadata = json!({"name": name, "namespace": namespace, "labels": labels,
            "ownerReferences": owner_reference(live, kind)});
        let data = json!({"spec": {"template": template}});
        create(store, revision_kind, json!({"metadata": metadata, "data": data, "revision": number}))?;
    }
    Ok(name)
}

fn ordinal(key: &Key) -> i64 {
    key.name.rsplit('-').next().and_then(|text| text.parse().ok()).unwrap_or(i64::MAX)
}

/// Makes, replaces or removes the next pods.
fn step(
    store: &mut Store,
    kinds: (&'static Kind, &'static Kind),
    live: &Value,
    state: (&Pods, &str),
) -> Result<(), Failure> {
    let pod_kind = kinds.1;
    let (pods, revision) = state;
    let wanted = number(live, "/spec/replicas");
    let one_by_one = text(live, "/spec/podManagementPolicy") != "Parallel";
    for index in 0..wanted {
        let key = Key::new(metadata_text(live, "namespace"), &format!("{}-{index}", metadata_text(live, "name")));
        let ready = match pods.get(&key) {
            None => {
                make_claims(store, live, index)?;
                make_pod(store, kinds, live, (&key.name, revision))?;
                false
            }
            Some(pod) => is_active(pod) && is_ready(pod),
        };
        if one_by_one && !ready {
            return Ok(());
        }
    }
    if let Some(last) = pods.keys().filter(|key| ordinal(key) >= wanted).max_by_key(|key| ordinal(key)) {
        delete_object(store, pod_kind, last, &Wish::background())?;
        return Ok(());
    }
    // Pods of an old template go from the last to the first, one at a time, when all others are ready.
    let partition = number(live, "/spec/updateStrategy/rollingUpdate/partition");
    let old = |pod: &Value| revision_of(pod) != revision;
    let outdated = pods.iter().filter(|(key, pod)| ordinal(key) >= partition && old(pod));
    let rolling = text(live, "/spec/updateStrategy/type") == "RollingUpdate";
    if let (true, Some((key, _))) = (rolling, outdated.max_by_key(|(key, _)| ordinal(key))) {
        delete_object(store, pod_kind, key, &Wish::background())?;
    }
    Ok(())
}

/// Returns the name of the revision that a pod was made from.
pub(super) fn revision_of(pod: &Value) -> &str {
    let labels = pod.get("metadata").and_then(|metadata| metadata.get("labels"));
    labels.and_then(|labels| labels.get(REVISION_LABEL)).and_then(Value::as_str).unwrap_or("")
}

fn make_pod(
    store: &mut Store,
    kinds: (&'static Kind, &'static Kind),
    live: &Value,
    names: (&str, &str),
) -> Result<(), Failure> {
    let (name, revision) = names;
    let mut pod = pod_of(live, kinds.0, &json!({"name": name}));
    let set = metadata_text(live, "name");
    let labels = metadata_child_mut(&mut pod, "labels");
    labels.insert(REVISION_LABEL.to_owned(), json!(revision));
    labels.insert("statefulset.kubernetes.io/pod-name".to_owned(), json!(name));
    let number = name.rsplit('-').next().unwrap_or("");
    labels.insert("apps.kubernetes.io/pod-index".to_owned(), json!(number));
    let templates = live.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array).cloned().unwrap_or_default();
    let spec = child_mut(&mut pod, "spec");
    spec.insert("hostname".to_owned(), json!(name));
    if let Some(service) = live.pointer("/spec/serviceName") {
        spec.insert("subdomain".to_owned(), service.clone());
    }
    let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
    if let Some(volumes) = volumes.as_array_mut() {
        let index = name.strip_prefix(set).unwrap_or("");
        for template in &templates {
            let volume = metadata_text(template, "name");
            volumes.retain(|it| it.get("name") != Some(&json!(volume)));
            let claim = format!("{volume}-{set}{index}");
            volumes.push(json!({"name": volume, "persistentVolumeClaim": {"claimName": claim}}));
        }
    }
    create(store, kinds.1, pod).map(|_| ())
}

fn make_claims(store: &mut Store, live: &Value, index: i64) -> Result<(), Failure> {
    let Some(claim_kind) = kind("", "PersistentVolumeClaim") else { return Ok(()) };
    let namespace = metadata_text(live, "namespace");
    for template in live.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array).into_iter().flatten() {
        let name = format!("{}-{}-{index}", metadata_text(template, "name"), metadata_text(live, "name"));
        if store.get(CLAIMS, &Key::new(namespace, &name)).is_some() {
            continue;
        }
        let labels = live.pointer("/spec/selector/matchLabels").cloned().unwrap_or_else(|| json!({}));
        let metadata = json!({"name": name, "namespace": namespace, "labels": labels});
        let spec = template.get("spec").cloned().unwrap_or_else(|| json!({}));
        create(store, claim_kind, json!({"metadata": metadata, "spec": spec}))?;
    }
    Ok(())
}

fn set_numbers(status: &mut Map<String, Value>, live: &Value, pods: &Pods, revision: &str) {
    let count = |test: &dyn Fn(&Value) -> bool| {
        i64::try_from(pods.values().filter(|pod| is_active(pod) && test(pod)).count()).unwrap_or(i64::MAX)
    };
    let total = count(&|_| true);
    let updated = count(&|pod| revision_of(pod) == revision);
    let ready = count(&is_ready);
    let wanted = number(live, "/spec/replicas");
    let before = status.get("currentRevision").and_then(Value::as_str).unwrap_or(revision).to_owned();
    let complete = updated == wanted && total == wanted && ready == wanted;
    let current = if complete { revision.to_owned() } else { before };
    let on_current = count(&|pod| revision_of(pod) == current);
    for (key, value) in [
        ("observedGeneration", number(live, "/metadata/generation")),
        ("replicas", total),
        ("readyReplicas", ready),
        ("availableReplicas", ready),
        ("currentReplicas", on_current),
        ("updatedReplicas", updated),
        ("collisionCount", 0),
    ] {
        status.insert(key.to_owned(), json!(value));
    }
    status.insert("currentRevision".to_owned(), json!(current));
    status.insert("updateRevision".to_owned(), json!(revision));
}
