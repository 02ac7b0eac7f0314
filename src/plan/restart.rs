//! Format. The digest of the config on a pod template, by which pods start anew when a ConfigMap or Secret that they name has other content.
//!
//! Pure. Taking a running workload over restarts nothing: the digest of that moment is noted on the workload, and the template gets one only
//! when it first differs. The same goes for a workload whose digest was made with a key that is lost. Not here: which values the objects have (`observe`).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::hash;
use super::marks::CONFIG_BASELINE;
use super::references;
use super::snapshot::{Owner, Snapshot};
use crate::base::Encoder;
use crate::model::{Object, ObjectId};

/// Annotation on a pod template: the keyed digest of what its pods read.
pub const CONFIG_HASH: &str = "rewild.dev/config-hash";
/// Annotation by which an author forbids this: `false`.
const RESTART: &str = "rewild.dev/restart-on-change";
/// Kinds whose pods follow their template. Jobs run once.
const KINDS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];
/// The annotations of a pod template.
const TEMPLATE: [&str; 4] = ["spec", "template", "metadata", "annotations"];

/// Notes on the pod template of each workload which config its pods read. Values must be true ones: a digest stands for them afterwards.
pub fn note_config(key: &[u8; 32], objects: &mut [Object]) {
    let contents: BTreeMap<ObjectId, Value> = objects
        .iter()
        .filter(|object| object.group().is_empty() && matches!(object.kind(), "ConfigMap" | "Secret"))
        .map(|object| (object.id(), content(object)))
        .collect();
    for object in objects.iter_mut().filter(|object| follows(object)) {
        let names = references::config(object);
        let read: Vec<(&ObjectId, &Value)> = names.iter().filter_map(|id| contents.get_key_value(id)).collect();
        if read.is_empty() {
            continue;
        }
        let mut encoder = Encoder::new();
        encoder.text("config of pods");
        for (id, content) in read {
            encoder.text(&id.kind).text(&id.name).value(content);
        }
        let digest = URL_SAFE_NO_PAD.encode(encoder.keyed_digest(key).0);
        set(object, &digest);
    }
}

/// Returns what the digest stands for: the data alone, so that a label restarts nothing.
fn content(object: &Object) -> Value {
    let canonical = hash::canonical(object);
    let data: Map<String, Value> = ["data", "binaryData"]
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), canonical.0.get(*key)?.clone())))
        .collect();
    Value::Object(data)
}

fn follows(object: &Object) -> bool {
    object.group() == "apps" && KINDS.contains(&object.kind()) && object.annotation(RESTART) != Some("false")
}

/// Returns what the pod template of an object says of its config.
pub fn noted(object: &Object) -> Option<&str> {
    object.at(&TEMPLATE)?.get(CONFIG_HASH)?.as_str()
}

/// Writes the digest on a pod template.
fn set(object: &mut Object, digest: &str) {
    let Some(template) = object.0.get_mut("spec").and_then(|spec| spec.get_mut("template")?.as_object_mut()) else {
        return;
    };
    let mut place = template;
    for key in ["metadata", "annotations"] {
        let child = place.entry(key).or_insert_with(|| Value::Object(Map::new()));
        if child.is_null() {
            *child = Value::Object(Map::new());
        }
        let Some(map) = child.as_object_mut() else { return };
        place = map;
    }
    place.insert(CONFIG_HASH.to_owned(), Value::from(digest));
}

/// Takes the digest off a pod template, and its annotations if there are no others: an empty map would be another template.
fn unset(object: &mut Object) {
    let metadata = object.0.get_mut("spec").and_then(|spec| spec.get_mut("template")?.get_mut("metadata"));
    let Some(metadata) = metadata.and_then(Value::as_object_mut) else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    annotations.shift_remove(CONFIG_HASH);
    if annotations.is_empty() {
        metadata.shift_remove("annotations");
    }
}

/// What was noted of a workload that ran before it was ours.
struct Baseline {
    digest: String,
    template: Option<String>,
}

impl Baseline {
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ').map(str::to_owned);
        Some(Self { digest: words.next().filter(|word| !word.is_empty())?, template: words.next() })
    }
}

