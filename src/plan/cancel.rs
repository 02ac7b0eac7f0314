//! Pure. An app of which a person ended a deployment is watched and judged as ever, and the rest of it is not written until a person says so
//! or another revision of it comes.
//!
//! Not here: how long that lasts (`pipeline::cancel`), an app that is stopped on purpose beforehand (`suspend`).

use std::collections::BTreeSet;

use super::action::{Blocked, Plan, WakeOn};
use super::snapshot::{Presence, Snapshot};
use super::suspend;
use crate::model::{Cancellation, Effect, ObjectId, Outcome};

/// Code of what holds back an app whose deployment somebody ended.
pub const HELD: &str = "Held";

/// Takes every write out of the plan of an app that is held, unless a person asks for it in this pass.
pub(super) fn hold(snapshot: &Snapshot, plan: &mut Plan) {
    let Some(cancellation) = snapshot.cancelled.as_ref().filter(|_| !snapshot.ask.correct.is_all()) else { return };
    suspend::stand_still(plan);
    let blocked = held(snapshot, cancellation, &plan.digest);
    plan.blocked.insert(0, blocked);
}

/// Returns what holds the app back, and what ends that; `digest` is that of what it deletes.
pub fn held(snapshot: &Snapshot, cancellation: &Cancellation, digest: &str) -> Blocked {
    let (app, Cancellation { verb, said, .. }) = (&snapshot.app, cancellation);
    let hint = match snapshot.presence {
        // Nobody deploys what is not in the tree.
        Presence::RemovedKeepingData => format!("wild app delete {app}"),
        Presence::RemovedWithData => format!("wild app delete {app} --delete-data"),
        Presence::Vanished => format!("wild app deploy {app} --prune --plan {digest}"),
        Presence::Kept | Presence::Added | Presence::Moves => format!("wild app deploy {app}"),
    };
    Blocked {
        object: None,
        reason: HELD.to_owned(),
        message: format!("{app} is held as it is: {verb} was {said}"),
        hint,
    }
}

/// Returns whether anything is left to do of what a plan was on the way to, after these outcomes: in this pass or in one that follows from it.
pub fn is_anything_left(snapshot: &Snapshot, plan: &Plan, outcomes: &[Outcome]) -> bool {
    let is_open = |it: &Outcome| matches!(it.effect, Effect::Failed | Effect::Skipped | Effect::Blocked);
    if outcomes.iter().any(is_open) || !plan.blocked.is_empty() || !plan.later.is_empty() {
        return true;
    }
    match snapshot.presence {
        Presence::Added => false,
        // What goes next waits until something else is gone.
        Presence::Kept => plan.wake_on.iter().any(|event| matches!(event, WakeOn::Gone(_))),
        // Where it is to be, it comes after it is gone from here.
        Presence::Moves => true,
        Presence::Vanished | Presence::RemovedKeepingData | Presence::RemovedWithData => {
            let actions = plan.actions.iter().map(|action| &action.object);
            let done: BTreeSet<&ObjectId> = actions.chain(&plan.forgotten).chain(&plan.leaving).collect();
            let all = snapshot.inventory.records().chain(&plan.recovered);
            all.map(|record| &record.id).any(|id| !done.contains(id))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_anything_left;
    use crate::model::{Cancellation, Effect, OperationId, Outcome, Suspension};
    use crate::plan::tests::check;
    use crate::plan::tests::world::{World, config, custom};
    use crate::plan::{Correct, Presence};

    fn cancelled() -> World {
        let world = World::deployed(&[config("files", "1"), config("gone", "1")]).loses("ConfigMap/gone");
        let cancellation = Cancellation {
            operation: OperationId("op_deploy_app_blog_1".into()),
            verb: "deploy".into(),
            said: "cancelled by ann: too slow".into(),
            revision: None,
        };
        let world = world.drops("ConfigMap/files").wants(&config("files", "2")).wants(&config("new", "1"));
        world.with(|it| it.cancelled = Some(cancellation))
    }

    #[test]
    fn the_rest_of_what_was_cancelled_is_not_written_and_its_drift_is_shown() {
        check(
            &cancelled(),
            &[
                "* ConfigMap/gone is gone, left as it is",
                "! Held: blog is held as it is: deploy was cancelled by ann: too slow (try: wild app deploy blog)",
                "= 1 unchanged",
            ],
        );
    }

    #[test]
    fn a_persons_word_writes_it() {
        let plan = crate::plan::plan(&cancelled().with(|it| it.ask.correct = Correct::All).snapshot);
        assert_eq!((plan.actions.len(), plan.blocked.len()), (3, 0));
    }

    #[test]
    fn what_ends_it_is_what_the_app_takes_in_its_revision() {
        let hint = |presence| {
            let world = cancelled().with(|it| it.presence = presence);
            crate::plan::plan(&world.snapshot).blocked.swap_remove(0).hint
        };
        assert_eq!(hint(Presence::RemovedKeepingData), "wild app delete blog");
        assert_eq!(hint(Presence::RemovedWithData), "wild app delete blog --delete-data");
        let vanished = hint(Presence::Vanished);
        assert!(
            vanished.strip_prefix("wild app deploy blog --prune --plan ").is_some_and(|it| it.len() == 16),
            "{vanished}"
        );
        assert_eq!(hint(Presence::Moves), "wild app deploy blog");
    }

    /// Returns whether anything is left when a plan was carried out, all of it or all but its last action.
    fn left(world: &World) -> (bool, bool) {
        let plan = crate::plan::plan(&world.snapshot);
        let mut outcomes: Vec<Outcome> = plan
            .actions
            .iter()
            .map(|action| Outcome {
                object: action.object.clone(),
                effect: Effect::Configured,
                error: None,
                message: String::new(),
                reason: String::new(),
                observed: None,
            })
            .collect();
        let all = is_anything_left(&world.snapshot, &plan, &outcomes);
        outcomes.last_mut().unwrap().effect = Effect::Skipped;
        (all, is_anything_left(&world.snapshot, &plan, &outcomes))
    }

    #[test]
    fn something_is_left_until_the_last_request_of_the_last_pass_is_sent() {
        let deployed = || World::deployed(&[config("files", "1")]);
        assert_eq!(left(&deployed().drops("ConfigMap/files").wants(&config("files", "2"))), (false, true));
        let goes = |presence, world: World| left(&world.with(|it| it.presence = presence));
        // What serves a custom resource goes after it.
        let served = World::deployed(&[config("files", "1"), custom("Widget", "one")]);
        assert_eq!(goes(Presence::RemovedWithData, served), (true, true));
        assert_eq!(goes(Presence::RemovedWithData, deployed()), (false, true));
        assert_eq!(goes(Presence::RemovedKeepingData, deployed()), (false, true));
        // It goes from one cluster and is on its way to another.
        let agreed = crate::plan::plan(&deployed().with(|it| it.presence = Presence::Moves).snapshot).digest;
        assert_eq!(goes(Presence::Moves, deployed().with(|it| it.ask.approve = Some(agreed))), (true, true));
    }

    #[test]
    fn one_that_is_suspended_as_well_says_that_first() {
        let suspension = Suspension { reason: String::new(), until: String::new() };
        let both = cancelled().with(|it| it.policy.suspend = Some(suspension.clone()));
        let plan = crate::plan::plan(&both.snapshot);
        let reasons: Vec<&str> = plan.blocked.iter().map(|blocked| blocked.reason.as_str()).collect();
        assert_eq!((reasons, plan.actions.len()), (vec!["Suspended", "Held"], 0));
    }
}
