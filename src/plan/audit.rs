//! Pure. The slow audit: each hour a few objects are compared, value by value, with what a forced apply would make of them.
//!
//! Drift is read from managed fields alone; this is the proof that they hide nothing. Not here: reading both sides (`observe`), what is done
//! about a difference (`drift`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::drift;
use super::kind;
use super::marks::{self, COMMIT, PATH};
use super::namespace;
use super::snapshot::{Desired, Snapshot};
use super::wanted::Wanted;
use super::yields::{self, Yields};
use crate::model::{AppName, Inventory, Object, ObjectId, REALM_GROUP, Record, RecordState};

/// Depth at which the comparison stops; deeper objects are refused before they get here.
const MAX_DEPTH: usize = 128;
/// Metadata that a server writes with every change.
const SERVER_METADATA: [&str; 3] = ["managedFields", "resourceVersion", "generation"];
/// Marks that name where an object comes from, which an object that is written for no other reason does not follow.
const ORIGIN_MARKS: [&str; 2] = [COMMIT, PATH];

/// Returns the objects whose turn it is, by app: of all that are applied this share in percent, rounded up, those that were proven or, by
/// `tried`, looked at in vain longest ago.
pub fn due<'a>(
    inventories: impl Iterator<Item = (&'a AppName, &'a Inventory)>,
    percent: u8,
    tried: &BTreeMap<ObjectId, String>,
) -> BTreeMap<AppName, BTreeSet<ObjectId>> {
    let mut applied: Vec<(&str, &Record, &AppName)> = inventories
        .flat_map(|(app, inventory)| inventory.records().map(move |record| (app, record)))
        .map(|(app, record)| (proven(record).max(tried.get(&record.id).map_or("", String::as_str)), record, app))
        .filter(|(_, record, _)| record.state == RecordState::Applied && !kind::is_job(&record.id))
        // Objects of a Keycloak are compared value by value at every look.
        .filter(|(_, record, _)| record.id.group != REALM_GROUP)
        .collect();
    let count = (applied.len() * usize::from(percent.min(100))).div_ceil(100);
    applied.sort_by_key(|(proven, record, _)| (*proven, &record.id));
    let mut due: BTreeMap<AppName, BTreeSet<ObjectId>> = BTreeMap::new();
    for (_, record, app) in applied.into_iter().take(count) {
        due.entry(app.clone()).or_default().insert(record.id.clone());
    }
    due
}

/// Returns when an object was known last, by its values, to be as wanted: the answer to a write shows them as well.
fn proven(record: &Record) -> &str {
    // All of these times are written in one form, so their texts compare as they do.
    record.audited.as_str().max(record.time.as_str())
}

/// What is tried to compare an object.
#[derive(Clone, PartialEq, Debug)]
pub struct Probe {
    /// The body of a forced apply; values of a Secret are digests.
    pub payload: Object,
    /// Incarnation that is meant.
    pub uid: String,
    yields: Yields,
}

/// Returns what is tried to compare an object; nothing if it is to be written anyway, drifted, or not as wanted for a reason that is known.
pub fn probe(snapshot: &Snapshot, id: &ObjectId) -> Option<Probe> {
    let Desired::Objects(objects) = &snapshot.desired else { return None };
    let derived = namespace::derived(&snapshot.namespace);
    let desired = objects.iter().chain([&derived]).find(|desired| desired.object.id() == *id)?;
    let record = snapshot.inventory.get(id).filter(|record| record.state == RecordState::Applied)?;
    let live = snapshot.live.get(id).filter(|live| !live.terminating)?;
    let wanted = Wanted::new(snapshot, desired);
    let is_as_known = record.hash == wanted.hash && wanted.refused.is_none();
    if !is_as_known || !drift::differences(record, Some(live), &wanted.payload, &wanted.yields).is_empty() {
        return None;
    }
    let others: Vec<Vec<String>> =
        yields::of_live(Some(live), &wanted.payload, &wanted.yields).into_iter().map(|yielded| yielded.keys).collect();
    let mut payload = wanted.payload;
    yields::without(&mut payload, &others);
    Some(Probe { payload, uid: record.uid.clone(), yields: wanted.yields })
}

/// Returns what is tried at the first contact with an object that nobody owns. Secrets are never read, so there is nothing to compare.
pub fn first_contact(snapshot: &Snapshot, id: &ObjectId) -> Option<Probe> {
    let Desired::Objects(objects) = &snapshot.desired else { return None };
    let desired = objects.iter().find(|desired| desired.object.id() == *id)?;
    let existing = snapshot.existing.get(id)?;
    let wanted = Wanted::new(snapshot, desired);
    let is_secret = id.group.is_empty() && id.kind == "Secret";
    let is_tried = !is_secret && wanted.refused.is_none();
    is_tried.then(|| Probe { payload: wanted.payload, uid: existing.uid.clone(), yields: wanted.yields })
}

