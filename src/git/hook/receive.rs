//! Checks a push before any ref moves, while git still keeps the new objects apart.
//!
//! Every refusal names rule, file and line and says what to do. What merely does not compile is no matter for a push:
//! such an app keeps its last applied revision.
//!
//! Not here: who may push (`http`), the exit code (`cli`).

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use git2::Oid;

use crate::base::limits::MAX_FILE_BYTES;
use crate::model::{AppName, CommitId, Diagnostic, FileTree, SETTINGS_PATH, Settings, Subdirectory};
use crate::yaml::leak::{Leak, RULE};
use crate::yaml::{Dialect, load_one, read_typed};

use super::super::check_tree::{HostileTree, Refusal as BadObject};
use super::super::checks::misleading::mistaken;
use super::super::checks::refs::MAX_REFS;
use super::super::error::{Error, git};
use super::super::history::{diff_paths, is_ancestor};
use super::super::instance_ids::{IdFault, IdFaultKind, NamedId, WrittenId, faults_of, ids_of};
use super::super::instances::instances;
use super::super::intake::{CommitCheck, check_objects};
use super::super::lane;
use super::super::network::Scope;
use super::super::notes::NOTES_REF;
use super::super::objects::{Known, Objects};
use super::super::read::{list_files, read_tree, refused};
use super::super::refs::{check_name, commit_id, list_refs, oid, read_ref};
use super::super::repository::{Repository, open};
use super::super::scan::{Brought, Leaked, Scanner, search_new};
use crate::base::RepoPath;

/// Refusals that one push shows.
const MAX_REFUSALS: usize = 50;
/// How the newest commit is corrected and pushed again.
const AMEND: &str = "git commit --amend --all --no-edit, git push";
/// Files that must be readable for anything to be deployed.
const CONFIG_FILES: [&str; 2] = [CONFIG, SETTINGS_PATH];
/// The user's values.
const CONFIG: &str = "config.yaml";
/// One line of what git tells a receive hook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefUpdate {
    /// Full name of the ref.
    pub name: String,
    /// Where it is; nothing if it is new.
    pub old: Option<CommitId>,
    /// Where it is to go; nothing deletes it.
    pub new: Option<CommitId>,
}

/// Whether the deployed branch may go back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rewind {
    /// Only forward.
    Refused,
    /// An administrator asked for it with this very push.
    Allowed,
}

/// A push as the hook meets it.
#[derive(Clone, Debug)]
pub struct Intake {
    /// The repository.
    pub repository: PathBuf,
    /// Its deployed branch, without `refs/heads/`.
    pub branch: String,
    /// Where git keeps the new objects for now (`GIT_OBJECT_DIRECTORY` of the hook).
    pub quarantine: Option<PathBuf>,
    /// The refs to move.
    pub updates: Vec<RefUpdate>,
    /// Whether the deployed branch may go back.
    pub rewind: Rewind,
    /// The secrets that are looked for.
    pub scanner: Arc<Scanner>,
    /// Identities that belong to other repositories: what has one of them is a copy, which may get its own.
    pub elsewhere: BTreeSet<String>,
}

/// The rule by which an instance keeps its identity.
pub const ID_RULE: &str = "instance/identity";

/// Why a push is refused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Refusal {
    /// The rule, such as `conflict/marker`.
    pub rule: String,
    /// The file or ref; empty if the whole push is meant.
    pub file: String,
    /// Line from 1, or 0 if no line is meant.
    pub line: usize,
    /// What is wrong; never a secret value.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.is_empty(), self.line) {
            (true, _) => {}
            (false, 0) => write!(f, "{}: ", self.file)?,
            (false, line) => write!(f, "{}:{line}: ", self.file)?,
        }
        write!(f, "{}: {}", self.rule, self.message)
    }
}

impl RefUpdate {
    /// Parses what git writes to a receive hook: lines of old id, new id and ref name; 40 zeros stand for no commit.
    pub fn parse_lines(text: &str) -> Result<Vec<Self>, Error> {
        let id = |text: &str| match text.bytes().all(|byte| byte == b'0') {
            true => Ok(None),
            false => CommitId::parse(text).map(Some),
        };
        let broken = |line: &str| Error::Unusable {
            attempt: "read the updates of a push".to_owned(),
            reason: format!("{line:?} is no update"),
        };
        let mut updates = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let mut fields = line.splitn(3, ' ');
            let (Some(old), Some(new), Some(name)) = (fields.next(), fields.next(), fields.next()) else {
                return Err(broken(line));
            };
            let (Ok(old), Ok(new)) = (id(old), id(new)) else { return Err(broken(line)) };
            updates.push(Self { name: name.to_owned(), old, new });
        }
        Ok(updates)
    }
}

