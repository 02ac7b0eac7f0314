//! Pure. Snapshots for tests, built in sentences: an app `blog`, what it wants, what it has, what somebody did to it.
//!
//! Not here: cases (`tests`).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::base::Timestamp;
use crate::health::{Health, HealthState};
use crate::model::{
    AdoptPolicy, AppName, CommitId, ConflictPolicy, DeletionBudget, DriftPolicy, Editors, ExtraPolicy, Grants,
    InstanceBudget, InstanceId, Inventory, Object, ObjectId, OwnEntry, Prune, Record, RecoverySettings, apply_set,
};
use crate::plan::wanted::Wanted;
use crate::plan::{
    Ask, Desired, DesiredObject, Elsewhere, Ending, Existing, Freshness, Ground, Live, NamespaceState, Owner, Policy,
    Presence, Remnant, RequirementState, Snapshot, TargetState, hash, namespace, volume,
};

/// Key of every hash in tests.
const KEY: [u8; 32] = [7; 32];
/// Time of our own writes in tests.
const TIME: &str = "2026-11-21T10:00:00Z";

/// A snapshot in the making.
#[derive(Clone, Debug)]
pub(in crate::plan) struct World {
    pub(in crate::plan) snapshot: Snapshot,
}

pub(in crate::plan) fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

pub(in crate::plan) fn config(name: &str, value: &str) -> Object {
    object(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "blog", "labels": {"app": "blog"}}, "data": {"k": value},
    }))
}

pub(in crate::plan) fn secret(name: &str, value: &str) -> Object {
    object(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "blog"}, "stringData": {"password": value},
    }))
}

pub(in crate::plan) fn claim(name: &str) -> Object {
    object(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "blog"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}},
    }))
}

pub(in crate::plan) fn deployment(name: &str, image: &str) -> Object {
    object(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "blog"},
        "spec": {"replicas": 2, "template": {"spec": {
            "containers": [{"name": "web", "image": image, "env": [
                {"name": "A", "value": "1"},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "files", "key": "k"}}},
            ]}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        }}},
    }))
}

pub(in crate::plan) fn job(name: &str) -> Object {
    object(json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "blog"},
        "spec": {"template": {"spec": {"containers": [{"name": "run", "image": "run:1"}]}}},
    }))
}

pub(in crate::plan) fn custom(kind: &str, name: &str) -> Object {
    object(json!({
        "apiVersion": "widgets.example/v1", "kind": kind, "metadata": {"name": name, "namespace": "blog"}, "spec": {"size": 1},
    }))
}

pub(in crate::plan) fn definition(kind: &str) -> Object {
    object(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}s.widgets.example", kind.to_lowercase())},
        "spec": {"group": "widgets.example", "names": {"kind": kind}},
    }))
}

/// Returns the app's namespace as it is being deleted for a while, with what was found in it.
pub(in crate::plan) fn ending(rest: Option<Vec<Remnant>>) -> Ending {
    Ending {
        why: "content remains".into(),
        since: Timestamp::parse("2026-11-21T11:00:00Z").unwrap(),
        uid: "uid-blog".into(),
        finalizers: Vec::new(),
        rest,
    }
}

/// Returns an id in the app's namespace by `Kind/name`.
pub(in crate::plan) fn id(short: &str) -> ObjectId {
    let (kind, name) = short.split_once('/').unwrap();
    let group = match kind {
        "Deployment" => "apps",
        "Job" => "batch",
        "Widget" => "widgets.example",
        "CustomResourceDefinition" => "apiextensions.k8s.io",
        "ClusterRole" => "rbac.authorization.k8s.io",
        _ => "",
    };
    let home = if matches!(kind, "Namespace" | "CustomResourceDefinition" | "ClusterRole") { "" } else { "blog" };
    ObjectId::new(group, kind, home, name)
}

/// Returns the managed fields that a server writes after we applied a payload, in the shape that the payload has.
pub(in crate::plan) fn managed(payload: &Object) -> Value {
    let mut top = payload.0.clone();
    for key in ["apiVersion", "kind"] {
        top.shift_remove(key);
    }
    if let Some(Value::Object(metadata)) = top.get_mut("metadata") {
        metadata.shift_remove("name");
        metadata.shift_remove("namespace");
    }
    json!([{
        "manager": "wild", "operation": "Apply", "apiVersion": payload.api_version(), "time": TIME,
        "fieldsType": "FieldsV1", "fieldsV1": fields_of(&Value::Object(top)),
    }])
}

