//! Pure. Adds a package to an instance as an app: one commit with its config section, its files and the record.
//!
//! Nothing runs yet after it, unless the same request deploys: the record says so. Not here: secret values
//! (`settings`), which the caller makes from the needs.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::authored;
use super::config::{KeyWords, check_keys};
use super::consent::{self, Agreed, Asking};
use super::edit::{app_files, changes, dotted, edit_section, put, scope, section_edits, subject};
use super::generate::{GenerateInput, Generated, generate};
use super::land;
use super::lint::{objections, way_out};
use super::namespaces;
use super::proposal::{Join, Proposal, TreeEdit};
use super::refusal::Refusal;
use super::sources::{CONFIG, Sources, apps_of, config_in, settings_of};
use super::update::{Candidate, check_cycle, is_there, older};
use super::{record, record_path};
use crate::base::nearest::nearest;
use crate::base::shell_word;
use crate::merge::ConfigEdit;
use crate::model::{AppName, Config, Deploy, Diagnostic, FileTree, GenerationRecord, PackageName, SETTINGS_PATH};
use crate::package::{self, Binding, Package, ResolveInput};
use crate::yaml;

/// What is to be added.
pub(super) struct Wanted<'a> {
    pub(super) package: &'a PackageName,
    pub(super) bindings: &'a BTreeMap<String, AppName>,
    pub(super) values: &'a BTreeMap<String, Value>,
    pub(super) version: Option<&'a str>,
    pub(super) deploy: Deploy,
    /// Secrets of other apps that it may read.
    pub(super) grants: &'a [String],
}

/// Adds a package as an app.
pub(super) fn add(app: &AppName, sources: &Sources, wanted: &Wanted<'_>) -> Result<Proposal, Refusal> {
    let what = format!("add {app}");
    if is_there(app, sources) {
        let remedy = format!("wild app add {} --as {app}-2", wanted.package);
        return Err(Refusal::user(what, format!("there is an app {app} already"), remedy));
    }
    namespaces::check_name(app, sources, wanted.package.as_str())?;
    let candidate = candidate(app, sources, wanted)?;
    let corrected = format!("wild directory fetch, once {} has corrected it", candidate.directory.name);
    let refuse =
        |findings| Refusal::found(what.clone(), corrected.clone(), of_package(wanted.package, Some(app), findings));
    let typed = command(app, wanted);
    let (manifest, binding) = (&candidate.package.manifest, Binding::Adding(&typed));
    let bindings = package::bind(manifest, &apps_of(&sources.files), wanted.bindings, binding).map_err(refuse)?;
    check_cycle(app, &sources.files, &bindings).map_err(refuse)?;
    let before = sources.files.text(CONFIG).unwrap_or_default();
    let input = Input { app, candidate: &candidate, bindings: &bindings };
    let (text, config, written) = write_config(&input, before, wanted.values).map_err(refuse)?;
    let keys = KeyWords {
        what: what.clone(),
        set: format!("wild app add {} --set", wanted.package),
        list: format!("wild app show {}", wanted.package),
    };
    let there = config_in(before).map_err(refuse)?;
    check_keys(&keys, wanted.values, &written.defaults, there.app(app).unwrap_or(&Map::new()))?;
    let generated = generate(&GenerateInput {
        app,
        package: &candidate.package,
        directory: candidate.directory,
        upstream_commit: candidate.commit,
        bindings: &bindings,
        config: &config,
    })
    .map_err(refuse)?;
    let grants = settings_of(&sources.files).map_err(refuse)?.grants_of(app.as_str());
    let objections = objections(app, &candidate.package, &generated, &grants);
    if !objections.is_empty() {
        let remedy = way_out(&objections, &corrected);
        return Err(Refusal::found(what, remedy, of_package(wanted.package, Some(app), objections)));
    }
    let shut = namespaces::objections(app, sources, &generated.objects);
    if !shut.is_empty() {
        return Err(namespaces::refusal(&what, of_package(wanted.package, Some(app), shut)));
    }
    let asking = Asking { app, what: what.clone(), command: command(app, wanted), given: wanted.grants };
    let agreed = consent::agree(&asking, sources, generated.needs.clone())
        .map_err(|refusal| refusal.with_files(|findings| of_package(wanted.package, Some(app), findings)))?;
    let settings = settings(app, sources, &agreed.new).map_err(refuse)?;
    let mut proposal = Proposal::nothing(app);
    proposal.summary = summary(app, &candidate, &generated, written.keys);
    proposal.summary.extend(authored::left_out(&generated.objects));
    proposal.summary.extend(told(app, &agreed, &settings));
    proposal.generation = land::new_generation(app, sources, &generated);
    let join = land::join(sources, proposal.generation.as_ref());
    let files = Files { generated: &generated, config: &text, settings: settings.text.as_deref() };
    proposal.main = Some(TreeEdit { join, ..edit(app, sources, &files, wanted) });
    proposal.needs = agreed.needs;
    proposal.diagnostics = generated.diagnostics;
    Ok(proposal)
}

