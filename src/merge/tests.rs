//! Pure. Tests of whole merges: the recorded situations, each in a directory of its own.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::{Value, json};

use super::{Merged, Rules, Three, merge};
use crate::base::RepoPath;
use crate::model::{File, FileTree};
use crate::yaml::{self, Dialect};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/merge")
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
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
