//! Pure. Writes labels and annotations to all objects, pod templates and selectors.
//!
//! Not here: which labels select what in the cluster (`package` lints that).

use serde_json::Value;

use super::fields::{Missing, Place, visit};
use super::item::Item;
use super::kustomization::{Kustomization, Labels, Reach};
use super::weight::{Meter, of_pairs};
use super::{Refusal, refuse};

/// Where labels go besides the metadata of objects: group, version, kind, path. All are created.
const TEMPLATES: [(&str, &str, &str, &str); 9] = [
    ("", "v1", "ReplicationController", "spec/template/metadata/labels"),
    ("", "", "Deployment", "spec/template/metadata/labels"),
    ("", "", "ReplicaSet", "spec/template/metadata/labels"),
    ("", "", "DaemonSet", "spec/template/metadata/labels"),
    ("apps", "", "StatefulSet", "spec/template/metadata/labels"),
    ("apps", "", "StatefulSet", "spec/volumeClaimTemplates[]/metadata/labels"),
    ("batch", "", "Job", "spec/template/metadata/labels"),
    ("batch", "", "CronJob", "spec/jobTemplate/metadata/labels"),
    ("batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/labels"),
];
/// Selectors that are made where they are absent.
const SELECTORS: [(&str, &str, &str, &str); 6] = [
    ("", "v1", "Service", "spec/selector"),
    ("", "v1", "ReplicationController", "spec/selector"),
    ("", "", "Deployment", "spec/selector/matchLabels"),
    ("", "", "ReplicaSet", "spec/selector/matchLabels"),
    ("", "", "DaemonSet", "spec/selector/matchLabels"),
    ("apps", "", "StatefulSet", "spec/selector/matchLabels"),
];
/// Selectors that are changed only where they are.
const EXISTING: [(&str, &str, &str, &str); 6] = [
    ("batch", "", "Job", "spec/selector/matchLabels"),
    ("batch", "", "CronJob", "spec/jobTemplate/spec/selector/matchLabels"),
    ("policy", "", "PodDisruptionBudget", "spec/selector/matchLabels"),
    ("networking.k8s.io", "", "NetworkPolicy", "spec/podSelector/matchLabels"),
    ("networking.k8s.io", "", "NetworkPolicy", "spec/ingress/from/podSelector/matchLabels"),
    ("networking.k8s.io", "", "NetworkPolicy", "spec/egress/to/podSelector/matchLabels"),
];
/// Selectors in the pod templates of Deployments and StatefulSets, changed only where they are.
const SPREADING: [&str; 5] = [
    "affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "topologySpreadConstraints/labelSelector/matchLabels",
];
/// Where annotations go besides the metadata of objects. All are created.
const ANNOTATED: [(&str, &str, &str, &str); 8] = [
    ("", "v1", "ReplicationController", "spec/template/metadata/annotations"),
    ("", "", "Deployment", "spec/template/metadata/annotations"),
    ("", "", "ReplicaSet", "spec/template/metadata/annotations"),
    ("", "", "DaemonSet", "spec/template/metadata/annotations"),
    ("", "", "StatefulSet", "spec/template/metadata/annotations"),
    ("batch", "", "Job", "spec/template/metadata/annotations"),
    ("batch", "", "CronJob", "spec/jobTemplate/metadata/annotations"),
    ("batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/annotations"),
];

/// Writes the labels of `labels` and `commonLabels`; existing values are overwritten. A key in both is none of ours to refuse: `kustomize
/// build` takes the one of `commonLabels`, and only `kustomize edit fix` complains.
pub(super) fn add_labels(kustomization: &Kustomization, items: &mut [Item], meter: &Meter) -> Result<(), Refusal> {
    let common = Labels { pairs: kustomization.common_labels.clone(), reach: Reach::Selectors, ..Labels::default() };
    let labels = kustomization.labels.iter().chain([&common]);
    for labels in labels.filter(|labels| !labels.pairs.is_empty() || !labels.places.is_empty()) {
        let known = places(labels.reach);
        for own in &labels.places {
            if known.iter().any(|place| place.create != own.create && is_same(place, own)) {
                let message = format!("labels write {} already, with another value of create", own.path.join("/"));
                return refuse("K106", &kustomization.file, labels.line, message);
            }
        }
        write(&labels.pairs, known.iter().chain(&labels.places), items, meter);
        meter.check(&kustomization.file, labels.line)?;
    }
    Ok(())
}

/// Writes `commonAnnotations`.
pub(super) fn add_annotations(kustomization: &Kustomization, items: &mut [Item], meter: &Meter) -> Result<(), Refusal> {
    if kustomization.common_annotations.is_empty() {
        return Ok(());
    }
    let mut places = vec![place(&("", "", "", "metadata/annotations"), true)];
    places.extend(ANNOTATED.iter().map(|entry| place(entry, true)));
    write(&kustomization.common_annotations, places.iter(), items, meter);
    meter.check(&kustomization.file, 1)
}

/// Writes pairs until as much as may be is taken.
fn write<'a>(pairs: &[(String, String)], places: impl Iterator<Item = &'a Place>, items: &mut [Item], meter: &Meter) {
    let weight = of_pairs(pairs);
    for place in places {
        let missing = if place.create { Missing::Map } else { Missing::Skip };
        for item in items.iter_mut().filter(|item| place.selects(&item.object)) {
            visit(&mut item.object, &place.path, missing, &mut |value| {
                if let Some(map) = value.as_object_mut()
                    && meter.take(weight)
                {
                    map.extend(pairs.iter().map(|(key, text)| (key.clone(), Value::from(text.as_str()))));
                }
            });
        }
    }
}

fn places(reach: Reach) -> Vec<Place> {
    let mut places = vec![place(&("", "", "", "metadata/labels"), true)];
    if reach != Reach::Metadata {
        places.extend(TEMPLATES.iter().map(|entry| place(entry, true)));
    }
    if reach == Reach::Selectors {
        places.extend(SELECTORS.iter().map(|entry| place(entry, true)));
        places.extend(EXISTING.iter().map(|entry| place(entry, false)));
        for kind in ["Deployment", "StatefulSet"] {
            let path = |rest| format!("spec/template/spec/{rest}");
            places.extend(SPREADING.iter().map(|rest| place(&("apps", "", kind, &path(rest)), false)));
        }
    }
    places
}

fn place((group, version, kind, path): &(&str, &str, &str, &str), create: bool) -> Place {
    let own = |text: &str| text.to_owned();
    Place { group: own(group), version: own(version), kind: own(kind), path: Place::split(path), create }
}

fn is_same(a: &Place, b: &Place) -> bool {
    a.path == b.path && a.kind == b.kind && a.group == b.group && a.version == b.version
}
