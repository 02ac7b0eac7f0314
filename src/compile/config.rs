//! Pure. What a change of config.yaml does to an app: asked for by a request, or found after a push.
//!
//! The package stays as it is; it is taken from the view that the newest merged generation holds, so no upstream is
//! needed.
//! Not here: new versions of the package (`update`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::add::load;
use super::customised::followed;
use super::decisions::Decisions;
use super::edit::{dotted, edit_section, keys};
use super::land::{self, Landing, Waiting};
use super::learn;
use super::namespaces;
use super::proposal::{Join, Proposal, TreeEdit};
use super::refusal::{Refusal, no_such_app};
use super::resolve;
use super::sources::{CONFIG, PastMerge, Sources, apps_of, config_of};
use super::update::{Candidate, ConfigRule, Made, Making, is_there, make, value_at, view};
use super::{RENDERER, edit, read_record, record, record_of, record_path, same_generation};
use crate::base::RepoPath;
use crate::base::nearest::nearest;
use crate::merge::{ConfigEdit, kept_keys, merge_config};
use crate::model::{AppName, File, FileTree, GenerationRecord, Upstream, Verify};
use crate::package;

/// Keys that say how much of something an app gets; a commit that sets nothing else is of type `scale`.
const SCALE: [&str; 6] = ["replicas", "resources", "storage", "size", "cpu", "memory"];

/// Changes values of an app and compiles it with them, in one commit.
pub(super) fn change(
    app: &AppName,
    sources: &Sources,
    set: &BTreeMap<String, Value>,
    unset: &[String],
) -> Result<Proposal, Refusal> {
    let what = format!("change the config of {app}");
    if !is_there(app, sources) {
        return Err(no_such_app("change the config of", app, apps_of(&sources.files).keys().map(AppName::as_str)));
    }
    let refuse = |findings| Refusal::found(what.clone(), format!("wild app config {app} get"), findings);
    let record = record_of(&sources.files, app).map_err(refuse)?;
    let defaults = record.as_ref().map(|record| record.defaults.clone()).unwrap_or_default();
    let edits = edits(app, set, unset, &defaults)?;
    let text = edit_section(sources.files.text(CONFIG).unwrap_or_default(), app, &edits).map_err(refuse)?;
    let Some(record) = record.filter(|record| !record::is_by_itself(record)) else {
        return Ok(alone(app, sources, &text, &words(set, unset)));
    };
    let config = config_of(&sources.files).map_err(refuse)?;
    let (set_one, list) = (format!("wild app config {app} set"), format!("wild app config {app} get"));
    let keys = KeyWords { what, set: set_one, list };
    check_keys(&keys, set, &defaults, config.app(app).unwrap_or(&Map::new()))?;
    let source = source(app, sources, &record)?;
    let made = compile(app, sources, &source, text)?;
    namespaces::check(&format!("change the config of {app}"), app, sources, &made.theirs.objects)?;
    land(app, sources, made, record.wanted, words(set, unset))
}

/// Compiles an app again because config.yaml, a binding or the renderer changed.
pub(super) fn follow(app: &AppName, sources: &Sources) -> Result<Proposal, Refusal> {
    let record = record_of(&sources.files, app)
        .map_err(|findings| Refusal::found(format!("compile {app}"), format!("wild app show {app}"), findings))?;
    let Some(record) = record else {
        return Ok(Proposal::nothing(app));
    };
    if sources.base.is_none() {
        return Ok(land::without_base(app, sources));
    }
    let proposal = if record::is_by_itself(&record) {
        let notice =
            format!("{app} stands on its own files; what its package compiles to comes with `wild app update {app}`");
        Proposal { notices: vec![notice], ..Proposal::nothing(app) }
    } else {
        let source = source(app, sources, &record)?;
        let text = sources.files.text(CONFIG).unwrap_or_default().to_owned();
        let made = compile(app, sources, &source, text)?;
        let what = if record.renderer != RENDERER {
            "compile with a newer renderer"
        } else if record.custom != made.theirs.record.custom {
            "follow the customised templates"
        } else {
            "follow config.yaml"
        };
        let what = what.to_owned();
        land(app, sources, made, record.wanted, Words { kind: "config", what })?
    };
    if sources.update.is_none() || !proposal.is_nothing() || !proposal.conflicts.is_empty() {
        return Ok(proposal);
    }
    let waits = match land::is_edited(app, sources) {
        true => resolve::bring_head(app, sources),
        false => resolve::again(app, sources),
    };
    // The app itself is as it should be, so what speaks against the update that waits is told when somebody asks for it.
    Ok(waits.unwrap_or(proposal))
}

