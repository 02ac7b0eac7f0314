//! Whose the namespaces are that an app wants to write into, where neither a grant nor what is known already says that it may.
//!
//! One request for each. Not here: what follows from it (`plan::ground`).

use super::live::{Seen, seen};
use crate::plan::marks::Identity;
use crate::plan::{Ground, Snapshot, TargetState, ground, namespace};
use crate::target::{Refusal, Target};

/// Namespaces that are looked at in one pass; an app that names more is let into none of the others.
const MAX_LOOKS: usize = 20;

/// Looks at the namespaces that are in doubt.
pub(super) async fn fill(snapshot: &mut Snapshot, target: &dyn Target) -> Result<(), Refusal> {
    if snapshot.target != TargetState::Reachable {
        return Ok(());
    }
    for name in ground::doubtful(snapshot).into_iter().take(MAX_LOOKS) {
        let id = namespace::id(&name);
        let ground = match seen(target.metadata(&id, "v1").await)? {
            Seen::Answer(None) => Ground::Missing,
            Seen::Answer(Some(object)) => {
                let identity =
                    Identity { instance: &snapshot.instance, app: &snapshot.app, apply_set: &snapshot.apply_set };
                ground::of_live(&object, identity, snapshot.inventory.get(&id))
            }
            Seen::Refused(why) => Ground::Unseen(why),
        };
        snapshot.grounds.insert(name, ground);
    }
    Ok(())
}
