//! Pure. Takes values of live objects into the repository: into the app's config where the package makes the field from it, else into the
//! file that holds it.
//!
//! Where a value stands is found by trying: a place is right if the app builds to what it built to before, with nothing but the wanted field
//! changed. So a value that a patch or a second object shares is refused and never half adopted. Not here: seeing drift (`plan`), whose
//! word a field is from now on (`ignore`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::config;
use super::edit::{app_files, changes, subject};
use super::proposal::{Fate, Join, Proposal, TreeEdit};
use super::record_of;
use super::refusal::{Refusal, no_such_app};
use super::sources::{Sources, apps_of, config_of};
use super::update::is_there;
use crate::base::RepoPath;
use crate::kustomize;
use crate::merge::{is_customised, is_package_view};
use crate::model::veil::DIFFERS;
use crate::model::{AppName, Branch, Diagnostic, DriftState, File, FileTree, MASK, Object, at, locate};
use crate::yaml::{self, Dialect};

/// Places that are tried for one field; each costs a build of the app.
const MAX_TRIES: usize = 32;
/// Fields that one request may adopt.
const MAX_FIELDS: usize = 50;

/// Commits live values of fields.
pub(super) fn adopt(
    app: &AppName,
    sources: &Sources,
    fields: &[DriftState],
    branch: Branch,
) -> Result<Proposal, Refusal> {
    if !is_there(app, sources) {
        return Err(no_such_app("adopt drift of", app, apps_of(&sources.files).keys().map(AppName::as_str)));
    }
    let what = format!("adopt drift of {app}");
    let show = format!("wild drift show {app}");
    if fields.is_empty() {
        return Err(Refusal::user(what, "nothing of it that is asked for differs in the cluster", show));
    }
    if fields.len() > MAX_FIELDS {
        return Err(Refusal::user(what, format!("{} fields are more than {MAX_FIELDS}", fields.len()), show));
    }
    let mut adopted = Adopted::new(app, sources)?;
    for field in fields {
        check(app, field)?;
        adopted.take(field)?;
    }
    let proposal = adopted.proposal()?;
    Ok(if branch == Branch::Review { for_review(app, proposal) } else { proposal })
}

/// Returns the same for a branch of its own: what it compiles to once it is merged is committed then, so no generation comes of it before.
fn for_review(app: &AppName, proposal: Proposal) -> Proposal {
    let Proposal { main, summary, .. } = proposal;
    let review = main.map(|edit| TreeEdit { join: Join::None, ..edit });
    Proposal { review, summary, ..Proposal::nothing(app) }
}

/// Refuses what no file can say, or what must not stand in one.
fn check(app: &AppName, field: &DriftState) -> Result<(), Refusal> {
    let what = format!("adopt {} of {}", field.path, field.object.short());
    let object = field.object.short();
    let revert = format!("wild drift revert {app}");
    if field.object.group.is_empty() && field.object.kind == "Secret" {
        let because = "values of Secrets are never committed; they come from secrets.yaml";
        return Err(Refusal::user(what, because, "wild secret list"));
    }
    let whole = match field.kind.as_str() {
        "missing" => "it is gone from the cluster; to keep it so, remove it from the files of the app",
        "replaced" => "somebody deleted it and made another one of this name",
        "ownership-lost" => "nobody can tell which of its fields are ours",
        _ if field.path.is_empty() => "no single field of it is known to differ",
        "changed" | "extra" if field.live.is_none() => {
            "its value in the cluster could not be read; look again in a moment"
        }
        _ if field.live.as_ref().is_some_and(is_hidden) => "it holds the value of a secret, which is never committed",
        _ => return Ok(()),
    };
    Err(Refusal::user(format!("adopt {object} as it is in the cluster"), whole, revert))
}

/// Returns whether a part of a value is hidden, so that nobody can tell what it is.
fn is_hidden(value: &Value) -> bool {
    let text = value.to_string();
    text.contains(MASK) || text.contains(DIFFERS)
}

/// What was adopted so far.
struct Adopted<'a> {
    app: &'a AppName,
    sources: &'a Sources,
    /// Files of the instance with the values that stand in files.
    files: FileTree,
    /// What the app is to build to with all fields.
    wanted: Vec<Object>,
    /// Config values by dotted key.
    config: BTreeMap<String, Value>,
    /// Lines for the commit.
    lines: Vec<String>,
    /// The fields, for its first line.
    names: Vec<String>,
}

