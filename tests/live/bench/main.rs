//! Benches of the `wild` binary on a real control plane, run by hand:
//!
//! ```text
//! for line in $(tests/parts/build); do part=${line%%=*}; export "WILD_PART_${part^^}=${line#*=}"; done
//! cargo bench --bench cluster -- [install|life|recovery|growth|targets]...
//! ```
//!
//! Every figure is printed with its count, median and spread, and what we do is set against what others do in the same run, because only
//! such ratios mean anything on another machine. `WILD_BENCH_APPS` (1000), `WILD_BENCH_ROUNDS` (3), `WILD_BENCH_COMMITS` (50),
//! `WILD_BENCH_EDITS` (200), `WILD_BENCH_IDLE` (20 seconds), `WILD_BENCH_LARGEST` (10000, of `growth`) and `WILD_BENCH_TARGETS` (100, of
//! `targets`) set the size; `growth` and `targets` need no parts. Nothing here asserts a time.
//!
//! Not here: packages and merges (`tests/bench`), limits on calls, reads and writes, which tests assert.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench prints what it found, and ends where something is amiss"
)]

mod client;
mod contenders;
mod daemon;
mod figures;
mod growth;
mod install;
mod instance;
mod life;
#[expect(dead_code, unused_imports, reason = "the tests use more of it than the benches")]
#[path = "../parts/mod.rs"]
mod parts;
mod recovery;
mod rig;
#[expect(dead_code, reason = "the parts count requests by their shape, and nothing else of it is used")]
#[path = "../../it/scripts_api/mod.rs"]
mod scripts_api;
mod targets;

use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

/// How large the benches are.
struct Size {
    /// Apps of the instance.
    apps: usize,
    /// Rounds of everything that starts on an empty cluster.
    rounds: usize,
    /// Commits that change one app.
    commits: usize,
    /// Edits of live objects.
    edits: usize,
    /// How long the idle daemon is watched.
    idle: Duration,
    /// Apps of the largest instance whose figures are set against those of smaller ones.
    largest: usize,
    /// Clusters of an instance that has many.
    targets: usize,
}

/// Runs and prints.
type Bench = fn(&Size);

fn main() -> ExitCode {
    let size = Size {
        apps: number("WILD_BENCH_APPS", 1_000),
        rounds: number("WILD_BENCH_ROUNDS", 3),
        commits: number("WILD_BENCH_COMMITS", 50),
        edits: number("WILD_BENCH_EDITS", 200),
        idle: Duration::from_secs(number("WILD_BENCH_IDLE", 20)),
        largest: number("WILD_BENCH_LARGEST", 10_000),
        targets: number("WILD_BENCH_TARGETS", 100),
    };
    // Cargo adds `--bench` to the arguments.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let benches: [(&str, Bench); 5] = [
        ("install", install::run),
        ("life", life::run),
        ("recovery", recovery::run),
        ("growth", growth::run),
        ("targets", targets::run),
    ];
    if let Some(unknown) = wanted.iter().find(|name| benches.iter().all(|(known, _)| known != name)) {
        println!("there is no bench {unknown}; there are install, life, recovery, growth and targets");
        return ExitCode::from(2);
    }
    for (name, bench) in benches {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            bench(&size);
        }
    }
    ExitCode::SUCCESS
}

fn number<N: FromStr>(variable: &str, default: N) -> N {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
