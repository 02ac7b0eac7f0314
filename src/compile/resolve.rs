//! Pure. Decides an update that waits: a side taken by a request, `take:` written into the list by hand, or lines
//! edited on the branch.
//!
//! A branch that only we wrote is merged anew from today's head with all decisions so far, so it never goes stale. What
//! a person committed to the branch is taken as it is. The last decision becomes the commit on the deployed branch.
//! Not here: applying a side to a file (`merge::resolve`), the commit (`land`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Map;

use super::config::{Source, stored};
use super::consent;
use super::decisions::Decisions;
use super::edit::{app_files, changes, dotted, edit_section, put, rules, scope, section_edits, subject};
use super::land::{self, Finished, Landing, Waiting};
use super::proposal::{Fate, Join, Proposal, TreeEdit};
use super::record_of;
use super::refusal::Refusal;
use super::sources::{Authors, CONFIG, Sources, UpdateBranch, config_in};
use super::update::{ConfigRule, Made, Making, make, value_at, value_of, view};
use crate::kustomize;
use crate::merge::{
    self, ConfigEdit, Conflict, ConflictKind, ConflictsFile, Three, conflicts_path, has_markers, is_package_view,
};
use crate::model::{AppName, Decision, FileTree, GenerationRecord, Take};
use crate::yaml::{self, Dialect};

/// Applies decisions to the update that waits.
pub(super) fn resolve(app: &AppName, sources: &Sources, decisions: &[Decision]) -> Result<Proposal, Refusal> {
    let branch = waiting(app, sources, "resolve")?;
    let list = list(app, &branch.files)?;
    let taken = taken(app, list.as_ref(), decisions)?;
    let open = list.as_ref().map(|list| list.conflicts.len()).unwrap_or_default();
    let edited = land::is_edited(app, sources);
    if decisions.is_empty() && open > 0 && taken.new == 0 && !edited {
        let because = if open == 1 { "1 conflict is open".to_owned() } else { format!("{open} conflicts are open") };
        return Err(Refusal::undecided(
            format!("finish the update of {app}"),
            because,
            format!("wild app resolve {app}"),
        ));
    }
    let update = of_branch(
        app,
        sources,
        branch,
        Decisions { given: taken.takes, always: taken.always, ..Decisions::remembered(sources) },
    )?;
    if edited { update.finish_edited(list) } else { update.merge_anew() }
}

/// Merges an update that waits anew from today's head, with every decision so far. Its branch holds only our commits.
pub(super) fn again(app: &AppName, sources: &Sources) -> Result<Proposal, Refusal> {
    let branch = waiting(app, sources, "merge the update of")?;
    let given = decided(app, sources);
    of_branch(app, sources, branch, Decisions { given, ..Decisions::remembered(sources) })?.merge_anew()
}

/// Merges what the deployed branch got since into a branch that a person committed to, on top of what is there. Where both
/// changed the same, the branch stays until somebody finishes it.
pub(super) fn bring_head(app: &AppName, sources: &Sources) -> Result<Proposal, Refusal> {
    let branch = waiting(app, sources, "merge the update of")?;
    let mut proposal = Proposal::nothing(app);
    if scope(&branch.fork, app) == scope(&sources.files, app) {
        return Ok(proposal);
    }
    let update = of_branch(app, sources, branch, Decisions::remembered(sources))?;
    let own = app_files(&branch.files, app);
    let mut files = scope(&branch.files, app);
    files.extend(update.with_head(own.clone(), &own)?);
    put(&mut files, CONFIG, &update.merged_config()?);
    proposal.update = Some(TreeEdit {
        changes: changes(&scope(&sources.files, app), &files),
        subject: subject("chore", app.as_str(), "bring the deployed branch into the update"),
        body: String::new(),
        trailers: vec![("Wild-App".to_owned(), app.to_string())],
        join: Join::None,
    });
    Ok(proposal)
}