/// Takes in a merge that a person made with git: what it decided is remembered; config.yaml, which is no part of a generation, follows, and
/// what steered the app at the version before goes from the record.
pub(super) fn take_in(app: &AppName, sources: &Sources, past: &PastMerge) -> Result<Proposal, Refusal> {
    let refuse = |findings| Refusal::found(format!("compile {app}"), format!("wild app show {app}"), findings);
    let record = record_of(&sources.files, app).map_err(refuse)?;
    let followed = followed(app, sources, past);
    let brought = followed.as_ref().map(|followed| with(sources, &followed.changes));
    let mut proposal = match (record, merged_by_hand(app, sources, past)?) {
        (Some(record), Some(text)) => {
            let sources = brought.as_ref().unwrap_or(sources);
            let source = source(app, sources, &record)?;
            let what = format!("take the keys of {}, which was merged by hand", record.version);
            let made = compile(app, sources, &source, text)?;
            land(app, sources, made, record.wanted, Words { kind: "config", what })?
        }
        (Some(_) | None, _) => Proposal::nothing(app),
    };
    release(app, sources, past, &mut proposal);
    if let (Some(followed), Ok(record)) = (followed, record_of(&sources.files, app)) {
        let version = record.map(|record| record.version).unwrap_or_default();
        let main = proposal.main.get_or_insert_with(|| taking(app, &version));
        main.changes.extend(followed.changes);
        proposal.notices.extend(followed.notices);
    }
    proposal.remember.extend(learn::new(app, sources, [past]));
    Ok(proposal)
}

/// Returns sources in which some files are others.
fn with(sources: &Sources, changes: &BTreeMap<RepoPath, Option<File>>) -> Sources {
    let mut sources = sources.clone();
    for (path, file) in changes {
        match file {
            Some(file) => sources.files.insert(path.clone(), file.clone()),
            None => drop(sources.files.remove(path)),
        }
    }
    sources
}

/// Returns the commit that takes in what a merge by hand left.
fn taking(app: &AppName, version: &str) -> TreeEdit {
    TreeEdit {
        changes: BTreeMap::new(),
        subject: edit::subject("config", app.as_str(), &format!("take {version}, which was merged by hand")),
        body: String::new(),
        trailers: vec![("Wild-App".to_owned(), app.to_string())],
        join: Join::None,
    }
}

/// Takes the hold and the pin of the version before out of the record, as an update by us does.
fn release(app: &AppName, sources: &Sources, past: &PastMerge, proposal: &mut Proposal) {
    let record = |files: &FileTree| record_of(files, app).ok().flatten();
    let Ok(path) = RepoPath::parse(&record_path(app)) else { return };
    let (Some(before), Some(now)) = (record(&past.ours), record(&sources.files)) else { return };
    let is_same_version = before.version == now.version && before.upstream_commit == now.upstream_commit;
    if is_same_version || record(&past.files).as_ref() != Some(&now) {
        return;
    }
    let waits = sources.update.as_ref().and_then(|branch| record(&branch.files));
    let wanted = waits.filter(|waits| same_generation(waits, &now)).and_then(|waits| waits.wanted);
    let written = proposal.main.as_ref().and_then(|main| main.changes.get(&path)?.as_ref()?.as_text());
    let written = written.and_then(|text| read_record(path.as_str(), text).ok()).unwrap_or_else(|| now.clone());
    let released = GenerationRecord { held: None, wanted, ..written };
    if released == now {
        return;
    }
    let main = proposal.main.get_or_insert_with(|| taking(app, &now.version));
    main.changes.insert(path, Some(File::text(&record::write_record(&released))));
}

