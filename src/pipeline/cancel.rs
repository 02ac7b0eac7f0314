//! A person ends an operation: what is under way hears it between two requests, what waits is never carried out.
//!
//! What was sent stays as it is, and the app is held there, over restarts as well, until a person asks for the rest or another revision of
//! it comes. Not here: who may ask (`http`), what a held app is not given (`plan`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::read::Sight;
use super::{Error, Instance, Passed, consents, counts, lock, read, resume};
use crate::apply::{Applied, Halt};
use crate::base::limits::MAX_MESSAGE_CHARS;
use crate::model::{
    AppName, Cancellation, DataFate, InstanceId, Operation, OperationId, OperationOutcome, OperationState, RefusalText,
    Request,
};
use crate::plan::{self, Agreed, Plan, Snapshot};
use crate::record::Recording;
use crate::store::{self, Store};

/// Name of what the store remembers: by app, the word that holds it.
const HELD: &str = "cancelled";

/// The operations under way, and the apps that are held since one was ended.
#[derive(Default)]
pub(super) struct Cancels {
    /// Held while a request begins, while a word is taken in, and while what is remembered of held apps changes.
    gate: tokio::sync::Mutex<()>,
    underway: Mutex<BTreeMap<OperationId, Arc<Halt>>>,
    held: Mutex<BTreeMap<AppName, Cancellation>>,
}

/// An operation that is under way, until this is dropped.
pub(super) struct Underway<'a> {
    cancels: &'a Cancels,
    id: OperationId,
    halt: Arc<Halt>,
    /// Whether somebody further up has it under way already.
    is_known: bool,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        if !self.is_known {
            lock(&self.cancels.underway).remove(&self.id);
        }
    }
}

impl Underway<'_> {
    /// Returns whether a person ended it.
    pub(super) fn halt(&self) -> &Halt {
        &self.halt
    }
}

impl Cancels {
    /// Reads which apps are held. Comes before what a dead process left running is taken over: what was to end there holds its app.
    pub(super) async fn read(store: &Store, instance: &InstanceId) -> Result<Self, store::Error> {
        let text = store.cursor(instance, HELD).await?.unwrap_or_default();
        let mut held: BTreeMap<AppName, Cancellation> = serde_json::from_str(&text).unwrap_or_default();
        let running = store.operations_in(instance, OperationState::Running).await?;
        let ends = running.into_iter().filter_map(|operation| {
            let said = operation.refusal.as_ref()?.because.strip_prefix(SAID)?.to_owned();
            let app = operation.app?;
            Some((app, Cancellation { operation: operation.id, verb: operation.verb, said, revision: None }))
        });
        let known = held.len();
        held.extend(ends);
        if held.len() > known {
            store.put_cursor(instance, HELD, &written(&held)).await?;
        }
        Ok(Self { held: Mutex::new(held), ..Self::default() })
    }

    /// Notes that an operation is under way.
    pub(super) fn enter(&self, id: &OperationId) -> Underway<'_> {
        let mut underway = lock(&self.underway);
        let is_known = underway.contains_key(id);
        let halt = underway.entry(id.clone()).or_default().clone();
        Underway { cancels: self, id: id.clone(), halt, is_known }
    }

    /// Returns the word that holds a revision of an app.
    pub(super) fn holding(&self, app: &AppName, sight: &Sight) -> Option<Cancellation> {
        let revision = revision(app, sight);
        let is_it = |held: &&Cancellation| held.revision.as_ref().is_none_or(|it| *it == revision);
        lock(&self.held).get(app).filter(is_it).cloned()
    }

    fn halt_of(&self, id: &OperationId) -> Option<Arc<Halt>> {
        lock(&self.underway).get(id).cloned()
    }
}

fn written(held: &BTreeMap<AppName, Cancellation>) -> String {
    serde_json::to_string(held).unwrap_or_default()
}

/// Returns what an app is in a revision; empty if it is not in it.
fn revision(app: &AppName, sight: &Sight) -> String {
    sight.overview.apps.get(app).cloned().unwrap_or_default()
}

/// What came of a person's word.
#[derive(Clone, PartialEq, Debug)]
pub enum Word {
    /// There is no such operation.
    Unknown,
    /// It is under way and ends after the requests that are.
    Heard(Operation),
    /// It had not begun, or nobody carried it out, and is cancelled.
    Done(Operation),
    /// It is about to end: all of its requests are sent.
    TooLate(Operation),
    /// It had ended already.
    Ended(Operation),
}

/// What stands before the words of who ended an operation.
const SAID: &str = "it was ";

