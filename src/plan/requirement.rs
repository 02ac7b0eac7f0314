//! Pure. An app changes only while each app it requires is deployed (seed S2: a failing requirement locks its dependents).
//!
//! What is applied already stays and is kept as it is. Not here: what deployed means (`observe` says why one is not).

use super::action::{Blocked, WakeOn};
use super::snapshot::{RequirementState, Snapshot};

/// Returns the requirements that are not met.
pub(super) fn unmet(snapshot: &Snapshot) -> Vec<(Blocked, WakeOn)> {
    snapshot.requirements.iter().filter_map(blocked).collect()
}

fn blocked(requirement: &RequirementState) -> Option<(Blocked, WakeOn)> {
    let reference = &requirement.reference;
    let (message, hint, wake_on) = match (&requirement.app, &requirement.waits) {
        (Some(_), None) => return None,
        (Some(app), Some(why)) => (
            format!("it requires {}, which {why}", named(reference, app.as_str())),
            format!("wild app status {app}"),
            WakeOn::App(app.clone()),
        ),
        (None, _) => (
            format!("it requires {reference}, which no app satisfies"),
            format!("wild app add {reference}"),
            WakeOn::Revision,
        ),
    };
    Some((Blocked { object: None, reason: "RequirementNotReady".into(), message, hint }, wake_on))
}

fn named(reference: &str, app: &str) -> String {
    if reference == app { app.to_owned() } else { format!("{reference} → {app}") }
}
