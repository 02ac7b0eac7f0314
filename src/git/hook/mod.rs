//! What git runs in a repository that people push to: the checks before a ref moves, and the scripts that call them.
//!
//! Not here: the command that a script calls (`cli`), who may push (`http`).

mod inspect;
mod install;
mod receive;

pub use inspect::{HookFault, Inspected, inspect};
pub use install::{Installed, install, install_in_clone, remove_from_clone};
pub use receive::{ID_RULE, Intake, RefUpdate, Refusal, Rewind, check};
