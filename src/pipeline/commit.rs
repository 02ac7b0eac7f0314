//! The commit step: a proposal becomes at most one generation, one commit on the deployed branch and one on the update branch, each by
//! compare-and-swap. Generated moves first; a crash in between leaves a generation that the next pass uses.
//!
//! Not here: what is committed (`compile`), objects and refs (`git`).

use std::collections::BTreeMap;
use std::path::Path;

use super::proposed::{self, Proposed};
use super::read::{generated_ref, update_ref};
use super::remote::{self, Published};
use super::skip::skips;
use super::{Instance, Read, fault, files, leaks, overview, review, undo};
use crate::compile::{Authors, Fate, Join, NewGeneration, Proposal, TRAILERS, TreeEdit};
use crate::git::{self, NewCommit, RefObstacle};
use crate::merge::{RESOLUTIONS_REF, Resolution, resolution_path};
use crate::model::{AppName, Author, CommitId, Diagnostic, File, Operation, RefusalText, Request, SecretOrigin};
use crate::package::{self, Entropy};
use crate::settings;

/// The trailer that says which commit of the deployed branch was merged into an update that a person committed to.
pub(super) const FORK: &str = "Wild-Fork";

/// Where the repository stands after the step.
#[derive(Clone, Debug)]
pub struct Committed {
    /// Head of the deployed branch: what is applied.
    pub head: CommitId,
    /// The head before.
    pub before: CommitId,
    /// The commit that was made on the deployed branch, if one was.
    pub made: Option<CommitId>,
    /// Conflicts that wait on the update branch.
    pub conflicts: usize,
    /// Secrets that were made.
    pub secrets: Vec<String>,
    /// What could not be compiled; the committed files stay.
    pub refusal: Option<RefusalText>,
}

impl Committed {
    /// Returns the step that did nothing.
    pub(super) fn unchanged(read: &Read) -> Self {
        Self {
            head: read.head.clone(),
            before: read.head.clone(),
            made: None,
            conflicts: 0,
            secrets: Vec::new(),
            refusal: None,
        }
    }
}

/// Why nothing was committed.
pub(super) enum Error {
    /// Somebody else was faster.
    Lost,
    /// Something must change first.
    Refused(RefusalText),
    /// The pass cannot go on.
    Failed(super::Error),
}

impl From<git::Error> for Error {
    fn from(error: git::Error) -> Self {
        match error {
            git::Error::Lost { .. } => Self::Lost,
            git::Error::WorkTreeDirty { paths } => {
                let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
                in_the_way(format!("uncommitted edits are in the way: {}", paths.join(", ")), "git stash".to_owned())
            }
            other => Self::Failed(other.into()),
        }
    }
}

/// What a person has left in the repository that keeps a commit out.
fn in_the_way(because: String, remedy: String) -> Error {
    let what = "commit to the deployed branch".to_owned();
    Error::Refused(RefusalText { code: 6, what, because, remedy, diagnostics: Vec::new() })
}

/// Returns the refusal of a commit because of a lock: in a repository of a person nobody but that person can tell a dead one.
fn locked(path: &Path) -> Error {
    let path = path.display();
    in_the_way(format!("{path} is there: git is at work, or died at it"), format!("rm {path}, once no git runs there"))
}

impl From<super::Error> for Error {
    fn from(error: super::Error) -> Self {
        match error {
            super::Error::Git(error) => error.into(),
            other => Self::Failed(other),
        }
    }
}