/// Returns the update that a branch holds.
fn of_branch<'a>(
    app: &'a AppName,
    sources: &'a Sources,
    branch: &'a UpdateBranch,
    decisions: Decisions<'a>,
) -> Result<Update<'a>, Refusal> {
    let remedy = format!("wild app resolve {app} --abort");
    let record = record_of(&branch.files, app)
        .map_err(|findings| Refusal::found(format!("resolve {app}"), remedy.clone(), findings))?;
    let Some(record) = record else {
        return Err(Refusal::user(format!("resolve {app}"), "the branch of the update holds no record of it", remedy));
    };
    let source = stored(app, &record, &view(&branch.files, app))?;
    Ok(Update { app, sources, branch, record, source, decisions })
}

/// Drops the update that waits.
pub(super) fn abort(app: &AppName, sources: &Sources) -> Result<Proposal, Refusal> {
    waiting(app, sources, "abort the update of")?;
    let mut proposal = Proposal::nothing(app);
    proposal.update_branch = Fate::Drop;
    proposal.summary = vec![format!("the update of {app} is dropped; {app} stays as it is")];
    Ok(proposal)
}

fn waiting<'a>(app: &AppName, sources: &'a Sources, what: &str) -> Result<&'a UpdateBranch, Refusal> {
    sources.update.as_ref().ok_or_else(|| {
        Refusal::user(format!("{what} {app}"), format!("no update of {app} waits"), format!("wild app update {app}"))
    })
}

/// Reads the list of open conflicts on the branch.
fn list(app: &AppName, files: &FileTree) -> Result<Option<ConflictsFile>, Refusal> {
    let path = conflicts_path(app);
    let read = files.text(&path).map(|text| ConflictsFile::read(&path, text)).transpose();
    read.map_err(|findings| {
        Refusal::found(format!("resolve {app}"), format!("wild app resolve {app} --abort"), findings)
    })
}

/// Returns the decisions that the branch of an app holds already.
pub(super) fn decided(app: &AppName, sources: &Sources) -> BTreeMap<String, Take> {
    let branch = sources.update.as_ref();
    let list = branch.and_then(|branch| list(app, &branch.files).ok().flatten());
    list.as_ref().map(written).unwrap_or_default()
}

/// Returns what the list says was decided, by a request before or by hand.
fn written(list: &ConflictsFile) -> BTreeMap<String, Take> {
    // What an earlier merge decided is looked up again: it may be forgotten meanwhile.
    let before = list.decided.iter().filter(|decided| !decided.earlier);
    let before = before.map(|decided| (decided.id.clone(), decided.take.clone()));
    let by_hand = list.conflicts.iter().filter_map(|open| Some((open.conflict.id.clone(), open.take.clone()?)));
    before.chain(by_hand).collect()
}

struct Taken {
    takes: BTreeMap<String, Take>,
    /// Those that hold from now on.
    always: BTreeSet<String>,
    /// Open conflicts among them.
    new: usize,
}

/// Gathers all decisions: those of requests before, those written by hand, those asked for.
fn taken(app: &AppName, list: Option<&ConflictsFile>, decisions: &[Decision]) -> Result<Taken, Refusal> {
    let mut takes = list.map(written).unwrap_or_default();
    let mut always = BTreeSet::new();
    let known =
        list.map(|list| list.conflicts.iter().map(|open| &open.conflict).collect::<Vec<_>>()).unwrap_or_default();
    let is_decided = |word: &str| list.is_some_and(|list| list.decided.iter().any(|decided| decided.id == word));
    for decision in decisions {
        let meant: Vec<String> = match decision.conflict.as_deref() {
            None => known.iter().map(|conflict| conflict.id.clone()).collect(),
            Some(word) if takes.contains_key(word) || is_decided(word) => vec![word.to_owned()],
            Some(word) => {
                known.iter().filter(|conflict| is_meant(conflict, word)).map(|conflict| conflict.id.clone()).collect()
            }
        };
        if let Some(word) = decision.conflict.as_deref().filter(|_| meant.is_empty()) {
            let ids: Vec<&str> = known.iter().map(|conflict| conflict.id.as_str()).collect();
            let because = match ids.as_slice() {
                [] => format!("there is no conflict {word}; none is open"),
                ids => format!("there is no conflict {word}; open are {}", ids.join(", ")),
            };
            return Err(Refusal::user(format!("resolve {app}"), because, format!("wild app resolve {app}")));
        }
        if decision.always {
            let meant = known.iter().filter(|conflict| meant.contains(&conflict.id));
            if let Some(because) = meant.clone().find_map(|conflict| unfit_for_always(conflict, &decision.take)) {
                return Err(Refusal::user(format!("resolve {app}"), because, format!("wild app resolve {app}")));
            }
            always.extend(meant.map(|conflict| conflict.id.clone()));
        }
        takes.extend(meant.into_iter().map(|id| (id, decision.take.clone())));
    }
    let values = known.iter().filter_map(|conflict| Some((conflict, takes.get(&conflict.id)?)));
    if let Some(because) = values.into_iter().find_map(|(conflict, take)| unfit_value(conflict, take)) {
        return Err(Refusal::user(format!("resolve {app}"), because, format!("wild app resolve {app}")));
    }
    let new = known.iter().filter(|conflict| takes.contains_key(&conflict.id)).count();
    Ok(Taken { takes, always, new })
}

