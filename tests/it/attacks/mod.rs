//! What strangers tried, and what they would try next: one file for each sort of attack, with its variations over versions, pushes and apps.
//!
//! Not here: single bad files (`bad_input`).

mod metadata;
mod namespaces;
