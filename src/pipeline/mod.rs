//! The main line, read from top to bottom: read → merge → compile → commit → observe → plan → apply → record → broadcast.
//!
//! `pass` walks it for one app. Every entry (push, request, timer, watch event) is a pass, every exit before its end is a return. Nothing
//! waits in here: what cannot be done now is a value with the reason and what ends it. This folder is the only place that calls both pure
//! steps and those with effects. Not here: when a pass begins (`daemon`).

mod accept;
mod adoptions;
mod ancestry;
mod approvals;
mod audit;
mod before;
mod brakes;
mod budget;
mod cancel;
mod cascades;
mod checks;
mod claims;
mod commit;
mod consents;
mod counts;
mod fault;
mod files;
mod grants;
mod homes;
mod inputs;
mod instance;
mod leaks;
mod neighbours;
mod offers;
mod overview;
mod preview;
mod proposed;
mod read;
mod readers;
mod realms;
mod remote;
mod requirements;
mod resume;
mod review;
mod room;
mod secrets;
mod settled;
mod shippers;
mod skip;
mod state;
mod statuses;
mod superseded;
mod sweep;
mod targets;
mod undo;
mod upstream;
mod vouched;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::apply::{self, Applied, Hands};
use crate::base::{Timestamp, chain};
use crate::compile::{self, Cause, Proposal};
use crate::model::{
    AppName, AppState, Branch, CommitId, DataFate, ErrorClass, Inventory, ObjectId, Operation, OperationOutcome,
    OperationState, Reason, RefusalText, Request, SecretPayloads, Secrets, Upstream,
};
use crate::observe::{self, Grace, Observation, Observed};
use crate::plan::{self, Ask, Nowhere, Plan, Presence, Snapshot, Stand, WakeOn};
use crate::target::Target;
use crate::{git, record, settings, store};

pub use approvals::waiting_grants;
pub use audit::{Audited, begin_audit};
use cancel::Opened;
pub use cancel::{Word, cancel};
pub use checks::checks;
pub use commit::Committed;
pub use counts::Counts;
use grants::Judged;
pub use instance::{Instance, OpenFile, Opening};
pub use offers::PackageState;
pub use overview::{Overview, overview};
pub use preview::{Preview, preview};
pub use proposed::foreign_branches;
use read::{Merge, Sight};
pub use read::{Read, conflicts, conflicts_file, departed, remembered, settings};
pub use remote::{is_on_its_way, remote_trouble, sync_remote};
pub use secrets::{Making, Origin, SecretChange, SecretState, Trial, make_secret, secrets, set_secret};
use skip::skips;
use state::Change;
pub use state::conflict_texts;
pub use statuses::{seen, take_changed, update as update_statuses};
pub use sweep::{sweep, went};
pub use targets::{KnownCluster, Targets};
pub use undo::{Pruned, pruned};
pub use upstream::{DirectoryState, directories, directory_findings, fetch_directories};

/// Why a pass could not go on. All else is data.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The repository.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A file of ours.
    #[error(transparent)]
    Settings(#[from] settings::Error),
    /// The instance itself does not read.
    #[error("{}: {}", .0.what, .0.because)]
    Refused(Box<RefusalText>),
}

impl Error {
    /// Returns whose turn it is (seed S1).
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Git(error) => error.class(),
            Self::Store(_) => ErrorClass::System,
            Self::Settings(error) if error.is_user() => ErrorClass::User,
            Self::Settings(_) => ErrorClass::System,
            Self::Refused(_) => ErrorClass::User,
        }
    }

    /// Returns the error as the end of a request that only other input can help.
    fn refusal(&self, operation: &Operation) -> RefusalText {
        if let Self::Refused(refusal) = self {
            return RefusalText::clone(refusal);
        }
        let app = operation.app.as_ref().map(|app| format!(" {app}")).unwrap_or_default();
        let (diagnostics, remedy) = match self {
            Self::Settings(settings::Error::Content { path, diagnostics }) => {
                (diagnostics.clone(), format!("edit {}", path.display()))
            }
            _ => (Vec::new(), "wild status".to_owned()),
        };
        let because = diagnostics.first().map_or_else(|| chain(self), ToString::to_string);
        RefusalText { code: 2, what: format!("{}{app}", operation.verb), because, remedy, diagnostics }
    }
}

