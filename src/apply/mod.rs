//! Walks a plan over a target: stage after stage, the calls of a stage side by side. Decides nothing.
//!
//! A failed action skips what stands after it and nothing else. When the target stops answering, what is left is skipped. The values of
//! Secrets are put in at the request edge, here. Not here: what to do (`plan`), remembering it (`record`).

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures::{StreamExt, stream};

use crate::base::Timestamp;
use crate::base::limits::MAX_MESSAGE_CHARS;
use crate::model::{Effect, ErrorClass, Object, Outcome, SecretPayloads};
use crate::plan::{
    Action, Blocked, ConflictVerdict, Force, Plan, Propagation, Recreate, Verb, conflict_verdict, without,
};
use crate::target::{
    ApplyRequest, DeleteRequest, Deletion, Dependents, FieldConflict, FreeRequest, Kind, Mode, Ownership, Refusal,
    RefusalKind, Target, Written, with_values,
};

/// Calls of one stage that are prepared side by side; the target has a limit of its own over all apps.
const STAGE_WIDTH: usize = 16;
/// How long until it is noted again which Jobs have run, where that failed.
const NOTE_PAUSE: Duration = Duration::from_secs(10);

/// What came of a plan, in the order of its actions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Applied {
    /// The outcome of each action.
    pub outcomes: Vec<Outcome>,
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

/// Is told of each outcome as it arrives.
pub trait Sink: Sync {
    /// Takes in the outcome of an action.
    fn outcome<'a>(&'a self, action: &'a Action, outcome: &'a Outcome)
    -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// Carries out a plan.
///
/// Our ApplySet parent grows before the first object is written, so that no crash leaves an object of a kind it does not name.
///
/// `marks` are the labels that an object must still carry to be deleted: our instance and app.
pub async fn apply(
    plan: &Plan,
    marks: &[(String, String)],
    target: &dyn Target,
    secrets: &SecretPayloads,
    sink: &dyn Sink,
) -> Applied {
    let mut walk = Walk { outcomes: vec![None; plan.actions.len()], stopped: None };
    if let Err(refusal) = grow(plan, target).await {
        walk.stopped = Some(refusal);
    }
    for stage in plan.actions.chunk_by(|a, b| (a.wave, a.stage) == (b.wave, b.stage)) {
        let stopped = walk.stopped.clone();
        let bad = walk.bad();
        // Made before they are polled: a closure that is kept across an await would pin lifetimes that a task cannot have.
        let calls: Vec<_> = stage
            .iter()
            .map(|action| {
                let held = stopped.as_ref().map(|refusal| refusal.message.clone()).or_else(|| waits_for(action, &bad));
                async move {
                    let answered = match held {
                        Some(why) => (action, skipped(action, &why), None),
                        None => send(action, marks, target, secrets).await,
                    };
                    // Here and not where the answers are gathered, so that no other call of the stage stands still meanwhile.
                    sink.outcome(action, &answered.1).await;
                    answered
                }
            })
            .collect();
        let mut answers = stream::iter(calls).buffer_unordered(STAGE_WIDTH);
        while let Some((action, outcome, refusal)) = answers.next().await {
            if let Some(refusal) = refusal.filter(Refusal::is_unreachable) {
                walk.stopped = Some(refusal);
            }
            if let Some(slot) = walk.outcomes.get_mut(action.id) {
                *slot = Some(outcome);
            }
        }
    }
    Applied { outcomes: walk.outcomes.into_iter().flatten().collect() }
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

/// Where a walk stands.
struct Walk {
    outcomes: Vec<Option<Outcome>>,
    stopped: Option<Refusal>,
}

impl Walk {
    /// Returns the ids of actions after which nothing that needs them may be sent.
    fn bad(&self) -> BTreeSet<usize> {
        let bad = |outcome: &Outcome| matches!(outcome.effect, Effect::Failed | Effect::Skipped | Effect::Blocked);
        self.outcomes.iter().enumerate().filter(|(_, slot)| slot.as_ref().is_some_and(bad)).map(|(id, _)| id).collect()
    }
}

fn waits_for(action: &Action, bad: &BTreeSet<usize>) -> Option<String> {
    action.after.iter().any(|id| bad.contains(id)).then(|| "what it needs was not applied".to_owned())
}

async fn grow(plan: &Plan, target: &dyn Target) -> Result<(), Refusal> {
    let applied = || plan.actions.iter().filter(|action| matches!(action.verb, Verb::Apply { .. }));
    if applied().next().is_none() {
        return Ok(());
    }
    let kinds = applied().map(|action| Kind::of(&action.object, &action.api_version)).collect();
    let namespaces = applied().map(|action| action.object.namespace.clone()).collect();
    target.grow_apply_set(&kinds, &namespaces).await
}

async fn send<'a>(
    action: &'a Action,
    marks: &[(String, String)],
    target: &dyn Target,
    secrets: &SecretPayloads,
) -> (&'a Action, Outcome, Option<Refusal>) {
    let answer = match &action.verb {
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
            };
            write(action, request, marks, target).await
        }
        Verb::Delete { propagation } => {
            target.delete(&delete_request(action, marks, dependents(*propagation))).await.map(|deletion| {
                let message = match deletion {
                    Deletion::Gone => "gone",
                    Deletion::Begun => "deletion begun",
                };
                outcome(action, Effect::Deleted, message.to_owned())
            })
        }
        Verb::Release => {
            let request = delete_request(action, marks, Dependents::Orphaned);
            target.release(&request).await.map(|()| outcome(action, Effect::Configured, "released".to_owned()))
        }
        Verb::Free { finalizers } => {
            let namespace = action.object.name.clone();
            let uid = action.uid.clone().unwrap_or_default();
            let request = FreeRequest { namespace, uid, finalizers: finalizers.clone() };
            target.free(&request).await.map(|()| outcome(action, Effect::Deleted, "freed".to_owned()))
        }
    };
    match answer {
        Ok(outcome) => (action, outcome, None),
        Err(refusal) => {
            let failed = outcome(action, Effect::Failed, short(&refusal.message));
            let failed = Outcome { error: Some(refusal.class()), ..failed };
            (action, failed, Some(refusal))
        }
    }
}