/// Longest check of a push: a second one would take as long, and whoever pushes can end it.
const PUSH_DEADLINE: Duration = Duration::from_secs(600);

/// Checks a push and returns every reason against it; none means that it may go on.
pub async fn check(intake: Intake) -> Result<Vec<Refusal>, Error> {
    let attempt = format!("check a push to {}", intake.repository.display());
    lane::run_within(PUSH_DEADLINE, attempt, move || check_push(&intake)).await
}

fn check_push(intake: &Intake) -> Result<Vec<Refusal>, Error> {
    let repository = open(&intake.repository)?;
    if let Some(quarantine) = &intake.quarantine {
        let place = quarantine.display().to_string();
        repository.odb().and_then(|odb| odb.add_disk_alternate(&place)).map_err(git(format!("open {place}")))?;
        if let Some(place) = check_objects(quarantine, Scope::Whole)? {
            return Ok(vec![hostile(place)]);
        }
    }
    let known = Known::default();
    let objects = &Objects::of(&repository, &known)?;
    if let Some(refusal) = check_count(&repository, &known, intake)? {
        return Ok(vec![refusal]);
    }
    let heads = match intake.updates.iter().any(|update| update.new.is_some()) {
        true => list_refs(&repository, &known, "refs/")?.values().map(oid).collect::<Result<Vec<Oid>, Error>>()?,
        // Whoever has too many refs must be able to delete them.
        false => Vec::new(),
    };
    let (mut files, mut names) = (CommitCheck::of_files(objects), CommitCheck::of_names(objects));
    let mut searched = BTreeSet::new();
    let mut refusals = BTreeSet::new();
    for update in &intake.updates {
        refusals.extend(check_ref(&repository, &known, intake, update)?);
        refusals.extend(
            Repository::leaks_in_text(&intake.scanner, "the name of a ref", update.name.as_bytes()).iter().map(leaking),
        );
        let Some(new) = update.new.as_ref().filter(|_| check_name(&update.name).is_ok()) else { continue };
        let tip = match objects.peel(oid(new)?) {
            Ok(Some(tip)) => tip,
            Ok(None) => {
                let hint = "push branches and tags of commits only";
                refusals.insert(refusal("ref/object", &update.name, 0, "it does not lead to a commit", hint));
                continue;
            }
            Err(BadObject::Hostile(place)) => {
                refusals.insert(hostile(place));
                continue;
            }
            Err(unreadable) => return Err(refused(unreadable, new.as_str())),
        };
        // A hostile tree is not read any further.
        let trees = if update.name.starts_with("refs/heads/") { &mut files } else { &mut names };
        if let Some(place) = trees.check(tip)? {
            refusals.insert(hostile(place));
            continue;
        }
        if searched.insert(oid(new)?) {
            refusals.extend(check_history(&repository, objects, intake, oid(new)?, &heads)?);
        }
        refusals.extend(check_ids(&repository, objects, intake, (update, &commit_id(tip)))?);
        if is_deployed(intake, update) {
            refusals.extend(check_deployed(&repository, objects, update.old.as_ref(), &commit_id(tip))?);
        }
    }
    Ok(refusals.into_iter().take(MAX_REFUSALS).collect())
}

fn is_deployed(intake: &Intake, update: &RefUpdate) -> bool {
    update.name.strip_prefix("refs/heads/") == Some(&intake.branch)
}

/// Checks how many refs the repository would have: every call that lists them reads them all.
fn check_count(repository: &git2::Repository, known: &Known, intake: &Intake) -> Result<Option<Refusal>, Error> {
    let new = intake.updates.iter().filter(|update| update.old.is_none() && update.new.is_some()).count();
    if new == 0 {
        return Ok(None);
    }
    if new <= MAX_REFS && list_refs(repository, known, "refs/")?.len() + new <= MAX_REFS {
        return Ok(None);
    }
    let hint = "delete refs that nobody needs with `git push origin --delete NAME`, or push fewer";
    Ok(Some(refusal("ref/count", "", 0, "the repository would have more than 10,000 refs", hint)))
}

