//! Pure. Decides: a `Snapshot` of one app goes in, a `Plan` comes out. No clock, no target, no secret value.
//!
//! `line` is the place to start: it calls one file per rule. Not here: reading (`observe`), doing (`apply`), remembering
//! (`record`).

mod action;
mod admission;
mod advice;
pub mod archive;
pub mod audit;
mod authored;
pub mod brakes;
mod budget;
mod cancel;
pub mod cascade;
mod conflict;
mod consent;
mod consumer;
mod contest;
pub mod copies;
pub mod depends;
mod display;
pub mod drift;
mod earlier;
mod editors;
mod entries;
mod extra;
pub mod fields;
mod fight;
mod grant;
pub mod ground;
pub mod hash;
pub mod hold;
pub mod hook;
pub mod kind;
mod line;
mod lint;
pub mod marks;
mod merged;
pub mod namespace;
mod order;
mod outlook;
mod overdue;
pub mod owner;
pub mod prune;
mod reach;
pub mod realm;
pub mod recovery;
mod recreate;
mod references;
mod refusal;
mod remove;
mod requirement;
pub mod restart;
mod secret;
mod size;
mod snapshot;
mod source;
mod stand;
mod stuck;
mod suspend;
pub mod volume;
mod wanted;
mod waves;
mod wellness;
mod write;
mod yields;

#[cfg(test)]
mod tests;

pub use action::{
    Action, Blocked, DriftItem, DriftKind, Extras, Force, Going, Plan, Propagation, Verb, Verdict, WakeOn,
};
pub use admission::{Altered, altered};
pub use advice::with_place;
pub use authored::notices;
pub use cancel::{HELD, held, is_anything_left};
pub use conflict::{ConflictVerdict, conflict_verdict};
pub use consent::unowned;
pub use consumer::unused_claims;
pub use contest::{FIELD_CONFLICT, held_by_others};
pub use display::display;
pub use earlier::strayed;
pub use editors::{sole_ownership, taken_additions, taken_leftovers};
pub use entries::in_one_version;
pub use fight::{Fight, Fights, fights_after};
pub use grant::adoptable;
pub use line::plan;
pub use lint::lint;
pub use merged::make_room;
pub use overdue::Underway;
pub use prune::dropped;
pub use reach::is_unseen;
pub use recreate::{Recreate, changed};
pub use snapshot::{
    Agreed, Ask, Claim, Correct, Desired, DesiredObject, Elsewhere, Ending, Existing, Freshness, Ground, Live,
    NamespaceState, Owner, Policy, Presence, Remnant, RequirementState, Snapshot, TargetState, UnapprovedGrants,
};
pub use stand::{Nowhere, Stand, stand};
pub use volume::{ClaimState, ClaimedVolume, Held, VolumeState};
pub use wellness::of_live;
pub use write::RERUN;
pub use yields::{Yields, without};