/// What a pass came to, and what would wake the next.
#[derive(Clone, Debug, Default)]
pub struct Passed {
    /// Whether it came as far as to tell what the app waits for. If not, that is what it waited for before.
    pub judged: bool,
    /// The branch moved under us: begin again from its new head.
    pub lost: bool,
    /// When to look again by the clock.
    pub wake_at: Option<Timestamp>,
    /// What to look again for.
    pub wake_on: Vec<WakeOn>,
    /// Whose turn it is, if something failed.
    pub failed: Option<ErrorClass>,
    /// How long the target asked to be left alone, if it did.
    pub asked: Option<Duration>,
    /// Commit that this pass made.
    pub made: Option<CommitId>,
    /// What was found about the app; nothing once it is gone.
    pub state: Option<AppState>,
    /// Whether anything on the target was changed, so that another look shows more.
    pub changed: bool,
    /// What was compared value by value.
    pub audited: Audited,
    /// When differences from git were told, if there were any.
    pub told: Option<Instant>,
    /// Whether nothing of them is left.
    pub healed: bool,
}

/// Walks the line for one app: because of a stored request, or because something may have changed.
///
/// A request that cannot go on until somebody corrects a file ends with that; anything else is tried again.
pub async fn pass(
    instance: &Instance,
    app: &AppName,
    why: Reason,
    request: Option<Operation>,
) -> Result<Passed, Error> {
    close_left_over(instance, app).await?;
    let (request, _underway) = cancel::begin(instance, request).await?;
    let asked = request.clone();
    let walked = Box::pin(walk(instance, app, why, request)).await;
    let ended = end(instance, asked.clone(), walked).await;
    if ended.is_err() {
        lock(&instance.broken_off).insert(app.clone());
    }
    cancel::broke_off(instance, asked.as_ref(), &ended).await?;
    ended
}

/// Closes what an earlier pass of this process opened for an app and could not close, such as on a full disk.
async fn close_left_over(instance: &Instance, app: &AppName) -> Result<(), Error> {
    if lock(&instance.broken_off).contains(app) {
        instance.store.interrupt_running(&instance.id, app, instance.now()).await?;
        lock(&instance.broken_off).remove(app);
    }
    Ok(())
}

async fn end(instance: &Instance, asked: Option<Operation>, ended: Result<Passed, Error>) -> Result<Passed, Error> {
    match (ended, asked) {
        (Err(error), Some(operation)) if error.class() == ErrorClass::User => {
            let refusal = error.refusal(&operation);
            refuse(instance, operation, &refusal).await
        }
        (ended, _) => ended,
    }
}

async fn walk(instance: &Instance, app: &AppName, why: Reason, request: Option<Operation>) -> Result<Passed, Error> {
    fault::point("read");
    if skips("read") {
        return Ok(Passed::default());
    }
    files::catch_up(instance).await;
    if request.is_none()
        && let Some(passed) = settled::still(instance, app, why).await?
    {
        return Ok(passed);
    }
    let asked = request.as_ref().and_then(|operation| operation.request.as_ref());
    let mut read = read::read_alone(instance, app, asked, why).await?;
    read.sources.adoptable = adoptions::of(instance, app, &read, asked).await?;
    let undone = undo::prepare(instance, request.as_ref()).await?;
    let done = match resume::resume(instance, app, &read, request.as_ref()).await? {
        Some(done) => Ok(done),
        None => change(instance, app, &read, request.as_ref()).await,
    };
    let (mut proposal, committed) = match (done, &request) {
        (Ok(done), _) => done,
        (Err(commit::Error::Lost), _) => return Ok(Passed { lost: true, ..Passed::default() }),
        (Err(commit::Error::Refused(refusal)), Some(operation)) => {
            return refuse(instance, operation.clone(), &refusal).await;
        }
        (Err(commit::Error::Refused(refusal)), None) => {
            return follow_up(instance, app, &read, Some(refusal), None).await;
        }
        (Err(commit::Error::Failed(error)), _) => return Err(error),
    };
    let Some(mut operation) = request else {
        if let Some(inputs) = read.inputs.as_ref().filter(|_| proposal.is_nothing()) {
            inputs.settle(instance).await?;
        }
        return follow_up(instance, app, &read, None, Some(committed)).await;
    };
    if proposal.review.is_some() {
        proposal.summary.push(review::told(instance, app));
    }
    if let Some(undone) = undone {
        proposal.summary.extend(undo::told(instance, app, &committed.head, undone).await?);
    }
    let settled = Settled { read: &read, proposal: &proposal, committed: &committed };
    if let Some(passed) = settle(instance, app, &operation, settled).await? {
        return Ok(passed);
    }
    // What was committed is told before what the cluster made of it.
    operation.message = proposal.summary.join("\n");
    operation.outcome = committed.made.is_some().then_some(OperationOutcome::Changed);
    deploy(instance, app, &read, &committed, Some(operation)).await
}