/// Checks where a ref may go, whatever it leads to.
fn check_ref(
    repository: &git2::Repository,
    known: &Known,
    intake: &Intake,
    update: &RefUpdate,
) -> Result<Option<Refusal>, Error> {
    let refuse = |rule, message: &str, hint| Ok(Some(refusal(rule, &update.name, 0, message, hint)));
    if let Err(Error::RefName { reason, .. }) = check_name(&update.name) {
        return refuse("ref/name", reason, "give the ref another name");
    }
    // What is there already goes away like anything else.
    if let Some(mistaken) = mistaken(&update.name, &intake.branch).filter(|_| update.new.is_some()) {
        return refuse("ref/misleading", &mistaken, hint_of(&update.name));
    }
    match kind_of(&update.name) {
        RefKind::Ours => {
            return refuse("ref/reserved", "only wild writes this ref", "push branches of your own instead");
        }
        RefKind::Foreign(what) => {
            let message = format!("{what}; branches and tags are taken and nothing else");
            return refuse("ref/foreign", &message, "git push origin HEAD:refs/heads/NAME");
        }
        RefKind::Waiting if !is_deployed(intake, update) => return check_waiting(repository, known, update),
        RefKind::Branch | RefKind::Tag | RefKind::Waiting => {}
    }
    if !is_deployed(intake, update) || intake.rewind == Rewind::Allowed {
        return Ok(None);
    }
    match (&update.old, &update.new) {
        (Some(_), None) => refuse(
            "branch/deletion",
            "the deployed branch cannot be deleted",
            "delete apps one by one: wild app delete APP",
        ),
        (Some(old), Some(new)) if !is_ancestor(repository, known, oid(old)?, oid(new)?)? => refuse(
            "branch/rewind",
            "the deployed branch only moves forward, and this push would drop commits",
            "git pull --rebase, then push again without force",
        ),
        (_, _) => Ok(None),
    }
}

/// Returns how a branch or a tag is pushed under another name.
fn hint_of(name: &str) -> &'static str {
    match name.starts_with("refs/tags/") {
        true => "push it under another name: git push origin TAG:refs/tags/NAME",
        false => "push it under another name: git push origin HEAD:refs/heads/NAME",
    }
}

/// Whose a ref is, by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RefKind {
    /// A branch of people.
    Branch,
    /// A branch on which something of ours waits for people.
    Waiting,
    /// A tag.
    Tag,
    /// Only we write it.
    Ours,
    /// Neither: what it would be good for elsewhere.
    Foreign(&'static str),
}

/// Whose refs are, by what their names begin with; the first that fits holds.
const KINDS: [(&str, RefKind); 12] = [
    ("refs/heads/wild/", RefKind::Waiting),
    ("refs/heads/", RefKind::Branch),
    ("refs/tags/", RefKind::Tag),
    ("refs/wild/", RefKind::Ours),
    (NOTES_REF, RefKind::Ours),
    ("refs/replace/", RefKind::Foreign("it would show other objects in place of those that are there")),
    ("refs/notes/", RefKind::Foreign("it is a note that nobody here reads")),
    ("refs/remotes/", RefKind::Foreign("it is where another repository was seen by one who cloned it")),
    ("refs/meta/", RefKind::Foreign("it is the configuration of a forge")),
    ("refs/pull/", RefKind::Foreign("it is a pull request of a forge")),
    ("refs/merge-requests/", RefKind::Foreign("it is a merge request of a forge")),
    ("refs/stash", RefKind::Foreign("it is what one person put aside")),
];