/// Sends an apply. What the plan attached to the action says what follows where fields belong to others or cannot be changed.
async fn write(
    action: &Action,
    request: ApplyRequest,
    marks: &[(String, String)],
    target: &dyn Target,
) -> Result<Outcome, Refusal> {
    if let Recreate::Now(propagation) = action.recreate
        && action.uid.is_some()
    {
        let note = "it runs once for each revision".to_owned();
        return make_anew(action, request, marks, target, (propagation, note)).await;
    }
    let refusal = match target.apply(&request).await {
        Ok(answer) => return Ok(written(action, answer, String::new())),
        Err(refusal) => refusal,
    };
    match &refusal.kind {
        RefusalKind::Conflict(fields) if request.ownership == Ownership::Respect && !fields.is_empty() => {
            settle(action, request, fields, target).await
        }
        RefusalKind::Immutable(_) => replace(action, request, marks, target, refusal).await,
        _ => Err(refusal),
    }
}

/// Sends an apply once more, by the plan's rule about the managers that hold some of its fields.
async fn settle(
    action: &Action,
    request: ApplyRequest,
    fields: &[FieldConflict],
    target: &dyn Target,
) -> Result<Outcome, Refusal> {
    let Some(payload) = Object::from_value(request.body.clone()) else {
        return Ok(outcome(action, Effect::Failed, String::new()));
    };
    let named: Vec<(&str, &str)> = fields.iter().map(|field| (field.field.as_str(), field.manager.as_str())).collect();
    let managers: BTreeSet<&str> = named.iter().map(|(_, manager)| *manager).collect();
    let names = managers.into_iter().collect::<Vec<_>>().join(", ");
    let (ownership, leaves_out, note) = match conflict_verdict(&payload, &action.yields, &named) {
        ConflictVerdict::TakeOver { leaves_out } => {
            (Ownership::Take, leaves_out, format!("takes fields over from {names}"))
        }
        ConflictVerdict::Yield { leaves_out } => (Ownership::Respect, leaves_out, format!("leaves fields to {names}")),
        ConflictVerdict::ForeignOwner { tool } => {
            let message = format!("{} belongs to {tool}, which owns fields of it", action.object.short());
            return Ok(held(action, "ForeignOwner", &message));
        }
    };
    let mut payload = payload;
    without(&mut payload, &leaves_out);
    let answer = target.apply(&ApplyRequest { ownership, body: payload.to_value(), ..request }).await?;
    Ok(written(action, answer, short(&note)))
}

