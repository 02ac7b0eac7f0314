//! Pure. Lets fields that name other objects follow them after names and namespaces changed.
//!
//! A field follows if exactly one object of the wanted kind was ever called so and can be meant from where the field is.
//!
//! Not here: the changes of names (`rename.rs`, `generate.rs`). Custom resources are not followed.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::fields::{Missing, visit};
use super::item::Item;
use super::weight::{Meter, of_text};
use super::{Refusal, refuse};

/// A kind of objects that others name: group, empty for any, and kind; then its referrers.
struct Named {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    referrers: Vec<Referrer>,
}

/// A field that names an object.
struct Referrer {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    path: Vec<&'static str>,
}

/// Kinds that hold a pod, with the path to its specification.
const PODS: [(&str, &str); 9] = [
    ("Pod", "spec"),
    ("PodTemplate", "template/spec"),
    ("Deployment", "spec/template/spec"),
    ("ReplicaSet", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
    ("StatefulSet", "spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
    ("ReplicationController", "spec/template/spec"),
];
/// Fields of a pod that name ConfigMaps.
const POD_CONFIG_MAPS: [&str; 6] = [
    "volumes/configMap/name",
    "containers/env/valueFrom/configMapKeyRef/name",
    "initContainers/env/valueFrom/configMapKeyRef/name",
    "containers/envFrom/configMapRef/name",
    "initContainers/envFrom/configMapRef/name",
    "volumes/projected/sources/configMap/name",
];
/// Fields of a pod that name Secrets.
const POD_SECRETS: [&str; 7] = [
    "volumes/secret/secretName",
    "containers/env/valueFrom/secretKeyRef/name",
    "initContainers/env/valueFrom/secretKeyRef/name",
    "containers/envFrom/secretRef/name",
    "initContainers/envFrom/secretRef/name",
    "imagePullSecrets/name",
    "volumes/projected/sources/secret/name",
];
/// Group of roles and bindings.
const RBAC: &str = "rbac.authorization.k8s.io";
/// Group of webhook configurations.
const ADMISSION: &str = "admissionregistration.k8s.io";

static TABLE: LazyLock<Vec<Named>> = LazyLock::new(table);

/// The fields that name others, by the kind that has them: most objects refer to nothing.
static FIELDS: LazyLock<BTreeMap<&str, Vec<(&Named, &Referrer)>>> = LazyLock::new(|| {
    let mut fields: BTreeMap<&str, Vec<(&Named, &Referrer)>> = BTreeMap::new();
    for (named, referrer) in TABLE.iter().flat_map(|named| named.referrers.iter().map(move |it| (named, it))) {
        fields.entry(referrer.kind).or_default().push((named, referrer));
    }
    fields
});

fn table() -> Vec<Named> {
    let mut table: Vec<Named> = Vec::new();
    for kind in ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"] {
        table.push(named("", "", kind, &[("", "HorizontalPodAutoscaler", "spec/scaleTargetRef/name")]));
    }
    let mut config_maps = named("", "v1", "ConfigMap", &CONFIG_MAP_FIELDS);
    config_maps.add_pods(&POD_CONFIG_MAPS, &["ReplicationController"]);
    config_maps.referrers.push(annotation("nginx.ingress.kubernetes.io/fastcgi-params-configmap"));
    let mut secrets = named("", "v1", "Secret", &SECRET_FIELDS);
    secrets.add_pods(&POD_SECRETS, &["ReplicationController"]);
    for name in ["ingress.kubernetes.io/auth-secret", "nginx.ingress.kubernetes.io/auth-secret"] {
        secrets.referrers.push(annotation(name));
    }
    secrets.referrers.push(annotation("nginx.ingress.kubernetes.io/auth-tls-secret"));
    secrets.referrers.push(Referrer {
        group: "serving.knative.dev",
        version: "v1",
        kind: "Service",
        path: "spec/template/spec/containers/env/valueFrom/secretKeyRef/name".split('/').collect(),
    });
    table.extend([config_maps, secrets, named("", "v1", "Service", &SERVICE_FIELDS)]);
    table.push(named(RBAC, "", "Role", &[(RBAC, "RoleBinding", "roleRef/name")]));
    let bindings = [(RBAC, "RoleBinding", "roleRef/name"), (RBAC, "ClusterRoleBinding", "roleRef/name")];
    table.push(named(RBAC, "", "ClusterRole", &bindings));
    let subjects = [(RBAC, "RoleBinding", "subjects"), (RBAC, "ClusterRoleBinding", "subjects")];
    let not_followed = ["PodTemplate", "ReplicaSet"];
    for (kind, group, fields, field) in [
        ("ServiceAccount", "", &subjects[..], "serviceAccountName"),
        ("PersistentVolumeClaim", "", &[], "volumes/persistentVolumeClaim/claimName"),
        ("PriorityClass", "scheduling.k8s.io", &[], "priorityClassName"),
    ] {
        let mut entry = named(group, "v1", kind, fields);
        entry.add_pods(&[field], &not_followed);
        table.push(entry);
    }
    let volumes = [("", "PersistentVolumeClaim", "spec/volumeName"), ("", "ClusterRole", "rules/resourceNames")];
    table.push(named("", "v1", "PersistentVolume", &volumes));
    table.push(named("storage.k8s.io", "v1", "StorageClass", &STORAGE_CLASS_FIELDS));
    let policy = [(ADMISSION, "ValidatingAdmissionPolicyBinding", "spec/policyName")];
    table.push(named(ADMISSION, "", "ValidatingAdmissionPolicy", &policy));
    table
}

/// Group, kind and path of a field.
type Field = (&'static str, &'static str, &'static str);

const CONFIG_MAP_FIELDS: [Field; 3] = [
    ("", "Node", "spec/configSource/configMap"),
    ("", "Role", "rules/resourceNames"),
    ("", "ClusterRole", "rules/resourceNames"),
];
const SECRET_FIELDS: [Field; 9] = [
    ("", "Ingress", "spec/tls/secretName"),
    ("", "ServiceAccount", "imagePullSecrets/name"),
    ("", "StorageClass", "parameters/secretName"),
    ("", "StorageClass", "parameters/adminSecretName"),
    ("", "StorageClass", "parameters/userSecretName"),
    ("", "StorageClass", "parameters/secretRef"),
    ("", "Role", "rules/resourceNames"),
    ("", "ClusterRole", "rules/resourceNames"),
    ("", "PersistentVolume", "spec/azureFile/secretName"),
];
const SERVICE_FIELDS: [Field; 8] = [
    ("apps", "StatefulSet", "spec/serviceName"),
    ("", "Ingress", "spec/rules/http/paths/backend/serviceName"),
    ("", "Ingress", "spec/backend/serviceName"),
    ("", "Ingress", "spec/rules/http/paths/backend/service/name"),
    ("", "Ingress", "spec/defaultBackend/service/name"),
    ("apiregistration.k8s.io", "APIService", "spec/service/name"),
    (ADMISSION, "ValidatingWebhookConfiguration", "webhooks/clientConfig/service"),
    (ADMISSION, "MutatingWebhookConfiguration", "webhooks/clientConfig/service"),
];
const STORAGE_CLASS_FIELDS: [Field; 3] = [
    ("", "PersistentVolume", "spec/storageClassName"),
    ("", "PersistentVolumeClaim", "spec/storageClassName"),
    ("", "StatefulSet", "spec/volumeClaimTemplates/spec/storageClassName"),
];

fn named(group: &'static str, version: &'static str, kind: &'static str, fields: &[Field]) -> Named {
    let referrer = |(group, kind, path): &Field| Referrer { group, version: "", kind, path: path.split('/').collect() };
    Named { group, version, kind, referrers: fields.iter().map(referrer).collect() }
}

fn annotation(name: &'static str) -> Referrer {
    Referrer { group: "", version: "", kind: "Ingress", path: vec!["metadata", "annotations", name] }
}

impl Named {
    /// Adds fields of pods, in all kinds that hold one but some.
    fn add_pods(&mut self, fields: &[&'static str], but: &[&str]) {
        for (kind, spec) in PODS.iter().filter(|(kind, _)| !but.contains(kind)) {
            for field in fields {
                let path = spec.split('/').chain(field.split('/')).collect();
                self.referrers.push(Referrer { group: "", version: "", kind, path });
            }
        }
    }
}

/// What can be said of an object as the target of a field, taken before any field changes.
struct Candidate {
    group: String,
    version: String,
    kinds: Vec<String>,
    name: String,
    namespace: String,
    raw_namespace: String,
    first_namespace: String,
    cluster_scoped: bool,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
}

/// Lets all fields follow the objects that they name.
pub(super) fn follow(items: &mut [Item], meter: &Meter) -> Result<(), Refusal> {
    let mut former: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let candidates: Vec<Candidate> = items.iter().map(candidate).collect();
    for (position, item) in items.iter().enumerate() {
        for id in item.former_ids() {
            let known = former.entry(id.name.to_owned()).or_default();
            if known.last() != Some(&position) {
                known.push(position);
            }
        }
    }
    if former.is_empty() {
        return Ok(());
    }
    let mut spaces: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (position, candidate) in candidates.iter().enumerate() {
        spaces.entry(candidate.first_namespace.clone()).or_default().push(position);
    }
    for item in items.iter_mut() {
        let Some(fields) = FIELDS.get(item.original().kind) else { continue };
        let scope = Scope::of(item);
        for (named, referrer) in fields.iter().copied().filter(|(_, referrer)| referrer.is(item)).collect::<Vec<_>>() {
            let known = Known { candidates: &candidates, former: &former, spaces: &spaces };
            follow_field(item, &Lookup { known, scope: &scope, named, referrer, meter })?;
        }
    }
    Ok(())
}

/// Lets one field of an object follow what it names.
fn follow_field(item: &mut Item, lookup: &Lookup<'_>) -> Result<(), Refusal> {
    let mut failure = None;
    visit(&mut item.object, &lookup.referrer.path, Missing::Skip, &mut |value| {
        if let Err(names) = lookup.update(value) {
            failure = Some(names);
        }
    });
    let Some(names) = failure else { return lookup.meter.check(&item.file, item.line) };
    let path = lookup.referrer.path.join(".");
    refuse("K160", &item.file, item.line, format!("{path} of {} could mean {names}", item.id()))
}

fn candidate(item: &Item) -> Candidate {
    Candidate {
        group: item.object.group().to_owned(),
        version: item.object.version().to_owned(),
        kinds: item.former.iter().map(|former| former.kind.clone()).collect(),
        name: item.object.name().to_owned(),
        namespace: item.namespace().to_owned(),
        raw_namespace: item.object.namespace().to_owned(),
        first_namespace: item.original().namespace.to_owned(),
        cluster_scoped: item.is_cluster_scoped(),
        prefixes: item.prefixes.clone(),
        suffixes: item.suffixes.clone(),
    }
}

impl Referrer {
    fn is(&self, item: &Item) -> bool {
        let first = item.original();
        let fits = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        fits(self.group, first.group) && fits(self.version, first.version) && self.kind == first.kind
    }
}

/// From where a field looks at other objects.
struct Scope {
    namespace: String,
    cluster_scoped: bool,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
    /// Group and kind of a binding's role.
    role: Option<(String, String)>,
    /// Namespaces of ServiceAccounts in a RoleBinding.
    subject_namespaces: Vec<String>,
}

impl Scope {
    fn of(item: &Item) -> Self {
        let role = |key: &str| item.object.at(&["roleRef", key]).and_then(Value::as_str).map(str::to_owned);
        let subjects = item.object.0.get("subjects").filter(|_| item.object.kind() == "RoleBinding");
        let subjects = subjects.and_then(Value::as_array).into_iter().flatten();
        let accounts = subjects.filter(|it| it.get("kind").and_then(Value::as_str) == Some("ServiceAccount"));
        Self {
            namespace: item.namespace().to_owned(),
            cluster_scoped: item.is_cluster_scoped(),
            prefixes: item.prefixes.clone(),
            suffixes: item.suffixes.clone(),
            role: role("apiGroup").zip(role("kind")),
            subject_namespaces: accounts
                .filter_map(|it| it.get("namespace").and_then(Value::as_str).map(str::to_owned))
                .collect(),
        }
    }
}

/// All objects, and which were called or lay where.
#[derive(Clone, Copy)]
struct Known<'a> {
    candidates: &'a [Candidate],
    /// Positions by each former name.
    former: &'a BTreeMap<String, Vec<usize>>,
    /// Positions by the first namespace.
    spaces: &'a BTreeMap<String, Vec<usize>>,
}

struct Lookup<'a> {
    known: Known<'a>,
    scope: &'a Scope,
    named: &'a Named,
    referrer: &'a Referrer,
    meter: &'a Meter,
}

impl Lookup<'_> {
    /// Changes a field; an error lists the objects between which it cannot choose.
    fn update(&self, value: &mut Value) -> Result<(), String> {
        match value {
            Value::String(name) => {
                if let Some(found) = self.find(name, &|_| true, &|a, b| a.name == b.name)?
                    && self.meter.take(found.name.len())
                {
                    name.clone_from(&found.name);
                }
                Ok(())
            }
            Value::Object(_) => self.update_map(value),
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.update(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    /// Changes name and namespace together.
    fn update_map(&self, value: &mut Value) -> Result<(), String> {
        let Some(map) = value.as_object_mut() else { return Ok(()) };
        let Some(name) = map.get("name").and_then(Value::as_str).map(str::to_owned) else { return Ok(()) };
        let namespace = map.get("namespace").and_then(Value::as_str).map(str::to_owned);
        let was_there = namespace.as_ref().is_some_and(|namespace| {
            let there = self.known.spaces.get(namespace).map(Vec::as_slice).unwrap_or_default();
            there.iter().filter_map(|at| self.known.candidates.get(*at)).any(|it| self.is_visible(it))
        });
        let in_namespace = |candidate: &Candidate| match &namespace {
            None => true,
            Some(namespace) if was_there => candidate.first_namespace == *namespace,
            Some(namespace) => candidate.namespace == *namespace,
        };
        let same = |a: &Candidate, b: &Candidate| a.name == b.name && a.raw_namespace == b.raw_namespace;
        let Some(found) = self.find(&name, &in_namespace, &same)? else { return Ok(()) };
        if !self.meter.take(of_text(&found.name) + of_text(&found.raw_namespace)) {
            return Ok(());
        }
        map.insert("name".to_owned(), Value::from(found.name.as_str()));
        if !found.raw_namespace.is_empty() {
            map.insert("namespace".to_owned(), Value::from(found.raw_namespace.as_str()));
        }
        Ok(())
    }

    fn find(
        &self,
        name: &str,
        extra: &dyn Fn(&Candidate) -> bool,
        same: &dyn Fn(&Candidate, &Candidate) -> bool,
    ) -> Result<Option<&Candidate>, String> {
        let positions = self.known.former.get(name).map(Vec::as_slice).unwrap_or_default();
        let fits = |it: &&Candidate| {
            self.is_visible(it) && extra(it) && self.is_wanted_kind(it) && self.is_wanted_role(it) && self.is_near(it)
        };
        let mut found: Vec<&Candidate> =
            positions.iter().filter_map(|at| self.known.candidates.get(*at)).filter(fits).collect();
        if let [one] = found.as_slice() {
            return Ok(Some(one));
        }
        found.retain(|it| self.shares_affixes(it, true));
        if found.len() > 1 {
            found.retain(|it| self.shares_affixes(it, false));
        }
        match found.as_slice() {
            [] => Ok(None),
            [first, rest @ ..] if rest.iter().all(|other| same(first, other)) => Ok(Some(first)),
            _ => {
                let shown = |it: &&Candidate| format!("{} in namespace {}", it.name, it.namespace);
                let names: Vec<String> = found.iter().map(shown).collect();
                Err(names.join(" or "))
            }
        }
    }

    fn is_visible(&self, candidate: &Candidate) -> bool {
        self.scope.cluster_scoped
            || candidate.cluster_scoped
            || candidate.namespace == self.scope.namespace
            || self.scope.subject_namespaces.contains(&candidate.raw_namespace)
    }

    fn is_near(&self, candidate: &Candidate) -> bool {
        self.scope.cluster_scoped
            || candidate.cluster_scoped
            || candidate.kinds.iter().any(|kind| kind == "ServiceAccount")
            || candidate.namespace == self.scope.namespace
    }

    fn is_wanted_kind(&self, candidate: &Candidate) -> bool {
        let fits = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        fits(self.named.group, &candidate.group)
            && fits(self.named.version, &candidate.version)
            && candidate.kinds.iter().any(|kind| kind == self.named.kind)
    }

    fn is_wanted_role(&self, candidate: &Candidate) -> bool {
        match &self.scope.role {
            Some((group, kind)) if self.referrer.path == ["roleRef", "name"] => {
                (group.is_empty() || candidate.group == *group) && candidate.kinds.iter().any(|it| it == kind)
            }
            Some(_) | None => true,
        }
    }

    /// Returns whether an object went through the same prefixes and suffixes as the referrer.
    fn shares_affixes(&self, candidate: &Candidate, lenient: bool) -> bool {
        let shares = |a: &[String], b: &[String]| {
            lenient && (a.is_empty() || b.is_empty())
                || a.iter().rev().zip(b.iter().rev()).all(|(a, b)| a == b) && (a.is_empty() == b.is_empty())
        };
        shares(&candidate.prefixes, &self.scope.prefixes) && shares(&candidate.suffixes, &self.scope.suffixes)
    }
}
