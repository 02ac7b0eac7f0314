//! Pure. Examines a package before it is published: renders and builds it with a sample config and lets all rules look.
//!
//! Not here: the rules (`package::lint`), printing findings (`cli`).

use std::collections::{BTreeMap, BTreeSet};

use super::generate::{self, GenerateInput, Generated};
use crate::kustomize::BuiltObject;
use crate::model::{
    AppName, CommitId, Config, Diagnostic, FileTree, Grants, Object, PackageName, Severity, Upstream, Verify,
};
use crate::package::lint::{LintInput, LintPart, judged, lint, rule_of, sorted};
use crate::package::{self, LocalEdits, Package, PackageDialect, PackageManifest, ResolveInput, Resolved, VersionSide};
use crate::template;

/// The rule about what pods may be or use of a node, which the instance can allow.
const PRIVILEGE: &str = "L018";
/// The rule about what keeps objects from going, which the instance can allow, too.
const FINALIZER: &str = "L044";

/// What came of an examination.
#[derive(Clone, PartialEq, Debug)]
pub struct Examined {
    /// All findings, with files as paths in the package.
    pub findings: Vec<Diagnostic>,
    /// What the package gives, if it gives anything.
    pub generated: Option<Generated>,
}

/// Examines a package. Without a config it is rendered with one made up for it; `others` are packages by type.
pub fn examine(
    name: &PackageName,
    files: &FileTree,
    config: Option<&Config>,
    others: &BTreeMap<String, PackageManifest>,
) -> Examined {
    let refused = |findings: Vec<Diagnostic>| Examined {
        findings: sorted(findings.iter().map(judged).collect()),
        generated: None,
    };
    let package = match package::load(name, files) {
        Ok(package) => package,
        Err(findings) => return refused(findings),
    };
    let sample = package::sample_config(&package);
    let config = config.unwrap_or(&sample);
    let Ok(app) = AppName::parse(name.as_str()) else { return refused(Vec::new()) };
    let (resolved, generated) = match made(&app, &package, &sample_bindings(&package), config) {
        Ok(made) => made,
        Err(findings) => return refused(in_package(&app, findings)),
    };
    let parts = parts(&app, &generated);
    let reads = reads(&app, &package, &resolved);
    let input = LintInput { package: &package, parts: &parts, reads: &reads, others };
    let mut findings = lint(&input);
    let said: BTreeSet<(String, String)> =
        findings.iter().map(|finding| (finding.id.clone(), finding.file.clone())).collect();
    let of_build = in_package(&app, generated.diagnostics.clone());
    // Rules and build may see the same defect of a file, each in its own words.
    let is_new = |finding: &Diagnostic| !said.contains(&(finding.id.clone(), finding.file.clone()));
    findings.extend(of_build.iter().map(judged).filter(is_new));
    Examined { findings: sorted(findings), generated: Some(generated) }
}

fn parts(app: &AppName, generated: &Generated) -> Vec<LintPart> {
    let part = |built: &BuiltObject| LintPart {
        object: built.object.clone(),
        file: below(app, &built.file),
        line: built.line,
    };
    generated.objects.iter().map(part).collect()
}

/// Returns what stands against installing a version of a package: breaches of rules that are errors even for somebody who
/// did not write it, and that the instance does not grant. An app that has the version already is left alone.
pub(super) fn objections(app: &AppName, package: &Package, generated: &Generated, grants: &Grants) -> Vec<Diagnostic> {
    let (parts, reads, others) = (parts(app, generated), BTreeSet::new(), BTreeMap::new());
    let findings = lint(&LintInput { package, parts: &parts, reads: &reads, others: &others }).into_iter();
    let stands = |finding: &Diagnostic| {
        let is_granted = match finding.id.as_str() {
            PRIVILEGE => grants.pod.contains(&finding.subject),
            FINALIZER => grants.finalizers.contains(&finding.subject),
            _ => false,
        };
        !is_granted && rule_of(&finding.id).is_some_and(|rule| rule.installing == Severity::Error)
    };
    let placed = |finding: Diagnostic| {
        let hint = match finding.id.as_str() {
            PRIVILEGE => format!("add {} to apps.{app}.grants.pod in .wild/config.yaml if it may", finding.subject),
            FINALIZER => {
                format!("add {} to apps.{app}.grants.finalizers in .wild/config.yaml if it may", finding.subject)
            }
            _ => finding.hint,
        };
        Diagnostic { file: format!("apps/{app}/{}", finding.file), severity: Severity::Error, hint, ..finding }
    };
    findings.filter(stands).map(placed).collect()
}

/// Returns the way out of a refusal for objections: a word in the settings, where that helps against the first.
pub(super) fn way_out(objections: &[Diagnostic], corrected: &str) -> String {
    let allows = |finding: &&Diagnostic| [PRIVILEGE, FINALIZER].contains(&finding.id.as_str());
    objections.first().filter(allows).map_or_else(|| corrected.to_owned(), |finding| finding.hint.clone())
}

