//! Scripts made at random: three managers apply, update, patch and delete a few objects in no order that a person would think of.
//!
//! The same seed makes the same script, so a difference between two API servers is found again by its number.
//!
//! Not here: who plays them (`scripts.rs`).

use serde_json::{Map, Value, json};

/// Steps of one script.
const STEPS: usize = 30;
/// Who writes.
const MANAGERS: [&str; 3] = ["wild", "helm", "kubectl-edit"];

/// Returns the text of the script with this number.
pub(crate) fn random_script(seed: u64) -> String {
    let mut chance = Chance(seed);
    let mut text = "QUIET\nNAMESPACE\n".to_owned();
    for _ in 0..STEPS {
        text.push_str(&format!("\n{}\n", step(&mut chance)));
    }
    for target in Target::ALL {
        text.push_str(&format!("\nGET {}\n", target.path()));
    }
    text
}

/// Numbers that look random and are the same for the same seed (splitmix64).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// Returns a number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % u64::try_from(bound).unwrap()).unwrap()
    }

    /// Returns true once in so many times.
    pub(crate) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    /// Returns one of some values.
    pub(crate) fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

#[derive(Clone, Copy)]
enum Target {
    ConfigMap,
    Service,
    Deployment,
}

impl Target {
    const ALL: [Self; 3] = [Self::ConfigMap, Self::Service, Self::Deployment];

    fn path(self) -> &'static str {
        match self {
            Self::ConfigMap => "/api/v1/namespaces/$ns/configmaps/c",
            Self::Service => "/api/v1/namespaces/$ns/services/s",
            Self::Deployment => "/apis/apps/v1/namespaces/$ns/deployments/d",
        }
    }

    /// Returns an object of this kind that names some fields.
    fn object(self, chance: &mut Chance) -> Value {
        let (version, kind, name) = match self {
            Self::ConfigMap => ("v1", "ConfigMap", "c"),
            Self::Service => ("v1", "Service", "s"),
            Self::Deployment => ("apps/v1", "Deployment", "d"),
        };
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), json!(name));
        metadata.extend(some_map(chance, "labels", &["x", "y"]));
        metadata.extend(some_map(chance, "annotations", &["p", "q"]));
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
        let map = object.as_object_mut().unwrap();
        match self {
            Self::ConfigMap => map.extend(some_map(chance, "data", &["a", "b", "c"])),
            Self::Service => map.extend([("spec".to_owned(), service(chance))]),
            Self::Deployment => map.extend([("spec".to_owned(), deployment(chance))]),
        }
        object
    }
}

fn step(chance: &mut Chance) -> String {
    let target = *chance.of(&[&Target::ConfigMap, &Target::Service, &Target::Deployment, &Target::Deployment]);
    let (path, manager) = (target.path(), chance.of(&MANAGERS));
    let dry = if chance.one_in(8) { "&dryRun=All" } else { "" };
    match chance.below(20) {
        0..=10 => {
            let force = if chance.one_in(2) { "&force=true" } else { "" };
            let body = target.object(chance);
            format!("PATCH {path}?fieldManager={manager}{force}{dry}\ntype: apply\n{body}")
        }
        11..=12 => {
            let body = target.object(chance);
            format!("PUT {path}?fieldManager={manager}{dry}\n{body}")
        }
        13..=15 => {
            let mut body = target.object(chance);
            forget_some(&mut body, chance);
            format!("PATCH {path}?fieldManager={manager}{dry}\ntype: merge\n{body}")
        }
        16..=17 => {
            let mut body = target.object(chance);
            forget_some(&mut body, chance);
            format!("PATCH {path}?fieldManager={manager}{dry}\ntype: strategic\n{body}")
        }
        18 => {
            let collection = path.rsplit_once('/').unwrap().0;
            format!("POST {collection}?fieldManager={manager}{dry}\n{}", target.object(chance))
        }
        _ => format!("DELETE {path}{}", dry.replace('&', "?")),
    }
}

/// Sets some entries of maps to null, as a patch that removes them does.
fn forget_some(value: &mut Value, chance: &mut Chance) {
    let Value::Object(map) = value else { return };
    for (key, inner) in map.iter_mut() {
        let kept =
            matches!(key.as_str(), "name" | "metadata" | "spec" | "apiVersion" | "kind" | "selector" | "template");
        if inner.is_string() && !kept && chance.one_in(3) {
            *inner = Value::Null;
        } else {
            forget_some(inner, chance);
        }
    }
}

