//! Pure. Puts an app and its config section back to what they were at an older commit, as a new commit.
//!
//! The generation of then is made again from the package of then and joined, so that the next update starts from the
//! right base and brings back what this one undoes. Not here: going back on the cluster, which is the ordinary line
//! after the commit.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::config::stored;
use super::decisions::Decisions;
use super::edit::{app_files, changes, edit_section, put, scope, section_edits, subject};
use super::generate::Generated;
use super::land;
use super::proposal::{Fate, Join, Proposal, TreeEdit};
use super::refusal::Refusal;
use super::sources::{CONFIG, Sources, config_in};
use super::update::{ConfigRule, Making, is_there, make, view};
use super::{record, record_of, record_path};
use crate::kustomize;
use crate::merge::has_markers;
use crate::model::{AppName, CommitId, FileTree, GenerationRecord, SETTINGS_PATH};
use crate::package::{SecretGrant, SecretNeeds};
use crate::yaml::{self, Dialect};

/// Rolls an app back to a commit.
pub(super) fn rollback(app: &AppName, sources: &Sources, to: &CommitId, reason: &str) -> Result<Proposal, Refusal> {
    let what = format!("roll {app} back to {}", to.short());
    let remedy = format!("wild app history {app}");
    let refuse = |findings| Refusal::found(what.clone(), remedy.clone(), findings);
    let past = sources.past.as_ref().filter(|past| !app_files(past, app).is_empty());
    let Some(past) = past else {
        return Err(Refusal::user(what, format!("there is no app {app} in that commit"), remedy));
    };
    let mut files = app_files(past, app);
    if files.iter().any(|(_, file)| file.as_text().is_some_and(has_markers)) {
        return Err(Refusal::user(what, "its files hold conflict markers there", remedy));
    }
    kustomize::build(&files, &format!("apps/{app}")).map_err(refuse)?;
    let config = past_config(app, sources, past).map_err(refuse)?;
    let mut proposal = Proposal::nothing(app);
    let then = record_of(past, app).map_err(refuse)?;
    let now = record_of(&sources.files, app).ok().flatten();
    if let Some(then) = &then {
        let theirs = generation_of(app, sources, (then, past), &config)?;
        proposal.generation = land::new_generation(app, sources, &theirs);
        proposal.needs = theirs.needs.clone();
        proposal.diagnostics = theirs.diagnostics.clone();
        let other_version = now.as_ref().is_some_and(|now| now.version != then.version);
        if let Some(now) = now.as_ref().filter(|now| now.version != then.version) {
            proposal.notices.push(format!(
                "{app} goes back from {} to {}, and {} is held until it changes; data written since may not be readable",
                now.version, then.version, now.version
            ));
        }
        let (wanted, held) = match other_version || record::is_by_itself(then) {
            true => (then.wanted.clone(), Some(record::digest_of(&view(&sources.files, app)))),
            false => now.as_ref().map(|now| (now.wanted.clone(), now.held.clone())).unwrap_or_default(),
        };
        let deployed = now.as_ref().is_none_or(|now| now.deployed);
        let record = GenerationRecord { deployed, wanted, held, ..theirs.record };
        put(&mut files, &record_path(app), &record::write_record(&record));
    }
    if !config.is_empty() || sources.files.contains(CONFIG) {
        put(&mut files, CONFIG, &config);
    }
    let mut scope = scope(&sources.files, app);
    allow_again(app, (sources, past), (&mut scope, &mut files)).map_err(refuse)?;
    let changes = changes(&scope, &files);
    let only_record = changes.keys().all(|path| path.as_str() == record_path(app));
    if only_record {
        let mut nothing = Proposal::nothing(app);
        nothing.summary = vec![format!("{app} is as it was at {}", to.short())];
        return Ok(nothing);
    }
    let join = if then.is_some() { land::join(sources, proposal.generation.as_ref()) } else { Join::None };
    proposal.main = Some(TreeEdit { join, ..edit(app, to, reason, changes, then.as_ref()) });
    if sources.update.is_some() && !land::is_edited(app, sources) {
        proposal.update_branch = Fate::Drop;
    }
    proposal.summary = vec![format!("{app} is back at {}", to.short())];
    Ok(proposal)
}

