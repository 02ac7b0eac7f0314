//! Pure. Brings a new generation onto the deployed branch: merge, build, then one commit there, or one on the update
//! branch while a person has to decide.
//!
//! Every way to a new generation ends here, whatever made it. The merged files must build and hold no conflict marker;
//! where ours and theirs build and the merge of both does not, the app keeps ours whole and that is the conflict.
//! Not here: making theirs (`generate`), merging files (`merge`).

use std::collections::BTreeMap;

use super::decisions::Decisions;
use super::edit::{app_files, changes, put, rules, scope, subject};
use super::generate::Generated;
use super::proposal::{Fate, Join, NewGeneration, Proposal, TreeEdit};
use super::refusal::Refusal;
use super::sources::{Authors, CONFIG, Sources};
use super::{record, record_of, record_path};
use crate::base::RepoPath;
use crate::kustomize;
use crate::merge::{
    self, ConfigMerged, Conflict, ConflictKind, ConflictsFile, Decided, GenerationMark, Merged, OpenConflict,
    Resolution, Resolved, Rules, Texts, Three,
};
use crate::model::{AppName, Diagnostic, FileTree, GenerationRecord, Take};

/// What is brought onto the branch, and under which words.
pub(super) struct Landing<'a> {
    /// The app.
    pub(super) app: &'a AppName,
    /// What the compile reads.
    pub(super) sources: &'a Sources,
    /// The new generation.
    pub(super) theirs: Generated,
    /// The text of config.yaml with every edit, decided ones included; keys that wait for a decision are as they were.
    pub(super) config: String,
    /// What the merge of config.yaml came to; nothing to decide where only a person edited it.
    pub(super) config_merged: ConfigMerged,
    /// What is decided already.
    pub(super) decisions: Decisions<'a>,
    /// Version that the app is pinned to, as the record shall say.
    pub(super) wanted: Option<String>,
    /// Type of the commit, such as `upgrade`.
    pub(super) kind: &'static str,
    /// What was done, for the commit's first line.
    pub(super) what: String,
    /// Text of the commit.
    pub(super) body: String,
    /// What the update that waits has to do with it.
    pub(super) waiting: Waiting,
}

/// What an update that waits has to do with a change that lands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waiting {
    /// The change stands for it: the branch is made anew or goes.
    Replaced,
    /// It goes on waiting.
    Left,
}

/// The three trees of the app and where the merge starts.
struct Trees {
    base: FileTree,
    ours: FileTree,
    theirs: FileTree,
}

/// Returns the commits that bring a generation onto the branch.
pub(super) fn land(landing: Landing<'_>) -> Result<Proposal, Refusal> {
    let trees = Trees {
        base: base_files(&landing)?,
        ours: app_files(&landing.sources.files, landing.app),
        theirs: landing.theirs.files.clone(),
    };
    refuse_markers(&landing, &trees.ours)?;
    let mut proposal = Proposal::nothing(landing.app);
    proposal.needs = landing.theirs.needs.clone();
    proposal.diagnostics = landing.theirs.diagnostics.clone();
    proposal.diagnostics.extend(landing.sources.remembered.findings.iter().cloned());
    proposal.diagnostics.extend(same_version_again(&landing, &trees));
    if is_damaged(&landing) {
        let path = record_path(landing.app);
        proposal.notices.push(format!("{path} describes no generation of {}; it is written again", landing.app));
    }
    proposal.notices.extend(upstream_text(&landing));
    if trees.theirs == trees.base {
        config_alone(&landing, &mut proposal);
        if is_merged(landing.app, landing.sources) {
            proposal.update_branch = Fate::Drop;
        }
        return Ok(proposal);
    }
    let sides = Three { base: &trees.base, ours: &trees.ours, theirs: &trees.theirs };
    let rules = rules(landing.app, &landing.sources.files, [&trees.ours, &trees.theirs]);
    let merged = gate(&landing, &trees, merge::merge(sides, &rules))?;
    let mut conflicts = landing.config_merged.conflicts.clone();
    conflicts.extend(merged.conflicts.iter().cloned());
    let resolved = decide(&landing, &merged.files, &conflicts, (sides, &rules))?;
    proposal.generation = new_generation(landing.app, landing.sources, &landing.theirs);
    proposal.notices.extend(merged.notices.iter().chain(&landing.config_merged.notices).map(ToString::to_string));
    let finished =
        Finished { files: resolved.files, open: resolved.open, taken: resolved.taken, authors: Authors::OnlyUs };
    commit(&landing, finished, &mut proposal)?;
    Ok(proposal)
}