/// Loads a package of an upstream as it was read there, and turns what is wrong with it into a refusal.
pub(super) fn load_read(
    name: &PackageName,
    (files, broken): (&FileTree, Option<&Diagnostic>),
    what: &str,
) -> Result<Package, Refusal> {
    match broken {
        Some(broken) => {
            let corrected = "wild directory fetch, once it was corrected there";
            Err(Refusal::found(what, corrected, vec![broken.clone()]))
        }
        None => load(name, files, what),
    }
}

/// Loads a package and turns its findings into a refusal.
pub(super) fn load(name: &PackageName, files: &FileTree, what: &str) -> Result<Package, Refusal> {
    let corrected = "wild directory fetch, once it was corrected there";
    package::load(name, files).map_err(|findings| Refusal::found(what, corrected, of_package(name, None, findings)))
}

/// Names files of a package as they lie in its directory, not as they would lie in the instance.
fn of_package(name: &PackageName, app: Option<&AppName>, findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let compiled = app.map(|app| format!("apps/{app}/"));
    let renamed = |finding: Diagnostic| {
        let below = compiled.as_ref().and_then(|compiled| finding.file.strip_prefix(compiled));
        let own = (finding.file == package::MANIFEST).then_some(package::MANIFEST);
        match below.or(own) {
            Some(path) => Diagnostic { file: format!("{name}/{path}"), ..finding },
            None => finding,
        }
    };
    findings.into_iter().map(renamed).collect()
}

fn candidate<'a>(app: &AppName, sources: &'a Sources, wanted: &Wanted<'_>) -> Result<Candidate<'a>, Refusal> {
    // One name in two upstreams: the one that stands first in the settings.
    let Some(upstream) = sources.packages.iter().find(|package| package.name == *wanted.package) else {
        let names = sources.packages.iter().map(|package| package.name.as_str());
        let because = format!("no directory has a package {}", wanted.package);
        let (because, remedy) = match nearest(wanted.package.as_str(), names) {
            Some(meant) => (format!("{because}; did you mean {meant}?"), format!("wild app add {meant}")),
            None => (because, "wild app list".to_owned()),
        };
        return Err(Refusal::user(format!("add {app}"), because, remedy));
    };
    let read = (&upstream.files, upstream.broken.as_ref());
    let newest = load_read(&upstream.name, read, &format!("add {app}"));
    match wanted.version {
        Some(version) if newest.as_ref().is_ok_and(|newest| newest.manifest.version != version) || newest.is_err() => {
            older(app, upstream, version)
        }
        Some(_) | None => Ok(Candidate { directory: &upstream.directory, commit: &upstream.commit, package: newest? }),
    }
}

struct Input<'a> {
    app: &'a AppName,
    candidate: &'a Candidate<'a>,
    bindings: &'a BTreeMap<String, AppName>,
}

/// What was written into the section of an app.
struct Written {
    keys: usize,
    defaults: Map<String, Value>,
}

/// Writes the app's section: the values that were given, the values that are there, and every other default.
fn write_config(
    input: &Input<'_>,
    text: &str,
    values: &BTreeMap<String, Value>,
) -> Result<(String, Config, Written), Vec<Diagnostic>> {
    let Input { app, candidate, bindings } = *input;
    let text = give(app, &candidate.package, text, values)?;
    let config = config_in(&text)?;
    let resolved = package::resolve(&ResolveInput { app, package: &candidate.package, bindings, config: &config })?;
    let text = place(text, &resolved.service_values)?;
    let existing = config.app(app).cloned().unwrap_or_default();
    let section = in_order(&package::config_section(&resolved, Some(&existing)), &resolved.defaults);
    let text = if existing.is_empty() && !section.is_empty() {
        let whole = ConfigEdit { path: Vec::new(), value: Some(Value::Object(section.clone())) };
        edit_section(&text, app, &[whole])?
    } else {
        edit_section(&text, app, &section_edits(&existing, &section))?
    };
    let config = config_in(&text)?;
    Ok((text, config, Written { keys: section.len(), defaults: resolved.defaults }))
}

/// Writes the values that a person gave: below the app, or where the manifest of a service wants them.
fn give(
    app: &AppName,
    package: &Package,
    text: &str,
    values: &BTreeMap<String, Value>,
) -> Result<String, Vec<crate::model::Diagnostic>> {
    let placed = |key: &str| package.manifest.service_config.iter().find(|service| service.key == key);
    values.iter().try_fold(text.to_owned(), |text, (key, value)| match placed(key) {
        Some(service) => place(text, &[(dotted(&service.path), value.clone())]),
        None => edit_section(&text, app, &[ConfigEdit { path: dotted(key), value: Some(value.clone()) }]),
    })
}

/// Writes values at paths from the top of config.yaml.
fn place(text: String, values: &[(Vec<String>, Value)]) -> Result<String, Vec<crate::model::Diagnostic>> {
    values.iter().try_fold(text, |text, (path, value)| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        yaml::edit::set(CONFIG, &text, &path, value)
    })
}

