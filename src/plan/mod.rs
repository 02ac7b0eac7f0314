//! Pure. Decides: a `Snapshot` of one app goes in, a `Plan` comes out. No clock, no target, no secret value.
//!
//! `line` is the place to start: it calls one file per rule. Not here: reading (`observe`), doing (`apply`), remembering
//! (`record`).

mod action;
pub mod apply_set;
pub mod audit;
mod budget;
mod conflict;
mod consent;
mod display;
mod drift;
pub mod fields;
mod fight;
mod grant;
pub mod hash;
pub mod hook;
pub mod kind;
mod line;
mod lint;
pub mod marks;
pub mod namespace;
mod order;
pub mod owner;
mod prune;
mod reach;
mod recreate;
mod references;
mod refusal;
mod remove;
mod requirement;
pub mod restart;
mod secret;
mod snapshot;
mod source;
mod suspend;
mod wanted;
mod waves;
mod wellness;
mod write;
mod yields;

#[cfg(test)]
mod tests;

pub use action::{Action, Blocked, DriftItem, DriftKind, Force, Plan, Propagation, Verb, Verdict, WakeOn};
pub use conflict::{ConflictVerdict, conflict_verdict};
pub use display::display;
pub use fight::{Fight, fights_after};
pub use line::plan;
pub use lint::lint;
pub use recreate::Recreate;
pub use snapshot::{
    Ask, Desired, DesiredObject, Elsewhere, Ending, Existing, Freshness, Live, NamespaceState, Owner, Policy, Presence,
    RequirementState, Snapshot, TargetState,
};
pub use yields::{Yields, without};