/// Warns of a package that changed and kept its version: two apps of one version may then differ. The newest content counts.
fn same_version_again(landing: &Landing<'_>, trees: &Trees) -> Option<Diagnostic> {
    let base = record_of(&landing.sources.base.as_ref()?.files, landing.app).ok()??;
    let theirs = &landing.theirs.record;
    let view = format!("apps/{}/.package", landing.app);
    let of_package = |files: &FileTree| files.below(&view);
    let is_same = (&base.package, &base.version) == (&theirs.package, &theirs.version);
    (is_same && of_package(&trees.base) != of_package(&trees.theirs)).then(|| {
        let message =
            format!("the files of {} changed upstream and its version is still {}", base.package, base.version);
        let file = format!("apps/{}/{}", landing.app, crate::package::MANIFEST);
        Diagnostic::warning("P013", &file, 0, message)
            .with_hint("ask its author to raise the version with every change")
    })
}

/// Returns whether a person edited the record: it does not describe the generation that the branch stands on.
fn is_damaged(landing: &Landing<'_>) -> bool {
    let record = |files: &FileTree| record_of(files, landing.app).ok().flatten();
    let base = landing.sources.base.as_ref().and_then(|base| record(&base.files));
    let (Some(base), Some(now)) = (base, record(&landing.sources.files)) else { return false };
    (&base.version, &base.upstream_commit) != (&now.version, &now.upstream_commit)
}

/// Says what becomes of an app that was adopted as it was: nothing in it counts as customised.
fn upstream_text(landing: &Landing<'_>) -> Option<String> {
    let base = record_of(&landing.sources.base.as_ref()?.files, landing.app).ok()??;
    let app = landing.app;
    record::is_by_itself(&base).then(|| {
        format!("{app} was adopted with files that no version explains, so upstream text takes the place of what was in them then")
    })
}

/// Applies the decisions. Those of an earlier merge count only if all of them can be applied and the result builds.
fn decide(
    landing: &Landing<'_>,
    files: &FileTree,
    conflicts: &[Conflict],
    made: (Three<&FileTree>, &Rules),
) -> Result<Resolved, Refusal> {
    let app = landing.app;
    let built = |resolved: &Resolved| if resolved.taken.is_empty() { Ok(()) } else { build(app, &resolved.files) };
    let said = landing.decisions.without_memory(conflicts);
    let all = landing.decisions.over(conflicts);
    if all != said
        && let Ok(resolved) = merge::resolve(files, conflicts, &all, made)
        && built(&resolved).is_ok()
    {
        return Ok(resolved);
    }
    let resolved = merge::resolve(files, conflicts, &said, made).map_err(|unplaced| {
        Refusal::user(format!("decide conflicts of {app}"), unplaced.to_string(), format!("wild app update {app}"))
    })?;
    match built(&resolved) {
        Ok(()) => Ok(resolved),
        Err(findings) => {
            let what = format!("{app} with the sides that were taken");
            Err(Refusal::found(what, format!("wild app resolve {app} --take mine"), findings))
        }
    }
}

/// What the merge and all decisions came to.
pub(super) struct Finished {
    /// Files of the app.
    pub(super) files: FileTree,
    /// What is still open.
    pub(super) open: Vec<Conflict>,
    /// What was decided.
    pub(super) taken: Vec<(Conflict, Take)>,
    /// Whose text the files hold beyond the merge.
    pub(super) authors: Authors,
}

