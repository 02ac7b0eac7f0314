//! Pure. Rules about the manifest and about what lies beside it.
//!
//! Not here: what the manifest's reader refuses already.

use serde_json::Value;

use super::{LintInput, found};
use crate::model::Diagnostic;
use crate::package::load::manifest_of;
use crate::package::manifest::PackageDialect;

/// Bytes of a picture that may stand in a manifest.
const MAX_INLINE_ICON_BYTES: usize = 1024;

/// Checks the manifest.
pub(super) fn check(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    let (package, manifest) = (input.package, &input.package.manifest);
    let file = manifest_of(&package.files);
    let at = |path: &[&str]| manifest.line_of(path);
    let namespace = manifest.default_config.get("namespace").and_then(Value::as_str).or(manifest.namespace.as_deref());
    if let Some(namespace) =
        namespace.filter(|namespace| *namespace != package.name.as_str() && !namespace.contains("{{"))
    {
        let place = if manifest.namespace.is_some() { vec!["namespace"] } else { vec!["defaultConfig", "namespace"] };
        let message = format!("the namespace {namespace} is not named as the app {}", package.name);
        findings.push(found("L007", file, at(&place), message));
    }
    if !manifest.icon.is_empty() && !is_good_icon(&manifest.icon) {
        findings.push(found("L010", file, at(&["icon"]), "the icon is no https address and no small picture"));
    }
    let is_service = manifest.dialect == PackageDialect::Service;
    if !is_semver(&manifest.version) {
        findings.push(found("L030", file, at(&["version"]), format!("{} is no semantic version", manifest.version)));
    }
    if package.files.contains("install.sh") {
        findings.push(found("L029", "install.sh", 1, "the script is never run"));
    }
    let has_readme = package.files.paths().any(|path| path.as_str().to_lowercase().starts_with("readme"));
    let missing: Vec<&str> = [
        ("README.md", has_readme),
        ("description", !manifest.description.is_empty()),
        ("icon", is_service || !manifest.icon.is_empty()),
        ("category", !manifest.category.is_empty()),
    ]
    .into_iter()
    .filter_map(|(what, is_there)| (!is_there).then_some(what))
    .collect();
    if !missing.is_empty() {
        findings.push(found("L034", file, 1, format!("the package has no {}", missing.join(", no "))));
    }
}

fn is_good_icon(icon: &str) -> bool {
    icon.starts_with("https://") || icon.trim_start().starts_with("<svg") && icon.len() <= MAX_INLINE_ICON_BYTES
}

/// Returns whether a version has one to three numbers, and letters only behind a hyphen or plus.
fn is_semver(version: &str) -> bool {
    let version = version.strip_prefix('v').unwrap_or(version);
    let core = version.split(['-', '+']).next().unwrap_or(version);
    let numbers: Vec<&str> = core.split('.').collect();
    (1..=3).contains(&numbers.len())
        && numbers.iter().all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
