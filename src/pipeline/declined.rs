//! Objects of which a target said that they cannot be as git has them: they are not sent again until something changes.
//!
//! Only what names a field is remembered, because time may end any other refusal: a quota, a right, a program that admits objects. A commit,
//! what somebody does to the app's objects and a person's word begin anew. Not here: what an app is told as (`state`).

use std::collections::{BTreeMap, BTreeSet};

use crate::apply::{Applied, REFUSED_FIELD};
use crate::model::{CommitId, Effect, ErrorClass, ObjectId, Outcome, Reason};
use crate::plan::Plan;

/// What a target refused last of an app.
#[derive(Clone, Debug)]
pub(super) struct Declined {
    /// The commit that was refused.
    pub(super) commit: CommitId,
    /// The answers, each with the hash of what was sent.
    objects: BTreeMap<ObjectId, (String, Outcome)>,
}

impl Declined {
    /// Returns what is to be remembered of a commit of which something was refused; `earlier` was not sent again.
    pub(super) fn of(commit: &CommitId, plan: &Plan, applied: &Applied, earlier: Option<&Self>) -> Self {
        let hash = |id: &ObjectId| plan.actions.iter().find(|action| action.object == *id).map(|it| it.hash.clone());
        let known = |id: &ObjectId| Some(earlier?.objects.get(id)?.0.clone());
        let refused = applied.failed().filter(|outcome| outcome.reason == REFUSED_FIELD);
        let objects = refused.filter_map(|outcome| {
            let id = &outcome.object;
            Some((id.clone(), (hash(id).or_else(|| known(id))?, outcome.clone())))
        });
        Self { commit: commit.clone(), objects: objects.collect() }
    }

    /// Takes out of a plan what would be refused again, with what needs it; returns their outcomes. Only the clock has to wait for news.
    pub(super) fn leave_out(&self, why: Reason, plan: &mut Plan) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        if !matches!(why, Reason::Scheduled | Reason::Retry) || self.commit != plan.commit {
            return outcomes;
        }
        let mut left: BTreeSet<usize> = BTreeSet::new();
        plan.actions.retain(|action| {
            let refused = self.objects.get(&action.object).filter(|(hash, _)| *hash == action.hash);
            let outcome = match refused {
                Some((_, outcome)) => outcome.clone(),
                None if action.after.iter().any(|id| left.contains(id)) => skipped(&action.object),
                None => return true,
            };
            left.insert(action.id);
            outcomes.push(outcome);
            false
        });
        renumber(plan);
        outcomes
    }
}

/// Numbers the actions that are left by their places in the plan, as others name them.
fn renumber(plan: &mut Plan) {
    let places: BTreeMap<usize, usize> =
        plan.actions.iter().enumerate().map(|(place, action)| (action.id, place)).collect();
    for (place, action) in plan.actions.iter_mut().enumerate() {
        action.id = place;
        action.after = action.after.iter().filter_map(|id| places.get(id).copied()).collect();
    }
}

fn skipped(object: &ObjectId) -> Outcome {
    Outcome {
        object: object.clone(),
        effect: Effect::Skipped,
        error: Some(ErrorClass::System),
        message: "what it needs was not applied".to_owned(),
        reason: String::new(),
        observed: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AppName, Object};
    use crate::plan::{Action, Extras, Force, Recreate, Verb, Yields};

    fn action(id: usize, name: &str, hash: &str, after: Vec<usize>) -> Action {
        Action {
            id,
            verb: Verb::Apply { payload: Object::default(), force: Force::No },
            object: ObjectId::new("", "ConfigMap", "blog", name),
            api_version: "v1".to_owned(),
            wave: 0,
            stage: 0,
            after,
            reason: String::new(),
            uid: None,
            hash: hash.to_owned(),
            source: String::new(),
            yields: Yields::default(),
            recreate: Recreate::Never("nobody said so"),
            extras: Extras::Leave,
        }
    }

    fn planned(commit: &str, actions: Vec<Action>) -> Plan {
        let nothing = Plan::nothing(AppName::parse("blog").unwrap(), CommitId::parse(&commit.repeat(40)).unwrap());
        Plan { actions, ..nothing }
    }

    fn plan(commit: &str, hash: &str) -> Plan {
        let actions =
            vec![action(0, "bad", hash, vec![]), action(1, "needs", "n", vec![0]), action(2, "fine", "f", vec![])];
        let last = action(3, "last", "l", vec![2]);
        planned(commit, actions.into_iter().chain([last]).collect())
    }

    fn declined(reason: &str) -> Declined {
        let plan = plan("a", "h");
        let refused = Outcome {
            effect: Effect::Failed,
            error: Some(ErrorClass::User),
            reason: reason.to_owned(),
            ..skipped(&plan.actions[0].object)
        };
        Declined::of(&plan.commit, &plan, &Applied { outcomes: vec![refused] }, None)
    }

    #[test]
    fn what_was_refused_is_not_sent_again_by_the_clock_until_something_changes() {
        let left = |declined: &Declined, why, mut plan: Plan| {
            let outcomes = declined.leave_out(why, &mut plan);
            let names: Vec<String> = plan.actions.iter().map(|action| action.object.name.clone()).collect();
            let numbers: Vec<_> = plan.actions.iter().map(|action| (action.id, action.after.clone())).collect();
            (outcomes.len(), names, numbers)
        };
        let declined = declined(REFUSED_FIELD);
        let (outcomes, names, numbers) = left(&declined, Reason::Scheduled, plan("a", "h"));
        assert_eq!((outcomes, names), (2, vec!["fine".to_owned(), "last".to_owned()]));
        assert_eq!(numbers, [(0, vec![]), (1, vec![0])]);
        for (why, plan) in [
            (Reason::Scheduled, plan("b", "h")),
            (Reason::Scheduled, plan("a", "other")),
            (Reason::Drift, plan("a", "h")),
            (Reason::Request, plan("a", "h")),
        ] {
            assert_eq!(left(&declined, why, plan).0, 0, "{why:?}");
        }
        // Time may end what names no field.
        assert_eq!(left(&self::declined(""), Reason::Scheduled, plan("a", "h")).0, 0);
    }

    #[test]
    fn what_was_not_sent_again_is_remembered_on() {
        let (first, mut again) = (declined(REFUSED_FIELD), plan("a", "h"));
        let outcomes = first.leave_out(Reason::Scheduled, &mut again);
        let second = Declined::of(&again.commit, &again, &Applied { outcomes }, Some(&first));
        assert_eq!(second.leave_out(Reason::Scheduled, &mut plan("a", "h")).len(), 2);
    }
}