/// Puts the commit onto the deployed branch, or onto the update branch while something is open.
pub(super) fn commit(landing: &Landing<'_>, finished: Finished, proposal: &mut Proposal) -> Result<(), Refusal> {
    let (app, sources) = (landing.app, landing.sources);
    let mut files = finished.files;
    put(&mut files, &record_path(app), &record::write_record(&branch_record(landing)));
    if !landing.config.is_empty() || sources.files.contains(CONFIG) {
        put(&mut files, CONFIG, &landing.config);
    }
    let taken = finished.taken;
    proposal.summary.push(summary(landing, &files, finished.open.len()));
    remember(landing, &taken, proposal);
    if finished.open.is_empty() {
        let changes = changes(&scope(&sources.files, app), &files);
        proposal.main = Some(edit(landing, changes, landing.what.clone(), &taken));
        if sources.update.is_some() && landing.waiting == Waiting::Replaced {
            proposal.update_branch = Fate::Drop;
        }
        return Ok(());
    }
    let list = ConflictsFile {
        edited: finished.authors == Authors::People,
        ..conflicts_file(landing, &finished.open, &taken)
    };
    put(&mut files, &merge::conflicts_path(app), &list.write());
    let is_there = sources.update.as_ref().is_some_and(|branch| scope(&branch.files, app) == files);
    if !is_there && sources.update.is_some() && landing.waiting == Waiting::Left {
        let because = "it conflicts with your changes, and another update of the app waits for decisions already";
        let remedy = format!("wild app resolve {app}");
        return Err(Refusal::undecided(format!("{} {app}", landing.kind), because, remedy));
    }
    if !is_there {
        let count = finished.open.len();
        let what = format!("{}, {count} {} open", landing.what, if count == 1 { "conflict" } else { "conflicts" });
        let changes = changes(&scope(&sources.files, app), &files);
        proposal.update = Some(edit(landing, changes, what, &taken));
    }
    proposal.conflicts = finished.open;
    Ok(())
}

/// Notes what is to be remembered of the decisions, and tells which ones were taken by themselves.
fn remember(landing: &Landing<'_>, taken: &[(Conflict, Take)], proposal: &mut Proposal) {
    for (conflict, take) in taken {
        if landing.decisions.is_earlier(conflict) {
            let place = if conflict.key.is_empty() { conflict.path.as_str() } else { conflict.key.as_str() };
            let line = format!("decided earlier: {place}: {}", landing.decisions.source(conflict));
            proposal.summary.push(line.clone());
            proposal.notices.push(line);
            continue;
        }
        let resolution = Resolution::new(conflict, take.clone());
        let always = merge::always_key(conflict).filter(|_| landing.decisions.always.contains(&conflict.id));
        let always = always.map(|key| (key, Resolution { always: true, ..resolution.clone() }));
        let exact = merge::is_repeatable(conflict).then(|| (conflict.id.clone(), resolution));
        for (key, resolution) in always.into_iter().chain(exact) {
            if landing.sources.remembered.lacks(&key, &resolution.take) {
                proposal.remember.insert(key, Some(resolution));
            }
        }
    }
}

fn edit(
    landing: &Landing<'_>,
    changes: BTreeMap<RepoPath, Option<crate::model::File>>,
    what: String,
    taken: &[(Conflict, Take)],
) -> TreeEdit {
    let app = landing.app;
    let mut trailers = vec![
        ("Wild-App".to_owned(), app.to_string()),
        ("Wild-Upstream".to_owned(), record::upstream_of(&landing.theirs.record)),
    ];
    let resolution = |(conflict, take): &(Conflict, Take)| format!("{} {}", conflict.id, take.word());
    trailers.extend(taken.iter().map(|taken| ("Wild-Resolution".to_owned(), resolution(taken))));
    TreeEdit {
        changes,
        subject: subject(landing.kind, app.as_str(), &what),
        body: landing.body.clone(),
        trailers,
        join: Join::Generation,
    }
}

/// Returns the record as it stands on a branch: the generation's, with what steers the app there.
fn branch_record(landing: &Landing<'_>) -> GenerationRecord {
    let theirs = &landing.theirs.record;
    let now = record_of(&landing.sources.files, landing.app).ok().flatten();
    let deployed = now.as_ref().is_none_or(|record| record.deployed);
    // What the app went back from is held as long as its package stays where it went.
    let same = now.filter(|now| now.version == theirs.version && now.upstream_commit == theirs.upstream_commit);
    let held = same.and_then(|now| now.held);
    GenerationRecord { deployed, held, wanted: landing.wanted.clone(), ..theirs.clone() }
}

