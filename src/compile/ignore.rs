//! Pure. Leaves fields of an app's live objects to whoever holds them: a rule in the app's section of `.wild/config.yaml`.
//!
//! Not here: what follows from a rule (`plan::yields`).

use serde_json::{Map, Value};

use super::proposal::Proposal;
use super::refusal::Refusal;
use super::section::{self, Change};
use super::sources::Sources;
use crate::model::{AppName, IgnoreRule, SETTINGS_PATH};
use crate::yaml;

/// Key of the rules in the section of an app.
const IGNORE: &str = "ignore";
/// Rules that one app may have; who needs more should ask whether the app is ours to keep at all.
const MAX_RULES: usize = 100;

/// Adds a rule, unless one that says the same is there.
pub(super) fn ignore(app: &AppName, sources: &Sources, wanted: &IgnoreRule) -> Result<Proposal, Refusal> {
    let refuse =
        |because: String| Refusal::user(format!("ignore fields of {app}"), because, "wild drift ignore --help");
    section::check_until(app, IGNORE, &wanted.until, "wild drift ignore --help")?;
    let settings = section::settings(app, IGNORE, sources)?;
    let mut rule = wanted.clone();
    for path in &mut rule.paths {
        *path = pointer(path).ok_or_else(|| refuse(format!("{path:?} is no field, such as spec.replicas")))?;
    }
    if rule.paths.is_empty() {
        return Err(refuse("no field is named".to_owned()));
    }
    let known = settings.apps.get(app.as_str()).map(|own| own.ignore.as_slice()).unwrap_or_default();
    if known.contains(&rule) {
        return Ok(Proposal::nothing(app));
    }
    if known.len() >= MAX_RULES {
        return Err(refuse(format!("the app has {MAX_RULES} rules already")));
    }
    let about = [rule.kind.as_str(), rule.name.as_str()].into_iter().filter(|part| !part.is_empty());
    let about = about.collect::<Vec<_>>().join("/");
    let summary = format!("{} of {about} is left to whoever holds it", rule.paths.join(", "));
    section::commit(sources, Change { app, verb: IGNORE, body: &rule.reason, summary }, |text| {
        yaml::edit::push(SETTINGS_PATH, text, &["apps", app.as_str(), IGNORE], &Value::Object(entry(&rule)))
    })
}

/// Returns a rule as it is written, without the parts that say nothing.
fn entry(rule: &IgnoreRule) -> Map<String, Value> {
    let IgnoreRule { group, kind, namespace, name, paths, managers, until, reason } = rule;
    let text = |text: &String| Value::from(text.as_str());
    let list = |items: &[String]| Value::from(items.to_vec());
    let parts = [
        ("group", text(group), group.is_empty()),
        ("kind", text(kind), kind.is_empty()),
        ("namespace", text(namespace), namespace.is_empty()),
        ("name", text(name), name.is_empty()),
        ("paths", list(paths), paths.is_empty()),
        ("managers", list(managers), managers.is_empty()),
        ("until", text(until), until.is_empty()),
        ("reason", text(reason), reason.is_empty()),
    ];
    parts.into_iter().filter(|(.., empty)| !empty).map(|(key, value, _)| (key.to_owned(), value)).collect()
}

/// Returns a field as a JSON pointer in which `[name=web]` names a list item; it may be written so already, or as drift is shown:
/// `spec.template.spec.containers[name=web].image`, keys with dots in brackets.
fn pointer(field: &str) -> Option<String> {
    if field.starts_with('/') {
        return (field.len() > 1).then(|| field.to_owned());
    }
    let mut steps = Vec::new();
    let mut rest = field;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (label, after) = inner.split_once(']')?;
            steps.push(if label.contains('=') { format!("[{label}]") } else { label.to_owned() });
            rest = after;
        } else {
            let key = rest.strip_prefix('.').unwrap_or(rest);
            let end = key.find(['.', '[']).unwrap_or(key.len());
            let (key, after) = key.split_at_checked(end)?;
            steps.push(key.to_owned());
            rest = after;
        }
    }
    let is_whole = !steps.is_empty() && steps.iter().all(|step| !step.is_empty() && step != "[]");
    is_whole.then(|| steps.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect())
}

#[cfg(test)]
mod tests {
    use super::pointer;

    fn check(field: &str, expected: &str) {
        assert_eq!(pointer(field).unwrap_or_default(), expected, "{field}");
    }

    #[test]
    fn a_field_is_read_as_drift_shows_it_and_as_a_pointer() {
        check("spec.replicas", "/spec/replicas");
        check("spec.template.spec.containers[name=web].image", "/spec/template/spec/containers/[name=web]/image");
        check("metadata.annotations[a.b/c]", "/metadata/annotations/a.b~1c");
        check("data[app.yaml]", "/data/app.yaml");
        check("/spec/replicas", "/spec/replicas");
        check(".spec", "/spec");
        for bad in ["", "/", "spec..replicas", "spec[name", "spec[]", "."] {
            check(bad, "");
        }
    }
}