fn fields_of(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(key, item)| (format!("f:{key}"), fields_of(item))).collect(),
        Value::Array(items) if items.iter().all(|item| item.get("name").is_some()) => items
            .iter()
            .map(|item| {
                let mut fields = fields_of(item);
                fields["."] = json!({});
                (format!("k:{}", json!({"name": item["name"]})), fields)
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => json!({}),
    }
}

/// Returns the settings of an instance that says nothing.
fn policy() -> Policy {
    Policy {
        drift: DriftPolicy::Correct,
        extra: ExtraPolicy::Report,
        ignore: Vec::new(),
        handover: Vec::new(),
        editors: Editors::default(),
        conflicts: ConflictPolicy::Force,
        health: Vec::new(),
        suspend: None,
        adopt: AdoptPolicy::Ask,
        deletion: DeletionBudget::default(),
        health_timeout: Duration::from_secs(600),
        data_grace: Duration::from_secs(7 * 24 * 3600),
        deletion_of_all: InstanceBudget::default(),
        recovery: RecoverySettings::default(),
        grants: Grants::default(),
        control_namespace: "wild-system".into(),
        identity: Default::default(),
        shared: Vec::new(),
    }
}

impl World {
    /// Returns the app in a revision that wants nothing yet, on a cluster that holds nothing yet.
    pub(in crate::plan) fn new() -> Self {
        let instance = InstanceId::parse("k3f7q2m5xd").unwrap();
        let apply_set = apply_set::id(&apply_set::parent_id(&instance, "wild-system"));
        let world = Self {
            snapshot: Snapshot {
                instance,
                apply_set,
                app: AppName::parse("blog").unwrap(),
                cluster: Default::default(),
                namespace: "blog".into(),
                commit: CommitId::parse(&"c".repeat(40)).unwrap(),
                presence: Presence::Kept,
                desired: Desired::Objects(Vec::new()),
                inventory: Inventory::default(),
                found: Vec::new(),
                before: BTreeMap::new(),
                live: BTreeMap::new(),
                existing: BTreeMap::new(),
                audited: Default::default(),
                contact: Default::default(),
                ended: Default::default(),
                done: BTreeMap::new(),
                unseen: BTreeMap::new(),
                freshness: BTreeMap::new(),
                shippers: BTreeMap::new(),
                namespace_state: NamespaceState::Missing,
                neighbours: BTreeMap::new(),
                volumes: BTreeMap::new(),
                held: Vec::new(),
                requirements: Vec::new(),
                dependents: Vec::new(),
                awaited: BTreeMap::new(),
                missing_secrets: Vec::new(),
                unapproved: None,
                withheld: Vec::new(),
                grounds: BTreeMap::new(),
                claims: BTreeMap::new(),
                elsewhere: Elsewhere::default(),
                standing: None,
                refused: false,
                said: BTreeMap::new(),
                cancelled: None,
                fights: BTreeMap::new(),
                agreed: Default::default(),
                underway: Default::default(),
                unspoken: Default::default(),
                unclaimed: Default::default(),
                target: TargetState::Reachable,
                policy: policy(),
                ask: Ask::default(),
                now: Timestamp::parse("2026-11-21T12:00:00Z").unwrap(),
            },
        };
        let core = ["Namespace", "ConfigMap", "Secret", "PersistentVolumeClaim", "Service"];
        core.into_iter().fold(world, |world, kind| world.watch("", kind, Freshness::Fresh)).watch_others()
    }

    /// Opens the watches of the kinds of other groups that tests speak of.
    fn watch_others(self) -> Self {
        self.watch("apps", "Deployment", Freshness::Fresh)
            .watch("batch", "Job", Freshness::Fresh)
            .watch("widgets.example", "Widget", Freshness::Fresh)
            .watch("apiextensions.k8s.io", "CustomResourceDefinition", Freshness::Fresh)
    }

