//! Pure. Brings an app to another version of its package, because somebody asked or because policy lets the merge bot.
//!
//! config.yaml is merged first, so that the new files are rendered with the new keys. Not here: the merge of the files
//! and the commit (`land`), decisions (`resolve`).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::add::load_read;
use super::consent::{self, Asking};
use super::customised::customised;
use super::decisions::Decisions;
use super::edit::{dotted, edit_section, keys};
use super::generate::{GenerateInput, Generated, generate};
use super::land::{self, Landing, Waiting};
use super::lint::{objections, way_out};
use super::proposal::Proposal;
use super::record::digest_of;
use super::record_of;
use super::refusal::{Refusal, no_such_app};
use super::resolve::decided;
use super::sources::{CONFIG, PackageVersion, Sources, UpstreamPackage, apps_of, config_in, settings_of};
use crate::kustomize::{self, BuiltObject};
use crate::merge::{ConfigEdit, ConfigMerged, ConflictKind, kept_keys, merge_config};
use crate::model::{AppName, CommitId, Diagnostic, FileTree, GenerationRecord, Object, Take, UpdatePolicy, Upstream};
use crate::package::{
    self, Binding, LocalEdits, Package, PackageManifest, ResolveInput, Stop, VersionSide, compare_versions,
};

/// A version of a package that an app may be brought to.
pub(super) struct Candidate<'a> {
    pub(super) directory: &'a Upstream,
    pub(super) commit: &'a CommitId,
    pub(super) package: Package,
}

/// Brings the app to the version that was asked for, or to the newest; `take` wins every conflict, so that none waits.
pub(super) fn update(
    app: &AppName,
    sources: &Sources,
    to: Option<&str>,
    take: Option<&Take>,
    grants: &[String],
) -> Result<Proposal, Refusal> {
    let record = managed(app, sources, "update")?;
    if land::is_edited(app, sources) {
        let because = "an update waits on its branch, and a person committed to it";
        return Err(Refusal::undecided(format!("update {app}"), because, format!("wild app resolve {app}")));
    }
    let candidate = candidate(app, sources, &record, to)?;
    let version = &candidate.package.manifest.version;
    if compare_versions(version, &record.version) == Some(Ordering::Less) {
        let because = format!("{version} is older than {}, which is installed", record.version);
        return Err(Refusal::user(format!("update {app}"), because, format!("wild app history {app}")));
    }
    check_path(app, &record, &candidate, &known(sources, &record))?;
    bring(app, sources, &record, &candidate, Wish { wanted: to.map(str::to_owned), take: take.cloned(), grants })
}

/// Brings the app to the newest version if nobody pinned it and its policy says so.
pub(super) fn follow(app: &AppName, sources: &Sources) -> Result<Proposal, Refusal> {
    let settings = settings_of(&sources.files)
        .map_err(|findings| Refusal::found(format!("update {app}"), "git log -p -- .wild/config.yaml", findings))?;
    let record = record_of(&sources.files, app).ok().flatten();
    let Some(record) = record.filter(|record| record.wanted.is_none()) else {
        return Ok(Proposal::nothing(app));
    };
    if settings.update_policy_of(app.as_str()) != UpdatePolicy::All || land::is_edited(app, sources) {
        return Ok(Proposal::nothing(app));
    }
    if sources.base.is_none() {
        return Ok(land::without_base(app, sources));
    }
    let Some(upstream) = upstream_of(sources, &record) else {
        return Ok(Proposal::nothing(app));
    };
    let candidate = newest(app, upstream)?;
    let order = compare_versions(&candidate.package.manifest.version, &record.version);
    if !matches!(order, Some(Ordering::Greater | Ordering::Equal)) || check_path(app, &record, &candidate, &[]).is_err()
    {
        return Ok(Proposal::nothing(app));
    }
    if record.held.as_ref().is_some_and(|held| *held == digest_of(&candidate.package.files)) {
        return Ok(Proposal::nothing(app));
    }
    bring(app, sources, &record, &candidate, Wish::default())
}

/// Returns the record of an app that is made from a package.
pub(super) fn managed(app: &AppName, sources: &Sources, what: &str) -> Result<GenerationRecord, Refusal> {
    let record = record_of(&sources.files, app)
        .map_err(|findings| Refusal::found(format!("{what} {app}"), format!("wild app show {app}"), findings))?;
    match record {
        Some(record) => Ok(record),
        None if is_there(app, sources) => {
            let because = "it is an app of your own, which no package stands behind";
            Err(Refusal::user(format!("{what} {app}"), because, format!("wild app show {app}")))
        }
        None => Err(no_such_app(what, app, apps_of(&sources.files).keys().map(AppName::as_str))),
    }
}

