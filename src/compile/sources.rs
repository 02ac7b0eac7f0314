//! Pure. What one app's compile reads, all of it from one commit of the instance and pinned commits of its upstreams.
//!
//! Not here: reading it from git (`git`, `pipeline`).

use std::collections::BTreeMap;

use super::record;
use crate::base::{Schedule, Timestamp};
use crate::merge::Remembered;
use crate::model::{
    AppName, CommitId, Config, DataFate, Diagnostic, FileTree, Generation, GenerationRecord, HandoverRule, HealthRule,
    HealthTest, PackageName, SETTINGS_PATH, SETTINGS_VERSION, SecretOrigins, Settings, Upstream,
};
use crate::package::{self, Installed, MANIFEST};
use crate::yaml::{self, Dialect};

/// The user's values.
pub(super) const CONFIG: &str = "config.yaml";

/// Everything that compiling one app reads.
#[derive(Clone, PartialEq, Debug)]
pub struct Sources {
    /// Head of the deployed branch.
    pub head: CommitId,
    /// At the head, by repository path: `config.yaml`, `.wild/config.yaml`, everything below `apps/<app>/`, and of
    /// every app `apps/*/manifest.yaml` and `.wild/generated/*.yaml`.
    pub files: FileTree,
    /// Secrets that were granted to an earlier app of this name when it was removed, and that the settings still name: they say nothing of one
    /// that is added now.
    pub outlived: Vec<String>,
    /// Where values in secrets.yaml come from, without the values.
    pub origins: SecretOrigins,
    /// The newest generation that is an ancestor of the head.
    pub base: Option<Generation>,
    /// The newest generation.
    pub tip: Option<Generation>,
    /// The package in each upstream that has it, in the order of the settings.
    pub packages: Vec<UpstreamPackage>,
    /// The update that waits.
    pub update: Option<UpdateBranch>,
    /// What people decided about conflicts of the app before.
    pub remembered: Remembered,
    /// Where the history of a shallow clone ends.
    pub cut_off: Option<CommitId>,
    /// The merge that brought the newest generation onto the branch, if a person made it with git and it was not taken in yet.
    pub by_hand: Option<PastMerge>,
    /// For learning from them: the merges of generations into the branch, newest first.
    pub merges: Vec<PastMerge>,
    /// For a roll-back: the app's paths and `config.yaml` at the commit to go back to.
    pub past: Option<FileTree>,
    /// For a deploy that takes over what nobody owns: namespaces that the app may be let into by that.
    pub adoptable: Vec<String>,
    /// For a deletion: what was said about its data when the app was removed from the tree; nothing if it is there or never was.
    pub removed: Option<DataFate>,
}

/// A merge of a generation into the deployed branch. All trees hold `apps/<app>/**`, the record and `config.yaml` where they
/// are there.
#[derive(Clone, PartialEq, Debug)]
pub struct PastMerge {
    /// Its commit.
    pub commit: CommitId,
    /// Who made it.
    pub who: String,
    /// When.
    pub when: Timestamp,
    /// The generation that both sides started from.
    pub base: FileTree,
    /// The branch before it.
    pub ours: FileTree,
    /// The generation that was merged.
    pub theirs: FileTree,
    /// What it came to.
    pub files: FileTree,
}

/// A package in one upstream.
#[derive(Clone, PartialEq, Debug)]
pub struct UpstreamPackage {
    /// The upstream.
    pub directory: Upstream,
    /// Its commit.
    pub commit: CommitId,
    /// Name of the package.
    pub name: PackageName,
    /// Its newest files, by path inside the package; none if they cannot be read.
    pub files: FileTree,
    /// Why they cannot be read, if so.
    pub broken: Option<Diagnostic>,
    /// Older versions, read where a request names one.
    pub versions: Vec<PackageVersion>,
}

