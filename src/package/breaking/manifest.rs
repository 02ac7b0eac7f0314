//! Pure. What manifests break: config keys, requirements, secrets, the way between two versions.
//!
//! Not here: objects (`objects.rs`).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{LocalEdits, VersionSide, decide, note};
use crate::model::Diagnostic;
use crate::package::{Package, PackageManifest, RequiredSecret, Supply, compare_versions, is_for_people, satisfies};

/// Returns B01 to B07.
pub(super) fn compare(old: VersionSide<'_>, new: VersionSide<'_>, edits: LocalEdits<'_>) -> Vec<Diagnostic> {
    let (before, after) = (&old.package.manifest, &new.package.manifest);
    let mut findings = Vec::new();
    keys(&before.default_config, &after.default_config, edits, &mut findings);
    unset_keys(old, new, &mut findings);
    requirements(before, after, &mut findings);
    secrets(before, after, &mut findings);
    findings.extend(path(before, after));
    findings
}

/// Returns whether a file other than the manifest and those for people has another text.
pub(super) fn has_new_text(old: &Package, new: &Package) -> bool {
    old.manifest.dialect != new.manifest.dialect || texts(old) != texts(new)
}

/// Returns the files that make objects.
fn texts(package: &Package) -> BTreeMap<&str, &[u8]> {
    let files = package.files.iter().filter(|(path, _)| !package.is_manifest(path) && !is_for_people(path.as_str()));
    files.map(|(path, file)| (path.as_str(), &*file.bytes)).collect()
}

/// What a value is, as far as a person's edit of it depends on that.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "a map",
        Value::Array(_) => "a list",
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => "a single value",
    }
}

/// Returns whether a default is there only to be replaced.
fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

fn keys(old: &Map<String, Value>, new: &Map<String, Value>, edits: LocalEdits<'_>, findings: &mut Vec<Diagnostic>) {
    let mut gone = Vec::new();
    walk(old, new, "", &mut |path, before, after| match after {
        None => gone.push((path.to_owned(), before.clone())),
        Some(after) if kind(before) != kind(after) => {
            let message = format!("the config key {path} was {} and is {}", kind(before), kind(after));
            findings.push(decide("B02", path, message, "write the value anew in its new form"));
        }
        Some(_) => {}
    });
    let mut added = Vec::new();
    walk(new, old, "", &mut |path, value, other| {
        if other.is_none() {
            added.push((path.to_owned(), value.clone()));
        }
    });
    for (path, value) in gone.iter().filter(|(path, _)| edits.touch(path)) {
        let meant = added.iter().find(|(_, new)| new == value && !is_blank(value));
        let (message, hint) = match meant {
            Some((other, _)) => (
                format!("the config key {path} is gone; {other} has its default now"),
                format!("if it was renamed, move your value to {other}"),
            ),
            None => (format!("the config key {path} is gone"), "remove your value, or keep it unused".to_owned()),
        };
        findings.push(decide("B01", path, message, &hint));
    }
}

/// Visits every key of the first map down to where the second one has no map, with what stands there.
fn walk(
    map: &Map<String, Value>,
    other: &Map<String, Value>,
    prefix: &str,
    visit: &mut impl FnMut(&str, &Value, Option<&Value>),
) {
    for (key, value) in map {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match (value, other.get(key)) {
            (Value::Object(value), Some(Value::Object(other))) => walk(value, other, &path, visit),
            (_, found) => visit(&path, value, found),
        }
    }
}

/// Finds keys that files read now and for which there is no default.
fn unset_keys(old: VersionSide<'_>, new: VersionSide<'_>, findings: &mut Vec<Diagnostic>) {
    let has = |side: VersionSide<'_>, path: &str| {
        let mut parts = path.split('.');
        let first = parts.next().and_then(|first| side.package.manifest.default_config.get(first));
        let found = first.and_then(|first| parts.try_fold(first, |value, key| value.get(key)));
        found.is_some_and(|value| !is_blank(value))
    };
    let foreign = ["apps", "cloud", "cluster", "operator", "config", "namespace"];
    for path in new.reads.iter().filter(|path| !foreign.contains(&path.split('.').next().unwrap_or(""))) {
        if !old.reads.contains(path) && !has(new, path) && !has(old, path) {
            let message = format!("the files read the config key {path}, which has no default");
            findings.push(decide("B03", path, message, "wild app config APP set KEY=VALUE gives it a value"));
        }
    }
}

