//! Pure. Tests of whole merges: the recorded situations, each in a directory of its own.

mod kinds;
mod rows;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Merged, Prefer, Rules, Three, merge, merge_file};
use crate::base::RepoPath;
use crate::model::{File, FileTree};
use crate::yaml::{self, Dialect};

fn root() -> PathBuf {
    crate::base::fixtures("merge")
}

/// Reads a directory as files of an app.
fn tree(directory: &Path) -> FileTree {
    let Ok(entries) = fs::read_dir(directory) else { return FileTree::new() };
    let mut tree = FileTree::new();
    for entry in entries.map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let file = File { bytes: fs::read(entry.path()).unwrap().into(), ..File::text("") };
        tree.insert(RepoPath::parse(&format!("apps/inkpot/{name}")).unwrap(), file);
    }
    tree
}

fn cases() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root())
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn merged(case: &str) -> Merged {
    let side = |name: &str| tree(&root().join(case).join(name));
    let (base, ours, theirs) = (side("base"), side("ours"), side("theirs"));
    let has_template = base.iter().any(|(_, file)| file.as_text().is_some_and(|text| text.contains("{{")));
    let templates = has_template.then(|| ("{{".to_owned(), "}}".to_owned()));
    merge(Three { base: &base, ours: &ours, theirs: &theirs }, &Rules { templates, ..Rules::default() })
}

/// Returns the conflicts as a fixture lists them.
fn listed(merged: &Merged) -> Value {
    let conflict = |conflict: &super::Conflict| {
        let file = conflict.path.below("apps/inkpot").unwrap().to_string();
        let mut entry = json!({"kind": conflict.kind, "file": file});
        if !conflict.key.is_empty() {
            entry["path"] = json!(conflict.key);
        }
        entry
    };
    merged.conflicts.iter().map(conflict).collect()
}

#[test]
fn every_recorded_situation_comes_out_as_recorded() {
    let mut wrong = Vec::new();
    for case in cases() {
        let known = wrong.len();
        let found = merged(&case);
        let conflicts = fs::read_to_string(root().join(&case).join("conflicts.yaml")).unwrap();
        let conflicts = yaml::load_one("conflicts.yaml", &conflicts, Dialect::Gomplate).unwrap().unwrap().value;
        let expected = tree(&root().join(&case).join("expected"));
        let text = |tree: &FileTree| {
            tree.iter().map(|(path, file)| format!("{path}:\n{}", file.as_text().unwrap())).collect::<String>()
        };
        if found.files != expected {
            wrong.push(format!("{case}: files\n{}\ninstead of\n{}", text(&found.files), text(&expected)));
        }
        if listed(&found) != conflicts {
            wrong.push(format!("{case}: conflicts {} instead of {conflicts}", listed(&found)));
        }
        wrong.extend(found.guards.iter().map(|guard| format!("{case}: guard {guard}")));
        let kinds: Vec<_> = found.conflicts.iter().map(|conflict| format!("{:?}", conflict.kind)).collect();
        let is_right = if wrong.len() == known { "as recorded" } else { "WRONG" };
        println!("{case}: {is_right}, conflicts [{}]", kinds.join(", "));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What kyaml is known to get wrong; a recorded case names one of them, and then ours is another result.
const FAULTS: [&str; 5] = [
    "an alias is dropped",
    "a null is dropped",
    "a fragment of what we deleted comes back",
    "a fragment of what upstream deleted stays",
    "a list without keys is taken whole",
];

#[test]
fn where_upstream_is_preferred_an_object_comes_out_as_kyaml_merges_it() {
    let recorded = fs::read_to_string(root().join("kyaml.jsonl")).unwrap();
    let path = RepoPath::parse("apps/inkpot/all.yaml").unwrap();
    let rules = Rules { prefer: Prefer::Theirs, ..Rules::default() };
    let mut shown = Vec::new();
    for line in recorded.lines().filter(|line| !line.starts_with('#')) {
        let case: Value = serde_json::from_str(line).unwrap();
        let side = |name: &str| case[name].as_str();
        let texts = Three { base: side("base"), ours: side("ours"), theirs: side("theirs") };
        let found = merge_file(&path, texts, &rules);
        assert_eq!((found.guard, found.conflicts.len()), (None, 0), "{line}");
        let (ours, theirs) = (said(&found.text.unwrap()), said(side("merged").unwrap()));
        match case.get("fault").and_then(Value::as_str) {
            None => assert_eq!(ours, theirs, "{line}"),
            Some(fault) => {
                assert!(FAULTS.contains(&fault) && ours != theirs, "{line}");
                shown.push(fault.to_owned());
            }
        }
    }
    assert!(FAULTS.iter().all(|fault| shown.iter().any(|it| it == fault)), "{shown:?}");
}

/// Returns what a text says, whatever the order of the entries of maps and of the items that have a name.
fn said(text: &str) -> Value {
    fn sort(value: &mut Value) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(sort);
                if items.iter().all(Value::is_object) {
                    items.sort_by_key(ToString::to_string);
                }
            }
            Value::Object(map) => {
                map.values_mut().for_each(sort);
                map.sort_keys();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let read = yaml::load_one("merged.yaml", text, Dialect::Kube).unwrap();
    let mut value = read.map_or(Value::Null, |document| document.value);
    sort(&mut value);
    value
}