impl From<settings::Error> for Error {
    fn from(error: settings::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Commits a proposal.
pub(super) async fn commit(
    instance: &Instance,
    app: &AppName,
    read: &Read,
    proposal: &Proposal,
    operation: Option<&Operation>,
) -> Result<Committed, Error> {
    let mut committed = Committed { conflicts: proposal.conflicts.len(), ..Committed::unchanged(read) };
    if proposal.is_nothing() || skips("commit") {
        return Ok(committed);
    }
    let _turn = instance.repository.turn().await;
    if let Some(edit) = &proposal.main {
        refuse_dirty(instance, edit).await?;
    }
    refuse_leaks(instance, app, proposal).await?;
    committed.secrets = make_secrets(instance, app, proposal)?;
    fault::point("commit");
    let tip = read.sources.tip.as_ref().map(|generation| generation.commit.clone());
    let generation = match &proposal.generation {
        Some(new) => Some(generate(instance, app, new, tip).await?),
        None => tip,
    };
    if !proposal.remember.is_empty() {
        remember(instance, app, &proposal.remember, generation.as_ref(), operation).await?;
    }
    fault::point("between generation and branch");
    if let Some(edit) = &proposal.main {
        files::hold(instance, &read.head).await?;
        let made = land(instance, read, edit, generation.as_ref(), operation).await?;
        fault::point("between branch and files");
        if remote::publish(instance, &read.head, &made).await? == Published::TakenBack {
            return Err(Error::Lost);
        }
        // What is applied is read from the commit, so nothing waits for the files; the next pass tries again.
        files::follow_or_tell(instance).await;
        committed.made = Some(made.clone());
        committed.head = made;
        if let Some(Request::Delete { app, data }) = operation.and_then(|operation| operation.request.as_ref()) {
            undo::part_with_secrets(instance, app, *data)?;
        }
    }
    if let Some(edit) = &proposal.review {
        review::propose(instance, app, (read, edit), operation).await?;
        remote::publish_branches(instance, &committed.head).await;
    }
    if let (Fate::Drop, Some(tip)) = (proposal.generations, &read.sources.tip) {
        instance.repository.delete_ref(&generated_ref(instance, app), &tip.commit).await?;
    }
    let old = read.sources.update.as_ref().map(|update| update.tip.clone());
    if let Some(edit) = &proposal.update {
        wait(instance, app, Waiting { read, edit, generation, old }, operation).await?;
        remote::publish_branches(instance, &committed.head).await;
    } else if let (Fate::Drop, Some(old)) = (proposal.update_branch, old) {
        proposed::drop_branch(instance, &update_ref(instance, app), &old).await?;
        remote::publish_branches(instance, &committed.head).await;
    }
    Ok(committed)
}

/// Refuses to commit over what a person is editing.
async fn refuse_dirty(instance: &Instance, edit: &TreeEdit) -> Result<(), Error> {
    if instance.repository.is_bare() || instance.repository.head_branch().await?.as_ref() != Some(&instance.branch) {
        return Ok(());
    }
    let paths: Vec<_> = edit.changes.keys().cloned().collect();
    if let Some(lock) = instance.repository.index_lock() {
        return Err(locked(&lock));
    }
    let dirty = instance.tree.dirty_paths(&paths).await?;
    if dirty.is_empty() { Ok(()) } else { Err(git::Error::WorkTreeDirty { paths: dirty }.into()) }
}

/// Refuses to commit the value of a secret: what is in git is known to everybody who can read it, for ever.
async fn refuse_leaks(instance: &Instance, app: &AppName, proposal: &Proposal) -> Result<(), Error> {
    let secrets = instance.secrets.read()?;
    let edits = [&proposal.main, &proposal.update, &proposal.review].into_iter().flatten();
    let changes: Vec<_> =
        edits.flat_map(|edit| &edit.changes).filter_map(|(path, file)| Some((path, file.as_ref()?))).collect();
    let scanner = leaks::scanner(instance, overview(instance).await?.as_ref()).await?;
    let mut needs = proposal.needs.clone();
    needs.forget(|path| scanner.known().values.contains(path));
    let diagnostics = package::leaks(&needs, &secrets, changes.iter().copied());
    let Some(first) = diagnostics.first().map(ToString::to_string) else {
        let files = changes.iter().map(|(path, file)| (*path, file.bytes.as_ref()));
        return leaks::refusal(&scanner, app, files).map_or(Ok(()), |refusal| Err(Error::Refused(refusal)));
    };
    let remedy = format!("wild app show {app}");
    let what = format!("commit {app}");
    Err(Error::Refused(RefusalText { code: 2, what, because: first, remedy, diagnostics }))
}

/// Makes the secrets of the app's own that are absent. They come before the commit, so that nothing that needs them is ever applied without; a
/// commit that is lost leaves them for the next pass. What holds values of other apps comes after it, when the grants are on record (`grants.rs`).
fn make_secrets(instance: &Instance, app: &AppName, proposal: &Proposal) -> Result<Vec<String>, Error> {
    if proposal.needs.own.is_empty() && proposal.needs.copies.is_empty() {
        return Ok(Vec::new());
    }
    let existing = instance.secrets.read()?;
    let mut source = System { failure: None };
    let mut made = package::generate(&proposal.needs, &existing, &mut source)
        .map_err(|diagnostics| Error::Refused(missing(instance, app, diagnostics)))?;
    if let Some(failure) = source.failure {
        return Err(failure.into());
    }
    made.retain(|secret| secret.origin == SecretOrigin::Own);
    Ok(instance.secrets.add(&made)?)
}

/// Returns the refusal for secrets that a package reads and nobody has set; what follows from that is told below.
fn missing(instance: &Instance, app: &AppName, diagnostics: Vec<Diagnostic>) -> RefusalText {
    RefusalText {
        code: 2,
        what: format!("make the secrets of {app}"),
        because: diagnostics.first().map(ToString::to_string).unwrap_or_default(),
        remedy: format!("add it to {}", instance.secrets.path().display()),
        diagnostics,
    }
}

/// The operating system's entropy. A failure is kept and told after the call, because pure code cannot fail half way.
pub(super) struct System {
    pub(super) failure: Option<settings::Error>,
}

impl Entropy for System {
    fn bytes(&mut self, buffer: &mut [u8]) {
        if let Err(failure) = settings::fill(buffer) {
            self.failure = Some(failure);
        }
    }
}

async fn generate(
    instance: &Instance,
    app: &AppName,
    new: &NewGeneration,
    tip: Option<CommitId>,
) -> Result<CommitId, Error> {
    let changes = new.files.iter().map(|(path, file)| (path.clone(), Some(file.clone()))).collect();
    let commit = NewCommit {
        reference: generated_ref(instance, app),
        expected: tip.clone(),
        base_tree: None,
        changes,
        parents: tip.into_iter().collect(),
        author: instance.committer.clone(),
        committer: instance.committer.clone(),
        message: new.message.clone(),
        time: instance.now(),
    };
    Ok(instance.tree.commit(commit).await?)
}

/// Commits what is remembered of decisions, each in a file of its own.
async fn remember(
    instance: &Instance,
    app: &AppName,
    remember: &BTreeMap<String, Option<Resolution>>,
    generation: Option<&CommitId>,
    operation: Option<&Operation>,
) -> Result<(), Error> {
    let author = author(instance, operation);
    let tip = instance.repository.read_ref(RESOLUTIONS_REF).await?;
    let mut changes = BTreeMap::new();
    for (key, resolution) in remember {
        let Some(path) = resolution_path(app, key) else { continue };
        let resolution = resolution.clone().map(|resolution| match resolution.who.is_empty() {
            true => {
                let (who, commit) = (author.name.clone(), generation.cloned());
                Resolution { who, commit, when: instance.now(), ..resolution }
            }
            false => resolution,
        });
        changes.insert(path, resolution.map(|resolution| File::text(&resolution.write())));
    }
    let (kept, gone) = (remember.values().flatten().count(), remember.values().filter(|it| it.is_none()).count());
    let what = match (kept, gone) {
        (kept, 0) => format!("remember {kept}"),
        (0, gone) => format!("forget {gone}"),
        (kept, gone) => format!("remember {kept}, forget {gone}"),
    };
    let commit = NewCommit {
        reference: RESOLUTIONS_REF.to_owned(),
        expected: tip.clone(),
        base_tree: tip.clone(),
        changes,
        parents: tip.into_iter().collect(),
        author,
        committer: instance.committer.clone(),
        message: format!("resolutions({app}): {what}"),
        time: instance.now(),
    };
    instance.tree.commit(commit).await?;
    Ok(())
}

async fn land(
    instance: &Instance,
    read: &Read,
    edit: &TreeEdit,
    generation: Option<&CommitId>,
    operation: Option<&Operation>,
) -> Result<CommitId, Error> {
    let joined = match &edit.join {
        Join::Generation => generation,
        Join::Known(commit) => Some(commit),
        Join::None => None,
    };
    let mut parents = vec![read.head.clone()];
    parents.extend(joined.cloned());
    if joined.is_some() {
        parents.extend(reviewed(read, operation).cloned());
    }
    let base = read.sources.base.as_ref().map(|generation| &generation.commit);
    let commit = NewCommit {
        reference: format!("refs/heads/{}", instance.branch),
        expected: Some(read.head.clone()),
        base_tree: Some(read.head.clone()),
        changes: edit.changes.clone(),
        parents,
        author: author(instance, operation),
        committer: instance.committer.clone(),
        message: message(instance, edit, operation, (base, joined)),
        time: instance.now(),
    };
    match instance.tree.commit(commit).await {
        Err(git::Error::Locked { path, .. }) if !instance.repository.is_bare() => Err(locked(&path)),
        other => Ok(other?),
    }
}

/// Returns the tip of the update branch if this merges it and a person committed to it: what people commit stays in history.
fn reviewed<'a>(read: &'a Read, operation: Option<&Operation>) -> Option<&'a CommitId> {
    let request = operation.and_then(|operation| operation.request.as_ref());
    let update = read.sources.update.as_ref().filter(|_| matches!(request, Some(Request::Resolve { .. })));
    update.filter(|update| update.authors == Authors::People).map(|update| &update.tip)
}