impl Probe {
    /// Returns the paths that the apply would change, our own marks excepted.
    pub fn changes(&self, mut live: Object, mut tried: Object) -> Vec<String> {
        marks::unmark(&mut live);
        marks::unmark(&mut tried);
        self.differences(&live, &tried)
    }

    /// Returns the paths at which a live object is not what the apply would make of it, those left to others excepted.
    pub fn differences(&self, live: &Object, tried: &Object) -> Vec<String> {
        let mut found = Vec::new();
        let (live, tried) = (comparable(live), comparable(tried));
        walk(&Place::default(), (Some(&live), Some(&tried)), &mut found);
        found.into_iter().filter(|place| !self.yields.ignores(&place.keys)).map(|place| place.text).collect()
    }
}

/// Returns the part of an object that an apply decides about.
fn comparable(object: &Object) -> Value {
    let mut object = object.clone();
    object.0.shift_remove("status");
    let metadata = object.metadata_mut();
    for key in SERVER_METADATA {
        metadata.shift_remove(key);
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        for key in ORIGIN_MARKS {
            annotations.shift_remove(key);
        }
    }
    object.to_value()
}

/// A place in an object, as people and as rules name it.
#[derive(Clone, Default)]
pub(super) struct Place {
    pub(super) text: String,
    keys: Vec<String>,
}

impl Place {
    /// Returns the place of a field below this one.
    pub(super) fn field(&self, name: &str) -> Self {
        self.below(name, false)
    }

    /// Returns the place of an item of the list at this one.
    pub(super) fn item(&self, label: &str) -> Self {
        self.below(label, true)
    }

    fn below(&self, key: &str, is_item: bool) -> Self {
        let plain = !is_item && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let text = match (plain, self.text.is_empty()) {
            (true, true) => key.to_owned(),
            (true, false) => format!("{}.{key}", self.text),
            (false, _) => format!("{}[{key}]", self.text),
        };
        let keys = self.keys.iter().cloned().chain([key.to_owned()]).collect();
        Self { text, keys }
    }
}

