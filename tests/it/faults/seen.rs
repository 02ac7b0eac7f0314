//! What an instance came to, read from git, the cluster and the store, in a form that is equal for two runs of the same deeds: without
//! identities, versions, times and secret values.
//!
//! Also read by `tests/live/faults.rs`. Not here: the deeds (`home.rs`).

use std::collections::{BTreeMap, BTreeSet};

use rewild::base::text_diff::unified;
use rewild::model::OperationState;
use serde_json::Value;

use super::child::{command, git};
use super::home::{Cluster, Home};

/// Every kind that the packages use, and those that an engine might leave behind.
const LISTS: [&str; 11] = [
    "/api/v1/namespaces",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/services",
    "/api/v1/serviceaccounts",
    "/api/v1/persistentvolumeclaims",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/statefulsets",
    "/apis/apps/v1/daemonsets",
    "/apis/batch/v1/jobs",
    "/apis/networking.k8s.io/v1/ingresses",
];
const INSTANCE: &str = "rewild.dev/instance";

/// What an instance came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Seen {
    /// Every line is one fact under its own name.
    pub(crate) facts: BTreeMap<String, String>,
    /// Generation of every object.
    pub(crate) generations: BTreeMap<String, i64>,
}

impl Seen {
    /// Returns what is not as in an undisturbed run.
    pub(crate) fn differences(&self, undisturbed: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.facts.keys().chain(undisturbed.facts.keys()).collect();
        let mut found = Vec::new();
        for name in names {
            let (here, there) = (self.facts.get(name), undisturbed.facts.get(name));
            if here != there {
                let text =
                    |fact: Option<&String>| fact.map_or_else(|| "nothing".to_owned(), |fact| format!("{fact}\n"));
                let labels = ("undisturbed", "disturbed");
                found.push(format!("{name}\n{}", unified(&text(there), &text(here), labels)));
            }
        }
        for (name, generation) in &self.generations {
            let there = undisturbed.generations.get(name).copied().unwrap_or(i64::MAX);
            if *generation > there {
                found.push(format!("{name} has generation {generation} instead of {there}"));
            }
        }
        found
    }
}

/// How often git looks for what is missing before it is believed.
const FSCKS: usize = 3;

/// Looks at everything.
pub(crate) async fn look<C: Cluster>(home: &Home<C>) -> Seen {
    let mut seen = Seen::default();
    refs(home, &mut seen);
    objects(home, &mut seen).await;
    remembered(home, &mut seen).await;
    left_over(home, &mut seen);
    seen
}

/// Files of all refs but the notes, and who came after whom.
fn refs<C: Cluster>(home: &Home<C>, seen: &mut Seen) {
    let run = |args: &[&str]| git(&home.root, "home", args);
    for line in run(&["for-each-ref", "--format=%(refname) %(tree)"]).lines() {
        let (name, tree) = line.split_once(' ').unwrap();
        let of_notes = name == "refs/notes/wild";
        // Lists of conflicts and decisions name commits and times, and no two runs have one in common.
        let files = match name {
            "refs/notes/wild" => "notes".to_owned(),
            "refs/wild/resolutions" => decisions(&run, name),
            waits if waits.starts_with("refs/heads/wild/") || waits.starts_with("refs/wild/made/") => {
                let files = run(&["ls-tree", "-r", name]);
                let kept = files.lines().filter(|line| !line.contains("\t.wild/conflicts/"));
                let list = run(&["show", &format!("{name}:.wild/conflicts/stonedb.yaml")]);
                let said = list.lines().filter(|line| !line.trim_start().starts_with("generated:"));
                kept.chain(said).collect::<Vec<_>>().join("\n")
            }
            _ => tree.to_owned(),
        };
        seen.facts.insert(format!("ref {name}"), files);
        if !of_notes {
            let log = run(&["log", "--first-parent", "--format=%s (%an)", name]);
            // A commit that an app goes back to is another one in every life.
            let lines = log.lines().map(|line| line.split_once(": to ").map_or(line, |(what, _)| what));
            seen.facts.insert(format!("history of {name}"), lines.collect::<Vec<_>>().join("\n"));
        }
    }
    if !home.repository.is_bare() {
        seen.facts.insert("uncommitted edits".to_owned(), run(&["status", "--porcelain"]));
    }
    // What a daemon writes while git looks, git takes for missing; what is missing is so the next time as well.
    let fsck = ["fsck", "--strict", "--no-dangling"];
    let is_sound =
        || command("git", &home.root).current_dir(home.root.join("home")).args(fsck).output().unwrap().status.success();
    let _ = (1..FSCKS).any(|_| is_sound());
    seen.facts.insert("fsck".to_owned(), run(&fsck));
}