/// Returns whether the app has files.
pub(super) fn is_there(app: &AppName, sources: &Sources) -> bool {
    let directory = format!("apps/{app}");
    sources.files.paths().any(|path| path.is_within(&directory))
}

fn upstream_of<'a>(sources: &'a Sources, record: &GenerationRecord) -> Option<&'a UpstreamPackage> {
    let mut packages = sources.packages.iter();
    packages.find(|package| package.directory.name == record.directory && package.name == record.package)
}

fn candidate<'a>(
    app: &AppName,
    sources: &'a Sources,
    record: &GenerationRecord,
    to: Option<&str>,
) -> Result<Candidate<'a>, Refusal> {
    let Some(upstream) = upstream_of(sources, record) else {
        let because = format!("the directory {} has no package {}", record.directory, record.package);
        return Err(Refusal::user(format!("update {app}"), because, "wild directory list"));
    };
    let newest = newest(app, upstream)?;
    match to {
        None => Ok(newest),
        Some(version) if version == newest.package.manifest.version => Ok(newest),
        Some(version) => older(app, upstream, version),
    }
}

fn newest<'a>(app: &AppName, upstream: &'a UpstreamPackage) -> Result<Candidate<'a>, Refusal> {
    let read = (&upstream.files, upstream.broken.as_ref());
    let package = load_read(&upstream.name, read, &format!("update {app}"))?;
    Ok(Candidate { directory: &upstream.directory, commit: &upstream.commit, package })
}

/// Returns a version of a package by name.
pub(super) fn older<'a>(app: &AppName, upstream: &'a UpstreamPackage, version: &str) -> Result<Candidate<'a>, Refusal> {
    match upstream.versions.iter().find(|known| known.version == version) {
        Some(known) => {
            let read = (&known.files, known.broken.as_ref());
            let package = load_read(&upstream.name, read, &format!("read {app} {version}"))?;
            Ok(Candidate { directory: &upstream.directory, commit: &known.commit, package })
        }
        None => {
            let known: Vec<&str> = upstream.versions.iter().map(|known| known.version.as_str()).collect();
            let because = match known.as_slice() {
                [] => format!("the directory {} has no version {version} of it", upstream.directory.name),
                known => format!("there is no version {version}; known are {}", known.join(", ")),
            };
            Err(Refusal::user(format!("read {app} {version}"), because, "wild directory outdated"))
        }
    }
}

/// Refuses a step that the package does not allow from the installed version.
fn check_path(
    app: &AppName,
    record: &GenerationRecord,
    candidate: &Candidate<'_>,
    between: &[Stop],
) -> Result<(), Refusal> {
    let stop = stop(&candidate.package.manifest);
    let (version, installed) = (&stop.version, &record.version);
    if version == installed || stop.is_reached_from(installed) {
        return Ok(());
    }
    let steps = stop.path.iter().filter(|step| step.to.as_ref().is_none_or(|to| to == version));
    let ranges: Vec<&str> = steps.map(|step| step.from.as_str()).collect();
    let because = format!("{version} is reached from {} only, and {installed} is installed", ranges.join(" or "));
    let (because, next) = match package::upgrade_way(installed, &stop, between) {
        Some(way) => (format!("{because}; the way is {}", way.join(", ")), way.into_iter().next()),
        None => (because, None),
    };
    let next = next.unwrap_or_else(|| "VERSION".to_owned());
    Err(Refusal::blocked(format!("update {app}"), because, format!("wild app update {app} --to {next}")))
}

/// Returns the older versions that were read of an app's package.
fn known(sources: &Sources, record: &GenerationRecord) -> Vec<Stop> {
    let versions = upstream_of(sources, record).map(|upstream| upstream.versions.as_slice()).unwrap_or_default();
    let manifest = |known: &PackageVersion| {
        let path = package::manifest_of(&known.files);
        package::read_manifest(path, &record.package, known.files.text(path)?).ok()
    };
    versions.iter().filter_map(manifest).map(|read| stop(&read.manifest)).collect()
}