fn walk(place: &Place, sides: (Option<&Value>, Option<&Value>), found: &mut Vec<Place>) {
    match sides {
        (one, other) if one == other => {}
        (Some(Value::Object(one)), Some(Value::Object(other))) if place.keys.len() < MAX_DEPTH => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                walk(&place.field(key), (one.get(key), other.get(key)), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if place.keys.len() < MAX_DEPTH => {
            match (named(one), named(other)) {
                (Some(one), Some(other)) => {
                    let names: BTreeSet<&&str> = one.keys().chain(other.keys()).collect();
                    for name in names {
                        let sides = (one.get(*name).copied(), other.get(*name).copied());
                        walk(&place.item(&format!("name={name}")), sides, found);
                    }
                }
                _ => found.push(place.clone()),
            }
        }
        _ => found.push(place.clone()),
    }
}

/// Returns the items of a list by their names, if each has one of its own.
fn named(items: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    let name = |item: &Map<String, Value>| item.get("name").and_then(Value::as_str).is_some();
    let named: BTreeMap<&str, &Value> = items
        .iter()
        .filter(|item| item.as_object().is_some_and(name))
        .filter_map(|item| Some((item.get("name")?.as_str()?, item)))
        .collect();
    (named.len() == items.len()).then_some(named)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{DriftPolicy, IgnoreRule};
    use crate::plan::Owner;
    use crate::plan::tests::check;
    use crate::plan::tests::world::{World, config, deployment, job, secret};

    fn id(name: &str) -> ObjectId {
        config(name, "1").id()
    }

    /// Returns the names of the objects whose turn it is, of ConfigMaps that were written and audited at these minutes.
    fn turn(times: &[(&str, &str)], tried: &[(&str, &str)], percent: u8) -> Vec<String> {
        let world = World::deployed(&[job("migrate")]);
        let record = world.snapshot.inventory.get(&job("migrate").id()).unwrap().clone();
        let at = |minute: &str| format!("2026-11-21T12:{minute}:00Z");
        let named = |(number, (time, audited)): (usize, &(&str, &str))| {
            let audited = if audited.is_empty() { String::new() } else { at(audited) };
            Record { id: id(&format!("c{number}")), time: at(time), audited, ..record.clone() }
        };
        let inventory = Inventory::new(times.iter().enumerate().map(named).chain([record.clone()]));
        let app = AppName::parse("blog").unwrap();
        let tried = tried.iter().map(|(name, minute)| (id(name), at(minute))).collect();
        let due = due([(&app, &inventory)].into_iter(), percent, &tried);
        due.into_values().flatten().map(|id| id.name.clone()).collect()
    }

    #[test]
    fn the_turn_is_that_of_the_share_that_was_proven_longest_ago() {
        let times = [("05", ""), ("01", "09"), ("02", ""), ("03", "")];
        assert_eq!(turn(&times, &[], 0), Vec::<String>::new());
        assert_eq!(turn(&times, &[], 1), ["c2"]);
        assert_eq!(turn(&times, &[], 26), ["c2", "c3"]);
        assert_eq!(turn(&times, &[], 75), ["c0", "c2", "c3"]);
        assert_eq!(turn(&times, &[], 100), ["c0", "c1", "c2", "c3"], "a Job runs once and is not compared");
        assert_eq!(turn(&times, &[], 255).len(), 4);
        assert_eq!(turn(&times, &[("c2", "04")], 1), ["c3"], "what could not be compared takes nobody's turn");
    }

    fn web(image: &str, more: &Value) -> Object {
        let mut web = deployment("web", image).to_value();
        web["metadata"]["resourceVersion"] = json!(image);
        web["metadata"]["annotations"] = more.clone();
        Object::from_value(web).unwrap()
    }

    #[track_caller]
    fn check_differences(world: &World, live: &Object, tried: &Object, expected: &[&str]) {
        let probe = probe(&world.snapshot, &deployment("web", "web:1").id()).unwrap();
        assert_eq!(probe.differences(live, tried), expected);
    }

    #[test]
    fn values_that_differ_are_named_and_what_a_server_or_a_commit_writes_is_not() {
        let world = World::deployed(&[deployment("web", "web:1")]);
        let same = web("web:1", &json!({"rewild.dev/commit": "a", "rewild.dev/path": "b"}));
        check_differences(&world, &same, &web("web:1", &json!({"rewild.dev/commit": "c"})), &[]);
        let other = web("web:2", &json!({"a.b/c": "1"}));
        let expected = ["metadata.annotations[a.b/c]", "spec.template.spec.containers[name=web].image"];
        check_differences(&world, &other, &same, &expected);
        let mut without = same.to_value();
        without["spec"]["template"]["spec"]["containers"] = json!([{"image": "web:1"}]);
        let without = Object::from_value(without).unwrap();
        check_differences(&world, &without, &same, &["spec.template.spec.containers"]);
    }

    #[test]
    fn at_first_contact_what_would_change_is_named_without_our_marks() {
        let world = |object: &Object| World::deployed(&[]).wants(object).exists(&object.id().short(), Owner::Nobody);
        let wanted = config("files", "2");
        let probe = first_contact(&world(&wanted).snapshot, &wanted.id()).unwrap();
        let marked = probe.payload.clone();
        assert!(marked.label("rewild.dev/app").is_some() && probe.uid == "uid-files");
        assert_eq!(probe.changes(config("files", "1"), marked.clone()), ["data.k"]);
        assert_eq!(probe.changes(wanted, marked), Vec::<String>::new());
        let secret = secret("key", "1");
        assert_eq!(first_contact(&world(&secret).snapshot, &secret.id()), None);
    }

    #[test]
    fn what_a_rule_leaves_to_others_is_no_difference() {
        let rule = IgnoreRule { paths: vec!["/spec/template".into()], ..IgnoreRule::default() };
        let world = World::deployed(&[deployment("web", "web:1")]).with(|snapshot| snapshot.policy.ignore = vec![rule]);
        check_differences(&world, &web("web:2", &json!({})), &web("web:1", &json!({})), &[]);
    }

    #[test]
    fn an_object_that_is_written_anyway_is_not_compared() {
        let image = ["f:spec", "f:template", "f:spec", "f:containers", "k:{\"name\":\"web\"}", "f:image"];
        let web = deployment("web", "web:1");
        let world = || World::deployed(std::slice::from_ref(&web));
        for (compared, world) in [
            (true, world()),
            (false, world().record("Deployment/web", |record| record.hash = "v1.other".into())),
            (false, world().record("Deployment/web", |record| record.state = RecordState::Deleting)),
            (false, world().live("Deployment/web", |live| live.terminating = true)),
            (false, world().loses("Deployment/web")),
            (false, world().edits(&web, Some(("kubectl-edit", "Update", "")), &[&image])),
        ] {
            assert_eq!(probe(&world.snapshot, &web.id()).is_some(), compared);
        }
    }

    fn mismatched(policy: DriftPolicy) -> World {
        World::deployed(&[config("a", "1")]).with(|snapshot| {
            snapshot.policy.drift = policy;
            snapshot.audited.insert(id("a"), vec!["data.key".into()]);
        })
    }

    #[test]
    fn what_the_audit_finds_is_treated_as_any_drift() {
        let found = "* ConfigMap/a is found by the audit to differ in data.key";
        check(&mismatched(DriftPolicy::Correct), &["~ ConfigMap a puts back what differs", found, "= 1 unchanged"]);
        check(&mismatched(DriftPolicy::Report), &[&format!("{found}, left as it is"), "= 1 unchanged"]);
        check(&mismatched(DriftPolicy::Off), &["= 2 unchanged"]);
        let fine = mismatched(DriftPolicy::Correct).with(|snapshot| _ = snapshot.audited.insert(id("a"), Vec::new()));
        check(&fine, &["= 2 unchanged"]);
    }
}
