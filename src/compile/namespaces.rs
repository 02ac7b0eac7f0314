//! Pure. What a person asks for must not bring an app into a namespace of the system: that is refused before anything is committed.
//!
//! Only the owner of the instance lets an app in there, by hand. Not here: namespaces of people and other tools, which only a cluster tells, and
//! what came into the repository otherwise (`plan`).

use serde_json::Value;

use super::proposal::TreeEdit;
use super::refusal::Refusal;
use super::sources::{Sources, settings_of};
use crate::base::RepoPath;
use crate::kustomize::BuiltObject;
use crate::model::{AppName, Diagnostic, File, ObjectId, SETTINGS_PATH, Settings, is_of_system};
use crate::yaml;

/// Id of the finding about an object in a namespace of the system.
const IN_SYSTEM: &str = "G002";

/// Refuses a name for an app that is the system's.
pub(super) fn check_name(app: &AppName, sources: &Sources, package: &str) -> Result<(), Refusal> {
    let Ok(settings) = settings_of(&sources.files) else { return Ok(()) };
    if !is_shut(&settings, app, app.as_str()) {
        return Ok(());
    }
    let because = format!("the name {app} is the system's, and so is the namespace of that name");
    Err(Refusal::blocked(format!("add {app}"), because, format!("wild app add {package} --as {}", instead(app))))
}

/// Returns what stands against objects: those in a namespace of the system, unless a grant lets the app in.
pub(super) fn objections(app: &AppName, sources: &Sources, objects: &[BuiltObject]) -> Vec<Diagnostic> {
    let Ok(settings) = settings_of(&sources.files) else { return Vec::new() };
    let finding = |built: &BuiltObject| {
        let id = built.object.id();
        let name = if is_namespace(&id) { &id.name } else { &id.namespace };
        is_shut(&settings, app, name).then(|| {
            let message = format!("{} enters namespace {name}, which is the system's", id.short());
            let hint = format!("add {name} to apps.{app}.grants.namespaces in {SETTINGS_PATH} if it may");
            Diagnostic::error(IN_SYSTEM, &built.file, built.line, message).with_hint(hint)
        })
    };
    objects.iter().filter_map(finding).collect()
}

/// Refuses objects in a namespace of the system.
pub(super) fn check(what: &str, app: &AppName, sources: &Sources, objects: &[BuiltObject]) -> Result<(), Refusal> {
    let findings = objections(app, sources, objects);
    if findings.is_empty() { Ok(()) } else { Err(refusal(what, findings)) }
}

/// Returns the refusal for objects in a namespace of the system.
pub(super) fn refusal(what: &str, findings: Vec<Diagnostic>) -> Refusal {
    let remedy = findings.first().map(|finding| finding.hint.clone()).unwrap_or_default();
    Refusal::found(what, remedy, findings).into_blocked()
}

/// Adds to an edit that an app may write into these namespaces, beside those that it may already.
pub(super) fn grant(
    app: &AppName,
    sources: &Sources,
    names: &[String],
    edit: &mut TreeEdit,
) -> Result<(), Vec<Diagnostic>> {
    let mut granted = settings_of(&sources.files)?.grants_of(app.as_str()).namespaces;
    granted.extend(names.iter().cloned());
    granted.dedup();
    let text = sources.files.text(SETTINGS_PATH).unwrap_or_default();
    let path = ["apps", app.as_str(), "grants", "namespaces"];
    let text = yaml::edit::set(SETTINGS_PATH, text, &path, &Value::from(granted))?;
    if let Ok(path) = RepoPath::parse(SETTINGS_PATH) {
        edit.changes.insert(path, Some(File::text(&text)));
    }
    Ok(())
}

fn is_shut(settings: &Settings, app: &AppName, name: &str) -> bool {
    let granted = settings.grants_of(app.as_str()).namespaces;
    is_of_system(name, &settings.cluster.control_namespace) && !granted.iter().any(|granted| granted == name)
}

fn is_namespace(id: &ObjectId) -> bool {
    id.group.is_empty() && id.kind == "Namespace"
}

/// Returns a name for an app that cannot be called as the system is.
fn instead(app: &AppName) -> String {
    let bare = app.as_str().strip_prefix("kube-").filter(|rest| AppName::parse(rest).is_ok());
    let bare = bare.filter(|rest| !is_of_system(rest, ""));
    bare.map_or_else(|| format!("my-{app}"), str::to_owned)
}
