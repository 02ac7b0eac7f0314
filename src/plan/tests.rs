//! Pure. Every rule of the planner as a sentence: a snapshot, and the text that a person would read.

mod contested;
mod deletion;
mod drift;
mod extra;
mod grounds;
mod hooks;
mod laws;
mod ownership;
mod recorded;
mod volumes;
mod waves;
pub(in crate::plan) mod world;
mod writes;

use super::{display, lint, plan};
use world::World;

/// Plans a world and compares the text; runs of spaces count as one.
#[track_caller]
pub(in crate::plan) fn check(world: &World, expected: &[&str]) {
    let planned = plan(&world.snapshot);
    assert_eq!(lint(&world.snapshot, &planned), Vec::<String>::new());
    assert_eq!(plan(&world.snapshot), planned, "one snapshot gave two plans");
    let text: Vec<String> =
        display(&planned).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(text, expected);
}

/// Plans a world and compares the health, as `state` or `state: reason`.
#[track_caller]
fn check_health(world: &World, expected: &str) {
    let health = plan(&world.snapshot).health;
    let state = format!("{:?}", health.state).to_lowercase();
    let text = if health.reason.is_empty() { state } else { format!("{state}: {}", health.reason) };
    assert_eq!(text, expected);
}
