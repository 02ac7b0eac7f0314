//! Walks a plan over a target: stage after stage, the calls of a stage side by side. Decides nothing.
//!
//! A failed action skips what stands after it and nothing else. When the target stops answering, or a person says so, what is left is
//! skipped. The values of Secrets are put in at the request edge, here. Not here: what to do (`plan`), remembering it (`record`), whose
//! fields a conflict leaves to whom (`settle`).

mod elapsed;
mod entered;
mod halt;
mod realms;
mod settle;
mod told;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::time::Duration;

use futures::{StreamExt, stream};

pub use realms::apply_realms;
use settle::{made_meanwhile, renew, settle};

pub use elapsed::Age;
pub use halt::Halt;

use crate::base::Timestamp;
use crate::base::limits::MAX_MESSAGE_CHARS;
use crate::model::{Effect, ErrorClass, HeldVolume, Object, Outcome, SecretPayloads, Secrets};
use crate::plan::marks::{self, Identity};
use crate::plan::{self, Action, Blocked, Extras, Force, Plan, Propagation, Recreate, Verb, archive, owner, volume};
use crate::target::{
    ApplyRequest, DeleteRequest, Deletion, Dependents, FreeRequest, Kind, Mode, Ownership, PatchRequest, Refusal,
    RefusalKind, Stays, Target, VolumeChange, VolumeRequest, Written, with_values,
};

/// Calls of one stage that are prepared side by side; the target has a limit of its own over all apps.
const STAGE_WIDTH: usize = 16;
/// How often an object that changes meanwhile is read again to take what others hold.
const OWNERSHIP_ROUNDS: usize = 3;
/// How long until it is noted again which Jobs have run, where that failed.
const NOTE_PAUSE: Duration = Duration::from_secs(10);

/// Reason of an outcome that was left out because its plan is too old.
const OUTDATED: &str = "PlanTooOld";
/// Why a deletion was left out.
const TOO_OLD: &str =
    "nothing was deleted, because the look at the cluster was more than 30 s ago; it is looked at again";
/// Why anything was left out.
const STOOD_STILL: &str = "this process stood still since it looked at the cluster; it is looked at again";

/// What came of a plan, in the order of its actions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Applied {
    /// The outcome of each action.
    pub outcomes: Vec<Outcome>,
    /// How long the target asked to be left alone, if it did.
    pub asked: Option<Duration>,
}

impl Applied {
    /// Returns the outcomes that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.effect == Effect::Failed)
    }

    /// Returns the outcomes that are held back by the owner of fields that the target named.
    pub fn blocked(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.effect == Effect::Blocked)
    }

    /// Returns whether every action did what it should.
    pub fn is_complete(&self) -> bool {
        self.outcomes
            .iter()
            .all(|outcome| !matches!(outcome.effect, Effect::Failed | Effect::Skipped | Effect::Blocked))
    }

    /// Returns whether something was left out because the plan had become too old for it; a new one does it.
    pub fn is_outdated(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.reason == OUTDATED)
    }

    /// Returns whether anything on the target was changed.
    pub fn changed(&self) -> bool {
        self.outcomes.iter().any(|outcome| {
            matches!(
                outcome.effect,
                Effect::Created | Effect::Configured | Effect::Deleted | Effect::Recreated | Effect::Adopted
            )
        })
    }
}

/// What has to be remembered before the target is changed: nobody could tell afterwards.
#[derive(Clone, Copy, Debug)]
pub enum Kept<'a> {
    /// An object that is about to be deleted, as `plan::archive` leaves it.
    Object(&'a Object),
    /// A volume that is about to be told to stay.
    Volume(&'a HeldVolume),
}

/// What a sink answers, after a while.
pub type Noted<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Is told what to remember before a deletion, and of each outcome as it arrives.
pub trait Sink: Sync {
    /// Keeps something; what could not be kept is not deleted.
    fn keep<'a>(&'a self, action: &'a Action, kept: Kept<'a>) -> Noted<'a, Result<(), String>>;
    /// Takes in the outcome of an action.
    fn outcome<'a>(&'a self, action: &'a Action, outcome: &'a Outcome) -> Noted<'a, ()>;
}

