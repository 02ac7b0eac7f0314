//! Tests of several modules together, in one program because linking is dear.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test ends at the first surprise")]

mod demo;
mod line;
mod sandbox;
mod scripts_api;
mod world;
