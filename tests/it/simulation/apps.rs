//! What three apps are to be, and what changes from commit to commit, drawn from a seed.
//!
//! Two of the apps share a namespace, so that objects can move from one to the other. Not here: what becomes of it (`home.rs`).

use std::collections::BTreeMap;

use rewild::base::RepoPath;
use rewild::model::{File, FileTree, ObjectId};

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
}

/// What all apps are to be.
pub(crate) type Wishes = BTreeMap<&'static str, Wish>;

/// What happens beside a commit.
pub(crate) enum Hand {
    Nothing,
    /// A person deletes an object, or its time is over.
    Deletes(ObjectId),
}

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
    };
    APPS.iter().zip(parts).map(|((name, _), parts)| (*name, wish(parts))).collect()
}

/// Changes the apps as a commit does, and returns what people do at the same time.
pub(crate) fn change(wishes: &mut Wishes, dice: &mut Dice, number: u64) -> Hand {
    let (name, namespace) = dice.of(&APPS);
    // Whether the namespace goes to the other app or to nobody when the first one goes hangs on who is looked at first.
    if name != "one" && dice.roll(COMES_OR_GOES) == 0 {
        let wish = wishes.get_mut(name).unwrap();
        wish.is_present = !wish.is_present;
        return Hand::Nothing;
    }
    for _ in 0..=dice.roll(3) {
        change_one(wishes, dice, (name, number));
    }
    match dice.roll(8) {
        0 => Hand::Deletes(ObjectId::new("", "ConfigMap", namespace, dice.of(&PARTS))),
        1 => Hand::Deletes(ObjectId::new("batch", "Job", namespace, &format!("job-{name}"))),
        2 => Hand::Deletes(ObjectId::new("", "Secret", namespace, &format!("secret-{name}"))),
        _ => Hand::Nothing,
    }
}

fn change_one(wishes: &mut Wishes, dice: &mut Dice, (name, number): (&'static str, u64)) {
    let part = dice.of(&PARTS);
    let holder = ["one", "two"].into_iter().find(|app| wishes[app].parts.contains_key(part));
    let is_shared = name != "three";
    let wish = wishes.get_mut(name).unwrap();
    match dice.roll(10) {
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

/// Returns the files of an app.
pub(crate) fn files(name: &str, namespace: &str, wish: &Wish) -> FileTree {
    let mut text = String::new();
    let config = |name: &str, more: &str, version: u64| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n{more}data: {{version: \"{version}\"}}\n"
        )
    };
    let job = |name: &str, annotations: &str, version: u64| {
        format!(
            "---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\nspec:\n  template:\n    spec:\n      \
             restartPolicy: Never\n      containers:\n      - {{name: run, image: \"run:{version}\"}}\n"
        )
    };
    for (part, version) in &wish.parts {
        text.push_str(&config(part, "", *version));
    }
    text.push_str(&config(&format!("frozen-{name}"), "immutable: true\n", wish.frozen));
    text.push_str(&job(&format!("job-{name}"), "", wish.job));
    if let Some(version) = wish.hook {
        text.push_str(&job(&format!("hook-{name}"), "rewild.dev/hook: pre-deploy", version));
    }
    text.push_str(&format!(
        "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: secret-{name}}}\nstringData: {{value: \"{}\"}}\n",
        wish.secret
    ));
    let mut files = FileTree::new();
    let list = format!("namespace: {namespace}\nresources: [all.yaml]\n");
    for (file, text) in [("kustomization.yaml", list), ("all.yaml", text)] {
        files.insert(RepoPath::parse(&format!("apps/{name}/{file}")).unwrap(), File::text(&text));
    }
    files
}
