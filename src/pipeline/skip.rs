//! Steps of the line that a test switches off, to see that somebody notices.
//!
//! `WILD_SKIP_STEP` names one of the nine steps; it then does nothing. In builds with debug assertions only, which is what tests run: in a
//! release every step is done.
//!
//! Not here: the test (`tests/it/steps.rs`).

use crate::plan::Plan;

/// Returns the plan, or one that does nothing if that step is switched off.
pub(super) fn emptied(mut plan: Plan) -> Plan {
    if skips("plan") {
        plan.actions.clear();
    }
    plan
}

/// Returns whether this step does nothing.
#[cfg(debug_assertions)]
pub(super) fn skips(step: &str) -> bool {
    std::env::var("WILD_SKIP_STEP").as_deref() == Ok(step)
}

/// Returns no.
#[cfg(not(debug_assertions))]
pub(super) fn skips(_step: &str) -> bool {
    false
}
