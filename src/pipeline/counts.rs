//! What passes did, counted since the daemon began: objects by effect, deletions, differences, operations.
//!
//! Labels are words of ours, never names. Not here: who shows it (`daemon::metrics`).

use std::collections::BTreeMap;

use super::{Instance, lock};
use crate::apply::Applied;
use crate::model::{AppState, Effect, Operation, OperationState};
use crate::plan::{DriftKind, Plan, Verb, Verdict};

/// What passes of one instance did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Objects by what happened to them.
    pub effects: BTreeMap<&'static str, u64>,
    /// Deletions by how they ended.
    pub pruned: BTreeMap<&'static str, u64>,
    /// Differences by their sort: each when it is put back, or told for the first time.
    pub drift: BTreeMap<&'static str, u64>,
    /// Operations that ended, by verb and result.
    pub operations: BTreeMap<(String, &'static str), u64>,
}

impl Counts {
    /// Takes in what a pass did; `before` is what was known of the app when it began.
    fn take_in(&mut self, plan: &Plan, applied: &Applied, before: Option<&AppState>) {
        for outcome in &applied.outcomes {
            *self.effects.entry(word(outcome.effect)).or_default() += 1;
            let is_deletion = |verb: &Verb| matches!(verb, Verb::Delete { .. });
            if plan.actions.iter().any(|action| action.object == outcome.object && is_deletion(&action.verb)) {
                *self.pruned.entry(word(outcome.effect)).or_default() += 1;
            }
        }
        let is_new = |item: &&crate::plan::DriftItem| {
            let is_known = before.is_some_and(|state| state.drift.iter().any(|it| it.object == item.object));
            item.verdict == Verdict::Revert || !is_known
        };
        for item in plan.drift.iter().filter(is_new) {
            *self.drift.entry(sort(item.kind)).or_default() += 1;
        }
    }

    fn end(&mut self, verb: &str, state: OperationState) {
        let result = match state {
            OperationState::Succeeded => "succeeded",
            OperationState::Failed => "failed",
            OperationState::Cancelled => "cancelled",
            OperationState::Interrupted => "interrupted",
            OperationState::Waiting | OperationState::Running => return,
        };
        *self.operations.entry((verb.to_owned(), result)).or_default() += 1;
    }
}

impl Instance {
    /// Returns what its passes did since the daemon began.
    pub fn counts(&self) -> Counts {
        lock(&self.counts).clone()
    }
}

/// Counts what a pass did.
pub(super) fn pass(instance: &Instance, plan: &Plan, applied: &Applied, before: Option<&AppState>) {
    lock(&instance.counts).take_in(plan, applied, before);
}

/// Counts an operation that has ended, and tells who watches it.
pub(super) fn ended(instance: &Instance, operation: &Operation) {
    instance.bus.operation_changed();
    lock(&instance.counts).end(&operation.verb, operation.state);
}

fn word(effect: Effect) -> &'static str {
    match effect {
        Effect::Created => "created",
        Effect::Configured => "configured",
        Effect::Unchanged => "unchanged",
        Effect::Deleted => "deleted",
        Effect::Recreated => "recreated",
        Effect::Adopted => "adopted",
        Effect::Skipped => "skipped",
        Effect::Blocked => "blocked",
        Effect::Failed => "failed",
    }
}

fn sort(kind: DriftKind) -> &'static str {
    match kind {
        DriftKind::Changed => "changed",
        DriftKind::Extra => "extra",
        DriftKind::Removed => "removed",
        DriftKind::Bookkeeping => "bookkeeping",
        DriftKind::Missing => "missing",
        DriftKind::Replaced => "replaced",
        DriftKind::OwnershipLost => "ownership-lost",
        DriftKind::AuditMismatch => "audit-mismatch",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_counts_when_it_has_ended() {
        let mut counts = Counts::default();
        for state in [OperationState::Waiting, OperationState::Running, OperationState::Failed] {
            counts.end("deploy", state);
        }
        counts.end("deploy", OperationState::Failed);
        assert_eq!(counts.operations, [(("deploy".to_owned(), "failed"), 2)].into());
    }
}