    /// Returns the app with these objects wanted and applied, in a namespace that we made.
    pub(in crate::plan) fn deployed(objects: &[Object]) -> Self {
        let world = objects.iter().fold(Self::new(), |world, object| world.wants(object).has(object));
        world.has_namespace(true)
    }

    /// Adds what we made of the app's namespace.
    pub(in crate::plan) fn has_namespace(mut self, created: bool) -> Self {
        self.snapshot.namespace_state = NamespaceState::Active;
        let world = self.has_desired(&namespace::derived("blog"));
        world.record("Namespace/blog", |record| record.created = created)
    }

    /// Adds a wanted object.
    pub(in crate::plan) fn wants(mut self, object: &Object) -> Self {
        let desired = desired(object);
        if let Desired::Objects(objects) = &mut self.snapshot.desired {
            objects.push(desired);
        }
        self
    }

    /// Takes a wanted object out of the revision.
    pub(in crate::plan) fn drops(mut self, short: &str) -> Self {
        if let Desired::Objects(objects) = &mut self.snapshot.desired {
            objects.retain(|it| it.object.id() != id(short));
        }
        self
    }

    /// Adds an object that we applied, with its record and as the watch shows it.
    pub(in crate::plan) fn has(self, object: &Object) -> Self {
        self.has_desired(&desired(object))
    }

    fn has_desired(mut self, desired: &DesiredObject) -> Self {
        let wanted = Wanted::new(&self.snapshot, desired);
        let uid = format!("uid-{}", wanted.id.name);
        let OwnEntry { fields, time } = OwnEntry::of(Some(&managed(&wanted.payload)));
        self.snapshot.inventory.insert(Record {
            api_version: wanted.payload.api_version().into(),
            uid: uid.clone(),
            hash: wanted.hash.clone(),
            fields: fields.clone(),
            time: time.clone(),
            ..Record::sample(wanted.id.clone())
        });
        let live = Live {
            uid,
            resource_version: "1".into(),
            generation: 1,
            fields,
            time,
            terminating: false,
            leaving: None,
            health: None,
            changed: None,
            managed: None,
            whole: None,
            hash: wanted.hash,
            baseline: String::new(),
            entered: false,
            unspoken: false,
            template: None,
            prune: Prune::ByKind,
            hold: String::new(),
            depends_on: String::new(),
        };
        if volume::is_claim(&wanted.id) {
            self.snapshot.volumes.insert(wanted.id.clone(), None);
        }
        self.snapshot.live.insert(wanted.id, live);
        self
    }

    /// Changes the record of an object.
    pub(in crate::plan) fn record(mut self, short: &str, change: impl FnOnce(&mut Record)) -> Self {
        let mut record = self.snapshot.inventory.get(&id(short)).unwrap().clone();
        change(&mut record);
        self.snapshot.inventory.insert(record);
        self
    }

    /// Changes what the watch shows of an object.
    pub(in crate::plan) fn live(mut self, short: &str, change: impl FnOnce(&mut Live)) -> Self {
        change(self.snapshot.live.get_mut(&id(short)).unwrap());
        self
    }

    /// Deletes an object behind our back.
    pub(in crate::plan) fn loses(mut self, short: &str) -> Self {
        let live = self.snapshot.live.remove(&id(short)).unwrap();
        let end = |health: &Health| matches!(health.state, HealthState::Healthy | HealthState::Degraded);
        if let Some(health) = live.health.filter(|health| short.starts_with("Job/") && end(health)) {
            self.snapshot.ended.insert(id(short), health);
        }
        self
    }

    /// Forgets what we know of an object, as after the loss of the store.
    pub(in crate::plan) fn forgets(mut self, short: &str) -> Self {
        self.snapshot.inventory.remove(&id(short));
        self
    }

    /// Lets somebody change fields of an object: they leave our entry, and go to the other manager if there is one.
    pub(in crate::plan) fn edits(self, object: &Object, other: Option<(&str, &str, &str)>, paths: &[&[&str]]) -> Self {
        let payload = Wanted::new(&self.snapshot, &desired(object)).payload;
        let managed = edited(managed(&payload), other, paths);
        self.live(&object.id().short(), |live| {
            OwnEntry { fields: live.fields, time: live.time } = OwnEntry::of(Some(&managed));
            live.managed = Some(managed);
        })
    }

