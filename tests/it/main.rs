//! Tests of several modules together, in one program because linking is dear.

mod line;
mod scripts_api;
mod world;