/// Returns where a conflict is, in one word.
fn place(conflict: &Conflict) -> &str {
    if conflict.key.is_empty() { conflict.path.as_str() } else { &conflict.key }
}

/// Returns why a decision cannot hold for a place from now on.
fn unfit_for_always(conflict: &Conflict, take: &Take) -> Option<String> {
    let is_fit = merge::always_key(conflict).is_some() && matches!(take, Take::Mine | Take::Upstream);
    let because = "only mine or upstream of a value, an order, lines or an addition can be remembered for always";
    (!is_fit).then(|| format!("{}: {because}", place(conflict)))
}

/// Returns why a value cannot take the place of the sides of a conflict.
fn unfit_value(conflict: &Conflict, take: &Take) -> Option<String> {
    let Take::Value(value) = take else { return None };
    let place = place(conflict);
    if conflict.is_redacted() {
        return Some(format!("{place}: a value of a Secret does not belong into git"));
    }
    let takes_values = matches!(conflict.kind, ConflictKind::Value | ConflictKind::Config)
        || conflict.kind == ConflictKind::Text && conflict.line > 0;
    let is_one = if conflict.kind == ConflictKind::Text { !value.contains('\n') } else { is_scalar(value) };
    match (takes_values, is_one) {
        (true, true) => None,
        (true, false) => Some(format!("{place}: {value:?} is no single value")),
        (false, _) => Some(format!("{place}: it is about more than a value; take a side")),
    }
}

/// Returns whether a text reads as one scalar.
fn is_scalar(text: &str) -> bool {
    let read = yaml::load_one(CONFIG, &format!("value: {text}\n"), Dialect::Kube);
    let value = read.ok().flatten().and_then(|document| document.value.get("value").cloned());
    !text.contains('\n') && value.is_some_and(|value| !value.is_object() && !value.is_array() && !value.is_null())
}

/// Returns whether a word names a conflict: its id, its file with or without the app's directory, or its key.
fn is_meant(conflict: &Conflict, word: &str) -> bool {
    let path = conflict.path.as_str();
    let inner = path.splitn(3, '/').nth(2);
    conflict.id == word || path == word || inner == Some(word) || (!conflict.key.is_empty() && conflict.key == word)
}

struct Update<'a> {
    app: &'a AppName,
    sources: &'a Sources,
    branch: &'a UpdateBranch,
    /// The record on the branch.
    record: GenerationRecord,
    source: Source,
    decisions: Decisions<'a>,
}

impl<'a> Update<'a> {
    /// Returns whether the package changes, and not only the config.
    fn is_upgrade(&self) -> bool {
        let now = record_of(&self.sources.files, self.app).ok().flatten();
        now.is_none_or(|now| now.version != self.record.version || now.upstream_commit != self.record.upstream_commit)
    }

    fn make(&self, start: String, config: ConfigRule) -> Result<Made, Refusal> {
        let candidate = self.source.candidate();
        make(&Making {
            app: self.app,
            sources: self.sources,
            candidate: &candidate,
            start,
            decisions: &self.decisions,
            config,
        })
    }

    /// Merges the update again from today's head and lands it with the decisions.
    fn merge_anew(self) -> Result<Proposal, Refusal> {
        let made = if self.is_upgrade() {
            let start = self.sources.files.text(CONFIG).unwrap_or_default().to_owned();
            self.make(start, ConfigRule::Merge)?
        } else {
            self.make(self.head_config_with_branch_section()?, ConfigRule::Keep)?
        };
        let proposal = land::land(self.landing(made))?;
        consent::refuse_ungranted(self.app, self.sources, &proposal)?;
        Ok(proposal)
    }