/// What every call needs.
#[derive(Clone, Copy)]
pub struct Hands<'a> {
    /// Whose labels an object must still carry to be deleted, and who else must not have taken it over.
    pub identity: Identity<'a>,
    /// Where the plan is carried out.
    pub target: &'a dyn Target,
    /// The values of Secrets.
    pub secrets: &'a SecretPayloads,
    /// The values that no message may hold.
    pub hidden: &'a Secrets,
    /// Who is told what comes of it.
    pub sink: &'a dyn Sink,
    /// Whether a person wants it to end here.
    pub halt: &'a Halt,
    /// How old the look is on which the plan rests.
    pub age: Age,
}

/// Carries out a plan.
///
/// Our ApplySet parent grows before the first object is written, so that no crash leaves an object of a kind it does not name; where it may
/// not, the first object has failed with that. A word to stop ends no action in its middle.
pub async fn apply(plan: &Plan, hands: Hands<'_>) -> Applied {
    let Hands { target, sink, halt, .. } = hands;
    let mut outcomes = vec![None; plan.actions.len()];
    // Heard inside each call: a target that is away costs the calls under way their deadlines, and not those of a whole stage.
    let stopped = OnceLock::new();
    let mut unnamed = None;
    if halt.why().is_none()
        && let Err(refusal) = grow(plan, target).await
    {
        let is_refused = !refusal.is_unreachable();
        unnamed = applied(plan).next().filter(|_| is_refused).map(|first| failed(first, &refusal));
        stopped.get_or_init(|| refusal.message);
    }
    let unnamed = unnamed.as_ref();
    let mut asked = None;
    for stage in plan.actions.chunk_by(|a, b| (a.wave, a.stage) == (b.wave, b.stage)) {
        let bad = bad(&outcomes);
        // Made before they are polled: a closure that is kept across an await would pin lifetimes that a task cannot have.
        let calls: Vec<_> = stage
            .iter()
            .map(|action| {
                let (waits, stopped) = (waits_for(action, &bad), &stopped);
                async move {
                    let held = stopped.get().map(String::as_str).or(waits);
                    let answered = match (halt.why(), held) {
                        (Some(why), _) => (action, outcome(action, Effect::Skipped, short(why)), None),
                        _ if hands.age.is_lost(target) => (action, outdated(action, STOOD_STILL), None),
                        (None, Some(_))
                            if let Some(failed) = unnamed.filter(|failed| failed.object == action.object) =>
                        {
                            (action, failed.clone(), None)
                        }
                        (None, Some(why)) => (action, skipped(action, why), None),
                        (None, None) => send(action, hands).await,
                    };
                    if let Some(refusal) = answered.2.as_ref().filter(|refusal| refusal.is_unreachable()) {
                        stopped.get_or_init(|| refusal.message.clone());
                    }
                    // Here and not where the answers are gathered, so that no other call of the stage stands still meanwhile.
                    sink.outcome(action, &answered.1).await;
                    (action, answered.1, answered.2.and_then(|refusal| refusal.retry_after))
                }
            })
            .collect();
        let mut answers = stream::iter(calls).buffer_unordered(STAGE_WIDTH);
        while let Some((action, outcome, wait)) = answers.next().await {
            asked = asked.max(wait);
            if let Some(slot) = outcomes.get_mut(action.id) {
                *slot = Some(outcome);
            }
        }
    }
    Applied { outcomes: outcomes.into_iter().flatten().collect(), asked }
}

/// Notes which Jobs have run, and forgets those that go. Nothing is done where that fails: a Job that is forgotten too late would not run
/// when it is wanted again.
pub async fn note_jobs(plan: &mut Plan, target: &dyn Target, now: Timestamp) {
    let Err(refusal) = target.note_jobs(&plan.jobs).await else { return };
    tracing::warn!(app = %plan.app, error = %refusal, "which jobs have run was not noted");
    if plan.jobs.iter().any(|(_, hash)| hash.is_none()) {
        plan.actions.clear();
        plan.blocked.push(Blocked {
            object: None,
            reason: "JobsNotNoted".into(),
            message: short(&refusal.message),
            hint: String::new(),
        });
        let again = now.plus(NOTE_PAUSE);
        plan.wake_at = Some(plan.wake_at.map_or(again, |at| at.min(again)));
    }
}

/// Returns the ids of actions after which nothing that needs them may be sent.
fn bad(outcomes: &[Option<Outcome>]) -> BTreeSet<usize> {
    let bad = |outcome: &Outcome| matches!(outcome.effect, Effect::Failed | Effect::Skipped | Effect::Blocked);
    outcomes.iter().enumerate().filter(|(_, slot)| slot.as_ref().is_some_and(bad)).map(|(id, _)| id).collect()
}