    /// Adds an object that is there without a record of ours.
    pub(in crate::plan) fn exists(mut self, short: &str, owner: Owner) -> Self {
        let existing = Existing {
            uid: format!("uid-{}", id(short).name),
            owner,
            managed: None,
            baseline: String::new(),
            template: None,
        };
        if let Some(name) = short.strip_prefix("Namespace/") {
            let ground = match &existing.owner {
                Owner::Us { .. } | Owner::Released => Ground::Ours,
                owner => Ground::Foreign(owner.clone()),
            };
            self.snapshot.grounds.insert(name.into(), ground);
        }
        self.snapshot.existing.insert(id(short), existing);
        self
    }

    /// Adds an object with all our marks and no record; nobody touched it unless paths are named.
    pub(in crate::plan) fn exists_as_ours(mut self, object: &Object, lost: &[&[&str]]) -> Self {
        let wanted = Wanted::new(&self.snapshot, &desired(object));
        let managed = edited(managed(&wanted.payload), None, lost);
        let OwnEntry { fields, time } = OwnEntry::of(Some(&managed));
        let owner = Owner::Us { hash: wanted.hash, fields, time, generation: 3 };
        let existing =
            Existing { uid: "uid-live".into(), owner, managed: Some(managed), baseline: String::new(), template: None };
        if namespace::is_one(&wanted.id) {
            self.snapshot.grounds.insert(wanted.id.name.clone(), Ground::Ours);
        }
        self.snapshot.existing.insert(wanted.id, existing);
        self
    }

    /// Sets whether a kind's watch can be trusted.
    pub(in crate::plan) fn watch(mut self, group: &str, kind: &str, freshness: Freshness) -> Self {
        self.snapshot.freshness.insert((group.into(), kind.into()), freshness);
        self
    }

    /// Sets the health of an object.
    pub(in crate::plan) fn health(self, short: &str, health: Health) -> Self {
        self.live(short, |live| live.health = Some(health))
    }

    /// Adds a requirement.
    pub(in crate::plan) fn requires(mut self, reference: &str, app: Option<&str>, waits: Option<&str>) -> Self {
        let app = app.map(|app| AppName::parse(app).unwrap());
        let waits = waits.map(str::to_owned);
        self.snapshot.requirements.push(RequirementState { reference: reference.into(), app, waits });
        self
    }

    /// Changes anything else.
    pub(in crate::plan) fn with(mut self, change: impl FnOnce(&mut Snapshot)) -> Self {
        change(&mut self.snapshot);
        self
    }
}

/// Returns a desired object as `observe` would: sealed, with the hash of its true values and a place in a file.
pub(in crate::plan) fn desired(object: &Object) -> DesiredObject {
    let file = format!("apps/blog/{}-{}.yaml", object.kind().to_lowercase(), object.name());
    DesiredObject { object: hash::seal(&KEY, object.clone()), hash: hash::desired_hash(&KEY, object), file, line: 3 }
}

fn edited(mut managed: Value, other: Option<(&str, &str, &str)>, paths: &[&[&str]]) -> Value {
    let mut taken = json!({});
    for path in paths {
        let (last, parents) = path.split_last().unwrap();
        let mut node = &mut managed[0]["fieldsV1"];
        let mut copy = &mut taken;
        for name in parents {
            node = &mut node[*name];
            copy = &mut copy[*name];
        }
        copy[*last] = node.as_object_mut().unwrap().shift_remove(*last).unwrap();
        drop_empty(&mut managed[0]["fieldsV1"], parents);
    }
    if let Some((manager, operation, subresource)) = other {
        managed.as_array_mut().unwrap().push(json!({
            "manager": manager, "operation": operation, "subresource": subresource, "apiVersion": "v1",
            "time": "2026-11-21T11:00:00Z", "fieldsV1": taken,
        }));
    }
    managed
}

/// Removes the nodes of a path that hold nothing any more, as a server does.
fn drop_empty(node: &mut Value, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else { return };
    drop_empty(&mut node[*first], rest);
    if node[*first].as_object().is_some_and(serde_json::Map::is_empty) {
        node.as_object_mut().unwrap().shift_remove(*first);
    }
}
