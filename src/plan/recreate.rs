//! Pure. What may be deleted and made anew because a field of it cannot be changed.
//!
//! The server says that a field is immutable; this says beforehand whether that ends in a recreation, in a question or in an explanation.
//! What holds data or other objects is never recreated. What git had before tells it without a request; the server has the last word.
//! Not here: telling that refusal from others (`target`), the calls (`apply`), reading what git had (`observe`).

use std::collections::{BTreeMap, BTreeSet};

use super::action::Propagation;
use super::hook::HOOK;
use super::snapshot::{Desired, DesiredObject, Live, Presence, Snapshot};
use super::wanted::Wanted;
use crate::health::HealthState;
use crate::model::{CommitId, Object, ObjectId, RecordState};
use crate::schema::{self, ImmutablePath, Unsaid};

/// Annotation by which an author allows or forbids that an object is made anew.
const RECREATE: &str = "rewild.dev/recreate";
/// Groups of the cluster itself whose classes hold nothing and interrupt nothing that was made by them; a class of another group may.
const CLASS_GROUPS: [&str; 4] = ["networking.k8s.io", "node.k8s.io", "scheduling.k8s.io", "storage.k8s.io"];

/// What follows when the server says that a field of an object cannot be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recreate {
    /// It is deleted, in this incarnation, and made anew.
    Allowed(Propagation),
    /// The same without asking the server first whether it can be changed: a hook runs again.
    Now(Propagation),
    /// An author has to allow it first; what it would interrupt.
    Ask(&'static str),
    /// It never is; what a person can do instead.
    Never(&'static str),
}

/// Returns what follows for a wanted object, by its kind, its annotation, its state, and what a person allows this once.
pub(super) fn recreate(wanted: &Wanted, live: Option<&Live>, allowed: &[String]) -> Recreate {
    let kind = wanted.id.kind.as_str();
    let is_allowed = allowed.contains(&wanted.id.short());
    let word = wanted.payload.annotation(RECREATE);
    let propagation = if kind == "StatefulSet" { Propagation::Orphan } else { Propagation::Background };
    match (kind, word) {
        ("PersistentVolumeClaim" | "PersistentVolume", _) => {
            Recreate::Never("make a new claim under another name and move the data")
        }
        ("Namespace", _) => Recreate::Never("move the app to another namespace"),
        ("CustomResourceDefinition", _) => Recreate::Never("its objects would go with it; add a version instead"),
        (_, Some("never")) => Recreate::Never("rewild.dev/recreate: never stands on it"),
        (_, Some("allow")) => Recreate::Allowed(propagation),
        (_, _) if is_allowed => Recreate::Allowed(propagation),
        ("Job", _) if is_running(live) => Recreate::Ask("it runs now and would begin again"),
        ("Job" | "RoleBinding" | "ClusterRoleBinding" | "Secret" | "ConfigMap", _) => Recreate::Allowed(propagation),
        (class, _) if class.ends_with("Class") && CLASS_GROUPS.contains(&wanted.id.group.as_str()) => {
            Recreate::Allowed(propagation)
        }
        ("StatefulSet", _) => Recreate::Ask("its pods keep running and are taken over"),
        ("Deployment" | "DaemonSet" | "ReplicaSet" | "Pod", _) => Recreate::Ask("its pods stop and start again"),
        ("Service", _) => Recreate::Ask("its address changes"),
        (_, _) => Recreate::Ask("what depends on it is interrupted"),
    }
}

/// Returns what follows for a hook that is there and ran for another state of its app. The record knows; the mark on the object is asked where
/// there is none, because anybody may have written there.
pub(super) fn of_hook(snapshot: &Snapshot, wanted: &Wanted) -> Option<Recreate> {
    let live = snapshot.live.get(&wanted.id).filter(|_| wanted.is_hook())?;
    let record = snapshot.inventory.get(&wanted.id).filter(|record| record.state == RecordState::Applied);
    let ran = record.map_or(&live.hash, |record| &record.hash);
    (*ran != wanted.hash).then_some(Recreate::Now(Propagation::Background))
}

/// Returns the commits that brought objects which are wanted otherwise now and have fields that cannot be changed, each with those objects: what
/// they were there is to be compared. Nothing while nothing changes. Hooks are made anew anyway.
pub fn changed(snapshot: &Snapshot) -> BTreeMap<CommitId, BTreeSet<ObjectId>> {
    let mut commits: BTreeMap<CommitId, BTreeSet<ObjectId>> = BTreeMap::new();
    let Desired::Objects(objects) = &snapshot.desired else { return commits };
    if snapshot.presence != Presence::Kept {
        return commits;
    }
    let has_fixed = |it: &&DesiredObject| it.object.annotation(HOOK).is_none() && may_be_fixed(&it.object);
    for desired in objects.iter().filter(has_fixed) {
        let id = desired.object.id();
        let record = snapshot.inventory.get(&id).filter(|record| record.state == RecordState::Applied);
        let other = record.filter(|record| record.hash != desired.hash);
        if let Some(commit) = other.and_then(|record| record.commit.clone()) {
            commits.entry(commit).or_default().insert(id);
        }
    }
    commits
}

fn may_be_fixed(object: &Object) -> bool {
    is_frozen(object) || !schema::immutable_paths(object.group(), object.kind()).is_empty()
}

/// Returns whether the data of a Secret or a ConfigMap cannot be changed.
fn is_frozen(object: &Object) -> bool {
    let is_data = object.group().is_empty() && matches!(object.kind(), "Secret" | "ConfigMap");
    is_data && object.at(&["immutable"]).and_then(serde_json::Value::as_bool) == Some(true)
}

/// Returns what a plan says of a change before any server has seen it: which fields cannot be changed, and what follows from that.
pub(super) fn foretold(snapshot: &Snapshot, wanted: &Wanted, recreate: &Recreate) -> Option<String> {
    let fields = fixed(&snapshot.before.get(&wanted.id)?.object, &wanted.payload);
    if fields.is_empty() {
        return None;
    }
    let fields = format!("{} cannot be changed", fields.join(", "));
    match recreate {
        Recreate::Allowed(_) => Some(format!("made anew, because {fields}")),
        Recreate::Ask(interrupted) => Some(format!(
            "needs approval, because {fields}; if it is made anew, {interrupted}: allow that by --recreate {}",
            wanted.id.short()
        )),
        Recreate::Never(instead) => Some(format!("never made anew, and {fields}: {instead}")),
        Recreate::Now(_) => None,
    }
}

/// Returns the fields that differ and cannot be changed, as people write them.
fn fixed(before: &Object, after: &Object) -> Vec<String> {
    let paths = schema::immutable_paths(after.group(), after.kind()).iter();
    let mut fields: Vec<String> =
        paths.filter(|path| differs(before, after, path)).map(|path| path.join(".")).collect();
    if is_frozen(before) {
        let data: [ImmutablePath; 3] = [&["immutable"], &["data"], &["binaryData"]];
        fields.extend(data.iter().filter(|path| before.at(path) != after.at(path)).map(|path| path.join(".")));
    }
    fields
}

fn differs(before: &Object, after: &Object, path: ImmutablePath) -> bool {
    let part = |object: &Object| schema::fixed_part(after, path, object.at(path)?);
    let (old, new) = (part(before), part(after));
    match schema::unsaid(path) {
        Unsaid::Absent => old != new,
        Unsaid::Text(text) => old.filter(|it| *it != *text) != new.filter(|it| *it != *text),
        // What the server chose may be what is asked for now.
        Unsaid::Anything => old.is_some() && new.is_some() && old != new,
    }
}

pub(super) fn is_running(live: Option<&Live>) -> bool {
    live.and_then(|live| live.health.as_ref()).is_some_and(|health| health.state == HealthState::Progressing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::Health;
    use crate::model::Object;
    use crate::plan::tests::world::{World, claim, config, deployment, desired, job};

    fn check(object: Object, word: &str, health: Option<Health>, expected: &str) {
        check_allowed(object, word, health, &[], expected);
    }

    fn check_allowed(object: Object, word: &str, health: Option<Health>, allowed: &[String], expected: &str) {
        let mut object = object;
        if !word.is_empty() {
            object.set_annotation(RECREATE, word);
        }
        let world = World::deployed(std::slice::from_ref(&object));
        let live = world.snapshot.live.get(&object.id()).map(|live| Live { health, ..live.clone() });
        let found = match recreate(&Wanted::new(&world.snapshot, &desired(&object)), live.as_ref(), allowed) {
            Recreate::Allowed(Propagation::Background) => "allowed",
            Recreate::Allowed(Propagation::Orphan) => "allowed, pods stay",
            Recreate::Now(_) => "now",
            Recreate::Ask(_) => "asked",
            Recreate::Never(_) => "never",
        };
        assert_eq!(found, expected, "{} {word}", object.kind());
    }

    fn kind(kind: &str) -> Object {
        let mut object = config("a", "1");
        object.0.insert("kind".into(), kind.into());
        object
    }

    #[test]
    fn what_holds_data_is_never_made_anew_and_what_runs_only_if_an_author_says_so() {
        check(job("a"), "", Some(Health::healthy()), "allowed");
        check(job("a"), "", Some(Health::progressing("it runs")), "asked");
        check(job("a"), "never", Some(Health::healthy()), "never");
        check(config("a", "1"), "", None, "allowed");
        check(kind("RoleBinding"), "", None, "allowed");
        let class = |api: &str, name: &str| {
            let mut object = kind(name);
            object.0.insert("apiVersion".into(), api.into());
            object
        };
        check(class("storage.k8s.io/v1", "StorageClass"), "", None, "allowed");
        check(class("databases.example/v1", "ClusterClass"), "", None, "asked");
        check(deployment("a", "web:1"), "", None, "asked");
        check(deployment("a", "web:1"), "allow", None, "allowed");
        check(kind("StatefulSet"), "allow", None, "allowed, pods stay");
        check(kind("Service"), "", None, "asked");
        for data in ["Namespace", "PersistentVolume", "CustomResourceDefinition"] {
            check(kind(data), "allow", None, "never");
        }
        check(claim("data"), "allow", None, "never");
    }
    /// Plans a change of an object that git had before; returns what the plan says of it.
    fn told(before: &Object, after: &Object, how: fn(World) -> World) -> String {
        let id = after.id();
        let world = World::deployed(std::slice::from_ref(before)).drops(&id.short()).wants(after);
        let world = how(world.with(|snapshot| _ = snapshot.before.insert(id.clone(), desired(before))));
        let actions = crate::plan::plan(&world.snapshot).actions;
        actions.into_iter().find(|action| action.object == id).map(|action| action.reason).unwrap_or_default()
    }

    fn with(mut object: Object, field: (&str, &str), value: serde_json::Value) -> Object {
        let (top, key) = field;
        let inner = object.0.entry(top).or_insert_with(|| serde_json::json!({}));
        match key {
            "" => *inner = value,
            _ => inner[key] = value,
        }
        object
    }

    #[test]
    fn a_plan_tells_what_cannot_be_changed_before_any_request() {
        use serde_json::json;
        let as_is = |world: World| world;
        let web = |label: &str| {
            with(deployment("web", "web:1"), ("spec", "selector"), json!({"matchLabels": {"app": label}}))
        };
        let asked = "changed in ccccccc; needs approval, because spec.selector cannot be changed; if it is made anew, its pods stop and start \
                     again: allow that by --recreate Deployment/web";
        assert_eq!(told(&web("a"), &web("b"), as_is), asked);
        let allow = |world: World| world.with(|snapshot| snapshot.ask.recreate.push("Deployment/web".into()));
        let anew = "changed in ccccccc; made anew, because spec.selector cannot be changed";
        assert_eq!(told(&web("a"), &web("b"), allow), anew);
        assert_eq!(told(&web("a"), &with(web("a"), ("spec", "replicas"), json!(3)), as_is), "changed in ccccccc");
        let unknown = |world: World| world.with(|snapshot| snapshot.before.clear());
        assert_eq!(told(&web("a"), &web("b"), unknown), "changed in ccccccc");
        let data = |modes: &str| with(claim("data"), ("spec", "accessModes"), json!([modes]));
        let never = "changed in ccccccc; never made anew, and spec.accessModes cannot be changed: make a new claim under another name and move the data";
        assert_eq!(told(&data("ReadWriteOnce"), &data("ReadWriteMany"), as_is), never);
        let frozen = |value: &str| with(config("a", value), ("immutable", ""), json!(true));
        assert_eq!(
            told(&frozen("1"), &frozen("2"), as_is),
            "changed in ccccccc; made anew, because data cannot be changed"
        );
        assert_eq!(told(&config("a", "1"), &config("a", "2"), as_is), "changed in ccccccc");
    }

    #[test]
    fn what_a_server_fills_in_is_no_difference() {
        use serde_json::json;
        let block = with(claim("data"), ("spec", "volumeMode"), json!("Block"));
        let plain = with(claim("data"), ("spec", "volumeMode"), json!("Filesystem"));
        assert_eq!(fixed(&claim("data"), &plain), [""; 0]);
        assert_eq!(fixed(&claim("data"), &block), ["spec.volumeMode"]);
        let class = |name: &str| with(claim("data"), ("spec", "storageClassName"), json!(name));
        assert_eq!(fixed(&claim("data"), &class("fast")), [""; 0]);
        assert_eq!(fixed(&class("slow"), &class("fast")), ["spec.storageClassName"]);
    }

    #[test]
    fn of_some_fields_a_part_can_be_changed() {
        use serde_json::json;
        let check = |name: &str, before: serde_json::Value, after: serde_json::Value, expected: &[&str]| {
            let group = if name == "Job" { "batch/v1" } else { "v1" };
            let of = |spec| with(with(kind(name), ("apiVersion", ""), json!(group)), ("spec", ""), spec);
            assert_eq!(fixed(&of(before.clone()), &of(after.clone())), expected, "{name} {before} {after}");
        };
        let pod = |image: &str, args: &str| json!({"containers": [{"name": "a", "image": image, "args": [args]}]});
        check("Pod", pod("a:1", "x"), pod("a:2", "x"), &[]);
        check("Pod", pod("a:1", "x"), pod("a:1", "y"), &["spec.containers"]);
        check("Pod", json!({"tolerations": []}), json!({"tolerations": [{"key": "a"}]}), &[]);
        check("Pod", json!({}), json!({"restartPolicy": "Always", "hostNetwork": true}), &["spec.hostNetwork"]);
        let families = |names: &[&str]| json!({"ipFamilies": names});
        check("Service", families(&["IPv4"]), families(&["IPv4", "IPv6"]), &[]);
        check("Service", families(&["IPv4"]), families(&["IPv6", "IPv4"]), &["spec.ipFamilies"]);
        check("Service", families(&["IPv4"]), json!({}), &[]);
        let job = |mode: &str, count: u8| json!({"completionMode": mode, "completions": count});
        check("Job", job("NonIndexed", 2), job("NonIndexed", 3), &["spec.completions"]);
        check("Job", job("Indexed", 2), job("Indexed", 3), &[]);
    }

    #[test]
    fn git_is_asked_only_about_what_changes_and_could_be_refused() {
        let commit = |world: World| {
            world.record("Deployment/web", |record| record.commit = CommitId::parse(&"b".repeat(40)).ok())
        };
        let same = commit(World::deployed(&[deployment("web", "web:1"), config("files", "1")]));
        assert!(changed(&same.snapshot).is_empty());
        let news = [deployment("web", "web:2"), config("files", "2")];
        let other = news.iter().fold(same, |world, object| world.drops(&object.id().short()).wants(object));
        let asked: Vec<String> = changed(&other.snapshot).into_values().flatten().map(|id| id.short()).collect();
        assert_eq!(asked, ["Deployment/web"]);
        let gone = other.with(|snapshot| snapshot.presence = Presence::Vanished);
        assert!(changed(&gone.snapshot).is_empty());
    }

    #[test]
    fn a_person_may_allow_it_once_where_an_author_did_not_forbid_it() {
        let named = |name: &str| [name.to_owned()];
        check_allowed(deployment("a", "web:1"), "", None, &named("Deployment/a"), "allowed");
        check_allowed(deployment("a", "web:1"), "", None, &named("Deployment/b"), "asked");
        check_allowed(deployment("a", "web:1"), "never", None, &named("Deployment/a"), "never");
        check_allowed(kind("StatefulSet"), "", None, &named("StatefulSet/a"), "allowed, pods stay");
        check_allowed(claim("data"), "", None, &named("PersistentVolumeClaim/data"), "never");
    }
}
