//! Namespaces: what each one gets, and how one that is deleted is emptied and removed.
//!
//! Not here: that no new object enters a namespace that is being deleted (`admission.rs`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::sandbox::controllers::{Controller, change, create, is_deleting, set_condition, set_status};
use crate::sandbox::delete::{Wish, delete_object};
use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store, child_mut, metadata_mut};
use crate::schema::{Kind, Scope, kind, kinds};

pub(crate) const NAMESPACES: Sort = Sort { group: "", plural: "namespaces" };
const ACCOUNTS: Sort = Sort { group: "", plural: "serviceaccounts" };
const CONFIG_MAPS: Sort = Sort { group: "", plural: "configmaps" };
const ROOT_CERTIFICATE: &str = "kube-root-ca.crt";

/// Looks at one namespace.
pub(super) fn react(store: &mut Store, key: &Key) -> Result<(), Failure> {
    let Some(live) = store.get(NAMESPACES, key).cloned() else { return Ok(()) };
    match (is_deleting(&live), kind("", "Namespace")) {
        (true, Some(kind)) if store.running.contains(&Controller::Namespace) => empty(store, kind, key),
        (false, _) if store.running.contains(&Controller::NamespaceContent) => furnish(store, &key.name),
        _ => Ok(()),
    }
}

/// Gives a namespace what every namespace has.
fn furnish(store: &mut Store, namespace: &str) -> Result<(), Failure> {
    if let Some(kind) = kind("", "ServiceAccount")
        && store.get(ACCOUNTS, &Key::new(namespace, "default")).is_none()
    {
        create(store, kind, json!({"metadata": {"name": "default", "namespace": namespace}}))?;
    }
    if let Some(kind) = kind("", "ConfigMap")
        && store.get(CONFIG_MAPS, &Key::new(namespace, ROOT_CERTIFICATE)).is_none()
    {
        let about = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
        let annotations = json!({"kubernetes.io/description": about});
        let metadata = json!({"name": ROOT_CERTIFICATE, "namespace": namespace, "annotations": annotations});
        create(store, kind, json!({"metadata": metadata, "data": {"ca.crt": "This cluster speaks plain HTTP."}}))?;
    }
    Ok(())
}

/// Deletes what is in a namespace; once it is empty, lets it go.
fn empty(store: &mut Store, namespace_kind: &'static Kind, key: &Key) -> Result<(), Failure> {
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    let mut finalizers: BTreeMap<String, usize> = BTreeMap::new();
    for kind in content_kinds(store) {
        let sort = Sort::of(kind);
        let keys: Vec<Key> = store.list(sort, &key.name).map(|(key, _)| key.clone()).collect();
        for object in keys {
            let deleting = store.get(sort, &object).is_some_and(|it| is_deleting(it));
            if !deleting {
                delete_object(store, kind, &object, &Wish::background())?;
            }
            let Some(rest) = store.get(sort, &object) else { continue };
            let group = if kind.group.is_empty() { String::new() } else { kind.group.to_owned() };
            *left.entry(format!("{}.{group}", kind.plural)).or_default() += 1;
            for name in rest.pointer("/metadata/finalizers").and_then(Value::as_array).into_iter().flatten() {
                *finalizers.entry(name.as_str().unwrap_or("").to_owned()).or_default() += 1;
            }
        }
    }
    let now = store.now_text();
    let remains = !left.is_empty();
    set_status(store, namespace_kind, key, |status| set_conditions(status, &left, &finalizers, &now))?;
    if remains {
        return Ok(());
    }
    change(store, (namespace_kind, "finalize"), key, |namespace| {
        let spec = child_mut(namespace, "spec");
        let list: Vec<Value> = spec.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
        let list: Vec<Value> = list.into_iter().filter(|name| name != "kubernetes").collect();
        spec.insert("finalizers".to_owned(), Value::Array(list));
        metadata_mut(namespace).shift_remove("managedFields");
    })
}

fn content_kinds(store: &Store) -> Vec<&'static Kind> {
    let sorts = store.sorts();
    let mut found: Vec<&'static Kind> = Vec::new();
    for kind in kinds().iter().filter(|kind| kind.scope == Scope::Namespaced && sorts.contains(&Sort::of(kind))) {
        if !found.iter().any(|other| Sort::of(other) == Sort::of(kind)) {
            found.push(kind);
        }
    }
    found
}

fn set_conditions(
    status: &mut Map<String, Value>,
    left: &BTreeMap<String, usize>,
    finalizers: &BTreeMap<String, usize>,
    now: &str,
) {
    let listed = |counts: &BTreeMap<String, usize>, words: &str| {
        counts
            .iter()
            .map(|(name, count)| format!("{name} {words} {count} resource instances"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let remaining = if left.is_empty() {
        ("False", "ContentRemoved", "All content successfully removed".to_owned())
    } else {
        ("True", "SomeResourcesRemain", format!("Some resources are remaining: {}", listed(left, "has")))
    };
    let held = if finalizers.is_empty() {
        ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished".to_owned())
    } else {
        let text = format!("Some content in the namespace has finalizers remaining: {}", listed(finalizers, "in"));
        ("True", "SomeFinalizersRemain", text)
    };
    let fixed = |reason: &'static str, text: &str| ("False", reason, text.to_owned());
    for (sort, (status_text, reason, message)) in [
        ("NamespaceDeletionDiscoveryFailure", fixed("ResourcesDiscovered", "All resources successfully discovered")),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            fixed("ParsedGroupVersions", "All legacy kube types successfully parsed"),
        ),
        (
            "NamespaceDeletionContentFailure",
            fixed("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
        ),
        ("NamespaceContentRemaining", remaining),
        ("NamespaceFinalizersRemaining", held),
    ] {
        let condition = json!({"type": sort, "status": status_text, "reason": reason, "message": message});
        set_condition(status, super::map(condition), now);
    }
}
