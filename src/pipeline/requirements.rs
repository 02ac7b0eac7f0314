//! Which apps an app requires and which require it, with what was last found about them.
//!
//! Not here: what an unready requirement means (`plan`).

use super::overview::Overview;
use super::{Error, Instance};
use crate::model::{AppName, AppState, FileTree, PackageName};
use crate::package;
use crate::plan::RequirementState;

/// Returns the requirements of an app as its committed manifest binds them.
pub(super) async fn of(instance: &Instance, app: &AppName, files: &FileTree) -> Result<Vec<RequirementState>, Error> {
    let path = format!("apps/{app}/manifest.yaml");
    let Some(manifest) = manifest(&path, app, files) else { return Ok(Vec::new()) };
    let bindings = package::bindings_of(&manifest);
    if manifest.requires.is_empty() {
        return Ok(Vec::new());
    }
    let required = manifest.requires.iter().filter(|requirement| {
        requirement.need == package::Need::Required || bindings.contains_key(requirement.reference())
    });
    let mut states = Vec::new();
    for requirement in required {
        let bound = bindings.get(requirement.reference()).cloned();
        let waits = match &bound {
            None => Some("is nowhere".to_owned()),
            Some(bound) => waits(instance.store.app_state(&instance.id, bound).await?.as_deref()),
        };
        states.push(RequirementState { reference: requirement.reference().to_owned(), app: bound, waits });
    }
    Ok(states)
}

/// Returns why an app does not count as deployed; nothing if it is healthy at the version that is wanted.
fn waits(state: Option<&AppState>) -> Option<String> {
    let Some(state) = state else { return Some("is not in the instance".to_owned()) };
    match (state.intent.as_str(), state.health.as_str()) {
        ("added", _) => Some("is added and not deployed".to_owned()),
        ("applied", "healthy" | "stopped") => None,
        ("applied", health) if state.health_reason.is_empty() => Some(format!("is {health}")),
        ("applied", health) => Some(format!("is {health}: {}", state.health_reason)),
        (intent, _) => Some(format!("is {intent}")),
    }
}

/// Returns the apps whose last known binding names this app.
pub(super) fn dependents(overview: &Overview, app: &AppName) -> Vec<AppName> {
    let names = overview.files.paths().filter_map(|path| {
        let name = path.below(".wild/generated")?.as_str().strip_suffix(".yaml")?.to_owned();
        AppName::parse(&name).ok().filter(|name| name != app)
    });
    names
        .filter(|name| {
            let record = crate::compile::record_of(&overview.files, name).ok().flatten();
            record.is_some_and(|record| record.bindings.values().any(|bound| bound == app))
        })
        .collect()
}

fn manifest(path: &str, app: &AppName, files: &FileTree) -> Option<package::PackageManifest> {
    let name = PackageName::parse(app.as_str()).ok()?;
    package::read_manifest(path, &name, files.text(path)?).ok().map(|read| read.manifest)
}