fn waits_for(action: &Action, bad: &BTreeSet<usize>) -> Option<&'static str> {
    action.after.iter().any(|id| bad.contains(id)).then_some("what it needs was not applied")
}

fn applied(plan: &Plan) -> impl Iterator<Item = &Action> {
    plan.actions.iter().filter(|action| matches!(action.verb, Verb::Apply { .. }))
}

async fn grow(plan: &Plan, target: &dyn Target) -> Result<(), Refusal> {
    if applied(plan).next().is_none() {
        return Ok(());
    }
    let kinds = applied(plan).map(|action| Kind::of(&action.object, &action.api_version)).collect();
    let namespaces = applied(plan).map(|action| action.object.namespace.clone()).collect();
    target.grow_apply_set(&kinds, &namespaces).await
}

async fn send<'a>(action: &'a Action, hands: Hands<'_>) -> (&'a Action, Outcome, Option<Refusal>) {
    match call(action, hands).await {
        Ok(outcome) => (action, Outcome { message: hands.hidden.mask(&outcome.message), ..outcome }, None),
        Err(refusal) => {
            // Before it is cut anywhere: half of a value is not known to be one.
            let refusal = Refusal { message: hands.hidden.mask(&refusal.message), ..refusal };
            let said = match refusal.kind {
                RefusalKind::Invalid(_) | RefusalKind::Immutable(_) => plan::with_place(action, &refusal.message),
                _ => refusal.message.clone(),
            };
            let failed = Outcome { message: short(&said), ..failed(action, &refusal) };
            (action, failed, Some(refusal))
        }
    }
}

fn failed(action: &Action, refusal: &Refusal) -> Outcome {
    Outcome { error: Some(refusal.class()), ..outcome(action, Effect::Failed, short(&refusal.message)) }
}

/// Returns whether an action ends something as soon as it is sent.
fn is_destructive(action: &Action) -> bool {
    match &action.verb {
        Verb::Delete { .. } | Verb::Free { .. } | Verb::LetGo { .. } => true,
        Verb::Apply { .. } => matches!(action.recreate, Recreate::Now(_)) && action.uid.is_some(),
        Verb::Release | Verb::Hold { .. } | Verb::Return { .. } => false,
    }
}

/// Leaves out what rests on what was seen too long ago.
fn outdated(action: &Action, why: &str) -> Outcome {
    Outcome { reason: OUTDATED.to_owned(), ..outcome(action, Effect::Skipped, why.to_owned()) }
}

async fn call(action: &Action, hands: Hands<'_>) -> Result<Outcome, Refusal> {
    let Hands { identity, target, secrets, .. } = hands;
    if is_destructive(action) && hands.age.is_over() {
        return Ok(outdated(action, TOO_OLD));
    }
    match &action.verb {
        Verb::Apply { payload, force } => {
            let ownership = match force {
                Force::Yes => Ownership::Take,
                Force::No => Ownership::Respect,
            };
            let request = ApplyRequest {
                id: action.object.clone(),
                api_version: action.api_version.clone(),
                body: with_values(payload, secrets.get(&action.object), action.uid.as_deref()),
                ownership,
                mode: Mode::Write,
                hash: action.hash.clone(),
                is_partial: action.yields.is_partial(),
            };
            write(action, request, hands).await
        }
        Verb::Delete { propagation } => {
            keep(action, hands).await?;
            target.delete(&deletion(action, identity, *propagation)).await.map(|deletion| {
                let message = match deletion {
                    Deletion::Gone => "gone",
                    Deletion::Begun => "deletion begun",
                };
                outcome(action, Effect::Deleted, message.to_owned())
            })
        }
        Verb::Release => {
            let request = delete_request(action, identity, Dependents::Orphaned);
            target.release(&request).await.map(|()| outcome(action, Effect::Configured, "released".to_owned()))
        }
        Verb::Free { finalizers } => {
            if action.object.kind != "Namespace" {
                keep(action, hands).await?;
            }
            let request = FreeRequest {
                id: action.object.clone(),
                api_version: action.api_version.clone(),
                uid: action.uid.clone().unwrap_or_default(),
                finalizers: finalizers.clone(),
            };
            target.free(&request).await.map(|()| outcome(action, Effect::Deleted, "let go".to_owned()))
        }
        Verb::Hold { volume } => {
            hands.sink.keep(action, Kept::Volume(volume)).await.map_err(|why| unkept(action, &why))?;
            change(action, volume, VolumeChange::Retain, target).await
        }
        Verb::Return { volume } => {
            let claim = volume::claim_of(volume);
            let offer = VolumeChange::Offer { namespace: claim.namespace.clone(), claim: claim.name.clone() };
            change(action, volume, offer, target).await?;
            target.bring_back(&volume::again(volume)).await?;
            Ok(outcome(action, Effect::Created, "it is back".to_owned()))
        }
        Verb::LetGo { volume } => {
            let policy = VolumeChange::Policy(volume.policy.clone());
            change(action, volume, policy, target).await
        }
    }
}