/// A commit for the update branch.
struct Waiting<'a> {
    read: &'a Read,
    edit: &'a TreeEdit,
    generation: Option<CommitId>,
    old: Option<CommitId>,
}

/// Commits to the update branch. A branch that is made anew takes its old tip as a further parent, so that nothing is ever force-pushed; one
/// that a person committed to gets the deployed branch merged into it.
async fn wait(
    instance: &Instance,
    app: &AppName,
    waiting: Waiting<'_>,
    operation: Option<&Operation>,
) -> Result<(), Error> {
    let Waiting { read, edit, generation, old } = waiting;
    // What brings no generation goes on top of what people committed to the branch.
    let generation = generation.filter(|_| edit.join != Join::None);
    let parents: Vec<CommitId> = match edit.join {
        Join::None => old.iter().chain([&read.head]).cloned().collect(),
        Join::Generation | Join::Known(_) => [&read.head].into_iter().chain(&generation).chain(&old).cloned().collect(),
    };
    let mut edit = edit.clone();
    if edit.join == Join::None {
        edit.trailers.push((FORK.to_owned(), read.head.to_string()));
    }
    let base = read.sources.base.as_ref().map(|generation| &generation.commit);
    let commit = NewCommit {
        reference: update_ref(instance, app),
        expected: old,
        base_tree: Some(read.head.clone()),
        changes: edit.changes.clone(),
        parents,
        author: author(instance, operation),
        committer: instance.committer.clone(),
        message: message(instance, &edit, operation, (base, generation.as_ref())),
        time: instance.now(),
    };
    match proposed::propose(instance, commit).await? {
        Proposed::Made => Ok(()),
        Proposed::Foreign => Err(foreign(&instance.tree.subdirectory().update_branch(app), &format!("update {app}"))),
        Proposed::Obstructed(obstacle) => {
            let branch = instance.tree.subdirectory().update_branch(app);
            Err(obstructed(&branch, &obstacle, &format!("update {app}")))
        }
    }
}