fn stop(manifest: &PackageManifest) -> Stop {
    Stop { version: manifest.version.clone(), path: manifest.upgrade_path.clone() }
}

/// What a person said about an update.
#[derive(Default)]
struct Wish<'a> {
    /// The version.
    wanted: Option<String>,
    /// What wins every conflict.
    take: Option<Take>,
    /// Secrets of other apps that it may read from then on.
    grants: &'a [String],
}

impl Wish<'_> {
    /// Returns the command by which this is asked for, without grants.
    fn command(&self, app: &AppName) -> String {
        let to = self.wanted.as_ref().map(|version| format!(" --to {version}")).unwrap_or_default();
        let take = self.take.as_ref().map(|take| format!(" --take {}", take.word())).unwrap_or_default();
        format!("wild app update {app}{to}{take}")
    }
}

fn bring(
    app: &AppName,
    sources: &Sources,
    record: &GenerationRecord,
    candidate: &Candidate<'_>,
    wish: Wish<'_>,
) -> Result<Proposal, Refusal> {
    let start = sources.files.text(CONFIG).unwrap_or_default().to_owned();
    let asking = Asking { app, what: format!("update {app}"), command: wish.command(app), given: wish.grants };
    let Wish { wanted, take, grants: _ } = wish;
    let decisions = Decisions { given: decided(app, sources), rest: take, ..Decisions::remembered(sources) };
    let made = make(&Making { app, sources, candidate, start, decisions: &decisions, config: ConfigRule::Merge })?;
    check_rules(app, sources, candidate, &made)?;
    let needs = made.theirs.needs.clone();
    let breaking = breaking(app, sources, record, candidate, &made);
    let version = &candidate.package.manifest.version;
    let what = if *version == record.version {
        format!("{version} at {}", candidate.commit.short())
    } else {
        format!("{} -> {version}", record.version)
    };
    let mut proposal = land::land(Landing {
        app,
        sources,
        theirs: made.theirs,
        config: made.config,
        config_merged: made.config_merged,
        decisions,
        wanted,
        kind: "upgrade",
        what,
        body: String::new(),
        waiting: Waiting::Replaced,
    })?;
    proposal.breaking = breaking;
    if !proposal.is_nothing() || !asking.given.is_empty() {
        let agreed = consent::agree(&asking, sources, needs)?;
        consent::record(sources, &agreed, &mut proposal)?;
    }
    if proposal.is_nothing() && proposal.conflicts.is_empty() {
        proposal.summary = vec![format!("{app} is at {version}, and nothing of it changed")];
    }
    Ok(proposal)
}

/// Refuses a package that breaks a rule; one that is installed already stays what it is.
fn check_rules(app: &AppName, sources: &Sources, candidate: &Candidate<'_>, made: &Made) -> Result<(), Refusal> {
    if sources.base.as_ref().is_some_and(|base| view(&base.files, app) == candidate.package.files) {
        return Ok(());
    }
    let refuse = |findings| Refusal::found(format!("update {app}"), format!("wild app history {app}"), findings);
    let grants = settings_of(&sources.files).map_err(refuse)?.grants_of(app.as_str());
    let objections = objections(app, &candidate.package, &made.theirs, &grants);
    if objections.is_empty() {
        return Ok(());
    }
    let remedy = way_out(&objections, &format!("wild app history {app}"));
    Err(Refusal::found(format!("update {app}"), remedy, objections))
}

/// Returns what the newer version breaks for this app: both built with its config, and only keys that it changed count.
fn breaking(
    app: &AppName,
    sources: &Sources,
    record: &GenerationRecord,
    candidate: &Candidate<'_>,
    made: &Made,
) -> Vec<Diagnostic> {
    let Some(base) = &sources.base else { return Vec::new() };
    let Ok(package) = package::load(&record.package, &view(&base.files, app)) else { return Vec::new() };
    let Ok(built) = kustomize::build(&base.files, &format!("apps/{app}")) else { return Vec::new() };
    let section = config_in(sources.files.text(CONFIG).unwrap_or_default()).ok();
    let section = section.and_then(|config| config.app(app).cloned()).unwrap_or_default();
    let mut edited = BTreeSet::new();
    changed_keys(&record.defaults, &section, "", &mut edited);
    let objects = |built: &[BuiltObject]| -> Vec<Object> { built.iter().map(|it| it.object.clone()).collect() };
    let (old, new, reads) = (objects(&built.objects), objects(&made.theirs.objects), BTreeSet::new());
    package::breaking(
        VersionSide { package: &package, objects: &old, reads: &reads },
        VersionSide { package: &candidate.package, objects: &new, reads: &reads },
        LocalEdits::Known(&edited),
    )
}