/// The settings as the commit has them.
struct NewSettings {
    /// Their text, if it changes.
    text: Option<String>,
    /// Apps that were granted secrets of an earlier app of this name.
    readers: Vec<String>,
}

/// Returns the settings with the grants that a person gave, and without those of secrets of an earlier app of this name: whoever bears it now is
/// another one. Nor does it have the grants of that.
fn settings(app: &AppName, sources: &Sources, given: &[String]) -> Result<NewSettings, Vec<Diagnostic>> {
    let files = &sources.files;
    let before = files.text(SETTINGS_PATH).unwrap_or_default();
    let stood = settings_of(files)?.grants_of(app.as_str()).secrets;
    let (mut text, readers) = consent::take_back(files, before, app)?;
    let kept = stood.iter().filter(|grant| !sources.outlived.contains(grant));
    let granted: Vec<String> = kept.chain(given).cloned().collect();
    if granted != stood {
        text = consent::write_grants(&text, app, &granted)?;
    }
    Ok(NewSettings { text: Some(text).filter(|text| text != before), readers })
}

/// Says who may read what from now on.
fn told(app: &AppName, agreed: &Agreed, settings: &NewSettings) -> Vec<String> {
    let mut lines = Vec::new();
    if !agreed.granted.is_empty() {
        lines.push(consent::may_read(app, &agreed.granted));
    }
    if !settings.readers.is_empty() {
        let readers = settings.readers.join(", ");
        lines.push(format!(
            "{readers} may no longer read secrets of {app}: they were granted for an earlier app of that name"
        ));
    }
    lines
}

/// Returns the command by which this is asked for, without grants.
fn command(app: &AppName, wanted: &Wanted<'_>) -> String {
    let Wanted { package, bindings, values, version, deploy, grants: _ } = wanted;
    let mut words = vec![format!("wild app add {package}")];
    if app.as_str() != package.as_str() {
        words.push(format!("--as {app}"));
    }
    words.extend(bindings.iter().map(|(reference, bound)| format!("--dep {reference}={bound}")));
    words.extend(values.iter().map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("--set {}", shell_word(&format!("{key}={value}")))
    }));
    words.extend(version.map(|version| format!("--version {version}")));
    words.extend((*deploy == Deploy::Now).then(|| "--deploy".to_owned()));
    words.join(" ")
}

/// The texts of the commit beside the generated files.
struct Files<'a> {
    generated: &'a Generated,
    config: &'a str,
    settings: Option<&'a str>,
}

/// Puts keys into the order of the package's defaults; further keys follow.
fn in_order(section: &Map<String, Value>, defaults: &Map<String, Value>) -> Map<String, Value> {
    let known = defaults.keys().filter_map(|key| Some((key.clone(), section.get(key)?.clone())));
    let own =
        section.iter().filter(|(key, _)| !defaults.contains_key(*key)).map(|(key, value)| (key.clone(), value.clone()));
    known.chain(own).collect()
}

fn edit(app: &AppName, sources: &Sources, texts: &Files<'_>, wanted: &Wanted<'_>) -> TreeEdit {
    let Files { generated, config, settings } = *texts;
    let record = GenerationRecord {
        deployed: wanted.deploy == Deploy::Now,
        wanted: wanted.version.map(str::to_owned),
        ..generated.record.clone()
    };
    let mut files = generated.files.clone();
    put(&mut files, &record_path(app), &record::write_record(&record));
    put(&mut files, CONFIG, config);
    if let Some(settings) = settings {
        put(&mut files, SETTINGS_PATH, settings);
    }
    let version = &record.version;
    let what = match wanted.deploy {
        Deploy::Now => format!("add and deploy {version}"),
        Deploy::Later => format!("add {version}"),
    };
    TreeEdit {
        changes: changes(&scope(&sources.files, app), &files),
        subject: subject("feat", app.as_str(), &what),
        body: String::new(),
        trailers: vec![
            ("Wild-App".to_owned(), app.to_string()),
            ("Wild-Upstream".to_owned(), record::upstream_of(&record)),
        ],
        join: Join::Generation,
    }
}

fn summary(app: &AppName, candidate: &Candidate<'_>, generated: &Generated, keys: usize) -> Vec<String> {
    let record = &generated.record;
    let mut lines = vec![format!("{app} {} from {} {}", record.version, record.directory, candidate.commit.short())];
    if !record.bindings.is_empty() {
        let bound: Vec<String> = record.bindings.iter().map(|(reference, to)| format!("{reference} → {to}")).collect();
        lines.push(format!("needs {}", bound.join(", ")));
    }
    let files = app_files(&generated.files, app).paths().filter(|path| !crate::merge::is_package_view(path)).count();
    lines.push(format!("wrote apps/{app} ({files} files), config.yaml apps.{app} ({keys} keys)"));
    lines
}
