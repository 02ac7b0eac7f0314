//! Pure. A target that does not answer stops everything: what it holds is not known, and not knowing is not absence.
//!
//! Not here: probing it (`observe`).

use super::action::{Blocked, WakeOn};
use super::snapshot::{Snapshot, TargetState};

/// Reason of a block: the cluster does not answer.
const UNREACHABLE: &str = "TargetUnreachable";
/// Reason of a block: the cluster is another one than it was.
const ELSEWHERE: &str = "ClusterElsewhere";

/// Returns whether a reason of a block says that nothing is known of what stands in the cluster.
pub fn is_unseen(reason: &str) -> bool {
    matches!(reason, UNREACHABLE | ELSEWHERE)
}

/// Returns why nothing can be sent.
pub(super) fn unreachable(snapshot: &Snapshot) -> Option<(Blocked, WakeOn)> {
    let name = snapshot.cluster.in_short();
    let (reason, message, hint) = match &snapshot.target {
        TargetState::Reachable => return None,
        TargetState::Unreachable { since, why } => {
            let because = if why.is_empty() { String::new() } else { format!(": {why}") };
            let message =
                format!("{name} has not answered since {since}{because}; it is asked again every few seconds");
            (UNREACHABLE, message, format!("wild app wait {}", snapshot.app))
        }
        TargetState::Elsewhere { why } => {
            let message = format!("the kubeconfig leads to another cluster than {name}, so nothing is written: {why}");
            (ELSEWHERE, message, format!("wild cluster accept {}", snapshot.cluster.as_str()).trim_end().into())
        }
    };
    let blocked = Blocked { object: None, reason: reason.into(), message, hint };
    Some((blocked, WakeOn::Target(snapshot.cluster.clone())))
}