/// An older version of a package.
#[derive(Clone, PartialEq, Debug)]
pub struct PackageVersion {
    /// Version, as its manifest says.
    pub version: String,
    /// The newest commit of the upstream that says so.
    pub commit: CommitId,
    /// Its files, by path inside the package; none if they cannot be read.
    pub files: FileTree,
    /// Why they cannot be read, if so.
    pub broken: Option<Diagnostic>,
}

/// The branch of an update that waits.
#[derive(Clone, PartialEq, Debug)]
pub struct UpdateBranch {
    /// Its name, without `refs/heads/`.
    pub name: String,
    /// Its tip.
    pub tip: CommitId,
    /// At the tip, the same paths as [`Sources::files`], and `.wild/conflicts/<app>.yaml`.
    pub files: FileTree,
    /// At the newest commit of the deployed branch that the tip contains, the same paths.
    pub fork: FileTree,
    /// Whose commits it holds.
    pub authors: Authors,
}

/// Whose commits a branch holds beyond the deployed branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Authors {
    /// Ours alone: it may be made anew.
    OnlyUs,
    /// Also a person's, which is never rewritten.
    People,
}

/// Reads `.wild/config.yaml`.
pub fn settings_of(files: &FileTree) -> Result<Settings, Vec<Diagnostic>> {
    let refuse = |line, message: String, hint: &str| {
        Err(vec![Diagnostic::error("S101", SETTINGS_PATH, line, message).with_hint(hint)])
    };
    let Some(text) = files.text(SETTINGS_PATH) else {
        return refuse(0, "the instance has no settings".to_owned(), "wild init");
    };
    let Some(document) = yaml::load_one(SETTINGS_PATH, text, Dialect::Gomplate)? else {
        return refuse(0, "the settings are empty".to_owned(), "wild init");
    };
    let version = document.value.get("apiVersion").and_then(serde_json::Value::as_str);
    if version != Some(SETTINGS_VERSION) {
        let line = document.line_of(&["apiVersion"]).unwrap_or(document.line);
        let message =
            format!("apiVersion is {}, and this build reads {SETTINGS_VERSION}", version.unwrap_or("missing"));
        return refuse(line, message, "use a build of that version");
    }
    let settings: Settings = yaml::read_typed(SETTINGS_PATH, text)?;
    let mut unclear = unclear_rules(&document, &settings.health);
    unclear.extend(unclear_handovers(&document, &settings));
    if let Some(number) = settings.editors.named().iter().position(String::is_empty) {
        let line = document.line_of(&["editors", &number.to_string()]).unwrap_or(document.line);
        let message = format!("editors.{number}: an empty name would make an editor of every program");
        let hint = "the beginning of a manager's name, such as my-console";
        unclear.push(Diagnostic::error("S107", SETTINGS_PATH, line, message).with_hint(hint));
    }
    if let Err(error) = Schedule::parse(&settings.updates.schedule, &settings.updates.timezone) {
        let lines = ["schedule", "timezone"].map(|key| document.line_of(&["updates", key]));
        let line = lines.into_iter().flatten().next().unwrap_or(document.line);
        let hint = "such as {schedule: \"17 4 * * *\", timezone: Europe/Berlin}";
        unclear.push(Diagnostic::error("S105", SETTINGS_PATH, line, format!("updates: {error}")).with_hint(hint));
    }
    if unclear.is_empty() { Ok(settings) } else { Err(unclear) }
}

/// Returns what keeps rules about health from saying anything.
fn unclear_rules(document: &yaml::Document, rules: &[HealthRule]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (number, rule) in rules.iter().enumerate() {
        let HealthRule { group, kind, healthy, progressing, suspended, degraded } = rule;
        let tests: Vec<&HealthTest> = [healthy, progressing, suspended, degraded].into_iter().flatten().collect();
        let because = if kind.is_empty() {
            "it names no kind".to_owned()
        } else if group.is_empty() && matches!(kind.as_str(), "Secret" | "ConfigMap") {
            format!("a {kind} is never read")
        } else if tests.is_empty() {
            "it has neither healthy, progressing, suspended nor degraded".to_owned()
        } else if let Some(test) = tests.iter().find(|test| !test.path.starts_with('/') || test.equals.is_empty()) {
            format!("path {:?} with {} values tells nothing", test.path, test.equals.len())
        } else {
            continue;
        };
        let line = document.line_of(&["health", &number.to_string()]).unwrap_or(document.line);
        let message = format!("the rule about the health of {kind:?} cannot be used: {because}");
        let hint = "such as {kind: Gadget, healthy: {path: /status/phase, equals: [Ready]}}";
        found.push(Diagnostic::error("S104", SETTINGS_PATH, line, message).with_hint(hint));
    }
    found
}