/// Deletes an object and makes it anew, where the plan allows that and the server would take the new one.
async fn replace(
    action: &Action,
    request: ApplyRequest,
    marks: &[(String, String)],
    target: &dyn Target,
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
    if let Err(refused) = target.try_create(&request).await {
        let message = format!("{}; it was not deleted to be made anew: {}", refusal.message, refused.message);
        return Err(Refusal { message, ..refused });
    }
    make_anew(action, request, marks, target, (propagation, "a field of it cannot be changed".to_owned())).await
}

/// Deletes an object and makes it anew.
async fn make_anew(
    action: &Action,
    request: ApplyRequest,
    marks: &[(String, String)],
    target: &dyn Target,
    (propagation, note): (Propagation, String),
) -> Result<Outcome, Refusal> {
    let deletion = target.delete(&delete_request(action, marks, dependents(propagation))).await?;
    if deletion == Deletion::Begun {
        let message = "its deletion has begun; it is made anew when it is gone".to_owned();
        return Ok(outcome(action, Effect::Deleted, message));
    }
    let mut body = request.body.clone();
    if let Some(metadata) = body.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
        metadata.shift_remove("uid");
    }
    let answer = target.apply(&ApplyRequest { ownership: Ownership::Respect, body, ..request }).await?;
    let recreated = written(action, answer, note);
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

fn written(action: &Action, answer: Written, message: String) -> Outcome {
    let effect = match (answer.created, answer.unchanged) {
        (true, _) => Effect::Created,
        (false, true) => Effect::Unchanged,
        (false, false) => Effect::Configured,
    };
    Outcome { observed: Some(answer.observed), ..outcome(action, effect, message) }
}

fn short(message: &str) -> String {
    message.chars().take(MAX_MESSAGE_CHARS).collect()
}

fn delete_request(action: &Action, marks: &[(String, String)], dependents: Dependents) -> DeleteRequest {
    DeleteRequest {
        id: action.object.clone(),
        api_version: action.api_version.clone(),
        uid: action.uid.clone().unwrap_or_default(),
        labels: marks.to_vec(),
        dependents,
    }
}

fn skipped(action: &Action, why: &str) -> Outcome {
    Outcome { error: Some(ErrorClass::System), ..outcome(action, Effect::Skipped, short(why)) }
}