/// The steps merge, compile and commit. A history that was bent is joined first, and the pass begins again from there.
async fn change(
    instance: &Instance,
    app: &AppName,
    read: &Read,
    request: Option<&Operation>,
) -> Result<(Proposal, Committed), commit::Error> {
    if let Some(proposal) = read.bent.as_ref().and_then(|bent| compile::rejoin(app, &read.sources, bent)) {
        commit::commit(instance, app, read, &proposal, None).await?;
        return Err(commit::Error::Lost);
    }
    if take_in(instance, app, read).await? {
        return Err(commit::Error::Lost);
    }
    fault::point("merge");
    let turn = room::turn(app, read).await;
    let proposal = propose(app, read, request).map_err(commit::Error::Refused)?;
    drop(turn);
    if let Some(refusal) = request.and_then(|operation| cancel::said(instance, operation)) {
        return Err(commit::Error::Refused(refusal));
    }
    fault::point("compile");
    match (commit::commit(instance, app, read, &proposal, request).await, request) {
        // What holds the commit back holds back what was asked for.
        (Err(commit::Error::Refused(refusal)), Some(operation)) if refusal.code == 6 => {
            Err(commit::Error::Refused(RefusalText { what: format!("{} {app}", operation.verb), ..refusal }))
        }
        (committed, _) => Ok((proposal, committed?)),
    }
}

/// Takes in a merge that a person made with git; returns whether anything was committed, so that the pass begins again. What
/// speaks against it is told where the app itself is compiled.
async fn take_in(instance: &Instance, app: &AppName, read: &Read) -> Result<bool, commit::Error> {
    let Some(past) = read.sources.by_hand.as_ref().filter(|_| !skips("merge") && !skips("compile")) else {
        return Ok(false);
    };
    let Ok(proposal) = compile::take_in(app, &read.sources, past) else { return Ok(false) };
    commit::commit(instance, app, read, &proposal, None).await?;
    ancestry::taken_in(instance, app, past).await?;
    Ok(!proposal.is_nothing())
}

/// Carries out a request that is about the instance and no app. An upstream is fetched before it is followed, so that one that cannot be
/// reached leaves nothing behind.
pub async fn pass_instance(
    instance: &Instance,
    operation: Operation,
    scratch: &Path,
    allow: &[String],
) -> Result<Passed, Error> {
    let (Some(operation), _underway) = cancel::begin(instance, Some(operation)).await? else {
        return Ok(Passed::default());
    };
    let asked = Some(operation.clone());
    let ended = match &operation.request {
        Some(Request::AcceptRewind { name, from, to }) => {
            let accepted = accept::Accepted { name, from: from.as_ref(), to };
            Box::pin(accept::accept(instance, operation.clone(), &accepted, (scratch, allow))).await
        }
        _ => add_directory(instance, operation.clone(), scratch, allow).await,
    };
    let ended = end(instance, asked, ended).await;
    cancel::broke_off(instance, Some(&operation), &ended).await?;
    ended
}