    fn landing(&self, made: Made) -> Landing<'a> {
        let now = record_of(&self.sources.files, self.app).ok().flatten();
        let (kind, what) = match now {
            Some(now) if now.version != self.record.version => {
                ("upgrade", format!("{} -> {}", now.version, self.record.version))
            }
            Some(_) if self.is_upgrade() => {
                ("upgrade", format!("{} at {}", self.record.version, self.record.upstream_commit.short()))
            }
            Some(_) | None => ("config", "follow config.yaml".to_owned()),
        };
        Landing {
            app: self.app,
            sources: self.sources,
            theirs: made.theirs,
            config: made.config,
            config_merged: made.config_merged,
            decisions: self.decisions.clone(),
            wanted: self.record.wanted.clone(),
            kind,
            what,
            body: String::new(),
            waiting: Waiting::Replaced,
        }
    }

    /// A change of config waits with its section on the branch; the rest of config.yaml is the head's.
    fn head_config_with_branch_section(&self) -> Result<String, Refusal> {
        let refuse = |findings| {
            Refusal::found(format!("resolve {}", self.app), format!("wild app config {} get", self.app), findings)
        };
        let text = self.sources.files.text(CONFIG).unwrap_or_default();
        let now = config_in(text).map_err(refuse)?;
        let then = config_in(self.branch.files.text(CONFIG).unwrap_or_default()).map_err(refuse)?;
        let empty = Map::new();
        let edits = section_edits(now.app(self.app).unwrap_or(&empty), then.app(self.app).unwrap_or(&empty));
        edit_section(text, self.app, &edits).map_err(refuse)
    }

    /// Takes what a person committed to the branch, brings in what the deployed branch got since, and applies the
    /// decisions.
    fn finish_edited(self, list: Option<ConflictsFile>) -> Result<Proposal, Refusal> {
        let (app, sources, branch) = (self.app, self.sources, self.branch);
        let own = app_files(&branch.files, app);
        self.refuse_markers(&own)?;
        let open: Vec<Conflict> =
            list.map(|list| list.conflicts.into_iter().map(|open| open.conflict).collect()).unwrap_or_default();
        let open: Vec<Conflict> = open
            .into_iter()
            .filter(|conflict| {
                self.decisions.given.contains_key(&conflict.id) || !is_settled(conflict, &branch.files, app)
            })
            .collect();
        let config = self.decided_config(&self.merged_config()?, &open)?;
        let made = self.make(config, ConfigRule::Keep)?;
        let base = sources.base.as_ref().map(|base| app_files(&base.files, app)).unwrap_or_default();
        let ours = app_files(&sources.files, app);
        let sides = Three { base: &base, ours: &ours, theirs: &made.theirs.files };
        let rules = rules(app, &sources.files, [&ours, &made.theirs.files]);
        let resolved = merge::resolve(&own, &open, &self.decisions.given, (sides, &rules)).map_err(|unplaced| {
            Refusal::user(format!("resolve {app}"), unplaced.to_string(), format!("git log -p -- {}", unplaced.path))
        })?;
        let files = self.with_head(resolved.files, &made.theirs.files)?;
        kustomize::build(&files, &format!("apps/{app}")).map_err(|findings| {
            Refusal::found(format!("build {app} as the branch has it"), format!("wild app resolve {app}"), findings)
        })?;
        let mut proposal = Proposal::nothing(app);
        proposal.needs = made.theirs.needs.clone();
        proposal.diagnostics = made.theirs.diagnostics.clone();
        proposal.generation = land::new_generation(app, sources, &made.theirs);
        let landing = self.landing(made);
        let finished = Finished { files, open: resolved.open, taken: resolved.taken, authors: Authors::People };
        land::commit(&landing, finished, &mut proposal)?;
        consent::refuse_ungranted(app, sources, &proposal)?;
        Ok(proposal)
    }

    fn refuse_markers(&self, files: &FileTree) -> Result<(), Refusal> {
        let mut own = files.iter().filter(|(path, _)| !is_package_view(path));
        match own.find(|(_, file)| file.as_text().is_some_and(has_markers)) {
            Some((path, _)) => {
                let because = format!("{path} holds conflict markers on the branch");
                Err(Refusal::user(format!("resolve {}", self.app), because, format!("git log -p -- {path}")))
            }
            None => Ok(()),
        }
    }

    /// Merges config.yaml of the branch with what the head got since the branch was made.
    fn merged_config(&self) -> Result<String, Refusal> {
        let text = |files: &'a FileTree| files.text(CONFIG).unwrap_or_default();
        let merged = merge::merge_text(text(&self.branch.fork), text(&self.branch.files), text(&self.sources.files));
        if merged.conflicts.is_empty() { Ok(merged.text) } else { Err(self.moved(CONFIG)) }
    }

    /// Sets the keys whose conflict was decided.
    fn decided_config(&self, text: &str, conflicts: &[Conflict]) -> Result<String, Refusal> {
        let about_config = conflicts.iter().filter(|conflict| conflict.kind == ConflictKind::Config);
        let edits = about_config.filter_map(|conflict| {
            let shown = match self.decisions.given.get(&conflict.id)? {
                Take::Mine => return None,
                Take::Base => conflict.base.as_deref(),
                Take::Upstream => conflict.upstream.as_deref(),
                Take::Value(value) => Some(value.as_str()),
            };
            Some(ConfigEdit { path: dotted(&conflict.key), value: shown.map(value_of) })
        });
        edit_section(text, self.app, &edits.collect::<Vec<_>>()).map_err(|findings| {
            Refusal::found(format!("resolve {}", self.app), format!("wild app config {} get", self.app), findings)
        })
    }

    /// Brings into the branch's files what the head got since; the view of the package is that of the update.
    fn with_head(&self, files: FileTree, theirs: &FileTree) -> Result<FileTree, Refusal> {
        let fork = app_files(&self.branch.fork, self.app);
        let head = app_files(&self.sources.files, self.app);
        let rules = rules(self.app, &self.sources.files, [&files, &head]);
        let merged = merge::merge(Three { base: &fork, ours: &files, theirs: &head }, &rules);
        if let Some(conflict) = merged.conflicts.first() {
            return Err(self.moved(conflict.path.as_str()));
        }
        let mut files = merged.files;
        files.remove_below(&format!("apps/{}/.package", self.app));
        let view = theirs.iter().filter(|(path, _)| is_package_view(path));
        files.extend(view.map(|(path, file)| (path.clone(), file.clone())).collect());
        Ok(files)
    }

    fn moved(&self, path: &str) -> Refusal {
        let because = format!("{path} was changed on the deployed branch too, in the same place");
        Refusal::undecided(
            format!("resolve {}", self.app),
            because,
            format!("git switch {} && git merge main", self.branch.name),
        )
    }
}

