//! Tests of several modules together, in one program because linking is dear.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test ends at the first surprise")]

mod answers;
mod attacks;
mod bad_input;
mod both;
mod canary;
mod children;
mod clusters;
mod commits;
mod demo;
mod faults;
mod fleet;
mod fuzz;
mod help;
mod input;
mod line;
mod machine;
mod merge_file;
mod partial;
mod proxy;
mod sandbox;
mod scripts_api;
mod simulation;
mod steps;
mod tour;
mod weather;
mod world;