async fn add_directory(
    instance: &Instance,
    operation: Operation,
    scratch: &Path,
    allow: &[String],
) -> Result<Passed, Error> {
    let Some(Request::AddDirectory { name, url, branch, verify }) = &operation.request else {
        return Ok(Passed::default());
    };
    let (name, url, branch, verify) = (name.clone(), url.clone(), branch.clone(), *verify);
    let directory = Upstream { name, url, branch, path: String::new(), verify };
    let read = read::whole(instance).await?;
    let nobody = read::no_app()?;
    let done = match resume::resume(instance, &nobody, &read, Some(&operation)).await? {
        Some(done) => Ok(done),
        None => follow_directory(instance, &read, &operation, &directory, (scratch, allow)).await,
    };
    let (proposal, committed) = match done {
        Ok(done) => done,
        Err(commit::Error::Lost) => return Ok(Passed { lost: true, ..Passed::default() }),
        Err(commit::Error::Refused(refusal)) => return refuse(instance, operation, &refusal).await,
        Err(commit::Error::Failed(error)) => return Err(error),
    };
    let ended = Operation {
        state: OperationState::Succeeded,
        outcome: Some(if committed.made.is_some() { OperationOutcome::Changed } else { OperationOutcome::Unchanged }),
        message: proposal.summary.join("\n"),
        commit: Some(committed.head.clone()),
        ended: Some(instance.now()),
        ..operation
    };
    instance.store.update_operation(&instance.id, &ended).await?;
    counts::ended(instance, &ended);
    Ok(Passed { made: committed.made, ..Passed::default() })
}

/// Fetches an upstream and commits that it is followed from now on.
async fn follow_directory(
    instance: &Instance,
    read: &Read,
    operation: &Operation,
    directory: &Upstream,
    reach: (&Path, &[String]),
) -> Result<(Proposal, Committed), commit::Error> {
    let Upstream { name, url, branch, path: _, verify } = directory;
    let proposal = compile::add_directory(&read.sources.files, name, (url, branch), *verify)
        .map_err(|refusal| commit::Error::Refused(text_of(&refusal)))?;
    if !proposal.is_nothing() {
        upstream::reach(instance, directory, reach).await.map_err(commit::Error::Refused)?;
    }
    if let Some(refusal) = cancel::seal(instance, operation) {
        return Err(commit::Error::Refused(refusal));
    }
    let nobody = read::no_app()?;
    let committed = commit::commit(instance, &nobody, read, &proposal, Some(operation)).await?;
    Ok((proposal, committed))
}

/// The merge and compile steps.
fn propose(app: &AppName, read: &Read, request: Option<&Operation>) -> Result<Proposal, RefusalText> {
    if skips("compile") || (skips("merge") && merges(read, request)) {
        return Ok(Proposal::nothing(app));
    }
    let cause = match (request.and_then(|operation| operation.request.as_ref()), read.merge) {
        (Some(request), _) => Cause::Request(request),
        (None, Merge::Changed) => Cause::Changed,
        (None, Merge::Upstream) => Cause::Upstream,
        (None, Merge::Nothing) => return Ok(Proposal::nothing(app)),
    };
    room::check(app, read, request)?;
    compile::propose(app, &read.sources, cause).map_err(|refusal| text_of(&refusal))
}

/// Returns whether a pass brings changes of upstream or of config together with the committed files.
fn merges(read: &Read, request: Option<&Operation>) -> bool {
    match request.and_then(|operation| operation.request.as_ref()) {
        Some(request) => matches!(request, Request::Update { .. } | Request::Resolve { .. } | Request::Config { .. }),
        None => read.merge != Merge::Nothing,
    }
}

fn text_of(refusal: &compile::Refusal) -> RefusalText {
    let code = match refusal {
        compile::Refusal::User(_) => 2,
        compile::Refusal::Undecided(_) => 3,
        compile::Refusal::Blocked(_) => 6,
    };
    let compile::Explanation { what, because, remedy, diagnostics } = refusal.explanation().clone();
    RefusalText { code, what, because, remedy, diagnostics }
}

/// Ends an operation that is not done.
async fn refuse(instance: &Instance, operation: Operation, refusal: &RefusalText) -> Result<Passed, Error> {
    let outcome = match refusal.code {
        3 => OperationOutcome::NeedsDecision,
        6 => OperationOutcome::Blocked,
        _ => OperationOutcome::Unchanged,
    };
    let cancelled = cancel::seal(instance, &operation);
    let refusal = cancelled.as_ref().unwrap_or(refusal);
    let ended = Operation {
        state: if cancelled.is_some() { OperationState::Cancelled } else { OperationState::Failed },
        outcome: Some(outcome),
        message: format!("{}: {}.", refusal.what, refusal.because),
        refusal: Some(refusal.clone()),
        ended: Some(instance.now()),
        ..operation
    };
    instance.store.update_operation(&instance.id, &ended).await?;
    counts::ended(instance, &ended);
    Ok(Passed { failed: Some(ErrorClass::User), ..Passed::default() })
}