/// Returns a map of some of these keys, or nothing.
fn some_map(chance: &mut Chance, name: &str, keys: &[&str]) -> Option<(String, Value)> {
    let mut map = Map::new();
    for key in keys {
        if chance.one_in(2) {
            map.insert((*key).to_owned(), json!(chance.of(&["1", "2"])));
        }
    }
    (!map.is_empty()).then(|| (name.to_owned(), Value::Object(map)))
}

fn some(chance: &mut Chance, map: &mut Value, key: &str, values: &[Value]) {
    if chance.one_in(2) {
        let value = values[chance.below(values.len())].clone();
        map.as_object_mut().unwrap().insert(key.to_owned(), value);
    }
}

/// Returns some of these items, in some order.
fn some_items(chance: &mut Chance, items: &[Value]) -> Vec<Value> {
    let mut left: Vec<Value> = items.to_vec();
    let mut taken = Vec::new();
    for _ in 0..chance.below(items.len() + 1) {
        taken.push(left.remove(chance.below(left.len())));
    }
    taken
}

fn service(chance: &mut Chance) -> Value {
    let mut ports = some_items(
        chance,
        &[
            json!({"name": "http", "port": 80}),
            json!({"name": "dns", "port": 53, "protocol": "UDP"}),
            json!({"name": "dns-tcp", "port": 53, "protocol": "TCP"}),
        ],
    );
    ports.iter_mut().for_each(|port| some(chance, port, "targetPort", &[json!(8080), json!("web")]));
    let mut spec = json!({});
    if !ports.is_empty() || chance.one_in(4) {
        spec["ports"] = json!(ports);
    }
    some(chance, &mut spec, "selector", &[json!({"app": "a"}), json!({"app": "b", "tier": "t"})]);
    some(chance, &mut spec, "sessionAffinity", &[json!("None"), json!("ClientIP")]);
    some(chance, &mut spec, "publishNotReadyAddresses", &[json!(true), json!(false)]);
    spec
}

fn deployment(chance: &mut Chance) -> Value {
    let mut spec = json!({});
    some(chance, &mut spec, "replicas", &[json!(0), json!(1), json!(2)]);
    some(chance, &mut spec, "paused", &[json!(true), json!(false)]);
    some(chance, &mut spec, "minReadySeconds", &[json!(1), json!(2)]);
    if !chance.one_in(4) {
        spec["selector"] = json!({"matchLabels": {"app": "d"}});
    }
    let mut containers = some_items(chance, &[json!({"name": "one"}), json!({"name": "two"})]);
    for container in &mut containers {
        fill_container(chance, container);
    }
    let mut pod = json!({"containers": containers});
    if chance.one_in(3) {
        let volumes = [json!({"name": "v", "emptyDir": {}}), json!({"name": "w", "configMap": {"name": "c"}})];
        pod["volumes"] = json!(some_items(chance, &volumes));
    }
    some(chance, &mut pod, "terminationGracePeriodSeconds", &[json!(5), json!(30)]);
    some(chance, &mut pod, "nodeSelector", &[json!({"disk": "ssd"}), json!({"disk": "hdd", "zone": "a"})]);
    let mut labels = json!({"app": "d"});
    some(chance, &mut labels, "rev", &[json!("1"), json!("2")]);
    spec["template"] = json!({"metadata": {"labels": labels}, "spec": pod});
    spec
}

fn fill_container(chance: &mut Chance, container: &mut Value) {
    if !chance.one_in(5) {
        container["image"] = json!(chance.of(&["a:1", "a:2", "a:latest"]));
    }
    let variables = [json!({"name": "A"}), json!({"name": "B"}), json!({"name": "C"})];
    let mut variables = some_items(chance, &variables);
    variables.iter_mut().for_each(|it| some(chance, it, "value", &[json!("1"), json!("2"), json!("")]));
    if !variables.is_empty() {
        container["env"] = json!(variables);
    }
    let ports = [json!({"containerPort": 80}), json!({"containerPort": 81, "name": "m"})];
    let ports = some_items(chance, &ports);
    if !ports.is_empty() {
        container["ports"] = json!(ports);
    }
    some(chance, container, "args", &[json!(["a"]), json!(["a", "b"]), json!([])]);
    some(chance, container, "resources", &[json!({"requests": {"cpu": "100m"}}), json!({"limits": {"memory": "1Gi"}})]);
}