impl<'a> Adopted<'a> {
    fn new(app: &'a AppName, sources: &'a Sources) -> Result<Self, Refusal> {
        let wanted = build(app, &sources.files).map_err(|findings| {
            Refusal::found(format!("adopt drift of {app}"), format!("wild app show {app}"), findings)
        })?;
        let files = sources.files.clone();
        Ok(Self { app, sources, files, wanted, config: BTreeMap::new(), lines: Vec::new(), names: Vec::new() })
    }

    /// Takes one more field.
    fn take(&mut self, field: &DriftState) -> Result<(), Refusal> {
        let object = field.object.short();
        let what = format!("adopt {} of {object}", field.path);
        let edit = format!("edit apps/{} and push", self.app);
        let is_it = |known: &Object| {
            let id = known.id();
            let same_place = id.namespace.is_empty() || id.namespace == field.object.namespace;
            same_place
                && (&id.group, &id.kind, &id.name) == (&field.object.group, &field.object.kind, &field.object.name)
        };
        let Some(position) = self.wanted.iter().position(is_it) else {
            let because = format!("no file of the app holds {object}; it is made by a rule of ours");
            return Err(Refusal::user(what, because, format!("wild drift revert {}", self.app)));
        };
        let mut wanted = self.wanted.clone();
        let slot = wanted.get_mut(position).map(|object| (object.to_value(), object));
        let Some((value, object_slot)) = slot else { return Ok(()) };
        let way = locate(&value, &field.path);
        let now = way.as_deref().and_then(|way| at(&value, way));
        if now == field.live.as_ref() {
            return Ok(());
        }
        let (Some(way), Some(now), true) = (&way, now, now == field.desired.as_ref()) else {
            let because = "git does not say any more what it said when the difference was seen";
            return Err(Refusal::user(what, because, format!("wild drift show {}", self.app)));
        };
        let Some(Value::Object(map)) = replaced(&value, way, field.live.as_ref()) else { return Ok(()) };
        *object_slot = Object(map);
        let step = Step { field, position, now, wanted: &wanted };
        if let Some((key, value)) = self.in_config(&step) {
            self.config.insert(key, value);
        } else if let Some(files) = self.in_files(&step) {
            self.files = files;
        } else {
            let because = format!("no single place in its files says {} and nothing else", shown(Some(now)));
            return Err(Refusal::user(what, because, edit));
        }
        let before = shown(Some(now));
        self.lines.push(format!("{object} {}: {before} → {}{}", field.path, shown(field.live.as_ref()), who(field)));
        self.names.push(format!("{} of {object}", way.last().map(String::as_str).unwrap_or_default()));
        self.wanted = wanted;
        Ok(())
    }

    /// Returns the config value that makes the field what it is to be.
    fn in_config(&self, step: &Step<'_>) -> Option<(String, Value)> {
        let record = record_of(&self.sources.files, self.app).ok().flatten()?;
        let config = config_of(&self.sources.files).ok()?;
        let mut values = BTreeMap::new();
        leaves(&mut Vec::new(), &record.defaults, &mut values);
        leaves(&mut Vec::new(), config.app(self.app).unwrap_or(&Map::new()), &mut values);
        let mut tries: Vec<(String, Value)> = values
            .into_iter()
            .filter(|(key, _)| !self.config.contains_key(key))
            .filter_map(|(key, value)| Some((key, moved(&value, step.now, step.field.live.as_ref()?)?)))
            .collect();
        // The longest value is the most telling.
        tries.sort_by_key(|(key, value)| (std::cmp::Reverse(value.to_string().len()), key.clone()));
        tries.into_iter().take(MAX_TRIES).find(|(key, value)| {
            let mut set = self.config.clone();
            set.insert(key.clone(), value.clone());
            self.compiled(&self.files, &set).is_some_and(|(files, _)| builds_to(self.app, &files, step.wanted))
        })
    }

