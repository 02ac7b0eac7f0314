//! What three apps are to be, and what changes from commit to commit, drawn from a seed.
//!
//! Two of the apps share a namespace, so that objects can move from one to the other. Not here: what becomes of it (`home.rs`).

use std::collections::BTreeMap;

use rewild::base::RepoPath;
use rewild::model::{File, FileTree, ObjectId};

use super::hands::Hand;
use super::target::Order;
use crate::faults::chaos::Dice;

/// The apps with their namespaces.
pub(crate) const APPS: [(&str, &str); 3] = [("one", "shared"), ("two", "shared"), ("three", "three")];
/// Config maps that the apps of the shared namespace may have between them.
const PARTS: [&str; 6] = ["a", "bb", "c", "dd", "e", "ff"];
/// In how many of so many commits an app comes or goes.
const COMES_OR_GOES: u64 = 16;

/// What one app is to be: the version of each of its objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wish {
    pub(crate) is_present: bool,
    parts: BTreeMap<&'static str, u64>,
    job: u64,
    /// The Job of a hook, if there is one.
    hook: Option<u64>,
    /// A config map that cannot be changed.
    frozen: u64,
    secret: u64,
    /// A workload that goes before all else.
    db: u64,
    web: u64,
    /// A config map that waits for the second workload, if there is one.
    after: Option<u64>,
    /// A config map that goes after all else.
    last: u64,
}

/// What all apps are to be.
pub(crate) type Wishes = BTreeMap<&'static str, Wish>;

/// Returns the apps as they begin.
pub(crate) fn first() -> Wishes {
    let parts = [&PARTS[..3], &PARTS[3..], &PARTS[..2]];
    let wish = |parts: &[&'static str]| Wish {
        is_present: true,
        parts: parts.iter().map(|part| (*part, 0)).collect(),
        job: 0,
        hook: None,
        frozen: 0,
        secret: 0,
        db: 0,
        web: 0,
        after: None,
        last: 0,
    };
    APPS.iter().zip(parts).map(|((name, _), parts)| (*name, wish(parts))).collect()
}

/// Changes the apps as a commit does.
pub(crate) fn change(wishes: &mut Wishes, dice: &mut Dice, number: u64) {
    let (name, _) = dice.of(&APPS);
    // Whether the namespace goes to the other app or to nobody when the first one goes hangs on who is looked at first.
    if name != "one" && dice.roll(COMES_OR_GOES) == 0 {
        let wish = wishes.get_mut(name).unwrap();
        wish.is_present = !wish.is_present;
        return;
    }
    for _ in 0..=dice.roll(3) {
        change_one(wishes, dice, (name, number));
    }
}

/// Returns what a person may do while a pass is on its way.
pub(crate) fn hand(dice: &mut Dice) -> Hand {
    let (name, namespace) = dice.of(&APPS);
    let config = |name: &str| ObjectId::new("", "ConfigMap", namespace, name);
    let id = match dice.roll(8) {
        0..3 => config(dice.of(&PARTS)),
        3 => config(&format!("last-{name}")),
        4 => config(&format!("after-{name}")),
        5 => ObjectId::new("", "Secret", namespace, &format!("secret-{name}")),
        6 => ObjectId::new("apps", "Deployment", namespace, &format!("db-{name}")),
        _ => ObjectId::new("apps", "Deployment", namespace, &format!("web-{name}")),
    };
    if dice.roll(2) == 0 { Hand::Deletes(id) } else { Hand::Edits(id) }
}

/// Returns what a person may do while nothing is on its way: also what must not be done to a Job before it is noted that it has run.
pub(crate) fn hand_at_rest(dice: &mut Dice) -> Option<Hand> {
    let (name, namespace) = dice.of(&APPS);
    match dice.roll(8) {
        0 => Some(Hand::Deletes(ObjectId::new("batch", "Job", namespace, &format!("job-{name}")))),
        1 => Some(Hand::Deletes(ObjectId::new("", "ConfigMap", namespace, &format!("frozen-{name}")))),
        2 => Some(Hand::Stranger(ObjectId::new("", "ConfigMap", "three", "stranger"))),
        3 | 4 => Some(hand(dice)),
        _ => None,
    }
}

