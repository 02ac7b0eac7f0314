//! Named points at which a test ends the process as `kill -9` does, one at the beginning of each step of the line and a few inside.
//!
//! They exist in builds with debug assertions only, which is what tests run; in a release a point is nothing. A test arms one while the
//! process runs: the file that `WILD_FAULT_FILE` names holds the point's name, and in a second line its how manieth arrival counts. What
//! was hit is read back from the file's new name, so a point that is never reached cannot pass for one that was survived.
//!
//! Not here: the tests (`tests/it/faults`, `tests/live/faults`).

use crate::apply::{Kept, Noted, Sink};
use crate::model::Outcome;
use crate::plan::Action;

/// Ends the process here if this point is armed.
#[cfg(debug_assertions)]
pub(super) fn point(name: &str) {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Arrivals at the armed point; one process never meets a second one, because it dies at the first.
    static ARRIVALS: AtomicUsize = AtomicUsize::new(0);

    let Some(file) = std::env::var_os("WILD_FAULT_FILE").map(PathBuf::from) else { return };
    let Ok(armed) = std::fs::read_to_string(&file) else { return };
    let mut lines = armed.lines();
    if lines.next() != Some(name) {
        return;
    }
    let wanted = lines.next().and_then(|count| count.parse().ok()).unwrap_or(1);
    if ARRIVALS.fetch_add(1, Ordering::SeqCst) + 1 == wanted
        && std::fs::rename(&file, file.with_extension("hit")).is_ok()
    {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// Does nothing.
#[cfg(not(debug_assertions))]
pub(super) fn point(_name: &str) {}

/// A sink with a point before it: the target has done what is asked, and nobody has remembered it yet.
pub(super) struct Faulty<'a>(pub(super) &'a dyn Sink);

impl Sink for Faulty<'_> {
    fn keep<'a>(&'a self, action: &'a Action, kept: Kept<'a>) -> Noted<'a, Result<(), String>> {
        Box::pin(async move {
            let answer = self.0.keep(action, kept).await;
            point("kept");
            answer
        })
    }

    fn outcome<'a>(&'a self, action: &'a Action, outcome: &'a Outcome) -> Noted<'a, ()> {
        point("written");
        self.0.outcome(action, outcome)
    }
}