/// Returns whether the digests that a hash stands beside were made with another key than those of our hash: nobody can compare them.
pub fn is_of_another_key(hash: &str, ours: &str) -> bool {
    hash::key_of(hash) != hash::key_of(ours)
}

/// Returns whether what the pod template of a workload without a record says is to stay as it is.
pub fn is_taken_over(owner: &Owner, ours: &str) -> bool {
    match owner {
        Owner::Us { hash, .. } => is_of_another_key(hash, ours),
        Owner::Nobody | Owner::Released => true,
        Owner::App(_) | Owner::Tool { .. } | Owner::Controller(_) => false,
    }
}

/// Leaves the pods of a workload that was taken over, or that was written with a key that is lost, as they are while its config is as it
/// was then.
pub(super) fn settle(snapshot: &Snapshot, hash: &str, payload: &mut Object) {
    let Some(digest) = noted(payload).map(str::to_owned) else { return };
    let id = payload.id();
    let as_it_is = |template: &Option<String>| Some(Baseline { digest: digest.clone(), template: template.clone() });
    let noted = match (snapshot.existing.get(&id), snapshot.live.get(&id)) {
        (Some(existing), _) => {
            let is_of_us = matches!(existing.owner, Owner::Us { .. });
            match (is_taken_over(&existing.owner, hash), Baseline::read(&existing.baseline)) {
                // Of digests of another key none says anything.
                (true, None) => as_it_is(&existing.template),
                (true, Some(_)) if is_of_us => as_it_is(&existing.template),
                (_, baseline) => baseline,
            }
        }
        (None, Some(live)) if is_of_another_key(&live.hash, hash) => as_it_is(&live.template),
        (None, Some(live)) => Baseline::read(&live.baseline),
        (None, None) => None,
    };
    let Some(Baseline { digest: _, template }) = noted.filter(|noted| noted.digest == digest) else { return };
    match &template {
        Some(template) => set(payload, template),
        None => unset(payload),
    }
    let text = template.map_or(digest.clone(), |template| format!("{digest} {template}"));
    payload.set_annotation(CONFIG_BASELINE, &text);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::tests::world::{World, config, desired};
    use crate::plan::wanted::Wanted;

    const KEY: [u8; 32] = [7; 32];

    fn workload(kind: &str, annotations: Value, volume: Value) -> Object {
        Object::from_value(json!({
            "apiVersion": "apps/v1", "kind": kind,
            "metadata": {"name": "web", "namespace": "blog", "annotations": annotations},
            "spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {
                "volumes": [volume], "containers": [{"name": "web", "image": "web:1"}]}}},
        }))
        .unwrap()
    }

    fn reader() -> Object {
        workload("Deployment", json!({}), json!({"name": "a", "configMap": {"name": "config"}}))
    }

    /// Returns the digest on the pod template of a workload beside these objects.
    fn digest(workload: Object, others: &[Object]) -> Option<String> {
        let mut objects: Vec<Object> = others.iter().cloned().chain([workload]).collect();
        note_config(&KEY, &mut objects);
        noted(objects.last().unwrap()).map(str::to_owned)
    }

    #[test]
    fn only_the_content_of_what_pods_read_makes_the_digest() {
        let with = |value: &str| digest(reader(), &[config("config", value), config("other", value)]);
        assert_ne!(with("1"), with("2"));
        assert_eq!(with("1"), digest(reader(), &[config("other", "2"), config("config", "1")]));
        let mut labelled = config("config", "1");
        labelled.set_label("a", "b");
        assert_eq!(with("1"), digest(reader(), &[labelled]));
        assert_eq!(digest(reader(), &[config("other", "1")]), None, "what it reads is not of the app");
        let secret = |key: &str, value: &str| {
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "blog"}, key: {"a": value}});
            let reader = workload("StatefulSet", json!({}), json!({"name": "a", "secret": {"secretName": "keys"}}));
            digest(reader, &[Object::from_value(secret).unwrap()])
        };
        assert_eq!(secret("data", "aA=="), secret("stringData", "h"));
        assert_ne!(secret("data", "aA=="), secret("data", "aB=="));
    }

    #[test]
    fn an_author_can_forbid_it_and_jobs_run_once() {
        let volume = || json!({"name": "a", "configMap": {"name": "config"}});
        for (kind, annotation, expected) in [
            ("Deployment", "true", true),
            ("DaemonSet", "", true),
            ("Deployment", "false", false),
            ("Job", "", false),
            ("ReplicaSet", "", false),
        ] {
            let workload = workload(kind, json!({"rewild.dev/restart-on-change": annotation}), volume());
            assert_eq!(digest(workload, &[config("config", "1")]).is_some(), expected, "{kind} {annotation}");
        }
        let mut bare = reader();
        bare.0["spec"]["template"]["metadata"] = Value::Null;
        assert!(digest(bare, &[config("config", "1")]).is_some());
    }

    /// Returns what is sent of a workload with a digest: what its pod template says, and what is noted of the time when it was taken over.
    fn sent(digest: &str, there: impl FnOnce(World) -> World) -> (Option<String>, Option<String>) {
        let mut web = reader();
        set(&mut web, digest);
        let world = there(World::new().wants(&web));
        let payload = Wanted::new(&world.snapshot, &desired(&web)).payload;
        (noted(&payload).map(str::to_owned), payload.annotation(CONFIG_BASELINE).map(str::to_owned))
    }

    fn text(pair: (&str, &str)) -> (Option<String>, Option<String>) {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        (some(pair.0), some(pair.1))
    }

    #[test]
    fn a_lost_key_restarts_nothing_and_the_first_change_afterwards_does() {
        let lost = |world: World| {
            world.has(&reader()).live("Deployment/web", |live| {
                live.hash = "v1.x.other".into();
                live.baseline = "before older".into();
                live.template = Some("old".into());
            })
        };
        assert_eq!(sent("new", lost), text(("old", "new old")));
        // The store is lost with it.
        let all = |world: World| {
            world.exists_as_ours(&reader(), &[]).with(|snapshot| {
                let existing = snapshot.existing.get_mut(&reader().id()).unwrap();
                let Owner::Us { hash, .. } = &mut existing.owner else { return };
                "v1.x.other".clone_into(hash);
                existing.template = Some("old".into());
            })
        };
        assert_eq!(sent("new", all), text(("old", "new old")));
        let later = |world: World| world.has(&reader()).live("Deployment/web", |live| live.baseline = "new old".into());
        assert_eq!(sent("newer", later), text(("newer", "")));
    }

    #[test]
    fn taking_over_restarts_nothing_and_the_first_change_afterwards_does() {
        let id = reader().id();
        let taken = |template: Option<&str>, baseline: &str| {
            let (id, template, baseline) = (id.clone(), template.map(str::to_owned), baseline.to_owned());
            move |world: World| {
                world.exists("Deployment/web", Owner::Nobody).with(move |snapshot| {
                    let existing = snapshot.existing.get_mut(&id).unwrap();
                    (existing.template, existing.baseline) = (template, baseline);
                })
            }
        };
        assert_eq!(sent("new", |world| world), text(("new", "")));
        assert_eq!(sent("new", taken(None, "")), text(("", "new")));
        let mut web = reader();
        set(&mut web, "new");
        unset(&mut web);
        assert_eq!(web, reader());
        assert_eq!(sent("new", taken(Some("old"), "")), text(("old", "new old")));
        assert_eq!(sent("new", taken(None, "before")), text(("new", "")));
        let ours = |world: World| world.exists_as_ours(&reader(), &[]);
        assert_eq!(sent("new", ours), text(("new", "")), "its template has the digest already");
        let later = |baseline: &'static str| {
            let has = |world: World| {
                world.has(&reader()).live("Deployment/web", |live| baseline.clone_into(&mut live.baseline))
            };
            move |world: World| has(world)
        };
        assert_eq!(sent("new", later("new")), text(("", "new")));
        assert_eq!(sent("new", later("new old")), text(("old", "new old")));
        assert_eq!(sent("new", later("before old")), text(("new", "")));
    }
}
