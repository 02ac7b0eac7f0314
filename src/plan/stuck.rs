//! Pure. Deletions of single objects that do not end: a person is told which finalizer holds them and who placed it.
//!
//! Not here: a namespace whose deletion does not end (`namespace`).

use std::time::Duration;

use super::action::{Blocked, Plan};
use super::namespace;
use super::snapshot::{NamespaceState, Snapshot};
use crate::base::Timestamp;
use crate::model::{Leaving, ObjectId};

/// Time that whoever serves a finalizer has before a person is told.
const LIMIT: Duration = Duration::from_secs(60);
/// Reason of what is held back so. It holds nothing else of the app back.
pub(super) const REASON: &str = "DeletionStuck";

/// Tells of deletions that do not end, and looks again when the time of one is over.
pub(super) fn report(snapshot: &Snapshot, plan: &mut Plan) {
    // What lies in a namespace that goes is told with the namespace.
    if matches!(snapshot.namespace_state, NamespaceState::Terminating(_)) {
        return;
    }
    let known = |id: &ObjectId| snapshot.inventory.get(id).is_some() && *id != namespace::id(&snapshot.namespace);
    for (id, live) in snapshot.live.iter().filter(|(id, _)| known(id)) {
        let Some(leaving) = live.leaving.as_ref().filter(|it| !it.finalizers.is_empty()) else { continue };
        let Ok(since) = Timestamp::parse(&leaving.since) else { continue };
        let due = since.plus(LIMIT);
        if due > snapshot.now {
            plan.wake_at = plan.wake_at.into_iter().chain([due]).min();
            continue;
        }
        // That it is being deleted is all that is known without this.
        plan.blocked.retain(|blocked| blocked.reason != "ObjectTerminating" || blocked.object.as_ref() != Some(id));
        plan.blocked.push(blocked(id, leaving));
    }
}

fn blocked(id: &ObjectId, leaving: &Leaving) -> Blocked {
    let Leaving { since, finalizers } = leaving;
    let home = if id.namespace.is_empty() { String::new() } else { format!(" -n {}", id.namespace) };
    let named: Vec<String> = finalizers.iter().map(ToString::to_string).collect();
    Blocked {
        object: Some(id.clone()),
        reason: REASON.into(),
        message: format!("{} is being deleted since {since} and held by {}", id.short(), named.join(" and ")),
        hint: format!("kubectl edit {}/{}{home}", id.kind.to_lowercase(), id.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Finalizer;
    use crate::plan::plan;
    use crate::plan::tests::check;
    use crate::plan::tests::world::{World, config};

    fn going(since: u64) -> World {
        let world = World::deployed(&[config("old", "1"), config("other", "1"), config("files", "1")]);
        let since = Timestamp(world.snapshot.now.0 - i64::try_from(since).unwrap() * 1_000_000).to_string();
        world.live("ConfigMap/old", |live| {
            live.terminating = true;
            let finalizer = |name: &str, placers: &[&str]| Finalizer {
                name: name.into(),
                placers: placers.iter().map(|&placer| placer.into()).collect(),
            };
            let finalizers = vec![finalizer("a.b/c", &["operator"]), finalizer("d", &[])];
            live.leaving = Some(Leaving { since, finalizers });
        })
    }

    #[test]
    fn a_deletion_that_does_not_end_is_told_after_a_minute_and_holds_nothing_back() {
        let early = going(59).drops("ConfigMap/old").drops("ConfigMap/other");
        let planned = plan(&early.snapshot);
        assert_eq!(planned.wake_at, Some(early.snapshot.now.plus(Duration::from_secs(1))));
        assert!(planned.blocked.is_empty());
        let late = going(60).drops("ConfigMap/old").drops("ConfigMap/other");
        let since = late.snapshot.live.values().find_map(|live| live.leaving.clone()).unwrap().since;
        let told = format!(
            "! DeletionStuck: ConfigMap/old is being deleted since {since} and held by finalizer a.b/c, placed by operator and finalizer d, \
             placed by nobody that the cluster knows (try: kubectl edit configmap/old -n blog)"
        );
        check(
            &late,
            &["- ConfigMap other no longer in ccccccc", &told, "… ConfigMap/old is being deleted", "= 2 unchanged"],
        );
        // One that is wanted again waits for that as well.
        assert_eq!(plan(&going(60).snapshot).blocked.len(), 1);
        assert_eq!(plan(&going(59).snapshot).blocked[0].reason, "ObjectTerminating");
    }
}