/// Returns config.yaml with the keys of a version that a person merged. A key that was changed since is left alone.
fn merged_by_hand(app: &AppName, sources: &Sources, past: &PastMerge) -> Result<Option<String>, Refusal> {
    let refuse = |findings| Refusal::found(format!("compile {app}"), format!("wild app config {app} get"), findings);
    let record = |files: &FileTree| record_of(files, app).ok().flatten();
    let (Some(old), Some(new)) = (record(&past.ours), record(&past.theirs)) else { return Ok(None) };
    let section =
        |files: &FileTree| config_of(files).map(|config| config.app(app).cloned().unwrap_or_default()).map_err(refuse);
    let (now, then) = (section(&sources.files)?, section(&past.files)?);
    let text = sources.files.text(CONFIG).unwrap_or_default();
    let kept = kept_keys(text, &keys(app, &[]));
    let mut edits = merge_config(&old.defaults, &now, &new.defaults, &kept).edits;
    edits.retain(|edit| value_at(&now, &edit.path) == value_at(&then, &edit.path));
    if edits.is_empty() {
        return Ok(None);
    }
    edit_section(text, app, &edits).map(Some).map_err(refuse)
}

/// Where the package of an app is taken from when no upstream is asked.
pub(super) struct Source {
    directory: Upstream,
    record: GenerationRecord,
    package: package::Package,
}

/// Returns the package that an app was made from.
fn source(app: &AppName, sources: &Sources, record: &GenerationRecord) -> Result<Source, Refusal> {
    let base = sources.base.as_ref();
    // The generation's record knows from which commit the view in it came.
    let merged = base.and_then(|base| record_of(&base.files, app).ok().flatten());
    let files = base.map(|base| view(&base.files, app)).unwrap_or_else(|| view(&sources.files, app));
    stored(app, merged.as_ref().unwrap_or(record), &files)
}

/// Returns a package from a view of it and the record beside that.
pub(super) fn stored(app: &AppName, record: &GenerationRecord, files: &FileTree) -> Result<Source, Refusal> {
    let package = load(&record.package, files, &format!("compile {app} {}", record.version))?;
    let directory = Upstream {
        name: record.directory.clone(),
        url: record.upstream.clone(),
        branch: String::new(),
        path: String::new(),
        verify: Verify::None,
    };
    Ok(Source { directory, record: record.clone(), package })
}

impl Source {
    /// Returns the package as something that an app can be brought to.
    pub(super) fn candidate(&self) -> Candidate<'_> {
        Candidate { directory: &self.directory, commit: &self.record.upstream_commit, package: self.package.clone() }
    }
}

fn compile(app: &AppName, sources: &Sources, source: &Source, start: String) -> Result<Made, Refusal> {
    let candidate = source.candidate();
    let decisions = Decisions::remembered(sources);
    make(&Making { app, sources, candidate: &candidate, start, decisions: &decisions, config: ConfigRule::Keep })
}

fn land(
    app: &AppName,
    sources: &Sources,
    made: Made,
    wanted: Option<String>,
    words: Words,
) -> Result<Proposal, Refusal> {
    let Words { kind, what } = words;
    land::land(Landing {
        app,
        sources,
        waiting: waiting(app, sources, &made.theirs.record),
        theirs: made.theirs,
        config: made.config,
        config_merged: made.config_merged,
        decisions: Decisions::remembered(sources),
        wanted,
        kind,
        what,
        body: String::new(),
    })
}

/// Returns whether the update that waits is this very change, found again: it would bring the version that is there
/// already.
fn waiting(app: &AppName, sources: &Sources, record: &GenerationRecord) -> Waiting {
    let branch = sources.update.as_ref().filter(|_| !land::is_edited(app, sources));
    let waits = branch.and_then(|branch| record_of(&branch.files, app).ok().flatten());
    let same_config = branch.is_some_and(|branch| branch.files.text(CONFIG) == sources.files.text(CONFIG));
    if waits.is_some_and(|waits| waits.version == record.version) && same_config {
        Waiting::Replaced
    } else {
        Waiting::Left
    }
}

/// Words of a commit's first line.
struct Words {
    kind: &'static str,
    what: String,
}