fn outcome(action: &Action, effect: Effect, message: String) -> Outcome {
    Outcome { object: action.object.clone(), effect, error: None, message, reason: String::new(), observed: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{ObjectId, Observed};
    use crate::plan::Yields;
    use crate::target::scripted::Scripted;

    fn action(force: Force) -> Action {
        let payload = Object::from_value(json!({"kind": "Deployment", "metadata": {"name": "a"}})).unwrap();
        Action {
            id: 0,
            verb: Verb::Apply { payload, force },
            object: ObjectId::new("apps", "Deployment", "n", "a"),
            api_version: "apps/v1".into(),
            wave: 0,
            stage: 0,
            after: Vec::new(),
            reason: String::new(),
            uid: None,
            hash: String::new(),
            source: String::new(),
            yields: Yields::default(),
            recreate: Recreate::Never("nobody said so"),
        }
    }

    fn conflict(manager: &str) -> Result<Written, Refusal> {
        let field = FieldConflict { field: ".spec.replicas".into(), manager: manager.into() };
        Err(Refusal::new(RefusalKind::Conflict(vec![field]), "apply Deployment/a: conflict"))
    }

    fn accepted() -> Result<Written, Refusal> {
        let [uid, resource_version, fields, time, hash] = ["u", "2", "f", "t", "h"].map(str::to_owned);
        let observed = Observed { uid, resource_version, generation: 1, fields, time, hash };
        Ok(Written { observed, created: false, unchanged: false, object: Object::default() })
    }

    async fn check(
        force: Force,
        answers: Vec<Result<Written, Refusal>>,
        expected: (Effect, &str),
        expected_sent: &[Ownership],
    ) {
        let target = Scripted { applies: std::sync::Mutex::new(answers.into()), ..Scripted::default() };
        let (_, outcome, _) = send(&action(force), &[], &target, &SecretPayloads::default()).await;
        assert_eq!((outcome.effect, outcome.message.as_str()), expected);
        assert_eq!(*target.sent.lock().unwrap(), expected_sent);
    }

    #[tokio::test]
    async fn fields_of_people_are_taken_over_with_a_note_and_those_of_tools_are_left() {
        use Ownership::{Respect, Take};
        let note = "takes fields over from kubectl-edit";
        check(Force::No, vec![conflict("kubectl-edit"), accepted()], (Effect::Configured, note), &[Respect, Take])
            .await;
        let flux = "Deployment/a belongs to Flux, which owns fields of it";
        check(Force::No, vec![conflict("kustomize-controller")], (Effect::Blocked, flux), &[Respect]).await;
        check(Force::No, vec![accepted()], (Effect::Configured, ""), &[Respect]).await;
    }

    #[tokio::test]
    async fn a_conflict_of_a_forced_apply_is_a_failure() {
        let failed = (Effect::Failed, "apply Deployment/a: conflict");
        check(Force::Yes, vec![conflict("kubectl-edit")], failed, &[Ownership::Take]).await;
    }

    fn immutable() -> Result<Written, Refusal> {
        Err(Refusal::new(RefusalKind::Immutable(vec!["spec.template".into()]), "apply Job/a: field is immutable"))
    }

    /// Sends an apply that is refused because of an immutable field; returns effect, message and what was deleted.
    async fn replaced(recreate: Recreate, target: Scripted) -> (Effect, String, Vec<String>) {
        let target = Scripted { applies: std::sync::Mutex::new([immutable(), accepted()].into()), ..target };
        let action = Action { recreate, uid: Some("old".into()), ..action(Force::No) };
        let (_, outcome, _) = send(&action, &[], &target, &SecretPayloads::default()).await;
        let deleted = target.deleted.lock().unwrap().clone();
        (outcome.effect, outcome.message, deleted)
    }

    #[tokio::test]
    async fn a_hook_that_runs_again_is_made_anew_at_once() {
        let target = Scripted { applies: std::sync::Mutex::new([accepted()].into()), ..Scripted::default() };
        let recreate = Recreate::Now(Propagation::Background);
        let action = Action { recreate, uid: Some("old".into()), ..action(Force::No) };
        let (_, outcome, _) = send(&action, &[], &target, &SecretPayloads::default()).await;
        assert_eq!((outcome.effect, outcome.message.as_str()), (Effect::Recreated, "it runs once for each revision"));
        assert_eq!(*target.deleted.lock().unwrap(), ["old"]);
        assert_eq!(*target.sent.lock().unwrap(), [Ownership::Respect]);
    }

    #[tokio::test]
    async fn what_cannot_be_changed_is_made_anew_only_where_the_plan_and_the_server_agree() {
        let allowed = || Recreate::Allowed(Propagation::Background);
        let (effect, _, deleted) = replaced(allowed(), Scripted::default()).await;
        assert_eq!((effect, deleted), (Effect::Recreated, vec!["old".to_owned()]));

        let begun = Scripted { deletes: Some(Deletion::Begun), ..Scripted::default() };
        let (effect, message, deleted) = replaced(allowed(), begun).await;
        assert_eq!((effect, deleted), (Effect::Deleted, vec!["old".to_owned()]));
        assert_eq!(message, "its deletion has begun; it is made anew when it is gone");

        let refuses = Refusal::new(RefusalKind::Invalid(Vec::new()), "try a new Job/a: spec.template is missing");
        let refusing = Scripted { tries: Some(refuses), ..Scripted::default() };
        let (effect, message, deleted) = replaced(allowed(), refusing).await;
        assert_eq!((effect, deleted), (Effect::Failed, Vec::new()));
        assert!(message.contains("it was not deleted") && message.contains("spec.template is missing"), "{message}");

        let (effect, _, deleted) = replaced(Recreate::Ask("its pods stop"), Scripted::default()).await;
        assert_eq!((effect, deleted), (Effect::Blocked, Vec::new()));
        let (effect, _, deleted) = replaced(Recreate::Never("move it"), Scripted::default()).await;
        assert_eq!((effect, deleted), (Effect::Failed, Vec::new()));
    }
}
