//! Pure. Edits of files that people own, as values: config.yaml key by key, and the difference of two trees as the
//! changes of a commit.
//!
//! Not here: how a key is written into a text (`yaml::edit`), what the keys are (`merge::merge_config`, `package`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::sources::CONFIG;
use crate::base::RepoPath;
use crate::merge::{ConfigEdit, Rules, conflicts_path, definitions_elsewhere};
use crate::model::{AppName, Diagnostic, File, FileTree};
use crate::yaml;

/// Characters of a commit's first line.
const MAX_SUBJECT_CHARS: usize = 72;

/// Returns the keys from the top of config.yaml to a key of an app's section.
pub(super) fn keys<'a>(app: &'a AppName, key: &'a [String]) -> Vec<&'a str> {
    ["apps", app.as_str()].into_iter().chain(key.iter().map(String::as_str)).collect()
}

/// Splits a dotted key.
pub(super) fn dotted(key: &str) -> Vec<String> {
    key.split('.').map(str::to_owned).collect()
}

/// Applies edits to an app's section and leaves every other byte of the text as it is.
pub(super) fn edit_section(text: &str, app: &AppName, edits: &[ConfigEdit]) -> Result<String, Vec<Diagnostic>> {
    edits.iter().try_fold(text.to_owned(), |text, edit| {
        let path = keys(app, &edit.path);
        match &edit.value {
            Some(value) => yaml::edit::set(CONFIG, &text, &path, value),
            None => yaml::edit::unset(CONFIG, &text, &path),
        }
    })
}

/// Returns the edits that make `from` into `to`, each as deep down as it goes.
pub(super) fn section_edits(from: &Map<String, Value>, to: &Map<String, Value>) -> Vec<ConfigEdit> {
    let mut edits = Vec::new();
    collect(&mut Vec::new(), from, to, &mut edits);
    edits
}

/// Walks one level; depth is bounded by the reader of the file.
fn collect(path: &mut Vec<String>, from: &Map<String, Value>, to: &Map<String, Value>, edits: &mut Vec<ConfigEdit>) {
    for (key, value) in to {
        path.push(key.clone());
        match (from.get(key), value) {
            (Some(before), after) if before == after => {}
            (Some(Value::Object(before)), Value::Object(after)) if !after.is_empty() => {
                collect(path, before, after, edits)
            }
            (_, after) => edits.push(ConfigEdit { path: path.clone(), value: Some(after.clone()) }),
        }
        path.pop();
    }
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        path.push(key.clone());
        edits.push(ConfigEdit { path: path.clone(), value: None });
        path.pop();
    }
}

/// Returns what has to change to make the files `from` into `to`; other paths than theirs stay.
pub(super) fn changes(from: &FileTree, to: &FileTree) -> BTreeMap<RepoPath, Option<File>> {
    let paths: BTreeSet<&RepoPath> = from.paths().chain(to.paths()).collect();
    let differing = paths.into_iter().filter(|path| from.get(path.as_str()) != to.get(path.as_str()));
    differing.map(|path| (path.clone(), to.get(path.as_str()).cloned())).collect()
}

/// Returns the files of an app below `apps/<app>/`, with their repository paths.
pub(super) fn app_files(files: &FileTree, app: &AppName) -> FileTree {
    let directory = format!("apps/{app}");
    let own = files.iter().filter(|(path, _)| path.is_within(&directory));
    own.map(|(path, file)| (path.clone(), file.clone())).collect()
}

/// Returns what is known before files of an app are merged: how types that other apps define tell their lists apart.
pub(super) fn rules(app: &AppName, instance: &FileTree, sides: [&FileTree; 2]) -> Rules {
    let custom = definitions_elsewhere(&format!("apps/{app}"), instance, sides);
    Rules { custom, ..Rules::default() }
}

/// Returns the files that a commit about an app may change: the app's own, its record, its open conflicts and
/// config.yaml.
pub(super) fn scope(files: &FileTree, app: &AppName) -> FileTree {
    let mut scope = app_files(files, app);
    for path in [super::record_path(app), conflicts_path(app), CONFIG.to_owned()] {
        if let (Some(file), Ok(path)) = (files.get(&path), RepoPath::parse(&path)) {
            scope.insert(path, file.clone());
        }
    }
    scope
}

/// Adds a text file whose path is made of checked names.
pub(super) fn put(files: &mut FileTree, path: &str, text: &str) {
    if let Ok(path) = RepoPath::parse(path) {
        files.insert(path, File::text(text));
    }
}

/// Returns the first line of a commit: type, app or `all`, and what was done, cut to the length that git shows.
pub(super) fn subject(kind: &str, scope: &str, what: &str) -> String {
    let line = format!("{kind}({scope}): {what}");
    if line.chars().count() <= MAX_SUBJECT_CHARS {
        return line;
    }
    let kept: String = line.chars().take(MAX_SUBJECT_CHARS - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{edit_section, section_edits, subject};
    use crate::model::AppName;

    fn check(text: &str, to: serde_json::Value, expected: &str) {
        let app = AppName::parse("ghost").unwrap();
        let config = super::super::sources::config_in(text).unwrap();
        let empty = serde_json::Map::new();
        let edits = section_edits(config.app(&app).unwrap_or(&empty), to.as_object().unwrap());
        assert_eq!(edit_section(text, &app, &edits).unwrap(), expected);
    }

    #[test]
    fn only_the_keys_that_differ_are_written() {
        check(
            "# mine\napps:\n  ghost:\n    domain: a.org # keep\n    size: 1Gi\n  other: {}\n",
            json!({"domain": "a.org", "size": "2Gi"}),
            "# mine\napps:\n  ghost:\n    domain: a.org # keep\n    size: 2Gi\n  other: {}\n",
        );
    }

    #[test]
    fn a_section_is_made_in_an_empty_file() {
        check("", json!({"port": "8080"}), "apps:\n  ghost:\n    port: \"8080\"\n");
    }

    #[test]
    fn a_nested_key_is_set_below_its_map_and_a_missing_one_removed() {
        check(
            "apps:\n  ghost:\n    a: {x: 1}\n    b: 2\n",
            json!({"a": {"x": 1, "z": 2}}),
            "apps:\n  ghost:\n    a: {x: 1, z: 2}\n",
        );
    }

    #[test]
    fn a_subject_has_at_most_72_characters() {
        let long = subject("config", "ghost", &"key, ".repeat(30));
        assert_eq!(long.chars().count(), 72);
        assert!(long.ends_with('…'));
        assert_eq!(subject("feat", "ghost", "add 1.0"), "feat(ghost): add 1.0");
    }
}