fn words(set: &BTreeMap<String, Value>, unset: &[String]) -> Words {
    let keys: Vec<&str> = set.keys().chain(unset).map(String::as_str).collect();
    let scales = |key: &&str| key.split('.').any(|part| SCALE.contains(&part));
    let kind = if keys.iter().all(scales) { "scale" } else { "config" };
    Words { kind, what: keys.join(", ") }
}

/// Returns the edits of the section: values, and defaults where a key goes back to its own.
fn edits(
    app: &AppName,
    set: &BTreeMap<String, Value>,
    unset: &[String],
    defaults: &Map<String, Value>,
) -> Result<Vec<ConfigEdit>, Refusal> {
    let keys = || set.keys().chain(unset);
    if let Some(key) = keys().find(|key| key.split('.').any(str::is_empty)) {
        let because = format!("{key:?} is no key");
        return Err(Refusal::user(
            format!("change the config of {app}"),
            because,
            format!("wild app config {app} get"),
        ));
    }
    let values = set.iter().map(|(key, value)| ConfigEdit { path: dotted(key), value: Some(value.clone()) });
    let defaulted = unset.iter().map(|key| {
        let path = dotted(key);
        ConfigEdit { value: value_at(defaults, &path).cloned(), path }
    });
    Ok(values.chain(defaulted).collect())
}

/// What a refusal of a key says beside the key.
pub(super) struct KeyWords {
    /// What was attempted.
    pub(super) what: String,
    /// The command that sets a key, up to the key.
    pub(super) set: String,
    /// The command that lists the keys.
    pub(super) list: String,
}

/// Refuses a key that neither the package nor the section has: nothing would read it, most likely it is misspelt.
pub(super) fn check_keys(
    words: &KeyWords,
    set: &BTreeMap<String, Value>,
    defaults: &Map<String, Value>,
    section: &Map<String, Value>,
) -> Result<(), Refusal> {
    let is_known = |path: &[String]| value_at(defaults, path).or_else(|| value_at(section, path)).is_some();
    let Some(key) = set.keys().find(|key| !is_known(&dotted(key)) && !is_open(&dotted(key), defaults)) else {
        return Ok(());
    };
    let path = dotted(key);
    let (parents, last) = path.split_last().map_or((&[][..], ""), |(last, parents)| (parents, last.as_str()));
    let level =
        if parents.is_empty() { Some(defaults) } else { value_at(defaults, parents).and_then(Value::as_object) };
    let meant = level.and_then(|level| nearest(last, level.keys().map(String::as_str)));
    let meant = meant.map(|meant| [parents, &[meant.to_owned()]].concat().join("."));
    let (because, remedy) = match meant {
        Some(meant) => {
            let because = format!("the package has no key {key}; did you mean {meant}?");
            (because, format!("{} {meant}=VALUE", words.set))
        }
        None => (format!("the package has no key {key}"), words.list.clone()),
    };
    Err(Refusal::user(words.what.clone(), because, remedy))
}

/// Returns whether a key lies below one that the package leaves empty for its users to fill.
fn is_open(path: &[String], defaults: &Map<String, Value>) -> bool {
    let ancestors = (1..path.len()).filter_map(|depth| value_at(defaults, path.get(..depth)?));
    ancestors.into_iter().any(|value| value.is_null() || value.as_object().is_some_and(Map::is_empty))
}

/// Commits an edit of config.yaml for an app that no package stands behind.
fn alone(app: &AppName, sources: &Sources, text: &str, words: &Words) -> Proposal {
    let mut proposal = Proposal::nothing(app);
    if sources.files.text(CONFIG).unwrap_or_default() == text {
        return proposal;
    }
    let path = RepoPath::parse(CONFIG).ok();
    proposal.main = path.map(|path| TreeEdit {
        changes: BTreeMap::from([(path, Some(File::text(text)))]),
        subject: edit::subject(words.kind, app.as_str(), &words.what),
        body: String::new(),
        trailers: vec![("Wild-App".to_owned(), app.to_string())],
        join: Join::None,
    });
    proposal.summary = vec![format!("{app}: config.yaml changed")];
    proposal
}