/// Collects the paths of values that are not the default.
fn changed_keys(
    defaults: &Map<String, Value>,
    section: &Map<String, Value>,
    prefix: &str,
    edited: &mut BTreeSet<String>,
) {
    for (key, value) in section {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match (defaults.get(key), value) {
            (Some(Value::Object(defaults)), Value::Object(section)) => changed_keys(defaults, section, &path, edited),
            (Some(default), value) if default == value => {}
            _ => drop(edited.insert(path)),
        }
    }
}

/// Whether keys of config.yaml are merged with new defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ConfigRule {
    /// They are: the package changed.
    Merge,
    /// They are not: only a person edits them.
    Keep,
}

/// What a new generation is made from.
pub(super) struct Making<'a> {
    pub(super) app: &'a AppName,
    pub(super) sources: &'a Sources,
    pub(super) candidate: &'a Candidate<'a>,
    /// Text of config.yaml to start from.
    pub(super) start: String,
    /// What is decided already.
    pub(super) decisions: &'a Decisions<'a>,
    pub(super) config: ConfigRule,
}

/// A generation and the config that it was made with.
pub(super) struct Made {
    pub(super) theirs: Generated,
    pub(super) config: String,
    pub(super) config_merged: ConfigMerged,
}

/// Makes theirs: bindings, config, files.
pub(super) fn make(making: &Making<'_>) -> Result<Made, Refusal> {
    let Making { app, sources, candidate, .. } = making;
    let what = format!("compile {app} {}", candidate.package.manifest.version);
    let refuse = |findings| Refusal::found(what.clone(), format!("wild app show {app}"), findings);
    let bindings = bind(app, sources, &candidate.package)?;
    let mut text = making.start.clone();
    let mut config_merged = ConfigMerged::default();
    if making.config == ConfigRule::Merge {
        let config = config_in(&text).map_err(refuse)?;
        let input = ResolveInput { app, package: &candidate.package, bindings: &bindings, config: &config };
        let new = package::resolve(&input).map_err(refuse)?.defaults;
        let old = old_defaults(app, sources, &input);
        let section = config.app(app).cloned().unwrap_or_default();
        let moved = old.as_ref().map_or_else(|| new.clone(), |old| unmoved(&old.then, &old.today, &new));
        let then = old.map(|old| old.then).unwrap_or_default();
        let kept = kept_keys(&text, &keys(app, &[]));
        config_merged = merge_config(&then, &section, &moved, &kept);
        text = edit_section(&text, app, &config_merged.edits).map_err(refuse)?;
        let decided = decided_edits(&config_merged, making.decisions, &then, &new);
        text = edit_section(&text, app, &decided).map_err(refuse)?;
    }
    let config = config_in(&text).map_err(refuse)?;
    let customised = customised(app, sources, &candidate.package, making.decisions);
    let name = |finding| match &customised {
        Some(customised) => customised.name(finding, app),
        None => finding,
    };
    let generated = generate(&GenerateInput {
        app,
        package: customised.as_ref().map_or(&candidate.package, |it| &it.package),
        directory: candidate.directory,
        upstream_commit: candidate.commit,
        bindings: &bindings,
        config: &config,
    });
    let mut theirs = generated.map_err(|findings| refuse(findings.into_iter().map(&name).collect()))?;
    if let Some(customised) = &customised {
        customised.show(&mut theirs.files, app, &candidate.package);
        theirs.record.custom = Some(customised.digest.clone());
        theirs.diagnostics = theirs.diagnostics.into_iter().map(name).chain(customised.findings.clone()).collect();
    }
    Ok(Made { theirs, config: text, config_merged })
}