/// Returns the refusal where a branch stands in the way that somebody else made.
pub(super) fn foreign(branch: &str, what: &str) -> Error {
    Error::Refused(RefusalText {
        code: 6,
        what: what.to_owned(),
        because: format!(
            "somebody else made the branch {branch}: it stands on no commit of ours, so nothing of it is read"
        ),
        remedy: format!("git push origin :{branch}"),
        diagnostics: Vec::new(),
    })
}

/// Returns the refusal where something leaves no room for a branch.
pub(super) fn obstructed(branch: &str, obstacle: &RefObstacle, what: &str) -> Error {
    let (because, remedy) = match obstacle {
        RefObstacle::Ref(other) => {
            (format!("the branch {branch} cannot be made while there is {other}"), format!("git push origin :{other}"))
        }
        RefObstacle::File(path) => {
            let path = path.display();
            (format!("the branch {branch} cannot be made: {path} is in its place and no ref"), format!("rm {path}"))
        }
    };
    Error::Refused(RefusalText { code: 6, what: what.to_owned(), because, remedy, diagnostics: Vec::new() })
}

/// Returns who asked: the actor of the operation, or we ourselves.
pub(super) fn author(instance: &Instance, operation: Option<&Operation>) -> Author {
    match operation.map(|operation| operation.actor.as_str()) {
        None | Some("" | "wild") => instance.committer.clone(),
        Some(actor) => match actor.split_once(" <") {
            Some((name, email)) => Author { name: name.to_owned(), email: email.trim_end_matches('>').to_owned() },
            None => Author { name: actor.to_owned(), email: format!("{actor}@localhost") },
        },
    }
}

/// Returns the message: subject, body, trailers in the order that readers rely on.
pub(super) fn message(
    instance: &Instance,
    edit: &TreeEdit,
    operation: Option<&Operation>,
    (base, generation): (Option<&CommitId>, Option<&CommitId>),
) -> String {
    let mut trailers = edit.trailers.clone();
    // In a history that several instances share the name of an app alone says little.
    let place = instance.tree.subdirectory();
    if !place.is_top() {
        trailers.push(("Wild-Instance".to_owned(), place.to_string()));
    }
    if let Some(operation) = operation {
        trailers.push(("Wild-Operation".to_owned(), operation.id.to_string()));
    }
    let has_base = trailers.iter().any(|(key, _)| key == "Wild-Base");
    if let Some(base) = base.filter(|_| generation.is_some() && !has_base) {
        trailers.push(("Wild-Base".to_owned(), base.to_string()));
    }
    if let Some(generation) = generation {
        trailers.push(("Wild-Generated".to_owned(), generation.to_string()));
    }
    let place: BTreeMap<&str, usize> = TRAILERS.iter().enumerate().map(|(index, key)| (*key, index)).collect();
    trailers.sort_by_key(|(key, _)| place.get(key.as_str()).copied().unwrap_or(TRAILERS.len()));
    let mut text = edit.subject.clone();
    if !edit.body.is_empty() {
        text.push_str("\n\n");
        text.push_str(edit.body.trim_end());
    }
    if !trailers.is_empty() {
        text.push_str("\n\n");
        for (key, value) in &trailers {
            text.push_str(&format!("{key}: {value}\n"));
        }
    }
    text
}
