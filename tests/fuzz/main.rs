//! Feeds a target with inputs made by chance, guided by which code they reach. `WILD_FUZZ_TARGET` names the target; `run` builds and starts
//! it.
//!
//! Not here: the targets (`targets.rs`).

#![no_main]

mod targets;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use rustix::time::{ClockId, clock_gettime};

/// Seconds of processor time that one input may take.
const MAX_SECONDS: i64 = 1;

fn target() -> fn(&str) {
    static TARGET: OnceLock<fn(&str)> = OnceLock::new();
    *TARGET.get_or_init(|| {
        let name = std::env::var("WILD_FUZZ_TARGET").unwrap_or_default();
        let found = targets::TARGETS.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("there is no target '{name}'")).1
    })
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let before = clock_gettime(ClockId::ThreadCPUTime);
    target()(&text);
    let after = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = after.tv_sec - before.tv_sec - i64::from(after.tv_nsec < before.tv_nsec);
    assert!(seconds < MAX_SECONDS, "one input took {seconds} s");
});
