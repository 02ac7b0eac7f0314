//! Pure. A suspended app is watched and judged as ever, and nothing of it is written until a person resumes it or its time is over.
//!
//! Not here: putting it into the settings (`compile::suspend`).

use super::action::{Blocked, DriftItem, Plan, Verdict};
use super::snapshot::Snapshot;
use crate::base::Timestamp;

/// Takes every write out of the plan of a suspended app; what differs is shown.
pub(super) fn hold(snapshot: &Snapshot, plan: &mut Plan) {
    let Some(suspension) = &snapshot.policy.suspend else { return };
    let until = Timestamp::parse(&suspension.until).ok();
    if until.is_some_and(|until| until <= snapshot.now) {
        return;
    }
    stand_still(plan);
    let until_text = if suspension.until.is_empty() { String::new() } else { format!(" until {}", suspension.until) };
    let why = if suspension.reason.is_empty() { String::new() } else { format!(": {}", suspension.reason) };
    let blocked = Blocked {
        object: None,
        reason: "Suspended".into(),
        message: format!("{} is suspended{until_text}{why}", snapshot.app),
        hint: format!("wild app resume {}", snapshot.app),
    };
    // A person's stop is what is told first.
    plan.blocked.insert(0, blocked);
    plan.wake_at = match (plan.wake_at, until) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
}

/// Takes every write out of a plan; what differs is only told.
pub(super) fn stand_still(plan: &mut Plan) {
    plan.actions.clear();
    plan.later.clear();
    plan.jobs.clear();
    for item in &mut plan.drift {
        *item = DriftItem { verdict: Verdict::Report, ..item.clone() };
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Suspension;
    use crate::plan::plan;
    use crate::plan::tests::check;
    use crate::plan::tests::world::{World, config};

    fn suspended(until: &str) -> World {
        let world = World::deployed(&[config("files", "1"), config("gone", "1")]).loses("ConfigMap/gone");
        let suspension = Suspension { reason: "the disk is full".into(), until: until.into() };
        world.drops("ConfigMap/files").wants(&config("files", "2")).with(|it| it.policy.suspend = Some(suspension))
    }

    #[test]
    fn nothing_of_a_suspended_app_is_written_and_its_drift_is_shown() {
        check(
            &suspended(""),
            &[
                "* ConfigMap/gone is gone, left as it is",
                "! Suspended: blog is suspended: the disk is full (try: wild app resume blog)",
                "= 1 unchanged",
            ],
        );
    }

    #[test]
    fn a_suspension_ends_by_itself_when_its_time_is_over() {
        let later = plan(&suspended("2026-11-21T13:00:00Z").snapshot);
        assert!(later.actions.is_empty());
        assert_eq!(later.wake_at.map(|at| at.to_string()).as_deref(), Some("2026-11-21T13:00:00Z"));
        assert_eq!(plan(&suspended("2026-11-21T12:00:00Z").snapshot).actions.len(), 2);
    }
}
