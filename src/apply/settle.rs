//! What follows when a target answers that fields of an apply belong to others, by what the plan attached to the action.
//!
//! Not here: the rules (`plan::conflict_verdict`, `plan::in_one_version`), fields that cannot be changed or stand in the way (the parent).

use std::collections::BTreeSet;

use super::{held, kept, outcome, short, told};
use crate::model::{Effect, Object, Outcome, Secrets};
use crate::plan::{self, Action, ConflictVerdict, conflict_verdict, without};
use crate::target::{ApplyRequest, FieldConflict, Ownership, PatchRequest, Refusal, RefusalKind, Target, Written};

/// Says that an object which was to be made is there: whoever made it since the plan owns it until the next look.
pub(super) fn made_meanwhile(action: &Action, fields: &[FieldConflict]) -> Refusal {
    let message = format!("apply {}: it was not there, and {} made it meanwhile", action.object, managers(fields));
    Refusal::new(RefusalKind::Changed, message)
}

/// Returns the names of those who hold fields.
fn managers(fields: &[FieldConflict]) -> String {
    let names: BTreeSet<&str> = fields.iter().map(|field| field.manager.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Sends an apply once more after all managers hold their fields in the version that is sent.
pub(super) async fn renew(
    action: &Action,
    request: &ApplyRequest,
    target: &dyn Target,
    refusal: Refusal,
) -> Result<Written, Refusal> {
    let live = target.metadata(&action.object, &action.api_version).await?;
    let metadata = live.as_ref().and_then(Object::metadata);
    let Some(steps) = metadata.and_then(|it| plan::in_one_version(it, &action.api_version)) else {
        return Err(refusal);
    };
    let (id, api_version) = (action.object.clone(), action.api_version.clone());
    target.patch(&PatchRequest { id, api_version, steps }).await?;
    target.apply(request).await
}

/// Sends an apply once more, by the plan's rule about the managers that hold some of its fields.
pub(super) async fn settle(
    action: &Action,
    request: ApplyRequest,
    fields: &[FieldConflict],
    (target, hidden): (&dyn Target, &Secrets),
) -> Result<Outcome, Refusal> {
    let Some(payload) = Object::from_value(request.body.clone()) else {
        return Ok(outcome(action, Effect::Failed, String::new()));
    };
    let named: Vec<(&str, &str)> = fields.iter().map(|field| (field.field.as_str(), field.manager.as_str())).collect();
    let names = managers(fields);
    let taken = told::taken(action, &payload, fields, (target, hidden)).await;
    let (ownership, leaves_out, note) = match conflict_verdict(&payload, &action.yields, &named) {
        ConflictVerdict::TakeOver { leaves_out } => (Ownership::Take, leaves_out, taken),
        ConflictVerdict::Yield { leaves_out } => (Ownership::Respect, leaves_out, format!("leaves fields to {names}")),
        ConflictVerdict::Hold { fields } => {
            let message = plan::held_by_others(&action.object, &fields);
            return Ok(held(action, plan::FIELD_CONFLICT, &message));
        }
        ConflictVerdict::ForeignOwner { tool } => {
            let message = format!("{} belongs to {tool}: {names} holds fields of it", action.object.short());
            return Ok(held(action, "ForeignOwner", &message));
        }
    };
    let mut payload = payload;
    without(&mut payload, &leaves_out);
    let action = &Action { yields: action.yields.clone().without_some(&leaves_out), ..action.clone() };
    let (body, is_partial) = (payload.to_value(), action.yields.is_partial());
    let request = ApplyRequest { ownership, body, is_partial, ..request };
    let answer = target.apply(&request).await?;
    kept(action, (&request, answer), (target, hidden), short(&note)).await
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Keeper, accepted, action, sent};
    use super::*;
    use crate::model::ConflictPolicy;
    use crate::plan::{Force, Verb};
    use crate::target::scripted::Scripted;

    fn conflict(manager: &str) -> Result<Written, Refusal> {
        let field = FieldConflict { field: ".spec.replicas".into(), manager: manager.into() };
        Err(Refusal::new(RefusalKind::Conflict(vec![field]), "apply Deployment/a: conflict"))
    }

    async fn check(
        force: Force,
        answers: Vec<Result<Written, Refusal>>,
        expected: (Effect, &str),
        expected_sent: &[Ownership],
    ) {
        let target = Scripted { applies: std::sync::Mutex::new(answers.into()), ..Scripted::default() };
        let outcome = sent(&action(force), &target, &Keeper::default()).await;
        assert_eq!((outcome.effect, outcome.message.as_str()), expected);
        assert_eq!(*target.sent.lock().unwrap(), expected_sent);
    }

    #[tokio::test]
    async fn what_somebody_made_since_the_plan_is_left_alone() {
        let target = Scripted { applies: std::sync::Mutex::new([conflict("helm")].into()), ..Scripted::default() };
        let outcome = sent(&Action { uid: None, ..action(Force::No) }, &target, &Keeper::default()).await;
        let said = "apply Deployment.apps n/a: it was not there, and helm made it meanwhile";
        assert_eq!((outcome.effect, outcome.message.as_str()), (Effect::Failed, said));
        assert_eq!(*target.sent.lock().unwrap(), [Ownership::Respect]);
    }

    #[tokio::test]
    async fn fields_of_people_are_taken_over_with_a_note_and_those_of_tools_are_left() {
        use Ownership::{Respect, Take};
        let note = "takes spec.replicas over from kubectl-edit";
        check(Force::No, vec![conflict("kubectl-edit"), accepted()], (Effect::Configured, note), &[Respect, Take])
            .await;
        let flux = "Deployment/a belongs to Flux: kustomize-controller holds fields of it";
        check(Force::No, vec![conflict("kustomize-controller")], (Effect::Blocked, flux), &[Respect]).await;
        check(Force::No, vec![accepted()], (Effect::Configured, ""), &[Respect]).await;
    }

    #[tokio::test]
    async fn what_is_left_to_a_program_is_told_as_long_as_it_lasts_and_what_is_held_back_is_not_sent_again() {
        let answers = || std::sync::Mutex::new([conflict("tuner"), accepted()].into());
        let with = |policy: ConflictPolicy| {
            let mut action = action(Force::No);
            let payload = serde_json::json!({"metadata": {"name": "a"}, "spec": {"replicas": 1}});
            action.verb = Verb::Apply { payload: Object::from_value(payload).unwrap(), force: Force::No };
            Action { yields: plan::Yields::default().with_conflicts(policy), ..action }
        };
        let target = Scripted { applies: answers(), ..Scripted::default() };
        let left = sent(&with(ConflictPolicy::Yield), &target, &Keeper::default()).await;
        assert_eq!((left.effect, left.message.as_str()), (Effect::Configured, "leaves fields to tuner"));
        assert_eq!(left.observed.unwrap().fields, "");
        assert_eq!(*target.sent.lock().unwrap(), [Ownership::Respect, Ownership::Respect]);
        let target = Scripted { applies: answers(), ..Scripted::default() };
        let held = sent(&with(ConflictPolicy::Block), &target, &Keeper::default()).await;
        let said = "fields of Deployment/a are held by others: spec.replicas by tuner";
        assert_eq!(
            (held.effect, held.reason.as_str(), held.message.as_str()),
            (Effect::Blocked, "FieldConflict", said)
        );
        assert_eq!(*target.sent.lock().unwrap(), [Ownership::Respect]);
    }

    #[tokio::test]
    async fn a_conflict_of_a_forced_apply_is_a_failure() {
        let failed = (Effect::Failed, "apply Deployment/a: conflict");
        check(Force::Yes, vec![conflict("kubectl-edit")], failed, &[Ownership::Take]).await;
    }

    #[tokio::test]
    async fn entries_of_a_version_that_is_gone_are_renewed_once() {
        let old = || Err(Refusal::new(RefusalKind::OldEntries, "no"));
        let entry = |version: &str| serde_json::json!({"manager": "other", "apiVersion": version, "fieldsV1": {}});
        let live = serde_json::json!({"metadata": {"uid": "old", "resourceVersion": "5", "managedFields": [entry("apps/v1beta1")]}});
        let target = |answers: Vec<Result<Written, Refusal>>| Scripted {
            applies: std::sync::Mutex::new(answers.into()),
            objects: [(action(Force::No).object, Ok(Object::from_value(live.clone()).unwrap()))].into(),
            ..Scripted::default()
        };
        let renewed = target(vec![old(), accepted()]);
        assert_eq!(sent(&action(Force::No), &renewed, &Keeper::default()).await.effect, Effect::Configured);
        let patched = renewed.patched.lock().unwrap().clone();
        assert_eq!((patched.len(), &patched[0][2]["value"]), (1, &serde_json::json!([entry("apps/v1")])));
        let in_vain = target(vec![old(), old()]);
        assert_eq!(sent(&action(Force::No), &in_vain, &Keeper::default()).await.effect, Effect::Failed);
        assert_eq!(in_vain.sent.lock().unwrap().len(), 2);
    }
}