/// The first half of a pass: what was read, proposed and committed.
struct Settled<'a> {
    read: &'a Read,
    proposal: &'a Proposal,
    committed: &'a Committed,
}

/// Ends an operation that was about the repository only, or that left conflicts; returns nothing if the cluster is next.
async fn settle(
    instance: &Instance,
    app: &AppName,
    operation: &Operation,
    settled: Settled<'_>,
) -> Result<Option<Passed>, Error> {
    let Settled { read, proposal, committed } = settled;
    let ends_here = match &operation.request {
        Some(Request::Add { deploy, .. }) => *deploy == crate::model::Deploy::Later,
        Some(
            Request::Abort { .. }
            | Request::Learn { .. }
            | Request::Forget { .. }
            | Request::Suspend { .. }
            | Request::AdoptDrift { branch: Branch::Review, .. }
            | Request::AddDirectory { .. }
            | Request::AcceptRewind { .. },
        ) => true,
        _ => false,
    };
    let undecided = !proposal.conflicts.is_empty();
    if !ends_here && !undecided && !instance.targets().is_empty() {
        return Ok(None);
    }
    let outcome = match (undecided, proposal.is_nothing() && committed.made.is_none()) {
        (true, _) => OperationOutcome::NeedsDecision,
        (false, true) => OperationOutcome::Unchanged,
        (false, false) => OperationOutcome::Changed,
    };
    // What it was to do is done all the same.
    let cancelled = cancel::seal(instance, operation);
    let ended = Operation {
        state: if cancelled.is_some() { OperationState::Cancelled } else { OperationState::Succeeded },
        outcome: Some(outcome),
        refusal: cancelled,
        message: proposal.summary.join("\n"),
        commit: committed.made.clone().or_else(|| Some(committed.head.clone())),
        ended: Some(instance.now()),
        ..operation.clone()
    };
    let sight = read::desired(instance, app, &committed.head, read).await?;
    grants::settle(instance, app, &sight, Some(operation)).await?;
    let state = state::of_repository(instance, app, committed, &sight, None).await?;
    let before = state::put(instance, app, state.as_ref()).await?;
    instance.store.update_operation(&instance.id, &ended).await?;
    counts::ended(instance, &ended);
    state::tell(instance, Change { app, before, state: state.as_ref(), ended: Some(&ended), healed: false }).await?;
    Ok(Some(Passed { made: committed.made.clone(), state, ..Passed::default() }))
}

/// Goes on after the repository part of a pass that nobody asked for. What could not be compiled stays as it is committed.
async fn follow_up(
    instance: &Instance,
    app: &AppName,
    read: &Read,
    refusal: Option<RefusalText>,
    committed: Option<Committed>,
) -> Result<Passed, Error> {
    let mut committed = committed.unwrap_or_else(|| Committed::unchanged(read));
    committed.refusal = refusal;
    deploy(instance, app, read, &committed, None).await
}