/// Returns the generation of then.
fn generation_of(
    app: &AppName,
    sources: &Sources,
    (then, past): (&GenerationRecord, &FileTree),
    config: &str,
) -> Result<Generated, Refusal> {
    if record::is_by_itself(then) {
        let record = GenerationRecord { wanted: None, held: None, deployed: true, ..then.clone() };
        let (files, needs) = (app_files(past, app), SecretNeeds::none(app.clone()));
        return Ok(Generated { files, record, needs, objects: Vec::new(), diagnostics: Vec::new() });
    }
    let source = stored(app, then, &view(past, app))?;
    let (candidate, decisions) = (source.candidate(), Decisions::remembered(sources));
    let start = config.to_owned();
    let making = Making { app, sources, candidate: &candidate, start, decisions: &decisions, config: ConfigRule::Keep };
    Ok(make(&making)?.theirs)
}

/// Puts the app's section of config.yaml back and leaves everybody else's.
fn past_config(app: &AppName, sources: &Sources, past: &FileTree) -> Result<String, Vec<crate::model::Diagnostic>> {
    let text = sources.files.text(CONFIG).unwrap_or_default();
    let (now, then) = (config_in(text)?, config_in(past.text(CONFIG).unwrap_or_default())?);
    let empty = Map::new();
    let edits = section_edits(now.app(app).unwrap_or(&empty), then.app(app).unwrap_or(&empty));
    edit_section(text, app, &edits)
}

/// Puts back into the settings what an app was allowed before it was deleted, unless it is there. Who brings it back as it was means that
/// too, and is shown it.
fn allow_again(
    app: &AppName,
    (sources, past): (&Sources, &FileTree),
    (scope, files): (&mut FileTree, &mut FileTree),
) -> Result<(), Vec<crate::model::Diagnostic>> {
    let settings = past.text(SETTINGS_PATH).filter(|_| !is_there(app, sources));
    let document = settings.map(|text| yaml::load_one(SETTINGS_PATH, text, Dialect::Gomplate)).transpose()?.flatten();
    let path = ["apps", app.as_str(), "grants"];
    let grants =
        document.as_ref().and_then(|document| path.iter().try_fold(&document.value, |value, key| value.get(key)));
    let now = sources.files.text(SETTINGS_PATH).unwrap_or_default();
    if let Some(grants) = grants {
        let grants = without_strangers(grants, &sources.files, past);
        put(scope, SETTINGS_PATH, now);
        put(files, SETTINGS_PATH, &yaml::edit::set(SETTINGS_PATH, now, &path, &grants)?);
    }
    Ok(())
}

/// Leaves out grants of secrets whose owner is not the app that it was then: another one may bear its name by now.
fn without_strangers(grants: &Value, files: &FileTree, past: &FileTree) -> Value {
    let mut grants = grants.clone();
    let origin = |files: &FileTree, owner: &AppName| {
        let record = record_of(files, owner).ok().flatten()?;
        Some((record.package, record.directory, record.upstream))
    };
    let is_same = |text: &Value| {
        let grant = text.as_str().and_then(|text| SecretGrant::parse(text).ok());
        grant.and_then(|grant| Some(origin(files, &grant.owner)? == origin(past, &grant.owner)?)).unwrap_or_default()
    };
    if let Some(secrets) = grants.get_mut("secrets").and_then(Value::as_array_mut) {
        secrets.retain(is_same);
    }
    grants
}

fn edit(
    app: &AppName,
    to: &CommitId,
    reason: &str,
    changes: BTreeMap<crate::base::RepoPath, Option<crate::model::File>>,
    then: Option<&GenerationRecord>,
) -> TreeEdit {
    let mut trailers = vec![("Wild-App".to_owned(), app.to_string())];
    trailers.extend(then.map(|record| ("Wild-Upstream".to_owned(), record::upstream_of(record))));
    TreeEdit {
        changes,
        subject: subject("rollback", app.as_str(), &format!("to {}", to.short())),
        body: reason.to_owned(),
        trailers,
        join: Join::None,
    }
}