/// Returns what keeps rules about fields that others are wanted to change from saying anything.
fn unclear_handovers(document: &yaml::Document, settings: &Settings) -> Vec<Diagnostic> {
    let own = settings.apps.iter().map(|(app, own)| (vec!["apps", app, "handover"], &own.handover));
    let mut found = Vec::new();
    for (place, rules) in std::iter::once((vec!["handover"], &settings.handover)).chain(own) {
        for (number, HandoverRule { path, manager, subresource: _ }) in rules.iter().enumerate() {
            let because = if !path.starts_with('/') {
                format!("path {path:?} is no JSON pointer")
            } else if manager.is_empty() {
                "it names no manager".to_owned()
            } else {
                continue;
            };
            let number = number.to_string();
            let place: Vec<&str> = place.iter().copied().chain([number.as_str()]).collect();
            let line = document.line_of(&place).unwrap_or(document.line);
            let message = format!("{}: the rule about {path:?} cannot be used: {because}", place.join("."));
            let hint = "such as {path: /spec/replicas, manager: my-scaler, subresource: scale}";
            found.push(Diagnostic::error("S106", SETTINGS_PATH, line, message).with_hint(hint));
        }
    }
    found
}

/// Reads `config.yaml`; an instance without one has no values.
pub fn config_of(files: &FileTree) -> Result<Config, Vec<Diagnostic>> {
    config_in(files.text(CONFIG).unwrap_or_default())
}

/// Reads a text of `config.yaml`.
pub(super) fn config_in(text: &str) -> Result<Config, Vec<Diagnostic>> {
    match yaml::load_one(CONFIG, text, Dialect::Gomplate)? {
        None => Ok(Config::default()),
        Some(document) => match document.value {
            serde_json::Value::Object(map) => Ok(Config(map)),
            _ => Err(vec![Diagnostic::error("S102", CONFIG, document.line, "config.yaml holds no map of keys")]),
        },
    }
}

/// Returns the apps of the instance that have a manifest, with their type and version. One that cannot be read stands
/// for its own name: it must not block the apps that do not need it.
pub fn apps_of(files: &FileTree) -> BTreeMap<AppName, Installed> {
    let manifests = files.iter().filter_map(|(path, file)| {
        let name = path.below("apps")?.as_str().strip_suffix(&format!("/{MANIFEST}"))?.to_owned();
        Some((AppName::parse(&name).ok()?, path, file.as_text()?))
    });
    manifests
        .map(|(app, path, text)| {
            // The default of a manifest's type is the package's name, which need not be that of the app's directory.
            let package = match record_of(files, &app) {
                Ok(Some(record)) => Some(record.package),
                Ok(None) | Err(_) => PackageName::parse(app.as_str()).ok(),
            };
            let read = package.and_then(|package| package::read_manifest(path.as_str(), &package, text).ok());
            let installed = match read {
                Some(read) => Installed { is: read.manifest.is, version: read.manifest.version },
                None => Installed { is: app.to_string(), version: String::new() },
            };
            (app, installed)
        })
        .collect()
}

/// Reads the record of an app's generation; an app that a person committed by hand has none.
pub fn record_of(files: &FileTree, app: &AppName) -> Result<Option<GenerationRecord>, Vec<Diagnostic>> {
    let path = record::record_path(app);
    files.text(&path).map(|text| record::read_record(&path, text)).transpose()
}
