//! Server-side apply: who owns which field of an object.
//!
//! Not here: requests and storage (`write.rs`), the shapes of kinds (`schema`).

mod apply;
mod managers;
mod set;
mod typed;

pub(crate) use apply::{Applied, Conflict, Conflicts, Refused, apply, track_update};
pub(crate) use managers::same_but_for_times;
pub(crate) use set::FieldSet;