/// Changes a volume.
async fn change(
    action: &Action,
    volume: &HeldVolume,
    change: VolumeChange,
    target: &dyn Target,
) -> Result<Outcome, Refusal> {
    let request = VolumeRequest { name: volume.name.clone(), uid: volume.uid.clone(), change };
    target.change_volume(&request).await.map(|()| outcome(action, Effect::Configured, action.reason.clone()))
}

/// Keeps an object that is about to be deleted. One that is gone, or another one by now, is not deleted by us and not kept.
async fn keep(action: &Action, hands: Hands<'_>) -> Result<(), Refusal> {
    let (id, api_version) = (&action.object, action.api_version.as_str());
    let live = match archive::is_sealed(id) {
        true => hands.target.metadata(id, api_version).await?,
        false => hands.target.get(id, api_version).await?,
    };
    let is_meant =
        |live: &Object| live.at(&["metadata", "uid"]).and_then(serde_json::Value::as_str) == action.uid.as_deref();
    let Some(live) = live.filter(is_meant) else { return Ok(()) };
    let kept = archive::kept(&live, id, api_version);
    hands.sink.keep(action, Kept::Object(&kept)).await.map_err(|why| unkept(action, &why))
}

fn unkept(action: &Action, why: &str) -> Refusal {
    let message = format!("nothing was done to {}, because what it was could not be kept: {why}", action.object);
    Refusal::new(RefusalKind::Server, message)
}

/// Sends an apply. What the plan attached to the action says what follows where fields belong to others or cannot be changed.
async fn write(action: &Action, request: ApplyRequest, hands: Hands<'_>) -> Result<Outcome, Refusal> {
    let target = hands.target;
    if action.extras == Extras::Remove {
        let editors = action.yields.editors();
        own(action, target, |metadata| plan::taken_additions(metadata, editors)).await?;
    }
    if let Recreate::Now(propagation) = action.recreate
        && action.uid.is_some()
    {
        // What the old one did and said is not given away for one that is not taken.
        if let Err(refused) = target.try_create(&request).await {
            let message = format!("{} was not deleted to run again: {}", action.object, refused.message);
            return Err(Refusal { message, ..refused });
        }
        let is_asked = action.reason == plan::RERUN;
        let note = if is_asked { plan::RERUN } else { "it runs once for each revision" }.to_owned();
        return make_anew(action, request, hands, (propagation, note)).await;
    }
    let sent = match target.apply(&request).await {
        Err(refusal) if refusal.kind == RefusalKind::OldEntries => renew(action, &request, target, refusal).await,
        sent => sent,
    };
    let refusal = match sent {
        Ok(answer) if entered::is_somebodys(action, &answer) => {
            return Err(entered::hand_back(action, &answer, target).await);
        }
        Ok(answer) => return kept(action, (&request, answer), (target, hands.hidden), String::new()).await,
        Err(refusal) => refusal,
    };
    match &refusal.kind {
        RefusalKind::Conflict(fields) if request.ownership == Ownership::Respect && !fields.is_empty() => {
            match action.uid {
                Some(_) => settle(action, request, fields, (target, hands.hidden)).await,
                None => Err(made_meanwhile(action, fields)),
            }
        }
        RefusalKind::Immutable(_) => replace(action, request, hands, refusal).await,
        RefusalKind::Invalid(fields) if action.uid.is_some() => {
            make_room(action, request, (target, hands.hidden), (fields, &refusal)).await
        }
        _ => Err(refusal),
    }
}

