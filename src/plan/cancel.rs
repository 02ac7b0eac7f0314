//! Pure. An app of which a person ended a deployment is watched and judged as ever, and the rest of it is not written until a person says so
//! or another revision of it comes.
//!
//! Not here: how long that lasts (`pipeline::cancel`), an app that is stopped on purpose beforehand (`suspend`).

use super::action::{Blocked, Plan};
use super::snapshot::Snapshot;
use super::suspend;
use crate::model::{AppName, Cancellation};

/// Code of what holds back an app whose deployment somebody ended.
pub const HELD: &str = "Held";

/// Takes every write out of the plan of an app that is held, unless a person asks for it in this pass.
pub(super) fn hold(snapshot: &Snapshot, plan: &mut Plan) {
    let Some(cancellation) = snapshot.cancelled.as_ref().filter(|_| !snapshot.ask.correct) else { return };
    suspend::stand_still(plan);
    plan.blocked.insert(0, held(&snapshot.app, cancellation));
}

/// Returns what holds the app back, and what ends that.
pub fn held(app: &AppName, cancellation: &Cancellation) -> Blocked {
    let Cancellation { verb, said, .. } = cancellation;
    Blocked {
        object: None,
        reason: HELD.to_owned(),
        message: format!("{app} is held as it is: {verb} was {said}"),
        hint: format!("wild app deploy {app}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{Cancellation, OperationId, Suspension};
    use crate::plan::tests::check;
    use crate::plan::tests::world::{World, config};

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
        let plan = crate::plan::plan(&cancelled().with(|it| it.ask.correct = true).snapshot);
        assert_eq!((plan.actions.len(), plan.blocked.len()), (3, 0));
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