/// The second half of the line: observe, plan, apply, record, broadcast.
async fn deploy(
    instance: &Instance,
    app: &AppName,
    read: &Read,
    committed: &Committed,
    operation: Option<Operation>,
) -> Result<Passed, Error> {
    let sight = read::desired(instance, app, &committed.head, read).await?;
    let judged = grants::settle(instance, app, &sight, operation.as_ref()).await?;
    let (stand, target, realms) = match stand(instance, app, &sight).await? {
        Ok(found) => found,
        Err(nowhere) => return stay(instance, app, (committed, &sight), operation, &nowhere).await,
    };
    fault::point("observe");
    if skips("observe") {
        return Ok(Passed { made: committed.made.clone(), ..Passed::default() });
    }
    undo::call_back(instance, app, operation.as_ref()).await?;
    cancel::let_go(instance, (app, &sight), operation.as_ref()).await?;
    let ask = ask_of(operation.as_ref().and_then(|operation| operation.request.as_ref()));
    let ground = settled::Ground { secrets: judged.secrets.clone(), seen: target.seen(app.as_str()) };
    audit::doubt(instance, app, target.as_ref());
    let due = audit::due(instance, app);
    let age = apply::Age::begin(target.as_ref());
    let Observed { mut snapshot, payloads, room: _room } =
        look(instance, (&sight, &judged), (stand, target.as_ref()), (ask, due.clone()), app).await?;
    note_underway(instance, &snapshot);
    let audited = audit::note(instance, &snapshot, &due).await?;
    fault::point("plan");
    let mut plan = skip::emptied(budget::plan(instance, &mut snapshot).await?);
    record::settle(&instance.store, &instance.id, &snapshot, &plan).await?;
    apply::note_jobs(&mut plan, target.as_ref(), snapshot.now).await;
    let mut drift = observe::explain(&snapshot, &plan.drift, &ground.secrets, target.as_ref()).await;
    realms.records().for_each(|record| snapshot.inventory.insert(record.clone()));
    let (mut applied, mut opened, mut told) = (Applied::default(), None, None);
    if !plan.actions.is_empty() && !statuses::begin(instance, &snapshot.commit).await? {
        return Ok(Passed { lost: true, made: committed.made.clone(), ..Passed::default() });
    }
    if !plan.actions.is_empty() || operation.is_some() {
        let operation = operation.unwrap_or_else(|| instance.operation("reconcile", Some(app), None));
        let operation = Operation { commit: committed.made.clone(), ..operation };
        let hidden = (&payloads, ground.secrets.clone());
        let done = write(instance, (&snapshot, &plan, age), target.as_ref(), hidden, operation).await?;
        (applied, opened, told) = (done.applied, Some(done.opened), done.told);
    }
    let (made, secrets) = (&committed.made, &judged.secrets);
    let after = realms::Ground { sight: &sight, secrets, snapshot: &snapshot, inventory: realms, made };
    let (part, opened) = realms::carry_out(instance, after, (&mut plan, &mut applied), opened).await?;
    let opened = cancel::cut_short(instance, (&sight, &snapshot), opened, (&mut plan, &applied)).await?;
    drift.extend(part.drift);
    let asks_again = note_refused(instance, &snapshot, &applied);
    fault::point("record");
    let (snapshot, realms) = (&snapshot, part.objects);
    let facts = state::Facts { snapshot, plan: &plan, applied: &applied, drift, committed, sight: &sight, realms };
    let state = state::of_pass(instance, &facts).await?;
    settled::note(instance, &facts, state.as_ref(), ground);
    if state.is_none() {
        consents::note(instance, app, &plan::Agreed::new()).await?;
    }
    let before = state::put(instance, app, state.as_ref()).await?;
    counts::pass(instance, &plan, &applied, before.as_deref());
    let ended = close(instance, opened, &applied, &plan).await?;
    sweep::note(instance, &plan, &applied);
    fault::point("broadcast");
    let passed = passed(&plan, &applied, committed, state);
    let healed = passed.told.is_some() && passed.healed;
    state::tell(instance, Change { app, before, state: passed.state.as_ref(), ended: ended.as_ref(), healed }).await?;
    let wake_at = if asks_again || applied.is_outdated() { Some(snapshot.now) } else { passed.wake_at };
    Ok(Passed { wake_at, audited, told: told.or(passed.told), ..passed })
}

/// What came of the writes to a cluster.
struct Written<'a> {
    applied: Applied,
    opened: Opened<'a>,
    /// When differences were told that are put back.
    told: Option<Instant>,
}

