//! Pure. Decides which installed app satisfies each requirement of a package.
//!
//! One candidate is taken and shown, several need a person's answer, none is refused with the command that adds one; there
//! is no guess. Not here: writing the binding into the instance's manifest (`compile::generate`).

use std::collections::BTreeMap;

use super::manifest::{Need, PackageManifest, Requirement};
use super::version::satisfies;
use crate::base::nearest::nearest;
use crate::base::order::order;
use crate::base::there_are;
use crate::model::{AppName, Diagnostic};

use super::load::MANIFEST;

/// What a binding must know of an app that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Installed {
    /// Type of the app.
    pub is: String,
    /// Version of its package.
    pub version: String,
}

/// The app whose requirements are bound, and with it where a person says which app satisfies one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binding<'a> {
    /// It is added now: by the command that adds it, which is this up to there.
    Adding(&'a str),
    /// It is there: in its manifest.
    There(&'a AppName),
}

impl Binding<'_> {
    /// Returns what says that an app satisfies a requirement.
    fn answer(self, requirement: &Requirement, chosen: &AppName) -> String {
        let (reference, name) = (requirement.reference(), &requirement.name);
        match self {
            Self::Adding(command) => format!("{command} --dep {reference}={chosen}"),
            Self::There(app) => {
                let alias = requirement.alias.as_ref().map(|alias| format!(", alias: {alias}")).unwrap_or_default();
                format!(
                    "commit below requires in apps/{app}/{MANIFEST}: - {{name: {name}{alias}, installedAs: {chosen}}}"
                )
            }
        }
    }
}

/// Returns the binding of every requirement. `installed` is every app but the one that is bound; `answers` are a person's
/// choices by reference, or the bindings there already.
pub fn bind(
    manifest: &PackageManifest,
    installed: &BTreeMap<AppName, Installed>,
    answers: &BTreeMap<String, AppName>,
    binding: Binding<'_>,
) -> Result<BTreeMap<String, AppName>, Vec<Diagnostic>> {
    let mut bindings = BTreeMap::new();
    let mut findings = unknown_answers(manifest, answers);
    for requirement in &manifest.requires {
        let reference = requirement.reference();
        let bound = match answers.get(reference) {
            Some(app) => check(requirement, app, installed, binding).map(|()| Some(app.clone())),
            None => choose(requirement, installed, binding),
        };
        match bound {
            Ok(Some(app)) => _ = bindings.insert(reference.to_owned(), app),
            Ok(None) => {}
            Err(refusals) => findings.extend(refusals),
        }
    }
    if findings.is_empty() { Ok(bindings) } else { Err(findings) }
}

/// Returns the bindings that an instance's copy of a manifest holds.
pub fn bindings_of(manifest: &PackageManifest) -> BTreeMap<String, AppName> {
    let bound = manifest.requires.iter();
    bound
        .filter_map(|requirement| Some((requirement.reference().to_owned(), requirement.installed_as.clone()?)))
        .collect()
}

/// Refuses copies of secrets that the bound app does not have or does not export. `owners` are the manifests of the bound
/// apps by reference; one that is not given is not checked.
pub fn check_exports(manifest: &PackageManifest, owners: &BTreeMap<String, &PackageManifest>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for secret in &manifest.required_secrets {
        let Some(owner) = owners.get(&secret.reference) else { continue };
        let exported = owner.exported_secrets();
        if !exported.contains(&secret.key.as_str()) {
            let message = format!("{} exports no secret {}", secret.reference, secret.key);
            let hint = match exported.as_slice() {
                [] => format!("a {} exports none", owner.is),
                keys => format!("a {} exports: {}", owner.is, keys.join(", ")),
            };
            findings.push(Diagnostic::error("P060", MANIFEST, secret.line, message).with_hint(hint));
        }
    }
    findings
}

/// Returns the apps of a cycle of bindings, or nothing if there is none. The keys are all apps, the values what each is
/// bound to.
pub fn requirement_cycle(apps: &BTreeMap<AppName, BTreeMap<String, AppName>>) -> Option<Vec<AppName>> {
    let needs = apps.iter().map(|(app, bound)| (app.clone(), bound.values().cloned().collect())).collect();
    order(&needs).err()
}

