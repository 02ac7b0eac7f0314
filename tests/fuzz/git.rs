//! The checks of git's objects, which are pure. Their module has a file of its own, as a path is looked for beside that.
//!
//! Not here: the other pure modules (`pure.rs`).

#[path = "../../src/git/checks/mod.rs"]
pub mod checks;