/// Opens the operation and writes to the cluster.
async fn write<'a>(
    instance: &'a Instance,
    (snapshot, plan, age): (&'a Snapshot, &Plan, apply::Age),
    target: &dyn Target,
    (payloads, secrets): (&SecretPayloads, Arc<Secrets>),
    operation: Operation,
) -> Result<Written<'a>, Error> {
    let underway = instance.cancels.enter(&operation.id);
    let told = state::tell_applying(instance, snapshot, plan, &operation).await?;
    let recording = record::open(&instance.store, &instance.id, snapshot, plan, operation).await?;
    instance.bus.operation_changed();
    let recording = recording.hiding(secrets.clone());
    consents::note(instance, &plan.app, &plan.agreed).await?;
    fault::point("apply");
    let mut applied = Applied::default();
    if !skips("apply") {
        let acting = observe::acting(snapshot.policy.identity, &snapshot.namespace, target);
        let target = acting.as_deref().unwrap_or(target);
        let (identity, sink) = (snapshot.identity(), &fault::Faulty(&recording));
        let hands = Hands { identity, target, secrets: payloads, hidden: &secrets, sink, halt: underway.halt(), age };
        applied = apply::apply(plan, hands).await;
    }
    lock(&instance.fights).insert(snapshot.app.clone(), plan::fights_after(snapshot, plan));
    Ok(Written { applied, opened: Opened { recording, underway }, told })
}

/// Ends the operation of a pass.
async fn close(
    instance: &Instance,
    opened: Option<Opened<'_>>,
    applied: &Applied,
    plan: &Plan,
) -> Result<Option<Operation>, Error> {
    let Some(opened) = opened.filter(|_| !skips("record")) else { return Ok(None) };
    let ended = opened.recording.close(applied, plan, instance.now()).await?;
    counts::ended(instance, &ended);
    Ok(Some(ended))
}

/// Returns where an app is looked at, and what is remembered of its Keycloak's objects, which are on no cluster.
async fn stand(
    instance: &Instance,
    app: &AppName,
    sight: &Sight,
) -> Result<Result<(Stand, Arc<dyn Target>, Inventory), Nowhere>, Error> {
    let mut inventory = instance.store.inventory(&instance.id, app).await?;
    let realms = inventory.split_realms();
    let stand = instance.targets().stand(&sight.context, inventory, sight.presence);
    Ok(stand.map(|(stand, target)| (stand, target, realms)))
}

/// Ends a pass of an app that no cluster is known for; what was asked for is held back.
async fn stay(
    instance: &Instance,
    app: &AppName,
    (committed, sight): (&Committed, &Sight),
    operation: Option<Operation>,
    nowhere: &Nowhere,
) -> Result<Passed, Error> {
    let mut state = state::of_repository(instance, app, committed, sight, None).await?;
    if let Some(state) = &mut state {
        state::stands_nowhere(state, nowhere);
    }
    let before = state::put(instance, app, state.as_ref()).await?;
    state::tell(instance, Change { app, before, state: state.as_ref(), ended: None, healed: false }).await?;
    if let Some(operation) = operation {
        let (_, because, remedy) = nowhere.told(app);
        let what = format!("{} {app}", operation.verb);
        let refusal = RefusalText { code: 6, what, because, remedy, diagnostics: Vec::new() };
        let operation = Operation { commit: committed.made.clone(), ..operation };
        refuse(instance, operation, &refusal).await?;
    }
    Ok(Passed { judged: true, made: committed.made.clone(), state, ..Passed::default() })
}

/// Remembers what is on its way, for the next look at the app.
fn note_underway(instance: &Instance, snapshot: &Snapshot) {
    let mut underway = lock(&instance.underway);
    if snapshot.underway == plan::Underway::default() {
        underway.remove(&snapshot.app);
    } else {
        underway.insert(snapshot.app.clone(), snapshot.underway.clone());
    }
}

/// Notes whether the target refused an object of the commit; returns whether the app has a hook for that, which the next pass brings.
fn note_refused(instance: &Instance, snapshot: &Snapshot, applied: &Applied) -> bool {
    let is_refused = applied.failed().any(|outcome| outcome.error == Some(ErrorClass::User));
    let mut refused = lock(&instance.refused);
    if !is_refused {
        refused.remove(&snapshot.app);
        return false;
    }
    let before = refused.insert(snapshot.app.clone(), snapshot.commit.clone());
    before.as_ref() != Some(&snapshot.commit) && plan::hook::has_rescue(snapshot)
}