/// Returns the decisions that are remembered, without when and at which commit each was made.
fn decisions(run: &impl Fn(&[&str]) -> String, name: &str) -> String {
    let mut said = String::new();
    for file in run(&["ls-tree", "-r", "--name-only", name]).lines() {
        let text = run(&["show", &format!("{name}:{file}")]);
        let kept = text.lines().filter(|line| !line.starts_with("when:") && !line.starts_with("commit:"));
        said.push_str(&format!("{file}\n{}\n", kept.collect::<Vec<_>>().join("\n")));
    }
    said
}

async fn objects<C: Cluster>(home: &Home<C>, seen: &mut Seen) {
    let mut labelled = BTreeSet::new();
    for path in LISTS {
        let list = home.cluster.read(path).await.unwrap();
        for item in list["items"].as_array().unwrap() {
            let metadata = &item["metadata"];
            let name = format!("{} {}/{}", path.rsplit('/').next().unwrap(), metadata["namespace"], metadata["name"]);
            let name = name.replace('"', "");
            seen.generations.insert(name.clone(), metadata["generation"].as_i64().unwrap_or(0));
            if metadata["labels"][INSTANCE] == home.id.as_str() {
                labelled.insert(name.replace("null/", "/"));
            }
            // A digest with the key of the instance is another one in every instance: that of a Secret, and that on a template whose pods
            // read config, with the name of its replicas.
            let is_keyed = path.ends_with("/secrets") || item.pointer(CONFIG_HASH).is_some();
            seen.facts.insert(name, format!("{:#}", normal(item.clone(), is_keyed)));
        }
    }
    // Whose volumes there are and what becomes of them; their names are those of incarnations.
    let volumes = home.cluster.read("/api/v1/persistentvolumes").await.unwrap();
    let said = |volume: &Value| {
        let (spec, status) = (&volume["spec"], &volume["status"]);
        let of = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let (claim, policy) = (&spec["claimRef"], &spec["persistentVolumeReclaimPolicy"]);
        format!("{}/{} {} {}", of(&claim["namespace"]), of(&claim["name"]), of(policy), of(&status["phase"]))
    };
    let mut volumes: Vec<String> = volumes["items"].as_array().unwrap().iter().map(said).collect();
    // On its way out.
    volumes.retain(|volume| !volume.ends_with(" Delete Released") && !volume.ends_with(" Delete Failed"));
    volumes.retain(|volume| namespaces().any(|namespace| volume.starts_with(&format!("{namespace}/"))));
    volumes.sort();
    seen.facts.insert("volumes".to_owned(), volumes.join("\n"));
    let inventories = home.asked(async |store| store.inventories(&home.id).await.unwrap()).await;
    let known: BTreeSet<String> = inventories
        .iter()
        .flat_map(|(_, inventory)| inventory.records())
        .map(|record| format!("{} {}/{}", plural(&record.id.kind), record.id.namespace, record.id.name))
        .collect();
    let both =
        |from: &BTreeSet<String>, to: &BTreeSet<String>| from.difference(to).cloned().collect::<Vec<_>>().join(", ");
    seen.facts.insert("labelled and not in the inventory".to_owned(), both(&labelled, &known));
    seen.facts.insert("in the inventory and not labelled".to_owned(), both(&known, &labelled));
}

/// Returns whether the ApplySet names the kinds and namespaces of its members and no others.
pub(crate) async fn names_what_stands<C: Cluster>(home: &Home<C>) -> bool {
    let path = format!("/api/v1/namespaces/wild-system/configmaps/wild-{}", home.id);
    let Some(parent) = home.cluster.read(&path).await else { return true };
    let annotations = &parent["metadata"]["annotations"];
    let named = |key: &str| -> BTreeSet<String> {
        let names = annotations[format!("applyset.kubernetes.io/{key}")].as_str().unwrap_or_default();
        names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let (mut kinds, mut spaces) = (BTreeSet::new(), BTreeSet::new());
    for path in LISTS {
        let list = home.cluster.read(path).await.unwrap();
        for item in list["items"].as_array().unwrap() {
            let metadata = &item["metadata"];
            if metadata["labels"]["applyset.kubernetes.io/part-of"]
                == parent["metadata"]["labels"]["applyset.kubernetes.io/id"]
            {
                kinds.insert(path.rsplit('/').next().unwrap().to_owned());
                spaces.extend(metadata["namespace"].as_str().map(str::to_owned));
            }
        }
    }
    let plurals = named("contains-group-kinds").iter().map(|kind| plural(kind.split('.').next().unwrap())).collect();
    (kinds, spaces) == (plurals, named("additional-namespaces"))
}

/// Returns the namespaces of the apps that are lived with.
fn namespaces() -> impl Iterator<Item = &'static str> {
    ["quickcache", "stonedb"].into_iter()
}

fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    if kind.ends_with("ss") { format!("{kind}es") } else { format!("{kind}s") }
}

/// Where a pod template says which config its pods read.
const CONFIG_HASH: &str = "/spec/template/metadata/annotations/rewild.dev~1config-hash";

/// Removes what two runs cannot have in common.
fn normal(value: Value, is_keyed: bool) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(key, _)| !is_volatile(key, is_keyed))
            .map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("data", Value::Object(data)) if is_keyed => {
                        data.into_iter().map(|(key, _)| (key, Value::Null)).collect()
                    }
                    ("managedFields", Value::Array(mut entries)) => {
                        entries.sort_by_key(|entry| format!("{} {}", entry["manager"], entry["subresource"]));
                        normal(Value::Array(entries), is_keyed)
                    }
                    // The one that changed last stands last, and how often pods were unavailable on the way differs from run to run.
                    ("conditions", Value::Array(mut conditions)) => {
                        conditions.sort_by_key(|condition| condition["type"].to_string());
                        normal(Value::Array(conditions), is_keyed)
                    }
                    (_, value) => normal(value, is_keyed),
                };
                (key, value)
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(|item| normal(item, is_keyed)).collect(),
        other => other,
    }
}

fn is_volatile(key: &str, is_keyed: bool) -> bool {
    let identity = [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "time",
        "rewild.dev/commit",
        "clusterIP",
        "clusterIPs",
        "volumeName",
    ];
    let counted = ["generation", "observedGeneration", "deployment.kubernetes.io/revision"];
    // Of a volume controller: it asks for a volume where none has been bound yet, and who comes first differs from run to run.
    let asks_for_volume = key.trim_start_matches("f:").ends_with("kubernetes.io/storage-provisioner");
    let keyed = ["rewild.dev/hash", "rewild.dev/config-hash", "message", "currentRevision", "updateRevision"];
    let is_counted = counted.contains(&key) || key.ends_with("Time");
    identity.contains(&key) || is_counted || asks_for_volume || (is_keyed && keyed.contains(&key))
}

/// What the store says: every request with its end, nothing open, the head's statuses.
async fn remembered<C: Cluster>(home: &Home<C>, seen: &mut Seen) {
    let operations = home.store.operations(&home.id, &Default::default()).await.unwrap();
    let open = |state| matches!(state, OperationState::Waiting | OperationState::Running);
    let still: Vec<String> =
        operations.iter().filter(|known| open(known.state)).map(|known| known.id.to_string()).collect();
    seen.facts.insert("open operations".to_owned(), still.join(", "));
    let asked: Vec<String> = operations
        .iter()
        .rev()
        .filter(|known| known.request.is_some())
        .map(|known| {
            let app = known.app.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{} {app}: {:?} {:?}", known.verb, known.state, known.outcome)
        })
        .collect();
    seen.facts.insert("requests".to_owned(), asked.join("\n"));
    let head = home.repository.head("main").await.unwrap().unwrap();
    let statuses = home.store.statuses(&home.id, &head).await.unwrap();
    let said = statuses.iter().map(|status| format!("{} {} {}\n", status.context, status.state, status.description));
    seen.facts.insert("statuses of the head".to_owned(), said.collect());
    for state in home.states().await {
        let text = format!(
            "{} {} {} {} {:?} {} {} {:?}",
            state.version,
            state.health,
            state.intent,
            state.lifecycle,
            state.update,
            state.needs_you,
            state.conflicts,
            state.drift
        );
        seen.facts.insert(format!("state of {}", state.name), text);
    }
}

/// Files that a dead process may leave.
fn left_over<C: Cluster>(home: &Home<C>, seen: &mut Seen) {
    let root = &home.root;
    let mut found = Vec::new();
    let mut folders = vec![root.join("state"), root.join("home")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().unwrap().to_string_lossy().starts_with("call-") {
                    found.push(path.display().to_string());
                }
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_ours = name == "lock" || name == "secrets.yaml.lock";
            // In the repository of a person another program may be writing one.
            let is_object = name.starts_with("tmp_") && home.repository.is_bare();
            let is_part = is_object || [".lock", ".tmp", ".part", ".wild"].iter().any(|end| name.ends_with(end));
            if is_part && !is_ours {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    seen.facts.insert("left over".to_owned(), found.join(", "));
}