fn kind_of(name: &str) -> RefKind {
    let found = KINDS.iter().find(|(start, _)| {
        name.strip_prefix(start).is_some_and(|rest| start.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
    });
    found.map_or(RefKind::Foreign("it is neither a branch nor a tag"), |(_, kind)| *kind)
}

/// Checks what happens to a branch on which something waits: people add to it or take it away, and what we made stays below.
fn check_waiting(repository: &git2::Repository, known: &Known, update: &RefUpdate) -> Result<Option<Refusal>, Error> {
    let refuse = |rule, message, hint| Ok(Some(refusal(rule, &update.name, 0, message, hint)));
    match (&update.old, &update.new) {
        (None, Some(_)) => refuse(
            "ref/reserved",
            "only wild makes branches of this name",
            "push it under another name: git push origin HEAD:refs/heads/NAME",
        ),
        (Some(old), Some(new)) if !is_ancestor(repository, known, oid(old)?, oid(new)?)? => refuse(
            "branch/rewind",
            "what waits on this branch stays below what is added to it",
            "git pull --rebase, then push again without force",
        ),
        (_, _) => Ok(None),
    }
}

/// Looks for secrets in clear in every new commit: taking them out again later does not help.
fn check_history(
    repository: &git2::Repository,
    objects: &Objects<'_>,
    intake: &Intake,
    tip: Oid,
    heads: &[Oid],
) -> Result<Vec<Refusal>, Error> {
    let Brought { leaks, is_cut } = search_new(repository, objects, &[tip], heads, &intake.scanner)?;
    let mut refusals: Vec<Refusal> = leaks.iter().map(leaking).collect();
    if is_cut {
        let hint = "push the history in several steps";
        refusals.push(refusal("pack/commits", "", 0, "the push brings more than 100,000 commits", hint));
    }
    Ok(refusals)
}

fn leaking(leaked: &Leaked) -> Refusal {
    let Leaked { place, line, leak, commit } = leaked;
    let commit = commit.as_ref().map(|commit| commit.short());
    if let (Leak::SecretsFile, Some(commit)) = (leak, commit) {
        let message = format!("commit {commit} holds secret values in clear");
        let hint = format!("git rm --cached {place}, git commit --amend --no-edit, git push, and change the values");
        return refusal(RULE, place, *line, &message, &hint);
    }
    let of_commit = commit.map(|commit| format!(", in commit {commit}")).unwrap_or_default();
    let none = leak.exception(place).map(|entry| format!("; if it is none: {entry}")).unwrap_or_default();
    let hint =
        format!("git rebase --interactive, take it out of every commit, push again, then: {}{none}", leak.remedy());
    refusal(RULE, place, *line, &format!("{leak}{of_commit}"), &hint)
}

/// Checks what the deployed branch would hold, each instance on its own.
fn check_deployed(
    repository: &git2::Repository,
    objects: &Objects<'_>,
    old: Option<&CommitId>,
    new: &CommitId,
) -> Result<Vec<Refusal>, Error> {
    let places = places(objects, new)?;
    let mut refusals = match old {
        Some(old) => check_places(&still_there(objects, instances(objects, old)?, new)?, &places),
        None => Vec::new(),
    };
    let changed = diff_paths(objects, old, new)?;
    for place in &places {
        refusals.extend(check_instance(repository, objects, new, place, &changed)?);
    }
    Ok(refusals)
}

/// Returns those of the places in which a commit still holds an instance.
fn still_there(objects: &Objects<'_>, old: Vec<Subdirectory>, new: &CommitId) -> Result<Vec<Subdirectory>, Error> {
    let root = objects.root(oid(new)?).map_err(|refusal| refused(refusal, new.as_str()))?;
    let mut there = Vec::new();
    for place in old {
        let found = objects.find(root, &place.outward(SETTINGS_PATH));
        if found.map_err(|refusal| refused(refusal, new.as_str()))?.is_some() {
            there.push(place);
        }
    }
    Ok(there)
}

/// Checks that each instance stays the one it was. What waits for people becomes part of the deployed branch; any other branch is compared
/// with itself, because it may be the deployed one of another daemon.
fn check_ids(
    repository: &git2::Repository,
    objects: &Objects<'_>,
    intake: &Intake,
    (update, new): (&RefUpdate, &CommitId),
) -> Result<Vec<Refusal>, Error> {
    let before = match kind_of(&update.name) {
        RefKind::Waiting if !is_deployed(intake, update) => {
            read_ref(repository, objects.known, &format!("refs/heads/{}", intake.branch))?.map(commit_id)
        }
        RefKind::Branch | RefKind::Waiting => update.old.clone(),
        RefKind::Tag | RefKind::Ours | RefKind::Foreign(_) => None,
    };
    if let Some(before) = &before {
        let faults = faults_of(repository, objects, &ids_of(repository, objects, before)?, new)?;
        let is_kept = |fault: &&IdFault| match &fault.kind {
            IdFaultKind::Changed { was, .. } => !intake.elsewhere.contains(was),
            IdFaultKind::Missing { .. } | IdFaultKind::Gone { .. } | IdFaultKind::Doubled { .. } => true,
        };
        let refusals: Vec<Refusal> = faults.iter().filter(is_kept).map(of_other_id).collect();
        if !refusals.is_empty() {
            return Ok(refusals);
        }
    }
    match kind_of(&update.name) {
        RefKind::Branch => foreign_id(repository, objects, intake, (before.as_ref(), new)).map(Vec::from_iter),
        RefKind::Tag | RefKind::Waiting | RefKind::Ours | RefKind::Foreign(_) => Ok(Vec::new()),
    }
}

/// Refuses a branch that names an instance of another repository, unless it or the deployed one did so before: whoever works in a clone of it
/// would speak of that instance.
fn foreign_id(
    repository: &git2::Repository,
    objects: &Objects<'_>,
    intake: &Intake,
    (before, new): (Option<&CommitId>, &CommitId),
) -> Result<Option<Refusal>, Error> {
    if intake.elsewhere.is_empty() {
        return Ok(None);
    }
    let deployed = read_ref(repository, objects.known, &format!("refs/heads/{}", intake.branch))?.map(commit_id);
    let mut known = Vec::new();
    for commit in deployed.iter().chain(before) {
        known.extend(ids_of(repository, objects, commit)?.into_values().map(|written| written.id));
    }
    for (place, WrittenId { id, line }) in ids_of(repository, objects, new)? {
        if let NamedId::Id(other) = &id
            && intake.elsewhere.contains(other)
            && !known.contains(&id)
        {
            let message = format!("instanceId {other} is that of an instance in another repository");
            let hint = format!("write an instanceId of its own, or that of this repository, then: {AMEND}");
            return Ok(Some(refusal(ID_RULE, &place.outward(SETTINGS_PATH), line, &message, &hint)));
        }
    }
    Ok(None)
}

fn of_other_id(fault: &IdFault) -> Refusal {
    let hint = format!("{}, then: {AMEND}", fault.remedy());
    refusal(ID_RULE, &fault.file, fault.line, &fault.to_string(), &hint)
}

/// Returns where the instances live; a repository without any is about to get one at its top.
fn places(objects: &Objects<'_>, commit: &CommitId) -> Result<Vec<Subdirectory>, Error> {
    let found = instances(objects, commit)?;
    Ok(if found.is_empty() { vec![Subdirectory::top()] } else { found })
}

/// Looks for a new instance around those that are there: neither could be told from the other any more.
fn check_places(old: &[Subdirectory], new: &[Subdirectory]) -> Vec<Refusal> {
    let around = |place: &Subdirectory| old.iter().find(|old| *old != place && place.holds(old)).cloned();
    let nested = new.iter().filter_map(|place| Some((place, around(place)?)));
    let refuse = |(place, old): (&Subdirectory, Subdirectory)| {
        let message = format!("it makes an instance around that in {old}, and one cannot lie inside another");
        refusal("instance/nested", &place.outward(SETTINGS_PATH), 0, &message, "give it a directory of its own")
    };
    nested.map(refuse).collect()
}

/// Checks what one instance would hold.
fn check_instance(
    repository: &git2::Repository,
    objects: &Objects<'_>,
    new: &CommitId,
    place: &Subdirectory,
    changed: &[RepoPath],
) -> Result<Vec<Refusal>, Error> {
    let mut refusals = Vec::new();
    let root = objects.root(oid(new)?).map_err(|refusal| refused(refusal, new.as_str()))?;
    let conflicts = RepoPath::parse(&place.outward(".wild/conflicts")).map(|path| vec![path]).unwrap_or_default();
    for path in list_files(objects, root, &conflicts)?.keys() {
        let hint = "resolve the conflicts it lists, delete it, and push again; or: wild app resolve APP --list";
        refusals.push(refusal("conflict/file", path.as_str(), 0, "open conflicts are not deployed", hint));
    }
    let is_read = |path: &&RepoPath| place.inward(path).is_some_and(|path| is_checked(&path));
    let read: Vec<String> = changed.iter().filter(is_read).map(ToString::to_string).collect();
    if read.is_empty() {
        return Ok(refusals);
    }
    let files = match read_tree(repository, objects.known, new, &read) {
        Ok(files) => files,
        Err(Error::Hostile { source, .. }) => {
            refusals.push(hostile(source));
            return Ok(refusals);
        }
        Err(error) => return Err(error),
    };
    refusals.extend(check_names(&files, place));
    for (path, file) in files.iter() {
        let Some(text) = file.as_text() else { continue };
        refusals.extend(check_text(path, text));
        let inward = place.inward(path);
        let is_config = inward.is_some_and(|inward| CONFIG_FILES.contains(&inward.as_str()));
        if is_config && let Err(diagnostics) = check_config(path, text) {
            refusals.extend(diagnostics.iter().map(unreadable));
        }
    }
    Ok(refusals)
}

/// Reads a file that everything depends on as the line would.
fn check_config(path: &RepoPath, text: &str) -> Result<(), Vec<Diagnostic>> {
    let is_settings = path.as_str() == SETTINGS_PATH || path.as_str().ends_with(&format!("/{SETTINGS_PATH}"));
    let path = path.as_str();
    let document = load_one(path, text, Dialect::Gomplate)?;
    if is_settings {
        return read_typed::<Settings>(path, text).map(drop);
    }
    let map = |value: &serde_json::Value| value.is_object() || value.is_null();
    let refuse = |line, message: &str| {
        Err(vec![Diagnostic::error("S102", path, line, message).with_hint("write key: value lines")])
    };
    match document {
        Some(found) if !map(&found.value) => refuse(found.line, "it holds no map of keys"),
        Some(found) if !found.value.get("apps").is_none_or(map) => {
            refuse(found.line_of(&["apps"]).unwrap_or(found.line), "apps is no map of apps")
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns whether the content of a file matters to us.
fn is_checked(path: &RepoPath) -> bool {
    path.is_within("apps") || path.is_within(".wild") || CONFIG_FILES.contains(&path.as_str())
}

/// Checks the names of the apps that changed.
fn check_names(files: &FileTree, place: &Subdirectory) -> Vec<Refusal> {
    let apps = place.outward("apps");
    let mut names = BTreeSet::new();
    for path in files.paths() {
        if let Some(name) =
            path.below(&apps).and_then(|rest| rest.as_str().split_once('/').map(|(name, _)| name.to_owned()))
        {
            names.insert(name);
        }
    }
    let mut refusals = Vec::new();
    for name in names {
        if let Err(error) = AppName::parse(&name) {
            let hint = "name the directory with lower-case letters, digits and dashes";
            refusals.push(refusal("app/name", &format!("{apps}/{name}"), 0, &error.to_string(), hint));
        }
    }
    refusals
}

/// Looks for conflict markers in a text.
fn check_text(path: &RepoPath, text: &str) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = number + 1;
        if is_marker(line) {
            let hint = &format!("decide the conflict, remove the markers, {AMEND}");
            refusals.push(refusal("conflict/marker", path.as_str(), at, "a conflict marker was committed", hint));
            break;
        }
    }
    refusals
}

/// Returns whether a line is one of git's conflict markers. A row of equal signs alone underlines headings as well.
fn is_marker(line: &str) -> bool {
    ["<<<<<<<", ">>>>>>>", "|||||||"]
        .iter()
        .any(|mark| line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
}

fn unreadable(found: &Diagnostic) -> Refusal {
    let hint = format!("correct {}, {AMEND}", found.file);
    refusal("config/yaml", &found.file, found.line, &found.message, &hint)
}

fn hostile(place: HostileTree) -> Refusal {
    let HostileTree { path, rule, reason } = place;
    let hint = match rule {
        "tree/file-size" => format!("keep files below {} MiB", MAX_FILE_BYTES / (1024 * 1024)),
        "tree/bytes" => "push the files in several steps".to_owned(),
        _ => "take the entry out of the commits and push again".to_owned(),
    };
    refusal(rule, &path, 0, reason, &hint)
}

fn refusal(rule: &str, file: &str, line: usize, message: &str, hint: &str) -> Refusal {
    Refusal { rule: rule.to_owned(), file: file.to_owned(), line, message: message.to_owned(), hint: hint.to_owned() }
}

#[cfg(test)]
mod tests;
