//! Pure. Tells which generation of packages a package belongs to, by its manifest and the paths that its files start with.
//!
//! Not here: compiling the older generations; they are recognised and refused by name.

use super::load::MANIFEST;
use super::manifest::{PackageDialect, PackageManifest};
use crate::model::{Diagnostic, FileTree};

/// What a file of the first generation says.
const FIRST: [&str; 3] = ["ds \"config\"", "datasource \"config\"", " .config."];
/// Sections of the whole config, which only files of the second generation see.
const SECTIONS: [&str; 4] = ["apps", "cloud", "cluster", "operator"];

/// Returns the dialect: `dialect:` if it is written, else by evidence.
pub(super) fn detect(manifest: &PackageManifest, files: &FileTree) -> PackageDialect {
    if manifest.document.value.get("dialect").is_some() || manifest.dialect != PackageDialect::V3 || is_third(manifest)
    {
        return manifest.dialect;
    }
    let mut found = PackageDialect::V3;
    for (_, file) in files.iter().filter(|(path, _)| path.as_str() != MANIFEST && path.is_yaml()) {
        for action in file.as_text().into_iter().flat_map(actions) {
            if FIRST.iter().any(|mark| action.contains(mark)) {
                return PackageDialect::V1;
            }
            let foreign = |section: &&&str| {
                !manifest.default_config.contains_key(**section) && action.contains(&format!(" .{section}."))
            };
            if SECTIONS.iter().any(|section| foreign(&section)) {
                found = PackageDialect::V2;
            }
        }
    }
    found
}

/// Returns the error for a package that is not compiled yet.
pub(super) fn refusal(manifest: &PackageManifest) -> Diagnostic {
    let name = match manifest.dialect {
        PackageDialect::V1 => "v1",
        PackageDialect::V2 => "v2",
        PackageDialect::V3 => "v3",
    };
    let message = format!("the package is written in dialect {name}, which is not compiled yet");
    let hint = "write dialect: v3 if its files read their own config at the root, such as {{ .domain }}";
    Diagnostic::error("P021", MANIFEST, manifest.line_of(&["dialect"]), message).with_hint(hint)
}

/// Whether the manifest uses what only the third generation has.
fn is_third(manifest: &PackageManifest) -> bool {
    manifest.document.value.get("is").is_some()
        || manifest.document.value.get("defaultSecrets").is_some()
        || manifest.requires.iter().any(|requirement| requirement.alias.is_some())
        || !manifest.required_secrets.is_empty()
}

/// Returns the insides of all actions, with one space in front so that a leading path can be told from an inner one.
fn actions(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split("{{").skip(1).filter_map(|rest| {
        let inside = rest.split_once("}}")?.0;
        Some(format!(" {}", inside.trim_start_matches('-').trim_start()).replace('(', "( "))
    })
}
