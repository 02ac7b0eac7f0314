//! Walks a plan over a target: stage after stage, the calls of a stage side by side. Decides nothing.
//!
//! A failed action skips what stands after it and nothing else. When the target stops answering, what is left is skipped. The values of
//! Secrets are put in at the request edge, here. Not here: what to do (`plan`), remembering it (`record`).

mod body;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use futures::{StreamExt, stream};

use crate::base::limits::MAX_MESSAGE_CHARS;
use crate::model::{Effect, ErrorClass, Outcome, SecretPayloads};
use crate::plan::{Action, Force, Plan, Propagation, Verb};
use crate::target::{ApplyRequest, DeleteRequest, Deletion, Dependents, Kind, Mode, Ownership, Refusal, Target};

/// Calls of one stage that are prepared side by side; the target has a limit of its own over all apps.
const STAGE_WIDTH: usize = 16;

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
                    match held {
                        Some(why) => (action, skipped(action, &why), None),
                        None => send(action, marks, target, secrets).await,
                    }
                }
            })
            .collect();
        let mut answers = stream::iter(calls).buffer_unordered(STAGE_WIDTH);
        while let Some((action, outcome, refusal)) = answers.next().await {
            sink.outcome(action, &outcome).await;
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
                body: body::with_values(payload, secrets.get(&action.object), action.uid.as_deref()),
                ownership,
                mode: Mode::Write,
                hash: action.hash.clone(),
            };
            target.apply(&request).await.map(|written| {
                let effect = match (written.created, written.unchanged) {
                    (true, _) => Effect::Created,
                    (false, true) => Effect::Unchanged,
                    (false, false) => Effect::Configured,
                };
                Outcome { observed: Some(written.observed), ..outcome(action, effect, String::new()) }
            })
        }
        Verb::Delete { propagation } => {
            let dependents = match propagation {
                Propagation::Background => Dependents::Collected,
                Propagation::Orphan => Dependents::Orphaned,
            };
            target.delete(&delete_request(action, marks, dependents)).await.map(|deletion| {
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
    };
    match answer {
        Ok(outcome) => (action, outcome, None),
        Err(refusal) => {
            let message: String = refusal.message.chars().take(MAX_MESSAGE_CHARS).collect();
            let failed = Outcome { error: Some(refusal.class()), ..outcome(action, Effect::Failed, message) };
            (action, failed, Some(refusal))
        }
    }
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
    let message: String = why.chars().take(MAX_MESSAGE_CHARS).collect();
    Outcome { error: Some(ErrorClass::System), ..outcome(action, Effect::Skipped, message) }
}

fn outcome(action: &Action, effect: Effect, message: String) -> Outcome {
    Outcome { object: action.object.clone(), effect, error: None, message, observed: None }
}
