//! Pure. Rules about the text of templates: what they read, what they repeat, what other tools left behind in them.
//!
//! Not here: rendering (`template`), what comes out (`pods.rs`, `references.rs`).

use serde_json::{Map, Value};

use super::{LintInput, found};
use crate::base::RepoPath;
use crate::model::Diagnostic;
use crate::package::load::{is_for_people, manifest_of};
use crate::package::manifest::PackageDialect;

/// Keys that other packages read through `.apps`, so that nothing in the package itself must.
const FOR_OTHERS: [&str; 8] = ["namespace", "host", "port", "url", "uri", "user", "dbUser", "domain"];
/// Shortest value whose repetition is no accident.
const MIN_REPEATED_CHARS: usize = 8;
/// Objects of Helm that a template cannot see.
const HELM: [&str; 4] = [".Values", ".Release", ".Chart", ".Capabilities"];
/// Functions that are gone in the next gomplate, or whose order of arguments will turn.
const DEPRECATED: [&str; 7] = ["contains", "hasPrefix", "hasSuffix", "split", "splitN", "trim", "slice"];
/// Fields of a kustomization that have a new form.
const OLD_FIELDS: [(&str, &str); 6] = [
    ("bases:", "resources"),
    ("patchesStrategicMerge:", "patches"),
    ("patchesJson6902:", "patches"),
    ("imageTags:", "images"),
    ("commonLabels:", "labels"),
    ("vars:", "replacements"),
];

/// Checks all files that are rendered.
pub(super) fn check(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    unread(input, findings);
    let rendered = |path: &RepoPath| !input.package.is_manifest(path) && !is_for_people(path.as_str());
    for (path, file) in input.package.files.iter().filter(|(path, _)| rendered(path)) {
        let Some(text) = file.as_text() else { continue };
        let is_kustomization = path.name().to_lowercase().starts_with("kustomization");
        for (number, line) in text.lines().enumerate() {
            let place = (path.as_str(), number + 1);
            in_actions(place, line, findings);
            if is_kustomization {
                old_fields(place, line, findings);
            } else if path.is_yaml() {
                repeated(input, place, line, findings);
            }
        }
    }
}

/// Names defaults that nothing reads.
fn unread(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    let manifest = &input.package.manifest;
    if manifest.dialect == PackageDialect::Service {
        return;
    }
    let mut paths = Vec::new();
    leaves(&manifest.default_config, &mut Vec::new(), &mut paths);
    for path in paths {
        let dotted = path.join(".");
        let is_read = (0..=path.len()).filter_map(|length| path.get(..length)).any(|start| {
            let start = start.join(".");
            !start.is_empty() && input.reads.contains(&start)
        });
        let for_others = path.first().is_some_and(|first| FOR_OTHERS.contains(&first.as_str()));
        if !is_read && !for_others {
            let mut place = vec!["defaultConfig"];
            place.extend(path.iter().map(String::as_str));
            let file = manifest_of(&input.package.files);
            findings.push(found("L008", file, manifest.line_of(&place), format!("no template reads {dotted}")));
        }
    }
}

fn leaves(map: &Map<String, Value>, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for (key, value) in map {
        path.push(key.clone());
        match value {
            Value::Object(inner) if !inner.is_empty() => leaves(inner, path, found),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                found.push(path.clone());
            }
        }
        path.pop();
    }
}

fn in_actions((file, line): (&str, usize), text: &str, findings: &mut Vec<Diagnostic>) {
    for action in text.split("{{").skip(1).map(|rest| rest.split_once("}}").map_or(rest, |(inside, _)| inside)) {
        if let Some(helm) = HELM.iter().find(|helm| action.contains(*helm)) {
            findings.push(found("L021", file, line, format!("{helm} is an object of Helm")));
        }
        let words = action.split(|c: char| !c.is_alphanumeric() && c != '.' && c != '_' && c != '$');
        if let Some(old) = words.into_iter().find(|word| DEPRECATED.contains(word)) {
            let new = match old {
                "slice" => "coll.Slice".to_owned(),
                old => format!(
                    "strings.{}{}",
                    old.chars().next().map_or('S', |c| c.to_ascii_uppercase()),
                    old.get(1..).unwrap_or("")
                ),
            };
            findings.push(found("L027", file, line, format!("{old} is an old name of {new}")));
        }
    }
}

fn old_fields((file, line): (&str, usize), text: &str, findings: &mut Vec<Diagnostic>) {
    if let Some((old, new)) = OLD_FIELDS.iter().find(|(old, _)| text.starts_with(old)) {
        let old = old.trim_end_matches(':');
        findings.push(found("L027", file, line, format!("{old} is an old form of {new}")));
    }
}

/// Names a line that holds the value of a default as it is.
fn repeated(input: &LintInput<'_>, (file, line): (&str, usize), text: &str, findings: &mut Vec<Diagnostic>) {
    if text.contains("{{") || text.trim_start().starts_with('#') {
        return;
    }
    let value_of_line = text.split_once(':').map_or(text, |(_, value)| value).trim().trim_matches(['"', '\'']);
    let literal = |(_, value): &(&String, &Value)| {
        value.as_str().is_some_and(|value| value == value_of_line && value.chars().count() >= MIN_REPEATED_CHARS)
    };
    let name = input.package.name.as_str();
    if value_of_line != name
        && let Some((key, _)) = input.package.manifest.default_config.iter().find(literal)
    {
        findings.push(found("L033", file, line, format!("the value of the config key {key} is repeated here")));
    }
}