fn change_one(wishes: &mut Wishes, dice: &mut Dice, (name, number): (&'static str, u64)) {
    let part = dice.of(&PARTS);
    let holder = ["one", "two"].into_iter().find(|app| wishes[app].parts.contains_key(part));
    let is_shared = name != "three";
    let wish = wishes.get_mut(name).unwrap();
    match dice.roll(14) {
        10 => wish.db = number,
        11 => wish.web = number,
        12 => wish.last = number,
        13 => wish.after = if wish.after.is_some() { None } else { Some(number) },
        0 => wish.job = number,
        1 => wish.frozen = number,
        2 => wish.secret = number,
        3 => wish.hook = if wish.hook.is_some() { None } else { Some(number) },
        4 => _ = wish.parts.remove(part),
        5 | 6 if is_shared && holder.is_some() => {
            // It moves, or stays where it is.
            let version = wishes.get_mut(holder.unwrap()).unwrap().parts.remove(part).unwrap();
            wishes.get_mut(name).unwrap().parts.insert(part, version);
        }
        _ if is_shared && holder.is_some_and(|holder| holder != name) => {}
        _ => _ = wish.parts.insert(part, number),
    }
}

/// Returns what has to be well before what, as the apps that are there say it.
pub(crate) fn order(wishes: &Wishes) -> Order {
    let there = APPS.iter().filter(|(name, _)| wishes[name].is_present);
    there.flat_map(|(name, namespace)| order_of(name, namespace, &wishes[name])).collect()
}

fn order_of(name: &str, namespace: &str, wish: &Wish) -> Order {
    let config = |name: &str| ObjectId::new("", "ConfigMap", namespace, name);
    let workload = |kind: &str, version: u64| {
        let id = ObjectId::new("apps", "Deployment", namespace, &format!("{kind}-{name}"));
        (id, Some(format!("{kind}:{version}")))
    };
    let (db, web) = (workload("db", wish.db), workload("web", wish.web));
    let mut second: Vec<_> =
        wish.parts.iter().map(|(part, version)| (config(part), Some(version.to_string()))).collect();
    second.push((config(&format!("frozen-{name}")), Some(wish.frozen.to_string())));
    second.push((ObjectId::new("", "Secret", namespace, &format!("secret-{name}")), None));
    second.push(web.clone());
    let after = wish.after.map(|version| (config(&format!("after-{name}")), Some(version.to_string())));
    second.extend(after.clone());
    let mut order: Order = second.iter().map(|(id, _)| (id.clone(), vec![db.clone()])).collect();
    order.extend(after.map(|(id, _)| (id, vec![db.clone(), web])));
    second.push(db);
    order.insert(config(&format!("last-{name}")), second);
    order
}

/// Returns the files of an app.
pub(crate) fn files(name: &str, namespace: &str, wish: &Wish) -> FileTree {
    let mut text = String::new();
    for (part, version) in &wish.parts {
        text.push_str(&config(part, "", "", *version));
    }
    text.push_str(&config(&format!("frozen-{name}"), "", "immutable: true\n", wish.frozen));
    text.push_str(&job(&format!("job-{name}"), "", wish.job));
    if let Some(version) = wish.hook {
        text.push_str(&job(&format!("hook-{name}"), "rewild.dev/hook: pre-deploy", version));
    }
    text.push_str(&format!(
        "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: secret-{name}}}\nstringData: {{value: \"{}\"}}\n",
        wish.secret
    ));
    text.push_str(&workload("db", name, "rewild.dev/wave: \"-2\"", wish.db));
    text.push_str(&workload("web", name, "", wish.web));
    if let Some(version) = wish.after {
        let depends = format!("rewild.dev/depends-on: apps/namespaces/{namespace}/Deployment/web-{name}");
        text.push_str(&config(&format!("after-{name}"), &depends, "", version));
    }
    text.push_str(&config(&format!("last-{name}"), "rewild.dev/wave: \"3\"", "", wish.last));
    let mut files = FileTree::new();
    let list = format!("namespace: {namespace}\nresources: [all.yaml]\n");
    for (file, text) in [("kustomization.yaml", list), ("all.yaml", text)] {
        files.insert(RepoPath::parse(&format!("apps/{name}/{file}")).unwrap(), File::text(&text));
    }
    files
}

fn config(name: &str, annotations: &str, more: &str, version: u64) -> String {
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\n{more}data: {{version: \"{version}\"}}\n"
    )
}

fn job(name: &str, annotations: &str, version: u64) -> String {
    format!(
        "---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\nspec:\n  template:\n    spec:\n      \
         restartPolicy: Never\n      containers:\n      - {{name: run, image: \"run:{version}\"}}\n"
    )
}

fn workload(kind: &str, name: &str, annotations: &str, version: u64) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {kind}-{name}, annotations: {{{annotations}}}}}\nspec:\n  replicas: 2\n  \
         selector: {{matchLabels: {{app: {kind}-{name}}}}}\n  template:\n    metadata: {{labels: {{app: {kind}-{name}}}}}\n    spec:\n      \
         containers:\n      - {{name: {kind}, image: \"{kind}:{version}\"}}\n"
    )
}