    /// Returns what files become with these config values, and the proposal that makes them so.
    fn compiled(&self, files: &FileTree, set: &BTreeMap<String, Value>) -> Option<(FileTree, Proposal)> {
        let sources = Sources { files: files.clone(), ..self.sources.clone() };
        let proposal = config::change(self.app, &sources, set, &[]).ok()?;
        let main = proposal.main.as_ref()?;
        let is_whole =
            proposal.conflicts.is_empty() && proposal.update.is_none() && proposal.update_branch == Fate::Keep;
        let mut files = files.clone();
        for (path, file) in &main.changes {
            match file {
                Some(file) => files.insert(path.clone(), file.clone()),
                None => _ = files.remove(path),
            }
        }
        is_whole.then_some((files, proposal))
    }

    /// Returns the files with the field changed where it stands in one of them.
    fn in_files(&self, step: &Step<'_>) -> Option<FileTree> {
        let own = app_files(&self.files, self.app);
        // The package and its customised templates are no part of what is built.
        let is_built = |path: &RepoPath| path.is_yaml() && !is_package_view(path) && !is_customised(path);
        let yaml = own.iter().filter(|(path, _)| is_built(path));
        let mut left = MAX_TRIES;
        for (path, file) in yaml {
            let Some(text) = file.as_text() else { continue };
            for text in variants(path.as_str(), text, step) {
                left = left.checked_sub(1)?;
                let mut files = self.files.clone();
                files.insert(path.clone(), File::text(&text));
                // A config value that was adopted before comes on top of the files.
                let built = match self.config.is_empty() {
                    true => builds_to(self.app, &files, step.wanted),
                    false => self
                        .compiled(&files, &self.config)
                        .is_some_and(|(files, _)| builds_to(self.app, &files, step.wanted)),
                };
                if built {
                    return Some(files);
                }
            }
        }
        None
    }

    /// Returns the one commit of all that was adopted.
    fn proposal(self) -> Result<Proposal, Refusal> {
        let mut proposal = Proposal::nothing(self.app);
        if self.lines.is_empty() {
            return Ok(proposal);
        }
        let mut files = changes(&self.sources.files, &self.files);
        if !self.config.is_empty() {
            let what = format!("adopt drift of {}", self.app);
            let (_, compiled) = self.compiled(&self.files, &self.config).ok_or_else(|| {
                Refusal::user(what, "its config and its files cannot be changed at once", "adopt one field at a time")
            })?;
            proposal = compiled;
            if let Some(main) = &mut proposal.main {
                files.append(&mut main.changes);
            }
        }
        let (join, trailers) = match proposal.main.take() {
            Some(main) => (main.join, main.trailers),
            None => (Join::None, vec![("Wild-App".to_owned(), self.app.to_string())]),
        };
        let words = match self.names.as_slice() {
            [name] => format!("adopt {name}"),
            names => format!("adopt {} fields of the cluster", names.len()),
        };
        proposal.main = Some(TreeEdit {
            changes: files,
            subject: subject("fix", self.app.as_str(), &words),
            body: self.lines.join("\n"),
            trailers,
            join,
        });
        proposal.summary = self.lines;
        Ok(proposal)
    }
}

/// One field on its way.
struct Step<'a> {
    field: &'a DriftState,
    /// Which object of the build has it.
    position: usize,
    /// What the build says now.
    now: &'a Value,
    /// What the app is to build to.
    wanted: &'a [Object],
}

fn build(app: &AppName, files: &FileTree) -> Result<Vec<Object>, Vec<Diagnostic>> {
    let built = kustomize::build(files, &format!("apps/{app}"))?;
    Ok(built.objects.into_iter().map(|built| built.object).collect())
}

fn builds_to(app: &AppName, files: &FileTree, wanted: &[Object]) -> bool {
    build(app, files).is_ok_and(|built| built == wanted)
}