/// Sends an apply once more after what others and the server itself put beside our fields was taken out, if that is what the server refused.
async fn make_room(
    action: &Action,
    request: ApplyRequest,
    (target, hidden): (&dyn Target, &Secrets),
    (fields, refusal): (&[String], &Refusal),
) -> Result<Outcome, Refusal> {
    // The values of a Secret are read by nobody.
    if fields.is_empty() || (action.object.group.is_empty() && action.object.kind == "Secret") {
        return Err(refusal.clone());
    }
    let live = target.get(&action.object, &action.api_version).await?;
    let Some(steps) = live.and_then(|live| plan::make_room(&live, &request.body, fields)) else {
        return Err(refusal.clone());
    };
    let (id, api_version) = (action.object.clone(), action.api_version.clone());
    target.patch(&PatchRequest { id, api_version, steps }).await?;
    let request = ApplyRequest { ownership: Ownership::Take, ..request };
    let answer = target.apply(&request).await?;
    let message = format!("takes out what stood beside {}", fields.join(", "));
    kept(action, (&request, answer), (target, hidden), message).await
}

/// Makes ours what somebody else holds, so that the apply that follows takes it away.
async fn own(
    action: &Action,
    target: &dyn Target,
    taken: impl Fn(&serde_json::Map<String, serde_json::Value>) -> Option<serde_json::Value>,
) -> Result<(), Refusal> {
    let mut failed = None;
    for _ in 0..OWNERSHIP_ROUNDS {
        let live = target.metadata(&action.object, &action.api_version).await?;
        let Some(steps) = live.as_ref().and_then(Object::metadata).and_then(&taken) else { return Ok(()) };
        let (id, api_version) = (action.object.clone(), action.api_version.clone());
        match target.patch(&PatchRequest { id, api_version, steps }).await {
            Ok(()) => return Ok(()),
            Err(refusal) => failed = Some(refusal),
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Takes in the answer to an apply; what editors hold beside us is ours alone from then on. A later write of the object does that where this
/// one cannot.
async fn kept(
    action: &Action,
    (request, answer): (&ApplyRequest, Written),
    (target, hidden): (&dyn Target, &Secrets),
    message: String,
) -> Result<Outcome, Refusal> {
    let answer = without_leftovers(action, request, answer, target).await?;
    let patch = |object: &Object| {
        object.metadata().and_then(|it| plan::sole_ownership(it, action.extras, action.yields.editors()))
    };
    let mut steps = patch(&answer.object);
    for _ in 0..OWNERSHIP_ROUNDS {
        let Some(found) = steps.take() else { break };
        let (id, api_version) = (action.object.clone(), action.api_version.clone());
        let request = PatchRequest { id, api_version, steps: found };
        let Err(refusal) = target.patch(&request).await else { break };
        tracing::debug!(error = %refusal, "fields are still held by an editor as well");
        // Its fields changed meanwhile, or the object is gone.
        let now = target.metadata(&action.object, &action.api_version).await.ok().flatten();
        steps = now.as_ref().and_then(patch);
    }
    Ok(written(action, (&request.body, answer), hidden, message))
}

/// Sends an apply once more where a patch of ours, after which a process was killed say, still holds what git no longer says.
async fn without_leftovers(
    action: &Action,
    request: &ApplyRequest,
    answer: Written,
    target: &dyn Target,
) -> Result<Written, Refusal> {
    let taken = |metadata: &serde_json::Map<String, serde_json::Value>| {
        plan::taken_leftovers(metadata, action.yields.editors())
    };
    if answer.object.metadata().and_then(taken).is_none() {
        return Ok(answer);
    }
    own(action, target, taken).await?;
    let again = target.apply(request).await?;
    Ok(Written { created: answer.created, unchanged: answer.unchanged && again.unchanged, ..again })
}

/// Deletes an object and makes it anew, where the plan allows that and the server would take the new one.
async fn replace(
    action: &Action,
    request: ApplyRequest,
    hands: Hands<'_>,
    refusal: Refusal,
) -> Result<Outcome, Refusal> {
    let propagation = match &action.recreate {
        Recreate::Allowed(propagation) | Recreate::Now(propagation) => *propagation,
        Recreate::Never(instead) => {
            return Err(Refusal {
                message: format!("{}; it is never made anew: {instead}", refusal.message),
                ..refusal
            });
        }
        Recreate::Ask(interrupted) => {
            let message = format!(
                "{}; if it is made anew, {interrupted}: allow that by --recreate {}, or for ever by the annotation rewild.dev/recreate: allow",
                refusal.message,
                action.object.short()
            );
            return Ok(held(action, "RecreateNeedsApproval", &message));
        }
    };
    if hands.age.is_over() {
        return Ok(outdated(action, TOO_OLD));
    }
    if let Err(refused) = hands.target.try_create(&request).await {
        let message = format!("{}; it was not deleted to be made anew: {}", refusal.message, refused.message);
        return Err(Refusal { message, ..refused });
    }
    make_anew(action, request, hands, (propagation, "a field of it cannot be changed".to_owned())).await
}

/// Deletes an object and makes it anew.
async fn make_anew(
    action: &Action,
    request: ApplyRequest,
    hands: Hands<'_>,
    (propagation, note): (Propagation, String),
) -> Result<Outcome, Refusal> {
    let Hands { identity, target, hidden, .. } = hands;
    keep(action, hands).await?;
    let deletion = target.delete(&delete_request(action, identity, dependents(propagation))).await?;
    if deletion == Deletion::Begun {
        let message = "its deletion has begun; it is made anew when it is gone".to_owned();
        return Ok(outcome(action, Effect::Deleted, message));
    }
    let mut body = request.body.clone();
    if let Some(metadata) = body.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
        metadata.shift_remove("uid");
    }
    let request = ApplyRequest { ownership: Ownership::Respect, body, ..request };
    let answer = target.apply(&request).await?;
    let recreated = written(action, (&request.body, answer), hidden, note);
    Ok(Outcome { effect: Effect::Recreated, ..recreated })
}

fn dependents(propagation: Propagation) -> Dependents {
    match propagation {
        Propagation::Background => Dependents::Collected,
        Propagation::Orphan => Dependents::Orphaned,
    }
}

fn held(action: &Action, reason: &str, message: &str) -> Outcome {
    let blocked = outcome(action, Effect::Blocked, short(message));
    Outcome { error: Some(ErrorClass::User), reason: reason.to_owned(), ..blocked }
}

fn written(
    action: &Action,
    (sent, answer): (&serde_json::Value, Written),
    hidden: &Secrets,
    message: String,
) -> Outcome {
    let admitted = told::admitted(action, sent, &answer.object, hidden);
    let mut observed = answer.observed;
    if action.yields.is_partial() {
        // It never looks as it was left, so that who holds the rest is told as long as that lasts and is missed when it ends.
        observed.fields.clear();
    }
    let effect = match (answer.created, answer.unchanged) {
        (true, _) => Effect::Created,
        (false, true) => Effect::Unchanged,
        (false, false) => Effect::Configured,
    };
    let notice = action.notice.clone().filter(|_| effect != Effect::Unchanged).unwrap_or_default();
    let parts = [message, admitted, notice].into_iter().filter(|part| !part.is_empty());
    let message = parts.collect::<Vec<_>>().join("; ");
    Outcome { observed: Some(observed), ..outcome(action, effect, short(&message)) }
}

fn short(message: &str) -> String {
    message.chars().take(MAX_MESSAGE_CHARS).collect()
}

/// Returns the deletion of what nobody wants any more: one that somebody else took over or keeps meanwhile stays.
fn deletion(action: &Action, identity: Identity<'_>, propagation: Propagation) -> DeleteRequest {
    let (instance, app) = (identity.instance.clone(), identity.app.clone());
    let apply_set = identity.apply_set.to_owned();
    let stays = Stays::where_told(move |live| {
        owner::stays(live, Identity { instance: &instance, apply_set: &apply_set, app: &app })
    });
    DeleteRequest { stays, ..delete_request(action, identity, dependents(propagation)) }
}

fn delete_request(action: &Action, identity: Identity<'_>, dependents: Dependents) -> DeleteRequest {
    let labels = [(marks::INSTANCE, identity.instance.as_str()), (marks::APP, identity.app.as_str())];
    DeleteRequest {
        id: action.object.clone(),
        api_version: action.api_version.clone(),
        uid: action.uid.clone().unwrap_or_default(),
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
        stays: Stays::default(),
        dependents,
        trace: marks::trace(&action.object, identity),
    }
}

fn skipped(action: &Action, why: &str) -> Outcome {
    Outcome { error: Some(ErrorClass::System), ..outcome(action, Effect::Skipped, short(why)) }
}

fn outcome(action: &Action, effect: Effect, message: String) -> Outcome {
    Outcome { object: action.object.clone(), effect, error: None, message, reason: String::new(), observed: None }
}

#[cfg(test)]
mod tests;