/// Returns the bindings of an app's package: those of the app's manifest, checked against the apps that are there.
pub(super) fn bind(app: &AppName, sources: &Sources, package: &Package) -> Result<BTreeMap<String, AppName>, Refusal> {
    let mut installed = apps_of(&sources.files);
    installed.remove(app);
    let path = format!("apps/{app}/{}", package::MANIFEST);
    let copy = sources.files.text(&path).and_then(|text| package::read_manifest(&path, &package.name, text).ok());
    let mut answers = copy.map(|read| package::bindings_of(&read.manifest)).unwrap_or_default();
    answers.retain(|reference, _| package.manifest.requirement(reference).is_some());
    // The app keeps what it has until the app that it needs is there.
    let refuse = |findings| {
        let what = format!("compile {app} {}", package.manifest.version);
        Refusal::found(what, format!("wild app show {app}"), findings).into_blocked()
    };
    let bindings = package::bind(&package.manifest, &installed, &answers, Binding::There(app)).map_err(refuse)?;
    check_cycle(app, &sources.files, &bindings).map_err(refuse)?;
    Ok(bindings)
}

/// Refuses bindings by which an app would wait for itself.
pub(super) fn check_cycle(
    app: &AppName,
    files: &FileTree,
    bindings: &BTreeMap<String, AppName>,
) -> Result<(), Vec<Diagnostic>> {
    let bound = |other: AppName| {
        let bindings = record_of(files, &other).ok().flatten().map(|record| record.bindings).unwrap_or_default();
        (other, bindings)
    };
    let mut all: BTreeMap<AppName, BTreeMap<String, AppName>> = apps_of(files).into_keys().map(bound).collect();
    all.insert(app.clone(), bindings.clone());
    let Some(cycle) = package::requirement_cycle(&all).filter(|cycle| cycle.contains(app)) else { return Ok(()) };
    let names: Vec<&str> = cycle.iter().chain(cycle.first()).map(AppName::as_str).collect();
    let message = format!("the requirements run in a circle: {}", names.join(" → "));
    let path = format!("apps/{app}/{}", package::MANIFEST);
    Err(vec![Diagnostic::error("P053", &path, 0, message).with_hint(format!("commit another installedAs in {path}"))])
}

struct OldDefaults {
    /// As they were when the generation was made.
    then: Map<String, Value>,
    /// As the old package gives them with the config of today.
    today: Map<String, Value>,
}

fn old_defaults(app: &AppName, sources: &Sources, input: &ResolveInput<'_>) -> Option<OldDefaults> {
    let base = sources.base.as_ref()?;
    let record = record_of(&base.files, app).ok().flatten()?;
    let package = package::load(&record.package, &view(&base.files, app)).ok();
    let resolved = package.and_then(|package| package::resolve(&ResolveInput { package: &package, ..*input }).ok());
    let today = resolved.map_or_else(|| record.defaults.clone(), |resolved| resolved.defaults);
    Some(OldDefaults { then: record.defaults, today })
}

/// Returns the package as an app's files show it.
pub(super) fn view(files: &FileTree, app: &AppName) -> FileTree {
    files.below(&format!("apps/{app}/.package"))
}

/// Takes out of the new defaults what moved only because the instance's own config did: that is no change of the
/// package.
fn unmoved(then: &Map<String, Value>, today: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let pick = |key: &String, value: &Value| match (then.get(key), today.get(key), value) {
        (Some(Value::Object(then)), Some(Value::Object(today)), Value::Object(new)) => {
            Value::Object(unmoved(then, today, new))
        }
        (Some(then), Some(today), new) if today == new => then.clone(),
        (_, _, new) => new.clone(),
    };
    new.iter().map(|(key, value)| (key.clone(), pick(key, value))).collect()
}

/// Returns the edits that decisions about keys of config.yaml ask for.
fn decided_edits(
    merged: &ConfigMerged,
    decisions: &Decisions<'_>,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Vec<ConfigEdit> {
    let keys = merged.conflicts.iter().filter(|conflict| conflict.kind == ConflictKind::Config);
    keys.filter_map(|conflict| {
        let path = dotted(&conflict.key);
        let value = match decisions.of(conflict)? {
            Take::Mine => return None,
            Take::Base => value_at(old, &path).cloned(),
            Take::Upstream => value_at(new, &path).cloned(),
            Take::Value(written) => Some(value_of(&written)),
        };
        Some(ConfigEdit { value, path })
    })
    .collect()
}

/// Reads a value as it would stand in a file.
pub(super) fn value_of(written: &str) -> Value {
    let read = config_in(&format!("shown: {written}"));
    read.ok().and_then(|config| config.at("shown").cloned()).unwrap_or_else(|| Value::from(written))
}

/// Returns the value at a path of keys.
pub(super) fn value_at<'a>(map: &'a Map<String, Value>, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(map.get(first)?, |value, key| value.get(key))
}