fn passed(plan: &Plan, applied: &Applied, committed: &Committed, state: Option<AppState>) -> Passed {
    let failed = applied.failed().filter_map(|outcome| outcome.error);
    Passed {
        judged: true,
        lost: false,
        wake_at: plan.wake_at,
        wake_on: plan.wake_on.clone(),
        // The system's turn wins: it is the one that is tried again by the clock.
        failed: failed.max_by_key(|class| *class == ErrorClass::System),
        asked: applied.asked,
        made: committed.made.clone(),
        state,
        changed: applied.changed(),
        audited: Audited::default(),
        told: plan.drifted().next().map(|_| Instant::now()),
        healed: applied.is_complete() && plan.drifted().all(|item| item.verdict == plan::Verdict::Revert),
    }
}

/// The observe step.
async fn look(
    instance: &Instance,
    (sight, judged): (&Sight, &Judged),
    (stand, target): (Stand, &dyn Target),
    (ask, audit): (Ask, BTreeSet<ObjectId>),
    app: &AppName,
) -> Result<Observed, Error> {
    let Stand { cluster, inventory, presence } = stand;
    let requirements = requirements::of(instance, app, &sight.files).await?;
    // Only an app that goes is held back by those that need it.
    let dependents = match presence {
        Presence::Kept | Presence::Moves => Vec::new(),
        _ => requirements::dependents(&sight.overview, app),
    };
    let Judged { secrets, withheld, unapproved } = judged;
    // Not where it is used: a lock that is kept across an await would keep the pass from moving between threads.
    let fights = lock(&instance.fights).get(app).cloned().unwrap_or_default();
    let underway = lock(&instance.underway).get(app).cloned().unwrap_or_default();
    let refused = lock(&instance.refused).get(app) == Some(&sight.overview.head);
    let mut held = instance.store.held_volumes(&instance.id, app).await?;
    held.retain(|volume| volume.cluster == cluster);
    let mut observed = observe::observe(Observation {
        instance: &instance.id,
        app,
        cluster: &cluster,
        commit: &sight.overview.head,
        files: match presence {
            Presence::Kept | Presence::Added | Presence::Vanished | Presence::Moves => &sight.files,
            Presence::RemovedKeepingData | Presence::RemovedWithData => &sight.last,
        },
        presence,
        settings: &sight.settings,
        secrets,
        withheld,
        hash_key: &instance.hash_key,
        inventory,
        held,
        grace: if sight.data == Some(DataFate::DeleteNow) { Grace::Waived } else { Grace::Given },
        requirements,
        dependents,
        fights,
        underway,
        refused,
        audit,
        ask,
        target,
        now: instance.now(),
    })
    .await;
    leaks::hold(instance, sight, &mut observed.snapshot).await?;
    if presence == Presence::Kept {
        observed.snapshot.unapproved = unapproved.clone();
    } else {
        // Nothing new comes of it that could wait, but its last hooks may run.
        let granted = sight.granted.as_ref().unwrap_or(&observed.snapshot.policy.grants);
        observed.snapshot.policy.grants = approvals::without_waiting(granted, unapproved.as_ref());
    }
    observed.snapshot.agreed = consents::of(instance, app, presence).await?;
    observed.snapshot.cancelled = instance.cancels.holding(app, sight);
    claims::fill(instance, sight, &mut observed.snapshot).await?;
    shippers::fill(instance, &sight.settings, &mut observed.snapshot).await;
    before::fill(instance, sight, secrets, &mut observed.snapshot, target).await;
    // Before anything is written there.
    instance.clusters.remember(&cluster, target).await?;
    Ok(observed)
}

/// Locks what stays valid if a holder panicked: every change under it is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what a request means for the plan: a person's deploy or revert writes the whole object, whatever the drift policy.
fn ask_of(request: Option<&Request>) -> Ask {
    match request {
        Some(Request::Deploy { app: _, approve, recreate, adopt }) => Ask {
            correct: plan::Correct::All,
            adopt: *adopt,
            approve: approve.clone(),
            recreate: recreate.clone(),
            rerun: None,
        },
        Some(Request::Reconcile { app: _, rerun }) => Ask { rerun: rerun.clone(), ..Ask::default() },
        Some(Request::RevertDrift { app: _, objects }) => Ask { correct: plan::Correct::of(objects), ..Ask::default() },
        _ => Ask::default(),
    }
}