fn requirements(old: &PackageManifest, new: &PackageManifest, findings: &mut Vec<Diagnostic>) {
    let hint = "name the app below requires in apps/APP/manifest.yaml, as installedAs, unless one alone fits";
    if old.is != new.is {
        let message = format!("the package was of type {} and is of type {}", old.is, new.is);
        findings.push(decide("B04", &new.is, message, "apps that require the old type lose it"));
    }
    for requirement in &new.requires {
        let reference = requirement.reference();
        let message = match old.requirement(reference) {
            Some(before) if before.name == requirement.name => continue,
            Some(before) => {
                format!("{reference} was an app of type {} and is one of type {}", before.name, requirement.name)
            }
            None => match renamed(old, new, &requirement.name) {
                Some(before) => format!("the requirement {before} is called {reference} now"),
                None => format!("it requires {} now, as {reference}", requirement.name),
            },
        };
        findings.push(decide("B04", reference, message, hint));
    }
    for requirement in &old.requires {
        let reference = requirement.reference();
        if new.requirement(reference).is_none() && !new.requires.iter().any(|it| it.name == requirement.name) {
            let message = format!("it no longer requires {}", requirement.name);
            findings.push(decide("B04", reference, message, "the binding goes; the other app stays"));
        }
    }
}

/// Returns the old reference of a type that is required under another one now.
fn renamed<'a>(old: &'a PackageManifest, new: &PackageManifest, name: &str) -> Option<&'a str> {
    let before = old.requires.iter().filter(|it| it.name == name);
    before.map(|it| it.reference()).find(|reference| new.requirement(reference).is_none())
}

fn secrets(old: &PackageManifest, new: &PackageManifest, findings: &mut Vec<Diagnostic>) {
    let is_old =
        |key: &RequiredSecret| old.required_secrets.iter().any(|it| it.reference == key.reference && it.key == key.key);
    for key in new.required_secrets.iter().filter(|key| !is_old(key)) {
        let name = format!("{}.{}", key.reference, key.key);
        let message = format!("it wants to read the secret {name} of another app");
        findings.push(decide("B05", &name, message, "grant it with the update, or stay at this version"));
    }
    for spec in &new.default_secrets {
        let before = old.default_secrets.iter().find(|before| before.key == spec.key);
        match before {
            None if spec.supply == Supply::Person => {
                let message = format!("it wants the secret {}, which only you know", spec.key);
                findings.push(decide(
                    "B05",
                    &spec.key,
                    message,
                    "before the update: wild secret set apps.APP.KEY < FILE",
                ));
            }
            Some(before) if before.default != spec.default => {
                let message = format!("the secret {} is made in another way now; yours stays as it is", spec.key);
                findings.push(note("B06", &spec.key, message));
            }
            _ => {}
        }
    }
    for spec in old.default_secrets.iter().filter(|spec| !new.default_secrets.iter().any(|it| it.key == spec.key)) {
        findings.push(note("B06", &spec.key, format!("the secret {} is no longer asked for; yours stays", spec.key)));
    }
}

fn path(old: &PackageManifest, new: &PackageManifest) -> Option<Diagnostic> {
    let (from, to) = (&old.version, &new.version);
    let steps = new.upgrade_path.iter().filter(|step| step.to.as_ref().is_none_or(|step| step == to));
    let ranges: Vec<&str> = steps.map(|step| step.from.as_str()).collect();
    let allowed = new.upgrade_path.is_empty() || ranges.iter().any(|range| satisfies(from, range) == Some(true));
    if compare_versions(to, from) == Some(Ordering::Less) {
        let message = format!("{to} is older than {from}");
        return Some(decide("B07", to, message, "if it was not meant: wild app rollback APP --to HEAD~1"));
    }
    if !allowed && from != to {
        let message = format!("{to} is reached from {} only, and not from {from}", ranges.join(" or "));
        return Some(decide("B07", to, message, "update to a version between them first"));
    }
    let major = |version: &str| version.trim_start_matches('v').split(['.', '-', '+']).next().map(str::to_owned);
    (major(from) != major(to)).then(|| note("B07", to, format!("a step of a major version, from {from} to {to}")))
}
