//! Pure. Decides: a `Snapshot` of one app goes in, a `Plan` comes out. No clock, no target, no secret value.
//!
//! Not here: reading (`observe`), doing (`apply`), remembering (`record`).

mod action;
pub mod apply_set;
pub mod fields;
pub mod hash;
pub mod marks;
pub mod owner;
mod snapshot;

pub use action::{Action, Blocked, DriftItem, DriftKind, Force, Plan, Propagation, Verb, Verdict, WakeOn};
pub use snapshot::{
    Ask, Desired, DesiredObject, Existing, Freshness, Live, NamespaceState, Owner, Policy, Presence, RequirementState,
    Snapshot, TargetState,
};
