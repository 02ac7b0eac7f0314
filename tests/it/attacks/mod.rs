//! What strangers tried, and what they would try next: one file for each sort of attack, with its variations over versions, pushes and apps,
//! on real git, the real daemon and the sandbox.
//!
//! Not here: mistakes of people (`bad_input`), trouble of machines (`faults`).

mod brakes;
mod consent;
mod copies;
mod credentials;
mod directories;
mod grants;
mod identities;
mod leaks;
mod local;
mod locks;
mod looked;
mod masks;
mod metadata;
mod modes;
mod names;
mod namespaces;
mod object_names;
mod objects;
mod privileges;
mod readers;
mod refs;
mod replies;
mod rewinds;
mod signed;
mod superseded;
mod unwatched;
