//! Pure. A target that does not answer stops everything: what it holds is not known, and not knowing is not absence.
//!
//! Not here: probing it (`observe`).

use super::action::{Blocked, WakeOn};
use super::snapshot::{Snapshot, TargetState};

/// Returns why nothing can be sent.
pub(super) fn unreachable(snapshot: &Snapshot) -> Option<(Blocked, WakeOn)> {
    let TargetState::Unreachable { since, why } = &snapshot.target else { return None };
    let because = if why.is_empty() { String::new() } else { format!(": {why}") };
    let blocked = Blocked {
        object: None,
        reason: "TargetUnreachable".into(),
        message: format!(
            "{} has not answered since {since}{because}; it is asked again every few seconds",
            snapshot.cluster.in_short()
        ),
        hint: format!("wild app wait {}", snapshot.app),
    };
    Some((blocked, WakeOn::Target(snapshot.cluster.clone())))
}