fn unknown_answers(manifest: &PackageManifest, answers: &BTreeMap<String, AppName>) -> Vec<Diagnostic> {
    let references = || manifest.requires.iter().map(Requirement::reference);
    let unknown = answers.iter().filter(|(reference, _)| manifest.requirement(reference).is_none());
    unknown
        .map(|(reference, app)| {
            let message = format!("{reference}={app} binds a reference that the package does not have");
            let hint = match nearest(reference, references()) {
                Some(meant) => format!("did you mean {meant}={app}"),
                None => format!("of its references {}", there_are(&references().collect::<Vec<_>>())),
            };
            Diagnostic::error("P056", MANIFEST, manifest.line_of(&["requires"]), message).with_hint(hint)
        })
        .collect()
}

/// Checks an app that was named for a requirement.
fn check(
    requirement: &Requirement,
    app: &AppName,
    installed: &BTreeMap<AppName, Installed>,
    binding: Binding<'_>,
) -> Result<(), Vec<Diagnostic>> {
    let refuse = |id, message: String, hint: String| {
        Err(vec![Diagnostic::error(id, MANIFEST, requirement.line, message).with_hint(hint)])
    };
    let (reference, name) = (requirement.reference(), &requirement.name);
    let Some(found) = installed.get(app) else {
        let message = format!("{reference} is bound to {app}, which is not installed");
        return refuse("P057", message, format!("wild app add {name} --as {app}"));
    };
    if found.is != *name {
        let hint = match installed.iter().find(|(_, other)| other.is == *name) {
            Some((other, _)) => binding.answer(requirement, other),
            None => format!("wild app add {name}"),
        };
        return refuse("P052", format!("{reference} wants a {name}, but {app} is a {}", found.is), hint);
    }
    match &requirement.versions {
        Some(range) if satisfies(&found.version, range) == Some(false) => {
            let message = format!("{reference} wants {name} {range}, but {app} is {}", found.version);
            refuse("P058", message, format!("wild app update {app}"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Takes the only candidate.
fn choose(
    requirement: &Requirement,
    installed: &BTreeMap<AppName, Installed>,
    binding: Binding<'_>,
) -> Result<Option<AppName>, Vec<Diagnostic>> {
    let fits = installed.keys().filter(|app| check(requirement, app, installed, binding).is_ok());
    let candidates: Vec<&AppName> = fits.collect();
    let (reference, name) = (requirement.reference(), &requirement.name);
    match (candidates.as_slice(), requirement.need) {
        ([only], _) => Ok(Some((*only).clone())),
        ([], Need::Optional) => Ok(None),
        ([], Need::Required) => {
            let wanted = requirement.versions.as_deref().map(|range| format!(" {range}")).unwrap_or_default();
            let message = format!("the package needs a {name}{wanted}, and none is installed");
            let hint = format!("wild app add {name}");
            Err(vec![Diagnostic::error("P054", MANIFEST, requirement.line, message).with_hint(hint)])
        }
        ([first, ..], Need::Required | Need::Optional) => {
            let names: Vec<&str> = candidates.iter().map(|app| app.as_str()).collect();
            let message = format!("{reference} could be any of {}", names.join(", "));
            let hint = binding.answer(requirement, first);
            Err(vec![Diagnostic::error("P055", MANIFEST, requirement.line, message).with_hint(hint)])
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Binding, Installed, bind, bindings_of};
    use crate::model::{AppName, PackageName};
    use crate::package::{PackageManifest, read_manifest};

    fn manifest(requires: &str) -> PackageManifest {
        let text = format!("version: '1'\nrequires:\n{requires}");
        read_manifest("manifest.yaml", &PackageName::parse("blog").unwrap(), &text).unwrap().manifest
    }

    fn check(requires: &str, installed: &[&str], answers: &[(&str, &str)], expected: &str) {
        let app = |name: &str| AppName::parse(name).unwrap();
        let installed: BTreeMap<AppName, Installed> = installed
            .iter()
            .map(|line| {
                let [name, is, version] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
                (app(name), Installed { is: is.into(), version: version.into() })
            })
            .collect();
        let answers = answers.iter().map(|(reference, name)| ((*reference).to_owned(), app(name))).collect();
        let found = match bind(&manifest(requires), &installed, &answers, Binding::Adding("wild app add blog")) {
            Ok(bound) => {
                bound.iter().map(|(reference, app)| format!("{reference}={app}")).collect::<Vec<_>>().join(" ")
            }
            Err(findings) => {
                findings[0].to_string() + if findings[0].hint.is_empty() { "" } else { "; " } + &findings[0].hint
            }
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn one_candidate_is_bound() {
        check("  - {name: stonedb, alias: db}", &["stonedb stonedb 15.4", "cache quickcache 7"], &[], "db=stonedb");
        check("  - stonedb", &["rows stonedb 15.4"], &[], "stonedb=rows");
    }

    #[test]
    fn several_candidates_need_an_answer() {
        let installed = ["stonedb stonedb 15.4", "rows stonedb 15.4"];
        let requires = "  - {name: stonedb, alias: db}";
        let expected = "manifest.yaml:3: P055: db could be any of rows, stonedb; wild app add blog --dep db=rows";
        check(requires, &installed, &[], expected);
        check(requires, &installed, &[("db", "rows")], "db=rows");
    }

    #[test]
    fn a_missing_app_is_named_with_the_command_that_adds_it() {
        let expected =
            "manifest.yaml:3: P054: the package needs a stonedb, and none is installed; wild app add stonedb";
        check("  - stonedb", &[], &[], expected);
        check("  - {name: stonedb, optional: true}", &[], &[], "");
    }

    #[test]
    fn versions_narrow_the_candidates() {
        let installed = ["old stonedb 15.4", "new stonedb 17"];
        check("  - {name: stonedb, versions: '>=15 <17'}", &installed, &[], "stonedb=old");
        let expected = "manifest.yaml:3: P058: stonedb wants stonedb >=15 <17, but new is 17; wild app update new";
        check("  - {name: stonedb, versions: '>=15 <17'}", &installed, &[("stonedb", "new")], expected);
    }

    #[test]
    fn an_answer_that_does_not_fit_is_refused() {
        let installed = ["stonedb stonedb 15.4", "cache quickcache 7"];
        let requires = "  - {name: stonedb, alias: db}";
        check(
            requires,
            &installed,
            &[("db", "cache")],
            "manifest.yaml:3: P052: db wants a stonedb, but cache is a quickcache; wild app add blog --dep db=stonedb",
        );
        let expected =
            "manifest.yaml:3: P057: db is bound to rows, which is not installed; wild app add stonedb --as rows";
        check(requires, &installed, &[("db", "rows")], expected);
        let expected = "manifest.yaml:2: P056: bd=stonedb binds a reference that the package does not have; did you mean db=stonedb";
        check(requires, &installed, &[("bd", "stonedb")], expected);
    }

    #[test]
    fn the_copy_of_an_instance_holds_its_bindings() {
        let manifest = manifest("  - {name: stonedb, alias: db, installedAs: rows}\n  - quickcache");
        let bound: Vec<_> = bindings_of(&manifest).into_iter().map(|(key, app)| format!("{key}={app}")).collect();
        assert_eq!(bound, ["db=rows"]);
    }

    #[test]
    fn a_secret_that_its_owner_does_not_export_is_refused() {
        let check = |owner: &str, expected: &str| {
            let text = format!("version: '1'\nis: stonedb\n{owner}");
            let owner = read_manifest("", &PackageName::parse("rows").unwrap(), &text).unwrap().manifest;
            let manifest = manifest("  - {name: stonedb, alias: db}\nrequiredSecrets: [db.password]");
            let findings = super::check_exports(&manifest, &BTreeMap::from([("db".to_owned(), &owner)]));
            let found: Vec<String> = findings.iter().map(|finding| format!("{finding}; {}", finding.hint)).collect();
            assert_eq!(found.join(" "), expected);
        };
        check("defaultSecrets: [password]", "");
        check(
            "defaultSecrets: [root]",
            "manifest.yaml:4: P060: db exports no secret password; a stonedb exports: root",
        );
        let expected = "manifest.yaml:4: P060: db exports no secret password; a stonedb exports none";
        check("defaultSecrets: [password]\nexports: {secrets: []}", expected);
    }

    #[test]
    fn a_cycle_of_bindings_is_named() {
        let app = |name: &str| AppName::parse(name).unwrap();
        let bound = |to: &str| BTreeMap::from([("x".to_owned(), app(to))]);
        let mut apps = BTreeMap::from([(app("a"), bound("b")), (app("b"), bound("c")), (app("c"), BTreeMap::new())]);
        assert_eq!(super::requirement_cycle(&apps), None);
        apps.insert(app("c"), bound("b"));
        assert_eq!(super::requirement_cycle(&apps), Some(vec![app("b"), app("c")]));
        assert_eq!(super::requirement_cycle(&BTreeMap::from([(app("a"), bound("a"))])), Some(vec![app("a")]));
    }
}