/// Returns a value with what stands at a way replaced, or gone.
fn replaced(value: &Value, way: &[String], by: Option<&Value>) -> Option<Value> {
    let mut value = value.clone();
    let (last, parents) = way.split_last()?;
    let holder = parents.iter().try_fold(&mut value, |value, place| match value {
        Value::Array(items) => items.get_mut(place.parse::<usize>().ok()?),
        Value::Object(map) => map.get_mut(place),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })?;
    match (holder, by) {
        (Value::Object(map), Some(by)) => _ = map.insert(last.clone(), by.clone()),
        (Value::Object(map), None) => _ = map.shift_remove(last)?,
        (Value::Array(items), Some(by)) => *items.get_mut(last.parse::<usize>().ok()?)? = by.clone(),
        (Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => return None,
    }
    Some(value)
}

/// Returns the texts of a file with the field changed at one place, the likeliest first.
fn variants(file: &str, text: &str, step: &Step<'_>) -> Vec<String> {
    let documents = yaml::cst::split(text);
    let mut found = Vec::new();
    for (number, document) in documents.iter().enumerate() {
        let Ok(Some(loaded)) = yaml::load_one(file, document, Dialect::Gomplate) else { continue };
        let whole = |edited: Result<String, Vec<Diagnostic>>| {
            let edited = edited.ok()?;
            let parts = documents.iter().enumerate();
            Some(parts.map(|(at, part)| if at == number { edited.as_str() } else { part }).collect::<String>())
        };
        let kind = step.wanted.get(step.position).map(Object::kind);
        if loaded.value.get("kind").and_then(Value::as_str) == kind {
            let way = locate(&loaded.value, &step.field.path).filter(|way| at(&loaded.value, way).is_some());
            let edited = way.map(|way| match &step.field.live {
                Some(live) => yaml::edit::replace(file, document, &way, live),
                None => yaml::edit::remove(file, document, &way),
            });
            found.extend(edited.and_then(whole));
        } else if let (true, Some(live)) = (is_kustomization(file), &step.field.live) {
            // Images and replicas may stand there.
            let mut ways = Vec::new();
            scalars(&mut Vec::new(), &loaded.value, &mut ways);
            let edits = ways.into_iter().filter_map(|(way, value)| {
                let value = moved(&value, step.now, live)?;
                whole(yaml::edit::replace(file, document, &way, &value))
            });
            found.extend(edits);
        }
    }
    found
}

fn is_kustomization(file: &str) -> bool {
    file.rsplit('/').next().is_some_and(|name| kustomize::FILE_NAMES.contains(&name))
}

/// Returns what a part of a value becomes when the value becomes another: `15.4` in `db:15.4` becomes `15.5` in `db:15.5`. It keeps its type.
fn moved(part: &Value, from: &Value, to: &Value) -> Option<Value> {
    if part == from {
        return Some(to.clone());
    }
    let (part_text, from, to) = (plain(part)?, plain(from)?, plain(to)?);
    if part_text.is_empty() || from.matches(&part_text).count() != 1 {
        return None;
    }
    let (before, after) = from.split_once(&part_text)?;
    let moved = to.strip_prefix(before)?.strip_suffix(after)?;
    match part {
        Value::String(_) => Some(Value::from(moved)),
        _ => serde_json::from_str(moved).ok().filter(|value: &Value| !value.is_object() && !value.is_array()),
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Object(_) | Value::Array(_) => None,
    }
}

/// Collects the scalars of a config section by dotted key; depth is bounded by the reader of the file.
fn leaves(path: &mut Vec<String>, map: &Map<String, Value>, found: &mut BTreeMap<String, Value>) {
    for (key, value) in map {
        path.push(key.clone());
        match value {
            Value::Object(inner) => leaves(path, inner, found),
            Value::Array(_) | Value::Null => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) => _ = found.insert(path.join("."), value.clone()),
        }
        path.pop();
    }
}

/// Collects the scalars of a document with the ways to them; depth is bounded by the reader of the file.
fn scalars(way: &mut Vec<String>, value: &Value, found: &mut Vec<(Vec<String>, Value)>) {
    let mut inner = |key: String, value: &Value| {
        way.push(key);
        scalars(way, value, found);
        way.pop();
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| inner(key.clone(), value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, value)| inner(at.to_string(), value)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push((way.clone(), value.clone())),
        Value::Null => {}
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "nothing".to_owned(),
    }
}

fn who(field: &DriftState) -> String {
    match (field.manager.as_str(), field.since.as_str()) {
        ("", _) => String::new(),
        (manager, "") => format!(", by {manager}"),
        (manager, since) => format!(", by {manager} at {since}"),
    }
}