/// Returns what breaks between two versions of a package, both built with one config, or why one of them gives nothing.
pub fn breaking_between(
    name: &PackageName,
    old: &FileTree,
    new: &FileTree,
    config: Option<&Config>,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let old = Built::of(name, old, config)?;
    let new = Built::of(name, new, config)?;
    let mut findings = package::breaking(old.side(), new.side(), LocalEdits::Unknown);
    let manifest = &new.package.manifest;
    if manifest.version == old.package.manifest.version && new.package.files != old.package.files {
        let message = format!("the files changed and the version is still {}", manifest.version);
        let file = package::manifest_of(&new.package.files);
        findings.push(judged(&Diagnostic::warning("L030", file, manifest.line_of(&["version"]), message)));
    }
    Ok(findings)
}

/// A version with what it builds.
struct Built {
    package: Package,
    objects: Vec<Object>,
    reads: BTreeSet<String>,
}

impl Built {
    fn of(name: &PackageName, files: &FileTree, config: Option<&Config>) -> Result<Self, Vec<Diagnostic>> {
        let package = package::load(name, files)?;
        let sample = package::sample_config(&package);
        let Ok(app) = AppName::parse(name.as_str()) else { return Err(Vec::new()) };
        let (resolved, generated) = made(&app, &package, &sample_bindings(&package), config.unwrap_or(&sample))?;
        let reads = reads(&app, &package, &resolved);
        Ok(Self { objects: generated.objects.into_iter().map(|built| built.object).collect(), reads, package })
    }

    fn side(&self) -> VersionSide<'_> {
        VersionSide { package: &self.package, objects: &self.objects, reads: &self.reads }
    }
}

/// Binds each requirement to an app that is called like its reference.
fn sample_bindings(package: &Package) -> BTreeMap<String, AppName> {
    let requires = package.manifest.requires.iter();
    requires.filter_map(|it| Some((it.reference().to_owned(), AppName::parse(it.reference()).ok()?))).collect()
}

type Made = (Resolved, Generated);

fn made(
    app: &AppName,
    package: &Package,
    bindings: &BTreeMap<String, AppName>,
    config: &Config,
) -> Result<Made, Vec<Diagnostic>> {
    let resolved = package::resolve(&ResolveInput { app, package, bindings, config })?;
    let directory = Upstream {
        name: "local".to_owned(),
        url: String::new(),
        branch: String::new(),
        path: String::new(),
        verify: Verify::None,
    };
    let Ok(commit) = CommitId::parse(&"0".repeat(40)) else { return Err(Vec::new()) };
    let input = GenerateInput { app, package, directory: &directory, upstream_commit: &commit, bindings, config };
    Ok((resolved, generate::generate(&input)?))
}

fn in_package(app: &AppName, findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    findings.into_iter().map(|finding| Diagnostic { file: below(app, &finding.file), ..finding }).collect()
}

fn below(app: &AppName, file: &str) -> String {
    file.strip_prefix(&format!("apps/{app}/")).unwrap_or(file).to_owned()
}

/// Returns the config keys that the package reads: in its files, in its defaults and in the defaults of its secrets. Keys of
/// its own stand as in `defaultConfig`, those of others with their section.
fn reads(app: &AppName, package: &Package, resolved: &Resolved) -> BTreeSet<String> {
    let mut reads = BTreeSet::new();
    for (path, file) in package.files.iter() {
        let text = file.as_text().filter(|_| !package.is_manifest(path) && package.path_in_app(path).is_some());
        let rendered = text.map(|text| template::render(path.as_str(), text, &generate::context(&resolved.files)));
        reads.extend(rendered.into_iter().flatten().flat_map(|rendered| rendered.reads));
    }
    let manifest = package.files.iter().find(|(path, _)| package.is_manifest(path));
    for text in manifest.into_iter().filter_map(|(_, file)| file.as_text()) {
        for section in ["app", "apps", "cloud", "cluster", "operator"] {
            reads.extend(package::references(text, &format!(".{section}.")).into_iter().map(|path| match section {
                "app" => path.join("."),
                section => format!("{section}.{}", path.join(".")),
            }));
        }
    }
    if package.manifest.dialect != PackageDialect::V3 {
        let name = &package.manifest.name;
        let own = [app.as_str(), name.as_str()].map(|name| [format!("apps.{name}."), format!("config.apps.{name}.")]);
        let own = own.concat();
        let short: Vec<String> = reads
            .iter()
            .filter_map(|read| own.iter().find_map(|own| read.strip_prefix(own)))
            .map(str::to_owned)
            .collect();
        reads.extend(short);
    }
    reads
}

#[cfg(test)]
mod converted;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod versions;