/// Returns the generation, unless the newest one has the same files.
pub(super) fn new_generation(app: &AppName, sources: &Sources, theirs: &Generated) -> Option<NewGeneration> {
    let is_there = sources.tip.as_ref().is_some_and(|tip| app_files(&tip.files, app) == theirs.files);
    (!is_there).then(|| {
        let mut files = theirs.files.clone();
        put(&mut files, &record_path(app), &record::write_record(&theirs.record));
        NewGeneration { files, message: record::message(app, &theirs.record) }
    })
}

/// Returns whether a commit joins the generation: not if the branch's history holds the newest one already.
pub(super) fn join(sources: &Sources, generation: Option<&NewGeneration>) -> Join {
    let commit = |generation: &Option<crate::model::Generation>| generation.as_ref().map(|known| known.commit.clone());
    if generation.is_none() && commit(&sources.base) == commit(&sources.tip) { Join::None } else { Join::Generation }
}

/// Commits an edit of config.yaml that changes nothing in the app's files.
fn config_alone(landing: &Landing<'_>, proposal: &mut Proposal) {
    let before = landing.sources.files.text(CONFIG).unwrap_or_default();
    if before == landing.config {
        return;
    }
    let mut files = scope(&landing.sources.files, landing.app);
    put(&mut files, CONFIG, &landing.config);
    let changes = changes(&scope(&landing.sources.files, landing.app), &files);
    let mut edit = edit(landing, changes, landing.what.clone(), &[]);
    edit.join = Join::None;
    edit.trailers.retain(|(name, _)| name != "Wild-Upstream");
    proposal.summary.push(format!("{}: config.yaml changed, its files stay as they are", landing.app));
    proposal.main = Some(edit);
}

/// Returns a proposal to leave an app alone whose history holds no generation to merge from: a clone that brought the
/// branch without `refs/wild`, or an app that a person copied together with its record.
pub(super) fn without_base(app: &AppName, sources: &Sources) -> Proposal {
    let notice = format!("{app} stays as it is: {}", no_base(app, sources));
    Proposal { notices: vec![notice], ..Proposal::nothing(app) }
}

/// Says why there is nothing to merge from.
fn no_base(app: &AppName, sources: &Sources) -> String {
    match &sources.cut_off {
        Some(commit) => {
            format!("the history of apps/{app} is cut off at {}; fetch with --unshallow", commit.short())
        }
        None => format!("the history of apps/{app} holds no generation to start from"),
    }
}

/// Returns the files of the generation that the branch holds.
fn base_files(landing: &Landing<'_>) -> Result<FileTree, Refusal> {
    match &landing.sources.base {
        Some(base) => Ok(app_files(&base.files, landing.app)),
        None => {
            let what = format!("merge into {}", landing.app);
            Err(Refusal::user(what, no_base(landing.app, landing.sources), "git fetch --unshallow"))
        }
    }
}

/// Refuses files with conflict markers in them, which a person left in a merge by hand.
fn refuse_markers(landing: &Landing<'_>, ours: &FileTree) -> Result<(), Refusal> {
    let marked = ours
        .iter()
        .filter(|(path, _)| !merge::is_package_view(path))
        .find(|(_, file)| file.as_text().is_some_and(merge::has_markers));
    match marked {
        Some((path, _)) => {
            let what = format!("merge into {}", landing.app);
            Err(Refusal::user(what, format!("{path} holds conflict markers"), format!("git log -p -- {path}")))
        }
        None => Ok(()),
    }
}

fn build(app: &AppName, files: &FileTree) -> Result<(), Vec<Diagnostic>> {
    kustomize::build(files, &format!("apps/{app}")).map(|_| ())
}