/// Ends an operation in the name of a person.
pub async fn cancel(instance: &Instance, id: &OperationId, (by, reason): (&str, &str)) -> Result<Word, Error> {
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let said: String = format!("cancelled by {by}{why}").chars().take(MAX_MESSAGE_CHARS).collect();
    let _turn = instance.cancels.gate.lock().await;
    // Before it is read: what ends meanwhile is stored as ended before it is no longer under way.
    let halt = instance.cancels.halt_of(id);
    let Some(operation) = instance.store.operation(&instance.id, id).await? else { return Ok(Word::Unknown) };
    if !is_open(&operation) {
        return Ok(Word::Ended(operation));
    }
    let Some(halt) = halt else { return close(instance, operation, &said).await.map(Word::Done) };
    if !halt.call(said.clone()) {
        return Ok(Word::TooLate(operation));
    }
    instance.store.mark_operation(id, &refusal(&operation, &said)).await?;
    Ok(Word::Heard(operation))
}

fn is_open(operation: &Operation) -> bool {
    matches!(operation.state, OperationState::Waiting | OperationState::Running)
}

/// Returns why an operation that a person ended was not done.
pub(super) fn refusal(operation: &Operation, said: &str) -> RefusalText {
    let (what, remedy) = match (&operation.app, &operation.request) {
        (Some(app), Some(Request::Delete { data, .. })) => {
            let flag = if *data == DataFate::Keep { "" } else { " --delete-data" };
            (format!("{} {app}", operation.verb), format!("wild app delete {app}{flag}"))
        }
        (Some(app), _) => (format!("{} {app}", operation.verb), format!("wild app deploy {app}")),
        (None, _) => (operation.verb.clone(), "wild operation list".to_owned()),
    };
    RefusalText { code: 6, what, because: format!("{SAID}{said}"), remedy, diagnostics: Vec::new() }
}

/// Returns why an operation is to end, if a person ended it.
pub(super) fn said(instance: &Instance, operation: &Operation) -> Option<RefusalText> {
    let halt = instance.cancels.halt_of(&operation.id)?;
    halt.why().map(|said| refusal(operation, said))
}

/// Hears no further word about an operation that is about to end; returns why it was to end before, if it was.
pub(super) fn seal(instance: &Instance, operation: &Operation) -> Option<RefusalText> {
    let halt = instance.cancels.halt_of(&operation.id)?;
    halt.seal().map(|said| refusal(operation, said))
}

/// Begins a request, unless it has ended by now; what broke off after a person had ended it ends here.
pub(super) async fn begin<'a>(
    instance: &'a Instance,
    request: Option<Operation>,
) -> Result<(Option<Operation>, Option<Underway<'a>>), Error> {
    let Some(operation) = request else { return Ok((None, None)) };
    let _turn = instance.cancels.gate.lock().await;
    if let Some(stored) = instance.store.operation(&instance.id, &operation.id).await? {
        if !is_open(&stored) {
            return Ok((None, None));
        }
        let said = stored.refusal.as_ref().and_then(|refusal| refusal.because.strip_prefix(SAID)).map(str::to_owned);
        if let Some(said) = said {
            close(instance, stored, &said).await?;
            return Ok((None, None));
        }
    }
    let underway = instance.cancels.enter(&operation.id);
    Ok((Some(operation), Some(underway)))
}

/// Ends a request whose pass could not go on, if a person ended it meanwhile: nobody tries it again.
pub(super) async fn broke_off(
    instance: &Instance,
    asked: Option<&Operation>,
    ended: &Result<Passed, Error>,
) -> Result<(), Error> {
    let goes_on = ended.as_ref().is_ok_and(|passed| !passed.lost);
    let Some((operation, halt)) = asked.filter(|_| !goes_on).and_then(|asked| {
        let halt = instance.cancels.halt_of(&asked.id)?;
        Some((asked, halt))
    }) else {
        return Ok(());
    };
    let Some(said) = halt.why() else { return Ok(()) };
    let _turn = instance.cancels.gate.lock().await;
    match instance.store.operation(&instance.id, &operation.id).await? {
        Some(stored) if is_open(&stored) => close(instance, stored, said).await.map(|_| ()),
        Some(_) | None => Ok(()),
    }
}