/// Returns whether a person's commit on the branch settled a conflict: what we left there is not there any more.
fn is_settled(conflict: &Conflict, files: &FileTree, app: &AppName) -> bool {
    let text = files.text(conflict.path.as_str());
    match conflict.kind {
        ConflictKind::Text
        | ConflictKind::BothAdded
        | ConflictKind::Value
        | ConflictKind::Order
        | ConflictKind::Anchor
        | ConflictKind::DuplicateKey
        | ConflictKind::DuplicateIdentity
        | ConflictKind::TemplateBlock => {
            let mine = conflict.mine.as_deref().unwrap_or_default();
            text.is_none_or(|text| !mine.is_empty() && !text.contains(mine))
        }
        ConflictKind::DeleteEdit => text.is_some(),
        ConflictKind::EditDelete => text != conflict.mine.as_deref(),
        ConflictKind::RenameRename => !files.contains(conflict.path.as_str()),
        ConflictKind::Config => {
            let config = config_in(files.text(CONFIG).unwrap_or_default()).unwrap_or_default();
            let value = config.app(app).and_then(|section| value_at(section, &dotted(&conflict.key)).cloned());
            value.map(|value| merge::shown(&value)) != conflict.mine
        }
        ConflictKind::FileKind | ConflictKind::Semantic => false,
    }
}