/// Sees to it that the merged files build: if they do not although both sides do, ours stays whole and that is the
/// conflict.
fn gate(landing: &Landing<'_>, trees: &Trees, merged: Merged) -> Result<Merged, Refusal> {
    let app = landing.app;
    let Err(findings) = build(app, &merged.files) else {
        return Ok(merged);
    };
    if let Err(own) = build(app, &trees.ours) {
        return Err(Refusal::found(format!("build {app} as committed"), format!("git log -p -- apps/{app}"), own));
    }
    let first = findings.first();
    let why = first.map_or_else(String::new, |finding| format!("each side builds alone, but together: {finding}"));
    let place = first.and_then(|finding| RepoPath::parse(&finding.file).ok());
    let own_place = place.filter(|path| path.is_within(&format!("apps/{app}")));
    let place = own_place.or_else(|| RepoPath::parse(&format!("apps/{app}/kustomization.yaml")).ok());
    let mut kept = trees.ours.clone();
    kept.remove_below(&format!("apps/{app}/.package"));
    kept.extend(
        trees
            .theirs
            .iter()
            .filter(|(path, _)| merge::is_package_view(path))
            .map(|(p, f)| (p.clone(), f.clone()))
            .collect(),
    );
    let conflicts = place.map(|place| Conflict::new(ConflictKind::Semantic, &place, Texts::default(), why));
    Ok(Merged { files: kept, conflicts: conflicts.into_iter().collect(), ..merged })
}

fn conflicts_file(landing: &Landing<'_>, open: &[Conflict], taken: &[(Conflict, Take)]) -> ConflictsFile {
    let base = landing.sources.base.as_ref();
    let record = base.and_then(|base| record_of(&base.files, landing.app).ok().flatten());
    let theirs = &landing.theirs.record;
    let mark = |record: &GenerationRecord| format!("{} {}", record.package, record.version);
    let mut file = ConflictsFile::new(
        landing.app,
        GenerationMark {
            package: record.as_ref().map(mark).unwrap_or_default(),
            generated: base.map(|base| base.commit.clone()),
        },
        GenerationMark { package: mark(theirs), generated: None },
    );
    file.conflicts = open.iter().map(|conflict| OpenConflict { conflict: conflict.clone(), take: None }).collect();
    let decided = |(conflict, take): &(Conflict, Take)| {
        let (id, earlier) = (conflict.id.clone(), landing.decisions.is_earlier(conflict));
        Decided { id, take: take.clone(), earlier }
    };
    file.decided = taken.iter().map(decided).collect();
    file.decided.sort();
    file
}

/// Says in one line what happened: files, config keys, conflicts.
fn summary(landing: &Landing<'_>, files: &FileTree, open: usize) -> String {
    let app = landing.app;
    let before = app_files(&landing.sources.files, app);
    let changed =
        changes(&before, &app_files(files, app)).into_iter().filter(|(path, _)| !merge::is_package_view(path)).count();
    let mut parts = vec![count(changed, "file changed", "files changed")];
    let keys = landing.config_merged.edits.len();
    if keys > 0 {
        parts.push(count(keys, "config key changed", "config keys changed"));
    }
    if open > 0 {
        parts.push(count(open, "conflict", "conflicts"));
    }
    format!("{app} {}: {}", landing.what, parts.join(", "))
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns whether the update branch holds what a person wrote: in a commit on top, or below a later one of ours.
pub(super) fn is_edited(app: &AppName, sources: &Sources) -> bool {
    let path = merge::conflicts_path(app);
    sources.update.as_ref().is_some_and(|branch| {
        let list = branch.files.text(&path).and_then(|text| ConflictsFile::read(&path, text).ok());
        branch.authors == Authors::People || list.is_some_and(|list| list.edited)
    })
}

/// Returns whether the update that waits was merged by other means, for example by plain git.
pub(super) fn is_merged(app: &AppName, sources: &Sources) -> bool {
    let record = |files: Option<&FileTree>| files.and_then(|files| record_of(files, app).ok().flatten());
    let merged = record(sources.base.as_ref().map(|base| &base.files));
    let waits = record(sources.update.as_ref().map(|branch| &branch.files));
    merged.zip(waits).is_some_and(|(merged, waits)| record::same_generation(&merged, &waits))
        && !is_edited(app, sources)
}