/// Ends an operation that no pass has under way. What was begun of it holds its app. The gate is held.
async fn close(instance: &Instance, operation: Operation, said: &str) -> Result<Operation, Error> {
    let begun = is_begun(instance, &operation).await?;
    if let Some(app) = operation.app.as_ref().filter(|_| begun) {
        let held = Cancellation {
            operation: operation.id.clone(),
            verb: operation.verb.clone(),
            said: said.to_owned(),
            revision: None,
        };
        remember(instance, app, Some(held)).await?;
    }
    let refusal = refusal(&operation, said);
    let ended = Operation {
        state: OperationState::Cancelled,
        outcome: Some(if begun { OperationOutcome::Changed } else { OperationOutcome::Unchanged }),
        message: format!("{}.", refusal.because),
        refusal: Some(refusal),
        ended: Some(instance.now()),
        ..operation
    };
    instance.store.update_operation(&instance.id, &ended).await?;
    counts::ended(instance, &ended);
    Ok(ended)
}

/// Returns whether anything of an operation was done: an earlier pass or process may have come some way.
async fn is_begun(instance: &Instance, operation: &Operation) -> Result<bool, Error> {
    if operation.commit.is_some() || !instance.store.outcomes(&operation.id).await?.is_empty() {
        return Ok(true);
    }
    let head = read::head(instance).await?;
    Ok(resume::find(instance, &head, operation).await?.is_some())
}

/// An operation whose pass writes: what it did is stored, and a person may end it.
pub(super) struct Opened<'a> {
    pub(super) recording: Recording<'a>,
    pub(super) underway: Underway<'a>,
}

/// Ends an operation whose requests are sent as cancelled if a person ended it, and holds its app; from here on it is too late for that. One that
/// had sent all there was is done, and nothing of its app is left to be held.
pub(super) async fn cut_short<'a>(
    instance: &Instance,
    (sight, snapshot): (&Sight, &Snapshot),
    opened: Option<Opened<'a>>,
    (plan, applied): (&mut Plan, &Applied),
) -> Result<Option<Opened<'a>>, Error> {
    let Some(Opened { recording, underway }) = opened else { return Ok(None) };
    let Some(said) = underway.halt.seal() else { return Ok(Some(Opened { recording, underway })) };
    // Whoever said so notes that on the operation first.
    let _turn = instance.cancels.gate.lock().await;
    if !plan::is_anything_left(snapshot, plan, &applied.outcomes) {
        return Ok(Some(Opened { recording, underway }));
    }
    let operation = recording.operation();
    let held = Cancellation {
        operation: operation.id.clone(),
        verb: operation.verb.clone(),
        said: said.to_owned(),
        revision: Some(revision(&plan.app, sight)),
    };
    let refusal = refusal(operation, said);
    plan.blocked.insert(0, plan::held(snapshot, &held, &plan.digest));
    remember(instance, &plan.app, Some(held)).await?;
    Ok(Some(Opened { recording: recording.cut_short(refusal), underway }))
}

/// Lets an app go on that is held, if a person asks for it or it is another revision by now.
pub(super) async fn let_go(
    instance: &Instance,
    (app, sight): (&AppName, &Sight),
    operation: Option<&Operation>,
) -> Result<(), Error> {
    let Some(held) = lock(&instance.cancels.held).get(app).cloned() else { return Ok(()) };
    // Whoever ended a farewell half-way took back what was agreed to: the rest needs a word of its own.
    consents::note(instance, app, &Agreed::new()).await?;
    let revision = revision(app, sight);
    let is_asked = operation.is_some_and(|operation| operation.request.as_ref().is_some_and(asks_for_all));
    let next = match &held.revision {
        _ if is_asked => None,
        None => Some(Cancellation { revision: Some(revision), ..held }),
        Some(stopped) if *stopped != revision => None,
        Some(_) => return Ok(()),
    };
    let _turn = instance.cancels.gate.lock().await;
    remember(instance, app, next).await
}

/// Returns whether a request means that the app shall be as git says. Of one that is deleted that is to ask for it once more.
fn asks_for_all(request: &Request) -> bool {
    matches!(
        request,
        Request::Deploy { .. }
            | Request::RevertDrift { .. }
            | Request::Resume { .. }
            | Request::Move { .. }
            | Request::Delete { .. }
    )
}

/// Takes in and stores what holds an app. The gate is held.
async fn remember(instance: &Instance, app: &AppName, held: Option<Cancellation>) -> Result<(), Error> {
    let text = {
        let mut all = lock(&instance.cancels.held);
        match held {
            Some(held) => _ = all.insert(app.clone(), held),
            None => _ = all.remove(app),
        }
        written(&all)
    };
    instance.store.put_cursor(&instance.id, HELD, &text).await?;
    Ok(())
}
